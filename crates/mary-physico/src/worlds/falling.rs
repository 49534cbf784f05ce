//! Bodies that fall, are drawn to one another, or simply go from one place to another.

use super::draw::{disc, extent, shifted};
use super::{Aspect, Concept, Set, Setting, Turn};
use crate::grid::{Pair, Place};

/// Gravity.
pub static GRAVITY: Concept = Concept {
    id: "gravity",
    name: "gravity",
    also: &["gravitation", "gravitational", "gravitate", "gravitates"],
    set: Set::CoreTest,
    associative: true,
    aspects: &[
        Aspect {
            id: "falling",
            rule: "Every body that hangs in the air falls straight down until the ground or another body stops it.",
            turn: Turn::Upright,
            make: falling,
        },
        Aspect {
            id: "planet",
            rule: "Stones all around a big round body are drawn straight towards its middle until they lie on it.",
            turn: Turn::Free,
            make: planet,
        },
    ],
};

fn falling(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - s.between(1, 3);
    let earth = s.colour(0);
    p.both(|g| g.fill((ground, 0), (g.rows() as i32, g.cols() as i32), earth));
    let mut col = s.between(0, 2);
    let mut role = 1;
    while col < s.cols - 1 {
        let size = s.between(1, 5) as usize;
        let form = s.blob(size);
        let (height, width) = extent(&form);
        if col + width > s.cols {
            break;
        }
        let from = s.between(0, ground - height - 2);
        let resting = ground - height;
        p.input.stamp(&form, (from, col), s.colour(role));
        p.output.stamp(&form, (resting, col), s.colour(role));
        role = 1 + role % 2;
        col += width + s.between(1, 3);
    }
    Some(p)
}

fn planet(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let radius = s.between(1, 2);
    let (mr, mc) = s.place((5, s.rows - 6), (5, s.cols - 6));
    let (big, small) = (s.colour(0), s.colour(1));
    p.both(|g| g.paint(disc((mr, mc), radius), big));
    let mut stones = 0;
    let ways = s.shuffled(vec![(-1, 0), (1, 0), (0, -1), (0, 1)]);
    let many = s.between(3, 4) as usize;
    for (dr, dc) in ways.into_iter().take(many) {
        let far = s.between(radius + 3, 9);
        let at: Place = (mr + dr * far, mc + dc * far);
        let to: Place = (mr + dr * (radius + 1), mc + dc * (radius + 1));
        if p.input.clear(&[at]) {
            p.input.set(at.0, at.1, small);
            p.output.set(to.0, to.1, small);
            stones += 1;
        }
    }
    (stones >= 2).then_some(p)
}

/// Move.
pub static MOVE: Concept = Concept {
    id: "move",
    name: "move",
    also: &[
        "moves",
        "moved",
        "moving",
        "movement",
        "motion",
        "displacement",
    ],
    set: Set::CoreTest,
    associative: true,
    aspects: &[
        Aspect {
            id: "one-body",
            rule: "One body among resting ones is put at another place without turning or changing.",
            turn: Turn::Free,
            make: one_body,
        },
        Aspect {
            id: "all-alike",
            rule: "All bodies of one colour go the same way by the same number of cells; the others stay.",
            turn: Turn::Free,
            make: all_alike,
        },
    ],
};

fn one_body(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let size = s.between(4, 7) as usize;
    let form = s.blob(size);
    let (height, width) = extent(&form);
    let from = s.place((0, s.rows - height), (0, s.cols / 2 - width));
    let by = s.between(width + 1, s.cols - width - from.1);
    let to = (from.0, from.1 + by);
    p.input.stamp(&form, from, s.colour(0));
    p.output.stamp(&form, to, s.colour(0));
    rest(s, &mut p, 2);
    (p.output.count(s.colour(0)) == form.len()).then_some(p)
}

fn all_alike(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let by = s.between(3, 6);
    for _ in 0..s.between(2, 4) {
        let size = s.between(2, 5) as usize;
        let form = s.blob(size);
        let (height, width) = extent(&form);
        let at = s.place((0, s.rows - height), (0, s.cols - width - by));
        let (from, to) = (shifted(&form, at), shifted(&form, (at.0, at.1 + by)));
        if p.input.roomy(&from) && p.output.roomy(&to) {
            p.input.paint(from, s.colour(0));
            p.output.paint(to, s.colour(0));
        }
    }
    rest(s, &mut p, 1);
    (p.input.count(s.colour(0)) > 4).then_some(p)
}

/// Bodies that stay where they are, where both grids have room.
fn rest(s: &mut Setting, p: &mut Pair, many: i32) {
    for role in 1..=many {
        let size = s.between(2, 4) as usize;
        let form = s.blob(size);
        let at = s.place((0, s.rows - 2), (0, s.cols - 2));
        let cells = shifted(&form, at);
        if p.input.roomy(&cells) && p.output.roomy(&cells) {
            let colour = s.colour(role as usize);
            p.both(|g| g.paint(cells.iter().copied(), colour));
        }
    }
}
