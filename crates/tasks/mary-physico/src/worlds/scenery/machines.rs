//! What several concepts draw: Simple machines and how forces add up: lever, pulley, inclined plane, lifting, composition.

use crate::grid::{Grid, Place};

/// A pivot: a foot of three cells under one.
pub(crate) fn foot(g: &mut Grid, top: Place, ground: i32, colour: u8) {
    for r in top.0..ground {
        let wide = r - top.0;
        g.fill((r, top.1 - wide), (r, top.1 + wide), colour);
    }
}
