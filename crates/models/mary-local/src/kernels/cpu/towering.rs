//! Inputs that tower over the others of their row. The first token of a text has them in many models: once such a
//! product is in a sum, every later addition is rounded at its size. They are multiplied apart and added last, in 64
//! bits.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::simd::{dot, widest};
use super::target::Target;

/// The share of a row's sum of squares from which an input towers.
const TOWERS: f32 = 0.125;
/// Rows of fewer numbers than stand in a few registers have sums too short to matter.
const SHORT: usize = 256;
/// Numbers that a thread takes at a time.
const GRAIN: usize = 1 << 14;
/// Outputs that a thread adds to at a time.
const STRIP: usize = 64;

struct Tower {
    row: usize,
    input: usize,
    value: f64,
}

/// Rows without what towers over them.
pub struct Level<'a> {
    x: Cow<'a, [f32]>,
    inputs: usize,
    /// In the order of rows.
    towers: Vec<Tower>,
}

widest! {
    /// The size from which an input of this row towers, where there is one of that size.
    fn above(row: &[f32]) -> Option<f32> = above_inner
}

#[inline(always)]
fn above_inner<const FMA: bool>(row: &[f32]) -> Option<f32> {
    let level = (TOWERS * dot::<FMA>(row, row)).sqrt();
    let some = row.iter().fold(false, |some, x| some | (x.abs() > level));
    (level.is_finite() && some).then_some(level)
}

impl<'a> Level<'a> {
    pub fn new(x: &'a [f32], inputs: usize) -> Self {
        let mut level = Self {
            x: Cow::Borrowed(x),
            inputs,
            towers: vec![],
        };
        if inputs < SHORT {
            return level;
        }
        let rows = (GRAIN / inputs).max(1);
        let some = x.par_chunks(rows * inputs).enumerate();
        let found = some.flat_map_iter(|(chunk, some)| {
            let each = some.chunks_exact(inputs).enumerate();
            each.filter_map(move |(row, numbers)| Some((chunk * rows + row, above(numbers)?)))
        });
        let found: Vec<(usize, f32)> = found.collect();
        if found.is_empty() {
            return level;
        }
        let mut own = vec![0.0f32; x.len()];
        let both = own.par_chunks_mut(GRAIN).zip(x.par_chunks(GRAIN));
        both.for_each(|(to, from)| to.copy_from_slice(from));
        for (row, size) in found {
            let numbers = own[row * inputs..][..inputs].iter_mut().enumerate();
            for (input, x) in numbers.filter(|(_, x)| x.abs() > size) {
                let value = f64::from(std::mem::take(x));
                level.towers.push(Tower { row, input, value });
            }
        }
        level.x = Cow::Owned(own);
        level
    }

    /// What is left of some rows.
    pub fn rows(&self, rows: &Range<usize>) -> &[f32] {
        &self.x[rows.start * self.inputs..rows.end * self.inputs]
    }

    /// Adds what towered over some rows to their products; the first of them is the target's first.
    ///
    /// # Safety
    /// The target holds these rows of all outputs, and nobody else touches them meanwhile.
    pub unsafe fn add(
        &self,
        rows: &Range<usize>,
        (weights, outputs): (&[f32], usize),
        to: Target,
        parallel: bool,
    ) {
        let first = self.towers.partition_point(|t| t.row < rows.start);
        let last = self.towers.partition_point(|t| t.row < rows.end);
        let towers = &self.towers[first..last];
        // Most rows have theirs at the same few inputs, whose weights lie far apart.
        let mut inputs: Vec<usize> = towers.iter().map(|t| t.input).collect();
        inputs.sort_unstable();
        inputs.dedup();
        let strip = |first: usize| {
            let outputs = first..outputs.min(first + STRIP);
            let mut columns = vec![[0.0; STRIP]; inputs.len()];
            for (at, output) in outputs.clone().enumerate() {
                let weights = &weights[output * self.inputs..][..self.inputs];
                let each = columns.iter_mut().zip(&inputs);
                each.for_each(|(column, input)| column[at] = f64::from(weights[*input]));
            }
            for of in towers.chunk_by(|a, b| a.row == b.row) {
                let mut apart = [0.0; STRIP];
                for t in of {
                    let column = &columns[inputs.partition_point(|i| *i < t.input)];
                    let sums = apart.iter_mut().zip(column);
                    sums.for_each(|(sum, weight)| *sum += t.value * weight);
                }
                let place = (of[0].row - rows.start) * to.stride + first;
                // SAFETY: passed on; no two strips have an output in common.
                let out = unsafe {
                    std::slice::from_raw_parts_mut(to.at.pointer().add(place), outputs.len())
                };
                let both = out.iter_mut().zip(apart);
                both.for_each(|(x, apart)| *x = (f64::from(*x) + apart) as f32);
            }
        };
        let strips = outputs.div_ceil(STRIP) * usize::from(!towers.is_empty());
        match parallel {
            true => (0..strips).into_par_iter().for_each(|at| strip(at * STRIP)),
            false => (0..strips).for_each(|at| strip(at * STRIP)),
        }
    }
}
