//! Several symbols in a row, and something counted over all of them.

use std::sync::OnceLock;

use mary_generators::glyphs::ink::Half;
use mary_generators::{Stream, below};

use super::bank::{CuttingLine, Known, Share, which};
use crate::fresh::block::{Block, Posed, counted};
use crate::fresh::said::{Level, Said};
use crate::fresh::sketch::Sketch;

/// A symbol with the count that is asked for.
type Counted = (&'static Known, usize);

/// How many symbols stand in a row: the same in all four questions of a block, so that counting them
/// strikes out nothing.
fn length(rng: &mut Stream, least: usize, most: usize) -> usize {
    least + below(rng, most - least + 1)
}

/// Symbols drawn with replacement, none twice in a row, and their counts together.
fn draw_row(rng: &mut Stream, from: &[Counted], number: usize) -> Option<(Vec<char>, usize)> {
    let mut symbols: Vec<char> = Vec::with_capacity(number);
    let mut sum = 0;
    while symbols.len() < number {
        let (known, count) = from.get(below(rng, from.len()))?;
        if symbols.last() != Some(&known.symbol) {
            symbols.push(known.symbol);
            sum += count;
        }
    }
    Some((symbols, sum))
}

fn sketch(symbols: &[char]) -> Sketch {
    let mut sketch = Sketch::new(200);
    sketch.row(symbols, 138.0, 560.0 / (symbols.len().max(3) as f64 + 0.8));
    sketch
}

fn posed(symbols: &[char], ask: &Said) -> Posed {
    let spaced: Vec<String> = symbols.iter().map(char::to_string).collect();
    let spaced = spaced.join(" ");
    let words = Said::new(
        format!("Take the symbols \"{spaced}\" as printed in a plain sans-serif type."),
        format!("取以普通无衬线字体印刷的符号“{spaced}”。"),
    );
    let seen = Said::new("Take the symbols in the picture.", "取图中的符号。");
    Posed {
        words: words.then(ask),
        seen: seen.then(ask),
        caption: Said::new("The picture shows the symbols.", "图中是这些符号。"),
        sketch: sketch(symbols),
    }
}

/// Areas wholly surrounded by ink.
pub fn regions(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<Counted>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        let steady = which(|k| k.steady);
        let counted = |k: &'static Known| Some((k, k.regions?));
        steady.into_iter().filter_map(counted).collect()
    });
    let (least, most) = level.pick((3, 6), [(3, 3), (4, 4), (6, 6), (8, 8)]);
    let number = length(rng, least, most);
    let ask = Said::new(
        "How many separate areas wholly enclosed by ink do they have together?",
        "它们一共有多少个完全被笔画围住的区域？",
    );
    counted(rng, 60, |rng| {
        let (symbols, sum) = draw_row(rng, from, number)?;
        Some((sum, posed(&symbols, &ask)))
    })
}

const SIDES: [(Half, &str, &str); 4] = [
    (Half::Top, "upper", "上边"),
    (Half::Bottom, "lower", "下边"),
    (Half::Left, "left", "左边"),
    (Half::Right, "right", "右边"),
];
const COVERS: [(Share, &str, &str); 3] = [
    (Share::Quarter, "quarter", "四分之一"),
    (Share::Third, "third", "三分之一"),
    (Share::Half, "half", "一半"),
];

/// A cover in words, and the symbols for which it is clear.
type Cover = (Said, Vec<Counted>);

/// The same when a part of each symbol is covered.
pub fn covered(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<Cover>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        let mut covers = Vec::new();
        for (side, side_name, side_zh) in SIDES {
            for (share, share_name, share_zh) in COVERS {
                // Symbols that enclose something, so that there is something to look at.
                let symbols: Vec<Counted> = which(|k| k.steady && k.regions.is_some_and(|r| r > 0))
                    .into_iter()
                    .filter_map(|k| Some((k, k.regions_left(side, share)?)))
                    .collect();
                let keep = symbols.iter().filter(|(_, count)| *count > 0).count();
                if keep >= 2 && symbols.len() >= 6 {
                    let words = Said::new(
                        format!("{side_name} {share_name}"),
                        format!("{side_zh}{share_zh}"),
                    );
                    covers.push((words, symbols));
                }
            }
        }
        covers
    });
    let (least, most) = level.pick((3, 6), [(3, 3), (4, 4), (6, 6), (8, 8)]);
    let number = length(rng, least, most);
    counted(rng, 60, |rng| {
        let (cover, symbols) = from.get(below(rng, from.len()))?;
        let (symbols, sum) = draw_row(rng, symbols, number)?;
        let ask = Said::new(
            format!(
                "The {} of each of them is covered and does not count. How many separate areas wholly \
                 enclosed by ink do the visible parts have together?",
                cover.en
            ),
            format!(
                "每个符号的{}被遮住，不计在内。看得见的部分一共有多少个完全被笔画围住的区域？",
                cover.zh
            ),
        );
        Some((sum, posed(&symbols, &ask)))
    })
}

fn lines() -> Vec<CuttingLine> {
    [true, false]
        .into_iter()
        .flat_map(|level| Share::ALL.map(|share| CuttingLine { level, share }))
        .collect()
}

impl CuttingLine {
    fn words(self) -> Said {
        let (far, far_zh) = match self.share {
            Share::Quarter => ("a quarter of the way", "四分之一"),
            Share::Third => ("a third of the way", "三分之一"),
            Share::Half => ("halfway", "一半"),
            Share::TwoThirds => ("two thirds of the way", "三分之二"),
            Share::ThreeQuarters => ("three quarters of the way", "四分之三"),
        };
        if self.level {
            Said::new(
                format!("a horizontal line {far} down"),
                format!("从上往下{far_zh}处的一条水平线"),
            )
        } else {
            Said::new(
                format!("a vertical line {far} from its left edge to its right edge"),
                format!("从左往右{far_zh}处的一条竖直线"),
            )
        }
    }
}

/// Every line with the symbols for which it is clear.
fn by_line(
    count: impl Fn(&Known, CuttingLine) -> Option<usize>,
) -> Vec<(CuttingLine, Vec<Counted>)> {
    lines()
        .into_iter()
        .map(|line| {
            let counted = which(|k| k.steady)
                .into_iter()
                .filter_map(|k| Some((k, count(k, line)?)));
            (line, counted.collect::<Vec<Counted>>())
        })
        .filter(|(_, symbols)| symbols.len() >= 8)
        .collect()
}

/// Pieces after each symbol was cut.
pub fn cut(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<(CuttingLine, Vec<Counted>)>> = OnceLock::new();
    let from = FROM.get_or_init(|| by_line(Known::pieces));
    let (least, most) = level.pick((2, 3), [(2, 2), (3, 3), (4, 4), (6, 6)]);
    let number = length(rng, least, most);
    counted(rng, 60, |rng| {
        let (line, symbols) = from.get(below(rng, from.len()))?;
        let (symbols, sum) = draw_row(rng, symbols, number)?;
        let line = line.words();
        let ask = Said::new(
            format!(
                "Each is cut in two along {}, and the parts are pulled apart. How many separate pieces are \
                 there in all?",
                line.en
            ),
            format!(
                "每个符号都沿{}切成两份，再把两份拉开。一共有多少个互不相连的小块？",
                line.zh
            ),
        );
        Some((sum, posed(&symbols, &ask)))
    })
}

/// Strokes met by a line through each symbol.
pub fn crossed(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<(CuttingLine, Vec<Counted>)>> = OnceLock::new();
    let from = FROM.get_or_init(|| by_line(Known::strokes));
    let (least, most) = level.pick((2, 4), [(2, 2), (3, 3), (4, 4), (6, 6)]);
    let number = length(rng, least, most);
    counted(rng, 60, |rng| {
        let (line, symbols) = from.get(below(rng, from.len()))?;
        let (symbols, sum) = draw_row(rng, symbols, number)?;
        let line = line.words();
        let ask = Said::new(
            format!(
                "A thin straight line is drawn through each of them: {}. How many times do these lines run \
                 across a stroke in all?",
                line.en
            ),
            format!(
                "穿过每个符号各画一条细直线：{}。这些线一共穿过笔画多少次？",
                line.zh
            ),
        );
        Some((sum, posed(&symbols, &ask)))
    })
}
