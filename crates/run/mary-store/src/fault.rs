//! How errors of the file system become messages with a place and a remedy.

use std::io;
use std::path::Path;

use mary_contract::StoreError;

/// An error of the file system at a place.
pub(crate) fn io_at(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    move |source| StoreError::Io {
        path: path.to_owned(),
        source,
    }
}

/// A damaged file. Line 0 means the file as a whole.
pub(crate) fn corrupt(
    path: &Path,
    line: usize,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> StoreError {
    StoreError::Corrupt {
        path: path.to_owned(),
        line,
        message: message.into(),
        hint: hint.into(),
    }
}
