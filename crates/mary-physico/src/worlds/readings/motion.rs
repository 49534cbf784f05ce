//! Readings of bodies on their way: moved, sped up, went on by inertia, pressed back.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "move",
        &["one-body", "all-alike"],
        "did some bodies go the same way, unchanged, while all else stayed?",
        moved,
    )
    .same_counts(),
    Reading::new(
        "acceleration",
        &["widening-steps", "race"],
        "do equal stamps follow one another at distances that grow by one?",
        sped_up,
    )
    .touching(1, 2),
    Reading::new(
        "inertia",
        &["sudden-stop"],
        "did something stop at a body, and what lay on it go on beyond?",
        flew_on,
    )
    .touching(2, 3).same_counts().movers(2)
    .upright(),
    Reading::new(
        "inertia",
        &["coin-and-card"],
        "was a sheet drawn away sideways, and did what lay on it fall straight down?",
        stayed_behind,
    )
    .touching(2, 2).same_counts().movers(2)
    .upright(),
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

fn moved(look: &Look) -> bool {
    if !look.same_counts {
        return false;
    }
    // All of one colour, shifted: bodies may come to lie where others of it lay.
    if let [colour] = *look.touched.as_slice() {
        let (was, is) = (look.input.places_of(colour), look.output.places_of(colour));
        let step = was
            .first()
            .zip(is.first())
            .map_or((0, 0), |(a, b)| (b.0 - a.0, b.1 - a.1));
        let shifted = |(a, b): (&Place, &Place)| (a.0 + step.0, a.1 + step.1) == *b;
        if was.iter().zip(&is).all(shifted) {
            return true;
        }
    }
    look.moves().is_some_and(|all| {
        let first = all.first().map(|m| m.by);
        all.iter().all(|m| Some(m.by) == first)
    })
}

fn sped_up(look: &Look) -> bool {
    look.changed.len() >= 3 && look.touched.len() <= 2 && look.lying_or_upright(stamped)
}

/// In every row where something changed, the stamps in it lie at equal distances or at distances that
/// grow by one, and in some row the latter.
fn stamped(look: &Look) -> bool {
    let mut rows: Vec<i32> = look.changed.iter().map(|p| p.0).collect();
    rows.dedup();
    let gaps = |row: i32| -> Vec<i32> {
        let at: Vec<i32> = (0..look.cols())
            .filter(|&c| look.touched.contains(&look.is((row, c))))
            .collect();
        at.windows(2).map(|w| w[1] - w[0]).collect()
    };
    let by = |g: &[i32], more: i32| g.windows(2).all(|w| w[1] == w[0] + more);
    let grows = |g: &[i32]| g.len() >= 3 && (by(g, 1) || by(g, -1));
    let all: Vec<Vec<i32>> = rows.iter().map(|&r| gaps(r)).collect();
    all.iter().any(|g| grows(g)) && all.iter().all(|g| grows(g) || (g.len() >= 2 && by(g, 0)))
}

/// The only part of a colour that went elsewhere.
fn single(look: &Look, colour: u8) -> Option<(&Part, &Part, Place)> {
    match look.moves_of(&[colour])?.as_slice() {
        [m] => Some((m.from, m.to, m.by)),
        _ => None,
    }
}

fn flew_on(look: &Look) -> bool {
    if !look.same_counts || !(2..=3).contains(&look.touched.len()) {
        return false;
    }
    let pairs = || {
        let t = &look.touched;
        t.iter().flat_map(move |&a| t.iter().map(move |&b| (a, b)))
    };
    pairs().filter(|(a, b)| a != b).any(|(cart, load)| {
        let (Some(cart), Some(load)) = (single(look, cart), single(look, load)) else {
            return false;
        };
        let way = cart.2.1.signum();
        let front = if way > 0 {
            cart.1.bounds[3] + 1
        } else {
            cart.1.bounds[1] - 1
        };
        let stopped = (cart.1.bounds[0]..=cart.1.bounds[2]).any(|r| look.stays((r, front)));
        let lay_on = load.0.bounds[2] + 1 == cart.0.bounds[0]
            && load.0.bounds[1] >= cart.0.bounds[1]
            && load.0.bounds[3] <= cart.0.bounds[3];
        let beyond = if way > 0 {
            load.1.bounds[1] > front
        } else {
            load.1.bounds[3] < front
        };
        // Its wheels, if it has any, go along right under it.
        let wheels = look.changed.iter().all(|p| {
            let part = |c: u8| c == 0 || c == cart.0.colour || c == load.0.colour;
            (part(look.was(*p)) && part(look.is(*p))) || p.0 == cart.0.bounds[2] + 1
        });
        wheels && cart.2.0 == 0 && load.2.0 == 0 && way != 0 && stopped && lay_on && beyond
    })
}

fn stayed_behind(look: &Look) -> bool {
    if look.touched.len() != 2 {
        return false;
    }
    let Some(all) = look.moves() else {
        return false;
    };
    let [a, b] = all.as_slice() else {
        return false;
    };
    [(a, b), (b, a)].into_iter().any(|(card, coin)| {
        let [_, l, bottom, r] = coin.from.bounds;
        let [_, nl, nb, nr] = coin.to.bounds;
        let lay_on = bottom + 1 == card.from.bounds[0]
            && l >= card.from.bounds[1]
            && r <= card.from.bounds[3];
        card.by.0 == 0
            && card.from.tall() == 1
            && coin.by.1 == 0
            && coin.by.0 > 1
            && lay_on
            && card.to.bounds[0] == card.from.bounds[0]
            && [(nb, nl - 1), (nb, nr + 1), (nb + 1, nl)]
                .iter()
                .all(|&p| look.stays(p))
    })
}

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
