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
use super::amx;
use super::matmul::{Linear, Matrix, Shared, Target};
use super::quant::Blocks;
use super::quant_digits::{self, CHUNK, DEPTH, Digits, TILE, TILE_LEN};
use super::quant_kernel::{FRESH, PAIR, Strips, Tiles, configure};
use super::quant_memory::{get, set};
pub use super::quant_planes::Planes;
use super::quant_planes::{PLANES, each, transpose};

/// Strips of sixteen rows that are handled between two walks over the weights.
const STRIPS: usize = 16;
/// Outputs of so many tiles.
pub const OUTPUTS: usize = PAIR * TILE;
/// Outputs a thread takes at a time, at most: their sums stay in the second-level cache.
const MOST: usize = 512;

/// Whether these weights are multiplied here, on this processor.
pub fn supports(blocks: &Blocks) -> bool {
    static SHORT: OnceLock<bool> = OnceLock::new();
    let there = *SHORT.get_or_init(|| amx::available() && is_x86_feature_detected!("avx512bf16"));
    there && quant_digits::planes(blocks.kind()).is_some()
}

/// The matrices of a layer; `None` where some are not multiplied here.
pub fn parts(layer: &Linear) -> Option<Vec<&Blocks>> {
    fn of(part: &Matrix) -> Option<&Blocks> {
        match part {
            Matrix::Blocks(q) => Some(&q.blocks).filter(|blocks| supports(blocks)),
            _ => None,
        }
    }
    layer.parts.iter().map(of).collect()
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

/// Some outputs of some rows.
#[derive(Clone, Copy)]
pub struct Area {
    /// First output.
    pub first: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// First row; a multiple of sixteen.
    pub row: usize,
    /// Number of rows.
    pub rows: usize,
}

/// Memory a thread works in.
struct Scratch {
    digits: Box<[Digits; PAIR]>,
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
            digits: Box::new([const { Digits::NONE }; PAIR]),
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
    unsafe { configure() };
    let last = (area.row + area.rows).min(x.rows);
    for row in (area.row..last).step_by(STRIPS * TILE) {
        let rows = (last - row).min(STRIPS * TILE);
        // SAFETY: passed on.
        unsafe { band(x, w, Area { row, rows, ..area }, to, &mut scratch) };
    }
    // SAFETY: as above; frees the tile registers so that switching threads stays cheap.
    unsafe { std::arch::asm!("tilerelease", options(nostack, nomem)) };
    SCRATCH.set(Some(scratch));
}

/// As many rows as are handled together.
///
/// # Safety
/// As for [`multiply`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn band(x: &Planes, w: &Blocks, area: Area, to: Target, scratch: &mut Scratch) {
    let (strips, first_strip) = (area.rows.div_ceil(TILE), area.row / TILE);
    let pairs = area.outputs.div_ceil(OUTPUTS);
    let chunks = x.groups.div_ceil(CHUNK);
    let room = pairs * PAIR * strips * TILE * TILE;
    scratch.sums.reserve(room);
    scratch.sums[..room].fill(0.0);
    let two = quant_digits::planes(w.kind()) == Some(2);
    // Outputs follow one another in memory: each chunk fetches its share of the next ones.
    let (start, row_bytes, chunk_bytes) = (w.start(), w.row_bytes(), w.bytes_of(CHUNK * DEPTH));
    let ahead = (OUTPUTS * row_bytes).div_ceil(chunks);
    let last = w.outputs() - 1;
    let step = |pair: usize, chunk: usize, scratch: &mut Scratch| {
        let next =
            start.wrapping_add((area.first + (pair + 1) * OUTPUTS) * row_bytes + chunk * ahead);
        for line in (0..ahead).step_by(64) {
            _mm_prefetch::<_MM_HINT_T1>(next.wrapping_add(line).cast());
        }
        let groups = CHUNK.min(x.groups - chunk * CHUNK);
        let first = area.first + pair * OUTPUTS;
        let here = start.wrapping_add(chunk * chunk_bytes);
        for (t, digits) in scratch.digits.iter_mut().enumerate() {
            // Beyond the last output, its digits once more.
            let row = |i: usize| here.wrapping_add((first + t * TILE + i).min(last) * row_bytes);
            // SAFETY: the rest of a row has whole blocks for its groups.
            unsafe {
                quant_digits::unpack(w.kind(), std::array::from_fn(row), groups, digits);
            }
        }
        let of = Tiles {
            digits: &scratch.digits,
            fresh: scratch.fresh.0.as_mut_ptr(),
            groups,
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
        // SAFETY: every strip has its tiles and sums, and every tile of outputs its place.
        unsafe {
            match two {
                false => of.one_plane(&at),
                true => of.two_planes(&at),
            }
        }
    };
    if strips <= 2 {
        for pair in 0..pairs {
            (0..chunks).for_each(|chunk| step(pair, chunk, scratch));
        }
    } else {
        // The planes of a chunk stay in a cache while all outputs are multiplied with them.
        for chunk in 0..chunks {
            (0..pairs).for_each(|pair| step(pair, chunk, scratch));
        }
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
    let lines = transpose(lines);
    if (outputs, rows) == (TILE, TILE) {
        for (row, line) in lines.into_iter().enumerate() {
            let at = at.wrapping_add(row.wrapping_mul(to.stride));
            // SAFETY: all of it is there.
            unsafe {
                let mut line = _mm512_castsi512_ps(line);
                if to.add {
                    line = _mm512_add_ps(get(at), line);
                }
                set(at, line);
            }
        }
        return;
    }
    let mask = ((1u32 << outputs) - 1) as u16;
    for (row, line) in lines.into_iter().enumerate().take(rows) {
        let mut line = _mm512_castsi512_ps(line);
        // SAFETY: the mask leaves only what is there.
        unsafe {
            let at = at.wrapping_add(row * to.stride);
            if to.add {
                line = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, at), line);
            }
            _mm512_mask_storeu_ps(at, mask, line);
        }
    }
}

#[cfg(test)]
mod tests;
