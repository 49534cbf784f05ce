//! What several concepts draw: Air and particles: atmospheric pressure, vacuum, diffusion, Brownian motion.

use crate::grid::Place;

pub(crate) fn room(from: Place, to: Place) -> Vec<Place> {
    (from.0..=to.0)
        .flat_map(|r| (from.1..=to.1).map(move |c| (r, c)))
        .collect()
}
