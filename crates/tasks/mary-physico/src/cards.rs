//! The tasks' cards: what each is, what a user can set for it, and the paper, as `cards.json` says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{Citation, Param, Reference, TaskCard, text};
use serde::Deserialize;

use crate::upstream;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CardsFile {
    citation: CitationEntry,
    human_source: String,
    /// By a name that is not always the parameter's: tasks may mean different things by one name.
    params: BTreeMap<String, ParamEntry>,
    cards: Vec<CardEntry>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CitationEntry {
    text: String,
    link: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamEntry {
    name: String,
    default: String,
    values: String,
    about: String,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CardEntry {
    id: String,
    version: u32,
    title: String,
    about: String,
    human: Option<f64>,
    /// Whether the authors released instances of it.
    dataset: bool,
    starter: Option<usize>,
    /// Whether it is answered in words, so that no guess is right.
    open: bool,
    params: Vec<String>,
}

/// A test reads the file, so that a slip is found there and not here.
static FILE: LazyLock<CardsFile> =
    LazyLock::new(|| serde_json::from_str(include_str!("cards.json")).unwrap_or_default());

pub(crate) fn card(id: &'static str) -> TaskCard {
    static NONE: LazyLock<CardEntry> = LazyLock::new(CardEntry::default);
    let file = &*FILE;
    let entry = file.cards.iter().find(|c| c.id == id).unwrap_or(&NONE);
    let param = |name: &String| {
        let p = file.params.get(name)?;
        Some(Param::new(&p.name, &p.default, &p.values, &p.about))
    };
    TaskCard {
        id: text(id),
        family: text("physico"),
        version: entry.version,
        title: text(&entry.title),
        about: text(&entry.about),
        chance: (!entry.open).then_some(0.25),
        human: entry.human.map(|v| Reference::new(v, &file.human_source)),
        params: entry.params.iter().filter_map(param).collect(),
        dataset: entry.dataset.then_some(text(upstream::DATASET)),
        citation: Citation::new(&file.citation.text, &file.citation.link),
        starter: entry.starter,
        content: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_read_with_all_its_parameters() {
        let file: CardsFile = serde_json::from_str(include_str!("cards.json")).unwrap();
        let ids: Vec<&str> = file.cards.iter().map(|c| c.id.as_str()).collect();
        let tasks: Vec<String> = crate::TASKS
            .iter()
            .map(|t| t.card().id.to_string())
            .collect();
        assert_eq!(ids, tasks);
        for (entry, task) in file.cards.iter().zip(crate::TASKS) {
            let card = task.card();
            assert_eq!(card.params.len(), entry.params.len(), "{}", card.id);
            assert!(card.version > 1 && card.about.len() > 60, "{}", card.id);
        }
    }
}
