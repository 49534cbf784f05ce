//! Rows of weights or activations split into planes and laid out in tiles with AVX-512.
//!
//! In a tile of weights, row i holds numbers 2i and 2i+1 of every output: a block of sixteen rows by sixteen
//! pairs is transposed in registers. In a tile of activations, row i holds row i's numbers in order.

use std::arch::x86_64::*;

use super::{DEPTH, TILE, TILE_LEN};

/// A factor from some row and column on: places, and numbers from one row in memory to the next.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    pub(super) at: *const f32,
    pub(super) step: usize,
}

impl Strided {
    /// Sixteen numbers of row `row` in memory from `column` on; those from `end` on are zero.
    ///
    /// # Safety
    /// The numbers before `end` are there.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    unsafe fn load(self, row: usize, column: usize, end: usize) -> __m512 {
        let at = self.at.wrapping_add(row * self.step + column);
        // SAFETY: the caller vouches for what is there; what the mask leaves out is not read.
        unsafe {
            match column + TILE <= end {
                true => _mm512_loadu_ps(at),
                false => _mm512_maskz_loadu_ps((1 << end.saturating_sub(column)) - 1, at),
            }
        }
    }
}

/// Splits up to sixteen rows of activations whose numbers along the depth lie side by side, each times `scale`
/// where they are `SCALED`. A tile is written as a whole: row after row would jump over a kilobyte with each
/// store.
///
/// # Safety
/// The processor has AVX-512 (F, BW, DQ, VL); `from` has `rows` rows of `depth` numbers, and `out` the tiles
/// of all planes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn a_rows<const SCALED: bool>(
    from: Strided,
    (rows, depth): (usize, usize),
    scale: f32,
    out: &mut [u16],
) {
    let scale = _mm512_set1_ps(scale);
    for (block, tiles) in (0..depth.div_ceil(DEPTH)).zip(out.chunks_exact_mut(3 * TILE_LEN)) {
        for row in 0..rows {
            let half = |column: usize| {
                // SAFETY: the caller vouches for the rows.
                let x = unsafe { from.load(row, column, depth) };
                if SCALED { _mm512_mul_ps(x, scale) } else { x }
            };
            let planes = planes_of(half(block * DEPTH), half(block * DEPTH + TILE));
            write_row(tiles, row, planes);
        }
    }
}

/// Splits up to sixteen rows of activations, scaled, that lie side by side: in memory, a row is one place
/// of the depth. Safety: as for [`a_rows`], of the transpose.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn a_columns(
    from: Strided,
    (rows, depth): (usize, usize),
    scale: f32,
    out: &mut [u16],
) {
    let scale = _mm512_set1_ps(scale);
    let half = |first: usize| {
        let lines: [__m512i; TILE] = std::array::from_fn(|i| {
            if first + i >= depth {
                return _mm512_setzero_si512();
            }
            // SAFETY: the caller vouches for the rows.
            let line = unsafe { from.load(first + i, 0, rows) };
            _mm512_castps_si512(_mm512_mul_ps(line, scale))
        });
        transpose(&lines).map(|line| _mm512_castsi512_ps(line))
    };
    for (block, tiles) in (0..depth.div_ceil(DEPTH)).zip(out.chunks_exact_mut(3 * TILE_LEN)) {
        let (low, high) = (half(block * DEPTH), half(block * DEPTH + TILE));
        for row in 0..rows {
            write_row(tiles, row, planes_of(low[row], high[row]));
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn write(tiles: &mut [u16], row: usize, numbers: __m512i) {
    let to = &mut tiles[row * DEPTH..][..DEPTH];
    // SAFETY: a row of a tile is 64 bytes.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), numbers) };
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn write_row(tiles: &mut [u16], row: usize, planes: [__m512i; 3]) {
    for (plane, numbers) in planes.into_iter().enumerate() {
        write(tiles, plane * TILE + row, numbers);
    }
}

/// Splits up to sixteen outputs whose numbers along the depth lie side by side. Safety: as for [`a_rows`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn b_rows(
    from: Strided,
    (outputs, depth): (usize, usize),
    planes: usize,
    out: &mut [u16],
) {
    let tiles = out.chunks_exact_mut(planes * TILE_LEN);
    for (block, tiles) in (0..depth.div_ceil(DEPTH)).zip(tiles) {
        let split: [[__m512i; 3]; TILE] = std::array::from_fn(|output| {
            if output >= outputs {
                return [_mm512_setzero_si512(); 3];
            }
            // SAFETY: the caller vouches for the rows.
            let half = |column: usize| unsafe { from.load(output, column, depth) };
            planes_of(half(block * DEPTH), half(block * DEPTH + TILE))
        });
        for (plane, tile) in tiles.chunks_exact_mut(TILE_LEN).enumerate() {
            let pairs: [__m512i; TILE] = std::array::from_fn(|output| split[output][plane]);
            for (row, pairs) in transpose(&pairs).into_iter().enumerate() {
                write(tile, row, pairs);
            }
        }
    }
}

/// Splits up to sixteen outputs that lie side by side: two places of the depth are one row of a tile.
/// Safety: as for [`a_rows`], of the transpose.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn b_columns(
    from: Strided,
    (outputs, depth): (usize, usize),
    planes: usize,
    out: &mut [u16],
) {
    let split = |row: usize| {
        // Rows lie far apart, and the processor does not foresee the next one; beyond the end, a place is
        // only named.
        let next = from.at.wrapping_add((row + DEPTH) * from.step);
        _mm_prefetch::<_MM_HINT_T0>(next.cast());
        let [first, second, third] = split_in_three(match row < depth {
            // SAFETY: the caller vouches for the rows.
            true => unsafe { from.load(row, 0, outputs) },
            false => _mm512_setzero_ps(),
        });
        [first, second, _mm512_and_si512(third, top())]
    };
    let tiles = out.chunks_exact_mut(planes * TILE_LEN);
    for (block, tiles) in (0..depth.div_ceil(DEPTH)).zip(tiles) {
        for pair in 0..TILE {
            let even = split(block * DEPTH + 2 * pair);
            let odd = split(block * DEPTH + 2 * pair + 1);
            for plane in 0..planes {
                let both = _mm512_or_si512(_mm512_srli_epi32::<16>(even[plane]), odd[plane]);
                write(tiles, plane * TILE + pair, both);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn top() -> __m512i {
    _mm512_set1_epi32(0xFFFF_0000_u32 as i32)
}

/// Three numbers whose upper halves, taken as bfloat16, sum up to each of sixteen floats; of the third the lower
/// half is left in place.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn split_in_three(x: __m512) -> [__m512i; 3] {
    let first = _mm512_and_si512(_mm512_castps_si512(x), top());
    let rest = _mm512_sub_ps(x, _mm512_castsi512_ps(first));
    let second = _mm512_and_si512(_mm512_castps_si512(rest), top());
    let third = _mm512_sub_ps(rest, _mm512_castsi512_ps(second));
    [first, second, _mm512_castps_si512(third)]
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn planes_of(low: __m512, high: __m512) -> [__m512i; 3] {
    let short = |bits| _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(bits));
    // A loop, not `map`: that is compiled without these instructions, and may then call what should be inlined.
    let mut planes = [_mm512_setzero_si512(); 3];
    let halves = split_in_three(low).into_iter().zip(split_in_three(high));
    for (plane, (low, high)) in planes.iter_mut().zip(halves) {
        *plane = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(short(low)), short(high));
    }
    planes
}

/// Rows to columns, sixteen by sixteen.
///
/// # Safety
/// The processor has AVX-512 (F, BW, DQ, VL).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub fn transpose(rows: &[__m512i; TILE]) -> [__m512i; TILE] {
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
