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
    },
    Kind {
        name: "fold-where",
        draw: folding::place,
    },
    Kind {
        name: "pieces",
        draw: cutting::pieces,
    },
    Kind {
        name: "corners",
        draw: cutting::corners,
    },
    Kind {
        name: "compare",
        draw: shapes::compare,
    },
    Kind {
        name: "cube-net",
        draw: solids::net,
    },
    Kind {
        name: "pile",
        draw: solids::pile,
    },
    Kind {
        name: "board",
        draw: turning::board,
    },
    Kind {
        name: "heading",
        draw: turning::heading,
    },
];

/// The margins in words, for the conventions.
pub const MARGINS: &str = "counts are exact; no two crossings of cuts nearer than 0.12 of the radius; \
    areas and outlines compared differ by at least 8 %";
