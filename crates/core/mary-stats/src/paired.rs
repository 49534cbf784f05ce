//! Comparing two conditions on the same items (paired, far more precise where they share items) or on
//! different ones.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::distributions::{binomial_cdf, binomial_pmf, t_of, t_two_sided, z_of};
use crate::intervals::wilson_bounds;
use crate::{Interval, StatsError, input};

/// McNemar's test of two models on the same items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct McNemar {
    /// Items only the first got right.
    pub only_first: u64,
    /// Items only the second got right.
    pub only_second: u64,
    /// Exact two-sided p-value; conservative.
    pub exact_p: f64,
    /// Mid-p value (Fagerland, Lydersen and Laake 2013); the one to report.
    pub mid_p: f64,
}

/// McNemar's test from the two discordant counts.
///
/// ```
/// let test = mary_stats::paired::mcnemar(9, 1);
/// assert!(test.mid_p < 0.05 && test.mid_p < test.exact_p);
/// ```
pub fn mcnemar(only_first: u64, only_second: u64) -> McNemar {
    let n = only_first + only_second;
    let smaller = only_first.min(only_second);
    if only_first == only_second {
        return McNemar {
            only_first,
            only_second,
            exact_p: 1.0,
            mid_p: 1.0,
        };
    }
    let doubled = 2.0 * binomial_cdf(smaller, n, 0.5);
    McNemar {
        only_first,
        only_second,
        exact_p: doubled.min(1.0),
        mid_p: (doubled - binomial_pmf(smaller, n, 0.5)).clamp(0.0, 1.0),
    }
}

/// The four cells of two yes/no verdicts on the same items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PairedCounts {
    /// Items that both got right.
    pub both: u64,
    /// Items that only the first got right.
    pub only_first: u64,
    /// Items that only the second got right.
    pub only_second: u64,
    /// Items that neither got right.
    pub neither: u64,
}

impl PairedCounts {
    /// Counts verdicts of 0 and 1; nothing when any score is something else (a tie).
    pub fn from_scores(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.len() != second.len() {
            return None;
        }
        let mut counts = Self::default();
        for (&a, &b) in first.iter().zip(second) {
            if (a != 0.0 && a != 1.0) || (b != 0.0 && b != 1.0) {
                return None;
            }
            match (a == 1.0, b == 1.0) {
                (true, true) => counts.both += 1,
                (true, false) => counts.only_first += 1,
                (false, true) => counts.only_second += 1,
                (false, false) => counts.neither += 1,
            }
        }
        Some(counts)
    }

    /// How many items there are.
    pub fn n(&self) -> u64 {
        self.both + self.only_first + self.only_second + self.neither
    }
}

/// Newcombe's interval (1998, method 10) for paired proportions, first minus second; conservative for few
/// items.
pub fn newcombe_paired(counts: &PairedCounts, level: f64) -> Result<Interval, StatsError> {
    const WHAT: &str = "Newcombe interval for paired proportions";
    let total = counts.n();
    input::count(WHAT, 0, total)?;
    input::open_unit(WHAT, level)?;
    let [a, b, c, d] = [
        counts.both as f64,
        counts.only_first as f64,
        counts.only_second as f64,
        counts.neither as f64,
    ];
    let n = total as f64;
    let (p1, p2) = ((a + b) / n, (a + c) / n);
    let z = z_of(level);
    let (l1, u1) = wilson_bounds(p1, n, z);
    let (l2, u2) = wilson_bounds(p2, n, z);
    let phi = newcombe_phi(a, b, c, d);
    let (d1, e1) = (p1 - l1, u1 - p1);
    let (d2, e2) = (p2 - l2, u2 - p2);
    let value = p1 - p2;
    let below = (d1 * d1 - 2.0 * phi * d1 * e2 + e2 * e2).max(0.0).sqrt();
    let above = (e1 * e1 - 2.0 * phi * e1 * d2 + d2 * d2).max(0.0).sqrt();
    Ok(Interval::new(
        value,
        ((value - below).max(-1.0), (value + above).min(1.0)),
        total as usize,
        "newcombe-paired",
    ))
}

/// Correlation of the two verdicts, corrected for continuity when positive.
fn newcombe_phi(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let margins = (a + b) * (c + d) * (a + c) * (b + d);
    if margins <= 0.0 {
        return 0.0;
    }
    let excess = a * d - b * c;
    let half = 0.5 * (a + b + c + d);
    let corrected = if excess > 0.0 {
        (excess - half).max(0.0)
    } else {
        excess
    };
    corrected / margins.sqrt()
}

/// Newcombe's interval for proportions on different items, first minus second; conservative for few near 0
/// and 1.
pub fn newcombe_unpaired(
    (k1, n1): (u64, u64),
    (k2, n2): (u64, u64),
    level: f64,
) -> Result<Interval, StatsError> {
    const WHAT: &str = "Newcombe interval for two proportions";
    input::count(WHAT, k1, n1)?;
    input::count(WHAT, k2, n2)?;
    input::open_unit(WHAT, level)?;
    let z = z_of(level);
    let (p1, p2) = (k1 as f64 / n1 as f64, k2 as f64 / n2 as f64);
    let (l1, u1) = wilson_bounds(p1, n1 as f64, z);
    let (l2, u2) = wilson_bounds(p2, n2 as f64, z);
    let value = p1 - p2;
    Ok(Interval::new(
        value,
        (
            value - (p1 - l1).hypot(u2 - p2),
            value + (u1 - p1).hypot(p2 - l2),
        ),
        (n1 + n2) as usize,
        "newcombe",
    ))
}

/// Difference of two means on different items, with Welch's interval and p-value.
pub fn welch(first: &[f64], second: &[f64], level: f64) -> Result<(Interval, f64), StatsError> {
    const WHAT: &str = "Welch difference of means";
    input::values(WHAT, first, 2)?;
    input::values(WHAT, second, 2)?;
    input::open_unit(WHAT, level)?;
    let (n1, n2) = (first.len() as f64, second.len() as f64);
    let v1 = input::sum_squares(first) / (n1 - 1.0) / n1;
    let v2 = input::sum_squares(second) / (n2 - 1.0) / n2;
    let variance = v1 + v2;
    if variance <= 0.0 {
        return Err(StatsError::degenerate(
            WHAT,
            "neither side varies, so the difference has no standard error",
        ));
    }
    let freedom = variance * variance / (v1 * v1 / (n1 - 1.0) + v2 * v2 / (n2 - 1.0));
    let value = input::mean(first) - input::mean(second);
    let error = variance.sqrt();
    let half = t_of(level, freedom) * error;
    let interval = Interval::new(
        value,
        (value - half, value + half),
        first.len() + second.len(),
        "welch",
    );
    Ok((interval, t_two_sided(value / error, freedom)))
}

/// Result of a sign-flipping permutation test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Permutation {
    /// Two-sided p-value of the mean difference.
    pub p: f64,
    /// Whether all sign patterns were gone through, not a sample of them.
    pub exact: bool,
}

/// Whether the mean of paired differences is zero: the sign of every unit is then a coin toss.
///
/// Up to 16 differing units all patterns are tried; beyond, `draws` random ones and the observed one, so that
/// p is never 0.
pub fn permutation(
    differences: &[f64],
    clusters: Option<&[usize]>,
    draws: usize,
    seed: u64,
) -> Result<Permutation, StatsError> {
    const WHAT: &str = "permutation test";
    input::values(WHAT, differences, 1)?;
    let mut units: Vec<f64> = match clusters {
        None => differences.to_vec(),
        Some(ids) => {
            input::same_length(WHAT, differences.len(), ids.len())?;
            let mut sums = std::collections::BTreeMap::<usize, f64>::new();
            for (&d, &id) in differences.iter().zip(ids) {
                *sums.entry(id).or_default() += d;
            }
            sums.into_values().collect()
        }
    };
    units.retain(|d| *d != 0.0);
    let observed = units.iter().sum::<f64>().abs();
    // Sums that differ only by rounding are ties with the observed one.
    let threshold = observed - 1e-9 * units.iter().map(|d| d.abs()).sum::<f64>();
    if units.len() <= 16 {
        let patterns = 1u32 << units.len();
        let extreme = (0..patterns)
            .filter(|pattern| {
                let sum: f64 = units
                    .iter()
                    .enumerate()
                    .map(|(i, d)| if pattern >> i & 1 == 1 { -d } else { *d })
                    .sum();
                sum.abs() >= threshold
            })
            .count();
        return Ok(Permutation {
            p: extreme as f64 / f64::from(patterns),
            exact: true,
        });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut extreme = 0usize;
    for _ in 0..draws {
        let mut sum = 0.0;
        for block in units.chunks(64) {
            let mut bits: u64 = rng.random();
            for d in block {
                sum += if bits & 1 == 1 { *d } else { -d };
                bits >>= 1;
            }
        }
        if sum.abs() >= threshold {
            extreme += 1;
        }
    }
    Ok(Permutation {
        p: (extreme + 1) as f64 / (draws + 1) as f64,
        exact: false,
    })
}
