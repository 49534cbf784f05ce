//! Intervals for one mean or one proportion, and the rule that picks among them. The symmetric normal
//! interval is not used: near 0 and 1, the common case here, it covers far below its name.

use serde::Serialize;

use crate::distributions::{beta_quantile, t_of, z_of};
use crate::{Moments, StatsError, input};

/// The level of every interval unless another is asked for.
pub const LEVEL: f64 = 0.95;

/// A value with the bounds it is known within.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The mean or share itself.
    pub value: f64,
    /// Lower bound at the level asked for.
    pub low: f64,
    /// Upper bound at the level asked for.
    pub high: f64,
    /// How many values it rests on.
    pub n: usize,
    /// How it was made: `wilson`, `exact`, `student-t`, `clustered-wilson`, …
    pub method: &'static str,
}

impl Interval {
    pub(crate) fn new(value: f64, (low, high): (f64, f64), n: usize, method: &'static str) -> Self {
        Self {
            value,
            low,
            high,
            n,
            method,
        }
    }

    /// The same reach on either side.
    pub(crate) fn around(value: f64, half: f64, n: usize, method: &'static str) -> Self {
        Self::new(value, (value - half, value + half), n, method)
    }

    /// Whether `truth` lies within the bounds.
    pub fn contains(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }

    /// How far the bounds lie apart.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// The 95 % interval of a mean score, by the rule of `docs/reference/methods.md`.
///
/// Scores of 0 and 1 get Wilson's interval, below ten of them the exact one; others from 0 to 1 Wilson's at
/// their effective sample size; any other scale Student's t. `clusters` holds one id for each score.
pub fn score_interval(scores: &[f64], clusters: Option<&[usize]>) -> Result<Interval, StatsError> {
    Moments::of("score interval", scores, clusters)?.interval()
}

/// Wilson's score interval for `successes` of `n`.
///
/// ```
/// use mary_stats::{LEVEL, intervals::{exact, wilson}};
///
/// let all = wilson(4, 4, LEVEL)?;
/// assert_eq!(all.high, 1.0);
/// // Of four items Wilson claims too much; the exact interval reaches lower.
/// assert!(exact(4, 4, LEVEL)?.low < all.low);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn wilson(successes: u64, n: u64, level: f64) -> Result<Interval, StatsError> {
    input::count("wilson interval", successes, n)?;
    input::open_unit("wilson interval", level)?;
    let p = successes as f64 / n as f64;
    let (low, high) = wilson_bounds(p, n as f64, z_of(level));
    let low = if successes == 0 { 0.0 } else { low };
    let high = if successes == n { 1.0 } else { high };
    Ok(Interval::new(p, (low, high), n as usize, "wilson"))
}

/// Wilson's bounds for a share `p` of `n` trials (not necessarily whole) at quantile `z`.
pub(crate) fn wilson_bounds(p: f64, n: f64, z: f64) -> (f64, f64) {
    let z2 = z * z;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).max(0.0).sqrt();
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// The exact interval of Clopper and Pearson: never covers less than its level, usually more.
pub fn exact(successes: u64, n: u64, level: f64) -> Result<Interval, StatsError> {
    input::count("exact interval", successes, n)?;
    input::open_unit("exact interval", level)?;
    let (k, nf, tail) = (successes as f64, n as f64, 0.5 * (1.0 - level));
    let low = if successes == 0 {
        0.0
    } else {
        beta_quantile(tail, k, nf - k + 1.0)
    };
    let high = if successes == n {
        1.0
    } else {
        beta_quantile(1.0 - tail, k + 1.0, nf - k)
    };
    Ok(Interval::new(k / nf, (low, high), n as usize, "exact"))
}

/// Mean with Student's t; for scores without a bounded scale.
pub fn mean_t(values: &[f64], level: f64) -> Result<Interval, StatsError> {
    const WHAT: &str = "mean with Student's t";
    input::values(WHAT, values, 2)?;
    input::open_unit(WHAT, level)?;
    let n = values.len() as f64;
    let value = input::mean(values);
    let error = (input::sum_squares(values) / (n - 1.0) / n).sqrt();
    let half = t_of(level, n - 1.0) * error;
    Ok(Interval::around(value, half, values.len(), "student-t"))
}

/// Ratio of two sums over the same units with Student's t, by linearisation (as R's `survey::svyratio` of a simple
/// random sample). The denominators' sum must lie clearly away from zero.
///
/// ```
/// let found = mary_stats::intervals::ratio_t(&[1.0, 2.0, 4.0], &[2.0, 5.0, 5.0], 0.95)?;
/// assert!((found.value - 7.0 / 12.0).abs() < 1e-12);
/// // The error 0.145833, times Student's quantile with two degrees of freedom.
/// assert!((found.high - found.value - 4.302_652_7 * 0.145_833_3).abs() < 1e-6);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn ratio_t(
    numerators: &[f64],
    denominators: &[f64],
    level: f64,
) -> Result<Interval, StatsError> {
    const WHAT: &str = "ratio of sums";
    input::same_length(WHAT, numerators.len(), denominators.len())?;
    input::values(WHAT, numerators, 2)?;
    input::values(WHAT, denominators, 2)?;
    let below = input::mean(denominators);
    input::refuse(below == 0.0, WHAT, "the denominators add up to 0")?;
    let ratio = input::mean(numerators) / below;
    let units = numerators.iter().zip(denominators);
    let linear = units.map(|(x, d)| ratio + (x - ratio * d) / below);
    mean_t(&linear.collect::<Vec<_>>(), level)
}

/// Mean of scores from 0 to 1 (ties, shares of a rubric), with bounds that stay on the scale: Wilson's
/// interval at the effective sample size, since a score that varies less than a coin counts for more than one
/// toss.
pub fn mean_bounded(scores: &[f64], level: f64) -> Result<Interval, StatsError> {
    Moments::of("bounded mean", scores, None)?.bounded(level)
}

/// Mean with the cluster-robust error CR1 (`G/(G-1)`) and Student's t with `G-1` degrees, `G` clusters.
pub fn mean_clustered_t(
    values: &[f64],
    clusters: &[usize],
    level: f64,
) -> Result<Interval, StatsError> {
    Moments::of("clustered mean", values, Some(clusters))?.clustered_t(level)
}

/// Mean of clustered scores from 0 to 1: Wilson's interval at the effective size, Student's quantile with
/// `G-1`.
pub fn mean_clustered_bounded(
    scores: &[f64],
    clusters: &[usize],
    level: f64,
) -> Result<Interval, StatsError> {
    Moments::of("clustered mean", scores, Some(clusters))?.bounded(level)
}

/// Gives every distinct name a number, in order of first appearance: cluster ids from strings.
///
/// ```
/// let ids = mary_stats::intervals::cluster_ids(["red", "blue", "red"]);
/// assert_eq!(ids, [0, 1, 0]);
/// ```
pub fn cluster_ids<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
    let mut known = std::collections::HashMap::new();
    let ids = names.into_iter().map(|name| {
        let next = known.len();
        *known.entry(name).or_insert(next)
    });
    ids.collect()
}
