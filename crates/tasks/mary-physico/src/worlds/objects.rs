//! What there is to see in a pair: its objects, and what became of each.
//!
//! Found from the cells alone, so that it is exact for any pair, generated or loaded. An object is a
//! connected part of one colour other than the background (sides or corners touching).

use serde::{Deserialize, Serialize};

use super::readings::part::bounds;
use crate::grid::{Grid, Pair, Place};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    pub colour: u8,
    pub cells: Vec<Place>,
    pub shape: String,
    /// Where it lies: the ninth of the grid that holds the middle of its bounding box.
    pub place: String,
    /// Its bounding box: first row, first column, last row, last column.
    pub bounds: [i32; 4],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The same cells in the same colour.
    Still(Object),
    /// The same cells in another colour.
    Recoloured { from: Object, to: Object },
    /// The same colour and form at another place.
    Moved {
        from: Object,
        to: Object,
        /// Rows down and columns to the right.
        by: Place,
    },
    /// The same colour, in part the same cells, another form.
    Reshaped { from: Object, to: Object },
    /// Only in the output.
    Appeared(Object),
    /// Only in the input.
    Vanished(Object),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairObjects {
    pub background: u8,
    pub input: Vec<Object>,
    pub output: Vec<Object>,
    /// What became of them; every object of both grids is in exactly one change.
    pub changes: Vec<Change>,
}

pub fn objects(pair: &Pair) -> PairObjects {
    let background = pair.background();
    let input = seen(&pair.input, background);
    let output = seen(&pair.output, background);
    PairObjects {
        background,
        changes: changes(&input, &output),
        input,
        output,
    }
}

fn seen(grid: &Grid, background: u8) -> Vec<Object> {
    grid.parts(background)
        .into_iter()
        .map(|cells| {
            let bounds = bounds(&cells).unwrap_or_default();
            let (r, c) = cells.first().copied().unwrap_or((0, 0));
            Object {
                colour: grid.at(r, c),
                shape: shape(&cells, bounds).to_owned(),
                place: place(grid, bounds).to_owned(),
                cells,
                bounds,
            }
        })
        .collect()
}

/// The name of a form; what has no name of its own is an "irregular shape".
fn shape(cells: &[Place], [top, left, bottom, right]: [i32; 4]) -> &'static str {
    let (height, width) = (bottom - top + 1, right - left + 1);
    let count = cells.len() as i32;
    let has = |r: i32, c: i32| cells.contains(&(r, c));
    if count == 1 {
        return "single cell";
    }
    if height == 1 {
        return "horizontal line";
    }
    if width == 1 {
        return "vertical line";
    }
    if count == height * width {
        return if height == width {
            "filled square"
        } else {
            "filled rectangle"
        };
    }
    let on_edge = |&(r, c): &Place| r == top || r == bottom || c == left || c == right;
    if height > 2 && width > 2 && count == 2 * (height + width) - 4 && cells.iter().all(on_edge) {
        return if height == width {
            "square outline"
        } else {
            "rectangle outline"
        };
    }
    if height == width && count == height {
        let falling = (0..height).all(|i| has(top + i, left + i));
        let rising = (0..height).all(|i| has(bottom - i, left + i));
        if falling || rising {
            return "diagonal line";
        }
    }
    let (mid_row, mid_col) = ((top + bottom) / 2, (left + right) / 2);
    let odd = height % 2 == 1 && width % 2 == 1;
    if odd
        && height > 2
        && width > 2
        && count == height + width - 1
        && cells.iter().all(|p| p.0 == mid_row || p.1 == mid_col)
    {
        return "plus";
    }
    if count == height + width - 1 {
        let corner = |r: i32, c: i32| cells.iter().all(|p| p.0 == r || p.1 == c);
        let [top_row, bottom_row] = [top, bottom].map(|r| corner(r, left) || corner(r, right));
        if top_row || bottom_row {
            return "L shape";
        }
    }
    "irregular shape"
}

/// The ninth of the grid in which the middle of the bounds lies.
fn place(grid: &Grid, [top, left, bottom, right]: [i32; 4]) -> &'static str {
    let third = |middle_twice: i32, length: usize| {
        // Twice the middle plus one, against two lengths: no rounding.
        (3 * (middle_twice + 1) / (2 * length.max(1) as i32)).clamp(0, 2)
    };
    match (
        third(top + bottom, grid.rows()),
        third(left + right, grid.cols()),
    ) {
        (0, 0) => "top left",
        (0, 1) => "top",
        (0, _) => "top right",
        (1, 0) => "left",
        (1, 1) => "centre",
        (1, _) => "right",
        (_, 0) => "bottom left",
        (_, 1) => "bottom",
        (_, _) => "bottom right",
    }
}

fn changes(input: &[Object], output: &[Object]) -> Vec<Change> {
    let mut before: Vec<Option<&Object>> = input.iter().map(Some).collect();
    let mut after: Vec<Option<&Object>> = output.iter().map(Some).collect();
    let mut found = Vec::new();
    let mut settle = |same: &dyn Fn(&Object, &Object) -> bool,
                      change: &dyn Fn(Object, Object) -> Change| {
        for b in &mut before {
            let Some(from) = *b else { continue };
            let near = after
                .iter_mut()
                .filter(|a| a.is_some_and(|to| same(from, to)));
            let nearest = near.min_by_key(|a| a.map_or(i32::MAX, |to| distance(from, to)));
            if let Some(slot) = nearest
                && let Some(to) = slot.take()
            {
                found.push(change(from.clone(), to.clone()));
                *b = None;
            }
        }
    };
    settle(
        &|a, b| a.colour == b.colour && a.cells == b.cells,
        &|_, to| Change::Still(to),
    );
    settle(&|a, b| a.cells == b.cells, &|from, to| Change::Recoloured {
        from,
        to,
    });
    settle(
        &|a, b| a.colour == b.colour && form(a) == form(b),
        &|from, to| Change::Moved {
            by: (to.bounds[0] - from.bounds[0], to.bounds[1] - from.bounds[1]),
            from,
            to,
        },
    );
    settle(
        &|a, b| a.colour == b.colour && a.cells.iter().any(|p| b.cells.contains(p)),
        &|from, to| Change::Reshaped { from, to },
    );
    found.extend(before.into_iter().flatten().cloned().map(Change::Vanished));
    found.extend(after.into_iter().flatten().cloned().map(Change::Appeared));
    found
}

fn form(object: &Object) -> Vec<Place> {
    let [top, left, ..] = object.bounds;
    let cells = object.cells.iter();
    cells.map(|p| (p.0 - top, p.1 - left)).collect()
}

fn distance(a: &Object, b: &Object) -> i32 {
    (a.bounds[0] - b.bounds[0]).abs() + (a.bounds[1] - b.bounds[1]).abs()
}
