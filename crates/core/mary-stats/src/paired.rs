//! Comparing two conditions on the same items.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::distributions::{binomial_cdf, binomial_pmf};
use crate::{StatsError, input};

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
                let numbered = units.iter().enumerate();
                let signed = numbered.map(|(i, d)| if pattern >> i & 1 == 1 { -d } else { *d });
                signed.sum::<f64>().abs() >= threshold
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
