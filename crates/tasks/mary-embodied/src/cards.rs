//! The tasks' cards: what each is, what a user can set for it, the paper, and what it states about its scores, as
//! `cards.json` says.

use std::sync::LazyLock;

use mary_contract::{CardFile, TaskCard};

pub(crate) static FILE: LazyLock<CardFile> =
    LazyLock::new(|| CardFile::read(include_str!("cards.json")));

pub(crate) fn card(id: &'static str) -> TaskCard {
    FILE.card(id)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_card_is_whole() {
        let file = include_str!("cards.json");
        assert_eq!(mary_contract::CardFile::check(file), Ok(()));
    }
}
