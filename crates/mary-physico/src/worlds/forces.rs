//! Forces between bodies: springs, friction, repulsion, magnets, pressing and squeezing.

use super::draw::{line, shifted};
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Elastic force.
pub static ELASTIC_FORCE: Concept = Concept::core_dev(
    "elastic-force",
    "elastic force",
    &[
        "elastic forces",
        "elasticity",
        "spring force",
        "restoring force",
    ],
    &[
        Aspect::free(
            "spring",
            "A pressed spring at a wall stretches to twice its length and pushes the block in front of it away.",
            spring,
        ),
        Aspect::upright(
            "trampoline",
            "A ball has pressed an elastic sheet down; the sheet springs back flat and throws the ball up.",
            trampoline,
        ),
    ],
);

/// A coil three rows high: upright strokes, joined by turns above and below that are `open` cells
/// wide.
fn coil(at: Place, strokes: i32, open: i32) -> Vec<Place> {
    let mut cells = Vec::new();
    for i in 0..strokes {
        let c = at.1 + i * (open + 1);
        cells.extend((0..3).map(|r| (at.0 + r, c)));
        if i + 1 < strokes {
            let row = at.0 + if i % 2 == 0 { 0 } else { 2 };
            cells.extend((1..=open).map(|k| (row, c + k)));
        }
    }
    cells
}

fn spring(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, wire, block) = (s.colour(0), s.colour(1), s.colour(2));
    let strokes = s.between(3, 5);
    let long = |open: i32| strokes + (strokes - 1) * open;
    let big = s.between(2, 3);
    if 1 + long(2) + big > s.cols {
        return None;
    }
    let open = if 1 + long(3) + big <= s.cols && s.coin() {
        3
    } else {
        2
    };
    let top = s.between(1, s.rows - 4);
    p.both(|g| g.fill((0, 0), (g.rows() as i32, 0), wall));
    for (g, open) in [(&mut p.input, 1), (&mut p.output, open)] {
        g.paint(coil((top, 1), strokes, open), wire);
        let end = 1 + long(open);
        g.fill((top, end), (top + 2, end + big - 1), block);
    }
    Some(p)
}

fn trampoline(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let ground = s.rows - 1;
    let (post, sheet, ball) = (s.colour(0), s.colour(1), s.colour(2));
    let deep = s.between(3, 4);
    let level = ground - deep - 1;
    let half = s.between(deep, (s.cols - 3) / 2);
    let mid = s.between(half + 1, s.cols - half - 2);
    p.both(|g| {
        g.fill((level, mid - half - 1), (ground, mid - half - 1), post);
        g.fill((level, mid + half + 1), (ground, mid + half + 1), post);
    });
    p.input
        .paint(line((level, mid - half), (level + deep, mid)), sheet);
    p.input
        .paint(line((level, mid + half), (level + deep, mid)), sheet);
    p.input
        .fill((level + deep - 2, mid), (level + deep - 1, mid), ball);
    p.output
        .fill((level, mid - half), (level, mid + half), sheet);
    let up = s.between(0, level - 5);
    p.output.fill((up, mid), (up + 1, mid), ball);
    (level >= 5).then_some(p)
}

/// Friction.
pub static FRICTION: Concept = Concept::core_dev(
    "friction",
    "friction",
    &["frictional", "rubbing"],
    &[
        Aspect::upright(
            "rough-and-smooth",
            "Of two equal blocks pushed alike, the one on the smooth floor slides to the far wall, the one on the rough floor soon stops.",
            rough_and_smooth,
        ),
        Aspect::upright(
            "worn-and-hot",
            "A block dragged over the floor heats the floor all along its way and wears off its own lowest row.",
            worn_and_hot,
        ),
    ],
);

fn rough_and_smooth(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (floor, grit, block, wall) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let big = s.between(2, 3);
    let first = big + s.between(0, s.rows - 2 * big - 5) + 1;
    let second = s.between(first + big + 2, s.rows - 1);
    let (smooth, rough) = if s.coin() {
        (first, second)
    } else {
        (second, first)
    };
    p.both(|g| {
        let cols = g.cols() as i32;
        for row in [smooth, rough] {
            g.fill((row, 0), (row, cols), floor);
            g.fill((row - big, cols - 1), (row, cols - 1), wall);
        }
        // Grit stands up between the grains of the floor.
        for c in (big + 1..cols - 1).step_by(2) {
            g.set(rough, c, grit);
        }
    });
    let stopped = s.between(2, 4);
    for (g, far) in [(&mut p.input, false), (&mut p.output, true)] {
        for (row, to) in [(smooth, s.cols - 1 - big), (rough, stopped)] {
            let left = if far { to } else { 0 };
            g.fill((row - big, left), (row - 1, left + big - 1), block);
        }
    }
    Some(p)
}

fn worn_and_hot(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (floor, block, hot) = (s.colour(0), s.colour(1), s.colour(2));
    let (wide, tall) = (s.between(3, 4), s.between(3, 5));
    let thick = s.between(2, 3);
    let row = s.rows - thick;
    let left = s.between(0, 1);
    let to = s.between(left + wide + 2, s.cols - wide);
    p.both(|g| g.fill((row, 0), (g.rows() as i32, g.cols() as i32), floor));
    p.input
        .fill((row - tall, left), (row - 1, left + wide - 1), block);
    p.output
        .fill((row - tall, to), (row - 2, to + wide - 1), block);
    p.output.fill((row - 1, to), (row - 1, to + wide - 1), hot);
    p.output.fill((row, left), (row, to + wide - 1), hot);
    Some(p)
}

/// Repulsive force.
pub static REPULSIVE_FORCE: Concept = Concept::core_test(
    "repulsive-force",
    "repulsive force",
    &[
        "repulsive forces",
        "repulsion",
        "repel",
        "repels",
        "repelled",
    ],
    &[
        Aspect::free(
            "like-poles",
            "Two bars that turn ends of the same colour to each other are pushed apart by equal distances; bars with unlike ends stay together.",
            like_poles,
        ),
        Aspect::upright(
            "two-threads",
            "Two balls of the same colour that hang side by side on threads are driven apart, and the threads spread.",
            two_threads,
        ),
    ],
);

/// A bar of two halves.
fn bar(g: &mut Grid, at: Place, half: i32, tall: i32, colours: (u8, u8)) {
    let (r, c) = at;
    g.fill((r, c), (r + tall - 1, c + half - 1), colours.0);
    g.fill((r, c + half), (r + tall - 1, c + 2 * half - 1), colours.1);
}

fn like_poles(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (north, south) = (s.colour(0), s.colour(1));
    let half = if s.cols >= 16 { s.between(2, 3) } else { 2 };
    let tall = s.between(1, 2);
    let mid = s.cols / 2;
    let apart = s.between(2, mid - 2 * half);
    if apart < 2 {
        return None;
    }
    let top = s.between(0, s.rows / 2 - tall - 1);
    let low = s.between(s.rows / 2 + 1, s.rows - tall);
    let (repel, hold) = if s.coin() { (top, low) } else { (low, top) };
    bar(
        &mut p.input,
        (repel, mid - 2 * half),
        half,
        tall,
        (south, north),
    );
    bar(&mut p.input, (repel, mid), half, tall, (north, south));
    bar(
        &mut p.output,
        (repel, mid - 2 * half - apart),
        half,
        tall,
        (south, north),
    );
    bar(
        &mut p.output,
        (repel, mid + apart),
        half,
        tall,
        (north, south),
    );
    p.both(|g| {
        bar(g, (hold, mid - 2 * half), half, tall, (south, north));
        bar(g, (hold, mid), half, tall, (south, north));
    });
    (mid + apart + 2 * half <= s.cols).then_some(p)
}

fn two_threads(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (beam, thread, ball) = (s.colour(0), s.colour(1), s.colour(2));
    let top = s.between(0, 2);
    let long = s.between(5, s.rows - top - 4);
    let left = s.between(4, s.cols - 7);
    let right = left + 2;
    let lean = s.between(3, 4).min(left - 1).min(s.cols - 2 - right);
    p.both(|g| g.fill((top, left - 2), (top, right + 2), beam));
    let big = |g: &mut Grid, at: Place, out: i32| {
        let (c0, c1) = (at.1.min(at.1 + out), at.1.max(at.1 + out));
        g.fill((at.0, c0), (at.0 + 1, c1), ball);
    };
    for (g, spread) in [(&mut p.input, 0), (&mut p.output, lean)] {
        g.paint(line((top + 1, left), (top + long, left - spread)), thread);
        g.paint(line((top + 1, right), (top + long, right + spread)), thread);
        big(g, (top + long + 1, left - spread), -1);
        big(g, (top + long + 1, right + spread), 1);
    }
    (lean >= 3).then_some(p)
}

/// Magnet.
pub static MAGNET: Concept = Concept::associative(
    "magnet",
    "magnet",
    &["magnets", "magnetic", "magnetism", "magnetic force"],
    &[
        Aspect::free(
            "iron-filings",
            "Bits of one colour fly straight to a two-coloured bar and stick to it; bits of other colours stay where they are.",
            iron_filings,
        ),
        Aspect::free(
            "unlike-poles",
            "Two-coloured bars that turn unlike ends to each other are drawn together until they touch.",
            unlike_poles,
        ),
    ],
);

fn iron_filings(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (north, south, iron, wood) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let half = s.between(2, 4);
    let top = s.between(0, s.rows - 2 * half);
    let wide = s.between(1, 2);
    let left = s.between(0, 2);
    p.both(|g| {
        g.fill((top, left), (top + half - 1, left + wide - 1), north);
        g.fill(
            (top + half, left),
            (top + 2 * half - 1, left + wide - 1),
            south,
        );
    });
    let mut bits = 0;
    for r in top..top + 2 * half {
        let mut edge = left + wide;
        for _ in 0..s.between(0, 2) {
            let c = s.between(edge + 2, s.cols - 1);
            if c >= s.cols || !p.input.free(r, c) {
                continue;
            }
            if s.between(0, 3) == 0 {
                if (c..s.cols).all(|x| p.input.free(r, x)) && edge + 1 < c {
                    p.both(|g| g.set(r, c, wood));
                }
                break;
            }
            if ((edge + 1)..s.cols).all(|x| p.input.at(r, x) != wood) {
                p.input.set(r, c, iron);
                p.output.set(r, edge, iron);
                edge += 1;
                bits += 1;
            }
        }
    }
    (bits >= 3 && p.input.count(wood) >= 1 && p.input.count(iron) == p.output.count(iron))
        .then_some(p)
}

fn unlike_poles(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (north, south) = (s.colour(0), s.colour(1));
    let half = if s.cols >= 16 { s.between(2, 3) } else { 2 };
    let tall = s.between(1, 3);
    let top = s.between(0, s.rows - tall);
    let gap = 2 * s.between(2, (s.cols - 4 * half) / 2);
    let left = s.between(0, s.cols - 4 * half - gap);
    let ends = if s.coin() {
        (north, south)
    } else {
        (south, north)
    };
    bar(&mut p.input, (top, left), half, tall, ends);
    bar(&mut p.input, (top, left + 2 * half + gap), half, tall, ends);
    bar(&mut p.output, (top, left + gap / 2), half, tall, ends);
    bar(
        &mut p.output,
        (top, left + gap / 2 + 2 * half),
        half,
        tall,
        ends,
    );
    Some(p)
}

/// Compression.
pub static COMPRESSION: Concept = Concept::core_test(
    "compression",
    "compression",
    &["compress", "compresses", "compressed", "compressing"],
    &[
        Aspect::free(
            "piston",
            "A piston goes into a closed cylinder, and all the particles crowd into the smaller room.",
            piston,
        ),
        Aspect::free(
            "sponge",
            "A plate presses a block full of holes to half its height: the holes close, no cell is lost.",
            sponge,
        ),
    ],
)
.also_associative();

fn piston(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, plate, gas) = (s.colour(0), s.colour(1), s.colour(2));
    let wide = s.between(4, 6);
    let left = s.between(1, s.cols - wide - 3);
    let right = left + wide + 1;
    let floor = s.rows - 1;
    let lip = s.between(1, 2);
    p.both(|g| {
        g.fill((lip, left), (floor, left), wall);
        g.fill((lip, right), (floor, right), wall);
        g.fill((floor, left), (floor, right), wall);
    });
    let start = lip + 1;
    let small = s.between(3, 4);
    let end = floor - small - 1;
    let many = wide * small / 2;
    for (g, at) in [(&mut p.input, start), (&mut p.output, end)] {
        g.fill((at, left + 1), (at, right - 1), plate);
        g.fill((0, (left + right) / 2), (at - 1, (left + right) / 2), plate);
        let room: Vec<Place> = (at + 1..floor)
            .flat_map(|r| (left + 1..right).map(move |c| (r, c)))
            .collect();
        g.paint(s.shuffled(room).into_iter().take(many as usize), gas);
    }
    (end - start >= 3).then_some(p)
}

fn sponge(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (plate, foam, floor) = (s.colour(0), s.colour(1), s.colour(2));
    let half = s.between(2, 4);
    let wide = 2 * s.between(2, (s.cols - 3) / 2);
    let left = s.between(1, s.cols - wide - 1);
    let ground = s.rows - 1;
    let odd = s.between(0, 1);
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), floor));
    let top = ground - 2 * half;
    for r in top..ground {
        for c in left..left + wide {
            if (r + c) % 2 == odd {
                p.input.set(r, c, foam);
            }
        }
    }
    p.output
        .fill((ground - half, left), (ground - 1, left + wide - 1), foam);
    for (g, row) in [(&mut p.input, top), (&mut p.output, ground - half)] {
        g.fill((row - 1, left - 1), (row - 1, left + wide), plate);
        let mid = left + wide / 2;
        g.fill((0, mid - 1), (row - 2, mid), plate);
    }
    Some(p)
}

/// Squeeze.
pub static SQUEEZE: Concept = Concept::associative(
    "squeeze",
    "squeeze",
    &["squeezes", "squeezed", "squeezing", "pressing"],
    &[
        Aspect::free(
            "soft-body",
            "Two jaws close on a soft body from both sides: it becomes as much longer as it becomes thinner.",
            soft_body,
        ),
        Aspect::free(
            "tube",
            "Where the tube is pinched flat the paste must go: it comes out of the mouth, as much as lost its room.",
            tube,
        ),
    ],
);

fn soft_body(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (jaw, body) = (s.colour(0), s.colour(1));
    let (wide, tall, thin, long) = s.choose(&[
        (6, 2, 2, 6),
        (4, 3, 2, 6),
        (6, 4, 4, 6),
        (6, 4, 3, 8),
        (8, 3, 4, 6),
        (6, 3, 2, 9),
        (8, 2, 2, 8),
        (8, 4, 4, 8),
    ])?;
    if long + 1 > s.rows || wide + 4 > s.cols {
        return None;
    }
    let mid = (s.between(long / 2, s.rows - (long + 1) / 2), s.cols / 2);
    let reach = s.between(0, 1);
    for (g, w, h) in [(&mut p.input, wide, tall), (&mut p.output, thin, long)] {
        let (top, left) = (mid.0 - h / 2, mid.1 - w / 2);
        g.fill((top, left), (top + h - 1, left + w - 1), body);
        let (jt, jb) = (
            mid.0 - tall / 2 - reach,
            mid.0 - tall / 2 + tall - 1 + reach,
        );
        g.fill((jt, 0), (jb, left - 1), jaw);
        g.fill((jt, left + w), (jb, s.cols), jaw);
    }
    Some(p)
}

fn tube(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (skin, paste, jaw) = (s.colour(0), s.colour(1), s.colour(2));
    let long = s.between(5, 6);
    let pinch = s.between(1, ((s.cols - long - 2) / 2).min(3));
    let mid = s.between(4, s.rows - 5);
    let left = 0;
    let mouth = left + long;
    for (g, pressed) in [(&mut p.input, false), (&mut p.output, true)] {
        g.fill((mid - 1, left + 1), (mid + 1, mouth), paste);
        for c in left..=mouth {
            let flat = pressed && c > left && c <= left + pinch;
            let far = if flat { 1 } else { 2 };
            if flat {
                g.set(mid - 2, c, 0);
                g.set(mid + 2, c, 0);
            }
            g.set(mid - far, c, skin);
            g.set(mid + far, c, skin);
            if flat {
                g.fill((mid - 3, c), (mid - 2, c), jaw);
                g.fill((mid + 2, c), (mid + 3, c), jaw);
            }
        }
        g.fill((mid - 2, left), (mid + 2, left), skin);
        if pressed {
            g.fill((mid, mouth + 1), (mid, mouth + 2 * pinch), paste);
        } else {
            let jaws = [(mid - 4, left + 1), (mid + 3, left + 1)];
            for at in jaws {
                g.paint(
                    shifted(&[(0, 0), (1, 0)], at)
                        .into_iter()
                        .flat_map(|(r, c)| (0..pinch).map(move |i| (r, c + i))),
                    jaw,
                );
            }
        }
    }
    Some(p)
}
