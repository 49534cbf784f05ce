//! Matrix products at single precision on Intel's tile unit (AMX), which multiplies bfloat16 only.
//!
//! A 32-bit float has 24 significant bits and a bfloat16 has 8, so every float is *exactly* the sum
//! of three bfloat16 numbers, its planes. Of the nine products of planes the six largest are taken;
//! what is left out is below 2⁻²⁴ of the product, the rounding a float product has anyway. Weights
//! that were stored as bfloat16 have one plane that is not zero and float16 weights two, so those
//! take three or five products and lose nothing. Sums are accumulated in 32 bits by the unit. A test
//! holds the result to the error of an ordinary 32-bit product.
//!
//! Subnormal numbers count as zero, as they do in the tile unit.

#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod pack_avx512;
#[cfg(target_arch = "x86_64")]
mod panels;
#[cfg(target_arch = "x86_64")]
mod product;
mod split;
mod tiles;

use std::sync::OnceLock;

use crate::simd;

#[cfg(target_arch = "x86_64")]
use kernel::Block;
#[cfg(target_arch = "x86_64")]
pub use kernel::{configure, release};
#[cfg(target_arch = "x86_64")]
pub use pack_avx512::transpose;
#[cfg(target_arch = "x86_64")]
pub use panels::{PANEL, Panel, panels};
#[cfg(target_arch = "x86_64")]
pub use product::{Factor, Right, product};
pub use tiles::{Activations, Tiles, planes, planes_here};

/// Rows and columns of a tile of sums.
pub const TILE: usize = 16;
/// Depth of a tile: bfloat16 numbers in a row.
pub const DEPTH: usize = 32;
/// Numbers (two bytes each) in a tile.
const TILE_LEN: usize = TILE * DEPTH;
const A_PLANES: usize = 3;
/// Rows handled between two walks over the weights: their planes stay in the second-level cache.
pub const ROWS: usize = 256;
/// Depth handled before sums go back to memory, in tiles.
const CHUNK: usize = 18;

/// Whether the processor has tiles and the kernel lets us use them.
pub fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(detect)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn detect() -> bool {
    use std::arch::x86_64::__cpuid_count;
    if simd::width() < simd::Width::V4 {
        return false;
    }
    // Leaf 7: bit 22 of EDX is AMX-BF16, bit 24 the tiles themselves.
    let leaf = __cpuid_count(7, 0);
    if leaf.edx & (1 << 22) == 0 || leaf.edx & (1 << 24) == 0 {
        return false;
    }
    // Linux gives the tile registers only to processes that ask for them.
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const TILE_DATA: i64 = 18;
    let answer: i64;
    // SAFETY: a system call that takes two numbers and touches no memory of ours.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => answer,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") TILE_DATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    answer == 0
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn detect() -> bool {
    false
}

fn depth_tiles(inputs: usize) -> usize {
    inputs.div_ceil(DEPTH)
}

/// These rows and outputs of `out`, whose first row and column are those of the whole product.
#[derive(Clone, Copy)]
pub struct Region {
    /// First row; a multiple of 32.
    pub row: usize,
    pub rows: usize,
    /// First output; a multiple of 32.
    pub output: usize,
    pub outputs: usize,
    /// Numbers from one row of `out` to the next.
    pub stride: usize,
    /// Add to what `out` holds.
    pub add: bool,
}

impl Region {
    /// So many rows of so many outputs, which `out` holds and nothing else.
    pub fn whole(rows: usize, outputs: usize, add: bool) -> Self {
        Self {
            row: 0,
            rows,
            output: 0,
            outputs,
            stride: outputs,
            add,
        }
    }
}

/// Where two neighbouring strips of sixteen lie, the first of which begins with row or output `first`, from a
/// place within them on.
#[cfg(target_arch = "x86_64")]
fn pair(data: &[u16], strip: usize, first: usize, from: usize) -> [*const u16; 2] {
    let both = &data[first / TILE * strip..][..2 * strip];
    [both[from..].as_ptr(), both[strip + from..].as_ptr()]
}

/// Multiplies a region.
///
/// # Safety
/// [`available`] is true; `out` points to row 0, column 0 of a matrix that holds the region, and no
/// other thread touches the region meanwhile.
#[cfg(target_arch = "x86_64")]
pub unsafe fn multiply(a: &Activations, w: &Tiles, out: *mut f32, region: Region) {
    debug_assert!(a.inputs() == w.inputs);
    // SAFETY: passed on.
    unsafe { multiply_from(a, w, 0, out, region) };
}

/// The share of some inputs in a product: those of the weights from `input`, a multiple of 32, on, as many as
/// there are activations. Shares that are added in the order of the inputs have the bits of the whole.
///
/// # Safety
/// As for [`multiply`].
#[cfg(target_arch = "x86_64")]
pub unsafe fn multiply_from(
    a: &Activations,
    w: &Tiles,
    input: usize,
    out: *mut f32,
    region: Region,
) {
    let depth = depth_tiles(a.inputs());
    let skip = input / DEPTH * w.planes * TILE_LEN;
    let a_strip = depth * A_PLANES * TILE_LEN;
    let w_strip = depth_tiles(w.inputs) * w.planes * TILE_LEN;
    assert!(input.is_multiple_of(DEPTH) && input / DEPTH + depth <= depth_tiles(w.inputs));
    let mut edge = Edge([0.0; 4 * TILE * TILE]);
    let (last_row, last_output) = (region.row + region.rows, region.output + region.outputs);
    // SAFETY: the caller vouches for the processor.
    unsafe { kernel::configure() };
    for first in (region.row..last_row).step_by(ROWS) {
        let last = (first + ROWS).min(last_row);
        let share = kernel::Share::for_rows(last - first);
        for chunk in (0..depth).step_by(CHUNK) {
            let steps = CHUNK.min(depth - chunk);
            let add = region.add || chunk > 0;
            for output in (region.output..last_output).step_by(2 * TILE) {
                let from = skip + chunk * w.planes * TILE_LEN;
                let [w0, w1] = pair(&w.data, w_strip, output, from);
                for row in (first..last).step_by(2 * TILE) {
                    let [a0, a1] = pair(&a.data, a_strip, row, chunk * A_PLANES * TILE_LEN);
                    let (rows, outputs) = (
                        (last - row).min(2 * TILE),
                        (last_output - output).min(2 * TILE),
                    );
                    // SAFETY: the region lies inside `out`.
                    let at = unsafe { out.add(row * region.stride + output) };
                    // All rows together fetch the weights of the next outputs; beyond the end, places are
                    // only named.
                    let next = (row - first) / (2 * TILE) * steps * w.planes * share.numbers();
                    let next = 2 * w_strip + next;
                    let (n0, n1) = (w0.wrapping_add(next), w1.wrapping_add(next));
                    let block = Block {
                        planes: w.planes,
                        tiles: [a0, a1, w0, w1, n0, n1],
                        share,
                        steps,
                        add,
                    };
                    // SAFETY: each of the first four pointers has `steps` tiles of its planes behind it, and the
                    // block lies inside the region.
                    unsafe { edge.through(&block, (at, region.stride), (rows, outputs)) };
                }
            }
        }
    }
    // SAFETY: as above.
    unsafe { kernel::release() };
}

/// There are no tiles here, and [`available`] said so.
///
/// # Safety
/// Never called where [`available`] is false.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn multiply(_a: &Activations, _w: &Tiles, _out: *mut f32, _region: Region) {}

#[cfg(target_arch = "x86_64")]
#[repr(align(64))]
struct Edge([f32; 4 * TILE * TILE]);

#[cfg(target_arch = "x86_64")]
impl Edge {
    /// Computes a block: straight to its place, or by way of this memory where it is not whole.
    /// Safety: as for [`Block::run`]; `at` has `rows` rows of `outputs` numbers.
    #[inline]
    unsafe fn through(
        &mut self,
        block: &Block,
        (at, stride): (*mut f32, usize),
        (rows, outputs): (usize, usize),
    ) {
        // SAFETY: the caller vouches for the block; this memory holds a whole one.
        unsafe {
            if rows == 2 * TILE && outputs == 2 * TILE {
                return block.run(at, stride);
            }
            if block.add {
                self.load(at, stride, rows, outputs);
            }
            block.run(self.0.as_mut_ptr(), 2 * TILE);
            self.store(at, stride, rows, outputs);
        }
    }

    /// # Safety
    /// `at` has `rows` rows of `outputs` numbers.
    unsafe fn load(&mut self, at: *const f32, stride: usize, rows: usize, outputs: usize) {
        for r in 0..rows {
            // SAFETY: the caller vouches for the block.
            let row = unsafe { std::slice::from_raw_parts(at.add(r * stride), outputs) };
            self.0[r * 2 * TILE..][..outputs].copy_from_slice(row);
        }
    }

    /// # Safety
    /// `at` has `rows` rows of `outputs` numbers.
    unsafe fn store(&self, at: *mut f32, stride: usize, rows: usize, outputs: usize) {
        for r in 0..rows {
            // SAFETY: the caller vouches for the block.
            let row = unsafe { std::slice::from_raw_parts_mut(at.add(r * stride), outputs) };
            row.copy_from_slice(&self.0[r * 2 * TILE..][..outputs]);
        }
    }
}
