//! Connected cells: parts of one colour, and bodies of any colours.

use super::shared::every;
use crate::grid::{Grid, Place, around};

/// Connected cells of one colour, sides or corners touching.
#[derive(Debug, Clone)]
pub struct Part {
    pub(crate) colour: u8,
    pub(crate) cells: Vec<Place>,
    /// First row, first column, last row, last column.
    pub(crate) bounds: [i32; 4],
}

impl Part {
    pub(crate) fn new(colour: u8, mut cells: Vec<Place>) -> Self {
        cells.sort_unstable();
        let bounds = bounds(&cells).unwrap_or([0, 0, -1, -1]);
        Self {
            colour,
            cells,
            bounds,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn tall(&self) -> i32 {
        self.bounds[2] - self.bounds[0] + 1
    }

    pub(crate) fn wide(&self) -> i32 {
        self.bounds[3] - self.bounds[1] + 1
    }

    pub(crate) fn is_box(&self) -> bool {
        self.len() as i32 == self.tall() * self.wide()
    }

    /// Whether it is one cell wide and straight along a row or a column.
    pub(crate) fn is_run(&self) -> bool {
        self.is_box() && (self.tall() == 1 || self.wide() == 1)
    }

    /// Whether it is the outline of a box with room inside.
    pub(crate) fn is_frame(&self) -> bool {
        let [t, l, b, r] = self.bounds;
        self.tall() > 2
            && self.wide() > 2
            && self.len() as i32 == 2 * (self.tall() + self.wide()) - 4
            && every(&self.cells, |&(y, x)| y == t || y == b || x == l || x == r)
    }

    pub(crate) fn has(&self, place: Place) -> bool {
        self.cells.binary_search(&place).is_ok()
    }

    /// Whether both have the same form, wherever they lie.
    pub(crate) fn alike(&self, other: &Self) -> bool {
        self.len() == other.len() && {
            let by = self.step_to(other);
            let mut cells = self.cells.iter().zip(&other.cells);
            cells.all(|(a, b)| (a.0 + by.0, a.1 + by.1) == *b)
        }
    }

    /// How far the other's corner lies from this one's.
    pub(crate) fn step_to(&self, other: &Self) -> Place {
        (
            other.bounds[0] - self.bounds[0],
            other.bounds[1] - self.bounds[1],
        )
    }

    /// Its last column, or its first where the way is to the left.
    pub(crate) fn side(&self, way: i32) -> i32 {
        self.bounds[if way > 0 { 3 } else { 1 }]
    }

    /// The column next to that side.
    pub(crate) fn beyond(&self, way: i32) -> i32 {
        self.side(way) + if way > 0 { 1 } else { -1 }
    }

    /// Twice the middle of its bounds.
    pub(crate) fn middle(&self) -> Place {
        let [t, l, b, r] = self.bounds;
        (t + b, l + r)
    }

    /// Whether one of its cells touches one of these, by a side or a corner.
    pub(crate) fn touches(&self, cells: &[Place]) -> bool {
        let [t, l, b, r] = self.bounds;
        cells.iter().any(|&(y, x)| {
            y >= t - 1
                && y <= b + 1
                && x >= l - 1
                && x <= r + 1
                && (-1..=1).any(|dr| (-1..=1).any(|dc| self.has((y + dr, x + dc))))
        })
    }
}

/// The cells that are not black and touch by a side or a corner, of one colour each or of any.
pub(crate) fn hanging_together(grid: &Grid, one_colour: bool) -> Vec<Part> {
    let places = grid.places_where(|c| c != 0);
    // The colours with a black rim, so that no neighbour lies outside.
    let wide = grid.cols() + 2;
    let index = |(r, c): Place| (r + 1) as usize * wide + (c + 1) as usize;
    let mut kinds = vec![0u8; wide * (grid.rows() + 2)];
    for &(r, c) in &places {
        if let Some(kind) = kinds.get_mut(index((r, c))) {
            *kind = if one_colour { grid.at(r, c) } else { 1 };
        }
    }
    let steps = [1, wide - 1, wide, wide + 1];
    let mut found = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for start in places.into_iter().map(index) {
        let kind = kinds.get(start).copied().unwrap_or(0);
        if kind == 0 {
            continue;
        }
        let mut cells = Vec::new();
        let mut reach = |at: usize, open: &mut Vec<usize>| {
            if let Some(other) = kinds.get_mut(at)
                && *other == kind
            {
                *other = 0;
                open.push(at);
            }
        };
        reach(start, &mut open);
        while let Some(at) = open.pop() {
            cells.push(((at / wide) as i32 - 1, (at % wide) as i32 - 1));
            for step in steps {
                reach(at + step, &mut open);
                reach(at.wrapping_sub(step), &mut open);
            }
        }
        found.push(Part::new(if one_colour { kind } else { 0 }, cells));
    }
    found
}

/// The bounds of cells: first row, first column, last row, last column.
pub(crate) fn bounds(cells: &[Place]) -> Option<[i32; 4]> {
    let (&first, rest) = cells.split_first()?;
    let start = [first.0, first.1, first.0, first.1];
    Some(rest.iter().fold(start, |[t, l, b, r], &(y, x)| {
        [t.min(y), l.min(x), b.max(y), r.max(x)]
    }))
}

pub(crate) fn area(cells: &[Place]) -> i32 {
    bounds(cells).map_or(0, |[t, l, b, r]| (b - t + 1) * (r - l + 1))
}

pub(crate) fn connected(cells: &[Place]) -> bool {
    let mut left: Vec<Place> = cells.to_vec();
    let mut open: Vec<Place> = left.pop().into_iter().collect();
    while let Some((r, c)) = open.pop() {
        left.retain(|&(y, x)| {
            let near = (y - r).abs() <= 1 && (x - c).abs() <= 1;
            if near {
                open.push((y, x));
            }
            !near
        });
    }
    left.is_empty()
}

/// How many sides of cells face another colour.
pub(crate) fn skin(grid: &Grid, cells: &[Place]) -> usize {
    let faces = |&(r, c): &Place| {
        let own = grid.get(r, c);
        let sides = around(false).filter(|(dr, dc)| grid.get(r + dr, c + dc) != own);
        sides.count()
    };
    cells.iter().map(faces).sum()
}

/// The places from which the edge can be reached without crossing this colour, as ones.
pub(crate) fn outside(grid: &Grid, wall: u8) -> Grid {
    let mut seen = Grid::new(grid.rows(), grid.cols());
    let (last_row, last_col) = (grid.rows() as i32 - 1, grid.cols() as i32 - 1);
    let at_edge = |r: i32, c: i32| r == 0 || c == 0 || r == last_row || c == last_col;
    let open = grid.places();
    let open = open.filter(|&(r, c)| at_edge(r, c) && grid.at(r, c) != wall);
    let mut open: Vec<Place> = open.collect();
    for &(r, c) in &open {
        seen.set(r, c, 1);
    }
    while let Some((r, c)) = open.pop() {
        for (dr, dc) in around(false) {
            let (r, c) = (r + dr, c + dc);
            if grid.get(r, c).is_some_and(|v| v != wall) && seen.at(r, c) == 0 {
                seen.set(r, c, 1);
                open.push((r, c));
            }
        }
    }
    seen
}
