//! Small things: nuclei that split or join, atoms that bond, charges that flow.

use super::draw::{disc, ring};
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Nuclear fission.
pub static NUCLEAR_FISSION: Concept = Concept::core_test(
    "nuclear-fission",
    "nuclear fission",
    &["fission", "splitting of the nucleus", "nuclear splitting"],
    &[
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
)
.also_associative();

fn block(at: Place, tall: i32, wide: i32) -> Vec<Place> {
    (0..tall)
        .flat_map(|r| (0..wide).map(move |c| (at.0 + r, at.1 + c)))
        .collect()
}

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

/// Nuclear fusion.
pub static NUCLEAR_FUSION: Concept = Concept::core_test(
    "nuclear-fusion",
    "nuclear fusion",
    &["fusion", "fuse", "fused", "thermonuclear"],
    &[
        Aspect::free(
            "two-become-one",
            "Two small nuclei meet and become one bigger nucleus; one neutron flies off; no particle is lost.",
            two_become_one,
        ),
        Aspect::free(
            "in-a-star",
            "Single particles all around come together into one nucleus in the middle, and light goes out from it.",
            in_a_star,
        ),
    ],
)
.also_associative();

fn two_become_one(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (proton, neutron) = (s.colour(0), s.colour(1));
    let mid = s.place((3, s.rows - 5), (5, s.cols - 6));
    let gap = s.between(3, (mid.1 - 1).min(s.cols - 4 - mid.1).min(5));
    // Two of five cells become one of nine and a free neutron; two of nine one of sixteen and two.
    let big = s.coin() && mid.0 + 4 < s.rows;
    let form = if big {
        block((0, 0), 3, 3)
    } else {
        vec![(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    };
    for (side, flip) in [(-1, false), (1, true)] {
        let cells: Vec<Place> = form
            .iter()
            .map(|&(r, c)| {
                (
                    mid.0 + r - 1,
                    mid.1 + side * gap + if flip { 1 - c } else { c },
                )
            })
            .collect();
        for (i, (r, c)) in cells.into_iter().enumerate() {
            let is_proton = if big { i % 2 == 1 } else { i < 2 };
            p.input.set(r, c, if is_proton { proton } else { neutron });
        }
    }
    let side = if big { 4 } else { 3 };
    for (r, c) in block((mid.0 - 1, mid.1 - 1), side, side) {
        let is_proton = (r + c - mid.0 - mid.1).rem_euclid(2) == 1;
        p.output.set(r, c, if is_proton { proton } else { neutron });
    }
    let away = s.between(4, s.cols - 1 - mid.1);
    let up = s.between(-2, 2);
    p.output.set(mid.0 + up, mid.1 + away, neutron);
    if big {
        p.output.set(mid.0 - up, mid.1 - away, neutron);
    }
    let same = |c: u8| p.input.count(c) == p.output.count(c);
    (same(proton) && same(neutron)).then_some(p)
}

fn in_a_star(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (proton, light) = (s.colour(0), s.colour(1));
    let (mr, mc) = s.place((5, s.rows - 7), (5, s.cols - 7));
    let ways = [(-1, -1), (-1, 1), (1, -1), (1, 1)];
    for (dr, dc) in ways {
        let far = s.between(3, 4);
        let at = (
            mr + if dr > 0 { 1 + far } else { -far },
            mc + if dc > 0 { 1 + far } else { -far },
        );
        p.input.set(at.0, at.1, proton);
    }
    p.output.paint(block((mr, mc), 2, 2), proton);
    let long = s.between(2, 5);
    for (r, c, dr, dc) in [
        (mr, mc, -1, 0),
        (mr, mc + 1, -1, 0),
        (mr + 1, mc, 1, 0),
        (mr + 1, mc + 1, 1, 0),
        (mr, mc, 0, -1),
        (mr + 1, mc, 0, -1),
        (mr, mc + 1, 0, 1),
        (mr + 1, mc + 1, 0, 1),
    ] {
        for k in 2..=long {
            p.output.set(r + dr * k, c + dc * k, light);
        }
    }
    (p.input.count(proton) == 4).then_some(p)
}

/// Chemical bond.
pub static CHEMICAL_BOND: Concept = Concept::associative(
    "chemical-bond",
    "chemical bond",
    &[
        "chemical bonds",
        "bond",
        "bonds",
        "bonding",
        "bonded",
        "covalent bond",
    ],
    &[
        Aspect::free(
            "bridges",
            "Neighbouring atoms in line are joined by a bridge between them; atoms that stand out of line stay single.",
            bridges,
        ),
        Aspect::free(
            "shared-electrons",
            "Two atoms with an open electron each come together until their shells touch, and share the two.",
            shared_electrons,
        ),
    ],
);

fn bridges(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (carbon, other, bond) = (s.colour(0), s.colour(1), s.colour(2));
    let step = 5;
    let (top, left) = s.place((0, (s.rows - 8).min(2)), (0, (s.cols - 8).min(2)));
    let mut atoms: Vec<Place> = Vec::new();
    for r in (top..s.rows - 2).step_by(step) {
        for c in (left..s.cols - 2).step_by(step) {
            if s.between(0, 3) > 0 {
                atoms.push((r, c));
            }
        }
    }
    let big = [(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)];
    for &at in &atoms {
        let colour = if s.coin() { carbon } else { other };
        p.both(|g| g.stamp(&big, at, colour));
    }
    for &(r, c) in &atoms {
        if atoms.contains(&(r, c + step as i32)) {
            p.output
                .fill((r + 1, c + 3), (r + 1, c + step as i32 - 1), bond);
        }
        if atoms.contains(&(r + step as i32, c)) {
            p.output
                .fill((r + 3, c + 1), (r + step as i32 - 1, c + 1), bond);
        }
    }
    (p.output.count(bond) >= 4).then_some(p)
}

fn shared_electrons(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (shell, core, electron) = (s.colour(0), s.colour(1), s.colour(2));
    let radius = 2;
    let row = s.between(radius, s.rows - 1 - radius);
    let apart = s.between(7, s.cols - 1 - 2 * radius);
    let left = s.between(radius, s.cols - 1 - radius - apart);
    let near = left + (apart - 2 * radius) / 2;
    let atom = |g: &mut Grid, c: i32| {
        g.paint(ring((row, c), radius), shell);
        g.set(row, c, core);
    };
    atom(&mut p.input, left);
    atom(&mut p.input, left + apart);
    // Each brings one electron on the side where the other is.
    p.input.set(row, left + radius, electron);
    p.input.set(row, left + apart - radius, electron);
    atom(&mut p.output, near);
    atom(&mut p.output, near + 2 * radius);
    p.output
        .fill((row - 1, near + radius), (row + 1, near + radius), shell);
    p.output.set(row - 1, near + radius, electron);
    p.output.set(row + 1, near + radius, electron);
    Some(p)
}

/// Electricity.
pub static ELECTRICITY: Concept = Concept::core_test(
    "electricity",
    "electricity",
    &[
        "electric",
        "electrical",
        "electric current",
        "current",
        "electric circuit",
    ],
    &[
        Aspect::free(
            "circuit",
            "When the switch closes the loop from battery to lamp, current runs through the whole wire and the lamp goes on.",
            circuit,
        ),
        Aspect::upright(
            "lightning",
            "A jagged flash leaps from the charged cloud to the highest tower.",
            lightning,
        ),
    ],
);

fn circuit(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wire, plus, minus, live) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let (tall, wide) = (s.between(7, s.rows - 3), s.between(8, s.cols - 3));
    let (top, left) = s.place((1, s.rows - tall - 1), (1, s.cols - wide - 1));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    let cell = s.between(top + 2, bottom - 4);
    let gap = s.between(left + 2, right - 3);
    let bulb = s.between(left + 3, right - 3);
    for (g, closed) in [(&mut p.input, false), (&mut p.output, true)] {
        g.frame(
            (top, left),
            (bottom, right),
            if closed { live } else { wire },
        );
        g.fill((cell, left), (cell + 1, left), plus);
        g.fill((cell + 2, left), (cell + 3, left), minus);
        let lamp = if closed { live } else { wire };
        g.fill((bottom - 1, bulb - 1), (bottom + 1, bulb + 1), lamp);
        if !closed {
            // The switch stands open: a lever lifted off the gap.
            g.fill((top, gap), (top, gap + 1), 0);
            g.set(top - 1, gap, wire);
        }
    }
    (cell + 3 < bottom).then_some(p)
}

fn lightning(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (earth, cloud, tower, flash) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let left = s.between(1, 3);
    let right = s.cols - 1 - s.between(1, 3);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        g.fill((0, left), (1, right), cloud);
        g.fill((0, left - 1), (0, right + 1), cloud);
        g.fill((2, left + 2), (2, right - 2), cloud);
    });
    let highest = s.between(3, 4);
    let spots = s.shuffled((1..s.cols / 3).map(|k| 3 * k).collect::<Vec<_>>());
    let mut aim = None;
    for (i, &c) in spots.iter().take(3).enumerate() {
        let tall = if i == 0 {
            highest
        } else {
            s.between(1, highest - 2)
        };
        p.both(|g| g.fill((ground - tall, c), (ground - 1, c), tower));
        if i == 0 {
            aim = Some((ground - tall - 1, c));
        }
    }
    let aim = aim?;
    // Jagged: from the tower up, a step aside every second row, never further off than the cloud.
    let mut c = aim.1;
    let mut side = if s.coin() { 1 } else { -1 };
    for r in (3..=aim.0).rev() {
        p.output.set(r, c, flash);
        if (aim.0 - r) % 2 == 1 {
            let wanted = if c <= left + 2 {
                1
            } else if c >= right - 2 {
                -1
            } else {
                side
            };
            p.output.set(r, c + wanted, flash);
            c += wanted;
            side = if s.between(0, 2) == 0 { side } else { -side };
        }
    }
    (aim.0 >= 6 && c >= left + 2 && c <= right - 2).then_some(p)
}
