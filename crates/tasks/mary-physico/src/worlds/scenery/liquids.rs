//! What several concepts draw: Liquids at rest and flowing: vessels, siphons, pressure, narrow pipes, floating.

use crate::grid::Grid;

/// An open vessel: two walls and a floor.
pub(crate) fn vessel(g: &mut Grid, top: i32, floor: i32, cols: (i32, i32), colour: u8) {
    g.fill((top, cols.0), (floor, cols.0), colour);
    g.fill((top, cols.1), (floor, cols.1), colour);
    g.fill((floor, cols.0), (floor, cols.1), colour);
}
