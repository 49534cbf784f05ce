//! Attention patterns of some rows: the weights that the attention kernel makes block by block and never keeps, computed
//! again from the queries and keys of the pass.

use super::changed::{Part, Seen};
use super::{BlockOf, Pass, Transformer, WorkOf};
use crate::kernels::Backend;

impl<B: Backend> Transformer<B> {
    /// What the rows that are watched attend to, head after head, each with a weight for every position up to the row's
    /// own. Queries lie in `qkv`, rotated, and keys in the cache.
    pub(super) fn patterns(
        &self,
        pass: &Pass<'_, '_, B>,
        block: &BlockOf<B>,
        cache: &B::Cache,
        work: &WorkOf<B>,
    ) {
        let Some((batch, watched)) = pass.following.and_then(|f| f.patterns(pass.layer)) else {
            return;
        };
        let (a, heads) = (&self.architecture, self.heads());
        let (width, kv, size) = (heads.qkv_width(), heads.kv_width(), heads.head_dim);
        let queries = self.backend.download(&work.qkv, pass.rows * width);
        let keys = self.backend.keys(cache, pass.store, pass.rows);
        let window = a.kinds.get(pass.layer).and_then(|kind| kind.window);
        let (mut seen, mut rows) = (Seen::new(), vec![]);
        for &row in watched {
            let inside = |s: &&crate::kernels::Segment| (s.first..s.first + s.len).contains(&row);
            let Some(segment) = batch.segments.iter().find(inside) else {
                continue;
            };
            let position = segment.position + row - segment.first;
            segment.rows_of(0, position + 1, &mut rows);
            let first = window.map_or(0, |window| (position + 1).saturating_sub(window));
            let mut weights = Vec::with_capacity(heads.heads * rows.len());
            for head in 0..heads.heads {
                let query = &queries[row * width + head * size..][..size];
                let column = head / heads.group() * size;
                let scores = rows.iter().enumerate().map(|(at, &key)| {
                    let key = &keys[key * kv + column..][..size];
                    let product: f32 = query.iter().zip(key).map(|(q, k)| q * k).sum();
                    let mut score = f64::from(product * a.attention.scale);
                    if let Some(cap) = a.attention.soft_cap.map(f64::from) {
                        score = cap * (score / cap).tanh();
                    }
                    let bias = self
                        .alibi
                        .as_ref()
                        .map_or(0.0, |alibi| alibi.bias(head, at));
                    match at < first {
                        true => f64::NEG_INFINITY,
                        false => score + f64::from(bias),
                    }
                });
                let scores: Vec<f64> = scores.collect();
                let sink = block.sinks.as_ref().and_then(|sinks| sinks.get(head));
                let sink = sink.map_or(f64::NEG_INFINITY, |s| f64::from(*s));
                let most = scores.iter().copied().fold(sink, f64::max);
                let total: f64 = scores.iter().map(|s| (s - most).exp()).sum();
                let total = total + (sink - most).exp();
                weights.extend(scores.iter().map(|s| ((s - most).exp() / total) as f32));
            }
            seen.insert(((pass.layer, Part::Pattern), row), weights);
        }
        if let Some(following) = pass.following {
            following.keep(seen);
        }
    }
}
