//! Chemical bond: how it is drawn, said and recognised.

use crate::grid::{Grid, Pair, Place};
use crate::worlds::draw::ring;
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "chemical-bond",
    name: "chemical bond",
    set: Set::Associative,
    associative: true,
    aspects: &[
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
    words: Words {
        names: &["chemic*", "bond*", "covalen*", "ionic"],
        giveaways: &["Pauling*", "Lewis"],
        definitions: &[
            "[PHENOMENON] holds atoms together in a molecule or crystal, by electrons that they share or that one of them has given to the other.",
            "Two atoms of hydrogen and one of oxygen stay together as one molecule through [PHENOMENON]; it takes work to undo it.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("compression", "what comes together is denser"),
        ("electricity", "lines between points look like wires"),
        ("force-composition", "lines between points show both"),
        ("squeeze", "what comes together is denser"),
        ("surface-tension", "what holds together shows both"),
    ],
};

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

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::Look;

    pub(super) static READINGS: &[Reading] = &[
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
];

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
                nearer
                    && look.touched.iter().any(electron)
                    && look.touched.iter().all(|c| shell(&c))
            })
        })
    }
}
