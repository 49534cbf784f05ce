//! Reading what a user set: one word of a few, or a number, with an error that says what is allowed.

use std::str::FromStr;

use mary_contract::{Param, TaskCard, TaskError, TaskSettings};

/// One of a few words.
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

/// A number that `fits`.
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

/// Says what a parameter can be.
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

/// Refuses shots where a task has none.
pub(crate) fn no_shots(card: &TaskCard, settings: &TaskSettings) -> Result<(), TaskError> {
    match settings.shots {
        None | Some(0) => Ok(()),
        Some(k) => Err(TaskError::Setting(format!(
            "{}: {k} shots (-k, --shots); this task has none",
            card.id
        ))),
    }
}

/// How the tokens of a text become one vector.
pub(crate) const POOLING: Param = Param::new(
    "pooling",
    "mean",
    "mean, last, first",
    "How the tokens of a word become one vector: their mean, the last one, or the first place of \
            the sequence (an encoder's [CLS]).",
);

/// Which layers are observed, where all of them would make a large log.
pub(crate) const LAYERS: Param = Param::new(
    "layers",
    "last",
    "last, all",
    "The last layer, or every layer with the embedding layer as 0 (the log grows with each).",
);
