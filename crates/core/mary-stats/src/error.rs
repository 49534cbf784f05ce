//! What can be wrong with the numbers given.

use thiserror::Error;

/// Why no number could be made. `what` is the statistic asked for; the messages explain the other fields.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs)]
pub enum StatsError {
    /// There was nothing to compute from.
    #[error("{what}: expected at least {needed} value(s), found {found}")]
    TooFew {
        what: &'static str,
        needed: usize,
        found: usize,
    },
    /// A value was NaN or infinite.
    #[error(
        "{what}: value {index} is {value}; a missing score must be left out and counted, not passed on"
    )]
    NotFinite {
        what: &'static str,
        index: usize,
        value: f64,
    },
    /// Two inputs that must go together have different lengths.
    #[error("{what}: the two inputs must have the same length, found {left} and {right}")]
    Length {
        what: &'static str,
        left: usize,
        right: usize,
    },
    /// A value lies outside what the statistic is defined on.
    #[error("{what}: expected {expected}, found {found}")]
    Domain {
        what: &'static str,
        expected: &'static str,
        found: String,
    },
    /// The data do not determine the answer (no variation, separated classes, singular design).
    #[error("{what}: {why}")]
    Degenerate {
        what: &'static str,
        why: &'static str,
    },
    /// An iteration did not settle.
    #[error("{what}: no convergence after {steps} steps")]
    NoConvergence { what: &'static str, steps: usize },
}

impl StatsError {
    pub(crate) const fn too_few(what: &'static str, needed: usize, found: usize) -> Self {
        Self::TooFew {
            what,
            needed,
            found,
        }
    }

    pub(crate) const fn unsettled(what: &'static str, steps: usize) -> Self {
        Self::NoConvergence { what, steps }
    }

    pub(crate) fn not_finite(what: &'static str, index: usize, value: f64) -> Self {
        Self::NotFinite { what, index, value }
    }

    pub(crate) const fn degenerate(what: &'static str, why: &'static str) -> Self {
        Self::Degenerate { what, why }
    }

    pub(crate) fn domain(what: &'static str, expected: &'static str, found: String) -> Self {
        Self::Domain {
            what,
            expected,
            found,
        }
    }
}
