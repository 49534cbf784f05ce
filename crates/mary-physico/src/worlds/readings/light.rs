//! Readings of pictures and rays: mirrored, reflected, beamed, streaked, filtered, larger, smaller,
//! rippled.

use super::{changed, content, form, one_colour, only_added};
use crate::grid::{Grid, Pair, Place};

/// Whether the cells that are not empty are symmetric about some line along an axis.
fn symmetric(grid: &Grid) -> bool {
    let cells = content(grid);
    let Some([top, left, bottom, right]) = super::bounds(&cells) else {
        return false;
    };
    let across = cells
        .iter()
        .all(|&(r, c)| grid.at(r, left + right - c) == grid.at(r, c));
    let down = cells
        .iter()
        .all(|&(r, c)| grid.at(top + bottom - r, c) == grid.at(r, c));
    across || down
}

pub(super) fn mirrored(pair: &Pair) -> bool {
    only_added(pair)
        && changed(pair).len() >= 4
        && symmetric(&pair.output)
        && !symmetric(&pair.input)
}

pub(super) fn reflected(pair: &Pair) -> bool {
    let new = changed(pair);
    let Some(colour) = one_colour(&pair.output, &new) else {
        return false;
    };
    if !only_added(pair) || new.len() < 3 || pair.input.count(colour) < 2 {
        return false;
    }
    let ray = pair.output.places_of(colour);
    // The ray as one row per column, or one column per row.
    [false, true].into_iter().any(|by_rows| {
        let mut path: Vec<Place> = ray
            .iter()
            .map(|&(r, c)| if by_rows { (c, r) } else { (r, c) })
            .collect();
        path.sort_unstable_by_key(|p| p.1);
        let one_each = path.windows(2).all(|w| w[1].1 == w[0].1 + 1);
        let slants: Vec<i32> = path.windows(2).map(|w| w[1].0 - w[0].0).collect();
        let turns = slants.windows(2).filter(|w| w[0] != w[1]).count();
        // At every turn a body must be there to turn it.
        let met = |i: usize| {
            let (r, c) = path.get(i).copied().unwrap_or((0, 0));
            let next = slants.get(i - 1).map_or(r, |s| r + s);
            let (r, c) = if by_rows { (c, next) } else { (next, c) };
            pair.input.get(r, c).is_some_and(|v| v != 0 && v != colour)
        };
        let turned_at_bodies = slants
            .windows(2)
            .enumerate()
            .filter(|(_, w)| w[0] != w[1])
            .all(|(i, _)| met(i + 1));
        one_each && slants.iter().all(|s| s.abs() == 1) && turns >= 1 && turned_at_bodies
    })
}

/// The new cells as connected groups of one colour.
fn groups(pair: &Pair) -> Vec<(u8, Vec<Place>)> {
    let mut only = Grid::new(pair.output.rows(), pair.output.cols());
    for (r, c) in changed(pair) {
        only.set(r, c, pair.output.at(r, c));
    }
    only.parts(0)
        .into_iter()
        .filter_map(|part| Some((one_colour(&only, &part)?, part)))
        .collect()
}

pub(super) fn beamed(pair: &Pair) -> bool {
    if !only_added(pair) {
        return false;
    }
    let beams = groups(pair);
    !beams.is_empty()
        && beams.iter().all(|(colour, cells)| {
            let (Some(&a), Some(&b)) = (cells.first(), cells.last()) else {
                return false;
            };
            let (dr, dc) = ((b.0 - a.0).signum(), (b.1 - a.1).signum());
            let straight = (dr == 0) != (dc == 0)
                && cells.len() as i32 == (b.0 - a.0).abs().max((b.1 - a.1).abs()) + 1;
            let before = (a.0 - dr, a.1 - dc);
            let after = (b.0 + dr, b.1 + dc);
            let starts = |p: Place| pair.input.get(p.0, p.1) == Some(*colour);
            let ends = |p: Place| {
                pair.input
                    .get(p.0, p.1)
                    .is_none_or(|v| v != 0 && v != *colour)
            };
            straight
                && cells.len() >= 3
                && ((starts(before) && ends(after)) || (starts(after) && ends(before)))
        })
}

pub(super) fn streaked(pair: &Pair) -> bool {
    if !only_added(pair) {
        return false;
    }
    let streaks = groups(pair);
    let dots: Vec<Vec<Place>> = pair
        .input
        .parts(0)
        .into_iter()
        .filter(|p| p.len() == 1)
        .collect();
    let near = |a: Place, b: Place| (a.0 - b.0).abs() <= 1 && (a.1 - b.1).abs() <= 1;
    streaks.len() >= 2
        && streaks.iter().all(|(colour, cells)| {
            cells.len() >= 2
                && dots.iter().flatten().any(|&d| {
                    pair.input.at(d.0, d.1) == *colour && cells.iter().any(|&c| near(c, d))
                })
        })
}

pub(super) fn filtered(pair: &Pair) -> bool {
    if !only_added(pair) {
        return false;
    }
    let new = changed(pair);
    let Some(own) = one_colour(&pair.output, &new) else {
        return false;
    };
    let (rows, cols) = (pair.input.rows() as i32, pair.input.cols() as i32);
    let full_col = |c: i32| (0..rows).all(|r| pair.input.at(r, c) == own);
    let full_row = |r: i32| (0..cols).all(|c| pair.input.at(r, c) == own);
    let Some(by_cols) = (0..cols)
        .find(|&c| full_col(c))
        .map(|c| (true, c))
        .or_else(|| (0..rows).find(|&r| full_row(r)).map(|r| (false, r)))
    else {
        return false;
    };
    let (upright, at) = by_cols;
    // Colours that touch the plate on the one side, and what lies on the other.
    let lanes = if upright { rows } else { cols };
    let look = |g: &Grid, lane: i32, side: i32| {
        if upright {
            g.at(lane, at + side)
        } else {
            g.at(at + side, lane)
        }
    };
    [-1, 1].into_iter().any(|side| {
        let mut kinds: Vec<u8> = (0..lanes).map(|l| look(&pair.input, l, side)).collect();
        let passes = (0..lanes).all(|l| {
            let from = look(&pair.input, l, side);
            let to = look(&pair.output, l, -side);
            (from == own) == (to == own) && (to == own || to == 0)
        });
        kinds.retain(|&k| k != 0);
        kinds.sort_unstable();
        kinds.dedup();
        kinds.len() >= 2 && passes
    })
}

fn scaled(small: &Grid, large: &Grid) -> bool {
    let (a, b) = (form(small, &content(small)), form(large, &content(large)));
    [2, 3].into_iter().any(|k: i32| {
        if a.len() * (k * k) as usize != b.len() {
            return false;
        }
        let mut image: Vec<(Place, u8)> = a
            .iter()
            .flat_map(|&((r, c), v)| (0..k * k).map(move |i| ((r * k + i / k, c * k + i % k), v)))
            .collect();
        image.sort_unstable();
        image == b
    })
}

pub(super) fn enlarged(pair: &Pair) -> bool {
    scaled(&pair.input, &pair.output)
}

pub(super) fn reduced(pair: &Pair) -> bool {
    scaled(&pair.output, &pair.input)
}

pub(super) fn rippled(pair: &Pair) -> bool {
    let new = changed(pair);
    if !only_added(pair) || one_colour(&pair.output, &new).is_none() {
        return false;
    }
    let colour = one_colour(&pair.output, &new);
    let dots = pair.input.parts(0).into_iter().filter(|p| p.len() == 1);
    let centres: Vec<Place> = dots.flatten().collect();
    centres.into_iter().any(|(mr, mc)| {
        let round = new.iter().all(|&(r, c)| {
            let (dr, dc) = (r - mr, c - mc);
            [(dc, -dr), (-dr, -dc), (-dc, dr)].iter().all(|&(tr, tc)| {
                pair.output
                    .get(mr + tr, mc + tc)
                    .is_none_or(|v| Some(v) == colour)
            })
        });
        // Going outwards, rings and gaps take turns.
        let rings = [(0, 1), (1, 0), (0, -1), (-1, 0)].iter().map(|&(dr, dc)| {
            let along: Vec<bool> = (1..20)
                .map_while(|k| pair.output.get(mr + dr * k, mc + dc * k))
                .map(|v| Some(v) == colour)
                .collect();
            along.windows(2).filter(|w| !w[0] && w[1]).count()
                + usize::from(along.first() == Some(&true))
        });
        round && rings.max().unwrap_or(0) >= 2
    })
}
