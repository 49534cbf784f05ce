//! Fictitious force: how it is drawn, said and recognised.

use crate::grid::{Grid, Pair, Place};
use crate::worlds::draw::ring;
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "fictitious-force",
    name: "fictitious force",
    set: Set::CoreDev,
    associative: false,
    aspects: &[
        Aspect::upright(
            "starting-bus",
            "When the bus starts, the balls on its floor and the lamp on its ceiling go to the back as if something pulled them.",
            starting_bus,
        ),
        Aspect::free(
            "carousel",
            "When the drum turns by a quarter, the balls inside go straight outwards and press against its wall.",
            carousel,
        ),
    ],
    words: Words {
        names: &[
            "fictitious*",
            "forc*",
            "centrifug*",
            "Coriolis*",
            "pseudo*",
            "inertial",
        ],
        giveaways: &["d'Alembert*"],
        definitions: &[
            "[PHENOMENON] seems to act on bodies seen from a system that speeds up or turns. No other body exerts it, and for an observer at rest outside it does not exist.",
            "Passengers feel pressed outward in a bend and backward when the bus starts. Seen from the bus this is [PHENOMENON]; seen from the road, their bodies only go on as before.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("diffusion", "balls go away from the middle in both"),
        ("expansion", "balls go away from the middle in both"),
        ("explosion", "balls go away from the middle in both"),
        ("reference-frame", "it depends on the frame"),
        ("repulsive-force", "balls go away from the middle in both"),
        ("vortex", "a turning drum shows both"),
    ],
};

fn starting_bus(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (road, bus, ball, lamp) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let (long, tall) = (s.between(6, 8), s.between(5, 7));
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), road));
    let floor = ground - 2;
    let top = floor - tall + 1;
    let draw = |g: &mut Grid, left: i32| {
        g.frame((top, left), (floor, left + long - 1), bus);
        g.set(ground - 1, left + 1, bus);
        g.set(ground - 1, left + long - 2, bus);
    };
    let left = s.between(0, 1);
    draw(&mut p.input, left);
    let middle = left + long / 2;
    p.input.fill((top + 1, middle), (top + 2, middle), lamp);
    p.input.set(floor - 1, middle, ball);
    p.input.set(floor - 1, middle - 1, ball);
    let to = s.cols - long;
    draw(&mut p.output, to);
    let middle = to + long / 2;
    p.output.set(top + 1, middle, lamp);
    p.output.set(top + 2, middle - 1, lamp);
    p.output.set(floor - 1, to + 1, ball);
    p.output.set(floor - 1, to + 2, ball);
    for r in [top + 1, top + 3] {
        p.output.fill((r, (to - 3).max(0)), (r, to - 2), road);
    }
    (to - left >= 3).then_some(p)
}

fn carousel(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let radius = s.between(4, (s.rows.min(s.cols) - 3) / 2);
    let centre = s.place((radius, s.rows - 1 - radius), (radius, s.cols - 1 - radius));
    let (wall, mark, ball, axle) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    p.both(|g| {
        g.paint(ring(centre, radius), wall);
        g.set(centre.0, centre.1, axle);
    });
    let spokes: [Place; 4] = [(-1, 0), (0, 1), (1, 0), (0, -1)];
    let start = s.between(0, 3) as usize;
    let put = |g: &mut Grid, (dr, dc): Place, far: i32, colour: u8| {
        g.set(centre.0 + dr * far, centre.1 + dc * far, colour);
    };
    put(&mut p.input, spokes[start], radius, mark);
    put(&mut p.output, spokes[(start + 1) % 4], radius, mark);
    let slants: [Place; 4] = [(-1, -1), (-1, 1), (1, 1), (1, -1)];
    // The last free cell on a slant before the round wall.
    let edge = (1..radius)
        .take_while(|i| p.input.at(centre.0 + i, centre.1 + i) == 0)
        .last()?;
    let deep = s.between(1, 2).min(edge - 1);
    for way in s
        .shuffled(slants.to_vec())
        .into_iter()
        .take(s.between(2, 4) as usize)
    {
        for i in 0..deep {
            put(&mut p.input, way, 1 + i, ball);
            put(&mut p.output, way, edge - i, ball);
        }
    }
    (edge > 1).then_some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::{Look, Part};
    use crate::worlds::readings::motion::single;

    pub(super) static READINGS: &[Reading] = &[
Reading::new(
        "fictitious-force",
        &["starting-bus"],
        "did a hollow body go sideways, and what is inside it end at its back?",
        pressed_back,
    )
    .may(a_hollow_went)
    .touching(2, 4).kinds_stay().keeping(1).movers(1)
    .upright(),
Reading::new(
        "fictitious-force",
        &["carousel"],
        "did a mark on a ring go round by a quarter, and what was inside go straight outwards to it?",
        pressed_outwards,
    )
    .touching(3, 3).same_counts(),
];

    fn a_hollow_went(look: &Look) -> bool {
        look.touched.iter().any(|&bus| {
            look.had(bus) >= 14
                && single(look, bus)
                    .is_some_and(|(from, ..)| from.len() as i32 + 4 <= from.tall() * from.wide())
        })
    }

    fn pressed_back(look: &Look) -> bool {
        if !(2..=4).contains(&look.touched.len()) {
            return false;
        }
        look.touched.iter().any(|&bus| {
            if look.had(bus) < 14 {
                return false;
            }
            let Some((from, to, by)) = single(look, bus) else {
                return false;
            };
            if by.0 != 0 || from.len() as i32 + 4 > from.tall() * from.wide() {
                return false;
            }
            let inside = |part: &Part, cells: &[Place]| {
                let [t, l, b, r] = part.bounds;
                cells
                    .iter()
                    .all(|p| p.0 > t && p.0 < b && p.1 > l && p.1 < r)
            };
            let back = if by.1 > 0 {
                to.bounds[1] + 1
            } else {
                to.bounds[3] - 1
            };
            let sum = |cells: &[Place]| cells.iter().map(|p| p.1).sum::<i32>();
            // How far what is inside went on beyond the body that holds it: none ahead, some back.
            let slid = |colour: u8| {
                let (a, b) = (look.input.places_of(colour), look.output.places_of(colour));
                let held = look.kept(colour, 1) && inside(from, &a) && inside(to, &b);
                held.then(|| (sum(&b) - sum(&a) - by.1 * a.len() as i32) * by.1.signum())
            };
            let slides: Vec<i32> = look.touched.iter().filter_map(|&c| slid(c)).collect();
            let held = |c: &&u8| slid(**c).is_some();
            let at_back = look
                .touched
                .iter()
                .filter(held)
                .any(|&c| look.output.places_of(c).iter().any(|p| p.1 == back));
            // Outside only streaks appear.
            let streaks = |c: &&u8| {
                let new = look.new_parts();
                **c == bus
                    || held(c)
                    || (look.gone(**c).is_empty()
                        && new
                            .iter()
                            .filter(|p| p.colour == **c)
                            .all(|p| p.is_run() && p.len() == 2))
            };
            at_back
                && look.touched.iter().all(|c| streaks(&c))
                && slides.iter().all(|s| *s <= 0)
                && slides.iter().any(|s| *s < 0)
        })
    }

    fn pressed_outwards(look: &Look) -> bool {
        if !look.same_counts || look.touched.len() != 3 {
            return false;
        }
        let axles = look
            .parts_before()
            .iter()
            .filter(|p| p.len() == 1 && !look.restless(p));
        axles.flat_map(|p| p.cells.first().copied()).any(|axle| {
            let from = |p: &Place| (p.0 - axle.0, p.1 - axle.1);
            let marked = look.touched.iter().any(|&mark| {
                let (p, q) = (look.input.places_of(mark), look.output.places_of(mark));
                let ([p], [q]) = (p.as_slice(), q.as_slice()) else {
                    return false;
                };
                let (u, v) = (from(p), from(q));
                v == (u.1, -u.0) || v == (-u.1, u.0)
            });
            // The balls by direction from the axle, then by distance.
            let rays = |cells: Vec<Place>| -> Vec<(Place, i32)> {
                let mut rays: Vec<(Place, i32)> = cells
                    .iter()
                    .map(from)
                    .map(|(r, c)| ((r.signum(), c.signum()), r.abs() + c.abs()))
                    .collect();
                rays.sort_unstable();
                rays
            };
            marked
                && look.touched.iter().any(|&ball| {
                    let (a, b) = (
                        rays(look.input.places_of(ball)),
                        rays(look.output.places_of(ball)),
                    );
                    let rim = |c: &&u8| {
                        let moves = (look.gone(**c).len(), look.came(**c).len());
                        **c == ball || moves == (1, 1)
                    };
                    (2..=12).contains(&a.len())
                        && look.touched.iter().all(|c| rim(&c))
                        && a.iter().zip(&b).all(|(p, q)| p.0 == q.0 && p.1 < q.1)
                })
        })
    }
}
