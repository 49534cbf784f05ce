//! Weight matrices in the form the processor multiplies best, and their products with many rows.
//!
//! A row's product is the same to the last bit whichever rows stand beside it, and on any number of
//! threads; only the last tokens of answers being written ([`Rows::writing`]) are exempt.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;

use mary_kernels::gemm;
use rayon::prelude::*;

use super::amx::{self, Activations, Region, Tiles};
use super::lazy::Lazy;
use super::quant::{self, Blocks, Prepared};
use super::target::{Shared, Target};
use super::towering::Level;

/// From this many answers on that are written together, quantised weights are unpacked for the tile unit
/// or `gemm`; below, they are multiplied block by block as they lie. What is read is always unpacked: the
/// two ways differ in the last bits, and a score must not depend on how many rows are beside it.
pub const FEW_ROWS: usize = 12;
/// Inputs that `gemm` adds up before it adds to the target. It chooses by the size of the whole product
/// unless it gets no more than this.
const DEPTH: usize = 512;
/// Products of up to so many numbers are small to `gemm`.
const SMALL: usize = 256;
/// Outputs unpacked at a time when a quantised matrix is too large to stay unpacked.
const GROUP: usize = 512;

/// A weight matrix: `outputs` rows of `inputs` numbers.
pub enum Matrix {
    /// Row after row, multiplied by `gemm`.
    Dense {
        data: Vec<f32>,
        outputs: usize,
        inputs: usize,
    },
    Tiles(Tiles),
    /// As the checkpoint stores it, split for the tile unit when that is worth it.
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
    /// Outputs `first..last` in plain numbers.
    fn unpack(&self, first: usize, last: usize) -> Matrix {
        match self.how {
            Multiplier::Tiles => Matrix::Tiles(tiles_of(&self.blocks, first, last)),
            Multiplier::Vectors => Matrix::Dense {
                data: self.blocks.unpack(first, last),
                outputs: last - first,
                inputs: self.blocks.inputs(),
            },
        }
    }

    pub(super) fn whole(&self) -> &Matrix {
        let all = || Box::new(self.unpack(0, self.blocks.outputs()));
        self.unpacked.get_or_init(all)
    }
}

/// Outputs `first..last`, unpacked and split for the tile unit in one go.
pub(super) fn tiles_of(blocks: &Blocks, first: usize, last: usize) -> Tiles {
    let (inputs, planes) = (blocks.inputs(), blocks.planes());
    Tiles::pack_rows(last - first, inputs, planes, |row, out| {
        blocks.unpack_into(first + row, out)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiplier {
    Tiles,
    /// `gemm` with the widest vectors.
    Vectors,
}

impl Multiplier {
    pub fn best() -> Self {
        match amx::available() {
            true => Self::Tiles,
            false => Self::Vectors,
        }
    }
}

impl Matrix {
    pub fn dense(data: Vec<f32>, outputs: usize, inputs: usize, how: Multiplier) -> Self {
        match how {
            Multiplier::Tiles => Self::Tiles(Tiles::pack(&data, outputs, inputs)),
            Multiplier::Vectors => Self::Dense {
                data,
                outputs,
                inputs,
            },
        }
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
            Self::Dense {
                outputs, inputs, ..
            } => (*outputs, *inputs),
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

    /// The one matrix, split for the tile unit for good, where it may be and has whole tiles.
    pub fn tiles(&self) -> Option<&Tiles> {
        let [matrix] = self.parts.as_slice() else {
            return None;
        };
        match matrix {
            _ if !matrix.inputs().is_multiple_of(amx::DEPTH) => None,
            Matrix::Tiles(tiles) => Some(tiles),
            Matrix::Lazy(lazy) => Some(lazy.keep()),
            Matrix::Dense { .. } | Matrix::Blocks(_) => None,
        }
    }
}

/// Rows to be multiplied: plain, and split for the tile unit once asked for.
pub struct Rows<'a> {
    pub(super) x: &'a [f32],
    rows: usize,
    inputs: usize,
    split: &'a mut Activations,
    is_split: bool,
    level: Option<Level<'a>>,
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
            level: None,
            prepared: Prepared::default(),
            writing: false,
        }
    }

    /// The last tokens of answers being written may be multiplied in whichever way is quickest for so few.
    pub fn writing(&mut self, writing: bool) {
        self.writing = writing;
    }

    pub(super) fn count(&self) -> usize {
        self.rows
    }

    pub(super) fn level(&mut self) -> &Level<'a> {
        let (x, inputs) = (self.x, self.inputs);
        let numbers = self.rows * inputs;
        self.level
            .get_or_insert_with(|| Level::new(&x[..numbers], inputs))
    }

    pub(super) fn split(&mut self) -> &Activations {
        if !self.is_split {
            self.split.set(self.x, self.rows, self.inputs);
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
        Matrix::Dense {
            data,
            outputs,
            inputs,
        } => {
            let weights = (data.as_slice(), *outputs, *inputs);
            let (all, writing) = (0..rows.rows, rows.writing);
            let level = rows.level();
            // SAFETY: passed on.
            match writing {
                true => unsafe { vectors(level.rows(&all), weights, to, parallel) },
                false => unsafe { padded(level.rows(&all), weights, to, parallel) },
            }
            // SAFETY: passed on.
            unsafe { level.add(&all, (data, *outputs), to, parallel) }
        }
        // SAFETY: passed on.
        Matrix::Tiles(tiles) => unsafe { tiled(rows.split(), tiles, to, parallel) },
        Matrix::Lazy(lazy) => match lazy.kept(rows.rows) {
            // SAFETY: passed on.
            Some(tiles) => unsafe { tiled(rows.split(), tiles, to, parallel) },
            // SAFETY: passed on.
            None => unsafe { lazy.product(rows.split(), to, parallel) },
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
                unsafe { product(rows, &q.unpack(first, last), Target { at, ..to }, parallel) };
            }
        }
    }
}

/// Rows that are multiplied together at least: for fewer, and for small products, `gemm` has ways of its
/// own, which add in another order.
fn least(outputs: usize) -> usize {
    (SMALL / outputs.max(1) + 1).max(2)
}

/// A few rows as `vectors` would multiply them among others: rows of nothing stand beside them.
/// Safety: as for [`product`].
unsafe fn padded(
    x: &[f32],
    (weights, outputs, inputs): (&[f32], usize, usize),
    to: Target,
    parallel: bool,
) {
    let (most, rows) = (least(outputs), x.len() / inputs.max(1));
    if rows >= most {
        // SAFETY: passed on.
        return unsafe { vectors(x, (weights, outputs, inputs), to, parallel) };
    }
    let mut wide = vec![0.0f32; most * inputs];
    wide[..x.len()].copy_from_slice(x);
    let mut out = vec![0.0f32; most * outputs];
    // SAFETY: the target holds every row of all outputs.
    let target = |row: usize| unsafe {
        std::slice::from_raw_parts_mut(to.at.0.add(row * to.stride), outputs)
    };
    if to.add {
        for row in 0..rows {
            out[row * outputs..][..outputs].copy_from_slice(target(row));
        }
    }
    let inside = Target {
        at: Shared(out.as_mut_ptr()),
        stride: outputs,
        add: to.add,
    };
    // SAFETY: `out` holds all rows of all outputs.
    unsafe { vectors(&wide, (weights, outputs, inputs), inside, parallel) };
    for row in 0..rows {
        target(row).copy_from_slice(&out[row * outputs..][..outputs]);
    }
}

/// Some rows with what towers over them. Safety: as for [`product`]; the target begins with the first of the rows.
pub(super) unsafe fn leveled(
    level: &Level<'_>,
    rows: Range<usize>,
    weights: (&[f32], usize, usize),
    to: Target,
) {
    // SAFETY: passed on.
    unsafe {
        padded(level.rows(&rows), weights, to, false);
        level.add(&rows, (weights.0, weights.1), to, false);
    }
}

/// Safety: as for [`product`].
unsafe fn vectors(
    x: &[f32],
    (weights, outputs, inputs): (&[f32], usize, usize),
    to: Target,
    parallel: bool,
) {
    let depth = inputs.div_ceil(inputs.div_ceil(DEPTH).max(1)).max(1);
    for first in (0..inputs).step_by(depth) {
        let slice = (first, depth.min(inputs - first));
        let to = Target {
            add: to.add || first > 0,
            ..to
        };
        // SAFETY: passed on; the slice lies inside every row.
        unsafe { slice_of(x, (weights, outputs, inputs), slice, to, parallel) };
    }
}

/// The share of some inputs in a product. Safety: as for [`product`]; inputs `first..first + depth` exist.
unsafe fn slice_of(
    x: &[f32],
    (weights, outputs, inputs): (&[f32], usize, usize),
    (first, depth): (usize, usize),
    to: Target,
    parallel: bool,
) {
    debug_assert!(weights.len() >= outputs * inputs);
    let rows = x.len() / inputs.max(1);
    let in_rows = |numbers: &[f32]| gemm::Matrix {
        first: numbers[first..].as_ptr(),
        column_step: 1,
        row_step: inputs,
    };
    let in_columns = |numbers: &[f32]| gemm::Matrix {
        column_step: inputs,
        row_step: 1,
        ..in_rows(numbers)
    };
    // The kernels like their target in columns: the transposed product is the same one.
    let ((m, left), (n, right), (columns, lines)) = match to.stride > 1 {
        true => ((outputs, weights), (rows, x), (to.stride, 1)),
        false => ((rows, x), (outputs, weights), (1, to.stride)),
    };
    let target = gemm::Matrix {
        first: to.at.0,
        column_step: columns,
        row_step: lines,
    };
    // SAFETY: sizes and strides describe the two slices and the target.
    unsafe {
        gemm::product(
            (m, n, depth),
            target,
            (to.add, 1.0),
            in_rows(left),
            in_columns(right),
            parallel,
        );
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
        // SAFETY: tiles exist only where the unit is available; the rest is passed on.
        return unsafe { multiply(a, w, at.0, whole) };
    }
    let regions = divide(whole, threads);
    regions.into_par_iter().for_each(|region| {
        let at = to.at;
        // SAFETY: as above, and regions do not overlap.
        unsafe { multiply(a, w, at.0, region) }
    });
}

/// Multiplies a region on the tile unit. What the product is added to is added once, in the end: it may be thousands
/// of times as large, and the unit would round at its size in every step.
///
/// # Safety
/// As for [`amx::multiply`].
pub(super) unsafe fn multiply(a: &Activations, w: &Tiles, out: *mut f32, region: Region) {
    if !region.add {
        // SAFETY: passed on.
        return unsafe { amx::multiply(a, w, out, region) };
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
    unsafe { amx::multiply(a, w, origin, inside) };
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
    let blocks = whole.rows.div_ceil(amx::ROWS).max(1);
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
mod tests;
