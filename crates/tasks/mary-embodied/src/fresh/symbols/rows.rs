//! Several symbols in a row, and something counted over all of them.

use std::sync::OnceLock;

use mary_generators::glyphs::ink::Half;
use mary_generators::{Stream, below};

use super::bank::{Known, which};
use super::cuts::{COVERS, CuttingLine, lines};
use super::fonts::Looks;
use crate::fresh::block::{Block, Posed, counted};
use crate::fresh::said::{Level, Said, phrase};
use crate::fresh::sketch::Sketch;

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
    Posed::new("row", sketch(symbols), |said| {
        said.with("spaced", &spaced).fill("ask", ask)
    })
}

pub fn regions(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<Counted>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        let steady = which(|k| k.steady);
        let counted = |k: &'static Known| Some((k, k.looks.regions?));
        steady.into_iter().filter_map(counted).collect()
    });
    let (least, most) = level.pick((3, 6), [(3, 3), (4, 4), (6, 6), (8, 8)]);
    let number = length(rng, least, most);
    let ask = phrase("row.regions");
    counted(rng, 60, |rng| {
        let (symbols, sum) = draw_row(rng, from, number)?;
        Some((sum, posed(&symbols, &ask)))
    })
}

const SIDES: [(Half, &str); 4] = [
    (Half::Top, "upper"),
    (Half::Bottom, "lower"),
    (Half::Left, "left"),
    (Half::Right, "right"),
];

/// A cover or a line in words, and the symbols for which it is clear.
type PhrasedRow = (Said, Vec<Counted>);

/// The same when a part of each symbol is covered.
pub fn covered(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<PhrasedRow>> = OnceLock::new();
    let from = FROM.get_or_init(|| {
        let mut covers = Vec::new();
        for (side, side_name) in SIDES {
            for share in COVERS {
                // Symbols that enclose something, so that there is something to look at.
                let symbols: Vec<Counted> =
                    which(|k| k.steady && k.looks.regions.is_some_and(|r| r > 0))
                        .into_iter()
                        .filter_map(|k| Some((k, k.looks.regions_left(side, share)?)))
                        .collect();
                let keep = symbols.iter().filter(|(_, count)| *count > 0).count();
                if keep >= 2 && symbols.len() >= 6 {
                    let words = phrase(&format!("row.{side_name}-{}", share.name()));
                    covers.push((words, symbols));
                }
            }
        }
        covers
    });
    let lengths = level.pick((3, 6), [(3, 3), (4, 4), (6, 6), (8, 8)]);
    asked(rng, lengths, from, ("row.covered", "cover"))
}

impl CuttingLine {
    fn words(self) -> Said {
        let way = if self.level { "level" } else { "upright" };
        phrase(&format!("row.{way}-{}", self.share.name()))
    }
}

fn by_line(count: impl Fn(&Looks, CuttingLine) -> Option<usize>) -> Vec<PhrasedRow> {
    let of_line = |line: CuttingLine| {
        let steady = which(|k| k.steady).into_iter();
        let counted = steady.filter_map(|k| Some((k, count(&k.looks, line)?)));
        (line.words(), counted.collect::<Vec<Counted>>())
    };
    let rows = lines().map(of_line);
    rows.filter(|(_, symbols)| symbols.len() >= 8).collect()
}

pub fn cut(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<PhrasedRow>> = OnceLock::new();
    let from = FROM.get_or_init(|| by_line(Looks::pieces));
    let lengths = level.pick((2, 3), [(2, 2), (3, 3), (4, 4), (6, 6)]);
    asked(rng, lengths, from, ("row.cut", "line"))
}

pub fn crossed(rng: &mut Stream, level: Level) -> Option<Block> {
    static FROM: OnceLock<Vec<PhrasedRow>> = OnceLock::new();
    let from = FROM.get_or_init(|| by_line(Looks::strokes));
    let lengths = level.pick((2, 4), [(2, 2), (3, 3), (4, 4), (6, 6)]);
    asked(rng, lengths, from, ("row.crossed", "line"))
}

/// Four rows with one cover or line each, which fills the `place` of the question.
fn asked(
    rng: &mut Stream,
    (least, most): (usize, usize),
    from: &[PhrasedRow],
    (question, place): (&str, &str),
) -> Option<Block> {
    let number = length(rng, least, most);
    counted(rng, 60, |rng| {
        let (words, symbols) = from.get(below(rng, from.len()))?;
        let (symbols, sum) = draw_row(rng, symbols, number)?;
        let ask = phrase(question).fill(place, words);
        Some((sum, posed(&symbols, &ask)))
    })
}
