//! Least squares: a line, or several features, with R².

use serde::Serialize;

use crate::distributions::{normal_cdf, t_two_sided, z_of};
use crate::matrix::{add, dot, invert_spd, times, zip_with};
use crate::{Interval, LEVEL, StatsError, input};

/// A line fitted by least squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FittedLine {
    /// Change of y for one of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// Share of the variance of y that the line explains.
    pub r_squared: f64,
    /// Standard error of the slope; absent with two points.
    pub slope_error: Option<f64>,
    /// Two-sided p-value of no slope; absent with two points.
    pub p: Option<f64>,
    /// Points it was fitted to.
    pub n: usize,
}

/// Fits a line to at least two points.
pub fn line(x: &[f64], y: &[f64]) -> Result<FittedLine, StatsError> {
    const WHAT: &str = "line fit";
    input::pairs(WHAT, x, y, 2)?;
    let (slope, intercept, xx) = slope_and_intercept(x, y).ok_or(flat(WHAT))?;
    let fitted: Vec<f64> = x.iter().map(|a| intercept + slope * a).collect();
    let n = x.len() as f64;
    let residual: f64 = y.iter().zip(&fitted).map(|(b, f)| (b - f).powi(2)).sum();
    let slope_error = (n > 2.0).then(|| (residual / (n - 2.0) / xx).sqrt());
    Ok(FittedLine {
        slope,
        intercept,
        r_squared: r_squared(y, &fitted)?,
        slope_error,
        p: slope_error.map(|e| of_no_slope(slope, e, |t| t_two_sided(t, n - 2.0))),
        n: x.len(),
    })
}

/// The slope of a line through values whose standard errors are known, with its 95 % interval and the two-sided
/// p-value of no slope, which agree. Places count alike, however well their values are known. Errors are taken as
/// independent: where all values rest on the same items, which makes them rise and fall together, the interval is
/// too wide rather than too narrow.
///
/// ```
/// use mary_stats::linear::slope_known;
///
/// let (slope, p) = slope_known(&[7.0, 8.0, 9.0], &[0.5, 0.6, 0.7], &[0.02; 3])?;
/// assert!((slope.value - 0.1).abs() < 1e-12 && slope.low > 0.07 && p < 0.001);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn slope_known(x: &[f64], y: &[f64], errors: &[f64]) -> Result<(Interval, f64), StatsError> {
    const WHAT: &str = "slope with known errors";
    input::pairs(WHAT, x, y, 2)?;
    input::pairs(WHAT, x, errors, 2)?;
    let (slope, _, xx) = slope_and_intercept(x, y).ok_or(flat(WHAT))?;
    let mean = input::mean(x);
    let parts = x.iter().zip(errors);
    let squares = parts.map(|(x, e)| ((x - mean) / xx * e).powi(2));
    let error = squares.sum::<f64>().sqrt();
    let half = z_of(LEVEL) * error;
    let p = of_no_slope(slope, error, |z| 2.0 * normal_cdf(-z.abs()));
    let interval = Interval::around(slope, half, x.len(), "known-errors");
    Ok((interval, p))
}

fn flat(what: &'static str) -> StatsError {
    StatsError::degenerate(what, "x does not vary, so no slope is defined")
}

/// The p-value of no slope, by what a distance in standard errors says; without an error only a flat line can have none.
fn of_no_slope(slope: f64, error: f64, p: impl Fn(f64) -> f64) -> f64 {
    match error > 0.0 {
        true => p(slope / error),
        false => f64::from(slope == 0.0),
    }
}

/// Slope, intercept and the sum of squares of x, of input that was checked; none where x does not vary.
pub(crate) fn slope_and_intercept(x: &[f64], y: &[f64]) -> Option<(f64, f64, f64)> {
    let (mx, my) = (input::mean(x), input::mean(y));
    let xx = input::sum_squares(x);
    if xx <= 0.0 {
        return None;
    }
    let xy: f64 = x.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).sum();
    let slope = xy / xx;
    Some((slope, my - slope * mx, xx))
}

/// Share of the variance of `y` that `fitted` explains, `1 - SS_residual / SS_total`; 0 if `y` does not vary.
pub fn r_squared(y: &[f64], fitted: &[f64]) -> Result<f64, StatsError> {
    input::pairs("R squared", y, fitted, 1)?;
    let total = input::sum_squares(y);
    let residual: f64 = y.iter().zip(fitted).map(|(a, b)| (a - b).powi(2)).sum();
    Ok(explained(residual, total))
}

/// Share of a sum of squares that is not left over; 0 of nothing.
pub(crate) fn explained(residual: f64, total: f64) -> f64 {
    1.0 - input::ratio(residual, total, 1.0)
}

/// Least squares on several features.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeastSquares {
    /// Intercept first, then one for each feature.
    pub coefficients: Vec<f64>,
    /// Standard errors of the coefficients.
    pub errors: Vec<f64>,
    /// Two-sided p-values of the coefficients being 0.
    pub p: Vec<f64>,
    /// Share of the variance of y that is explained.
    pub r_squared: f64,
}

/// Fits `y` on the rows of `features` with an intercept.
pub fn least_squares(features: &[Vec<f64>], y: &[f64]) -> Result<LeastSquares, StatsError> {
    const WHAT: &str = "least squares";
    let design = design(WHAT, features, y.len())?;
    let k = design.first().map_or(1, Vec::len);
    input::values(WHAT, y, k + 1)?;
    let (gram, moment) = normal_equations(&design, y, None);
    let dependent = "the features are linearly dependent; leave one out";
    let inverse = invert_spd(&gram, k).ok_or(StatsError::degenerate(WHAT, dependent))?;
    let coefficients = times(&inverse, &moment);
    let fitted: Vec<f64> = design.iter().map(|row| dot(row, &coefficients)).collect();
    let residual: f64 = y.iter().zip(&fitted).map(|(a, b)| (a - b).powi(2)).sum();
    let freedom = (y.len() - k) as f64;
    let error = |i: usize| (inverse[i * k + i] * residual / freedom).sqrt();
    let errors: Vec<f64> = (0..k).map(error).collect();
    let p = zip_with(&coefficients, &errors, |c, e| {
        if e > 0.0 {
            t_two_sided(c / e, freedom)
        } else {
            0.0
        }
    });
    Ok(LeastSquares {
        r_squared: r_squared(y, &fitted)?,
        coefficients,
        errors,
        p,
    })
}

/// Ridge regression with an intercept, for more features than rows: intercept and weights.
///
/// The penalty is `strength` times the mean squared length of the centred rows, so that it does not depend on the
/// scale of the features; the intercept is free of it. Solved in the space of rows.
///
/// ```
/// // numpy's solution of the normal equations with the penalty 0.5 × 1.875.
/// let rows = [vec![0.0, 1.0, 2.0], vec![1.0, 0.0, 1.0], vec![2.0, 2.0, 0.0], vec![0.0, 0.0, 1.0]];
/// let (intercept, weights) = mary_stats::linear::ridge(&rows, &[1.0, -1.0, 1.0, -1.0], 0.5)?;
/// let fitted: f64 = intercept + weights.iter().zip(&rows[0]).map(|(w, x)| w * x).sum::<f64>();
/// assert!((fitted - 0.523_782_708).abs() < 1e-8, "{fitted}");
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn ridge(
    features: &[Vec<f64>],
    y: &[f64],
    strength: f64,
) -> Result<(f64, Vec<f64>), StatsError> {
    const WHAT: &str = "ridge regression";
    let rows = design(WHAT, features, y.len())?;
    input::values(WHAT, y, 2)?;
    let (n, width) = (y.len(), features.first().map_or(0, Vec::len));
    let mut means = vec![0.0; width];
    for row in &rows {
        let each = means.iter_mut().zip(&row[1..]);
        each.for_each(|(mean, x)| *mean += x / n as f64);
    }
    let centre = |row: &Vec<f64>| zip_with(&row[1..], &means, |x, m| x - m);
    let centred: Vec<Vec<f64>> = rows.iter().map(centre).collect();
    let mut gram = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let product = dot(&centred[i], &centred[j]);
            (gram[i * n + j], gram[j * n + i]) = (product, product);
        }
    }
    let penalty = strength * (0..n).map(|i| gram[i * n + i]).sum::<f64>() / n as f64;
    (0..n).for_each(|i| gram[i * n + i] += penalty);
    let alike = "the rows do not differ, or the penalty is zero";
    let inverse = invert_spd(&gram, n).ok_or(StatsError::degenerate(WHAT, alike))?;
    let mean = input::mean(y);
    let shifted: Vec<f64> = y.iter().map(|y| y - mean).collect();
    let dual = times(&inverse, &shifted);
    let mut weights = vec![0.0; width];
    for (row, factor) in centred.iter().zip(&dual) {
        add(&mut weights, *factor, row);
    }
    Ok((mean - dot(&weights, &means), weights))
}

/// Rows with a leading one, checked for equal length and finite values.
pub(crate) fn design(
    what: &'static str,
    features: &[Vec<f64>],
    n: usize,
) -> Result<Vec<Vec<f64>>, StatsError> {
    input::same_length(what, features.len(), n)?;
    let width = features.first().map_or(0, Vec::len);
    let rows = features.iter().map(|row| {
        input::same_length(what, width, row.len())?;
        input::values(what, row, 0)?;
        Ok(std::iter::once(1.0).chain(row.iter().copied()).collect())
    });
    rows.collect()
}

/// `X'WX` and `X'Wy`.
pub(crate) fn normal_equations(
    design: &[Vec<f64>],
    y: &[f64],
    weights: Option<&[f64]>,
) -> (Vec<f64>, Vec<f64>) {
    let k = design.first().map_or(0, Vec::len);
    let mut gram = vec![0.0; k * k];
    let mut moment = vec![0.0; k];
    for (index, (row, target)) in design.iter().zip(y).enumerate() {
        let weight = weights.and_then(|w| w.get(index)).copied().unwrap_or(1.0);
        for i in 0..k {
            let scaled = weight * row[i];
            moment[i] += scaled * target;
            for j in 0..k {
                gram[i * k + j] += scaled * row[j];
            }
        }
    }
    (gram, moment)
}
