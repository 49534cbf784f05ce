//! Readings of matter that changes its form or state: grown, cut, levelled, rounded, emptied, spread,
//! crowded, melted, vaporized.

use super::{bounds, changed, one_colour};
use crate::grid::{Grid, Pair, Place, around};

pub(super) fn grew(pair: &Pair) -> bool {
    // Every colour there is has grown, and none is new.
    let (before, after) = (pair.input.counts(), pair.output.counts());
    let mut colours = before.iter().zip(&after).skip(1);
    if colours.any(|(b, a)| a < b || (*b == 0) != (*a == 0) || (*b > 0 && a == b)) {
        return false;
    }
    let parts = pair.input.parts(0);
    parts.len() >= 2
        && [1, 2].into_iter().any(|by: i32| {
            let mut image = Grid::new(pair.input.rows(), pair.input.cols());
            for part in &parts {
                for &(r, c) in part {
                    let colour = pair.input.at(r, c);
                    for dr in -by..=by {
                        for dc in -by..=by {
                            image.set(r + dr, c + dc, colour);
                        }
                    }
                }
            }
            image == pair.output
        })
}

/// The parts of one colour.
fn parts_of(grid: &Grid, colour: u8) -> Vec<Vec<Place>> {
    grid.regions(|c| c == colour, true)
}

fn is_box(cells: &[Place]) -> bool {
    bounds(cells).is_some_and(|[t, l, b, r]| {
        cells.len() as i32 == (b - t + 1) * (r - l + 1) && b > t && r > l
    })
}

pub(super) fn cut(pair: &Pair) -> bool {
    kept(pair, 8).any(|colour| {
        let (before, after) = (
            parts_of(&pair.input, colour),
            parts_of(&pair.output, colour),
        );
        before.len() == 1 && after.len() >= 2 && before.iter().chain(&after).all(|p| is_box(p))
    })
}

/// Whether every cell of a liquid is held: something lies under it and on both its sides.
fn held(grid: &Grid, liquid: &[Place]) -> bool {
    liquid.iter().all(|&(r, c)| {
        [(r + 1, c), (r, c - 1), (r, c + 1)]
            .iter()
            .all(|&(r, c)| grid.get(r, c).is_none_or(|v| v != 0))
    })
}

/// The open surfaces of a liquid: rows of runs of cells with nothing above them.
fn surfaces(grid: &Grid, liquid: &[Place], colour: u8) -> Vec<i32> {
    let open = |r: i32, c: i32| grid.at(r, c) == colour && grid.at(r - 1, c) == 0;
    liquid
        .iter()
        .filter(|&&(r, c)| open(r, c) && !open(r, c - 1))
        .map(|p| p.0)
        .collect()
}

pub(super) fn levelled(pair: &Pair) -> bool {
    kept(pair, 4).any(|colour| {
        let (before, after) = (pair.input.places_of(colour), pair.output.places_of(colour));
        if !held(&pair.input, &before) || !held(&pair.output, &after) {
            return false;
        }
        let level = |t: &[i32]| t.iter().all(|r| Some(r) == t.first());
        let was = surfaces(&pair.input, &before, colour);
        let is = surfaces(&pair.output, &after, colour);
        is.len() >= 2 && level(&is) && !level(&was)
    })
}

/// The colours of which there are at least so many cells and as many after as before.
fn kept(pair: &Pair, fewest: usize) -> impl Iterator<Item = u8> {
    let (before, after) = (pair.input.counts(), pair.output.counts());
    (1u8..10).filter(move |&c| {
        let of = |counts: &[usize; 10]| counts.get(usize::from(c)).copied().unwrap_or(0);
        of(&before) >= fewest && of(&before) == of(&after)
    })
}

/// How many sides of cells face another colour.
fn skin(grid: &Grid, cells: &[Place]) -> usize {
    cells
        .iter()
        .map(|&(r, c)| {
            let own = grid.at(r, c);
            around(false)
                .filter(|(dr, dc)| grid.get(r + dr, c + dc) != Some(own))
                .count()
        })
        .sum()
}

pub(super) fn rounded(pair: &Pair) -> bool {
    if pair.input.counts() != pair.output.counts() {
        return false;
    }
    let before = pair.input.parts(0);
    let after = pair.output.parts(0);
    !changed(pair).is_empty()
        && before.len() == after.len()
        && before.iter().all(|p| {
            let colour = one_colour(&pair.input, p);
            let twin = after.iter().find(|q| one_colour(&pair.output, q) == colour);
            twin.is_some_and(|q| {
                q.len() == p.len() && 4 * skin(&pair.output, q) <= 3 * skin(&pair.input, p)
            })
        })
}

/// The places from which the edge can be reached without crossing this colour.
fn outside(grid: &Grid, wall: u8) -> Grid {
    let mut seen = Grid::new(grid.rows(), grid.cols());
    let (last_row, last_col) = (grid.rows() as i32 - 1, grid.cols() as i32 - 1);
    let at_edge = |r: i32, c: i32| r == 0 || c == 0 || r == last_row || c == last_col;
    let mut open: Vec<Place> = grid
        .places()
        .filter(|&(r, c)| at_edge(r, c) && grid.at(r, c) != wall)
        .collect();
    seen.paint(open.iter().copied(), 1);
    while let Some((r, c)) = open.pop() {
        for (dr, dc) in around(false) {
            let (r, c) = (r + dr, c + dc);
            if grid.get(r, c).is_some_and(|v| v != wall) && seen.at(r, c) == 0 {
                seen.set(r, c, 1);
                open.push((r, c));
            }
        }
    }
    seen
}

pub(super) fn emptied(pair: &Pair) -> bool {
    let gone = changed(pair);
    let Some(colour) = one_colour(&pair.input, &gone) else {
        return false;
    };
    if gone.len() < 3 || colour == 0 || gone.iter().any(|&(r, c)| pair.output.at(r, c) != 0) {
        return false;
    }
    (1..10).filter(|&w| w != colour).any(|wall| {
        let out = outside(&pair.input, wall);
        let inside = |&(r, c): &Place| out.at(r, c) == 0;
        gone.iter().all(inside) && !pair.output.places_of(colour).iter().any(inside)
    })
}

fn area(cells: &[Place]) -> i32 {
    bounds(cells).map_or(0, |[t, l, b, r]| (b - t + 1) * (r - l + 1))
}

pub(super) fn spread(pair: &Pair) -> bool {
    kept(pair, 4).any(|colour| {
        let (before, after) = (pair.input.places_of(colour), pair.output.places_of(colour));
        area(&after) >= 3 * area(&before)
            && 3 * area(&before) <= 4 * before.len() as i32
            && parts_of(&pair.input, colour).len() == 1
            && 2 * parts_of(&pair.output, colour).len() >= before.len()
    })
}

pub(super) fn crowded(pair: &Pair) -> bool {
    kept(pair, 6).any(|colour| {
        let (before, after) = (pair.input.places_of(colour), pair.output.places_of(colour));
        3 * area(&after) <= 2 * area(&before)
            && 3 * after.len() as i32 >= area(&after)
            && 2 * parts_of(&pair.output, colour).len() <= parts_of(&pair.input, colour).len() + 1
            && parts_of(&pair.input, colour).len() > 1
    })
}

/// Pairs of a colour that loses cells and another, new in the output, that has exactly as many.
fn became(pair: &Pair) -> Vec<(u8, u8)> {
    let (before, after) = (pair.input.counts(), pair.output.counts());
    let of = |counts: &[usize; 10], c: u8| counts.get(usize::from(c)).copied().unwrap_or(0);
    let mut found = Vec::new();
    for old in 1u8..10 {
        let lost = of(&before, old).saturating_sub(of(&after, old));
        for new in 1u8..10 {
            if lost >= 3 && of(&before, new) == 0 && of(&after, new) == lost {
                found.push((old, new));
            }
        }
    }
    found
}

pub(super) fn melted(pair: &Pair) -> bool {
    let high = |cells: &[Place]| bounds(cells).map_or(0, |[t, _, b, _]| b - t + 1);
    became(pair).into_iter().any(|(ice, water)| {
        let (a, b) = (pair.input.places_of(ice), pair.output.places_of(water));
        a.len() >= 6 && a.len() == b.len() && high(&b) < high(&a)
    })
}

pub(super) fn vaporized(pair: &Pair) -> bool {
    became(pair).into_iter().any(|(water, steam)| {
        let cloud = pair.output.places_of(steam);
        let rest = pair.output.count(water);
        let surface = pair.input.places_of(water).first().map_or(0, |p| p.0);
        rest > 0
            && cloud.iter().all(|p| p.0 < surface)
            && pair.output.regions(|c| c == steam, false).len() == cloud.len()
    })
}
