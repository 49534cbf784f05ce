//! Linear mixed models by maximum or restricted likelihood.

use super::minimise::minimise;
use super::solver::{Products, Solved, singular, start, triangles};
use super::{Design, Mixed, spreads};
use crate::StatsError;

const WHAT: &str = "linear mixed model";

/// Which likelihood is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// Restricted: unbiased spreads; the usual choice for estimates.
    Reml,
    /// Full: for comparisons of models with different fixed effects.
    Ml,
}

/// Fits a linear mixed model.
pub fn linear(design: &Design, criterion: Criterion) -> Result<Mixed, StatsError> {
    design.check(WHAT)?;
    let products = Products::new(design, true, None, &design.outcome);
    let rows = design.outcome.len() as f64;
    let freedom = match criterion {
        Criterion::Reml => rows - design.fixed.len() as f64,
        Criterion::Ml => rows,
    };
    let deviance = |solved: &Solved| {
        let restricted = if criterion == Criterion::Reml {
            solved.fixed_inverse().1
        } else {
            0.0
        };
        let scale = (std::f64::consts::TAU * solved.residual_squares() / freedom).ln();
        solved.log_determinant + restricted + freedom * (1.0 + scale)
    };
    let solve = |theta: &[f64]| products.solve(design, &triangles(design, theta));
    solve(&start(design)).ok_or(singular(WHAT))?;
    let objective = |theta: &[f64]| solve(theta).map_or(f64::INFINITY, |solved| deviance(&solved));
    let minimum = minimise(start(design), &objective);
    let shape = triangles(design, &minimum.at);
    let solved = products.solve(design, &shape).ok_or(singular(WHAT))?;
    let sigma = (solved.residual_squares() / freedom).sqrt();
    let (inverse, _) = solved.fixed_inverse();
    let p = design.fixed.len();
    let (spreads, singular) = spreads(design, &shape, sigma);
    Ok(Mixed {
        names: design.names.clone(),
        estimates: solved.fixed(),
        errors: (0..p).map(|i| sigma * inverse[i * p + i].sqrt()).collect(),
        spreads,
        residual: Some(sigma),
        log_likelihood: -0.5 * minimum.value,
        parameters: p + design.thetas() + 1,
        rows: design.outcome.len(),
        singular,
        converged: minimum.converged,
    })
}
