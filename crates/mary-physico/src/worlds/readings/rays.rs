//! Readings of rays: straight beams, reflected, refracted and scattered ones.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "laser",
        &["beam"],
        "did straight beams go out from points to the edge or to a body, and nothing else change?",
        beamed,
    )
    .touching(1, 3).added(),
    Reading::new(
        "laser",
        &["drill"],
        "did one straight beam go out from a point to the edge, right through a body?",
        drilled,
    )
    .touching(2, 2).kinds_stay(),
    Reading::new(
        "reflection",
        &["flat-mirror", "two-mirrors"],
        "does a ray go on from where it met a body, at the same angle?",
        reflected,
    )
    .touching(1, 1).added(),
    Reading::new(
        "refraction",
        &["bent-ray"],
        "does a slanting ray go on inside a body, less slanted than before?",
        bent_in_a_body,
    )
    .touching(1, 2).kinds_stay(),
    Reading::new(
        "refraction",
        &["bent-stick"],
        "do straight slanting lines go on below the surface of a liquid the same way, but flatter?",
        seems_broken,
    )
    .touching(2, 2).kinds_stay().recoloured()
    .upright(),
    Reading::new(
        "diffuse-reflection-of-light",
        &["rough-ground", "fan"],
        "do rays of a new colour leave a rough ground in several directions where other rays meet it?",
        scattered,
    )
    .touching(1, 1).added().fresh(1)
    .upright(),
];

fn beamed(look: &Look) -> bool {
    if !look.only_added || look.touched.len() > 3 {
        return false;
    }
    let beams = look.new_parts();
    !beams.is_empty()
        && beams.iter().all(|beam| {
            let Some((before, after)) = ends(beam) else {
                return false;
            };
            let starts = |p: Place| look.input.get(p.0, p.1) == Some(beam.colour);
            let stops = |p: Place| {
                look.input
                    .get(p.0, p.1)
                    .is_none_or(|v| v != 0 && v != beam.colour)
            };
            beam.len() >= 3
                && ((starts(before) && stops(after)) || (starts(after) && stops(before)))
        })
}

/// The places before and after a straight run along a row or a column.
fn ends(run: &Part) -> Option<(Place, Place)> {
    let [t, l, b, r] = run.bounds;
    match (run.is_box(), t == b, l == r) {
        (true, true, false) => Some(((t, l - 1), (t, r + 1))),
        (true, false, true) => Some(((t - 1, l), (b + 1, l))),
        _ => None,
    }
}

fn drilled(look: &Look) -> bool {
    let beams = match look.touched.len() {
        2 => look.new_parts(),
        _ => return false,
    };
    let [beam] = beams.as_slice() else {
        return false;
    };
    let Some((before, after)) = ends(beam) else {
        return false;
    };
    let starts = |p: Place| look.input.get(p.0, p.1) == Some(beam.colour);
    let leaves = |p: Place| !look.holds(p);
    let burnt: Vec<u8> = beam
        .cells
        .iter()
        .map(|&p| look.was(p))
        .filter(|&c| c != 0)
        .collect();
    beam.len() == look.changed.len()
        && ((starts(before) && leaves(after)) || (starts(after) && leaves(before)))
        && !burnt.is_empty()
        && burnt.iter().all(|c| Some(c) == burnt.first())
}

fn reflected(look: &Look) -> bool {
    let Some(colour) = look.one_added() else {
        return false;
    };
    if look.changed.len() < 3 || look.had(colour) < 2 {
        return false;
    }
    // The ray as one row per column, or one column per row.
    look.lying_or_upright(|look| {
        let mut path = look.output.places_of(colour);
        path.sort_unstable_by_key(|p| p.1);
        if !path.windows(2).all(|w| w[1].1 == w[0].1 + 1) {
            return false;
        }
        let slants: Vec<i32> = path.windows(2).map(|w| w[1].0 - w[0].0).collect();
        let solid = |(r, c): Place| {
            let v = look.was((r, c));
            v != 0 && v != colour
        };
        let (Some(first), Some(last)) = (path.first(), path.last()) else {
            return false;
        };
        zigzags(&path, &slants, &solid) || two_slopes(look, &path, (*first, *last), &solid)
    })
}

/// Steps of one up or down that turn only at bodies.
fn zigzags(path: &[Place], slants: &[i32], solid: &dyn Fn(Place) -> bool) -> bool {
    let turns: Vec<usize> = (1..slants.len())
        .filter(|&i| slants[i] != slants[i - 1])
        .collect();
    !turns.is_empty()
        && slants.iter().all(|s| s.abs() == 1)
        && turns
            .iter()
            .all(|&i| solid((path[i].0 + slants[i - 1], path[i].1)))
}

/// One way down to a body and the same way up again, however flat.
fn two_slopes(
    look: &Look,
    path: &[Place],
    (first, last): (Place, Place),
    solid: &dyn Fn(Place) -> bool,
) -> bool {
    let rows = path.iter().map(|p| p.0);
    [(rows.clone().max(), 1), (rows.min(), -1)]
        .into_iter()
        .any(|(turn, way)| {
            let Some(turn) = turn else { return false };
            let at: Vec<i32> = path.iter().filter(|p| p.0 == turn).map(|p| p.1).collect();
            let (Some(a), Some(b)) = (at.first(), at.last()) else {
                return false;
            };
            let mirrored = path.iter().all(|p| {
                let twin = (p.0, a + b - p.1);
                !look.holds(twin) || path.contains(&twin) || twin.1 < first.1 || twin.1 > last.1
            });
            let monotone = path
                .windows(2)
                .all(|w| (w[1].0 - w[0].0) * way * (if w[1].1 <= *b { 1 } else { -1 }) >= 0);
            mirrored
                && monotone
                && at.iter().all(|&c| solid((turn + way, c)))
                && (turn - first.0).abs() >= 2
                && (turn - last.0).abs() >= 2
        })
}

/// A line with one cell in each row: its columns from the top, and the first row.
fn one_a_row(cells: &[Place]) -> Option<(i32, Vec<i32>)> {
    let first = cells.first()?.0;
    cells
        .iter()
        .enumerate()
        .all(|(i, p)| p.0 == first + i as i32)
        .then(|| (first, cells.iter().map(|p| p.1).collect()))
}

fn steps(columns: &[i32]) -> Vec<i32> {
    columns.windows(2).map(|w| w[1] - w[0]).collect()
}

fn bent_in_a_body(look: &Look) -> bool {
    let [a, b] = *look.touched.as_slice() else {
        return false;
    };
    if look.changed.iter().any(|&p| look.is(p) == 0) {
        return false;
    }
    [(a, b), (b, a)].into_iter().any(|(ray, medium)| {
        look.had(ray) >= 3
            && look.gone(ray).is_empty()
            && look.came(medium).is_empty()
            && look.some_way(|l| enters(l, ray, medium))
    })
}

/// A ray from above that enters the medium below it.
fn enters(look: &Look, ray: u8, medium: u8) -> bool {
    let (Some((top, before)), Some((first, after))) = (
        one_a_row(&look.input.places_of(ray)),
        one_a_row(&look.output.places_of(ray)),
    ) else {
        return false;
    };
    let slant = steps(&before);
    let Some(&way) = slant.first() else {
        return false;
    };
    let n = before.len();
    if top != first || way.abs() != 1 || slant.iter().any(|s| *s != way) {
        return false;
    }
    let inside: Vec<(i32, i32)> = after
        .iter()
        .enumerate()
        .skip(n)
        .map(|(i, c)| (top + i as i32, *c))
        .filter(|&p| look.was(p) == medium)
        .collect();
    let within = steps(&inside.iter().map(|p| p.1).collect::<Vec<_>>());
    let bent = within.iter().filter(|s| **s != 0).count();
    inside.len() >= 3
        && within.iter().all(|s| *s == 0 || *s == way)
        && 2 * bent <= within.len()
        && look.was((top + n as i32, after.get(n).copied().unwrap_or(0))) == medium
}

fn seems_broken(look: &Look) -> bool {
    let [x, y] = *look.touched.as_slice() else {
        return false;
    };
    [(x, y), (y, x)].into_iter().any(|(stick, water)| {
        if look.before_of(stick).len() != look.after_of(stick).len()
            || look
                .changed
                .iter()
                .any(|&p| look.was(p) != water || look.is(p) != stick)
        {
            return false;
        }
        look.before_of(stick)
            .iter()
            .all(|dry| !look.restless(dry) && flatter_below(look, dry, water))
    })
}

/// Whether a slanting stick goes on under water from its lower end, the same way but flatter.
fn flatter_below(look: &Look, dry: &Part, water: u8) -> bool {
    let Some((top, cols)) = one_a_row(&dry.cells) else {
        return false;
    };
    let slant = steps(&cols);
    let (Some(&way), Some(&last)) = (slant.first(), cols.last()) else {
        return false;
    };
    if way.abs() != 1 || slant.iter().any(|s| *s != way) {
        return false;
    }
    let mut at = (top + cols.len() as i32, last);
    let (mut rows, mut cells) = (0, 0);
    while look.was(at) == water || look.was((at.0, at.1 + way)) == water {
        let run = (1..)
            .take_while(|k| {
                let here = (at.0, at.1 + way * k);
                look.was(here) == water && look.is(here) == dry.colour
            })
            .count() as i32;
        if run == 0 {
            break;
        }
        rows += 1;
        cells += run;
        at = (at.0 + 1, at.1 + way * run);
    }
    rows >= 2 && cells == 2 * rows
}

fn scattered(look: &Look) -> bool {
    let Some(back) = look.one_added() else {
        return false;
    };
    if look.had(back) > 0 || look.changed.len() < 4 {
        return false;
    }
    // The ground: coloured from its rough top down to the lower edge in every column.
    let bottom = look.rows() - 1;
    let ground = look.was((bottom, 0));
    let top = |c: i32| {
        let from = (0..=bottom).rev().find(|&r| look.was((r, c)) != ground);
        from.map_or(0, |r| r + 1)
    };
    let tops: Vec<i32> = (0..look.cols()).map(top).collect();
    let rough = tops.windows(2).filter(|w| w[0] != w[1]).count();
    if ground == 0 || 3 * rough < tops.len() || tops.iter().any(|&t| t > bottom) {
        return false;
    }
    let hits: Vec<Place> = tops
        .iter()
        .enumerate()
        .map(|(c, &t)| (t - 1, c as i32))
        .filter(|&p| look.stays(p) && look.was(p) != ground)
        .collect();
    let near = |p: &Place, q: &Place| (p.0 - q.0).abs().max((p.1 - q.1).abs()) <= 2;
    let leaves = |p: &Place| look.changed.iter().any(|q| near(p, q));
    // A ray thrown out of sight leaves nothing.
    let left = hits.iter().filter(|p| leaves(p)).count();
    let starts = |part: &Part| part.cells.iter().any(|p| hits.iter().any(|q| near(q, p)));
    let thrown = |part: &Part| starts(part) || look.attached(part, &look.output);
    left >= 1 && 2 * left >= hits.len() && look.new_parts().iter().all(thrown)
}
