//! What a task's score is: its scale and what becomes of ties. Typed, because tables, comparisons and
//! reports decide by it; the conventions of a run say the same in words for people.

use serde::{Deserialize, Serialize};

use crate::TaskRun;

/// What a score is, and the rule of ties behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scoring {
    /// The scale of the score.
    pub metric: Metric,
    /// What two equally good answers count.
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
    /// A tie counts as right: the right one of a minimal pair stands first in lm-evaluation-harness.
    Right,
    /// The first of those that tie is taken, as in lm-evaluation-harness.
    First,
}

impl Ties {
    /// In words; nothing where no tie can be.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Impossible => None,
            Self::Half => Some("ties count one half"),
            Self::Shared => Some("ties are shared among the candidates that tie"),
            Self::Right => Some("ties count as right"),
            Self::First => Some("the first of those that tie is taken"),
        }
    }
}

impl TaskRun {
    /// The scale of its scores. Earlier programs said it in words under the convention `scale`, and
    /// nothing where it was a share; of an imported run it is not known.
    pub fn metric(&self) -> Option<Metric> {
        if let Some(scoring) = self.scoring {
            return Some(scoring.metric);
        }
        match self.conventions.get("scale").map(String::as_str) {
            Some("proportion" | "accuracy") => Some(Metric::Share),
            Some("spearman") => Some(Metric::RankCorrelation),
            Some("r-squared") => Some(Metric::RSquared),
            Some(_) => Some(Metric::Number),
            None if self.is_imported() => None,
            None => Some(Metric::Share),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_of_an_old_run_is_read_from_its_words() {
        let old = |scale: Option<&str>| {
            let mut run = TaskRun::default();
            let scale = scale.map(|s| ("scale".to_owned(), s.to_owned()));
            run.conventions.extend(scale);
            run.metric()
        };
        assert_eq!(old(None), Some(Metric::Share));
        assert_eq!(old(Some("spearman")), Some(Metric::RankCorrelation));
        assert_eq!(old(Some("points")), Some(Metric::Number));
        let new = TaskRun {
            scoring: Some(Scoring::number(Metric::RSquared)),
            ..TaskRun::default()
        };
        assert_eq!(new.metric(), Some(Metric::RSquared));
        let imported = TaskRun {
            imported: Some("inspect".into()),
            ..TaskRun::default()
        };
        assert_eq!(imported.metric(), None);
    }
}
