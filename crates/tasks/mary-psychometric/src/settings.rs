//! What tasks without shots say to one who sets some, and the start convention as a setting.

use mary_contract::{Start, TaskCard, TaskError, TaskSettings};

/// The start that a word of a setting means.
pub(crate) fn start(card: &TaskCard, word: &str) -> Result<Start, TaskError> {
    word.parse::<Start>()
        .map_err(|e| TaskError::Setting(format!("{}: start: {e}", card.id)))
}

pub(crate) fn no_shots(card: &TaskCard, settings: &TaskSettings) -> Result<(), TaskError> {
    match settings.shots {
        None | Some(0) => Ok(()),
        Some(k) => Err(TaskError::Setting(format!(
            "{}: {k} shots (-k, --shots); this task has none",
            card.id
        ))),
    }
}
