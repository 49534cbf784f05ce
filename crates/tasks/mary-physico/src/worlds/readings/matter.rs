//! What the readings of several concepts ask alike. Readings of matter that is pressed or wet: crowded, squeezed, rounded, dented, splashed, soaked, spread as a film.

use crate::worlds::readings::look::Look;

/// The highest row that this colour fills from edge to edge, the row under it too.
pub(crate) fn surface(look: &Look, liquid: u8) -> Option<i32> {
    let full = |r: i32| (0..look.cols()).all(|c| look.was((r, c)) == liquid);
    (0..look.rows() - 1).find(|&r| full(r) && full(r + 1))
}
