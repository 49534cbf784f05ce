//! Products of rows and packed weights in plain 32-bit numbers, with the vectors that the processor has.
//!
//! A sum is added up in the order of the inputs, [`SPAN`] at a time, whichever rows and outputs are computed
//! beside it: the same row gives the same bits.

use crate::simd::{self, Width, madd};

/// Inputs whose products are added up before they go to memory: a small sum loses nothing to a large one, and the
/// weights of 32 outputs stay in the first-level cache or next to it.
pub const SPAN: usize = 256;
const LANES: usize = super::TILE;

/// Up to 32 rows and 32 outputs of a product.
pub(super) struct Block {
    pub x: *const f32,
    /// Numbers from a row to the next.
    pub step: usize,
    pub rows: usize,
    /// Two neighbouring strips of weights.
    pub w: [*const f32; 2],
    pub depth: usize,
    pub add: bool,
    /// What will be multiplied next; it may lie beyond the end.
    pub next: *const f32,
}

impl Block {
    /// # Safety
    /// `x` has `rows` rows of `depth` numbers and each strip `depth` times sixteen; `out` has `rows` rows of 32.
    pub(super) unsafe fn run(&self, out: *mut f32, stride: usize) {
        let most = match simd::width() {
            Width::V4 => 12,
            Width::V3 => 6,
            Width::Baseline => 4,
        };
        // As many rows at a time as registers allow, in parts of nearly one size.
        let part = self.rows.div_ceil(self.rows.div_ceil(most).max(1));
        for first in (0..self.rows).step_by(part.max(1)) {
            let some = Self {
                x: self.x.wrapping_add(first * self.step),
                rows: part.min(self.rows - first),
                next: self.next.wrapping_add(first * self.depth / 4),
                ..*self
            };
            // SAFETY: the caller vouches for all rows.
            unsafe { some.few(out.add(first * stride), stride) };
        }
    }

    /// Safety: as for [`Block::run`], with as many rows as the registers of a width allow.
    unsafe fn few(&self, out: *mut f32, stride: usize) {
        macro_rules! by_rows {
            ($of:expr, $out:expr, $stride:expr, $strips:literal, $fused:expr, $($rows:literal)+) => {
                // SAFETY: the caller vouches for the sizes.
                unsafe {
                    for strip in (0..2).step_by($strips) {
                        let to = ($out.add(strip * LANES), $stride);
                        match $of.rows {
                            $($rows => $of.strips::<$rows, $strips, $fused>(strip, to),)+
                            _ => {}
                        }
                    }
                }
            };
        }
        #[cfg(target_arch = "x86_64")]
        {
            /// # Safety
            /// As for [`Block::few`].
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn v4(of: &Block, out: *mut f32, stride: usize) {
                by_rows!(of, out, stride, 2, true, 1 2 3 4 5 6 7 8 9 10 11 12);
            }
            /// # Safety
            /// As for [`Block::few`].
            #[target_feature(enable = "avx2,fma")]
            unsafe fn v3(of: &Block, out: *mut f32, stride: usize) {
                by_rows!(of, out, stride, 1, true, 1 2 3 4 5 6);
            }
            match simd::width() {
                // SAFETY: `width` found the instructions; the rest is passed on.
                Width::V4 => return unsafe { v4(self, out, stride) },
                // SAFETY: as above.
                Width::V3 => return unsafe { v3(self, out, stride) },
                Width::Baseline => {}
            }
        }
        by_rows!(self, out, stride, 1, { cfg!(target_arch = "aarch64") }, 1 2 3 4);
    }

    /// `R` rows of `S` strips, whose sums stay in registers: the loops over constants are unrolled into vectors.
    ///
    /// # Safety
    /// As for [`Block::run`], with `R` rows; `to` begins with the first of the strips.
    #[inline(always)]
    unsafe fn strips<const R: usize, const S: usize, const FUSED: bool>(
        &self,
        first: usize,
        (to, stride): (*mut f32, usize),
    ) {
        let mut sums = [[[0.0f32; LANES]; S]; R];
        for k in 0..self.depth {
            #[cfg(target_arch = "x86_64")]
            if S == 2 && k % 4 == 0 {
                use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
                let next = self.next.wrapping_add(k / 4 * LANES);
                // SAFETY: what is only fetched may lie anywhere.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(next.cast()) };
            }
            // SAFETY: the caller vouches for the strips.
            let w: [[f32; LANES]; S] = std::array::from_fn(|s| unsafe {
                *self.w[first + s].add(LANES * k).cast::<[f32; LANES]>()
            });
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the caller vouches for the rows.
                let x = unsafe { *self.x.add(r * self.step + k) };
                for (sums, w) in sums.iter_mut().zip(&w) {
                    for lane in 0..LANES {
                        sums[lane] = madd::<FUSED>(x, w[lane], sums[lane]);
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (s, sums) in sums.iter().enumerate() {
                // SAFETY: the caller vouches for `R` rows of these strips.
                let to = unsafe { &mut *to.add(r * stride + s * LANES).cast::<[f32; LANES]>() };
                for lane in 0..LANES {
                    let before = if self.add { to[lane] } else { 0.0 };
                    to[lane] = before + sums[lane];
                }
            }
        }
    }
}
