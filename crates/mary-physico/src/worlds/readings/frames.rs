//! Readings of who looks: axes laid elsewhere, a scene shifted to its axes, ships shorter and clocks
//! slower in flight.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::{Grid, Place};

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "reference-frame",
        &["new-origin"],
        "do the same two crossed axes now meet at another body, and did nothing else change?",
        axes_elsewhere,
    )
    .touching(1, 1),
    Reading::new(
        "reference-frame",
        &["own-view"],
        "was everything but two crossed axes shifted alike, so that one body lies where they meet?",
        scene_shifted,
    )
    .touching(2, 5)
    .kinds_stay()
    .keeping(1)
    .movers(1),
    Reading::new(
        "relativity",
        &["shorter"],
        "of two equal bodies, did one go elsewhere and become half as long, as high as before?",
        shorter,
    )
    .fresh(1),
    Reading::new(
        "relativity",
        &["slower-clock"],
        "of two equal dials, did the one that went elsewhere go half as far round?",
        slower,
    )
    .fresh(1),
];

/// Where two lines of this colour, from edge to edge, cross: bodies may lie over them.
fn crossing(grid: &Grid, axis: u8) -> Option<Place> {
    let cells = grid.places_of(axis);
    let (rows, cols) = (grid.rows() as i32, grid.cols() as i32);
    let fullest = |n: i32, of: &dyn Fn(&Place) -> i32| {
        (0..n).max_by_key(|k| cells.iter().filter(|p| of(p) == *k).count())
    };
    let (r, c) = (fullest(rows, &|p| p.0)?, fullest(cols, &|p| p.1)?);
    let lines = cells.iter().all(|p| p.0 == r || p.1 == c);
    let whole = (0..cols).all(|x| grid.at(r, x) != 0) && (0..rows).all(|y| grid.at(y, c) != 0);
    (lines && whole && cells.len() as i32 * 2 > rows + cols).then_some((r, c))
}

fn axes_elsewhere(look: &Look) -> bool {
    let [axis] = *look.touched.as_slice() else {
        return false;
    };
    let (Some(a), Some(b)) = (crossing(&look.input, axis), crossing(&look.output, axis)) else {
        return false;
    };
    a.0 != b.0 && a.1 != b.1 && look.is(b) != axis && look.was(b) == look.is(b)
}

fn scene_shifted(look: &Look) -> bool {
    look.touched.iter().any(|&axis| {
        if 2 * look.had(axis) < look.input.rows() {
            return false;
        }
        let (Some(a), Some(b)) = (crossing(&look.input, axis), crossing(&look.output, axis)) else {
            return false;
        };
        let Some(all) = look.moves_but(&[axis]) else {
            return false;
        };
        let first = all.first().map(|m| m.by);
        a == b
            && all.len() >= 2
            && all.iter().all(|m| Some(m.by) == first)
            && all.iter().any(|m| m.to.middle() == (2 * b.0, 2 * b.1))
    })
}

fn colours(grid: &Grid, part: &Part) -> u16 {
    part.cells
        .iter()
        .fold(0, |set, &(r, c)| set | 1 << grid.at(r, c))
}

fn shorter(look: &Look) -> bool {
    let Some(speed) = look.one_fresh() else {
        return false;
    };
    let [ship] = look.bodies_before() else {
        return false;
    };
    let after: Vec<&Part> = look
        .bodies_after()
        .iter()
        .filter(|b| b.cells.iter().all(|&p| look.is(p) != speed))
        .collect();
    let [short] = after.as_slice() else {
        return false;
    };
    let halved = (short.tall() == ship.tall()
        && 2 * short.wide() == ship.wide()
        && short.bounds[0] == ship.bounds[0])
        || (short.wide() == ship.wide()
            && 2 * short.tall() == ship.tall()
            && short.bounds[1] == ship.bounds[1]);
    let twin = look.parts_before().iter().any(|p| {
        !look.restless(p)
            && ship
                .cells
                .first()
                .is_some_and(|&at| look.was(at) == p.colour)
            && p.tall() == ship.tall()
            && p.wide() == ship.wide()
    });
    let streak = |p: &&Part| p.is_run() && p.len() >= 2;
    halved
        && look.after_of(speed).iter().all(streak)
        && ship.is_box()
        && short.is_box()
        && ship.len() >= 8
        && colours(&look.input, ship) == colours(&look.output, short)
        && twin
}

fn slower(look: &Look) -> bool {
    if look.one_fresh().is_none() {
        return false;
    }
    // A ring of equal sides; the smallest has its pin right inside.
    let dial = |b: &&Part| b.tall() == b.wide() && (b.is_frame() || (b.is_box() && b.tall() == 3));
    let dials = |bodies: &'_ [Part]| -> Vec<Part> { bodies.iter().filter(dial).cloned().collect() };
    let (before, after) = (dials(look.bodies_before()), dials(look.bodies_after()));
    let ([a, b], [c, d]) = (before.as_slice(), after.as_slice()) else {
        return false;
    };
    if !(a.alike(b) && a.alike(c) && a.alike(d)) {
        return false;
    }
    let here = |p: &&Part| p.bounds == a.bounds || p.bounds == b.bounds;
    let (Some(rest), Some(fly)) = ([c, d].into_iter().find(here), {
        [c, d].into_iter().find(|p| !here(p))
    }) else {
        return false;
    };
    let count = |grid: &Grid, part: &Part, colour: u8| {
        part.cells
            .iter()
            .filter(|&&(r, x)| grid.at(r, x) == colour)
            .count()
    };
    // Nothing else but the pins inside the dials and streaks of the new colour.
    let within = |part: &Part, dial: &Part| {
        let ([t, l, b, r], [dt, dl, db, dr]) = (part.bounds, dial.bounds);
        t >= dt && l >= dl && b <= db && r <= dr
    };
    let streak = |p: &Part| {
        let ([t, l, b, r], [ft, fl, fb, fr]) = (p.bounds, fly.bounds);
        let beside = (t >= ft && b <= fb) || (l >= fl && r <= fr);
        p.is_run()
            && beside
            && p.cells
                .iter()
                .all(|&q| Some(look.is(q)) == look.one_fresh())
    };
    let all_explained = look
        .bodies_before()
        .iter()
        .all(|p| within(p, a) || within(p, b))
        && look
            .bodies_after()
            .iter()
            .all(|p| within(p, rest) || within(p, fly) || streak(p));
    all_explained
        && look.touched.iter().any(|&gone| {
            let (n, m) = (
                count(&look.output, rest, gone),
                count(&look.output, fly, gone),
            );
            let (p, q) = (count(&look.input, a, gone), count(&look.input, b, gone));
            p == q && m > p && n == 2 * m
        })
}
