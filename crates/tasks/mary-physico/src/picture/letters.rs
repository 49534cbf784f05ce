//! Capital letters and digits as dots, for the captions of a sheet.

use mary_generators::{Colour, Picture};

/// Letters of 5 × 7 dots, a row a number, the highest of five bits left.
#[rustfmt::skip]
const LETTERS: &[(char, [u8; 7])] = &[
    ('A', [14, 17, 17, 31, 17, 17, 17]), ('B', [30, 17, 17, 30, 17, 17, 30]),
    ('C', [14, 17, 16, 16, 16, 17, 14]), ('D', [30, 17, 17, 17, 17, 17, 30]),
    ('E', [31, 16, 16, 30, 16, 16, 31]), ('F', [31, 16, 16, 30, 16, 16, 16]),
    ('G', [14, 17, 16, 23, 17, 17, 14]), ('H', [17, 17, 17, 31, 17, 17, 17]),
    ('I', [14, 4, 4, 4, 4, 4, 14]), ('J', [7, 2, 2, 2, 2, 18, 12]),
    ('K', [17, 18, 20, 24, 20, 18, 17]), ('L', [16, 16, 16, 16, 16, 16, 31]),
    ('M', [17, 27, 21, 21, 17, 17, 17]), ('N', [17, 25, 21, 19, 17, 17, 17]),
    ('O', [14, 17, 17, 17, 17, 17, 14]), ('P', [30, 17, 17, 30, 16, 16, 16]),
    ('Q', [14, 17, 17, 17, 21, 18, 13]), ('R', [30, 17, 17, 30, 20, 18, 17]),
    ('S', [15, 16, 16, 14, 1, 1, 30]), ('T', [31, 4, 4, 4, 4, 4, 4]),
    ('U', [17, 17, 17, 17, 17, 17, 14]), ('V', [17, 17, 17, 17, 17, 10, 4]),
    ('W', [17, 17, 17, 21, 21, 27, 17]), ('X', [17, 17, 10, 4, 10, 17, 17]),
    ('Y', [17, 17, 10, 4, 4, 4, 4]), ('Z', [31, 1, 2, 4, 8, 16, 31]),
    ('0', [14, 17, 19, 21, 25, 17, 14]), ('1', [4, 12, 4, 4, 4, 4, 14]),
    ('2', [14, 17, 1, 2, 4, 8, 31]), ('3', [30, 1, 1, 14, 1, 1, 30]),
    ('4', [2, 6, 10, 18, 31, 2, 2]), ('5', [31, 16, 30, 1, 1, 17, 14]),
    ('6', [14, 16, 16, 30, 17, 17, 14]), ('7', [31, 1, 2, 4, 8, 8, 8]),
    ('8', [14, 17, 17, 14, 17, 17, 14]), ('9', [14, 17, 17, 15, 1, 1, 14]),
    (':', [0, 4, 0, 0, 0, 4, 0]), ('-', [0, 0, 0, 14, 0, 0, 0]),
];

/// Writes a text in capitals, each dot so many dots wide; what has no letter leaves a gap.
pub(super) fn write(
    picture: &mut Picture,
    (x, y): (u32, u32),
    scale: u32,
    text: &str,
    ink: Colour,
) {
    for (i, letter) in text.chars().enumerate() {
        let capital = letter.to_ascii_uppercase();
        let Some((_, rows)) = LETTERS.iter().find(|(l, _)| *l == capital) else {
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
