//! Attention that scores distances beside keys, and attention to a source. Each row is computed by itself.

use std::ops::Range;

use rayon::prelude::*;

use super::attention::LayerCache;
use super::simd::{dot, exp, madd, widest};
use crate::batch::Batch;
use crate::kernels::{AttentionSettings, Heads, RelativeOf};

pub fn attend(
    qkv: &[f32],
    cache: LayerCache<'_>,
    batch: &Batch,
    heads: &Heads,
    (settings, relative): (&AttentionSettings<'_>, &RelativeOf),
    out: &mut [f32],
) {
    let width = heads.q_width();
    let segment_of = |row: usize| {
        let at = batch.segments.partition_point(|s| s.first <= row) - 1;
        &batch.segments[at]
    };
    let work = |(row, out): (usize, &mut [f32])| {
        let segment = segment_of(row);
        let position = segment.position + row - segment.first;
        let seen = match settings.causal {
            true => position + 1,
            false => segment.keys(),
        };
        let mut rows = vec![];
        segment.rows_of(0, seen, &mut rows);
        let query = &qkv[row * heads.qkv_width()..][..width];
        let places: Vec<usize> = (0..seen)
            .map(|key| relative.row(position as isize - key as isize))
            .collect();
        one(
            query,
            cache,
            (&rows, &places),
            heads,
            (settings.scale, Some(relative)),
            out,
        );
    };
    out.par_chunks_mut(width).enumerate().for_each(work);
}

/// Rows of queries see all keys of the source that stands beside their range; the ranges follow one another.
pub fn across(
    queries: &[f32],
    heads: &Heads,
    scale: f32,
    sources: &[(Range<usize>, LayerCache<'_>)],
) -> Vec<f32> {
    let width = heads.q_width();
    let mut out = vec![0.0; queries.len()];
    let work = |(row, out): (usize, &mut [f32])| {
        let at = sources.partition_point(|(rows, _)| rows.end <= row);
        let Some((_, source)) = sources.get(at) else {
            return;
        };
        let rows: Vec<usize> = (0..source.keys.len() / heads.kv_width()).collect();
        let query = &queries[row * width..][..width];
        one(query, *source, (&rows, &rows), heads, (scale, None), out);
    };
    out.par_chunks_mut(width).enumerate().for_each(work);
    out
}

widest! {
    /// One row: what all its heads give.
    fn one(
        query: &[f32], cache: LayerCache<'_>, seen: (&[usize], &[usize]), heads: &Heads,
        by: (f32, Option<&RelativeOf>), out: &mut [f32],
    ) = one_inner
}

#[inline(always)]
fn one_inner<const FMA: bool>(
    query: &[f32],
    cache: LayerCache<'_>,
    (rows, places): (&[usize], &[usize]),
    heads: &Heads,
    (scale, relative): (f32, Option<&RelativeOf>),
    out: &mut [f32],
) {
    let (width, dim) = (heads.q_width(), heads.head_dim);
    let mut scores = vec![0.0; rows.len()];
    for head in 0..heads.heads {
        let own = head * dim..(head + 1) * dim;
        let kv = head / heads.group() * dim;
        let query = &query[own.clone()];
        let mut most = f32::NEG_INFINITY;
        for ((score, &row), &place) in scores.iter_mut().zip(rows).zip(places) {
            let key = &cache.keys[row * heads.kv_width() + kv..][..dim];
            let near = dot::<FMA>(query, key);
            *score = match relative {
                None => near * scale,
                Some(relative) if !relative.biases.is_empty() => {
                    near * scale + relative.biases[place * heads.heads + head]
                }
                Some(relative) => {
                    let far_key = &relative.keys[place * width + own.start..][..dim];
                    let far_query = &relative.queries[place * width + own.start..][..dim];
                    (near + dot::<FMA>(query, far_key) + dot::<FMA>(far_query, key)) * scale
                }
            };
            most = most.max(*score);
        }
        let mut total = 0.0;
        for score in &mut scores {
            *score = exp::<FMA>(*score - most);
            total += *score;
        }
        let out = &mut out[own];
        out.fill(0.0);
        for (score, &row) in scores.iter().zip(rows) {
            let value = &cache.values[row * heads.kv_width() + kv..][..dim];
            let share = score / total;
            for (y, v) in out.iter_mut().zip(value) {
                *y = madd::<FMA>(share, *v, *y);
            }
        }
    }
}
