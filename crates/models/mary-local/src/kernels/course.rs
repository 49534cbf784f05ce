//! How a batch runs through layers that carry a state: a segment begins with the state of the token before it,
//! wherever in the tree that was computed, so that a shared beginning is read once.

use std::collections::HashMap;

use crate::batch::{Batch, Segment};

/// What a segment begins with.
pub enum Start {
    Nothing,
    /// The state after a row of this batch.
    Row(usize),
    /// The state after a row of the cache.
    Slot(usize),
}

/// Where the segments of a batch begin, and whose states are asked for.
pub struct Course<'a> {
    pub batch: &'a Batch,
    pub starts: Vec<Start>,
    /// Rows that other segments of this batch follow.
    pub followed: Vec<usize>,
    /// Rows that later batches follow.
    pub kept: Vec<usize>,
}

impl<'a> Course<'a> {
    pub fn new(batch: &'a Batch) -> Self {
        let rows: HashMap<usize, usize> = batch.slots.iter().copied().zip(0..).collect();
        let (mut followed, mut spare) = (vec![], vec![]);
        let mut start = |segment: &Segment| {
            let Some(last) = segment.position.checked_sub(1) else {
                return Start::Nothing;
            };
            segment.rows_of(last, 1, &mut spare);
            let slot = spare.first().copied().unwrap_or(usize::MAX);
            match rows.get(&slot) {
                Some(&row) if row < segment.first => {
                    followed.push(row);
                    Start::Row(row)
                }
                _ => Start::Slot(slot),
            }
        };
        let starts = batch.segments.iter().map(&mut start).collect();
        let known = |slot| rows.get(slot).copied();
        let mut kept: Vec<usize> = batch.needed.iter().filter_map(known).collect();
        for list in [&mut followed, &mut kept] {
            list.sort_unstable();
            list.dedup();
        }
        Self {
            batch,
            starts,
            followed,
            kept,
        }
    }

    pub fn segment_of(&self, row: usize) -> usize {
        self.batch.segments.partition_point(|s| s.first <= row) - 1
    }
}
