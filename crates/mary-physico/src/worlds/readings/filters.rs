//! Readings of what lets only some light through: plates, coloured glass, gratings.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::{Grid, Place};

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "optical-filters",
        &["one-colour-passes"],
        "of beams in several colours up to a plate, does only the plate's own colour go on?",
        passed_the_plate,
    )
    .touching(1, 1)
    .added(),
    Reading::new(
        "optical-filters",
        &["through-the-glass"],
        "inside a frame, did all vanish but what has the frame's own colour?",
        seen_through_glass,
    )
    .touching(2, 9),
    Reading::new(
        "polarization-of-light",
        &["one-direction", "second-grating"],
        "do strokes along the bars of a grating appear behind it, all the same way?",
        passed_the_grating,
    )
    .touching(1, 1)
    .added(),
];

fn passed_the_plate(look: &Look) -> bool {
    let Some(own) = look.one_added() else {
        return false;
    };
    if look.had(own) < 10 {
        return false;
    }
    look.lying_or_upright(|look| {
        let plate = (0..look.cols()).find(|&c| (0..look.rows()).all(|r| look.was((r, c)) == own));
        let Some(at) = plate else { return false };
        [-1, 1].into_iter().any(|side| {
            let from = |r: i32| look.was((r, at + side));
            let to = |r: i32| look.is((r, at - side));
            let mut kinds: Vec<u8> = (0..look.rows()).map(from).filter(|&k| k != 0).collect();
            kinds.sort_unstable();
            kinds.dedup();
            let passes = (0..look.rows())
                .all(|r| (from(r) == own) == (to(r) == own) && (to(r) == own || to(r) == 0));
            let in_lane = |p: &Place| from(p.0) == own && (p.1 - at) * side < 0;
            kinds.len() >= 2 && passes && look.changed.iter().all(in_lane)
        })
    })
}

fn seen_through_glass(look: &Look) -> bool {
    let dark = look.changed.iter().all(|&p| look.is(p) == 0);
    if !dark || look.changed.len() < 3 || look.touched.len() < 2 {
        return false;
    }
    (1u8..10)
        .filter(|g| !look.touched.contains(g) && look.had(*g) >= 12)
        .any(|glass| framed(&look.output, glass, &look.changed))
}

/// Whether some frame of this colour holds all these cells and nothing inside it but its own colour.
fn framed(grid: &Grid, glass: u8, cells: &[Place]) -> bool {
    let Some([t, l, b, r]) = super::bounds(cells) else {
        return false;
    };
    let (rows, cols) = (grid.rows() as i32, grid.cols() as i32);
    let row = |y: i32, x0: i32, x1: i32| (x0..=x1).all(|x| grid.at(y, x) == glass);
    let col = |x: i32, y0: i32, y1: i32| (y0..=y1).all(|y| grid.at(y, x) == glass);
    let own = |y: i32, x: i32| [0, glass].contains(&grid.at(y, x));
    // Outwards from the cells to the nearest full line on each side.
    (0..l).rev().any(|x0| {
        (r + 1..cols).any(|x1| {
            let over = (0..t).rev().find(|&y| row(y, x0, x1));
            let under = (b + 1..rows).find(|&y| row(y, x0, x1));
            let (Some(y0), Some(y1)) = (over, under) else {
                return false;
            };
            col(x0, y0, y1)
                && col(x1, y0, y1)
                && (y0 + 1..y1).all(|y| (x0 + 1..x1).all(|x| own(y, x)))
        })
    })
}

fn passed_the_grating(look: &Look) -> bool {
    let Some(light) = look.one_added() else {
        return false;
    };
    if look.had(light) < 2 {
        return false;
    }
    let strokes = look.new_parts();
    let upright = |p: &Part| p.tall() > p.wide();
    let Some(way) = strokes.first().map(upright) else {
        return false;
    };
    if !strokes
        .iter()
        .all(|s| s.is_run() && s.len() >= 2 && upright(s) == way)
    {
        return false;
    }
    // A grating: still bars of one colour along the strokes, every second line.
    let bars: Vec<&Part> = look
        .parts_before()
        .iter()
        .filter(|p| {
            p.colour != light
                && p.is_run()
                && p.len() >= 3
                && upright(p) == way
                && !look.restless(p)
        })
        .collect();
    let twin = |p: &&&Part| {
        bars.iter().any(|q| {
            let (dr, dc) = p.step_to(q);
            q.colour == p.colour
                && q.len() == p.len()
                && (dr.abs(), dc.abs()) == if way { (0, 2) } else { (2, 0) }
        })
    };
    let grating: Vec<&&Part> = bars.iter().filter(twin).collect();
    let cells: Vec<Place> = grating
        .iter()
        .flat_map(|p| p.cells.iter().copied())
        .collect();
    let Some([t, l, b, r]) = super::bounds(&cells) else {
        return false;
    };
    let old = look.input.places_of(light);
    let parted = |before: &dyn Fn(&Place) -> bool, after: &dyn Fn(&Place) -> bool| {
        old.iter().all(before) && look.changed.iter().all(after)
    };
    parted(&|p| p.1 < l, &|p| p.1 > r)
        || parted(&|p| p.1 > r, &|p| p.1 < l)
        || parted(&|p| p.0 < t, &|p| p.0 > b)
        || parted(&|p| p.0 > b, &|p| p.0 < t)
}
