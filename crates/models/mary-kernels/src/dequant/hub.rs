//! Blocks for what Hugging Face's own quantised formats hold: thirty-two numbers with a scale of 32 bits in front.
//! `mary-weights` makes them when it reads a folder; digits of four bits stand as in ggml's Q4_0.

use super::codebook::E2M1;

/// The sixteen values of NF4, from bitsandbytes (`create_normal_map`).
#[expect(clippy::excessive_precision, reason = "as bitsandbytes writes them")]
const NF4: [f32; 16] = [
    -1.0,
    -0.696_192_800_998_687_7,
    -0.525_073_051_452_636_7,
    -0.394_917_488_098_144_53,
    -0.284_441_381_692_886_35,
    -0.184_773_430_228_233_34,
    -0.091_050_036_251_544_95,
    0.0,
    0.079_580_299_556_255_34,
    0.160_930_201_411_247_25,
    0.246_112_301_945_686_34,
    0.337_915_241_718_292_24,
    0.440_709_829_330_444_34,
    0.562_617_003_917_694_1,
    0.722_956_836_223_602_3,
    1.0,
];

#[inline(always)]
fn scale<const N: usize>(block: &[u8; N]) -> f32 {
    f32::from_le_bytes([block[0], block[1], block[2], block[3]])
}

/// Sixteen bytes behind a head, each with the digit of its place and of the one sixteen later.
#[inline(always)]
fn four_bits(digits: &[u8], out: &mut [f32; 32], number: impl Fn(u8) -> f32) {
    for (j, &q) in digits.iter().take(16).enumerate() {
        out[j] = number(q & 15);
        out[j + 16] = number(q >> 4);
    }
}

#[inline(always)]
pub(super) fn int4(block: &[u8; 21], out: &mut [f32; 32]) {
    let (d, zero) = (scale(block), f32::from(block[4]));
    four_bits(&block[5..], out, |q| d * (f32::from(q) - zero));
}

#[inline(always)]
pub(super) fn int8(block: &[u8; 37], out: &mut [f32; 32]) {
    let (d, zero) = (scale(block), f32::from(block[4].cast_signed()));
    for (out, q) in out.iter_mut().zip(&block[5..]) {
        *out = d * (f32::from(q.cast_signed()) - zero);
    }
}

#[inline(always)]
pub(super) fn nf4(block: &[u8; 20], out: &mut [f32; 32]) {
    let d = scale(block);
    four_bits(&block[4..], out, |q| d * NF4[usize::from(q)]);
}

#[inline(always)]
pub(super) fn nvfp4(block: &[u8; 24], out: &mut [f32; 32]) {
    let (first, second) = (
        scale::<20>(block.last_chunk().unwrap_or(&[0; 20])),
        scale(block),
    );
    // The table is doubled.
    four_bits(&block[8..], out, |q| 0.5 * f32::from(E2M1[usize::from(q)]));
    let (low, high) = out.split_at_mut(16);
    low.iter_mut().for_each(|x| *x *= first);
    high.iter_mut().for_each(|x| *x *= second);
}

#[inline(always)]
pub(super) fn fp8(block: &[u8; 36], out: &mut [f32; 32]) {
    let d = scale(block);
    for (out, q) in out.iter_mut().zip(&block[4..]) {
        *out = d * e4m3(*q);
    }
}

/// Four bits of exponent and three of mantissa; there are no infinities, and one number (of each sign) is none.
#[inline(always)]
pub(super) fn e4m3(byte: u8) -> f32 {
    let magnitude = byte & 0x7F;
    // The exponent stands 120 too low; what has none of its own comes out right, too.
    let number = f32::from_bits(u32::from(magnitude) << 20) * f32::from_bits((127 + 120) << 23);
    let number = if magnitude == 0x7F { f32::NAN } else { number };
    f32::from_bits(number.to_bits() | u32::from(byte & 0x80) << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition of the type: 2^(e - 7) · (1 + m/8), and 2^-6 · m/8 where e is zero.
    #[test]
    fn all_bytes_of_fp8_are_what_their_bits_say() {
        for byte in 0..=255u8 {
            let (e, m) = (i32::from(byte >> 3 & 15), f32::from(byte & 7));
            let size = match e {
                0 => m / 512.0,
                _ => 2f32.powi(e - 7) * (1.0 + m / 8.0),
            };
            let want = if byte < 128 { size } else { -size };
            let got = e4m3(byte);
            match byte & 0x7F {
                0x7F => assert!(got.is_nan()),
                _ => assert_eq!(got.to_bits(), want.to_bits(), "{byte:#x}"),
            }
        }
    }
}
