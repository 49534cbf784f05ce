//! Readings: recognisers that look only at a pair and say whether a concept's rule explains it.
//!
//! They share no code with the generators. A pair that the reading of another, non-confusable concept
//! accepts is drawn again, so that no wrong option is also right. A reading asks for the plain rule of
//! a concept (every body fell, the form was turned) and for all that changed: what the rule leaves
//! unexplained is not accepted. Objects that stay as they are do not disturb most of them, so that
//! they can be asked of an instance as it is shown, too.

mod look;

mod air;
mod falling;
mod fields;
mod forces;
mod frames;
mod heat;
mod images;
mod light;
mod liquids;
mod machines;
mod matter;
mod motion;
mod particles;
mod rays;
mod shapes;
mod swings;
mod waves;

use std::sync::OnceLock;

use super::{Concept, Turn, concepts, confusable};
use crate::grid::{Grid, Pair, Place, around};

pub use look::Look;

/// A concept's rule as a question about any pair.
#[derive(Debug)]
pub struct Reading {
    /// The concept's id.
    pub concept: &'static str,
    /// The aspects whose plain pairs it knows.
    pub aspects: &'static [&'static str],
    /// What is asked.
    pub asks: &'static str,
    /// Whether the answer depends on where down is.
    pub turn: Turn,
    /// Whether the pair is explained by it.
    fits: fn(&Look) -> bool,
}

impl Reading {
    const fn new(
        concept: &'static str,
        aspects: &'static [&'static str],
        asks: &'static str,
        fits: fn(&Look) -> bool,
    ) -> Self {
        Self {
            concept,
            aspects,
            asks,
            turn: Turn::Free,
            fits,
        }
    }

    /// Down is down.
    const fn upright(mut self) -> Self {
        self.turn = Turn::Upright;
        self
    }

    /// Whether the pair, as it lies, is explained by the concept's rule.
    pub fn fits(&self, look: &Look) -> bool {
        (self.fits)(look)
    }

    /// Whether the pair is explained as it lies or, where down matters, turned some way.
    fn fits_some_way(&self, look: &Look) -> bool {
        match self.turn {
            Turn::Free => self.fits(look),
            Turn::Upright => look.some_way(|l| self.fits(l)),
        }
    }
}

static THEMES: &[&[Reading]] = &[
    air::READINGS,
    falling::READINGS,
    fields::READINGS,
    forces::READINGS,
    frames::READINGS,
    heat::READINGS,
    images::READINGS,
    light::READINGS,
    liquids::READINGS,
    machines::READINGS,
    matter::READINGS,
    motion::READINGS,
    particles::READINGS,
    rays::READINGS,
    shapes::READINGS,
    swings::READINGS,
    waves::READINGS,
];

/// Concepts without a reading, each with the reason: their rule cannot be told from cells alone.
pub static UNREAD: &[(&str, &str)] = &[];

/// All readings.
pub fn readings() -> impl Iterator<Item = &'static Reading> {
    THEMES.iter().copied().flatten()
}

/// The readings of concepts that may stand beside this one as options.
fn rivals(concept: &str) -> &'static [&'static Reading] {
    static RIVALS: OnceLock<Vec<(&'static str, Vec<&'static Reading>)>> = OnceLock::new();
    let all = RIVALS.get_or_init(|| {
        let may_stand_beside =
            |c: &Concept, r: &&Reading| c.id != r.concept && confusable(c.id, r.concept).is_none();
        concepts()
            .iter()
            .map(|c| {
                (
                    c.id,
                    readings().filter(|r| may_stand_beside(c, r)).collect(),
                )
            })
            .collect()
    });
    all.iter()
        .find(|(id, _)| *id == concept)
        .map_or(&[], |(_, rivals)| rivals)
}

/// The first concept, neither this one nor confusable with it, whose reading fits the pair. A concept
/// that may be turned any way must not be read as another, whichever way it is turned.
pub fn elsewhere(concept: &str, pair: &Pair) -> Option<&'static str> {
    let look = Look::new(pair);
    let turns =
        super::concept(concept).is_some_and(|c| c.aspects.iter().any(|a| a.turn == Turn::Free));
    rivals(concept)
        .iter()
        .find(|r| {
            if turns {
                r.fits_some_way(&look)
            } else {
                r.fits(&look)
            }
        })
        .map(|r| r.concept)
}

/// The bounds of cells: first row, first column, last row, last column.
fn bounds(cells: &[Place]) -> Option<[i32; 4]> {
    let (&first, rest) = cells.split_first()?;
    let start = [first.0, first.1, first.0, first.1];
    Some(rest.iter().fold(start, |[t, l, b, r], &(y, x)| {
        [t.min(y), l.min(x), b.max(y), r.max(x)]
    }))
}

/// The cells of the box around these cells.
fn area(cells: &[Place]) -> i32 {
    bounds(cells).map_or(0, |[t, l, b, r]| (b - t + 1) * (r - l + 1))
}

/// Whether these cells hang together, by sides or corners.
fn connected(cells: &[Place]) -> bool {
    let mut left: Vec<Place> = cells.to_vec();
    let mut open: Vec<Place> = left.pop().into_iter().collect();
    while let Some((r, c)) = open.pop() {
        left.retain(|&(y, x)| {
            let near = (y - r).abs() <= 1 && (x - c).abs() <= 1;
            if near {
                open.push((y, x));
            }
            !near
        });
    }
    left.is_empty()
}

/// How many sides of cells face another colour.
fn skin(grid: &Grid, cells: &[Place]) -> usize {
    let faces = |&(r, c): &Place| {
        let own = grid.get(r, c);
        around(false)
            .filter(|(dr, dc)| grid.get(r + dr, c + dc) != own)
            .count()
    };
    cells.iter().map(faces).sum()
}

/// The places from which the edge can be reached without crossing this colour, as ones.
fn outside(grid: &Grid, wall: u8) -> Grid {
    let mut seen = Grid::new(grid.rows(), grid.cols());
    let (last_row, last_col) = (grid.rows() as i32 - 1, grid.cols() as i32 - 1);
    let at_edge = |r: i32, c: i32| r == 0 || c == 0 || r == last_row || c == last_col;
    let mut open: Vec<Place> = grid
        .places()
        .filter(|&(r, c)| at_edge(r, c) && grid.at(r, c) != wall)
        .collect();
    for &(r, c) in &open {
        seen.set(r, c, 1);
    }
    while let Some((r, c)) = open.pop() {
        for (dr, dc) in around(false) {
            let (r, c) = (r + dr, c + dc);
            if grid.get(r, c).is_some_and(|v| v != wall) && seen.at(r, c) == 0 {
                seen.set(r, c, 1);
                open.push((r, c));
            }
        }
    }
    seen
}
