//! Scenery that several concepts draw alike: flames, vessels, bars, waves, small pictures.

use super::Setting;
use super::draw::{extent, line, room};
use crate::grid::{Grid, Pair, Place};

pub(crate) fn bar(g: &mut Grid, at: Place, half: i32, tall: i32, colours: (u8, u8)) {
    let (r, c) = at;
    g.fill((r, c), (r + tall - 1, c + half - 1), colours.0);
    g.fill((r, c + half), (r + tall - 1, c + 2 * half - 1), colours.1);
}

pub(crate) fn flame(g: &mut Grid, base: i32, mid: i32, colour: u8) {
    g.fill((base, mid - 1), (base, mid + 1), colour);
    g.fill((base - 1, mid - 1), (base - 1, mid), colour);
    g.set(base - 2, mid, colour);
}

pub(crate) fn sun(g: &mut Grid, at: Place, colour: u8) {
    g.fill(at, (at.0 + 1, at.1 + 1), colour);
    g.paint(
        [(-1, -1), (-1, 2), (2, -1), (2, 2)]
            .iter()
            .map(|q| (at.0 + q.0, at.1 + q.1)),
        colour,
    );
}

/// A heap on the floor: full rows from below, so many cells, centred.
pub(crate) fn puddle(g: &mut Grid, floor: i32, mid: i32, widest: i32, cells: i32, colour: u8) {
    let mut left = cells;
    let (mut row, mut wide) = (floor - 1, widest);
    while left > 0 && row >= 0 {
        let here = left.min(wide);
        let from = (mid - here / 2).clamp(0, (g.cols() as i32 - here).max(0));
        g.fill((row, from), (row, from + here - 1), colour);
        left -= here;
        row -= 1;
        wide -= 2;
    }
}

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

pub(crate) fn larger(s: &mut Setting, mut p: Pair) -> Option<Pair> {
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

pub(crate) fn framed_part(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let frame = s.colour(3);
    let size = (s.between(8, s.rows), s.between(8, s.cols));
    let from = s.place((0, s.rows - size.0), (0, s.cols - size.1));
    let scene = strewn(s, from, size);
    let tall = s.between(3, s.rows / 2 - 1).min(size.0 - 2);
    let wide = s.between(3, s.cols / 2 - 1).min(size.1 - 2);
    let rows = (from.0 + 1, from.0 + size.0 - tall - 1);
    let at = s.place(rows, (from.1 + 1, from.1 + size.1 - wide - 1));
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
    let end = (top + 2 * tall, left + 2 * wide);
    p.output.frame((top - 1, left - 1), end, frame);
    (inside.len() >= 4).then_some(p)
}

pub(crate) fn vessel(g: &mut Grid, top: i32, floor: i32, cols: (i32, i32), colour: u8) {
    walls(g, (top, floor), cols, colour);
    g.fill((floor, cols.0), (floor, cols.1), colour);
}

/// Two upright walls between the same rows.
pub(crate) fn walls(g: &mut Grid, (top, bottom): (i32, i32), cols: (i32, i32), colour: u8) {
    g.fill((top, cols.0), (bottom, cols.0), colour);
    g.fill((top, cols.1), (bottom, cols.1), colour);
}

/// A pivot: a foot of three cells under one.
pub(crate) fn foot(g: &mut Grid, top: Place, ground: i32, colour: u8) {
    for r in top.0..ground {
        let wide = r - top.0;
        g.fill((r, top.1 - wide), (r, top.1 + wide), colour);
    }
}

pub(crate) fn block(at: Place, tall: i32, wide: i32) -> Vec<Place> {
    room(at, (at.0 + tall - 1, at.1 + wide - 1))
}

/// The height of a wave at a step, with crests of two or three cells.
pub(crate) fn crest(step: i32, high: i32) -> i32 {
    const LOW: [i32; 8] = [0, 1, 2, 1, 0, -1, -2, -1];
    const HIGH: [i32; 10] = [0, 2, 3, 2, 0, -2, -3, -3, -2, 0];
    let wave: &[i32] = if high == 2 { &LOW } else { &HIGH };
    wave[step.rem_euclid(wave.len() as i32) as usize]
}

/// A line through these heights over consecutive columns.
pub(crate) fn curve(g: &mut Grid, middle: i32, left: i32, heights: &[i32], colour: u8) {
    for (i, pair) in heights.windows(2).enumerate() {
        let c = left + i as i32;
        if let [a, b] = *pair {
            g.paint(line((middle - a, c), (middle - b, c + 1)), colour);
        }
    }
}
