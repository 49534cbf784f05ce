//! Products whose sums are used as soon as they are there and never reach memory: 32 rows of 32 outputs at a
//! time, while they are in the first-level cache. A product of a few hundred rows that is written out takes a
//! third longer, since its sums leave the second-level cache and what reads them waits for them again.

use super::kernel::{self, Block, Share};
use super::{A_PLANES, Activations, CHUNK, TILE, TILE_LEN, Tiles, depth_tiles, pair};
use crate::aligned::Aligned;

pub const PANEL: usize = 2 * TILE;
/// Outputs whose sums are kept together: with 256 rows, a quarter of a second-level cache.
const GROUP: usize = 8 * PANEL;

/// Sums of some rows: 32 outputs from each of the places asked for, side by side.
pub struct Panel<'a> {
    pub row: usize,
    /// Rows that exist, at most 32.
    pub rows: usize,
    pub column: usize,
    /// All 32 rows, one after the other.
    pub sums: &'a mut [f32],
}

/// Multiplies all rows with `columns` outputs, a multiple of 32, from each of several places on, and shows the
/// sums panel by panel. They have the bits that [`super::multiply`] gives them. `room` is memory to work in.
///
/// # Panics
/// Where the outputs are not there, or the processor has no tile unit ([`super::available`]).
pub fn panels<const N: usize>(
    a: &Activations,
    w: &Tiles,
    (firsts, columns): ([usize; N], usize),
    room: &mut Aligned<f32>,
    mut see: impl FnMut(Panel<'_>),
) {
    let depth = depth_tiles(w.inputs);
    let (a_strip, w_strip) = (depth * A_PLANES * TILE_LEN, depth * w.planes * TILE_LEN);
    let there = |first: &usize| {
        first.is_multiple_of(PANEL) && (first + columns) / TILE * w_strip <= w.data.len()
    };
    assert!(
        super::available()
            && columns.is_multiple_of(PANEL)
            && firsts.iter().all(there)
            && a.inputs() == w.inputs
    );
    let rows = a.rows();
    let (blocks, size) = (rows.div_ceil(PANEL), PANEL * PANEL * N);
    // Sums of one chunk of depth are shown at once, and need no place of their own.
    let (group, places) = match depth <= CHUNK {
        true => (PANEL, 1),
        false => (GROUP, blocks * GROUP / PANEL),
    };
    room.reserve(places * size);
    let share = Share::for_rows(rows);
    // SAFETY: the processor has tiles.
    unsafe { kernel::configure() };
    for first in (0..columns).step_by(group) {
        let last = (first + group).min(columns);
        for chunk in (0..depth).step_by(CHUNK) {
            let steps = CHUNK.min(depth - chunk);
            for column in (first..last).step_by(PANEL) {
                for row in (0..rows).step_by(PANEL) {
                    let place = ((column - first) / PANEL * blocks + row / PANEL) % places;
                    let sums = &mut room[place * size..][..size];
                    let [a0, a1] = pair(&a.data, a_strip, row, chunk * A_PLANES * TILE_LEN);
                    for (n, from) in firsts.iter().enumerate() {
                        let at = chunk * w.planes * TILE_LEN;
                        let [w0, w1] = pair(&w.data, w_strip, from + column, at);
                        // All rows together fetch the weights of the next outputs; beyond the end, places
                        // are only named.
                        let next = 2 * w_strip + row / PANEL * steps * w.planes * share.numbers();
                        let (n0, n1) = (w0.wrapping_add(next), w1.wrapping_add(next));
                        let block = Block {
                            planes: w.planes,
                            tiles: [a0, a1, w0, w1, n0, n1],
                            share,
                            steps,
                            add: chunk > 0,
                        };
                        // SAFETY: each of the first four pointers has `steps` tiles of its planes behind
                        // it; a panel has 32 rows of `N` times 32 numbers.
                        unsafe { block.run(sums[n * PANEL..].as_mut_ptr(), N * PANEL) };
                    }
                    if chunk + steps == depth {
                        see(Panel {
                            row,
                            rows: (rows - row).min(PANEL),
                            column,
                            sums,
                        });
                    }
                }
            }
        }
    }
    // SAFETY: as above.
    unsafe { kernel::release() };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amx::{Region, available, multiply};

    #[test]
    fn panels_have_the_bits_of_the_whole_product() {
        if !available() {
            let what = "this processor has no tile unit";
            return mary_testkit::skip(mary_testkit::Lacking::Processor, what);
        }
        // One chunk of depth, and several; a number of rows that fills no panel.
        for (rows, inputs, outputs) in [(70, 64, 128), (33, 1312, 640)] {
            let numbers =
                |n: usize| -> Vec<f32> { (0..n).map(|i| (i as f32 * 0.37).sin()).collect() };
            let w = Tiles::pack(&numbers(outputs * inputs), outputs, inputs);
            let mut a = Activations::default();
            a.set(&numbers(rows * inputs), rows, inputs);
            let mut whole = vec![0.0f32; rows * outputs];
            let region = Region::whole(rows, outputs, false);
            // SAFETY: the unit is available, and the target holds the region.
            unsafe { multiply(&a, &w, whole.as_mut_ptr(), region) };
            let half = outputs / 2;
            let mut seen = 0;
            panels(
                &a,
                &w,
                ([0, half], half),
                &mut Aligned::default(),
                |panel| {
                    for (i, line) in panel.sums.chunks(2 * PANEL).take(panel.rows).enumerate() {
                        let row = &whole[(panel.row + i) * outputs..][..outputs];
                        let (gate, up) = line.split_at(PANEL);
                        assert!(gate == &row[panel.column..][..PANEL]);
                        assert!(up == &row[half + panel.column..][..PANEL]);
                        seen += line.len();
                    }
                },
            );
            assert_eq!(seen, rows * outputs);
        }
    }

    #[test]
    fn rows_put_in_pieces_are_split_as_at_once() {
        if !available() {
            return;
        }
        let (rows, inputs) = (45, 96);
        let numbers: Vec<f32> = (0..rows * inputs)
            .map(|i| (i as f32 * 0.73).sin())
            .collect();
        let (mut whole, mut pieces, mut squares) = (
            Activations::default(),
            Activations::default(),
            Activations::default(),
        );
        whole.set(&numbers, rows, inputs);
        pieces.shape(rows, inputs);
        for (i, part) in numbers.chunks(TILE * inputs).enumerate() {
            pieces.put_rows(i * TILE, part);
        }
        squares.shape(rows, inputs);
        for row in (0..rows).step_by(PANEL) {
            for column in (0..inputs).step_by(PANEL) {
                let from = &numbers[row * inputs + column..];
                squares.put_square((row, column), (rows - row).min(PANEL), (from, inputs));
            }
        }
        let strip = inputs / 32 * A_PLANES * TILE_LEN;
        let used = rows.div_ceil(TILE) * strip;
        assert!(whole.data[..used] == pieces.data[..used]);
        assert!(whole.data[..used] == squares.data[..used]);
    }
}
