//! Several symbols in a row, and something counted over all of them.

use std::sync::OnceLock;

use mary_items::glyphs::ink::Half;
use mary_items::{Stream, below};

use super::bank::{CuttingLine, Known, Share, which};
use crate::fresh::block::{Block, Posed, counted};
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

fn posed(symbols: &[char], ask: &str) -> Posed {
    let spaced: Vec<String> = symbols.iter().map(char::to_string).collect();
    Posed {
        words: format!(
            "Take the symbols \"{}\" as printed in a plain sans-serif type. {ask}",
            spaced.join(" ")
        ),
        seen: format!("Take the symbols in the picture. {ask}"),
        caption: "The picture shows the symbols.",
        sketch: sketch(symbols),
    }
}

/// Areas wholly surrounded by ink.
pub fn regions(rng: &mut Stream) -> Option<Block> {
    static FROM: OnceLock<Vec<Counted>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        let steady = which(|k| k.steady);
        let counted = |k: &'static Known| Some((k, k.regions?));
        steady.into_iter().filter_map(counted).collect()
    });
    let number = length(rng, 3, 6);
    counted(rng, 60, |rng| {
        let (symbols, sum) = draw_row(rng, from, number)?;
        let ask = "How many separate areas wholly enclosed by ink do they have together?";
        Some((sum, posed(&symbols, ask)))
    })
}

const SIDES: [(Half, &str); 4] = [
    (Half::Top, "upper"),
    (Half::Bottom, "lower"),
    (Half::Left, "left"),
    (Half::Right, "right"),
];
const COVERS: [(Share, &str); 3] = [
    (Share::Quarter, "quarter"),
    (Share::Third, "third"),
    (Share::Half, "half"),
];

/// A cover in words, and the symbols for which it is clear.
type Cover = (String, Vec<Counted>);

/// The same when a part of each symbol is covered.
pub fn covered(rng: &mut Stream) -> Option<Block> {
    static FROM: OnceLock<Vec<Cover>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        let mut covers = Vec::new();
        for (side, side_name) in SIDES {
            for (share, share_name) in COVERS {
                // Symbols that enclose something, so that there is something to look at.
                let symbols: Vec<Counted> = which(|k| k.steady && k.regions.is_some_and(|r| r > 0))
                    .into_iter()
                    .filter_map(|k| Some((k, k.regions_left(side, share)?)))
                    .collect();
                let keep = symbols.iter().filter(|(_, count)| *count > 0).count();
                if keep >= 2 && symbols.len() >= 6 {
                    covers.push((format!("{side_name} {share_name}"), symbols));
                }
            }
        }
        covers
    });
    let number = length(rng, 3, 6);
    counted(rng, 60, |rng| {
        let (cover, symbols) = from.get(below(rng, from.len()))?;
        let (symbols, sum) = draw_row(rng, symbols, number)?;
        let ask = format!(
            "The {cover} of each of them is covered and does not count. How many separate areas wholly \
             enclosed by ink do the visible parts have together?"
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
    fn words(self) -> String {
        let far = match self.share {
            Share::Quarter => "a quarter of the way",
            Share::Third => "a third of the way",
            Share::Half => "halfway",
            Share::TwoThirds => "two thirds of the way",
            Share::ThreeQuarters => "three quarters of the way",
        };
        if self.level {
            format!("a horizontal line {far} down")
        } else {
            format!("a vertical line {far} from its left edge to its right edge")
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
pub fn cut(rng: &mut Stream) -> Option<Block> {
    static FROM: OnceLock<Vec<(CuttingLine, Vec<Counted>)>> = OnceLock::new();
    let from = FROM.get_or_init(|| by_line(Known::pieces));
    let number = length(rng, 2, 3);
    counted(rng, 60, |rng| {
        let (line, symbols) = from.get(below(rng, from.len()))?;
        let (symbols, sum) = draw_row(rng, symbols, number)?;
        let ask = format!(
            "Each is cut in two along {}, and the parts are pulled apart. How many separate pieces are there \
             in all?",
            line.words()
        );
        Some((sum, posed(&symbols, &ask)))
    })
}

/// Strokes met by a line through each symbol.
pub fn crossed(rng: &mut Stream) -> Option<Block> {
    static FROM: OnceLock<Vec<(CuttingLine, Vec<Counted>)>> = OnceLock::new();
    let from = FROM.get_or_init(|| by_line(Known::strokes));
    let number = length(rng, 2, 4);
    counted(rng, 60, |rng| {
        let (line, symbols) = from.get(below(rng, from.len()))?;
        let (symbols, sum) = draw_row(rng, symbols, number)?;
        let ask = format!(
            "A thin straight line is drawn through each of them: {}. How many times do these lines run across \
             a stroke in all?",
            line.words()
        );
        Some((sum, posed(&symbols, &ask)))
    })
}
