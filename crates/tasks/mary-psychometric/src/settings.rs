//! What tasks without shots say to one who sets some.

use mary_contract::{TaskCard, TaskError, TaskSettings};

pub(crate) fn no_shots(card: &TaskCard, settings: &TaskSettings) -> Result<(), TaskError> {
    match settings.shots {
        None | Some(0) => Ok(()),
        Some(k) => Err(TaskError::Setting(format!(
            "{}: {k} shots (-k, --shots); this task has none",
            card.id
        ))),
    }
}
