//! Why a task file of the harness cannot be used.

use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum HarnessError {
    /// The file, one that it includes, or data is not there.
    #[error("{}: {what} cannot be read: {source}{hint}", path.display())]
    Unreadable {
        path: PathBuf,
        what: &'static str,
        #[source]
        source: std::io::Error,
        hint: String,
    },
    #[error("{}:{line}: {message}", path.display())]
    Wrong {
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        message: String,
    },
    /// The file is sound and asks for something that is not done here.
    #[error("{}:{line}: {}", path.display(), refusal.message())]
    Refused {
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        refusal: Refusal,
    },
    #[error("{}: the dataset `{dataset}` is not on this machine\nhint: {hint}", path.display())]
    NoData {
        path: PathBuf,
        dataset: String,
        hint: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// `!function` or `class`: Python code.
    Python {
        key: String,
        name: String,
    },
    /// None of the task's metrics is computed here.
    Metrics(Vec<String>),
    Filter(String),
    Pattern(String),
    /// Several answers to one question.
    Repeats(i64),
    Key {
        key: String,
        why: String,
    },
}

impl Refusal {
    pub fn message(&self) -> String {
        match self {
            Self::Python { key, name } => format!(
                "`{key}` is Python code (`{name}`), which is not run here\n\
                 hint: write what it makes into the data, or the task as a file of Mary's own \
                 (docs/own-tasks.md)"
            ),
            Self::Metrics(names) => format!(
                "the task has no metric that is computed here, only: {}",
                names.join(", ")
            ),
            Self::Filter(name) => format!("the filter `{name}` is not known here"),
            Self::Pattern(why) => format!("the regular expression cannot be used: {why}"),
            Self::Repeats(n) => format!(
                "`repeats: {n}` asks every question {n} times, which is not done here\n\
                 hint: `--trials` repeats a run"
            ),
            Self::Key { key, why } => format!("`{key}` {why}"),
        }
    }

    /// In a word or two, for a table.
    pub fn kind(&self) -> String {
        match self {
            Self::Python { key, .. } => format!("Python in `{key}`"),
            Self::Metrics(names) => format!("only metrics `{}`", names.join("`, `")),
            Self::Filter(name) => format!("filter `{name}`"),
            Self::Pattern(_) => "regular expression".into(),
            Self::Repeats(_) => "`repeats`".into(),
            Self::Key { key, .. } => format!("`{key}`"),
        }
    }
}

impl HarnessError {
    /// Whether something is not there, in contrast to being wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::NoData { .. })
    }

    pub fn wrong(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::Wrong {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }

    pub fn refused(path: &Path, line: usize, refusal: Refusal) -> Self {
        Self::Refused {
            path: path.to_owned(),
            line,
            refusal,
        }
    }
}
