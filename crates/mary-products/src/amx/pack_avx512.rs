//! Sixteen rows of weights or activations split into planes and laid out in tiles with AVX-512.
//!
//! In a tile of weights, row i holds numbers 2i and 2i+1 of every output: a block of sixteen rows by sixteen
//! pairs is transposed in registers. In a tile of activations, row i holds row i's numbers in order.

use std::arch::x86_64::*;

use super::{DEPTH, TILE};

/// Splits sixteen rows of `inputs` numbers, a multiple of 32, into `planes` planes.
///
/// # Safety
/// The processor has AVX-512 (F, BW, DQ, VL); `rows` holds sixteen rows, and `out` the tiles of all planes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub unsafe fn strip(rows: &[f32], inputs: usize, planes: usize, out: &mut [u16]) {
    let top = _mm512_set1_epi32(0xFFFF_0000_u32 as i32);
    for block in 0..inputs / DEPTH {
        let split: [[__m512i; 3]; TILE] = std::array::from_fn(|output| {
            // SAFETY: the caller vouches for the rows.
            let (low, high) = unsafe {
                let at = rows.as_ptr().add(output * inputs + block * DEPTH);
                (_mm512_loadu_ps(at), _mm512_loadu_ps(at.add(TILE)))
            };
            let (low, high) = (planes_of(low, top), planes_of(high, top));
            std::array::from_fn(|plane| {
                _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low[plane]), high[plane])
            })
        });
        for plane in 0..planes {
            let pairs: [__m512i; TILE] = std::array::from_fn(|output| split[output][plane]);
            let tile = &mut out[(block * planes + plane) * TILE * DEPTH..][..TILE * DEPTH];
            for (row, pairs) in tile.chunks_exact_mut(DEPTH).zip(transpose(&pairs)) {
                // SAFETY: a row of a tile is 64 bytes.
                unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), pairs) };
            }
        }
    }
}

/// Splits up to sixteen rows of `inputs` activations, a multiple of 32, into three planes. A tile is written
/// as a whole: row after row would jump over a kilobyte with each store.
///
/// # Safety
/// The processor has AVX-512 (F, BW, DQ, VL); `rows` holds at most sixteen rows, and `out` the tiles of all
/// planes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub unsafe fn rows(rows: &[f32], inputs: usize, out: &mut [u16]) {
    let top = _mm512_set1_epi32(0xFFFF_0000_u32 as i32);
    let count = rows.len() / inputs;
    for block in 0..inputs / DEPTH {
        for row in 0..count {
            // SAFETY: row and block lie inside `rows`, and the three tiles of the block inside `out`.
            unsafe {
                let from = rows.as_ptr().add(row * inputs + block * DEPTH);
                let low = planes_of(_mm512_loadu_ps(from), top);
                let high = planes_of(_mm512_loadu_ps(from.add(TILE)), top);
                let to = out.as_mut_ptr().add(block * 3 * TILE * DEPTH + row * DEPTH);
                for plane in 0..3 {
                    let both =
                        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low[plane]), high[plane]);
                    _mm512_storeu_si512(to.add(plane * TILE * DEPTH).cast(), both);
                }
            }
        }
    }
}

/// The three bfloat16 numbers whose sum is each of sixteen floats.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn planes_of(x: __m512, top: __m512i) -> [__m256i; 3] {
    let first = _mm512_and_si512(_mm512_castps_si512(x), top);
    let rest = _mm512_sub_ps(x, _mm512_castsi512_ps(first));
    let second = _mm512_and_si512(_mm512_castps_si512(rest), top);
    let third = _mm512_castps_si512(_mm512_sub_ps(rest, _mm512_castsi512_ps(second)));
    [first, second, third].map(|bits| _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(bits)))
}

/// Rows to columns, sixteen by sixteen.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn transpose(rows: &[__m512i; TILE]) -> [__m512i; TILE] {
    let mut a = *rows;
    for i in (0..TILE).step_by(2) {
        a[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    // Of b[4g + j], quarter q holds column 4q + j of rows 4g to 4g + 3.
    let mut b = a;
    for i in (0..TILE).step_by(4) {
        b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
        b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
        b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
        b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
    }
    let mut out = b;
    for j in 0..4 {
        let even = _mm512_shuffle_i32x4::<0x88>(b[j], b[4 + j]);
        let odd = _mm512_shuffle_i32x4::<0xDD>(b[j], b[4 + j]);
        let even_below = _mm512_shuffle_i32x4::<0x88>(b[8 + j], b[12 + j]);
        let odd_below = _mm512_shuffle_i32x4::<0xDD>(b[8 + j], b[12 + j]);
        out[j] = _mm512_shuffle_i32x4::<0x88>(even, even_below);
        out[4 + j] = _mm512_shuffle_i32x4::<0x88>(odd, odd_below);
        out[8 + j] = _mm512_shuffle_i32x4::<0xDD>(even, even_below);
        out[12 + j] = _mm512_shuffle_i32x4::<0xDD>(odd, odd_below);
    }
    out
}
