//! Products of plain matrices on the tile unit. Both factors are split into planes on the way, a piece at a
//! time, so that nothing is kept: for a learner, whose products have hundreds of rows and whose factors lie
//! in either order. It computes on one thread.
//!
//! Every sum is added up in the order of the depth, whatever the size of the product: the same factors give
//! the same bits, and a row does not depend on its neighbours.

use std::cell::RefCell;

use super::kernel::{self, Block, Share};
use super::pack_avx512::{self as pack, Strided};
use super::{A_PLANES, DEPTH, Edge, TILE, TILE_LEN, Tiles};
use crate::aligned::Aligned;

/// Most tiles of depth between two visits to the sums in memory.
const CHUNK: usize = 18;
/// Most rows whose planes are kept at a time: with `CHUNK` tiles of depth, half of a second-level cache.
const ROWS: usize = 320;
const GROUP: usize = 4 * TILE;

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

    pub(super) fn covers(&self, rows: usize, columns: usize) -> bool {
        let (rows, columns) = match self.turned {
            true => (columns, rows),
            false => (rows, columns),
        };
        rows == 0 || columns == 0 || (rows - 1) * self.step + columns <= self.data.len()
    }

    fn from(&self, row: usize, column: usize) -> Strided {
        let (row, column) = match self.turned {
            true => (column, row),
            false => (row, column),
        };
        Strided {
            at: self.data[row * self.step + column..].as_ptr(),
            step: self.step,
        }
    }
}

#[derive(Clone, Copy)]
pub enum Right<'a> {
    /// Split while it is multiplied, into so many planes: one for numbers that bfloat16 holds, two for
    /// float16's, otherwise three.
    Plain(Factor<'a>, usize),
    /// As [`Tiles::split`] made it. The product has the same bits.
    Split(&'a Tiles),
}

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
/// ([`super::has_tiles`]).
pub fn product(
    (m, k, n): (usize, usize, usize),
    a: Factor<'_>,
    b: Right<'_>,
    (scale, add): (f32, bool),
    (out, step): (&mut [f32], usize),
) {
    if m == 0 || n == 0 {
        return;
    }
    let right = match b {
        Right::Plain(b, planes) => b.covers(k, n) && (1..=3).contains(&planes),
        Right::Split(tiles) => tiles.inputs == k && tiles.outputs == n,
    };
    let fits = a.covers(m, k) && right && n <= step && (m - 1) * step + n <= out.len();
    assert!(
        fits && super::has_tiles(),
        "matrix product {m} x {k} x {n} reaches past its slices"
    );
    if k == 0 {
        if !add {
            let rows = out.chunks_mut(step).take(m);
            rows.for_each(|row| row[..n].fill(0.0));
        }
        return;
    }
    let to = (out.as_mut_ptr(), step);
    ROOM.with_borrow_mut(|room| {
        // SAFETY: the processor has tiles and with them AVX-512; factors and target hold the product.
        unsafe {
            kernel::configure();
            whole((m, k, n), (a, b), (scale, add), to, room);
            kernel::release();
        }
    });
}

/// # Safety
/// The unit is configured; the factors hold their sizes and `out` has `m` rows of `n` numbers.
unsafe fn whole(
    (m, k, n): (usize, usize, usize),
    (a, b): (Factor<'_>, Right<'_>),
    (scale, add): (f32, bool),
    (out, step): (*mut f32, usize),
    room: &mut Room,
) {
    let depth = k.div_ceil(DEPTH);
    let chunk = depth.div_ceil(depth.div_ceil(CHUNK));
    let block = m.div_ceil(m.div_ceil(ROWS)).next_multiple_of(2 * TILE);
    let a_strip = chunk * A_PLANES * TILE_LEN;
    room.a.reserve(block / TILE * a_strip);
    for row in (0..m).step_by(block) {
        let rows = block.min(m - row);
        for first in (0..k).step_by(chunk * DEPTH) {
            let part = (chunk * DEPTH).min(k - first);
            let strips = room.a.chunks_exact_mut(a_strip);
            for (at, strip) in (0..rows).step_by(TILE).zip(strips) {
                let count = (rows - at).min(TILE);
                // SAFETY: the rows are there; the strip holds `chunk` tiles of all planes.
                unsafe { a.split_rows((row + at, first), (count, part), scale, strip) };
            }
            let mut inner = Inner {
                rows,
                a: (room.a.as_ptr(), a_strip),
                b: (std::ptr::null(), 0),
                planes: 0,
                steps: part.div_ceil(DEPTH),
                ahead: 0,
                add: add || first > 0,
                step,
            };
            match b {
                Right::Split(tiles) => {
                    let strip = Tiles::strip_len(k, tiles.planes);
                    let from = &tiles.data[first / DEPTH * tiles.planes * TILE_LEN..];
                    (inner.b, inner.planes) = ((from.as_ptr(), strip), tiles.planes);
                    inner.ahead = 2 * strip;
                    // SAFETY: row and output lie inside the target; all strips are split.
                    unsafe { inner.multiply(n, out.add(row * step)) };
                }
                Right::Plain(b, planes) => {
                    let strip = chunk * planes * TILE_LEN;
                    room.b.reserve(GROUP / TILE * strip);
                    inner.planes = planes;
                    for output in (0..n).step_by(GROUP) {
                        let outputs = GROUP.min(n - output);
                        let strips = room.b.chunks_exact_mut(strip);
                        for (at, to) in (0..outputs).step_by(TILE).zip(strips) {
                            let count = (outputs - at).min(TILE);
                            let from = (first, output + at);
                            // SAFETY: as above, with `count` columns.
                            unsafe { b.split_columns(from, (part, count), planes, to) };
                        }
                        inner.b = (room.b.as_ptr(), strip);
                        // SAFETY: as above.
                        unsafe { inner.multiply(outputs, out.add(row * step + output)) };
                    }
                }
            }
        }
    }
}

impl Factor<'_> {
    /// Splits up to sixteen rows, from a row and a column on.
    ///
    /// # Safety
    /// The processor has AVX-512; the rows and columns are there, and `out` holds their tiles.
    unsafe fn split_rows(
        &self,
        (row, column): (usize, usize),
        size: (usize, usize),
        scale: f32,
        out: &mut [u16],
    ) {
        let from = self.from(row, column);
        // SAFETY: the caller vouches for both.
        unsafe {
            match self.turned {
                false => pack::a_rows::<true>(from, size, scale, out),
                true => pack::a_columns(from, size, scale, out),
            }
        }
    }

    /// Splits `depth` numbers of up to sixteen columns, from a row and a column on.
    /// Safety: as for [`Factor::split_rows`].
    pub(super) unsafe fn split_columns(
        &self,
        (row, column): (usize, usize),
        (depth, count): (usize, usize),
        planes: usize,
        out: &mut [u16],
    ) {
        let from = self.from(row, column);
        // SAFETY: the caller vouches for both.
        unsafe {
            match self.turned {
                true => pack::b_rows(from, (count, depth), planes, out),
                false => pack::b_columns(from, (count, depth), planes, out),
            }
        }
    }
}

/// Split rows times split outputs. Of both factors: the first strip, and numbers from one to the next.
struct Inner {
    rows: usize,
    a: (*const u16, usize),
    b: (*const u16, usize),
    planes: usize,
    steps: usize,
    /// Numbers to what is fetched while two strips of outputs are multiplied: the next two.
    ahead: usize,
    add: bool,
    step: usize,
}

impl Inner {
    /// # Safety
    /// The strips of these rows and outputs are split; `out` has the rows of these outputs.
    unsafe fn multiply(&self, outputs: usize, out: *mut f32) {
        let mut edge = Edge([0.0; 4 * TILE * TILE]);
        // What is split while it is multiplied lies in a cache already.
        let share = match self.ahead {
            0 => Share::Eighth,
            _ => Share::for_rows(self.rows),
        };
        for output in (0..outputs).step_by(2 * TILE) {
            let wide = (outputs - output).min(2 * TILE);
            for row in (0..self.rows).step_by(2 * TILE) {
                let high = (self.rows - row).min(2 * TILE);
                // All rows together fetch the next strips; beyond the end, places are only named.
                let later = row / (2 * TILE) * self.steps * self.planes * share.numbers();
                let later = self.ahead + later;
                // SAFETY: two strips lie behind each pointer, and the block inside `out`.
                unsafe {
                    let a = self.a.0.add(row / TILE * self.a.1);
                    let b = self.b.0.add(output / TILE * self.b.1);
                    let (b0, b1) = (b, b.add(self.b.1));
                    let (n0, n1) = (b0.wrapping_add(later), b1.wrapping_add(later));
                    let block = Block {
                        planes: self.planes,
                        tiles: [a, a.add(self.a.1), b0, b1, n0, n1],
                        share,
                        steps: self.steps,
                        add: self.add,
                    };
                    let at = (out.add(row * self.step + output), self.step);
                    if high < 2 * TILE {
                        kernel::configure_rows(high);
                    }
                    let whole = high == 2 * TILE && wide == 2 * TILE;
                    let run = |(to, step)| block.run(to, step);
                    edge.through(run, (whole, self.add), at, (high, wide));
                    if high < 2 * TILE {
                        kernel::configure();
                    }
                }
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
        if !crate::packed::has_tiles() {
            let what = "this processor has no tile unit";
            mary_testkit::skip(mary_testkit::Lacking::Processor, what);
        }
        !crate::packed::has_tiles()
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
                let step = n + 1;
                let mut out = vec![0.25; m * step];
                let to = (out.as_mut_slice(), step);
                product((m, k, n), a, Right::Plain(b, 3), (0.3, add), to);
                let mut again = vec![0.25; m * step];
                let tiles = Tiles::split(b, (k, n), 3);
                let to = (again.as_mut_slice(), step);
                product((m, k, n), a, Right::Split(&tiles), (0.3, add), to);
                assert!(out == again, "{m}x{k}x{n}: split before has other bits");
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
        let ask = |first: usize, rows: usize| {
            let mut out = vec![0.0; rows * n];
            let a = Factor::rows(&x[first * k..], k);
            let b = Right::Plain(Factor::rows(&y, n), 3);
            product((rows, k, n), a, b, (1.0, false), (&mut out, n));
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
        let b = Right::Plain(Factor::turned(&turned, k), 3);
        let a = Factor::rows(&x, k);
        product((m, k, n), a, b, (1.0, false), (&mut out, n));
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
            assert_eq!(crate::packed::planes(&y), planes);
            let ask = |planes: usize| {
                let mut out = vec![0.0; m * n];
                let (a, b) = (Factor::rows(&x, k), Factor::rows(&y, n));
                let b = Right::Plain(b, planes);
                product((m, k, n), a, b, (1.0, false), (&mut out, n));
                out
            };
            let (few, all) = (ask(planes), ask(3));
            let largest = few.iter().zip(&all).map(|(a, b)| (a - b).abs());
            assert!(largest.fold(0.0, f32::max) < 1e-5);
        }
    }
}
