//! The tasks' cards and what each states about its scores, from `cards.json`.
//!
//! A convention there is a text, or one of several `by` the value of a setting (or of several settings, their
//! values side by side); a value that is not listed takes `else`, or states nothing. `{seed}`, the name of a
//! setting and whatever the task computes can stand in braces.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{CardFile, TaskCard, TaskSettings};
use serde::Deserialize;

/// What the file has beside the cards.
#[derive(Default, Deserialize)]
struct ConventionFile {
    conventions: BTreeMap<String, BTreeMap<String, Convention>>,
    tasks: BTreeMap<String, Stated>,
}

#[derive(Deserialize)]
struct Stated {
    /// Groups of conventions that it shares.
    #[serde(default)]
    also: Vec<String>,
    conventions: BTreeMap<String, Convention>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Convention {
    Text(String),
    By {
        by: String,
        #[serde(flatten)]
        texts: BTreeMap<String, String>,
    },
}

const FILE: &str = include_str!("cards.json");

pub(crate) fn card(id: &'static str) -> TaskCard {
    static CARDS: LazyLock<CardFile> = LazyLock::new(|| CardFile::read(FILE));
    CARDS.card(id)
}

// The file is part of the program and read by a test: it cannot fail here.
static CONVENTIONS: LazyLock<ConventionFile> =
    LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());

/// What a task states under these settings; `computed` fills places in braces that are no settings, or that
/// are said otherwise than they were set.
pub(crate) fn conventions(
    card: &TaskCard,
    settings: &TaskSettings,
    computed: &[(&str, String)],
) -> BTreeMap<String, String> {
    let Some(entry) = CONVENTIONS.tasks.get(&*card.id) else {
        return BTreeMap::new();
    };
    let filled = |text: &str| {
        let set = card.params.iter();
        let set = set.map(|p| (&*p.name, settings.param(card, &p.name).to_owned()));
        let seed = ("seed", settings.seed.to_string());
        let places = computed.iter().cloned().chain(set).chain([seed]);
        places.fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), &value)
        })
    };
    let also = entry.also.iter();
    let shared = also.filter_map(|group| CONVENTIONS.conventions.get(group));
    shared
        .chain([&entry.conventions])
        .flatten()
        .filter_map(|(name, convention)| {
            let text = match convention {
                Convention::Text(text) => text,
                Convention::By { by, texts } => {
                    let values = by.split(' ').map(|name| settings.param(card, name));
                    let values = values.collect::<Vec<_>>().join(" ");
                    texts.get(&values).or_else(|| texts.get("else"))?
                }
            };
            Some((name.clone(), filled(text)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_whole() {
        assert_eq!(CardFile::check(FILE), Ok(()));
        let stated: ConventionFile = serde_json::from_str(FILE).unwrap();
        for (id, task) in &stated.tasks {
            let known = |group: &String| stated.conventions.contains_key(group);
            assert!(task.also.iter().all(known), "{id}");
        }
    }
}
