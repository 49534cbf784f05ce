//! Bodies that fall, are drawn to a planet, or simply go from one place to another.

use super::draw::{disc, extent, line, shifted};
use super::{Aspect, Concept, Setting, Support};
use crate::grid::{Pair, Place};

/// Gravity.
pub static GRAVITY: Concept = Concept::core_test(
    "gravity",
    "gravity",
    &["gravitation", "gravitational", "gravitate", "gravitates"],
    &[
        Aspect::upright(
            "falling",
            "Every body that hangs in the air falls straight down until the ground or a mound stops it.",
            falling,
        )
        .supported(Support::Below),
        Aspect::free(
            "planet",
            "Stones all around a big round body are drawn straight towards its middle until they lie on it.",
            planet,
        )
        .supported(Support::Beside),
        Aspect::upright(
            "throw",
            "A ball that rolls over the edge of a cliff follows a curve that bends down ever more steeply to the ground.",
            throw,
        )
        .supported(Support::Below),
    ],
)
.also_associative();

fn falling(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - s.between(1, 2);
    let earth = s.colour(0);
    p.both(|g| g.fill((ground, 0), (g.rows() as i32, g.cols() as i32), earth));
    // Room on the ground beside them, for distractors: what hung in the air would fall too.
    let room = s.between(4, 6);
    let (first, end) = if s.coin() {
        (room, s.cols)
    } else {
        (0, s.cols - room)
    };
    let mut col = first + s.between(0, 1);
    let mut bodies = 0;
    while col < end - 1 {
        let size = s.between(2, 6) as usize;
        let form = s.blob(size);
        let (height, width) = extent(&form);
        if col + width > end {
            break;
        }
        let floor = if s.between(0, 3) == 0 {
            let ledge = ground - s.between(2, 3);
            p.both(|g| g.fill((ledge, col), (ground, col + width - 1), earth));
            ledge
        } else {
            ground
        };
        let from = s.between(0, floor - height - 3);
        p.input.stamp(&form, (from, col), s.colour(1 + bodies % 3));
        p.output
            .stamp(&form, (floor - height, col), s.colour(1 + bodies % 3));
        bodies += 1;
        col += width + s.between(1, 2);
    }
    (bodies >= 2).then_some(p)
}

fn planet(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let radius = s.between(1, 2);
    let (mr, mc) = s.place((5, s.rows - 6), (5, s.cols - 6));
    let (big, small) = (s.colour(0), s.colour(1));
    p.both(|g| g.paint(disc((mr, mc), radius), big));
    let mut stones = 0;
    let ways = s.shuffled(vec![
        (-1, 0),
        (1, 0),
        (0, -1),
        (0, 1),
        (1, 1),
        (-1, -1),
        (1, -1),
        (-1, 1),
    ]);
    let many = s.between(5, 8) as usize;
    for (dr, dc) in ways.into_iter().take(many) {
        let near = (1..9).find(|k| p.output.at(mr + dr * k, mc + dc * k) != big)?;
        let far = s.between(near + 1, 9);
        let at: Place = (mr + dr * far, mc + dc * far);
        if p.input.clear(&[at]) {
            p.input.set(at.0, at.1, small);
            p.output.set(mr + dr * near, mc + dc * near, small);
            stones += 1;
        }
    }
    (stones >= 4).then_some(p)
}

fn throw(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - s.between(1, 2);
    let (earth, ball, path) = (s.colour(0), s.colour(1), s.colour(1));
    let edge = s.between(2, 4);
    let top = s.between(2, 4);
    p.both(|g| {
        g.fill((ground, 0), (g.rows() as i32, g.cols() as i32), earth);
        g.fill((top, 0), (ground, edge - 1), earth);
    });
    p.input.fill((top - 1, 0), (top - 1, edge - 1), ball);
    p.output.fill((top - 1, 0), (top - 1, edge - 1), ball);
    let reach = s.between(5, s.cols - edge - 1);
    let drop = ground - top;
    let mut last = (top - 1, edge - 1);
    for dx in 1..=reach {
        let next = (top - 1 + drop * dx * dx / (reach * reach), edge - 1 + dx);
        p.output.paint(line(last, next).into_iter().skip(1), path);
        last = next;
    }
    Some(p)
}

/// Move.
pub static MOVE: Concept = Concept::core_test(
    "move",
    "move",
    &["moves", "moved", "moving", "movement", "motion", "displacement"],
    &[
        Aspect::free(
            "one-body",
            "One body among resting ones goes to another place without turning or changing.",
            one_body,
        ),
        Aspect::free(
            "all-alike",
            "All bodies of one colour go the same way by the same number of cells; the others stay.",
            all_alike,
        ),
    ],
)
.also_associative();

fn one_body(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let size = s.between(5, 8) as usize;
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
    let mut bodies = 0;
    for _ in 0..s.between(6, 12) {
        let size = s.between(2, 5) as usize;
        let form = s.blob(size);
        let (height, width) = extent(&form);
        let at = s.place((0, s.rows - height), (0, s.cols - width - by));
        let (from, to) = (shifted(&form, at), shifted(&form, (at.0, at.1 + by)));
        if p.input.roomy(&from) && p.output.roomy(&to) {
            p.input.paint(from, s.colour(0));
            p.output.paint(to, s.colour(0));
            bodies += 1;
        }
    }
    rest(s, &mut p, 2);
    (bodies >= 2).then_some(p)
}

/// Bodies that stay where they are, where both grids have room.
fn rest(s: &mut Setting, p: &mut Pair, many: usize) {
    for role in 1..=many {
        let size = s.between(2, 5) as usize;
        let form = s.blob(size);
        for _ in 0..20 {
            let at = s.place((0, s.rows - 2), (0, s.cols - 2));
            let cells = shifted(&form, at);
            if p.input.roomy(&cells) && p.output.roomy(&cells) {
                let colour = s.colour(role);
                p.both(|g| g.paint(cells.iter().copied(), colour));
                break;
            }
        }
    }
}
