//! Causal attention in blocks of query rows, forward and backward.
//!
//! Probabilities are not kept: the backward pass computes them again from the log-sums, so memory
//! grows with the length of a sequence and not with its square.

use super::kernels::{causal_softmax, causal_softmax_again, dot, softmax_back};
use super::matmul::{View, Write, matmul, transpose};
use super::shape::Shape;

/// Query rows computed at a time.
const ROWS: usize = 64;

/// A run of tokens that sees only itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its first token.
    pub start: usize,
    /// How many tokens it has.
    pub length: usize,
}

/// The blocks of query rows of a segment: first row, number of rows, number of keys seen.
fn blocks(segment: Segment) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..segment.length).step_by(ROWS).map(move |first| {
        let rows = ROWS.min(segment.length - first);
        (first, rows, first + rows)
    })
}

/// Cosines and sines of every position, for the rotated part of a head.
#[derive(Debug, Clone)]
pub(crate) struct Rotary {
    half: usize,
    table: Vec<(f32, f32)>,
}

impl Rotary {
    pub(crate) fn new(shape: &Shape) -> Self {
        let half = shape.rotary / 2;
        let mut table = Vec::with_capacity(shape.context * half);
        for position in 0..shape.context {
            for i in 0..half {
                let power = (2 * i) as f32 / shape.rotary as f32;
                let angle = position as f32 * (1.0 / shape.rotary_base.powf(power));
                table.push((angle.cos(), angle.sin()));
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

    /// Rotates every query and key of the joint rows.
    pub(crate) fn apply(&self, shape: &Shape, segments: &[Segment], qkv: &mut [f32], back: bool) {
        let width = shape.qkv_width();
        let group = shape.heads / shape.kv_heads;
        for segment in segments {
            for i in 0..segment.length {
                let row = &mut qkv[(segment.start + i) * width..(segment.start + i + 1) * width];
                for h in 0..shape.heads {
                    let at = shape.query_at(h);
                    self.turn(&mut row[at..at + shape.rotary], i, back);
                    if h % group == 0 {
                        let at = shape.key_at(h);
                        self.turn(&mut row[at..at + shape.rotary], i, back);
                    }
                }
            }
        }
    }
}

/// Room for scores, reused by every head.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    scores: Vec<f32>,
    slopes: Vec<f32>,
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
            self.slopes.resize(size, 0.0);
        }
    }
}

/// Attention over rotated joint rows; writes heads side by side into `out`.
pub(crate) fn forward(
    shape: &Shape,
    segments: &[Segment],
    qkv: &[f32],
    scratch: &mut Scratch,
    out: &mut [f32],
    log_sums: &mut [f32],
) {
    let (row, w) = (shape.qkv_width(), shape.head_width);
    let out_row = shape.heads * w;
    let scale = 1.0 / (w as f32).sqrt();
    let tokens = out.len() / out_row;
    for segment in segments {
        scratch.reserve(segment.length, w);
        for h in 0..shape.heads {
            let joint = &qkv[segment.start * row..];
            let (keys, values) = (&joint[shape.key_at(h)..], &joint[shape.value_at(h)..]);
            transpose(keys, row, w, &mut scratch.keys);
            for (first, rows, seen) in blocks(*segment) {
                let at = segment.start + first;
                let query = &qkv[at * row + shape.query_at(h)..];
                let scores = &mut scratch.scores[..rows * seen];
                matmul(
                    (rows, w, seen),
                    View::rows(query, row),
                    View::rows(&scratch.keys, segment.length),
                    scale,
                    (scores, seen),
                    Write::Replace,
                );
                let sums = &mut log_sums[h * tokens + at..h * tokens + at + rows];
                causal_softmax(scores, seen, first, sums);
                matmul(
                    (rows, seen, w),
                    View::rows(scores, seen),
                    View::rows(values, row),
                    1.0,
                    (&mut out[at * out_row + h * w..], out_row),
                    Write::Replace,
                );
            }
        }
    }
}

/// What [`backward`] needs from the forward pass.
pub(crate) struct Saved<'a> {
    pub(crate) qkv: &'a [f32],
    pub(crate) out: &'a [f32],
    pub(crate) log_sums: &'a [f32],
}

/// The gradient of the joint rows (still rotated); `dqkv` is overwritten.
pub(crate) fn backward(
    shape: &Shape,
    segments: &[Segment],
    saved: &Saved<'_>,
    scratch: &mut Scratch,
    dout: &[f32],
    dqkv: &mut [f32],
) {
    dqkv.fill(0.0);
    let (row, w) = (shape.qkv_width(), shape.head_width);
    let out_row = shape.heads * w;
    let scale = 1.0 / (w as f32).sqrt();
    let tokens = saved.out.len() / out_row;
    let mut dots = [0.0f32; ROWS];
    for segment in segments {
        scratch.reserve(segment.length, w);
        for h in 0..shape.heads {
            let origin = segment.start * row;
            let (q_at, k_at, v_at) = (shape.query_at(h), shape.key_at(h), shape.value_at(h));
            let keys = &saved.qkv[origin + k_at..];
            transpose(keys, row, w, &mut scratch.keys);
            transpose(&saved.qkv[origin + v_at..], row, w, &mut scratch.values);
            for (first, rows, seen) in blocks(*segment) {
                let at = segment.start + first;
                let query = &saved.qkv[at * row + q_at..];
                let slope_out = &dout[at * out_row + h * w..];
                for (i, d) in dots.iter_mut().enumerate().take(rows) {
                    let head = (at + i) * out_row + h * w;
                    *d = dot(&dout[head..head + w], &saved.out[head..head + w]);
                }
                let p = &mut scratch.scores[..rows * seen];
                let ds = &mut scratch.slopes[..rows * seen];
                let sums = &saved.log_sums[h * tokens + at..h * tokens + at + rows];
                let (q, k) = (
                    View::rows(query, row),
                    View::rows(&scratch.keys, segment.length),
                );
                matmul((rows, w, seen), q, k, scale, (p, seen), Write::Replace);
                causal_softmax_again(p, seen, first, sums);
                let dvalues = &mut dqkv[origin + v_at..];
                let (pt, go) = (View::transposed(p, seen), View::rows(slope_out, out_row));
                matmul((seen, rows, w), pt, go, 1.0, (dvalues, row), Write::Add);
                let vt = View::rows(&scratch.values, segment.length);
                matmul((rows, w, seen), go, vt, 1.0, (ds, seen), Write::Replace);
                softmax_back(p, ds, seen, &dots[..rows], scale);
                let dquery = &mut dqkv[at * row + q_at..];
                let (s, kr) = (View::rows(ds, seen), View::rows(keys, row));
                matmul((rows, seen, w), s, kr, 1.0, (dquery, row), Write::Add);
                let dkeys = &mut dqkv[origin + k_at..];
                let (st, qr) = (View::transposed(ds, seen), View::rows(query, row));
                matmul((seen, rows, w), st, qr, 1.0, (dkeys, row), Write::Add);
            }
        }
    }
}
