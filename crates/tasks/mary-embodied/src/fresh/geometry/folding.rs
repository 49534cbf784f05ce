//! A sheet folded a few times and punched once: how many holes, and where.

use mary_generators::{Stream, below, coin};

use crate::fresh::block::{Block, OPTIONS, Posed, counted};
use crate::fresh::said::{Level, Said, phrase};
use crate::fresh::sketch::{BLACK, FLAP, GREY, PAPER, RED, Sketch, WIDTH};

/// A fold along the line after column or row `line`; the part before or after it goes over the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fold {
    columns: bool,
    line: usize,
    /// The part with the smaller numbers is the one that moves.
    low_moves: bool,
}

/// What a sheet of `size` by `size` squares covers after some folds, along one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Extent {
    from: usize,
    to: usize,
}

impl Extent {
    fn whole(to: usize) -> Self {
        Self { from: 0, to }
    }
}

#[derive(Debug, Clone)]
struct Folded {
    size: usize,
    folds: Vec<Fold>,
    columns: Extent,
    rows: Extent,
    /// Column and row of the hole, from 0.
    hole: (usize, usize),
}

impl Folded {
    fn draw(rng: &mut Stream, size: usize, folds: usize) -> Self {
        let whole = Extent::whole(size);
        let mut sheet = Self {
            size,
            folds: Vec::with_capacity(folds),
            columns: whole,
            rows: whole,
            hole: (0, 0),
        };
        for _ in 0..folds {
            sheet.fold(rng);
        }
        let within = |rng: &mut Stream, e: Extent| e.from + below(rng, e.to - e.from);
        sheet.hole = (within(rng, sheet.columns), within(rng, sheet.rows));
        sheet
    }

    /// One more fold, the smaller part over the larger, if there is room for one.
    fn fold(&mut self, rng: &mut Stream) {
        let columns = coin(rng);
        let extent = match columns {
            true => &mut self.columns,
            false => &mut self.rows,
        };
        let long = extent.to - extent.from;
        if long < 2 {
            return;
        }
        let part = 1 + below(rng, long / 2);
        let low_moves = coin(rng);
        let line = if low_moves {
            extent.from + part
        } else {
            extent.to - part
        };
        let fold = Fold {
            columns,
            line,
            low_moves,
        };
        fold.apply(extent);
        self.folds.push(fold);
    }

    /// The columns (or rows) of the sheet that end up over one place, found by unfolding backwards.
    fn layers(&self, columns: bool, place: usize) -> Vec<usize> {
        let mut layers = vec![place];
        for fold in self.folds.iter().rev().filter(|f| f.columns == columns) {
            let extent = self.before(fold, columns);
            // What lies `d` squares beyond the line came from `d` squares before it.
            let mirror = |&at: &usize| (2 * fold.line).checked_sub(at + 1);
            let inside = |at: &usize| (extent.from..extent.to).contains(at);
            let mirrored = layers.iter().filter_map(mirror).filter(inside);
            layers.extend(mirrored.collect::<Vec<_>>());
        }
        layers.sort_unstable();
        layers
    }

    fn before(&self, until: &Fold, columns: bool) -> Extent {
        let mut extent = Extent::whole(self.size);
        let earlier = self.folds.iter().take_while(|f| *f != until);
        for fold in earlier.filter(|f| f.columns == columns) {
            fold.apply(&mut extent);
        }
        extent
    }

    fn holes(&self) -> Vec<(usize, usize)> {
        let rows = self.layers(false, self.hole.1);
        let columns = self.layers(true, self.hole.0);
        let of = |&c: &usize| rows.iter().map(move |&r| (c, r));
        columns.iter().flat_map(of).collect()
    }

    fn words(&self) -> Said {
        let size = self.size;
        let mut text = phrase("fold.sheet").with("size", size);
        for (number, fold) in self.folds.iter().enumerate() {
            text = text.then(&fold.words(number == 0));
        }
        let (column, row) = (self.hole.0 + 1, self.hole.1 + 1);
        let hole = phrase("fold.hole").with("column", column).with("row", row);
        text.then(&hole)
    }

    fn posed(&self, ask: &Said) -> Posed {
        Posed {
            words: self.words().then(ask),
            seen: phrase("fold.seen").fill("ask", ask),
            caption: phrase("fold.caption"),
            sketch: self.sketch(),
        }
    }

    fn sketch(&self) -> Sketch {
        let panels = self.folds.len() + 1;
        // Two to a row, read like text.
        let room = WIDTH as f64 / 2.0;
        let side = room - 24.0;
        let mut sketch = Sketch::new(room as usize * panels.div_ceil(2));
        let whole = Extent::whole(self.size);
        let (mut columns, mut rows) = (whole, whole);
        let mut flaps: Vec<(Extent, Extent)> = Vec::new();
        for panel in 0..panels {
            let left = (panel % 2) as f64 * room + 12.0;
            let top = (panel / 2) as f64 * room + 12.0;
            let step = side / self.size as f64;
            let at = |c: f64, r: f64| [left + c * step, top + r * step];
            sheet(&mut sketch, &at, (columns, rows), PAPER);
            for flap in &flaps {
                sheet(&mut sketch, &at, *flap, FLAP);
            }
            for line in 0..=self.size {
                let (l, n) = (line as f64, self.size as f64);
                sketch.line(at(l, 0.0), at(l, n), 1.0, GREY);
                sketch.line(at(0.0, l), at(n, l), 1.0, GREY);
            }
            match self.folds.get(panel) {
                Some(fold) => {
                    fold.mark(&mut sketch, &at, (columns, rows));
                    let covered = match fold.columns {
                        true => (fold.apply(&mut columns), rows),
                        false => (columns, fold.apply(&mut rows)),
                    };
                    // Flaps that moved along are hidden by the new one or carried over with it.
                    flaps.retain_mut(|f| clip(f, (columns, rows)));
                    flaps.push(covered);
                }
                None => {
                    let (c, r) = (self.hole.0 as f64 + 0.5, self.hole.1 as f64 + 0.5);
                    sketch.disc(at(c, r), step * 0.24, RED);
                }
            }
        }
        sketch
    }
}

/// Cuts a flap to what is still covered; false when nothing is left of it.
fn clip(flap: &mut (Extent, Extent), to: (Extent, Extent)) -> bool {
    let cut = |e: &mut Extent, by: Extent| {
        e.from = e.from.max(by.from);
        e.to = e.to.min(by.to);
        e.from < e.to
    };
    cut(&mut flap.0, to.0) & cut(&mut flap.1, to.1)
}

fn sheet(
    sketch: &mut Sketch,
    at: &dyn Fn(f64, f64) -> [f64; 2],
    (c, r): (Extent, Extent),
    paint: [u8; 3],
) {
    let [left, right, top, bottom] = [c.from, c.to, r.from, r.to].map(|x| x as f64);
    sketch.rect(at(left, top), at(right, bottom), paint);
}

impl Fold {
    fn words(&self, first: bool) -> Said {
        let then = phrase(if first { "fold.first" } else { "fold.then" });
        let moving = match (self.columns, self.low_moves) {
            (true, true) => "fold.left",
            (true, false) => "fold.right",
            (false, true) => "fold.upper",
            (false, false) => "fold.lower",
        };
        let (one, two) = (self.line, self.line + 1);
        let said = phrase(moving).fill("then", &then);
        said.with("one", one).with("two", two)
    }

    /// What is still covered afterwards, and where the moved part now lies.
    fn apply(&self, extent: &mut Extent) -> Extent {
        let line = self.line;
        let (from, to) = match self.low_moves {
            true => (line, 2 * line - std::mem::replace(&mut extent.from, line)),
            false => (2 * line - std::mem::replace(&mut extent.to, line), line),
        };
        Extent { from, to }
    }

    fn mark(
        &self,
        sketch: &mut Sketch,
        at: &dyn Fn(f64, f64) -> [f64; 2],
        (columns, rows): (Extent, Extent),
    ) {
        let line = self.line as f64;
        let reach = if self.low_moves { -0.6 } else { 0.6 };
        let along = if self.columns { rows } else { columns };
        // Across the line, then along it.
        let at = |x: f64, y: f64| if self.columns { at(x, y) } else { at(y, x) };
        let (from, to) = (along.from as f64, along.to as f64);
        sketch.dashes(at(line, from), at(line, to), 3.0, BLACK);
        let middle = (from + to) / 2.0;
        sketch.arrow(at(line + reach, middle), at(line - reach, middle), 3.5, RED);
    }
}

/// Columns of the sheet, and folds, of a level: (least, how many to choose from).
fn extent(level: Level) -> ((usize, usize), (usize, usize)) {
    let sizes = level.pick((4, 3), [(4, 2), (5, 2), (6, 3), (7, 3)]);
    (sizes, level.pick((2, 2), [(2, 1), (3, 1), (4, 1), (5, 1)]))
}

pub(super) fn square(column: usize, row: usize) -> Said {
    let said = phrase("fold.square").with("column", column);
    said.with("row", row)
}

pub fn count(rng: &mut Stream, level: Level) -> Option<Block> {
    let (sizes, fold_numbers) = extent(level);
    let size = sizes.0 + below(rng, sizes.1);
    let ask = phrase("fold.count");
    counted(rng, 60, |rng| {
        let folds = fold_numbers.0 + below(rng, fold_numbers.1);
        let sheet = Folded::draw(rng, size, folds);
        (sheet.folds.len() == folds).then(|| (sheet.holes().len(), sheet.posed(&ask)))
    })
}

pub fn place(rng: &mut Stream, level: Level) -> Option<Block> {
    let (sizes, fold_numbers) = extent(level);
    let size = sizes.0 + below(rng, sizes.1);
    let mut sheets = Vec::with_capacity(OPTIONS);
    let mut holes: Vec<Vec<(usize, usize)>> = Vec::with_capacity(OPTIONS);
    for _ in 0..OPTIONS {
        let folds = fold_numbers.0 + below(rng, fold_numbers.1);
        let sheet = Folded::draw(rng, size, folds);
        // As they come, a sheet may run out of room for its last fold.
        if level != Level::Any && sheet.folds.len() < folds {
            return None;
        }
        holes.push(sheet.holes());
        sheets.push(sheet);
    }
    let mut options = Vec::with_capacity(OPTIONS);
    for (number, own) in holes.iter().enumerate() {
        let punched = sheets.get(number)?.hole;
        let elsewhere = |square: &(usize, usize)| {
            let mut others = holes.iter().enumerate().filter(|(n, _)| *n != number);
            others.any(|(_, theirs)| theirs.contains(square))
        };
        let only_here = |square: &&(usize, usize)| **square != punched && !elsewhere(square);
        let fitting: Vec<&(usize, usize)> = own.iter().filter(only_here).collect();
        let (column, row) = fitting.get(below(rng, fitting.len()))?;
        options.push(square(column + 1, row + 1));
    }
    let ask = phrase("fold.place");
    let questions = sheets.iter().map(|s| s.posed(&ask)).collect();
    Some(Block::new(options, questions))
}
