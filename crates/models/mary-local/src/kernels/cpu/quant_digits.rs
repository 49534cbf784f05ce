//! The digits of quantised weights as tiles of bfloat16, which hold them exactly, and the scales they are
//! multiples of beside them (AVX-512).
//!
//! Where thirty-two weights share a scale, a weight is `factor·(digit − middle) + offset`, and a digit
//! has at most eight bits: one bfloat16. In Q6_K sixteen share one of eight bits, so digit times scale has
//! up to thirteen bits and becomes two bfloat16 numbers; what is left is a factor for each 256.
//!
//! Of the thirty-two inputs of a tile those with even numbers come first ([`ORDER`]): bytes of digits become
//! numbers of sixteen bits by shifts alone.

use std::arch::x86_64::*;

use mary_weights::TensorType;

use super::quant_memory::{get, set};

pub const TILE: usize = 16;
pub const DEPTH: usize = 32;
/// Tiles of depth that are unpacked at a time: a block of the K kinds.
pub const CHUNK: usize = 8;
pub const TILE_LEN: usize = TILE * DEPTH;
/// Which input of thirty-two stands at a place of a tile's row.
pub const ORDER: [u16; DEPTH] = {
    let (mut order, mut i) = ([0; DEPTH], 0);
    while i < DEPTH {
        order[i] = (i as u16 * 2) % DEPTH as u16 + (i >= DEPTH / 2) as u16;
        i += 1;
    }
    order
};

/// Sixteen outputs of up to 256 inputs.
#[repr(C, align(64))]
pub struct Digits {
    /// Tile after tile, output after output; of Q6_K first the upper parts of all, then the lower ones.
    pub tiles: [u16; 2 * CHUNK * TILE_LEN],
    /// For each output, factors of the groups and then their offsets; of Q6_K one factor in front.
    pub heads: [[f32; 16]; TILE],
}

impl Digits {
    pub const NONE: Self = Self {
        tiles: [0; 2 * CHUNK * TILE_LEN],
        heads: [[0.0; 16]; TILE],
    };
}

/// How many bfloat16 numbers a digit is; `None` for kinds that are not multiplied this way.
pub fn planes(kind: TensorType) -> Option<usize> {
    match kind {
        TensorType::Q4_0
        | TensorType::Q4_1
        | TensorType::Q5_0
        | TensorType::Q5_1
        | TensorType::Q8_0
        | TensorType::Int4
        | TensorType::Int8
        | TensorType::Fp8
        | TensorType::Q4K
        | TensorType::Q5K => Some(1),
        TensorType::Q6K => Some(2),
        _ => None,
    }
}

/// Two tiles of outputs in a chunk of depth that are unpacked a few outputs at a time, while the tile unit
/// multiplies others.
pub struct Unpacking {
    /// What the blocks are; [`planes`] knows it.
    pub kind: TensorType,
    pub at: *const u8,
    /// From an output to the next one.
    pub row_bytes: usize,
    pub groups: usize,
    /// Outputs that are there; beyond them the last one stands once more.
    pub outputs: usize,
    /// From here to what is unpacked next, which is fetched.
    pub ahead: isize,
    /// Where the digits go: two tiles, which nobody else uses meanwhile.
    pub to: *mut Digits,
    pub done: usize,
}

impl Unpacking {
    /// Unpacks so many more outputs, if there are so many.
    ///
    /// # Safety
    /// The processor has AVX-512 (F, BW, DQ, VL, BF16) and F16C; behind every output's place there are whole
    /// blocks for so many groups, at most [`CHUNK`], and of the K kinds exactly as many.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    pub unsafe fn more(&mut self, outputs: usize) {
        let until = (self.done + outputs).min(2 * TILE);
        let bytes = self.groups * DEPTH / self.kind.block_len() * self.kind.block_bytes();
        for i in self.done..until {
            let at = self
                .at
                .wrapping_add(i.min(self.outputs - 1) * self.row_bytes);
            let next = at.wrapping_offset(self.ahead);
            for line in (0..bytes + 63).step_by(64) {
                _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(line).cast());
            }
            // SAFETY: passed on.
            unsafe {
                let to = &mut *self.to.wrapping_add(i / TILE);
                unpack(self.kind, at, self.groups, i % TILE, to);
            }
        }
        self.done = until;
    }
}

/// Unpacks `groups` tiles of depth of an output. Safety: as for [`Unpacking::more`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn unpack(kind: TensorType, at: *const u8, groups: usize, output: usize, to: &mut Digits) {
    debug_assert!(groups <= CHUNK);
    // SAFETY: passed on.
    unsafe {
        match kind {
            TensorType::Q4_0 => blocks::<18, 2, 4>(at, groups, output, to),
            TensorType::Q4_1 => blocks::<20, 4, 4>(at, groups, output, to),
            TensorType::Q5_0 => blocks::<22, 2, 5>(at, groups, output, to),
            TensorType::Q5_1 => blocks::<24, 4, 5>(at, groups, output, to),
            TensorType::Q8_0 => blocks::<34, 2, 8>(at, groups, output, to),
            TensorType::Int4 => blocks::<21, 5, 4>(at, groups, output, to),
            TensorType::Int8 => blocks::<37, 5, 8>(at, groups, output, to),
            TensorType::Fp8 => blocks::<36, 4, 8>(at, groups, output, to),
            TensorType::Q4K => pairs::<false>(at, output, to),
            TensorType::Q5K => pairs::<true>(at, output, to),
            _ => six_bits(at, output, to),
        }
    }
}

/// The bfloat16 numbers `i - MIDDLE` for whatever has `i` as its lowest bits.
const fn table<const MIDDLE: i32>() -> [u16; 32] {
    let (mut out, mut i) = ([0; 32], 0);
    while i < 32 {
        let digit = i as i32 % (2 * MIDDLE);
        out[i] = ((digit - MIDDLE) as f32).to_bits().wrapping_shr(16) as u16;
        i += 1;
    }
    out
}

static FOUR: [u16; 32] = table::<8>();
static FIVE: [u16; 32] = table::<16>();

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn loaded(table: &[u16; 32]) -> __m512i {
    // SAFETY: 64 bytes.
    unsafe { get(table.as_ptr()) }
}

/// Numbers of sixteen bits, eight times each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn quarters(a: i16, b: i16, c: i16, d: i16) -> __m512i {
    let two = |x: i16, y: i16| _mm256_set_m128i(_mm_set1_epi16(y), _mm_set1_epi16(x));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(two(a, b)), two(c, d))
}

/// Thirty-two digits of an output, in the order of inputs, looked up and put into a tile.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn put(digits: __m256i, table: __m512i, tile: usize, output: usize, to: &mut Digits) {
    let digits = _mm512_permutexvar_epi16(loaded(&ORDER), _mm512_cvtepu8_epi16(digits));
    put_numbers(_mm512_permutexvar_epi16(digits, table), tile, output, to);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn put_numbers(numbers: __m512i, tile: usize, output: usize, to: &mut Digits) {
    debug_assert!(tile < 2 * CHUNK && output < TILE);
    let row = to.tiles.as_mut_ptr();
    let row = row.wrapping_add(tile * TILE_LEN + output * DEPTH);
    // SAFETY: 64 bytes inside the tile are written.
    unsafe { set(row, numbers) };
}

/// Keeps factors and offsets; digits were made relative to their middle.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn put_head(head: __m512, middle: f32, output: usize, to: &mut Digits) {
    let factors = _mm512_shuffle_f32x4::<0x44>(head, head);
    let head = _mm512_mask3_fmadd_ps(_mm512_set1_ps(middle), factors, head, 0xFF00);
    // SAFETY: sixteen numbers are written.
    unsafe { set(to.heads[output].as_mut_ptr(), head) };
}

/// Fifth digits, which stand in 32 bits, as bytes of 16 or 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn fifth(bits: u32) -> __m256i {
    _mm256_maskz_set1_epi8(bits, 16)
}

/// Kinds whose blocks hold 32 numbers: `HEAD` bytes of scales, the fifth bits where there are some, and
/// digits of `BITS` bits. Five bytes are a scale of 32 bits and a zero point, four before eight bits FP8's scale.
///
/// # Safety
/// `groups` blocks of `BYTES` bytes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn blocks<const BYTES: usize, const HEAD: usize, const BITS: u32>(
    at: *const u8,
    groups: usize,
    output: usize,
    to: &mut Digits,
) {
    let table = loaded(if BITS == 5 { &FIVE } else { &FOUR });
    let nibble = _mm_set1_epi8(15);
    let by = quarters(0, 4, 8, 12);
    for group in 0..groups {
        // SAFETY: the block lies behind `at`, and all that is read of it inside.
        unsafe {
            let block = at.wrapping_add(group * BYTES);
            if BITS == 8 {
                let raw = get(block.wrapping_add(HEAD));
                let numbers = if HEAD == 4 { fp8(raw) } else { eight_bits(raw) };
                put_numbers(numbers, group, output, to);
                continue;
            }
            let raw = get(block.wrapping_add(BYTES - 16));
            if BITS == 4 {
                // Low digits of even bytes, high ones, and the same of odd bytes.
                let digits = _mm512_srlv_epi16(_mm512_broadcast_i32x4(raw), by);
                put_numbers(_mm512_permutexvar_epi16(digits, table), group, output, to);
                continue;
            }
            let (low, high) = (
                _mm_and_si128(raw, nibble),
                _mm_and_si128(_mm_srli_epi16::<4>(raw), nibble),
            );
            let bits = get(block.wrapping_add(HEAD));
            let digits = _mm256_or_si256(_mm256_set_m128i(high, low), fifth(bits));
            put(digits, table, group, output, to);
        }
    }
    let places = _mm256_mullo_epi32(
        _mm256_set1_epi32(BYTES as i32),
        _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0),
    );
    let mask = ((1u32 << groups) - 1) as u8;
    let nothing = _mm256_setzero_si256();
    // SAFETY: the mask lets only whole blocks be read, each longer than the four bytes taken of it.
    let gather = |at: *const u8| unsafe {
        _mm256_mmask_i32gather_epi32::<1>(nothing, mask, places, at.cast())
    };
    let heads = gather(at);
    let widened = |x: __m256i| _mm256_cvtph_ps(_mm256_cvtepi32_epi16(x));
    let factors = match HEAD == 5 || (HEAD, BITS) == (4, 8) {
        true => _mm256_castsi256_ps(heads),
        false => widened(heads),
    };
    // Where a block has an offset of its own it is that of the smallest digit; else the middle has none.
    let (offsets, middle) = match (HEAD, BITS) {
        (5, _) => {
            // The byte behind the scale is the highest of the four that begin one later.
            let zeros = _mm256_cvtepi32_ps(_mm256_srai_epi32::<24>(gather(at.wrapping_add(1))));
            let offsets = _mm256_fnmadd_ps(factors, zeros, _mm256_setzero_ps());
            (offsets, if BITS == 4 { 8.0 } else { 0.0 })
        }
        (4, 4) => (widened(_mm256_srli_epi32::<16>(heads)), 8.0),
        (4, 5) => (widened(_mm256_srli_epi32::<16>(heads)), 16.0),
        _ => (_mm256_setzero_ps(), 0.0),
    };
    let head = _mm512_insertf32x8::<1>(_mm512_castps256_ps512(factors), offsets);
    put_head(head, middle, output, to);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn eight_bits(raw: __m256i) -> __m512i {
    let upper = _mm512_sllv_epi16(_mm512_broadcast_i64x4(raw), quarters(8, 8, 0, 0));
    let (x, y) = floats(_mm512_srai_epi16::<8>(upper));
    shortened(x, y)
}

/// Numbers of FP8, which a bfloat16 number holds: their bits in its places, and the exponent put right.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn fp8(raw: __m256i) -> __m512i {
    let upper = _mm512_sllv_epi16(_mm512_broadcast_i64x4(raw), quarters(8, 8, 0, 0));
    let size = _mm512_and_si512(_mm512_srli_epi16::<4>(upper), _mm512_set1_epi16(0x07F0));
    let sign = _mm512_and_si512(upper, _mm512_set1_epi16(i16::MIN));
    let bits = _mm512_or_si512(size, sign);
    let exponent = _mm512_set1_ps(f32::from_bits((127 + 120) << 23));
    let float = |x: __m256i| {
        let wide = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x));
        _mm512_mul_ps(_mm512_castsi512_ps(wide), exponent)
    };
    shortened(
        float(_mm512_castsi512_si256(bits)),
        float(_mm512_extracti64x4_epi64::<1>(bits)),
    )
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
fn floats(whole: __m512i) -> (__m512, __m512) {
    let float = |x: __m256i| _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(x));
    (
        float(_mm512_castsi512_si256(whole)),
        float(_mm512_extracti64x4_epi64::<1>(whole)),
    )
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
pub fn shortened(a: __m512, b: __m512) -> __m512i {
    // SAFETY: both are 512 bits.
    unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(b, a)) }
}

/// A float without what a bfloat16 number does not hold.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
pub fn cut(x: __m512) -> __m512 {
    let kept = _mm512_set1_epi32(0xFFFF_0000u32.cast_signed());
    _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), kept))
}

/// Q4_K and Q5_K.
///
/// # Safety
/// The block has the bytes of its kind.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn pairs<const FIVE_BITS: bool>(block: *const u8, output: usize, to: &mut Digits) {
    let table = loaded(if FIVE_BITS { &FIVE } else { &FOUR });
    let nibble = _mm512_set1_epi16(15);
    let (low, high) = (quarters(0, 0, 8, 8), quarters(4, 4, 12, 12));
    // SAFETY: a block is longer than its head.
    let head = unsafe { super::quant_k_avx512::groups(block) };
    put_head(head, if FIVE_BITS { 16.0 } else { 8.0 }, output, to);
    // SAFETY: 32 bytes of fifth bits behind the head where there are some, and 32 bytes for each pair.
    let twice = |at: usize| unsafe { _mm512_broadcast_i64x4(get(block.wrapping_add(at))) };
    let mut bits = _mm512_setzero_si512();
    if FIVE_BITS {
        // Bit 0 of every byte comes to stand at place 4 of its number.
        let up = _mm512_sllv_epi16(twice(16), quarters(4, 4, 0, 0));
        bits = _mm512_srlv_epi16(up, quarters(0, 0, 4, 4));
    }
    let digits = if FIVE_BITS { 48 } else { 16 };
    for pair in 0..4 {
        let raw = twice(digits + 32 * pair);
        for (side, by) in [low, high].into_iter().enumerate() {
            // A look-up reads the lowest five bits only.
            let mut digits = _mm512_srlv_epi16(raw, by);
            if FIVE_BITS {
                digits = _mm512_ternarylogic_epi32::<0xCA>(nibble, digits, bits);
                bits = _mm512_srli_epi16::<1>(bits);
            }
            let numbers = _mm512_permutexvar_epi16(digits, table);
            put_numbers(numbers, 2 * pair + side, output, to);
        }
    }
}

/// Q6_K: digit times scale in two parts, and the block's own factor.
///
/// # Safety
/// The block has 210 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn six_bits(block: *const u8, output: usize, to: &mut Digits) {
    let (nibble, upper_two) = (_mm256_set1_epi8(15), _mm256_set1_epi8(48));
    let (six, middle) = (_mm512_set1_epi16(63), _mm512_set1_epi16(32));
    let odd = quarters(0, 0, 8, 8);
    // SAFETY: 128 bytes of low digits, 64 of high ones, sixteen scales and a half-precision number.
    unsafe {
        let halves = u32::from(get::<u16, _>(block.wrapping_add(208)));
        to.heads[output][0] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(halves as i32)));
        let scales = _mm256_cvtepi8_epi16(get(block.wrapping_add(192)));
        let scales = _mm512_castsi256_si512(scales);
        for half in 0..2 {
            let a = get(block.wrapping_add(64 * half));
            let b = get(block.wrapping_add(64 * half + 32));
            let h = get(block.wrapping_add(128 + 32 * half));
            let digits = |low: __m256i, high: __m256i| {
                let low = _mm256_and_si256(low, nibble);
                _mm256_ternarylogic_epi32::<0xF8>(low, high, upper_two)
            };
            let quarters = [
                digits(a, _mm256_slli_epi16::<4>(h)),
                digits(b, _mm256_slli_epi16::<2>(h)),
                digits(_mm256_srli_epi16::<4>(a), h),
                digits(_mm256_srli_epi16::<4>(b), _mm256_srli_epi16::<2>(h)),
            ];
            for (quarter, digits) in quarters.into_iter().enumerate() {
                let group = 4 * half + quarter;
                // Scales 2·group and 2·group + 1 for sixteen inputs each.
                let first = _mm512_set1_epi16(2 * group as i16);
                let which = _mm512_mask_add_epi16(first, 0xFF00_FF00, first, _mm512_set1_epi16(1));
                let scale = _mm512_permutexvar_epi16(which, scales);
                let digits = _mm512_srlv_epi16(_mm512_broadcast_i64x4(digits), odd);
                let digits = _mm512_sub_epi16(_mm512_and_si512(digits, six), middle);
                let (x, y) = floats(_mm512_mullo_epi16(digits, scale));
                let (first, second) = (cut(x), cut(y));
                put_numbers(shortened(first, second), group, output, to);
                let (x, y) = (_mm512_sub_ps(x, first), _mm512_sub_ps(y, second));
                put_numbers(shortened(x, y), CHUNK + group, output, to);
            }
        }
    }
}
