//! What is known of every symbol, looked at once per process.

use std::sync::OnceLock;

use mary_generators::glyphs::glyphs;

use super::fonts::{Looks, listed};

/// Symbols that look the same, as far as a count goes, in every plain type: no digit 4 (open or
/// closed), no a (one storey or two), no G, Q, R, K, k, t, y with their many shapes.
const STEADY: &str = "ABCDEFHILMNOPSTUVWXYZbcdehmnpquvwxz2356789ΓΛΠΦΨΔ";

/// A symbol and all that is clear about it in every font that was looked at.
#[derive(Debug, Clone)]
pub struct Known {
    pub symbol: char,
    pub steady: bool,
    pub looks: Looks,
}

/// Symmetric but for a small spur at a foot or shoulder: people may see it either way.
const SPURRED: &str = "nuɯ";

pub fn known() -> &'static [Known] {
    static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let known = glyphs().iter().filter_map(|glyph| {
            let symbol = glyph.symbol;
            let mut looks = listed(symbol)?.clone();
            looks.symmetry = looks.symmetry.filter(|_| !SPURRED.contains(symbol));
            let steady = STEADY.contains(symbol);
            Some(Known {
                symbol,
                steady,
                looks,
            })
        });
        known.collect()
    })
}

pub fn which(holds: impl Fn(&Known) -> bool) -> Vec<&'static Known> {
    known().iter().filter(|k| holds(k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(symbol: char) -> Option<[bool; 3]> {
        known().iter().find(|k| k.symbol == symbol)?.looks.symmetry
    }

    #[test]
    fn symmetries_are_what_people_see() {
        let show = |wanted: [bool; 3]| -> String {
            let class = which(|k| k.looks.symmetry == Some(wanted));
            class.iter().map(|k| k.symbol).collect()
        };
        eprintln!("left-right {}", show([true, false, false]));
        eprintln!("top-bottom {}", show([false, true, false]));
        eprintln!("half turn {}", show([false, false, true]));
        eprintln!("none {}", show([false, false, false]));
        let open: String =
            which(|k| k.looks.opening.is_some() && k.looks.single && k.looks.regions == Some(0))
                .iter()
                .map(|k| k.symbol)
                .collect();
        eprintln!("open to one side {open}");
        for (symbol, same) in [
            ('A', [true, false, false]),
            ('V', [true, false, false]),
            ('[', [false, true, false]),
            ('N', [false, false, true]),
            ('Z', [false, false, true]),
            ('F', [false, false, false]),
            ('H', [true, true, true]),
        ] {
            assert_eq!(of(symbol), Some(same), "{symbol}");
        }
        // A spur or a smaller upper bowl leaves room for doubt: not asked.
        assert_eq!((of('u'), of('B')), (None, None));
        // The ends of a C differ from font to font.
        assert_eq!(of('C'), None);
    }
}
