//! Symbol questions: what printed letters, digits and signs look like when they are cut, covered,
//! crossed, turned or laid side by side. Every answer is read off the picture of the symbol.

mod bank;
mod cuts;
pub mod fonts;
mod look;
mod rows;
mod shapes;

use super::block::FreshKind;

pub static KINDS: [FreshKind; 7] = [
    FreshKind::new("regions", rows::regions).growing("symbols: 3, 4, 6, 8"),
    FreshKind::new("covered", rows::covered).growing("symbols: 3, 4, 6, 8"),
    FreshKind::new("cut", rows::cut).growing("symbols: 2, 3, 4, 6"),
    FreshKind::new("crossed", rows::crossed).growing("symbols: 2, 3, 4, 6"),
    FreshKind::new("opening", shapes::opening).growing("moves: 1, 2, 3, 5"),
    FreshKind::new("symmetry", shapes::symmetry),
    FreshKind::new("size", shapes::size),
];

pub const MARGINS: &str = "drawn in DejaVu Sans; every answer holds in each of seven sans-serif fonts that \
    has the symbols, in three at least; a count must stay the same when a line is moved by 5 % of the \
    height, regions and pieces have at least 30 dots where a stroke is 12 wide; a symbol open to one \
    side has no other dent above 1.5 % of its box; symmetric from likeness 0.96 and overlap 0.80 on, not \
    symmetric up to likeness 0.86; widths and heights compared differ by at least 15 % here and 3 % in the other fonts";
