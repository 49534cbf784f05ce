//! Products whose sums are used as soon as they are there and never reach memory: 32 rows of 32 outputs at a
//! time, while they are in the first-level cache. A product of a few hundred rows that is written out takes a
//! third longer, since its sums leave the second-level cache and what reads them waits for them again.

use super::{Activations, Pair, Region, TILE, Tiles, towering};
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
/// Where the outputs are not there, or rows and weights are packed for different multipliers.
pub fn panels<const N: usize>(
    a: &Activations,
    w: &Tiles,
    (firsts, columns): ([usize; N], usize),
    room: &mut Aligned<f32>,
    mut see: impl FnMut(Panel<'_>),
) {
    let pair = Pair::new(a, w, 0);
    let there = |first: &usize| first.is_multiple_of(PANEL) && first + columns <= w.outputs;
    let fits = columns.is_multiple_of(PANEL) && firsts.iter().all(there);
    assert!(fits && a.inputs() == w.inputs);
    let (rows, chunk) = (a.rows(), pair.chunk());
    let (blocks, size) = (rows.div_ceil(PANEL), PANEL * PANEL * N);
    // Sums of one chunk of depth are shown at once, and need no place of their own.
    let (group, places) = match w.inputs <= chunk {
        true => (PANEL, 1),
        false => (GROUP, blocks * GROUP / PANEL),
    };
    room.reserve(places * size);
    pair.ready(|| {
        for first in (0..columns).step_by(group) {
            let last = (first + group).min(columns);
            for from in (0..w.inputs).step_by(chunk) {
                for column in (first..last).step_by(PANEL) {
                    for row in (0..rows).step_by(PANEL) {
                        let place = ((column - first) / PANEL * blocks + row / PANEL) % places;
                        let sums = &mut room[place * size..][..size];
                        let high = (rows - row).min(PANEL);
                        for (n, output) in firsts.iter().enumerate() {
                            let to = (sums[n * PANEL..].as_mut_ptr(), N * PANEL);
                            let some = (row, high, (0, rows));
                            // SAFETY: a panel has 32 rows of `N` times 32 numbers.
                            unsafe { pair.run(some, output + column, (from, from > 0), to) };
                        }
                        if from + chunk < w.inputs {
                            continue;
                        }
                        for (n, output) in firsts.iter().enumerate() {
                            let region = Region {
                                row,
                                rows: high,
                                output: output + column,
                                outputs: PANEL,
                                stride: N * PANEL,
                                add: true,
                            };
                            // Counted from row 0, output 0 of the whole product.
                            let at = sums[n * PANEL..].as_mut_ptr();
                            let at = at.wrapping_sub(row * region.stride + region.output);
                            // SAFETY: as above.
                            unsafe { towering::add(a.towers(), w, at, region) };
                        }
                        see(Panel {
                            row,
                            rows: high,
                            column,
                            sums,
                        });
                    }
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::{A_PLANES, PLAIN, Region, TILE_LEN, has_tiles, multiply};

    /// Numbers of which some tower over the others of their row.
    fn numbers(n: usize) -> Vec<f32> {
        let tower = |i: usize| if i % 977 == 5 { 300.0 } else { 1.0 };
        (0..n).map(|i| tower(i) * (i as f32 * 0.37).sin()).collect()
    }

    /// Split into all planes, where there is a tile unit, and plain.
    fn forms() -> impl Iterator<Item = usize> {
        let tiles = has_tiles().then_some(3);
        tiles.into_iter().chain([PLAIN])
    }

    #[test]
    fn panels_have_the_bits_of_the_whole_product() {
        // One chunk of depth, and several; a number of rows that fills no panel.
        let sizes = [(70, 64, 128), (33, 1312, 640)];
        for ((rows, inputs, outputs), form) in sizes
            .into_iter()
            .flat_map(|s| forms().map(move |form| (s, form)))
        {
            let w = Tiles::pack(&numbers(outputs * inputs), outputs, inputs, form);
            let mut a = Activations::default();
            a.set(&numbers(rows * inputs), rows, inputs, w.is_plain());
            let mut whole = vec![0.0f32; rows * outputs];
            let region = Region::whole(rows, outputs, false);
            // SAFETY: the target holds the region.
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
        let (rows, inputs) = (45, 96);
        let numbers = numbers(rows * inputs);
        for plain in forms().map(|planes| planes == PLAIN) {
            let [mut whole, mut pieces, mut squares] = [(); 3].map(|()| Activations::default());
            whole.set(&numbers, rows, inputs, plain);
            pieces.shape(rows, inputs, plain);
            for (i, part) in numbers.chunks(TILE * inputs).enumerate() {
                pieces.put_rows(i * TILE, part);
            }
            squares.shape(rows, inputs, plain);
            for row in (0..rows).step_by(PANEL) {
                for column in (0..inputs).step_by(PANEL) {
                    let from = &numbers[row * inputs + column..];
                    squares.put_square((row, column), (rows - row).min(PANEL), (from, inputs));
                }
            }
            pieces.level(0);
            squares.level(0);
            let used = match plain {
                true => 2 * rows * whole.step(),
                false => rows.div_ceil(TILE) * (inputs / 32 * A_PLANES * TILE_LEN),
            };
            assert!(whole.data[..used] == pieces.data[..used]);
            assert!(whole.data[..used] == squares.data[..used]);
            assert_eq!(whole.towers().len(), if plain { 5 } else { 0 });
            assert_eq!(whole.towers(), squares.towers());
        }
    }
}
