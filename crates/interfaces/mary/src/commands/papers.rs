//! `mary models papers`: every model named in the four papers, what can be measured of it here, and a
//! reason beside every "no". The table itself is `assets/paper-models.toml`.

use std::collections::BTreeMap;

use anyhow::Context;
use mary_contract::{Cell, Table};
use serde::{Deserialize, Serialize};

use super::summary;

/// What can be measured of a model, in the order of the table.
const ABILITIES: [&str; 5] = ["observe", "score", "generate", "pictures", "tuned"];

#[derive(Debug, Deserialize)]
struct File {
    reasons: BTreeMap<String, String>,
    model: Vec<Named>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Named {
    name: String,
    papers: Vec<String>,
    /// What to type here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// `model_type` of its checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    can: Vec<String>,
    no: BTreeMap<String, String>,
}

fn read() -> anyhow::Result<Vec<Named>> {
    let text = include_str!("../../assets/paper-models.toml");
    let file: File = toml::from_str(text).context("paper-models.toml")?;
    let mut models = file.model;
    for reason in models.iter_mut().flat_map(|m| m.no.values_mut()) {
        if let Some(words) = file.reasons.get(reason) {
            reason.clone_from(words);
        }
    }
    Ok(models)
}

pub fn show(json: bool) -> anyhow::Result<()> {
    let models = read()?;
    if json {
        return super::print_json(&models);
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
        super::print(&format!("({}) {note}\n", i + 1))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_local::config::Architecture;

    #[test]
    fn every_no_has_its_reason_and_every_kind_can_be_read() {
        let models = read().unwrap();
        let providers = crate::laboratory::providers();
        assert!(models.len() > 60, "{}", models.len());
        for model in &models {
            let name = &model.name;
            for ability in ABILITIES {
                let yes = model.can.iter().any(|c| c == ability);
                let reason = model.no.get(ability);
                assert!(yes != reason.is_some(), "{name}: {ability}");
                // A reason that no table knows would be shown as its short name.
                assert!(reason.is_none_or(|r| r.contains(' ')), "{name}: {reason:?}");
            }
            assert!(
                model.can.len() + model.no.len() == ABILITIES.len(),
                "{name}"
            );
            if let Some(kind) = &model.kind {
                assert!(
                    Architecture::known().contains(&kind.as_str()),
                    "{name}: {kind}"
                );
            }
            if let Some(here) = &model.model {
                let parsed: mary_contract::ModelRef = here.parse().unwrap();
                let known = providers.iter().any(|p| p.name() == parsed.provider);
                assert!(known, "{name}: {here}");
            }
            for paper in &model.papers {
                let known = mary_lab::families::registry().family(paper).is_some();
                assert!(known, "{name}: {paper}");
            }
        }
    }
}
