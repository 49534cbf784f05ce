//! Weight matrices in the form the processor multiplies best, and their products with many rows.
//!
//! A row's product is the same to the last bit whichever rows stand beside it, and on any number of
//! threads; only the last tokens of answers being written ([`Rows::writing`]) are exempt.

use std::cell::RefCell;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::lazy::{Held, Lazy};
use super::packed::{self, Activations, Region, Tiles};
use super::quant::{self, Blocks, Prepared};
use super::target::{Shared, Target};

/// From this many answers on that are written together, quantised weights are unpacked; below, they are multiplied
/// block by block as they lie. What is read is always unpacked: the
/// two ways differ in the last bits, and a score must not depend on how many rows are beside it.
pub const FEW_ROWS: usize = 12;
/// Outputs unpacked at a time when a quantised matrix is too large to stay unpacked.
const GROUP: usize = 512;

/// A weight matrix: `outputs` rows of `inputs` numbers.
pub enum Matrix {
    Tiles(Tiles),
    /// As the checkpoint stores it, packed when that is worth it.
    Lazy(Lazy),
    Blocks(Quantised),
}

/// A quantised matrix, and its unpacked form once many rows have been multiplied with it.
pub struct Quantised {
    pub(super) blocks: Blocks,
    pub(super) keep: bool,
    pub(super) how: Multiplier,
    unpacked: OnceLock<Box<Matrix>>,
}

impl Quantised {
    pub(super) fn whole(&self) -> &Matrix {
        let all = |b: &Blocks| Box::new(Matrix::Tiles(tiles_of(b, self.how, 0, b.outputs())));
        self.unpacked.get_or_init(|| all(&self.blocks))
    }
}

/// Outputs `first..last`, unpacked and packed for their multiplier in one go.
pub(super) fn tiles_of(blocks: &Blocks, how: Multiplier, first: usize, last: usize) -> Tiles {
    let (inputs, planes) = (blocks.inputs(), how.planes(|| blocks.planes()));
    Tiles::pack_rows(last - first, inputs, planes, |row, out| {
        blocks.unpack_into(first + row, out)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiplier {
    Tiles,
    /// The widest vectors.
    Vectors,
}

impl Multiplier {
    /// Planes of weights packed for it; the tile unit needs as many as are found.
    pub(super) fn planes(self, found: impl FnOnce() -> usize) -> usize {
        match self {
            Self::Tiles => found(),
            Self::Vectors => packed::PLAIN,
        }
    }

    pub fn best() -> Self {
        match packed::has_tiles() {
            true => Self::Tiles,
            false => Self::Vectors,
        }
    }
}

impl Matrix {
    pub fn dense(data: Vec<f32>, outputs: usize, inputs: usize, how: Multiplier) -> Self {
        let planes = how.planes(|| packed::planes(&data));
        Self::Tiles(Tiles::pack(&data, outputs, inputs, planes))
    }

    /// Keeps quantised weights as they are; `keep` says whether their unpacked form may stay.
    pub fn blocks(blocks: Blocks, keep: bool, how: Multiplier) -> Self {
        Self::Blocks(Quantised {
            blocks,
            keep,
            how,
            unpacked: OnceLock::new(),
        })
    }

    fn shape(&self) -> (usize, usize) {
        match self {
            Self::Tiles(t) => (t.outputs, t.inputs),
            Self::Lazy(l) => (l.outputs, l.inputs),
            Self::Blocks(q) => (q.blocks.outputs(), q.blocks.inputs()),
        }
    }

    pub fn outputs(&self) -> usize {
        self.shape().0
    }

    pub fn inputs(&self) -> usize {
        self.shape().1
    }
}

pub struct Linear {
    /// One matrix, or several that were stored in different forms.
    pub parts: Vec<Matrix>,
    pub bias: Option<Vec<f32>>,
}

impl Linear {
    pub fn outputs(&self) -> usize {
        self.parts.iter().map(Matrix::outputs).sum()
    }

    pub fn inputs(&self) -> usize {
        self.parts.first().map_or(0, Matrix::inputs)
    }

    /// Whether it is one matrix of whole tiles that is packed, or can be.
    pub fn has_tiles(&self) -> bool {
        let packed = |m: &Matrix| !matches!(m, Matrix::Blocks(_));
        self.inputs().is_multiple_of(packed::DEPTH)
            && matches!(self.parts.as_slice(), [m] if packed(m))
    }

    /// The one matrix, packed.
    pub fn tiles(&self) -> Option<Held<'_>> {
        match self.parts.as_slice() {
            [Matrix::Tiles(tiles)] => Some(Held::Kept(tiles)),
            [Matrix::Lazy(lazy)] => Some(lazy.tiles()),
            _ => None,
        }
    }
}

/// Rows to be multiplied: as they are, and packed once asked for.
pub struct Rows<'a> {
    pub(super) x: &'a [f32],
    rows: usize,
    inputs: usize,
    split: &'a mut Activations,
    is_split: bool,
    prepared: Prepared,
    writing: bool,
}

impl<'a> Rows<'a> {
    /// `rows` rows of `inputs` numbers; `split` is reused memory.
    pub fn new(x: &'a [f32], rows: usize, inputs: usize, split: &'a mut Activations) -> Self {
        Self {
            x,
            rows,
            inputs,
            split,
            is_split: false,
            prepared: Prepared::default(),
            writing: false,
        }
    }

    /// The last tokens of answers being written may be multiplied in whichever way is quickest for so few.
    pub fn writing(&mut self, writing: bool) {
        self.writing = writing;
    }

    /// Packed for the multiplier that all weights of a layer share.
    pub(super) fn split(&mut self, plain: bool) -> &Activations {
        if !self.is_split {
            self.split.set(self.x, self.rows, self.inputs, plain);
            self.is_split = true;
        }
        self.split
    }
}

/// `out = x · Wᵀ + bias`, or `out += …`.
pub fn linear(mut rows: Rows<'_>, layer: &Linear, out: &mut [f32], add: bool) {
    let stride = layer.outputs();
    debug_assert!(out.len() >= rows.rows * stride);
    let mut column = 0;
    for part in &layer.parts {
        // SAFETY: `out` holds `rows` rows of `stride` numbers and the part ends inside a row.
        let at = unsafe { Shared(out.as_mut_ptr()).offset(column) };
        // SAFETY: `out` is borrowed mutably, and nothing else writes to it meanwhile.
        unsafe { product(&mut rows, part, Target { at, stride, add }, true) };
        column += part.outputs();
    }
    if let Some(bias) = &layer.bias {
        super::elementwise::add_bias(&mut out[..rows.rows * stride], bias);
    }
}

/// One matrix times all rows.
///
/// # Safety
/// The target holds all rows of all outputs, and nobody else touches them meanwhile.
unsafe fn product(rows: &mut Rows<'_>, matrix: &Matrix, to: Target, parallel: bool) {
    match matrix {
        // SAFETY: passed on.
        Matrix::Tiles(tiles) => unsafe { tiled(rows.split(tiles.is_plain()), tiles, to, parallel) },
        Matrix::Lazy(lazy) => match lazy.kept() {
            // SAFETY: passed on.
            Some(tiles) => unsafe { tiled(rows.split(lazy.plain), tiles, to, parallel) },
            // SAFETY: passed on.
            None => unsafe { lazy.product(rows.split(lazy.plain), to, parallel) },
        },
        Matrix::Blocks(q) if rows.writing && rows.rows < FEW_ROWS => {
            let x = (rows.x, rows.rows);
            // SAFETY: passed on.
            unsafe { quant::multiply(&q.blocks, x, &mut rows.prepared, to, parallel) }
        }
        Matrix::Blocks(q) => {
            if q.keep {
                // SAFETY: passed on.
                return unsafe { product(rows, q.whole(), to, parallel) };
            }
            for first in (0..q.blocks.outputs()).step_by(GROUP) {
                let last = (first + GROUP).min(q.blocks.outputs());
                // SAFETY: the group's outputs lie inside the target.
                let at = unsafe { to.at.offset(first) };
                // SAFETY: passed on.
                unsafe {
                    let some = Matrix::Tiles(tiles_of(&q.blocks, q.how, first, last));
                    product(rows, &some, Target { at, ..to }, parallel);
                }
            }
        }
    }
}

/// Safety: as for [`product`].
unsafe fn tiled(a: &Activations, w: &Tiles, to: Target, parallel: bool) {
    let whole = Region {
        stride: to.stride,
        ..Region::whole(a.rows(), w.outputs, to.add)
    };
    let threads = rayon::current_num_threads();
    if !parallel || threads == 1 {
        let at = to.at;
        // SAFETY: passed on.
        return unsafe { multiply(a, w, at.0, whole) };
    }
    let regions = divide(whole, threads);
    regions.into_par_iter().for_each(|region| {
        let at = to.at;
        // SAFETY: as above, and regions do not overlap.
        unsafe { multiply(a, w, at.0, region) }
    });
}

/// Multiplies a region. What the product is added to is added once, in the end: it may be thousands
/// of times as large, and every step would be rounded at its size.
///
/// # Safety
/// As for [`packed::multiply`].
pub(super) unsafe fn multiply(a: &Activations, w: &Tiles, out: *mut f32, region: Region) {
    if !region.add {
        // SAFETY: passed on.
        return unsafe { packed::multiply(a, w, out, region) };
    }
    thread_local! {
        static SUMS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
    }
    let outputs = region.outputs;
    let mut sums = SUMS.take();
    sums.resize(region.rows * outputs, 0.0);
    let inside = Region {
        stride: outputs,
        add: false,
        ..region
    };
    // The kernel counts from row 0, column 0 of the whole product.
    let origin = sums.as_mut_ptr();
    let origin = origin.wrapping_sub(region.row * outputs + region.output);
    // SAFETY: only the region, which is `sums`, is touched.
    unsafe { packed::multiply(a, w, origin, inside) };
    for (row, sums) in sums.chunks_exact(outputs.max(1)).enumerate() {
        // SAFETY: the region lies inside `out`.
        let to = unsafe {
            let at = out.add((region.row + row) * region.stride + region.output);
            std::slice::from_raw_parts_mut(at, outputs)
        };
        to.iter_mut().zip(sums).for_each(|(x, sum)| *x += sum);
    }
    SUMS.set(sums);
}

/// Regions of rows that fill the second-level cache, and enough groups of outputs for every thread.
fn divide(whole: Region, threads: usize) -> Vec<Region> {
    let blocks = whole.rows.div_ceil(packed::ROWS).max(1);
    let rows = whole.rows.div_ceil(blocks).next_multiple_of(32);
    let groups = (4 * threads).div_ceil(blocks);
    let outputs = whole.outputs.div_ceil(groups).next_multiple_of(32);
    let mut regions = Vec::new();
    for row in (0..whole.rows).step_by(rows) {
        for output in (0..whole.outputs).step_by(outputs) {
            regions.push(Region {
                row,
                rows: rows.min(whole.rows - row),
                output,
                outputs: outputs.min(whole.outputs - output),
                ..whole
            });
        }
    }
    regions
}

#[cfg(test)]
pub(super) mod tests;
