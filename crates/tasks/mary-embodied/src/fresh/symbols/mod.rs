//! Symbol questions: what printed letters, digits and signs look like when they are cut, covered,
//! crossed, turned or laid side by side. Every answer is read off the picture of the symbol.

mod bank;
pub mod cuts;
pub mod fonts;
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
