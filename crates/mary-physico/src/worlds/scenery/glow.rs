//! What several concepts draw: Light that fills a space or a film: lighting, glowing, long exposure, the photoelectric effect.

use crate::grid::Place;
use crate::worlds::draw::square_ring;

/// A place and all around it.
pub(crate) fn square(at: Place) -> Vec<Place> {
    let mut cells = square_ring(at, 1);
    cells.push(at);
    cells
}
