//! Bystanders: small objects that take no part, and the background of analogies.
//!
//! How many colours a pair shows is drawn first and bystanders fill up to it, alike for all concepts,
//! so that the number of colours says little. They keep one empty cell between themselves and all
//! that is at work; in clear instances they stand at the edge.

use mary_items::{Stream, below, coin};

use super::{Mode, Setting};
use crate::grid::{Grid, Pair, Place};

/// What an instance wears: the same in all its pairs.
#[derive(Debug, Clone)]
pub(super) struct Dress {
    mode: Mode,
    /// How many colours a pair should show.
    colours: usize,
    /// The colour that stands for the background, when it is not black.
    ground: u8,
    palette: [u8; 9],
}

impl Dress {
    pub(super) fn draw(rng: &mut Stream, mode: Mode, palette: &[u8; 9]) -> Self {
        let (fewest, choices) = match mode {
            Mode::Clear => (4, 2),
            Mode::Analogy => (6, 2),
        };
        let ground = match mode {
            Mode::Analogy if coin(rng) => palette.last().copied().unwrap_or(0),
            _ => 0,
        };
        Self {
            mode,
            colours: fewest + below(rng, choices),
            ground,
            palette: *palette,
        }
    }

    pub(super) fn put_on(&self, pair: &Pair, rng: &mut Stream) -> Pair {
        let mut out = pair.clone();
        let used = |p: &Pair, c: u8| p.input.count(c) + p.output.count(c) > 0;
        let mut have = (0..10u8).filter(|&c| used(pair, c)).count();
        // The last colour is kept for the ground.
        for &colour in self.palette.iter().rev().skip(1) {
            if have >= self.colours {
                break;
            }
            if !used(pair, colour) && self.stand(&mut out, colour, rng) {
                have += 1;
            }
        }
        if self.ground == 0 || used(pair, self.ground) || !rests_on(pair) {
            return out;
        }
        out.map(|g| g.recoloured(0, self.ground))
    }

    /// One bystander where there is room in both grids.
    fn stand(&self, pair: &mut Pair, colour: u8, rng: &mut Stream) -> bool {
        let (rows, cols) = (pair.input.rows() as i32, pair.input.cols() as i32);
        let form = Setting::new(rng.clone(), self.palette).blob(1 + below(rng, 3));
        for _ in 0..60 {
            let (r, c) = (
                below(rng, rows as usize) as i32,
                below(rng, cols as usize) as i32,
            );
            let cells: Vec<Place> = form.iter().map(|p| (p.0 + r, p.1 + c)).collect();
            let at_edge = cells
                .iter()
                .any(|p| p.0 == 0 || p.1 == 0 || p.0 == rows - 1 || p.1 == cols - 1);
            if (at_edge || self.mode == Mode::Analogy)
                && pair.input.roomy(&cells)
                && pair.output.roomy(&cells)
            {
                pair.both(|g| g.paint(cells.iter().copied(), colour));
                return true;
            }
        }
        false
    }
}

/// Whether black is the most frequent colour of both grids: only then does a background of another
/// colour still read as one.
fn rests_on(pair: &Pair) -> bool {
    let rests = |g: &Grid| {
        let counts = g.counts();
        let (black, others) = (counts[0], &counts[1..]);
        others.iter().all(|&n| n < black)
    };
    rests(&pair.input) && rests(&pair.output)
}
