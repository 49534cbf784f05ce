//! A mean against a value named beforehand (chance): each p-value is the level at which the interval of
//! [`crate::Moments`] reaches that value, so that the two agree.

use crate::LEVEL;
use crate::distributions::{binomial_cdf, bisect, normal_cdf, t_of, t_two_sided, z_of};

/// The smallest p-value that is looked for; below, doubles have no room left beside 1.
const LEAST: f64 = 1e-13;

/// Degrees of freedom of clustered summaries that did not record them: few (nine families), to claim too
/// little.
const UNKNOWN_FREEDOM: f64 = 8.0;

/// The distribution that a distance in standard errors is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tail {
    /// The normal one.
    Normal,
    /// Student's t with these degrees of freedom.
    Student(f64),
    /// Between the two: this share of the normal quantile, the rest of Student's.
    Between(f64, f64),
}

impl Tail {
    /// The quantile of a two-sided interval.
    pub(crate) fn quantile(self, level: f64) -> f64 {
        match self {
            Self::Normal => z_of(level),
            Self::Student(freedom) => t_of(level, freedom),
            Self::Between(share, freedom) => {
                let (z, t) = (z_of(level), t_of(level, freedom));
                z + (t - z) * (1.0 - share)
            }
        }
    }

    /// Two-sided p-value of a distance.
    fn p(self, distance: f64) -> f64 {
        match self {
            Self::Normal => 2.0 * normal_cdf(-distance),
            Self::Student(freedom) => t_two_sided(distance, freedom),
            Self::Between(..) => {
                let farther = |log: f64| self.quantile(1.0 - log.exp()) > distance;
                bisect((LEAST.ln(), 0.0), 50, farther).exp()
            }
        }
    }
}

/// Of a share of `n` tosses at `null`, as in Wilson's interval.
pub(crate) fn score(share: f64, null: f64, n: f64, tail: Tail) -> f64 {
    if !(0.0..=1.0).contains(&null) {
        return 0.0;
    }
    let distance = (share - null).abs();
    if n <= 0.0 || distance == 0.0 {
        return 1.0;
    }
    let coin = null * (1.0 - null);
    if coin <= 0.0 {
        // Nothing ever happens at such a chance, and something did.
        return 0.0;
    }
    tail.p(distance * (n / coin).sqrt())
}

/// Of a distance whose squared standard error is an estimate.
pub(crate) fn wald(distance: f64, variance: f64, freedom: f64) -> f64 {
    if distance == 0.0 {
        1.0
    } else if variance <= 0.0 {
        0.0
    } else {
        t_two_sided(distance / variance.sqrt(), freedom)
    }
}

/// Of `successes` in `n`, as in the interval of Clopper and Pearson.
pub(crate) fn exact(successes: u64, n: u64, null: f64) -> f64 {
    if !(0.0..=1.0).contains(&null) {
        return 0.0;
    }
    let upto = binomial_cdf(successes, n, null);
    let from = match successes.checked_sub(1) {
        None => 1.0,
        Some(fewer) => 1.0 - binomial_cdf(fewer, n, null),
    };
    (2.0 * upto.min(from)).clamp(0.0, 1.0)
}

/// The p-value of `null` from a stored 95 % interval: below 0.05 exactly where the interval leaves `null`
/// out. Nothing for a range of fixed items, which is no interval.
pub fn p_of_interval(
    (value, low, high): (f64, f64, f64),
    count: usize,
    method: &str,
    null: f64,
) -> Option<f64> {
    if method == "range" || ![value, low, high, null].iter().all(|v| v.is_finite()) {
        return None;
    }
    let n = count as f64;
    match method {
        "wilson" if count > 0 => return Some(score(value, null, n, Tail::Normal)),
        "exact" => return Some(exact((value * n).round() as u64, count as u64, null)),
        _ => {}
    }
    let bound = if null < value { low } else { high };
    let plain = |v: f64| (v - value).abs();
    let scored = |v: f64| plain(v) / (v * (1.0 - v)).sqrt();
    let inside = |v: f64| v > 0.0 && v < 1.0;
    let wilson = method.contains("wilson") || method == "crossed";
    let ratio = if plain(null) == 0.0 {
        0.0
    } else if plain(bound) == 0.0 {
        f64::INFINITY
    } else if wilson && inside(null) && inside(bound) {
        scored(null) / scored(bound)
    } else {
        plain(null) / plain(bound)
    };
    let freedom = match method {
        "student-t" | "wilson-effective" => (n - 1.0).max(1.0),
        _ => UNKNOWN_FREEDOM,
    };
    Some(t_two_sided(ratio * t_of(LEVEL, freedom), freedom))
}
