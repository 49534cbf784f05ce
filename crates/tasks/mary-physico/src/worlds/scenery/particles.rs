//! What several concepts draw: Small things: nuclei that split or join, atoms that bond, charges that flow.

use crate::grid::Place;

pub(crate) fn block(at: Place, tall: i32, wide: i32) -> Vec<Place> {
    (0..tall)
        .flat_map(|r| (0..wide).map(move |c| (at.0 + r, at.1 + c)))
        .collect()
}
