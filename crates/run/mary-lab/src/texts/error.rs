//! Why an instrument cannot be used on a file.

use std::path::PathBuf;

use mary_contract::{ModelError, StoreError, TaskError};
use thiserror::Error;

/// Why an instrument cannot be used on a file.
#[derive(Debug, Error)]
pub enum InstrumentError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The file of texts is not there, or a line of it is wrong.
    #[error("{0}")]
    Task(#[from] TaskError),
    /// The run folder cannot be read.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The model cannot answer.
    #[error("{0}")]
    Model(#[from] ModelError),
    /// A table or an array cannot be written.
    #[error("{}: {source}", path.display())]
    #[allow(missing_docs)]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}
