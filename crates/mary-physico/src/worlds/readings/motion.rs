//! Readings of bodies that change their place: moved, fell, turned, sped up.

use super::{bounds, changed, form};
use crate::grid::{Grid, Pair, Place};

type Moves = Vec<(Vec<Place>, Vec<Place>)>;

/// The parts that changed, each with the part of the same colour and form that it became; `None` if
/// one has no counterpart.
fn moves(pair: &Pair) -> Option<Moves> {
    if pair.input.counts() != pair.output.counts() {
        return None;
    }
    let before = pair.input.parts(0);
    let after = pair.output.parts(0);
    let gone: Vec<_> = before.iter().filter(|p| !still(pair, p)).collect();
    let mut come: Vec<_> = after.iter().filter(|p| !still(pair, p)).collect();
    if gone.is_empty() || gone.len() != come.len() {
        return None;
    }
    let mut found = Vec::new();
    for part in gone {
        let mine = form(&pair.input, part);
        let i = come.iter().position(|p| form(&pair.output, p) == mine)?;
        found.push((part.clone(), come.remove(i).clone()));
    }
    Some(found)
}

/// Whether a part has the same cells in both grids.
fn still(pair: &Pair, part: &[Place]) -> bool {
    part.iter()
        .all(|&(r, c)| pair.input.at(r, c) == pair.output.at(r, c))
}

fn step(from: &[Place], to: &[Place]) -> Option<Place> {
    let (a, b) = (bounds(from)?, bounds(to)?);
    Some((b[0] - a[0], b[1] - a[1]))
}

pub(super) fn moved(pair: &Pair) -> bool {
    let Some(all) = moves(pair) else { return false };
    let mut steps = all.iter().filter_map(|(a, b)| step(a, b));
    let Some(first) = steps.next() else {
        return false;
    };
    steps.all(|s| s == first)
}

pub(super) fn fell(pair: &Pair) -> bool {
    let Some(all) = moves(pair) else { return false };
    let rests = |part: &[Place]| {
        part.iter().any(|&(r, c)| {
            let under = (r + 1, c);
            !part.contains(&under)
                && (!pair.output.holds(under.0, under.1) || pair.output.at(under.0, under.1) != 0)
        })
    };
    all.len() >= 2
        && all
            .iter()
            .all(|(a, b)| step(a, b).is_some_and(|(dr, dc)| dr > 0 && dc == 0) && rests(b))
}

pub(super) fn turned(pair: &Pair) -> bool {
    if pair.input.counts() != pair.output.counts() {
        return false;
    }
    let other = |&(r, c): &Place| pair.input.at(r, c) != pair.output.at(r, c);
    let stuff = |g: &Grid| -> Vec<Vec<(Place, u8)>> {
        g.regions_of_any()
            .into_iter()
            .filter(|part| part.iter().any(other))
            .map(|part| form(g, &part))
            .collect()
    };
    let (before, mut after) = (stuff(&pair.input), stuff(&pair.output));
    if before.is_empty() || before.len() != after.len() {
        return false;
    }
    before.into_iter().all(|form| {
        if form.len() < 4 {
            return false;
        }
        let mut image = form.clone();
        for _ in 0..3 {
            let bottom = image.iter().map(|x| x.0.0).max().unwrap_or(0);
            for x in &mut image {
                x.0 = (x.0.1, bottom - x.0.0);
            }
            image.sort_unstable();
            if image != form
                && let Some(i) = after.iter().position(|a| *a == image)
            {
                after.remove(i);
                return true;
            }
        }
        false
    })
}

pub(super) fn sped_up(pair: &Pair) -> bool {
    // Forms whatever their colours, with their upper left corners.
    let stamps: Vec<(Vec<Place>, [i32; 2])> = pair
        .output
        .parts(0)
        .iter()
        .filter_map(|p| {
            let [top, left, ..] = bounds(p)?;
            let form = p.iter().map(|q| (q.0 - top, q.1 - left)).collect();
            Some((form, [top, left]))
        })
        .collect();
    stamps.iter().any(|(form, start)| {
        [0usize, 1].into_iter().any(|axis| {
            let mut at: Vec<i32> = stamps
                .iter()
                .filter(|(f, place)| place[axis] == start[axis] && f == form)
                .map(|(_, place)| place[1 - axis])
                .collect();
            at.sort_unstable();
            let gaps: Vec<i32> = at.windows(2).map(|w| w[1] - w[0]).collect();
            let grows = |g: &[i32]| g.windows(2).all(|w| w[1] == w[0] + 1);
            let back: Vec<i32> = gaps.iter().rev().copied().collect();
            gaps.len() >= 3 && (grows(&gaps) || grows(&back)) && changed(pair).len() >= 3
        })
    })
}

impl Grid {
    /// Connected parts of any colours other than black, sides or corners touching.
    fn regions_of_any(&self) -> Vec<Vec<Place>> {
        let mut mask = self.clone();
        for (r, c) in self.places() {
            mask.set(r, c, u8::from(self.at(r, c) != 0));
        }
        mask.parts(0)
    }
}
