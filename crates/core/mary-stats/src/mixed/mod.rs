//! Mixed models: fixed effects beside random intercepts and slopes of crossed or nested groups (persons, items), linear by
//! maximum or restricted likelihood, logistic by Laplace's approximation.
//!
//! The conventions are those of lme4: random effects of one term are correlated unless each stands in a term of its own, the
//! likelihood is profiled over the fixed effects and the residual variance, and `(1 | g)` is a [`Term`] with one column of
//! ones.
//!
//! ```
//! use mary_stats::mixed::{Criterion, Formula, Table, linear};
//!
//! let mut table = Table::new();
//! table.numbers("rt", [300.0, 350.0, 310.0, 420.0, 330.0, 372.0, 280.0, 333.0])?;
//! table.words("condition", ["a", "b", "a", "b", "a", "b", "a", "b"])?;
//! table.words("person", ["1", "1", "2", "2", "3", "3", "4", "4"])?;
//! let design = Formula::parse("rt ~ condition + (1 | person)")?.design(&table)?;
//! let found = linear(&design, Criterion::Reml)?;
//! assert_eq!(found.names, ["(Intercept)", "condition[b]"]);
//! assert!((found.estimates[1] - 63.75).abs() < 1e-6);
//! # Ok::<(), mary_stats::StatsError>(())
//! ```

mod formula;
mod linear;
mod logistic;
mod minimise;
mod redrawn;
mod solver;

pub use formula::{Formula, Table};
pub use linear::{Criterion, linear};
pub use logistic::logistic;
pub use redrawn::{Redrawn, redrawn};

use serde::Serialize;

use crate::distributions::{chi_squared_upper, normal_cdf};
use crate::{StatsError, input};

/// Random effects of one grouping: `columns` (a column of ones for the intercept, the others slopes) vary by level and are
/// correlated with each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Name of the grouping.
    pub name: String,
    /// Names of the columns.
    pub effects: Vec<String>,
    /// Level of each row, from 0.
    pub levels: Vec<usize>,
    /// One column for each effect, one value for each row.
    pub columns: Vec<Vec<f64>>,
}

impl Term {
    fn count(&self) -> usize {
        self.levels.iter().max().map_or(0, |most| most + 1)
    }

    fn width(&self) -> usize {
        self.columns.len()
    }
}

/// What is fitted: an outcome by fixed columns and random terms.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// Outcome of each row.
    pub outcome: Vec<f64>,
    /// Names of the fixed columns.
    pub names: Vec<String>,
    /// Fixed columns, an intercept among them if wanted.
    pub fixed: Vec<Vec<f64>>,
    /// Random terms, at least one.
    pub terms: Vec<Term>,
}

impl Design {
    fn check(&self, what: &'static str) -> Result<(), StatsError> {
        let n = self.outcome.len();
        input::values(what, &self.outcome, self.fixed.len() + 2)?;
        let random = self.terms.iter().flat_map(|term| &term.columns);
        for column in self.fixed.iter().chain(random) {
            input::same_length(what, column.len(), n)?;
            input::values(what, column, 1)?;
        }
        let why = "there is no random term; use a plain regression";
        input::refuse(self.terms.is_empty(), what, why)?;
        for term in &self.terms {
            input::same_length(what, term.levels.len(), n)?;
            let why = "a grouping has fewer than two levels";
            input::refuse(term.count() < 2, what, why)?;
        }
        Ok(())
    }

    /// How many numbers describe the random effects: a triangle for each term.
    fn thetas(&self) -> usize {
        let widths = self.terms.iter().map(|term| term.width());
        widths.map(|width| width * (width + 1) / 2).sum()
    }
}

/// Spread of one term's random effects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Name of the grouping.
    pub group: String,
    /// Names of the effects.
    pub effects: Vec<String>,
    /// Their standard deviations.
    pub deviations: Vec<f64>,
    /// Their correlations, row by row below the diagonal.
    pub correlations: Vec<f64>,
    /// How many levels there are.
    pub levels: usize,
}

/// A fitted mixed model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mixed {
    /// Names of the fixed effects.
    pub names: Vec<String>,
    /// Fixed effects.
    pub estimates: Vec<f64>,
    /// Their standard errors.
    pub errors: Vec<f64>,
    /// Spread of the random effects, by term.
    pub spreads: Vec<Spread>,
    /// Residual standard deviation; `None` for a logistic model.
    pub residual: Option<f64>,
    /// Log-likelihood (restricted, if that was asked for).
    pub log_likelihood: f64,
    /// How many parameters were free.
    pub parameters: usize,
    /// Rows.
    pub rows: usize,
    /// Whether a spread is zero or a correlation is one: the random effects are too many for the data.
    pub singular: bool,
    /// Whether the search ended at a minimum; what it found is given either way.
    pub converged: bool,
}

impl Mixed {
    /// Wald's interval of a fixed effect at a level, with normal quantiles.
    pub fn interval(&self, effect: usize, level: f64) -> Option<(f64, f64)> {
        let reach = crate::distributions::z_of(level) * self.errors.get(effect)?;
        let estimate = self.estimates.get(effect)?;
        Some((estimate - reach, estimate + reach))
    }

    /// Wald's two-sided p of a fixed effect against zero.
    pub fn p(&self, effect: usize) -> Option<f64> {
        let z = self.estimates.get(effect)? / self.errors.get(effect)?;
        Some(2.0 * normal_cdf(-z.abs()))
    }

    /// Akaike's criterion: smaller is better.
    pub fn aic(&self) -> f64 {
        2.0 * self.parameters as f64 - 2.0 * self.log_likelihood
    }

    /// Likelihood-ratio test against a smaller model of the same rows: statistic, degrees of freedom, p. Compare fits by
    /// maximum likelihood; restricted ones only where the fixed effects are the same.
    pub fn against(&self, smaller: &Self) -> Result<(f64, usize, f64), StatsError> {
        input::same_length("likelihood-ratio test", self.rows, smaller.rows)?;
        let freedom = self.parameters.saturating_sub(smaller.parameters);
        let why = "the second model is not the smaller one";
        input::refuse(freedom == 0, "likelihood-ratio test", why)?;
        let statistic = (2.0 * (self.log_likelihood - smaller.log_likelihood)).max(0.0);
        Ok((
            statistic,
            freedom,
            chi_squared_upper(statistic, freedom as f64),
        ))
    }
}

/// From the triangles of relative spreads to deviations and correlations; and whether one vanishes.
fn spreads(design: &Design, triangles: &[Vec<f64>], sigma: f64) -> (Vec<Spread>, bool) {
    let mut singular = false;
    let mut found = Vec::new();
    for (term, t) in design.terms.iter().zip(triangles) {
        let k = term.width();
        let covariance = |i: usize, j: usize| {
            let shared = (0..=i.min(j)).map(|c| t[i * k + c] * t[j * k + c]);
            shared.sum::<f64>()
        };
        let deviations: Vec<f64> = (0..k).map(|i| sigma * covariance(i, i).sqrt()).collect();
        let mut correlations = Vec::new();
        for i in 0..k {
            singular |= t[i * k + i].abs() < 1e-4;
            for j in 0..i {
                correlations.push(
                    covariance(i, j) / (covariance(i, i) * covariance(j, j)).sqrt().max(1e-300),
                );
            }
        }
        found.push(Spread {
            group: term.name.clone(),
            effects: term.effects.clone(),
            deviations,
            correlations,
            levels: term.count(),
        });
    }
    (found, singular)
}
