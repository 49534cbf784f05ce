//! Pearson, Spearman and Kendall, with ties, intervals and p-values.

use serde::Serialize;

use crate::distributions::{normal_cdf, t_two_sided, z_of};
use crate::{Interval, LEVEL, StatsError, input, permutation};

/// A correlation with its interval and p-value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Correlation {
    /// The coefficient and its 95 % interval.
    pub r: Interval,
    /// Two-sided p-value of no association.
    pub p: f64,
}

/// Pearson's r with Fisher's interval; p by Student's t.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<Correlation, StatsError> {
    const WHAT: &str = "Pearson correlation";
    input::pairs(WHAT, x, y, 4)?;
    let r = coefficient(WHAT, x, y)?;
    Ok(Correlation {
        r: fisher(r, x.len(), 1.0, "fisher-z"),
        p: t_test(r, x.len()),
    })
}

/// Spearman's rho (ties get their mean rank) with Bonett and Wright's interval; p by Student's t.
///
/// ```
/// use mary_stats::correlation::{pearson, spearman};
///
/// // Any rising curve is a perfect rank correlation.
/// let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 4.0, 9.0, 16.0, 25.0]);
/// assert!((spearman(&x, &y)?.r.value - 1.0).abs() < 1e-12);
/// assert!(pearson(&x, &y)?.r.value < 1.0);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Correlation, StatsError> {
    const WHAT: &str = "Spearman correlation";
    input::pairs(WHAT, x, y, 4)?;
    let rho = coefficient(WHAT, &ranks(x), &ranks(y))?;
    let (n, cubed) = (x.len(), (x.len() as f64).powi(3));
    // Ranks vary more than Fisher's 1/(n-3): Bonett and Wright (2000). A perfect order is not certainty: its interval
    // is that of the value halfway to the next that n ranks can have.
    let most = 1.0 - 6.0 / (cubed - n as f64);
    let inflation = (1.0 + 0.5 * rho * rho).sqrt();
    let r = fisher(rho.clamp(-most, most), n, inflation, "bonett-wright");
    let r = Interval::new(rho, (r.low.min(rho), r.high.max(rho)), n, r.method);
    let p = if n <= FEW {
        exact(&ranks(x), &ranks(y))?
    } else {
        t_test(rho, n)
    };
    Ok(Correlation { r, p })
}

/// Pairs for which all orders are tried: Student's t calls a perfect order of four certain.
const FEW: usize = 8;

/// Share of the orders of the second whose correlation with the first is as strong, both ways.
fn exact(x: &[f64], y: &[f64]) -> Result<f64, StatsError> {
    let strength = |order: &[usize]| {
        let y: Vec<f64> = order.iter().filter_map(|&i| y.get(i)).copied().collect();
        Ok(vec![coefficient("Spearman correlation", x, &y)?.abs()])
    };
    let all = permutation::relabel(x.len(), usize::MAX, 0, strength)?;
    Ok(all.first().map_or(1.0, |null| null.p))
}

/// Spearman's rho alone, for as few as two pairs.
pub fn spearman_rho(x: &[f64], y: &[f64]) -> Result<f64, StatsError> {
    const WHAT: &str = "Spearman correlation";
    input::pairs(WHAT, x, y, 2)?;
    coefficient(WHAT, &ranks(x), &ranks(y))
}

/// Pearson's r alone, for as few as two pairs.
pub fn pearson_r(x: &[f64], y: &[f64]) -> Result<f64, StatsError> {
    const WHAT: &str = "Pearson correlation";
    input::pairs(WHAT, x, y, 2)?;
    coefficient(WHAT, x, y)
}

/// Kendall's tau-b and its two-sided p-value by the normal approximation with ties.
pub fn kendall(x: &[f64], y: &[f64]) -> Result<(f64, f64), StatsError> {
    const WHAT: &str = "Kendall correlation";
    input::pairs(WHAT, x, y, 2)?;
    let mut balance = 0.0;
    for i in 0..x.len() {
        for j in 0..i {
            balance += sign(x[i] - x[j]) * sign(y[i] - y[j]);
        }
    }
    let n = x.len() as f64;
    let (tx, ty) = (tie_sizes(x), tie_sizes(y));
    let total = n * (n - 1.0) / 2.0;
    let tied = |t: &[f64]| t.iter().map(|k| k * (k - 1.0) / 2.0).sum::<f64>();
    let denominator = ((total - tied(&tx)) * (total - tied(&ty))).sqrt();
    let why = "one of the two inputs does not vary";
    input::refuse(denominator <= 0.0, WHAT, why)?;
    let over = |t: &[f64], f: fn(f64) -> f64| t.iter().map(|k| f(*k)).sum::<f64>();
    let v = |t: &[f64]| over(t, |k| k * (k - 1.0) * (2.0 * k + 5.0));
    let pairs = |t: &[f64]| over(t, |k| k * (k - 1.0));
    let triples = |t: &[f64]| over(t, |k| k * (k - 1.0) * (k - 2.0));
    let mut variance = (n * (n - 1.0) * (2.0 * n + 5.0) - v(&tx) - v(&ty)) / 18.0
        + pairs(&tx) * pairs(&ty) / (2.0 * n * (n - 1.0));
    if n > 2.0 {
        variance += triples(&tx) * triples(&ty) / (9.0 * n * (n - 1.0) * (n - 2.0));
    }
    let p = if variance > 0.0 {
        2.0 * normal_cdf(-(balance.abs() / variance.sqrt()))
    } else {
        1.0
    };
    Ok((balance / denominator, p.min(1.0)))
}

/// Kendall's tau of a few values and its two-sided p-value, exact where no two are tied: the share of all orders
/// that lie as far from none as this one. With ties it is that of [`kendall`].
///
/// ```
/// use mary_stats::correlation::kendall_exact;
///
/// // All five rise: 2 of the 120 orders are as clear.
/// let (tau, p) = kendall_exact(&[1.0, 2.0, 3.0, 4.0, 5.0], &[0.1, 0.2, 0.4, 0.5, 0.9])?;
/// assert!((tau - 1.0).abs() < 1e-12 && (p - 2.0 / 120.0).abs() < 1e-12);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn kendall_exact(x: &[f64], y: &[f64]) -> Result<(f64, f64), StatsError> {
    let (tau, approximate) = kendall(x, y)?;
    let tied = |v: &[f64]| tie_sizes(v).iter().any(|k| *k > 1.0);
    if tied(x) || tied(y) {
        return Ok((tau, approximate));
    }
    // Share of the orders of n values that have so many inversions, from those of n − 1.
    let mut shares = vec![1.0];
    for n in 2..=x.len() {
        let mut next = vec![0.0; shares.len() + n - 1];
        for (inversions, share) in shares.iter().enumerate() {
            for more in &mut next[inversions..inversions + n] {
                *more += share / n as f64;
            }
        }
        shares = next;
    }
    let most = (shares.len() - 1) as f64;
    let inversions = (most * (1.0 - tau.abs()) / 2.0).round() as usize;
    let tail: f64 = shares.iter().take(inversions + 1).sum();
    Ok((tau, (2.0 * tail).min(1.0)))
}

/// Ranks from 1; equal values share their mean rank.
pub fn ranks(x: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    let mut ranks = vec![0.0; x.len()];
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && x[order[end]] == x[order[start]] {
            end += 1;
        }
        let shared = (start + 1 + end) as f64 / 2.0;
        for &index in &order[start..end] {
            ranks[index] = shared;
        }
        start = end;
    }
    ranks
}

/// Sizes of the groups of equal values.
pub(crate) fn tie_sizes(x: &[f64]) -> Vec<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let groups = sorted.chunk_by(|a, b| a == b);
    groups.map(|group| group.len() as f64).collect()
}

fn sign(d: f64) -> f64 {
    if d > 0.0 {
        1.0
    } else if d < 0.0 {
        -1.0
    } else {
        0.0
    }
}

fn coefficient(what: &'static str, x: &[f64], y: &[f64]) -> Result<f64, StatsError> {
    let (mx, my) = (input::mean(x), input::mean(y));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (&a, &b) in x.iter().zip(y) {
        xy += (a - mx) * (b - my);
        xx += (a - mx) * (a - mx);
        yy += (b - my) * (b - my);
    }
    // Relative to the size of the values: a constant column leaves only rounding behind.
    let flat = |ss: f64, m: f64| ss <= x.len() as f64 * (m.abs() * 1e-14).powi(2);
    let why = "one of the two inputs does not vary, so a correlation is undefined";
    input::refuse(flat(xx, mx) || flat(yy, my), what, why)?;
    Ok((xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0))
}

fn fisher(r: f64, n: usize, inflation: f64, method: &'static str) -> Interval {
    let half = z_of(LEVEL) * inflation / (n as f64 - 3.0).sqrt();
    let z = r.atanh();
    let bounds = if z.is_finite() {
        ((z - half).tanh(), (z + half).tanh())
    } else {
        (r, r)
    };
    Interval::new(r, bounds, n, method)
}

fn t_test(r: f64, n: usize) -> f64 {
    let freedom = n as f64 - 2.0;
    if r.abs() >= 1.0 {
        return 0.0;
    }
    t_two_sided(r * (freedom / (1.0 - r * r)).sqrt(), freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.kendalltau(x, y, method="exact"), scipy 1.17.1.
    #[test]
    fn exact_orders_are_scipys() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let y = [0.3, 0.1, 0.4, 0.15, 0.9, 0.2, 0.65, 0.5];
        let (tau, p) = kendall_exact(&x, &y).unwrap();
        assert!((tau - 5.0 / 14.0).abs() < 1e-12);
        assert!((p - 0.275_099_206_349_206_4).abs() < 1e-12);
        let (_, p) = kendall_exact(&x, &[1.0, 2.0, 4.0, 3.0, 5.0, 8.0, 7.0, 6.0]).unwrap();
        assert!((p - 0.014_136_904_761_904_762).abs() < 1e-12);
        // Three sizes in order: a third of all orders are as clear.
        let (_, p) = kendall_exact(&x[..3], &x[..3]).unwrap();
        assert!((p - 1.0 / 3.0).abs() < 1e-12);
    }
}
