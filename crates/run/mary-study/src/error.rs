//! What can go wrong with a study, said so that its author knows what to do.

use std::path::PathBuf;

use mary_contract::{StoreError, TaskError};
use mary_platform::TextFault;
use mary_stats::StatsError;
use thiserror::Error;

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
        message: String,
        hint: String,
    },
    #[error("{0}")]
    Refused(String),
    #[error("{path}: {source}\nhint: is the disk full, or the folder not writable?")]
    Database {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Stats(#[from] StatsError),
    #[error(
        "the store of answers has stopped; nothing more can be saved\nhint: start the server again"
    )]
    Stopped,
}

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

/// An error of reading a table near a line, or in the line that it names itself.
pub(crate) fn fault<T>(
    near: usize,
    error: &(dyn std::error::Error + 'static),
    wrong: &dyn Fn(usize, String) -> T,
) -> T {
    let found = match error.downcast_ref::<csv::Error>().map(csv::Error::kind) {
        Some(csv::ErrorKind::Io(e)) => TextFault::of(e),
        _ => TextFault::of(error),
    };
    match found {
        Some(fault) => wrong(fault.line, fault.message.clone()),
        None => wrong(near, error.to_string()),
    }
}
