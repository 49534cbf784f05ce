//! Mann and Whitney's U: whether one group's values tend to be larger than the other's.

use serde::Serialize;

use crate::correlation::{ranks, tie_sizes};
use crate::distributions::normal_cdf;
use crate::{StatsError, input};

/// What Mann and Whitney's test finds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MannWhitney {
    /// U of the first group: pairs in which its value is larger, ties one half.
    pub u: f64,
    /// Two-sided p-value of neither group being larger.
    pub p: f64,
    /// Probability that a value of the first group exceeds one of the second, ties one half.
    pub superiority: f64,
    /// `exact`, or `normal` (corrected for ties and continuity).
    pub method: &'static str,
}

/// Mann–Whitney U of two groups; exact without ties when one group has at most eight values.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Result<MannWhitney, StatsError> {
    const WHAT: &str = "Mann-Whitney U";
    input::values(WHAT, first, 1)?;
    input::values(WHAT, second, 1)?;
    let pooled: Vec<f64> = first.iter().chain(second).copied().collect();
    let (n1, n2) = (first.len() as f64, second.len() as f64);
    let rank_sum: f64 = ranks(&pooled).iter().take(first.len()).sum();
    let u = rank_sum - n1 * (n1 + 1.0) / 2.0;
    let ties = tie_sizes(&pooled);
    let tied = ties.iter().any(|&size| size > 1.0);
    let small = first.len().min(second.len()) <= 8 && first.len() * second.len() <= 20_000;
    let (p, method) = if !tied && small {
        (exact_p(u, first.len(), second.len()), "exact")
    } else {
        (normal_p(u, n1, n2, &ties)?, "normal")
    };
    Ok(MannWhitney {
        u,
        p,
        superiority: u / (n1 * n2),
        method,
    })
}

fn normal_p(u: f64, n1: f64, n2: f64, ties: &[f64]) -> Result<f64, StatsError> {
    let n = n1 + n2;
    let tie_term: f64 = ties.iter().map(|t| t * t * t - t).sum();
    let variance = n1 * n2 / 12.0 * ((n + 1.0) - tie_term / (n * (n - 1.0)));
    let why = "all values are equal, so neither group can be larger";
    input::refuse(variance <= 0.0, "Mann-Whitney U", why)?;
    let distance = (u - n1 * n2 / 2.0).abs() - 0.5;
    Ok((2.0 * normal_cdf(-distance / variance.sqrt())).min(1.0))
}

/// Counts the arrangements with each U by a recurrence, as a probability so that it cannot overflow.
fn exact_p(u: f64, n1: usize, n2: usize) -> f64 {
    let cells = n1 * n2 + 1;
    // share[j][u]: distribution of U for (i of the first, j of the second).
    let mut share = vec![vec![0.0; cells]; n2 + 1];
    for row in &mut share {
        row[0] = 1.0;
    }
    for i in 1..=n1 {
        let mut next = vec![vec![0.0; cells]; n2 + 1];
        next[0][0] = 1.0;
        for j in 1..=n2 {
            let owner_first = i as f64 / (i + j) as f64;
            for value in 0..=i * j {
                let from_first = if value >= j { share[j][value - j] } else { 0.0 };
                next[j][value] =
                    owner_first * from_first + (1.0 - owner_first) * next[j - 1][value];
            }
        }
        share = next;
    }
    let larger = u.max((n1 * n2) as f64 - u).round() as usize;
    let row = share.get(n2).map(Vec::as_slice).unwrap_or_default();
    let tail: f64 = row.iter().skip(larger).sum();
    (2.0 * tail).min(1.0)
}
