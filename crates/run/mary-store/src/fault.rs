//! How errors of the file system become messages with a place and a remedy.

use std::fs::File;
use std::io;
use std::path::Path;

use mary_contract::StoreError;

/// What this crate gives, or why not.
pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

pub(crate) fn io_at(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    move |source| StoreError::Io {
        path: path.to_owned(),
        source,
    }
}

/// A plain file, opened for reading, if it is there.
pub(crate) fn open_if_there(path: &Path) -> Result<Option<File>, StoreError> {
    match mary_platform::open_plain(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io_at(path)(e)),
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
