//! Wetting: how it is drawn, said and recognised.

use crate::grid::{Pair, Place};
use crate::worlds::draw::shifted;
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "wetting",
    name: "wetting",
    set: Set::Associative,
    associative: true,
    aspects: &[
        Aspect::free(
            "soaking",
            "Where cloth touches water it turns wet, and the wet spreads a few cells into it; dry cloth stays as it is.",
            soaking,
        ),
        Aspect::upright(
            "spreading",
            "A drop that lands on the plate spreads out flat over it; the drop on the waxed plate stays a ball.",
            spreading,
        ),
    ],
    words: Words {
        names: &["wet*", "moist*"],
        giveaways: &["hydrophil*", "contact angle"],
        definitions: &[
            "[PHENOMENON] is the spreading of a liquid over a solid that it touches, because it clings to the solid more than to itself.",
            "A drop runs out flat on clean glass but stands as a bead on a waxed bonnet: on the glass there is [PHENOMENON], on the wax there is none.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("diffusion", "wet spreads into cloth"),
        ("expansion", "a wet spot grows"),
        (
            "heat-conduction",
            "a front that creeps into a body shows both",
        ),
        ("melting", "what spreads flat shows both"),
    ],
};

fn soaking(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (cloth, water, wet) = (s.colour(0), s.colour(1), s.colour(2));
    let top = s.between(2, 4);
    let tall = s.between(6, s.rows - top - 1);
    let left = s.between(1, 2);
    let right = s.cols - s.between(2, 3);
    p.both(|g| g.fill((top, left), (top + tall - 1, right), cloth));
    let many = s.between(1, 3);
    let mut sources = Vec::new();
    for _ in 0..many {
        let at = (top - 1, s.between(left + 1, right - 1));
        sources.push(at);
        p.both(|g| g.fill((at.0 - 1, at.1), at, water));
    }
    let far = s.between(3, 4);
    for (r, c) in p.input.places() {
        let near = sources
            .iter()
            .any(|&(sr, sc)| (r - sr).abs() + (c - sc).abs() <= far);
        if near && p.input.at(r, c) == cloth {
            p.output.set(r, c, wet);
        }
    }
    Some(p)
}

fn spreading(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (plate, water, wax) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - s.between(1, 3);
    let mid = s.cols / 2;
    p.both(|g| {
        g.fill((floor, 0), (g.rows() as i32, mid - 1), plate);
        g.fill((floor, mid), (g.rows() as i32, g.cols() as i32), wax);
    });
    let one = mid / 2;
    let other = mid + (s.cols - mid) / 2;
    let ball = [
        (0, 0),
        (0, 1),
        (1, -1),
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 0),
        (2, 1),
    ];
    let ball: Vec<Place> = if s.coin() {
        ball.to_vec()
    } else {
        vec![(0, 0), (0, 1), (1, 0), (1, 1)]
    };
    let tall = ball.iter().map(|q| q.0).max()? + 1;
    let up = s.between(1, floor - tall - 3);
    for c in [one, other] {
        p.input.paint(shifted(&ball, (up, c)), water);
    }
    p.output.paint(shifted(&ball, (floor - tall, other)), water);
    // A film: one row as far as it goes, a second in its middle.
    let wide = (ball.len() as i32).min(mid);
    let left = (one - wide / 2).clamp(0, mid - wide);
    p.output
        .fill((floor - 1, left), (floor - 1, left + wide - 1), water);
    let over = ball.len() as i32 - wide;
    if over > 0 {
        let from = left + (wide - over) / 2;
        p.output
            .fill((floor - 2, from), (floor - 2, from + over - 1), water);
    }
    (p.input.count(water) == p.output.count(water)).then_some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::{Look, Part, edge_or};

    pub(super) static READINGS: &[Reading] = &[
Reading::new(
        "wetting",
        &["soaking"],
        "did a body change colour just where it is near another that touches it, up to a distance?",
        soaked,
    )
    .touching(2, 2).recoloured().fresh(1),
Reading::new(
        "wetting",
        &["spreading"],
        "of two equal drops that came down, did one become a flat film and the other keep its form?",
        became_a_film,
    )
    .touching(1, 1).same_counts().reshaping(4)
    .upright(),
];

    fn soaked(look: &Look) -> bool {
        let (Some(wet), true, 2) = (look.one_fresh(), look.only_recoloured, look.touched.len())
        else {
            return false;
        };
        let cloth = look.touched.iter().find(|c| **c != wet).copied();
        let Some(cloth) = cloth else { return false };
        if look.has(cloth) == 0 || look.changed.len() < 4 {
            return false;
        }
        let near = look.still_beside(&look.changed);
        near.iter().filter(|c| **c != cloth).any(|&water| {
            let sources = look.input.places_of(water);
            let far = |p: &Place| {
                let steps = |q: &Place| (p.0 - q.0).abs() + (p.1 - q.1).abs();
                sources.iter().map(steps).min().unwrap_or(99)
            };
            let front = look.changed.iter().map(far).max().unwrap_or(0);
            let dry = look.output.places_of(cloth);
            (2..=6).contains(&front) && dry.iter().all(|p| far(p) > front)
        })
    }

    fn became_a_film(look: &Look) -> bool {
        let [water] = *look.touched.as_slice() else {
            return false;
        };
        let (before, after) = (look.before_of(water), look.after_of(water));
        let ([a, b], [c, d]) = (before.as_slice(), after.as_slice()) else {
            return false;
        };
        let rests = |part: &Part| {
            part.cells.iter().any(|&(r, x)| {
                !part.has((r + 1, x)) && edge_or(&look.output, (r + 1, x), |v| v != 0)
            })
        };
        let under = |part: &Part| look.is((part.bounds[2] + 1, part.bounds[1]));
        a.alike(b)
            && [(c, d), (d, c)].into_iter().any(|(ball, film)| {
                ball.alike(a)
                    && film.len() == a.len()
                    && film.tall() < a.tall()
                    && film.wide() > a.wide()
                    && [ball, film].iter().all(|p| rests(p))
                    && ball.bounds[2] > a.bounds[2]
                    && under(film) != look.is((ball.bounds[2] + 1, ball.bounds[3] - 1))
            })
    }
}
