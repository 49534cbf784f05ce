//! Readings of heat: conducted along or between bodies, melted, vaporized, longer and shorter.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "heat-conduction",
        &["heated-rod"],
        "did a rod take on two new colours, one after the other from one end, its far end staying?",
        warmed_from_an_end,
    )
    .touching(3, 3).recoloured().fresh(2),
    Reading::new(
        "heat-conduction",
        &["touching-blocks"],
        "did two equal blocks that touch take on one new colour, while their like stay apart as they are?",
        evened_out,
    )
    .touching(3, 3).recoloured().fresh(1),
    Reading::new(
        "melting",
        &["ice-on-the-table", "cubes-in-a-glass"],
        "did one colour become another, as many cells, in a flatter heap?",
        melted,
    )
    .touching(2, 2).fresh(1)
    .upright(),
    Reading::new(
        "vaporization",
        &["boiling-pot", "drying-puddle"],
        "did part of one colour become as many single cells of a new colour above it?",
        vaporized,
    )
    .touching(2, 2).fresh(1)
    .upright(),
    Reading::new(
        "thermal-expansion-and-contraction",
        &["rods", "thermometers"],
        "of two bodies of one colour, did one get longer and the other shorter by as many cells?",
        longer_and_shorter,
    )
    .touching(1, 1).same_counts().reshaping(6),
];

fn warmed_from_an_end(look: &Look) -> bool {
    if !look.only_recoloured || look.fresh.len() != 2 || look.touched.len() != 3 {
        return false;
    }
    let cold = look.changed.first().map_or(0, |&p| look.was(p));
    let before = look.before_of(cold);
    let Some(rod) = before.iter().find(|p| look.restless(p)) else {
        return false;
    };
    let long = rod.tall().max(rod.wide());
    if !rod.is_box() || long < 6 || 2 * rod.tall().min(rod.wide()) > long {
        return false;
    }
    // The colours along the rod, each the same across it.
    let lying = rod.wide() > rod.tall();
    let [t, l, b, r] = rod.bounds;
    let across = |i: i32| -> Option<u8> {
        let cells: Vec<Place> = if lying {
            (t..=b).map(|y| (y, l + i)).collect()
        } else {
            (l..=r).map(|x| (t + i, x)).collect()
        };
        let first = cells.first().map(|&p| look.is(p))?;
        cells.iter().all(|&p| look.is(p) == first).then_some(first)
    };
    let along: Option<Vec<u8>> = (0..long).map(across).collect();
    let Some(mut along) = along else { return false };
    along.dedup();
    let inside = look.changed.iter().all(|p| rod.has(*p));
    inside && along.len() == 3 && (along.first() == Some(&cold)) != (along.last() == Some(&cold))
}

fn evened_out(look: &Look) -> bool {
    if !look.only_recoloured || look.touched.len() != 3 || look.one_fresh().is_none() {
        return false;
    }
    let changed: Vec<&Part> = look
        .parts_before()
        .iter()
        .filter(|p| look.restless(p))
        .collect();
    let [a, b] = changed.as_slice() else {
        return false;
    };
    let same_stays = |part: &Part| {
        look.parts_after()
            .iter()
            .any(|q| q.colour == part.colour && q.alike(part))
    };
    a.is_box()
        && a.alike(b)
        && a.len() + b.len() == look.changed.len()
        && a.len() >= 4
        && a.touches(&b.cells)
        && same_stays(a)
        && same_stays(b)
}

/// Pairs of a colour that loses cells and another, new in the output, that has exactly as many.
fn became(look: &Look) -> Vec<(u8, u8)> {
    let mut found = Vec::new();
    for old in 1u8..10 {
        let lost = look.had(old).saturating_sub(look.has(old));
        for &new in &look.fresh {
            if lost >= 3 && look.has(new) == lost {
                found.push((old, new));
            }
        }
    }
    found
}

fn melted(look: &Look) -> bool {
    if look.fresh.is_empty() || look.touched.len() != 2 {
        return false;
    }
    let high = |cells: &[Place]| super::bounds(cells).map_or(0, |[t, _, b, _]| b - t + 1);
    became(look).into_iter().any(|(ice, water)| {
        let (a, b) = (look.input.places_of(ice), look.output.places_of(water));
        a.len() >= 6 && a.len() == b.len() && high(&b) < high(&a)
    })
}

fn vaporized(look: &Look) -> bool {
    if look.fresh.is_empty() || look.touched.len() != 2 {
        return false;
    }
    became(look).into_iter().any(|(water, steam)| {
        let cloud = look.output.places_of(steam);
        let rest = look.has(water);
        let surface = look.input.places_of(water).first().map_or(0, |p| p.0);
        rest > 0
            && cloud.iter().all(|p| p.0 < surface)
            && look.output.regions(|c| c == steam, false).len() == cloud.len()
    })
}

fn longer_and_shorter(look: &Look) -> bool {
    let [colour] = *look.touched.as_slice() else {
        return false;
    };
    if !look.kept(colour, 6) {
        return false;
    }
    let restless = |parts: Vec<&Part>| -> Vec<Part> { parts.into_iter().cloned().collect() };
    let (before, after) = (
        restless(look.before_of(colour)),
        restless(look.after_of(colour)),
    );
    let ([a, b], [c, d]) = (before.as_slice(), after.as_slice()) else {
        return false;
    };
    let within = |small: &Part, large: &Part| {
        small.len() < large.len() && small.cells.iter().all(|p| large.has(*p))
    };
    // Only one end of the bounds differs.
    let one_end = |p: &Part, q: &Part| {
        p.bounds
            .iter()
            .zip(&q.bounds)
            .filter(|(x, y)| x != y)
            .count()
            == 1
    };
    [(a, c, b, d), (a, d, b, c), (b, c, a, d), (b, d, a, c)]
        .into_iter()
        .any(|(short, grown, long, shrunk)| {
            within(short, grown)
                && within(shrunk, long)
                && one_end(short, grown)
                && one_end(long, shrunk)
                && grown.len() - short.len() == long.len() - shrunk.len()
        })
}
