//! Readings: recognisers that look only at a pair and say whether a concept's rule explains it.
//!
//! They share no code with the generators. A pair that the reading of another, non-confusable concept
//! accepts is drawn again, so that no wrong option is also right. A reading asks for the plain rule of
//! a concept (every body fell, the form was turned) and for all that changed: what the rule leaves
//! unexplained is not accepted. Objects that stay as they are do not disturb most of them, so that
//! they can be asked of an instance as it is shown, too.

pub(crate) mod look;
pub(crate) mod part;
pub(crate) mod shared;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Concept, Turn, concepts};
use crate::grid::{Grid, Pair, Place, around};

use serde::Deserialize;

pub use look::Look;
pub(crate) use look::{Move, Part, edge_or};

/// A concept's rule as a question about any pair.
#[derive(Debug)]
pub struct Reading {
    pub concept: &'static str,
    /// The aspects whose plain pairs it knows.
    pub aspects: &'static [&'static str],
    pub asks: &'static str,
    /// Whether the answer depends on where down is.
    pub turn: Turn,
    pub(crate) first: First,
    /// A question that comes first because its answer is the same whichever way the pair is turned.
    pub(crate) may: Option<fn(&Look) -> bool>,
    pub(crate) fits: fn(&Look) -> bool,
}

/// The answer to a question about a pair. A question that takes the pair apart step by step with `?` may
/// find nothing to ask about: that is a no.
pub(crate) trait Answer {
    fn yes(self) -> bool;
}

impl Answer for bool {
    fn yes(self) -> bool {
        self
    }
}

impl Answer for Option<bool> {
    fn yes(self) -> bool {
        self == Some(true)
    }
}

/// What a reading asks first of any pair, however it is turned: it costs next to nothing and is most
/// often answered with no.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct First {
    /// Fewest and most colours that take part in the change.
    touched: Option<(usize, usize)>,
    /// Fewest cells that differ.
    changed: usize,
    /// How many colours are new, where that matters.
    fresh: Option<usize>,
    /// How many colours are gone, where that matters.
    lost: Option<usize>,
    /// Nothing but empty cells changed.
    added: bool,
    /// No cell was or became empty.
    recoloured: bool,
    /// Every colour has as many cells as before.
    same_counts: bool,
    /// Of some colour that takes part there are as many cells as before, and at least so many.
    keeping: usize,
    /// So many of the colours that take part only went elsewhere.
    movers: usize,
    /// Of some colour that did more than go elsewhere there are as many cells as before, and at least
    /// so many.
    reshaping: usize,
}

impl First {
    fn holds(&self, look: &Look) -> bool {
        let touched = look.touched.len();
        let (fewest, most) = self.touched.unwrap_or((1, 9));
        (fewest..=most).contains(&touched)
            && self.changed <= look.changed.len()
            && self.fresh.is_none_or(|n| n == look.fresh.len())
            && self.lost.is_none_or(|n| n == look.lost.len())
            && (!self.added || look.only_added)
            && (!self.recoloured || look.only_recoloured)
            && (!self.same_counts || look.same_counts)
            && self.keeping <= look.keeps
            && (self.movers == 0 || self.movers <= look.ways().movers)
            && (self.reshaping == 0
                || (self.reshaping <= look.keeps && self.reshaping <= look.ways().reshaped))
    }
}

impl Reading {
    /// Whether the pair, as it lies, is explained by the concept's rule.
    pub fn fits(&self, look: &Look) -> bool {
        self.first.holds(look) && (self.fits)(look)
    }

    /// Whether the pair is explained as it lies or, where down matters, turned some way.
    pub fn fits_some_way(&self, look: &Look) -> bool {
        self.first.holds(look)
            && match self.turn {
                Turn::Free => (self.fits)(look),
                Turn::Upright => {
                    self.may.is_none_or(|asked| asked(look)) && look.some_way(self.fits)
                }
            }
    }
}

pub fn readings() -> impl Iterator<Item = &'static Reading> {
    concepts().iter().flat_map(|c| c.readings)
}

/// The readings of one concept's rivals.
type Rivals = Arc<Vec<&'static Reading>>;

/// The readings of concepts that may stand beside this one as options.
fn rivals(concept: &'static Concept) -> Rivals {
    static RIVALS: RwLock<BTreeMap<&'static str, Rivals>> = RwLock::new(BTreeMap::new());
    // Nothing that holds the lock can panic, so that a poisoned one holds whole values.
    let known = RIVALS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(concept.id) {
        return Arc::clone(found);
    }
    drop(known);
    let beside = |c: &&&'static Concept| c.id != concept.id && concept.confusable_with(c).is_none();
    let all = concepts().iter().filter(beside);
    let found: Rivals = Arc::new(all.flat_map(|c| c.readings).collect());
    let mut known = RIVALS.write().unwrap_or_else(PoisonError::into_inner);
    known.insert(concept.id, Arc::clone(&found));
    found
}

/// The first concept, neither this one nor confusable with it, whose reading fits the pair. A concept
/// that may be turned any way must not be read as another, whichever way it is turned.
pub fn elsewhere(concept: &'static Concept, pair: &Pair) -> Option<&'static str> {
    let look = Look::new(pair);
    let turns = concept.aspects.iter().any(|a| a.turn == Turn::Free);
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
pub(crate) fn bounds(cells: &[Place]) -> Option<[i32; 4]> {
    let (&first, rest) = cells.split_first()?;
    let start = [first.0, first.1, first.0, first.1];
    Some(rest.iter().fold(start, |[t, l, b, r], &(y, x)| {
        [t.min(y), l.min(x), b.max(y), r.max(x)]
    }))
}

/// The cells of the box around these cells.
pub(crate) fn area(cells: &[Place]) -> i32 {
    bounds(cells).map_or(0, |[t, l, b, r]| (b - t + 1) * (r - l + 1))
}

/// Whether these cells hang together, by sides or corners.
pub(crate) fn connected(cells: &[Place]) -> bool {
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
pub(crate) fn skin(grid: &Grid, cells: &[Place]) -> usize {
    let faces = |&(r, c): &Place| {
        let own = grid.get(r, c);
        around(false)
            .filter(|(dr, dc)| grid.get(r + dr, c + dc) != own)
            .count()
    };
    cells.iter().map(faces).sum()
}

/// The places from which the edge can be reached without crossing this colour, as ones.
pub(crate) fn outside(grid: &Grid, wall: u8) -> Grid {
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
