//! Pictures of things: images by light, mirrors, projections, nearer and farther views.

use super::draw::{extent, line, shifted};
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Light imaging.
pub static LIGHT_IMAGING: Concept = Concept::core_test(
    "light-imaging",
    "light imaging",
    &[
        "optical imaging",
        "image formation",
        "pinhole imaging",
        "lens imaging",
        "imaging",
    ],
    &[
        Aspect::upright(
            "pinhole",
            "Behind a small hole in a wall an upside-down image of the thing appears, as large as the thing at equal distance.",
            pinhole,
        ),
        Aspect::upright(
            "lens",
            "Rays from both ends of a thing cross behind a lens, where an upside-down image of half its size appears.",
            lens,
        ),
    ],
);

/// A tall thing whose top and bottom differ: an arrow, a tree, a key.
fn thing(s: &mut Setting) -> Vec<(Place, usize)> {
    let tall = s.between(4, 7);
    let head: &[Place] = match s.between(0, 2) {
        0 => &[(0, 1), (1, 0), (1, 1), (1, 2)],
        1 => &[(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)],
        _ => &[(0, 0), (0, 1), (0, 2), (1, 1)],
    };
    let mut cells: Vec<(Place, usize)> = head.iter().map(|&q| (q, 1)).collect();
    cells.extend((2..tall).map(|r| ((r, 1), 2)));
    cells
}

fn pinhole(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let cells = thing(s);
    let tall = cells.iter().map(|(q, _)| q.0).max()? + 1;
    let mid = s.between(tall, s.rows - tall - 1);
    let wall_at = s.cols / 2;
    let wall = s.colour(0);
    p.both(|g| {
        g.fill((0, wall_at), (g.rows() as i32, wall_at), wall);
        g.set(mid, wall_at, 0);
    });
    let away = s.between(1, wall_at - 4);
    // The thing stands above or below the axis, its image the other way round.
    let top = mid - tall + s.between(1, tall - 1);
    for &((r, c), role) in &cells {
        let at = (top + r, wall_at - away - 3 + c);
        let colour = s.colour(role);
        p.both(|g| g.set(at.0, at.1, colour));
        p.output.set(2 * mid - at.0, 2 * wall_at - at.1, colour);
    }
    let whole = p.output.count(s.colour(1)) == 2 * p.input.count(s.colour(1));
    let tail = p.output.count(s.colour(2)) == 2 * p.input.count(s.colour(2));
    (whole && tail).then_some(p)
}

fn lens(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, ray) = (s.colour(0), s.colour(3));
    let at = s.cols / 2 + s.between(-1, 0);
    let mid = s.between(5, s.rows - 6);
    p.both(|g| {
        g.fill((mid - 4, at), (mid + 4, at), glass);
        g.fill((mid - 2, at - 1), (mid + 2, at + 1), glass);
    });
    let (big, small) = (4, 2);
    let left = s.between(0, 1);
    let right = s.cols - 1 - s.between(0, 1);
    let draw = |g: &mut Grid, col: i32, size: i32, up: i32| {
        for i in 1..=size {
            let role = if 2 * i > size { 1 } else { 2 };
            let row = mid - up * i;
            g.set(row, col, s.colour(role));
        }
        let tip = mid - up * size;
        g.set(tip + up, col - 1, s.colour(1));
        g.set(tip + up, col + 1, s.colour(1));
    };
    let (from, to) = (left + 1, right - 1);
    draw(&mut p.input, from, big, 1);
    // A ray straight on to the lens and down through the image's tip, and one through the middle.
    let mut out = p.input.clone();
    out.paint(line((mid - big, from + 2), (mid - big, at - 1)), ray);
    out.paint(line((mid - big, at + 1), (mid + small, to - 1)), ray);
    draw(&mut out, from, big, 1);
    draw(&mut out, to, small, -1);
    p.output = out;
    (to - at >= 4 && at - from >= 4).then_some(p)
}

/// Mirror.
pub static MIRROR: Concept = Concept::associative(
    "mirror",
    "mirror",
    &["mirrors", "mirrored", "mirror image", "looking glass"],
    &[
        Aspect::free(
            "behind-the-glass",
            "Everything on one side of the line appears on its other side, equally far from it, left and right exchanged.",
            behind_the_glass,
        ),
        Aspect::free(
            "four-quarters",
            "What lies in one corner is repeated, mirrored, across two crossed lines in the three other corners.",
            four_quarters,
        ),
    ],
);

/// A form without mirror symmetry, so that its image differs from it.
fn lopsided(s: &mut Setting, cells: usize) -> Option<Vec<Place>> {
    let form = s.blob(cells);
    let (tall, wide) = extent(&form);
    let flip = |by: &dyn Fn(&Place) -> Place| {
        let mut f: Vec<Place> = form.iter().map(by).collect();
        f.sort_unstable();
        f
    };
    let same = flip(&|q| (q.0, wide - 1 - q.1)) == form || flip(&|q| (tall - 1 - q.0, q.1)) == form;
    (!same && tall <= 5 && wide <= 5).then_some(form)
}

fn behind_the_glass(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let glass = s.colour(0);
    let mid = s.cols / 2;
    p.both(|g| g.fill((0, mid), (g.rows() as i32, mid), glass));
    let mut put = 0;
    for role in 1..=s.between(1, 3) as usize {
        let size = s.between(4, 8) as usize;
        let form = lopsided(s, size)?;
        let (tall, wide) = extent(&form);
        let at = s.place((0, s.rows - tall), (1, mid - wide));
        let cells = shifted(&form, at);
        let image: Vec<Place> = cells.iter().map(|q| (q.0, 2 * mid - q.1)).collect();
        if cells.iter().chain(&image).all(|q| p.output.free(q.0, q.1)) {
            let colour = s.colour(role);
            p.both(|g| g.paint(cells.iter().copied(), colour));
            p.output.paint(image, colour);
            put += 1;
        }
    }
    (put > 0).then_some(p)
}

fn four_quarters(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (mr, mc) = (s.rows / 2 - (1 - s.rows % 2), s.cols / 2 - (1 - s.cols % 2));
    let glass = s.colour(0);
    p.both(|g| {
        g.fill((mr, 0), (mr, 2 * mc), glass);
        g.fill((0, mc), (2 * mr, mc), glass);
    });
    let size = s.between(5, 12) as usize;
    let form = lopsided(s, size)?;
    let (tall, wide) = extent(&form);
    let at = s.place((0, mr - tall), (0, mc - wide));
    for (i, (r, c)) in shifted(&form, at).into_iter().enumerate() {
        let colour = s.colour(1 + usize::from(i % 4 == 0));
        p.both(|g| g.set(r, c, colour));
        p.output.set(r, 2 * mc - c, colour);
        p.output.set(2 * mr - r, c, colour);
        p.output.set(2 * mr - r, 2 * mc - c, colour);
    }
    (tall <= mr && wide <= mc).then_some(p)
}

/// Projection.
pub static PROJECTION: Concept = Concept::associative(
    "projection",
    "projection",
    &[
        "projections",
        "project",
        "projects",
        "projected",
        "projector",
        "shadow",
    ],
    &[
        Aspect::free(
            "shadow",
            "Every column that holds a cell of a body leaves a mark in the same column of the ground: the body's flat shadow.",
            shadow,
        ),
        Aspect::free(
            "slide-projector",
            "Rays from a lamp through a small slide paint the slide's pattern, twice as large, on the screen.",
            slide_projector,
        ),
    ],
);

fn shadow(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (ground, dark) = (s.colour(0), s.colour(1));
    let floor = s.rows - 2;
    p.both(|g| g.fill((floor, 0), (floor + 1, g.cols() as i32), ground));
    let mut col = s.between(1, 2);
    let mut bodies = 0;
    while col < s.cols - 3 {
        let size = s.between(4, 8) as usize;
        let form = s.blob(size);
        let (tall, wide) = extent(&form);
        if col + wide >= s.cols || tall > floor - 2 {
            break;
        }
        let top = s.between(0, floor - tall - 2);
        let colour = s.colour(2 + bodies % 2);
        p.both(|g| g.stamp(&form, (top, col), colour));
        p.output.fill((floor, col), (floor, col + wide - 1), dark);
        bodies += 1;
        col += wide + s.between(2, 3);
    }
    (bodies >= 2).then_some(p)
}

fn slide_projector(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (lamp, light, screen) = (s.colour(0), s.colour(1), s.colour(2));
    // The slide is `k` cells high at half the way, so its picture is 2k high on the screen.
    let k = if s.rows >= 15 {
        s.between(3, 5)
    } else {
        s.between(3, 4)
    };
    let far = s.cols - 1;
    let near = (far - 1) / 2;
    let mid2 = s.rows - 1 + s.between(-1, 0);
    let top = (mid2 + 1 - 2 * k) / 2;
    let first = top + k / 2;
    p.both(|g| {
        g.fill((0, far), (g.rows() as i32, far), screen);
        g.fill((mid2 / 2, 0), ((mid2 + 1) / 2, 0), lamp);
    });
    let pattern: Vec<u8> = (0..k).map(|_| s.any_colour(3, 4)).collect();
    for (i, &colour) in pattern.iter().enumerate() {
        let i = i as i32;
        p.both(|g| g.set(first + i, near, colour));
        p.output
            .fill((top + 2 * i, far), (top + 2 * i + 1, far), colour);
    }
    let edges = [
        (mid2 / 2, first, top),
        ((mid2 + 1) / 2, first + k - 1, top + 2 * k - 1),
    ];
    for (a, b, c) in edges {
        p.output.paint(line((a, 1), (b, near - 1)), light);
        p.output.paint(line((b, near + 1), (c, far - 1)), light);
    }
    let mixed = pattern.iter().any(|c| Some(c) != pattern.first());
    (mixed && top >= 0 && top + 2 * k <= s.rows).then_some(p)
}

/// Zoom in.
pub static ZOOM_IN: Concept = Concept::associative(
    "zoom-in",
    "zoom in",
    &[
        "zooms in",
        "zoomed in",
        "zooming in",
        "magnification",
        "magnify",
        "enlarge",
        "enlargement",
    ],
    &[
        Aspect::free(
            "larger",
            "The thing is shown two or three times as large, every cell a square, its form and colours kept.",
            larger,
        ),
        Aspect::free(
            "framed-part",
            "Only the framed part of the scene is left, twice as large.",
            framed_part,
        ),
    ],
);

/// A small picture in two or three colours.
fn motif(s: &mut Setting, cells: usize, most: i32) -> Option<Vec<(Place, u8)>> {
    let form = s.blob(cells);
    let (tall, wide) = extent(&form);
    if tall > most || wide > most || tall < 3 || wide < 3 {
        return None;
    }
    Some(form.into_iter().map(|q| (q, s.any_colour(0, 2))).collect())
}

fn enlarged(g: &mut Grid, picture: &[(Place, u8)], at: Place, scale: i32) {
    for &((r, c), colour) in picture {
        let corner = (at.0 + r * scale, at.1 + c * scale);
        g.fill(corner, (corner.0 + scale - 1, corner.1 + scale - 1), colour);
    }
}

fn larger(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let scale = s.between(2, 3);
    let size = s.between(6, 10) as usize;
    let picture = motif(s, size, 12 / scale)?;
    let (tall, wide) = extent(&picture.iter().map(|x| x.0).collect::<Vec<_>>());
    let middle = |size: i32, room: i32| (room - size) / 2;
    let at = (middle(tall, s.rows), middle(wide, s.cols));
    enlarged(&mut p.input, &picture, at, 1);
    let at = (middle(tall * scale, s.rows), middle(wide * scale, s.cols));
    enlarged(&mut p.output, &picture, at, scale);
    Some(p)
}

/// Cells of several colours, loosely strewn over so many rows and columns from a corner on.
fn strewn(s: &mut Setting, from: Place, (rows, cols): (i32, i32)) -> Vec<(Place, u8)> {
    let mut cells = Vec::new();
    let sparse = s.between(2, 8);
    for r in from.0..from.0 + rows {
        for c in from.1..from.1 + cols {
            if s.between(0, sparse) == 0 {
                cells.push(((r, c), s.any_colour(0, 2)));
            }
        }
    }
    cells
}

fn framed_part(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let frame = s.colour(3);
    let size = (s.between(8, s.rows), s.between(8, s.cols));
    let from = s.place((0, s.rows - size.0), (0, s.cols - size.1));
    let scene = strewn(s, from, size);
    let (tall, wide) = (
        s.between(3, s.rows / 2 - 1).min(size.0 - 2),
        s.between(3, s.cols / 2 - 1).min(size.1 - 2),
    );
    let at = s.place(
        (from.0 + 1, from.0 + size.0 - tall - 1),
        (from.1 + 1, from.1 + size.1 - wide - 1),
    );
    enlarged(&mut p.input, &scene, (0, 0), 1);
    p.input
        .frame((at.0 - 1, at.1 - 1), (at.0 + tall, at.1 + wide), frame);
    let inside: Vec<(Place, u8)> = scene
        .into_iter()
        .map(|((r, c), k)| ((r - at.0, c - at.1), k))
        .filter(|((r, c), _)| (0..tall).contains(r) && (0..wide).contains(c))
        .collect();
    let (top, left) = ((s.rows - 2 * tall) / 2, (s.cols - 2 * wide) / 2);
    enlarged(&mut p.output, &inside, (top, left), 2);
    p.output.frame(
        (top - 1, left - 1),
        (top + 2 * tall, left + 2 * wide),
        frame,
    );
    (inside.len() >= 4).then_some(p)
}

/// Zoom out.
pub static ZOOM_OUT: Concept = Concept::associative(
    "zoom-out",
    "zoom out",
    &[
        "zooms out",
        "zoomed out",
        "zooming out",
        "shrink",
        "reduction",
    ],
    &[
        Aspect::free(
            "smaller",
            "The thing is shown at half or a third of its size, its form and colours kept.",
            smaller,
        ),
        Aspect::free(
            "wider-view",
            "The framed picture shrinks to half its size, and what lies around it comes into view.",
            wider_view,
        ),
    ],
);

fn smaller(s: &mut Setting) -> Option<Pair> {
    let p = larger(s)?;
    Some(Pair {
        input: p.output,
        output: p.input,
    })
}

fn wider_view(s: &mut Setting) -> Option<Pair> {
    let p = framed_part(s)?;
    Some(Pair {
        input: p.output,
        output: p.input,
    })
}
