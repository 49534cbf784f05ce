//! What is computed together: rows of any mixture of sequences, and which keys each may see.

/// A run of positions that follow one another, and where the keys they may see lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub first: usize,
    pub len: usize,
    /// Position of the first row in its sequence.
    pub position: usize,
    /// Spans of the cache (first row, length) that hold positions 0, 1, 2, … up to the segment's last.
    pub spans: Vec<(usize, usize)>,
}

impl Segment {
    pub fn keys(&self) -> usize {
        self.spans.iter().map(|(_, len)| len).sum()
    }

    /// Cache rows of `count` positions from `from` on.
    pub fn rows_of(&self, from: usize, count: usize, out: &mut Vec<usize>) {
        out.clear();
        let mut skip = from;
        for &(first, len) in &self.spans {
            if skip >= len {
                skip -= len;
                continue;
            }
            let take = (len - skip).min(count - out.len());
            out.extend(first + skip..first + skip + take);
            skip = 0;
            if out.len() == count {
                break;
            }
        }
    }
}

/// Positions computed together: any mixture of sequences, one row for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub tokens: Vec<u32>,
    pub positions: Vec<usize>,
    /// The row of the cache that gets its keys and values.
    pub slots: Vec<usize>,
    pub segments: Vec<Segment>,
    /// Where each row stands in time, height and width; empty where positions say it all.
    pub turns: Vec<[u32; 3]>,
    /// For each row, the positions of the picture that it sees in both directions; empty where none does.
    pub reach: Vec<(usize, usize)>,
    /// Rows of the cache from which later batches go on, where layers carry a state.
    pub needed: Vec<usize>,
    /// The rows are the last tokens of answers being written ([`Extent`](crate::kernels::Extent)).
    pub writing: bool,
}

impl Batch {
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// `past` holds its predecessors; it gets cache rows from `slot` on.
    pub fn push(&mut self, tokens: &[u32], past: &[(usize, usize)], slot: usize) {
        let position = past.iter().map(|(_, len)| len).sum();
        let mut spans = past.to_vec();
        match spans.last_mut() {
            Some((first, len)) if *first + *len == slot => *len += tokens.len(),
            _ => spans.push((slot, tokens.len())),
        }
        let segment = Segment {
            first: self.len(),
            len: tokens.len(),
            position,
            spans,
        };
        self.tokens.extend_from_slice(tokens);
        self.positions.extend(position..position + tokens.len());
        self.slots.extend(slot..slot + tokens.len());
        self.segments.push(segment);
    }
}

/// How many of these, from the first on, are computed together: at most so many rows, and at least one.
pub(crate) fn together<T>(all: &[T], most: usize, rows: impl Fn(&T) -> usize) -> usize {
    let mut sum = 0;
    let fits = |one: &&T| {
        sum += rows(one);
        sum <= most
    };
    all.iter().take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_give_rows_in_order_of_position() {
        let segment = Segment {
            first: 0,
            len: 2,
            position: 5,
            spans: vec![(0, 3), (10, 2), (20, 2)],
        };
        let mut rows = vec![];
        segment.rows_of(2, 4, &mut rows);
        assert_eq!(rows, [2, 10, 11, 20]);
        segment.rows_of(0, 7, &mut rows);
        assert_eq!(rows, [0, 1, 2, 10, 11, 20, 21]);
        assert_eq!(segment.keys(), 7);
    }
}
