//! What the readings of several concepts ask alike. Readings of forces between bodies: springs, friction, repulsion, magnets.

use crate::grid::Place;
use crate::worlds::readings::look::Part;

/// Two bars side by side in `whole`, each gone away from the other by the same distance in `parts`:
/// the distance, if so. Colours are asked of the two grids.
pub(crate) fn halves(
    whole: &Part,
    parts: [&Part; 2],
    colour: (&dyn Fn(Place) -> u8, &dyn Fn(Place) -> u8),
) -> Option<i32> {
    let [a, b] = parts;
    let (l, r) = if a.bounds[1] < b.bounds[1] {
        (a, b)
    } else {
        (b, a)
    };
    let apart = whole.bounds[1] - l.bounds[1];
    let fits = whole.is_box()
        && l.is_box()
        && r.is_box()
        && l.len() == r.len()
        && 2 * l.len() == whole.len()
        && l.bounds[0] == r.bounds[0]
        && l.bounds[0] == whole.bounds[0]
        && l.tall() == whole.tall()
        && r.bounds[3] == whole.bounds[3] + apart
        && apart > 0
        && l.cells
            .iter()
            .all(|&(y, x)| (colour.1)((y, x)) == (colour.0)((y, x + apart)))
        && r.cells
            .iter()
            .all(|&(y, x)| (colour.1)((y, x)) == (colour.0)((y, x - apart)));
    fits.then_some(apart)
}

/// The colours on both sides of the middle of a bar of two.
pub(crate) fn facing(whole: &Part, colour: &dyn Fn(Place) -> u8) -> (u8, u8) {
    let [t, l, _, r] = whole.bounds;
    let middle = (l + r) / 2;
    (colour((t, middle)), colour((t, middle + 1)))
}
