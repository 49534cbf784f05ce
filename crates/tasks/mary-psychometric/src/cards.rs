//! The tasks' cards and what each states about its scores, from `cards.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{CardFile, TaskCard, TaskError, TaskSettings};

static FILE: LazyLock<CardFile> = LazyLock::new(|| CardFile::read(include_str!("cards.json")));

pub(crate) fn card(id: &'static str) -> TaskCard {
    FILE.card(id)
}

/// What a task states whose settings could be read; nothing of others.
pub(crate) fn stated<T>(
    read: Result<T, TaskError>,
    card: &TaskCard,
    settings: &TaskSettings,
) -> BTreeMap<String, String> {
    read.map_or_else(|_| BTreeMap::new(), |_| conventions(card, settings, &[]))
}

pub(crate) fn conventions(
    card: &TaskCard,
    settings: &TaskSettings,
    computed: &[(&str, String)],
) -> BTreeMap<String, String> {
    FILE.conventions(card, settings, computed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_whole() {
        assert_eq!(CardFile::check(include_str!("cards.json")), Ok(()));
    }
}
