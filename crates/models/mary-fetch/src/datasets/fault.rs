//! Why a dataset could not be fetched, and what to do then.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::datasets::unpack::UnpackError;

/// Why a dataset could not be fetched.
#[derive(Debug, Error)]
pub enum PullError {
    /// No dataset of this name.
    #[error("there is no dataset `{id}`; there are: {known}")]
    Unknown { id: String, known: String },
    /// Nothing of it is published.
    #[error("dataset `{id}` cannot be fetched: {why}\nhint: {hint}")]
    NotPublished {
        id: &'static str,
        why: String,
        /// What to do.
        hint: String,
    },
    /// The host could not be reached, or broke off, after all retries.
    #[error("{url}: {cause}\nhint: {hint}")]
    Unreachable {
        url: String,
        cause: String,
        /// What to do.
        hint: String,
    },
    /// The host answered, but not with the file.
    #[error("{url}: the server answered {status}\nhint: {hint}")]
    Status {
        url: String,
        status: u16,
        /// What to do.
        hint: String,
    },
    /// What came is not what should have come.
    #[error("{url}: expected {expected}, found {found}\nhint: {hint}")]
    WrongContent {
        url: String,
        /// Size and hash as catalogued.
        expected: String,
        /// Size and hash of what came.
        found: String,
        /// What to do.
        hint: String,
    },
    /// An archive is damaged or hostile.
    #[error("{url}: {source}")]
    Archive {
        /// Where it came from.
        url: String,
        /// What is wrong with it.
        #[source]
        source: UnpackError,
    },
    /// The file system said no.
    #[error("{path}: {source}{}", hint_for(source))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn hint_for(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => {
            "\nhint: the disk is full; free some room and pull again, it continues where it stopped"
        }
        io::ErrorKind::PermissionDenied => {
            "\nhint: choose a folder you may write to by setting MARY_CACHE_DIR"
        }
        _ => "",
    }
}

pub(crate) fn io_at(path: &Path) -> impl Fn(io::Error) -> PullError + '_ {
    move |source| PullError::Io {
        path: path.to_owned(),
        source,
    }
}
