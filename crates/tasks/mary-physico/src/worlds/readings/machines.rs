//! What the readings of several concepts ask alike. Readings of machines: levers, pulleys, slopes, cranes and jacks, forces that add up.

use crate::grid::Place;
use crate::worlds::readings::look::Part;

/// Splits the colours that changed into one and the others, in every way.
pub(crate) fn apart(colours: &[u8]) -> impl Iterator<Item = (u8, Vec<u8>)> {
    colours.iter().map(|&one| {
        let others = colours.iter().copied().filter(|c| *c != one).collect();
        (one, others)
    })
}

/// Whether something of this colour is right over a part, or right under it.
pub(crate) fn beside(part: &Part, over: bool, colour: impl Fn(Place) -> bool) -> bool {
    let [t, l, b, r] = part.bounds;
    let row = if over { t - 1 } else { b + 1 };
    (l..=r).any(|c| colour((row, c)))
}
