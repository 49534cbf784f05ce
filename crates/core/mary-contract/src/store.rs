//! What the engine asks of a store.

use std::path::PathBuf;

use thiserror::Error;

use crate::{Key, Reply};

/// Why something could not be kept or found again. The messages say what most fields are.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum StoreError {
    /// The file system said no (full disk, no permission).
    #[error("{path}: {source}{}", hint_for(source))]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A stored file is damaged; nothing was overwritten.
    #[error("{path}:{line}: {message}\nhint: {hint}")]
    Corrupt {
        path: PathBuf,
        /// Counted from 1; 0 for a file without lines.
        line: usize,
        message: String,
        hint: String,
    },
    /// The database said no.
    #[error("{path}: {message}")]
    Database { path: PathBuf, message: String },
    /// The run folder belongs to something else.
    #[error("{0}")]
    Mismatch(String),
}

fn hint_for(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::StorageFull => {
            "\nhint: the disk is full; free some room and give the same command again, nothing that was answered is lost"
        }
        std::io::ErrorKind::PermissionDenied => {
            "\nhint: choose a folder you may write to with --output-path"
        }
        _ => "",
    }
}

/// Answers that were already given.
pub trait Cache {
    /// The answer of this name, if it was given before.
    fn recall(&mut self, key: &Key) -> Result<Option<Reply>, StoreError>;

    /// Keeps an answer. It need not be on disk before [`Cache::flush`], but must outlive a killed
    /// process soon after.
    fn keep(&mut self, key: &Key, reply: &Reply) -> Result<(), StoreError>;

    /// Everything kept so far survives the process.
    fn flush(&mut self) -> Result<(), StoreError>;
}
