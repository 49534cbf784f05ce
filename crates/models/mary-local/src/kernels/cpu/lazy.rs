//! Plain weights that stay where the checkpoint stores them until they are worth packing.
//!
//! Packed weights take as much memory as the file, or half as much again, and the kernel clears every page of
//! it first, which takes several times as long as packing: for a few texts that was half of all time. So they are
//! packed for one product and given up again at first, some outputs at a time in the cache, or all outputs of a
//! block in memory that goes from block to block. The bits are the same. What is used often stays packed.

use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use mary_weights::TensorType;
use rayon::prelude::*;

use super::matmul::{Multiplier, multiply};
use super::packed::{self, Activations, Region, Tiles};
use super::stored::numbers;
use super::target::Target;
use crate::kernels::Stored;

/// So many uses before make packed weights stay: clearing memory for them takes about as long as packing them thrice.
const OFTEN: usize = 2;
/// Outputs split at a time: with 576 inputs a tenth of a second-level cache.
const SOME: usize = 64;

/// Packed weights.
pub enum Held<'a> {
    Kept(&'a Tiles),
    Once(Tiles),
}

impl Deref for Held<'_> {
    type Target = Tiles;

    fn deref(&self) -> &Tiles {
        match self {
            Self::Kept(tiles) => tiles,
            Self::Once(tiles) => tiles,
        }
    }
}

/// Matrices under one another, as they are stored.
pub struct Lazy {
    pieces: Vec<Stored>,
    pub outputs: usize,
    pub inputs: usize,
    /// For vectors, not for the tile unit.
    pub plain: bool,
    /// Planes of the weights, once they are counted.
    planes: AtomicUsize,
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
            planes: AtomicUsize::new(0),
            uses: AtomicUsize::new(0),
            tiles: OnceLock::new(),
        }
    }

    /// The packed weights, where they stay: because they do already, or since they are used often.
    pub fn kept(&self) -> Option<&Tiles> {
        let often = || self.uses.fetch_add(1, Ordering::Relaxed) >= OFTEN;
        let made = || often().then(|| self.keep());
        self.tiles.get().or_else(made)
    }

    /// The packed weights, for one use where they do not stay.
    pub fn tiles(&self) -> Held<'_> {
        let row = |row: usize, out: &mut [f32]| self.row(row, out);
        let once = || Tiles::pack_rows(self.outputs, self.inputs, self.planes(), row);
        let kept = self.kept().map(Held::Kept);
        kept.unwrap_or_else(|| Held::Once(once()))
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
        // All threads count together, once.
        self.planes();
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

    /// No lock is held while threads of the pool count: see [`Lazy::keep`].
    fn planes(&self) -> usize {
        if self.plain {
            return packed::PLAIN;
        }
        let of = |piece: &Stored| match piece.kind {
            TensorType::BF16 => 1,
            TensorType::F16 => 2,
            _ => wide(piece),
        };
        if self.planes.load(Ordering::Relaxed) == 0 {
            let planes = self.pieces.iter().map(of).max().unwrap_or(1);
            self.planes.store(planes, Ordering::Relaxed);
        }
        self.planes.load(Ordering::Relaxed)
    }
}

/// Most weights of 32 bits need three planes, which the first few tell.
fn wide(piece: &Stored) -> usize {
    const LOOK: usize = 1 << 14;
    let planes = AtomicUsize::new(1);
    let look = |some: &mut Vec<f32>, bytes: &[u8]| {
        if planes.load(Ordering::Relaxed) < 3 {
            some.resize(bytes.len() / 4, 0.0);
            numbers(piece.kind, bytes, some);
            planes.fetch_max(packed::planes_here(some), Ordering::Relaxed);
        }
    };
    let parts = piece.bytes.par_chunks(4 * LOOK);
    parts.for_each_init(Vec::new, look);
    planes.into_inner()
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
            // Packed as a whole twice, in memory that is used again, and the third time for good.
            for time in 0..3 {
                let tiles = lazy.tiles();
                assert_eq!(matches!(tiles, Held::Kept(_)), time == 2);
                let mut whole = vec![0.5f32; rows * outputs];
                let region = Region::whole(rows, outputs, true);
                // SAFETY: as above.
                unsafe { multiply(&a, &tiles, whole.as_mut_ptr(), region) };
                assert!(alone == whole && together == whole, "{how:?} {kind}");
            }
            assert!(lazy.tiles.get().is_some());
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
