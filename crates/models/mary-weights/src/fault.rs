//! How this crate says that something is wrong: the file first, then what was expected and found.

use std::fmt::Display;
use std::path::Path;

use mary_contract::{ErrorKind, ModelError};

/// A file that is damaged, incomplete or of an unknown kind.
pub(crate) fn bad(path: &Path, message: impl Display) -> ModelError {
    ModelError::new(
        ErrorKind::BadModel,
        format!("{}: {message}", path.display()),
    )
}

pub(crate) fn missing(path: &Path, message: impl Display) -> ModelError {
    ModelError::new(
        ErrorKind::NotFound,
        format!("{}: {message}", path.display()),
    )
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
