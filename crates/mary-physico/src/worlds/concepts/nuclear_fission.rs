//! Nuclear fission: how it is drawn, said and recognised.

use crate::grid::Pair;
use crate::worlds::draw::disc;
use crate::worlds::scenery::particles::block;
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "nuclear-fission",
    name: "nuclear fission",
    set: Set::CoreTest,
    associative: true,
    aspects: &[
        Aspect::free(
            "split-nucleus",
            "A neutron strikes a big nucleus, which breaks into two smaller ones and sets free several neutrons; no particle is lost.",
            split_nucleus,
        ),
        Aspect::free(
            "chain-reaction",
            "One neutron splits the first nucleus, the neutrons set free split the next ones: every nucleus ends in two halves.",
            chain_reaction,
        ),
    ],
    words: Words {
        names: &["nucle*", "fission*", "split*"],
        giveaways: &["uranium", "plutonium", "Meitner", "Hahn", "reactor*"],
        definitions: &[
            "In [PHENOMENON] the core of a heavy atom takes up a neutron and breaks into two smaller cores, setting free two or three neutrons, which can do the same to others.",
            "Power stations that run on [MASK] make use of [PHENOMENON]: a heavy core breaks in two, and the neutrons that come out keep the chain going.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("chemical-bond", "groups of particles that break or form"),
        ("cut", "one becomes two in both"),
        ("diffusion", "bits that go apart show both"),
        ("expansion", "bits that go apart show both"),
        (
            "nuclear-fusion",
            "before and after differ only in direction",
        ),
        (
            "photoelectric-effect",
            "particles knocked out by a hit show both",
        ),
        ("splashing", "bits that fly off show both"),
    ],
};

fn split_nucleus(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (proton, neutron) = (s.colour(0), s.colour(1));
    let (mr, mc) = s.place((5, s.rows - 6), (6, s.cols - 6));
    // The disc of 21 cells: two halves of 9 and the free neutrons; or 9 cells and halves of 4.
    let (whole, side) = if s.coin() {
        (disc((mr, mc), 2), 3)
    } else {
        (block((mr - 1, mc - 1), 3, 3), 2)
    };
    for &(r, c) in &whole {
        let even = (r + c - mr - mc).rem_euclid(2) == 0;
        let is_proton = even == (side == 3);
        p.input.set(r, c, if is_proton { proton } else { neutron });
    }
    p.input.set(mr, s.between(0, mc - 4), neutron);
    let shift = s.between(3, (mr - 1).min(s.rows - 2 - mr).min(4));
    let halves = [(mr - shift, mc), (mr + shift, mc)];
    let mut left = [p.input.count(proton) as i32, p.input.count(neutron) as i32];
    for (k, at) in halves.iter().enumerate() {
        for (i, (r, c)) in block((at.0 - 1, at.1 - 1), side, side)
            .into_iter()
            .enumerate()
        {
            let is_proton = (i + k) % 2 == 0 && left[0] > 0;
            p.output.set(r, c, if is_proton { proton } else { neutron });
            left[usize::from(!is_proton)] -= 1;
        }
    }
    // What is left flies off.
    let mut spots = vec![
        (mr, mc + 3),
        (mr - 1, mc + 5),
        (mr + 1, mc + 5),
        (mr, mc - 3),
        (mr - 1, mc - 5),
        (mr + 1, mc - 5),
    ];
    spots.retain(|q| p.output.roomy(&[*q]) && p.output.holds(q.0, q.1));
    let spare: i32 = left[1];
    p.output
        .paint(spots.into_iter().take(spare.max(0) as usize), neutron);
    let same = |c: u8| p.input.count(c) == p.output.count(c);
    (left[0] == 0 && (2..=4).contains(&spare) && same(proton) && same(neutron)).then_some(p)
}

fn chain_reaction(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (core, neutron) = (s.colour(0), s.colour(1));
    let many = s.between(2, (s.cols - 2) / 5);
    let row = s.between(4, s.rows - 6);
    p.input.set(row, 0, neutron);
    for k in 0..many {
        let left = 2 + 5 * k;
        p.input.paint(block((row - 1, left), 4, 2), core);
        let out = s.between(1, 2).min(row - 2).min(s.rows - 4 - row);
        p.output.paint(block((row - 1 - out, left), 2, 2), core);
        p.output.paint(block((row + 1 + out, left), 2, 2), core);
        // Each splitting sends on two or three neutrons.
        for r in [row - 1, row, row + 1]
            .into_iter()
            .take(s.between(2, 3) as usize)
        {
            p.output.set(r, left + 3, neutron);
        }
    }
    Some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::{Look, Part};
    use crate::worlds::readings::particles::sizes;

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
];

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
                let gap =
                    |a: usize| (n.bounds[a] - w.bounds[a + 2]).max(w.bounds[a] - n.bounds[a + 2]);
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
}
