//! `mary models papers`: every model named in the four papers, what can be measured of it here, and a
//! reason beside every "no". The models stand in `assets/paper-models.toml`; what can be done with each is asked of
//! the code that would do it.

use std::collections::BTreeMap;

use anyhow::Context;
use mary_contract::{Cell, ModelRef, ModelSettings, Provider, Table};
use mary_local::config::Architecture;
use mary_local::vision::takes_pictures;
use mary_train::net::unlearned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::summary;
use crate::commands::{print, print_json};
use crate::exit::Status;

/// What can be measured of a model, in the order of the table.
const ABILITIES: [&str; 5] = ["observe", "score", "generate", "pictures", "tuned"];

#[derive(Debug, Deserialize)]
struct File {
    reasons: BTreeMap<String, String>,
    /// What a checkpoint's configuration says, by its kind.
    config: BTreeMap<String, Value>,
    model: Vec<Entry>,
}

/// What is written down of a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    papers: Vec<String>,
    model: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    gone: Option<String>,
    #[serde(default)]
    masked_head: bool,
    #[serde(default)]
    unread_eyes: bool,
    #[serde(default)]
    why: BTreeMap<String, String>,
}

/// A model with what can be measured of it.
#[derive(Debug, Serialize)]
struct Named {
    name: String,
    papers: Vec<String>,
    /// What to type here.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// `model_type` of its checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    can: Vec<&'static str>,
    no: BTreeMap<&'static str, String>,
}

/// For each of [`ABILITIES`], nothing where the model has it, else the reason by its short name or in words.
type Lacking = [Option<String>; 5];

fn short(reason: &str) -> Option<String> {
    Some(reason.to_owned())
}

/// A checkpoint, by what the readers and learners of this program make of its kind.
fn of_kind(entry: &Entry, kind: &str, file: &File) -> anyhow::Result<Lacking> {
    let mut config = file.config.get(kind).cloned().unwrap_or_else(|| json!({}));
    config["model_type"] = json!(kind);
    let text = Architecture::resolve(&config).with_context(|| format!("{}: {kind}", entry.name))?;
    let predicts = text.language_head;
    let score = match (predicts, entry.masked_head) {
        (true, _) | (_, true) => None,
        _ if text.causal => short("encoder"),
        _ => short("no-masked-head"),
    };
    let pictures = match (takes_pictures(&config), entry.unread_eyes) {
        (true, _) => None,
        (false, true) => short("unread-eyes"),
        (false, false) => short("text-only"),
    };
    let generate = (!predicts).then(|| "encoder".to_owned());
    let tuned = unlearned(&text).map(|what| format!("tuning does not know its kind: {what}"));
    Ok([None, score, generate, pictures, tuned])
}

/// A model behind a service, by what its provider says of it without being asked.
fn of_service(model: &ModelRef, providers: &[Box<dyn Provider>]) -> anyhow::Result<Lacking> {
    let provider = providers.iter().find(|p| p.name() == model.provider);
    let provider = provider.with_context(|| format!("{model}: no such provider"))?;
    // An address of one's own; nothing is sent there.
    let settings = ModelSettings {
        base_url: (model.provider == COMPATIBLE).then(|| "http://127.0.0.1/v1".to_owned()),
        ..ModelSettings::default()
    };
    let can = provider.card(model, &settings)?.capabilities;
    let score = match (can.score, can.score_single_token_only) {
        (true, false) => None,
        (true, true) => short("hidden-tokens"),
        (false, _) => short("no-logprobs"),
    };
    let pictures = (!can.images).then(|| "text-only".to_owned());
    let (observe, tuned) = (short("remote-weights"), short("not-tuned-there"));
    Ok([observe, score, None, pictures, tuned])
}

/// The provider of your own servers, which speak OpenAI's language.
const COMPATIBLE: &str = "compatible";

fn read() -> anyhow::Result<Vec<Named>> {
    let text = include_str!("../../assets/paper-models.toml");
    let file: File = toml::from_str(text).context("paper-models.toml")?;
    let providers = crate::specification::providers();
    let mut models = Vec::new();
    for entry in &file.model {
        let lacking = match (&entry.gone, &entry.kind, &entry.model) {
            (Some(gone), ..) => ABILITIES.map(|_| short(gone)),
            (None, Some(kind), _) => of_kind(entry, kind, &file)?,
            (None, None, Some(model)) => match model.parse::<ModelRef>()? {
                model if model.provider == "vectors" => {
                    let lacks = |ability: &str| (ability != "observe").then(|| "static".to_owned());
                    ABILITIES.map(lacks)
                }
                model => of_service(&model, &providers)?,
            },
            (None, None, None) => anyhow::bail!("{}: neither a model nor why not", entry.name),
        };
        let (mut can, mut no) = (Vec::new(), BTreeMap::new());
        for (ability, reason) in ABILITIES.into_iter().zip(lacking) {
            let Some(reason) = reason else {
                can.push(ability);
                continue;
            };
            let reason = entry.why.get(ability).unwrap_or(&reason);
            let words = file.reasons.get(reason).unwrap_or(reason);
            no.insert(ability, words.clone());
        }
        models.push(Named {
            name: entry.name.clone(),
            papers: entry.papers.clone(),
            model: entry.model.clone(),
            kind: entry.kind.clone(),
            can,
            no,
        });
    }
    Ok(models)
}

pub fn show(json: bool) -> anyhow::Result<Status> {
    let models = read()?;
    if json {
        return print_json(&models);
    }
    let mut rows = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for model in &models {
        let mut row = vec![
            model.name.clone(),
            model.papers.join(", "),
            model.model.clone().unwrap_or_default(),
        ];
        for ability in ABILITIES {
            row.push(match model.no.get(ability) {
                None => "yes".to_owned(),
                Some(reason) => {
                    let known = notes.iter().position(|n| n == reason);
                    let at = known.unwrap_or_else(|| {
                        notes.push(reason.clone());
                        notes.len() - 1
                    });
                    format!("no ({})", at + 1)
                }
            });
        }
        rows.push(row);
    }
    let head = ["model", "papers", "here"].into_iter().chain(ABILITIES);
    let table = Table {
        id: "paper-models".into(),
        title: "Models of the four papers".into(),
        caption: String::new(),
        head: head.map(str::to_owned).collect(),
        rows: Cell::rows(rows),
        ..Table::default()
    };
    summary::show_table(&table)?;
    for (i, note) in notes.iter().enumerate() {
        print(&format!("({}) {note}\n", i + 1))?;
    }
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_a_reason_for_each_thing_that_cannot_be_done() {
        let models = read().unwrap();
        let providers = crate::specification::providers();
        assert!(models.len() > 60, "{}", models.len());
        for model in &models {
            let name = &model.name;
            assert_eq!(model.can.len() + model.no.len(), ABILITIES.len(), "{name}");
            for reason in model.no.values() {
                // A reason that no table knows would be shown as its short name.
                assert!(reason.contains(' '), "{name}: {reason}");
            }
            if let Some(here) = &model.model {
                let parsed: ModelRef = here.parse().unwrap();
                let known = providers.iter().any(|p| p.name() == parsed.provider);
                assert!(known, "{name}: {here}");
            }
            for paper in &model.papers {
                let known = mary_lab::families::registry().family(paper).is_some();
                assert!(known, "{name}: {paper}");
            }
        }
    }

    #[test]
    fn what_the_code_can_do_the_page_says() {
        let models = read().unwrap();
        let can = |name: &str| {
            let found = models.iter().find(|m| m.name == name);
            found.unwrap_or_else(|| panic!("{name}")).can.join(" ")
        };
        for (name, abilities) in [
            (
                "Qwen2-VL-7B-Instruct",
                "observe score generate pictures tuned",
            ),
            (
                "LLaVA-v1.6-Mistral-7B",
                "observe score generate pictures tuned",
            ),
            ("LLaVA-NeXT-34B", "observe score generate pictures tuned"),
            ("Mistral-7B", "observe score generate tuned"),
            ("Qwen-VL", "observe score generate tuned"),
            ("Mixtral-8x7B-Instruct-v0.1", "observe score generate"),
            ("BERT-base-uncased", "observe score"),
            ("VisualBERT", "observe"),
            ("CLIP", "observe pictures"),
            ("GloVe", "observe"),
            ("GPT-4o-Mini (2024-07-18)", "generate pictures"),
            ("Claude-3.5-Sonnet (20241022)", "generate pictures"),
            ("o1-preview", ""),
        ] {
            assert_eq!(can(name), abilities, "{name}");
        }
    }

    #[test]
    fn no_reason_is_written_for_what_can_be_done() {
        let text = include_str!("../../assets/paper-models.toml");
        let file: File = toml::from_str(text).unwrap();
        let models = read().unwrap();
        for (entry, model) in file.model.iter().zip(&models) {
            for ability in entry.why.keys() {
                assert!(model.no.contains_key(ability.as_str()), "{}", entry.name);
            }
        }
    }
}
