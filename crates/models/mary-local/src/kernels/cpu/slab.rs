//! Rows beside the weights of a head, whose outputs are multiplied a few at a time by one thread each.

use super::lazy::Lazy;
use super::matmul::{Matrix, Multiplier, Rows, tiles_of};
use super::packed::{self, Activations, Region, Tiles};
use super::quant::Blocks;
#[cfg(target_arch = "x86_64")]
use super::quant_tiles::{self, Area, Planes};
#[cfg(target_arch = "x86_64")]
use super::target::{Shared, Target};

/// Rows and the head they are multiplied with. The head never keeps more than a block of logits.
pub enum Slab<'a> {
    Tiles(&'a Activations, &'a Tiles),
    #[cfg(target_arch = "x86_64")]
    Digits(Planes, &'a Blocks),
    Lazy(&'a Activations, &'a Lazy),
    Blocks(&'a Activations, &'a Blocks, Multiplier),
}

/// Some outputs of a head, ready for one thread: gives the logits of so many rows from one on.
pub type Columns<'a> = Box<dyn Fn(usize, usize, &mut [f32]) + 'a>;

impl<'a> Slab<'a> {
    pub fn new(rows: &'a mut Rows<'_>, matrix: &'a Matrix) -> Self {
        match matrix {
            Matrix::Tiles(tiles) => Self::Tiles(rows.split(tiles.is_plain()), tiles),
            Matrix::Lazy(lazy) => match lazy.kept() {
                Some(tiles) => Self::Tiles(rows.split(lazy.plain), tiles),
                None => Self::Lazy(rows.split(lazy.plain), lazy),
            },
            #[cfg(target_arch = "x86_64")]
            Matrix::Blocks(q) if q.how == Multiplier::Tiles && quant_tiles::supports(&q.blocks) => {
                let mut planes = Planes::default();
                let inputs = q.blocks.inputs();
                planes.set(rows.x, rows.x.len() / inputs, inputs);
                Self::Digits(planes, &q.blocks)
            }
            Matrix::Blocks(q) if q.keep => Self::new(rows, q.whole()),
            Matrix::Blocks(q) => {
                let plain = q.how == Multiplier::Vectors;
                Self::Blocks(rows.split(plain), &q.blocks, q.how)
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
            Self::Lazy(..) | Self::Blocks(..) => false,
        }
    }

    /// Outputs `first..first + count`.
    pub fn columns(&self, first: usize, count: usize) -> Columns<'_> {
        let last = first + count;
        match self {
            Self::Tiles(a, w) => Box::new(move |row, rows, out| {
                tiled(a, w, (first, count), (row, rows), out);
            }),
            Self::Lazy(a, w) => {
                let w = w.some(first, last);
                Box::new(move |row, rows, out| tiled(a, &w, (0, count), (row, rows), out))
            }
            #[cfg(target_arch = "x86_64")]
            Self::Digits(x, w) => Box::new(move |row, rows, out| {
                let area = Area {
                    first,
                    outputs: count,
                    row,
                    rows,
                };
                let to = Target {
                    // The kernel counts from row 0, column 0 of the whole product.
                    at: Shared(out.as_mut_ptr().wrapping_sub(row * count + first)),
                    stride: count,
                    add: false,
                };
                // SAFETY: only the area, which is `out`, is touched.
                unsafe { quant_tiles::multiply(x, w, area, to) };
            }),
            Self::Blocks(a, blocks, how) => {
                let w = tiles_of(blocks, *how, first, last);
                Box::new(move |row, rows, out| tiled(a, &w, (0, count), (row, rows), out))
            }
        }
    }
}

fn tiled(
    a: &Activations,
    w: &Tiles,
    (output, outputs): (usize, usize),
    (row, rows): (usize, usize),
    out: &mut [f32],
) {
    debug_assert!(out.len() >= rows * outputs && row.is_multiple_of(32));
    let region = Region {
        row,
        output,
        ..Region::whole(rows, outputs, false)
    };
    // The kernel counts from row 0, column 0 of the whole product.
    let origin = out.as_mut_ptr().wrapping_sub(row * outputs + output);
    // SAFETY: only the region, which is `out`, is touched.
    unsafe { packed::multiply(a, w, origin, region) }
}
