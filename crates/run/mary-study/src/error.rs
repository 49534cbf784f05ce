//! What can go wrong with a study, said so that its author knows what to do.

use std::io::Read;
use std::path::PathBuf;

use mary_contract::{StoreError, TaskError};
use mary_platform::{Separated, TextFault};
use mary_stats::StatsError;
use thiserror::Error;

/// What this crate gives, or why not.
pub(crate) type Result<T, E = StudyError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum StudyError {
    /// A file of the study could not be read or written.
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A file of the study says something that makes no sense.
    #[error("{path}: {message}\nhint: {hint}")]
    File {
        path: PathBuf,
        message: String,
        hint: String,
    },
    #[error("{0}")]
    Refused(String),
    #[error("{path}: {source}\nhint: is the disk full, or the folder not writable?")]
    Database {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Stats(#[from] StatsError),
    #[error(
        "the store of answers has stopped; nothing more can be saved\nhint: start the server again"
    )]
    Stopped,
}

pub(crate) fn io_at(path: &std::path::Path) -> impl Fn(std::io::Error) -> StudyError + '_ {
    move |source| StudyError::Io {
        path: path.to_owned(),
        source,
    }
}

impl StudyError {
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::Refused(message.into())
    }

    /// A file of a study that is not what was frozen.
    pub(crate) fn changed(path: PathBuf, message: String) -> Self {
        Self::File {
            path,
            message,
            hint: "restore the file from a copy; items of a study never change".into(),
        }
    }
}

/// A table with a head, whatever a spreadsheet parts its fields by.
pub(crate) fn table<R: Read, T>(
    bytes: R,
    wrong: &dyn Fn(usize, String) -> T,
) -> Result<(csv::Reader<Separated<R>>, csv::StringRecord), T> {
    let text = Separated::fields(bytes, None, true).map_err(|e| fault(1, &e, wrong))?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(text.delimiter())
        .from_reader(text);
    let head = reader.headers().map_err(|e| fault(1, &e, wrong))?.clone();
    Ok((reader, head))
}

/// An error of reading a table near a line, or in the line that it names itself.
pub(crate) fn fault<T>(
    near: usize,
    error: &(dyn std::error::Error + 'static),
    wrong: &dyn Fn(usize, String) -> T,
) -> T {
    let found = match error.downcast_ref::<csv::Error>().map(csv::Error::kind) {
        Some(csv::ErrorKind::Io(e)) => TextFault::of(e),
        _ => TextFault::of(error),
    };
    match found {
        Some(fault) => wrong(fault.line, fault.message.clone()),
        None => wrong(near, error.to_string()),
    }
}
