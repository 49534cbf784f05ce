//! Grids as pictures: the prompt picture of an instance (inputs left, outputs right, one row a pair),
//! and contact sheets that show many concepts at once.
//!
//! The ten colours are ARC's. Cells have whole sizes and thin lines between them, so that nothing is
//! blurred before a model looks at it.

mod letters;

use mary_items::{Colour, Packing, Picture, PictureError};

use crate::grid::{Grid, Pair};
use crate::instances::{Level, Planned, planned};
use crate::worlds::{Concept, Set};

/// The colours of the cells: ARC's.
pub const ARC_COLOURS: [[u8; 3]; 10] = [
    [0x00, 0x00, 0x00],
    [0x00, 0x74, 0xd9],
    [0xff, 0x41, 0x36],
    [0x2e, 0xcc, 0x40],
    [0xff, 0xdc, 0x00],
    [0xaa, 0xaa, 0xaa],
    [0xf0, 0x12, 0xbe],
    [0xff, 0x85, 0x1b],
    [0x7f, 0xdb, 0xff],
    [0x87, 0x0c, 0x25],
];

const PAPER: Colour = [0xff, 0xff, 0xff];
const LINE: Colour = [0x55, 0x55, 0x55];
const INK: Colour = [0x11, 0x11, 0x11];

/// The longest side of a prompt picture: what vision models take without shrinking it.
pub const LONGEST_SIDE: u32 = 1024;
/// The largest cell of a prompt picture, in dots.
const LARGEST_CELL: u32 = 24;

/// One picture of all pairs: inputs in the left column, outputs in the right, one row a pair. All
/// cells have the same whole size, as large as fits.
pub fn prompt(pairs: &[Pair]) -> Picture {
    let widest = |side: fn(&Pair) -> &Grid| pairs.iter().map(|p| side(p).cols()).max().unwrap_or(1);
    let (left, right) = (widest(|p| &p.input) as u32, widest(|p| &p.output) as u32);
    let tall = |p: &Pair| p.input.rows().max(p.output.rows()) as u32;
    let heights: u32 = pairs.iter().map(tall).sum();
    let rows = pairs.len().max(1) as u32;
    // A gap of two cells in the middle and one all around and between the rows.
    let across = left + right + 4;
    let down = heights + rows + 1;
    let cell = ((LONGEST_SIDE - 2) / across.max(down).max(1)).clamp(2, LARGEST_CELL);
    let mut picture = Picture::new(across * cell + 1, down * cell + 1, PAPER);
    let mut top = cell;
    for pair in pairs {
        grid(&mut picture, &pair.input, (cell, top), cell);
        grid(&mut picture, &pair.output, ((left + 3) * cell, top), cell);
        top += (tall(pair) + 1) * cell;
    }
    picture
}

/// The picture as PNG. Flat boxes pack best without a filter: a tenth of the usual size.
pub fn png(picture: &Picture) -> Result<Vec<u8>, PictureError> {
    picture.png(Packing::Flat)
}

/// A contact sheet: a row for every aspect of these concepts, with its name and the three pairs of an
/// instance as it is asked, core where the concept has core instances, else associative.
pub fn sheet(concepts: &[&'static Concept], seed: u64) -> Picture {
    let rows: Vec<_> = concepts
        .iter()
        .flat_map(|c| c.aspects.iter().map(move |a| (*c, a)))
        .collect();
    const CELL: u32 = 6;
    const SLOT: u32 = 18 * CELL + 8;
    const LABEL: u32 = 20;
    const TALL: u32 = 18 * CELL + LABEL + 6;
    // As often as a concept has aspects, so that each of them comes.
    let times = concepts.iter().map(|c| c.aspects.len()).max().unwrap_or(1);
    // Blocks that cannot be dealt would be an error of a run; a row without grids says so here.
    let core = planned(Level::Core, seed, times).unwrap_or_default();
    let associative = planned(Level::Associative, seed, times).unwrap_or_default();
    let mut picture = Picture::new(SLOT * 6 + 48, TALL * rows.len() as u32 + 8, PAPER);
    for (i, (concept, aspect)) in rows.into_iter().enumerate() {
        let top = i as u32 * TALL + 4;
        letters::write(
            &mut picture,
            (8, top),
            2,
            &format!("{}: {}", concept.name, aspect.id),
            INK,
        );
        let all = match concept.set {
            Set::Associative => &associative,
            Set::CoreDev | Set::CoreTest => &core,
        };
        let shows = |p: &&Planned| {
            p.concept().id == concept.id && p.aspect().is_some_and(|a| a.id == aspect.id)
        };
        let found = all.iter().find(shows).and_then(|p| p.draw().ok());
        let pairs = found.map(|i| i.pairs).unwrap_or_default();
        for (j, pair) in pairs.iter().enumerate() {
            let x = 8 + j as u32 * (2 * SLOT + 16);
            grid(&mut picture, &pair.input, (x, top + LABEL), CELL);
            grid(&mut picture, &pair.output, (x + SLOT, top + LABEL), CELL);
        }
    }
    picture
}

/// One grid with its upper left corner here.
fn grid(picture: &mut Picture, grid: &Grid, (x, y): (u32, u32), cell: u32) {
    for (r, c) in grid.places() {
        let colour = ARC_COLOURS
            .get(usize::from(grid.at(r, c)))
            .copied()
            .unwrap_or([0; 3]);
        let (left, top) = (x + c as u32 * cell, y + r as u32 * cell);
        block(picture, (left, top), (cell + 1, cell + 1), LINE);
        block(picture, (left + 1, top + 1), (cell - 1, cell - 1), colour);
    }
}

/// A filled box; what lies outside the picture is left out.
fn block(picture: &mut Picture, (x, y): (u32, u32), (width, height): (u32, u32), colour: Colour) {
    for dy in y..(y + height).min(picture.height()) {
        for dx in x..(x + width).min(picture.width()) {
            picture.set(dx, dy, colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(rows: usize, cols: usize) -> Pair {
        let mut output = Grid::new(rows, cols);
        output.set(0, 0, 3);
        Pair {
            input: Grid::new(rows, cols),
            output,
        }
    }

    #[test]
    fn inputs_stand_left_and_outputs_right() {
        let picture = prompt(&[pair(12, 12), pair(12, 12), pair(12, 12)]);
        let cell = (LONGEST_SIDE - 2) / (3 * 12 + 4);
        let cell = cell.min(LARGEST_CELL);
        let green = ARC_COLOURS[3];
        let middle = |left: u32, top: u32| picture.get(left + cell / 2, top + cell / 2).unwrap();
        assert_eq!(middle(cell, cell), [0, 0, 0]);
        for row in 0..3 {
            assert_eq!(middle(15 * cell, (1 + 13 * row) * cell), green);
        }
    }

    #[test]
    fn pictures_fit_what_models_see() {
        for size in [1, 5, 12, 18, 20] {
            let picture = prompt(&[pair(size, size), pair(size, size), pair(size, size)]);
            assert!(picture.width().max(picture.height()) <= LONGEST_SIDE);
            if size >= 12 {
                assert!(picture.height() >= 768, "{size}: {}", picture.height());
            }
        }
        // A size no grid of ours has, but ARC has: still a picture.
        assert!(prompt(&[pair(30, 30), pair(30, 30), pair(30, 30)]).height() <= LONGEST_SIDE);
        assert!(prompt(&[]).width() > 0);
    }

    #[test]
    fn png_can_be_read_back() {
        let picture = prompt(&[pair(3, 4)]);
        let bytes = png(&picture).unwrap();
        assert_eq!(Picture::from_png(&bytes).unwrap(), picture);
    }
}
