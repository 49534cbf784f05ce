//! Elementwise and row-wise kernels, forward and backward, vectorised for the CPU at hand.
//!
//! Each body is compiled for every vector width and one is picked at run time. Sums run over sixteen
//! fixed lanes and nothing is fused, so a width never changes a result.

use mary_kernels::simd;
use mary_weights::architecture::config::Activation;

const LANES: usize = 16;

/// Runs a block compiled for the widest instructions of the processor.
macro_rules! vectorised {
    ($body:block) => {
        mary_kernels::simd::dispatch(
            #[inline(always)]
            || $body,
        )
    };
}
pub(crate) use vectorised;

#[inline(always)]
fn lanes_sum(terms: impl Fn(usize) -> f32, length: usize) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let whole = length / LANES * LANES;
    let mut at = 0;
    while at < whole {
        for (lane, total) in lanes.iter_mut().enumerate() {
            *total += terms(at + lane);
        }
        at += LANES;
    }
    let mut tail = 0.0;
    for i in whole..length {
        tail += terms(i);
    }
    lanes.iter().sum::<f32>() + tail
}

/// e to the x, nothing fused.
#[inline(always)]
fn exp(x: f32) -> f32 {
    simd::exp::<false>(x)
}

/// The standard normal's cumulative distribution and density.
#[inline(always)]
fn normal(x: f32) -> (f32, f32) {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let gauss = exp(-0.5 * x * x);
    let poly = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_8) * t - 0.284_496_74) * t
        + 0.254_829_6)
        * t;
    let half = 0.5 * poly * gauss;
    let cumulative = if x >= 0.0 { 1.0 - half } else { half };
    (cumulative, gauss * 0.398_942_3)
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Value and derivative of an activation at one place.
#[inline(always)]
fn silu_at(x: f32) -> (f32, f32) {
    let s = sigmoid(x);
    (x * s, s * (1.0 + x * (1.0 - s)))
}

#[inline(always)]
fn quick_gelu_at(x: f32) -> (f32, f32) {
    let s = sigmoid(1.702 * x);
    (x * s, s * (1.0 + 1.702 * x * (1.0 - s)))
}

#[inline(always)]
fn relu_at(x: f32) -> (f32, f32) {
    if x > 0.0 { (x, 1.0) } else { (0.0, 0.0) }
}

#[inline(always)]
fn squared_relu_at(x: f32) -> (f32, f32) {
    let x = x.max(0.0);
    (x * x, 2.0 * x)
}

#[inline(always)]
fn gelu_at(x: f32) -> (f32, f32) {
    let (cumulative, density) = normal(x);
    (x * cumulative, cumulative + x * density)
}

#[inline(always)]
fn gelu_tanh_at(x: f32) -> (f32, f32) {
    let (c, a) = (0.797_884_6, 0.044_715);
    let inner = c * (x + a * x * x * x);
    let tanh = 2.0 * sigmoid(2.0 * inner) - 1.0;
    let derivative = c * (1.0 + 3.0 * a * x * x);
    (
        0.5 * x * (1.0 + tanh),
        0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * derivative,
    )
}

#[inline(always)]
fn each(x: &mut [f32], y: &mut [f32], at: impl Fn(f32) -> (f32, f32)) {
    vectorised!({
        for (x, y) in x.iter_mut().zip(y.iter_mut()) {
            (*y, *x) = at(*x);
        }
    });
}

#[inline(always)]
fn each_gated(gate: &mut [f32], up: &mut [f32], y: &mut [f32], at: impl Fn(f32) -> (f32, f32)) {
    vectorised!({
        for ((gate, up), y) in gate.iter_mut().zip(up.iter_mut()).zip(y.iter_mut()) {
            let (value, derivative) = at(*gate);
            *y = value * *up;
            *gate = *up * derivative;
            *up = value;
        }
    });
}

/// The activation of `x` into `y`; `x` is replaced by the derivative, ready for the backward pass.
pub(crate) fn activate(kind: Activation, x: &mut [f32], y: &mut [f32]) {
    match kind {
        Activation::Gelu => each(x, y, gelu_at),
        Activation::GeluTanh => each(x, y, gelu_tanh_at),
        Activation::QuickGelu => each(x, y, quick_gelu_at),
        Activation::Silu => each(x, y, silu_at),
        Activation::Relu => each(x, y, relu_at),
        Activation::SquaredRelu => each(x, y, squared_relu_at),
    }
}

/// `act(gate) · up` into `y`; `gate` and `up` are replaced by the two derivatives.
pub(crate) fn activate_gated(kind: Activation, gate: &mut [f32], up: &mut [f32], y: &mut [f32]) {
    match kind {
        Activation::Silu => gated_silu(gate, up, y),
        Activation::Gelu => each_gated(gate, up, y, gelu_at),
        Activation::GeluTanh => each_gated(gate, up, y, gelu_tanh_at),
        Activation::QuickGelu => each_gated(gate, up, y, quick_gelu_at),
        Activation::Relu => each_gated(gate, up, y, relu_at),
        Activation::SquaredRelu => each_gated(gate, up, y, squared_relu_at),
    }
}

/// `silu(gate) · up` into `y`; `gate` and `up` are replaced by the two derivatives. Apart from [`each_gated`]
/// because the order of its multiplications is that of grown and tuned models, whose bits stay.
pub(crate) fn gated_silu(gate: &mut [f32], up: &mut [f32], y: &mut [f32]) {
    vectorised!({
        for ((gate, up), y) in gate.iter_mut().zip(up.iter_mut()).zip(y.iter_mut()) {
            let s = sigmoid(*gate);
            let silu = *gate * s;
            *y = silu * *up;
            *gate = *up * s * (1.0 + *gate * (1.0 - s));
            *up = silu;
        }
    });
}

#[inline(always)]
fn pairs(x: &mut [f32], y: &[f32], change: impl Fn(&mut f32, &f32)) {
    vectorised!({ x.iter_mut().zip(y).for_each(|(x, y)| change(x, y)) });
}

pub(crate) fn multiply(x: &mut [f32], y: &[f32]) {
    pairs(x, y, |x, y| *x *= y);
}

pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    pairs(x, y, |x, y| *x += y);
}

pub(crate) fn add_column_sums(rows: &[f32], row_step: usize, total: &mut [f32]) {
    vectorised!({
        for row in rows.chunks(row_step) {
            for (t, x) in total.iter_mut().zip(row) {
                *t += x;
            }
        }
    });
}

pub(crate) fn fill_rows(rows: &mut [f32], row_step: usize, values: &[f32]) {
    for row in rows.chunks_mut(row_step) {
        let width = values.len().min(row.len());
        row[..width].copy_from_slice(&values[..width]);
    }
}

#[derive(Clone, Copy)]
pub(crate) struct NormKind {
    pub(crate) centred: bool,
    pub(crate) eps: f32,
}

/// Layer or root-mean-square norm; keeps (mean, 1/deviation) of every row for the backward pass.
pub(crate) fn norm(
    x: &[f32],
    kind: NormKind,
    (weight, bias): (&[f32], Option<&[f32]>),
    y: &mut [f32],
    moments: &mut [[f32; 2]],
) {
    let width = weight.len();
    vectorised!({
        for ((x, y), moment) in x
            .chunks(width)
            .zip(y.chunks_mut(width))
            .zip(moments.iter_mut())
        {
            let count = width as f32;
            let mean = if kind.centred {
                lanes_sum(|i| x[i], width) / count
            } else {
                0.0
            };
            let variance = lanes_sum(|i| (x[i] - mean) * (x[i] - mean), width) / count;
            let inverse = 1.0 / (variance + kind.eps).sqrt();
            *moment = [mean, inverse];
            for ((y, x), w) in y.iter_mut().zip(x).zip(weight) {
                *y = (x - mean) * inverse * w;
            }
            if let Some(bias) = bias {
                for (y, b) in y.iter_mut().zip(bias) {
                    *y += b;
                }
            }
        }
    });
}

pub(crate) struct NormSaved<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) moments: &'a [[f32; 2]],
    pub(crate) weight: &'a [f32],
    pub(crate) kind: NormKind,
}

/// Adds the norm's gradient to `dx`, and to the weight and bias where they are trained.
pub(crate) fn norm_back(
    saved: &NormSaved<'_>,
    dy: &[f32],
    dx: &mut [f32],
    mut trained: Option<(&mut [f32], Option<&mut [f32]>)>,
) {
    let width = saved.weight.len();
    vectorised!({
        let rows = saved
            .x
            .chunks(width)
            .zip(dy.chunks(width))
            .zip(dx.chunks_mut(width));
        for (((x, dy), dx), moment) in rows.zip(saved.moments) {
            let [mean, inverse] = *moment;
            let w = saved.weight;
            let count = width as f32;
            let along = lanes_sum(|i| dy[i] * w[i] * (x[i] - mean), width) * inverse / count;
            let level = if saved.kind.centred {
                lanes_sum(|i| dy[i] * w[i], width) / count
            } else {
                0.0
            };
            for (((dx, x), dy), w) in dx.iter_mut().zip(x).zip(dy).zip(w) {
                let unit = (x - mean) * inverse;
                *dx += inverse * (dy * w - level - unit * along);
            }
            if let Some((dw, db)) = trained.as_mut() {
                for ((dw, x), dy) in dw.iter_mut().zip(x).zip(dy) {
                    *dw += dy * (x - mean) * inverse;
                }
                if let Some(db) = db {
                    for (db, dy) in db.iter_mut().zip(dy) {
                        *db += dy;
                    }
                }
            }
        }
    });
}

/// Softmax of one row of scores in place over the first `live` entries, zero beyond them;
/// returns the logarithm of the sum of exponentials.
#[inline(always)]
fn softmax_row(row: &mut [f32], live: usize) -> f32 {
    let (head, tail) = row.split_at_mut(live);
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let mut chunks = head.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = if *x > *lane { *x } else { *lane };
        }
    }
    let mut top = f32::NEG_INFINITY;
    for x in lanes.iter().chain(chunks.remainder()) {
        top = if *x > top { *x } else { top };
    }
    for x in head.iter_mut() {
        *x = exp(*x - top);
    }
    let total = lanes_sum(|i| head[i], live);
    let inverse = 1.0 / total;
    for x in head.iter_mut() {
        *x *= inverse;
    }
    tail.fill(0.0);
    top + total.ln()
}

/// Which keys the rows of a block of scores see.
#[derive(Clone, Copy)]
pub(crate) struct VisibleKeys {
    pub(crate) keys: usize,
    pub(crate) first: usize,
    /// A position sees only this many, itself included.
    pub(crate) window: Option<usize>,
}

impl VisibleKeys {
    #[inline(always)]
    fn range(self, i: usize) -> std::ops::Range<usize> {
        let end = (self.first + i + 1).min(self.keys);
        let start = self.window.map_or(0, |w| end.saturating_sub(w));
        start..end
    }
}

/// Softmax of a block of score rows over the keys that each sees; zero where a row does not see.
pub(crate) fn masked_softmax(scores: &mut [f32], seen: VisibleKeys, log_sums: &mut [f32]) {
    vectorised!({
        let rows = scores.chunks_mut(seen.keys).zip(log_sums.iter_mut());
        for (i, (row, log_sum)) in rows.enumerate() {
            let live = seen.range(i);
            let (before, row) = row.split_at_mut(live.start);
            before.fill(0.0);
            *log_sum = softmax_row(row, live.len());
        }
    });
}

/// The probabilities again, from the scores and the kept log-sums.
pub(crate) fn masked_softmax_again(scores: &mut [f32], seen: VisibleKeys, log_sums: &[f32]) {
    vectorised!({
        for (i, (row, log_sum)) in scores.chunks_mut(seen.keys).zip(log_sums).enumerate() {
            let live = seen.range(i);
            let (row, tail) = row.split_at_mut(live.end);
            let (before, row) = row.split_at_mut(live.start);
            before.fill(0.0);
            for x in row.iter_mut() {
                *x = exp(*x - log_sum);
            }
            tail.fill(0.0);
        }
    });
}

/// `x = cap · tanh(x / cap)`; its derivative goes to `derivative`.
pub(crate) fn soft_cap(x: &mut [f32], cap: f32, derivative: Option<&mut [f32]>) {
    vectorised!({
        // tanh(y) = 1 − 2 / (e²ʸ + 1); near zero, where that cancels, by its series.
        let tanh = |y: f32| {
            let far = 1.0 - 2.0 / (exp(2.0 * y) + 1.0);
            let s = y * y;
            let near = y * (1.0 - s * (1.0 / 3.0 - s * (2.0 / 15.0 - s * (17.0 / 315.0))));
            if y.abs() < 0.1 { near } else { far }
        };
        let inverse = 1.0 / cap;
        match derivative {
            Some(derivative) => {
                for (x, derivative) in x.iter_mut().zip(derivative) {
                    let t = tanh(*x * inverse);
                    *x = cap * t;
                    *derivative = 1.0 - t * t;
                }
            }
            None => x.iter_mut().for_each(|x| *x = cap * tanh(*x * inverse)),
        }
    });
}

/// `ds = scale · p · (dp − dot)` row by row, in place of `dp`.
pub(crate) fn softmax_back(
    probabilities: &[f32],
    dp: &mut [f32],
    keys: usize,
    dots: &[f32],
    scale: f32,
) {
    vectorised!({
        for ((p, dp), dot) in probabilities
            .chunks(keys)
            .zip(dp.chunks_mut(keys))
            .zip(dots)
        {
            for (p, dp) in p.iter().zip(dp.iter_mut()) {
                *dp = scale * p * (*dp - dot);
            }
        }
    });
}

pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let length = a.len().min(b.len());
    vectorised!({ lanes_sum(|i| a[i] * b[i], length) })
}

/// Cross-entropy of every row of logits against its target. Logits become the gradient
/// (`scale · weight · (softmax − target)`). Returns the weighted sum of the losses.
pub(crate) fn cross_entropy(
    logits: &mut [f32],
    vocabulary: usize,
    targets: &[(u32, f32)],
    scale: f32,
) -> f64 {
    let mut total = 0.0;
    vectorised!({
        for (row, (target, weight)) in logits.chunks_mut(vocabulary).zip(targets) {
            let target = *target as usize;
            let wanted = row[target];
            let log_sum = softmax_row(row, vocabulary);
            total += f64::from(*weight) * f64::from(log_sum - wanted);
            let factor = scale * weight;
            for x in row.iter_mut() {
                *x *= factor;
            }
            row[target] -= factor;
        }
    });
    total
}

/// Log-probability of the target of every row; the logits are destroyed.
pub(crate) fn log_probabilities(
    logits: &mut [f32],
    vocabulary: usize,
    targets: &[u32],
) -> Vec<f32> {
    let mut out = Vec::with_capacity(targets.len());
    vectorised!({
        for (row, target) in logits.chunks_mut(vocabulary).zip(targets) {
            let wanted = row[*target as usize];
            out.push(wanted - softmax_row(row, vocabulary));
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gelu_is_the_exact_one() {
        // Values of x·Φ(x) from tables of the normal distribution.
        let mut x = [-1.0, 0.0, 1.0, 2.0];
        let mut y = [0.0; 4];
        activate(Activation::Gelu, &mut x, &mut y);
        for (got, want) in y.iter().zip([-0.158_655_25, 0.0, 0.841_344_7, 1.954_499_7]) {
            assert!((got - want).abs() < 5e-7, "{got} {want}");
        }
    }

    #[test]
    fn a_row_of_any_length_sums_to_one() {
        for length in 1..70 {
            let mut row: Vec<f32> = (0..length).map(|i| (i as f32 * 1.7).sin() * 9.0).collect();
            softmax_row(&mut row, length);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}
