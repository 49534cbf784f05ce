//! Grids as pictures: the prompt picture of an instance (inputs left, outputs right, one row a pair),
//! and contact sheets that show many concepts at once.
//!
//! The ten colours are ARC's but for brown, which is lighter here: ARC's hardly stands out from black.
//! Cells have whole sizes and thin lines between them, so that nothing is blurred before a model looks
//! at it, and keep 14 dots a side after what common vision models do to a picture (a test has
//! the list).

mod letters;

use mary_generators::{Colour, Packing, Picture, PictureError};

use crate::grid::{Grid, Pair};
use crate::instances::{Level, Planned, planned};
use crate::worlds::{Concept, Split};

/// The colours of the cells: ARC's, with a lighter brown (ARC's has a contrast of 1.9 to black).
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
    [0xa0, 0x52, 0x2d],
];

const PAPER: Colour = [0xff, 0xff, 0xff];
const LINE: Colour = [0x55, 0x55, 0x55];
const INK: Colour = [0x11, 0x11, 0x11];

/// The longest side of a prompt picture, unless cells would be smaller than [`SMALLEST_CELL`].
pub const LONGEST_SIDE: u32 = 1024;
/// The largest cell of a prompt picture, in dots.
const LARGEST_CELL: u32 = 24;
/// The smallest cell of a prompt picture, in dots, before and after a model's own resizing.
pub const SMALLEST_CELL: u32 = 14;

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
    let cell = ((LONGEST_SIDE - 2) / across.max(down).max(1)).clamp(SMALLEST_CELL, LARGEST_CELL);
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
/// instance as it is asked, core where the aspect has core instances, else associative. Without titles
/// rows have numbers instead, for a look without knowing what it is.
pub fn sheet(concepts: &[&'static Concept], seed: u64, titled: bool) -> Picture {
    let of = |c: &&'static Concept| c.aspects.iter().map(|a| (*c, a)).collect::<Vec<_>>();
    let rows: Vec<_> = concepts.iter().flat_map(of).collect();
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
            &if titled {
                format!("{}: {}", concept.name, aspect.id)
            } else {
                (i + 1).to_string()
            },
            INK,
        );
        let all = match concept.set {
            Split::Associative => &associative,
            _ if aspect.associative_only => &associative,
            Split::CoreDev | Split::CoreTest => &core,
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

fn grid(picture: &mut Picture, grid: &Grid, (x, y): (u32, u32), cell: u32) {
    for (r, c) in grid.places() {
        let colour = ARC_COLOURS.get(usize::from(grid.at(r, c)));
        let colour = colour.copied().unwrap_or([0; 3]);
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

    /// What a vision model does to a picture before it looks at it, as its maker describes it.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Resizing {
        models: &'static str,
        longest: u32,
        /// The shorter side is brought down to this.
        shorter: u32,
        /// The most dots in all that are kept.
        dots: u32,
    }

    /// The resizing of common vision models. Models that take one small square (336 or 448 dots a side) or
    /// LLaVA-NeXT's 672 are not among them: three pairs of 18 × 18 cells have 11 dots a cell there.
    const RESIZING: [Resizing; 5] = [
        Resizing {
            models: "GPT-4V, GPT-4o and later (high detail)",
            longest: 2048,
            shorter: 768,
            dots: u32::MAX,
        },
        Resizing {
            models: "Claude 3 and later",
            longest: 1568,
            shorter: u32::MAX,
            dots: 1_200_000,
        },
        Resizing {
            models: "Gemini 1.5 and later",
            longest: 3072,
            shorter: u32::MAX,
            dots: u32::MAX,
        },
        Resizing {
            models: "Qwen2-VL and Qwen2.5-VL",
            longest: u32::MAX,
            shorter: u32::MAX,
            dots: 12_845_056,
        },
        Resizing {
            models: "InternVL 1.5 and later (448-dot tiles, at most twelve)",
            longest: 1344,
            shorter: u32::MAX,
            dots: 2_408_448,
        },
    ];

    impl Resizing {
        /// By how much a picture of this size is shrunk; 1 where it is kept.
        fn scale(&self, width: u32, height: u32) -> f64 {
            let (short, long) = (width.min(height), width.max(height));
            let side = |limit: u32, side: u32| f64::from(limit) / f64::from(side.max(1));
            let area =
                (f64::from(self.dots) / (f64::from(width) * f64::from(height)).max(1.0)).sqrt();
            let scale = side(self.longest, long).min(area).min(1.0);
            scale.min(side(self.shorter, short))
        }
    }

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
        for rows in [1, 5, 12, 15, 18, 20] {
            for cols in [12, 15, 18, 20] {
                let picture = prompt(&[pair(rows, cols), pair(rows, cols), pair(rows, cols)]);
                let (width, height) = (picture.width(), picture.height());
                assert!(width.max(height) <= LONGEST_SIDE);
                // One gap of a cell above, below and between the rows.
                let cell = f64::from(height - 1) / (3 * rows + 4) as f64;
                for model in RESIZING {
                    let seen = cell * model.scale(width, height);
                    assert!(
                        seen >= f64::from(SMALLEST_CELL),
                        "{rows} x {cols}: cells of {seen:.1} dots for {}",
                        model.models
                    );
                }
            }
        }
        // Sizes no grid of ours has, but ARC has: whole cells of 14 dots, longer than other pictures.
        let largest = prompt(&[pair(30, 30), pair(30, 30), pair(30, 30)]);
        assert_eq!(largest.height(), 94 * SMALLEST_CELL + 1);
        assert!(prompt(&[]).width() > 0);
    }

    /// The contrast of WCAG 2.1: from 1 (none) to 21 (black and white).
    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let light = |c: [u8; 3]| {
            let [r, g, b] = c.map(|v| {
                let v = f64::from(v) / 255.0;
                if v <= 0.04045 {
                    v / 12.92
                } else {
                    ((v + 0.055) / 1.055).powf(2.4)
                }
            });
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (a, b) = (light(a), light(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_colour_stands_out_from_black_and_from_the_others() {
        for (i, a) in ARC_COLOURS.iter().enumerate().skip(1) {
            let found = contrast(*a, ARC_COLOURS[0]);
            assert!(found >= 3.0, "colour {i}: contrast {found:.1} to black");
            for (j, b) in ARC_COLOURS.iter().enumerate().skip(i + 1) {
                let apart: f64 = (0..3)
                    .map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2))
                    .sum();
                assert!(
                    apart.sqrt() > 70.0,
                    "colours {i} and {j}: {:.0}",
                    apart.sqrt()
                );
            }
        }
    }

    #[test]
    fn png_can_be_read_back() {
        let picture = prompt(&[pair(3, 4)]);
        let bytes = png(&picture).unwrap();
        assert_eq!(Picture::from_png(&bytes).unwrap(), picture);
    }
}
