//! What a predictor adds to a regression: log-likelihoods of fitted and of held-out rows.
//!
//! Columns stand apart from the intercept, which every regression here has.

use serde::{Deserialize, Serialize};

use crate::bootstrap::quantile_sorted;
use crate::distributions::t_two_sided;
use crate::linear::normal_equations;
use crate::matrix::{dot, invert_spd, times, zip_with};
use crate::{StatsError, input};

const WHAT: &str = "regression";

/// A regression by least squares with its likelihood.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Regression {
    /// One for each column; the intercept is left out.
    pub slopes: Vec<f64>,
    /// Their standard errors.
    pub errors: Vec<f64>,
    /// Two-sided p-values of no slope.
    pub p: Vec<f64>,
    /// Normal log-likelihood at its maximum.
    pub log_likelihood: f64,
}

/// Which variance the density of held-out rows has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldOutVariance {
    /// That of the residuals the regression was fitted to, so that nothing of the held-out rows is used.
    #[default]
    Fitted,
    /// The sample variance of the held-out residuals themselves, as in de Varda, Marelli and Amenta (2023).
    HeldOut,
}

/// A fit with what is needed to predict: columns are put on one scale, which keeps products of columns apart.
#[derive(Default)]
struct Fit {
    centres: Vec<f64>,
    scales: Vec<f64>,
    inverse: Vec<f64>,
    coefficients: Vec<f64>,
    squares: f64,
    rows: usize,
}

impl Fit {
    fn of(columns: &[Vec<f64>], y: &[f64], rows: &[usize]) -> Result<Self, StatsError> {
        let k = columns.len() + 1;
        input::at_least(WHAT, k + 2, rows.len())?;
        let mut found = Self {
            rows: rows.len(),
            ..Self::default()
        };
        for column in columns {
            let values: Vec<f64> = rows.iter().map(|row| column[*row]).collect();
            let scale = (input::sum_squares(&values) / values.len() as f64).sqrt();
            input::refuse(scale <= 0.0, WHAT, "a predictor does not vary")?;
            found.centres.push(input::mean(&values));
            found.scales.push(scale);
        }
        let design: Vec<Vec<f64>> = rows.iter().map(|row| found.row(columns, *row)).collect();
        let targets: Vec<f64> = rows.iter().map(|row| y[*row]).collect();
        let (gram, moment) = normal_equations(&design, &targets, None);
        let dependent = "the predictors are linearly dependent; leave one out";
        found.inverse = invert_spd(&gram, k).ok_or(StatsError::degenerate(WHAT, dependent))?;
        found.coefficients = times(&found.inverse, &moment);
        let residuals = design.iter().zip(&targets);
        let squares = residuals.map(|(row, y)| (y - dot(row, &found.coefficients)).powi(2));
        found.squares = squares.sum();
        Ok(found)
    }

    fn row(&self, columns: &[Vec<f64>], row: usize) -> Vec<f64> {
        let scaled = columns.iter().zip(self.centres.iter().zip(&self.scales));
        let scaled = scaled.map(|(column, (centre, scale))| (column[row] - centre) / scale);
        std::iter::once(1.0).chain(scaled).collect()
    }
}

fn checked(columns: &[Vec<f64>], y: &[f64]) -> Result<(), StatsError> {
    input::values(WHAT, y, 3)?;
    for column in columns {
        input::pairs(WHAT, column, y, 3)?;
    }
    Ok(())
}

fn log_density(residual: f64, variance: f64) -> f64 {
    -0.5 * ((2.0 * std::f64::consts::PI * variance).ln() + residual * residual / variance)
}

/// Regresses `y` on columns and an intercept.
///
/// ```
/// use mary_stats::held_out::regression;
///
/// let x = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let found = regression(&[x], &[2.1, 3.9, 6.2, 7.8, 10.1, 11.9])?;
/// assert!((found.slopes[0] - 1.97).abs() < 0.01 && found.p[0] < 0.001);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn regression(columns: &[Vec<f64>], y: &[f64]) -> Result<Regression, StatsError> {
    checked(columns, y)?;
    let rows: Vec<usize> = (0..y.len()).collect();
    let fit = Fit::of(columns, y, &rows)?;
    let (n, k) = (y.len() as f64, columns.len() + 1);
    let freedom = n - k as f64;
    let own = |at: usize| fit.inverse[(at + 1) * k + at + 1] * fit.squares / freedom;
    let slopes = zip_with(&fit.coefficients[1..], &fit.scales, |b, scale| b / scale);
    let error = |(at, scale): (usize, &f64)| own(at).sqrt() / scale;
    let errors: Vec<f64> = fit.scales.iter().enumerate().map(error).collect();
    let variance = fit.squares / n;
    Ok(Regression {
        p: zip_with(&slopes, &errors, |b, e| t_two_sided(b / e, freedom)),
        slopes,
        errors,
        log_likelihood: -0.5 * n * ((2.0 * std::f64::consts::PI * variance).ln() + 1.0),
    })
}

/// The log-density of each row under the regression of all other folds, in the order of the rows. `folds` names the fold of
/// each row; rows that belong together (the words of a sentence) belong into one.
pub fn held_out(
    columns: &[Vec<f64>],
    y: &[f64],
    folds: &[usize],
    variance: HeldOutVariance,
) -> Result<Vec<f64>, StatsError> {
    checked(columns, y)?;
    input::same_length(WHAT, folds.len(), y.len())?;
    let count = folds.iter().max().map_or(0, |most| most + 1);
    let mut found = vec![0.0; y.len()];
    for fold in 0..count {
        let (out, others): (Vec<usize>, Vec<usize>) =
            (0..y.len()).partition(|row| folds[*row] == fold);
        if out.is_empty() {
            continue;
        }
        let fit = Fit::of(columns, y, &others)?;
        let residual = |row: &usize| y[*row] - dot(&fit.row(columns, *row), &fit.coefficients);
        let residuals: Vec<f64> = out.iter().map(residual).collect();
        let variance = match variance {
            HeldOutVariance::Fitted => fit.squares / (fit.rows - columns.len() - 1) as f64,
            HeldOutVariance::HeldOut => {
                input::sum_squares(&residuals) / (residuals.len().max(2) - 1) as f64
            }
        };
        for (row, residual) in out.iter().zip(residuals) {
            found[*row] = log_density(residual, variance);
        }
    }
    Ok(found)
}

/// A smooth curve of one predictor as columns: a natural cubic spline with knots at the 5th, 27.5th, 50th, 72.5th and 95th
/// percentiles (Harrell), linear outside them; fewer knots where percentiles coincide. The first column is the predictor.
pub fn smooth(x: &[f64]) -> Result<Vec<Vec<f64>>, StatsError> {
    input::values("smooth curve", x, 5)?;
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let shares = [0.05, 0.275, 0.5, 0.725, 0.95];
    let mut knots = shares.map(|p| quantile_sorted(&sorted, p)).to_vec();
    knots.dedup();
    let mut columns = vec![x.to_vec()];
    let [inner @ .., before, last] = knots.as_slice() else {
        return Ok(columns);
    };
    let width = (last - knots[0]).powi(2);
    let cube = |x: f64| x.max(0.0).powi(3);
    for knot in inner {
        let at = |x: &f64| {
            let [a, b] = [last, before].map(|end| (end - knot) / (last - before));
            (cube(x - knot) - a * cube(x - before) + b * cube(x - last)) / width
        };
        columns.push(x.iter().map(at).collect());
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_natural_spline_is_straight_outside_its_knots() {
        let x: Vec<f64> = (0..200).map(f64::from).collect();
        let columns = smooth(&x).unwrap();
        assert_eq!(columns.len(), 4);
        for column in &columns {
            let bend = |at: usize| column[at] - 2.0 * column[at + 1] + column[at + 2];
            assert!(bend(2).abs() < 1e-9 && bend(195).abs() < 1e-6);
        }
        assert!((columns[1][100] - 2.0 * columns[1][101] + columns[1][102]).abs() > 1e-4);
    }

    #[test]
    fn noise_gains_nothing_and_signal_does_when_rows_are_held_out() {
        let mut state = 7u64;
        let mut draw = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 40) as f64 / f64::from(1 << 24) - 0.5
        };
        let signal: Vec<f64> = (0..600).map(|_| draw()).collect();
        let noise: Vec<f64> = (0..600).map(|_| draw()).collect();
        let base: Vec<f64> = (0..600).map(|_| draw()).collect();
        let y: Vec<f64> = (0..600)
            .map(|at| base[at] + 0.5 * signal[at] + draw())
            .collect();
        let folds: Vec<usize> = (0..600).map(|at| at % 10).collect();
        let total = |columns: &[Vec<f64>]| -> f64 {
            held_out(columns, &y, &folds, HeldOutVariance::Fitted)
                .unwrap()
                .iter()
                .sum()
        };
        let without = total(std::slice::from_ref(&base));
        assert!(total(&[base.clone(), signal]) - without > 10.0);
        assert!(total(&[base, noise]) - without < 2.0);
    }

    #[test]
    fn what_cannot_be_fitted_is_told() {
        let y = [1.0, 2.0, 3.0, 5.0, 4.0, 6.0];
        let x = vec![1.0, 2.0, 3.0, 4.0, 5.0, 7.0];
        assert!(regression(&[x.clone(), x.clone()], &y).is_err());
        assert!(regression(&[vec![1.0; 6]], &y).is_err());
        assert!(regression(&[vec![f64::NAN; 6]], &y).is_err());
    }
}
