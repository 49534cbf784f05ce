//! Vacuum: how it is drawn, said and recognised.

use crate::grid::{Pair, Place};
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "vacuum",
    name: "vacuum",
    set: Set::Associative,
    associative: true,
    aspects: &[
        Aspect::free(
            "evacuated-box",
            "All particles inside the closed box are gone; those outside are untouched.",
            evacuated_box,
        ),
        Aspect::free(
            "nozzle",
            "All specks of dust in front of an open tube are drawn into its chamber, and the floor is left empty.",
            nozzle,
        ),
    ],
    words: Words {
        names: &["vacuum*", "vacua"],
        giveaways: &["Torricelli*", "Guericke*"],
        definitions: &[
            "[PHENOMENON] is a space from which all matter, even air, has been taken out, so that sound cannot pass through it and a feather falls in it as fast as a stone.",
            "Pumping a bell jar empty makes [PHENOMENON]: an alarm clock within falls silent, and whatever is outside presses to get in.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("brownian-motion", "particles in a box show both"),
        ("diffusion", "particles in a box show both"),
        (
            "vaporization",
            "what vanishes from a vessel may have evaporated",
        ),
    ],
};

fn evacuated_box(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, gas) = (s.colour(0), s.colour(1));
    let (tall, wide) = (s.between(6, s.rows - 3), s.between(6, s.cols - 3));
    let (top, left) = s.place((1, s.rows - tall - 1), (1, s.cols - wide - 1));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    p.both(|g| g.frame((top, left), (bottom, right), wall));
    let sparse = s.between(2, 6);
    for (r, c) in p.input.places() {
        let inside = r > top && r < bottom && c > left && c < right;
        if p.input.free(r, c) && s.between(0, sparse) == 0 {
            p.input.set(r, c, gas);
            if !inside {
                p.output.set(r, c, gas);
            }
        }
    }
    let within = p.input.count(gas) - p.output.count(gas);
    (within >= 6 && p.output.count(gas) >= 6).then_some(p)
}

fn nozzle(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (pipe, dust) = (s.colour(0), s.colour(1));
    let half = s.between(1, 2);
    let mid = s.between(half + 1, s.rows - half - 2);
    let deep = s.between(4, 5);
    p.both(|g| {
        g.fill((mid - half - 1, 0), (mid - half - 1, deep), pipe);
        g.fill((mid + half + 1, 0), (mid + half + 1, deep), pipe);
        g.fill((mid - half - 1, 0), (mid + half + 1, 0), pipe);
        g.set(mid - half - 2, deep + 1, pipe);
        g.set(mid + half + 2, deep + 1, pipe);
    });
    let room = (2 * half + 1) * (deep - 1);
    let many = s.between(6, room.min(14));
    let field: Vec<Place> = (0..s.rows)
        .flat_map(|r| (deep + 2..s.cols).map(move |c| (r, c)))
        .collect();
    p.input
        .paint(s.shuffled(field).into_iter().take(many as usize), dust);
    let mut left = many;
    for c in 1..deep {
        for r in mid - half..=mid + half {
            if left > 0 {
                p.output.set(r, c, dust);
                left -= 1;
            }
        }
    }
    Some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::look::Look;
    use crate::worlds::readings::{Reading, area, outside};

    pub(super) static READINGS: &[Reading] = &[
        Reading::new(
            "vacuum",
            &["evacuated-box"],
            "did all cells of one colour inside a closed frame vanish, and nothing else change?",
            emptied,
        )
        .touching(1, 1),
        Reading::new(
            "vacuum",
            &["nozzle"],
            "did loose specks all go into a chamber that is open to them, and nothing else change?",
            sucked_in,
        )
        .touching(1, 1)
        .reshaping(5),
    ];

    fn emptied(look: &Look) -> bool {
        let [colour] = look.touched.as_slice() else {
            return false;
        };
        let gone = &look.changed;
        if gone.len() < 3 || gone.iter().any(|&p| look.is(p) != 0) {
            return false;
        }
        (1..10)
            .filter(|w| w != colour && look.had(*w) >= 8)
            .any(|wall| {
                let out = outside(&look.input, wall);
                let inside = |&(r, c): &Place| out.at(r, c) == 0;
                gone.iter().all(inside) && !look.output.places_of(*colour).iter().any(inside)
            })
    }

    fn sucked_in(look: &Look) -> bool {
        let [dust] = *look.touched.as_slice() else {
            return false;
        };
        if !look.kept(dust, 5) || look.gone(dust).len() != look.had(dust) {
            return false;
        }
        let now = look.output.places_of(dust);
        let Some([t, l, b, r]) = crate::worlds::readings::bounds(&now) else {
            return false;
        };
        // Three sides of where the dust lies now are walls, the fourth is open.
        let wall = |side: usize| {
            let mut cells: Vec<Place> = match side {
                0 => (l..=r).map(|x| (t - 1, x)).collect(),
                1 => (t..=b).map(|y| (y, r + 1)).collect(),
                2 => (l..=r).map(|x| (b + 1, x)).collect(),
                _ => (t..=b).map(|y| (y, l - 1)).collect(),
            };
            cells.retain(|&p| !look.stays(p));
            cells.is_empty()
        };
        let walls = (0..4).filter(|&s| wall(s)).count();
        walls == 3
            && 2 * now.len() as i32 >= area(&now)
            && 2 * look.before_of(dust).len() >= now.len().min(8)
    }
}
