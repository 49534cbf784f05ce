//! Normal, Student's t, F, chi-squared, beta and binomial. The incomplete beta function is our own continued
//! fraction: that of `statrs` stops after 140 terms, silently wrong for counts of 10^5 and more.

use statrs::function::{erf::erfc, gamma::gamma_lr, gamma::ln_gamma};

/// Distribution function of the standard normal.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x / std::f64::consts::SQRT_2)
}

/// Quantile of the standard normal; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let x = -std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p);
    // One Newton step takes the library's approximation to full precision.
    let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if density > 1e-300 {
        x - (normal_cdf(x) - p) / density
    } else {
        x
    }
}

/// Regularised incomplete beta function `I_x(a, b)`, by Lentz's continued fraction.
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_cdf_small(1.0 - x, b, a);
    }
    beta_cdf_small(x, a, b)
}

fn beta_cdf_small(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for step in 1..200_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let change = d * c;
        h *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front * h).clamp(0.0, 1.0)
}

/// Quantile of the beta distribution, by bisection.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    halved((0.0, 1.0), (80, 1e-15), |x| beta_cdf(x, a, b) < p)
}

/// Halves a bracket as often as said; `below` tells of a place whether what is looked for lies above it.
pub(crate) fn bisect(bracket: (f64, f64), steps: usize, below: impl Fn(f64) -> bool) -> f64 {
    halved(bracket, (steps, 0.0), below)
}

/// The same, which ends early at a width that is this share of the upper end.
fn halved(
    (mut low, mut high): (f64, f64),
    (steps, precision): (usize, f64),
    below: impl Fn(f64) -> bool,
) -> f64 {
    for _ in 0..steps {
        let middle = 0.5 * (low + high);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= precision * high {
            break;
        }
    }
    0.5 * (low + high)
}

/// Distribution function of Student's t.
pub fn t_cdf(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * t_two_sided(t, freedom);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Two-sided p-value of a t statistic.
pub fn t_two_sided(t: f64, freedom: f64) -> f64 {
    beta_cdf(freedom / (freedom + t * t), 0.5 * freedom, 0.5)
}

/// Quantile of Student's t.
pub fn t_quantile(p: f64, freedom: f64) -> f64 {
    if p == 0.5 {
        return 0.0;
    }
    if p < 0.5 {
        return -t_quantile(1.0 - p, freedom);
    }
    // Beyond ten million degrees the difference from the normal is below 1e-7.
    if freedom > 1e7 {
        return normal_quantile(p);
    }
    let (mut low, mut high) = (0.0_f64, 2.0_f64);
    while t_cdf(high, freedom) < p && high < 1e12 {
        low = high;
        high *= 2.0;
    }
    halved((low, high), (80, 1e-14), |t| t_cdf(t, freedom) < p)
}

/// Upper tail of the chi-squared distribution.
pub fn chi_squared_upper(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    1.0 - gamma_lr(0.5 * freedom, 0.5 * x)
}

/// Probability of exactly `k` successes in `n` trials.
pub fn binomial_pmf(k: u64, n: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    if p <= 0.0 {
        return if k == 0 { 1.0 } else { 0.0 };
    }
    if p >= 1.0 {
        return if k == n { 1.0 } else { 0.0 };
    }
    let (kf, nf) = (k as f64, n as f64);
    (ln_gamma(nf + 1.0) - ln_gamma(kf + 1.0) - ln_gamma(nf - kf + 1.0)
        + kf * p.ln()
        + (nf - kf) * (-p).ln_1p())
    .exp()
}

/// Probability of at most `k` successes in `n` trials.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    beta_cdf(1.0 - p, (n - k) as f64, k as f64 + 1.0)
}

/// The normal quantile a two-sided interval of this level uses (1.96 for 0.95).
pub(crate) fn z_of(level: f64) -> f64 {
    normal_quantile(0.5 + 0.5 * level)
}

/// The t quantile a two-sided interval of this level uses.
pub(crate) fn t_of(level: f64, freedom: f64) -> f64 {
    t_quantile(0.5 + 0.5 * level, freedom)
}
