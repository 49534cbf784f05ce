//! The authors' released files (Yang et al. 2025), read with their quirks: questions in two orders and
//! two languages, triples with stored cosines of sixteen models, the raw outputs of twenty-four
//! models, and the answers of people.

mod outputs;
mod questions;
mod triples;

pub use outputs::{Released, ReleasedAnswer, released_outputs};
pub use questions::{NumberedQuestion, questions};
pub use triples::{StoredCosines, stored_cosines, triples, triples_of};

use std::path::{Path, PathBuf};

use mary_contract::{DataError, DataSource, TaskError};

pub const DATASET: &str = "embodied";

fn file(data: &dyn DataSource, path: &str) -> Result<PathBuf, DataError> {
    Ok(data.folder(DATASET)?.join(path))
}

fn damaged(path: &Path, message: impl Into<String>) -> TaskError {
    TaskError::Data(DataError::damaged(path, message))
}

fn read(path: &Path) -> Result<Vec<u8>, TaskError> {
    mary_platform::read_plain(path, mary_platform::LARGEST_DATA).map_err(|e| {
        let hint = format!("hint: `mary data verify {DATASET}` says what is wrong");
        damaged(path, format!("cannot be read: {e}\n{hint}"))
    })
}
