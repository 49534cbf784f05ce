//! Readings of rays: straight beams, reflected and refracted ones, rays scattered, filtered or
//! polarized.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::{Grid, Place};

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "laser",
        &["beam"],
        "did straight beams go out from points to the edge or to a body, and nothing else change?",
        beamed,
    ),
    Reading::new(
        "laser",
        &["drill"],
        "did one straight beam go out from a point to the edge, right through a body?",
        drilled,
    ),
    Reading::new(
        "reflection",
        &["flat-mirror", "two-mirrors"],
        "does a ray go on from where it met a body, at the same angle?",
        reflected,
    ),
    Reading::new(
        "refraction",
        &["bent-ray"],
        "does a slanting ray go on inside a body, less slanted than before?",
        bent_in_a_body,
    ),
    Reading::new(
        "refraction",
        &["bent-stick"],
        "does a straight slanting line become less slanted just where a new colour surrounds it?",
        seems_broken,
    ),
    Reading::new(
        "diffuse-reflection-of-light",
        &["rough-ground", "fan"],
        "do rays of a new colour leave a rough ground in several directions where other rays meet it?",
        scattered,
    )
    .upright(),
    Reading::new(
        "optical-filters",
        &["one-colour-passes"],
        "of beams in several colours up to a plate, does only the plate's own colour go on?",
        passed_the_plate,
    ),
    Reading::new(
        "optical-filters",
        &["through-the-glass"],
        "inside a frame, did all vanish but what has the frame's own colour?",
        seen_through_glass,
    ),
    Reading::new(
        "polarization-of-light",
        &["one-direction", "second-grating"],
        "do strokes along the bars of a grating appear behind it, all the same way?",
        passed_the_grating,
    ),
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
    let (Some(water), 2) = (look.one_fresh(), look.touched.len()) else {
        return false;
    };
    let Some(&stick) = look.touched.iter().find(|c| **c != water) else {
        return false;
    };
    look.kept(stick, 5)
        && look.some_way(|look| {
            let (Some((a, was)), Some((b, is))) = (
                one_a_row(&look.input.places_of(stick)),
                one_a_row(&look.output.places_of(stick)),
            ) else {
                return false;
            };
            let slant = steps(&was);
            let Some(&way) = slant.first() else {
                return false;
            };
            let kept = was.iter().zip(&is).take_while(|(x, y)| x == y).count();
            let wet = |i: usize| {
                let at = (a + i as i32, is.get(i).copied().unwrap_or(0));
                look.is((at.0, at.1 - 1)) == water || look.is((at.0, at.1 + 1)) == water
            };
            let below = steps(is.get(kept.saturating_sub(1)..).unwrap_or(&[]));
            a == b
                && way.abs() == 1
                && slant.iter().all(|s| *s == way)
                && kept >= 2
                && kept < was.len()
                && (kept..is.len()).all(wet)
                && below.iter().all(|s| *s == 0 || *s == way)
                && 2 * below.iter().filter(|s| **s != 0).count() <= below.len()
        })
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
    left >= 1 && 2 * left >= hits.len()
}

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
            kinds.len() >= 2 && passes
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
