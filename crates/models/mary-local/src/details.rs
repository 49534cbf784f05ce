//! What whole distributions tell of scored tokens. A device that cannot look at them hands over its logits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mary_contract::{Details, TokenDetails};
use rayon::prelude::*;

use crate::engine::Session;
use crate::errors::Result;
use crate::kernels::cpu::head::{Distribution, above};
use crate::kernels::{Look, Looked, TokenStatistics};
use crate::trie::Chunk;

const ROWS: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct Distributions {
    /// One for each token that begins a word, else zero.
    marks: Option<Vec<f32>>,
    ranks: bool,
    alternatives: usize,
    /// By node of the tree; few ask for them, so they are no part of what every token has.
    likeliest: Mutex<HashMap<usize, Vec<(u32, f32)>>>,
}

impl Distributions {
    /// `starts` are the tokens of a vocabulary that begin a word, where tokens tell.
    pub fn new(starts: Option<&[bool]>, vocabulary: usize, ranks: bool) -> Self {
        let marks = starts.map(|starts| {
            let mark = |token: usize| f32::from(u8::from(starts.get(token) == Some(&true)));
            (0..vocabulary).map(mark).collect()
        });
        Self {
            marks,
            ranks,
            ..Self::default()
        }
    }

    /// Keeps so many of the likeliest tokens in each place, too.
    pub fn with_alternatives(self, alternatives: usize) -> Self {
        Self {
            alternatives,
            ..self
        }
    }

    /// The likeliest tokens in the places of some nodes, the first `most` of those kept.
    pub fn alternatives(&self, nodes: &[usize], most: u32) -> Vec<Vec<(u32, f32)>> {
        let kept = self
            .likeliest
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let at = |node: &usize| {
            let all = kept.get(node).map(Vec::as_slice).unwrap_or_default();
            all[..all.len().min(most as usize)].to_vec()
        };
        nodes.iter().map(at).collect()
    }

    pub fn at(&self, session: &mut Session<'_>, chunk: &Chunk) -> Result<Looked> {
        let look = Look {
            marks: self.marks.as_deref(),
            ranks: self.ranks,
        };
        if self.alternatives == 0
            && let Some(told) = session.look(&chunk.head_rows, &chunk.wanted, look)?
        {
            return Ok(told);
        }
        let (mut values, mut seen) = (vec![], vec![]);
        let mut rest = chunk.wanted.as_slice();
        for (block, rows) in chunk.head_rows.chunks(ROWS).enumerate() {
            let logits = session.logits(rows)?;
            let width = logits.len() / rows.len().max(1);
            // Wanted tokens stand in the order of their rows.
            let end = ((block + 1) * ROWS) as u32;
            let (wanted, later) = rest.split_at(rest.partition_point(|want| want.row < end));
            rest = later;
            let rows = logits.par_chunks_exact(width.max(1));
            let rows: Vec<Distribution> =
                rows.map(|x| Distribution::from_logits(x, look)).collect();
            let told: Vec<(f32, TokenStatistics)> = wanted
                .par_iter()
                .map(|want| {
                    let at = want.row as usize - block * ROWS;
                    let logits = &logits[at * width..(at + 1) * width];
                    let Some(&own) = logits.get(want.token as usize) else {
                        return (f32::NAN, TokenStatistics::default());
                    };
                    let rank = match look.ranks {
                        true => above(logits, own) + 1,
                        false => 0,
                    };
                    rows[at].token(own, rank, look)
                })
                .collect();
            if self.alternatives > 0 {
                let best = rows.iter().enumerate().map(|(at, distribution)| {
                    let logits = &logits[at * width..(at + 1) * width];
                    let best = best(logits, self.alternatives);
                    let told = best.into_iter().map(|token| {
                        let own = logits[token as usize];
                        (token, distribution.token(own, 0, look).0)
                    });
                    told.collect::<Vec<_>>()
                });
                let best: Vec<_> = best.collect();
                let nodes = &chunk.nodes[values.len()..][..wanted.len()];
                let mut kept = self
                    .likeliest
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                kept.extend(
                    nodes.iter().zip(wanted).map(|(&node, want)| {
                        (node, best[want.row as usize - block * ROWS].clone())
                    }),
                );
            }
            values.extend(told.iter().map(|t| t.0));
            seen.extend(told.iter().map(|t| t.1));
        }
        Ok((values, seen))
    }
}

/// The `k` tokens with the largest logits, the largest first; of equal ones the smaller id. Numbers that are none come
/// last: the score of the place is an error anyway.
pub(crate) fn best(logits: &[f32], k: usize) -> Vec<u32> {
    let before = |a: &u32, b: &u32| {
        let (x, y) = (logits[*a as usize], logits[*b as usize]);
        y.total_cmp(&x).then(a.cmp(b))
    };
    let mut order: Vec<u32> = (0..logits.len() as u32).collect();
    if k < order.len() {
        order.select_nth_unstable_by(k, before);
        order.truncate(k);
    }
    order.sort_unstable_by(before);
    order
}

/// Of what was `seen` there is one more than of tokens where what follows the last one was looked at.
pub(crate) fn told(
    asked: Details,
    places: &[(u32, u32)],
    seen: &[TokenStatistics],
) -> Option<Box<TokenDetails>> {
    if asked.is_none() {
        return None;
    }
    let tokens = seen.get(..places.len()).unwrap_or_default();
    let mut details = TokenDetails::default();
    if asked.places {
        details.places = places.to_vec();
    }
    if asked.entropy {
        details.entropy = tokens.iter().map(|s| s.entropy).collect();
    }
    if asked.rank {
        details.rank = tokens.iter().map(|s| s.rank).collect();
    }
    // A mass of nothing has no logarithm; no number is made up for it.
    if asked.word_starts && seen.iter().all(|s| s.word_start.is_finite()) {
        details.word_starts = seen.iter().map(|s| s.word_start).collect();
    }
    Some(Box::new(details))
}
