//! What came of an item. Unparsed is not wrong, wrong is not failed, and none of them is NaN.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{ErrorKind, Scored, best};

/// The end of an item's story.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Judged: 1 right, 0 wrong, one half a tie; other scales where the task says so.
    Scored(f64),
    /// Answered, but there is nothing to judge.
    Unscored(UnscoredReason),
    /// Not answered: the model or the connection failed.
    Failed(Failure),
}

impl Outcome {
    /// The word in tables and exports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scored(_) => "scored",
            Self::Unscored(_) => "unscored",
            Self::Failed(_) => "failed",
        }
    }

    /// Why there is no score, where there is none.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Scored(_) => None,
            Self::Unscored(reason) => Some(reason.name()),
            Self::Failed(failure) => Some(&failure.message),
        }
    }
}

/// Why an answered item has no score.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnscoredReason {
    /// No answer could be read from the text.
    Unparsed,
    /// The model declined to answer.
    Refused,
    /// The provider withheld the answer.
    Filtered,
    /// The token limit cut the answer off before it could be read.
    Truncated,
    /// The item does not apply to this model (a word outside its vocabulary, say).
    NotApplicable(String),
}

impl UnscoredReason {
    /// The word in tables and exports.
    pub fn name(&self) -> &str {
        match self {
            Self::Unparsed => "unparsed",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Truncated => "truncated",
            Self::NotApplicable(_) => "not_applicable",
        }
    }
}

/// Why an item was not answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of trouble the model had.
    pub kind: ErrorKind,
    /// In words, with what to do.
    pub message: String,
}

/// A judge's verdict on one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict under the task's default convention.
    pub outcome: Outcome,
    /// The answer as the parser read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsed: Option<String>,
    /// The verdict under other named conventions (`strict`, `peer_ties`, `mean_logprob`, `layer_07`
    /// …), averaged separately. A convention under which this item has no verdict is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: BTreeMap<String, f64>,
    /// Anything worth keeping for a viewer or a figure.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub notes: Value,
}

impl Judgement {
    /// A judged item: 1 right, 0 wrong, one half a tie.
    ///
    /// ```
    /// use mary_contract::{Judgement, Outcome, UnscoredReason};
    ///
    /// let verdict = Judgement::scored(1.0).read_as("A").measured("strict", 0.0);
    /// assert_eq!((verdict.outcome, verdict.measures["strict"]), (Outcome::Scored(1.0), 0.0));
    /// // What could not be read is not wrong, and a score that is no number is noticed.
    /// let unread = Judgement::unscored(UnscoredReason::Unparsed);
    /// assert!(unread.is_finite() && !Judgement::scored(f64::NAN).is_finite());
    /// ```
    pub fn scored(score: f64) -> Self {
        Self::of(Outcome::Scored(score))
    }

    /// An item with nothing to judge.
    pub fn unscored(reason: UnscoredReason) -> Self {
        Self::of(Outcome::Unscored(reason))
    }

    /// An item where the question does not apply, and why.
    pub fn not_applicable(why: impl Into<String>) -> Self {
        Self::unscored(UnscoredReason::NotApplicable(why.into()))
    }

    /// An item that could not be answered or whose answer makes no sense (a NaN, a wrong kind).
    pub fn failed(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::of(Outcome::Failed(Failure {
            kind,
            message: message.into(),
        }))
    }

    /// An item that a fault of this program left without a verdict.
    pub fn fault(message: impl Into<String>) -> Self {
        Self::failed(ErrorKind::Internal, message)
    }

    /// The most probable of the options by the sums of their log-probabilities; equally probable ones share the
    /// point, and the first of them is what was read.
    pub fn most_probable(options: &[String], correct: usize, scored: &Scored) -> Self {
        let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
        if sums.len() != options.len() {
            let (expected, found) = (options.len(), sums.len());
            return Self::fault(format!(
                "expected {expected} scores, one for each option, found {found}"
            ));
        }
        let Some((said, score)) = best(&sums, correct) else {
            let message = "an option's log-probability is not a number";
            return Self::failed(ErrorKind::NotFinite, message);
        };
        Self {
            parsed: options.get(said).cloned(),
            notes: json!({ "logprob": sums }),
            ..Self::scored(score)
        }
    }

    /// A verdict without anything beside it.
    pub fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            parsed: None,
            measures: BTreeMap::new(),
            notes: Value::Null,
        }
    }

    /// Keeps what the parser read.
    #[must_use]
    pub fn read_as(mut self, parsed: impl Into<String>) -> Self {
        self.parsed = Some(parsed.into());
        self
    }

    /// Adds a verdict under another convention.
    #[must_use]
    pub fn measured(mut self, name: &str, value: f64) -> Self {
        self.measures.insert(name.to_owned(), value);
        self
    }

    /// The score, where there is one.
    pub fn score(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Scored(score) => Some(score),
            _ => None,
        }
    }

    /// Whether every number in it is one.
    pub fn is_finite(&self) -> bool {
        self.score().is_none_or(f64::is_finite) && self.measures.values().all(|v| v.is_finite())
    }
}
