//! ggml's quantised blocks, multiplied as they lie: for writing an answer, where every weight is
//! read once for each token and memory is what costs.
//!
//! Activations stay in 32 bits (llama.cpp rounds them to 8 before it multiplies), so that a model
//! gives the same numbers whether it reads or writes.

use mary_weights::{RawBytes, TensorType, unpack_blocks};
use rayon::prelude::*;

use super::simd::{madd, total, widest};
use super::stored::numbers;
use super::target::Target;
use super::team;

/// Numbers in a block of the first kinds (Q4_0, Q4_1, Q8_0).
const BLOCK: usize = 32;
/// Numbers in a block of any kind, at most.
const LARGEST: usize = 256;

/// A quantised matrix: `outputs` rows of whole blocks. Clones share the bytes.
#[derive(Clone)]
pub struct Blocks {
    kind: TensorType,
    outputs: usize,
    inputs: usize,
    data: RawBytes,
}

impl Blocks {
    /// Whether a tensor type can be multiplied as it lies.
    pub fn supports(kind: TensorType) -> bool {
        kind.is_quantised() && kind.block_len() <= LARGEST
    }

    /// `None` when the kind is not supported or the bytes are not `outputs` rows of `inputs`.
    pub fn new(
        kind: TensorType,
        outputs: usize,
        inputs: usize,
        data: impl Into<RawBytes>,
    ) -> Option<Self> {
        let data = data.into();
        let bytes = kind.bytes_for(inputs)?.checked_mul(outputs)?;
        (Self::supports(kind) && data.len() == bytes).then_some(Self {
            kind,
            outputs,
            inputs,
            data,
        })
    }

    /// Some of its rows, whose bytes they share.
    pub fn some(&self, first: usize, outputs: usize) -> Self {
        let width = self.data.len() / self.outputs.max(1);
        Self {
            outputs,
            data: self.data.part(first * width..(first + outputs) * width),
            ..self.clone()
        }
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Bfloat16 numbers whose sum is any of the weights: Q4_0's are a product of eleven and four bits.
    pub fn planes(&self) -> usize {
        if self.kind == TensorType::Q4_0 { 2 } else { 3 }
    }

    pub fn kind(&self) -> TensorType {
        self.kind
    }

    /// Bytes of so many inputs, a whole number of blocks.
    pub(super) fn bytes_of(&self, inputs: usize) -> usize {
        inputs / self.kind.block_len() * self.kind.block_bytes()
    }

    pub(super) fn row_bytes(&self) -> usize {
        self.bytes_of(self.inputs)
    }

    /// The bytes of an output, or of the last one.
    pub(super) fn row(&self, output: usize) -> &[u8] {
        let bytes = self.row_bytes();
        &self.data[output.min(self.outputs - 1) * bytes..][..bytes]
    }

    /// Where the first output's bytes lie; the others follow.
    pub(super) fn start(&self) -> *const u8 {
        self.data.as_ptr()
    }

    /// One row as plain numbers.
    pub fn unpack_into(&self, row: usize, out: &mut [f32]) {
        let bytes = self.row_bytes();
        numbers(self.kind, &self.data[row * bytes..][..bytes], out);
    }

    /// Rows `first..last` as plain numbers.
    pub fn unpack(&self, first: usize, last: usize) -> Vec<f32> {
        let mut out = vec![0.0; (last - first) * self.inputs];
        out.par_chunks_mut(self.inputs)
            .enumerate()
            .for_each(|(i, row)| self.unpack_into(first + i, row));
        out
    }
}

#[inline(always)]
fn half(bytes: [u8; 2]) -> f32 {
    let h = u32::from(u16::from_le_bytes(bytes));
    let magnitude = f32::from_bits((h & 0x7FFF) << 13) * f32::from_bits(0x7780_0000);
    f32::from_bits(magnitude.to_bits() | (h & 0x8000) << 16)
}

/// Rows of activations as blocks are multiplied with them, kept for the other matrices of a layer.
#[derive(Default)]
pub struct Prepared {
    #[cfg(target_arch = "x86_64")]
    fixed: Vec<super::quant_fixed::Fixed>,
    sums: Vec<f32>,
}

impl Prepared {
    fn prepare(&mut self, w: &Blocks, x: &[f32]) {
        #[cfg(target_arch = "x86_64")]
        if super::quant_fixed::supports(w.kind) {
            if !self.fixed.first().is_some_and(|f| f.fits(w.kind)) {
                let rows = x.chunks_exact(w.inputs);
                let fixed = rows.filter_map(|x| super::quant_fixed::Fixed::new(w.kind, x));
                self.fixed = fixed.collect();
            }
            return;
        }
        if self.sums.is_empty() {
            // A block's offset (Q4_1's minimum, Q4_0's -8) multiplies the sum of the activations. Other
            // kinds do without, and a width that is no multiple of 32 has none of those.
            let (blocks, _) = x.as_chunks::<BLOCK>();
            self.sums = blocks.iter().map(|b| b.iter().sum()).collect();
        }
    }

    /// Products of the outputs from `first` on with one row; beyond the last output, anything.
    fn dot_group(&self, w: &Blocks, first: usize, x: &[f32], row: usize) -> [f32; TOGETHER] {
        #[cfg(target_arch = "x86_64")]
        if let Some(fixed) = self.fixed.get(row).filter(|f| f.fits(w.kind)) {
            let rows = std::array::from_fn(|i| w.row(first + i));
            // SAFETY: `fixed` was made for this kind, which is supported, and for as many numbers.
            return unsafe { super::quant_fixed::dot(w.kind, rows, fixed) };
        }
        let x = &x[row * w.inputs..][..w.inputs];
        let sums = &self.sums[row * w.inputs / BLOCK..][..w.inputs / BLOCK];
        dot_group(w, first, x, sums)
    }
}

/// Multiplies a few rows with all outputs.
///
/// # Safety
/// The target holds `rows` rows of all outputs, and nobody else touches them meanwhile.
pub unsafe fn multiply(
    w: &Blocks,
    (x, rows): (&[f32], usize),
    prepared: &mut Prepared,
    to: Target,
    parallel: bool,
) {
    prepared.prepare(w, &x[..rows * w.inputs]);
    let prepared = &*prepared;
    let work = |group: usize| {
        let first = group * TOGETHER;
        for row in 0..rows {
            let products = prepared.dot_group(w, first, x, row);
            for (output, y) in (first..w.outputs).zip(products) {
                let at = to.at;
                // SAFETY: inside the target, and only this call writes this output.
                unsafe {
                    let place = at.0.add(row * to.stride + output);
                    *place = if to.add { *place + y } else { y };
                }
            }
        }
    };
    let groups = w.outputs.div_ceil(TOGETHER);
    if parallel {
        // Several shares for each thread: one that is held up must not hold up the others.
        let share = groups.div_ceil(4 * rayon::current_num_threads()).max(8);
        team::each(groups, share, work);
    } else {
        (0..groups).for_each(work);
    }
}

const TOGETHER: usize = 4;

/// Products of the outputs from `first` on with one row; beyond the last output, anything.
fn dot_group(w: &Blocks, first: usize, x: &[f32], sums: &[f32]) -> [f32; TOGETHER] {
    let row = |i: usize| w.row(first + i);
    #[cfg(target_arch = "x86_64")]
    if super::simd::width() == super::simd::Width::V4 {
        let rows = std::array::from_fn(row);
        match w.kind {
            TensorType::Q4_0 | TensorType::Q4_1 | TensorType::Q8_0 => {
                // SAFETY: the processor has what `width` found, and `Blocks::new` checked the sizes.
                return unsafe { super::quant_avx512::dot(w.kind, rows, x) };
            }
            TensorType::Q4K | TensorType::Q5K | TensorType::Q6K => {
                // SAFETY: as above.
                return unsafe { super::quant_k_avx512::dot(w.kind, rows, x) };
            }
            _ => {}
        }
    }
    std::array::from_fn(|i| dot_row(w.kind, row(i), x, sums))
}

widest! {
    fn dot_row(kind: TensorType, bytes: &[u8], x: &[f32], sums: &[f32]) -> f32 = dot_row_inner
}

#[inline(always)]
fn dot_row_inner<const FMA: bool>(kind: TensorType, bytes: &[u8], x: &[f32], sums: &[f32]) -> f32 {
    if !matches!(kind, TensorType::Q4_0 | TensorType::Q4_1 | TensorType::Q8_0) {
        return dot_unpacked::<FMA>(kind, bytes, x);
    }
    let (x, _) = x.as_chunks::<BLOCK>();
    let mut lanes = [0.0f32; 16];
    let mut offset = 0.0f32;
    match kind {
        TensorType::Q4_0 => four_bits::<FMA, 18>(bytes, x, sums, &mut lanes, &mut offset),
        TensorType::Q4_1 => four_bits::<FMA, 20>(bytes, x, sums, &mut lanes, &mut offset),
        _ => {
            for (b, x) in bytes.as_chunks::<34>().0.iter().zip(x) {
                let d = half([b[0], b[1]]);
                for i in 0..16 {
                    let low = i32::from(b[2 + i] as i8) as f32 * x[i];
                    let both = madd::<FMA>(i32::from(b[18 + i] as i8) as f32, x[i + 16], low);
                    lanes[i] = madd::<FMA>(d, both, lanes[i]);
                }
            }
        }
    }
    total(lanes) + offset
}

/// Blocks of `BYTES` bytes that end in sixteen bytes of digits; Q4_1's have a minimum of their own.
#[inline(always)]
fn four_bits<const FMA: bool, const BYTES: usize>(
    bytes: &[u8],
    x: &[[f32; BLOCK]],
    sums: &[f32],
    lanes: &mut [f32; 16],
    offset: &mut f32,
) {
    for ((b, x), sum) in bytes.as_chunks::<BYTES>().0.iter().zip(x).zip(sums) {
        let d = half([b[0], b[1]]);
        let least = if BYTES == 20 {
            half([b[2], b[3]])
        } else {
            -8.0 * d
        };
        let digits = &b[BYTES - 16..];
        for i in 0..16 {
            let low = i32::from(digits[i] & 15) as f32 * x[i];
            let both = madd::<FMA>(i32::from(digits[i] >> 4) as f32, x[i + 16], low);
            lanes[i] = madd::<FMA>(d, both, lanes[i]);
        }
        *offset = madd::<FMA>(least, *sum, *offset);
    }
}

/// A block is unpacked into registers or the first cache, and multiplied from there.
#[inline(always)]
fn dot_unpacked<const FMA: bool>(kind: TensorType, bytes: &[u8], x: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    let mut numbers = [0.0f32; LARGEST];
    let numbers = &mut numbers[..kind.block_len()];
    let blocks = bytes.chunks_exact(kind.block_bytes());
    for (block, x) in blocks.zip(x.chunks_exact(numbers.len())) {
        unpack_blocks(kind, block, numbers);
        let (x, _) = x.as_chunks::<16>();
        for (w, x) in numbers.as_chunks::<16>().0.iter().zip(x) {
            for i in 0..16 {
                lanes[i] = madd::<FMA>(w[i], x[i], lanes[i]);
            }
        }
    }
    total(lanes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::kernels::cpu::target::Shared;

    /// Blocks of the hub's formats get scales between 0.25 and 0.5, and no byte that is no number.
    pub fn tame(kind: TensorType, block: &mut [u8]) {
        let own = [
            TensorType::Int4,
            TensorType::Int8,
            TensorType::Nf4,
            TensorType::Fp8,
        ];
        if own.contains(&kind) {
            for byte in &mut *block {
                *byte -= u8::from(*byte & 0x7F == 0x7F);
            }
            let scale = 0.25 + f32::from(block[0]) / 1024.0;
            block[..4].copy_from_slice(&scale.to_le_bytes());
            if kind == TensorType::Int4 {
                block[4] %= 17;
            }
        }
    }

    #[test]
    fn half_floats_are_read_exactly() {
        for bits in (0..0x7C00u16).chain(0x8000..0xFC00) {
            let want = half::f16::from_bits(bits).to_f32();
            assert_eq!(
                super::half(bits.to_le_bytes()).to_bits(),
                want.to_bits(),
                "{bits:#x}"
            );
        }
    }

    const KINDS: [TensorType; 14] = [
        TensorType::Q4_0,
        TensorType::Q4_1,
        TensorType::Q5_0,
        TensorType::Q5_1,
        TensorType::Q8_0,
        TensorType::Q2K,
        TensorType::Q3K,
        TensorType::Q4K,
        TensorType::Q5K,
        TensorType::Q6K,
        TensorType::Int4,
        TensorType::Int8,
        TensorType::Nf4,
        TensorType::Fp8,
    ];

    /// Where the half-precision numbers of a block stand.
    fn scales_of(kind: TensorType) -> &'static [usize] {
        match kind {
            TensorType::Q4_1 | TensorType::Q5_1 | TensorType::Q4K | TensorType::Q5K => &[0, 2],
            TensorType::Q2K => &[80, 82],
            TensorType::Q3K => &[108],
            TensorType::Q6K => &[208],
            TensorType::Int4 | TensorType::Int8 | TensorType::Nf4 | TensorType::Fp8 => &[],
            _ => &[0],
        }
    }

    #[test]
    fn blocks_multiply_like_the_numbers_they_stand_for() {
        for kind in KINDS {
            let inputs = if kind.block_len() == BLOCK { 96 } else { 768 };
            let (outputs, rows) = (70, 3);
            let bytes = outputs * kind.bytes_for(inputs).unwrap();
            let mut data: Vec<u8> = (0..bytes).map(|i| (i * 37 % 251) as u8).collect();
            for block in data.chunks_mut(kind.block_bytes()) {
                // Scales between 0.25 and 0.5, so that no random exponent dominates.
                for &at in scales_of(kind) {
                    block[at + 1] = 0x34;
                }
                tame(kind, block);
            }
            let blocks = Blocks::new(kind, outputs, inputs, data).unwrap();
            let x: Vec<f32> = (0..rows * inputs).map(|i| (i as f32 * 0.7).sin()).collect();
            let plain = blocks.unpack(0, outputs);
            for output in [0, 33, outputs - 1] {
                // The portable loop is held to the wide one, whichever this processor uses.
                let sums: Vec<f32> = x.chunks(BLOCK).map(|b| b.iter().sum()).collect();
                let bytes = &blocks.data[output * blocks.row_bytes()..][..blocks.row_bytes()];
                let portable =
                    dot_row_inner::<false>(kind, bytes, &x[..inputs], &sums[..inputs / BLOCK]);
                let [wide, ..] = dot_group(&blocks, output, &x[..inputs], &sums);
                assert!(
                    (portable - wide).abs() < 1e-3 * (1.0 + portable.abs()),
                    "{kind}: {portable} {wide}"
                );
            }
            let mut out = vec![1.0; rows * outputs];
            let to = Target {
                at: Shared(out.as_mut_ptr()),
                stride: outputs,
                add: true,
            };
            unsafe { multiply(&blocks, (&x, rows), &mut Prepared::default(), to, true) };
            for r in 0..rows {
                for o in 0..outputs {
                    let row = &plain[o * inputs..][..inputs];
                    let want: f32 = row.iter().zip(&x[r * inputs..]).map(|(a, b)| a * b).sum();
                    let size: f32 = row
                        .iter()
                        .zip(&x[r * inputs..])
                        .map(|(a, b)| (a * b).abs())
                        .sum();
                    let error = (out[r * outputs + o] - 1.0 - want).abs();
                    assert!(error < 2e-6 * (1.0 + size), "{kind}: {error} of {size}");
                }
            }
        }
    }

    /// Whole numbers lose no more than floats do, with activations of very different sizes too.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn whole_numbers_are_as_exact_as_floats() {
        for kind in KINDS
            .into_iter()
            .filter(|&k| super::super::quant_fixed::supports(k))
        {
            let inputs = if kind.block_len() == BLOCK { 672 } else { 1536 };
            let outputs = 8;
            let bytes = outputs * kind.bytes_for(inputs).unwrap();
            let mut data: Vec<u8> = (0..bytes).map(|i| (i * 89 % 253) as u8).collect();
            for block in data.chunks_mut(kind.block_bytes()) {
                for &at in scales_of(kind) {
                    block[at + 1] = 0x34;
                }
                tame(kind, block);
            }
            let blocks = Blocks::new(kind, outputs, inputs, data).unwrap();
            let plain = blocks.unpack(0, outputs);
            let mut x: Vec<f32> = (0..inputs)
                .map(|i| (i as f32 * 0.7).sin() * if i % 41 == 0 { 300.0 } else { 0.1 })
                .collect();
            let mut prepared = Prepared::default();
            prepared.prepare(&blocks, &x);
            for output in 0..outputs {
                let pairs = plain[output * inputs..][..inputs].iter().zip(&x);
                let pairs = pairs.map(|(w, x)| f64::from(*w) * f64::from(*x));
                let (want, size) = pairs.fold((0.0, 0.0), |(a, b), p| (a + p, b + p.abs()));
                let [got, ..] = prepared.dot_group(&blocks, output, &x, 0);
                let sums: Vec<f32> = x.chunks(BLOCK).map(|b| b.iter().sum()).collect();
                let [float, ..] = dot_group(&blocks, output, &x, &sums);
                let (error, other) = (
                    (f64::from(got) - want).abs() / size,
                    (f64::from(float) - want).abs() / size,
                );
                assert!(
                    error < 4.0 * other.max(1e-7),
                    "{kind}: {error:e}, floats {other:e}"
                );
            }
            x[5] = f32::NAN;
            let mut broken = Prepared::default();
            broken.prepare(&blocks, &x);
            assert!(broken.dot_group(&blocks, 0, &x, 0)[0].is_nan(), "{kind}");
        }
    }

    #[test]
    fn torn_blocks_are_refused() {
        assert!(Blocks::new(TensorType::Q4_0, 2, 32, vec![0; 35]).is_none());
        assert!(Blocks::new(TensorType::Q4_0, 1, 33, vec![0; 18]).is_none());
        assert!(Blocks::new(TensorType::Q6K, 1, 256, vec![0; 209]).is_none());
        assert!(Blocks::new(TensorType::Q6K, 1, 128, vec![0; 210]).is_none());
        assert!(Blocks::new(TensorType::F32, 1, 1, vec![0; 4]).is_none());
    }
}
