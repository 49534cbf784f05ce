//! Norms, activations, rotations and sums: everything that touches each number once.

use rayon::prelude::*;

use super::simd::{dot, erf, exp, madd, sum, widest};
use crate::config::{Activation, Norm};
use crate::kernels::{Heads, Rotary, Spans};

/// Numbers a thread takes at a time.
const GRAIN: usize = 1 << 14;

/// Rows a thread takes at a time when each has this many numbers.
fn grain(width: usize) -> usize {
    (GRAIN / width.max(1)).max(1)
}

/// Normalises rows of `weight.len()` numbers.
pub fn norm(x: &[f32], weight: &[f32], bias: Option<&[f32]>, how: Norm, out: &mut [f32]) {
    let width = weight.len();
    let rows = grain(width) * width;
    let work = |(x, out): (&[f32], &mut [f32])| {
        for (x, y) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            norm_row(x, weight, bias, how, y);
        }
    };
    let both = x.par_chunks(rows).zip(out.par_chunks_mut(rows));
    both.for_each(work);
}

/// Normalises spans of every row in place, each with its own part of the weights.
pub fn norm_spans(x: &mut [f32], spans: Spans, weight: &[f32], bias: Option<&[f32]>, how: Norm) {
    x.par_chunks_mut(grain(spans.stride) * spans.stride)
        .for_each(|rows| {
            let mut spare = vec![0.0f32; spans.width];
            for row in rows.chunks_exact_mut(spans.stride) {
                let row = row[spans.first..].chunks_exact_mut(spans.width);
                for (i, span) in row.take(spans.count).enumerate() {
                    let own = i * spans.width..(i + 1) * spans.width;
                    let bias = bias.map(|b| &b[own.clone()]);
                    norm_row(span, &weight[own], bias, how, &mut spare);
                    span.copy_from_slice(&spare);
                }
            }
        });
}

widest! {
    pub fn norm_row(x: &[f32], weight: &[f32], bias: Option<&[f32]>, how: Norm, out: &mut [f32]) = norm_row_inner
}

#[inline(always)]
fn norm_row_inner<const FMA: bool>(
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    how: Norm,
    out: &mut [f32],
) {
    let count = x.len() as f32;
    if how.rms {
        let scale = (dot::<FMA>(x, x) / count + how.eps).sqrt().recip();
        for ((y, x), w) in out.iter_mut().zip(x).zip(weight) {
            *y = x * scale * w;
        }
        return;
    }
    let mean = sum(x) / count;
    for (y, x) in out.iter_mut().zip(x) {
        *y = x - mean;
    }
    let scale = (dot::<FMA>(out, out) / count + how.eps).sqrt().recip();
    match bias {
        Some(bias) => {
            for ((y, w), b) in out.iter_mut().zip(weight).zip(bias) {
                *y = madd::<FMA>(*y * scale, *w, *b);
            }
        }
        None => {
            let both = out.iter_mut().zip(weight);
            both.for_each(|(y, w)| *y = *y * scale * w);
        }
    }
}

pub fn add_bias(x: &mut [f32], bias: &[f32]) {
    let rows = x.par_chunks_mut(grain(bias.len()) * bias.len());
    rows.for_each(|rows| add_bias_rows(rows, bias));
}

pub fn add_bias_rows(x: &mut [f32], bias: &[f32]) {
    for row in x.chunks_exact_mut(bias.len()) {
        add_row(row, bias);
    }
}

/// `x += y`.
pub fn add(x: &mut [f32], y: &[f32]) {
    let both = x.par_chunks_mut(GRAIN).zip(y.par_chunks(GRAIN));
    both.for_each(|(x, y)| add_row(x, y));
}

widest! {
    fn add_row(x: &mut [f32], y: &[f32]) = add_row_inner
}

#[inline(always)]
fn add_row_inner<const FMA: bool>(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

/// `out = act(x)`.
pub fn activate(x: &[f32], kind: Activation, out: &mut [f32]) {
    let work = |(x, out): (&[f32], &mut [f32])| {
        out.copy_from_slice(x);
        apply(kind, out);
    };
    let both = x.par_chunks(GRAIN).zip(out.par_chunks_mut(GRAIN));
    both.for_each(work);
}

/// `out = act(gate) * up`, where a row of `x` holds `width` gates and then `width` ups.
pub fn activate_gated(x: &[f32], width: usize, kind: Activation, out: &mut [f32]) {
    let rows = grain(width);
    let work = |(x, out): (&[f32], &mut [f32])| {
        for (row, y) in x.chunks_exact(2 * width).zip(out.chunks_exact_mut(width)) {
            let (gate, up) = row.split_at(width);
            y.copy_from_slice(gate);
            apply(kind, y);
            multiply(y, up);
        }
    };
    x.par_chunks(rows * 2 * width)
        .zip(out.par_chunks_mut(rows * width))
        .for_each(work);
}

widest! {
    /// Adds a bias to rows of `width` numbers, `gates` of which are gates whose activation is multiplied onto
    /// the others; with no gates, all are activated. What comes out stands first in each row.
    pub fn activate_rows(x: &mut [f32], width: usize, gates: usize, bias: [&[f32]; 2], kind: Activation)
        = activate_rows_inner
}

#[inline(always)]
fn activate_rows_inner<const FMA: bool>(
    x: &mut [f32],
    width: usize,
    gates: usize,
    bias: [&[f32]; 2],
    kind: Activation,
) {
    for row in x.chunks_exact_mut(width) {
        let (first, rest) = row.split_at_mut(if gates == 0 { width } else { gates });
        add_row_inner::<FMA>(first, bias[0]);
        add_row_inner::<FMA>(rest, bias[1]);
        apply_inner::<FMA>(kind, first);
        multiply_inner::<FMA>(first, rest);
    }
}

widest! {
    pub fn multiply(x: &mut [f32], y: &[f32]) = multiply_inner
}

#[inline(always)]
fn multiply_inner<const FMA: bool>(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x *= y;
    }
}

widest! {
    pub fn apply(kind: Activation, x: &mut [f32]) = apply_inner
}

#[inline(always)]
fn apply_inner<const FMA: bool>(kind: Activation, x: &mut [f32]) {
    match kind {
        Activation::Gelu => {
            for v in x {
                *v = 0.5 * *v * (1.0 + erf::<FMA>(*v * std::f32::consts::FRAC_1_SQRT_2));
            }
        }
        Activation::GeluTanh => {
            // tanh(y) = 1 - 2 / (e²ʸ + 1), so ½(1 + tanh(y)) = 1 - 1 / (e²ʸ + 1).
            for v in x {
                let inner = 1.595_769 * madd::<FMA>(0.044_715 * *v * *v, *v, *v);
                *v *= 1.0 - 1.0 / (exp::<FMA>(inner) + 1.0);
            }
        }
        Activation::QuickGelu => {
            for v in x {
                *v /= 1.0 + exp::<FMA>(-1.702 * *v);
            }
        }
        Activation::Silu => {
            for v in x {
                *v /= 1.0 + exp::<FMA>(-*v);
            }
        }
        Activation::Relu => {
            for v in x {
                *v = if *v < 0.0 { 0.0 } else { *v };
            }
        }
        Activation::SquaredRelu => {
            for v in x {
                *v = if *v < 0.0 { 0.0 } else { *v * *v };
            }
        }
    }
}

widest! {
    /// `x = cap · tanh(x / cap)`.
    pub fn soft_cap(x: &mut [f32], cap: f32) = cap_inner
}

#[inline(always)]
fn cap_inner<const FMA: bool>(x: &mut [f32], cap: f32) {
    let scale = 2.0 / cap;
    for v in x {
        *v = cap * (1.0 - 2.0 / (exp::<FMA>(*v * scale) + 1.0));
    }
}

/// Rows are laid out as queries, keys, values; they are normalised where asked.
pub fn rotate(
    qkv: &mut [f32],
    heads: &Heads,
    norms: Option<(&[f32], &[f32], Norm)>,
    rotary: Option<&Rotary>,
) {
    let width = heads.qkv_width();
    if norms.is_none() && rotary.is_none() {
        return;
    }
    let rows = grain(width);
    qkv.par_chunks_mut(rows * width)
        .enumerate()
        .for_each(|(i, chunk)| rotate_rows(chunk, i * rows, heads, norms, rotary));
}

/// The same on this thread, for rows of the batch from `first` on.
pub fn rotate_rows(
    qkv: &mut [f32],
    first: usize,
    heads: &Heads,
    norms: Option<(&[f32], &[f32], Norm)>,
    rotary: Option<&Rotary>,
) {
    let mut spare = vec![0.0f32; heads.head_dim];
    let turned = heads.heads + heads.kv_heads;
    for (i, row) in qkv.chunks_exact_mut(heads.qkv_width()).enumerate() {
        if let Some((q, k, how)) = norms {
            let each = row.chunks_exact_mut(heads.head_dim).take(turned);
            for (h, head) in each.enumerate() {
                let weight = if h < heads.heads { q } else { k };
                norm_row(head, weight, None, how, &mut spare);
                head.copy_from_slice(&spare);
            }
        }
        if let Some(rotary) = rotary {
            let (cos, sin) = rotary.at(first + i);
            let heads_of_row = &mut row[..turned * heads.head_dim];
            rotate_heads(heads_of_row, heads.head_dim, cos, sin);
        }
    }
}

widest! {
    fn rotate_heads(heads: &mut [f32], width: usize, cos: &[f32], sin: &[f32]) = rotate_heads_inner
}

/// Dimension i is rotated with dimension i + half, as in GPT-NeoX and everything after it.
#[inline(always)]
fn rotate_heads_inner<const FMA: bool>(heads: &mut [f32], width: usize, cos: &[f32], sin: &[f32]) {
    let half = cos.len();
    for head in heads.chunks_exact_mut(width) {
        let (first, rest) = head.split_at_mut(half);
        for (((a, b), c), s) in first.iter_mut().zip(&mut rest[..half]).zip(cos).zip(sin) {
            let (x, y) = (*a, *b);
            *a = x * c - y * s;
            *b = y * c + x * s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_have_their_published_values() {
        // From the definitions, computed in 64 bits.
        let cases = [
            (Activation::Gelu, [-0.158_655_25, 0.0, 1.954_499_7]),
            (Activation::GeluTanh, [-0.158_808, 0.0, 1.954_597_7]),
            (Activation::QuickGelu, [-0.154_207_4, 0.0, 1.935_659_9]),
            (Activation::Silu, [-0.268_941_42, 0.0, 1.761_594_2]),
            (Activation::Relu, [0.0, 0.0, 2.0]),
            (Activation::SquaredRelu, [0.0, 0.0, 4.0]),
        ];
        for (kind, want) in cases {
            let mut got = [0.0; 3];
            activate(&[-1.0, 0.0, 2.0], kind, &mut got);
            for (g, w) in got.iter().zip(want) {
                assert!((g - w).abs() < 1e-5, "{kind:?}: {g} is not {w}");
            }
        }
    }

    #[test]
    fn not_a_number_stays_visible() {
        for kind in [
            Activation::Gelu,
            Activation::GeluTanh,
            Activation::Silu,
            Activation::Relu,
        ] {
            let mut got = [0.0; 1];
            activate(&[f32::NAN], kind, &mut got);
            assert!(got[0].is_nan(), "{kind:?}");
        }
    }

    #[test]
    fn norms_centre_and_scale() {
        let x = [1.0, 2.0, 3.0, 6.0];
        let mut y = [0.0; 4];
        let layer = Norm {
            rms: false,
            eps: 0.0,
            unit_offset: false,
        };
        norm(&x, &[1.0; 4], Some(&[1.0; 4]), layer, &mut y);
        let mean: f32 = y.iter().sum::<f32>() / 4.0;
        assert!((mean - 1.0).abs() < 1e-6);
        let rms = Norm {
            rms: true,
            eps: 0.0,
            unit_offset: false,
        };
        norm(&x, &[2.0; 4], None, rms, &mut y);
        assert!((y[3] - 12.0 / 12.5f32.sqrt()).abs() < 1e-6);
    }
}
