//! Many rows of activations times quantised weights on Intel's tile unit (AMX), from the blocks as they lie.
//!
//! A 32-bit activation is exactly the sum of three bfloat16 numbers and a digit of a weight is one
//! ([`quant_digits`](super::quant_digits)), so three products give what thirty-two inputs come to without
//! any rounding but that of their sum; then their scale is applied, once. A matrix of plain numbers needs
//! six, and memory for them. (Q6_K takes five: the least of its six products is below the last bit.)
//!
//! A row's product is the same to the last bit whichever rows stand beside it.

use std::arch::x86_64::*;
use std::cell::RefCell;
use std::sync::OnceLock;

use super::aligned::Aligned;
use super::matmul::{Linear, Matrix};
use super::packed;
use super::quant::Blocks;
use super::quant_digits::{self, CHUNK, DEPTH, Digits, TILE, TILE_LEN, Unpacking};
use super::quant_kernel::{FRESH, PAIR, Strips, Tiles};
use super::quant_memory::{get, set};
pub use super::quant_planes::Planes;
use super::quant_planes::{PLANES, each};
use super::target::{Shared, Target};

/// Strips of sixteen rows that are handled between two walks over the weights.
const STRIPS: usize = 16;
pub const OUTPUTS: usize = PAIR * TILE;
/// Outputs a thread takes at a time, at most: their sums stay in the second-level cache.
const MOST: usize = 512;

/// Whether these weights are multiplied here, on this processor.
pub fn supports(blocks: &Blocks) -> bool {
    static SHORT: OnceLock<bool> = OnceLock::new();
    let there =
        *SHORT.get_or_init(|| packed::has_tiles() && is_x86_feature_detected!("avx512bf16"));
    there && quant_digits::planes(blocks.kind()).is_some()
}

/// The matrices of a layer; `None` where some are not multiplied here.
pub fn parts(layer: &Linear) -> Option<Vec<&Blocks>> {
    let parts = layer.parts.iter().map(|part| match part {
        Matrix::Blocks(q) => Some(&q.blocks).filter(|blocks| supports(blocks)),
        _ => None,
    });
    parts.collect()
}

/// `out = x · Wᵀ`, or `out += …`, on all threads; `out` has `stride` numbers a row.
pub fn linear(x: &Planes, parts: &[&Blocks], out: &mut [f32], add: bool) {
    let stride: usize = parts.iter().map(|p| p.outputs()).sum();
    debug_assert!(out.len() >= x.rows * stride);
    let threads = rayon::current_num_threads();
    let size = stride
        .div_ceil(4 * threads)
        .next_multiple_of(OUTPUTS)
        .min(MOST);
    let mut pieces = vec![];
    let mut column = 0;
    for (part, blocks) in parts.iter().enumerate() {
        for first in (0..blocks.outputs()).step_by(size) {
            let outputs = size.min(blocks.outputs() - first);
            pieces.push((part, first, outputs, column));
        }
        column += blocks.outputs();
    }
    let out = Shared(out.as_mut_ptr());
    each(x.rows, pieces.len(), 1, |i| {
        let (part, first, outputs, column) = pieces[i];
        let area = Area {
            first,
            outputs,
            row: 0,
            rows: x.rows,
        };
        // SAFETY: every piece writes its own columns, which the target has.
        unsafe {
            let at = out.offset(column);
            multiply(x, parts[part], area, Target { at, stride, add });
        }
    });
}

#[derive(Clone, Copy)]
pub struct Area {
    pub first: usize,
    pub outputs: usize,
    /// First row; a multiple of sixteen.
    pub row: usize,
    pub rows: usize,
}

struct Scratch {
    /// Those that are multiplied and those that come next, in turn.
    digits: Box<[[Digits; PAIR]; 2]>,
    /// Sums by tile of outputs and strip: sixteen outputs of sixteen rows.
    sums: Aligned<f32>,
    fresh: Box<Fresh>,
}

/// Two tiles of sums for each of two strips as the unit leaves them, twice.
#[repr(C, align(64))]
struct Fresh([f32; 2 * FRESH]);

thread_local! {
    static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

impl Scratch {
    fn new() -> Self {
        Self {
            digits: Box::new([const { [const { Digits::NONE }; PAIR] }; 2]),
            sums: Aligned::default(),
            fresh: Box::new(Fresh([0.0; 2 * FRESH])),
        }
    }
}

/// Multiplies on this thread. The target's first row and column are those of the whole product.
///
/// # Safety
/// [`supports`] says so of the weights; the target holds the area, and nobody else touches it meanwhile.
pub unsafe fn multiply(x: &Planes, w: &Blocks, area: Area, to: Target) {
    let lent = SCRATCH.take();
    let mut scratch = lent.unwrap_or_else(Scratch::new);
    // SAFETY: the caller vouches for the processor.
    unsafe { packed::configure() };
    let last = (area.row + area.rows).min(x.rows);
    for row in (area.row..last).step_by(STRIPS * TILE) {
        let rows = (last - row).min(STRIPS * TILE);
        // SAFETY: passed on.
        unsafe { band(x, w, Area { row, rows, ..area }, to, &mut scratch) };
    }
    // SAFETY: as above.
    unsafe { packed::release() };
    SCRATCH.set(Some(scratch));
}

/// As many rows as are handled together. Safety: as for [`multiply`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn band(x: &Planes, w: &Blocks, area: Area, to: Target, scratch: &mut Scratch) {
    let (strips, first_strip) = (area.rows.div_ceil(TILE), area.row / TILE);
    let pairs = area.outputs.div_ceil(OUTPUTS);
    let chunks = x.groups.div_ceil(CHUNK);
    let room = pairs * PAIR * strips * TILE * TILE;
    scratch.sums.reserve(room);
    scratch.sums[..room].fill(0.0);
    let two = quant_digits::planes(w.kind()) == Some(2);
    let (row_bytes, chunk_bytes) = (w.row_bytes(), w.bytes_of(CHUNK * DEPTH));
    // With few rows a pair of outputs is finished before the next one; with many, the planes of a chunk stay
    // in a cache while all outputs are multiplied with them.
    let steps = pairs * chunks;
    let place = |step: usize| match strips <= 2 {
        true => (step / chunks, step % chunks),
        false => (step % pairs, step / pairs),
    };
    let blocks_of = |(pair, chunk): (usize, usize)| {
        let first = area.first + pair * OUTPUTS;
        let at = w.start().wrapping_add(first * row_bytes);
        at.wrapping_add(chunk * chunk_bytes)
    };
    let groups_of = |chunk: usize| CHUNK.min(x.groups - chunk * CHUNK);
    let unpacking = |step: usize, to: &mut [Digits; PAIR]| {
        let here = place(step.min(steps - 1));
        let (at, then) = (blocks_of(here), blocks_of(place((step + 1).min(steps - 1))));
        Unpacking {
            kind: w.kind(),
            at,
            row_bytes,
            groups: groups_of(here.1),
            outputs: w.outputs() - (area.first + here.0 * OUTPUTS),
            ahead: (then as isize).wrapping_sub(at as isize),
            to: to.as_mut_ptr(),
            // After the last step there is nothing.
            done: if step < steps { 0 } else { OUTPUTS },
        }
    };
    let [first, second] = &mut *scratch.digits;
    let (mut now, mut later) = (first, second);
    // SAFETY: the rest of a row has whole blocks for its groups.
    unsafe { unpacking(0, &mut *now).more(OUTPUTS) };
    for step in 0..steps {
        let (pair, chunk) = place(step);
        let of = Tiles {
            digits: now,
            fresh: scratch.fresh.0.as_mut_ptr(),
            groups: groups_of(chunk),
        };
        let at = Strips {
            count: strips,
            tiles: x.tiles(first_strip, chunk * CHUNK),
            tiles_step: x.groups * PLANES * TILE_LEN,
            sums: x.sums(first_strip, chunk * CHUNK),
            sums_step: x.groups * TILE,
            to: scratch.sums[pair * PAIR * strips * TILE * TILE..].as_mut_ptr(),
            stride: strips * TILE * TILE,
        };
        let mut next = unpacking(step + 1, &mut *later);
        // SAFETY: every strip has its tiles and sums, and every tile of outputs its place; digits as above.
        unsafe {
            match two {
                false => of.one_plane(&at, &mut next),
                true => of.two_planes(&at, &mut next),
            }
            next.more(OUTPUTS);
        }
        std::mem::swap(&mut now, &mut later);
    }
    for tile in 0..area.outputs.div_ceil(TILE) {
        for strip in 0..strips {
            let sums = &scratch.sums[(tile * strips + strip) * TILE * TILE..][..TILE * TILE];
            let (output, row) = (tile * TILE, strip * TILE);
            let (outputs, rows) = (TILE.min(area.outputs - output), TILE.min(area.rows - row));
            // SAFETY: the area lies inside the target.
            unsafe {
                let at = (area.row + row) * to.stride + area.first + output;
                write(sums, (outputs, rows), to.at.pointer().wrapping_add(at), to);
            }
        }
    }
}

/// Sixteen outputs of sixteen rows, turned around, to where they belong.
///
/// # Safety
/// `at` is the place of the first output of the first row, and there are so many outputs and rows.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn write(sums: &[f32], (outputs, rows): (usize, usize), at: *mut f32, to: Target) {
    let sums = sums.as_ptr();
    let mut lines = [_mm512_setzero_si512(); TILE];
    for (o, line) in lines.iter_mut().enumerate() {
        // SAFETY: 256 sums.
        *line = unsafe { get(sums.wrapping_add(o * TILE)) };
    }
    let lines = packed::transpose(&lines);
    let whole = outputs == TILE;
    let mask = ((1u32 << outputs) - 1) as u16;
    for (row, line) in lines.into_iter().enumerate().take(rows) {
        let at = at.wrapping_add(row.wrapping_mul(to.stride));
        let mut line = _mm512_castsi512_ps(line);
        // SAFETY: all of a whole line is there; of another, the mask leaves only what is.
        unsafe {
            if to.add {
                let before = if whole {
                    get(at)
                } else {
                    _mm512_maskz_loadu_ps(mask, at)
                };
                line = _mm512_add_ps(before, line);
            }
            match whole {
                true => set(at, line),
                false => _mm512_mask_storeu_ps(at, mask, line),
            }
        }
    }
}

#[cfg(test)]
mod tests;
