//! Floats as sums of bfloat16 numbers, in the order in which the tile unit reads them.

use crate::simd;

#[cfg(target_arch = "x86_64")]
use super::pack_avx512::{self, Strided};
use super::{A_PLANES, DEPTH, PLAIN, TILE, TILE_LEN};

/// How many bfloat16 numbers it takes to hold each of these: one, two or three. Looks on this thread alone.
pub fn planes_here(weights: &[f32]) -> usize {
    // Folded, not added up outside: what a closure borrows stays in memory, and the loop would not be of vectors.
    let (low, middle) = simd::dispatch(
        #[inline(always)]
        || {
            weights.iter().fold((0, 0), |(low, middle), w| {
                let bits = w.to_bits();
                // What remains after the first plane is a float again; its own low half is the third.
                let rest = w - f32::from_bits(bits & 0xFFFF_0000);
                (low | bits & 0xFFFF, middle | rest.to_bits() & 0xFFFF)
            })
        },
    );
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

/// Packs sixteen rows: in each tile, row i holds numbers 2i and 2i+1 of every output. Plain ones stand input after
/// input.
pub(super) fn pack_strip(rows: &[f32], inputs: usize, planes: usize, out: &mut [u16]) {
    if planes == PLAIN {
        let (out, _) = bytemuck::cast_slice_mut::<_, f32>(out).as_chunks_mut::<TILE>();
        for (output, row) in rows.chunks_exact(inputs.max(1)).enumerate() {
            out.iter_mut().zip(row).for_each(|(to, x)| to[output] = *x);
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if simd::width() == simd::Width::V4
        && rows.len() == TILE * inputs
        && inputs.is_multiple_of(DEPTH)
        && out.len() >= inputs / DEPTH * planes * TILE_LEN
    {
        let from = Strided {
            at: rows.as_ptr(),
            step: inputs,
        };
        // SAFETY: the processor has what `width` found; the sizes were just compared.
        return unsafe { pack_avx512::b_rows(from, (TILE, inputs), planes, out) };
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
    for (output, row) in rows.chunks_exact(inputs).enumerate() {
        for (block, numbers) in row.chunks(DEPTH).enumerate() {
            let mut parts = [[0u32; DEPTH]; 3];
            for (i, &x) in numbers.iter().enumerate() {
                [parts[0][i], parts[1][i], parts[2][i]] = split(x);
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
        let from = Strided {
            at: rows.as_ptr(),
            step: inputs,
        };
        let size = (rows.len() / inputs, inputs);
        // SAFETY: the processor has what `width` found; the sizes were just compared.
        return unsafe { pack_avx512::a_rows::<false>(from, size, 1.0, out) };
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
            let mut padded = [0.0f32; DEPTH];
            padded[..numbers.len()].copy_from_slice(numbers);
            for (i, &x) in padded.iter().enumerate() {
                for (plane, part) in split(x).into_iter().enumerate() {
                    tiles[(plane * TILE + r) * DEPTH + i] = part as u16;
                }
            }
        }
    }
}
