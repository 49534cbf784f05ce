//! Why an instrument cannot be used on a file.

use std::path::PathBuf;

use mary_contract::{StoreError, TaskError};
use thiserror::Error;

/// Why an instrument cannot be used on a file.
#[derive(Debug, Error)]
pub enum InstrumentError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The file of texts is not there, or a line of it is wrong.
    #[error("{0}")]
    Task(#[source] TaskError),
    /// The run folder cannot be read.
    #[error("{0}")]
    Store(#[source] StoreError),
    /// A table or an array cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl From<TaskError> for InstrumentError {
    fn from(error: TaskError) -> Self {
        Self::Task(error)
    }
}

impl From<StoreError> for InstrumentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
