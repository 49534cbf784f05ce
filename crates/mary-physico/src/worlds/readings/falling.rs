//! Readings of weight: bodies that fall, are drawn to a planet or follow a curve down.

use super::Reading;
use super::look::{Look, Part, edge_or};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "gravity",
        &["falling"],
        "did at least two bodies go straight down and come to rest on something, while all else stayed?",
        fell,
    )
    .may(several_went)
    .same_counts().movers(1)
    .upright(),
    Reading::new(
        "gravity",
        &["planet"],
        "did single stones all around a body go straight towards its middle until they lay on it?",
        drawn_to_the_middle,
    )
    .touching(1, 1).same_counts(),
    Reading::new(
        "gravity",
        &["throw"],
        "does a level trail go on over an edge and bend down ever more steeply to the ground?",
        thrown,
    )
    .touching(1, 1).added()
    .upright(),
];

fn rests(look: &Look, part: &Part) -> bool {
    part.cells.iter().any(|&(r, c)| {
        let under = (r + 1, c);
        !part.has(under) && edge_or(&look.output, under, |v| v != 0)
    })
}

fn several_went(look: &Look) -> bool {
    look.moves().is_some_and(|all| all.len() >= 2)
}

fn fell(look: &Look) -> bool {
    look.same_counts
        && look.moves().is_some_and(|all| {
            all.len() >= 2
                && all
                    .iter()
                    .all(|m| m.by.0 > 0 && m.by.1 == 0 && rests(look, m.to))
        })
}

fn drawn_to_the_middle(look: &Look) -> bool {
    let [stone] = *look.touched.as_slice() else {
        return false;
    };
    if !look.kept(stone, 3) {
        return false;
    }
    let ways = |cells: Vec<Place>, middle: Place| -> Option<Vec<(Place, i32)>> {
        let mut found = Vec::new();
        for (r, c) in cells {
            let (dr, dc) = (r - middle.0, c - middle.1);
            let far = dr.abs().max(dc.abs());
            if dr * dc != 0 && dr.abs() != dc.abs() {
                return None;
            }
            found.push(((dr.signum(), dc.signum()), far));
        }
        found.sort_unstable();
        Some(found)
    };
    let big = |p: &&Part| p.colour != stone && p.len() >= 5 && !look.restless(p);
    look.parts_before().iter().filter(big).any(|planet| {
        let (r, c) = planet.middle();
        if r % 2 != 0 || c % 2 != 0 {
            return false;
        }
        let middle = (r / 2, c / 2);
        let now = look.output.places_of(stone);
        let lie_on_it = now.iter().all(|&p| planet.touches(&[p]));
        let (Some(was), Some(is)) = (ways(look.input.places_of(stone), middle), ways(now, middle))
        else {
            return false;
        };
        lie_on_it && was.iter().zip(&is).all(|(a, b)| a.0 == b.0 && a.1 > b.1)
    })
}

fn thrown(look: &Look) -> bool {
    let Some(ball) = look.one_added() else {
        return false;
    };
    let before = look.before_of(ball);
    let [trail] = before.as_slice() else {
        return false;
    };
    if trail.tall() != 1 || look.changed.len() < 6 || look.after_of(ball).len() != 1 {
        return false;
    }
    let [row, left, _, right] = trail.bounds;
    [(left, -1), (right, 1)].into_iter().any(|(edge, way)| {
        if look.changed.iter().any(|p| (p.1 - edge) * way < 1) {
            return false;
        }
        // The lowest row that the curve reaches in each column.
        let mut low = Vec::new();
        for k in 1.. {
            let here = look.changed.iter().filter(|p| p.1 == edge + way * k);
            match here.map(|p| p.0).max() {
                Some(r) => low.push(r),
                None => break,
            }
        }
        let mut last = row;
        let drops: Vec<i32> = low
            .iter()
            .map(|&r| {
                let d = r - last;
                last = r;
                d
            })
            .collect();
        let n = drops.len();
        if n < 4 || drops.iter().any(|&d| d < 0) {
            return false;
        }
        let first: i32 = drops.iter().take(n / 2).sum();
        let second: i32 = drops.iter().skip(n - n / 2).sum();
        let ends_on = (last + 1, edge + way * n as i32);
        second > first
            && drops.windows(2).take(n - 2).all(|w| w[1] >= w[0] - 1)
            && last - row >= 4
            && edge_or(&look.output, ends_on, |v| v != 0)
    })
}
