//! `mary models`, `mary models show`, `mary models pull`.

use clap::{Args, Subcommand};
use mary_contract::{ErrorKind, ModelCard, ModelRef, ModelSettings, Provider, Registry, Task};
use mary_lab::engine::admit::{Judge, misfits};
use mary_lab::{Laboratory, TaskOptions, find_provider};
use mary_report::terminal::hanging;
use mary_weights::catalogue::{Entry, Progress};
use serde_json::json;

use super::papers;
use crate::command::Command;
use crate::commands::{print, print_json, summary, tell};
use crate::exit::{Status, UsageError, usage_error};
use crate::matching;
use crate::settings::Place;
use crate::specification::laboratory;

#[derive(Debug, Args)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub action: Option<ModelsAction>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ModelsAction {
    /// What a model is and can do, without loading it
    Show {
        /// Model string
        model: String,
        /// Where an OpenAI-compatible server listens
        #[arg(long)]
        base_url: Option<String>,
    },
    /// Every model named in the four papers: whether it can be measured, how far, and why not
    Papers,
    /// Fetch a model of the catalogue
    Pull {
        /// Its name in the catalogue
        name: String,
    },
}

impl Command for ModelsArgs {
    const NAME: &str = "models";
    const ABOUT: &str = "List model providers and known models, show one, or fetch one";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let lab = laboratory(place);
        match &self.action {
            None if self.json => {
                let all: Vec<_> = lab
                    .all_providers()
                    .map(|p| json!({"provider": p.name(), "about": p.about(), "known": p.known()}))
                    .collect();
                print_json(&all)
            }
            None => print(&list(&lab)),
            Some(ModelsAction::Show { model, base_url }) => {
                show_named(&lab, model, base_url.as_deref(), self.json)
            }
            Some(ModelsAction::Papers) => papers::show(self.json),
            Some(ModelsAction::Pull { name }) => pull(&lab, name),
        }
    }
}

/// Shows whatever the list names: a model, a model of the catalogue (fetched or not), a provider.
fn show_named(
    lab: &Laboratory,
    name: &str,
    base_url: Option<&str>,
    json: bool,
) -> anyhow::Result<Status> {
    if let Some(provider) = lab.all_providers().find(|p| p.name() == name) {
        return match json {
            true => print_json(&json!({
                "provider": provider.name(), "about": provider.about(), "known": provider.known()
            })),
            false => print(&of_provider(provider)),
        };
    }
    let entry = mary_weights::catalogue::entries().iter().find(|entry| {
        name == entry.name || name.strip_prefix(entry.provider) == Some(&format!("/{}", entry.name))
    });
    let full = match entry {
        Some(entry) => format!("{}/{}", entry.provider, entry.name),
        None => name.to_owned(),
    };
    let model = full.parse::<ModelRef>().map_err(|error| {
        let known = lab.all_providers().flat_map(|provider| {
            let names = provider.known().into_iter();
            names.map(|known| format!("{}/{known}", provider.name()))
        });
        let known: Vec<String> = known.collect();
        let near = matching::nearest(name, known.iter().map(String::as_str));
        UsageError::new(match near.first() {
            Some(near) => format!("{error}\nhint: did you mean {near}?"),
            None => error.to_string(),
        })
    })?;
    let settings = ModelSettings {
        base_url: base_url.map(str::to_owned),
        ..ModelSettings::default()
    };
    let card = match (find_provider(lab, &model)?.card(&model, &settings), entry) {
        (Ok(card), _) => card,
        // It is known, and not here yet: that is an answer.
        (Err(error), Some(entry)) if error.kind == ErrorKind::NotFound => {
            return not_here(entry, json);
        }
        (Err(error), _) => return Err(error.into()),
    };
    match json {
        true => print_json(&card),
        false => print(&show(&card)),
    }
}

fn not_here(entry: &Entry, json: bool) -> anyhow::Result<Status> {
    let megabytes = entry.bytes / 1_000_000;
    if json {
        return print_json(&json!({
            "model": format!("{}/{}", entry.provider, entry.name), "about": entry.about,
            "licence": entry.licence, "bytes": entry.bytes, "on_this_machine": false,
        }));
    }
    print(&format!(
        "{}/{}\n  {}\n  licence: {}\n  size: {megabytes} MB\n  not on this machine: `mary models pull {}` fetches it\n",
        entry.provider, entry.name, entry.about, entry.licence, entry.name
    ))
}

fn of_provider(provider: &dyn Provider) -> String {
    let width = summary::style().width.unwrap_or(usize::MAX);
    let head = format!("  {:<20} ", provider.name());
    let mut text = hanging(&head, 23, provider.about(), width);
    let known = provider.known().into_iter();
    text.extend(known.map(|name| format!("      {}/{name}\n", provider.name())));
    text
}

fn list(lab: &Laboratory) -> String {
    let width = summary::style().width.unwrap_or(usize::MAX);
    let entry = |name: &str, about: &str| hanging(&format!("  {name:<20} "), 23, about, width);
    let mut text = String::from("providers (model strings are provider/name[@revision]):\n");
    text.extend(lab.all_providers().map(of_provider));
    let papers = "models of the four papers, with what can be measured of each: mary models papers";
    text.push('\n');
    text.push_str(&hanging("", 2, papers, width));
    text.push_str("\ncatalogue (`mary models pull NAME`):\n");
    for model in mary_weights::catalogue::entries() {
        let size = model.bytes / 1_000_000;
        let about = format!("{} ({}, {size} MB)", model.about, model.licence);
        text.push_str(&entry(model.name, &about));
    }
    text
}

fn show(card: &ModelCard) -> String {
    let able = card.capabilities;
    let yes = |b: bool| if b { "yes" } else { "no" };
    let score = match (able.score, able.score_single_token_only) {
        (true, true) => "single tokens only",
        (score, _) => yes(score),
    };
    let mut text = format!(
        "{}\n  generate: {}   score: {score}   observe: {}   intervene: {}   pictures: {}   chat: {}\n",
        card.model,
        yes(able.generate),
        yes(able.observe),
        yes(able.intervene),
        yes(able.images),
        yes(able.chat)
    );
    let facts = [
        ("architecture", card.architecture.clone()),
        ("parameters", card.parameters.map(|p| p.to_string())),
        ("layers", card.layers.map(|p| p.to_string())),
        ("context", card.context_length.map(|p| p.to_string())),
        (
            "fingerprint",
            Some(card.fingerprint.clone()).filter(|f| !f.is_empty()),
        ),
    ];
    let facts = facts.into_iter();
    let facts = facts.filter_map(|(name, value)| Some(format!("  {name}: {}\n", value?)));
    text.extend(facts);
    let conventions = card.conventions.iter();
    text.extend(conventions.map(|(name, value)| format!("  {name}: {value}\n")));
    let remarks = card.remarks.iter();
    text.extend(remarks.map(|remark| format!("  note: {remark}\n")));
    text
}

/// What to type first with a model: the starter selection where it can run all of it, the first task of
/// it that the model can run otherwise.
fn first_command(registry: &Registry, card: &ModelCard) -> anyhow::Result<String> {
    let all = registry.tasks().iter();
    let starters: Vec<_> = all
        .filter(|t| t.card().starter.is_some())
        .cloned()
        .collect();
    let options = TaskOptions {
        seed: 0,
        shots: None,
        chat: false,
        set: vec![],
    };
    let mut fitting = vec![];
    for (task, mut settings) in options.settings(&starters)? {
        if let Some(family) = registry.family(&task.card().family) {
            family.starter_settings(task.card(), &mut settings);
        }
        let one: [(&dyn Task, _); 1] = [(&*task, settings)];
        if misfits(std::slice::from_ref(card), Judge::Nobody, &one).is_empty() {
            fitting.push(task.card().id.to_string());
        }
    }
    let model = &card.model;
    Ok(match fitting.first() {
        Some(task) if fitting.len() < starters.len() => format!("mary run -m {model} -t {task}"),
        Some(_) => format!("mary run -m {model}"),
        None => format!("mary models show {model}"),
    })
}

fn pull(lab: &Laboratory, name: &str) -> anyhow::Result<Status> {
    let entries = mary_weights::catalogue::entries();
    let Some(entry) = mary_weights::catalogue::find(name) else {
        let known = entries.iter().map(|e| e.name);
        let hint = matching::suggestion(name, known, "mary models");
        return usage_error(format!("the catalogue has no model `{name}`\n{hint}"));
    };
    let folder = mary_weights::catalogue::models_dir()?;
    let mut last = None;
    let path = mary_weights::catalogue::pull(name, &folder, &mut |progress| match progress {
        Progress::Fetching(source) => tell!("fetching from {source}"),
        Progress::Failed(why) => tell!("not from there: {why}"),
        Progress::Unpacking { file, done, total } if last != Some(file) || done == total => {
            last = Some(file);
            tell!(
                "unpacking {file}: {} of {} MB",
                done / 1_000_000,
                total / 1_000_000
            );
        }
        Progress::Unpacking { .. } => {}
    })?;
    let model = format!("{}/{name}", entry.provider)
        .parse::<ModelRef>()
        .map_err(|e| UsageError::new(e.to_string()))?;
    let card = find_provider(lab, &model)?.card(&model, &ModelSettings::default())?;
    tell!(
        "kept at {}\ntry it: {}",
        path.display(),
        first_command(lab.registry(), &card)?
    );
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::Capabilities;

    #[test]
    fn what_is_named_after_a_pull_can_be_run() {
        let registry = mary_lab::families::registry();
        let card = |capabilities: Capabilities| {
            ModelCard::new("hf/all-minilm-l6-v2".parse().unwrap(), capabilities)
        };
        let encoder = card(Capabilities {
            observe: true,
            plain: true,
            ..Capabilities::default()
        });
        let command = first_command(&registry, &encoder).unwrap();
        let task = command
            .strip_prefix("mary run -m hf/all-minilm-l6-v2 -t ")
            .unwrap();
        assert!(registry.task(task).is_some(), "{command}");
        let all = card(Capabilities {
            generate: true,
            score: true,
            observe: true,
            intervene: true,
            images: true,
            chat: true,
            plain: true,
            score_single_token_only: false,
        });
        let command = first_command(&registry, &all).unwrap();
        assert_eq!(command, "mary run -m hf/all-minilm-l6-v2");
        let nothing = first_command(&registry, &card(Capabilities::default())).unwrap();
        assert_eq!(nothing, "mary models show hf/all-minilm-l6-v2");
    }
}
