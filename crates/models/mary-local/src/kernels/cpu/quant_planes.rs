//! Rows of activations for products with quantised weights on the tile unit: each number as three bfloat16
//! numbers, whose sum it is exactly, and sums of thirty-two inputs for the offsets of weights.

use std::arch::x86_64::*;

use rayon::prelude::*;

use super::aligned::Aligned;
use super::packed::transpose;
use super::quant_digits::{self, CHUNK, DEPTH, TILE, TILE_LEN};
use super::quant_memory::{get, set};
use super::target::Shared;
use super::team;

pub const PLANES: usize = 3;

#[derive(Default)]
pub struct Planes {
    pub(super) rows: usize,
    pub(super) groups: usize,
    /// By strips of sixteen rows, groups of thirty-two inputs and planes: pairs of inputs of every row.
    data: Aligned<u16>,
    /// By strips and groups: the sum of each row's inputs.
    sums: Aligned<f32>,
}

impl Planes {
    /// Splits `rows` rows of `inputs` numbers, a multiple of 32.
    pub fn set(&mut self, x: &[f32], rows: usize, inputs: usize) {
        let (strips, groups) = (rows.div_ceil(TILE), inputs / DEPTH);
        (self.rows, self.groups) = (rows, groups);
        self.data.reserve(strips * groups * PLANES * TILE_LEN);
        self.sums.reserve(strips * groups * TILE);
        let data = Shared(self.data.as_mut_ptr());
        let sums = Shared(self.sums.as_mut_ptr());
        let chunks = groups.div_ceil(CHUNK);
        each(rows, strips * chunks, 4, |i| {
            let (strip, chunk) = (i / chunks, i % chunks);
            let last = rows.min((strip + 1) * TILE);
            let of = &x[strip * TILE * inputs..last * inputs];
            for group in chunk * CHUNK..groups.min((chunk + 1) * CHUNK) {
                let at = strip * groups + group;
                // SAFETY: every group of a strip is written once, and memory for it is there; this type
                // is used only where `supports` found AVX-512.
                unsafe {
                    let tile = data.pointer().add(at * PLANES * TILE_LEN);
                    split(of, inputs, group, tile, sums.pointer().add(at * TILE));
                }
            }
        });
    }

    pub(super) fn tiles(&self, strip: usize, group: usize) -> *const u16 {
        self.data[(strip * self.groups + group) * PLANES * TILE_LEN..].as_ptr()
    }

    pub(super) fn sums(&self, strip: usize, group: usize) -> *const f32 {
        self.sums[(strip * self.groups + group) * TILE..].as_ptr()
    }
}

/// Rows from which on rayon's threads do the work: fewer are a step of answers being written, whose short
/// pieces are for a [team].
const MANY: usize = 129;

/// Calls `work` for every number below `count` on all threads, in runs of `share`.
pub(super) fn each(rows: usize, count: usize, share: usize, work: impl Fn(usize) + Send + Sync) {
    if rows < MANY {
        return team::each(count, share, work);
    }
    (0..count)
        .into_par_iter()
        .with_min_len(share)
        .for_each(work);
}

/// Thirty-two inputs of up to sixteen rows: three planes of pairs of inputs, and the sums.
///
/// # Safety
/// The processor has AVX-512; `x` holds whole rows of `inputs` numbers, which have this group; the targets
/// have room for three tiles and sixteen sums.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn split(x: &[f32], inputs: usize, group: usize, tiles: *mut u16, sums: *mut f32) {
    let mut planes = [[_mm512_setzero_si512(); TILE]; PLANES];
    // Inputs with even numbers first, as digits stand.
    let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    let mut totals = [0.0f32; TILE];
    for (r, row) in x.chunks_exact(inputs).enumerate() {
        let row = &row[group * DEPTH..][..DEPTH];
        // SAFETY: thirty-two numbers.
        let (x, y) = unsafe { (get(row.as_ptr()), get(row.as_ptr().wrapping_add(16))) };
        totals[r] = _mm512_reduce_add_ps(_mm512_add_ps(x, y));
        let (mut first, mut second) = (
            _mm512_permutex2var_ps(x, even, y),
            _mm512_permutex2var_ps(x, odd, y),
        );
        for plane in &mut planes {
            let (a, b) = (quant_digits::cut(first), quant_digits::cut(second));
            plane[r] = quant_digits::shortened(a, b);
            (first, second) = (_mm512_sub_ps(first, a), _mm512_sub_ps(second, b));
        }
    }
    for (p, plane) in planes.into_iter().enumerate() {
        for (pair, line) in transpose(&plane).into_iter().enumerate() {
            // SAFETY: the tile has sixteen lines of 64 bytes.
            unsafe { set(tiles.wrapping_add(p * TILE_LEN + pair * DEPTH), line) };
        }
    }
    // SAFETY: sixteen numbers.
    unsafe { set(sums, totals) };
}
