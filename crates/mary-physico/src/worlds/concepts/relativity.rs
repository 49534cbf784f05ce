//! Relativity: how it is drawn, said and recognised.

use crate::grid::{Grid, Pair, Place};
use crate::worlds::draw::shifted;
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "relativity",
    name: "relativity",
    set: Set::CoreDev,
    associative: false,
    aspects: &[
        Aspect::free(
            "shorter",
            "Of two equal ships the one that flies fast becomes half as long in the direction of flight and keeps its height.",
            shorter,
        ),
        Aspect::upright(
            "slower-clock",
            "Of two clocks that start together the one that flies fast has gone half as far round as the one at rest.",
            slower_clock,
        ),
    ],
    words: Words {
        names: &[
            "relativ*",
            "time dilation",
            "length contraction",
            "spacetime",
        ],
        giveaways: &["Einstein*", "Lorentz*"],
        definitions: &[
            "According to [PHENOMENON], by [MASK], time and length depend on who measures them: fast clocks tick slowly and fast rods are short, while a ray in empty space has the same speed for everybody.",
            "[PHENOMENON] also says that mass bends space and time, so that starlight is turned aside as it passes the sun and clocks run slower near a heavy body.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("compression", "the fast ship is shorter"),
        ("energy-conservation", "motion and size trade in both"),
        ("expansion", "sizes change in both"),
        ("squeeze", "the fast ship is shorter"),
        (
            "thermal-expansion-and-contraction",
            "the fast ship is shorter",
        ),
    ],
};

fn shorter(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (hull, window, speed) = (s.colour(0), s.colour(1), s.colour(2));
    let long = 2 * s.between(3, 4);
    let tall = 3;
    let top = s.between(1, s.rows - 2 * tall - 3);
    let low = s.between(top + tall + 2, s.rows - tall - 1);
    let draw = |g: &mut Grid, row: i32, left: i32, long: i32| {
        g.fill((row, left), (row + tall - 1, left + long - 1), hull);
        let inset = (long / 4).max(1);
        g.fill(
            (row + 1, left + inset),
            (row + 1, left + long - 1 - inset),
            window,
        );
    };
    let left = s.between(0, 1);
    let (rest, fly) = if s.coin() { (top, low) } else { (low, top) };
    draw(&mut p.input, top, left, long);
    draw(&mut p.input, low, left, long);
    draw(&mut p.output, rest, left, long);
    let to = s.cols - long / 2 - s.between(0, 1);
    draw(&mut p.output, fly, to, long / 2);
    for r in [fly, fly + 2] {
        p.output.fill((r, to - 5), (r, to - 2), speed);
    }
    Some(p)
}

/// The cells of a square dial, clockwise from the top.
fn dial(at: Place, side: i32) -> Vec<Place> {
    let (half, last) = (side / 2, side - 1);
    let mut rim = Vec::new();
    rim.extend((half..side).map(|c| (0, c)));
    rim.extend((1..side).map(|r| (r, last)));
    rim.extend((0..last).rev().map(|c| (last, c)));
    rim.extend((0..last).rev().map(|r| (r, 0)));
    rim.extend((1..half).map(|c| (0, c)));
    shifted(&rim, at)
}

fn slower_clock(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (face, gone, middle, speed) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let side = 5;
    let draw = |g: &mut Grid, at: Place, lit: i32| {
        g.paint(dial(at, side), face);
        g.paint(dial(at, side).into_iter().take(lit as usize), gone);
        g.set(at.0 + side / 2, at.1 + side / 2, middle);
    };
    let top = s.between(0, s.rows - 2 * side - 2);
    let low = s.between(top + side + 1, s.rows - side - 1);
    let left = s.between(0, 1);
    let (rest, fly) = if s.coin() { (top, low) } else { (low, top) };
    draw(&mut p.input, (top, left), 1);
    draw(&mut p.input, (low, left), 1);
    let ticks = 2 * s.between(4, 7);
    draw(&mut p.output, (rest, left), ticks);
    let to = s.cols - side - s.between(0, 1);
    draw(&mut p.output, (fly, to), ticks / 2);
    let streak = s.between(1, 4);
    for r in [fly + side / 2 - 1, fly + side / 2 + 1] {
        p.output.fill((r, to - 1 - streak), (r, to - 2), speed);
    }
    Some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Grid;
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::{Look, Part};

    pub(super) static READINGS: &[Reading] = &[
        Reading::new(
            "relativity",
            &["shorter"],
            "of two equal bodies, did one go elsewhere and become half as long, as high as before?",
            shorter,
        )
        .fresh(1),
        Reading::new(
            "relativity",
            &["slower-clock"],
            "of two equal dials, did the one that went elsewhere go half as far round?",
            slower,
        )
        .fresh(1),
    ];

    fn colours(grid: &Grid, part: &Part) -> u16 {
        part.cells
            .iter()
            .fold(0, |set, &(r, c)| set | 1 << grid.at(r, c))
    }

    fn shorter(look: &Look) -> bool {
        let Some(speed) = look.one_fresh() else {
            return false;
        };
        let [ship] = look.bodies_before() else {
            return false;
        };
        let after: Vec<&Part> = look
            .bodies_after()
            .iter()
            .filter(|b| b.cells.iter().all(|&p| look.is(p) != speed))
            .collect();
        let [short] = after.as_slice() else {
            return false;
        };
        let halved = (short.tall() == ship.tall()
            && 2 * short.wide() == ship.wide()
            && short.bounds[0] == ship.bounds[0])
            || (short.wide() == ship.wide()
                && 2 * short.tall() == ship.tall()
                && short.bounds[1] == ship.bounds[1]);
        let twin = look.parts_before().iter().any(|p| {
            !look.restless(p)
                && ship
                    .cells
                    .first()
                    .is_some_and(|&at| look.was(at) == p.colour)
                && p.tall() == ship.tall()
                && p.wide() == ship.wide()
        });
        let streak = |p: &&Part| p.is_run() && p.len() >= 2;
        halved
            && look.after_of(speed).iter().all(streak)
            && ship.is_box()
            && short.is_box()
            && ship.len() >= 8
            && colours(&look.input, ship) == colours(&look.output, short)
            && twin
    }

    fn slower(look: &Look) -> bool {
        if look.one_fresh().is_none() {
            return false;
        }
        // A ring of equal sides; the smallest has its pin right inside.
        let dial =
            |b: &&Part| b.tall() == b.wide() && (b.is_frame() || (b.is_box() && b.tall() == 3));
        let dials =
            |bodies: &'_ [Part]| -> Vec<Part> { bodies.iter().filter(dial).cloned().collect() };
        let (before, after) = (dials(look.bodies_before()), dials(look.bodies_after()));
        let ([a, b], [c, d]) = (before.as_slice(), after.as_slice()) else {
            return false;
        };
        if !(a.alike(b) && a.alike(c) && a.alike(d)) {
            return false;
        }
        let here = |p: &&Part| p.bounds == a.bounds || p.bounds == b.bounds;
        let (Some(rest), Some(fly)) = ([c, d].into_iter().find(here), {
            [c, d].into_iter().find(|p| !here(p))
        }) else {
            return false;
        };
        let count = |grid: &Grid, part: &Part, colour: u8| {
            part.cells
                .iter()
                .filter(|&&(r, x)| grid.at(r, x) == colour)
                .count()
        };
        // Nothing else but the pins inside the dials and streaks of the new colour.
        let within = |part: &Part, dial: &Part| {
            let ([t, l, b, r], [dt, dl, db, dr]) = (part.bounds, dial.bounds);
            t >= dt && l >= dl && b <= db && r <= dr
        };
        let streak = |p: &Part| {
            let ([t, l, b, r], [ft, fl, fb, fr]) = (p.bounds, fly.bounds);
            let beside = (t >= ft && b <= fb) || (l >= fl && r <= fr);
            p.is_run()
                && beside
                && p.cells
                    .iter()
                    .all(|&q| Some(look.is(q)) == look.one_fresh())
        };
        let all_explained = look
            .bodies_before()
            .iter()
            .all(|p| within(p, a) || within(p, b))
            && look
                .bodies_after()
                .iter()
                .all(|p| within(p, rest) || within(p, fly) || streak(p));
        all_explained
            && look.touched.iter().any(|&gone| {
                let (n, m) = (
                    count(&look.output, rest, gone),
                    count(&look.output, fly, gone),
                );
                let (p, q) = (count(&look.input, a, gone), count(&look.input, b, gone));
                p == q && m > p && n == 2 * m
            })
    }
}
