//! What can be wrong with the numbers given.

use thiserror::Error;

/// Why no number could be made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StatsError {
    /// There was nothing to compute from.
    #[error("{what}: expected at least {needed} value(s), found {found}")]
    TooFew {
        /// The statistic asked for.
        what: &'static str,
        /// How many values it needs.
        needed: usize,
        /// How many were given.
        found: usize,
    },
    /// A value was NaN or infinite.
    #[error(
        "{what}: value {index} is {value}; a missing score must be left out and counted, not passed on"
    )]
    NotFinite {
        /// The statistic asked for.
        what: &'static str,
        /// Where in the input.
        index: usize,
        /// What stood there.
        value: f64,
    },
    /// Two inputs that must go together have different lengths.
    #[error("{what}: the two inputs must have the same length, found {left} and {right}")]
    Length {
        /// The statistic asked for.
        what: &'static str,
        /// Length of the first.
        left: usize,
        /// Length of the second.
        right: usize,
    },
    /// A value lies outside what the statistic is defined on.
    #[error("{what}: expected {expected}, found {found}")]
    Domain {
        /// The statistic asked for.
        what: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// The data do not determine the answer (no variation, separated classes, singular design).
    #[error("{what}: {why}")]
    Degenerate {
        /// The statistic asked for.
        what: &'static str,
        /// Why, and what to do instead.
        why: &'static str,
    },
    /// An iteration did not settle.
    #[error("{what}: no convergence after {steps} steps")]
    NoConvergence {
        /// The statistic asked for.
        what: &'static str,
        /// How many steps were taken.
        steps: usize,
    },
}
