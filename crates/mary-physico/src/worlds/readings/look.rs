//! What a reading looks at: both grids of a pair, what changed between them, their connected parts
//! and which of them went elsewhere. Found once for all readings of a pair, and only when asked for.

use std::cell::OnceCell;

use crate::grid::{Grid, Pair, Place, around};

/// Connected cells of one colour, sides or corners touching.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its colour in the grid.
    pub(super) colour: u8,
    /// Its cells, row by row.
    pub(super) cells: Vec<Place>,
    /// First row, first column, last row, last column.
    pub(super) bounds: [i32; 4],
}

impl Part {
    /// A part of these cells.
    pub(super) fn new(colour: u8, mut cells: Vec<Place>) -> Self {
        cells.sort_unstable();
        let bounds = super::bounds(&cells).unwrap_or([0, 0, -1, -1]);
        Self {
            colour,
            cells,
            bounds,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn tall(&self) -> i32 {
        self.bounds[2] - self.bounds[0] + 1
    }

    pub(super) fn wide(&self) -> i32 {
        self.bounds[3] - self.bounds[1] + 1
    }

    /// Whether it fills its bounds.
    pub(super) fn is_box(&self) -> bool {
        self.len() as i32 == self.tall() * self.wide()
    }

    /// Whether it is one cell wide and straight along a row or a column.
    pub(super) fn is_run(&self) -> bool {
        self.is_box() && (self.tall() == 1 || self.wide() == 1)
    }

    /// Whether it is the outline of a box with room inside.
    pub(super) fn is_frame(&self) -> bool {
        let [t, l, b, r] = self.bounds;
        self.tall() > 2
            && self.wide() > 2
            && self.len() as i32 == 2 * (self.tall() + self.wide()) - 4
            && self
                .cells
                .iter()
                .all(|&(y, x)| y == t || y == b || x == l || x == r)
    }

    pub(super) fn has(&self, place: Place) -> bool {
        self.cells.binary_search(&place).is_ok()
    }

    /// Whether both have the same form, wherever they lie.
    pub(super) fn alike(&self, other: &Self) -> bool {
        self.len() == other.len() && {
            let by = self.step_to(other);
            self.cells
                .iter()
                .zip(&other.cells)
                .all(|(a, b)| (a.0 + by.0, a.1 + by.1) == *b)
        }
    }

    /// How far the other's corner lies from this one's.
    pub(super) fn step_to(&self, other: &Self) -> Place {
        (
            other.bounds[0] - self.bounds[0],
            other.bounds[1] - self.bounds[1],
        )
    }

    /// Twice the middle of its bounds.
    pub(super) fn middle(&self) -> Place {
        let [t, l, b, r] = self.bounds;
        (t + b, l + r)
    }

    /// Whether one of its cells touches one of these, by a side or a corner.
    pub(super) fn touches(&self, cells: &[Place]) -> bool {
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

/// A part that lies elsewhere in the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move<'a> {
    pub(super) from: &'a Part,
    pub(super) to: &'a Part,
    pub(super) by: Place,
}

/// A pair as readings see it.
#[derive(Debug)]
pub struct Look {
    pub(super) input: Grid,
    pub(super) output: Grid,
    /// How many cells have each colour in the input.
    pub(super) before: [usize; 10],
    /// How many cells have each colour in the output.
    pub(super) after: [usize; 10],
    /// The cells that differ, row by row.
    pub(super) changed: Vec<Place>,
    /// Every cell that differs was empty.
    pub(super) only_added: bool,
    /// Every cell that differs is coloured in both.
    pub(super) only_recoloured: bool,
    /// Every colour has as many cells as before.
    pub(super) same_counts: bool,
    /// Colours that differing cells have, in either grid, other than black.
    pub(super) touched: Vec<u8>,
    /// Colours that are only in the output.
    pub(super) fresh: Vec<u8>,
    /// Colours that are only in the input.
    pub(super) lost: Vec<u8>,
    parts: OnceCell<[Vec<Part>; 2]>,
    bodies: OnceCell<[Vec<Part>; 2]>,
    turns: [OnceCell<Box<Look>>; 3],
}

impl Look {
    /// A look at a pair. A background of another colour is taken for black.
    pub fn new(pair: &Pair) -> Self {
        let pair = black_ground(pair);
        let Pair { input, output } = pair;
        let (before, after) = (input.counts(), output.counts());
        let changed = input.places_unlike(&output);
        let mut touched = [false; 10];
        let (mut only_added, mut only_recoloured) = (true, true);
        for &(r, c) in &changed {
            let (a, b) = (input.at(r, c), output.at(r, c));
            only_added &= a == 0;
            only_recoloured &= a != 0 && b != 0;
            for colour in [a, b] {
                if let Some(t) = touched.get_mut(usize::from(colour)) {
                    *t = true;
                }
            }
        }
        let of = |counts: &[usize; 10], c: u8| counts.get(usize::from(c)).copied().unwrap_or(0);
        let colours = |wanted: &dyn Fn(u8) -> bool| (1u8..10).filter(|&c| wanted(c)).collect();
        Self {
            touched: colours(&|c| touched.get(usize::from(c)) == Some(&true)),
            fresh: colours(&|c| of(&before, c) == 0 && of(&after, c) > 0),
            lost: colours(&|c| of(&before, c) > 0 && of(&after, c) == 0),
            same_counts: before == after,
            input,
            output,
            before,
            after,
            changed,
            only_added,
            only_recoloured,
            parts: OnceCell::new(),
            bodies: OnceCell::new(),
            turns: [OnceCell::new(), OnceCell::new(), OnceCell::new()],
        }
    }

    /// The same pair turned by so many quarters.
    pub(super) fn turned(&self, quarters: usize) -> &Self {
        let Some(cell) = quarters.checked_sub(1).and_then(|q| self.turns.get(q)) else {
            return self;
        };
        cell.get_or_init(|| {
            let turn = |g: &Grid| (1..quarters).fold(g.turned(), |g, _| g.turned());
            Box::new(Self::new(&Pair {
                input: turn(&self.input),
                output: turn(&self.output),
            }))
        })
    }

    /// Whether a question is true of the pair turned some way.
    pub(super) fn some_way(&self, asked: impl Fn(&Self) -> bool) -> bool {
        (0..4).any(|q| asked(self.turned(q)))
    }

    /// Whether a question is true of the pair as it lies, or turned by a quarter.
    pub(super) fn lying_or_upright(&self, asked: impl Fn(&Self) -> bool) -> bool {
        (0..2).any(|q| asked(self.turned(q)))
    }

    pub(super) fn was(&self, (r, c): Place) -> u8 {
        self.input.at(r, c)
    }

    pub(super) fn is(&self, (r, c): Place) -> u8 {
        self.output.at(r, c)
    }

    pub(super) fn rows(&self) -> i32 {
        self.input.rows() as i32
    }

    pub(super) fn cols(&self) -> i32 {
        self.input.cols() as i32
    }

    pub(super) fn holds(&self, (r, c): Place) -> bool {
        self.input.holds(r, c)
    }

    /// Cells of this colour before.
    pub(super) fn had(&self, colour: u8) -> usize {
        self.before.get(usize::from(colour)).copied().unwrap_or(0)
    }

    /// Cells of this colour after.
    pub(super) fn has(&self, colour: u8) -> usize {
        self.after.get(usize::from(colour)).copied().unwrap_or(0)
    }

    /// There are as many cells of this colour as before, and at least so many.
    pub(super) fn kept(&self, colour: u8, fewest: usize) -> bool {
        self.had(colour) >= fewest && self.had(colour) == self.has(colour)
    }

    /// Whether only these colours are involved in what changed.
    pub(super) fn only_touches(&self, colours: &[u8]) -> bool {
        self.touched.iter().all(|c| colours.contains(c))
    }

    /// The only colour that is new, if there is one and only one.
    pub(super) fn one_fresh(&self) -> Option<u8> {
        match self.fresh.as_slice() {
            [c] => Some(*c),
            _ => None,
        }
    }

    /// The only colour that is gone, if there is one and only one.
    pub(super) fn one_lost(&self) -> Option<u8> {
        match self.lost.as_slice() {
            [c] => Some(*c),
            _ => None,
        }
    }

    /// The only colour of all that was added, where nothing else changed.
    pub(super) fn one_added(&self) -> Option<u8> {
        match self.touched.as_slice() {
            [c] if self.only_added => Some(*c),
            _ => None,
        }
    }

    /// The cells that have this colour now and had another.
    pub(super) fn came(&self, colour: u8) -> Vec<Place> {
        let mut cells = self.changed.clone();
        cells.retain(|&p| self.is(p) == colour);
        cells
    }

    /// The cells that had this colour and have another now.
    pub(super) fn gone(&self, colour: u8) -> Vec<Place> {
        let mut cells = self.changed.clone();
        cells.retain(|&p| self.was(p) == colour);
        cells
    }

    fn both_parts(&self) -> &[Vec<Part>; 2] {
        self.parts.get_or_init(|| {
            [&self.input, &self.output].map(|g| {
                let colour = |cells: &[Place]| cells.first().map_or(0, |&(r, c)| g.at(r, c));
                g.parts(0)
                    .into_iter()
                    .map(|cells| Part::new(colour(&cells), cells))
                    .collect()
            })
        })
    }

    /// The input's connected parts of one colour.
    pub(super) fn parts_before(&self) -> &[Part] {
        &self.both_parts()[0]
    }

    /// The output's connected parts of one colour.
    pub(super) fn parts_after(&self) -> &[Part] {
        &self.both_parts()[1]
    }

    /// The input's parts of this colour.
    pub(super) fn before_of(&self, colour: u8) -> Vec<&Part> {
        of_colour(self.parts_before(), colour)
    }

    /// The output's parts of this colour.
    pub(super) fn after_of(&self, colour: u8) -> Vec<&Part> {
        of_colour(self.parts_after(), colour)
    }

    fn both_bodies(&self) -> &[Vec<Part>; 2] {
        self.bodies.get_or_init(|| {
            [&self.input, &self.output].map(|g| {
                let mut mask = g.clone();
                for (r, c) in g.places() {
                    mask.set(r, c, u8::from(g.at(r, c) != 0));
                }
                mask.parts(0)
                    .into_iter()
                    .map(|cells| Part::new(0, cells))
                    .filter(|p| self.restless(p))
                    .collect()
            })
        })
    }

    /// The input's connected bodies, whatever their colours, of which some cell changed.
    pub(super) fn bodies_before(&self) -> &[Part] {
        &self.both_bodies()[0]
    }

    /// The output's connected bodies, whatever their colours, of which some cell changed.
    pub(super) fn bodies_after(&self) -> &[Part] {
        &self.both_bodies()[1]
    }

    /// Whether some cell of it changed.
    pub(super) fn restless(&self, part: &Part) -> bool {
        part.cells.iter().any(|&p| self.was(p) != self.is(p))
    }

    /// The parts that changed, leaving out some colours, each with the part of the same colour and
    /// form that it became; `None` if one has no counterpart or none changed.
    pub(super) fn moves_but(&self, but: &[u8]) -> Option<Vec<Move<'_>>> {
        let wanted = |p: &&Part| !but.contains(&p.colour) && self.restless(p);
        let gone: Vec<&Part> = self.parts_before().iter().filter(wanted).collect();
        let mut come: Vec<&Part> = self.parts_after().iter().filter(wanted).collect();
        if gone.is_empty() || gone.len() != come.len() {
            return None;
        }
        let mut found = Vec::with_capacity(gone.len());
        for from in gone {
            let far = |to: &Part| {
                let (dr, dc) = from.step_to(to);
                dr.abs() + dc.abs() + if dr != 0 && dc != 0 { 100 } else { 0 }
            };
            let (i, to) = come
                .iter()
                .copied()
                .enumerate()
                .filter(|(_, to)| to.colour == from.colour && from.alike(to))
                .min_by_key(|(_, to)| far(to))?;
            come.remove(i);
            let by = from.step_to(to);
            found.push(Move { from, to, by });
        }
        Some(found)
    }

    /// The parts that changed, each with what it became; `None` if not all simply went elsewhere.
    pub(super) fn moves(&self) -> Option<Vec<Move<'_>>> {
        if self.same_counts {
            self.moves_but(&[])
        } else {
            None
        }
    }

    /// The moves of parts of these colours only.
    pub(super) fn moves_of(&self, colours: &[u8]) -> Option<Vec<Move<'_>>> {
        let but: Vec<u8> = (1..10).filter(|c| !colours.contains(c)).collect();
        self.moves_but(&but)
    }

    /// What changed, as connected parts of one colour in the output; black cells left out.
    pub(super) fn new_parts(&self) -> Vec<Part> {
        let mut only = Grid::new(self.output.rows(), self.output.cols());
        for &(r, c) in &self.changed {
            only.set(r, c, self.output.at(r, c));
        }
        only.parts(0)
            .into_iter()
            .map(|cells| Part::new(cells.first().map_or(0, |&(r, c)| only.at(r, c)), cells))
            .collect()
    }

    /// Whether a cell is coloured and the same in both grids.
    pub(super) fn stays(&self, place: Place) -> bool {
        self.was(place) != 0 && self.was(place) == self.is(place)
    }

    /// The colours that stay with at least one cell next to these cells (sides or corners).
    pub(super) fn still_beside(&self, cells: &[Place]) -> Vec<u8> {
        let mut found = Vec::new();
        for &(r, c) in cells {
            for (dr, dc) in around(true) {
                let at = (r + dr, c + dc);
                if self.stays(at) && !found.contains(&self.was(at)) {
                    found.push(self.was(at));
                }
            }
        }
        found
    }
}

fn of_colour(parts: &[Part], colour: u8) -> Vec<&Part> {
    parts.iter().filter(|p| p.colour == colour).collect()
}

/// The pair with black as its background.
fn black_ground(pair: &Pair) -> Pair {
    if pair.input.count(0) + pair.output.count(0) > 0 {
        return pair.clone();
    }
    let ground = pair.background();
    pair.map(|g| g.recoloured(ground, 0))
}

/// A cell that is there has this colour, or there is no cell.
pub(super) fn edge_or(grid: &Grid, (r, c): Place, wanted: impl Fn(u8) -> bool) -> bool {
    grid.get(r, c).is_none_or(wanted)
}
