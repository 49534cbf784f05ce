//! Simple machines and how forces add up: lever, pulley, inclined plane, lifting, composition.

use super::draw::line;
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Lever.
pub static LEVER: Concept = Concept::core_test(
    "lever",
    "lever",
    &["levers", "leverage", "seesaw"],
    &[
        Aspect::upright(
            "seesaw",
            "A plank on a pivot tips towards the heavier of two loads at equal arms: the heavy end goes down as far as the light end goes up.",
            seesaw,
        ),
        Aspect::upright(
            "crowbar",
            "Pressing down the long arm of a plank on a pivot raises the load on the short arm by as much less as the arm is shorter.",
            crowbar,
        ),
    ],
);

/// A plank through a pivot: the two halves drawn from the middle, so that both bend alike.
fn plank(g: &mut Grid, pivot: Place, ends: (Place, Place), colour: u8) {
    g.paint(line(pivot, ends.0), colour);
    g.paint(line(pivot, ends.1), colour);
}

/// A pivot: a foot of three cells under one.
fn foot(g: &mut Grid, top: Place, ground: i32, colour: u8) {
    for r in top.0..ground {
        let wide = r - top.0;
        g.fill((r, top.1 - wide), (r, top.1 + wide), colour);
    }
}

fn seesaw(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (earth, post, wood, load) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let arm = s.between(4, (s.cols - 3) / 2);
    let mid = s.between(arm, s.cols - 1 - arm);
    let high = 3;
    let pivot = (ground - high, mid);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        foot(g, (pivot.0 + 1, mid), ground, post);
    });
    let heavy = s.between(3, 6);
    let light = s.between(1, heavy - 2);
    let (left, right) = if s.coin() {
        (heavy, light)
    } else {
        (light, heavy)
    };
    let tilt = 2;
    let dip = if left > right { tilt } else { -tilt };
    for (g, t) in [(&mut p.input, 0), (&mut p.output, dip)] {
        let ends = ((pivot.0 + t, mid - arm), (pivot.0 - t, mid + arm));
        plank(g, pivot, ends, wood);
        g.fill((ends.0.0 - left, ends.0.1), (ends.0.0 - 1, ends.0.1), load);
        g.fill((ends.1.0 - right, ends.1.1), (ends.1.0 - 1, ends.1.1), load);
    }
    Some(p)
}

fn crowbar(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (earth, wood, load, hand) = (s.colour(0), s.colour(2), s.colour(3), s.colour(4));
    let ratio = s.between(2, 3);
    let short = 2;
    let long = short * ratio;
    let lift = 1;
    let wide = s.between(2, 3);
    let mid = s.between(short + wide, s.cols - 2 - long);
    let pivot = (ground - 1 - ratio * lift, mid);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        foot(g, (pivot.0 + 1, mid), ground, earth);
    });
    let big = s.between(2, 4);
    for (g, t) in [(&mut p.input, lift), (&mut p.output, -lift)] {
        let ends = (
            (pivot.0 + t, mid - short),
            (pivot.0 - t * ratio, mid + long),
        );
        plank(g, pivot, ends, wood);
        let base = ends.0.0 - 1;
        g.fill(
            (base - big + 1, mid - short - wide + 1),
            (base, mid - short),
            load,
        );
        g.fill((ends.1.0 - 2, ends.1.1), (ends.1.0 - 1, ends.1.1), hand);
    }
    (pivot.0 - ratio >= 3).then_some(p)
}

/// Pulley.
pub static PULLEY: Concept = Concept::core_dev(
    "pulley",
    "pulley",
    &["pulleys", "block and tackle"],
    &[
        Aspect::upright(
            "one-wheel",
            "A rope over a wheel: as far as its free end is pulled down, the load on the other side goes up.",
            one_wheel,
        ),
        Aspect::upright(
            "two-wheels",
            "The load hangs on a loose wheel between two strands: the free end goes down twice as far as the load goes up.",
            two_wheels,
        ),
    ],
);

/// A wheel of 3 × 3 with an open middle.
fn wheel(g: &mut Grid, centre: Place, colour: u8) {
    g.frame(
        (centre.0 - 1, centre.1 - 1),
        (centre.0 + 1, centre.1 + 1),
        colour,
    );
}

fn one_wheel(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (beam, rope, load, hand) = (s.colour(0), s.colour(2), s.colour(3), s.colour(4));
    let mid = s.between(4, s.cols - 5);
    let centre = (3, mid);
    p.both(|g| {
        g.fill((0, 0), (0, g.cols() as i32), beam);
        g.set(1, mid, beam);
        wheel(g, centre, beam);
    });
    let room = s.rows - 8;
    let down = s.between(2, room.min(6));
    let (short, long) = (s.between(1, room - down + 1), s.between(1, 2));
    let low = short + down;
    for (g, load_rope, hand_rope) in [
        (&mut p.input, low, long),
        (&mut p.output, short, long + down),
    ] {
        g.fill((5, mid - 1), (4 + load_rope, mid - 1), rope);
        g.fill((5, mid + 1), (4 + hand_rope, mid + 1), rope);
        g.fill((5 + load_rope, mid - 2), (6 + load_rope, mid - 1), load);
        g.set(5 + hand_rope, mid + 1, hand);
    }
    (6 + low < s.rows && 5 + long + down < s.rows).then_some(p)
}

fn two_wheels(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (beam, rope, load, hand) = (s.colour(0), s.colour(2), s.colour(3), s.colour(4));
    let left = s.between(1, s.cols - 7);
    let up = s.between(1, (s.rows - 9).clamp(1, 3));
    let start = s.between(6 + up, s.rows - 4);
    p.both(|g| {
        g.fill((0, 0), (0, g.cols() as i32), beam);
        wheel(g, (2, left + 3), beam);
    });
    let free = s.between(1, 2);
    for (g, at, end) in [
        (&mut p.input, start, 4 + free),
        (&mut p.output, start - up, 4 + free + 2 * up),
    ] {
        g.fill((1, left), (at - 2, left), rope);
        g.fill((4, left + 2), (at - 2, left + 2), rope);
        g.fill((4, left + 4), (end - 1, left + 4), rope);
        wheel(g, (at, left + 1), beam);
        g.fill((at + 2, left), (at + 3, left + 2), load);
        g.set(end, left + 4, hand);
    }
    (start + 3 < s.rows && 4 + free + 2 * up < s.rows).then_some(p)
}

/// Inclined plane.
pub static INCLINED_PLANE: Concept = Concept::core_dev(
    "inclined-plane",
    "inclined plane",
    &["inclined planes", "ramp", "ramps", "slope"],
    &[
        Aspect::upright(
            "rolling-down",
            "A ball let go near the top of a slope rolls down along it to the foot.",
            rolling_down,
        ),
        Aspect::upright(
            "pushing-up",
            "A box is pushed up along a slope onto a platform.",
            pushing_up,
        ),
    ],
);

/// The top row of a slope at each column: it rises by one every `step` columns, from `foot` to the
/// left.
fn slope(g: &mut Grid, ground: i32, foot: i32, high: i32, step: i32, colour: u8) {
    for c in 0..foot {
        let h = ((foot - c + step - 1) / step).min(high);
        g.fill((ground - h, c), (ground - 1, c), colour);
    }
}

fn top_at(ground: i32, foot: i32, high: i32, step: i32, c: i32) -> i32 {
    ground - ((foot - c + step - 1).max(0) / step).min(high) - 1
}

fn rolling_down(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (earth, ramp, ball) = (s.colour(0), s.colour(1), s.colour(2));
    let step = s.between(1, 2);
    let foot = s.between(7, s.cols - 3);
    let high = (foot / step).min(s.rows - 4);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        slope(g, ground, foot, high, step, ramp);
    });
    let from = s.between((foot - high * step).max(0), foot / 3);
    p.input
        .set(top_at(ground, foot, high, step, from), from, ball);
    let to = s.between(foot, (foot + 1).min(s.cols - 1));
    p.output.set(ground - 1, to, ball);
    // More balls behind the first.
    let more = s.between(1, 4);
    for i in 1..=more {
        let behind = from + i * step;
        p.input
            .set(top_at(ground, foot, high, step, behind), behind, ball);
        p.output.set(ground - 1, to + i, ball);
    }
    (high >= 4 && to + more < s.cols && from + more * step < foot).then_some(p)
}

fn pushing_up(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (earth, ramp, load, hand) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let step = s.between(1, 2);
    let high = s.between(3, 4);
    let flat = s.between(2, 4);
    let foot = flat + high * step;
    if foot + 3 > s.cols {
        return None;
    }
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        slope(g, ground, foot, high, step, ramp);
    });
    let big = s.between(1, 3).min(flat);
    let from = foot;
    p.input
        .fill((ground - big, from), (ground - 1, from + big - 1), load);
    p.input
        .fill((ground - 2, from + big), (ground - 1, from + big), hand);
    let row = ground - high - 1;
    let at = flat - big;
    p.output
        .fill((row - big + 1, at), (row, at + big - 1), load);
    p.output.fill((row - 1, at + big), (row, at + big), hand);
    (from + big < s.cols).then_some(p)
}

/// Lifting.
pub static LIFTING: Concept = Concept::core_dev(
    "lifting",
    "lifting",
    &["lift", "lifts", "lifted", "hoist", "hoisting"],
    &[
        Aspect::upright(
            "crane",
            "The crane winds in its rope, and the load that stood on the ground hangs high above it.",
            crane,
        ),
        Aspect::upright(
            "jack",
            "A column under a platform grows, and the platform goes up with the box on it.",
            jack,
        ),
    ],
);

fn crane(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (earth, iron, rope, load) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let mast = s.between(0, 2);
    let top = s.between(0, 1);
    let hook = s.between(mast + 5, s.cols - 3);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        g.fill((top, mast), (ground - 1, mast), iron);
        g.fill((top, mast), (top, hook + 1), iron);
        g.paint(line((top + 3, mast), (top, mast + 3)), iron);
    });
    let (wide, tall) = (s.between(1, 2), s.between(2, 3));
    let up = s.between(3, ground - tall - top - 2);
    for (g, base) in [(&mut p.input, ground - 1), (&mut p.output, ground - 1 - up)] {
        g.fill((top + 1, hook), (base - tall, hook), rope);
        g.fill(
            (base - tall + 1, hook - wide),
            (base, (hook + wide).min(s.cols - 1)),
            load,
        );
    }
    Some(p)
}

fn jack(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (earth, iron, plate, load) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let half = s.between(2, 3);
    let mid = s.between(half + 1, s.cols - half - 2);
    let (tall, wide) = (s.between(2, 3), s.between(1, half));
    let up = s.between(3, s.rows - 4 - tall);
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), earth));
    for (g, high) in [(&mut p.input, 1), (&mut p.output, 1 + up)] {
        let row = ground - high - 1;
        g.fill((row, mid), (ground - 1, mid), iron);
        g.fill((ground - 1, mid - 1), (ground - 1, mid + 1), iron);
        g.fill((row, mid - half), (row, mid + half), plate);
        g.fill((row - tall, mid - wide), (row - 1, mid + wide - 1), load);
    }
    Some(p)
}

/// Force composition.
pub static FORCE_COMPOSITION: Concept = Concept::core_dev(
    "force-composition",
    "force composition",
    &[
        "composition of forces",
        "resultant force",
        "net force",
        "parallelogram of forces",
        "addition of forces",
    ],
    &[
        Aspect::free(
            "parallelogram",
            "Two forces on a body are the sides of a parallelogram, and their sum is its diagonal.",
            parallelogram,
        ),
        Aspect::free(
            "tug-of-war",
            "Two opposite pulls on a body become one: as long as their difference, on the side of the longer.",
            tug_of_war,
        ),
    ],
);

fn parallelogram(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (body, one, two, sum) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let (across, up) = (s.between(4, s.cols - 3), s.between(4, s.rows - 3));
    let at = s.place((up, s.rows - 2), (1, s.cols - 2 - across));
    let lean = s.between(0, 2).min(s.cols - 2 - across - at.1);
    let a = (at.0, at.1 + across);
    let b = (at.0 - up, at.1 + lean);
    let corner = (at.0 - up, at.1 + across + lean);
    p.both(|g| {
        g.paint(line(at, a), one);
        g.paint(line(at, b), two);
        g.set(at.0, at.1, body);
    });
    for (from, to) in [(a, corner), (b, corner)] {
        let dashes = line(from, to);
        let last = dashes.len();
        p.output.paint(
            dashes
                .into_iter()
                .enumerate()
                .filter(|(i, _)| i % 2 == 0 && *i > 0 && *i < last)
                .map(|(_, c)| c),
            body,
        );
    }
    p.output.paint(line(at, corner).into_iter().skip(1), sum);
    p.output.set(at.0, at.1, body);
    Some(p)
}

fn tug_of_war(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (body, one, two) = (s.colour(0), s.colour(1), s.colour(2));
    let lanes = s.between(1, 2);
    for lane in 0..lanes {
        let row = if lanes == 1 {
            s.between(3, s.rows - 4)
        } else {
            2 + lane * (s.rows / 2) + s.between(0, 1)
        };
        let mid = s.cols / 2 + s.between(-1, 0);
        let (left, right) = (s.between(1, mid - 2), s.between(1, s.cols - mid - 3));
        if left == right {
            return None;
        }
        p.both(|g| g.fill((row - 1, mid - 1), (row + 1, mid + 1), body));
        p.input.fill((row, mid - 1 - left), (row, mid - 2), one);
        p.input.fill((row, mid + 2), (row, mid + 1 + right), two);
        if left > right {
            p.output
                .fill((row, mid - 1 - left + right), (row, mid - 2), one);
        } else {
            p.output
                .fill((row, mid + 2), (row, mid + 1 + right - left), two);
        }
    }
    Some(p)
}
