//! Why a task file cannot be used.

use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum TaskFileError {
    /// The task file or its data is not there or cannot be read.
    #[error("{}: {what} cannot be read: {source}{hint}", path.display())]
    Unreadable {
        path: PathBuf,
        what: &'static str,
        #[source]
        source: std::io::Error,
        hint: String,
    },
    #[error("{}:{line}: {message}", path.display())]
    Wrong {
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        message: String,
    },
}

impl TaskFileError {
    /// Whether something is not there, in contrast to being wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable { .. })
    }
}

/// Why the text of a task file cannot be read.
pub(crate) enum TextError {
    Io(std::io::Error),
    /// Not UTF-8, from this line on.
    NotText(usize),
}

/// The text of a plain file that is not longer than this many MiB.
pub(crate) fn text_of(path: &Path, mib: u64) -> Result<String, TextError> {
    let about = std::fs::metadata(path).map_err(TextError::Io)?;
    if !about.is_file() || about.len() > mib << 20 {
        let why = format!("expected a file of at most {mib} MiB");
        return Err(TextError::Io(std::io::Error::other(why)));
    }
    let bytes = mary_platform::read_plain(path, mib << 20).map_err(TextError::Io)?;
    String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let lines = before.unwrap_or_default().iter().filter(|b| **b == b'\n');
        TextError::NotText(1 + lines.count())
    })
}
