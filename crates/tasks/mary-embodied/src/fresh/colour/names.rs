//! The named colours of CSS Color Module Level 4 and their sRGB values.
//!
//! Doubles (aqua, fuchsia, the second spelling of gray) are in once. "dark gray" and "dark sea green"
//! are left out: both are lighter than their names say.

use std::sync::OnceLock;

use super::space::{Lab, cielab, oklab};

/// A named colour in all the spaces we use.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    pub name: &'static str,
    pub rgb: [u8; 3],
    /// In OKLab.
    pub ok: Lab,
    /// In CIELAB.
    pub cie: Lab,
}

pub fn named() -> &'static [Named] {
    static NAMED: OnceLock<Vec<Named>> = OnceLock::new();
    NAMED.get_or_init(|| {
        let lines = include_str!("names.txt").lines();
        lines.filter_map(colour).collect()
    })
}

/// A line of the list: `alice blue | f0f8ff`.
fn colour(line: &'static str) -> Option<Named> {
    let (name, hex) = line.split_once(" | ")?;
    let [_, r, g, b] = u32::from_str_radix(hex, 16).ok()?.to_be_bytes();
    let rgb = [r, g, b];
    Some(Named {
        name,
        rgb,
        ok: oklab(rgb),
        cie: cielab(rgb),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_but_the_first_is_a_colour() {
        let lines = include_str!("names.txt").lines().count();
        assert_eq!(named().len(), lines - 1);
        let white = named().iter().find(|c| c.name == "white").unwrap();
        assert_eq!(white.rgb, [255; 3]);
    }
}
