//! What several concepts draw: Forces between bodies: springs, friction, repulsion, magnets, pressing and squeezing.

use crate::grid::{Grid, Place};

/// A bar of two halves.
pub(crate) fn bar(g: &mut Grid, at: Place, half: i32, tall: i32, colours: (u8, u8)) {
    let (r, c) = at;
    g.fill((r, c), (r + tall - 1, c + half - 1), colours.0);
    g.fill((r, c + half), (r + tall - 1, c + 2 * half - 1), colours.1);
}
