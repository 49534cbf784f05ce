//! Why a task file cannot be used.

use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum TaskFileError {
    /// The task file or its data is not there or cannot be read.
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
}

impl TaskFileError {
    /// Whether something is not there, in contrast to being wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable { .. })
    }
}
