//! Diffusion: how it is drawn, said and recognised.

use crate::grid::{Pair, Place};
use crate::worlds::scenery::air::room;
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "diffusion",
    name: "diffusion",
    set: Set::CoreTest,
    associative: true,
    aspects: &[
        Aspect::free(
            "ink-drop",
            "Particles packed in one spot spread through the whole box until they lie evenly thin; none is lost.",
            ink_drop,
        ),
        Aspect::free(
            "no-more-wall",
            "The wall between two kinds of particles is taken out, and both kinds mix evenly through the whole box.",
            no_more_wall,
        ),
    ],
    words: Words {
        names: &["diffus*"],
        giveaways: &["Fick*"],
        definitions: &[
            "[PHENOMENON] is the spreading of a substance from where there is much of it to where there is little, by the random jostling of its particles alone, until it is even everywhere.",
            "Perfume from an open bottle fills a still room, and a drop of ink colours a whole glass that nobody stirs: this is [PHENOMENON].",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("compression", "the reverse shows both"),
        ("cut", "what comes apart shows both"),
        ("expansion", "what spreads expands"),
        ("photoelectric-effect", "particles that leave show both"),
    ],
};

/// One particle in each of so many equal stretches of these cells: evenly thin, yet random.
fn evenly(s: &mut Setting, cells: &[Place], many: usize) -> Vec<Place> {
    (0..many)
        .filter_map(|i| {
            let (a, b) = (i * cells.len() / many, (i + 1) * cells.len() / many);
            let j = s.between(a as i32, b as i32 - 1);
            cells.get(j as usize).copied()
        })
        .collect()
}

fn ink_drop(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, ink) = (s.colour(0), s.colour(1));
    let (tall, wide) = (s.between(10, s.rows), s.between(10, s.cols));
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    p.both(|g| g.frame((top, left), (bottom, right), wall));
    let (high, broad) = (s.between(2, 4), s.between(3, 4));
    let at = s.place((top + 2, bottom - 1 - high), (left + 2, right - 1 - broad));
    let drop = room(at, (at.0 + high - 1, at.1 + broad - 1));
    let cells = room((top + 1, left + 1), (bottom - 1, right - 1));
    let spread = evenly(s, &cells, drop.len());
    p.input.paint(drop, ink);
    p.output.paint(spread, ink);
    Some(p)
}

fn no_more_wall(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, one, two) = (s.colour(0), s.colour(1), s.colour(2));
    let tall = s.between(8, s.rows);
    let wide = s.between(11, s.cols);
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    let mid = (left + right) / 2;
    p.both(|g| g.frame((top, left), (bottom, right), wall));
    p.input.fill((top, mid), (bottom, mid), wall);
    let near = room((top + 1, left + 1), (bottom - 1, mid - 1));
    let far = room((top + 1, mid + 1), (bottom - 1, right - 1));
    let many = near.len().min(far.len()) * s.between(2, 6) as usize / 10;
    p.input.paint(s.shuffled(near).into_iter().take(many), one);
    p.input.paint(s.shuffled(far).into_iter().take(many), two);
    let cells = room((top + 1, left + 1), (bottom - 1, right - 1));
    for (i, (r, c)) in s.shuffled(cells).into_iter().take(2 * many).enumerate() {
        p.output.set(r, c, if i % 2 == 0 { one } else { two });
    }
    Some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::look::Look;
    use crate::worlds::readings::{Reading, area};

    pub(super) static READINGS: &[Reading] = &[
        Reading::new(
            "diffusion",
            &["ink-drop"],
            "did one dense patch come apart over a much larger room without loss?",
            spread,
        )
        .touching(1, 2)
        .kinds_stay()
        .reshaping(4),
        Reading::new(
            "diffusion",
            &["no-more-wall"],
            "is a wall between two kinds of particles gone, and are both on both sides now?",
            mixed,
        )
        .touching(3, 3)
        .kinds_stay()
        .keeping(2),
    ];

    fn spread(look: &Look) -> bool {
        look.touched.iter().any(|&colour| {
            if !look.kept(colour, 4) || look.touched.len() > 2 {
                return false;
            }
            let (before, after) = (look.input.places_of(colour), look.output.places_of(colour));
            area(&after) >= 3 * area(&before)
                && 3 * area(&before) <= 4 * before.len() as i32
                && look.before_of(colour).len() == 1
                && 3 * look.after_of(colour).len() >= before.len()
        })
    }

    fn mixed(look: &Look) -> bool {
        if look.touched.len() != 3 {
            return false;
        }
        look.touched.iter().any(|&wall| {
            if look.has(wall) >= look.had(wall) || look.gone(wall).len() < 4 {
                return false;
            }
            look.lying_or_upright(|l| parted_then_mixed(l, wall))
        })
    }

    /// The wall that is gone stood upright, and what was left and right of it now is on both sides.
    fn parted_then_mixed(look: &Look, wall: u8) -> bool {
        let gone = look.gone(wall);
        let Some(&(_, col)) = gone.first() else {
            return false;
        };
        gone.iter().all(|p| p.1 == col)
            && look.came(wall).is_empty()
            && look.touched.iter().filter(|c| **c != wall).all(|&kind| {
                let side = |cells: &[Place]| cells.iter().filter(|p| p.1 < col).count();
                let (a, b) = (look.input.places_of(kind), look.output.places_of(kind));
                let (was, now) = (side(&a), side(&b));
                let at_wall = a.iter().any(|p| p.1 == col);
                look.kept(kind, 2)
                    && !at_wall
                    && (was == 0 || was == a.len())
                    && 10 * now >= b.len()
                    && 10 * now <= 9 * b.len()
            })
    }
}
