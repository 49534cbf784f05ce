//! ggml's kinds that look numbers up in a table: the IQ kinds, MXFP4, and the ternary kinds.
//!
//! An IQ block of 256 numbers holds places in a grid of known vectors (of eight or four numbers), signs
//! and small scales. The grids are data of the ggml project (MIT); `tools/quant_grids.py` writes
//! `grids.bin` out of the Python package `gguf`, and the golden file holds every kind to that package
//! bit for bit.

use half::f16;

use super::half_at;

/// All grids, one number a byte: IQ2_XXS, IQ2_XS, IQ2_S (of eight), IQ3_XXS, IQ3_S (of four), IQ1 (of
/// eight).
const GRIDS: &[u8; 33_792] = include_bytes!("grids.bin");

/// Where a grid begins, and the length of its vectors.
#[derive(Clone, Copy)]
struct Grid {
    start: usize,
    width: usize,
}

const fn grid(start: usize, width: usize) -> Grid {
    Grid { start, width }
}

const IQ2_XXS: Grid = grid(0, 8);
const IQ2_XS: Grid = grid(2_048, 8);
const IQ2_S: Grid = grid(6_144, 8);
const IQ3_XXS: Grid = grid(14_336, 4);
const IQ3_S: Grid = grid(15_360, 4);
const IQ1: Grid = grid(17_408, 8);

impl Grid {
    fn at(self, entry: usize, k: usize) -> f32 {
        f32::from(GRIDS[self.start + entry * self.width + k].cast_signed())
    }
}

/// The sixteen steps of IQ4.
const STEPS: [i8; 16] = [
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
];
/// The sixteen values of a four-bit float, doubled.
pub(super) const E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

fn u16_at(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

fn nibble(byte: u8, high: usize) -> u8 {
    (byte >> (high * 4)) & 15
}

/// Seven stored signs; the eighth makes their number even.
fn signs(seven: u32) -> u8 {
    let seven = (seven & 127) as u8;
    seven | (((seven.count_ones() & 1) as u8) << 7)
}

fn sign(signs: u8, k: usize) -> f32 {
    if (signs >> k) & 1 == 0 { 1.0 } else { -1.0 }
}

pub(super) fn iq2_xxs(block: &[u8; 66], out: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let at = 2 + group * 8;
        let word = u32_at(block, at + 4);
        let scale = d * (0.5 + (word >> 28) as f32) * 0.25;
        for (i, out) in out.iter_mut().enumerate() {
            let (part, k) = (i / 8, i % 8);
            let entry = usize::from(block[at + part]);
            let signs = signs(word >> (7 * part));
            *out = scale * IQ2_XXS.at(entry, k) * sign(signs, k);
        }
    }
}

pub(super) fn iq2_xs(block: &[u8; 74], out: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (i, out) in out.iter_mut().enumerate() {
        let (part, k) = (i / 8, i % 8);
        let word = u16_at(block, 2 + part * 2);
        let scale = nibble(block[66 + part / 4], part / 2 % 2);
        let scale = d * (0.5 + f32::from(scale)) * 0.25;
        let signs = signs(u32::from(word >> 9));
        *out = scale * IQ2_XS.at(usize::from(word & 511), k) * sign(signs, k);
    }
}

pub(super) fn iq2_s(block: &[u8; 82], out: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (i, out) in out.iter_mut().enumerate() {
        let (part, k) = (i / 8, i % 8);
        let high = (block[66 + part / 4] >> (part % 4 * 2)) & 3;
        let entry = usize::from(block[2 + part]) | (usize::from(high) << 8);
        let scale = nibble(block[74 + part / 4], part / 2 % 2);
        let scale = d * (0.5 + f32::from(scale)) * 0.25;
        *out = scale * IQ2_S.at(entry, k) * sign(block[34 + part], k);
    }
}

pub(super) fn iq3_xxs(block: &[u8; 98], out: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let word = u32_at(block, 66 + group * 4);
        let scale = d * (0.5 + (word >> 28) as f32) * 0.5;
        for (i, out) in out.iter_mut().enumerate() {
            let entry = usize::from(block[2 + group * 8 + i / 4]);
            let signs = signs(word >> (7 * (i / 8)));
            *out = scale * IQ3_XXS.at(entry, i % 4) * sign(signs, i % 8);
        }
    }
}

pub(super) fn iq3_s(block: &[u8; 110], out: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (i, out) in out.iter_mut().enumerate() {
        let part = i / 4;
        let high = (block[66 + part / 8] >> (part % 8)) & 1;
        let entry = usize::from(block[2 + part]) | (usize::from(high) << 8);
        let scale = nibble(block[106 + i / 64], i / 32 % 2);
        let scale = d * f32::from(1 + 2 * scale);
        *out = scale * IQ3_S.at(entry, i % 4) * sign(block[74 + i / 8], i % 8);
    }
}

/// What is added to every number of an IQ1 grid.
const DELTA: f32 = 0.125;

pub(super) fn iq1_s(block: &[u8; 50], out: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let word = u16_at(block, 34 + group * 2);
        let scale = d * f32::from(2 * ((word >> 12) & 7) + 1);
        let delta = if word & 0x8000 == 0 { DELTA } else { -DELTA };
        for (i, out) in out.iter_mut().enumerate() {
            let part = i / 8;
            let high = usize::from((word >> (3 * part)) & 7);
            let entry = usize::from(block[2 + group * 4 + part]) | (high << 8);
            *out = scale * (IQ1.at(entry, i % 8) + delta);
        }
    }
}

pub(super) fn iq1_m(block: &[u8; 56], out: &mut [f32; 256]) {
    let scales = [48, 50, 52, 54].map(|at| u16_at(block, at));
    // The block's own scale lies in the upper four bits of each.
    let bits = scales
        .iter()
        .enumerate()
        .fold(0, |bits, (i, word)| bits | ((word >> 12) << (4 * i)));
    let d = f16::from_bits(bits).to_f32();
    for (i, out) in out.iter_mut().enumerate() {
        let part = i / 8;
        let scale = (scales[i / 64] >> (i / 16 % 4 * 3)) & 7;
        let scale = d * f32::from(2 * scale + 1);
        let high = nibble(block[32 + part / 2], part % 2);
        let entry = usize::from(block[part]) | (usize::from(high & 7) << 8);
        let delta = if high & 8 == 0 { DELTA } else { -DELTA };
        *out = scale * (IQ1.at(entry, i % 8) + delta);
    }
}

pub(super) fn iq4_nl(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for (i, out) in out.iter_mut().enumerate() {
        let q = nibble(block[2 + i % 16], i / 16);
        *out = d * f32::from(STEPS[usize::from(q)]);
    }
}

pub(super) fn iq4_xs(block: &[u8; 136], out: &mut [f32; 256]) {
    let d = half_at(block, 0);
    let high = u16_at(block, 2);
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low = nibble(block[4 + group / 2], group % 2);
        let scale = i16::from(low) | (((high >> (2 * group)) & 3).cast_signed() << 4);
        let scale = d * f32::from(scale - 32);
        for (i, out) in out.iter_mut().enumerate() {
            let q = nibble(block[8 + group * 16 + i % 16], i / 16);
            *out = scale * f32::from(STEPS[usize::from(q)]);
        }
    }
}

/// A shared power of two, then 32 floats of four bits.
pub(super) fn mxfp4(block: &[u8; 17], out: &mut [f32; 32]) {
    let e = u32::from(block[0]);
    // Half of two to the power e - 127, since the table is doubled.
    let d = f32::from_bits(if e < 2 {
        0x0020_0000 << e
    } else {
        (e - 1) << 23
    });
    for (i, out) in out.iter_mut().enumerate() {
        let q = nibble(block[1 + i % 16], i / 16);
        *out = d * f32::from(E2M1[usize::from(q)]);
    }
}

/// The digit of three that stands first after multiplying by a power of three.
fn trit(byte: u8, power: u8) -> f32 {
    let shifted = byte.wrapping_mul(power);
    f32::from((u16::from(shifted) * 3) >> 8) - 1.0
}

const POWERS: [u8; 5] = [1, 3, 9, 27, 81];

pub(super) fn tq1_0(block: &[u8; 54], out: &mut [f32; 256]) {
    let d = half_at(block, 52);
    for (i, out) in out.iter_mut().enumerate() {
        // Five numbers a byte in 32 and in 16 bytes, four a byte in the last four.
        let (byte, power) = match i {
            0..160 => (i % 32, i / 32),
            160..240 => (32 + (i - 160) % 16, (i - 160) / 16),
            _ => (48 + (i - 240) % 4, (i - 240) / 4),
        };
        *out = d * trit(block[byte], POWERS[power]);
    }
}

pub(super) fn tq2_0(block: &[u8; 66], out: &mut [f32; 256]) {
    let d = half_at(block, 64);
    for (i, out) in out.iter_mut().enumerate() {
        let q = (block[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        *out = d * (f32::from(q) - 1.0);
    }
}
