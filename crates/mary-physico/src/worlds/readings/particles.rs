//! Readings of small things: nuclei that split or join, atoms that bond, currents and flashes.

use super::look::{Look, Part};
use super::{Reading, outside};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "nuclear-fission",
        &["split-nucleus"],
        "did a body that a single particle flies at become two equal ones and several single particles, none lost?",
        split,
    )
    .touching(1, 2).same_counts(),
    Reading::new(
        "nuclear-fission",
        &["chain-reaction"],
        "did every one of several equal blocks become two halves, and one loose particle many?",
        all_split,
    )
    .touching(2, 2).kinds_stay().keeping(8),
    Reading::new(
        "nuclear-fusion",
        &["two-become-one"],
        "did two equal bodies become one and a single particle, none lost?",
        joined,
    )
    .touching(1, 2).same_counts(),
    Reading::new(
        "nuclear-fusion",
        &["in-a-star"],
        "did single particles come together into one block, with a new colour around it on all sides?",
        gathered_and_shone,
    )
    .touching(2, 2).fresh(1).keeping(3),
    Reading::new(
        "chemical-bond",
        &["bridges"],
        "did short straight bridges of a new colour appear, each between two equal bodies?",
        bridged,
    )
    .touching(1, 1).added().fresh(1),
    Reading::new(
        "chemical-bond",
        &["shared-electrons"],
        "did two equal shells with a core come together, with a particle of each now on the line between them?",
        shared,
    )
    .touching(3, 3).kinds_stay().keeping(2),
    Reading::new(
        "electricity",
        &["circuit"],
        "did a loop that was open become closed, and all of its colour turn into a new one?",
        closed_and_live,
    )
    .touching(2, 2).fresh(1).lost(1),
    Reading::new(
        "electricity",
        &["lightning"],
        "did a jagged line of a new colour appear from a body above to the tallest of several towers?",
        flashed,
    )
    .touching(1, 1).added().fresh(1)
    .upright(),
];

fn sizes(bodies: &[Part]) -> Vec<usize> {
    let mut sizes: Vec<usize> = bodies.iter().map(Part::len).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

fn split(look: &Look) -> bool {
    if !look.same_counts || look.touched.len() > 2 {
        return false;
    }
    let (before, after) = (sizes(look.bodies_before()), sizes(look.bodies_after()));
    let ([whole, 1], [a, b, rest @ ..]) = (before.as_slice(), after.as_slice()) else {
        return false;
    };
    let halves: Vec<&Part> = look
        .bodies_after()
        .iter()
        .filter(|p| p.len() == *a)
        .collect();
    a == b
        && *a >= 4
        && 2 * a < *whole
        && rest.len() >= 2
        && rest.iter().all(|n| *n == 1)
        && matches!(halves.as_slice(), [x, y] if x.alike(y))
}

fn all_split(look: &Look) -> bool {
    let t = &look.touched;
    let (2, Some(&x), Some(&y)) = (t.len(), t.first(), t.get(1)) else {
        return false;
    };
    [(x, y), (y, x)].into_iter().any(|(core, neutron)| {
        let (whole, halves) = (look.before_of(core), look.after_of(core));
        let Some(first) = whole.first() else {
            return false;
        };
        // Set free beside one of the blocks.
        let near = |n: &Part, w: &Part| {
            let gap = |a: usize| (n.bounds[a] - w.bounds[a + 2]).max(w.bounds[a] - n.bounds[a + 2]);
            gap(0) <= 2 && gap(1) <= 2
        };
        look.kept(core, 8)
            && look.had(neutron) == 1
            && look.has(neutron) > whole.len()
            && whole.len() >= 2
            && halves.len() == 2 * whole.len()
            && whole.iter().all(|p| p.is_box() && p.alike(first))
            && halves
                .iter()
                .all(|p| p.is_box() && 2 * p.len() == first.len())
            && look
                .after_of(neutron)
                .iter()
                .all(|n| whole.iter().any(|w| near(n, w)))
    })
}

fn joined(look: &Look) -> bool {
    if !look.same_counts || look.touched.len() > 2 {
        return false;
    }
    let (before, after) = (sizes(look.bodies_before()), sizes(look.bodies_after()));
    let ([a, b], [whole, rest @ ..]) = (before.as_slice(), after.as_slice()) else {
        return false;
    };
    // A particle that flew off may lie where one lay before.
    let free = (a + b).saturating_sub(*whole);
    a == b
        && *a >= 3
        && whole > a
        && (1..=2).contains(&free)
        && rest.iter().all(|n| *n == 1)
        && rest.len() <= free
}

fn gathered_and_shone(look: &Look) -> bool {
    let (Some(light), 2) = (look.one_fresh(), look.touched.len()) else {
        return false;
    };
    let Some(&particle) = look.touched.iter().find(|c| **c != light) else {
        return false;
    };
    let (before, after) = (look.before_of(particle), look.after_of(particle));
    let [block] = after.as_slice() else {
        return false;
    };
    let [t, l, b, r] = block.bounds;
    let shine = look.output.places_of(light);
    let on = |side: &dyn Fn(&Place) -> bool| shine.iter().any(side);
    let in_line = |p: &Place| (p.0 >= t && p.0 <= b) || (p.1 >= l && p.1 <= r);
    look.kept(particle, 3)
        && shine.iter().all(in_line)
        && before.len() == block.len()
        && block.is_box()
        && on(&|p| p.0 < t)
        && on(&|p| p.0 > b)
        && on(&|p| p.1 < l)
        && on(&|p| p.1 > r)
}

fn bridged(look: &Look) -> bool {
    let Some(bond) = look.one_added() else {
        return false;
    };
    if look.had(bond) > 0 {
        return false;
    }
    let bridges = look.new_parts();
    let atom_at = |p: Place| {
        look.parts_before()
            .iter()
            .find(|part| part.colour == look.was(p) && part.has(p))
    };
    bridges.len() >= 2
        && bridges.iter().all(|bridge| {
            let [t, l, b, r] = bridge.bounds;
            let ends = if bridge.wide() >= bridge.tall() {
                [(t, l - 1), (t, r + 1)]
            } else {
                [(t - 1, l), (b + 1, l)]
            };
            let [a, b] = ends.map(atom_at);
            bridge.is_run()
                && bridge.len() <= 4
                && matches!((a, b), (Some(a), Some(b)) if a.len() > 1 && a.alike(b) && a.bounds != b.bounds)
        })
}

fn shared(look: &Look) -> bool {
    if look.touched.len() != 3 || look.bodies_after().is_empty() {
        return false;
    }
    look.lying_or_upright(|look| {
        look.touched.iter().any(|&core| {
            let (a, b) = (look.input.places_of(core), look.output.places_of(core));
            let ([a, c], [b, d]) = (a.as_slice(), b.as_slice()) else {
                return false;
            };
            let nearer = a.0 == c.0
                && b.0 == d.0
                && a.0 == b.0
                && c.1 - a.1 > d.1 - b.1
                && d.1 > b.1
                && a.1 < b.1
                && (d.1 + b.1) % 2 == 0;
            let middle = (b.1 + d.1) / 2;
            let electron = |colour: &u8| {
                let (was, is) = (
                    look.input.places_of(*colour),
                    look.output.places_of(*colour),
                );
                *colour != core
                    && was.len() == 2
                    && is.len() == 2
                    && is.iter().all(|p| p.1 == middle)
                    && was.iter().all(|p| p.1 > a.1 && p.1 < c.1)
            };
            let shell = |c: &&u8| {
                **c == core
                    || electron(c)
                    || (look.before_of(**c).len() == 2 && look.after_of(**c).len() <= 3)
            };
            nearer && look.touched.iter().any(electron) && look.touched.iter().all(|c| shell(&c))
        })
    })
}

fn closed_and_live(look: &Look) -> bool {
    let (Some(live), Some(wire), 2) = (look.one_fresh(), look.one_lost(), look.touched.len())
    else {
        return false;
    };
    let closed: Vec<Place> = look
        .came(live)
        .into_iter()
        .filter(|&p| look.was(p) == 0)
        .collect();
    let lifted: Vec<Place> = look
        .gone(wire)
        .into_iter()
        .filter(|&p| look.is(p) == 0)
        .collect();
    if !(1..=4).contains(&closed.len()) || lifted.len() > 4 {
        return false;
    }
    // Shut off from the edge by anything coloured.
    let shut = |grid: &crate::grid::Grid| {
        let mut mask = grid.clone();
        for (r, c) in grid.places() {
            mask.set(r, c, u8::from(grid.at(r, c) != 0));
        }
        let out = outside(&mask, 1);
        mask.places()
            .filter(|&(r, c)| mask.at(r, c) == 0 && out.at(r, c) == 0)
            .count()
    };
    let switch = [closed, lifted].concat();
    super::connected(&switch) && shut(&look.output) > shut(&look.input) + 4
}

fn flashed(look: &Look) -> bool {
    let Some(flash) = look.one_added() else {
        return false;
    };
    if look.had(flash) > 0 {
        return false;
    }
    let after = look.after_of(flash);
    let [bolt] = after.as_slice() else {
        return false;
    };
    let [t, _, b, _] = bolt.bounds;
    let from_above = bolt
        .cells
        .iter()
        .any(|&(r, c)| r == t && look.stays((t - 1, c)));
    let thin = (t..=b).all(|r| bolt.cells.iter().filter(|p| p.0 == r).count() <= 2);
    let Some(&(r, c)) = bolt.cells.iter().find(|p| p.0 == b) else {
        return false;
    };
    let towers: Vec<&Part> = look
        .before_of(look.was((r + 1, c)))
        .into_iter()
        .filter(|p| p.wide() == 1)
        .collect();
    let tallest = towers.iter().map(|p| p.tall()).max();
    let hit = towers.iter().find(|p| p.has((b + 1, c)));
    from_above
        && thin
        && bolt.tall() >= 3
        && bolt.wide() >= 2
        && towers.len() >= 2
        && hit.is_some_and(|p| Some(p.tall()) == tallest && p.bounds[0] == b + 1)
}
