//! Readings of machines: levers, pulleys, slopes, cranes and jacks, forces that add up.

use super::Reading;
use super::look::{Look, Move, Part};
use crate::grid::{Grid, Place};

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "lever",
        &["seesaw", "crowbar"],
        "did a plank tip about a still point, its ends as far as their arms are long, with what lies on them?",
        tipped,
    )
    .may(two_loads)
    .touching(2, 3).kinds_stay().keeping(1).movers(1)
    .upright(),
    Reading::new(
        "pulley",
        &["one-wheel", "two-wheels"],
        "did one thing on an upright rope go down as far, or twice as far, as what hangs on the other goes up?",
        went_over_a_wheel,
    )
    .may(hand_and_load)
    .touching(2, 4).kinds_stay().keeping(1).movers(1)
    .upright(),
    Reading::new(
        "inclined-plane",
        &["rolling-down", "pushing-up"],
        "did something go between the top of a slope and its foot, resting on both?",
        went_along_a_slope,
    )
    .touching(1, 2).same_counts()
    .upright(),
    Reading::new(
        "lifting",
        &["crane", "jack"],
        "did something go straight up because a rope over it got shorter or a column under it longer by as much?",
        lifted,
    )
    .may(all_alike)
    .touching(2, 3).kinds_stay().keeping(1).movers(1)
    .upright(),
    Reading::new(
        "force-composition",
        &["parallelogram"],
        "do two lines from a point get a third to the far corner of their parallelogram?",
        diagonal,
    )
    .touching(2, 4).fresh(1),
    Reading::new(
        "force-composition",
        &["tug-of-war"],
        "do two opposite arms of a body become one, as long as their difference, on the longer's side?",
        difference,
    )
    .touching(2, 2),
];

/// Splits the colours that changed into one and the others, in every way.
fn apart(colours: &[u8]) -> impl Iterator<Item = (u8, Vec<u8>)> {
    colours.iter().map(|&one| {
        let others = colours.iter().copied().filter(|c| *c != one).collect();
        (one, others)
    })
}

fn two_loads(look: &Look) -> bool {
    apart(&look.touched).any(|(_, loads)| look.moves_of(&loads).is_some_and(|m| m.len() == 2))
}

fn tipped(look: &Look) -> bool {
    if !(2..=3).contains(&look.touched.len()) {
        return false;
    }
    apart(&look.touched).any(|(wood, loads)| {
        let Some(all) = look.moves_of(&loads) else {
            return false;
        };
        let [x, y] = all.as_slice() else {
            return false;
        };
        let (l, r) = if x.from.bounds[1] < y.from.bounds[1] {
            (x, y)
        } else {
            (y, x)
        };
        let (was, is) = (look.before_of(wood), look.after_of(wood));
        let ([before], [after]) = (was.as_slice(), is.as_slice()) else {
            return false;
        };
        let [_, left, _, right] = before.bounds;
        let lie_on = |m: &Move<'_>| {
            let on = |part: &Part, plank: &Part| {
                let [_, a, b, c] = part.bounds;
                (a..=c).any(|x| plank.has((b + 1, x)))
            };
            on(m.from, before) && on(m.to, after)
        };
        let point = |c: i32| {
            let rows: Vec<i32> = before
                .cells
                .iter()
                .filter(|p| p.1 == c)
                .map(|p| p.0)
                .collect();
            rows.iter()
                .any(|&r| after.has((r, c)) && look.stays((r + 1, c)))
        };
        let arms = (left + 1..right)
            .any(|p| point(p) && (p - left) * r.by.0.abs() == (right - p) * l.by.0.abs());
        l.by.1 == 0
            && r.by.1 == 0
            && l.by.0 * r.by.0 < 0
            && (after.bounds[1], after.bounds[3]) == (left, right)
            && right - left >= 4
            && lie_on(l)
            && lie_on(r)
            && arms
    })
}

/// Whether something of this colour is right over a part, or right under it.
fn beside(part: &Part, over: bool, colour: impl Fn(Place) -> bool) -> bool {
    let [t, l, b, r] = part.bounds;
    let row = if over { t - 1 } else { b + 1 };
    (l..=r).any(|c| colour((row, c)))
}

fn hand_and_load(look: &Look) -> bool {
    apart(&look.touched).any(|(rope, _)| {
        look.moves_but(&[rope])
            .is_some_and(|m| (2..=4).contains(&m.len()))
    })
}

fn went_over_a_wheel(look: &Look) -> bool {
    if !(2..=4).contains(&look.touched.len()) {
        return false;
    }
    apart(&look.touched).any(|(rope, _)| {
        // Strands that only went up or down whole are no rope.
        let whole = |all: Vec<Move<'_>>| all.iter().all(|m| m.by.1 == 0);
        if look.moves_of(&[rope]).is_some_and(whole) {
            return false;
        }
        let Some(all) = look.moves_but(&[rope]) else {
            return false;
        };
        let (downs, ups): (Vec<&Move<'_>>, Vec<&Move<'_>>) = all.iter().partition(|m| m.by.0 > 0);
        let ([hand], Some(load)) = (downs.as_slice(), ups.first()) else {
            return false;
        };
        let hangs = |m: &Move<'_>| {
            beside(m.from, true, |p| look.was(p) == rope)
                && beside(m.to, true, |p| look.is(p) == rope)
        };
        let upright = |parts: Vec<&Part>, grid: &Grid| {
            parts
                .iter()
                .all(|p| p.wide() == 1 && look.attached(p, grid))
        };
        let up = -load.by.0;
        all.iter().all(|m| m.by.1 == 0)
            && up > 0
            && ups.iter().all(|m| m.by.0 == -up)
            && (hand.by.0 == up || hand.by.0 == 2 * up)
            && hangs(hand)
            && ups.iter().any(|m| hangs(m))
            && upright(look.before_of(rope), &look.input)
            && upright(look.after_of(rope), &look.output)
    })
}

/// The highest cell of a colour in each column, as far as it goes down to the lowest row it has.
fn staircase(look: &Look, ramp: u8) -> Option<(Vec<(i32, i32)>, i32)> {
    let parts = look.before_of(ramp);
    let part = parts.iter().max_by_key(|p| p.len())?;
    let [_, l, b, r] = part.bounds;
    let mut tops = Vec::new();
    for c in l..=r {
        let rows: Vec<i32> = part
            .cells
            .iter()
            .filter(|p| p.1 == c)
            .map(|p| p.0)
            .collect();
        let top = *rows.first()?;
        if rows.len() as i32 != b - top + 1 {
            return None;
        }
        tops.push((c, top));
    }
    let falls = tops
        .windows(2)
        .all(|w| w[0].1 <= w[1].1 && w[1].1 - w[0].1 <= 1);
    let climbs = tops
        .windows(2)
        .all(|w| w[0].1 >= w[1].1 && w[0].1 - w[1].1 <= 1);
    let mut rows: Vec<i32> = tops.iter().map(|t| t.1).collect();
    rows.sort_unstable();
    rows.dedup();
    (rows.len() >= 3 && (falls || climbs)).then_some((tops, b))
}

fn went_along_a_slope(look: &Look) -> bool {
    if !look.same_counts || look.touched.len() > 2 {
        return false;
    }
    let mut still: Vec<u8> = (1..10)
        .filter(|c| look.had(*c) >= 8 && !look.touched.contains(c))
        .collect();
    still.retain(|&c| staircase(look, c).is_some());
    still.iter().any(|&ramp| {
        let Some((tops, foot)) = staircase(look, ramp) else {
            return false;
        };
        let body = |c: &&u8| look.kept(**c, 1) && look.had(**c) <= 6;
        look.touched.iter().filter(body).any(|&load| {
            let (a, b) = (look.input.places_of(load), look.output.places_of(load));
            let lowest = |cells: &[Place]| cells.iter().map(|p| p.0).max().unwrap_or(0);
            let on_slope = |cells: &[Place]| {
                cells
                    .iter()
                    .filter(|p| !cells.contains(&(p.0 + 1, p.1)))
                    .all(|p| tops.contains(&(p.1, p.0 + 1)))
            };
            let at_foot = |cells: &[Place]| {
                lowest(cells) == foot && cells.iter().all(|p| tops.iter().all(|t| t.0 != p.1))
            };
            let top = |cells: &[Place]| cells.first().map_or(0, |p| p.0);
            let far = (top(&a) - top(&b)).abs() >= 2;
            // What goes with it goes the same way.
            let together = look.touched.len() == 1
                || look.moves().is_some_and(|all| {
                    let first = all.first().map(|m| m.by);
                    all.iter().all(|m| Some(m.by) == first)
                });
            far && together && ((on_slope(&a) && at_foot(&b)) || (at_foot(&a) && on_slope(&b)))
        })
    })
}

fn all_alike(look: &Look) -> bool {
    apart(&look.touched).any(|(line, _)| {
        let alike = |all: Vec<Move<'_>>| {
            let first = all.first().map(|m| m.by);
            all.iter().all(|m| Some(m.by) == first)
        };
        look.has(line) != look.had(line) && look.moves_but(&[line]).is_some_and(alike)
    })
}

fn lifted(look: &Look) -> bool {
    if !(2..=3).contains(&look.touched.len()) {
        return false;
    }
    apart(&look.touched).any(|(line, _)| {
        let grew = look.has(line) as i32 - look.had(line) as i32;
        if grew == 0 {
            return false;
        }
        let Some(all) = look.moves_but(&[line]) else {
            return false;
        };
        let up = -all.first().map_or(0, |m| m.by.0);
        let mut cells = look.came(line);
        cells.extend(look.gone(line));
        let one_column = cells
            .iter()
            .all(|p| Some(p.1) == cells.first().map(|q| q.1));
        let held = |over: bool| {
            all.iter().any(|m| {
                beside(m.from, over, |p| look.was(p) == line)
                    && beside(m.to, over, |p| look.is(p) == line)
            })
        };
        up > 1
            && all.iter().all(|m| m.by == (-up, 0))
            && one_column
            && ((grew == -up && held(true)) || (grew == up && held(false)))
    })
}

/// The end of a line of this colour that begins next to a point.
fn end_of(look: &Look, colour: u8, from: Place) -> Option<Place> {
    let cells = look.input.places_of(colour);
    let far = |p: &&Place| (p.0 - from.0).abs().max((p.1 - from.1).abs());
    let near = cells.iter().any(|p| far(&p) == 1);
    let end = cells.iter().max_by_key(far)?;
    // A thin line has as many cells as its end is away.
    (near && far(&end) as usize == cells.len()).then_some(*end)
}

fn diagonal(look: &Look) -> bool {
    let Some(sum) = look.one_fresh() else {
        return false;
    };
    if look.touched.len() > 4 || look.has(sum) < 3 {
        return false;
    }
    // The body grows dashes of its own colour along the far sides.
    let bodies = look
        .touched
        .iter()
        .filter(|&&c| look.had(c) == 1 && look.has(c) > 1);
    bodies.copied().any(|body| {
        let Some(&at) = look.input.places_of(body).first() else {
            return false;
        };
        let ends: Vec<Place> = (1..10)
            .filter(|&c| c != body && look.had(c) >= 2)
            .filter_map(|c| end_of(look, c, at))
            .collect();
        let [a, b] = ends.as_slice() else {
            return false;
        };
        let corner = (a.0 + b.0 - at.0, a.1 + b.1 - at.1);
        let line = look.output.places_of(sum);
        let far = |p: &Place| (p.0 - at.0).abs().max((p.1 - at.1).abs());
        // The dashes lie along the two far sides.
        let along = |p: &Place, from: &Place| {
            let (u, v) = (
                (corner.0 - from.0, corner.1 - from.1),
                (p.0 - from.0, p.1 - from.1),
            );
            (u.0 * v.1 - u.1 * v.0).abs() <= u.0.abs().max(u.1.abs())
        };
        let dashes = look.came(body);
        look.is(corner) == sum
            && dashes.iter().all(|p| along(p, a) || along(p, b))
            && line.iter().all(|p| far(p) <= far(&corner))
            && line.iter().any(|p| far(p) == 1)
            && line.len() as i32 == far(&corner)
    })
}

fn difference(look: &Look) -> bool {
    if look.changed.iter().any(|&p| look.is(p) != 0) || look.touched.len() != 2 {
        return false;
    }
    look.lying_or_upright(|look| {
        let mut rows: Vec<i32> = look.changed.iter().map(|p| p.0).collect();
        rows.dedup();
        rows.iter().all(|&r| arms_subtract(look, r))
    })
}

/// In this row two arms of different colours lie on both sides of a still body: the shorter is gone
/// and the longer has lost as much from its end.
fn arms_subtract(look: &Look, row: i32) -> bool {
    let lost: Vec<i32> = look
        .changed
        .iter()
        .filter(|p| p.0 == row)
        .map(|p| p.1)
        .collect();
    let (Some(&first), Some(&last)) = (lost.first(), lost.last()) else {
        return false;
    };
    let (one, two) = (look.was((row, first)), look.was((row, last)));
    let arm = |colour: u8, is: bool| -> Vec<i32> {
        (0..look.cols())
            .filter(|&c| {
                (if is {
                    look.is((row, c))
                } else {
                    look.was((row, c))
                }) == colour
            })
            .collect()
    };
    let (left, right) = (arm(one, false), arm(two, false));
    let (now_left, now_right) = (arm(one, true), arm(two, true));
    let shorter = left.len().min(right.len());
    let body = left.last().zip(right.first());
    let between = body.is_some_and(|(l, r)| r - l > 1 && (l + 1..*r).all(|c| look.stays((row, c))));
    let from_the_end = if left.len() > right.len() {
        now_right.is_empty() && now_left == left[shorter..]
    } else {
        now_left.is_empty() && now_right == right[..right.len() - shorter]
    };
    one != two && left.len() != right.len() && between && from_the_end
}
