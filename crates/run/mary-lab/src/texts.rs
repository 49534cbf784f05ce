//! Instruments on plain files: how probable texts are ([`score`]), what a model thinks while it reads them
//! ([`observe`]), what it answers ([`ask`]), and what its surprisal says of people's reading ([`reading`]). Each is a [`mary_contract::Task`], so that it has cache,
//! budget and run folder; results are read from that folder into tidy tables ([`table`]) or arrays.

pub mod ask;
mod cloze;
pub(crate) mod material;
pub mod observe;
pub mod reading;
pub mod score;
pub mod table;
pub mod top;

use std::path::PathBuf;

use mary_contract::{ModelError, StoreError, TaskError};
use thiserror::Error;

pub use mary_embodied::Norms as Frequencies;

/// Why an instrument cannot be used on a file.
#[derive(Debug, Error)]
pub enum InstrumentError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The file of texts is not there, or a line of it is wrong.
    #[error("{0}")]
    Task(#[from] TaskError),
    /// The run folder cannot be read.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The model cannot answer.
    #[error("{0}")]
    Model(#[from] ModelError),
    /// A table or an array cannot be written.
    #[error("{}: {source}", path.display())]
    #[allow(missing_docs)]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}
