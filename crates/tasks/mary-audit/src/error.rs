//! Why a dataset could not be audited.

use mary_stats::StatsError;
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Error)]
pub enum AuditError {
    #[error(
        "an audit needs at least {needed} distinct questions, found {found}; add items or audit several sets together"
    )]
    TooFew { needed: usize, found: usize },
    /// An example is not what it says.
    #[error("example {index} ({id}): expected {expected}, found {found}")]
    Malformed {
        index: usize,
        id: String,
        expected: &'static str,
        found: String,
    },
    /// A baseline was named that does not exist here.
    #[error("no baseline is called `{name}`; this set has: {known}")]
    UnknownBaseline { name: String, known: String },
    /// The forest could not learn.
    #[error("the forest could not learn from this set: {0}")]
    Learner(String),
    /// A number could not be made.
    #[error(transparent)]
    Stats(#[from] StatsError),
}
