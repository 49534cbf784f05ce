//! The innermost part of products with quantised weights on the tile unit: two tiles of outputs times one
//! strip of rows or two, over a chunk of depth.

use std::arch::x86_64::*;

use super::quant_digits::{CHUNK, Digits, TILE, TILE_LEN};
use super::quant_planes::PLANES;

/// Tiles of outputs multiplied together: with the planes of a strip they fit into the first-level cache.
pub const PAIR: usize = 2;
/// Sums that the unit leaves at a time.
pub const FRESH: usize = 2 * PAIR * TILE * TILE;

/// A chunk of depth of a pair of outputs.
pub struct Tiles<'a> {
    /// The outputs.
    pub digits: &'a [Digits; PAIR],
    /// Memory for what the unit leaves.
    pub fresh: *mut f32,
    /// Nothing was added up yet.
    pub first: bool,
    /// Groups of thirty-two inputs in the chunk.
    pub groups: usize,
}

/// A strip of rows in a chunk of depth.
#[derive(Clone, Copy)]
pub struct Strip {
    /// Its planes, group after group.
    pub tiles: *const u16,
    /// The sums of its inputs, group after group.
    pub sums: *const f32,
    /// Its sums with the first tile of outputs.
    pub to: *mut f32,
    /// From there to the next tile of outputs.
    pub stride: usize,
}

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

/// Makes the tiles ready.
///
/// # Safety
/// The processor has them.
#[inline]
pub unsafe fn configure() {
    // SAFETY: the caller vouches for the processor; the configuration is valid and aligned.
    unsafe { std::arch::asm!("ldtilecfg [{}]", in(reg) &raw const CONFIG, options(nostack)) };
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

impl Tiles<'_> {
    fn tile(&self, output: usize, tile: usize) -> *const u16 {
        self.digits[output].tiles[tile * TILE_LEN..].as_ptr()
    }

    /// Where the products of a group are left: two groups are under way.
    fn fresh(&self, group: usize) -> *mut f32 {
        self.fresh.wrapping_add(group % 2 * FRESH)
    }

    /// One plane of digits, two strips.
    ///
    /// # Safety
    /// The strips have tiles, sums and places for all groups and outputs.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    pub unsafe fn one_plane_two_strips(&self, strips: [Strip; 2]) {
        let issue = |group: usize| {
            // SAFETY: passed on.
            unsafe {
                let at = group * PLANES * TILE_LEN;
                tiles!(
                    zero!(),
                    both!(outputs, "0"), both!(strips, "2048"), square!(),
                    both!(strips, "1024"), square!(),
                    both!(strips, "0"), square!(),
                    store!(two);
                    a0 = self.tile(0, group), a1 = self.tile(1, group),
                    b0 = strips[0].tiles.add(at), b1 = strips[1].tiles.add(at),
                    to = self.fresh(group)
                );
            }
        };
        self.each_group(issue, strips);
    }

    /// The same for one strip.
    ///
    /// # Safety
    /// As above.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    pub unsafe fn one_plane(&self, strip: Strip) {
        let issue = |group: usize| {
            // SAFETY: passed on.
            unsafe {
                tiles!(
                    zero!(),
                    both!(outputs, "0"),
                    "tileloadd tmm6,[{b}+{row}*1+2048]", column!("tmm6"),
                    "tileloadd tmm7,[{b}+{row}*1+1024]", column!("tmm7"),
                    "tileloadd tmm6,[{b}+{row}*1]", column!("tmm6"),
                    store!(one);
                    a0 = self.tile(0, group), a1 = self.tile(1, group),
                    b = strip.tiles.add(group * PLANES * TILE_LEN),
                    to = self.fresh(group)
                );
            }
        };
        self.each_group(issue, [strip]);
    }

    /// Gives the unit the next group before the last one's products are scaled.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    fn each_group<const N: usize>(&self, issue: impl Fn(usize), strips: [Strip; N]) {
        issue(0);
        for group in 0..self.groups {
            if group + 1 < self.groups {
                issue(group + 1);
            }
            for output in 0..PAIR {
                // SAFETY: whoever made the strips vouches for them; the group was issued.
                unsafe {
                    let fresh = self.fresh(group).add(output * N * TILE * TILE);
                    self.scale(fresh, output, group, strips);
                }
            }
        }
    }

    /// Adds a group's products, each output's times its factor, and its offset times the sum of the inputs.
    ///
    /// # Safety
    /// As above.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    unsafe fn scale<const N: usize>(
        &self,
        fresh: *const f32,
        output: usize,
        group: usize,
        strips: [Strip; N],
    ) {
        let first = self.first && group == 0;
        let group = group % CHUNK;
        // SAFETY: passed on.
        unsafe {
            let inputs = strips.map(|s| _mm512_loadu_ps(s.sums.add(group * TILE)));
            let to = strips.map(|s| s.to.add(output * s.stride));
            for (o, head) in self.digits[output].heads.iter().enumerate() {
                let factor = _mm512_set1_ps(head[group]);
                let offset = _mm512_set1_ps(head[CHUNK + group]);
                for i in 0..N {
                    let sum = match first {
                        true => _mm512_setzero_ps(),
                        false => _mm512_load_ps(to[i].add(o * TILE)),
                    };
                    let fresh = _mm512_load_ps(fresh.add((i * TILE + o) * TILE));
                    let sum = _mm512_fmadd_ps(fresh, factor, sum);
                    let sum = _mm512_fmadd_ps(inputs[i], offset, sum);
                    _mm512_store_ps(to[i].add(o * TILE), sum);
                }
            }
        }
    }

    /// Digits in two parts, two strips.
    ///
    /// # Safety
    /// As above.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    pub unsafe fn two_planes_two_strips(&self, strips: [Strip; 2]) {
        clear();
        for group in 0..self.groups {
            let at = group * PLANES * TILE_LEN;
            // SAFETY: passed on.
            unsafe {
                tiles!(
                    both!(outputs, "0"), both!(strips, "2048"), square!(),
                    both!(strips, "1024"), square!(),
                    both!(outputs, "8192"), square!(),
                    both!(strips, "0"), square!(),
                    both!(outputs, "0"), square!();
                    a0 = self.tile(0, group), a1 = self.tile(1, group),
                    b0 = strips[0].tiles.add(at), b1 = strips[1].tiles.add(at)
                );
            }
        }
        // SAFETY: passed on.
        unsafe {
            tiles!(store!(two); to = self.fresh);
            self.scale_block(strips);
        }
    }

    /// The same for one strip.
    ///
    /// # Safety
    /// As above.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    pub unsafe fn two_planes(&self, strip: Strip) {
        clear();
        for group in 0..self.groups {
            // SAFETY: passed on.
            unsafe {
                tiles!(
                    both!(outputs, "0"),
                    "tileloadd tmm6,[{b}+{row}*1+2048]", column!("tmm6"),
                    "tileloadd tmm7,[{b}+{row}*1+1024]", column!("tmm7"),
                    both!(outputs, "8192"), column!("tmm7"),
                    "tileloadd tmm6,[{b}+{row}*1]", column!("tmm6"),
                    both!(outputs, "0"), column!("tmm6");
                    a0 = self.tile(0, group), a1 = self.tile(1, group),
                    b = strip.tiles.add(group * PLANES * TILE_LEN)
                );
            }
        }
        // SAFETY: passed on.
        unsafe {
            tiles!(store!(one); to = self.fresh);
            self.scale_block([strip]);
        }
    }

    /// The same for whole blocks of Q6_K, which have one factor.
    ///
    /// # Safety
    /// As above.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    unsafe fn scale_block<const N: usize>(&self, strips: [Strip; N]) {
        for (output, digits) in self.digits.iter().enumerate() {
            for (i, strip) in strips.iter().enumerate() {
                // SAFETY: passed on.
                unsafe {
                    let from = self.fresh.add((output * N + i) * TILE * TILE);
                    let to = strip.to.add(output * strip.stride);
                    for (o, head) in digits.heads.iter().enumerate() {
                        let sum = match self.first {
                            true => _mm512_setzero_ps(),
                            false => _mm512_load_ps(to.add(o * TILE)),
                        };
                        let fresh = _mm512_load_ps(from.add(o * TILE));
                        let sum = _mm512_fmadd_ps(fresh, _mm512_set1_ps(head[0]), sum);
                        _mm512_store_ps(to.add(o * TILE), sum);
                    }
                }
            }
        }
    }
}

/// Makes the sums nothing.
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
