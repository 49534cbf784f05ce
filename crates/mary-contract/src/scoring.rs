//! What a task's score is: its scale and what becomes of ties. Typed, because tables, comparisons and
//! reports decide by it; the conventions of a run say the same in words for people.

use serde::{Deserialize, Serialize};

/// What a score is, and the rule of ties behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scoring {
    /// The scale of the score.
    pub metric: Metric,
    /// What a tie counts.
    pub ties: Ties,
}

impl Scoring {
    /// A share of right answers in which nothing can tie: answers in words.
    pub const WRITTEN: Self = Self::share(Ties::Impossible);

    /// A share of right answers.
    pub const fn share(ties: Ties) -> Self {
        Self {
            metric: Metric::Share,
            ties,
        }
    }

    /// A number that is no share; nothing in it ties.
    pub const fn number(metric: Metric) -> Self {
        Self {
            metric,
            ties: Ties::Impossible,
        }
    }
}

/// The scale of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// A share of right answers from 0 to 1, written as percent.
    Share,
    /// Spearman's correlation, from −1 to 1.
    RankCorrelation,
    /// Explained variance of a fit.
    RSquared,
    /// Any other number.
    Number,
}

/// What becomes of two answers that are equally good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// There are none: answers are words, or the score is a fit.
    Impossible,
    /// A tie counts one half.
    Half,
    /// A tie counts the share of a right guess among those that tie.
    Shared,
    /// A tie counts as right, as in lm-evaluation-harness.
    Right,
}

impl Ties {
    /// In words; nothing where no tie can be.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Impossible => None,
            Self::Half => Some("ties count one half"),
            Self::Shared => Some("ties are shared among the candidates that tie"),
            Self::Right => Some("ties count as right"),
        }
    }
}
