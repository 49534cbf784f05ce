//! `mary rescore`: judges stored answers again under other settings, and says what changed.

use std::collections::BTreeMap;

use clap::Args;
use mary_contract::{Cell, RunSummary};
use mary_lab::{Changes, TaskOptions};
use mary_report::terminal;
use mary_store::RunFolder;
use mary_study::results;

use super::summary;
use crate::command::Command;
use crate::commands::{DECLARED, print, print_table, tell};
use crate::exit::Status;
use crate::own::StoredRun;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct RescoreArgs {
    #[command(flatten)]
    pub stored: StoredRun,
    /// Task setting that changes the judging, for example scoring=mean (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
}

impl Command for RescoreArgs {
    const NAME: &str = "rescore";
    const ABOUT: &str = "Judge a stored run again with other settings, without the model";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        self.stored.gather(place)
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let folder = RunFolder::open(&self.stored.find(place)?)?;
        let run = &folder.manifest().tasks;
        let known: Vec<_> = run
            .iter()
            .filter_map(|t| place.registry.judge_of(t).ok().cloned())
            .collect();
        let task_options = TaskOptions {
            set: TaskOptions::pairs(&self.set)?,
            ..TaskOptions::default()
        };
        let params: BTreeMap<_, _> = task_options
            .settings(&known)?
            .into_iter()
            .map(|(task, settings)| (task.card().id.to_string(), settings.params))
            .collect();
        let mut people = Vec::new();
        let mut rescored = mary_lab::rescore_with(&place.registry, &folder, &params, |sample| {
            if results::is_people(&sample.id.model) {
                people.push(sample.clone());
            }
        })?;
        // Intervals over people and items, and agreement, as in the study's own summary.
        results::enrich(&mut rescored.summary, &people);
        show(&folder, &rescored.summary, &rescored.changes, self.json)
    }
}

fn show(
    folder: &RunFolder,
    rescored: &RunSummary,
    changes: &Changes,
    json: bool,
) -> anyhow::Result<Status> {
    let path = folder.path().join("summary.rescored.json");
    std::fs::write(&path, serde_json::to_vec_pretty(rescored)?)?;
    summary::show(rescored, json)?;
    if !json {
        if changes.is_empty() {
            print("\nNo verdict changed.\n")?;
        } else {
            let row = |((task, from, to), n): (&(String, String, String), &usize)| {
                vec![task.clone(), from.clone(), to.clone(), n.to_string()]
            };
            let table = DECLARED.table("changes");
            let table = table.with_rows(Cell::figures(changes.iter().map(row).collect()));
            print_table(&format!(
                "\nWhat changed:\n{}",
                terminal::plain(&table, summary::style())
            ))?;
        }
    }
    tell!(
        "the new summary is in {}; the run itself is untouched",
        path.display()
    );
    Ok(Status::Done)
}
