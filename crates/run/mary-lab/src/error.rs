//! Why a run could not be specified, started or carried on.

use std::path::PathBuf;

use crate::engine::EngineError;
use mary_contract::{ModelError, StoreError};
use thiserror::Error;

/// Why a run could not be specified, started or carried on.
#[derive(Debug, Error)]
pub enum RunError {
    /// The specification names what this laboratory does not have, or asks for what cannot be.
    #[error("{0}")]
    Specification(String),
    /// The engine refused or stopped.
    #[error("{0}")]
    Engine(#[source] EngineError),
    /// A model could not be described or opened.
    #[error("{0}")]
    Model(#[source] ModelError),
    /// A run folder or the cache could not be read or written.
    #[error("{0}")]
    Store(#[source] StoreError),
    /// A folder cannot be made.
    #[error("{}: {message}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system said, and what to do.
        message: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The run stopped before its end; what was answered is kept in its folder.
    #[error("run {} stopped", folder.display())]
    Stopped {
        /// The run folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: Box<RunError>,
    },
}

impl From<EngineError> for RunError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<ModelError> for RunError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
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
