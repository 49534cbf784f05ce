//! One symbol turned, or four compared.

use std::sync::OnceLock;

use mary_items::{Stream, below, shuffle};

use super::bank::{Known, which};
use crate::fresh::block::{Block, OPTIONS, Posed, counted};
use crate::fresh::moves::{DIRECTIONS, draw_moves, told};
use crate::fresh::sketch::{BLACK, Sketch};

/// The side a symbol is open to after it was turned and flipped.
pub fn opening(rng: &mut Stream) -> Option<Block> {
    static FROM: OnceLock<Vec<(&'static Known, usize)>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        // A symbol with a closed part (e) or of several pieces (?) has more than one thing to look at.
        which(|k| k.regions == Some(0) && k.single)
            .into_iter()
            .filter_map(|k| Some((k, k.opening?)))
            .collect()
    });
    counted(rng, 60, |rng| {
        let (known, start) = from.get(below(rng, from.len()))?;
        let moves = draw_moves(rng, 1, 1, 3);
        let end = moves.iter().fold(*start, |at, m| m.direction(at));
        let told = told(&moves, "symbol");
        let mut sketch = Sketch::new(320);
        sketch.glyph_at(known.symbol, [256.0, 160.0], 320.0, BLACK);
        let ask = "To which side is it open now?";
        let posed = Posed {
            words: format!(
                "Take the symbol \"{}\" as printed in a plain sans-serif type. {told} {ask}",
                known.symbol
            ),
            seen: format!("Take the symbol in the picture. {told} {ask}"),
            caption: "The picture shows the symbol at the start.",
            sketch,
        };
        Some((DIRECTIONS.get(end).copied()?, posed))
    })
}

const PLACES: [&str; OPTIONS] = ["the first", "the second", "the third", "the fourth"];

/// Four symbols, each the answer to one question about the four.
fn about_four(symbols: &[char], asks: &[&str]) -> Block {
    let names: Vec<String> = symbols.iter().map(char::to_string).collect();
    let mut sketch = Sketch::new(200);
    sketch.row(symbols, 138.0, 120.0);
    let questions = asks
        .iter()
        .map(|ask| Posed {
            words: format!(
                "Take the symbols \"{}\" as printed in one size of a plain sans-serif type. {ask}",
                names.join(" ")
            ),
            seen: format!("Take the four symbols in the picture, counted from the left. {ask}"),
            caption: "The picture shows the symbols.",
            sketch: sketch.clone(),
        })
        .collect();
    Block {
        options: names,
        seen_options: Some(PLACES.map(str::to_owned).to_vec()),
        questions,
    }
}

/// Which symbol keeps its look under which flip or turn; one keeps it under none.
pub fn symmetry(rng: &mut Stream) -> Option<Block> {
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
        "Which of them looks the same when left and right change places?",
        "Which of them looks the same when top and bottom change places?",
        "Which of them looks the same when it is rotated by 180 degrees?",
        "Which of them looks different after each of these: left and right change places; top and bottom \
         change places; it is rotated by 180 degrees?",
    ];
    let mut drawn = Vec::with_capacity(OPTIONS);
    for (class, ask) in from.iter().zip(asks) {
        drawn.push((*class.get(below(rng, class.len()))?, ask));
    }
    shuffle(rng, &mut drawn);
    let (symbols, asks): (Vec<char>, Vec<&str>) = drawn.into_iter().unzip();
    Some(about_four(&symbols, &asks))
}

/// Letters, digits and signs whose proportions are much the same in every plain type.
const SIZED: &str = "ABCDEFHILMNOPQRSTUVWXYZabcdefhkmnpqrtuvwxyz23456789()[]/\\-+=<>";
/// The most must be this much more than the next, and the least this much less.
const MARGIN: f64 = 1.2;

/// Widest, narrowest, tallest and lowest, each another of the four.
pub fn size(rng: &mut Stream) -> Option<Block> {
    static FROM: OnceLock<Vec<&'static Known>> = OnceLock::new();
    let from = FROM.get_or_init(|| which(|k| SIZED.contains(k.symbol)));
    let mut drawn: Vec<&'static Known> = Vec::with_capacity(OPTIONS);
    while drawn.len() < OPTIONS {
        let next = from.get(below(rng, from.len()))?;
        if drawn.iter().all(|d| d.symbol != next.symbol) {
            drawn.push(next);
        }
    }
    let widths: Vec<f64> = drawn.iter().map(|k| k.ink.width() as f64).collect();
    let heights: Vec<f64> = drawn.iter().map(|k| k.ink.height() as f64).collect();
    let mut asks = [""; OPTIONS];
    for (place, ask) in [
        (most(&widths, 1.0)?, "Which of them is the widest?"),
        (most(&widths, -1.0)?, "Which of them is the narrowest?"),
        (
            most(&heights, 1.0)?,
            "Which of them is the tallest from its lowest to its highest point?",
        ),
        (
            most(&heights, -1.0)?,
            "Which of them is the least tall from its lowest to its highest point?",
        ),
    ] {
        *asks.get_mut(place)? = ask;
    }
    if asks.contains(&"") {
        return None;
    }
    let symbols: Vec<char> = drawn.iter().map(|k| k.symbol).collect();
    Some(about_four(&symbols, &asks))
}

/// The place of the value that is clearly the most (`way` 1) or the least (`way` -1).
fn most(values: &[f64], way: f64) -> Option<usize> {
    (0..values.len()).find(|&i| {
        let own = values.get(i).copied().unwrap_or(1.0).ln() * way;
        values
            .iter()
            .enumerate()
            .all(|(j, other)| i == j || own - other.ln() * way >= MARGIN.ln())
    })
}
