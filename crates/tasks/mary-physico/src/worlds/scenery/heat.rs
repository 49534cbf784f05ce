//! What several concepts draw: Heat: conduction, melting, vaporization, expansion and contraction.

use crate::grid::{Grid, Place};

/// A flame: a wide row, a narrow row, a tip.
pub(crate) fn flame(g: &mut Grid, base: i32, mid: i32, colour: u8) {
    g.fill((base, mid - 1), (base, mid + 1), colour);
    g.fill((base - 1, mid - 1), (base - 1, mid), colour);
    g.set(base - 2, mid, colour);
}

/// A sun: a block with rays.
pub(crate) fn sun(g: &mut Grid, at: Place, colour: u8) {
    g.fill(at, (at.0 + 1, at.1 + 1), colour);
    g.paint(
        [(-1, -1), (-1, 2), (2, -1), (2, 2)]
            .iter()
            .map(|q| (at.0 + q.0, at.1 + q.1)),
        colour,
    );
}

/// A heap on the floor: full rows from below, so many cells, centred.
pub(crate) fn puddle(g: &mut Grid, floor: i32, mid: i32, widest: i32, cells: i32, colour: u8) {
    let mut left = cells;
    let (mut row, mut wide) = (floor - 1, widest);
    while left > 0 && row >= 0 {
        let here = left.min(wide);
        let from = (mid - here / 2).clamp(0, (g.cols() as i32 - here).max(0));
        g.fill((row, from), (row, from + here - 1), colour);
        left -= here;
        row -= 1;
        wide -= 2;
    }
}
