//! Floats as sums of bfloat16 numbers, in the order in which the tile unit reads them.

use crate::simd;

use super::{A_PLANES, DEPTH, TILE, TILE_LEN};

/// How many planes these weights need.
pub(super) fn planes_of(weights: &[f32]) -> usize {
    let (mut low, mut middle) = (0u32, 0u32);
    for w in weights {
        let bits = w.to_bits();
        low |= bits & 0xFFFF;
        // What remains after the first plane is a float again; its own low half is the third.
        let rest = w - f32::from_bits(bits & 0xFFFF_0000);
        middle |= rest.to_bits() & 0xFFFF;
    }
    match (low, middle) {
        (0, _) => 1,
        (_, 0) => 2,
        _ => 3,
    }
}

/// The three planes of a float, whose sum it is exactly.
#[inline(always)]
pub(super) fn split(x: f32) -> [u32; 3] {
    let first = x.to_bits() & 0xFFFF_0000;
    let rest = x - f32::from_bits(first);
    let second = rest.to_bits() & 0xFFFF_0000;
    let third = rest - f32::from_bits(second);
    [first >> 16, second >> 16, third.to_bits() >> 16]
}

simd::widest! {
    pub(super) fn scan_planes(weights: &[f32]) -> usize = scan_planes_inner
}

#[inline(always)]
fn scan_planes_inner<const FMA: bool>(weights: &[f32]) -> usize {
    planes_of(weights)
}

/// Packs sixteen rows: in each tile, row i holds numbers 2i and 2i+1 of every output.
pub(super) fn pack_strip(rows: &[f32], inputs: usize, planes: usize, out: &mut [u16]) {
    #[cfg(target_arch = "x86_64")]
    if simd::width() == simd::Width::V4
        && rows.len() == TILE * inputs
        && inputs.is_multiple_of(DEPTH)
        && out.len() >= inputs / DEPTH * planes * TILE_LEN
    {
        // SAFETY: the processor has what `width` found; the sizes were just compared.
        return unsafe { super::pack_avx512::strip(rows, inputs, planes, out) };
    }
    pack_strip_widest(rows, inputs, planes, out);
}

simd::widest! {
    fn pack_strip_widest(rows: &[f32], inputs: usize, planes: usize, out: &mut [u16]) = pack_strip_inner
}

#[inline(always)]
pub(super) fn pack_strip_inner<const FMA: bool>(
    rows: &[f32],
    inputs: usize,
    planes: usize,
    out: &mut [u16],
) {
    let mut padded = [0.0f32; DEPTH];
    for (output, row) in rows.chunks_exact(inputs).enumerate() {
        for (block, numbers) in row.chunks(DEPTH).enumerate() {
            padded[..numbers.len()].copy_from_slice(numbers);
            padded[numbers.len()..].fill(0.0);
            let mut parts = [[0u32; DEPTH]; 3];
            for (i, &x) in padded.iter().enumerate() {
                let [a, b, c] = split(x);
                parts[0][i] = a;
                parts[1][i] = b;
                parts[2][i] = c;
            }
            for (plane, part) in parts.iter().take(planes).enumerate() {
                let tile = &mut out[(block * planes + plane) * TILE_LEN..][..TILE_LEN];
                for i in 0..TILE {
                    tile[i * DEPTH + 2 * output] = part[2 * i] as u16;
                    tile[i * DEPTH + 2 * output + 1] = part[2 * i + 1] as u16;
                }
            }
        }
    }
}

/// Splits sixteen rows of activations: in each tile, row i holds row i's numbers in order.
pub(super) fn split_rows(rows: &[f32], inputs: usize, out: &mut [u16]) {
    #[cfg(target_arch = "x86_64")]
    if simd::width() == simd::Width::V4
        && rows.len() <= TILE * inputs
        && inputs.is_multiple_of(DEPTH)
        && out.len() >= inputs / DEPTH * A_PLANES * TILE_LEN
    {
        // SAFETY: the processor has what `width` found; the sizes were just compared.
        return unsafe { super::pack_avx512::rows(rows, inputs, out) };
    }
    split_rows_widest(rows, inputs, out);
}

simd::widest! {
    fn split_rows_widest(rows: &[f32], inputs: usize, out: &mut [u16]) = split_rows_inner
}

#[inline(always)]
pub(super) fn split_rows_inner<const FMA: bool>(rows: &[f32], inputs: usize, out: &mut [u16]) {
    for (r, row) in rows.chunks_exact(inputs).enumerate() {
        for (block, numbers) in row.chunks(DEPTH).enumerate() {
            let tiles = &mut out[block * A_PLANES * TILE_LEN..][..A_PLANES * TILE_LEN];
            let (first, rest) = tiles.split_at_mut(TILE_LEN);
            let (second, third) = rest.split_at_mut(TILE_LEN);
            let at = r * DEPTH..(r + 1) * DEPTH;
            let (a, b, c) = (
                &mut first[at.clone()],
                &mut second[at.clone()],
                &mut third[at],
            );
            if let Ok(numbers) = <&[f32; DEPTH]>::try_from(numbers) {
                for i in 0..DEPTH {
                    let parts = split(numbers[i]);
                    a[i] = parts[0] as u16;
                    b[i] = parts[1] as u16;
                    c[i] = parts[2] as u16;
                }
            } else {
                for i in 0..DEPTH {
                    let parts = split(numbers.get(i).copied().unwrap_or(0.0));
                    a[i] = parts[0] as u16;
                    b[i] = parts[1] as u16;
                    c[i] = parts[2] as u16;
                }
            }
        }
    }
}
