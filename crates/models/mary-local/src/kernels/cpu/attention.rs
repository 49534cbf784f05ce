//! Attention as one kernel, parallel over segments and key heads. Scores are computed block by block with a
//! running softmax, so nothing grows with the square of the length.
//!
//! A query's result depends on its own keys alone, to the last bit: blocks begin at multiples of [`KEYS`]
//! whatever the segment, and both ways of making scores add in the order of [`dot`]. So a text has the same
//! score alone, among others, behind a shared beginning and in any shard of a run.

use rayon::prelude::*;

use super::simd::{dot, exp, madd, max, sum, widest};
use super::target::Shared;
use super::team;
use crate::kernels::{AttentionSettings, Heads, Segment};

const KEYS: usize = 64;
const QUERIES: usize = 4;
/// Query rows (positions × heads of a group) a task takes at most.
const TASK_ROWS: usize = 96;
/// Below this many query rows, scores are plain dot products and keys are not transposed.
const FEW: usize = 9;

#[derive(Clone, Copy)]
pub struct LayerCache<'a> {
    pub keys: &'a [f32],
    pub values: &'a [f32],
}

/// One piece of work: some queries of a segment, one key head.
struct Task<'a> {
    segment: &'a Segment,
    first: usize,
    count: usize,
    kv_head: usize,
}

/// Below this, as when a token is written, waking rayon's threads would cost more than the work.
const FEW_TASKS: usize = 32;

/// Attends: `qkv` holds a row for each position of the batch, `out` gets the heads side by side.
pub fn attend(
    qkv: &[f32],
    cache: LayerCache<'_>,
    segments: &[Segment],
    heads: &Heads,
    settings: &AttentionSettings<'_>,
    out: &mut [f32],
) {
    let most = (TASK_ROWS / heads.group()).max(1);
    let mut tasks = Vec::with_capacity(segments.len() * heads.kv_heads);
    for segment in segments {
        for first in (0..segment.len).step_by(most) {
            let count = most.min(segment.len - first);
            for kv_head in 0..heads.kv_heads {
                tasks.push(Task {
                    segment,
                    first,
                    count,
                    kv_head,
                });
            }
        }
    }
    let place = Shared(out.as_mut_ptr());
    let length = out.len();
    // So are the last tokens of many answers that are written together.
    let few = tasks.len() < FEW_TASKS || segments.iter().all(|s| s.len == 1);
    if few {
        let share = tasks
            .len()
            .div_ceil(4 * rayon::current_num_threads())
            .max(1);
        return team::each(tasks.len().div_ceil(share), 1, |i| {
            // SAFETY: as below.
            let out = unsafe { std::slice::from_raw_parts_mut(place.pointer(), length) };
            let scratch = &mut Scratch::default();
            for task in tasks.iter().skip(i * share).take(share) {
                run(task, qkv, cache, heads, settings, scratch, out);
            }
        });
    }
    tasks
        .par_iter()
        .with_min_len(8.min(tasks.len() / 8).max(1))
        .for_each_init(Scratch::default, |scratch, task| {
            // SAFETY: every task writes the heads of its own group in its own rows.
            let out = unsafe { std::slice::from_raw_parts_mut(place.pointer(), length) };
            run(task, qkv, cache, heads, settings, scratch, out);
        });
}

#[derive(Default)]
struct Scratch {
    queries: Vec<f32>,
    transposed: Vec<f32>,
    scores: Vec<f32>,
    sums: Vec<f32>,
    row_max: Vec<f32>,
    totals: Vec<f32>,
    rows: Vec<usize>,
}

widest! {
    fn run(
        task: &Task<'_>,
        qkv: &[f32],
        cache: LayerCache<'_>,
        heads: &Heads,
        settings: &AttentionSettings<'_>,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) = run_inner
}

#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "the inside of one kernel, called from one place"
)]
fn run_inner<const FMA: bool>(
    task: &Task<'_>,
    qkv: &[f32],
    cache: LayerCache<'_>,
    heads: &Heads,
    settings: &AttentionSettings<'_>,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    let (width, group, kv_width) = (heads.head_dim, heads.group(), heads.kv_width());
    let padded = width.next_multiple_of(16);
    let rows = task.count * group;
    let first_row = task.segment.first + task.first;
    let sight = Sight {
        settings,
        group,
        position: task.segment.position + task.first,
        row: first_row,
        keys: task.segment.keys(),
    };
    let end = (0..rows).map(|row| sight.end(row)).max().unwrap_or(0);
    // A block's edges must not depend on which queries are computed together.
    let begin = (0..rows).map(|row| sight.begin(row)).min().unwrap_or(0);
    scratch.prepare(rows.next_multiple_of(QUERIES), width, padded);
    let Scratch {
        queries,
        transposed,
        scores,
        sums,
        row_max,
        totals,
        rows: key_rows,
    } = scratch;
    for r in 0..rows {
        let head = task.kv_head * group + r % group;
        let from = &qkv[(first_row + r / group) * heads.qkv_width() + head * width..][..width];
        for (q, x) in queries[r * width..][..width].iter_mut().zip(from) {
            *q = x * settings.scale;
        }
        if let Some(sinks) = settings.sinks {
            (row_max[r], totals[r]) = (sinks[head], 1.0);
        }
    }
    let column = task.kv_head * width;
    for block in (begin / KEYS * KEYS..end).step_by(KEYS) {
        let count = KEYS.min(end - block);
        task.segment.rows_of(block, count, key_rows);
        let span = count.next_multiple_of(16);
        if rows >= FEW {
            transpose(
                cache.keys, key_rows, kv_width, column, width, span, transposed,
            );
        }
        for r in (0..rows).step_by(QUERIES) {
            let here = r..rows.min(r + QUERIES);
            // What none of these rows sees is left out: it would be weighed with zero.
            let farthest = here.clone().map(|row| sight.end(row)).max().unwrap_or(0);
            let count = farthest.saturating_sub(block).min(count);
            if count == 0 {
                continue;
            }
            let span = count.next_multiple_of(16);
            let key_rows = &key_rows[..count];
            let scores = &mut scores[..QUERIES * KEYS];
            if rows >= FEW {
                score_block::<FMA>(&queries[r * width..], width, transposed, span, scores);
            } else {
                for row in here.clone() {
                    let query = &queries[row * width..][..width];
                    for (j, &key) in key_rows.iter().enumerate() {
                        let key = &cache.keys[key * kv_width + column..][..width];
                        scores[(row - r) * KEYS + j] = dot::<FMA>(query, key);
                    }
                }
            }
            for row in here {
                let line = &mut scores[(row - r) * KEYS..][..span];
                let head = task.kv_head * group + row % group;
                sight.hide::<FMA>(line, (row, head), (block, count));
                let sums = &mut sums[row * padded..][..padded];
                soften::<FMA>(line, &mut row_max[row], &mut totals[row], sums);
            }
            let sums = &mut sums[r * padded..][..QUERIES * padded];
            let shape = (kv_width, column, width);
            weigh::<FMA>(scores, cache.values, key_rows, shape, padded, sums);
        }
    }
    for r in 0..rows {
        let head = task.kv_head * group + r % group;
        let to = &mut out[(first_row + r / group) * heads.q_width() + head * width..][..width];
        let share = totals[r].recip();
        for (y, x) in to.iter_mut().zip(&sums[r * padded..]) {
            *y = x * share;
        }
    }
}

struct Sight<'a> {
    settings: &'a AttentionSettings<'a>,
    group: usize,
    /// Position of the first query, and its row of the batch.
    position: usize,
    row: usize,
    keys: usize,
}

impl Sight<'_> {
    /// The positions of the picture that a row is part of: it sees the whole of it, what follows it too.
    #[inline(always)]
    fn reach(&self, row: usize) -> (usize, usize) {
        let reach = self.settings.reach.get(self.row + row / self.group);
        reach.copied().unwrap_or((usize::MAX, 0))
    }

    #[inline(always)]
    fn begin(&self, row: usize) -> usize {
        let Some(window) = self.settings.window else {
            return 0;
        };
        let position = self.position + row / self.group;
        (position + 1).saturating_sub(window).min(self.reach(row).0)
    }

    #[inline(always)]
    fn end(&self, row: usize) -> usize {
        match self.settings.causal {
            true => (self.position + row / self.group + 1).max(self.reach(row).1),
            false => match self.settings.window {
                Some(window) => self.keys.min(self.position + row / self.group + window),
                None => self.keys,
            },
        }
    }

    /// The scores of a row in a block of keys with their cap and their biases; what it does not see is hidden.
    #[inline(always)]
    fn hide<const FMA: bool>(
        &self,
        line: &mut [f32],
        (row, head): (usize, usize),
        (block, count): (usize, usize),
    ) {
        if let Some(cap) = self.settings.soft_cap {
            for s in line[..count].iter_mut() {
                *s = cap * (1.0 - 2.0 / (exp::<FMA>(*s * 2.0 / cap) + 1.0));
            }
        }
        if let Some(alibi) = self.settings.alibi {
            for (j, s) in line[..count].iter_mut().enumerate() {
                *s += alibi.bias(head, block + j);
            }
        }
        let last = self.end(row).saturating_sub(block);
        line[last.min(count)..].fill(f32::NEG_INFINITY);
        let first = self.begin(row).saturating_sub(block);
        let span = line.len();
        line[..first.min(span)].fill(f32::NEG_INFINITY);
    }
}

/// What was summed up before shrinks where the largest score so far has grown.
#[inline(always)]
fn soften<const FMA: bool>(line: &mut [f32], row_max: &mut f32, total: &mut f32, sums: &mut [f32]) {
    let most = max(line).max(*row_max);
    if most == f32::NEG_INFINITY {
        return line.fill(0.0);
    }
    for s in line.iter_mut() {
        *s = exp::<FMA>(*s - most);
    }
    let new = sum(line);
    // Before a row's first block there is nothing to shrink.
    *total = match *row_max {
        f32::NEG_INFINITY => new,
        before => {
            let shrink = exp::<FMA>(before - most);
            if shrink != 1.0 {
                sums.iter_mut().for_each(|x| *x *= shrink);
            }
            madd::<FMA>(*total, shrink, new)
        }
    };
    *row_max = most;
}

impl Scratch {
    fn prepare(&mut self, rows: usize, width: usize, padded: usize) {
        let refill = |v: &mut Vec<f32>, len: usize, x: f32| {
            v.clear();
            v.resize(len, x);
        };
        refill(&mut self.queries, rows * width, 0.0);
        refill(&mut self.sums, rows * padded, 0.0);
        refill(&mut self.row_max, rows, f32::NEG_INFINITY);
        refill(&mut self.totals, rows, 0.0);
        self.transposed.resize(width * KEYS, 0.0);
        self.scores.resize(QUERIES * KEYS, 0.0);
    }
}

/// Keys of a block with one dimension after another, so that scores of sixteen keys are one vector.
#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "the inside of one kernel, called from one place"
)]
fn transpose(
    keys: &[f32],
    rows: &[usize],
    stride: usize,
    column: usize,
    width: usize,
    span: usize,
    out: &mut [f32],
) {
    for (j, &row) in rows.iter().enumerate() {
        let key = &keys[row * stride + column..][..width];
        for (d, &x) in key.iter().enumerate() {
            out[d * KEYS + j] = x;
        }
    }
    for j in rows.len()..span {
        for d in 0..width {
            out[d * KEYS + j] = 0.0;
        }
    }
}

/// Scores of four query rows against up to 64 keys, each added in the order of [`dot`]: sixteen sums of
/// every sixteenth product, added pairwise, and then what is left of a width that is no multiple of sixteen.
#[inline(always)]
fn score_block<const FMA: bool>(
    queries: &[f32],
    width: usize,
    keys: &[f32],
    span: usize,
    scores: &mut [f32],
) {
    let whole = width / 16 * 16;
    for j in (0..span).step_by(16) {
        let block = Block {
            queries,
            width,
            keys: &keys[j..],
        };
        let mut lines = if whole == 0 {
            [[0.0; 16]; QUERIES]
        } else {
            plus(block.eight::<FMA>(0, whole), block.eight::<FMA>(1, whole))
        };
        if whole < width {
            lines = plus(lines, block.rest(whole));
        }
        for (row, lanes) in lines.iter().enumerate() {
            scores[row * KEYS + j..][..16].copy_from_slice(lanes);
        }
    }
}

/// Scores of four queries, each against sixteen keys.
type Lines = [[f32; 16]; QUERIES];

#[inline(always)]
fn plus(mut a: Lines, b: Lines) -> Lines {
    for (a, b) in a.iter_mut().zip(&b) {
        for i in 0..16 {
            a[i] += b[i];
        }
    }
    a
}

#[derive(Clone, Copy)]
struct Block<'a> {
    queries: &'a [f32],
    width: usize,
    keys: &'a [f32],
}

impl Block<'_> {
    #[inline(always)]
    fn keys_at(&self, d: usize) -> [f32; 16] {
        let at = self.keys.get(d * KEYS..).and_then(|k| k.first_chunk());
        at.copied().unwrap_or([0.0; 16])
    }

    /// The sum over dimensions `lane`, `lane` + 16, `lane` + 32, …
    #[inline(always)]
    fn one<const FMA: bool>(&self, lane: usize, whole: usize) -> Lines {
        let mut lines = [[0.0f32; 16]; QUERIES];
        for d in (lane..whole).step_by(16) {
            let k = self.keys_at(d);
            for (r, line) in lines.iter_mut().enumerate() {
                let q = self.queries[r * self.width + d];
                for i in 0..16 {
                    line[i] = madd::<FMA>(q, k[i], line[i]);
                }
            }
        }
        lines
    }

    #[inline(always)]
    fn two<const FMA: bool>(&self, lane: usize, whole: usize) -> Lines {
        plus(
            self.one::<FMA>(lane, whole),
            self.one::<FMA>(lane + 8, whole),
        )
    }

    #[inline(always)]
    fn four<const FMA: bool>(&self, lane: usize, whole: usize) -> Lines {
        plus(
            self.two::<FMA>(lane, whole),
            self.two::<FMA>(lane + 4, whole),
        )
    }

    #[inline(always)]
    fn eight<const FMA: bool>(&self, lane: usize, whole: usize) -> Lines {
        plus(
            self.four::<FMA>(lane, whole),
            self.four::<FMA>(lane + 2, whole),
        )
    }

    /// The sum over dimensions from `first` on, one after the other.
    #[inline(always)]
    fn rest(&self, first: usize) -> Lines {
        let mut lines = [[0.0f32; 16]; QUERIES];
        for d in first..self.width {
            let k = self.keys_at(d);
            for (r, line) in lines.iter_mut().enumerate() {
                let q = self.queries[r * self.width + d];
                for i in 0..16 {
                    line[i] += q * k[i];
                }
            }
        }
        lines
    }
}

/// Adds the values of a block, weighed by four rows of probabilities.
#[inline(always)]
fn weigh<const FMA: bool>(
    weights: &[f32],
    values: &[f32],
    rows: &[usize],
    (stride, column, width): (usize, usize, usize),
    padded: usize,
    sums: &mut [f32],
) {
    for d in (0..width).step_by(16) {
        let live = (width - d).min(16);
        let mut lanes = [[0.0f32; 16]; QUERIES];
        for (i, lane) in lanes.iter_mut().enumerate() {
            lane.copy_from_slice(&sums[i * padded + d..][..16]);
        }
        let [mut a, mut b, mut c, mut e] = lanes;
        let mut short = [0.0f32; 16];
        for (j, &row) in rows.iter().enumerate() {
            let from = &values[row * stride + column + d..];
            let v = if live == 16 {
                match from.first_chunk::<16>() {
                    Some(v) => v,
                    None => break,
                }
            } else {
                short[..live].copy_from_slice(&from[..live]);
                &short
            };
            let (p, q) = (weights[j], weights[KEYS + j]);
            let (r, s) = (weights[2 * KEYS + j], weights[3 * KEYS + j]);
            for i in 0..16 {
                a[i] = madd::<FMA>(p, v[i], a[i]);
                b[i] = madd::<FMA>(q, v[i], b[i]);
                c[i] = madd::<FMA>(r, v[i], c[i]);
                e[i] = madd::<FMA>(s, v[i], e[i]);
            }
        }
        for (i, lane) in [a, b, c, e].iter().enumerate() {
            sums[i * padded + d..][..16].copy_from_slice(lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: u32) -> Vec<f32> {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as f32 / u32::MAX as f32 - 0.5
        };
        (0..n).map(|_| next()).collect()
    }

    /// Rows `first..first + len` of a text as a segment of their own, all keys in one span.
    fn segment(first: usize, len: usize) -> Segment {
        Segment {
            first: 0,
            len,
            position: first,
            spans: vec![(0, first + len)],
        }
    }

    #[test]
    fn a_query_is_answered_alike_whatever_is_asked_beside_it() {
        let length = 150;
        for (head_dim, window) in [(64, None), (16, Some(70)), (24, Some(5)), (8, None)] {
            let heads = Heads {
                heads: 4,
                kv_heads: 2,
                head_dim,
            };
            let settings = AttentionSettings {
                reach: &[],
                scale: 0.3,
                soft_cap: None,
                sinks: None,
                causal: true,
                window,
                alibi: None,
            };
            let qkv = numbers(length * heads.qkv_width(), 7);
            let (keys, values) = (
                numbers(length * heads.kv_width(), 8),
                numbers(length * heads.kv_width(), 9),
            );
            let cache = LayerCache {
                keys: &keys,
                values: &values,
            };
            let ask = |first: usize, len: usize| {
                let rows = &qkv[first * heads.qkv_width()..][..len * heads.qkv_width()];
                let mut out = vec![f32::NAN; len * heads.q_width()];
                let segments = [segment(first, len)];
                attend(rows, cache, &segments, &heads, &settings, &mut out);
                out
            };
            let whole = ask(0, length);
            for len in [1, 2, 4, 5, 9, 31] {
                for first in (0..length - len).step_by(7) {
                    let part = ask(first, len);
                    let same = &whole[first * heads.q_width()..][..part.len()];
                    let alike = part
                        .iter()
                        .zip(same)
                        .all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(alike, "width {head_dim}, {len} rows from {first} on");
                }
            }
        }
    }
}
