//! How a task finds the files of an upstream dataset.

use std::path::PathBuf;

use thiserror::Error;

/// Why a dataset cannot be used. The messages say what each field is.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum DataError {
    /// It is not on this machine.
    #[error("dataset `{id}` is not on this machine\nhint: {hint}")]
    Missing { id: String, hint: String },
    /// A file of it is not what it should be.
    #[error("{path}: {message}")]
    Damaged { path: PathBuf, message: String },
}

impl DataError {
    /// A file that is not what it should be.
    pub fn damaged(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        let (path, message) = (path.into(), message.into());
        Self::Damaged { path, message }
    }
}

/// Finds datasets. The binary has one that looks into the user's folders.
pub trait DataSource: Sync {
    /// The folder of a dataset, in upstream layout.
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError>;

    /// Content hash of a dataset's files, for the manifest.
    fn hash(&self, dataset: &str) -> Result<String, DataError>;
}

/// A source that has nothing: for tasks that make their own items.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoData;

impl DataSource for NoData {
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError> {
        Err(DataError::Missing {
            id: dataset.to_owned(),
            hint: "no data source is set".into(),
        })
    }

    fn hash(&self, dataset: &str) -> Result<String, DataError> {
        self.folder(dataset).map(|_| String::new())
    }
}
