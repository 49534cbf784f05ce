//! The negative exponential `a * exp(-b x) + c` by least squares: for a given `b` it is a line fit, so that
//! only `b` is searched, by a grid and golden section. No starting value, no local optimum.

use serde::Serialize;

use crate::linear::{explained, slope_and_intercept};
use crate::{StatsError, input};

/// A fitted curve `a * exp(-b x) + c`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Exponential {
    /// Height of the falling part; negative when y rises with x.
    pub a: f64,
    /// How fast it falls; always positive.
    pub b: f64,
    /// What is approached for large x.
    pub c: f64,
    /// Share of the variance of y that is explained.
    pub r_squared: f64,
}

impl Exponential {
    /// Its value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.a * (-self.b * x).exp() + self.c
    }
}

/// Fits `a * exp(-b x) + c` with `b > 0` to at least four points.
///
/// `b` times the range of x lies between 0.001 (nearly a line) and 500 (nearly a step).
///
/// ```
/// use mary_stats::exponential::exponential;
///
/// let x: Vec<f64> = (0..8).map(f64::from).collect();
/// let y: Vec<f64> = x.iter().map(|x| 3.0 * (-0.7 * x).exp() + 1.0).collect();
/// let curve = exponential(&x, &y)?;
/// assert!((curve.b - 0.7).abs() < 1e-4 && (curve.c - 1.0).abs() < 1e-4);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn exponential(x: &[f64], y: &[f64]) -> Result<Exponential, StatsError> {
    const WHAT: &str = "exponential fit";
    const CONSTANT: StatsError =
        StatsError::degenerate(WHAT, "x does not vary, so no rate is defined");
    input::pairs(WHAT, x, y, 4)?;
    let low = x.iter().copied().fold(f64::INFINITY, f64::min);
    let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = high - low;
    if range <= 0.0 {
        return Err(CONSTANT);
    }
    let total = input::sum_squares(y);
    let mut decay = vec![0.0; x.len()];
    let mut fit = |log_rate: f64| at_rate(x, y, total, low, log_rate.exp() / range, &mut decay);
    let mut residual = |log_rate: f64| match fit(log_rate) {
        Some(curve) if !curve.r_squared.is_nan() => 1.0 - curve.r_squared,
        _ => f64::INFINITY,
    };
    const GRID: usize = 240;
    let (from, to) = (0.001_f64.ln(), 500_f64.ln());
    let step = (to - from) / GRID as f64;
    let rates = (0..=GRID).map(|i| from + step * i as f64);
    let tried = rates.map(|r| (residual(r), r));
    let best = tried.min_by(|a, b| a.0.total_cmp(&b.0));
    let best = best.map_or(from, |(_, r)| r);
    let (least, most) = ((best - step).max(from), (best + step).min(to));
    let log_rate = golden_section(&mut residual, least, most);
    fit(log_rate).ok_or(CONSTANT)
}

/// The best `a` and `c` for a rate, anchored at the smallest x so that nothing underflows to a constant. A
/// permutation test comes here a million times: nothing is checked or allocated again.
fn at_rate(
    x: &[f64],
    y: &[f64],
    total: f64,
    anchor: f64,
    b: f64,
    decay: &mut [f64],
) -> Option<Exponential> {
    for (d, v) in decay.iter_mut().zip(x) {
        *d = (-b * (v - anchor)).exp();
    }
    let (slope, intercept, _) = slope_and_intercept(decay, y)?;
    let fitted = decay.iter().map(|d| intercept + slope * d);
    let residual: f64 = y.iter().zip(fitted).map(|(a, f)| (a - f).powi(2)).sum();
    Some(Exponential {
        a: slope * (b * anchor).exp(),
        b,
        c: intercept,
        r_squared: explained(residual, total),
    })
}

fn golden_section(mut f: impl FnMut(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    for _ in 0..80 {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = f(right);
        }
    }
    0.5 * (low + high)
}
