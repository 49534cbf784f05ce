//! The token tree: every distinct beginning of a set of sequences, once, and the order in which it is computed.
//!
//! The keys and values of a node depend on its beginning alone. The last token of a sequence needs no
//! computing: its probability comes from its parent. Nodes are numbered depth first; a *chunk* is a run of
//! them that fits one batch, and between chunks only the path to the next node is kept.

use crate::batch::Batch;
use crate::kernels::WantedToken;
use crate::vision::{PictureRows, Place};

/// A sequence whose tokens from `scored_from` on are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// All tokens, whatever stands at the start included.
    pub tokens: Vec<u32>,
    /// First token whose log-probability is wanted; at least 1.
    pub scored_from: usize,
}

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub struct Trie {
    tokens: Vec<u32>,
    parents: Vec<u32>,
    depths: Vec<u32>,
    scored: Vec<bool>,
    computed: Vec<bool>,
    ends: Vec<u32>,
    /// Where each node stands in time, height and width, where a model turns by all three.
    turns: Vec<[u32; 3]>,
    /// Nodes that are computed together with their parents; empty where there are none.
    bound: Vec<bool>,
    /// The most nodes that are bound to one another.
    longest: usize,
}

impl Trie {
    /// Builds the tree; with `share` false, sequences share nothing (for checking).
    pub fn new(sequences: &[Sequence], share: bool) -> Self {
        let mut order: Vec<usize> = (0..sequences.len()).collect();
        order.sort_by(|&a, &b| sequences[a].tokens.cmp(&sequences[b].tokens));
        let mut trie = Self {
            tokens: vec![],
            parents: vec![],
            depths: vec![],
            scored: vec![],
            computed: vec![],
            ends: vec![NONE; sequences.len()],
            turns: vec![],
            bound: vec![],
            longest: 0,
        };
        let mut path: Vec<u32> = vec![];
        for index in order {
            let sequence = &sequences[index];
            let both = path.iter().zip(&sequence.tokens);
            let same = both.take_while(|&(&node, &token)| trie.tokens[node as usize] == token);
            let same = same.count();
            path.truncate(if share { same } else { 0 });
            for &token in &sequence.tokens[path.len()..] {
                let node = trie.tokens.len() as u32;
                trie.tokens.push(token);
                trie.parents.push(path.last().copied().unwrap_or(NONE));
                trie.depths.push(path.len() as u32);
                path.push(node);
            }
            trie.scored.resize(trie.tokens.len(), false);
            for &node in path.iter().skip(sequence.scored_from.max(1)) {
                trie.scored[node as usize] = true;
            }
            trie.ends[index] = path.last().copied().unwrap_or(NONE);
        }
        trie.mark();
        trie
    }

    /// A node is computed when something below it is scored.
    fn mark(&mut self) {
        self.computed = vec![false; self.tokens.len()];
        for node in (0..self.tokens.len()).rev() {
            let parent = self.parents[node];
            if parent != NONE && (self.scored[node] || self.computed[node]) {
                self.computed[parent as usize] = true;
            }
        }
    }

    /// Binds rows of a picture that see one another; places every node by its token and its parent's place.
    pub(crate) fn place(&mut self, shown: &PictureRows) {
        self.longest = shown.longest();
        if self.longest > 0 {
            self.bound = self.tokens.iter().map(|&t| shown.bound(t)).collect();
        }
        if !shown.turns() {
            return;
        }
        let mut places: Vec<Place> = Vec::with_capacity(self.len());
        for (&token, &parent) in self.tokens.iter().zip(&self.parents) {
            let before = places.get(parent as usize).copied();
            places.push(shown.place(before, token));
        }
        self.turns = places.iter().map(|p| p.at).collect();
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn depth(&self) -> usize {
        self.depths.iter().max().map_or(0, |&d| d as usize + 1)
    }

    /// The nodes of a sequence's tokens from `from` on.
    pub fn path(&self, sequence: usize, from: usize) -> Vec<usize> {
        let mut nodes = vec![];
        let mut node = self.ends.get(sequence).copied().unwrap_or(NONE);
        while node != NONE && self.depths[node as usize] as usize >= from {
            nodes.push(node as usize);
            node = self.parents[node as usize];
        }
        nodes.reverse();
        nodes
    }

    /// Once all nodes below this number are done, every score of the sequence is there.
    pub fn finished_at(&self, sequence: usize) -> usize {
        // Neither a sequence without tokens nor a first token has a parent.
        let end = self.ends.get(sequence).copied().unwrap_or(NONE);
        let parent = self.parents.get(end as usize).copied().unwrap_or(NONE);
        parent.wrapping_add(1) as usize
    }
}

#[derive(Debug, Default)]
pub struct Chunk {
    pub batch: Batch,
    /// Rows of the batch after which something is scored.
    pub head_rows: Vec<usize>,
    /// What is scored, by place in `head_rows`.
    pub wanted: Vec<WantedToken>,
    pub nodes: Vec<usize>,
    /// Rows of the cache to move, in this order, before the next chunk.
    pub moves: Vec<(usize, usize)>,
    /// All nodes below this one are done.
    pub done: usize,
}

pub struct Chunks<'a> {
    trie: &'a Trie,
    children: Vec<Vec<u32>>,
    /// The last node below each that is computed; 0 where none is.
    last_below: Vec<u32>,
    next: usize,
    rows: usize,
    slots: Vec<u32>,
    /// Cache rows that hold the path to the next node.
    path: usize,
}

impl<'a> Chunks<'a> {
    /// Chunks of at most `rows` nodes.
    pub fn new(trie: &'a Trie, rows: usize) -> Self {
        let mut children: Vec<Vec<u32>> = vec![vec![]; trie.len()];
        for (node, &parent) in trie.parents.iter().enumerate() {
            if trie.scored[node] && parent != NONE {
                children[parent as usize].push(node as u32);
            }
        }
        let mut last_below = vec![0; trie.len()];
        for (node, &parent) in trie.parents.iter().enumerate() {
            if trie.computed[node] && parent != NONE {
                last_below[parent as usize] = node as u32;
            }
        }
        Self {
            trie,
            children,
            last_below,
            next: 0,
            rows: rows.max(1),
            slots: vec![NONE; trie.len()],
            path: 0,
        }
    }

    pub fn cache_rows(&self) -> usize {
        self.trie.depth() + (self.rows + self.trie.longest).min(self.trie.len())
    }

    /// Nodes of the tree, computed or not.
    pub fn nodes(&self) -> usize {
        self.trie.len()
    }

    fn skip(&mut self) {
        while self.next < self.trie.len() && !self.trie.computed[self.next] {
            self.next += 1;
        }
    }

    /// Extends the chunk by the run of nodes that starts at `next` and follows one another.
    fn run(&mut self, chunk: &mut Chunk, runs: &mut Vec<(usize, Vec<(usize, usize)>)>) {
        let first = self.next;
        let parent = self.trie.parents[first];
        let past = match parent {
            NONE => vec![],
            parent => self.past(parent as usize, runs),
        };
        let slot = self.path + chunk.batch.len();
        let room = self.rows - chunk.batch.len();
        let mut tokens = vec![];
        let turns = self.trie.turns.as_slice();
        let mut last = first;
        loop {
            self.slots[last] = (slot + tokens.len()) as u32;
            if !self.children[last].is_empty() {
                let row = chunk.head_rows.len() as u32;
                chunk.head_rows.push(chunk.batch.len() + tokens.len());
                for &child in &self.children[last] {
                    chunk.wanted.push(WantedToken {
                        row,
                        token: self.trie.tokens[child as usize],
                    });
                    chunk.nodes.push(child as usize);
                }
            }
            tokens.push(self.trie.tokens[last]);
            chunk.batch.turns.extend(turns.get(last));
            self.next = last + 1;
            self.skip();
            let follows = self.trie.parents.get(self.next) == Some(&(last as u32));
            let bound = self.trie.bound.get(self.next) == Some(&true);
            if !follows || (tokens.len() >= room && !bound) {
                break;
            }
            last = self.next;
        }
        chunk.batch.push(&tokens, &past, slot);
        if let Some(segment) = chunk.batch.segments.last() {
            runs.push((first, segment.spans.clone()));
        }
    }

    /// The spans of the cache that hold the beginning which ends in `node`.
    fn past(&self, node: usize, runs: &[(usize, Vec<(usize, usize)>)]) -> Vec<(usize, usize)> {
        let depth = self.trie.depths[node] as usize + 1;
        let slot = self.slots[node] as usize;
        if slot < self.path {
            return vec![(0, depth)];
        }
        // The run that holds the node is the last one that starts at or before it.
        let at = runs.partition_point(|(first, _)| *first <= node);
        let mut left = depth;
        let mut past = vec![];
        for &(first, len) in runs.get(at.wrapping_sub(1)).map_or(&[][..], |(_, s)| s) {
            let take = len.min(left);
            if take > 0 {
                past.push((first, take));
            }
            left -= take;
        }
        past
    }

    /// What the cache must keep for the next node: its path, at rows 0, 1, 2, …
    fn keep_path(&mut self, chunk: &mut Chunk) {
        if self.next >= self.trie.len() {
            self.path = 0;
            return;
        }
        let depth = self.trie.depths[self.next] as usize;
        let mut node = self.trie.parents[self.next];
        let mut moves = vec![];
        for row in (0..depth).rev() {
            let slot = self.slots[node as usize] as usize;
            if self.last_below[node as usize] as usize >= self.next {
                chunk.batch.needed.push(slot);
            }
            if slot != row {
                moves.push((slot, row));
                self.slots[node as usize] = row as u32;
            }
            node = self.trie.parents[node as usize];
        }
        // From the beginning of the path on: a row moves towards the front, never onto one that is
        // still to be moved.
        moves.reverse();
        chunk.moves = moves;
        self.path = depth;
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        self.skip();
        if self.next >= self.trie.len() {
            return None;
        }
        let mut chunk = Chunk::default();
        let mut runs = vec![];
        while self.next < self.trie.len() && chunk.batch.len() < self.rows {
            self.run(&mut chunk, &mut runs);
        }
        self.keep_path(&mut chunk);
        chunk.done = self.next;
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sequence(tokens: &[u32], scored_from: usize) -> Sequence {
        Sequence {
            tokens: tokens.to_vec(),
            scored_from,
        }
    }

    #[test]
    fn shared_beginnings_are_computed_once_and_last_tokens_never() {
        let all = [
            sequence(&[1, 2, 3, 4], 1),
            sequence(&[1, 2, 5], 1),
            sequence(&[1, 2, 3, 6], 1),
        ];
        let trie = Trie::new(&all, true);
        assert_eq!(trie.len(), 6);
        let computed = |trie: &Trie| trie.computed.iter().filter(|&&c| c).count();
        assert_eq!(computed(&trie), 3);
        assert_eq!(computed(&Trie::new(&all, false)), 8);
    }

    #[test]
    fn only_what_is_scored_is_projected() {
        let trie = Trie::new(
            &[sequence(&[1, 2, 3, 4, 5], 4), sequence(&[1, 2, 3, 4, 6], 4)],
            true,
        );
        let chunk = Chunks::new(&trie, 100).next().unwrap();
        assert_eq!(chunk.batch.tokens, [1, 2, 3, 4]);
        assert_eq!(chunk.head_rows, [3]);
        assert_eq!(chunk.wanted.len(), 2);
    }

    /// Follows the plan with a cache that remembers tokens, and checks that every row sees exactly
    /// the tokens before it.
    fn follow(sequences: &[Sequence], rows: usize, share: bool) {
        let trie = Trie::new(sequences, share);
        let chunks = Chunks::new(&trie, rows);
        let mut cache = vec![u32::MAX; chunks.cache_rows()];
        let mut seen = vec![None; trie.len()];
        for chunk in chunks {
            let batch = &chunk.batch;
            assert!(batch.len() <= rows);
            for (&slot, &token) in batch.slots.iter().zip(&batch.tokens) {
                cache[slot] = token;
            }
            for segment in &batch.segments {
                for i in 0..segment.len {
                    let mut keys = vec![];
                    segment.rows_of(0, segment.position + i + 1, &mut keys);
                    let text: Vec<u32> = keys.iter().map(|&k| cache[k]).collect();
                    let row = segment.first + i;
                    for (j, want) in chunk.wanted.iter().enumerate() {
                        if chunk.head_rows[want.row as usize] == row {
                            let mut whole = text.clone();
                            whole.push(want.token);
                            seen[chunk.nodes[j]] = Some(whole);
                        }
                    }
                }
            }
            for &(from, to) in &chunk.moves {
                cache[to] = cache[from];
            }
            for (i, s) in sequences.iter().enumerate() {
                if trie.finished_at(i) <= chunk.done {
                    assert!(
                        trie.path(i, s.scored_from)
                            .iter()
                            .all(|&n| seen[n].is_some())
                    );
                }
            }
        }
        for (i, s) in sequences.iter().enumerate() {
            for (j, node) in trie.path(i, s.scored_from).into_iter().enumerate() {
                let upto = s.scored_from + j + 1;
                assert_eq!(
                    seen[node].as_deref(),
                    Some(&s.tokens[..upto]),
                    "sequence {i}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn every_scored_token_sees_exactly_what_came_before_it(
            texts in prop::collection::vec(
                (prop::collection::vec(0u32..3, 1..9), 1usize..5), 1..24),
            rows in 1usize..20,
            share: bool,
        ) {
            let all: Vec<Sequence> =
                texts.into_iter().map(|(t, from)| sequence(&t, from)).collect();
            follow(&all, rows, share);
        }
    }
}
