//! What happens to the form of a thing: cutting, growing, bursting, turning.

use super::draw::{disc, extent, line, quarter, ring, shifted};
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Cut.
pub static CUT: Concept = Concept::core_test(
    "cut",
    "cut",
    &["cuts", "cutting", "slice", "slicing", "sever"],
    &[
        Aspect::free(
            "knife",
            "A blade goes down through a block, and its two parts lie apart; no cell is lost.",
            knife,
        ),
        Aspect::free(
            "along-marks",
            "A bar is parted at every mark on it, and the pieces are drawn apart.",
            along_marks,
        ),
    ],
);

fn knife(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (blade, body, handle) = (s.colour(0), s.colour(1), s.colour(2));
    let long = s.between(5, s.cols - 5);
    let tall = s.between(3, 4);
    let top = s.rows - tall - s.between(0, 1);
    let left = s.between(2, s.cols - long - 2);
    let at = s.between(left + 2, left + long - 2);
    p.input
        .fill((top, left), (top + tall - 1, left + long - 1), body);
    p.output
        .fill((top, left - 1), (top + tall - 1, at - 2), body);
    p.output
        .fill((top, at + 1), (top + tall - 1, left + long), body);
    for (g, tip) in [(&mut p.input, top - 2), (&mut p.output, top + tall - 1)] {
        g.fill((tip - 3, at), (tip, at), blade);
        g.fill((tip - 5, at), (tip - 4, at), handle);
    }
    // Between the parts stands the blade with a cell of air on its left.
    (top >= 6 && p.input.count(body) == p.output.count(body)).then_some(p)
}

fn along_marks(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (body, mark) = (s.colour(0), s.colour(1));
    let pieces = s.between(2, 3);
    let tall = s.between(2, 5);
    let row = s.between(1, s.rows - tall - 2);
    let lengths: Vec<i32> = (0..pieces).map(|_| s.between(2, 4)).collect();
    let whole: i32 = lengths.iter().sum();
    let room = whole + 2 * (pieces - 1);
    if room > s.cols {
        return None;
    }
    let left = s.between(0, s.cols - room);
    let mut c = left + pieces - 1;
    let mut out = left;
    for (i, &long) in lengths.iter().enumerate() {
        p.input.fill((row, c), (row + tall - 1, c + long - 1), body);
        p.output
            .fill((row, out), (row + tall - 1, out + long - 1), body);
        c += long;
        if i + 1 < lengths.len() {
            // Scissors' points above and below the place.
            p.input.set(row - 1, c, mark);
            p.input.set(row + tall, c, mark);
            p.output.set(row - 1, out + long, mark);
            p.output.set(row + tall, out + long, mark);
        }
        out += long + 2;
    }
    Some(p)
}

/// Expansion.
pub static EXPANSION: Concept = Concept::core_test(
    "expansion",
    "expansion",
    &["expansions", "expand", "expands", "expanded", "expanding"],
    &[
        Aspect::free(
            "every-side",
            "Every body grows by the same number of cells on all its sides.",
            every_side,
        ),
        Aspect::free(
            "balloon",
            "A round skin with the same particles inside becomes wider, and the particles take up the wider room.",
            balloon,
        ),
    ],
)
.also_associative();

fn every_side(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let by = s.between(1, 2);
    let mut put = 0;
    for _ in 0..40 {
        let size = s.between(1, 4) as usize;
        let form = s.blob(size);
        let (tall, wide) = extent(&form);
        let at = s.place((by, s.rows - tall - by), (by, s.cols - wide - by));
        let cells = shifted(&form, at);
        let mut grown: Vec<Place> = Vec::new();
        for &(r, c) in &cells {
            for dr in -by..=by {
                for dc in -by..=by {
                    grown.push((r + dr, c + dc));
                }
            }
        }
        if put < 4 && p.output.roomy(&grown) {
            let colour = s.colour(put % 3);
            p.input.paint(cells, colour);
            p.output.paint(grown, colour);
            put += 1;
        }
    }
    (put >= 2).then_some(p)
}

fn balloon(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (skin, gas) = (s.colour(0), s.colour(1));
    let most = (s.rows.min(s.cols) - 1) / 2;
    let small = s.between(2, 4).min(most - 2);
    let large = s.between(small + 2, most);
    let centre = s.place((large, s.rows - 1 - large), (large, s.cols - 1 - large));
    let inside = |radius: i32| {
        let edge = ring(centre, radius);
        disc(centre, radius)
            .into_iter()
            .filter(|q| !edge.contains(q))
            .collect::<Vec<_>>()
    };
    let many = inside(small).len() * 2 / 3;
    for (g, radius) in [(&mut p.input, small), (&mut p.output, large)] {
        g.paint(ring(centre, radius), skin);
        let room = s.shuffled(inside(radius));
        g.paint(room.into_iter().take(many), gas);
    }
    (many >= 4).then_some(p)
}

/// Explosion.
pub static EXPLOSION: Concept = Concept::associative(
    "explosion",
    "explosion",
    &[
        "explosions",
        "explode",
        "explodes",
        "exploded",
        "blast",
        "burst",
        "detonation",
    ],
    &[
        Aspect::free(
            "fragments",
            "A block bursts: its cells fly apart in all directions, the outer ones farthest; no cell is lost.",
            fragments,
        ),
        Aspect::free(
            "blast",
            "A charge goes off: jagged rays shoot out from it, and the walls in reach have holes.",
            blast,
        ),
    ],
);

fn fragments(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (core, fire) = (s.colour(0), s.colour(1));
    let (half, k) = s.choose(&[(1, 3), (1, 5), (2, 2), (2, 3)])?;
    let far = half * k + 1;
    let (mr, mc) = s.place((far, s.rows - 1 - far), (far, s.cols - 1 - far));
    for dr in -half..=half {
        for dc in -half..=half {
            let colour = if (dr, dc) == (0, 0) { fire } else { core };
            p.input.set(mr + dr, mc + dc, colour);
            let loose = if half == 1 { -1 } else { 0 };
            let (wr, wc) = (s.between(loose, 0), s.between(loose, 0));
            let to = (mr + dr * k + dr * wr, mc + dc * k + dc * wc);
            p.output.set(to.0, to.1, colour);
        }
    }
    // A flash in the middle with short rays.
    for (dr, dc) in [(0, 1), (1, 0), (0, -1), (-1, 0)] {
        p.output.set(mr + dr, mc + dc, fire);
    }
    (p.output.count(core) == p.input.count(core)).then_some(p)
}

fn blast(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (bomb, fire, wall) = (s.colour(0), s.colour(1), s.colour(2));
    let (mr, mc) = s.place((5, s.rows - 6), (5, s.cols - 6));
    let away = s.between(3, 4);
    let frame = [(mr - away, mc - away), (mr + away, mc + away)];
    p.both(|g| g.frame(frame[0], frame[1], wall));
    p.input.paint(disc((mr, mc), 1), bomb);
    let far = away + s.between(1, 2);
    for (dr, dc) in [(0, 1), (1, 0), (0, -1), (-1, 0)] {
        // The hole in the wall, three cells wide, and its rubble outside.
        let hole = (mr + dr * away, mc + dc * away);
        for k in -1..=1 {
            let q = (hole.0 + dc * k, hole.1 + dr * k);
            p.output.set(q.0, q.1, 0);
            p.output
                .set(q.0 + dr * (1 + k.abs()), q.1 + dc * (1 + k.abs()), wall);
        }
        p.output.paint(
            line((mr, mc), (mr + dr * (far - 1), mc + dc * (far - 1))),
            fire,
        );
    }
    for (dr, dc) in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
        p.output.paint(
            line((mr, mc), (mr + dr * (away - 1), mc + dc * (away - 1))),
            fire,
        );
    }
    Some(p)
}

/// Rotation.
pub static ROTATION: Concept = Concept::associative(
    "rotation",
    "rotation",
    &[
        "rotations",
        "rotate",
        "rotates",
        "rotated",
        "rotating",
        "turning",
        "spin",
    ],
    &[
        Aspect::free(
            "quarter-turn",
            "A form is turned by a quarter around its middle, its colours with it.",
            quarter_turn,
        ),
        Aspect::free(
            "hand-of-a-clock",
            "The hand on a dial points a quarter further round.",
            hand_of_a_clock,
        ),
    ],
);

fn quarter_turn(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let mut put = 0;
    for _ in 0..12 {
        let size = s.between(6, 9) as usize;
        let form = s.blob(size);
        let turned = quarter(&form);
        let (tall, wide) = extent(&form);
        let side = tall.max(wide);
        if side > 5 || turned == form || mirrored(&form) {
            continue;
        }
        let at = s.place((0, s.rows - side), (0, s.cols - side));
        let around: Vec<Place> = shifted(
            &(0..side)
                .flat_map(|r| (0..side).map(move |c| (r, c)))
                .collect::<Vec<_>>(),
            at,
        );
        if put >= 2 || !p.input.roomy(&around) || !p.output.roomy(&around) {
            continue;
        }
        // One cell is marked, so that the turn can be followed.
        let mark = *form.first()?;
        let bottom = form.iter().map(|q| q.0).max()?;
        let to = (mark.1, bottom - mark.0);
        p.input.stamp(&form, at, s.colour(2 * put));
        p.output.stamp(&turned, at, s.colour(2 * put));
        p.input.set(at.0 + mark.0, at.1 + mark.1, s.colour(1));
        p.output.set(at.0 + to.0, at.1 + to.1, s.colour(1));
        put += 1;
    }
    (put >= 1).then_some(p)
}

/// Whether a form equals one of its mirror images, where a turn could pass for a flip.
fn mirrored(form: &[Place]) -> bool {
    let (tall, wide) = extent(form);
    let flips: [&dyn Fn(&Place) -> Place; 3] = [
        &|q| (q.0, wide - 1 - q.1),
        &|q| (tall - 1 - q.0, q.1),
        &|q| (q.1, q.0),
    ];
    flips.iter().any(|flip| {
        let mut image: Vec<Place> = form.iter().map(flip).collect();
        image.sort_unstable();
        image == form
    })
}

fn hand_of_a_clock(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (dial, hand, pin, dot) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let most = (s.rows.min(s.cols) - 1) / 2;
    let radius = s.between(4, most);
    let centre = s.place((radius, s.rows - 1 - radius), (radius, s.cols - 1 - radius));
    let ways: [Place; 8] = [
        (-1, 0),
        (-1, 1),
        (0, 1),
        (1, 1),
        (1, 0),
        (1, -1),
        (0, -1),
        (-1, -1),
    ];
    let start = s.between(0, 7) as usize;
    let put = |g: &mut Grid, from: usize| {
        g.paint(ring(centre, radius), dial);
        for (k, long, colour) in [(0, radius - 1, hand), (3, (radius - 1) / 2, dot)] {
            let (dr, dc) = ways[(from + k) % 8];
            let long = if dr * dc == 0 {
                long
            } else {
                (long * 5 + 3) / 7
            };
            g.paint(
                line(centre, (centre.0 + dr * long, centre.1 + dc * long)),
                colour,
            );
        }
        g.set(centre.0, centre.1, pin);
    };
    put(&mut p.input, start);
    put(&mut p.output, start + 2);
    Some(p)
}
