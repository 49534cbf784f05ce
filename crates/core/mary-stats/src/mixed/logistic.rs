//! Logistic mixed models: the integral over the random effects by Laplace's approximation.

use super::minimise::{covariance, minimise};
use super::solver::{Products, Solved, singular, start, triangles};
use super::{Design, Mixed, Term, spreads};
use crate::matrix::dot;
use crate::{StatsError, input};

const WHAT: &str = "logistic mixed model";

/// Fits outcomes of 0 and 1. Standard errors come from the curvature of the likelihood in all parameters.
pub fn logistic(design: &Design) -> Result<Mixed, StatsError> {
    design.check(WHAT)?;
    let binary = |y| y == 0.0 || y == 1.0;
    input::each(WHAT, "outcomes of 0 and 1", &design.outcome, binary)?;
    let row = |at: usize| design.fixed.iter().map(|column| column[at]).collect();
    let rows: Vec<Vec<f64>> = (0..design.outcome.len()).map(row).collect();
    let p = design.fixed.len();
    // Without the random effects: where the search begins. Separated outcomes have no maximum.
    let ones = |column: &Vec<f64>| column.iter().all(|x| *x == 1.0);
    let own_intercept = design.fixed.first().is_some_and(ones);
    let own = |row: &Vec<f64>| row[usize::from(own_intercept)..].to_vec();
    let features: Vec<Vec<f64>> = rows.iter().map(own).collect();
    let plain = crate::logistic::logistic(&features, &design.outcome, 0.0)?;
    let beta = &plain.coefficients[usize::from(!own_intercept)..];
    let mut first = start(design);
    let thetas = first.len();
    first.extend(beta.iter().take(p));
    let objective =
        |x: &[f64]| laplace(design, &rows, &x[..thetas], &x[thetas..]).unwrap_or(f64::INFINITY);
    if !objective(&first).is_finite() {
        return Err(singular(WHAT));
    }
    let minimum = minimise(first, &objective);
    let (theta, beta) = minimum.at.split_at(thetas);
    let why = "a fixed effect separates the outcomes and grows without bound";
    input::refuse(beta.iter().any(|b| b.abs() > 50.0), WHAT, why)?;
    let (spreads, singular) = spreads(design, &triangles(design, theta), 1.0);
    let diagonal = |c: &[f64], of: std::ops::Range<usize>| -> Vec<f64> {
        let width = of.end;
        of.map(|i| c[i * width + i].sqrt()).collect()
    };
    let all = covariance(&minimum.at, &objective);
    // At the edge, where a spread vanishes, the curvature of the fixed effects alone.
    let errors = match all {
        Some(c) => diagonal(&c, thetas..thetas + p),
        None => {
            let at_theta =
                |beta: &[f64]| laplace(design, &rows, theta, beta).unwrap_or(f64::INFINITY);
            let found = &covariance(beta, &at_theta).ok_or(super::solver::singular(WHAT))?;
            diagonal(found, 0..p)
        }
    };
    Ok(Mixed {
        names: design.names.clone(),
        estimates: beta.to_vec(),
        errors,
        spreads,
        residual: None,
        log_likelihood: -0.5 * minimum.value,
        parameters: p + thetas,
        rows: design.outcome.len(),
        singular,
        converged: minimum.converged,
    })
}

/// Deviance at given spreads and fixed effects: the random effects at their mode, by penalised reweighted least squares.
fn laplace(design: &Design, rows: &[Vec<f64>], theta: &[f64], beta: &[f64]) -> Option<f64> {
    let shape = triangles(design, theta);
    let fixed: Vec<f64> = rows.iter().map(|row| dot(row, beta)).collect();
    let none = |t: &Term| vec![0.0; t.count() * t.width()];
    let mut effects: Vec<Vec<f64>> = design.terms.iter().map(none).collect();
    let mut random = vec![0.0; fixed.len()];
    let mut current = penalised(design, &fixed, &random, &effects);
    for _ in 0..50 {
        let (products, solved) = weighted(design, &shape, &fixed, &random)?;
        let mut next = products.effects(design, &solved, &shape);
        let mut lower = f64::INFINITY;
        for _ in 0..20 {
            random = predict(design, &shape, &next);
            lower = penalised(design, &fixed, &random, &next);
            if lower <= current + 1e-9 {
                break;
            }
            // Halfway back.
            for (next, old) in next.iter_mut().flatten().zip(effects.iter().flatten()) {
                *next = 0.5 * (*next + old);
            }
        }
        effects = next;
        let done = (current - lower).abs() < 1e-9 * (1.0 + lower.abs());
        current = lower;
        if done {
            // The determinant belongs to the mode itself, not to the step before it.
            let (_, solved) = weighted(design, &shape, &fixed, &random)?;
            return Some(current + solved.log_determinant);
        }
    }
    None
}

/// The least squares of one step: weights and working outcomes at the present predictions.
fn weighted(
    design: &Design,
    shape: &[Vec<f64>],
    fixed: &[f64],
    random: &[f64],
) -> Option<(Products, Solved)> {
    let predictions = fixed.iter().zip(random).zip(&design.outcome);
    let working = predictions.map(|((f, r), y)| {
        let mu = 1.0 / (1.0 + (-(f + r)).exp());
        let weight = (mu * (1.0 - mu)).max(1e-10);
        (weight, r + (y - mu) / weight)
    });
    let (weights, working): (Vec<f64>, Vec<f64>) = working.unzip();
    let products = Products::new(design, false, Some(&weights), &working);
    let solved = products.solve(design, shape)?;
    Some((products, solved))
}

/// Minus twice the log-likelihood given the random effects, and their penalty.
fn penalised(design: &Design, fixed: &[f64], random: &[f64], effects: &[Vec<f64>]) -> f64 {
    let rows = fixed.iter().zip(random).zip(&design.outcome);
    let terms = rows.map(|((f, r), y)| {
        let eta = if *y > 0.0 { f + r } else { -(f + r) };
        // -log of the logistic function
        if eta > -30.0 {
            (-eta).exp().ln_1p()
        } else {
            -eta
        }
    });
    2.0 * terms.sum::<f64>() + effects.iter().flatten().map(|u| u * u).sum::<f64>()
}

/// Sum of the random effects of each row.
fn predict(design: &Design, shape: &[Vec<f64>], effects: &[Vec<f64>]) -> Vec<f64> {
    let mut sums = vec![0.0; design.outcome.len()];
    for ((term, t), own) in design.terms.iter().zip(shape).zip(effects) {
        let k = term.width();
        let scale = |at: usize| {
            let (level, r) = (at / k, at % k);
            (0..=r).map(|c| t[r * k + c] * own[level * k + c]).sum()
        };
        let scaled: Vec<f64> = (0..own.len()).map(scale).collect();
        for (row, sum) in sums.iter_mut().enumerate() {
            let of_level = &scaled[term.levels[row] * k..];
            let parts = term.columns.iter().zip(of_level);
            *sum += parts.map(|(column, u)| column[row] * u).sum::<f64>();
        }
    }
    sums
}
