//! What the readings of several concepts ask alike. Readings of bodies on their way: moved, sped up, went on by inertia, pressed back.

use crate::grid::Place;
use crate::worlds::readings::look::{Look, Part};

/// The only part of a colour that went elsewhere.
pub(crate) fn single(look: &Look, colour: u8) -> Option<(&Part, &Part, Place)> {
    match look.moves_of(&[colour])?.as_slice() {
        [m] => Some((m.from, m.to, m.by)),
        _ => None,
    }
}
