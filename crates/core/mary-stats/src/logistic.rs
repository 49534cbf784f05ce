//! Logistic regression by iteratively reweighted least squares.

use serde::Serialize;

use crate::distributions::normal_cdf;
use crate::linear::{design, normal_equations};
use crate::matrix::{add, dot, invert_spd, times};
use crate::{StatsError, input};

/// What a logistic regression finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Logistic {
    /// Intercept first, then one for each feature, in log-odds.
    pub coefficients: Vec<f64>,
    /// Their standard errors (from the penalised information with a ridge).
    pub errors: Vec<f64>,
    /// Two-sided Wald p-values.
    pub p: Vec<f64>,
    /// Log-likelihood of the data, without the penalty.
    pub log_likelihood: f64,
    /// Log-likelihood of the intercept alone.
    pub null_log_likelihood: f64,
    /// Newton steps until it settled.
    pub steps: usize,
}

/// Fits `outcomes` (0 or 1, or a share between) on the rows of `features` with an intercept.
///
/// `ridge` penalises the squared coefficients but not the intercept. Without one, perfectly separated classes
/// have no maximum, which is an error.
pub fn logistic(
    features: &[Vec<f64>],
    outcomes: &[f64],
    ridge: f64,
) -> Result<Logistic, StatsError> {
    const WHAT: &str = "logistic regression";
    const STEPS: usize = 100;
    check(WHAT, outcomes, ridge)?;
    let rows = design(WHAT, features, outcomes.len())?;
    let k = rows.first().map_or(1, Vec::len);
    let share = input::mean(outcomes);
    let mut beta = vec![0.0; k];
    if let Some(intercept) = beta.first_mut() {
        *intercept = (share / (1.0 - share)).ln();
    }
    let mut previous = penalised(&rows, outcomes, &beta, ridge);
    for step in 1..=STEPS {
        let (information, gradient) = derivatives(&rows, outcomes, &beta, ridge);
        let inverse = invert_spd(&information, k).ok_or(SEPARATED)?;
        let mut direction = times(&inverse, &gradient);
        // A full Newton step may overshoot: halve it until the likelihood does not fall.
        let mut current = f64::NEG_INFINITY;
        for _ in 0..30 {
            let trial: Vec<f64> = beta.iter().zip(&direction).map(|(b, d)| b + d).collect();
            current = penalised(&rows, outcomes, &trial, ridge);
            if current >= previous - 1e-12 * previous.abs() {
                beta = trial;
                break;
            }
            direction.iter_mut().for_each(|d| *d *= 0.5);
        }
        let moved = direction.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
        if !current.is_finite() {
            return Err(SEPARATED);
        }
        if moved < 1e-10 || (current - previous).abs() < 1e-13 * (1.0 + current.abs()) {
            return finish(&rows, outcomes, beta, ridge, step);
        }
        previous = current;
    }
    Err(StatsError::unsettled(WHAT, STEPS))
}

const SEPARATED: StatsError = StatsError::degenerate(
    "logistic regression",
    "the features are linearly dependent or separate the classes perfectly; leave a feature out or give a ridge",
);

fn check(what: &'static str, outcomes: &[f64], ridge: f64) -> Result<(), StatsError> {
    input::values(what, outcomes, 2)?;
    let unit = |v| (0.0..=1.0).contains(&v);
    input::each(what, "outcomes between 0 and 1", outcomes, unit)?;
    let ridges = 0.0..f64::INFINITY;
    input::each(what, "a ridge of 0 or more", &[ridge], |r| {
        ridges.contains(&r)
    })?;
    let share = input::mean(outcomes);
    let why = "all outcomes are the same, so there is nothing to explain";
    input::refuse(share <= 0.0 || share >= 1.0, what, why)
}

fn derivatives(
    rows: &[Vec<f64>],
    outcomes: &[f64],
    beta: &[f64],
    ridge: f64,
) -> (Vec<f64>, Vec<f64>) {
    let k = beta.len();
    let fitted: Vec<f64> = rows.iter().map(|row| sigmoid(dot(row, beta))).collect();
    let weights: Vec<f64> = fitted.iter().map(|p| p * (1.0 - p)).collect();
    let (mut information, _) = normal_equations(rows, outcomes, Some(&weights));
    let mut gradient = vec![0.0; k];
    for ((row, y), p) in rows.iter().zip(outcomes).zip(&fitted) {
        add(&mut gradient, y - p, row);
    }
    for i in 1..k {
        information[i * k + i] += ridge;
        gradient[i] -= ridge * beta[i];
    }
    (information, gradient)
}

fn finish(
    rows: &[Vec<f64>],
    outcomes: &[f64],
    beta: Vec<f64>,
    ridge: f64,
    steps: usize,
) -> Result<Logistic, StatsError> {
    let k = beta.len();
    // Fitted probabilities of exactly 0 or 1 are the sign of separation.
    let extreme = rows.iter().zip(outcomes).all(|(row, y)| {
        let p = sigmoid(dot(row, &beta));
        (p - y).abs() < 1e-6
    });
    if extreme && ridge == 0.0 {
        return Err(SEPARATED);
    }
    let (information, _) = derivatives(rows, outcomes, &beta, ridge);
    let inverse = invert_spd(&information, k).ok_or(SEPARATED)?;
    let errors: Vec<f64> = (0..k).map(|i| inverse[i * k + i].sqrt()).collect();
    // Without a penalty, a standard error in the thousands means a flat likelihood: separation.
    if ridge == 0.0
        && errors
            .iter()
            .zip(&beta)
            .any(|(e, b)| *e > 1e3 && b.abs() > 10.0)
    {
        return Err(SEPARATED);
    }
    let test = |(b, e): (&f64, &f64)| 2.0 * normal_cdf(-(b / e).abs());
    let p = beta.iter().zip(&errors).map(test).collect();
    let share = input::mean(outcomes);
    let mut null = vec![0.0; k];
    if let Some(intercept) = null.first_mut() {
        *intercept = (share / (1.0 - share)).ln();
    }
    Ok(Logistic {
        log_likelihood: penalised(rows, outcomes, &beta, 0.0),
        null_log_likelihood: penalised(rows, outcomes, &null, 0.0),
        coefficients: beta,
        errors,
        p,
        steps,
    })
}

fn penalised(rows: &[Vec<f64>], outcomes: &[f64], beta: &[f64], ridge: f64) -> f64 {
    let likelihood: f64 = rows
        .iter()
        .zip(outcomes)
        .map(|(row, y)| {
            let linear = dot(row, beta);
            y * linear - softplus(linear)
        })
        .sum();
    let penalty: f64 = beta.iter().skip(1).map(|b| b * b).sum();
    likelihood - 0.5 * ridge * penalty
}

/// `1 / (1 + exp(-x))`, without overflow at either end.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
