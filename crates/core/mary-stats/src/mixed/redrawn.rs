//! Intervals by drawing outcomes from a fitted model and fitting each again: the parametric bootstrap of lme4's `bootMer`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::{Criterion, Design, Mixed, Spread, linear, logistic};
use crate::bootstrap::quantile_sorted;
use crate::distributions::normal_quantile;
use crate::matrix::add;
use crate::{LEVEL, StatsError};

/// Percentile intervals over the refitted draws, in the order of the fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Redrawn {
    /// Of the fixed effects.
    pub fixed: Vec<(f64, f64)>,
    /// Of the random effects' standard deviations, by term.
    pub deviations: Vec<Vec<(f64, f64)>>,
    /// Of the residual standard deviation.
    pub residual: Option<(f64, f64)>,
    /// Draws that could be fitted, of those asked for.
    pub draws: usize,
}

/// Draws outcomes from a fit as often as said, by a seed, and gives 95 % intervals; none where fewer than nine draws in ten can be
/// fitted.
pub fn redrawn(
    design: &Design,
    fit: &Mixed,
    criterion: Criterion,
    draws: usize,
    seed: u64,
) -> Result<Redrawn, StatsError> {
    let enough = (draws * 9 / 10).max(100);
    let too_few = |found| StatsError::too_few("fitted draws", enough, found);
    if draws < enough {
        return Err(too_few(draws));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let roots: Vec<Vec<f64>> = fit.spreads.iter().map(root).collect();
    let mut found: Vec<Mixed> = Vec::with_capacity(draws);
    let mut drawn = design.clone();
    for _ in 0..draws {
        drawn.outcome = outcome(design, fit, &roots, &mut rng);
        let again = match fit.residual {
            Some(_) => linear(&drawn, criterion),
            None => logistic(&drawn),
        };
        found.extend(again.ok());
    }
    if found.len() < enough {
        return Err(too_few(found.len()));
    }
    let interval = |of: &dyn Fn(&Mixed) -> f64| {
        let mut values: Vec<f64> = found.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let tail = (1.0 - LEVEL) / 2.0;
        let ends = [tail, 1.0 - tail].map(|p| quantile_sorted(&values, p));
        ends.into()
    };
    Ok(Redrawn {
        fixed: (0..fit.estimates.len())
            .map(|at| interval(&|m| m.estimates[at]))
            .collect(),
        deviations: (0..fit.spreads.len())
            .map(|term| {
                let effects = 0..fit.spreads[term].deviations.len();
                effects
                    .map(|at| interval(&|m| m.spreads[term].deviations[at]))
                    .collect()
            })
            .collect(),
        residual: fit
            .residual
            .map(|_| interval(&|m| m.residual.unwrap_or(0.0))),
        draws: found.len(),
    })
}

/// The lower root of a term's covariance, row by row; a vanishing spread has a row of zeros.
fn root(spread: &Spread) -> Vec<f64> {
    let k = spread.deviations.len();
    let mut root = vec![0.0; k * k];
    let mut correlations = spread.correlations.iter();
    for i in 0..k {
        let mut left = 1.0;
        for j in 0..i {
            let r = correlations.next().copied().unwrap_or(0.0);
            let known: f64 = (0..j).map(|c| root[i * k + c] * root[j * k + c]).sum();
            let own = root[j * k + j];
            let entry = if own > 1e-8 { (r - known) / own } else { 0.0 };
            root[i * k + j] = entry;
            left -= entry * entry;
        }
        root[i * k + i] = left.max(0.0).sqrt();
    }
    for (i, deviation) in spread.deviations.iter().enumerate() {
        let row = &mut root[i * k..(i + 1) * k];
        row.iter_mut().for_each(|x| *x *= deviation);
    }
    root
}

fn normals(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let one = |_| normal_quantile(rng.random_range(1e-12..1.0 - 1e-12));
    (0..n).map(one).collect()
}

fn outcome(design: &Design, fit: &Mixed, roots: &[Vec<f64>], rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut means: Vec<f64> = vec![0.0; design.outcome.len()];
    for (column, slope) in design.fixed.iter().zip(&fit.estimates) {
        add(&mut means, *slope, column);
    }
    for (term, root) in design.terms.iter().zip(roots) {
        let k = term.width();
        let effects: Vec<Vec<f64>> = (0..term.count())
            .map(|_| {
                let z = normals(k, rng);
                let effect = |i: usize| (0..k).map(|j| root[i * k + j] * z[j]).sum();
                (0..k).map(effect).collect()
            })
            .collect();
        for (at, mean) in means.iter_mut().enumerate() {
            let own = &effects[term.levels[at]];
            let parts = term.columns.iter().zip(own);
            *mean += parts.map(|(x, u)| x[at] * u).sum::<f64>();
        }
    }
    match fit.residual {
        Some(sigma) => {
            add(&mut means, sigma, &normals(design.outcome.len(), rng));
            means
        }
        None => {
            let mut right = |mean: &f64| rng.random::<f64>() < 1.0 / (1.0 + (-mean).exp());
            let drawn = means.iter().map(|mean| f64::from(right(mean)));
            drawn.collect()
        }
    }
}
