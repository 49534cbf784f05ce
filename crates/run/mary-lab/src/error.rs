//! Errors of runs.

use std::path::{Path, PathBuf};

use crate::engine::EngineError;
use mary_contract::{ModelError, StoreError};
use mary_taskfile::TaskFileError;
use thiserror::Error;

/// Why a run could not be specified, started or carried on.
#[derive(Debug, Error)]
pub enum RunError {
    /// The specification names what this laboratory does not have, or asks for what cannot be.
    #[error("{0}")]
    Specification(String),
    /// The engine refused or stopped.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// A model could not be described or opened.
    #[error("{0}")]
    Model(#[from] ModelError),
    /// A run folder or the cache could not be read or written.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A task file cannot be read.
    #[error("{0}")]
    TaskFile(#[from] TaskFileError),
    /// A folder cannot be made.
    #[error("{}: {message}", path.display())]
    #[allow(missing_docs)]
    Folder {
        path: PathBuf,
        /// What the system said, and what to do.
        message: String,
        #[source]
        source: std::io::Error,
    },
    /// The run stopped before its end; what was answered is kept in its folder.
    #[error("run {} stopped", folder.display())]
    Stopped {
        /// The run folder, from which the run can be continued.
        folder: PathBuf,
        /// What stopped it.
        #[source]
        source: Box<RunError>,
    },
}

impl RunError {
    /// Whether a signal stopped the run, and nothing is wrong with it.
    pub fn is_interrupt(&self) -> bool {
        match self {
            Self::Engine(EngineError::Interrupted) => true,
            Self::Engine(EngineError::Stopped(error)) | Self::Model(error) => {
                error.kind == mary_contract::ErrorKind::Interrupted
            }
            Self::Stopped { source, .. } => source.is_interrupt(),
            _ => false,
        }
    }

    /// The model's error behind this one, where a model could not be opened.
    pub fn model(&self) -> Option<&ModelError> {
        match self {
            Self::Model(error) => Some(error),
            Self::Stopped { source, .. } => source.model(),
            _ => None,
        }
    }
}

/// A mistake in what was asked for, with what to do about it.
pub(crate) fn unclear<T>(message: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Specification(message.into()))
}

/// Makes a folder; the message says what it is for.
pub(crate) fn make_folder(path: &Path, message: &str) -> Result<(), RunError> {
    std::fs::create_dir_all(path).map_err(|source| RunError::Folder {
        path: path.to_owned(),
        message: message.to_owned(),
        source,
    })
}
