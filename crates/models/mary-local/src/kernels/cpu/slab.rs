//! Rows beside the weights of a head, whose outputs are multiplied a few at a time by one thread each.

use super::amx::{self, Activations, Region, Tiles};
use super::lazy::Lazy;
use super::matmul::{Matrix, Multiplier, Rows, Shared, Target, padded, tiles_of};
use super::quant::Blocks;
#[cfg(target_arch = "x86_64")]
use super::quant_tiles::{self, Area, Planes};

/// Rows and the head they are multiplied with. The head never keeps more than a block of logits.
pub enum Slab<'a> {
    /// Rows and weights for `gemm`.
    Vectors {
        x: &'a [f32],
        weights: &'a [f32],
        inputs: usize,
    },
    /// Rows and weights for the tile unit.
    Tiles(&'a Activations, &'a Tiles),
    /// Rows for the tile unit and quantised weights whose digits it multiplies.
    #[cfg(target_arch = "x86_64")]
    Digits(Planes, &'a Blocks),
    /// Rows for the tile unit and weights of which some outputs are split at a time.
    Lazy(&'a Activations, &'a Lazy),
    /// Quantised weights, of which a few outputs are unpacked at a time.
    Blocks {
        x: &'a [f32],
        /// The same, split for the tile unit where there is one.
        split: Option<&'a Activations>,
        blocks: &'a Blocks,
    },
}

impl<'a> Slab<'a> {
    /// Prepares the rows for a matrix.
    pub fn new(rows: &'a mut Rows<'_>, matrix: &'a Matrix) -> Self {
        match matrix {
            Matrix::Dense { data, inputs, .. } => Self::Vectors {
                x: rows.x,
                weights: data,
                inputs: *inputs,
            },
            Matrix::Tiles(tiles) => Self::Tiles(rows.split(), tiles),
            Matrix::Lazy(lazy) => match lazy.kept(rows.count()) {
                Some(tiles) => Self::Tiles(rows.split(), tiles),
                None => Self::Lazy(rows.split(), lazy),
            },
            #[cfg(target_arch = "x86_64")]
            Matrix::Blocks(q) if quant_tiles::supports(&q.blocks) => {
                let mut planes = Planes::default();
                let inputs = q.blocks.inputs();
                planes.set(rows.x, rows.x.len() / inputs, inputs);
                Self::Digits(planes, &q.blocks)
            }
            Matrix::Blocks(q) if q.keep => Self::new(rows, q.whole()),
            Matrix::Blocks(q) => {
                let x = rows.x;
                let tiles = Multiplier::best() == Multiplier::Tiles;
                Self::Blocks {
                    x,
                    split: tiles.then(|| rows.split()),
                    blocks: &q.blocks,
                }
            }
        }
    }

    /// Whether weights are multiplied as they lie, so that some rows can be taken through all of them; where
    /// they are unpacked first, all rows are multiplied with what was unpacked.
    pub fn stays(&self) -> bool {
        match self {
            Self::Tiles(..) => true,
            #[cfg(target_arch = "x86_64")]
            Self::Digits(..) => true,
            Self::Vectors { .. } | Self::Lazy(..) | Self::Blocks { .. } => false,
        }
    }

    /// Outputs `first..first + count`, ready to be multiplied by one thread.
    pub fn columns(&'a self, first: usize, count: usize) -> Columns<'a> {
        match self {
            Self::Vectors { x, weights, inputs } => Columns {
                count,
                rows: x,
                inputs: *inputs,
                weights: ColumnWeights::Vectors(&weights[first * inputs..(first + count) * inputs]),
            },
            Self::Tiles(a, w) => Columns {
                count,
                rows: &[],
                inputs: w.inputs,
                weights: ColumnWeights::Tiles(a, w, first),
            },
            Self::Lazy(a, w) => Columns {
                count,
                rows: &[],
                inputs: w.inputs(),
                weights: ColumnWeights::Unpacked(a, w.some(first, first + count)),
            },
            #[cfg(target_arch = "x86_64")]
            Self::Digits(planes, blocks) => Columns {
                count,
                rows: &[],
                inputs: blocks.inputs(),
                weights: ColumnWeights::Digits(planes, blocks, first),
            },
            Self::Blocks { x, split, blocks } => {
                let last = first + count;
                Columns {
                    count,
                    rows: x,
                    inputs: blocks.inputs(),
                    weights: match split {
                        Some(a) => ColumnWeights::Unpacked(a, tiles_of(blocks, first, last)),
                        None => ColumnWeights::Own(blocks.unpack(first, last)),
                    },
                }
            }
        }
    }
}

/// Some outputs of a head.
pub struct Columns<'a> {
    count: usize,
    /// All rows, where they are not split for the tile unit.
    rows: &'a [f32],
    inputs: usize,
    weights: ColumnWeights<'a>,
}

enum ColumnWeights<'a> {
    Vectors(&'a [f32]),
    Own(Vec<f32>),
    Tiles(&'a Activations, &'a Tiles, usize),
    Unpacked(&'a Activations, Tiles),
    #[cfg(target_arch = "x86_64")]
    Digits(&'a Planes, &'a Blocks, usize),
}

impl Columns<'_> {
    /// Logits of rows `row..row + rows`, row after row.
    pub fn compute(&self, row: usize, rows: usize, out: &mut [f32]) {
        let count = self.count;
        debug_assert!(out.len() >= rows * count && row.is_multiple_of(32));
        let (a, w, output) = match &self.weights {
            ColumnWeights::Vectors(weights) => return self.vectors(weights, row, rows, out),
            ColumnWeights::Own(weights) => return self.vectors(weights, row, rows, out),
            ColumnWeights::Tiles(a, w, first) => (*a, *w, *first),
            ColumnWeights::Unpacked(a, w) => (*a, w, 0),
            #[cfg(target_arch = "x86_64")]
            ColumnWeights::Digits(x, w, first) => {
                let first = *first;
                let area = Area {
                    first,
                    outputs: count,
                    row,
                    rows,
                };
                // As below.
                let at = Shared(out.as_mut_ptr().wrapping_sub(row * count + first));
                let stride = count;
                let to = Target {
                    at,
                    stride,
                    add: false,
                };
                // SAFETY: only the area, which is `out`, is touched.
                return unsafe { quant_tiles::multiply(x, w, area, to) };
            }
        };
        let region = Region {
            row,
            rows,
            output,
            outputs: count,
            stride: count,
            add: false,
        };
        // The kernel counts from row 0, column 0 of the whole product.
        let origin = out.as_mut_ptr().wrapping_sub(row * count + output);
        // SAFETY: only the region, which is `out`, is touched.
        unsafe { amx::multiply(a, w, origin, region) }
    }

    fn vectors(&self, weights: &[f32], row: usize, rows: usize, out: &mut [f32]) {
        let (count, inputs) = (self.count, self.inputs);
        let to = Target {
            at: Shared(out.as_mut_ptr()),
            stride: count,
            add: false,
        };
        let x = &self.rows[row * inputs..(row + rows) * inputs];
        // SAFETY: `out` holds the block and is borrowed mutably.
        unsafe { padded(x, rows, (weights, count, inputs), to, false) }
    }
}
