//! The innermost part of products with quantised weights on the tile unit: two tiles of outputs times one
//! strip of rows or two, over a chunk of depth.

use std::arch::x86_64::*;

use super::quant_digits::{Digits, TILE, TILE_LEN, Unpacking};
use super::quant_memory::{get, set};
use super::quant_planes::PLANES;

/// Tiles of outputs multiplied together: with the planes of a strip they fit into the first-level cache.
pub const PAIR: usize = 2;
/// Sums that the unit leaves at a time.
pub const FRESH: usize = 2 * PAIR * TILE * TILE;

pub struct Tiles<'a> {
    pub digits: &'a [Digits; PAIR],
    pub fresh: *mut f32,
    /// Groups of thirty-two inputs in the chunk.
    pub groups: usize,
}

/// The strips of sixteen rows that a chunk of depth is multiplied with; steps lead from one to the next.
#[derive(Clone, Copy)]
pub struct Strips {
    pub count: usize,
    /// Planes of the first one, group after group.
    pub tiles: *const u16,
    /// From there to the next strip.
    pub tiles_step: usize,
    /// The sums of its inputs, group after group.
    pub sums: *const f32,
    /// From there to the next strip.
    pub sums_step: usize,
    /// Its sums with the first tile of outputs; those of the next strip follow.
    pub to: *mut f32,
    /// From there to the next tile of outputs.
    pub stride: usize,
}

macro_rules! tiles {
    ($($line:expr),+ ; $($name:ident = $value:expr),+) => {
        std::arch::asm!(
            $($line,)+
            $($name = in(reg) $value,)+
            row = in(reg) 64usize,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

/// Two tiles of outputs times two strips.
macro_rules! square {
    () => {
        "tdpbf16ps tmm0,tmm4,tmm6
         tdpbf16ps tmm1,tmm4,tmm7
         tdpbf16ps tmm2,tmm5,tmm6
         tdpbf16ps tmm3,tmm5,tmm7
        "
    };
}
/// Loads a tile of both outputs or of both strips, so many bytes on.
macro_rules! both {
    (outputs, $bytes:literal) => {
        concat!(
            "tileloadd tmm4,[{a0}+{row}*1+",
            $bytes,
            "]\ntileloadd tmm5,[{a1}+{row}*1+",
            $bytes,
            "]\n"
        )
    };
    (strips, $bytes:literal) => {
        concat!(
            "tileloadd tmm6,[{b0}+{row}*1+",
            $bytes,
            "]\ntileloadd tmm7,[{b1}+{row}*1+",
            $bytes,
            "]\n"
        )
    };
}
/// Two tiles of outputs times a strip.
macro_rules! column {
    ($strip:literal) => {
        concat!(
            "tdpbf16ps tmm0,tmm4,",
            $strip,
            "\ntdpbf16ps tmm1,tmm5,",
            $strip,
            "\n"
        )
    };
}
macro_rules! zero {
    () => {
        "tilezero tmm0
         tilezero tmm1
         tilezero tmm2
         tilezero tmm3"
    };
}
/// Leaves what two strips came to, or one.
macro_rules! store {
    (two) => {
        "tilestored [{to}+{row}*1],tmm0
         tilestored [{to}+{row}*1+1024],tmm1
         tilestored [{to}+{row}*1+2048],tmm2
         tilestored [{to}+{row}*1+3072],tmm3"
    };
    (one) => {
        "tilestored [{to}+{row}*1],tmm0
         tilestored [{to}+{row}*1+1024],tmm1"
    };
}

impl Strips {
    fn tiles(&self, strip: usize, group: usize) -> *const u16 {
        let at = strip * self.tiles_step + group * PLANES * TILE_LEN;
        self.tiles.wrapping_add(at)
    }

    fn to(&self, strip: usize, output: usize) -> *mut f32 {
        self.to
            .wrapping_add(strip * TILE * TILE + output * self.stride)
    }
}

/// Products of a group that the unit has left in memory and that wait for their scales: two tiles of
/// outputs for each of `N` strips.
struct Left<const N: usize> {
    fresh: *const f32,
    /// Scales of the group of each tile's first output.
    heads: [*const f32; PAIR],
    inputs: [__m512; N],
    to: [[*mut f32; N]; PAIR],
}

/// Adds the products of some outputs of a tile, times their factors, and their offsets times the sums of the
/// inputs.
macro_rules! lines {
    ($left:ident, 1, $output:literal: $($line:literal)+) => {
        std::arch::asm!(
            $(concat!(
                "vmovups zmm16,[{to}+64*", $line, "]
                 vbroadcastss zmm18,[{head}+64*", $line, "]
                 vfmadd231ps zmm16,zmm18,[{fresh}+64*", $line, "]
                 vfmadd231ps zmm16,{inputs},[{head}+64*", $line, "+32]{{1to16}}
                 vmovups [{to}+64*", $line, "],zmm16"
            ),)+
            to = in(reg) $left.to[$output][0],
            head = in(reg) $left.heads[$output],
            fresh = in(reg) $left.fresh.wrapping_add($output * TILE * TILE),
            inputs = in(zmm_reg) $left.inputs[0],
            out("zmm16") _, out("zmm18") _,
            options(nostack),
        )
    };
    ($left:ident, 2, $output:literal: $($line:literal)+) => {
        std::arch::asm!(
            $(concat!(
                "vbroadcastss zmm18,[{head}+64*", $line, "]
                 vbroadcastss zmm19,[{head}+64*", $line, "+32]
                 vmovups zmm16,[{to0}+64*", $line, "]
                 vmovups zmm17,[{to1}+64*", $line, "]
                 vfmadd231ps zmm16,zmm18,[{fresh}+64*", $line, "]
                 vfmadd231ps zmm17,zmm18,[{fresh}+1024+64*", $line, "]
                 vfmadd231ps zmm16,{in0},zmm19
                 vfmadd231ps zmm17,{in1},zmm19
                 vmovups [{to0}+64*", $line, "],zmm16
                 vmovups [{to1}+64*", $line, "],zmm17"
            ),)+
            to0 = in(reg) $left.to[$output][0],
            to1 = in(reg) $left.to[$output][1],
            head = in(reg) $left.heads[$output],
            fresh = in(reg) $left.fresh.wrapping_add($output * 2 * TILE * TILE),
            in0 = in(zmm_reg) $left.inputs[0],
            in1 = in(zmm_reg) $left.inputs[1],
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            options(nostack),
        )
    };
}

/// One instruction of the unit, or a few.
macro_rules! unit {
    ($($line:expr),+ $(; $at:expr)?) => {
        std::arch::asm!(
            $($line,)+
            $(at = in(reg) $at, row = in(reg) 64usize,)?
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}
/// What a step does: multiply a group, leave the products of an earlier one in memory, scale those of a
/// still earlier one. The three run side by side, so instructions of all are mixed.
#[derive(Clone, Copy)]
struct Does {
    multiply: bool,
    leave: bool,
    scale: bool,
}

macro_rules! load {
    ($does:ident, $tile:literal, $at:expr) => {
        if $does.multiply {
            unit!(concat!("tileloadd ", $tile, ",[{at}+{row}*1]"); $at);
        }
    };
}
/// Multiplies two tiles where a group is multiplied, onto a sum or as the first of one.
macro_rules! dot {
    ($does:ident, $sum:literal, $a:literal, $b:literal) => {
        if $does.multiply {
            unit!(concat!("tdpbf16ps ", $sum, ",", $a, ",", $b));
        }
    };
    ($does:ident, fresh $sum:literal, $a:literal, $b:literal) => {
        if $does.multiply {
            unit!(
                concat!("tilezero ", $sum),
                concat!("tdpbf16ps ", $sum, ",", $a, ",", $b)
            );
        }
    };
}
macro_rules! leave {
    ($does:ident, $tile:literal, $at:expr) => {
        if $does.leave {
            unit!(concat!("tilestored [{at}+{row}*1],", $tile); $at);
        }
    };
}
macro_rules! scale {
    ($does:ident, $left:ident, $strips:tt, $output:literal: $($line:literal)+) => {
        if $does.scale {
            lines!($left, $strips, $output: $($line)+);
        }
    };
}

impl Tiles<'_> {
    fn tile(&self, output: usize, tile: usize) -> *const u16 {
        let tiles = self.digits[output].tiles.as_ptr();
        tiles.wrapping_add(tile * TILE_LEN)
    }

    /// Where the products of a step are left: two are under way.
    fn fresh(&self, step: usize) -> *mut f32 {
        self.fresh.wrapping_add(step % 2 * FRESH)
    }

    /// # Safety
    /// The strips have sums for the group.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    unsafe fn left<const N: usize>(
        &self,
        strips: &Strips,
        (first, group): (usize, usize),
        fresh: *const f32,
    ) -> Left<N> {
        let mut left = Left {
            fresh,
            heads: [std::ptr::null(); PAIR],
            inputs: [_mm512_setzero_ps(); N],
            to: [[std::ptr::null_mut(); N]; PAIR],
        };
        for output in 0..PAIR {
            let heads = self.digits[output].heads.as_ptr().cast::<f32>();
            left.heads[output] = heads.wrapping_add(group);
            for i in 0..N {
                left.to[output][i] = strips.to(first + i, output);
            }
        }
        for i in 0..N {
            let at = (first + i) * strips.sums_step + group * TILE;
            // SAFETY: the caller vouches for it.
            left.inputs[i] = unsafe { get(strips.sums.wrapping_add(at)) };
        }
        left
    }

    /// Outputs to be unpacked in every step, so that all are when the last one is done.
    fn share(&self, strips: &Strips) -> usize {
        let steps = strips.count.div_ceil(2) * self.groups;
        (PAIR * TILE).div_ceil(steps.max(1))
    }

    /// One plane of digits; what comes next is unpacked beside it.
    ///
    /// # Safety
    /// The strips have tiles, sums and places for all groups and outputs; the other digits are there.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    pub unsafe fn one_plane(&self, strips: &Strips, next: &mut Unpacking) {
        let (groups, twos) = (self.groups, strips.count / 2);
        let share = self.share(strips);
        let steps = twos * groups;
        let place = |step: usize| (step / groups * 2, step % groups);
        if steps > 0 {
            for step in 0..steps + 2 {
                let does = Does {
                    multiply: step < steps,
                    leave: (1..=steps).contains(&step),
                    scale: step >= 2,
                };
                let steady = step >= 2 && step < steps;
                let (strip, group) = place(step.min(steps - 1));
                let fresh = self.fresh(step + 1);
                // SAFETY: passed on.
                unsafe {
                    let left = self.left(strips, place(step.max(2) - 2), self.fresh(step));
                    let rows = [strips.tiles(strip, group), strips.tiles(strip + 1, group)];
                    if steady {
                        self.square::<true>(group, rows, fresh, &left, does);
                    } else {
                        self.square::<false>(group, rows, fresh, &left, does);
                    }
                    next.more(share);
                }
            }
        }
        if strips.count % 2 == 1 {
            let strip = 2 * twos;
            for step in 0..groups + 3 {
                let does = Does {
                    multiply: step < groups,
                    leave: step >= 2 && step - 2 < groups,
                    scale: step >= 3,
                };
                let group = step.min(groups - 1);
                let fresh = self.fresh(step);
                // SAFETY: passed on.
                unsafe {
                    let last = (strip, step.max(3) - 3);
                    let left = self.left(strips, last, self.fresh(step + 1));
                    let row = strips.tiles(strip, group);
                    if step % 2 == 0 {
                        self.even(group, row, fresh, &left, does);
                    } else {
                        self.odd(group, row, fresh, &left, does);
                    }
                    next.more(share);
                }
            }
        }
    }

    /// A step of two strips. Safety: as above.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    unsafe fn square<const STEADY: bool>(
        &self,
        group: usize,
        rows: [*const u16; 2],
        fresh: *mut f32,
        left: &Left<2>,
        mut does: Does,
    ) {
        if STEADY {
            does = Does {
                multiply: true,
                leave: true,
                scale: true,
            };
        }
        let outputs = [self.tile(0, group), self.tile(1, group)];
        let plane = |strip: usize, plane: usize| rows[strip].wrapping_add(plane * TILE_LEN);
        let leave = |tile: usize| fresh.wrapping_add(tile * TILE * TILE);
        // SAFETY: passed on.
        unsafe {
            load!(does, "tmm4", outputs[0]);
            load!(does, "tmm6", plane(0, 2));
            leave!(does, "tmm0", leave(0));
            dot!(does, fresh "tmm0", "tmm4", "tmm6");
            load!(does, "tmm7", plane(1, 2));
            scale!(does, left, 2, 0: 0 1 2);
            leave!(does, "tmm1", leave(1));
            dot!(does, fresh "tmm1", "tmm4", "tmm7");
            load!(does, "tmm5", outputs[1]);
            scale!(does, left, 2, 0: 3 4 5);
            leave!(does, "tmm2", leave(2));
            dot!(does, fresh "tmm2", "tmm5", "tmm6");
            load!(does, "tmm6", plane(0, 1));
            scale!(does, left, 2, 0: 6 7 8);
            leave!(does, "tmm3", leave(3));
            dot!(does, fresh "tmm3", "tmm5", "tmm7");
            load!(does, "tmm7", plane(1, 1));
            scale!(does, left, 2, 0: 9 10 11);
            dot!(does, "tmm0", "tmm4", "tmm6");
            scale!(does, left, 2, 0: 12 13);
            dot!(does, "tmm1", "tmm4", "tmm7");
            scale!(does, left, 2, 0: 14 15);
            dot!(does, "tmm2", "tmm5", "tmm6");
            load!(does, "tmm6", plane(0, 0));
            scale!(does, left, 2, 1: 0 1 2);
            dot!(does, "tmm3", "tmm5", "tmm7");
            load!(does, "tmm7", plane(1, 0));
            scale!(does, left, 2, 1: 3 4 5);
            dot!(does, "tmm0", "tmm4", "tmm6");
            scale!(does, left, 2, 1: 6 7 8);
            dot!(does, "tmm1", "tmm4", "tmm7");
            scale!(does, left, 2, 1: 9 10 11);
            dot!(does, "tmm2", "tmm5", "tmm6");
            scale!(does, left, 2, 1: 12 13);
            dot!(does, "tmm3", "tmm5", "tmm7");
            scale!(does, left, 2, 1: 14 15);
        }
    }
}

/// A step of one strip with two tiles of sums; two groups are multiplied side by side.
macro_rules! column_step {
    ($name:ident, $first:literal, $second:literal) => {
        impl Tiles<'_> {
            /// A step of one strip. Safety: as above.
            #[inline]
            #[target_feature(
                enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c"
            )]
            unsafe fn $name(
                &self,
                group: usize,
                row: *const u16,
                fresh: *mut f32,
                left: &Left<1>,
                does: Does,
            ) {
                // SAFETY: passed on.
                unsafe {
                    load!(does, "tmm4", self.tile(0, group));
                    load!(does, "tmm6", row.wrapping_add(2 * TILE_LEN));
                    leave!(does, $first, fresh);
                    dot!(does, fresh $first, "tmm4", "tmm6");
                    load!(does, "tmm5", self.tile(1, group));
                    scale!(does, left, 1, 0: 0 1 2 3 4);
                    leave!(does, $second, fresh.wrapping_add(TILE * TILE));
                    dot!(does, fresh $second, "tmm5", "tmm6");
                    load!(does, "tmm7", row.wrapping_add(TILE_LEN));
                    scale!(does, left, 1, 0: 5 6 7 8 9);
                    dot!(does, $first, "tmm4", "tmm7");
                    load!(does, "tmm6", row);
                    scale!(does, left, 1, 0: 10 11 12 13 14 15);
                    dot!(does, $second, "tmm5", "tmm7");
                    scale!(does, left, 1, 1: 0 1 2 3 4);
                    dot!(does, $first, "tmm4", "tmm6");
                    scale!(does, left, 1, 1: 5 6 7 8 9);
                    dot!(does, $second, "tmm5", "tmm6");
                    scale!(does, left, 1, 1: 10 11 12 13 14 15);
                }
            }
        }
    };
}

column_step!(even, "tmm0", "tmm1");
column_step!(odd, "tmm2", "tmm3");

impl Tiles<'_> {
    /// Digits in two parts.
    ///
    /// # Safety
    /// As for one plane.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    pub unsafe fn two_planes(&self, strips: &Strips, next: &mut Unpacking) {
        for strip in (0..strips.count).step_by(2) {
            // SAFETY: passed on.
            unsafe {
                match strip + 1 < strips.count {
                    true => self.two_planes_of::<2>(strips, strip, next),
                    false => self.two_planes_of::<1>(strips, strip, next),
                }
            }
        }
    }

    /// One strip or two. Safety: as above; there are so many strips from this one on.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    unsafe fn two_planes_of<const N: usize>(
        &self,
        strips: &Strips,
        strip: usize,
        next: &mut Unpacking,
    ) {
        let share = self.share(strips);
        clear();
        for group in 0..self.groups {
            let (a, b) = (
                [self.tile(0, group), self.tile(1, group)],
                strips.tiles(strip, group),
            );
            // SAFETY: passed on.
            unsafe {
                if N == 2 {
                    tiles!(
                        both!(outputs, "0"), both!(strips, "2048"), square!(),
                        both!(strips, "1024"), square!(),
                        both!(outputs, "8192"), square!(),
                        both!(strips, "0"), square!(),
                        both!(outputs, "0"), square!();
                        a0 = a[0], a1 = a[1], b0 = b, b1 = strips.tiles(strip + 1, group)
                    );
                } else {
                    tiles!(
                        both!(outputs, "0"),
                        "tileloadd tmm6,[{b}+{row}*1+2048]", column!("tmm6"),
                        "tileloadd tmm7,[{b}+{row}*1+1024]", column!("tmm7"),
                        both!(outputs, "8192"), column!("tmm7"),
                        "tileloadd tmm6,[{b}+{row}*1]", column!("tmm6"),
                        both!(outputs, "0"), column!("tmm6");
                        a0 = a[0], a1 = a[1], b = b
                    );
                }
                next.more(share);
            }
        }
        // SAFETY: passed on.
        unsafe {
            match N {
                2 => tiles!(store!(two); to = self.fresh),
                _ => tiles!(store!(one); to = self.fresh),
            }
            self.scale_block::<N>(strips, strip);
        }
    }

    /// Adds what the unit left of whole blocks of Q6_K, which have one factor. Safety: as above.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    unsafe fn scale_block<const N: usize>(&self, strips: &Strips, strip: usize) {
        for (output, digits) in self.digits.iter().enumerate() {
            for i in 0..N {
                let from = self.fresh.wrapping_add((output * N + i) * TILE * TILE);
                let to = strips.to(strip + i, output);
                for (o, head) in digits.heads.iter().enumerate() {
                    // SAFETY: passed on.
                    unsafe {
                        let to = to.wrapping_add(o * TILE);
                        let fresh: __m512 = get(from.wrapping_add(o * TILE));
                        set(to, _mm512_fmadd_ps(fresh, _mm512_set1_ps(head[0]), get(to)));
                    }
                }
            }
        }
    }
}

fn clear() {
    // SAFETY: only called where tiles are configured.
    unsafe {
        std::arch::asm!(
            zero!(),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            options(nostack, nomem),
        )
    }
}
