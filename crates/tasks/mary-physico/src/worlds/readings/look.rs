//! What a reading looks at: both grids of a pair, what changed between them, their connected parts
//! and which of them went elsewhere. Found once for all readings of a pair, and only when asked for.

use std::cell::OnceCell;

pub(crate) use super::part::Part;
use super::part::hanging_together;
use super::shared::{exactly, exists, those};
use crate::grid::{Grid, Pair, Place, around};

/// The answer to a question about a pair. A question that takes the pair apart step by step with `?` may
/// find nothing to ask about: that is a no.
pub(crate) trait Answer {
    fn yes(self) -> bool;
}

impl Answer for bool {
    fn yes(self) -> bool {
        self
    }
}

impl Answer for Option<bool> {
    fn yes(self) -> bool {
        self == Some(true)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Move<'a> {
    pub(crate) from: &'a Part,
    pub(crate) to: &'a Part,
    pub(crate) by: Place,
}

/// How many of the colours that take part in a change only went elsewhere, and the most cells of one
/// that kept its number but did not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ways {
    pub(crate) movers: usize,
    pub(crate) reshaped: usize,
}

#[derive(Debug)]
pub struct Look {
    pub(crate) input: Grid,
    pub(crate) output: Grid,
    pub(crate) before: [usize; 10],
    pub(crate) after: [usize; 10],
    /// The cells that differ, row by row.
    pub(crate) changed: Vec<Place>,
    /// Every cell that differs was empty.
    pub(crate) only_added: bool,
    /// Every cell that differs is coloured in both.
    pub(crate) only_recoloured: bool,
    pub(crate) same_counts: bool,
    /// Colours that differing cells have, in either grid, other than black.
    pub(crate) touched: Vec<u8>,
    /// The most cells of a colour that takes part in the change and has as many as before.
    pub(crate) keeps: usize,
    /// Colours that are only in the output.
    pub(crate) fresh: Vec<u8>,
    /// Colours that are only in the input.
    pub(crate) lost: Vec<u8>,
    parts: OnceCell<[Vec<Part>; 2]>,
    /// Which parts changed, as indices.
    restless: OnceCell<[Vec<usize>; 2]>,
    ways: OnceCell<Ways>,
    bodies: OnceCell<[Vec<Part>; 2]>,
    turns: [OnceCell<Box<Look>>; 3],
}

impl Look {
    /// A look at a pair. A background of another colour is taken for black.
    pub fn new(pair: &Pair) -> Self {
        let Pair { input, output } = black_ground(pair);
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
        let colours =
            |wanted: &dyn Fn(u8) -> bool| -> Vec<u8> { (1u8..10).filter(|&c| wanted(c)).collect() };
        let touched: Vec<u8> = colours(&|c| touched.get(usize::from(c)) == Some(&true));
        let kept = touched.iter().map(|&c| (of(&before, c), of(&after, c)));
        Self {
            keeps: kept.filter(|(a, b)| a == b).map(|k| k.0).max().unwrap_or(0),
            touched,
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
            restless: OnceCell::new(),
            ways: OnceCell::new(),
            bodies: OnceCell::new(),
            turns: [OnceCell::new(), OnceCell::new(), OnceCell::new()],
        }
    }

    pub(crate) fn turned(&self, quarters: usize) -> &Self {
        let Some(cell) = quarters.checked_sub(1).and_then(|q| self.turns.get(q)) else {
            return self;
        };
        cell.get_or_init(|| Box::new(self.turned(quarters - 1).turned_once()))
    }

    /// What is counted stays the same; what lies somewhere is turned.
    fn turned_once(&self) -> Self {
        let bottom = self.rows() - 1;
        let turn = |&(r, c): &Place| (c, bottom - r);
        let mut changed: Vec<Place> = self.changed.iter().map(turn).collect();
        changed.sort_unstable();
        let parts = OnceCell::new();
        if let Some(both) = self.parts.get() {
            let turned =
                |part: &Part| Part::new(part.colour, part.cells.iter().map(turn).collect());
            let all = |parts: &Vec<Part>| {
                let mut all: Vec<Part> = parts.iter().map(turned).collect();
                all.sort_unstable_by(|a, b| a.cells.first().cmp(&b.cells.first()));
                all
            };
            let [before, after] = both;
            // A new cell is empty, so that this cannot fail.
            let _ = parts.set([all(before), all(after)]);
        }
        Self {
            input: self.input.turned(),
            output: self.output.turned(),
            changed,
            parts,
            touched: self.touched.clone(),
            fresh: self.fresh.clone(),
            lost: self.lost.clone(),
            restless: OnceCell::new(),
            ways: OnceCell::new(),
            bodies: OnceCell::new(),
            turns: [OnceCell::new(), OnceCell::new(), OnceCell::new()],
            ..*self
        }
    }

    /// Whether a question is true of the pair turned some way.
    pub(crate) fn some_way<A: Answer>(&self, asked: impl Fn(&Self) -> A) -> bool {
        (0..4).any(|q| asked(self.turned(q)).yes())
    }

    /// Whether a question is true of the pair as it lies, or turned by a quarter.
    pub(crate) fn lying_or_upright<A: Answer>(&self, asked: impl Fn(&Self) -> A) -> bool {
        (0..2).any(|q| asked(self.turned(q)).yes())
    }

    /// Whether a question is true of the two colours that take part, the one way round or the other.
    pub(crate) fn either_way<A: Answer>(&self, asked: impl Fn(u8, u8) -> A) -> bool {
        exactly(&self.touched).is_some_and(|&[a, b]| asked(a, b).yes() || asked(b, a).yes())
    }

    /// Whether a question is true of a colour that takes part besides this one.
    pub(crate) fn another<A: Answer>(&self, than: u8, asked: impl Fn(u8) -> A) -> bool {
        exists(self.touched.iter().filter(|c| **c != than), |&c| asked(c))
    }

    pub(crate) fn was(&self, (r, c): Place) -> u8 {
        self.input.at(r, c)
    }

    pub(crate) fn is(&self, (r, c): Place) -> u8 {
        self.output.at(r, c)
    }

    pub(crate) fn rows(&self) -> i32 {
        self.input.rows() as i32
    }

    pub(crate) fn cols(&self) -> i32 {
        self.input.cols() as i32
    }

    pub(crate) fn holds(&self, (r, c): Place) -> bool {
        self.input.holds(r, c)
    }

    /// Cells of this colour before.
    pub(crate) fn had(&self, colour: u8) -> usize {
        self.before.get(usize::from(colour)).copied().unwrap_or(0)
    }

    /// Cells of this colour after.
    pub(crate) fn has(&self, colour: u8) -> usize {
        self.after.get(usize::from(colour)).copied().unwrap_or(0)
    }

    /// There are as many cells of this colour as before, and at least so many.
    pub(crate) fn kept(&self, colour: u8, fewest: usize) -> bool {
        self.had(colour) >= fewest && self.had(colour) == self.has(colour)
    }

    pub(crate) fn one_fresh(&self) -> Option<u8> {
        exactly(&self.fresh).map(|[c]| *c)
    }

    pub(crate) fn one_lost(&self) -> Option<u8> {
        exactly(&self.lost).map(|[c]| *c)
    }

    /// The only colour of all that was added, where nothing else changed.
    pub(crate) fn one_added(&self) -> Option<u8> {
        let [colour] = exactly(&self.touched)?;
        self.only_added.then_some(*colour)
    }

    /// The cells that have this colour now and had another.
    pub(crate) fn came(&self, colour: u8) -> Vec<Place> {
        those(self.changed.iter().copied(), |&p| self.is(p) == colour)
    }

    /// The cells that had this colour and have another now.
    pub(crate) fn gone(&self, colour: u8) -> Vec<Place> {
        those(self.changed.iter().copied(), |&p| self.was(p) == colour)
    }

    fn both_parts(&self) -> &[Vec<Part>; 2] {
        self.parts
            .get_or_init(|| [&self.input, &self.output].map(|g| hanging_together(g, true)))
    }

    pub(crate) fn parts_before(&self) -> &[Part] {
        &self.both_parts()[0]
    }

    pub(crate) fn parts_after(&self) -> &[Part] {
        &self.both_parts()[1]
    }

    pub(crate) fn before_of(&self, colour: u8) -> Vec<&Part> {
        of_colour(self.parts_before(), colour)
    }

    pub(crate) fn after_of(&self, colour: u8) -> Vec<&Part> {
        of_colour(self.parts_after(), colour)
    }

    fn both_bodies(&self) -> &[Vec<Part>; 2] {
        self.bodies.get_or_init(|| {
            [&self.input, &self.output].map(|g| {
                let mut bodies = hanging_together(g, false);
                bodies.retain(|p| self.restless(p));
                bodies
            })
        })
    }

    /// The input's connected bodies, whatever their colours, of which some cell changed.
    pub(crate) fn bodies_before(&self) -> &[Part] {
        &self.both_bodies()[0]
    }

    /// The output's connected bodies, whatever their colours, of which some cell changed.
    pub(crate) fn bodies_after(&self) -> &[Part] {
        &self.both_bodies()[1]
    }

    /// Whether some cell of it changed.
    pub(crate) fn restless(&self, part: &Part) -> bool {
        part.cells.iter().any(|&p| self.was(p) != self.is(p))
    }

    fn restless_parts(&self) -> &[Vec<usize>; 2] {
        self.restless.get_or_init(|| {
            [self.parts_before(), self.parts_after()].map(|parts| {
                let changed = |(_, p): &(usize, &Part)| self.restless(p);
                let all = parts.iter().enumerate().filter(changed);
                all.map(|(i, _)| i).collect()
            })
        })
    }

    /// The parts that changed, leaving out some colours, each with the part of the same colour and
    /// form that it became; `None` if one has no counterpart or none changed.
    pub(crate) fn moves_but(&self, but: &[u8]) -> Option<Vec<Move<'_>>> {
        let [gone, come] = self.restless_parts();
        let wanted = |p: &&Part| !but.contains(&p.colour);
        let (before, after) = (self.parts_before(), self.parts_after());
        let gone = gone.iter().filter_map(|&i| before.get(i)).filter(wanted);
        let gone: Vec<&Part> = gone.collect();
        let come = come.iter().filter_map(|&i| after.get(i)).filter(wanted);
        let mut come: Vec<&Part> = come.collect();
        if gone.is_empty() || gone.len() != come.len() {
            return None;
        }
        let mut found = Vec::with_capacity(gone.len());
        for from in gone {
            let far = |to: &Part| {
                let (dr, dc) = from.step_to(to);
                dr.abs() + dc.abs() + if dr != 0 && dc != 0 { 100 } else { 0 }
            };
            let near = come.iter().copied().enumerate();
            let near = near.filter(|(_, to)| to.colour == from.colour && from.alike(to));
            let (i, to) = near.min_by_key(|(_, to)| far(to))?;
            come.remove(i);
            let by = from.step_to(to);
            found.push(Move { from, to, by });
        }
        Some(found)
    }

    /// The parts that changed, each with what it became; `None` if not all simply went elsewhere.
    pub(crate) fn moves(&self) -> Option<Vec<Move<'_>>> {
        self.same_counts.then(|| self.moves_but(&[]))?
    }

    pub(crate) fn ways(&self) -> Ways {
        *self.ways.get_or_init(|| {
            let kept = |c: &u8| self.kept(*c, 1);
            let touched = self.touched.iter().filter(|c| kept(c));
            let (movers, others): (Vec<u8>, Vec<u8>) =
                touched.partition(|c| self.moves_of(&[**c]).is_some());
            Ways {
                movers: movers.len(),
                reshaped: others.iter().map(|&c| self.had(c)).max().unwrap_or(0),
            }
        })
    }

    pub(crate) fn moves_of(&self, colours: &[u8]) -> Option<Vec<Move<'_>>> {
        let but: Vec<u8> = (1..10).filter(|c| !colours.contains(c)).collect();
        self.moves_but(&but)
    }

    /// The move of the only part of this colour that changed.
    pub(crate) fn one_move(&self, colour: u8) -> Option<Move<'_>> {
        exactly(&self.moves_of(&[colour])?).map(|[one]| *one)
    }

    pub(crate) fn one_part(&self, colour: u8) -> Option<(&Part, &Part)> {
        let (before, after) = (self.before_of(colour), self.after_of(colour));
        Some((exactly::<_, 1>(&before)?[0], exactly::<_, 1>(&after)?[0]))
    }

    /// What changed, as connected parts of one colour in the output; black cells left out.
    pub(crate) fn new_parts(&self) -> Vec<Part> {
        let mut only = Grid::new(self.output.rows(), self.output.cols());
        for &(r, c) in &self.changed {
            only.set(r, c, self.output.at(r, c));
        }
        hanging_together(&only, true)
    }

    /// Whether a cell is coloured and the same in both grids.
    pub(crate) fn stays(&self, place: Place) -> bool {
        self.was(place) != 0 && self.was(place) == self.is(place)
    }

    /// Whether something of another colour lies next to a part of one of the grids.
    pub(crate) fn attached(&self, part: &Part, grid: &Grid) -> bool {
        part.cells.iter().any(|&(r, c)| {
            around(true).any(|(dr, dc)| {
                let beside = grid.at(r + dr, c + dc);
                beside != 0 && beside != part.colour
            })
        })
    }

    pub(crate) fn has_parts(&self, colour: u8, before: usize, after: usize) -> bool {
        self.before_of(colour).len() == before && self.after_of(colour).len() == after
    }

    /// The colours that stay with at least one cell next to these cells (sides or corners).
    pub(crate) fn still_beside(&self, cells: &[Place]) -> Vec<u8> {
        let beside = cells.iter();
        let beside = beside.flat_map(|&(r, c)| around(true).map(move |(dr, dc)| (r + dr, c + dc)));
        let staying = beside.filter(|&at| self.stays(at));
        mary_platform::distinct(staying.map(|at| self.was(at)))
    }
}

fn of_colour(parts: &[Part], colour: u8) -> Vec<&Part> {
    parts.iter().filter(|p| p.colour == colour).collect()
}

/// The pair with black as its background.
fn black_ground(pair: &Pair) -> Pair {
    let black = |g: &Grid| g.places().any(|(r, c)| g.at(r, c) == 0);
    if black(&pair.input) || black(&pair.output) {
        return pair.clone();
    }
    let ground = pair.background();
    pair.map(|g| g.recoloured(ground, 0))
}

/// A cell that is there has this colour, or there is no cell.
pub(crate) fn edge_or(grid: &Grid, (r, c): Place, wanted: impl Fn(u8) -> bool) -> bool {
    grid.get(r, c).is_none_or(wanted)
}
