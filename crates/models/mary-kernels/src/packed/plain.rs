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

    /// Safety: as for [`Block::run`], with at most twelve rows.
    unsafe fn few(&self, out: *mut f32, stride: usize) {
        macro_rules! by_rows {
            ($kernel:ident: $($rows:literal)+) => {
                match self.rows {
                    $($rows => self.$kernel::<$rows>(out, stride),)+
                    _ => {}
                }
            };
        }
        // SAFETY: the caller vouches for the sizes, `width` for the instructions.
        unsafe {
            match simd::width() {
                #[cfg(target_arch = "x86_64")]
                Width::V4 => by_rows!(avx512: 1 2 3 4 5 6 7 8 9 10 11 12),
                #[cfg(target_arch = "x86_64")]
                Width::V3 => by_rows!(avx2: 1 2 3 4 5 6),
                _ => by_rows!(portable: 1 2 3 4),
            }
        }
    }

    /// Safety: as for [`Block::run`], with `R` rows and on a processor with AVX-512.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512<const R: usize>(&self, out: *mut f32, stride: usize) {
        use std::arch::x86_64::*;
        let [first, second] = self.w;
        let rows: [*const f32; R] = std::array::from_fn(|r| self.x.wrapping_add(r * self.step));
        let mut sums = [[_mm512_setzero_ps(); 2]; R];
        for k in 0..self.depth {
            // SAFETY: the caller vouches for rows and strips; what is only fetched may lie anywhere.
            unsafe {
                if k % 4 == 0 {
                    _mm_prefetch::<_MM_HINT_T1>(self.next.wrapping_add(k / 4 * LANES).cast());
                }
                let w = [first, second].map(|w| _mm512_loadu_ps(w.add(LANES * k)));
                for (sums, row) in sums.iter_mut().zip(rows) {
                    let x = _mm512_set1_ps(*row.add(k));
                    *sums = [0, 1].map(|i| _mm512_fmadd_ps(x, w[i], sums[i]));
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (i, sum) in sums.into_iter().enumerate() {
                // SAFETY: the caller vouches for `R` rows of 32 numbers.
                unsafe {
                    let at = out.add(r * stride + i * LANES);
                    let before = match self.add {
                        true => _mm512_loadu_ps(at),
                        false => _mm512_setzero_ps(),
                    };
                    _mm512_storeu_ps(at, _mm512_add_ps(before, sum));
                }
            }
        }
    }

    /// Safety: as for [`Block::run`], with `R` rows and on a processor with AVX2 and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<const R: usize>(&self, out: *mut f32, stride: usize) {
        use std::arch::x86_64::*;
        for (i, strip) in self.w.into_iter().enumerate() {
            let mut sums = [[_mm256_setzero_ps(); 2]; R];
            for k in 0..self.depth {
                // SAFETY: the caller vouches for rows and strips.
                unsafe {
                    let w = [0, 8].map(|half| _mm256_loadu_ps(strip.add(LANES * k + half)));
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let x = _mm256_set1_ps(*self.x.add(r * self.step + k));
                        *sums = [0, 1].map(|i| _mm256_fmadd_ps(x, w[i], sums[i]));
                    }
                }
            }
            for (r, sums) in sums.into_iter().enumerate() {
                for (half, sum) in sums.into_iter().enumerate() {
                    // SAFETY: the caller vouches for `R` rows of 32 numbers.
                    unsafe {
                        let at = out.add(r * stride + i * LANES + 8 * half);
                        let before = match self.add {
                            true => _mm256_loadu_ps(at),
                            false => _mm256_setzero_ps(),
                        };
                        _mm256_storeu_ps(at, _mm256_add_ps(before, sum));
                    }
                }
            }
        }
    }

    /// Safety: as for [`Block::run`], with `R` rows.
    unsafe fn portable<const R: usize>(&self, out: *mut f32, stride: usize) {
        const FUSED: bool = cfg!(target_arch = "aarch64");
        for (i, strip) in self.w.into_iter().enumerate() {
            let mut sums = [[0.0f32; LANES]; R];
            for k in 0..self.depth {
                // SAFETY: the caller vouches for rows and strips.
                let w = unsafe { *strip.add(LANES * k).cast::<[f32; LANES]>() };
                for (r, sums) in sums.iter_mut().enumerate() {
                    // SAFETY: as above.
                    let x = unsafe { *self.x.add(r * self.step + k) };
                    for lane in 0..LANES {
                        sums[lane] = madd::<FUSED>(x, w[lane], sums[lane]);
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                // SAFETY: the caller vouches for `R` rows of 32 numbers.
                let to = unsafe {
                    let at = out.add(r * stride + i * LANES);
                    std::slice::from_raw_parts_mut(at, LANES)
                };
                let add = self.add;
                let both = to.iter_mut().zip(sums);
                both.for_each(|(y, sum)| *y = if add { *y + sum } else { *sum });
            }
        }
    }
}
