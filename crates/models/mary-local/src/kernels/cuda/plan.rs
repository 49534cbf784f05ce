//! What a batch looks like to the GPU: one array of whole numbers that goes over in one copy.

use std::borrow::Cow;
use std::sync::OnceLock;

use mary_cuda::Lent;

use super::int;
use super::recurrent::Road;
use crate::batch::{Batch, Segment};

/// The widest head the kernels take.
pub const MAX_WIDTH: usize = 256;
const TILE: usize = 16;
const TILE_NUMBERS: usize = 6;

/// A tile of attention: up to sixteen query rows (a position and a head of its group) of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Row of the batch of the segment's first position.
    pub first: usize,
    /// First query row within the segment.
    pub begin: usize,
    pub rows: usize,
    pub position: usize,
    /// Place of the segment's first span among all spans.
    pub spans: usize,
    pub keys: usize,
}

/// The segments of a batch, and how many of them see what came before them alone; the rest are pictures whose
/// rows see one another. The kernels know one rule for all rows of a launch, so a segment is cut where a picture
/// begins and ends, and pictures get a launch of their own in which every key of a segment is seen.
fn cut(batch: &Batch) -> (Cow<'_, [Segment]>, usize) {
    if batch.reach.is_empty() {
        return (Cow::Borrowed(&batch.segments), batch.segments.len());
    }
    let (mut before, mut pictures) = (vec![], vec![]);
    for segment in &batch.segments {
        let reach = |at: usize| batch.reach.get(segment.first + at).copied();
        let mut at = 0;
        while at < segment.len {
            let picture = reach(at).filter(|(first, end)| first < end);
            // Words go on to the next picture, a picture to its end.
            let alike = |next: &usize| reach(*next).filter(|(f, e)| f < e) == picture;
            let end = (at + 1..segment.len).find(|next| !alike(next));
            let end = end.unwrap_or(segment.len);
            let part = part(segment, at, end);
            match picture {
                Some(_) => pictures.push(part),
                None => before.push(part),
            }
            at = end;
        }
    }
    let causal = before.len();
    before.append(&mut pictures);
    (Cow::Owned(before), causal)
}

/// Rows `from..to` of a segment, with the keys up to the last of them.
fn part(segment: &Segment, from: usize, to: usize) -> Segment {
    let mut left = segment.position + to;
    let mut spans = vec![];
    for &(first, len) in &segment.spans {
        let taken = len.min(left);
        if taken > 0 {
            spans.push((first, taken));
        }
        left -= taken;
    }
    Segment {
        first: segment.first + from,
        len: to - from,
        position: segment.position + from,
        spans,
    }
}

/// The tiles of segments whose key heads serve `group` query heads each.
pub fn tiles(segments: &[Segment], group: usize) -> Vec<Tile> {
    let mut all = Vec::with_capacity(segments.len());
    let mut spans = 0;
    for segment in segments {
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

/// A batch on the GPU: tokens, positions, slots, tiles and spans as whole numbers, one after the other.
pub struct Plan<'a> {
    pub(super) batch: &'a Batch,
    pub(super) lent: Option<Lent>,
    pub rows: usize,
    pub tile_count: usize,
    /// The first of them, which see what came before them; the rest see all keys of their segment.
    pub causal_tiles: usize,
    /// Rows of the longest picture whose rows see one another.
    pub longest: usize,
    pub most_keys: usize,
    /// Where answers are written, one new position in every segment: query rows of each.
    pub last_rows: Option<usize>,
    pub(super) road: OnceLock<Option<Road>>,
}

impl<'a> Plan<'a> {
    pub fn new(batch: &'a Batch, group: usize) -> (Vec<i32>, Self) {
        let rows = batch.len();
        let (segments, causal) = cut(batch);
        let (before, pictures) = segments.split_at(causal);
        let tiles = tiles(&segments, group);
        let in_tiles = |s: &Segment| (s.len * group).div_ceil(TILE);
        let count = 3 * rows + TILE_NUMBERS * tiles.len() + 2 * segments.len();
        let mut all = Vec::with_capacity(count);
        all.extend(batch.tokens.iter().map(|t| t.cast_signed()));
        all.extend(batch.positions.iter().map(|&p| int(p)));
        all.extend(batch.slots.iter().map(|&s| int(s)));
        for t in &tiles {
            let numbers = [t.first, t.begin, t.rows, t.position, t.spans, t.keys];
            all.extend(numbers.map(int));
        }
        let spans = segments.iter().flat_map(|s| &s.spans);
        all.extend(spans.flat_map(|&(first, len)| [int(first), int(len)]));
        let plan = Self {
            batch,
            lent: None,
            rows,
            tile_count: tiles.len(),
            causal_tiles: before.iter().map(in_tiles).sum(),
            longest: pictures.iter().map(|s| s.len).max().unwrap_or(0),
            most_keys: tiles.iter().map(|t| t.keys).max().unwrap_or(0),
            last_rows: (batch.writing && segments.iter().all(|s| s.len == 1)).then_some(group),
            road: OnceLock::new(),
        };
        (all, plan)
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

    /// The tiles from one on.
    pub(super) fn tiles(&self, first: usize) -> u64 {
        self.at(3 * self.rows + TILE_NUMBERS * first)
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
        let all = tiles(&batch.segments, 3);
        let rows: Vec<usize> = all.iter().map(|t| t.rows).collect();
        assert_eq!(rows, [16, 5, 6]);
        assert_eq!(all[1].begin, 16);
        assert_eq!((all[2].first, all[2].position, all[2].spans), (7, 4, 1));
        assert_eq!(all[2].keys, 6);
        let (numbers, plan) = Plan::new(&batch, 3);
        assert_eq!(plan.last_rows, None);
        let spans = &numbers[3 * 9 + 6 * 3..];
        assert_eq!(spans, [0, 7, 0, 3, 20, 1, 30, 2]);
    }

    #[test]
    fn a_group_wider_than_a_tile_is_split() {
        let mut batch = Batch::default();
        batch.push(&[1], &[], 0);
        let rows: Vec<usize> = tiles(&batch.segments, 71).iter().map(|t| t.rows).collect();
        assert_eq!(rows, [16, 16, 16, 16, 7]);
    }

    #[test]
    fn writing_is_known_by_one_new_position_in_each_segment() {
        let mut batch = Batch {
            writing: true,
            ..Batch::default()
        };
        batch.push(&[1], &[(0, 3)], 3);
        batch.push(&[2], &[(0, 3), (10, 2)], 12);
        assert_eq!(Plan::new(&batch, 4).1.last_rows, Some(4));
        batch.push(&[3, 4], &[], 20);
        assert_eq!(Plan::new(&batch, 4).1.last_rows, None);
    }

    #[test]
    fn a_picture_is_a_segment_of_its_own_that_ends_with_its_last_row() {
        let mut batch = Batch::default();
        // Two words, a picture of three rows, two words; another sequence that goes on behind a prefix.
        batch.push(&[1, 2, 3, 4, 5, 6, 7], &[], 0);
        batch.push(&[8, 9], &[(0, 3), (20, 1)], 30);
        let word = (usize::MAX, 0);
        batch.reach = vec![word, word, (2, 5), (2, 5), (2, 5), word, word, word, word];
        let (segments, causal) = cut(&batch);
        let seen: Vec<(usize, usize, usize, usize)> = segments
            .iter()
            .map(|s| (s.first, s.len, s.position, s.keys()))
            .collect();
        assert_eq!(causal, 3);
        assert_eq!(
            seen,
            [(0, 2, 0, 2), (5, 2, 5, 7), (7, 2, 4, 6), (2, 3, 2, 5)]
        );
        let (_, plan) = Plan::new(&batch, 6);
        assert_eq!(
            (plan.tile_count, plan.causal_tiles, plan.longest),
            (5, 3, 3)
        );
        // Two pictures that follow one another do not see each other.
        batch.reach[5] = (5, 7);
        batch.reach[6] = (5, 7);
        let (segments, causal) = cut(&batch);
        assert_eq!((segments.len(), causal), (4, 2));
    }
}
