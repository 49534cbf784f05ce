//! What can go wrong while training, said so that a person can act on it.

use std::path::{Path, PathBuf};

/// What this crate gives, or why not.
pub(crate) type Result<T, E = TrainError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error("{0}")]
    Settings(String),
    #[error(
        "training needs about {needed_mb} MB of memory and {limit_mb} MB are allowed; {remedy}"
    )]
    Memory {
        needed_mb: u64,
        limit_mb: u64,
        /// Settings that would fit, or the bare minimum where none does.
        remedy: String,
    },
    #[error("{path}: {source}")]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {problem}")]
    Content { path: PathBuf, problem: String },
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    #[error("{0}")]
    Gpu(#[from] mary_contract::ModelError),
    #[error("stopped after step {step} of {of}; the same command continues from there")]
    Stopped { step: u64, of: u64 },
    #[error("the loss is {loss} at step {step}; lower the learning rate or raise the warm-up")]
    Diverged { step: u64, loss: f64 },
}

impl TrainError {
    pub(crate) fn no_size(name: &str) -> Self {
        Self::Settings(format!(
            "no size is called \"{name}\"; there are pico, nano and micro"
        ))
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::File {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn content(path: &Path, problem: impl std::fmt::Display) -> Self {
        Self::Content {
            path: path.to_owned(),
            problem: problem.to_string(),
        }
    }
}
