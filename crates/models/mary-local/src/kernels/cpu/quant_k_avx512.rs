//! The K kinds most files use (Q4_K, Q5_K, Q6_K) against one row of activations with AVX-512, four outputs
//! at a time.
//!
//! A block holds 256 numbers in groups with scales of their own. Of Q4_K and Q5_K the sixteen or
//! thirty-two values that a group can take are laid out in registers (`scale·q − min`) and looked up;
//! Q6_K has sixty-four, which are made whole numbers and multiplied.

use std::arch::x86_64::*;

use mary_weights::TensorType;

use super::quant_memory::get;

const BLOCK: usize = 256;
/// Outputs multiplied together: enough to hide the latency of a sum, few enough for registers.
const TOGETHER: usize = 4;
/// Rows fetched beforehand: the next two groups of outputs.
const AHEAD: usize = 2 * TOGETHER;

type Sums = [__m512; TOGETHER];

/// Products of four quantised rows with `x`.
///
/// # Safety
/// The processor has AVX-512 (F, BW, DQ, VL) and F16C; each row holds `x.len() / 256` whole blocks of
/// `kind`, which is Q4_K, Q5_K or Q6_K.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub unsafe fn dot(kind: TensorType, rows: [&[u8]; TOGETHER], x: &[f32]) -> [f32; TOGETHER] {
    let (x, _) = x.as_chunks::<BLOCK>();
    let bytes = kind.block_bytes();
    let ahead = AHEAD * rows[0].len();
    let mut sums: [Sums; 2] = [[_mm512_setzero_ps(); TOGETHER]; 2];
    for (i, x) in x.iter().enumerate() {
        let blocks = rows.map(|row| &row[i * bytes..(i + 1) * bytes]);
        for block in blocks {
            for line in (0..bytes).step_by(64) {
                _mm_prefetch::<_MM_HINT_T0>(block.as_ptr().wrapping_add(ahead + line).cast());
            }
        }
        // SAFETY: each block has the bytes of its kind.
        unsafe {
            match kind {
                TensorType::Q4K => pairs::<false>(blocks, x, &mut sums),
                TensorType::Q5K => pairs::<true>(blocks, x, &mut sums),
                _ => six_bits(blocks, x, &mut sums),
            }
        }
    }
    std::array::from_fn(|r| _mm512_reduce_add_ps(_mm512_add_ps(sums[0][r], sums[1][r])))
}

/// Factors of the eight groups of a block of Q4_K or Q5_K, then their offsets: six bits each, packed
/// into twelve bytes behind the two half-precision numbers they are multiples of.
///
/// # Safety
/// Sixteen bytes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn groups(block: *const u8) -> __m512 {
    // SAFETY: the caller vouches for the bytes.
    let head = unsafe { get(block) };
    // Three words a, b and c hold them: a's lower six bits, c's lower four with a's upper two, b's lower
    // six, and c's upper four with b's upper two.
    let words = |even: i32, odd: i32| _mm_set_epi32(odd, even, odd, even);
    let lower = _mm_srlv_epi32(_mm_shuffle_epi32::<0xED>(head), _mm_set_epi32(4, 0, 0, 0));
    let lower = _mm_and_si128(lower, words(0x3F3F_3F3F, 0x0F0F_0F0F));
    let upper = _mm_srli_epi32::<2>(_mm_shuffle_epi32::<0x84>(head));
    let upper = _mm_and_si128(upper, words(0, 0x3030_3030));
    let digits = _mm512_cvtepu8_epi32(_mm_or_si128(lower, upper));
    let both = _mm_cvtph_ps(head);
    let scale = _mm512_broadcastss_ps(both);
    let least = _mm512_broadcastss_ps(_mm_movehdup_ps(both));
    let unit = _mm512_mask_sub_ps(scale, 0xFF00, _mm512_setzero_ps(), least);
    _mm512_mul_ps(_mm512_cvtepi32_ps(digits), unit)
}

/// Factors of the sixteen groups of a block of Q6_K.
///
/// # Safety
/// The block has 210 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn factors(block: *const u8) -> __m512 {
    // SAFETY: sixteen scales and a half-precision number stand at the end of a block.
    unsafe {
        let scales = _mm512_cvtepi8_epi32(get(block.wrapping_add(192)));
        let unit: u16 = get(block.wrapping_add(208));
        let unit = _mm512_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(unit))));
        _mm512_mul_ps(_mm512_cvtepi32_ps(scales), unit)
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn stored(x: __m512) -> [f32; 16] {
    let mut out = [0.0; 16];
    // SAFETY: sixteen numbers are written.
    unsafe { _mm512_storeu_ps(out.as_mut_ptr(), x) };
    out
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn steps() -> __m512 {
    _mm512_set_ps(
        15.0, 14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0,
    )
}

/// Sixteen bytes as whole numbers.
///
/// # Safety
/// They can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn bytes(at: *const u8) -> __m512i {
    // SAFETY: the caller vouches for it.
    _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(at.cast()) })
}

/// Q4_K, or Q5_K with a `FIFTH` bit.
///
/// # Safety
/// Each block has the 144 bytes of the one or the 176 of the other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn pairs<const FIFTH: bool>(
    blocks: [&[u8]; TOGETHER],
    x: &[f32; BLOCK],
    sums: &mut [Sums; 2],
) {
    let steps = steps();
    let above = _mm512_add_ps(steps, _mm512_set1_ps(16.0));
    let nibble = _mm512_set1_epi32(15);
    // SAFETY: a block is longer than its head.
    let heads = blocks.map(|block| stored(unsafe { groups(block.as_ptr()) }));
    for pair in 0..4 {
        // SAFETY: `x` has 64 numbers for each pair of groups; a block of Q5_K 32 bytes of fifth bits behind its
        // head, and every block 32 bytes for each pair behind those.
        unsafe {
            let x = x.as_ptr().add(64 * pair);
            let x = [0, 16, 32, 48].map(|at| _mm512_loadu_ps(x.add(at)));
            for r in 0..TOGETHER {
                let start = blocks[r].as_ptr();
                let at = start.add(if FIFTH { 48 } else { 16 } + 32 * pair);
                let d = [bytes(at), bytes(at.add(16))];
                let head = &heads[r];
                // A look-up reads the lowest four bits only, or five from two tables: the low four from the
                // digits, and bit `group` of a byte of fifth bits, which comes to stand at place 4.
                let weight = |digits: __m512i, half: usize, group: usize| {
                    let factor = _mm512_set1_ps(head[group]);
                    let offset = _mm512_set1_ps(head[8 + group]);
                    let low = _mm512_fmadd_ps(steps, factor, offset);
                    if !FIFTH {
                        return _mm512_permutexvar_ps(digits, low);
                    }
                    let fifth = _mm512_slli_epi32::<4>(bytes(start.add(16 + 16 * half)));
                    let fifth = _mm512_srlv_epi32(fifth, _mm512_set1_epi32(group as i32));
                    let index = _mm512_ternarylogic_epi32::<0xCA>(nibble, digits, fifth);
                    let high = _mm512_fmadd_ps(above, factor, offset);
                    _mm512_permutex2var_ps(low, index, high)
                };
                for side in 0..2 {
                    for half in 0..2 {
                        let digits = match side {
                            0 => d[half],
                            _ => _mm512_srli_epi32::<4>(d[half]),
                        };
                        let w = weight(digits, half, 2 * pair + side);
                        sums[half][r] = _mm512_fmadd_ps(w, x[2 * side + half], sums[half][r]);
                    }
                }
            }
        }
    }
}

/// # Safety
/// Each block has the 210 bytes of Q6_K.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn six_bits(blocks: [&[u8]; TOGETHER], x: &[f32; BLOCK], sums: &mut [Sums; 2]) {
    let (nibble, six) = (_mm512_set1_epi32(15), _mm512_set1_epi32(63));
    // Factors of the sixteen groups, and what their middle value is taken from.
    let heads: [([f32; 16], [f32; 16]); TOGETHER] = blocks.map(|block| {
        // SAFETY: a block is as long as its kind.
        let factor = unsafe { factors(block.as_ptr()) };
        let offset = _mm512_mul_ps(factor, _mm512_set1_ps(-32.0));
        (stored(factor), stored(offset))
    });
    for part in 0..4 {
        // Each half of 128 numbers: 64 bytes of low digits, 32 bytes of high ones; sixteen bytes at a time.
        let (half, side) = (part / 2, part % 2);
        // SAFETY: all places lie inside `x` and the 192 bytes of digits.
        unsafe {
            let x = x.as_ptr().add(128 * half + 16 * side);
            let x = [0, 32, 64, 96].map(|quarter| _mm512_loadu_ps(x.add(quarter)));
            for r in 0..TOGETHER {
                let start = blocks[r].as_ptr();
                let a = bytes(start.add(64 * half + 16 * side));
                let b = bytes(start.add(64 * half + 32 + 16 * side));
                let h = bytes(start.add(128 + 32 * half + 16 * side));
                let (factor, offset) = &heads[r];
                let weight = |low: __m512i, high: __m512i, quarter: usize| {
                    let digits =
                        _mm512_and_si512(six, _mm512_ternarylogic_epi32::<0xCA>(nibble, low, high));
                    let group = 8 * half + 2 * quarter + side;
                    _mm512_fmadd_ps(
                        _mm512_cvtepi32_ps(digits),
                        _mm512_set1_ps(factor[group]),
                        _mm512_set1_ps(offset[group]),
                    )
                };
                let w0 = weight(a, _mm512_slli_epi32::<4>(h), 0);
                let w1 = weight(b, _mm512_slli_epi32::<2>(h), 1);
                let w2 = weight(_mm512_srli_epi32::<4>(a), h, 2);
                let w3 = weight(_mm512_srli_epi32::<4>(b), _mm512_srli_epi32::<2>(h), 3);
                sums[0][r] = _mm512_fmadd_ps(w0, x[0], sums[0][r]);
                sums[1][r] = _mm512_fmadd_ps(w1, x[1], sums[1][r]);
                sums[0][r] = _mm512_fmadd_ps(w2, x[2], sums[0][r]);
                sums[1][r] = _mm512_fmadd_ps(w3, x[3], sums[1][r]);
            }
        }
    }
}
