//! Motion and who looks at it: speeding up, going on, frames of reference, near light speed.

use super::draw::{disc, ring, shifted};
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Acceleration.
pub static ACCELERATION: Concept = Concept::core_test(
    "acceleration",
    "acceleration",
    &["accelerate", "accelerates", "accelerated", "accelerating"],
    &[
        Aspect::free(
            "widening-steps",
            "The places of a body at equal times lie further and further apart: each step is one cell longer than the last.",
            widening_steps,
        ),
        Aspect::free(
            "race",
            "Of two bodies that start together one goes on in equal steps, the other in growing steps and wins.",
            race,
        ),
    ],
);

/// Offsets of a body at equal times, each step one longer, as far as they fit.
fn growing(first: i32, room: i32) -> Vec<i32> {
    let mut at = vec![0];
    let (mut place, mut step) = (0, first);
    while place + step < room {
        place += step;
        at.push(place);
        step += 1;
    }
    at
}

fn widening_steps(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let height = s.between(2, 4);
    let top = s.between(1, s.rows - height - 2);
    let (body, ghost, road) = (s.colour(0), s.colour(1), s.colour(2));
    p.both(|g| g.fill((top + height, 0), (top + height, g.cols() as i32), road));
    let first = s.between(1, 2);
    let start = s.between(0, 1);
    let at = growing(first, s.cols - start);
    for (i, dx) in at.iter().enumerate() {
        let c = start + dx;
        let colour = if i + 1 == at.len() { body } else { ghost };
        p.output.fill((top, c), (top + height - 1, c), colour);
    }
    p.input.fill((top, start), (top + height - 1, start), body);
    (at.len() >= 4).then_some(p)
}

fn race(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (one, two, line) = (s.colour(0), s.colour(1), s.colour(2));
    let tall = s.between(1, 2);
    let top = s.between(1, s.rows - 2 * tall - 5);
    let low = top + tall + s.between(2, 3);
    let at = growing(1, s.cols - 2);
    let start = 1;
    p.both(|g| {
        let cols = g.cols() as i32;
        g.fill((top + tall, 0), (top + tall, cols), line);
        g.fill((low + tall, 0), (low + tall, cols), line);
    });
    for (row, colour) in [(top, one), (low, two)] {
        p.input.fill((row, start), (row + tall - 1, start), colour);
    }
    for (i, dx) in at.iter().enumerate() {
        p.output
            .fill((top, start + dx), (top + tall - 1, start + dx), one);
        let even = start + 2 * i as i32;
        p.output.fill((low, even), (low + tall - 1, even), two);
    }
    if s.coin() {
        // The slow one above as often as below.
        let upside = |g: &Grid| g.turned().turned().mirrored();
        return Some(p.map(upside));
    }
    Some(p)
}

/// Inertia.
pub static INERTIA: Concept = Concept::core_test(
    "inertia",
    "inertia",
    &["inertial"],
    &[
        Aspect::upright(
            "sudden-stop",
            "A cart is stopped by a wall, and what lies loose on it flies on straight ahead.",
            sudden_stop,
        ),
        Aspect::upright(
            "coin-and-card",
            "The card is flicked away sideways, and the coin that lay on it stays behind and drops into the glass.",
            coin_and_card,
        ),
    ],
);

fn sudden_stop(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - s.between(1, 2);
    let (earth, wall, cart, load) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let stop = s.cols / 2 + s.between(0, 2);
    let high = s.between(2, 3);
    let long = s.between(3, 4);
    p.both(|g| {
        g.fill((ground, 0), (g.rows() as i32, g.cols() as i32), earth);
        g.fill((ground - high, stop), (ground - 1, stop), wall);
    });
    let top = ground - 1 - high;
    let wide = s.between(1, 2);
    let draw = |g: &mut Grid, left: i32, load_at: i32| {
        g.fill((top + 1, left), (ground - 2, left + long - 1), cart);
        g.set(ground - 1, left, wall);
        g.set(ground - 1, left + long - 1, wall);
        g.fill((top - 1, load_at), (top, load_at + wide - 1), load);
    };
    let left = s.between(0, (stop - long - 2).min(2));
    draw(&mut p.input, left, left + 1);
    let beyond = s.between(stop + 2, s.cols - wide);
    draw(&mut p.output, stop - long, beyond);
    (left + long < stop - 1).then_some(p)
}

fn coin_and_card(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (table, glass, card, coin) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let wide = s.between(2, 3);
    let tall = s.between(4, s.rows - 6);
    let left = s.between(1, 2);
    let right = left + wide + 1;
    let top = ground - tall;
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), table);
        g.fill((top, left), (ground - 1, left), glass);
        g.fill((top, right), (ground - 1, right), glass);
        g.fill((ground - 1, left), (ground - 1, right), glass);
    });
    p.input
        .fill((top - 1, left - 1), (top - 1, right + 1), card);
    p.input
        .fill((top - 3, left + 1), (top - 2, right - 1), coin);
    let away = s.cols - (right - left + 3);
    p.output.fill((top - 1, away), (top - 1, s.cols - 1), card);
    p.output
        .fill((ground - 3, left + 1), (ground - 2, right - 1), coin);
    (away > right).then_some(p)
}

/// Fictitious force.
pub static FICTITIOUS_FORCE: Concept = Concept::core_dev(
    "fictitious-force",
    "fictitious force",
    &[
        "fictitious forces",
        "inertial force",
        "pseudo-force",
        "centrifugal force",
        "Coriolis force",
    ],
    &[
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
);

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

/// Reference frame.
pub static REFERENCE_FRAME: Concept = Concept::core_test(
    "reference-frame",
    "reference frame",
    &[
        "reference frames",
        "frame of reference",
        "frames of reference",
        "coordinate system",
    ],
    &[
        Aspect::free(
            "new-origin",
            "The axes of coordinates are laid through another body; no body moves.",
            new_origin,
        ),
        Aspect::free(
            "own-view",
            "The axes stay, and the whole scene is shifted so that one body, and with it the observer, rests at the origin.",
            own_view,
        ),
    ],
)
.also_associative();

fn scattered(s: &mut Setting, many: i32) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    for _ in 0..40 {
        let at = s.place((1, s.rows - 3), (1, s.cols - 3));
        let apart = |p: &Place| (p.0 - at.0).abs() > 2 && (p.1 - at.1).abs() > 2;
        if found.iter().all(apart) {
            found.push(at);
        }
        if found.len() as i32 == many {
            break;
        }
    }
    found
}

fn axes(g: &mut Grid, at: Place, colour: u8) {
    g.fill((at.0, 0), (at.0, g.cols() as i32), colour);
    g.fill((0, at.1), (g.rows() as i32, at.1), colour);
}

fn new_origin(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let bodies = scattered(s, 3);
    let (first, second) = (*bodies.first()?, *bodies.get(1)?);
    axes(&mut p.input, first, s.colour(0));
    axes(&mut p.output, second, s.colour(0));
    for (i, at) in bodies.iter().enumerate() {
        let colour = s.colour(1 + i);
        p.both(|g| g.paint(disc(*at, 1), colour));
    }
    Some(p)
}

fn own_view(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let origin = (s.rows / 2, s.cols / 2);
    let observer = s.place((2, s.rows - 3), (2, s.cols - 3));
    let by = (origin.0 - observer.0, origin.1 - observer.1);
    if by.0.abs().min(by.1.abs()) < 2 {
        return None;
    }
    axes(&mut p.input, origin, s.colour(0));
    axes(&mut p.output, origin, s.colour(0));
    for role in 2..4 {
        let size = s.between(3, 5) as usize;
        let form = s.blob(size);
        // Where both the place and the shifted place lie in the grid.
        let at = s.place(
            ((-by.0).max(0), s.rows - 3 - by.0.max(0)),
            ((-by.1).max(0), s.cols - 3 - by.1.max(0)),
        );
        let (from, to) = (
            shifted(&form, at),
            shifted(&form, (at.0 + by.0, at.1 + by.1)),
        );
        let off = |g: &Grid, cells: &[Place]| {
            cells.iter().any(|&(r, c)| !g.holds(r, c))
                || cells.contains(&observer)
                || cells.contains(&origin)
        };
        if off(&p.input, &from) || off(&p.output, &to) {
            return None;
        }
        p.input.paint(from, s.colour(role));
        p.output.paint(to, s.colour(role));
    }
    p.input.paint(disc(observer, 1), s.colour(1));
    p.output.paint(disc(origin, 1), s.colour(1));
    let whole = |c: usize| p.input.count(s.colour(c)) == p.output.count(s.colour(c));
    (whole(1) && whole(2) && whole(3)).then_some(p)
}

/// Relativity.
pub static RELATIVITY: Concept = Concept::core_dev(
    "relativity",
    "relativity",
    &[
        "relativistic",
        "special relativity",
        "general relativity",
        "theory of relativity",
    ],
    &[
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
);

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
