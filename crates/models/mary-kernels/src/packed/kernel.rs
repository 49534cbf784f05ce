//! The tile unit's inner loop: 32 × 32 sums, by hand, since no compiler schedules tiles.

use super::{TILE, TILE_LEN};

#[repr(C, align(64))]
struct TileConfig([u8; 64]);

/// All eight tiles: sixteen rows of 64 bytes.
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

/// Makes all tiles ready, sixteen rows of 64 bytes each.
///
/// # Safety
/// The processor has tiles and the kernel gave them to us ([`super::has_tiles`]).
#[inline]
pub unsafe fn configure() {
    // SAFETY: the caller vouches for the processor; the configuration is valid and aligned.
    unsafe { std::arch::asm!("ldtilecfg [{}]", in(reg) &raw const CONFIG, options(nostack)) };
}

/// Tiles for a block of fewer than 32 rows: the unit takes as long as there are rows. Safety: as for [`configure`].
#[inline]
pub(super) unsafe fn configure_rows(rows: usize) {
    let mut config = TileConfig(CONFIG.0);
    let (first, second) = (rows.clamp(1, TILE), rows.saturating_sub(TILE).max(1));
    for (tile, rows) in [
        (0, first),
        (1, first),
        (2, second),
        (3, second),
        (4, first),
        (5, second),
    ] {
        config.0[48 + tile] = rows as u8;
    }
    // SAFETY: the caller vouches for the processor; the configuration is valid and aligned.
    unsafe { std::arch::asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack)) };
}

/// Frees the tile registers, so that switching threads stays cheap.
///
/// # Safety
/// As for [`configure`].
#[inline]
pub unsafe fn release() {
    // SAFETY: the caller vouches for the processor.
    unsafe { std::arch::asm!("tilerelease", options(nostack, nomem)) };
}

/// One step of the kernel: four products of the tiles that are loaded.
macro_rules! four {
    () => {
        "tdpbf16ps tmm0,tmm4,tmm6
         tdpbf16ps tmm1,tmm4,tmm7
         tdpbf16ps tmm2,tmm5,tmm6
         tdpbf16ps tmm3,tmm5,tmm7
        "
    };
}
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
/// The same for a tile of the next step's weights, of which a step has so many bytes. With one plane there is less to do in a
/// step than to fetch, and it does not help.
macro_rules! ahead_w {
    ($w:literal, $plane:literal, $bytes:literal) => {
        concat!(
            ".irp line,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "prefetcht0 [{",
            $w,
            "}+",
            $bytes,
            "+",
            $plane,
            "*1024+\\line*64]\n",
            ".endr\n"
        )
    };
}
/// Fetches a share of the weights of the next outputs into the second-level cache.
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
macro_rules! kernel {
    ($name:ident, $w_planes:literal, $($body:expr),+) => {
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

// Small products first within a step. Each tile is loaded as seldom as eight registers allow. Of each there are
// three, which fetch an eighth, a quarter or half of the next outputs' weights.
macro_rules! three {
    ($name:ident, $lines:literal, $bytes:literal) => {
        kernel!(
            $name,
            3,
            load_a!(0),
            load_w!(2),
            four!(),
            ahead!("a0", 0),
            ahead_w!("w0", 2, "3072"),
            load_w!(1),
            four!(),
            ahead!("a1", 0),
            ahead_w!("w1", 2, "3072"),
            load_w!(0),
            four!(),
            ahead!("a0", 2),
            ahead_w!("w0", 0, "3072"),
            load_a!(2),
            four!(),
            ahead!("a1", 2),
            ahead_w!("w1", 0, "3072"),
            load_a!(1),
            four!(),
            ahead!("a0", 1),
            ahead_w!("w0", 1, "3072"),
            load_w!(1),
            four!(),
            ahead!("a1", 1),
            ahead_w!("w1", 1, "3072"),
            later!($lines, $bytes)
        );
    };
}
macro_rules! two {
    ($name:ident, $lines:literal, $bytes:literal) => {
        kernel!(
            $name,
            2,
            load_a!(2),
            load_w!(0),
            four!(),
            ahead!("a0", 2),
            ahead!("a1", 2),
            load_a!(0),
            four!(),
            ahead!("a0", 0),
            ahead_w!("w0", 0, "2048"),
            load_w!(1),
            four!(),
            ahead!("a1", 0),
            ahead_w!("w1", 0, "2048"),
            load_a!(1),
            four!(),
            ahead!("a0", 1),
            ahead_w!("w0", 1, "2048"),
            load_w!(0),
            four!(),
            ahead!("a1", 1),
            ahead_w!("w1", 1, "2048"),
            later!($lines, $bytes)
        );
    };
}
macro_rules! one {
    ($name:ident, $lines:literal, $bytes:literal) => {
        kernel!(
            $name,
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
            later!($lines, $bytes)
        );
    };
}
three!(three_planes_eighth, "0,1,2,3,4,5", "384");
three!(three_planes_quarter, "0,1,2,3,4,5,6,7,8,9,10,11", "768");
three!(
    three_planes_half,
    "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
    "1536"
);
two!(two_planes_eighth, "0,1,2,3", "256");
two!(two_planes_quarter, "0,1,2,3,4,5,6,7", "512");
two!(
    two_planes_half,
    "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "1024"
);
one!(one_plane_eighth, "0,1", "128");
one!(one_plane_quarter, "0,1,2,3", "256");
one!(one_plane_half, "0,1,2,3,4,5,6,7", "512");

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    Eighth,
    Quarter,
    Half,
}

type Kernel = unsafe fn([*const u16; 6], usize, *mut f32, usize, bool);

/// By planes of the weights and by share.
const KERNELS: [[Kernel; 3]; 3] = [
    [one_plane_eighth, one_plane_quarter, one_plane_half],
    [two_planes_eighth, two_planes_quarter, two_planes_half],
    [three_planes_eighth, three_planes_quarter, three_planes_half],
];

impl Share {
    /// For blocks of so many rows in all, 32 at a time: together they fetch everything.
    pub(super) fn for_rows(rows: usize) -> Self {
        match rows.div_ceil(2 * TILE) {
            0..=3 => Self::Half,
            4..=7 => Self::Quarter,
            _ => Self::Eighth,
        }
    }

    /// Numbers of a plane fetched in a step.
    pub(super) fn numbers(self) -> usize {
        TILE_LEN >> (3 - self as usize)
    }
}

/// A block of 32 × 32 sums.
pub(super) struct Block {
    pub(super) planes: usize,
    /// Two strips of activations, two of weights, and places to fetch into the second-level cache.
    pub(super) tiles: [*const u16; 6],
    pub(super) share: Share,
    pub(super) steps: usize,
    pub(super) add: bool,
}

impl Block {
    /// # Safety
    /// The unit is configured ([`configure`]); the first four pointers have `steps` tiles of their planes
    /// behind them, and `out` is 32 rows of 32 numbers.
    #[inline]
    pub(super) unsafe fn run(&self, out: *mut f32, stride: usize) {
        let kernel = KERNELS[self.planes.clamp(1, 3) - 1][self.share as usize];
        // SAFETY: the caller vouches for the memory behind every pointer.
        unsafe { kernel(self.tiles, self.steps, out, stride, self.add) };
    }
}
