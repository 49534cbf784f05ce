//! What holds of a symbol in every font that was looked at. The list `fonts.txt` is made by
//! `cargo run -p mary-embodied --example fonts -- FONT.ttf …` from fonts that need not be shipped: a line
//! for each symbol with what every font that has the symbol shows alike. A question about a symbol is asked
//! only where its answer is on this list.

use std::collections::HashMap;
use std::sync::OnceLock;

use mary_generators::glyphs::ink::Half;

use super::cuts::{COVERS, CuttingLine, Share, lines};

pub const FEWEST: usize = 3;

/// The sides from which symbols are covered, in the order of the list.
pub const SIDES: [Half; 4] = [Half::Top, Half::Bottom, Half::Left, Half::Right];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Looks {
    pub single: bool,
    /// Regions wholly surrounded by ink.
    pub regions: Option<usize>,
    /// The side it is open to, in eighths clockwise from up.
    pub opening: Option<usize>,
    /// Whether it looks the same flipped left to right, top to bottom, and turned half around.
    pub symmetry: Option<[bool; 3]>,
    /// Regions left under each cover, side by side and share by share.
    pub covered: Vec<Option<usize>>,
    /// Pieces after each cut: levels first.
    pub cut: Vec<Option<usize>>,
    pub crossed: Vec<Option<usize>>,
    /// Width and height of the ink in dots, a font each; nothing where a font lacks the symbol.
    pub boxes: Vec<Option<(f64, f64)>>,
}

impl Looks {
    pub fn regions_left(&self, side: Half, share: Share) -> Option<usize> {
        let row = SIDES.iter().position(|s| *s == side)?;
        let column = COVERS.iter().position(|s| *s == share)?;
        self.covered.get(row * COVERS.len() + column).copied()?
    }

    pub fn pieces(&self, line: CuttingLine) -> Option<usize> {
        self.cut.get(place(line)?).copied()?
    }

    pub fn strokes(&self, line: CuttingLine) -> Option<usize> {
        self.crossed.get(place(line)?).copied()?
    }

    /// What a line of the list says.
    pub fn read(line: &str) -> Option<(char, Self)> {
        let mut parts = line.split(' ');
        let mut next = || parts.next();
        let count = |text: &str| text.parse::<usize>().ok();
        let row = |text: &str| -> Vec<Option<usize>> {
            let digits = text.chars().map(|c| c.to_digit(10));
            digits.map(|d| d.map(|d| d as usize)).collect()
        };
        let symbol = next()?.chars().next()?;
        let (single, regions, opening) = (next()? == "1", count(next()?), count(next()?));
        let symmetry = match next()?.as_bytes() {
            [a, b, c] => Some([*a == b'1', *b == b'1', *c == b'1']),
            _ => None,
        };
        let (covered, cut, crossed) = (row(next()?), row(next()?), row(next()?));
        let boxes = parts
            .map(|text| {
                let (w, h) = text.split_once('x')?;
                Some((w.parse().ok()?, h.parse().ok()?))
            })
            .collect();
        Some((
            symbol,
            Self {
                single,
                regions,
                opening,
                symmetry,
                covered,
                cut,
                crossed,
                boxes,
            },
        ))
    }
}

fn place(line: CuttingLine) -> Option<usize> {
    lines().position(|l| l == line)
}

pub fn listed(symbol: char) -> Option<&'static Looks> {
    static LIST: OnceLock<HashMap<char, Looks>> = OnceLock::new();
    let list = LIST.get_or_init(|| {
        let lines = include_str!("fonts.txt").lines();
        let lines = lines.filter(|line| !line.starts_with("# "));
        lines.filter_map(Looks::read).collect()
    });
    list.get(&symbol)
}
