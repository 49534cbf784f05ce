//! Why a dataset could not be fetched, and what to do then.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::datasets::unpack::UnpackError;

/// What fetching gives, or why not.
pub(crate) type Result<T, E = PullError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum PullError {
    #[error("there is no dataset `{id}`; there are: {known}")]
    Unknown { id: String, known: String },
    #[error("dataset `{id}` cannot be fetched: {why}\nhint: {hint}")]
    NotPublished {
        id: &'static str,
        why: String,
        hint: String,
    },
    /// The host could not be reached, or broke off, after all retries.
    #[error("{url}: {cause}\nhint: {hint}")]
    Unreachable {
        url: String,
        cause: String,
        hint: String,
    },
    #[error("{url}: the server answered {status}\nhint: {hint}")]
    Status {
        url: String,
        status: u16,
        hint: String,
    },
    #[error("{url}: expected {expected}, found {found}\nhint: {hint}")]
    WrongContent {
        url: String,
        expected: String,
        found: String,
        hint: String,
    },
    #[error("{url}: {source}")]
    Archive {
        url: String,
        #[source]
        source: UnpackError,
    },
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
