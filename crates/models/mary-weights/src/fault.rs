//! How this crate, and those that run its checkpoints, say that something is wrong: the file first, then what was
//! expected and found.

use std::fmt::Display;
use std::path::Path;

use mary_contract::{ErrorKind, ModelError};

/// What this crate gives, or why not.
pub(crate) type Result<T, E = ModelError> = std::result::Result<T, E>;

/// The checkpoint is not what it should be.
pub fn bad_model(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::BadModel, message)
}

/// Something was asked that this model, or this build, cannot do.
pub fn bad_request(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::BadRequest, message)
}

pub fn internal(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::Internal, message)
}

pub(crate) fn not_found(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::NotFound, message)
}

/// A file that is damaged, incomplete or of an unknown kind.
pub(crate) fn bad(path: &Path, message: impl Display) -> ModelError {
    bad_model(format!("{}: {message}", path.display()))
}

pub(crate) fn missing(path: &Path, message: impl Display) -> ModelError {
    not_found(format!("{}: {message}", path.display()))
}

pub(crate) fn io(path: &Path, error: &std::io::Error) -> ModelError {
    match error.kind() {
        std::io::ErrorKind::NotFound => missing(path, "no such file or folder"),
        std::io::ErrorKind::PermissionDenied => {
            bad(path, "may not be read").hint("check the permissions of the file")
        }
        _ => bad(path, error),
    }
}
