//! Readings of waves that spread: rings that cross, waves behind gaps and edges, ripples.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "wave-interference",
        &["two-sources"],
        "do the rings of two points cross, and is a new colour where they do?",
        rings_crossed,
    )
    .touching(3, 3)
    .fresh(1),
    Reading::new(
        "diffraction-of-waves",
        &["slit"],
        "do arcs around the gap in a wall appear behind it, with straight fronts before it?",
        spread_behind_a_gap,
    )
    .touching(1, 1)
    .added(),
    Reading::new(
        "diffraction-of-waves",
        &["edge"],
        "do straight fronts go on past the end of a wall and curl in behind it?",
        curled_around,
    )
    .touching(1, 1)
    .added(),
    Reading::new(
        "water-ripples",
        &["dropped-stone"],
        "did at least two whole rings appear around a point?",
        rippled,
    )
    .touching(1, 1)
    .added(),
    Reading::new(
        "water-ripples",
        &["growing-ring"],
        "did a ring appear around every ring that has a point in its middle?",
        ringed_again,
    )
    .touching(1, 1)
    .added(),
];

fn rings_crossed(look: &Look) -> bool {
    let Some(both) = look.one_fresh() else {
        return false;
    };
    let kinds: Vec<u8> = look
        .touched
        .iter()
        .copied()
        .filter(|c| *c != both)
        .collect();
    let [one, two] = *kinds.as_slice() else {
        return false;
    };
    // Where the cells of one colour have their middle before, and how far they are from it after.
    let source = |colour: u8| {
        let cells = look.input.places_of(colour);
        let [t, l, b, r] = super::bounds(&cells)?;
        ((t + b) % 2 == 0 && (l + r) % 2 == 0 && cells.len() <= 9)
            .then_some(((t + b) / 2, (l + r) / 2))
    };
    let (Some(p), Some(q)) = (source(one), source(two)) else {
        return false;
    };
    let far = |a: Place, b: Place| (a.0 - b.0).abs().max((a.1 - b.1).abs());
    let radii = |colour: u8, middle: Place| {
        let cells = look.output.places_of(colour);
        let mut radii: Vec<i32> = cells
            .iter()
            .map(|&c| far(c, middle))
            .filter(|&k| k > 0)
            .collect();
        radii.sort_unstable();
        radii.dedup();
        radii
    };
    let (a, b) = (radii(one, p), radii(two, q));
    // Both have rings of the same one or two sizes.
    let mut fewest = [a.clone(), b.clone()].concat();
    fewest.sort_unstable();
    fewest.dedup();
    fewest.truncate(2);
    let crossings = look.output.places_of(both);
    crossings.len() >= 2
        && !a.is_empty()
        && !b.is_empty()
        && a.iter().chain(&b).all(|k| fewest.contains(k))
        && crossings
            .iter()
            .all(|&c| a.contains(&far(c, p)) && b.contains(&far(c, q)))
}

/// Straight fronts: still upright runs of this colour left of a column.
fn fronts(look: &Look, colour: u8, before: i32) -> bool {
    look.parts_before()
        .iter()
        .filter(|p| p.colour == colour)
        .all(|p| p.wide() == 1 && p.tall() == look.rows() && p.bounds[1] < before)
}

fn spread_behind_a_gap(look: &Look) -> bool {
    let Some(water) = look.one_added() else {
        return false;
    };
    if look.had(water) < 10 {
        return false;
    }
    look.some_way(|look| {
        // A wall from edge to edge with one gap.
        let gap = (1..look.cols() - 1).find_map(|c| {
            let wall = look.was((0, c)).max(look.was((look.rows() - 1, c)));
            let open: Vec<i32> = (0..look.rows())
                .filter(|&r| look.was((r, c)) != wall)
                .collect();
            match open.as_slice() {
                [r] if wall != 0 && wall != water => Some((*r, c)),
                _ => None,
            }
        });
        let Some((row, col)) = gap else { return false };
        let arcs = look.new_parts();
        let arc = |p: &Part| {
            // Farthest from the wall in front of the gap, the same above and below it.
            let tip = p.bounds[3];
            let twin = |q: &Place| {
                let other = (2 * row - q.0, q.1);
                !look.holds(other) || p.has(other)
            };
            p.bounds[1] > col && p.has((row, tip)) && p.cells.iter().all(twin) && p.tall() > 1
        };
        let clipped = |p: &Part| p.bounds[3] == look.cols() - 1 && p.bounds[1] > col && p.len() > 1;
        fronts(look, water, col)
            && arcs.iter().filter(|p| arc(p)).count() >= 2
            && arcs.iter().all(|p| arc(p) || clipped(p))
    })
}

fn curled_around(look: &Look) -> bool {
    let Some(water) = look.one_added() else {
        return false;
    };
    if look.had(water) < 10 {
        return false;
    }
    look.some_way(|look| {
        (1..look.cols() - 1).any(|c| {
            let wall = look.was((0, c)).max(look.was((look.rows() - 1, c)));
            let built = |r: i32| look.was((r, c)) == wall;
            let ends = built(0) != built(look.rows() - 1);
            let breaks = (1..look.rows())
                .filter(|&r| built(r) != built(r - 1))
                .count();
            if wall == 0 || wall == water || !ends || breaks != 1 {
                return false;
            }
            // In the open the same columns in every row; behind the wall, round its end.
            let columns = |r: i32| -> Vec<i32> {
                look.changed
                    .iter()
                    .filter(|q| q.0 == r)
                    .map(|q| q.1)
                    .collect()
            };
            let first = if built(0) { look.rows() - 1 } else { 0 };
            let open = columns(first);
            let end = (0..look.rows())
                .filter(|&r| !built(r))
                .map(|r| (r - first).abs())
                .max();
            let end = end.map_or(first, |k| if first == 0 { k } else { first - k });
            let round = |q: &Place| {
                let (dr, dc) = (f64::from(q.0 - end), f64::from(q.1 - c));
                let far = dr.hypot(dc);
                open.iter().any(|x| (f64::from(x - c) - far).abs() <= 0.9)
                    || far > f64::from(look.cols() - 1 - c)
            };
            let shadow: Vec<&Place> = look.changed.iter().filter(|q| built(q.0)).collect();
            fronts(look, water, c)
                && open.len() >= 2
                && open.iter().all(|x| *x > c + 1)
                && (0..look.rows())
                    .filter(|&r| !built(r))
                    .all(|r| columns(r) == open)
                && shadow.len() >= open.len()
                && shadow.iter().all(|q| q.1 > c && round(q))
        })
    })
}

fn rippled(look: &Look) -> bool {
    let Some(colour) = look.one_added() else {
        return false;
    };
    let dots = look.parts_before().iter().filter(|p| p.len() == 1);
    dots.flat_map(|p| p.cells.first().copied()).any(|(mr, mc)| {
        let round = look.changed.iter().all(|&(r, c)| {
            let (dr, dc) = (r - mr, c - mc);
            [(dc, -dr), (-dr, -dc), (-dc, dr)].iter().all(|&(tr, tc)| {
                look.output
                    .get(mr + tr, mc + tc)
                    .is_none_or(|v| v == colour)
            })
        });
        // Going outwards, rings and gaps take turns.
        let rings = [(0, 1), (1, 0), (0, -1), (-1, 0)].iter().map(|&(dr, dc)| {
            let along: Vec<bool> = (1..20)
                .map_while(|k| look.output.get(mr + dr * k, mc + dc * k))
                .map(|v| v == colour)
                .collect();
            along.windows(2).filter(|w| !w[0] && w[1]).count()
                + usize::from(along.first() == Some(&true))
        });
        let whole = |k: i32| {
            [(0, k), (k, 0), (0, -k), (-k, 0)]
                .iter()
                .all(|&(dr, dc)| look.is((mr + dr, mc + dc)) == colour)
        };
        let joined = |p: &Part| {
            let [t, l, b, r] = p.bounds;
            p.len() > 1 || t == 0 || l == 0 || b + 1 == look.rows() || r + 1 == look.cols()
        };
        round
            && (1..=4).any(whole)
            && rings.max().unwrap_or(0) >= 2
            && look.new_parts().iter().all(joined)
    })
}

fn ringed_again(look: &Look) -> bool {
    let Some(water) = look.one_added() else {
        return false;
    };
    if look.had(water) < 8 || look.changed.len() < 6 {
        return false;
    }
    let far = |a: Place, b: Place| (a.0 - b.0).abs().max((a.1 - b.1).abs());
    let was = look.input.places_of(water);
    let pebbles: Vec<Place> = look
        .parts_before()
        .iter()
        .filter(|p| p.len() == 1 && p.colour != water)
        .flat_map(|p| p.cells.first().copied())
        .filter(|&p| was.iter().any(|&q| far(p, q) <= 2))
        .collect();
    // Every cell, old or new, is on a ring of its nearest pebble; new ones two further out.
    let radius = |cells: &[Place], pebble: Place| {
        let mut radii: Vec<i32> = cells
            .iter()
            .filter(|q| pebbles.iter().all(|p| far(*p, **q) >= far(pebble, **q)))
            .map(|q| far(pebble, *q))
            .collect();
        radii.sort_unstable();
        radii.dedup();
        radii
    };
    !pebbles.is_empty()
        && pebbles.iter().all(|&p| {
            let (a, b) = (radius(&was, p), radius(&look.changed, p));
            matches!((a.as_slice(), b.as_slice()), ([k], [n]) if n > k)
        })
}
