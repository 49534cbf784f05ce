//! Readings of waves from sources: crowded ahead of a moving one, two fields along one line, arcs to a
//! receiver.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "doppler-effect",
        &["moving-source", "siren"],
        "did a source go on, and do its even fronts now lie closer ahead of it than behind?",
        crowded_ahead,
    )
    .touching(2, 2)
    .kinds_stay()
    .keeping(1)
    .movers(1),
    Reading::new(
        "electromagnetic-wave",
        &["two-fields"],
        "did two waves of new colours appear along one line, each the other's mirror image?",
        two_fields,
    )
    .touching(2, 2)
    .added()
    .fresh(2),
    Reading::new(
        "electromagnetic-wave",
        &["radio"],
        "did arcs around a lit point appear, and a body far off take on the point's colour?",
        received,
    )
    .touching(2, 3)
    .lost(1),
];

fn crowded_ahead(look: &Look) -> bool {
    let [x, y] = *look.touched.as_slice() else {
        return false;
    };
    look.lying_or_upright(|look| {
        [(x, y), (y, x)].into_iter().any(|(source, sound)| {
            let Some(all) = look.moves_of(&[source]) else {
                return false;
            };
            let [one] = all.as_slice() else {
                return false;
            };
            if one.by.0 != 0 || look.had(sound) < 4 {
                return false;
            }
            let row = one.from.bounds[2];
            let way = one.by.1.signum();
            let ahead = |part: &Part, was: bool| gaps(look, (sound, was), part, (row, way));
            let behind = |part: &Part, was: bool| gaps(look, (sound, was), part, (row, -way));
            let (a, b) = (ahead(one.to, false), behind(one.to, false));
            let (c, d) = (ahead(one.from, true), behind(one.from, true));
            let even = |g: &[i32]| {
                g.iter()
                    .max()
                    .zip(g.iter().min())
                    .is_some_and(|(x, y)| x - y <= 1)
            };
            let mean = |g: &[i32]| g.iter().sum::<i32>() as f64 / g.len().max(1) as f64;
            let all_before = [c, d].concat();
            let crosses = |parts: Vec<&Part>| {
                parts
                    .iter()
                    .all(|p| p.bounds[0] <= row && row <= p.bounds[2])
            };
            !a.is_empty()
                && crosses(look.before_of(sound))
                && crosses(look.after_of(sound))
                && !b.is_empty()
                && even(&all_before)
                && a.iter().max() <= b.iter().min()
                && mean(&a) < mean(&b)
        })
    })
}

/// The distances between fronts of a colour along a row, going one way from the edge of a part.
fn gaps(look: &Look, (colour, was): (u8, bool), from: &Part, (row, way): (i32, i32)) -> Vec<i32> {
    let edge = if way > 0 {
        from.bounds[3]
    } else {
        from.bounds[1]
    };
    let here = |c: i32| {
        if was {
            look.was((row, c)) == colour
        } else {
            look.is((row, c)) == colour
        }
    };
    let mut last = edge;
    let mut found = Vec::new();
    for k in 1..look.cols() {
        let c = edge + way * k;
        if here(c) {
            found.push((c - last).abs());
            last = c;
        }
    }
    found
}

fn two_fields(look: &Look) -> bool {
    let [one, two] = *look.fresh.as_slice() else {
        return false;
    };
    if !look.only_added || look.touched.len() != 2 {
        return false;
    }
    look.lying_or_upright(|look| {
        let Some([t, l, b, r]) = super::bounds(&look.changed) else {
            return false;
        };
        let axis = t + b;
        let mirrored = |p: &Place| {
            let other = look.is((axis - p.0, p.1));
            other == one || other == two
        };
        let swapped = |p: &Place| look.is((axis - p.0, p.1)) != look.is(*p);
        let off_axis: Vec<&Place> = look.changed.iter().filter(|p| 2 * p.0 != axis).collect();
        let sides = |colour: u8| {
            let on = |way: i32| {
                off_axis
                    .iter()
                    .any(|p| look.is(**p) == colour && (2 * p.0 - axis).signum() == way)
            };
            on(-1) && on(1)
        };
        let every = (l..=r).all(|c| look.changed.iter().any(|p| p.1 == c));
        axis % 2 == 0
            && r - l >= 6
            && b - t >= 2
            && every
            && look.changed.iter().all(mirrored)
            && 10 * off_axis.iter().filter(|p| swapped(p)).count() >= 9 * off_axis.len()
            && sides(one)
            && sides(two)
    })
}

fn received(look: &Look) -> bool {
    let Some(off) = look.one_lost() else {
        return false;
    };
    if look.touched.len() > 3 {
        return false;
    }
    let lamp = look.input.places_of(off);
    let on = lamp.first().map_or(0, |&p| look.is(p));
    let sources = look.input.places_of(on);
    let ([source], true) = (sources.as_slice(), on != 0) else {
        return false;
    };
    let lit = lamp.iter().filter(|&&p| look.is(p) == on).count();
    let air: Vec<Place> = look
        .came(on)
        .into_iter()
        .filter(|p| !lamp.contains(p))
        .collect();
    let mut arcs = crate::grid::Grid::new(look.output.rows(), look.output.cols());
    arcs.paint(air.iter().copied(), 1);
    let round = |cells: &Vec<Place>| {
        let far = cells.iter().map(|p| {
            let (dr, dc) = (f64::from(p.0 - source.0), f64::from(p.1 - source.1));
            dr.hypot(dc)
        });
        let (most, least) = far.fold((0.0f64, 99.0f64), |(a, b), x| (a.max(x), b.min(x)));
        most - least <= 1.6 && most >= 2.0 && cells.len() > 1
    };
    2 * lit >= lamp.len() && air.len() >= 3 && arcs.parts(0).iter().all(round)
}
