//! How far two judges agree beyond chance.
//!
//! The textbook interval of kappa covers 20 % instead of 95 % when two judges nearly always agree and items
//! are few. Ours is Wilson's interval at the sample size at which a share would vary as much as kappa does
//! (Fleiss, Cohen and Everitt's variance), with Student's quantile; `tests/coverage.rs` holds what it
//! reaches.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::distributions::t_of;
use crate::intervals::wilson_bounds;
use crate::{Interval, LEVEL, StatsError, input};

/// Cohen's kappa with what it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Kappa {
    /// Kappa and its 95 % interval.
    pub kappa: Interval,
    /// Asymptotic standard error of kappa itself (Fleiss, Cohen and Everitt 1969).
    pub standard_error: f64,
    /// Share of items on which the two agree.
    pub observed: f64,
    /// Share on which they would agree by chance, given how often each uses each label.
    pub expected: f64,
}

/// Cohen's kappa of two judges' labels of the same items.
///
/// ```
/// let (first, second) = (["yes", "no", "yes", "no"], ["yes", "no", "no", "no"]);
/// let found = mary_stats::agreement::cohen_kappa(&first, &second)?;
/// assert_eq!((found.observed, found.expected, found.kappa.value), (0.75, 0.5, 0.5));
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn cohen_kappa<L: Ord>(first: &[L], second: &[L]) -> Result<Kappa, StatsError> {
    const WHAT: &str = "Cohen's kappa";
    input::same_length(WHAT, first.len(), second.len())?;
    input::at_least(WHAT, 2, first.len())?;
    let distinct: BTreeSet<&L> = first.iter().chain(second).collect();
    let labels: BTreeMap<&L, usize> = distinct.into_iter().zip(0..).collect();
    let k = labels.len();
    let mut table = vec![0.0; k * k];
    for (a, b) in first.iter().zip(second) {
        if let (Some(i), Some(j)) = (labels.get(a), labels.get(b)) {
            table[i * k + j] += 1.0;
        }
    }
    let alike =
        "both judges always give the same single label, so agreement beyond chance is undefined";
    let raw = Parts::of(&table, k).ok_or(StatsError::degenerate(WHAT, alike))?;
    let n = first.len() as f64;
    let (low, high) = wilson_bounds(raw.observed, raw.worth(n), t_of(LEVEL, n - 1.0));
    let on_scale = |share: f64| (share - raw.expected) / (1.0 - raw.expected);
    let bounds = (on_scale(low).max(-1.0), on_scale(high).min(1.0));
    Ok(Kappa {
        kappa: Interval::new(raw.kappa, bounds, first.len(), "kappa-wilson"),
        standard_error: raw.error,
        observed: raw.observed,
        expected: raw.expected,
    })
}

#[derive(Clone, Copy)]
struct Parts {
    kappa: f64,
    error: f64,
    observed: f64,
    expected: f64,
}

impl Parts {
    /// How many independent verdicts the share of agreement is worth; `n` where it does not vary.
    fn worth(&self, n: f64) -> f64 {
        let coin = self.observed * (1.0 - self.observed);
        let variance = (self.error * (1.0 - self.expected)).powi(2);
        let varies = coin > 0.0 && variance > 0.0;
        if varies { coin / variance } else { n }
    }

    /// From a `k` by `k` table of counts; nothing when chance agreement is complete.
    fn of(table: &[f64], k: usize) -> Option<Self> {
        let n: f64 = table.iter().sum();
        let at = |i: usize, j: usize| table.get(i * k + j).copied().unwrap_or(0.0) / n;
        let rows: Vec<f64> = (0..k).map(|i| (0..k).map(|j| at(i, j)).sum()).collect();
        let columns: Vec<f64> = (0..k).map(|j| (0..k).map(|i| at(i, j)).sum()).collect();
        let observed: f64 = (0..k).map(|i| at(i, i)).sum();
        let expected: f64 = rows.iter().zip(&columns).map(|(r, c)| r * c).sum();
        if 1.0 - expected < 1e-12 {
            return None;
        }
        let kappa = (observed - expected) / (1.0 - expected);
        let rest = 1.0 - kappa;
        let (mut diagonal, mut off) = (0.0, 0.0);
        for i in 0..k {
            diagonal += at(i, i) * (1.0 - (rows[i] + columns[i]) * rest).powi(2);
            for (j, row) in rows.iter().enumerate() {
                if i != j {
                    off += at(i, j) * (columns[i] + row).powi(2);
                }
            }
        }
        let correction = (kappa - expected * rest).powi(2);
        let variance = (diagonal + rest * rest * off - correction) / ((1.0 - expected).powi(2) * n);
        Some(Self {
            kappa,
            error: variance.max(0.0).sqrt(),
            observed,
            expected,
        })
    }
}
