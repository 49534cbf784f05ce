//! Capital letters and digits as dots, for the captions of a sheet.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_generators::{Colour, Picture};

/// Letters of 5 × 7 dots, a row a number, the highest of five bits left.
static LETTERS: LazyLock<BTreeMap<char, [u8; 7]>> =
    LazyLock::new(|| serde_json::from_str(include_str!("letters.json")).unwrap_or_default());

/// Writes a text in capitals, each dot so many dots wide; what has no letter leaves a gap.
pub(super) fn write(
    picture: &mut Picture,
    (x, y): (u32, u32),
    scale: u32,
    text: &str,
    ink: Colour,
) {
    for (i, letter) in text.chars().enumerate() {
        let Some(rows) = LETTERS.get(&letter.to_ascii_uppercase()) else {
            continue;
        };
        let left = x + i as u32 * 6 * scale;
        for (row, bits) in rows.iter().enumerate() {
            for col in 0..5u32 {
                if bits >> (4 - col) & 1 == 1 {
                    let at = (left + col * scale, y + row as u32 * scale);
                    super::block(picture, at, (scale, scale), ink);
                }
            }
        }
    }
}
