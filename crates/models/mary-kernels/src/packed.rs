//! Products of rows and weights that were packed once for many of them.
//!
//! Where there is Intel's tile unit (AMX), at single precision on it, though it multiplies bfloat16 only. A 32-bit
//! float has 24 significant bits and a bfloat16 has 8, so every float is *exactly* the sum
//! of three bfloat16 numbers, its planes. Of the nine products of planes the six largest are taken;
//! what is left out is below 2⁻²⁴ of the product, the rounding a float product has anyway. Weights
//! that were stored as bfloat16 have one plane that is not zero and float16 weights two, so those
//! take three or five products and lose nothing. Sums are accumulated in 32 bits by the unit. A test
//! holds the result to the error of an ordinary 32-bit product.
//! Subnormal numbers count as zero there, as they do in the tile unit.
//!
//! Elsewhere packed weights are [`PLAIN`]: 32-bit numbers, multiplied with vectors.

#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod pack_avx512;
mod panels;
mod plain;
#[cfg(target_arch = "x86_64")]
mod product;
mod split;
mod tiles;
mod towering;

use std::sync::OnceLock;

use crate::simd;

#[cfg(target_arch = "x86_64")]
pub use kernel::{configure, release};
#[cfg(target_arch = "x86_64")]
pub use pack_avx512::transpose;
pub use panels::{PANEL, Panel, panels};
pub use plain::SPAN;
#[cfg(target_arch = "x86_64")]
pub use product::{Factor, Right, product};
pub use tiles::{Activations, Tiles, planes, planes_here};
pub use towering::{Tower, add as add_towers};

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
/// Instead of a number of planes: 32-bit numbers as they are, for vectors.
pub const PLAIN: usize = 0;

/// Whether the processor has tiles and the kernel lets us use them.
pub fn has_tiles() -> bool {
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
fn pair(data: &[u16], strip: usize, first: usize, from: usize) -> [*const u16; 2] {
    let both = &data[first / TILE * strip..][..2 * strip];
    [both[from..].as_ptr(), both[strip + from..].as_ptr()]
}

/// Packed rows beside packed weights, of which the inputs from one on are used.
struct Pair<'a> {
    a: &'a Activations,
    w: &'a Tiles,
    input: usize,
}

impl<'a> Pair<'a> {
    /// # Panics
    /// Where the inputs are not there, or the two are packed for different multipliers.
    fn new(a: &'a Activations, w: &'a Tiles, input: usize) -> Self {
        assert!(
            input.is_multiple_of(DEPTH)
                && input + a.inputs() <= w.inputs.next_multiple_of(DEPTH)
                && a.is_plain() == (w.planes == PLAIN)
                && (a.is_plain() || has_tiles())
        );
        Self { a, w, input }
    }

    /// Inputs that are multiplied before sums go to memory.
    fn chunk(&self) -> usize {
        match self.w.planes {
            PLAIN => SPAN,
            _ => CHUNK * DEPTH,
        }
    }

    /// Computes up to 32 rows and outputs from the inputs of a chunk, `out` having room for 32 outputs of each row.
    /// `walk` holds the first of the rows for which these weights stay in a cache, and how many those are.
    ///
    /// # Safety
    /// `out` has `rows` rows of 32 numbers, in the tile unit's case 32, and the unit is configured.
    #[inline]
    unsafe fn run(
        &self,
        (row, rows, walk): (usize, usize, (usize, usize)),
        output: usize,
        (chunk, add): (usize, bool),
        (out, stride): (*mut f32, usize),
    ) {
        let (a, w) = (self.a, self.w);
        let depth = self.chunk().min(a.inputs() - chunk);
        let strip = Tiles::strip_len(w.inputs, w.planes);
        let from = (self.input + chunk) * Tiles::places(w.planes) * TILE;
        let both = pair(&w.data, strip, output, from);
        if w.planes == PLAIN {
            let step = a.step();
            let w = both.map(|strip| strip.cast::<f32>());
            // All rows together fetch the weights of the next outputs; beyond the end, places are only named.
            let turn = (row - walk.0) / (2 * TILE);
            let next = w[turn / 2 % 2].wrapping_add(strip + turn % 2 * depth * TILE / 2);
            let block = plain::Block {
                x: a.plain()[row * step + chunk..].as_ptr(),
                step,
                rows,
                w,
                depth,
                add,
                next,
            };
            // SAFETY: rows and strips hold these inputs; the caller vouches for `out`.
            return unsafe { block.run(out, stride) };
        }
        #[cfg(target_arch = "x86_64")]
        {
            let steps = depth.div_ceil(DEPTH);
            let share = kernel::Share::for_rows(walk.1);
            let a_strip = depth_tiles(a.inputs()) * A_PLANES * TILE_LEN;
            let from = chunk / DEPTH * A_PLANES * TILE_LEN;
            let ([a0, a1], [w0, w1]) = (pair(&a.data, a_strip, row, from), both);
            let next = (row - walk.0) / (2 * TILE) * steps * w.planes * share.numbers();
            let next = 2 * strip + next;
            let (n0, n1) = (w0.wrapping_add(next), w1.wrapping_add(next));
            let block = kernel::Block {
                planes: w.planes,
                tiles: [a0, a1, w0, w1, n0, n1],
                share,
                steps,
                add,
            };
            // SAFETY: each of the first four pointers has `steps` tiles of its planes behind it.
            unsafe { block.run(out, stride) };
        }
    }

    /// Makes the tile unit ready, where it is what multiplies, while `work` goes on.
    fn ready<R>(&self, work: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if self.w.planes != PLAIN {
            // SAFETY: `new` saw that there is a tile unit.
            unsafe { kernel::configure() };
            let result = work();
            // SAFETY: as above.
            unsafe { kernel::release() };
            return result;
        }
        work()
    }
}

/// Multiplies a region.
///
/// # Safety
/// `out` points to row 0, column 0 of a matrix that holds the region, and no other thread touches the region
/// meanwhile.
pub unsafe fn multiply(a: &Activations, w: &Tiles, out: *mut f32, region: Region) {
    // SAFETY: passed on.
    unsafe {
        multiply_from(a, w, 0, out, region);
        add_towers(a.towers(), w, out, region);
    }
}

/// The share of some inputs in a product: those of the weights from `input`, a multiple of [`SPAN`], on, as many as
/// there are activations. Shares that are added in the order of the inputs have the bits of the whole, once
/// [`add_towers`] has added what towers over all of them.
///
/// # Safety
/// As for [`multiply`].
pub unsafe fn multiply_from(
    a: &Activations,
    w: &Tiles,
    input: usize,
    out: *mut f32,
    region: Region,
) {
    let pair = Pair::new(a, w, input);
    let mut edge = Edge([0.0; 4 * TILE * TILE]);
    let (last_row, last_output) = (region.row + region.rows, region.output + region.outputs);
    pair.ready(|| {
        for first in (region.row..last_row).step_by(ROWS) {
            let last = (first + ROWS).min(last_row);
            for chunk in (0..a.inputs()).step_by(pair.chunk()) {
                let add = region.add || chunk > 0;
                for output in (region.output..last_output).step_by(2 * TILE) {
                    for row in (first..last).step_by(2 * TILE) {
                        let rows = (last - row).min(2 * TILE);
                        let outputs = (last_output - output).min(2 * TILE);
                        let whole = outputs == 2 * TILE && (a.is_plain() || rows == 2 * TILE);
                        let some = (row, rows, (first, last - first));
                        // SAFETY: the region lies inside `out`, and what is not whole goes by way of the edge.
                        unsafe {
                            let at = (out.add(row * region.stride + output), region.stride);
                            let run = |to| pair.run(some, output, (chunk, add), to);
                            edge.through(run, (whole, add), at, (rows, outputs));
                        }
                    }
                }
            }
        }
    });
}

#[repr(align(64))]
struct Edge([f32; 4 * TILE * TILE]);

impl Edge {
    /// Computes a block: straight to its place where it is whole, or by way of this memory.
    /// Safety: `run` may write 32 rows of 32 numbers where it is sent; `at` has `rows` rows of `outputs` numbers.
    #[inline]
    unsafe fn through(
        &mut self,
        run: impl FnOnce((*mut f32, usize)),
        (whole, add): (bool, bool),
        (at, stride): (*mut f32, usize),
        (rows, outputs): (usize, usize),
    ) {
        if whole {
            return run((at, stride));
        }
        let here = self.0.as_mut_ptr();
        // SAFETY: the caller vouches for the block; this memory holds a whole one.
        unsafe {
            for row in 0..rows * usize::from(add) {
                at.add(row * stride)
                    .copy_to_nonoverlapping(here.add(row * 2 * TILE), outputs);
            }
            run((here, 2 * TILE));
            for row in 0..rows {
                at.add(row * stride)
                    .copy_from_nonoverlapping(here.add(row * 2 * TILE), outputs);
            }
        }
    }
}
