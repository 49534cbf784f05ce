//! What swings and keeps its energy: conservation, oscillation, resonance.

use super::draw::line;
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Energy conservation.
pub static ENERGY_CONSERVATION: Concept = Concept::core_dev(
    "energy-conservation",
    "energy conservation",
    &[
        "conservation of energy",
        "conservation of mechanical energy",
        "law of conservation of energy",
        "energy is conserved",
    ],
    &[
        Aspect::upright(
            "cradle",
            "In a row of hanging balls as many swing out on the far side, and as high, as were let go on the near side.",
            cradle,
        ),
        Aspect::upright(
            "same-height",
            "A ball let go on one side of a valley climbs to the same height on the other side, however steep that is.",
            same_height,
        ),
        Aspect::upright(
            "gauge",
            "As a ball falls, the gauge of its height loses exactly what the gauge of its motion gains: their sum stays the same.",
            gauge,
        ),
    ],
);

fn cradle(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (beam, thread, ball) = (s.colour(0), s.colour(1), s.colour(2));
    let out = 3;
    let most = (s.cols - 2 * out - 1) / 2 + 1;
    let many = s.between(3, most.min(6));
    let top = s.between(0, s.rows - 8);
    let long = s.between(4, (s.rows - top - 3).min(8));
    let width = 2 * (many - 1) + 1;
    let left = s.between(out, s.cols - out - width);
    p.both(|g| g.fill((top, left - 1), (top, left + width), beam));
    let raised = s.between(1, (many - 2).min(2));
    let hang = |g: &mut Grid, i: i32, swing: i32| {
        let c = left + 2 * i;
        let end = if swing == 0 {
            (top + long, c)
        } else {
            (top + out, c + swing * out)
        };
        let string = line((top + 1, c + swing), end);
        g.paint(string, thread);
        g.set(end.0 + i32::from(swing == 0), end.1, ball);
    };
    for i in 0..many {
        hang(&mut p.input, i, if i < raised { -1 } else { 0 });
        hang(&mut p.output, i, if i >= many - raised { 1 } else { 0 });
    }
    Some(p)
}

fn same_height(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (earth, ball, level) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    // Columns for each row that the near and the far slope rise.
    let (near, far) = s.choose(&[(1, 2), (2, 1), (1, 1)])?;
    let high = ((s.cols - 2) / (near + far)).min(s.rows - 5).min(6);
    let from = near * high;
    let flat = s.cols - (near + far) * high;
    for c in 0..s.cols {
        let h = if c < from {
            (from - c + near - 1) / near
        } else if c < from + flat {
            0
        } else {
            (c - from - flat) / far + 1
        };
        p.both(|g| g.fill((floor - h, c), (floor, c), earth));
    }
    let up = s.between(3.min(high), high);
    let row = floor - up - 1;
    let places = |up: i32| (from - near * up, from + flat + far * up - 1);
    let (a, b) = places(up);
    // Several balls, each of which climbs as high as it was.
    for below in 0..s.between(1, up.min(4)) {
        let (a, b) = places(up - below);
        p.input.set(row + below, a, ball);
        p.output.set(row + below, b, ball);
    }
    // The height that is reached, as a dotted line.
    for c in (a + 2..b - 1).step_by(2) {
        p.both(|g| g.set(row, c, level));
    }
    (high >= 3).then_some(p)
}

fn gauge(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (earth, ball, height, motion) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let total = s.between(6, s.rows - 3);
    let column = s.between(1, s.cols - 8);
    let bars = s.cols - s.between(2, 4);
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), earth));
    let up = s.between(total / 2 + 1, total);
    let down = s.between(0, up - 3);
    for (g, h) in [(&mut p.input, up), (&mut p.output, down)] {
        g.fill((ground - 2 - h, column), (ground - 1 - h, column + 1), ball);
        // One bar of fixed length, split between height and motion.
        g.fill((ground - total, bars), (ground - 1, bars + 1), motion);
        if h > 0 {
            g.fill(
                (ground - total, bars),
                (ground - total + h - 1, bars + 1),
                height,
            );
        }
    }
    Some(p)
}

/// Oscillation.
pub static OSCILLATION: Concept = Concept::core_dev(
    "oscillation",
    "oscillation",
    &[
        "oscillations",
        "oscillate",
        "oscillates",
        "oscillating",
        "vibration",
        "swing",
        "swinging",
    ],
    &[
        Aspect::upright(
            "pendulum",
            "A pendulum let go on one side swings to the other and back: its places are drawn from left to right.",
            pendulum,
        ),
        Aspect::upright(
            "pen-on-spring",
            "A weight on a spring bobs up and down, and a strip of paper that runs past it shows the even zigzag.",
            pen_on_spring,
        ),
    ],
);

fn pendulum(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (beam, thread, ball, ghost) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let long = s.between(6, s.rows - 4);
    let lean = s.between(4, 6).min((s.cols - 3) / 2).min(long - 1);
    let mid = s.between(lean + 1, s.cols - lean - 2);
    let top = s.between(0, s.rows - long - 3);
    p.both(|g| g.fill((top, mid - 2), (top, mid + 2), beam));
    // The lower the bob, the nearer to the middle.
    let stops = [(-lean, 2), (-lean / 2, 1), (0, 0), (lean / 2, 1), (lean, 2)];
    let at = |(dc, up): (i32, i32)| (top + long - up, mid + dc);
    let bob = |g: &mut Grid, at: Place, colour: u8| g.fill(at, (at.0 + 1, at.1), colour);
    p.input.paint(line((top + 1, mid), at(stops[0])), thread);
    bob(&mut p.input, at(stops[0]), ball);
    for stop in stops {
        bob(&mut p.output, at(stop), ghost);
    }
    p.output.paint(line((top + 1, mid), at(stops[4])), thread);
    bob(&mut p.output, at(stops[4]), ball);
    Some(p)
}

fn pen_on_spring(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (beam, coil, ball, trace) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let swing = s.between(2, 3);
    let long = s.between(3, s.rows - 2 * swing - 4);
    let middle = 1 + long + swing;
    p.both(|g| g.fill((0, 0), (0, 3), beam));
    let hang = |g: &mut Grid, row: i32| {
        for r in 1..row - 1 {
            g.set(r, 1 + r % 2, coil);
        }
        g.fill((row - 1, 1), (row, 2), ball);
    };
    hang(&mut p.input, middle - swing);
    let start = 4;
    let wave = |i: i32| {
        let phase = i % (4 * swing);
        if phase < 2 * swing {
            phase - swing
        } else {
            3 * swing - phase
        }
    };
    let end = s.between((start + 4 * swing).min(s.cols), s.cols);
    for c in start..end {
        p.output.set(middle + wave(c - start), c, trace);
    }
    hang(&mut p.output, middle + wave(end - start).max(1));
    Some(p)
}

/// Resonance.
pub static RESONANCE: Concept = Concept::core_dev(
    "resonance",
    "resonance",
    &["resonant", "resonate", "resonates", "sympathetic vibration"],
    &[
        Aspect::upright(
            "tuning-forks",
            "One fork sounds, and every fork of exactly its length begins to sound too; forks of other lengths stay silent.",
            tuning_forks,
        ),
        Aspect::upright(
            "same-pendulums",
            "One pendulum on a common beam swings, and only the pendulums of its length are set swinging.",
            same_pendulums,
        ),
    ],
);

fn tuning_forks(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (table, fork, sound) = (s.colour(0), s.colour(1), s.colour(2));
    let ground = s.rows - 1;
    let many = s.cols / 4;
    let own = s.between(3, 6).min(s.rows - 6);
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), table));
    let order = s.shuffled((0..many).collect::<Vec<_>>());
    let struck = *order.first()?;
    let twins = s.between(1, (many - 2).max(1));
    let left = s.between(0, s.cols - 4 * many);
    for (i, &slot) in order.iter().enumerate() {
        let same = i as i32 <= twins;
        let tall = if same {
            own
        } else {
            s.choose(&[own - 1, own + 1, own - 2, own + 2])?
        };
        if tall < 2 || tall > s.rows - 5 {
            return None;
        }
        let c = left + 4 * slot;
        let top = ground - 1 - tall;
        p.both(|g| {
            g.fill((top, c), (ground - 2, c), fork);
            g.fill((top, c + 2), (ground - 2, c + 2), fork);
            g.fill((ground - 2, c), (ground - 2, c + 2), fork);
            g.set(ground - 1, c + 1, fork);
        });
        // Sound: waves that leave the tips.
        let rings = [
            (top - 1, c + 1),
            (top - 2, c),
            (top - 2, c + 2),
            (top - 3, c + 1),
        ];
        if slot == struck {
            p.input.paint(rings, sound);
        }
        if same {
            p.output.paint(rings, sound);
        }
    }
    (many > twins + 1 && own <= s.rows - 6).then_some(p)
}

fn same_pendulums(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (beam, thread, ball, driver) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    // A thread of the last one, swung out, still ends inside.
    let many = s.cols / 4;
    let own = s.between(4, s.rows - 4);
    p.both(|g| g.fill((0, 0), (0, g.cols() as i32), beam));
    let order = s.shuffled((0..many).collect::<Vec<_>>());
    let struck = *order.first()?;
    let twins = s.between(1, (many - 2).max(1));
    for (i, &slot) in order.iter().enumerate() {
        let same = i as i32 <= twins;
        let long = if same {
            own
        } else {
            s.choose(&[own - 2, own + 2, own - 3, own + 3])?
        };
        if long < 2 || long > s.rows - 2 {
            return None;
        }
        let c = 1 + 4 * slot;
        for (g, swings) in [(&mut p.input, slot == struck), (&mut p.output, same)] {
            let end = (long, if swings { c + 2 } else { c });
            g.paint(line((1, c), end), thread);
            g.set(end.0, end.1, if slot == struck { driver } else { ball });
        }
    }
    (many > twins + 1).then_some(p)
}
