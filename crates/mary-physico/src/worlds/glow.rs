//! Light that fills a space or a film: lighting, glowing, long exposure, the photoelectric effect.

use super::draw::{disc, line, ring, square_ring};
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Lighting.
pub static LIGHTING: Concept = Concept::core_dev(
    "lighting",
    "lighting",
    &[
        "illumination",
        "illuminate",
        "illuminated",
        "lit",
        "light up",
        "lamp light",
    ],
    &[
        Aspect::upright(
            "lamp",
            "The lamp is switched on and throws a cone of light down to the floor.",
            lamp,
        ),
        Aspect::free(
            "candle",
            "A candle lights every place it can see; behind the posts it stays dark.",
            candle,
        ),
    ],
);

fn lamp(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (floor, shade, off, on) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let mid = s.between(4, s.cols - 5);
    let hang = s.between(1, s.rows - 8);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), floor);
        g.fill((0, mid), (hang, mid), shade);
        g.fill((hang, mid - 1), (hang, mid + 1), shade);
        g.set(hang + 1, mid - 2, shade);
        g.set(hang + 1, mid + 2, shade);
    });
    p.input.fill((hang + 1, mid - 1), (hang + 1, mid + 1), off);
    p.output.fill((hang + 1, mid - 1), (hang + 1, mid + 1), on);
    for r in hang + 2..ground {
        let half = 2 + (r - hang - 2) / 2;
        p.output.fill((r, mid - half), (r, mid + half), on);
    }
    Some(p)
}

/// Whether nothing stands on the straight way between two places.
fn sees(g: &Grid, from: Place, to: Place, wall: u8) -> bool {
    line(from, to).into_iter().all(|(r, c)| g.at(r, c) != wall)
}

fn candle(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wick, post, light) = (s.colour(0), s.colour(1), s.colour(2));
    let at = s.place((4, s.rows - 5), (4, s.cols - 5));
    for _ in 0..s.between(2, 4) {
        let q = s.place((at.0 - 3, at.0 + 3), (at.1 - 3, at.1 + 3));
        let away = (q.0 - at.0).abs().max((q.1 - at.1).abs());
        if away >= 2 {
            let end = if s.coin() {
                (q.0 + 1, q.1)
            } else {
                (q.0, q.1 + 1)
            };
            p.both(|g| g.fill(q, end, post));
        }
    }
    if p.input.count(post) < 4 || p.input.at(at.0, at.1) == post {
        return None;
    }
    let reach = s.between(3, 7);
    for (r, c) in disc(at, reach) {
        if p.output.free(r, c) && sees(&p.output, at, (r, c), post) {
            p.output.set(r, c, light);
        }
    }
    p.both(|g| g.set(at.0, at.1, wick));
    Some(p)
}

/// Lumination.
pub static LUMINATION: Concept = Concept::associative(
    "lumination",
    "lumination",
    &[
        "luminance",
        "luminescence",
        "luminous",
        "glow",
        "glows",
        "glowing",
    ],
    &[
        Aspect::free(
            "halo",
            "Every point of one colour begins to glow: a ring of light stands around it; the others stay dark.",
            halo,
        ),
        Aspect::free(
            "radiance",
            "A source begins to shine: rays of light go out from it to all sides.",
            radiance,
        ),
    ],
);

fn halo(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (source, light, dark) = (s.colour(0), s.colour(1), s.colour(2));
    let mut put = [0, 0];
    let (many, round) = (s.between(3, 9), s.coin());
    for _ in 0..60 {
        let at = s.place((1, s.rows - 2), (1, s.cols - 2));
        let near: Vec<Place> = disc(at, 2);
        if !near.iter().all(|&(r, c)| p.output.at(r, c) == 0) || put[0] + put[1] >= many {
            continue;
        }
        let shines = put[0] <= put[1];
        if shines {
            let glow = if round { disc(at, 1) } else { square(at) };
            p.output.paint(glow, light);
        }
        let colour = if shines { source } else { dark };
        p.both(|g| g.set(at.0, at.1, colour));
        put[usize::from(!shines)] += 1;
    }
    (put[0] >= 2 && put[1] >= 1).then_some(p)
}

/// A place and all around it.
fn square(at: Place) -> Vec<Place> {
    let mut cells = square_ring(at, 1);
    cells.push(at);
    cells
}

fn radiance(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (source, light) = (s.colour(0), s.colour(1));
    let far = s.between(3, 5);
    let at = s.place((far + 1, s.rows - far - 2), (far + 1, s.cols - far - 2));
    p.both(|g| g.fill((at.0, at.1), (at.0 + 1, at.1 + 1), source));
    let corners = [
        (-1, -1, 0, 0),
        (-1, 1, 0, 1),
        (1, -1, 1, 0),
        (1, 1, 1, 1),
        (-1, 0, 0, 0),
        (-1, 0, 0, 1),
        (1, 0, 1, 0),
        (1, 0, 1, 1),
        (0, -1, 0, 0),
        (0, -1, 1, 0),
        (0, 1, 0, 1),
        (0, 1, 1, 1),
    ];
    for (dr, dc, r0, c0) in corners {
        let long = if dr * dc == 0 { far } else { far - 1 };
        for k in 2..=long {
            p.output.set(at.0 + r0 + dr * k, at.1 + c0 + dc * k, light);
        }
    }
    Some(p)
}

/// Long exposure.
pub static LONG_EXPOSURE: Concept = Concept::associative(
    "long-exposure",
    "long exposure",
    &[
        "long exposures",
        "time exposure",
        "long-exposure photography",
        "light trail",
        "star trail",
    ],
    &[
        Aspect::free(
            "light-trails",
            "Every light that moves leaves a streak of its own colour along its way; what stands still stays a point.",
            light_trails,
        ),
        Aspect::upright(
            "star-trails",
            "All stars have drawn arcs around one point of the sky while the ground stayed still.",
            star_trails,
        ),
    ],
);

fn light_trails(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let mut row = s.between(1, 2);
    let mut trails = 0;
    while row < s.rows - 2 {
        let colour = s.any_colour(0, 2);
        let left = s.between(0, 3);
        let long = s.between(6, s.cols - left - 1);
        let bend = s.between(0, 1).min(s.rows - 2 - row);
        let way: Vec<Place> = (0..long)
            .map(|i| (row + if i > long / 2 { bend } else { 0 }, left + i))
            .collect();
        p.output.paint(way, colour);
        p.input.set(row, left, colour);
        trails += 1;
        row += s.between(3, 4);
    }
    // A lantern that stands still.
    let spot = s.place((0, s.rows - 1), (0, s.cols - 1));
    if p.output.roomy(&[spot]) {
        let colour = s.colour(3);
        p.both(|g| g.set(spot.0, spot.1, colour));
    }
    (trails >= 3).then_some(p)
}

fn star_trails(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.colour(3);
    let floor = s.rows - 2;
    let pole = (s.between(4, 6), s.between(s.cols / 2 - 1, s.cols / 2 + 1));
    p.both(|g| {
        g.set(pole.0, pole.1, s.colour(2));
    });
    let outermost = s.between(4, s.cols.max(s.rows));
    for radius in (2..=outermost).step_by(2) {
        // The ring above the skyline in the order of the angle.
        let mut cells: Vec<Place> = ring(pole, radius)
            .into_iter()
            .filter(|q| p.input.holds(q.0, q.1) && q.0 < floor - 1)
            .collect();
        cells.sort_by_key(|&(r, c)| angle(r - pole.0, c - pole.1));
        // Two stars on each unbroken stretch of it, each with an arc of half its half.
        let touch = |a: &Place, b: &Place| (a.0 - b.0).abs().max((a.1 - b.1).abs()) <= 1;
        for stretch in cells.chunk_by(touch).filter(|c| c.len() >= 8) {
            let half = stretch.len() / 2;
            let many = (half / 2).max(3).min(half - 1);
            for start in [0, half] {
                let from = start + s.between(0, (half - many) as i32 - 1) as usize;
                let colour = s.any_colour(0, 1);
                let arc: Vec<Place> = stretch.iter().skip(from).take(many).copied().collect();
                if let Some(&(r, c)) = arc.first() {
                    p.input.set(r, c, colour);
                }
                p.output.paint(arc, colour);
            }
        }
    }
    let skyline: Vec<i32> = (0..s.cols).map(|_| s.between(0, 1)).collect();
    for (c, up) in skyline.into_iter().enumerate() {
        p.both(|g| g.fill((floor - up, c as i32), (g.rows() as i32, c as i32), ground));
    }
    Some(p)
}

/// A number that grows with the angle around the origin, without a sine.
fn angle(r: i32, c: i32) -> i32 {
    let (quadrant, along, across) = match (r, c) {
        (r, c) if r < 0 && c >= 0 => (0, c, -r),
        (r, c) if r >= 0 && c > 0 => (1, r, c),
        (r, c) if r > 0 && c <= 0 => (2, -c, r),
        (r, c) => (3, -r, -c),
    };
    quadrant * 1000 + 1000 * along / (along + across).max(1)
}

/// Photoelectric effect.
pub static PHOTOELECTRIC_EFFECT: Concept = Concept::core_dev(
    "photoelectric-effect",
    "photoelectric effect",
    &[
        "photoelectric",
        "photoemission",
        "photoelectrons",
        "photoelectron",
    ],
    &[
        Aspect::free(
            "knocked-out",
            "Each quantum of light that reaches the metal vanishes there, and one electron leaves the metal.",
            knocked_out,
        ),
        Aspect::free(
            "threshold",
            "Light of short waves drives electrons out of the plate; light of long waves drives out none.",
            threshold,
        ),
    ],
);

fn knocked_out(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (metal, electron, light) = (s.colour(0), s.colour(1), s.colour(2));
    let top = s.rows - s.between(3, 4);
    p.both(|g| g.fill((top, 0), (g.rows() as i32, g.cols() as i32), metal));
    let mut c = s.between(1, 2);
    let mut hits = 0;
    while c < s.cols - 2 {
        let hit = s.between(0, 3) > 0;
        p.both(|g| g.set(top, c, electron));
        if hit && c >= 3 {
            // A quantum: a short slanted stroke on its way to the electron.
            let up = s.between(2, top - 4);
            let quantum: Vec<Place> = (0..3).map(|i| (top - up - i, c - up - i)).collect();
            let whole = quantum.iter().all(|q| p.input.free(q.0, q.1));
            if whole {
                p.input.paint(quantum, light);
                let out = s.between(3, top - 1);
                p.output.set(top, c, 0);
                p.output.set(top - out, c + 1, electron);
                p.output.set(top - out + 1, c + 1, 0);
                hits += 1;
            }
        }
        c += s.between(2, 3);
    }
    (hits >= 2 && p.input.count(electron) == p.output.count(electron)).then_some(p)
}

fn threshold(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (metal, electron, short, long) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let half = s.rows / 2;
    let plate = s.between(6, s.cols - 5);
    let short_top = s.coin();
    for (from, to, strong) in [(0, half - 1, short_top), (half + 1, s.rows - 1, !short_top)] {
        let mid = (from + to) / 2;
        let colour = if strong { short } else { long };
        let period = if strong { 2 } else { 4 };
        let electrons = [mid - 1, mid, mid + 1];
        for (g, lit) in [(&mut p.input, false), (&mut p.output, true)] {
            g.fill((from, plate), (to, plate + 1), metal);
            // The wave: a square zigzag of short or long steps, before and on the plate.
            let end = if lit { plate - 1 } else { 2 };
            for c in 0..=end {
                let up = (c / (period / 2)) % 2;
                g.set(mid - up, c, colour);
            }
            for (i, &r) in electrons.iter().enumerate() {
                if lit && strong {
                    g.set(r + (i as i32 - 1), plate + 3 + i as i32 % 2, electron);
                } else {
                    g.set(r, plate + 1, electron);
                }
            }
        }
    }
    Some(p)
}
