//! What can go wrong with a study, said so that its author knows what to do.

use std::path::PathBuf;

use mary_contract::{StoreError, TaskError};
use mary_stats::StatsError;
use thiserror::Error;

/// Why something could not be done.
#[derive(Debug, Error)]
pub enum StudyError {
    /// A file of the study could not be read or written.
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A file of the study says something that makes no sense.
    #[error("{path}: {message}\nhint: {hint}")]
    File {
        path: PathBuf,
        /// What was expected and found.
        message: String,
        /// What to do.
        hint: String,
    },
    /// What was asked for cannot be done.
    #[error("{0}")]
    Refused(String),
    /// SQLite said no.
    #[error("{path}: {source}\nhint: is the disk full, or the folder not writable?")]
    Database {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    /// A run folder could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Items could not be made.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A number could not be made.
    #[error(transparent)]
    Stats(#[from] StatsError),
    /// The thread that keeps the answers has ended.
    #[error(
        "the store of answers has stopped; nothing more can be saved\nhint: start the server again"
    )]
    Stopped,
}

/// An error of the file system at a path.
pub(crate) fn io_at(path: &std::path::Path) -> impl Fn(std::io::Error) -> StudyError + '_ {
    move |source| StudyError::Io {
        path: path.to_owned(),
        source,
    }
}

impl StudyError {
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::Refused(message.into())
    }
}
