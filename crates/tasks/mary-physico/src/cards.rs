//! The tasks' cards: what each is, what a user can set for it, and the paper, as `cards.json` says.

use std::sync::LazyLock;

use mary_contract::{CardFile, TaskCard};

pub(crate) fn card(id: &'static str) -> TaskCard {
    static FILE: LazyLock<CardFile> = LazyLock::new(|| CardFile::read(include_str!("cards.json")));
    FILE.card(id)
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
