//! Readings of light that fills a space or a film: lamps and candles, halos, streaks, electrons driven
//! out.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "lighting",
        &["lamp"],
        "did a colour turn into another that widens from there, row by row, down to a floor?",
        lit_the_floor,
    )
    .touching(2, 2).fresh(1).lost(1)
    .upright(),
    Reading::new(
        "lighting",
        &["candle"],
        "did a new colour fill the space around a point, but for what lies behind a body?",
        lit_all_it_sees,
    )
    .touching(1, 1).added().fresh(1),
    Reading::new(
        "lumination",
        &["halo"],
        "did a ring of a new colour appear right around every point of one colour and nowhere else?",
        haloed,
    )
    .touching(1, 1).added().fresh(1),
    Reading::new(
        "lumination",
        &["radiance"],
        "did strokes of a new colour appear around a body, alike in all directions?",
        radiated,
    )
    .touching(1, 1).added().fresh(1),
    Reading::new(
        "long-exposure",
        &["light-trails"],
        "did at least two single points leave connected streaks of their own colour, and nothing else change?",
        streaked,
    )
    .touching(1, 9).added().fresh(0),
    Reading::new(
        "long-exposure",
        &["star-trails"],
        "did points leave arcs of their own colour, all around the same still point?",
        circled,
    )
    .touching(1, 9).added().fresh(0),
    Reading::new(
        "photoelectric-effect",
        &["knocked-out"],
        "did every short stroke of one colour vanish, and as many particles leave their places?",
        knocked_out,
    )
    .touching(2, 2).lost(1).keeping(2),
    Reading::new(
        "photoelectric-effect",
        &["threshold"],
        "did two colours reach a plate, and did particles leave it only where one of them did?",
        one_drove_out,
    )
    .touching(4, 4).kinds_stay().keeping(4),
];

fn lit_the_floor(look: &Look) -> bool {
    let (Some(on), Some(off), 2) = (look.one_fresh(), look.one_lost(), look.touched.len()) else {
        return false;
    };
    if look.gone(off).iter().any(|&p| look.is(p) != on) {
        return false;
    }
    let after = look.after_of(on);
    let [light] = after.as_slice() else {
        return false;
    };
    let lamp = look.input.places_of(off);
    let [top, ..] = light.bounds;
    let row = |r: i32| -> Vec<i32> {
        light
            .cells
            .iter()
            .filter(|p| p.0 == r)
            .map(|p| p.1)
            .collect()
    };
    let rows: Vec<Vec<i32>> = (top..=light.bounds[2]).map(row).collect();
    let whole = rows.iter().all(|r| {
        let (Some(a), Some(b)) = (r.first(), r.last()) else {
            return false;
        };
        (b - a + 1) as usize == r.len()
    });
    let widens = rows.windows(2).all(|w| w[0].len() <= w[1].len());
    let floor = (light.bounds[2] + 1, light.middle().1 / 2);
    whole
        && widens
        && rows.len() >= 4
        && rows.first().map(Vec::len) < rows.last().map(Vec::len)
        && lamp.iter().all(|p| p.0 <= top + 1)
        && look.stays(floor)
}

/// The places between two, as near to the straight line as cells are.
fn between(from: Place, to: Place) -> impl Iterator<Item = Place> {
    let (dr, dc) = (to.0 - from.0, to.1 - from.1);
    let n = 2 * dr.abs().max(dc.abs());
    (1..n).map(move |i| {
        let part = |d: i32| (f64::from(d * i) / f64::from(n)).round() as i32;
        (from.0 + part(dr), from.1 + part(dc))
    })
}

fn lit_all_it_sees(look: &Look) -> bool {
    let Some(light) = look.one_added() else {
        return false;
    };
    if look.had(light) > 0 || look.changed.len() < 20 {
        return false;
    }
    let wicks = look.parts_before().iter().filter(|p| p.len() == 1);
    wicks.flat_map(|p| p.cells.first().copied()).any(|wick| {
        let away = |p: Place| {
            let (dr, dc) = (p.0 - wick.0, p.1 - wick.1);
            dr * dr + dc * dc
        };
        let beside = [(0, 1), (1, 0), (0, -1), (-1, 0)].iter().all(|d| {
            let at = (wick.0 + d.0, wick.1 + d.1);
            look.is(at) == light || look.stays(at)
        });
        let reach = look.changed.iter().map(|&p| away(p)).max().unwrap_or(0);
        let hidden = |p: Place| between(wick, p).any(|q| q != wick && look.stays(q));
        let inner = |p: Place| {
            let n = f64::from(away(p)).sqrt() + 1.2;
            n * n <= f64::from(reach)
        };
        let dark = |p: Place| look.is(p) == 0 && inner(p);
        let shadows: Vec<Place> = look.output.places().filter(|&p| dark(p)).collect();
        let seen_dark = shadows.iter().filter(|&&p| !hidden(p)).count();
        let unseen_lit = look.changed.iter().filter(|&&p| hidden(p)).count();
        beside && 10 * seen_dark <= look.changed.len() && 8 * unseen_lit <= look.changed.len()
    })
}

fn haloed(look: &Look) -> bool {
    let Some(light) = look.one_added() else {
        return false;
    };
    if look.had(light) > 0 || look.changed.len() < 8 {
        return false;
    }
    let around = |(r, c): Place| {
        (-1..=1)
            .all(|dr| (-1..=1).all(|dc| (dr, dc) == (0, 0) || look.is((r + dr, c + dc)) == light))
    };
    (1u8..10).any(|source| {
        let points = look.before_of(source);
        let near = |p: &Place| points.iter().any(|q| q.touches(&[*p]));
        points.len() >= 2
            && points
                .iter()
                .all(|p| p.len() == 1 && p.cells.iter().all(|q| around(*q)))
            && look.changed.iter().all(near)
    })
}

fn radiated(look: &Look) -> bool {
    let Some(light) = look.one_added() else {
        return false;
    };
    if look.had(light) > 0 || look.changed.len() < 8 || look.new_parts().len() < 4 {
        return false;
    }
    // A quarter turn about the middle of a still body keeps them.
    let sources = look
        .parts_before()
        .iter()
        .filter(|p| p.is_box() && p.tall() == p.wide());
    sources.into_iter().any(|source| {
        let (y, x) = source.middle();
        let turned = |&(r, c): &Place| {
            let (dr, dc) = (2 * r - y, 2 * c - x);
            let to = ((y + dc) / 2, (x - dr) / 2);
            !look.holds(to) || look.is(to) == light
        };
        // In line with the source, straight or at half a right angle.
        let in_line = |&(r, c): &Place| {
            let (dr, dc) = ((2 * r - y).abs(), (2 * c - x).abs());
            dr.min(dc) <= 1 || dr == dc
        };
        [4, 8].contains(&new_directions(look, (y, x)))
            && look.changed.iter().all(|p| in_line(p) && turned(p))
    })
}

/// In how many of eight directions from a point, given twice, cells came.
fn new_directions(look: &Look, middle: Place) -> usize {
    let mut seen: Vec<Place> = look
        .changed
        .iter()
        .map(|&(r, c)| {
            let (dr, dc) = (2 * r - middle.0, 2 * c - middle.1);
            // Nearly along an axis counts as along it.
            let flat = |a: i32, b: i32| if 2 * a.abs() < b.abs() { 0 } else { a.signum() };
            (flat(dr, dc), flat(dc, dr))
        })
        .collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

fn streaked(look: &Look) -> bool {
    if !look.only_added || look.touched.iter().any(|&c| look.had(c) == 0) {
        return false;
    }
    let streaks = look.new_parts();
    let dots: Vec<&Part> = look
        .parts_before()
        .iter()
        .filter(|p| p.len() == 1)
        .collect();
    streaks.len() >= 2
        && streaks.iter().all(|s| {
            s.len() >= 2
                && dots
                    .iter()
                    .any(|d| d.colour == s.colour && s.touches(&d.cells))
        })
}

fn circled(look: &Look) -> bool {
    if !look.only_added || look.touched.iter().any(|&c| look.had(c) == 0) || look.changed.len() < 9
    {
        return false;
    }
    let dots: Vec<(Place, u8)> = look
        .parts_before()
        .iter()
        .filter(|p| look.touched.contains(&p.colour) && p.len() <= 2)
        .flat_map(|p| p.cells.iter().map(|&at| (at, p.colour)))
        .collect();
    let poles = look.parts_before().iter().filter(|p| p.len() == 1);
    dots.len() >= 3
        && poles.flat_map(|p| p.cells.first().copied()).any(|pole| {
            let far = |p: Place| f64::from(p.0 - pole.0).hypot(f64::from(p.1 - pole.1));
            let with = |p: Place, colour: u8| {
                dots.iter()
                    .any(|(d, c)| *c == colour && (far(*d) - far(p)).abs() < 0.95)
            };
            // What rose from behind a still body has no point that it began with.
            let arcs = look.new_parts();
            let rose = |part: &Part| !look.still_beside(&part.cells).is_empty();
            let round = |part: &Part| {
                part.cells.iter().all(|&p| with(p, part.colour))
                    && (part.len() > 1
                        || at_edge(look, part)
                        || dots.iter().any(|d| part.touches(&[d.0])))
            };
            let bent = arcs.iter().any(|p| p.tall() > 1 && p.wide() > 1);
            bent && arcs.iter().all(|p| round(p) || rose(p))
                && 2 * arcs.iter().filter(|p| round(p)).count() > arcs.len()
        })
}

/// Whether part of it may lie outside the grid.
fn at_edge(look: &Look, part: &Part) -> bool {
    let [t, l, b, r] = part.bounds;
    t == 0 || l == 0 || b + 1 == look.rows() || r + 1 == look.cols()
}

fn knocked_out(look: &Look) -> bool {
    let (Some(light), 2) = (look.one_lost(), look.touched.len()) else {
        return false;
    };
    let Some(&electron) = look.touched.iter().find(|c| **c != light) else {
        return false;
    };
    let quanta = look.had(light);
    let left = look.gone(electron);
    let slanted = look
        .before_of(light)
        .iter()
        .all(|p| p.tall() > 1 && p.wide() > 1);
    look.kept(electron, 2)
        && quanta.is_multiple_of(3)
        && quanta >= 3
        && left.len() == quanta / 3
        && slanted
        && look
            .gone(light)
            .iter()
            .all(|&p| look.is(p) == 0 || look.is(p) == electron)
}

fn one_drove_out(look: &Look) -> bool {
    if look.touched.len() != 4 {
        return false;
    }
    let lights: Vec<u8> = look
        .touched
        .iter()
        .copied()
        .filter(|&c| look.gone(c).is_empty() && look.had(c) >= 2)
        .filter(|&c| look.came(c).iter().all(|&p| look.was(p) == 0))
        .collect();
    look.touched
        .iter()
        .filter(|c| !lights.contains(c))
        .any(|&electron| {
            let (came, left) = (look.came(electron), look.gone(electron));
            let plate = left.first().map_or(0, |&p| look.is(p));
            let stay = look.had(electron) - left.len();
            look.kept(electron, 4)
                && left.len() >= 2
                && stay >= 2
                && plate != 0
                && left.iter().all(|&p| look.is(p) == plate)
                && came.iter().all(|&p| look.was(p) == 0)
                && lights.len() == 2
                && lights.iter().all(|&c| look.has_parts(c, 1, 1))
        })
}
