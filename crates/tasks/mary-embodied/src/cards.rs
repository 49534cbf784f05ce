//! The tasks' cards: what each is, what a user can set for it, and the paper, as `cards.json` says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{Changes, Citation, Param, Reference, TaskCard, text};
use serde::Deserialize;

use crate::upstream;

#[derive(Default, Deserialize)]
struct CardsFile {
    citation: (String, String),
    /// Those that several tasks have.
    params: BTreeMap<String, ParamEntry>,
    tasks: BTreeMap<String, CardEntry>,
}

#[derive(Deserialize)]
struct CardEntry {
    version: Option<u32>,
    title: String,
    about: String,
    chance: f64,
    human: Option<(f64, String)>,
    params: Vec<OwnOrShared>,
    /// Whether the authors released material for it.
    #[serde(default)]
    dataset: bool,
    starter: Option<usize>,
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

/// The tests of the items read every card, so that a slip is found there and not here.
static FILE: LazyLock<CardsFile> =
    LazyLock::new(|| serde_json::from_str(include_str!("cards.json")).unwrap_or_default());

pub(crate) fn card(id: &'static str) -> TaskCard {
    let Some(entry) = FILE.tasks.get(id) else {
        return TaskCard::new(id, "", "");
    };
    let params = entry.params.iter().filter_map(|param| match param {
        OwnOrShared::Own(own) => Some(own),
        OwnOrShared::Shared(name) => FILE.params.get(name),
    });
    let param = |p: &'static ParamEntry| {
        Param::new(&p.name, &p.default, &p.values, &p.about).changing(p.changes)
    };
    let (citation, link) = &FILE.citation;
    TaskCard {
        version: entry.version.unwrap_or(1),
        chance: Some(entry.chance),
        human: entry
            .human
            .as_ref()
            .map(|(v, source)| Reference::new(*v, source)),
        params: params.map(param).collect(),
        dataset: entry.dataset.then_some(text(upstream::DATASET)),
        citation: Citation::new(citation, link),
        starter: entry.starter,
        ..TaskCard::new(id, entry.title.as_str(), entry.about.as_str())
    }
}
