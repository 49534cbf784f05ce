//! Quantised rows against one row of activations with AVX-512, four outputs at a time.
//!
//! A block of four-bit weights has only sixteen values: they are laid out in one register
//! (`d·q + m`) and looked up, so that a weight costs one permutation instead of a conversion and
//! two products. Scales are widened beforehand, sixteen at once, and broadcast from memory.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use mary_weights::TensorType;

const BLOCK: usize = 32;
/// Outputs multiplied together: enough to hide the latency of a sum, few enough for registers.
pub const TOGETHER: usize = 4;
/// Rows fetched beforehand: the next two groups.
const AHEAD: usize = 2 * TOGETHER;
/// Blocks whose scales are widened at a time.
const CHUNK: usize = 64;

/// Scales of a chunk of blocks of one row; `offset` is a block's smallest value.
#[derive(Clone, Copy)]
struct Scales {
    factor: [MaybeUninit<f32>; CHUNK],
    offset: [MaybeUninit<f32>; CHUNK],
}

type Sums = [__m512; TOGETHER];

/// Products of four quantised rows with `x`.
///
/// # Safety
/// The processor has AVX-512 (F, BW, DQ, VL) and F16C; each row holds `x.len() / 32` whole blocks of
/// `kind`, which is Q4_0, Q4_1 or Q8_0.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub unsafe fn dot(kind: TensorType, rows: [&[u8]; TOGETHER], x: &[f32]) -> [f32; TOGETHER] {
    let mut sums = [_mm512_setzero_ps(); TOGETHER];
    let bytes = kind.block_bytes();
    for (chunk, x) in x.chunks(CHUNK * BLOCK).enumerate() {
        let count = x.len() / BLOCK;
        let first = chunk * CHUNK * bytes;
        let rows = rows.map(|row| &row[first..first + count * bytes]);
        // SAFETY: rows and `x` hold `count` blocks.
        sums = unsafe {
            match kind {
                TensorType::Q4_1 => blocks::<20, 4>(rows, x, sums),
                TensorType::Q4_0 => blocks::<18, 2>(rows, x, sums),
                _ => blocks::<34, 2>(rows, x, sums),
            }
        };
    }
    sums.map(|s| _mm512_reduce_add_ps(s))
}

/// Reads the half-precision scales at the head of every block, sixteen at once, and the offsets
/// where there are some.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn widen<const BYTES: usize>(row: &[u8], scales: &mut Scales) {
    let (blocks, _) = row.as_chunks::<BYTES>();
    for at in (0..blocks.len().min(CHUNK)).step_by(16) {
        let left = (blocks.len() - at).min(16);
        // SAFETY: `left` blocks are there; CHUNK is a multiple of 16, and `at` is below it.
        unsafe {
            let (factor, offset) = self::scales::<BYTES>(row.as_ptr().add(at * BYTES), left);
            _mm512_storeu_ps(scales.factor.as_mut_ptr().cast::<f32>().add(at), factor);
            _mm512_storeu_ps(scales.offset.as_mut_ptr().cast::<f32>().add(at), offset);
        }
    }
}

/// Factors and offsets of up to sixteen blocks of `BYTES` bytes; zero for those that are not there.
///
/// # Safety
/// `count` blocks can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn scales<const BYTES: usize>(at: *const u8, count: usize) -> (__m512, __m512) {
    let numbers = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let places = _mm512_mullo_epi32(_mm512_set1_epi32(BYTES as i32), numbers);
    let mask = ((1u32 << count.min(16)) - 1) as u16;
    // SAFETY: the mask lets only whole blocks be read, each longer than the four bytes taken of it.
    let heads = unsafe {
        _mm512_mask_i32gather_epi32::<1>(_mm512_setzero_si512(), mask, places, at.cast())
    };
    let factor = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(heads));
    let offset = if BYTES == 20 {
        _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(heads)))
    } else {
        _mm512_mul_ps(factor, _mm512_set1_ps(-8.0))
    };
    (factor, offset)
}

/// # Safety
/// Each row holds a chunk of whole blocks of `BYTES` bytes, 34 of Q8_0, whose digits begin at `HEAD`; `x` 32
/// numbers for each block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn blocks<const BYTES: usize, const HEAD: usize>(
    rows: [&[u8]; TOGETHER],
    x: &[f32],
    mut low: Sums,
) -> Sums {
    let steps = _mm512_set_ps(
        15.0, 14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0,
    );
    let mut scales = [EMPTY; TOGETHER];
    for (row, scales) in rows.iter().zip(&mut scales) {
        widen::<BYTES>(row, scales);
    }
    let ahead = AHEAD * rows[0].len();
    let mut high = [_mm512_setzero_ps(); TOGETHER];
    let (x, _) = x.as_chunks::<BLOCK>();
    for (i, x) in x.iter().enumerate() {
        // SAFETY: x has 32 numbers, and every row has block `i` with its sixteen or thirty-two bytes of digits
        // after its head.
        unsafe {
            let x = [0, 16].map(|at| _mm512_loadu_ps(x.as_ptr().add(at)));
            for r in 0..TOGETHER {
                let at = rows[r].as_ptr().add(i * BYTES + HEAD);
                _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(ahead).cast());
                let at: *const __m128i = at.cast();
                let factor = _mm512_set1_ps(scales[r].factor.get_unchecked(i).assume_init());
                if BYTES == 34 {
                    let whole = |at| _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(at)));
                    let first = _mm512_mul_ps(whole(at), x[0]);
                    let both = _mm512_fmadd_ps(whole(at.add(1)), x[1], first);
                    low[r] = _mm512_fmadd_ps(both, factor, low[r]);
                    continue;
                }
                let digits = _mm512_cvtepu8_epi32(_mm_loadu_si128(at));
                let offset = _mm512_set1_ps(scales[r].offset.get_unchecked(i).assume_init());
                let values = _mm512_fmadd_ps(steps, factor, offset);
                // A look-up reads the lowest four bits only.
                let first = _mm512_permutexvar_ps(digits, values);
                let second = _mm512_permutexvar_ps(_mm512_srli_epi32::<4>(digits), values);
                low[r] = _mm512_fmadd_ps(first, x[0], low[r]);
                high[r] = _mm512_fmadd_ps(second, x[1], high[r]);
            }
        }
    }
    match BYTES {
        34 => low,
        _ => std::array::from_fn(|r| _mm512_add_ps(low[r], high[r])),
    }
}

const EMPTY: Scales = Scales {
    factor: [MaybeUninit::uninit(); CHUNK],
    offset: [MaybeUninit::uninit(); CHUNK],
};
