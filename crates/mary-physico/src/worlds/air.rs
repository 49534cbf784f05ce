//! Air and particles: atmospheric pressure, vacuum, diffusion, Brownian motion.

use super::draw::shifted;
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Atmospheric pressure.
pub static ATMOSPHERIC_PRESSURE: Concept = Concept::core_dev(
    "atmospheric-pressure",
    "atmospheric pressure",
    &[
        "air pressure",
        "barometric pressure",
        "pressure of the atmosphere",
    ],
    &[
        Aspect::upright(
            "barometer",
            "The air over an open dish presses on the liquid and drives it up into a closed tube that is empty of air.",
            barometer,
        ),
        Aspect::free(
            "crushed-can",
            "A can with no air inside is dented from all sides by the air around it, which fills the dents.",
            crushed_can,
        ),
    ],
);

fn barometer(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, liquid, air) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    let wide = s.between(9, (s.cols - 2).min(s.rows - 1));
    let left = s.between(0, s.cols - wide);
    let right = left + wide - 1;
    let mid = (left + right) / 2;
    let deep = s.between(4, 5);
    let rim = floor - deep - 1;
    p.both(|g| {
        g.fill((rim, left), (floor, left), glass);
        g.fill((rim, right), (floor, right), glass);
        g.fill((floor, left), (floor, right), glass);
        g.fill((0, mid - 1), (floor - 2, mid - 1), glass);
        g.fill((0, mid + 1), (floor - 2, mid + 1), glass);
        g.fill((0, mid), (0, mid), glass);
    });
    // The dish without the tube's walls; what leaves it stands in the tube.
    let open = wide - 5;
    let level = floor - deep + 1;
    let sunk = if 2 * open < level - 1 {
        s.between(1, 2)
    } else {
        1
    };
    let up = sunk * open;
    for (g, down, high) in [(&mut p.input, 0, 0), (&mut p.output, sunk, up)] {
        let top = level + down;
        for c in left + 1..right {
            let from = if c == mid { level - high } else { top };
            for r in from..floor {
                if g.free(r, c) {
                    g.set(r, c, liquid);
                }
            }
        }
        // Air over the dish, never in the tube: it comes down with the surface.
        for c in (left..=right).filter(|c| (c - mid).abs() > 1) {
            for r in 0..top {
                if (r + c) % 2 == 0 && g.free(r, c) && r > top - 4 {
                    g.set(r, c, air);
                }
            }
        }
    }
    (level - up > 1).then_some(p)
}

fn crushed_can(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (tin, air) = (s.colour(0), s.colour(1));
    let tall = s.between(7, s.rows - 5);
    let wide = s.between(7, s.cols - 5);
    let (top, left) = s.place((2, s.rows - tall - 2), (2, s.cols - wide - 2));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    let deep = if tall.min(wide) >= 9 { 2 } else { 1 };
    let speckle = |g: &mut Grid| {
        for (r, c) in g.places() {
            let within = |by: i32| {
                (top - by..=bottom + by).contains(&r) && (left - by..=right + by).contains(&c)
            };
            if (r + c) % 2 == 0 && g.free(r, c) && !within(1) && within(3) {
                g.set(r, c, air);
            }
        }
    };
    p.input.frame((top, left), (bottom, right), tin);
    speckle(&mut p.input);
    let g = &mut p.output;
    g.frame((top, left), (bottom, right), tin);
    // Every side is pushed in between its ends.
    let (c0, c1) = (left + 2, right - 2);
    let (r0, r1) = (top + 2, bottom - 2);
    for d in 0..=deep {
        for (row, inner) in [(top, 1), (bottom, -1)] {
            g.fill((row, c0), (row, c1), if d == deep { 0 } else { tin });
            g.fill((row + inner * d, c0), (row + inner * d, c1), 0);
        }
        for (col, inner) in [(left, 1), (right, -1)] {
            g.fill((r0, col + inner * d), (r1, col + inner * d), 0);
        }
    }
    for d in 0..=deep {
        for (row, inner) in [(top, 1), (bottom, -1)] {
            g.set(row + inner * d, c0 - 1 + d.min(1), tin);
            g.set(row + inner * d, c1 + 1 - d.min(1), tin);
        }
        for (col, inner) in [(left, 1), (right, -1)] {
            g.set(r0 - 1 + d.min(1), col + inner * d, tin);
            g.set(r1 + 1 - d.min(1), col + inner * d, tin);
        }
    }
    g.fill((top + deep, c0), (top + deep, c1), tin);
    g.fill((bottom - deep, c0), (bottom - deep, c1), tin);
    g.fill((r0, left + deep), (r1, left + deep), tin);
    g.fill((r0, right - deep), (r1, right - deep), tin);
    speckle(g);
    // The air that rushed into the dents.
    for c in (c0 + 1..c1).step_by(2) {
        g.set(top + deep - 1, c, air);
        g.set(bottom - deep + 1, c, air);
    }
    for r in (r0 + 1..r1).step_by(2) {
        g.set(r, left + deep - 1, air);
        g.set(r, right - deep + 1, air);
    }
    Some(p)
}

/// Vacuum.
pub static VACUUM: Concept = Concept::associative(
    "vacuum",
    "vacuum",
    &["vacuums", "evacuated", "evacuate"],
    &[
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
);

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

/// Diffusion.
pub static DIFFUSION: Concept = Concept::core_test(
    "diffusion",
    "diffusion",
    &["diffuse", "diffuses", "diffused", "diffusing"],
    &[
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
)
.also_associative();

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

fn room(from: Place, to: Place) -> Vec<Place> {
    (from.0..=to.0)
        .flat_map(|r| (from.1..=to.1).map(move |c| (r, c)))
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

/// Brownian motion.
pub static BROWNIAN_MOTION: Concept = Concept::core_dev(
    "brownian-motion",
    "Brownian motion",
    &["Brownian movement", "Brownian", "pedesis"],
    &[
        Aspect::free(
            "drunken-path",
            "A grain among small, ever moving particles is knocked along a path with a random turn at every step.",
            drunken_path,
        ),
        Aspect::free(
            "many-paths",
            "Every grain has been knocked along a crooked path of its own, each another way.",
            many_paths,
        ),
    ],
);

fn specks(s: &mut Setting, g: &mut Grid, many: i32, colour: u8) {
    let mut put = 0;
    for _ in 0..400 {
        let (r, c) = s.place((0, s.rows - 1), (0, s.cols - 1));
        if put < many && g.roomy(&[(r, c)]) {
            g.set(r, c, colour);
            put += 1;
        }
    }
}

/// A walk with a new random direction at every turn: the places stepped on.
fn walk(s: &mut Setting, start: Place, turns: i32, stride: (i32, i32)) -> Vec<Place> {
    const WAYS: [Place; 8] = [
        (0, 1),
        (1, 0),
        (0, -1),
        (-1, 0),
        (1, 1),
        (1, -1),
        (-1, 1),
        (-1, -1),
    ];
    let mut at = start;
    let mut walked = vec![at];
    let mut before = (0, 0);
    for _ in 0..turns {
        let Some((dr, dc)) = s.choose(&WAYS) else {
            break;
        };
        // Never the same direction again nor straight back.
        if (dr, dc) == before || (dr, dc) == (-before.0, -before.1) {
            continue;
        }
        for _ in 0..s.between(stride.0, stride.1) {
            let next = (at.0 + dr, at.1 + dc);
            if next.0 < 0 || next.1 < 0 || next.0 > s.rows - 2 || next.1 > s.cols - 2 {
                break;
            }
            at = next;
            walked.push(at);
        }
        before = (dr, dc);
    }
    walked
}

fn drunken_path(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (grain, path, small) = (s.colour(0), s.colour(1), s.colour(2));
    let start = s.place((3, s.rows - 5), (3, s.cols - 5));
    let body = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let turns = s.between(7, 10);
    let walked = walk(s, start, turns, (2, 3));
    let at = *walked.last()?;
    p.input.paint(shifted(&body, start), grain);
    p.output.paint(walked, path);
    p.output.paint(shifted(&body, at), grain);
    let many = s.between(7, 10);
    specks(s, &mut p.input, many, small);
    specks(s, &mut p.output, many, small);
    let same = p.input.count(small) == p.output.count(small);
    let gone = (at.0 - start.0).abs().max((at.1 - start.1).abs());
    (same && gone >= 3 && p.output.count(path) >= 7).then_some(p)
}

fn many_paths(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (grain, path) = (s.colour(0), s.colour(1));
    let many = s.between(3, 5);
    let mut put = 0;
    for _ in 0..60 {
        let start = s.place((1, s.rows - 3), (1, s.cols - 3));
        let turns = s.between(5, 7);
        let walked = walk(s, start, turns, (1, 2));
        let end = *walked.last()?;
        let bent = walked.len() >= 6 && end != start;
        if put < many && bent && p.output.roomy(&walked) && p.input.roomy(&[start]) {
            p.input.set(start.0, start.1, grain);
            p.output.paint(walked, path);
            p.output.set(end.0, end.1, grain);
            put += 1;
        }
    }
    (put == many).then_some(p)
}
