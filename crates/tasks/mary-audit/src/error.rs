//! Why a dataset could not be audited.

use mary_stats::StatsError;
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Error)]
pub enum AuditError {
    #[error(
        "an audit needs at least {needed} distinct questions, found {found}; add items or audit several sets together"
    )]
    TooFew { needed: usize, found: usize },
    #[error("example {index} ({id}): expected {expected}, found {found}")]
    Malformed {
        index: usize,
        id: String,
        expected: &'static str,
        found: String,
    },
    #[error("no baseline is called `{name}`; this set has: {known}")]
    UnknownBaseline { name: String, known: String },
    #[error("the forest could not learn from this set: {0}")]
    Learner(String),
    #[error(transparent)]
    Stats(#[from] StatsError),
}
