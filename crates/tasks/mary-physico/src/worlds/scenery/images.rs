//! What several concepts draw: Pictures of things: images by light, mirrors, projections, nearer and farther views.

use crate::grid::{Grid, Pair, Place};
use crate::worlds::Setting;
use crate::worlds::draw::extent;

/// A small picture in two or three colours.
pub(crate) fn motif(s: &mut Setting, cells: usize, most: i32) -> Option<Vec<(Place, u8)>> {
    let form = s.blob(cells);
    let (tall, wide) = extent(&form);
    if tall > most || wide > most || tall < 3 || wide < 3 {
        return None;
    }
    Some(form.into_iter().map(|q| (q, s.any_colour(0, 2))).collect())
}

pub(crate) fn enlarged(g: &mut Grid, picture: &[(Place, u8)], at: Place, scale: i32) {
    for &((r, c), colour) in picture {
        let corner = (at.0 + r * scale, at.1 + c * scale);
        g.fill(corner, (corner.0 + scale - 1, corner.1 + scale - 1), colour);
    }
}

pub(crate) fn larger(s: &mut Setting) -> Option<Pair> {
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
pub(crate) fn strewn(s: &mut Setting, from: Place, (rows, cols): (i32, i32)) -> Vec<(Place, u8)> {
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

pub(crate) fn framed_part(s: &mut Setting) -> Option<Pair> {
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
