//! Attention in blocks of query rows, forward and backward: causal, or in both directions (a tower's).
//!
//! Probabilities are not kept: the backward pass computes them again from the log-sums, so memory
//! grows with the length of a sequence and not with its square.

use super::kernels::{self, VisibleKeys, dot, masked_softmax, masked_softmax_again, softmax_back};
use super::matmul::{Unit, View, transpose};
use mary_weights::architecture::Architecture;
use mary_weights::architecture::config::{QkvLayout, QkvNames, Rope};

/// Query rows computed at a time.
const ROWS: usize = 64;

/// A run of tokens that sees only itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub start: usize,
    pub length: usize,
}

/// The blocks of query rows of a segment: first row, number of rows, number of keys seen.
fn blocks(segment: Segment, causal: bool) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..segment.length).step_by(ROWS).map(move |first| {
        let rows = ROWS.min(segment.length - first);
        let seen = if causal { first + rows } else { segment.length };
        (first, rows, seen)
    })
}

/// Where queries, keys and values lie in a joint row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Joint {
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) width: usize,
    /// For each key head its query heads, its key and its value; otherwise all queries come first.
    pub(crate) grouped: bool,
}

impl Joint {
    pub(crate) fn new(a: &Architecture) -> Self {
        Self {
            heads: a.heads,
            kv_heads: a.kv_heads,
            width: a.head_dim,
            grouped: matches!(a.names.qkv, QkvNames::Fused(_, QkvLayout::Grouped)),
        }
    }

    pub(crate) fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    pub(crate) fn row(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.width
    }

    pub(crate) fn query_at(&self, h: usize) -> usize {
        let group = self.group();
        match self.grouped {
            true => ((h / group) * (group + 2) + h % group) * self.width,
            false => h * self.width,
        }
    }

    pub(crate) fn key_at(&self, h: usize) -> usize {
        let group = self.group();
        match self.grouped {
            true => ((h / group) * (group + 2) + group) * self.width,
            false => (self.heads + h / group) * self.width,
        }
    }

    pub(crate) fn value_at(&self, h: usize) -> usize {
        match self.grouped {
            true => self.key_at(h) + self.width,
            false => self.key_at(h) + self.kv_heads * self.width,
        }
    }

    pub(crate) fn places(&self, keys: bool) -> Vec<usize> {
        match keys {
            false => (0..self.heads).map(|h| self.query_at(h)).collect(),
            true => (0..self.heads)
                .step_by(self.group())
                .map(|h| self.key_at(h))
                .collect(),
        }
    }
}

/// How one layer weighs: where its heads lie, the factor on the scores, what squashes them, and how
/// many positions one sees, itself included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AttentionSettings {
    pub(crate) joint: Joint,
    pub(crate) scale: f32,
    pub(crate) cap: Option<f32>,
    pub(crate) window: Option<usize>,
    pub(crate) causal: bool,
    pub(crate) unit: Unit,
}

impl AttentionSettings {
    /// Which keys a block of rows sees; without causality the last row's are everyone's.
    fn seen(&self, first: usize, keys: usize) -> VisibleKeys {
        VisibleKeys {
            keys,
            first: if self.causal { first } else { keys },
            window: self.window,
        }
    }
}

/// Cosines and sines of every position, for the rotated part of a head.
#[derive(Debug, Clone)]
pub(crate) struct Rotary {
    pub(crate) half: usize,
    table: Vec<(f32, f32)>,
}

impl Rotary {
    pub(crate) fn new(rope: &Rope, positions: usize) -> Self {
        let half = rope.dim / 2;
        let mut table = Vec::with_capacity(positions * half);
        for position in 0..positions {
            for frequency in &rope.frequencies {
                let angle = position as f32 * frequency;
                let (sin, cos) = (angle.sin(), angle.cos());
                table.push((cos * rope.amplitude, sin * rope.amplitude));
            }
        }
        Self { half, table }
    }

    /// Cosine and sine of every position and pair, one after the other.
    #[cfg(feature = "cuda")]
    pub(crate) fn numbers(&self) -> Vec<f32> {
        self.table
            .iter()
            .flat_map(|(cos, sin)| [*cos, *sin])
            .collect()
    }

    /// Rotates one head at one position; `back` turns the other way.
    fn turn(&self, head: &mut [f32], position: usize, back: bool) {
        let half = self.half;
        let angles = &self.table[position * half..(position + 1) * half];
        let (low, high) = head.split_at_mut(half);
        for ((x, y), (cos, sin)) in low.iter_mut().zip(high.iter_mut()).zip(angles) {
            let sin = if back { -sin } else { *sin };
            let (a, b) = (*x, *y);
            *x = a * cos - b * sin;
            *y = b * cos + a * sin;
        }
    }

    pub(crate) fn apply(&self, joint: Joint, segments: &[Segment], qkv: &mut [f32], back: bool) {
        let (width, turning) = (joint.row(), 2 * self.half);
        let group = joint.group();
        for segment in segments {
            for i in 0..segment.length {
                let row = &mut qkv[(segment.start + i) * width..(segment.start + i + 1) * width];
                for h in 0..joint.heads {
                    let at = joint.query_at(h);
                    self.turn(&mut row[at..at + turning], i, back);
                    if h % group == 0 {
                        let at = joint.key_at(h);
                        self.turn(&mut row[at..at + turning], i, back);
                    }
                }
            }
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Scratch {
    scores: Vec<f32>,
    gradients: Vec<f32>,
    /// Derivatives of what squashes the scores.
    squashed: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Scratch {
    fn reserve(&mut self, keys: usize, width: usize) {
        self.keys.resize(keys * width, 0.0);
        self.values.resize(keys * width, 0.0);
        let size = ROWS * keys;
        if self.scores.len() < size {
            self.scores.resize(size, 0.0);
            self.gradients.resize(size, 0.0);
        }
    }
}

/// Attention over rotated joint rows; writes heads side by side into `out`.
pub(crate) fn forward(
    how: &AttentionSettings,
    segments: &[Segment],
    qkv: &[f32],
    scratch: &mut Scratch,
    out: &mut [f32],
    log_sums: &mut [f32],
) {
    let joint = how.joint;
    let (row, w, scale) = (joint.row(), joint.width, how.scale);
    let out_row = joint.heads * w;
    let tokens = out.len() / out_row;
    for segment in segments {
        scratch.reserve(segment.length, w);
        for h in 0..joint.heads {
            let rows = &qkv[segment.start * row..];
            let (keys, values) = (&rows[joint.key_at(h)..], &rows[joint.value_at(h)..]);
            transpose(keys, row, w, &mut scratch.keys);
            for (first, rows, seen) in blocks(*segment, how.causal) {
                let at = segment.start + first;
                let query = &qkv[at * row + joint.query_at(h)..];
                let scores = &mut scratch.scores[..rows * seen];
                let (q, k) = (
                    View::rows(query, row),
                    View::rows(&scratch.keys, segment.length),
                );
                let product = how.unit.product((rows, w, seen), q, k);
                product.scaled(scale).replace(scores, seen);
                if let Some(cap) = how.cap {
                    kernels::soft_cap(scores, cap, None);
                }
                let sums = &mut log_sums[h * tokens + at..h * tokens + at + rows];
                masked_softmax(scores, how.seen(first, seen), sums);
                let (p, v) = (View::rows(scores, seen), View::rows(values, row));
                let product = how.unit.product((rows, seen, w), p, v);
                product.replace(&mut out[at * out_row + h * w..], out_row);
            }
        }
    }
}

pub(crate) struct Saved<'a> {
    pub(crate) qkv: &'a [f32],
    pub(crate) out: &'a [f32],
    pub(crate) log_sums: &'a [f32],
}

/// The gradient of the joint rows (still rotated); `dqkv` is overwritten.
pub(crate) fn backward(
    how: &AttentionSettings,
    segments: &[Segment],
    saved: &Saved<'_>,
    scratch: &mut Scratch,
    dout: &[f32],
    dqkv: &mut [f32],
) {
    dqkv.fill(0.0);
    let joint = how.joint;
    let (row, w, scale) = (joint.row(), joint.width, how.scale);
    let out_row = joint.heads * w;
    let tokens = saved.out.len() / out_row;
    let mut dots = [0.0f32; ROWS];
    for segment in segments {
        scratch.reserve(segment.length, w);
        for h in 0..joint.heads {
            let origin = segment.start * row;
            let (q_at, k_at, v_at) = (joint.query_at(h), joint.key_at(h), joint.value_at(h));
            let keys = &saved.qkv[origin + k_at..];
            transpose(keys, row, w, &mut scratch.keys);
            transpose(&saved.qkv[origin + v_at..], row, w, &mut scratch.values);
            for (first, rows, seen) in blocks(*segment, how.causal) {
                let at = segment.start + first;
                let query = &saved.qkv[at * row + q_at..];
                let gradient_out = &dout[at * out_row + h * w..];
                for (i, d) in dots.iter_mut().enumerate().take(rows) {
                    let head = (at + i) * out_row + h * w;
                    *d = dot(&dout[head..head + w], &saved.out[head..head + w]);
                }
                let p = &mut scratch.scores[..rows * seen];
                let ds = &mut scratch.gradients[..rows * seen];
                let sums = &saved.log_sums[h * tokens + at..h * tokens + at + rows];
                let (q, k) = (
                    View::rows(query, row),
                    View::rows(&scratch.keys, segment.length),
                );
                let product = how.unit.product((rows, w, seen), q, k);
                product.scaled(scale).replace(p, seen);
                if let Some(cap) = how.cap {
                    scratch.squashed.resize(rows * seen, 0.0);
                    kernels::soft_cap(p, cap, Some(&mut scratch.squashed));
                }
                masked_softmax_again(p, how.seen(first, seen), sums);
                let dvalues = &mut dqkv[origin + v_at..];
                let (pt, go) = (View::transposed(p, seen), View::rows(gradient_out, out_row));
                let product = how.unit.product((seen, rows, w), pt, go);
                product.add_to(dvalues, row);
                let vt = View::rows(&scratch.values, segment.length);
                let product = how.unit.product((rows, w, seen), go, vt);
                product.replace(ds, seen);
                softmax_back(p, ds, seen, &dots[..rows], scale);
                if how.cap.is_some() {
                    kernels::multiply(ds, &scratch.squashed);
                }
                let dquery = &mut dqkv[at * row + q_at..];
                let (s, kr) = (View::rows(ds, seen), View::rows(keys, row));
                let product = how.unit.product((rows, seen, w), s, kr);
                product.add_to(dquery, row);
                let dkeys = &mut dqkv[origin + k_at..];
                let (st, qr) = (View::transposed(ds, seen), View::rows(query, row));
                let product = how.unit.product((seen, rows, w), st, qr);
                product.add_to(dkeys, row);
            }
        }
    }
}
