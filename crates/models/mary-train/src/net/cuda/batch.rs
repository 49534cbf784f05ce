//! What a batch looks like to the GPU: one array of whole numbers that goes over in one copy.

use mary_cuda::{Lent, NumberType};

use super::attention::{Attention, Heads, Tiling};
use super::{Done, Gpu, int};
use crate::net::{Net, Segment, Work};

/// Packs of texts side by side, as whole numbers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Numbers {
    all: Vec<i32>,
    tokens: usize,
    positions: usize,
    /// Rows whose prediction counts, their targets and weights.
    counted: usize,
    targets: usize,
    weights: usize,
    pub(super) count: usize,
    /// Places token by token, where each token's begin, and which token it is.
    order: usize,
    starts: usize,
    which: usize,
    groups: usize,
    tiles: usize,
    tile_count: usize,
    /// For dropout: the pack of every row, its place in it, the seed of every pack.
    packs: usize,
    places: usize,
    seeds: usize,
    pub(super) rows: usize,
}

impl Numbers {
    /// Lays out packs one after the other; segments keep to themselves.
    pub(super) fn new(work: &[&Work], vocabulary: usize, tiling: Tiling) -> Self {
        let rows: usize = work.iter().map(|w| w.packed.tokens.len()).sum();
        let mut n = Self {
            rows,
            ..Self::default()
        };
        // Seeds first: they are eight bytes each and want an even place.
        n.seeds = n.put(work.iter().flat_map(|w| {
            let seed = w.noise.unwrap_or(0);
            [seed as u32, (seed >> 32) as u32].map(u32::cast_signed)
        }));
        let tokens: Vec<u32> = work
            .iter()
            .flat_map(|w| w.packed.tokens.iter().copied())
            .collect();
        n.tokens = n.put(tokens.iter().map(|t| t.cast_signed()));
        let mut segments = Vec::new();
        let (mut positions, mut packs, mut places) = (vec![], vec![], vec![]);
        for (pack, w) in work.iter().enumerate() {
            let first = positions.len();
            for segment in &w.packed.segments {
                segments.push(Segment {
                    start: first + segment.start,
                    length: segment.length,
                });
                positions.extend((0..segment.length).map(int));
            }
            packs.extend(std::iter::repeat_n(int(pack), w.packed.tokens.len()));
            places.extend((0..w.packed.tokens.len()).map(int));
        }
        n.positions = n.put(positions);
        n.packs = n.put(packs);
        n.places = n.put(places);
        let targets = work.iter().flat_map(|w| w.packed.targets.iter());
        let counted: Vec<(usize, (u32, f32))> = targets
            .copied()
            .enumerate()
            .filter(|(_, (_, weight))| *weight != 0.0)
            .collect();
        n.count = counted.len();
        n.counted = n.put(counted.iter().map(|(row, _)| int(*row)));
        n.targets = n.put(counted.iter().map(|(_, (t, _))| t.cast_signed()));
        n.weights = n.put(counted.iter().map(|(_, (_, w))| w.to_bits().cast_signed()));
        n.sort_tokens(&tokens, vocabulary);
        let tiles = tiling.tiles(&segments);
        n.tile_count = tiles.len() / 3;
        n.tiles = n.put(tiles);
        n
    }

    fn put(&mut self, numbers: impl IntoIterator<Item = i32>) -> usize {
        let at = self.all.len();
        self.all.extend(numbers);
        at
    }

    /// Places in the order of their tokens: counted, then dealt out.
    fn sort_tokens(&mut self, tokens: &[u32], vocabulary: usize) {
        let mut next = vec![0usize; vocabulary + 1];
        for token in tokens {
            next[*token as usize + 1] += 1;
        }
        for token in 0..vocabulary {
            next[token + 1] += next[token];
        }
        let (mut starts, mut which) = (vec![], vec![]);
        for token in 0..vocabulary {
            if next[token + 1] > next[token] {
                starts.push(int(next[token]));
                which.push(int(token));
            }
        }
        starts.push(int(tokens.len()));
        self.groups = which.len();
        let mut order = vec![0; tokens.len()];
        for (place, token) in tokens.iter().enumerate() {
            let at = &mut next[*token as usize];
            order[*at] = int(place);
            *at += 1;
        }
        self.order = self.put(order);
        self.starts = self.put(starts);
        self.which = self.put(which);
    }
}

pub(super) struct Batch {
    lent: Lent,
    pub(super) n: Numbers,
    pub(super) attention: Attention,
}

impl Batch {
    pub(super) fn send(gpu: &Gpu, (net, kind): (&Net, NumberType), work: &[&Work]) -> Done<Self> {
        let tiling = Tiling::new(net.architecture.head_dim, kind)?;
        let n = Numbers::new(work, net.architecture.vocab, tiling);
        let lent = gpu.lender.send(&gpu.device, &n.all)?;
        let attention = Attention {
            heads: Heads::new(net.joint),
            tiling,
            tiles: lent.at() + n.tiles as u64 * 4,
            tile_count: n.tile_count,
            tokens: n.rows,
        };
        Ok(Self { lent, n, attention })
    }

    fn at(&self, place: usize) -> u64 {
        self.lent.at() + place as u64 * 4
    }

    pub(super) fn tokens(&self) -> u64 {
        self.at(self.n.tokens)
    }

    pub(super) fn positions(&self) -> u64 {
        self.at(self.n.positions)
    }

    /// The rows that count, from the `first` on; nothing where all do.
    pub(super) fn counted(&self, first: usize) -> Option<u64> {
        (self.n.count < self.n.rows).then(|| self.at(self.n.counted + first))
    }

    /// Targets and weights of the rows that count, from the `first` on.
    pub(super) fn targets(&self, first: usize) -> (u64, u64) {
        let place = |at| self.at(at + first);
        (place(self.n.targets), place(self.n.weights))
    }

    /// Places token by token: order, starts and tokens; how many tokens.
    pub(super) fn by_token(&self) -> ((u64, u64, u64), usize) {
        let n = &self.n;
        let places = (self.at(n.order), self.at(n.starts), self.at(n.which));
        (places, n.groups)
    }

    /// The pack of every row, its place in the pack, the packs' seeds.
    pub(super) fn packs(&self) -> (u64, u64, u64) {
        let n = &self.n;
        (self.at(n.packs), self.at(n.places), self.at(n.seeds))
    }
}

/// Packs in groups of at most `most` tokens, in order; a pack that is longer stands alone.
pub(super) fn groups<'a>(work: &[&'a Work], most: usize) -> Vec<Vec<&'a Work>> {
    let mut out: Vec<Vec<&Work>> = Vec::new();
    let mut room = 0;
    for &w in work {
        let tokens = w.packed.tokens.len();
        match out.last_mut() {
            Some(last) if tokens <= room => {
                last.push(w);
                room -= tokens;
            }
            _ => {
                out.push(vec![w]);
                room = most.saturating_sub(tokens);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Packed;

    fn work(tokens: &[u32], noise: u64) -> Work {
        Work {
            packed: Packed::from_window(tokens),
            noise: Some(noise),
        }
    }

    #[test]
    fn packs_lie_side_by_side_and_keep_their_own_places() {
        let mut a = work(&[3, 1, 3, 2], 0x1_0000_0002);
        a.packed.targets[1].1 = 0.0;
        let b = work(&[1, 1, 0], 7);
        let n = Numbers::new(
            &[&a, &b],
            5,
            Tiling::new(32, NumberType::Single).expect("a width"),
        );
        let part = |at: usize, len: usize| n.all[at..at + len].to_vec();
        assert_eq!((n.rows, n.count, n.groups), (5, 4, 2));
        assert_eq!(part(n.seeds, 4), [2, 1, 7, 0]);
        assert_eq!(part(n.tokens, 5), [3, 1, 3, 1, 1]);
        assert_eq!(part(n.positions, 5), [0, 1, 2, 0, 1]);
        assert_eq!(part(n.packs, 5), [0, 0, 0, 1, 1]);
        assert_eq!(part(n.places, 5), [0, 1, 2, 0, 1]);
        assert_eq!(part(n.counted, 4), [0, 2, 3, 4]);
        assert_eq!(part(n.targets, 4), [1, 2, 1, 0]);
        assert_eq!(part(n.order, 5), [1, 3, 4, 0, 2]);
        assert_eq!(part(n.starts, 3), [0, 3, 5]);
        assert_eq!(part(n.which, 2), [1, 3]);
        assert_eq!(part(n.tiles, 6), [0, 3, 0, 3, 2, 0]);
    }

    #[test]
    fn groups_hold_what_fits_and_lose_nothing() {
        let all: Vec<Work> = [5, 4, 9, 2, 2]
            .iter()
            .map(|n| work(&vec![1; *n], 0))
            .collect();
        let all: Vec<&Work> = all.iter().collect();
        let sizes: Vec<Vec<usize>> = groups(&all, 7)
            .iter()
            .map(|g| g.iter().map(|w| w.packed.tokens.len()).collect())
            .collect();
        assert_eq!(sizes, [vec![4, 3], vec![8], vec![1, 1]]);
    }
}
