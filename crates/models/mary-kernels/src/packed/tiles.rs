//! Weights and activations as they are multiplied: split into planes and laid out in tiles, or plain.

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::DEPTH;
#[cfg(target_arch = "x86_64")]
use super::pack_avx512::{self, Strided};
pub use super::split::planes_here;
use super::split::{pack_strip, split_rows};
use super::towering::{self, Tower};
use super::{A_PLANES, PLAIN, TILE, TILE_LEN, depth_tiles};
use crate::aligned::Aligned;

pub struct Tiles {
    pub outputs: usize,
    pub inputs: usize,
    /// Planes of a weight, or [`PLAIN`].
    pub(super) planes: usize,
    /// Plain numbers take two places each.
    pub(super) data: Aligned<u16>,
    /// The memory goes back to [`SPARE`].
    lent: bool,
}

/// Matrices that are packed for one use at the same time: those between two attentions.
const MOST_SPARE: usize = 4;

thread_local! {
    /// Memory of tiles that were wanted for one use only, for the next ones: the largest first.
    static SPARE: RefCell<Vec<Aligned<u16>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Tiles {
    fn drop(&mut self) {
        if self.lent {
            let data = std::mem::take(&mut self.data);
            // The thread may be ending, and with it the spare memory.
            let _ = SPARE.try_with(|spare| {
                let mut spare = spare.borrow_mut();
                spare.push(data);
                spare.sort_unstable_by_key(|data| std::cmp::Reverse(data.len()));
                spare.truncate(MOST_SPARE);
            });
        }
    }
}

/// The same as [`planes_here`] on all threads.
pub fn planes(numbers: &[f32]) -> usize {
    let some = numbers.par_chunks(1 << 16).map(planes_here);
    some.reduce(|| 1, usize::max)
}

impl Tiles {
    /// `planes` must be enough for every number ([`planes`]), or [`PLAIN`].
    pub fn pack(weights: &[f32], outputs: usize, inputs: usize, planes: usize) -> Self {
        Self::zeroed(outputs, inputs, planes).fill(|_, some, out| {
            let rows = &weights[some.start * inputs..some.end * inputs];
            pack_strip(rows, inputs, planes, out);
        })
    }

    /// Rows are made where they are needed: sixteen at a time, split while in the cache. `planes` must be enough for
    /// every number; what stands beside them in the tiles is left from earlier use, and touches no output.
    pub fn pack_rows(
        outputs: usize,
        inputs: usize,
        planes: usize,
        row: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Self {
        let tiles = Self::lend(outputs, inputs, planes);
        tiles.fill(|rows, some, out| pack_made((inputs, planes), &row, some, rows, out))
    }

    /// The same on this thread alone, for a few outputs.
    pub fn pack_rows_here(
        outputs: usize,
        inputs: usize,
        planes: usize,
        row: impl Fn(usize, &mut [f32]),
    ) -> Self {
        let mut tiles = Self::lend(outputs, inputs, planes);
        let mut rows = Vec::new();
        let strips = tiles
            .data
            .chunks_mut(Self::strip_len(inputs, planes).max(1));
        for (first, out) in (0..outputs).step_by(TILE).zip(strips) {
            let some = first..(first + TILE).min(outputs);
            pack_made((inputs, planes), &row, some, &mut rows, out);
        }
        tiles
    }

    pub fn keep_rows(
        outputs: usize,
        inputs: usize,
        planes: usize,
        row: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Self {
        // Where weights stay, nobody needs memory for one use any more.
        SPARE.take();
        let tiles = Self::zeroed(outputs, inputs, planes);
        tiles.fill(|rows, some, out| pack_made((inputs, planes), &row, some, rows, out))
    }

    /// Splits a right factor of `k` rows and `n` columns, whichever way it lies, for [`super::product`].
    ///
    /// # Panics
    /// Where the factor is too short, or the processor has no tile unit ([`super::has_tiles`]).
    #[cfg(target_arch = "x86_64")]
    pub fn split(b: super::Factor<'_>, (k, n): (usize, usize), planes: usize) -> Self {
        assert!(b.covers(k, n) && super::has_tiles() && (1..=3).contains(&planes));
        Self::zeroed(n, k, planes).fill(|_, some, out| {
            // SAFETY: the processor has tiles, and the factor these columns.
            unsafe { b.split_columns((0, some.start), (k, some.len()), planes, out) };
        })
    }

    fn zeroed(outputs: usize, inputs: usize, planes: usize) -> Self {
        let strips = outputs.div_ceil(2 * TILE) * 2;
        Self {
            outputs,
            inputs,
            planes,
            data: Aligned::zeroed(strips * Self::strip_len(inputs, planes)),
            lent: false,
        }
    }

    fn lend(outputs: usize, inputs: usize, planes: usize) -> Self {
        let strips = outputs.div_ceil(2 * TILE) * 2;
        let len = strips * Self::strip_len(inputs, planes);
        let smallest = |spare: &mut Vec<Aligned<u16>>| {
            let place = spare.iter().rposition(|data| data.len() >= len)?;
            Some(spare.remove(place))
        };
        let data = SPARE.with_borrow_mut(smallest);
        let data = data.unwrap_or_else(|| Aligned::zeroed(len));
        Self {
            outputs,
            inputs,
            planes,
            data,
            lent: true,
        }
    }

    /// `make` gets memory that a thread keeps from strip to strip, the outputs of the strip and where they go.
    fn fill(mut self, make: impl Fn(&mut Vec<f32>, Range<usize>, &mut [u16]) + Sync) -> Self {
        let (outputs, strip) = (self.outputs, Self::strip_len(self.inputs, self.planes));
        let strips = self.data.par_chunks_mut(strip.max(1)).enumerate();
        let used = strips.take(outputs.div_ceil(TILE));
        used.for_each_init(Vec::new, |rows, (i, out)| {
            make(rows, i * TILE..((i + 1) * TILE).min(outputs), out);
        });
        self
    }

    /// Places in a strip of sixteen outputs.
    pub(super) fn strip_len(inputs: usize, planes: usize) -> usize {
        depth_tiles(inputs) * Self::places(planes) * TILE_LEN
    }

    /// Places of two bytes that a weight takes.
    pub(super) fn places(planes: usize) -> usize {
        if planes == PLAIN { 2 } else { planes }
    }

    pub fn is_plain(&self) -> bool {
        self.planes == PLAIN
    }

    /// Sixteen outputs of an input after another, strip after strip, where this is plain.
    pub(super) fn plain(&self) -> &[f32] {
        bytemuck::cast_slice(&self.data)
    }

    pub fn bytes(&self) -> usize {
        self.data.len() * 2
    }
}

fn pack_made(
    (inputs, planes): (usize, usize),
    row: &impl Fn(usize, &mut [f32]),
    outputs: Range<usize>,
    rows: &mut Vec<f32>,
    out: &mut [u16],
) {
    rows.resize(TILE * inputs, 0.0);
    let count = outputs.len();
    for (output, numbers) in outputs.zip(rows.chunks_exact_mut(inputs.max(1))) {
        row(output, numbers);
    }
    pack_strip(&rows[..count * inputs], inputs, planes, out);
}

#[derive(Default)]
pub struct Activations {
    rows: usize,
    inputs: usize,
    /// As they are, for vectors: row after row.
    plain: bool,
    /// What was taken out of plain rows, in the order of rows and inputs.
    towers: Vec<Tower>,
    pub(super) data: Aligned<u16>,
}

impl Activations {
    /// Room for `rows` rows of `inputs` numbers, which are put there in pieces.
    pub fn shape(&mut self, rows: usize, inputs: usize, plain: bool) {
        (self.rows, self.inputs, self.plain) = (rows, inputs, plain);
        self.towers.clear();
        self.data.reserve(match plain {
            true => 2 * rows * self.step(),
            false => rows.div_ceil(2 * TILE) * 2 * Self::strip_len(inputs),
        });
    }

    /// Places in a strip of sixteen rows.
    fn strip_len(inputs: usize) -> usize {
        depth_tiles(inputs) * A_PLANES * TILE_LEN
    }

    /// Numbers from one plain row to the next: never a power of two, so that rows do not drive each other out of
    /// the cache.
    pub(super) fn step(&self) -> usize {
        self.inputs.next_multiple_of(TILE) + TILE
    }

    pub(super) fn plain(&self) -> &[f32] {
        bytemuck::cast_slice(&self.data)
    }

    /// Packs up to sixteen rows from row `first`, a multiple of sixteen, on.
    pub fn put_rows(&mut self, first: usize, x: &[f32]) {
        debug_assert!(first.is_multiple_of(TILE) && x.len() <= TILE * self.inputs);
        if self.plain {
            let rows = x.len() / self.inputs.max(1);
            return self.put_plain((first, 0), rows, (x, self.inputs), self.inputs);
        }
        let strip = Self::strip_len(self.inputs);
        let out = &mut self.data[first / TILE * strip..][..strip];
        split_rows(x, self.inputs, out);
    }

    fn put_plain(
        &mut self,
        (first, column): (usize, usize),
        rows: usize,
        (x, stride): (&[f32], usize),
        width: usize,
    ) {
        let step = self.step();
        let data: &mut [f32] = bytemuck::cast_slice_mut(&mut self.data);
        for row in 0..rows {
            let to = &mut data[(first + row) * step + column..][..width];
            to.copy_from_slice(&x[row * stride..][..width]);
        }
    }

    /// Packs 32 columns of up to 32 rows, `stride` numbers apart: from row `first`, a multiple of 32, and
    /// column `column`, a multiple of 32, on.
    ///
    /// # Panics
    /// Where the rows are too short.
    pub fn put_square(
        &mut self,
        (first, column): (usize, usize),
        rows: usize,
        (x, stride): (&[f32], usize),
    ) {
        if self.plain {
            return self.put_plain((first, column), rows, (x, stride), 2 * TILE);
        }
        #[cfg(target_arch = "x86_64")]
        {
            assert!(rows == 0 || (rows - 1) * stride + DEPTH <= x.len() && super::has_tiles());
            let strip = Self::strip_len(self.inputs);
            for top in (0..rows).step_by(TILE) {
                let at = (first + top) / TILE * strip + column / DEPTH * A_PLANES * TILE_LEN;
                let tiles = &mut self.data[at..][..A_PLANES * TILE_LEN];
                let from = Strided {
                    at: x[top * stride..].as_ptr(),
                    step: stride,
                };
                let size = ((rows - top).min(TILE), DEPTH);
                // SAFETY: the processor has tiles and with them AVX-512; the rows were just compared.
                unsafe { pack_avx512::a_rows::<false>(from, size, 1.0, tiles) };
            }
        }
    }

    /// Takes what towers over its neighbours out of plain rows, once all pieces are there; of the whole rows' inputs
    /// so many come before these.
    pub fn level(&mut self, before: usize) {
        if !self.plain {
            return;
        }
        let (step, inputs) = (self.step(), self.inputs);
        let data: &mut [f32] = bytemuck::cast_slice_mut(&mut self.data);
        let rows = data.chunks_mut(step).take(self.rows).enumerate();
        rows.for_each(|(row, x)| {
            towering::level((row, before), &mut x[..inputs], &mut self.towers)
        });
    }

    /// What [`Activations::level`] took out.
    pub fn towers(&self) -> &[Tower] {
        &self.towers
    }

    pub fn set(&mut self, x: &[f32], rows: usize, inputs: usize, plain: bool) {
        self.shape(rows, inputs, plain);
        if plain {
            return self.set_plain(x);
        }
        let strip = Self::strip_len(inputs);
        let strips = rows.div_ceil(2 * TILE) * 2;
        let work = |(i, out): (usize, &mut [u16])| {
            let first = (i * TILE).min(rows);
            let last = (first + TILE).min(rows);
            split_rows(&x[first * inputs..last * inputs], inputs, out);
        };
        let data = &mut self.data[..strips * strip];
        if rows <= 64 {
            data.chunks_mut(strip).enumerate().for_each(work);
        } else {
            data.par_chunks_mut(strip).enumerate().for_each(work);
        }
    }

    fn set_plain(&mut self, x: &[f32]) {
        let (step, inputs, rows) = (self.step(), self.inputs, self.rows);
        if inputs == 0 || rows == 0 {
            return;
        }
        let data: &mut [f32] = bytemuck::cast_slice_mut(&mut self.data);
        let work = |(i, out): (usize, &mut [f32])| {
            let mut towers = Vec::new();
            for (row, to) in (i * TILE..rows).zip(out.chunks_exact_mut(step)) {
                to[..inputs].copy_from_slice(&x[row * inputs..][..inputs]);
                towering::level((row, 0), &mut to[..inputs], &mut towers);
            }
            towers
        };
        let some = &mut data[..rows * step];
        self.towers = match rows <= 64 {
            true => some
                .chunks_mut(TILE * step)
                .enumerate()
                .flat_map(work)
                .collect(),
            false => {
                let strips = some.par_chunks_mut(TILE * step).enumerate();
                strips.flat_map_iter(work).collect()
            }
        };
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }
}

#[cfg(test)]
mod tests {
    use super::super::split::{pack_strip_inner, split, split_rows_inner};
    use super::*;

    #[test]
    fn three_planes_are_the_whole_number() {
        for x in [1.0f32, -0.1, 3.303_817, 1e-20, -7.7e30, 0.0] {
            let planes = split(x).map(|p| f64::from(f32::from_bits(p << 16)));
            assert_eq!(planes.iter().sum::<f64>(), f64::from(x));
        }
    }

    #[test]
    fn weights_take_as_many_planes_as_they_were_stored_with() {
        let bf16 = half::bf16::from_f32(0.1234).to_f32();
        let f16 = half::f16::from_f32(0.1234).to_f32();
        assert_eq!(planes_here(&[bf16, 1.0]), 1);
        assert_eq!(planes_here(&[f16, bf16]), 2);
        assert_eq!(planes_here(&[0.1234, f16]), 3);
    }

    #[test]
    fn rows_are_packed_alike_at_once_and_one_by_one() {
        for (outputs, inputs) in [(16, 64), (40, 96), (5, 33), (33, 31)] {
            let numbers: Vec<f32> = (0..outputs * inputs)
                .map(|i| (i as f32 * 0.37).sin())
                .collect();
            let at_once = Tiles::pack(&numbers, outputs, inputs, planes(&numbers));
            let one_by_one = Tiles::pack_rows(outputs, inputs, 3, |row, out| {
                out.copy_from_slice(&numbers[row * inputs..][..inputs]);
            });
            assert_eq!(at_once.planes, 3);
            // What has no output is not compared.
            let strips = at_once.data.chunks(Tiles::strip_len(inputs, 3));
            for (strip, all) in strips.enumerate() {
                let there = outputs.saturating_sub(strip * TILE).min(TILE) * 2;
                let ours = &one_by_one.data[strip * all.len()..][..all.len()];
                for (a, b) in all.chunks(DEPTH).zip(ours.chunks(DEPTH)) {
                    assert_eq!(a[..there], b[..there], "{outputs} x {inputs}");
                }
            }
            // Whichever instructions this processor has, the portable loop gives the same.
            let count = outputs.min(TILE);
            let mut split = [(); 2].map(|()| vec![0; Tiles::strip_len(inputs, A_PLANES)]);
            split_rows(&numbers[..count * inputs], inputs, &mut split[0]);
            split_rows_inner::<false>(&numbers[..count * inputs], inputs, &mut split[1]);
            assert!(split[0] == split[1], "{outputs} x {inputs}");
            let mut portable = vec![0; Tiles::strip_len(inputs, 3)];
            let first = &numbers[..outputs.min(TILE) * inputs];
            pack_strip_inner::<false>(first, inputs, 3, &mut portable);
            assert!(portable[..] == at_once.data[..portable.len()]);
        }
    }
}
