//! Geometry questions: paper folded and punched, cake and polygons cut, shapes compared, cubes folded
//! and piled, boards and arrows turned. Every answer follows from the figures in the question.

mod cutting;
mod folding;
mod shapes;
mod solids;
mod turning;

use super::block::FreshKind;

pub static KINDS: [FreshKind; 9] = [
    FreshKind::new("fold-count", folding::count).growing("folds: 2, 3, 4, 5"),
    FreshKind::new("fold-where", folding::place).growing("folds: 2, 3, 4, 5"),
    FreshKind::new("pieces", cutting::pieces).growing("cuts: 3, 4, 5, 6"),
    FreshKind::new("corners", cutting::corners)
        .growing("sides: 4 or 5, 5 or 6, 7 or 8, 8 or 9; corners cut off first: 0, 1, 2, 3"),
    FreshKind::new("compare", shapes::compare),
    FreshKind::new("cube-net", solids::net),
    FreshKind::new("pile", solids::pile).growing("towers: 2, 4, 6, 9"),
    FreshKind::new("board", turning::board).growing("moves: 1, 2, 3, 4"),
    FreshKind::new("heading", turning::heading).growing("moves: 1, 2, 3, 5"),
];
