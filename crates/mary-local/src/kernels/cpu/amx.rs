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

use std::cell::RefCell;
use std::sync::OnceLock;

use super::aligned::Aligned;

/// Rows and columns of a tile of sums.
pub const TILE: usize = 16;
/// Depth of a tile: bfloat16 numbers in a row.
pub const DEPTH: usize = 32;
/// Numbers (two bytes each) in a tile.
const TILE_LEN: usize = TILE * DEPTH;
/// Planes of activations.
const A_PLANES: usize = 3;
/// Rows handled between two walks over the weights: their planes stay in the second-level cache.
pub const ROWS: usize = 256;
/// Depth handled before sums go back to memory, in tiles.
const CHUNK: usize = 18;
/// Numbers of a plane of the next outputs' weights that are fetched in a step: `ROWS` rows fetch them all.
const LATER: usize = TILE_LEN / (ROWS / (2 * TILE));

/// Whether the processor has tiles and the kernel lets us use them.
pub fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(detect)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn detect() -> bool {
    use std::arch::x86_64::__cpuid_count;
    if super::simd::width() < super::simd::Width::V4 {
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

/// Weights split into planes and laid out in tiles.
pub struct Tiles {
    /// Rows of the weight matrix: outputs.
    pub outputs: usize,
    /// Columns: inputs.
    pub inputs: usize,
    planes: usize,
    data: Aligned<u16>,
    /// The memory goes back to [`SPARE`].
    lent: bool,
}

thread_local! {
    /// Memory of tiles that were wanted for one product only, for the next ones.
    static SPARE: RefCell<Option<Aligned<u16>>> = const { RefCell::new(None) };
}

impl Drop for Tiles {
    fn drop(&mut self) {
        if self.lent {
            let data = std::mem::take(&mut self.data);
            // The thread may be ending, and with it the spare memory.
            let _ = SPARE.try_with(|spare| spare.replace(Some(data)));
        }
    }
}

/// Tiles needed for a depth of this many numbers.
fn depth_tiles(inputs: usize) -> usize {
    inputs.div_ceil(DEPTH)
}

/// How many planes these weights need.
fn planes_of(weights: &[f32]) -> usize {
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
fn split(x: f32) -> [u32; 3] {
    let first = x.to_bits() & 0xFFFF_0000;
    let rest = x - f32::from_bits(first);
    let second = rest.to_bits() & 0xFFFF_0000;
    let third = rest - f32::from_bits(second);
    [first >> 16, second >> 16, third.to_bits() >> 16]
}

impl Tiles {
    /// Packs `outputs` rows of `inputs` weights.
    pub fn pack(weights: &[f32], outputs: usize, inputs: usize) -> Self {
        use rayon::prelude::*;
        let planes = weights
            .par_chunks(1 << 16)
            .map(scan_planes)
            .reduce(|| 1, usize::max);
        let pairs = outputs.div_ceil(2 * TILE);
        let strip = Self::strip_len(inputs, planes);
        let mut data = Aligned::<u16>::zeroed(pairs * 2 * strip);
        data.par_chunks_mut(strip).enumerate().for_each(|(i, out)| {
            let first = (i * TILE).min(outputs);
            let last = (first + TILE).min(outputs);
            pack_strip(&weights[first * inputs..last * inputs], inputs, planes, out);
        });
        Self {
            outputs,
            inputs,
            planes,
            data,
            lent: false,
        }
    }

    /// The same of rows that are made where they are needed: sixteen at a time, split while they are in the
    /// cache. `planes` must be enough for every number. What stands beside them in the tiles is left from
    /// earlier use, and touches no output that exists.
    pub fn pack_rows(
        outputs: usize,
        inputs: usize,
        planes: usize,
        row: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Self {
        use rayon::prelude::*;
        let pairs = outputs.div_ceil(2 * TILE);
        let strip = Self::strip_len(inputs, planes);
        let mut data = SPARE.take().unwrap_or_default();
        data.reserve(pairs * 2 * strip);
        let work = |rows: &mut Vec<f32>, (i, out): (usize, &mut [u16])| {
            let first = (i * TILE).min(outputs);
            let last = (first + TILE).min(outputs);
            rows.resize(TILE * inputs, 0.0);
            for (output, numbers) in (first..last).zip(rows.chunks_exact_mut(inputs)) {
                row(output, numbers);
            }
            pack_strip(&rows[..(last - first) * inputs], inputs, planes, out);
        };
        data[..pairs * 2 * strip]
            .par_chunks_mut(strip)
            .enumerate()
            .for_each_init(Vec::new, work);
        Self {
            outputs,
            inputs,
            planes,
            data,
            lent: true,
        }
    }

    /// Numbers in a strip of sixteen outputs.
    fn strip_len(inputs: usize, planes: usize) -> usize {
        depth_tiles(inputs) * planes * TILE_LEN
    }

    /// Bytes taken.
    pub fn bytes(&self) -> usize {
        self.data.len() * 2
    }

    /// Bfloat16 products taken for one float product.
    pub fn products(&self) -> usize {
        match self.planes {
            1 => 3,
            2 => 5,
            _ => 6,
        }
    }
}

super::simd::widest! {
    fn scan_planes(weights: &[f32]) -> usize = scan_planes_inner
}

#[inline(always)]
fn scan_planes_inner<const FMA: bool>(weights: &[f32]) -> usize {
    planes_of(weights)
}

/// Packs sixteen rows: in each tile, row i holds numbers 2i and 2i+1 of every output.
fn pack_strip(rows: &[f32], inputs: usize, planes: usize, out: &mut [u16]) {
    #[cfg(target_arch = "x86_64")]
    if super::simd::width() == super::simd::Width::V4
        && rows.len() == TILE * inputs
        && inputs.is_multiple_of(DEPTH)
        && out.len() >= inputs / DEPTH * planes * TILE_LEN
    {
        // SAFETY: the processor has what `width` found; the sizes were just compared.
        return unsafe { super::pack_avx512::strip(rows, inputs, planes, out) };
    }
    pack_strip_widest(rows, inputs, planes, out);
}

super::simd::widest! {
    fn pack_strip_widest(rows: &[f32], inputs: usize, planes: usize, out: &mut [u16]) = pack_strip_inner
}

#[inline(always)]
fn pack_strip_inner<const FMA: bool>(rows: &[f32], inputs: usize, planes: usize, out: &mut [u16]) {
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
fn split_rows(rows: &[f32], inputs: usize, out: &mut [u16]) {
    #[cfg(target_arch = "x86_64")]
    if super::simd::width() == super::simd::Width::V4
        && rows.len() <= TILE * inputs
        && inputs.is_multiple_of(DEPTH)
        && out.len() >= inputs / DEPTH * A_PLANES * TILE_LEN
    {
        // SAFETY: the processor has what `width` found; the sizes were just compared.
        return unsafe { super::pack_avx512::rows(rows, inputs, out) };
    }
    split_rows_widest(rows, inputs, out);
}

super::simd::widest! {
    fn split_rows_widest(rows: &[f32], inputs: usize, out: &mut [u16]) = split_rows_inner
}

#[inline(always)]
fn split_rows_inner<const FMA: bool>(rows: &[f32], inputs: usize, out: &mut [u16]) {
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

/// Activations split into planes and laid out in tiles.
#[derive(Default)]
pub struct Activations {
    rows: usize,
    inputs: usize,
    data: Aligned<u16>,
}

impl Activations {
    /// Splits `rows` rows of `inputs` numbers.
    pub fn set(&mut self, x: &[f32], rows: usize, inputs: usize) {
        use rayon::prelude::*;
        let strip = depth_tiles(inputs) * A_PLANES * TILE_LEN;
        let strips = rows.div_ceil(2 * TILE) * 2;
        self.data.reserve(strips * strip);
        (self.rows, self.inputs) = (rows, inputs);
        let work = |(i, out): (usize, &mut [u16])| {
            let first = (i * TILE).min(rows);
            let last = (first + TILE).min(rows);
            split_rows(&x[first * inputs..last * inputs], inputs, out);
        };
        let data = &mut self.data[..strips * strip];
        if rows <= 64 {
            data.chunks_mut(strip).enumerate().for_each(work);
        } else {
            data.par_chunks_mut(strip).enumerate().for_each(work);
        }
    }

    /// Rows held.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// A block of the product: these rows and these outputs, written to `out`, whose first row and
/// column are those of the whole product.
#[derive(Clone, Copy)]
pub struct Region {
    /// First row; a multiple of 32.
    pub row: usize,
    /// Number of rows.
    pub rows: usize,
    /// First output; a multiple of 32.
    pub output: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Numbers from one row of `out` to the next.
    pub stride: usize,
    /// Add to what `out` holds.
    pub add: bool,
}

/// Multiplies a region.
///
/// # Safety
/// [`available`] is true; `out` points to row 0, column 0 of a matrix that holds the region, and no
/// other thread touches the region meanwhile.
#[cfg(target_arch = "x86_64")]
pub unsafe fn multiply(a: &Activations, w: &Tiles, out: *mut f32, region: Region) {
    let depth = depth_tiles(w.inputs);
    let a_strip = depth * A_PLANES * TILE_LEN;
    let w_strip = depth * w.planes * TILE_LEN;
    let mut edge = Edge([0.0; 4 * TILE * TILE]);
    let (last_row, last_output) = (region.row + region.rows, region.output + region.outputs);
    // SAFETY: the caller vouches for the processor.
    unsafe { configure() };
    for first in (region.row..last_row).step_by(ROWS) {
        let last = (first + ROWS).min(last_row);
        for chunk in (0..depth).step_by(CHUNK) {
            let steps = CHUNK.min(depth - chunk);
            let add = region.add || chunk > 0;
            for output in (region.output..last_output).step_by(2 * TILE) {
                let strip = &w.data[output / TILE * w_strip..][..2 * w_strip];
                let w0 = strip[chunk * w.planes * TILE_LEN..].as_ptr();
                let w1 = strip[w_strip + chunk * w.planes * TILE_LEN..].as_ptr();
                for row in (first..last).step_by(2 * TILE) {
                    let strip = &a.data[row / TILE * a_strip..][..2 * a_strip];
                    let a0 = strip[chunk * A_PLANES * TILE_LEN..].as_ptr();
                    let a1 = strip[a_strip + chunk * A_PLANES * TILE_LEN..].as_ptr();
                    let (rows, outputs) = (
                        (last - row).min(2 * TILE),
                        (last_output - output).min(2 * TILE),
                    );
                    // SAFETY: the region lies inside `out`.
                    let at = unsafe { out.add(row * region.stride + output) };
                    // Each 32 rows fetch an eighth of the weights of the next outputs; beyond the end,
                    // places are only named.
                    let share = (row - first) / (2 * TILE) * steps * w.planes * LATER;
                    let next = 2 * w_strip + share;
                    let (n0, n1) = (w0.wrapping_add(next), w1.wrapping_add(next));
                    let tiles = [a0, a1, w0, w1, n0, n1];
                    // SAFETY: each of the first four pointers has `steps` tiles of its planes behind it; a full block
                    // lies inside the region, and an edge block goes through its own memory.
                    unsafe {
                        if rows == 2 * TILE && outputs == 2 * TILE {
                            kernel(w.planes, tiles, steps, at, region.stride, add);
                        } else {
                            if add {
                                edge.load(at, region.stride, rows, outputs);
                            }
                            kernel(w.planes, tiles, steps, edge.0.as_mut_ptr(), 2 * TILE, add);
                            edge.store(at, region.stride, rows, outputs);
                        }
                    }
                }
            }
        }
    }
    // SAFETY: as above; frees the tile registers so that switching threads stays cheap.
    unsafe { std::arch::asm!("tilerelease", options(nostack, nomem)) };
}

/// There are no tiles here, and [`available`] said so.
///
/// # Safety
/// Never called where [`available`] is false.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn multiply(_a: &Activations, _w: &Tiles, _out: *mut f32, _region: Region) {}

/// A block at the edge of the product, where not all of 32 × 32 exists.
#[repr(align(64))]
struct Edge([f32; 4 * TILE * TILE]);

impl Edge {
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

#[cfg(target_arch = "x86_64")]
#[repr(C, align(64))]
struct TileConfig([u8; 64]);

/// All eight tiles: sixteen rows of 64 bytes.
#[cfg(target_arch = "x86_64")]
static CONFIG: TileConfig = {
    let mut bytes = [0u8; 64];
    bytes[0] = 1;
    let mut tile = 0;
    while tile < 8 {
        bytes[16 + 2 * tile] = 64;
        bytes[48 + tile] = TILE as u8;
        tile += 1;
    }
    TileConfig(bytes)
};

#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn configure() {
    // SAFETY: the caller vouches for the processor; the configuration is valid and aligned.
    unsafe { std::arch::asm!("ldtilecfg [{}]", in(reg) &raw const CONFIG, options(nostack)) };
}

/// One step of the kernel: four products of the tiles that are loaded.
#[cfg(target_arch = "x86_64")]
macro_rules! four {
    () => {
        "tdpbf16ps tmm0,tmm4,tmm6
         tdpbf16ps tmm1,tmm4,tmm7
         tdpbf16ps tmm2,tmm5,tmm6
         tdpbf16ps tmm3,tmm5,tmm7
        "
    };
}
#[cfg(target_arch = "x86_64")]
macro_rules! load_a {
    ($plane:literal) => {
        concat!(
            "tileloadd tmm4,[{a0}+{row}*1+",
            $plane,
            "*1024]\n",
            "tileloadd tmm5,[{a1}+{row}*1+",
            $plane,
            "*1024]\n"
        )
    };
}
#[cfg(target_arch = "x86_64")]
macro_rules! load_w {
    ($plane:literal) => {
        concat!(
            "tileloadd tmm6,[{w0}+{row}*1+",
            $plane,
            "*1024]\n",
            "tileloadd tmm7,[{w1}+{row}*1+",
            $plane,
            "*1024]\n"
        )
    };
}
/// Fetches a tile of the next step's activations into the first-level cache. Nothing else does: tiles are
/// read in an order that the processor does not foresee, and from the second-level cache they come as
/// slowly as the unit multiplies.
#[cfg(target_arch = "x86_64")]
macro_rules! ahead {
    ($a:literal, $plane:literal) => {
        concat!(
            ".irp line,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "prefetcht0 [{",
            $a,
            "}+3072+",
            $plane,
            "*1024+\\line*64]\n",
            ".endr\n"
        )
    };
}
/// Fetches a share of the weights of the next outputs into the second-level cache.
#[cfg(target_arch = "x86_64")]
macro_rules! later {
    ($lines:literal, $bytes:literal) => {
        concat!(
            ".irp line,",
            $lines,
            "\n",
            "prefetcht1 [{n0}+\\line*64]\n",
            "prefetcht1 [{n1}+\\line*64]\n",
            ".endr\n",
            "add {n0}, ",
            $bytes,
            "\n",
            "add {n1}, ",
            $bytes,
            "\n"
        )
    };
}
/// A 32 × 32 block of sums over `steps` tiles of depth; `$body` holds the products of one step.
#[cfg(target_arch = "x86_64")]
macro_rules! kernel {
    ($name:ident, $w_planes:literal, $($body:expr),+) => {
        #[inline]
        unsafe fn $name(tiles: [*const u16; 6], steps: usize, out: *mut f32, stride: usize, add: bool) {
            let [a0, a1, w0, w1, n0, n1] = tiles;
            // SAFETY: the caller vouches for the memory behind every pointer.
            unsafe {
                std::arch::asm!(
                    "test {add:e}, {add:e}",
                    "jnz 3f",
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "jmp 2f",
                    "3:",
                    "tileloadd tmm0,[{out}+{stride}*1]",
                    "tileloadd tmm1,[{out}+{stride}*1+64]",
                    "tileloadd tmm2,[{low}+{stride}*1]",
                    "tileloadd tmm3,[{low}+{stride}*1+64]",
                    "2:",
                    $($body,)+
                    "add {a0}, 3072",
                    "add {a1}, 3072",
                    concat!("add {w0}, ", $w_planes, "*1024"),
                    concat!("add {w1}, ", $w_planes, "*1024"),
                    "dec {steps}",
                    "jnz 2b",
                    "tilestored [{out}+{stride}*1],tmm0",
                    "tilestored [{out}+{stride}*1+64],tmm1",
                    "tilestored [{low}+{stride}*1],tmm2",
                    "tilestored [{low}+{stride}*1+64],tmm3",
                    a0 = inout(reg) a0 => _,
                    a1 = inout(reg) a1 => _,
                    w0 = inout(reg) w0 => _,
                    w1 = inout(reg) w1 => _,
                    n0 = inout(reg) n0 => _,
                    n1 = inout(reg) n1 => _,
                    steps = inout(reg) steps => _,
                    row = in(reg) 64usize,
                    out = in(reg) out,
                    low = in(reg) out.add(TILE * stride),
                    stride = in(reg) stride * 4,
                    add = in(reg) u32::from(add),
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    };
}

// Small products first within a step. Each tile is loaded as seldom as eight registers allow.
#[cfg(target_arch = "x86_64")]
kernel!(
    three_planes,
    3,
    load_a!(0),
    load_w!(2),
    four!(),
    ahead!("a0", 0),
    load_w!(1),
    four!(),
    ahead!("a1", 0),
    load_w!(0),
    four!(),
    ahead!("a0", 2),
    load_a!(2),
    four!(),
    ahead!("a1", 2),
    load_a!(1),
    four!(),
    ahead!("a0", 1),
    load_w!(1),
    four!(),
    ahead!("a1", 1),
    later!("0,1,2,3,4,5", "384")
);
#[cfg(target_arch = "x86_64")]
kernel!(
    two_planes,
    2,
    load_a!(2),
    load_w!(0),
    four!(),
    ahead!("a0", 2),
    ahead!("a1", 2),
    load_a!(0),
    four!(),
    ahead!("a0", 0),
    load_w!(1),
    four!(),
    ahead!("a1", 0),
    load_a!(1),
    four!(),
    ahead!("a0", 1),
    load_w!(0),
    four!(),
    ahead!("a1", 1),
    later!("0,1,2,3", "256")
);
#[cfg(target_arch = "x86_64")]
kernel!(
    one_plane,
    1,
    load_w!(0),
    load_a!(2),
    four!(),
    ahead!("a0", 2),
    ahead!("a1", 2),
    load_a!(1),
    four!(),
    ahead!("a0", 1),
    ahead!("a1", 1),
    load_a!(0),
    four!(),
    ahead!("a0", 0),
    ahead!("a1", 0),
    later!("0,1", "128")
);

#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn kernel(
    planes: usize,
    tiles: [*const u16; 6],
    steps: usize,
    out: *mut f32,
    stride: usize,
    add: bool,
) {
    // SAFETY: the caller vouches for the memory behind every pointer.
    unsafe {
        match planes {
            1 => one_plane(tiles, steps, out, stride, add),
            2 => two_planes(tiles, steps, out, stride, add),
            _ => three_planes(tiles, steps, out, stride, add),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_planes_are_the_whole_number() {
        for x in [1.0f32, -0.1, 3.303_817, 1e-20, -7.7e30, 0.0] {
            let planes = split(x).map(|p| f64::from(f32::from_bits(p << 16)));
            assert_eq!(planes.iter().sum::<f64>(), f64::from(x));
        }
    }

    #[test]
    fn weights_take_as_many_planes_as_they_were_stored_with() {
        let bf16 = half::bf16::from_f32(0.1234).to_f32();
        let f16 = half::f16::from_f32(0.1234).to_f32();
        assert_eq!(planes_of(&[bf16, 1.0]), 1);
        assert_eq!(planes_of(&[f16, bf16]), 2);
        assert_eq!(planes_of(&[0.1234, f16]), 3);
    }

    #[test]
    fn rows_are_packed_alike_at_once_and_one_by_one() {
        for (outputs, inputs) in [(16, 64), (40, 96), (5, 33), (33, 31)] {
            let numbers: Vec<f32> = (0..outputs * inputs)
                .map(|i| (i as f32 * 0.37).sin())
                .collect();
            let at_once = Tiles::pack(&numbers, outputs, inputs);
            let one_by_one = Tiles::pack_rows(outputs, inputs, 3, |row, out| {
                out.copy_from_slice(&numbers[row * inputs..][..inputs]);
            });
            assert_eq!(at_once.planes, 3);
            // What has no output is not compared.
            let strips = at_once.data.chunks(Tiles::strip_len(inputs, 3));
            for (strip, all) in strips.enumerate() {
                let there = outputs.saturating_sub(strip * TILE).min(TILE) * 2;
                let ours = &one_by_one.data[strip * all.len()..][..all.len()];
                for (a, b) in all.chunks(DEPTH).zip(ours.chunks(DEPTH)) {
                    assert_eq!(a[..there], b[..there], "{outputs} x {inputs}");
                }
            }
            // Whichever instructions this processor has, the portable loop gives the same.
            let count = outputs.min(TILE);
            let mut split = [(); 2].map(|()| vec![0; Tiles::strip_len(inputs, A_PLANES)]);
            split_rows(&numbers[..count * inputs], inputs, &mut split[0]);
            split_rows_inner::<false>(&numbers[..count * inputs], inputs, &mut split[1]);
            assert!(split[0] == split[1], "{outputs} x {inputs}");
            let mut portable = vec![0; Tiles::strip_len(inputs, 3)];
            let first = &numbers[..outputs.min(TILE) * inputs];
            pack_strip_inner::<false>(first, inputs, 3, &mut portable);
            assert!(portable[..] == at_once.data[..portable.len()]);
        }
    }
}
