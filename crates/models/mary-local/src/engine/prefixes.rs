//! What lies in the rows of a cache: a beginning that was read once is copied to where it is wanted, not read again.

use std::ops::Range;

/// Tokens whose keys and values lie in the cache: those before `shared` from row 0 on, the others from `first` on.
#[derive(Debug)]
struct Held {
    tokens: Vec<u32>,
    shared: usize,
    first: usize,
}

impl Held {
    fn row(&self, place: usize) -> usize {
        match place.checked_sub(self.shared) {
            None => place,
            Some(own) => self.first + own,
        }
    }
}

#[derive(Debug, Default)]
pub struct Prefixes(Vec<Held>);

impl Prefixes {
    /// The copies that bring the longest beginning of these tokens that is held, from token `from` on, to the rows from
    /// `to` on. None where a row would be overwritten before it is read.
    pub fn bring(&self, tokens: &[u32], from: usize, to: usize) -> Vec<(usize, usize)> {
        let known = self.0.iter().filter_map(|held| {
            let count = alike(&held.tokens, tokens).max(from);
            let target = to..to + count - from;
            let safe = |place: usize| {
                let row = held.row(place);
                row == to + place - from || !target.contains(&row)
            };
            (from..count).all(safe).then_some((count, held))
        });
        match known.max_by_key(|(count, _)| *count) {
            None => vec![],
            Some((count, held)) => (from..count)
                .map(|place| (held.row(place), to + place - from))
                .collect(),
        }
    }

    /// Tokens that lie in these rows from now on, and whatever else did no more.
    pub fn put(&mut self, tokens: Vec<u32>, shared: usize, rows: Range<usize>) {
        for held in &mut self.0 {
            let gone = (0..held.tokens.len()).find(|&place| rows.contains(&held.row(place)));
            held.tokens.truncate(gone.unwrap_or(usize::MAX));
        }
        self.0.push(Held {
            tokens,
            shared,
            first: rows.start,
        });
        // What is left of one may be what it shares with others.
        self.0.retain(|held| held.tokens.len() > held.shared);
    }
}

/// How many tokens two texts begin with alike.
pub fn alike(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_beginning_is_found_where_it_lies_until_others_lie_there() {
        let mut known = Prefixes::default();
        known.put(vec![1, 2, 3, 4], 0, 10..20);
        assert_eq!(known.bring(&[1, 2, 9], 0, 30), [(10, 30), (11, 31)]);
        assert_eq!(
            known.bring(&[1, 2, 3], 0, 10),
            [(10, 10), (11, 11), (12, 12)]
        );
        // It would be overwritten while it is read.
        assert_eq!(known.bring(&[1, 2, 3], 0, 11), []);
        known.put(vec![7], 0, 12..15);
        assert_eq!(known.bring(&[1, 2, 3, 4], 1, 30), [(11, 30)]);
    }

    proptest! {
        /// Follows a cache that remembers tokens through places that are taken, filled and taken again.
        #[test]
        fn what_is_brought_is_what_was_asked_for(
            steps in prop::collection::vec(
                (0usize..6, prop::collection::vec(0u32..2, 1..12)), 1..60),
        ) {
            let mut cache = vec![None; 6 * 12];
            let mut known = Prefixes::default();
            for (seat, tokens) in steps {
                // Places of another length now and then, as in another round.
                let width = 8 + tokens.len() % 2 * 4;
                let (first, tokens) = (seat * width, &tokens[..tokens.len().min(width)]);
                let copies = known.bring(tokens, 0, first);
                for &(from, to) in &copies {
                    cache[to] = cache[from];
                }
                let brought = &cache[first..first + copies.len()];
                let wanted: Vec<_> = tokens[..copies.len()].iter().map(|t| Some(*t)).collect();
                prop_assert_eq!(brought, wanted);
                for (place, token) in tokens.iter().enumerate() {
                    cache[first + place] = Some(*token);
                }
                known.put(tokens.to_vec(), 0, first..first + width);
            }
        }
    }
}
