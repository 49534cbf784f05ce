//! Waves: on a string, on a pond, through slits, from moving sources, from antennas.

use super::draw::{line, ring, square_ring};
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// The height of a wave at a step, with crests of two or three cells.
fn crest(step: i32, high: i32) -> i32 {
    const LOW: [i32; 8] = [0, 1, 2, 1, 0, -1, -2, -1];
    const HIGH: [i32; 10] = [0, 2, 3, 2, 0, -2, -3, -3, -2, 0];
    if high == 2 {
        LOW[step.rem_euclid(8) as usize]
    } else {
        HIGH[step.rem_euclid(10) as usize]
    }
}

/// A line through these heights over consecutive columns.
fn curve(g: &mut Grid, middle: i32, left: i32, heights: &[i32], colour: u8) {
    for (i, pair) in heights.windows(2).enumerate() {
        let c = left + i as i32;
        if let [a, b] = *pair {
            g.paint(line((middle - a, c), (middle - b, c + 1)), colour);
        }
    }
}

/// Wave.
pub static WAVE: Concept = Concept::core_test(
    "wave",
    "wave",
    &["waves", "wavy", "wave motion", "waveform"],
    &[
        Aspect::free(
            "shaken-rope",
            "One end of a straight rope is shaken, and even crests and troughs run along it.",
            shaken_rope,
        ),
        Aspect::free(
            "running-pulse",
            "A hump runs along the rope and keeps its form, while the rope itself stays in its place.",
            running_pulse,
        ),
    ],
)
.also_associative();

fn shaken_rope(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (rope, hand) = (s.colour(0), s.colour(1));
    let high = s.between(2, 3);
    let middle = s.between(high + 1, s.rows - high - 2);
    let start = s.between(0, 9);
    p.input.fill((middle, 1), (middle, s.cols), rope);
    let heights: Vec<i32> = (0..s.cols).map(|c| crest(c + start, high)).collect();
    curve(&mut p.output, middle, 0, &heights, rope);
    p.input.fill((middle - 1, 0), (middle + 1, 0), hand);
    let at = middle - heights.first()?;
    p.output.fill((0, 0), (s.rows, 0), 0);
    p.output.fill((at - 1, 0), (at + 1, 0), hand);
    Some(p)
}

fn running_pulse(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (rope, post) = (s.colour(0), s.colour(1));
    let hump: Vec<i32> = s
        .choose(&[
            &[0, 1, 2, 1, 0][..],
            &[0, 2, 3, 2, 0][..],
            &[0, 1, 2, 2, 1, 0][..],
        ])?
        .to_vec();
    let middle = s.between(4, s.rows - 2);
    let wide = hump.len() as i32;
    let from = s.between(1, 2);
    let to = s.between(from + wide, s.cols - 1 - wide);
    for (g, left) in [(&mut p.input, from), (&mut p.output, to)] {
        g.fill((middle, 0), (middle, s.cols), rope);
        g.fill((middle, left + 1), (middle, left + wide - 2), 0);
        curve(g, middle, left, &hump, rope);
        g.fill((middle - 1, 0), (middle + 1, 0), post);
        g.fill((middle - 1, s.cols - 1), (middle + 1, s.cols - 1), post);
    }
    Some(p)
}

/// Wave interference.
pub static WAVE_INTERFERENCE: Concept = Concept::core_test(
    "wave-interference",
    "wave interference",
    &["interference", "interfere", "interferes", "superposition of waves", "superposition"],
    &[
        Aspect::free(
            "two-sources",
            "The rings of two sources spread into each other, and where crest meets crest the water stands higher.",
            two_sources,
        ),
        Aspect::upright(
            "meeting-pulses",
            "Two humps that run towards each other add up where they meet: hump on hump is higher, hump on hollow is flat.",
            meeting_pulses,
        ),
    ],
)
.also_associative();

fn two_sources(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (one, two, both) = (s.colour(0), s.colour(1), s.colour(2));
    let (lower, apart) = (s.between(2, 4), s.between(3, 5));
    let row = s.between(3, s.rows - lower - 4);
    let left = s.between(2, s.cols - apart - 3);
    let radii = s.choose(&[&[2, 5][..], &[2, 4], &[3, 5], &[4], &[3]])?;
    let sources = [((row, left), one), ((row + lower, left + apart), two)];
    let mut hits = vec![vec![0u8; s.cols as usize]; s.rows as usize];
    for (at, colour) in sources {
        p.input.paint(
            square_ring(at, 1)
                .into_iter()
                .filter(|q| q.0 == at.0 || q.1 == at.1),
            colour,
        );
        for &radius in radii {
            for (r, c) in square_ring(at, radius) {
                if !p.output.holds(r, c) {
                    continue;
                }
                let seen = hits
                    .get_mut(r as usize)
                    .and_then(|h| h.get_mut(c as usize))?;
                let by = if colour == one { 1 } else { 2 };
                *seen |= by;
                p.output.set(r, c, if *seen == 3 { both } else { colour });
            }
        }
    }
    for (at, colour) in sources {
        p.both(|g| g.set(at.0, at.1, colour));
    }
    (p.output.count(both) >= 2 * radii.len()).then_some(p)
}

fn meeting_pulses(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let rope = s.colour(0);
    let form = [0, 1, 2, 1, 0];
    let sum_up = s.coin();
    let sign = if sum_up { 1 } else { -1 };
    let middle = if sum_up {
        s.between(5, s.rows - 2)
    } else {
        s.between(3, s.rows - 4)
    };
    let wide = form.len() as i32;
    let mut before = vec![0; s.cols as usize];
    let mut after = before.clone();
    let centre = s.between(4, s.cols - wide - 4);
    for (i, h) in form.iter().enumerate() {
        let i = i as i32;
        *before.get_mut((i) as usize)? += h;
        *before.get_mut((s.cols - wide + i) as usize)? += sign * h;
        *after.get_mut((centre + i) as usize)? += h + sign * h;
    }
    curve(&mut p.input, middle, 0, &before, rope);
    curve(&mut p.output, middle, 0, &after, rope);
    // Two small marks below show which way the humps run.
    let mark = s.colour(1);
    for c in [2, s.cols - 3] {
        let at = if middle + 3 < s.rows {
            middle + 3
        } else {
            s.rows - 1
        };
        p.input.set(at, c, mark);
        p.output
            .set(at, if c == 2 { centre + 1 } else { centre + 3 }, mark);
    }
    (middle + 3 < s.rows).then_some(p)
}

/// Diffraction of waves.
pub static DIFFRACTION: Concept = Concept::core_test(
    "diffraction-of-waves",
    "diffraction of waves",
    &[
        "diffraction",
        "diffract",
        "diffracts",
        "diffracted",
        "wave diffraction",
    ],
    &[
        Aspect::free(
            "slit",
            "Straight wave fronts meet a wall with a narrow gap, and behind it they spread as half rings around the gap.",
            slit,
        ),
        Aspect::free(
            "edge",
            "Straight wave fronts pass the end of a wall and curl around it into the space behind.",
            edge,
        ),
    ],
);

fn slit(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, water) = (s.colour(0), s.colour(1));
    let at = s.between(4, 5);
    let gap = s.between(3, s.rows - 4);
    p.both(|g| {
        for c in (0..at - 1).step_by(2) {
            g.fill((0, c), (g.rows() as i32, c), water);
        }
        g.fill((0, at), (g.rows() as i32, at), wall);
        g.set(gap, at, 0);
    });
    for radius in (2..s.cols - at).step_by(2) {
        let arcs = ring((gap, at), radius).into_iter().filter(|q| q.1 > at);
        p.output.paint(arcs, water);
    }
    Some(p)
}

fn edge(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, water) = (s.colour(0), s.colour(1));
    let at = s.between(4, 5);
    let end = s.between(4, s.rows - 6);
    p.both(|g| {
        for c in (0..at - 1).step_by(2) {
            g.fill((0, c), (g.rows() as i32, c), water);
        }
        g.fill((end, at), (g.rows() as i32, at), wall);
    });
    for d in (2..s.cols - at).step_by(2) {
        p.output.fill((0, at + d), (end - 1, at + d), water);
        let arcs = ring((end - 1, at), d)
            .into_iter()
            .filter(|q| q.0 >= end - 1 && q.1 > at);
        p.output.paint(arcs, water);
    }
    Some(p)
}

/// Doppler effect.
pub static DOPPLER_EFFECT: Concept = Concept::core_dev(
    "doppler-effect",
    "doppler effect",
    &["Doppler shift", "Doppler"],
    &[
        Aspect::free(
            "moving-source",
            "When the source of even rings moves, the rings crowd together ahead of it and spread apart behind it.",
            moving_source,
        ),
        Aspect::free(
            "siren",
            "The sound bars around a driving car lie close in front of it and wide apart behind it.",
            siren,
        ),
    ],
);

fn moving_source(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (source, sound) = (s.colour(0), s.colour(1));
    let most = if s.rows.min(s.cols) >= 15 && s.coin() {
        7
    } else {
        5
    };
    let centre = s.place((most, s.rows - 1 - most), (most, s.cols - 1 - most));
    let shift = |radius: i32| (most - radius) / 2;
    for radius in (1..=most).step_by(2) {
        p.input.paint(square_ring(centre, radius), sound);
        let moved = (centre.0, centre.1 + shift(radius));
        p.output.paint(square_ring(moved, radius), sound);
    }
    p.input.set(centre.0, centre.1, source);
    p.output.set(centre.0, centre.1 + shift(1), source);
    Some(p)
}

fn siren(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (car, sound, road) = (s.colour(0), s.colour(1), s.colour(2));
    let row = s.between(4, s.rows - 4);
    let mid = s.cols / 2;
    p.both(|g| g.fill((row + 2, 0), (row + 2, g.cols() as i32), road));
    let draw = |g: &mut Grid, at: i32| {
        g.fill((row, at - 1), (row + 1, at + 1), car);
        g.set(row - 1, at, car);
    };
    draw(&mut p.input, mid - 1);
    draw(&mut p.output, mid + 1);
    let tall = s.between(1, 3);
    let bar = |g: &mut Grid, c: i32| g.fill((row - tall, c), (row + 1, c), sound);
    for c in (mid + 3..s.cols).step_by(3) {
        bar(&mut p.input, c);
    }
    for c in (0..mid - 3).rev().step_by(3) {
        bar(&mut p.input, c);
    }
    for c in (mid + 4..s.cols).step_by(2) {
        bar(&mut p.output, c);
    }
    for c in (0..mid - 3).rev().step_by(4) {
        bar(&mut p.output, c);
    }
    (s.cols >= 12).then_some(p)
}

/// Electromagnetic wave.
pub static ELECTROMAGNETIC_WAVE: Concept = Concept::core_dev(
    "electromagnetic-wave",
    "electromagnetic wave",
    &[
        "electromagnetic waves",
        "electromagnetic radiation",
        "radio wave",
        "radio waves",
        "EM wave",
    ],
    &[
        Aspect::free(
            "two-fields",
            "From a charge that swings in a rod two waves run out together through empty space, one field against the other.",
            two_fields,
        ),
        Aspect::upright(
            "radio",
            "The sending mast sends out arcs through the empty space, and the lamp on the far receiving mast goes on.",
            radio,
        ),
    ],
);

fn two_fields(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (rod, electric, magnetic, charge) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let middle = s.between(4, s.rows - 5);
    p.both(|g| {
        g.fill((middle - 4, 0), (middle + 4, 0), rod);
        g.set(middle, 0, charge);
    });
    let start = s.choose(&[0, 4])?;
    let wave: Vec<i32> = (0..s.cols - 1).map(|c| crest(c + start, 2)).collect();
    let other: Vec<i32> = wave.iter().map(|h| -h).collect();
    curve(&mut p.output, middle, 1, &other, magnetic);
    curve(&mut p.output, middle, 1, &wave, electric);
    Some(p)
}

fn radio(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (earth, mast, off, on) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let tall = s.between(5, s.rows - 5);
    let top = ground - tall;
    let far = s.cols - 2;
    let draw = |g: &mut Grid, col: i32| {
        g.fill((top, col), (ground - 1, col), mast);
        g.fill((ground - 1, col - 1), (ground - 1, col + 1), mast);
    };
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        draw(g, 1);
        draw(g, far);
        g.set(top - 1, 1, on);
    });
    p.input.fill((top - 1, far - 1), (top, far), off);
    for radius in (3..far - 2).step_by(3) {
        let arc = ring((top - 1, 1), radius).into_iter().filter(|q: &Place| {
            q.1 > 1 && (q.0 - top + 1).abs() <= radius * 2 / 3 && q.0 < ground - 1
        });
        p.output.paint(arc, on);
    }
    p.output.fill((top, far), (ground - 1, far), mast);
    p.output.fill((top - 1, far - 1), (top, far), on);
    Some(p)
}

/// Water ripples.
pub static WATER_RIPPLES: Concept = Concept::associative(
    "water-ripples",
    "water ripples",
    &["water ripple", "ripples", "ripple", "rippling"],
    &[
        Aspect::free(
            "dropped-stone",
            "Around the place where a stone met the water rings spread out, one inside the other.",
            dropped_stone,
        ),
        Aspect::free(
            "growing-ring",
            "Every ring on the water has grown, and a new ring has formed inside it.",
            growing_ring,
        ),
    ],
);

fn dropped_stone(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (pebble, water) = (s.colour(0), s.colour(1));
    let at = s.place((3, s.rows - 4), (3, s.cols - 4));
    let square = s.coin();
    let most = s.between(4, 9);
    for radius in (2..=most).step_by(2) {
        let cells = if square {
            square_ring(at, radius)
        } else {
            ring(at, radius)
        };
        p.output.paint(cells, water);
    }
    p.both(|g| g.set(at.0, at.1, pebble));
    Some(p)
}

fn growing_ring(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (pebble, water) = (s.colour(0), s.colour(1));
    let by = 2;
    let mut put: Vec<Place> = Vec::new();
    for _ in 0..30 {
        let first = s.between(1, 2);
        let at = s.place((2, s.rows - 3), (2, s.cols - 3));
        let far = |q: &Place| (q.0 - at.0).abs().max((q.1 - at.1).abs()) > 8;
        if !put.iter().all(far) || put.len() >= 3 {
            continue;
        }
        p.input.paint(square_ring(at, first), water);
        p.output.paint(square_ring(at, first), water);
        p.output.paint(square_ring(at, first + by), water);
        p.both(|g| g.set(at.0, at.1, pebble));
        put.push(at);
    }
    (!put.is_empty()).then_some(p)
}
