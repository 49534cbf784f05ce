//! Why a task file of the harness cannot be used.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a task file of the harness cannot be used.
#[derive(Debug, Error)]
pub enum HarnessError {
    /// The file, one that it includes, or data is not there.
    #[error("{}: {what} cannot be read: {source}{hint}", path.display())]
    Unreadable {
        path: PathBuf,
        /// The task file, an included file, the data.
        what: &'static str,
        #[source]
        source: std::io::Error,
        /// What to do, where there is something.
        hint: String,
    },
    /// The file says something that makes no sense.
    #[error("{}:{line}: {message}", path.display())]
    Wrong {
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What was expected and what was found.
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
    /// The dataset is not on this machine.
    #[error("{}: the dataset `{dataset}` is not on this machine\nhint: {hint}", path.display())]
    NoData {
        path: PathBuf,
        dataset: String,
        /// What to give.
        hint: String,
    },
}

/// What is not done here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// `!function` or `class`: Python code.
    Python {
        /// The key it stands under.
        key: String,
        /// The function or class.
        name: String,
    },
    /// None of the task's metrics is computed here.
    Metrics(Vec<String>),
    /// A filter that is not known.
    Filter(String),
    /// A regular expression that cannot be compiled.
    Pattern(String),
    /// Several answers to one question.
    Repeats(i64),
    /// Something else, by its key.
    Key { key: String, why: String },
}

impl Refusal {
    /// In words, with what to do.
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

    /// Whether it is for Python code.
    pub fn is_python(&self) -> bool {
        matches!(self, Self::Python { .. })
    }
}

impl HarnessError {
    /// Whether something is not there, in contrast to being wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::NoData { .. })
    }

    /// Something wrong in a line.
    pub fn wrong(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::Wrong {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }

    /// Something that is not done here.
    pub fn refused(path: &Path, line: usize, refusal: Refusal) -> Self {
        Self::Refused {
            path: path.to_owned(),
            line,
            refusal,
        }
    }
}
