//! Products of plain matrices on the tile unit. Both factors are split into planes on the way, a piece at a
//! time, so that nothing is kept: for a learner, whose products have hundreds of rows and whose factors lie
//! in either order. It computes on one thread.
//!
//! Every sum is added up in the order of the depth, whatever the size of the product: the same factors give
//! the same bits, and a row does not depend on its neighbours.

use std::cell::RefCell;

use super::kernel::{self, Block};
use super::pack_avx512::{self as pack, Source};
use super::{A_PLANES, DEPTH, Edge, TILE, TILE_LEN};
use crate::aligned::Aligned;

/// Most tiles of depth between two visits to the sums in memory.
const CHUNK: usize = 18;
/// Most rows whose planes are kept at a time: with `CHUNK` tiles of depth, half of a second-level cache.
const ROWS: usize = 320;
/// Outputs split at a time.
const GROUP: usize = 4 * TILE;

/// A factor somewhere in a slice.
#[derive(Clone, Copy)]
pub struct Factor<'a> {
    data: &'a [f32],
    step: usize,
    turned: bool,
}

impl<'a> Factor<'a> {
    /// Rows of `step` numbers, of which the first columns are used.
    pub fn rows(data: &'a [f32], step: usize) -> Self {
        Self {
            data,
            step,
            turned: false,
        }
    }

    /// The transpose of [`Factor::rows`].
    pub fn turned(data: &'a [f32], step: usize) -> Self {
        Self {
            data,
            step,
            turned: true,
        }
    }

    fn covers(&self, rows: usize, columns: usize) -> bool {
        let (rows, columns) = match self.turned {
            true => (columns, rows),
            false => (rows, columns),
        };
        rows == 0 || columns == 0 || (rows - 1) * self.step + columns <= self.data.len()
    }

    /// The part from a row and a column on.
    fn from(&self, row: usize, column: usize) -> Source {
        let (row, column) = match self.turned {
            true => (column, row),
            false => (row, column),
        };
        Source {
            at: self.data[row * self.step + column..].as_ptr(),
            step: self.step,
        }
    }
}

/// What a product does beside multiplying.
#[derive(Clone, Copy)]
pub struct How {
    /// A factor on the product.
    pub scale: f32,
    /// Add to what is there.
    pub add: bool,
    /// Planes of the right factor that are not zero: one for numbers that bfloat16 holds, two for
    /// float16's, otherwise three.
    pub planes: usize,
}

/// Room for the planes of both factors.
#[derive(Default)]
struct Room {
    a: Aligned<u16>,
    b: Aligned<u16>,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

/// `out (m × n, rows of step) = scale · a (m × k) · b (k × n)`, or added to it.
///
/// # Panics
/// Where a factor or `out` is too short for its size, or the processor has no tile unit
/// ([`super::available`]).
pub fn product(
    (m, k, n): (usize, usize, usize),
    a: Factor<'_>,
    b: Factor<'_>,
    how: How,
    (out, step): (&mut [f32], usize),
) {
    if m == 0 || n == 0 {
        return;
    }
    let fits = a.covers(m, k) && b.covers(k, n) && n <= step && (m - 1) * step + n <= out.len();
    assert!(
        fits && super::available() && (1..=3).contains(&how.planes),
        "matrix product {m} x {k} x {n} reaches past its slices"
    );
    if k == 0 {
        if !how.add {
            out.chunks_mut(step)
                .take(m)
                .for_each(|row| row[..n].fill(0.0));
        }
        return;
    }
    let to = (out.as_mut_ptr(), step);
    ROOM.with_borrow_mut(|room| {
        // SAFETY: the processor has tiles and with them AVX-512; factors and target hold the product.
        unsafe {
            kernel::configure();
            whole((m, k, n), (a, b), how, to, room);
            kernel::release();
        }
    });
}

/// # Safety
/// The unit is configured; the factors hold their sizes and `out` has `m` rows of `n` numbers.
unsafe fn whole(
    (m, k, n): (usize, usize, usize),
    (a, b): (Factor<'_>, Factor<'_>),
    how: How,
    (out, step): (*mut f32, usize),
    room: &mut Room,
) {
    let depth = k.div_ceil(DEPTH);
    let chunk = depth.div_ceil(depth.div_ceil(CHUNK));
    let block = m.div_ceil(m.div_ceil(ROWS)).next_multiple_of(2 * TILE);
    let (a_strip, b_strip) = (chunk * A_PLANES * TILE_LEN, chunk * how.planes * TILE_LEN);
    room.a
        .reserve(block.min(m.next_multiple_of(2 * TILE)) / TILE * a_strip);
    room.b.reserve(GROUP / TILE * b_strip);
    for row in (0..m).step_by(block) {
        let rows = block.min(m - row);
        for first in (0..k).step_by(chunk * DEPTH) {
            let part = (chunk * DEPTH).min(k - first);
            for (i, strip) in room.a.chunks_exact_mut(a_strip).enumerate() {
                let at = i * TILE;
                if at >= rows {
                    break;
                }
                let (from, count) = (a.from(row + at, first), (rows - at).min(TILE));
                // SAFETY: `count` rows of `part` numbers are there; the strip holds `chunk` tiles of all planes.
                unsafe {
                    match a.turned {
                        false => pack::a_rows(from, (count, part), how.scale, strip),
                        true => pack::a_columns(from, (count, part), how.scale, strip),
                    }
                }
            }
            let inner = Inner {
                rows,
                part,
                strips: (a_strip, b_strip),
                add: how.add || first > 0,
                step,
                planes: how.planes,
            };
            for output in (0..n).step_by(GROUP) {
                let outputs = GROUP.min(n - output);
                for (i, strip) in room.b.chunks_exact_mut(b_strip).enumerate() {
                    let at = i * TILE;
                    if at >= outputs {
                        break;
                    }
                    let (from, count) = (b.from(first, output + at), (outputs - at).min(TILE));
                    // SAFETY: as above, with `count` columns.
                    unsafe {
                        match b.turned {
                            true => pack::b_rows(from, (count, part), how.planes, strip),
                            false => pack::b_columns(from, (count, part), how.planes, strip),
                        }
                    }
                }
                // SAFETY: row and output lie inside the target.
                let at = unsafe { out.add(row * step + output) };
                // SAFETY: the strips of these rows and outputs were just split.
                unsafe { inner.multiply(room, outputs, at) };
            }
        }
    }
}

/// Split rows times split outputs.
struct Inner {
    rows: usize,
    part: usize,
    strips: (usize, usize),
    add: bool,
    step: usize,
    planes: usize,
}

impl Inner {
    /// # Safety
    /// `room` holds the strips; `out` has the rows of these outputs.
    unsafe fn multiply(&self, room: &Room, outputs: usize, out: *mut f32) {
        let (a_strip, b_strip) = self.strips;
        let steps = self.part.div_ceil(DEPTH);
        let mut edge = Edge([0.0; 4 * TILE * TILE]);
        for output in (0..outputs).step_by(2 * TILE) {
            let b = room.b[output / TILE * b_strip..][..2 * b_strip].as_ptr();
            for row in (0..self.rows).step_by(2 * TILE) {
                let a = room.a[row / TILE * a_strip..][..2 * a_strip].as_ptr();
                let block = Block {
                    planes: self.planes,
                    // SAFETY: two strips lie behind each pointer.
                    tiles: unsafe { [a, a.add(a_strip), b, b.add(b_strip), b, b] },
                    steps,
                    add: self.add,
                };
                let size = (
                    (self.rows - row).min(2 * TILE),
                    (outputs - output).min(2 * TILE),
                );
                // SAFETY: the block lies inside `out`.
                unsafe {
                    edge.through(&block, (out.add(row * self.step + output), self.step), size)
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: u64) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    fn lacks_tiles() -> bool {
        if !crate::amx::available() {
            let what = "this processor has no tile unit";
            mary_testkit::skip(mary_testkit::Lacking::Processor, what);
        }
        !crate::amx::available()
    }

    const SIZES: [(usize, usize, usize); 9] = [
        (1, 1, 1),
        (5, 7, 3),
        (16, 32, 16),
        (33, 31, 17),
        (258, 64, 8),
        (64, 8, 70),
        (37, 600, 100),
        (330, 40, 33),
        (8, 1300, 65),
    ];

    #[test]
    fn every_layout_reaches_single_precision() {
        if lacks_tiles() {
            return;
        }
        for ((m, k, n), layout) in SIZES.into_iter().flat_map(|s| (0..4).map(move |l| (s, l))) {
            let (a_step, b_step) = match layout {
                0 => (k + 3, n + 2),
                1 => (m + 3, n + 2),
                2 => (k + 3, k + 2),
                _ => (m + 3, k + 2),
            };
            let (a_turned, b_turned) = (layout % 2 == 1, layout >= 2);
            let (a_lines, b_lines) = (if a_turned { k } else { m }, if b_turned { n } else { k });
            let (x, y) = (numbers(a_lines * a_step, 1), numbers(b_lines * b_step, 2));
            let a = Factor {
                data: &x,
                step: a_step,
                turned: a_turned,
            };
            let b = Factor {
                data: &y,
                step: b_step,
                turned: b_turned,
            };
            let at = |f: &Factor<'_>, row: usize, column: usize| {
                let (row, column) = if f.turned {
                    (column, row)
                } else {
                    (row, column)
                };
                f64::from(f.data[row * f.step + column])
            };
            for add in [false, true] {
                let how = How {
                    scale: 0.3,
                    add,
                    planes: 3,
                };
                let step = n + 1;
                let mut out = vec![0.25; m * step];
                product((m, k, n), a, b, how, (&mut out, step));
                for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let pairs = (0..k).map(|l| at(&a, i, l) * at(&b, l, j));
                    let (sum, size) = pairs.fold((0.0, 1.0), |(s, t), x| (s + x, t + x.abs()));
                    let want = 0.3 * sum + if add { 0.25 } else { 0.0 };
                    let error = (f64::from(out[i * step + j]) - want).abs() / size;
                    assert!(error < 1e-6, "{m}x{k}x{n}, layout {layout}: {error:e}");
                }
                let beside = out.chunks(step).map(|row| row[n]);
                assert!(
                    beside.into_iter().all(|x| x == 0.25),
                    "what is beside stays"
                );
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_among_others() {
        if lacks_tiles() {
            return;
        }
        let (m, k, n) = (330, 1300, 70);
        let (x, y) = (numbers(m * k, 3), numbers(k * n, 4));
        let how = How {
            scale: 1.0,
            add: false,
            planes: 3,
        };
        let ask = |first: usize, rows: usize| {
            let mut out = vec![0.0; rows * n];
            let a = Factor::rows(&x[first * k..], k);
            product((rows, k, n), a, Factor::rows(&y, n), how, (&mut out, n));
            out
        };
        let all = ask(0, m);
        for (first, rows) in [(0, 1), (17, 2), (100, 33), (200, 130)] {
            assert!(ask(first, rows) == all[first * n..(first + rows) * n]);
        }
        // The order of the right factor in memory changes nothing either.
        let mut turned = vec![0.0; k * n];
        for (i, j) in (0..k).flat_map(|i| (0..n).map(move |j| (i, j))) {
            turned[j * k + i] = y[i * n + j];
        }
        let mut out = vec![0.0; m * n];
        let b = Factor::turned(&turned, k);
        product((m, k, n), Factor::rows(&x, k), b, how, (&mut out, n));
        assert!(out == all);
    }

    #[test]
    fn fewer_planes_are_exact_for_shorter_numbers() {
        if lacks_tiles() {
            return;
        }
        let (m, k, n) = (33, 96, 40);
        let x = numbers(m * k, 5);
        let shorten: [fn(f32) -> f32; 2] = [
            |v| half::bf16::from_f32(v).to_f32(),
            |v| half::f16::from_f32(v).to_f32(),
        ];
        for (planes, shorten) in (1..).zip(shorten) {
            let y: Vec<f32> = numbers(k * n, 6).into_iter().map(shorten).collect();
            assert_eq!(crate::amx::planes(&y), planes);
            let ask = |planes: usize| {
                let how = How {
                    scale: 1.0,
                    add: false,
                    planes,
                };
                let mut out = vec![0.0; m * n];
                let (a, b) = (Factor::rows(&x, k), Factor::rows(&y, n));
                product((m, k, n), a, b, how, (&mut out, n));
                out
            };
            let (few, all) = (ask(planes), ask(3));
            let largest = few.iter().zip(&all).map(|(a, b)| (a - b).abs());
            assert!(largest.fold(0.0, f32::max) < 1e-5);
        }
    }
}
