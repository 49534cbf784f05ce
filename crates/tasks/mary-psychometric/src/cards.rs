//! The tasks' cards and what each states about its scores, from `cards.json`.
//!
//! A convention there is a text, or one of several `by` the value of a setting (or of several settings, their
//! values side by side); a value that is not listed takes `else`, or states nothing. `{seed}`, the name of a
//! setting and whatever the task computes can stand in braces.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{Changes, Citation, Param, Reference, TaskCard, TaskSettings};
use serde::Deserialize;

#[derive(Default, Deserialize)]
struct Cards {
    citations: BTreeMap<String, (String, String)>,
    params: BTreeMap<String, ParamEntry>,
    conventions: BTreeMap<String, BTreeMap<String, Convention>>,
    tasks: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    title: String,
    about: String,
    #[serde(default = "first")]
    version: u32,
    chance: Option<f64>,
    /// People's score and where it is from.
    human: Option<(f64, String)>,
    params: Vec<OwnOrShared>,
    dataset: Option<String>,
    citation: String,
    starter: Option<usize>,
    /// Groups of conventions that it shares.
    #[serde(default)]
    also: Vec<String>,
    conventions: BTreeMap<String, Convention>,
}

fn first() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OwnOrShared {
    Shared(String),
    Own(ParamEntry),
}

#[derive(Deserialize)]
struct ParamEntry {
    name: String,
    default: String,
    values: String,
    about: String,
    #[serde(default)]
    changes: Changes,
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

static CARDS: LazyLock<Cards> = LazyLock::new(|| {
    // The file is part of the program and read by a test: it cannot fail here.
    serde_json::from_str(include_str!("cards.json")).unwrap_or_default()
});

pub(crate) fn card(id: &'static str) -> TaskCard {
    let Some(entry) = CARDS.tasks.get(id) else {
        return TaskCard::new(id, "", "");
    };
    let params = entry.params.iter().filter_map(|param| match param {
        OwnOrShared::Own(own) => Some(own),
        OwnOrShared::Shared(name) => CARDS.params.get(name),
    });
    let param = |p: &'static ParamEntry| {
        Param::new(&p.name, &p.default, &p.values, &p.about).changing(p.changes)
    };
    let citation = CARDS.citations.get(&entry.citation);
    TaskCard {
        version: entry.version,
        chance: entry.chance,
        human: entry
            .human
            .as_ref()
            .map(|(v, source)| Reference::new(*v, source)),
        params: params.map(param).collect(),
        dataset: entry.dataset.clone().map(Into::into),
        citation: citation.map_or(Citation::new("", ""), |(text, link)| {
            Citation::new(text, link)
        }),
        starter: entry.starter,
        ..TaskCard::new(id, entry.title.clone(), entry.about.clone())
    }
}

/// What a task states under these settings; `computed` fills places in braces that are no settings, or that
/// are said otherwise than they were set.
pub(crate) fn conventions(
    card: &TaskCard,
    settings: &TaskSettings,
    computed: &[(&str, String)],
) -> BTreeMap<String, String> {
    let Some(entry) = CARDS.tasks.get(&*card.id) else {
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
    let shared = entry
        .also
        .iter()
        .filter_map(|group| CARDS.conventions.get(group));
    shared
        .chain([&entry.conventions])
        .flatten()
        .filter_map(|(name, convention)| {
            let text = match convention {
                Convention::Text(text) => text,
                Convention::By { by, texts } => {
                    let values: Vec<&str> = by
                        .split(' ')
                        .map(|name| settings.param(card, name))
                        .collect();
                    texts.get(&values.join(" ")).or_else(|| texts.get("else"))?
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
        let cards: Cards = serde_json::from_str(include_str!("cards.json")).unwrap();
        for (id, task) in &cards.tasks {
            assert!(cards.citations.contains_key(&task.citation), "{id}");
            assert!(
                task.also
                    .iter()
                    .all(|group| cards.conventions.contains_key(group)),
                "{id}"
            );
            let known = |param: &OwnOrShared| match param {
                OwnOrShared::Own(_) => true,
                OwnOrShared::Shared(name) => cards.params.contains_key(name),
            };
            assert!(task.params.iter().all(known), "{id}");
        }
    }
}
