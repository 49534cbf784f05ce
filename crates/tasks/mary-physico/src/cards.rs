//! The tasks' cards: what each is, what a user can set for it, the paper, and what it states about its scores, as
//! `cards.json` says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{CardFile, TaskCard, TaskSettings};

use crate::setup::PhysicoSettings;

static FILE: LazyLock<CardFile> = LazyLock::new(|| CardFile::read(include_str!("cards.json")));

pub(crate) fn card(id: &'static str) -> TaskCard {
    FILE.card(id)
}

pub(crate) fn conventions(card: &TaskCard, settings: &TaskSettings) -> BTreeMap<String, String> {
    let Ok(setup) = PhysicoSettings::read(card, settings) else {
        return BTreeMap::new();
    };
    let own = if setup.file.is_empty() { "" } else { "own" };
    let computed = [
        ("definitions", own.to_owned()),
        ("icl", setup.icl.name()),
        ("max_tokens", setup.max_tokens.to_string()),
        ("n", setup.n.to_string()),
        ("per_concept", setup.per_concept.to_string()),
        ("temperature", setup.temperature.to_string()),
    ];
    FILE.conventions(card, settings, &computed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_read_with_all_its_parameters() {
        let json = include_str!("cards.json");
        assert_eq!(CardFile::check(json), Ok(()));
        let file: serde_json::Value = serde_json::from_str(json).unwrap();
        let entries = file["tasks"].as_object().unwrap();
        assert_eq!(entries.len(), crate::TASKS.len());
        for task in crate::TASKS {
            let card = task.card();
            let params = entries[&*card.id]["params"].as_array().unwrap();
            assert_eq!(card.params.len(), params.len(), "{}", card.id);
            assert!(card.version > 1 && card.about.len() > 60, "{}", card.id);
        }
    }
}
