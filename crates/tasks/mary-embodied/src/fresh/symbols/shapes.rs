//! One symbol turned, or four compared.

use std::sync::OnceLock;

use mary_generators::{Stream, below, shuffle};
use mary_platform::given;

use super::bank::{Known, which};
use super::fonts::FEWEST;
use crate::fresh::block::{Block, OPTIONS, Posed, gathered};
use crate::fresh::moves::{direction_words, draw_moves, told};
use crate::fresh::said::{Level, Said, phrase};
use crate::fresh::sketch::{BLACK, Sketch};

pub fn opening(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<(&'static Known, usize)>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        // A symbol with a closed part (e) or of several pieces (?) has more than one thing to look at.
        let open = which(|k| k.looks.regions == Some(0) && k.looks.single).into_iter();
        open.filter_map(|k| Some((k, k.looks.opening?))).collect()
    });
    let (least, most) = level.pick((1, 3), [(1, 1), (2, 2), (3, 3), (5, 5)]);
    let draw = |rng: &mut Stream| {
        let (known, start) = from.get(below(rng, from.len()))?;
        let moves = draw_moves(rng, 1, least, most);
        let end = moves.iter().fold(*start, |at, m| m.direction(at));
        let told = told(&moves, "symbol");
        let mut sketch = Sketch::new(320);
        sketch.glyph_at(known.symbol, [256.0, 160.0], 320.0, BLACK);
        let posed = Posed::new("opening", sketch, |said| {
            said.with("symbol", known.symbol).fill("told", &told)
        });
        Some((end, posed))
    };
    gathered(rng, 60, draw, |end| direction_words(*end))
}

/// Four symbols, each the answer to one question about the four (as the phrases call it), in any order.
fn about_four(rng: &mut Stream, mut drawn: Vec<(char, &str)>) -> Block {
    shuffle(rng, &mut drawn);
    let symbols: Vec<char> = drawn.iter().map(|(symbol, _)| *symbol).collect();
    let names: Vec<String> = symbols.iter().map(char::to_string).collect();
    let mut sketch = Sketch::new(200);
    sketch.row(&symbols, 138.0, 120.0);
    let question = |(_, ask): &(char, &str)| {
        let ask = phrase(&format!("symbols.{ask}"));
        Posed::new("symbols", sketch.clone(), |said| {
            said.with("row", names.join(" ")).fill("ask", &ask)
        })
    };
    let questions = drawn.iter().map(question).collect();
    let places = ["first", "second", "third", "fourth"];
    Block::new(names.iter().map(Said::same).collect(), questions).seen_as(
        places
            .map(|place| phrase(&format!("symbols.{place}")))
            .into(),
    )
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
            let symbols = which(|k| k.looks.symmetry == Some(wanted));
            symbols.iter().map(|k| k.symbol).collect()
        })
    });
    let asks = [
        "same-left-right",
        "same-top-bottom",
        "same-half-turn",
        "never-the-same",
    ];
    let mut drawn = Vec::with_capacity(OPTIONS);
    for (class, ask) in from.iter().zip(asks) {
        drawn.push((*class.get(below(rng, class.len()))?, ask));
    }
    Some(about_four(rng, drawn))
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
    let asks = ["widest", "narrowest", "tallest", "least-tall"];
    let drawn = ends.iter().zip(asks);
    let drawn = drawn.map(|(place, ask)| (symbols[*place], ask)).collect();
    Some(about_four(rng, drawn))
}

/// The places of the four ends, if they are four different symbols, the same in every font, and clear.
fn sized(four: [&Known; OPTIONS]) -> Option<SizedSet> {
    // The boxes of the four in each font that has all of them, ours first.
    let of_font = |font: usize| {
        let boxes = four.iter().map(|k| k.looks.boxes.get(font).copied()?);
        boxes.collect()
    };
    let fonts: Vec<Vec<(f64, f64)>> = (0..four[0].looks.boxes.len()).filter_map(of_font).collect();
    given(fonts.len() >= FEWEST)?;
    let end = |of: fn(&(f64, f64)) -> f64, way: f64| -> Option<usize> {
        let mut found = None;
        for (font, boxes) in fonts.iter().enumerate() {
            let margin = if font == 0 { MARGIN } else { IN_OTHERS };
            let values: Vec<f64> = boxes.iter().map(of).collect();
            let (place, clear) = most(&values, way)?;
            given(clear >= margin && *found.get_or_insert(place) == place)?;
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
