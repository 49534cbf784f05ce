//! One symbol turned, or four compared.

use std::sync::OnceLock;

use mary_generators::{Stream, below, shuffle};

use super::bank::{Known, which};
use super::fonts::FEWEST;
use crate::fresh::block::{Block, OPTIONS, Posed, gather};
use crate::fresh::moves::{direction_words, draw_moves, told};
use crate::fresh::said::{Level, Said};
use crate::fresh::sketch::{BLACK, Sketch};

/// The side a symbol is open to after it was turned and flipped.
pub fn opening(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<(&'static Known, usize)>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        // A symbol with a closed part (e) or of several pieces (?) has more than one thing to look at.
        which(|k| k.regions == Some(0) && k.single)
            .into_iter()
            .filter_map(|k| Some((k, k.opening?)))
            .collect()
    });
    let (least, most) = level.pick((1, 3), [(1, 1), (2, 2), (3, 3), (5, 5)]);
    let (answers, questions) = gather(rng, 60, |rng| {
        let (known, start) = from.get(below(rng, from.len()))?;
        let moves = draw_moves(rng, 1, least, most);
        let end = moves.iter().fold(*start, |at, m| m.direction(at));
        let told = told(&moves, ("symbol", "符号"));
        let mut sketch = Sketch::new(320);
        sketch.glyph_at(known.symbol, [256.0, 160.0], 320.0, BLACK);
        let ask = Said::new("To which side is it open now?", "它现在向哪一边开口？");
        let words = Said::new(
            format!(
                "Take the symbol \"{}\" as printed in a plain sans-serif type.",
                known.symbol
            ),
            format!("取以普通无衬线字体印刷的符号“{}”。", known.symbol),
        );
        let seen = Said::new("Take the symbol in the picture.", "取图中的符号。");
        let posed = Posed {
            words: words.then(&told).then(&ask),
            seen: seen.then(&told).then(&ask),
            caption: Said::new(
                "The picture shows the symbol at the start.",
                "图中是开始时的符号。",
            ),
            sketch,
        };
        Some((end, posed))
    })?;
    Some(Block {
        options: answers.iter().map(|end| direction_words(*end)).collect(),
        seen_options: None,
        questions,
    })
}

fn places() -> Vec<Said> {
    [
        ("the first", "第一个"),
        ("the second", "第二个"),
        ("the third", "第三个"),
        ("the fourth", "第四个"),
    ]
    .map(|(en, zh)| Said::new(en, zh))
    .to_vec()
}

/// Four symbols, each the answer to one question about the four.
fn about_four(symbols: &[char], asks: &[Said]) -> Block {
    let names: Vec<String> = symbols.iter().map(char::to_string).collect();
    let row = names.join(" ");
    let mut sketch = Sketch::new(200);
    sketch.row(symbols, 138.0, 120.0);
    let words = Said::new(
        format!("Take the symbols \"{row}\" as printed in one size of a plain sans-serif type."),
        format!("取以普通无衬线字体、同一字号印刷的符号“{row}”。"),
    );
    let seen = Said::new(
        "Take the four symbols in the picture, counted from the left.",
        "取图中的四个符号，从左数起。",
    );
    let questions = asks
        .iter()
        .map(|ask| Posed {
            words: words.then(ask),
            seen: seen.then(ask),
            caption: Said::new("The picture shows the symbols.", "图中是这些符号。"),
            sketch: sketch.clone(),
        })
        .collect();
    Block {
        options: names.iter().map(Said::same).collect(),
        seen_options: Some(places()),
        questions,
    }
}

/// Which symbol keeps its look under which flip or turn; one keeps it under none.
pub fn symmetry(rng: &mut Stream, _level: Level) -> Option<Block> {
    static FROM: OnceLock<[Vec<char>; OPTIONS]> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        [
            [true, false, false],
            [false, true, false],
            [false, false, true],
            [false, false, false],
        ]
        .map(|wanted| {
            which(|k| k.symmetry == Some(wanted))
                .iter()
                .map(|k| k.symbol)
                .collect()
        })
    });
    let asks = [
        (
            "Which of them looks the same when left and right change places?",
            "其中哪一个左右对调后看起来不变？",
        ),
        (
            "Which of them looks the same when top and bottom change places?",
            "其中哪一个上下对调后看起来不变？",
        ),
        (
            "Which of them looks the same when it is rotated by 180 degrees?",
            "其中哪一个旋转 180 度后看起来不变？",
        ),
        (
            "Which of them looks different after each of these: left and right change places; top and \
             bottom change places; it is rotated by 180 degrees?",
            "其中哪一个无论左右对调、上下对调还是旋转 180 度，看起来都会变？",
        ),
    ]
    .map(|(en, zh)| Said::new(en, zh));
    let mut drawn = Vec::with_capacity(OPTIONS);
    for (class, ask) in from.iter().zip(asks) {
        drawn.push((*class.get(below(rng, class.len()))?, ask));
    }
    shuffle(rng, &mut drawn);
    let (symbols, asks): (Vec<char>, Vec<Said>) = drawn.into_iter().unzip();
    Some(about_four(&symbols, &asks))
}

/// Letters, digits and signs whose proportions are much the same in every plain type.
const SIZED: &str = "ABCDEFHILMNOPQRSTUVWXYZabcdefhkmnpqrtuvwxyz23456789()[]/\\-+=<>";
/// The most must be this much more than the next, and the least this much less.
const MARGIN: f64 = 1.15;
/// And in every other font at least this much.
const IN_OTHERS: f64 = 1.03;

/// Four symbols and the places of the widest, the narrowest, the tallest and the least tall among them.
type SizedSet = ([char; OPTIONS], [usize; OPTIONS]);

/// Widest, narrowest, tallest and lowest, each another of the four, in every font that was looked at.
pub fn size(rng: &mut Stream, _level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<SizedSet>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        let symbols = which(|k| SIZED.contains(k.symbol));
        let mut sets = Vec::new();
        for (a, one) in symbols.iter().copied().enumerate() {
            for (b, two) in symbols.iter().copied().enumerate().skip(a + 1) {
                for (c, three) in symbols.iter().copied().enumerate().skip(b + 1) {
                    for four in symbols.iter().copied().skip(c + 1) {
                        sets.extend(sized([one, two, three, four]));
                    }
                }
            }
        }
        sets
    });
    let (symbols, ends) = from.get(below(rng, from.len()))?;
    let asks = [
        ("Which of them is the widest?", "其中哪一个最宽？"),
        ("Which of them is the narrowest?", "其中哪一个最窄？"),
        (
            "Which of them is the tallest from its lowest to its highest point?",
            "其中哪一个从最低点到最高点的距离最大？",
        ),
        (
            "Which of them is the least tall from its lowest to its highest point?",
            "其中哪一个从最低点到最高点的距离最小？",
        ),
    ];
    let mut drawn: Vec<(char, Said)> = ends
        .iter()
        .zip(asks)
        .filter_map(|(place, (en, zh))| Some((*symbols.get(*place)?, Said::new(en, zh))))
        .collect();
    shuffle(rng, &mut drawn);
    let (symbols, asks): (Vec<char>, Vec<Said>) = drawn.into_iter().unzip();
    Some(about_four(&symbols, &asks))
}

/// The places of the four ends, if they are four different symbols, the same in every font, and clear.
fn sized(four: [&Known; OPTIONS]) -> Option<SizedSet> {
    // The boxes of the four in each font that has all of them, ours first.
    let fonts: Vec<Vec<(f64, f64)>> = (0..four[0].boxes.len())
        .filter_map(|font| four.iter().map(|k| k.boxes.get(font).copied()?).collect())
        .collect();
    if fonts.len() < FEWEST {
        return None;
    }
    let end = |of: fn(&(f64, f64)) -> f64, way: f64| -> Option<usize> {
        let mut found = None;
        for (font, boxes) in fonts.iter().enumerate() {
            let margin = if font == 0 { MARGIN } else { IN_OTHERS };
            let values: Vec<f64> = boxes.iter().map(of).collect();
            let (place, clear) = most(&values, way)?;
            if clear < margin || *found.get_or_insert(place) != place {
                return None;
            }
        }
        found
    };
    let ends = [
        end(|b| b.0, 1.0)?,
        end(|b| b.0, -1.0)?,
        end(|b| b.1, 1.0)?,
        end(|b| b.1, -1.0)?,
    ];
    let twice = |i: usize| ends[..i].contains(&ends[i]);
    (!(0..OPTIONS).any(twice)).then(|| (four.map(|k| k.symbol), ends))
}

/// The place of the greatest (`way` 1) or the smallest (`way` -1) value, and by what factor it differs
/// from the next.
fn most(values: &[f64], way: f64) -> Option<(usize, f64)> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| (way * values[*b]).total_cmp(&(way * values[*a])));
    let [first, second, ..] = order.as_slice() else {
        return None;
    };
    Some((*first, (values[*first] / values[*second]).powf(way)))
}
