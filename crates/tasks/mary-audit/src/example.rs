//! One question with its options, as the audit sees it.

use std::collections::BTreeSet;

use mary_contract::{Item, Target};
use serde::{Deserialize, Serialize};

use crate::AuditError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    pub id: String,
    /// The question alone; empty for a pair.
    pub question: String,
    pub options: Vec<String>,
    pub correct: usize,
    /// Examples of one cluster never sit on both sides of a split.
    pub cluster: Option<String>,
    /// Whether the order of the options means nothing (a pair).
    pub unordered: bool,
}

impl Example {
    pub fn new(
        id: impl Into<String>,
        question: impl Into<String>,
        options: Vec<String>,
        correct: usize,
    ) -> Self {
        Self {
            id: id.into(),
            question: question.into(),
            options,
            correct,
            cluster: None,
            unordered: false,
        }
    }

    /// From an item whose target is a choice or a pair; nothing from any other.
    pub fn from_item(item: &Item) -> Option<Self> {
        let mut example = match &item.target {
            Target::Choice {
                question,
                options,
                correct,
            } => Self::new(&item.id, question, options.clone(), *correct),
            Target::Pair { good, bad } => Self {
                unordered: true,
                ..Self::new(&item.id, "", vec![good.clone(), bad.clone()], 0)
            },
            Target::Text(_) | Target::Data(_) => return None,
        };
        example.cluster.clone_from(&item.cluster);
        Some(example)
    }

    pub fn answer(&self) -> &str {
        self.options.get(self.correct).map_or("", String::as_str)
    }

    /// What makes two examples the same question, spacing and case aside.
    pub(crate) fn identity(&self) -> String {
        let mut key = fold(&self.question);
        // A bare symbol may stand for a whole question's worth in its options.
        if key.is_empty() {
            for option in &self.options {
                key.push('\u{1f}');
                key.push_str(&fold(option));
            }
        }
        key
    }
}

fn fold(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The same labels for every question: the question's surface may give the label away.
    Labels(Vec<String>),
    /// Options of each question's own: their texts may give the right one away.
    Options,
}

impl Form {
    /// Checks every example and says which form the set has.
    pub(crate) fn detect(examples: &[Example]) -> Result<Self, AuditError> {
        let mut labels: Option<BTreeSet<&str>> = None;
        let mut fixed = true;
        for (index, example) in examples.iter().enumerate() {
            let malformed = |expected, found: String| AuditError::Malformed {
                index,
                id: example.id.clone(),
                expected,
                found,
            };
            if example.options.len() < 2 {
                let found = format!("{}", example.options.len());
                return Err(malformed("at least two options", found));
            }
            if example.correct >= example.options.len() {
                let found = format!("{} of {}", example.correct, example.options.len());
                return Err(malformed("the right option to be one of them", found));
            }
            let own: BTreeSet<&str> = example.options.iter().map(String::as_str).collect();
            if own.len() < example.options.len() {
                let found = example.options.join(" | ");
                return Err(malformed("options that differ from each other", found));
            }
            fixed &= !example.question.trim().is_empty();
            fixed &= labels.get_or_insert_with(|| own.clone()) == &own;
        }
        match labels {
            Some(labels) if fixed => Ok(Self::Labels(
                labels.into_iter().map(str::to_owned).collect(),
            )),
            _ => Ok(Self::Options),
        }
    }
}
