//! What the readings of several concepts ask alike. Readings of heat: conducted along or between bodies, melted, vaporized, longer and shorter.

use crate::worlds::readings::look::Look;

/// Pairs of a colour that loses cells and another, new in the output, that has exactly as many.
pub(crate) fn became(look: &Look) -> Vec<(u8, u8)> {
    let mut found = Vec::new();
    for old in 1u8..10 {
        let lost = look.had(old).saturating_sub(look.has(old));
        for &new in &look.fresh {
            if lost >= 3 && look.has(new) == lost {
                found.push((old, new));
            }
        }
    }
    found
}
