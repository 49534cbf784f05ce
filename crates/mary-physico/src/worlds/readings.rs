//! Readings: recognisers that look only at a pair and say whether a concept's rule explains it.
//!
//! They share no code with the generators. A pair that the reading of another, non-confusable concept
//! accepts is drawn again, so that no wrong option is also right. Readings ask for the plain rule of
//! a concept (every body fell, the form was turned); a concept whose picture cannot be told from
//! cells alone (relativity, resonance) has none, and there the table of confusable concepts and the
//! look at the sheets stand alone.

mod light;
mod matter;
mod motion;

use crate::grid::{Grid, Pair, Place};

/// A concept's rule as a question about any pair.
#[derive(Debug)]
pub struct Reading {
    /// The concept's id.
    pub concept: &'static str,
    /// What is asked.
    pub asks: &'static str,
    /// Whether the pair is explained by it.
    pub fits: fn(&Pair) -> bool,
}

/// All readings.
pub static READINGS: &[Reading] = &[
    Reading {
        concept: "move",
        asks: "did some bodies go the same way, unchanged, while all else stayed?",
        fits: motion::moved,
    },
    Reading {
        concept: "gravity",
        asks: "did at least two bodies go straight down and come to rest on something, while all else stayed?",
        fits: motion::fell,
    },
    Reading {
        concept: "rotation",
        asks: "is what changed the same coloured form, turned by a quarter or a half?",
        fits: motion::turned,
    },
    Reading {
        concept: "acceleration",
        asks: "do equal stamps follow one another at distances that grow by one?",
        fits: motion::sped_up,
    },
    Reading {
        concept: "mirror",
        asks: "did a picture without symmetry keep its cells and become its own mirror image?",
        fits: light::mirrored,
    },
    Reading {
        concept: "reflection",
        asks: "does a ray go on from where it met a body, at the same angle?",
        fits: light::reflected,
    },
    Reading {
        concept: "laser",
        asks: "did straight beams go out from points to the edge or to a body, and nothing else change?",
        fits: light::beamed,
    },
    Reading {
        concept: "long-exposure",
        asks: "did at least two single points leave connected streaks of their own colour, and nothing else change?",
        fits: light::streaked,
    },
    Reading {
        concept: "optical-filters",
        asks: "of beams in several colours up to a plate, does only the plate's own colour go on?",
        fits: light::filtered,
    },
    Reading {
        concept: "zoom-in",
        asks: "is the whole picture the same, two or three times as large?",
        fits: light::enlarged,
    },
    Reading {
        concept: "zoom-out",
        asks: "is the whole picture the same, at half or a third of its size?",
        fits: light::reduced,
    },
    Reading {
        concept: "water-ripples",
        asks: "did at least two whole rings appear around a point?",
        fits: light::rippled,
    },
    Reading {
        concept: "expansion",
        asks: "did every body grow by the same number of cells on all sides?",
        fits: matter::grew,
    },
    Reading {
        concept: "cut",
        asks: "did one full rectangle become several with the same cells?",
        fits: matter::cut,
    },
    Reading {
        concept: "communicating-vessels",
        asks: "did a liquid with different levels come to one level without loss?",
        fits: matter::levelled,
    },
    Reading {
        concept: "surface-tension",
        asks: "did ragged patches draw together into compact ones of the same size?",
        fits: matter::rounded,
    },
    Reading {
        concept: "vacuum",
        asks: "did all cells of one colour inside a closed frame vanish, and nothing else change?",
        fits: matter::emptied,
    },
    Reading {
        concept: "diffusion",
        asks: "did one dense patch come apart over a much larger room without loss?",
        fits: matter::spread,
    },
    Reading {
        concept: "compression",
        asks: "did loose particles crowd into a much smaller room without loss?",
        fits: matter::crowded,
    },
    Reading {
        concept: "melting",
        asks: "did one colour become another, as many cells, in a flatter heap?",
        fits: matter::melted,
    },
    Reading {
        concept: "vaporization",
        asks: "did part of one colour become as many single cells of a new colour above it?",
        fits: matter::vaporized,
    },
];

/// The first concept, neither this one nor confusable with it, whose reading fits the pair.
pub fn elsewhere(concept: &str, pair: &Pair) -> Option<&'static str> {
    READINGS
        .iter()
        .filter(|r| r.concept != concept && (r.fits)(pair))
        .find(|r| super::confusable(concept, r.concept).is_none())
        .map(|r| r.concept)
}

/// The bounds of cells: first row, first column, last row, last column.
fn bounds(cells: &[Place]) -> Option<[i32; 4]> {
    let rows = || cells.iter().map(|p| p.0);
    let cols = || cells.iter().map(|p| p.1);
    Some([rows().min()?, cols().min()?, rows().max()?, cols().max()?])
}

/// Cells with their colours, moved to the origin.
fn form(grid: &Grid, cells: &[Place]) -> Vec<(Place, u8)> {
    let Some([top, left, ..]) = bounds(cells) else {
        return Vec::new();
    };
    let mut form: Vec<(Place, u8)> = cells
        .iter()
        .map(|&(r, c)| ((r - top, c - left), grid.at(r, c)))
        .collect();
    form.sort_unstable();
    form
}

/// All cells that are not empty.
fn content(grid: &Grid) -> Vec<Place> {
    grid.places_where(|c| c != 0)
}

/// The cells that differ.
fn changed(pair: &Pair) -> Vec<Place> {
    pair.input.places_unlike(&pair.output)
}

/// Whether nothing went away: every cell that was not empty kept its colour.
fn only_added(pair: &Pair) -> bool {
    changed(pair).iter().all(|&(r, c)| pair.input.at(r, c) == 0)
}

/// The single colour of these cells of a grid, if they have one.
fn one_colour(grid: &Grid, cells: &[Place]) -> Option<u8> {
    let first = cells.first().map(|&(r, c)| grid.at(r, c))?;
    cells
        .iter()
        .all(|&(r, c)| grid.at(r, c) == first)
        .then_some(first)
}
