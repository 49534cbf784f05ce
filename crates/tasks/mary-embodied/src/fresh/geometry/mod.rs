//! Geometry questions: paper folded and punched, cake and polygons cut, shapes compared, cubes folded
//! and piled, boards and arrows turned. Every answer follows from the figures in the question.

mod cutting;
mod folding;
mod shapes;
mod solids;
mod turning;

use super::block::Kind;

/// The kinds of geometry question.
pub static KINDS: [Kind; 9] = [
    Kind {
        name: "fold-count",
        draw: folding::count,
        grows: Some("folds: 2, 3, 4, 5"),
    },
    Kind {
        name: "fold-where",
        draw: folding::place,
        grows: Some("folds: 2, 3, 4, 5"),
    },
    Kind {
        name: "pieces",
        draw: cutting::pieces,
        grows: Some("cuts: 3, 4, 5, 6"),
    },
    Kind {
        name: "corners",
        draw: cutting::corners,
        grows: Some("sides: 4 or 5, 5 or 6, 7 or 8, 8 or 9; corners cut off first: 0, 1, 2, 3"),
    },
    Kind {
        name: "compare",
        draw: shapes::compare,
        grows: None,
    },
    Kind {
        name: "cube-net",
        draw: solids::net,
        grows: None,
    },
    Kind {
        name: "pile",
        draw: solids::pile,
        grows: Some("towers: 2, 4, 6, 9"),
    },
    Kind {
        name: "board",
        draw: turning::board,
        grows: Some("moves: 1, 2, 3, 4"),
    },
    Kind {
        name: "heading",
        draw: turning::heading,
        grows: Some("moves: 1, 2, 3, 5"),
    },
];

/// The margins in words, for the conventions.
pub const MARGINS: &str = "counts are exact; no two crossings of cuts nearer than 0.12 of the radius; \
    areas and outlines compared differ by at least 8 %";
