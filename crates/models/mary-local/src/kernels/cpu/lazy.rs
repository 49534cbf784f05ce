//! Plain weights that stay where the checkpoint stores them until they are worth packing.
//!
//! Packed weights take as much memory as the file, or half as much again, and the kernel clears every page of
//! it first: for a small model that was most of the time from the start of a process to its first score. A
//! few short texts are multiplied by packing some outputs at a time in the cache instead, which gives the
//! same bits; many rows, or the third use, make the packed weights stay.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use mary_weights::TensorType;
use rayon::prelude::*;

use super::matmul::{Multiplier, multiply};
use super::packed::{self, Activations, Region, Tiles};
use super::stored::numbers;
use super::target::Target;
use crate::kernels::Stored;

/// So many rows at once are worth splitting the weights for good; plain ones, which are packed anew in a quarter of
/// the time that clearing memory for them takes.
const MANY: [usize; 2] = [64, 1024];
/// So many uses before are.
const OFTEN: usize = 2;
/// Outputs split at a time: with 576 inputs a tenth of a second-level cache.
const SOME: usize = 64;

/// Matrices under one another, as they are stored.
pub struct Lazy {
    pieces: Vec<Stored>,
    pub outputs: usize,
    pub inputs: usize,
    /// For vectors, not for the tile unit.
    pub plain: bool,
    planes: OnceLock<usize>,
    uses: AtomicUsize,
    tiles: OnceLock<Tiles>,
}

impl Lazy {
    /// Plain numbers (float32, float16 or bfloat16) of the same width.
    pub fn new(pieces: Vec<Stored>, how: Multiplier) -> Self {
        Self {
            outputs: pieces.iter().map(|p| p.outputs).sum(),
            inputs: pieces.first().map_or(0, |p| p.inputs),
            pieces,
            plain: how == Multiplier::Vectors,
            planes: OnceLock::new(),
            uses: AtomicUsize::new(0),
            tiles: OnceLock::new(),
        }
    }

    /// The split weights, where they stay: because they do already, or since so many rows are worth it.
    pub fn kept(&self, rows: usize) -> Option<&Tiles> {
        let many = rows >= MANY[usize::from(self.plain)];
        let worth_it = || many || self.uses.fetch_add(1, Ordering::Relaxed) >= OFTEN;
        let made = || worth_it().then(|| self.keep());
        self.tiles.get().or_else(made)
    }

    fn keep(&self) -> &Tiles {
        // No lock is held meanwhile: a thread of the pool that waits for its part may be given other work that
        // comes here too. Both split then, and one of them for nothing.
        let row = |row: usize, out: &mut [f32]| self.row(row, out);
        let tiles = Tiles::keep_rows(self.outputs, self.inputs, self.planes(), row);
        self.tiles.get_or_init(|| tiles)
    }

    /// Outputs `first..last`, split on this thread for one product.
    pub fn some(&self, first: usize, last: usize) -> Tiles {
        let row = |row: usize, out: &mut [f32]| self.row(first + row, out);
        Tiles::pack_rows_here(last - first, self.inputs, self.planes(), row)
    }

    /// Multiplies a few rows, with some outputs at a time.
    ///
    /// # Safety
    /// The target holds all rows of all outputs, and nobody else touches them meanwhile.
    pub unsafe fn product(&self, a: &Activations, to: Target, parallel: bool) {
        let work = |first: usize| {
            let last = (first + SOME).min(self.outputs);
            let region = Region {
                stride: to.stride,
                ..Region::whole(a.rows(), last - first, to.add)
            };
            // Captured as a whole: a pointer alone may not go to other threads.
            let whole = to;
            // SAFETY: the outputs lie inside the target, and each is written once.
            unsafe {
                let at = whole.at.offset(first);
                multiply(a, &self.some(first, last), at.pointer(), region);
            }
        };
        let firsts = (0..self.outputs.div_ceil(SOME)).map(|i| i * SOME);
        match parallel {
            true => firsts.collect::<Vec<_>>().into_par_iter().for_each(work),
            false => firsts.for_each(work),
        }
    }

    fn row(&self, mut row: usize, out: &mut [f32]) {
        for piece in &self.pieces {
            if row < piece.outputs {
                let width = piece.bytes.len() / piece.outputs;
                let bytes = &piece.bytes[row * width..(row + 1) * width];
                return numbers(piece.kind, bytes, out);
            }
            row -= piece.outputs;
        }
    }

    fn planes(&self) -> usize {
        if self.plain {
            return packed::PLAIN;
        }
        let of = |piece: &Stored| match piece.kind {
            TensorType::BF16 => 1,
            TensorType::F16 => 2,
            _ => wide(piece),
        };
        let count = || self.pieces.iter().map(of).max().unwrap_or(1);
        *self.planes.get_or_init(count)
    }
}

/// Most weights of 32 bits need three planes, which the first few tell.
fn wide(piece: &Stored) -> usize {
    const LOOK: usize = 1 << 14;
    let mut some = vec![0.0; LOOK];
    let mut planes = 1;
    for bytes in piece.bytes.chunks(4 * LOOK) {
        let some = &mut some[..bytes.len() / 4];
        numbers(piece.kind, bytes, some);
        planes = planes.max(packed::planes_here(some));
        if planes == 3 {
            break;
        }
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::super::matmul::tests::multipliers;
    use super::super::target::Shared;
    use super::*;

    fn stored(outputs: usize, inputs: usize, kind: TensorType, seed: f32) -> Stored {
        let numbers = (0..outputs * inputs).map(|i| (i as f32 * seed).sin());
        let bytes: Vec<u8> = match kind {
            TensorType::BF16 => numbers
                .flat_map(|x| half::bf16::from_f32(x).to_le_bytes())
                .collect(),
            TensorType::F16 => numbers
                .flat_map(|x| half::f16::from_f32(x).to_le_bytes())
                .collect(),
            _ => numbers.flat_map(f32::to_le_bytes).collect(),
        };
        Stored {
            bytes: bytes.into(),
            kind,
            outputs,
            inputs,
        }
    }

    #[test]
    fn a_product_has_the_same_bits_before_and_after_weights_are_split_for_good() {
        let inputs = 96;
        let kinds = [TensorType::F32, TensorType::F16, TensorType::BF16];
        for (how, kind) in multipliers().flat_map(|how| kinds.map(|kind| (how, kind))) {
            let pieces = [(100, 0.37), (33, 0.71), (7, 1.3)]
                .map(|(outputs, seed)| stored(outputs, inputs, kind, seed));
            let lazy = Lazy::new(pieces.into(), how);
            let (rows, outputs) = (5, lazy.outputs);
            let x: Vec<f32> = (0..rows * inputs).map(|i| (i as f32 * 0.9).sin()).collect();
            let mut a = Activations::default();
            a.set(&x, rows, inputs, lazy.plain);
            let ask = |parallel: bool| {
                let mut out = vec![0.5f32; rows * outputs];
                let to = Target {
                    at: Shared(out.as_mut_ptr()),
                    stride: outputs,
                    add: true,
                };
                // SAFETY: the target holds all rows of all outputs.
                unsafe { lazy.product(&a, to, parallel) };
                out
            };
            assert!(lazy.tiles.get().is_none());
            let (alone, together) = (ask(false), ask(true));
            assert!(lazy.kept(1).is_none() && lazy.kept(1).is_none());
            let tiles = lazy.kept(1).unwrap();
            let mut kept = vec![0.5f32; rows * outputs];
            let region = Region::whole(rows, outputs, true);
            // SAFETY: as above.
            unsafe { multiply(&a, tiles, kept.as_mut_ptr(), region) };
            assert!(alone == kept && together == kept, "{how:?} {kind}");
            assert!(lazy.tiles.get().is_some());
        }
    }

    #[test]
    fn many_rows_split_weights_for_good_at_once() {
        for how in multipliers() {
            let lazy = Lazy::new(vec![stored(40, 32, TensorType::F32, 0.3)], how);
            let many = MANY[usize::from(lazy.plain)];
            assert!(lazy.kept(many - 1).is_none());
            assert!(lazy.kept(many).is_some());
        }
    }

    #[test]
    fn numbers_of_32_bits_that_are_shorter_take_fewer_planes() {
        let short: Vec<u8> = (0..40_000u32)
            .flat_map(|i| half::bf16::from_f32(i as f32).to_f32().to_le_bytes())
            .collect();
        let of = |bytes: Vec<u8>| Stored {
            bytes: bytes.into(),
            kind: TensorType::F32,
            outputs: 1,
            inputs: 40_000,
        };
        assert_eq!(wide(&of(short.clone())), 1);
        // The one long number stands beyond what is looked at first.
        let mut long = short;
        long.splice(4 * 39_999.., 0.1234f32.to_le_bytes());
        assert_eq!(wide(&of(long)), 3);
    }
}
