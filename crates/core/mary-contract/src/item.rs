//! One thing to find out: what is asked of which model, and what would be right.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Request;

/// One item of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Unique within a task. Forms of one thing (text/picture twin, two option orders, low/high
    /// level) carry the same id in their tasks, so that every comparison can be paired.
    pub id: String,
    /// `--limit` keeps the shares of the strata (for example the label).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stratum: String,
    /// Items that share a template or a question; standard errors are clustered by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// What results are broken down by: `("phenomenon", "binding")`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// What would be right, for the judge, audits and viewers.
    pub target: Target,
    /// The first questions; [`crate::Task::follow_up`] may add more once these are answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
}

/// The tag that names the draw of shots with which an item was asked, where there were several. A
/// comparison of two models on such items is over draws.
pub const SHOT_SET: &str = "shot_set";

/// A question to one of the models in the room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Who is asked: the model under study or the judge.
    pub role: ModelRole,
    /// The question itself.
    pub request: Request,
}

impl Ask {
    /// A question to the model under study.
    pub fn subject(request: Request) -> Self {
        Self {
            role: ModelRole::Subject,
            request,
        }
    }

    /// A question to the judge.
    pub fn judge(request: Request) -> Self {
        Self {
            role: ModelRole::Judge,
            request,
        }
    }
}

/// The part a model plays in an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelRole {
    /// The model under study.
    Subject,
    /// A second model (or the same one) that reads the first one's answer.
    Judge,
}

/// What would be right, in a form that audits and viewers understand without knowing the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// One of several options is right.
    Choice {
        /// The question alone, without shots, instructions or options.
        question: String,
        /// The options in the order shown.
        options: Vec<String>,
        /// Index of the right one.
        correct: usize,
    },
    /// Two texts of which the first should be the more probable.
    Pair {
        /// The acceptable one of a minimal pair.
        good: String,
        /// The same text with the fault.
        bad: String,
    },
    /// A text to be matched.
    Text(String),
    /// Whatever the task's own judge needs.
    Data(Value),
}

impl Target {
    /// A question with options, of which one is right.
    pub fn one_of(question: String, options: Vec<String>, correct: usize) -> Self {
        Self::Choice {
            question,
            options,
            correct,
        }
    }

    /// The options and the place of the right one, where there are any.
    pub fn choice(&self) -> Option<(&[String], usize)> {
        match self {
            Self::Choice {
                options, correct, ..
            } => Some((options, *correct)),
            _ => None,
        }
    }

    /// The texts of which one is right, options or a pair, and the place of that one.
    pub fn alternatives(&self) -> Option<(Vec<&str>, usize)> {
        match (self, self.choice()) {
            (Self::Pair { good, bad }, _) => Some((vec![good, bad], 0)),
            (_, choice) => choice.map(|(all, n)| (all.iter().map(String::as_str).collect(), n)),
        }
    }

    /// The right text, where there is one.
    pub fn right(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => self
                .alternatives()
                .and_then(|(texts, n)| texts.get(n).copied()),
        }
    }
}

impl Item {
    /// An item with an id, a target and its first questions; the rest is empty.
    pub fn new(id: impl Into<String>, target: Target, asks: Vec<Ask>) -> Self {
        Self {
            id: id.into(),
            stratum: String::new(),
            cluster: None,
            tags: BTreeMap::new(),
            target,
            asks,
        }
    }

    /// Adds a tag by which results are broken down.
    ///
    /// ```
    /// use mary_contract::{Item, Target};
    ///
    /// let pair = Target::Pair { good: "Dogs run.".into(), bad: "Dogs runs.".into() };
    /// let item = Item::new("dogs", pair, vec![]).tagged("number", "plural").in_stratum("plural");
    /// assert_eq!((&*item.tags["number"], &*item.stratum), ("plural", "plural"));
    /// ```
    #[must_use]
    pub fn tagged(mut self, name: &str, value: impl Into<String>) -> Self {
        self.tags.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the stratum, whose share a limit keeps.
    #[must_use]
    pub fn in_stratum(mut self, stratum: impl Into<String>) -> Self {
        self.stratum = stratum.into();
        self
    }

    /// Tags the item and makes the tag's value its stratum.
    #[must_use]
    pub fn in_stratum_of(self, tag: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        self.tagged(tag, value.clone()).in_stratum(value)
    }
}
