//! From tasks and models to samples and summaries: [`admit`] refuses what cannot work before anything is
//! loaded or paid for, [`select`] chooses items, [`plan`] orders requests, [`execute`] carries them out in
//! bounded memory, [`summarise`] turns verdicts into numbers. Nothing here knows a backend, a file or a
//! terminal.

pub mod admit;
pub mod constant;
pub mod execute;
mod flight;
pub mod plan;
mod queue;
pub mod select;
mod starts;
pub mod summarise;

use mary_contract::{ModelError, StoreError, TaskError};
use thiserror::Error;

/// Why a run could not start or go on. `task` and `item` are ids.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum EngineError {
    /// The task's items cannot be had.
    #[error("{}", named(task, source))]
    Task {
        task: String,
        #[source]
        source: TaskError,
    },
    /// Two items carry one id, so that results could not be told apart.
    #[error("{task}: two items are called `{item}`; ids must be unique within a task")]
    DuplicateItem { task: String, item: String },
    /// There is nothing to ask.
    #[error("{task}: the set is empty, so there is nothing to run")]
    Empty { task: String },
    /// The model cannot do what the task needs.
    #[error("{0}")]
    Refused(String),
    /// The store could not keep something.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model stopped the run (no key, no money); what was answered is kept.
    #[error("{}{}", .0.message, .0.hint.as_ref().map(|h| format!("\nhint: {h}")).unwrap_or_default())]
    Stopped(ModelError),
    /// The user stopped the run; what was answered is kept.
    #[error("interrupted; give the same command again to continue")]
    Interrupted,
}

/// A task's error under its name, which tasks often say themselves.
fn named(task: &str, source: &TaskError) -> String {
    let said = source.to_string();
    match said.starts_with(task) {
        true => said,
        false => format!("{task}: {said}"),
    }
}
