//! Quantised rows against one row of activations in whole numbers (AVX-512 VNNI), four outputs at a time.
//!
//! Thirty-two activations at a time become whole numbers of 24 bits, relative to the largest of them: what
//! is rounded away is at most 2⁻²⁴ of that one, as much as a float sum of their products loses anyway.
//! Each is the sum of three signed bytes (times 65536, 256 and 1), which are multiplied with the digits of
//! the weights four at a time and added without any rounding; a group's sum becomes a float once, where
//! its scale is applied. Digits are bytes already, so that a weight costs a fraction of what it takes to
//! make it a float.

use std::arch::x86_64::*;
use std::sync::OnceLock;

use mary_weights::TensorType;

use super::quant_memory::{get, set};

/// Activations that share a scale.
const GROUP: usize = 32;
/// Activations whose bytes lie together: two vectors of 64 weights.
const SPAN: usize = 128;
/// The largest whole number: 127 · (65536 + 256 + 1).
const LARGEST: f64 = 8_355_711.0;
/// Outputs multiplied together: enough to hide the latency of a sum, few enough for registers.
const TOGETHER: usize = 4;
/// Rows fetched beforehand: the next two groups of outputs.
const AHEAD: usize = 2 * TOGETHER;
/// Blocks of 32 whose scales are widened at a time.
const HEADS: usize = 16;

/// Whether weights of this kind are multiplied here, on this processor.
pub fn supports(kind: TensorType) -> bool {
    static VNNI: OnceLock<bool> = OnceLock::new();
    let there = *VNNI.get_or_init(|| {
        super::simd::width() == super::simd::Width::V4 && is_x86_feature_detected!("avx512vnni")
    });
    there && order_of(kind).is_some()
}

/// In which order a kind wants the activations of a span.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// As they are: Q6_K.
    Plain,
    /// Groups 0, 2, 1, 3: low and high digits of neighbouring groups share bytes (Q4_K, Q5_K).
    Pairs,
    /// The first halves of all four groups, then the second ones (Q4_0, Q4_1).
    Halves,
}

fn order_of(kind: TensorType) -> Option<Order> {
    match kind {
        TensorType::Q6K => Some(Order::Plain),
        TensorType::Q4K | TensorType::Q5K => Some(Order::Pairs),
        TensorType::Q4_0 | TensorType::Q4_1 => Some(Order::Halves),
        _ => None,
    }
}

/// One row of activations as whole numbers.
pub struct Fixed {
    order: Order,
    /// For each span, two vectors, each as its highest, middle and lowest bytes.
    bytes: Vec<[[[i8; 64]; 3]; 2]>,
    /// What one means, group by group.
    scales: Vec<f32>,
    sums: Vec<f32>,
    /// Minus 32 times the sum of four numbers at a time: Q6_K's digits are 32 too large.
    less: Vec<[[i32; 16]; 2]>,
}

impl Fixed {
    /// A row of activations as weights of this kind are multiplied with them; `None` where they are not.
    pub fn new(kind: TensorType, x: &[f32]) -> Option<Self> {
        let order = order_of(kind).filter(|_| supports(kind))?;
        let spans = x.len().div_ceil(SPAN);
        // Scales of sixteen groups are read at once.
        let groups = spans * (SPAN / GROUP) + HEADS;
        let subtracted = if order == Order::Plain { spans } else { 0 };
        let mut fixed = Self {
            order,
            bytes: vec![[[[0; 64]; 3]; 2]; spans],
            scales: vec![0.0; groups],
            sums: vec![0.0; groups],
            less: vec![[[0; 16]; 2]; subtracted],
        };
        for (i, group) in x.as_chunks::<GROUP>().0.iter().enumerate() {
            // SAFETY: `supports` found every feature.
            unsafe { fixed.set(i, group) };
        }
        Some(fixed)
    }

    /// Whether weights of this kind can be multiplied with it.
    pub fn fits(&self, kind: TensorType) -> bool {
        order_of(kind) == Some(self.order)
    }

    /// Makes a group whole numbers. Its scale is no number where an activation is none.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
    fn set(&mut self, group: usize, x: &[f32; GROUP]) {
        // SAFETY: two vectors of sixteen numbers.
        let (a, b): (__m512, __m512) =
            unsafe { (get(x.as_ptr()), get(x.as_ptr().wrapping_add(16))) };
        self.sums[group] = _mm512_reduce_add_ps(_mm512_add_ps(a, b));
        let sizes = [a, b].map(|x| _mm512_abs_ps(x));
        let infinite = _mm512_set1_ps(f32::INFINITY);
        let finite = sizes.map(|x| _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, infinite) == 0xFFFF);
        let most = _mm512_reduce_max_ps(_mm512_max_ps(sizes[0], sizes[1]));
        if finite != [true; 2] {
            self.scales[group] = f32::NAN;
            return;
        }
        if most < f32::MIN_POSITIVE {
            return;
        }
        self.scales[group] = (f64::from(most) / LARGEST) as f32;
        let factor = _mm512_set1_pd(LARGEST / f64::from(most));
        let (span, inside) = (group / (SPAN / GROUP), group % (SPAN / GROUP));
        for (half, x) in [a, b].into_iter().enumerate() {
            let low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
            let high = _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(x));
            let [low, high] = [low, high].map(|x| _mm512_cvtpd_epi32(_mm512_mul_pd(x, factor)));
            let numbers = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            let (vector, place) = self.order.place(inside * GROUP + 16 * half);
            let mut rest = numbers;
            for plane in [2, 1, 0] {
                let last = _mm512_cvtepi32_epi8(rest);
                let bytes = &mut self.bytes[span][vector][plane][place..place + 16];
                // SAFETY: sixteen bytes are written.
                unsafe { set(bytes.as_mut_ptr(), last) };
                // What is left is a multiple of 256 once the signed byte is taken away.
                let rounded = _mm512_sub_epi32(rest, _mm512_cvtepi8_epi32(last));
                rest = _mm512_srai_epi32::<8>(rounded);
            }
            if self.order == Order::Plain {
                let pairs = _mm512_add_epi32(numbers, _mm512_shuffle_epi32::<0xB1>(numbers));
                let fours = _mm512_add_epi32(pairs, _mm512_shuffle_epi32::<0x4E>(pairs));
                let less = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32::<5>(fours));
                let less = _mm512_maskz_compress_epi32(0x1111, less);
                let to = &mut self.less[span][vector][place / 4..place / 4 + 4];
                // SAFETY: four numbers are written.
                unsafe { set(to.as_mut_ptr(), _mm512_castsi512_si128(less)) };
            }
        }
    }
}

impl Order {
    /// In which of a span's two vectors a number stands, and where; sixteen stay together.
    fn place(self, i: usize) -> (usize, usize) {
        let (group, inside) = (i / GROUP, i % GROUP);
        match self {
            Self::Plain => (i / 64, i % 64),
            Self::Pairs => (group % 2, group / 2 * GROUP + inside),
            Self::Halves => (inside / 16, group * 16 + inside % 16),
        }
    }
}

type Sums = [__m512; TOGETHER];

/// Products of four quantised rows with a row of activations.
///
/// # Safety
/// [`supports`] says so of `kind`, for which `x` was made; each row holds as many whole blocks as `x` has
/// numbers for.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub unsafe fn dot(kind: TensorType, rows: [&[u8]; TOGETHER], x: &Fixed) -> [f32; TOGETHER] {
    let mut sums = [_mm512_setzero_ps(); TOGETHER];
    let mut offsets = [_mm512_setzero_ps(); TOGETHER];
    let bytes = kind.block_bytes();
    let ahead = AHEAD * rows[0].len();
    let count = rows[0].len() / bytes;
    if matches!(kind, TensorType::Q4_0 | TensorType::Q4_1) {
        // SAFETY: passed on.
        unsafe {
            match kind {
                TensorType::Q4_1 => four_bits::<20, 4>(rows, x, &mut sums, &mut offsets),
                _ => four_bits::<18, 2>(rows, x, &mut sums, &mut offsets),
            }
        }
    } else {
        for i in 0..count {
            // SAFETY: block `i` lies inside every row.
            let blocks = rows.map(|row| unsafe { row.as_ptr().add(i * bytes) });
            for block in blocks {
                for line in (0..bytes).step_by(64) {
                    _mm_prefetch::<_MM_HINT_T0>(block.wrapping_add(ahead + line).cast());
                }
            }
            // SAFETY: each block has the bytes of its kind, and `x` two spans for it.
            unsafe {
                match kind {
                    TensorType::Q4K => pairs::<false>(blocks, x, i, &mut sums, &mut offsets),
                    TensorType::Q5K => pairs::<true>(blocks, x, i, &mut sums, &mut offsets),
                    _ => six_bits(blocks, x, i, &mut sums),
                }
            }
        }
    }
    std::array::from_fn(|r| _mm512_reduce_add_ps(_mm512_add_ps(sums[r], offsets[r])))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn load(x: &[[i8; 64]; 3]) -> [__m512i; 3] {
    // SAFETY: each is 64 bytes.
    unsafe { [get(x[0].as_ptr()), get(x[1].as_ptr()), get(x[2].as_ptr())] }
}

/// Digits times numbers, four to a sum, without rounding.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn products(digits: __m512i, [high, middle, low]: [__m512i; 3]) -> __m512i {
    let sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), digits, high);
    let sum = _mm512_dpbusd_epi32(_mm512_slli_epi32::<8>(sum), digits, middle);
    _mm512_dpbusd_epi32(_mm512_slli_epi32::<8>(sum), digits, low)
}

/// Numbers of sixteen bits, sixteen times each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn halves(a: i16, b: i16) -> __m512i {
    let first = _mm512_castsi256_si512(_mm256_set1_epi16(a));
    _mm512_inserti64x4::<1>(first, _mm256_set1_epi16(b))
}

/// Sixteen scales or sums of groups.
///
/// # Safety
/// `from` lies below the groups of a row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn sixteen(all: &[f32], from: usize) -> __m512 {
    debug_assert!(from + HEADS <= all.len());
    // SAFETY: sixteen more than there are groups were reserved.
    unsafe { get(all.as_ptr().wrapping_add(from)) }
}

/// Q4_K and Q5_K.
///
/// # Safety
/// Each block has the bytes of its kind, and `x` two spans for block `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn pairs<const FIVE: bool>(
    blocks: [*const u8; TOGETHER],
    x: &Fixed,
    i: usize,
    sums: &mut Sums,
    offsets: &mut Sums,
) {
    let (nibble, fifth) = (_mm512_set1_epi8(15), _mm512_set1_epi8(16));
    // Eight scales, then eight sums of the activations: they meet the block's factors and offsets.
    // SAFETY: a block has eight groups.
    let own = unsafe {
        let (scales, sums) = (sixteen(&x.scales, 8 * i), sixteen(&x.sums, 8 * i));
        _mm512_insertf32x8::<1>(scales, _mm512_castps512_ps256(sums))
    };
    // SAFETY: a block is longer than its head.
    let mut heads = blocks.map(|block| unsafe { super::quant_k_avx512::groups(block) });
    for r in 0..TOGETHER {
        heads[r] = _mm512_mul_ps(heads[r], own);
        offsets[r] = _mm512_mask_add_ps(offsets[r], 0xFF00, offsets[r], heads[r]);
    }
    let digits = if FIVE { 48 } else { 16 };
    for half in 0..2 {
        let group = 4 * half as i32;
        let first = _mm512_mask_set1_epi32(_mm512_set1_epi32(group), 0xFF00, group + 2);
        let second = _mm512_add_epi32(first, _mm512_set1_epi32(1));
        let [low, high] = &x.bytes[2 * i + half];
        let (low, high) = (load(low), load(high));
        for r in 0..TOGETHER {
            // SAFETY: 64 bytes of digits for each half stand behind the head, and of Q5_K 32 bytes with
            // the fifth bits of all groups before them.
            let (mut a, mut b) = unsafe {
                let raw = get(blocks[r].wrapping_add(digits + 64 * half));
                let above = _mm512_and_si512(_mm512_srli_epi16::<4>(raw), nibble);
                (_mm512_and_si512(raw, nibble), above)
            };
            if FIVE {
                // SAFETY: as above.
                let bits = unsafe { _mm512_broadcast_i64x4(get(blocks[r].wrapping_add(16))) };
                // Bit `group` of every byte becomes bit 4; what comes over from a neighbour is cut off.
                let [c, d] = match half {
                    0 => [halves(4, 2), halves(3, 1)].map(|by| _mm512_sllv_epi16(bits, by)),
                    _ => [halves(0, 2), halves(1, 3)].map(|by| _mm512_srlv_epi16(bits, by)),
                };
                a = _mm512_ternarylogic_epi32::<0xF8>(a, c, fifth);
                b = _mm512_ternarylogic_epi32::<0xF8>(b, d, fifth);
            }
            let a = _mm512_cvtepi32_ps(products(a, low));
            sums[r] = _mm512_fmadd_ps(a, _mm512_permutexvar_ps(first, heads[r]), sums[r]);
            let b = _mm512_cvtepi32_ps(products(b, high));
            sums[r] = _mm512_fmadd_ps(b, _mm512_permutexvar_ps(second, heads[r]), sums[r]);
        }
    }
}

/// Q6_K.
///
/// # Safety
/// Each block has 210 bytes, and `x` two spans for block `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn six_bits(blocks: [*const u8; TOGETHER], x: &Fixed, i: usize, sums: &mut Sums) {
    let (nibble, six) = (_mm512_set1_epi8(15), _mm512_set1_epi8(63));
    let (up, down) = (halves(4, 2), halves(0, 2));
    let twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    let fourfold = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    // SAFETY: a block has eight groups of activations, each with two scales of weights.
    let own = unsafe { _mm512_permutexvar_ps(twice, sixteen(&x.scales, 8 * i)) };
    // SAFETY: a block is as long as its kind.
    let mut heads = blocks.map(|block| unsafe { super::quant_k_avx512::factors(block) });
    for head in &mut heads {
        *head = _mm512_mul_ps(*head, own);
    }
    for half in 0..2 {
        let span = 2 * i + half;
        let [low, high] = &x.bytes[span];
        let (low, high) = (load(low), load(high));
        let [less, less_high] = &x.less[span];
        // SAFETY: sixteen numbers each.
        let (less, less_high) = unsafe { (get(less.as_ptr()), get(less_high.as_ptr())) };
        let first = _mm512_add_epi32(fourfold, _mm512_set1_epi32(8 * half as i32));
        let second = _mm512_add_epi32(first, _mm512_set1_epi32(4));
        for r in 0..TOGETHER {
            // SAFETY: each half has 64 bytes of low digits and 32 bytes of high ones.
            let (raw, above) = unsafe {
                let above = get(blocks[r].wrapping_add(128 + 32 * half));
                (get(blocks[r].wrapping_add(64 * half)), above)
            };
            let above = _mm512_broadcast_i64x4(above);
            let join = |low: __m512i, high: __m512i| {
                _mm512_and_si512(six, _mm512_ternarylogic_epi32::<0xCA>(nibble, low, high))
            };
            let a = join(raw, _mm512_sllv_epi16(above, up));
            let b = join(_mm512_srli_epi16::<4>(raw), _mm512_srlv_epi16(above, down));
            let a = _mm512_cvtepi32_ps(_mm512_add_epi32(less, products(a, low)));
            sums[r] = _mm512_fmadd_ps(a, _mm512_permutexvar_ps(first, heads[r]), sums[r]);
            let b = _mm512_cvtepi32_ps(_mm512_add_epi32(less_high, products(b, high)));
            sums[r] = _mm512_fmadd_ps(b, _mm512_permutexvar_ps(second, heads[r]), sums[r]);
        }
    }
}

/// Q4_0 and Q4_1: blocks of `BYTES` bytes whose sixteen bytes of digits begin at `HEAD`.
///
/// # Safety
/// Each row holds whole blocks, and `x` a group for each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn four_bits<const BYTES: usize, const HEAD: usize>(
    rows: [&[u8]; TOGETHER],
    x: &Fixed,
    sums: &mut Sums,
    offsets: &mut Sums,
) {
    let nibble = _mm512_set1_epi8(15);
    let fourfold = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    let ahead = AHEAD * rows[0].len();
    let count = rows[0].len() / BYTES;
    for first in (0..count).step_by(HEADS) {
        let left = (count - first).min(HEADS);
        // SAFETY: `x` has a group for every block.
        let (scales, totals) = unsafe { (sixteen(&x.scales, first), sixteen(&x.sums, first)) };
        let mut heads = [_mm512_setzero_ps(); TOGETHER];
        for r in 0..TOGETHER {
            // SAFETY: `left` blocks stand from here on.
            let (factor, offset) = unsafe {
                super::quant_avx512::scales::<BYTES>(rows[r].as_ptr().add(first * BYTES), left)
            };
            heads[r] = _mm512_mul_ps(factor, scales);
            offsets[r] = _mm512_fmadd_ps(offset, totals, offsets[r]);
        }
        for block in (0..left).step_by(4) {
            let [low, high] = &x.bytes[(first + block) / 4];
            let (low, high) = (load(low), load(high));
            let index = _mm512_add_epi32(fourfold, _mm512_set1_epi32(block as i32));
            for r in 0..TOGETHER {
                // SAFETY: so many blocks are there.
                let raw = unsafe {
                    let at = rows[r].as_ptr().add((first + block) * BYTES + HEAD);
                    _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(ahead).cast());
                    _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(ahead + 64).cast());
                    four_blocks::<BYTES>(at, left - block)
                };
                let a = _mm512_and_si512(raw, nibble);
                let b = _mm512_and_si512(_mm512_srli_epi16::<4>(raw), nibble);
                // Both halves of a block have one scale: their sums are one.
                let sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), a, low[0]);
                let sum = _mm512_slli_epi32::<8>(_mm512_dpbusd_epi32(sum, b, high[0]));
                let sum = _mm512_dpbusd_epi32(sum, a, low[1]);
                let sum = _mm512_slli_epi32::<8>(_mm512_dpbusd_epi32(sum, b, high[1]));
                let sum = _mm512_dpbusd_epi32(sum, a, low[2]);
                let sum = _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(sum, b, high[2]));
                sums[r] = _mm512_fmadd_ps(sum, _mm512_permutexvar_ps(index, heads[r]), sums[r]);
            }
        }
    }
}

/// Sixteen bytes from each of up to four blocks; zeros for those that are not there.
///
/// # Safety
/// `left` blocks of `BYTES` bytes stand from `at`, which lies `HEAD` bytes inside the first, on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn four_blocks<const BYTES: usize>(at: *const u8, left: usize) -> __m512i {
    // SAFETY: only blocks that are there are read.
    let block = |i: usize| match i < left {
        true => unsafe { get(at.wrapping_add(i * BYTES)) },
        false => _mm_setzero_si128(),
    };
    let first = _mm512_zextsi128_si512(block(0));
    let both = _mm512_inserti32x4::<1>(first, block(1));
    let three = _mm512_inserti32x4::<2>(both, block(2));
    _mm512_inserti32x4::<3>(three, block(3))
}
