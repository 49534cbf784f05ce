//! From stored numbers to `f32`: plain types and ggml's block formats.
//!
//! Block layouts follow `ggml-common.h` and `ggml-quants.c` of the ggml project (the `block_q*`
//! structures and `dequantize_row_*`): a block holds 32 numbers (Q4_0 … Q8_1) or 256 numbers (the
//! K kinds), a scale in half precision and the packed digits. `golden/quants` and
//! `golden/codebooks` compare every kind with the reference implementation of the Python package `gguf`.

mod codebook;
mod hub;

use half::{bf16, f16};
use rayon::prelude::*;

use crate::TensorType;

/// Numbers one thread converts at a time.
const CHUNK: usize = 64 * 1024;

/// Converts whole blocks. `bytes` must hold exactly `out.len()` numbers of the type; the callers
/// have checked that against the file.
pub fn to_f32(dtype: TensorType, bytes: &[u8], out: &mut [f32]) {
    let step = CHUNK / dtype.block_len() * dtype.block_bytes();
    if out.len() <= CHUNK {
        unpack(dtype, bytes, out);
    } else {
        out.par_chunks_mut(CHUNK)
            .zip(bytes.par_chunks(step))
            .for_each(|(out, bytes)| unpack(dtype, bytes, out));
    }
}

/// One copy of [`unpack_blocks`] for both: it is long.
#[inline(never)]
fn unpack(dtype: TensorType, bytes: &[u8], out: &mut [f32]) {
    unpack_blocks(dtype, bytes, out);
}

pub fn numbers(dtype: TensorType, bytes: &[u8]) -> Vec<f32> {
    let blocks = bytes.len() / dtype.block_bytes().max(1);
    let mut out = vec![0.0; blocks * dtype.block_len()];
    to_f32(dtype, bytes, &mut out);
    out
}

/// Converts whole blocks on this thread. Inlined into its caller together with all it calls, so that a loop
/// compiled for wider vectors unpacks with those; the numbers are the same to the last bit.
#[inline(always)]
pub fn unpack_blocks(dtype: TensorType, bytes: &[u8], out: &mut [f32]) {
    match dtype {
        TensorType::F32 => plain(bytes, out, f32::from_le_bytes),
        TensorType::F16 => plain(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
        TensorType::BF16 => plain(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
        TensorType::F64 => plain(bytes, out, |b| f64::from_le_bytes(b) as f32),
        TensorType::I8 => plain(bytes, out, |b| f32::from(i8::from_le_bytes(b))),
        TensorType::U8 => plain(bytes, out, |b: [u8; 1]| f32::from(b[0])),
        TensorType::I16 => plain(bytes, out, |b| f32::from(i16::from_le_bytes(b))),
        TensorType::I32 => plain(bytes, out, |b| i32::from_le_bytes(b) as f32),
        TensorType::I64 => plain(bytes, out, |b| i64::from_le_bytes(b) as f32),
        TensorType::Q4_0 => blocks::<18, 32>(bytes, out, q4_0),
        TensorType::Q4_1 => blocks::<20, 32>(bytes, out, q4_1),
        TensorType::Q5_0 => blocks::<22, 32>(bytes, out, q5_0),
        TensorType::Q5_1 => blocks::<24, 32>(bytes, out, q5_1),
        TensorType::Q8_0 => blocks::<34, 32>(bytes, out, q8_0),
        TensorType::Q8_1 => blocks::<36, 32>(bytes, out, q8_1),
        TensorType::Q2K => blocks::<84, 256>(bytes, out, q2_k),
        TensorType::Q3K => blocks::<110, 256>(bytes, out, q3_k),
        TensorType::Q4K => blocks::<144, 256>(bytes, out, q4_k),
        TensorType::Q5K => blocks::<176, 256>(bytes, out, q5_k),
        TensorType::Q6K => blocks::<210, 256>(bytes, out, q6_k),
        TensorType::Q8K => blocks::<292, 256>(bytes, out, q8_k),
        TensorType::Iq1S => blocks::<50, 256>(bytes, out, codebook::iq1_s),
        TensorType::Iq1M => blocks::<56, 256>(bytes, out, codebook::iq1_m),
        TensorType::Iq2Xxs => blocks::<66, 256>(bytes, out, codebook::iq2_xxs),
        TensorType::Iq2Xs => blocks::<74, 256>(bytes, out, codebook::iq2_xs),
        TensorType::Iq2S => blocks::<82, 256>(bytes, out, codebook::iq2_s),
        TensorType::Iq3Xxs => blocks::<98, 256>(bytes, out, codebook::iq3_xxs),
        TensorType::Iq3S => blocks::<110, 256>(bytes, out, codebook::iq3_s),
        TensorType::Iq4Nl => blocks::<18, 32>(bytes, out, codebook::iq4_nl),
        TensorType::Iq4Xs => blocks::<136, 256>(bytes, out, codebook::iq4_xs),
        TensorType::Mxfp4 => blocks::<17, 32>(bytes, out, codebook::mxfp4),
        TensorType::Tq1 => blocks::<54, 256>(bytes, out, codebook::tq1_0),
        TensorType::Tq2 => blocks::<66, 256>(bytes, out, codebook::tq2_0),
        TensorType::F8E4m3 => plain(bytes, out, |b: [u8; 1]| hub::e4m3(b[0])),
        TensorType::Int4 => blocks::<21, 32>(bytes, out, hub::int4),
        TensorType::Int8 => blocks::<37, 32>(bytes, out, hub::int8),
        TensorType::Nf4 => blocks::<20, 32>(bytes, out, hub::nf4),
        TensorType::Fp8 => blocks::<36, 32>(bytes, out, hub::fp8),
        TensorType::Nvfp4 => blocks::<24, 32>(bytes, out, hub::nvfp4),
    }
}

#[inline(always)]
fn plain<const N: usize>(bytes: &[u8], out: &mut [f32], number: impl Fn([u8; N]) -> f32) {
    let (numbers, _) = bytes.as_chunks::<N>();
    for (out, bytes) in out.iter_mut().zip(numbers) {
        *out = number(*bytes);
    }
}

#[inline(always)]
fn blocks<const BYTES: usize, const NUMBERS: usize>(
    bytes: &[u8],
    out: &mut [f32],
    block: impl Fn(&[u8; BYTES], &mut [f32; NUMBERS]),
) {
    let (stored, _) = bytes.as_chunks::<BYTES>();
    let (wanted, _) = out.as_chunks_mut::<NUMBERS>();
    for (out, bytes) in wanted.iter_mut().zip(stored) {
        block(bytes, out);
    }
}

#[inline(always)]
fn half_at<const N: usize>(block: &[u8; N], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

#[inline(always)]
fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for j in 0..16 {
        let q = block[2 + j];
        out[j] = d * (f32::from(q & 15) - 8.0);
        out[j + 16] = d * (f32::from(q >> 4) - 8.0);
    }
}

#[inline(always)]
fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    for j in 0..16 {
        let q = block[4 + j];
        out[j] = d * f32::from(q & 15) + m;
        out[j + 16] = d * f32::from(q >> 4) + m;
    }
}

/// Low and high five-bit digit `j` of a block of 32: four bits in `qs`, the fifth in `qh`.
#[inline(always)]
fn five_bits(qs: u8, qh: u32, j: usize) -> (f32, f32) {
    let low = u32::from(qs & 15) | (((qh >> j) & 1) << 4);
    let high = u32::from(qs >> 4) | (((qh >> (j + 16)) & 1) << 4);
    (low as f32, high as f32)
}

#[inline(always)]
fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    let qh = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
    for j in 0..16 {
        let (low, high) = five_bits(block[6 + j], qh, j);
        out[j] = d * (low - 16.0);
        out[j + 16] = d * (high - 16.0);
    }
}

#[inline(always)]
fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    let qh = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
    for j in 0..16 {
        let (low, high) = five_bits(block[8 + j], qh, j);
        out[j] = d * low + m;
        out[j + 16] = d * high + m;
    }
}

#[inline(always)]
fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for j in 0..32 {
        out[j] = f32::from(block[2 + j].cast_signed()) * d;
    }
}

/// Two halves (scale, and scale times the sum, which is not needed here), then 32 signed bytes.
#[inline(always)]
fn q8_1(block: &[u8; 36], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for j in 0..32 {
        out[j] = f32::from(block[4 + j].cast_signed()) * d;
    }
}

#[inline(always)]
fn q2_k(block: &[u8; 84], out: &mut [f32; 256]) {
    let (d, dmin) = (half_at(block, 80), half_at(block, 82));
    for (i, out) in out.iter_mut().enumerate() {
        let scale = block[i / 16];
        // 128 numbers share 32 bytes: two bits each, the shift tells which quarter.
        let q = (block[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        *out = d * f32::from(scale & 15) * f32::from(q) - dmin * f32::from(scale >> 4);
    }
}

#[inline(always)]
fn q3_k(block: &[u8; 110], out: &mut [f32; 256]) {
    let d = half_at(block, 108);
    let scale = |group: usize| {
        let low = (block[96 + group % 8] >> (group / 8 * 4)) & 15;
        let high = (block[104 + group % 4] >> (group / 4 * 2)) & 3;
        f32::from(low | (high << 4)) - 32.0
    };
    for (group, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let dl = d * scale(group);
        for (k, out) in out.iter_mut().enumerate() {
            let i = group * 16 + k;
            let low = (block[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
            // A set bit in the mask means that four is *not* subtracted.
            let high = (block[i % 32] >> (i / 32)) & 1;
            *out = dl * (f32::from(low) - f32::from((high ^ 1) << 2));
        }
    }
}

/// Six-bit scale and minimum of each of eight groups, packed into twelve bytes (Q4_K, Q5_K).
#[inline(always)]
fn scale_and_min(packed: &[u8], group: usize) -> (f32, f32) {
    let (scale, min) = if group < 4 {
        (packed[group] & 63, packed[group + 4] & 63)
    } else {
        (
            (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4),
            (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4),
        )
    };
    (f32::from(scale), f32::from(min))
}

#[inline(always)]
fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, min) = scale_and_min(&block[4..16], group);
        let (scale, min) = (d * scale, dmin * min);
        for (k, out) in out.iter_mut().enumerate() {
            let q = (block[16 + group / 2 * 32 + k] >> (group % 2 * 4)) & 15;
            *out = scale * f32::from(q) - min;
        }
    }
}

#[inline(always)]
fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, min) = scale_and_min(&block[4..16], group);
        let (scale, min) = (d * scale, dmin * min);
        for (k, out) in out.iter_mut().enumerate() {
            let low = (block[48 + group / 2 * 32 + k] >> (group % 2 * 4)) & 15;
            let high = (block[16 + k] >> group) & 1;
            *out = scale * f32::from(low | (high << 4)) - min;
        }
    }
}

#[inline(always)]
fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let d = half_at(block, 208);
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        // Each half of 128 numbers: 64 bytes of low nibbles, 32 bytes of high bit pairs.
        let (half, quarter) = (group / 4, group % 4);
        let (low, high) = (half * 64 + quarter % 2 * 32, 128 + half * 32);
        for (side, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = d * f32::from(block[192 + group * 2 + side].cast_signed());
            for (k, out) in out.iter_mut().enumerate() {
                let k = side * 16 + k;
                let q = (block[low + k] >> (quarter / 2 * 4)) & 15;
                let q = q | ((block[high + k] >> (quarter * 2)) & 3) << 4;
                *out = scale * (f32::from(q) - 32.0);
            }
        }
    }
}

/// A full-precision scale, 256 signed bytes, and sums that are not needed here.
#[inline(always)]
fn q8_k(block: &[u8; 292], out: &mut [f32; 256]) {
    let d = f32::from_le_bytes([block[0], block[1], block[2], block[3]]);
    for (i, out) in out.iter_mut().enumerate() {
        *out = d * f32::from(block[4 + i].cast_signed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_types_are_read_as_written() {
        let mut out = [0.0; 2];
        to_f32(
            TensorType::F64,
            &[1.5f64, -2.0].map(f64::to_le_bytes).concat(),
            &mut out,
        );
        assert_eq!(out, [1.5, -2.0]);
        to_f32(TensorType::I8, &[0xff, 7], &mut out);
        assert_eq!(out, [-1.0, 7.0]);
        to_f32(TensorType::BF16, &[0x80, 0x3f, 0x00, 0xc0], &mut out);
        assert_eq!(out, [1.0, -2.0]);
    }

    /// Every block kind against the Python package `gguf`, bit for bit.
    #[test]
    fn blocks_are_unpacked_as_the_reference_does() {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let mut golden: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(include_str!("../../mary-weights/tests/golden/quants.json"))
                .unwrap();
        let tables: serde_json::Map<String, serde_json::Value> = serde_json::from_str(
            include_str!("../../mary-weights/tests/golden/codebooks.json"),
        )
        .unwrap();
        golden.extend(tables);
        let kinds = [
            TensorType::Q4_0,
            TensorType::Q4_1,
            TensorType::Q5_0,
            TensorType::Q5_1,
            TensorType::Q8_0,
            TensorType::Q8_1,
            TensorType::Q2K,
            TensorType::Q3K,
            TensorType::Q4K,
            TensorType::Q5K,
            TensorType::Q6K,
            TensorType::Q8K,
            TensorType::Iq1S,
            TensorType::Iq1M,
            TensorType::Iq2Xxs,
            TensorType::Iq2Xs,
            TensorType::Iq2S,
            TensorType::Iq3Xxs,
            TensorType::Iq3S,
            TensorType::Iq4Nl,
            TensorType::Iq4Xs,
            TensorType::Mxfp4,
            TensorType::Tq1,
            TensorType::Tq2,
        ];
        assert_eq!(golden.len(), kinds.len());
        for kind in kinds {
            let part = |name: &str| {
                STANDARD
                    .decode(golden[kind.name()][name].as_str().unwrap())
                    .unwrap()
            };
            let (bytes, numbers) = (part("bytes"), part("numbers"));
            let mut expected = vec![0.0; numbers.len() / 4];
            to_f32(TensorType::F32, &numbers, &mut expected);
            assert_eq!(kind.bytes_for(expected.len()), Some(bytes.len()), "{kind}");
            let mut got = vec![0.0; expected.len()];
            to_f32(kind, &bytes, &mut got);
            assert_eq!(got, expected, "{kind}");
        }
    }

    #[test]
    fn long_tensors_convert_in_pieces_to_the_same_numbers() {
        let n = CHUNK * 2 + 256;
        let bytes: Vec<u8> = (0..n / 256 * 144).map(|i| (i * 31 % 97) as u8).collect();
        let mut whole = vec![0.0; n];
        to_f32(TensorType::Q4K, &bytes, &mut whole);
        let mut piece = vec![0.0; n];
        unpack_blocks(TensorType::Q4K, &bytes, &mut piece);
        assert_eq!(whole, piece);
    }
}
