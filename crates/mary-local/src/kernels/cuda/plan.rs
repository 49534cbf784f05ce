//! What a batch looks like to the GPU: one array of whole numbers that goes over in one copy.

use mary_cuda::Lent;

use crate::batch::Batch;

/// The widest head the kernels take.
pub const MAX_WIDTH: usize = 256;
/// Query rows of a tile.
const TILE: usize = 16;
/// Numbers that describe a tile.
const TILE_NUMBERS: usize = 6;

/// A tile of attention: up to sixteen query rows (a position and a head of its group) of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Row of the batch of the segment's first position.
    pub first: usize,
    /// First query row within the segment.
    pub begin: usize,
    /// Query rows.
    pub rows: usize,
    /// Position of the segment's first row.
    pub position: usize,
    /// Place of the segment's first span among all spans.
    pub spans: usize,
    /// Keys in all its spans.
    pub keys: usize,
}

/// The tiles of a batch whose key heads serve `group` query heads each.
pub fn tiles(batch: &Batch, group: usize) -> Vec<Tile> {
    let mut all = Vec::with_capacity(batch.segments.len());
    let mut spans = 0;
    for segment in &batch.segments {
        let (queries, keys) = (segment.len * group, segment.keys());
        for begin in (0..queries).step_by(TILE) {
            all.push(Tile {
                first: segment.first,
                begin,
                rows: TILE.min(queries - begin),
                position: segment.position,
                spans,
                keys,
            });
        }
        spans += segment.spans.len();
    }
    all
}

/// A batch as whole numbers: tokens, positions, slots, tiles, spans.
pub struct Numbers {
    /// All of them.
    pub all: Vec<i32>,
    rows: usize,
    tiles: usize,
    most_keys: usize,
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

impl Numbers {
    /// Writes a batch down.
    pub fn new(batch: &Batch, group: usize) -> Self {
        let rows = batch.len();
        let tiles = tiles(batch, group);
        let mut all =
            Vec::with_capacity(3 * rows + TILE_NUMBERS * tiles.len() + 2 * batch.segments.len());
        all.extend(batch.tokens.iter().map(|t| t.cast_signed()));
        all.extend(batch.positions.iter().map(|&p| int(p)));
        all.extend(batch.slots.iter().map(|&s| int(s)));
        for t in &tiles {
            let numbers = [t.first, t.begin, t.rows, t.position, t.spans, t.keys];
            all.extend(numbers.map(int));
        }
        let spans = batch.segments.iter().flat_map(|s| &s.spans);
        all.extend(spans.flat_map(|&(first, len)| [int(first), int(len)]));
        Self {
            all,
            rows,
            tiles: tiles.len(),
            most_keys: tiles.iter().map(|t| t.keys).max().unwrap_or(0),
        }
    }
}

/// A batch on the GPU.
pub struct Plan {
    lent: Option<Lent>,
    /// Rows of the batch.
    pub rows: usize,
    /// Tiles of attention.
    pub tile_count: usize,
    /// Keys of the longest segment.
    pub most_keys: usize,
}

impl Plan {
    pub(super) fn new(numbers: &Numbers, lent: Option<Lent>) -> Self {
        Self {
            lent,
            rows: numbers.rows,
            tile_count: numbers.tiles,
            most_keys: numbers.most_keys,
        }
    }

    fn at(&self, number: usize) -> u64 {
        self.lent.as_ref().map_or(0, Lent::at) + number as u64 * 4
    }

    pub(super) fn tokens(&self) -> u64 {
        self.at(0)
    }

    pub(super) fn positions(&self) -> u64 {
        self.at(self.rows)
    }

    pub(super) fn slots(&self) -> u64 {
        self.at(2 * self.rows)
    }

    pub(super) fn tiles(&self) -> u64 {
        self.at(3 * self.rows)
    }

    pub(super) fn spans(&self) -> u64 {
        self.at(3 * self.rows + TILE_NUMBERS * self.tile_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_row_is_in_one_tile_and_its_stretches_follow() {
        let mut batch = Batch::default();
        batch.push(&[1, 2, 3, 4, 5, 6, 7], &[], 0);
        batch.push(&[8, 9], &[(0, 3), (20, 1)], 30);
        let all = tiles(&batch, 3);
        let rows: Vec<usize> = all.iter().map(|t| t.rows).collect();
        assert_eq!(rows, [16, 5, 6]);
        assert_eq!(all[1].begin, 16);
        assert_eq!((all[2].first, all[2].position, all[2].spans), (7, 4, 1));
        assert_eq!(all[2].keys, 6);
        let numbers = Numbers::new(&batch, 3);
        let spans = &numbers.all[3 * 9 + 6 * 3..];
        assert_eq!(spans, [0, 7, 0, 3, 20, 1, 30, 2]);
    }

    #[test]
    fn a_group_wider_than_a_tile_is_split() {
        let mut batch = Batch::default();
        batch.push(&[1], &[], 0);
        let rows: Vec<usize> = tiles(&batch, 71).iter().map(|t| t.rows).collect();
        assert_eq!(rows, [16, 16, 16, 16, 7]);
    }
}
