//! Reading what a user set: one word of a few, or a number, with an error that says what is allowed.

use std::str::FromStr;

use mary_contract::{TaskCard, TaskError, TaskSettings};

pub(crate) fn choose<T: Copy>(
    card: &TaskCard,
    settings: &TaskSettings,
    name: &str,
    words: &[(&str, T)],
) -> Result<T, TaskError> {
    let said = settings.param(card, name);
    words
        .iter()
        .find(|(word, _)| *word == said)
        .map(|(_, value)| *value)
        .ok_or_else(|| not_allowed(card, name, said))
}

pub(crate) fn number<T: FromStr + Copy>(
    card: &TaskCard,
    settings: &TaskSettings,
    name: &str,
    fits: impl Fn(T) -> bool,
) -> Result<T, TaskError> {
    let said = settings.param(card, name);
    said.parse()
        .ok()
        .filter(|value| fits(*value))
        .ok_or_else(|| not_allowed(card, name, said))
}

pub(crate) fn not_allowed(card: &TaskCard, name: &str, said: &str) -> TaskError {
    let values = card
        .params
        .iter()
        .find(|p| p.name == name)
        .map_or("", |p| &p.values);
    TaskError::Setting(format!(
        "{}: `{name}={said}` is not one of: {values}",
        card.id
    ))
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
