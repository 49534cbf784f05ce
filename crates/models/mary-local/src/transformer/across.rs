//! A decoder that answers a source: its blocks also attend to what the encoder made of it. A target's first token names
//! its source, and stands for the token that all targets start with.

use std::collections::HashMap;
use std::ops::Range;

use super::{AcrossOf, Batch, Pass, Transformer, WorkOf};
use crate::errors::{Result, internal};
use crate::kernels::cpu::attention::LayerCache;
use crate::kernels::cpu::relative;
use crate::kernels::{Backend, Extent};
use crate::vision::FIRST_SHOWN;

/// Keys and values of a source in one block.
#[derive(Default)]
struct Seen {
    keys: Vec<f32>,
    values: Vec<f32>,
}

#[derive(Default)]
pub(crate) struct Sources<T> {
    /// The source of a target, by the cache row of its first token.
    roots: HashMap<usize, u32>,
    /// Rows of this pass with their sources, in order.
    rows: Vec<(Range<usize>, u32)>,
    /// Sources of this pass whose keys and values are not known, with how many rows each has, and those rows.
    fresh: Vec<(u32, usize)>,
    states: T,
    /// By source and block, while targets are written: each token asks again.
    kept: HashMap<u32, Vec<Seen>>,
}

impl<T> Sources<T> {
    pub fn move_rows(&mut self, moves: &[(usize, usize)]) {
        for (from, to) in moves {
            if let Some(&source) = self.roots.get(from) {
                self.roots.insert(*to, source);
            }
        }
    }
}

impl<B: Backend> Transformer<B> {
    /// Finds the sources of a batch, and gives the batch with what every target starts with in their place.
    pub(super) fn sources(&self, batch: &Batch, start: u32, work: &mut WorkOf<B>) -> Result<Batch> {
        let shown = work.shown.clone().unwrap_or_default();
        let sources = &mut work.sources;
        for (&token, &slot) in batch.tokens.iter().zip(&batch.slots) {
            if token >= FIRST_SHOWN {
                sources.roots.insert(slot, token);
            }
        }
        (sources.rows, sources.fresh) = (vec![], vec![]);
        for segment in &batch.segments {
            let root = segment.spans.first().map(|(slot, _)| slot);
            let source = root.and_then(|slot| sources.roots.get(slot));
            let source = *source.ok_or_else(|| internal("a target was read without its source"))?;
            let rows = segment.first..segment.first + segment.len;
            sources.rows.push((rows, source));
        }
        if batch.writing {
            let here = |source: &u32| sources.rows.iter().any(|(_, s)| s == source);
            sources.kept.retain(|source, _| here(source));
        }
        let mut states = vec![];
        for (_, source) in &sources.rows {
            let known = sources.kept.contains_key(source);
            if !known && sources.fresh.iter().all(|(other, _)| other != source) {
                let read = shown.whole(*source);
                sources
                    .fresh
                    .push((*source, read.len() / self.architecture.hidden));
                states.extend_from_slice(read);
            }
        }
        self.backend.upload(&states, &mut sources.states);
        let word = |token: &u32| if *token < FIRST_SHOWN { *token } else { start };
        Ok(Batch {
            tokens: batch.tokens.iter().map(word).collect(),
            ..batch.clone()
        })
    }

    /// Adds to the stream what a block sees of the sources.
    pub(super) fn attend_across(
        &self,
        across: &AcrossOf<B>,
        pass: &Pass<'_, '_, B>,
        work: &mut WorkOf<B>,
    ) {
        let (b, heads, of) = (&self.backend, self.heads(), work.extent(pass.rows));
        b.norm(&work.x, pass.rows, &across.norm, &mut work.normed);
        b.linear(&work.normed, of, &across.queries, &mut work.qkv, false);
        let queries = b.download(&work.qkv, pass.rows * heads.q_width());
        let Sources {
            rows,
            fresh,
            states,
            kept,
            ..
        } = &mut work.sources;
        let count: usize = fresh.iter().map(|(_, count)| count).sum();
        let mut now: HashMap<u32, Seen> = HashMap::new();
        if count > 0 {
            let both = 2 * heads.kv_width();
            // As what is read: a source is the same whoever answers it.
            b.linear(
                states,
                Extent::reading(count),
                &across.source,
                &mut work.wide,
                false,
            );
            let all = b.download(&work.wide, count * both);
            let mut all = all.chunks_exact(both);
            for (source, count) in fresh.iter() {
                let seen = now.entry(*source).or_default();
                for row in all.by_ref().take(*count) {
                    let (keys, values) = row.split_at(heads.kv_width());
                    seen.keys.extend_from_slice(keys);
                    seen.values.extend_from_slice(values);
                }
            }
        }
        let find = |source: &u32| {
            let kept = kept.get(source).and_then(|layers| layers.get(pass.layer));
            let seen = now.get(source).or(kept);
            LayerCache {
                keys: seen.map_or(&[][..], |s| &s.keys),
                values: seen.map_or(&[][..], |s| &s.values),
            }
        };
        let seen: Vec<_> = rows
            .iter()
            .map(|(rows, s)| (rows.clone(), find(s)))
            .collect();
        let attended = relative::across(&queries, &heads, self.architecture.attention.scale, &seen);
        b.upload(&attended, &mut work.attended);
        b.linear(&work.attended, of, &across.out, &mut work.x, true);
        if work.writing {
            for (source, seen) in now {
                kept.entry(source).or_default().push(seen);
            }
        }
    }
}
