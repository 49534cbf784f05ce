//! What the readings of several concepts ask alike. Readings of small things: nuclei that split or join, atoms that bond, currents and flashes.

use crate::worlds::readings::look::Part;

pub(crate) fn sizes(bodies: &[Part]) -> Vec<usize> {
    let mut sizes: Vec<usize> = bodies.iter().map(Part::len).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}
