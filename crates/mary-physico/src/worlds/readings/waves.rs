//! Readings of waves on a line: shaken ropes, running and meeting humps.

use super::Reading;
use super::look::Look;
use crate::grid::Grid;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "wave",
        &["shaken-rope"],
        "did a straight line become one with crests and troughs by turns?",
        shaken,
    )
    .touching(1, 2)
    .kinds_stay(),
    Reading::new(
        "wave",
        &["running-pulse"],
        "did a hump go along a line and keep its form?",
        hump_ran,
    )
    .touching(1, 1)
    .kinds_stay(),
    Reading::new(
        "wave-interference",
        &["meeting-pulses"],
        "did two humps of a line meet and become one twice as high, or none?",
        humps_met,
    )
    .touching(1, 2)
    .kinds_stay(),
];

/// The rows that a colour has in each column, from the first to the last column it has.
fn profile(grid: &Grid, colour: u8) -> Option<(i32, Vec<(i32, i32)>)> {
    let cells = grid.places_of(colour);
    let [_, l, _, r] = super::bounds(&cells)?;
    // First row, last row and number of cells.
    let mut seen = vec![(i32::MAX, i32::MIN, 0); (r - l + 1) as usize];
    for (row, c) in cells {
        let column = seen.get_mut((c - l) as usize)?;
        *column = (column.0.min(row), column.1.max(row), column.2 + 1);
    }
    if seen.iter().any(|&(a, b, n)| n == 0 || b - a + 1 != n) {
        return None;
    }
    let columns: Vec<(i32, i32)> = seen.iter().map(|&(a, b, _)| (a, b)).collect();
    // A line without a break.
    let joined = |w: &[(i32, i32)]| w[0].0 <= w[1].1 + 1 && w[1].0 <= w[0].1 + 1;
    columns.windows(2).all(joined).then_some((l, columns))
}

fn shaken(look: &Look) -> bool {
    if look.touched.len() > 2 || look.changed.len() < 8 {
        return false;
    }
    look.lying_or_upright(|look| {
        look.touched.iter().any(|&rope| {
            let before = look.before_of(rope);
            let [line] = before.as_slice() else {
                return false;
            };
            if line.tall() != 1 || line.wide() < 8 {
                return false;
            }
            let Some((_, columns)) = profile(&look.output, rope) else {
                return false;
            };
            let rest = line.bounds[0];
            let heights: Vec<i32> = columns
                .iter()
                .map(|&(a, b)| {
                    if a.abs_diff(rest) > b.abs_diff(rest) {
                        a
                    } else {
                        b
                    }
                })
                .map(|r| r - rest)
                .collect();
            let mut sides: Vec<i32> = heights.iter().map(|h| h.signum()).collect();
            sides.retain(|s| *s != 0);
            sides.dedup();
            let mut ways: Vec<i32> = heights.windows(2).map(|w| (w[1] - w[0]).signum()).collect();
            ways.retain(|s| *s != 0);
            ways.dedup();
            let others = look.touched.iter().filter(|c| **c != rope);
            sides.len() >= 2
                && ways.len() >= 3
                && columns.len() + 2 >= line.len()
                && others
                    .copied()
                    .all(|c| look.kept(c, 1) && look.had(c) <= 4 && look.has_parts(c, 1, 1))
        })
    })
}

/// How far a line lies from its usual row in each column, on one side or the other.
fn heights(columns: &[(i32, i32)]) -> (i32, Vec<i32>) {
    let mut rows: Vec<i32> = columns.iter().filter(|c| c.0 == c.1).map(|c| c.0).collect();
    rows.sort_unstable();
    let usual = rows
        .iter()
        .copied()
        .max_by_key(|r| rows.iter().filter(|s| *s == r).count())
        .unwrap_or(0);
    let far = |&(a, b): &(i32, i32)| {
        if (a - usual).abs() > (b - usual).abs() {
            usual - a
        } else {
            usual - b
        }
    };
    (usual, columns.iter().map(far).collect())
}

/// The stretches of a line that are off its usual row.
fn humps(heights: &[i32]) -> Vec<(usize, Vec<i32>)> {
    let mut found: Vec<(usize, Vec<i32>)> = Vec::new();
    for (i, &h) in heights.iter().enumerate() {
        let goes_on = i > 0 && heights.get(i - 1).is_some_and(|b| b.signum() == h.signum());
        match found.last_mut() {
            _ if h == 0 => {}
            Some((_, hump)) if goes_on => hump.push(h),
            _ => found.push((i, vec![h])),
        }
    }
    found
}

fn hump_ran(look: &Look) -> bool {
    let [rope] = *look.touched.as_slice() else {
        return false;
    };
    look.lying_or_upright(|look| {
        let (Some((l, was)), Some((m, is))) =
            (profile(&look.input, rope), profile(&look.output, rope))
        else {
            return false;
        };
        let ((a, before), (b, after)) = (heights(&was), heights(&is));
        let (p, q) = (humps(&before), humps(&after));
        match (p.as_slice(), q.as_slice()) {
            ([(from, x)], [(to, y)]) => {
                // At the far end the hump may already run into what holds the line.
                let same = x == y || (x.starts_with(y) && x.len() == y.len() + 1);
                l == m && was.len() == is.len() && a == b && from != to && same && x.len() >= 3
            }
            _ => false,
        }
    })
}

fn humps_met(look: &Look) -> bool {
    let long = |c: &u8| look.had(*c) >= 10 && look.has(*c) >= 10;
    look.touched.iter().any(long) && look.lying_or_upright(met_along_a_row)
}

fn met_along_a_row(look: &Look) -> bool {
    look.touched.iter().any(|&rope| {
        if look.had(rope) < 10 {
            return false;
        }
        let (Some((l, was)), Some((m, is))) =
            (profile(&look.input, rope), profile(&look.output, rope))
        else {
            return false;
        };
        let ((a, before), (b, after)) = (heights(&was), heights(&is));
        let (p, q) = (humps(&before), humps(&after));
        let [(_, one), (_, two)] = p.as_slice() else {
            return false;
        };
        let peak = |h: &[i32]| h.iter().copied().max_by_key(|x| x.abs()).unwrap_or(0);
        let sum = peak(one) + peak(two);
        let added = match q.as_slice() {
            [] => sum == 0,
            [(_, hump)] => sum != 0 && peak(hump) == sum,
            _ => false,
        };
        // Marks may go along.
        let marks = |c: &&u8| {
            let along = look.moves_of(&[**c]);
            **c == rope || along.is_some_and(|all| all.iter().all(|m| m.by.0 == 0))
        };
        l == m
            && a == b
            && one.len() == two.len()
            && added
            && look.touched.iter().all(|c| marks(&c))
    })
}
