//! Seeded choice: one small random source for every generator in the corpus.

use rand::{RngExt, SeedableRng};

use crate::Stream;

/// A random source that only answers the questions a text generator asks.
pub(super) struct Dice {
    rng: Stream,
}

impl Dice {
    /// The dice of one document: the same seed and number always throw the same.
    pub(super) fn for_document(seed: u64, document: u64) -> Self {
        let mut rng = Stream::seed_from_u64(seed);
        rng.set_stream(document);
        Self { rng }
    }

    pub(super) fn stream(&mut self) -> &mut Stream {
        &mut self.rng
    }

    /// A number from `low` up to and including `high`.
    pub(super) fn between(&mut self, low: usize, high: usize) -> usize {
        self.rng.random_range(low..=high.max(low))
    }

    /// A number from 0 up to, but not, 1.
    pub(super) fn part(&mut self) -> f32 {
        self.rng.random::<f32>()
    }

    /// True once in `n` times on average.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.rng.random_range(0..n.max(1)) == 0
    }

    /// One of a list; the lists of the small world are never empty.
    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.rng.random_range(0..list.len())]
    }

    /// Two different places of a list.
    pub(super) fn two<'a, T>(&mut self, list: &'a [T]) -> (&'a T, &'a T) {
        let first = self.rng.random_range(0..list.len());
        let step = self.rng.random_range(1..list.len());
        (&list[first], &list[(first + step) % list.len()])
    }

    /// One of a graded list: the member of rank r is met about 1/r times as often as the first.
    pub(super) fn graded<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let total: f64 = (1..=list.len()).map(|rank| 1.0 / rank as f64).sum();
        let mut left = self.rng.random_range(0.0..total);
        for (index, member) in list.iter().enumerate() {
            left -= 1.0 / (index + 1) as f64;
            if left <= 0.0 {
                return member;
            }
        }
        &list[list.len() - 1]
    }

    pub(super) fn shuffled<T: Clone>(&mut self, list: &[T]) -> Vec<T> {
        let mut out = list.to_vec();
        for i in (1..out.len()).rev() {
            out.swap(i, self.rng.random_range(0..=i));
        }
        out
    }
}
