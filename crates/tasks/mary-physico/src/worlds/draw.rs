//! Drawing on a grid: boxes, lines, discs, rings and forms put at a place.

use crate::grid::{Grid, Pair, Place, around};

impl Grid {
    /// A filled box between two corners, both inside.
    pub fn fill(&mut self, from: Place, to: Place, colour: u8) {
        for r in from.0.min(to.0)..=from.0.max(to.0) {
            for c in from.1.min(to.1)..=from.1.max(to.1) {
                self.set(r, c, colour);
            }
        }
    }

    /// A filled box of so many rows and columns from a corner on.
    pub fn fill_box(&mut self, at: Place, (tall, wide): (i32, i32), colour: u8) {
        self.fill(at, (at.0 + tall - 1, at.1 + wide - 1), colour);
    }

    /// The outline of a box between two corners.
    pub fn frame(&mut self, from: Place, to: Place, colour: u8) {
        self.fill(from, (from.0, to.1), colour);
        self.fill((to.0, from.1), to, colour);
        self.fill(from, (to.0, from.1), colour);
        self.fill((from.0, to.1), to, colour);
    }

    pub fn paint(&mut self, cells: impl IntoIterator<Item = Place>, colour: u8) {
        for (r, c) in cells {
            self.set(r, c, colour);
        }
    }

    /// Only those of the cells that are still empty.
    pub fn paint_free(&mut self, cells: impl IntoIterator<Item = Place>, colour: u8) {
        for (r, c) in cells {
            if self.free(r, c) {
                self.set(r, c, colour);
            }
        }
    }

    /// The cells so many steps from a place in one direction.
    pub fn ray(
        &mut self,
        from: Place,
        (dr, dc): Place,
        steps: impl IntoIterator<Item = i32>,
        colour: u8,
    ) {
        let steps = steps.into_iter();
        let cells = steps.map(|k| (from.0 + dr * k, from.1 + dc * k));
        self.paint(cells, colour);
    }

    /// A form put down with its corner at a place.
    pub fn stamp(&mut self, form: &[Place], at: Place, colour: u8) {
        self.paint(shifted(form, at), colour);
    }

    /// Whether all these cells are in the grid and empty.
    pub fn clear(&self, cells: &[Place]) -> bool {
        cells.iter().all(|&(r, c)| self.free(r, c))
    }

    /// Whether these cells and all their neighbours that are in the grid are empty.
    pub fn roomy(&self, cells: &[Place]) -> bool {
        self.clear(cells)
            && cells
                .iter()
                .all(|&(r, c)| (-1..=1).all(|dr| (-1..=1).all(|dc| self.at(r + dr, c + dc) == 0)))
    }
}

impl Pair {
    pub fn reversed(self) -> Self {
        Self {
            input: self.output,
            output: self.input,
        }
    }

    pub fn both(&mut self, draw: impl Fn(&mut Grid)) {
        draw(&mut self.input);
        draw(&mut self.output);
    }
}

pub fn shifted(form: &[Place], by: Place) -> Vec<Place> {
    form.iter().map(|&(r, c)| (r + by.0, c + by.1)).collect()
}

/// The cells of a straight line between two places (Bresenham's way), both ends inside.
pub fn line(from: Place, to: Place) -> Vec<Place> {
    let (dr, dc) = (to.0 - from.0, to.1 - from.1);
    let steps = dr.abs().max(dc.abs());
    if steps == 0 {
        return vec![from];
    }
    let round = |d: i32, i: i32| {
        let twice = 2 * d * i + steps;
        twice.div_euclid(2 * steps)
    };
    let step = |i| (from.0 + round(dr, i), from.1 + round(dc, i));
    (0..=steps).map(step).collect()
}

pub(crate) fn room(from: Place, to: Place) -> Vec<Place> {
    let row = |r: i32| (from.1..=to.1).map(move |c| (r, c));
    (from.0..=to.0).flat_map(row).collect()
}

/// The cells around a centre, row by row, whose steps from it are wanted.
fn within(centre: Place, radius: i32, wanted: impl Fn(i32, i32) -> bool) -> Vec<Place> {
    let steps = room((-radius, -radius), (radius, radius)).into_iter();
    let steps = steps.filter(|&(r, c)| wanted(r, c));
    steps.map(|(r, c)| (centre.0 + r, centre.1 + c)).collect()
}

pub fn disc(centre: Place, radius: i32) -> Vec<Place> {
    within(centre, radius, |r, c| {
        r * r + c * c <= radius * radius + radius
    })
}

/// The cells of a round ring one cell thick: the disc's cells that touch its outside.
pub fn ring(centre: Place, radius: i32) -> Vec<Place> {
    let inside = |(r, c): Place| r * r + c * c <= radius * radius + radius;
    let edge = |r, c| radius == 0 || around(false).any(|(dr, dc)| !inside((r + dr, c + dc)));
    within(centre, radius, |r, c| inside((r, c)) && edge(r, c))
}

pub fn square_ring(centre: Place, radius: i32) -> Vec<Place> {
    within(centre, radius, |r, c| r.abs().max(c.abs()) == radius)
}

/// A form turned by a quarter clockwise, its upper left corner at (0, 0).
pub fn quarter(form: &[Place]) -> Vec<Place> {
    let bottom = form.iter().map(|p| p.0).max().unwrap_or(0);
    let mut out: Vec<Place> = form.iter().map(|&(r, c)| (c, bottom - r)).collect();
    out.sort_unstable();
    out
}

/// Height and width of a form.
pub fn extent(form: &[Place]) -> (i32, i32) {
    let span = |v: Vec<i32>| {
        v.iter().max().copied().unwrap_or(0) - v.iter().min().copied().unwrap_or(0) + 1
    };
    (
        span(form.iter().map(|p| p.0).collect()),
        span(form.iter().map(|p| p.1).collect()),
    )
}
