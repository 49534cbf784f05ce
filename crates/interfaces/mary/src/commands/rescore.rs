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
use crate::settings::Place;
use crate::{own, rundir};

#[derive(Debug, Args)]
pub struct RescoreArgs {
    /// Run folder, or the beginning of a run's name [default: the newest]
    pub run: Option<String>,
    /// Where the run's own task file is now, if it was moved (repeatable)
    #[arg(
        short,
        long,
        visible_alias = "task",
        value_name = "FILE",
        value_delimiter = ','
    )]
    pub tasks: Vec<String>,
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
        own::only_files(&self.tasks)?;
        own::named(place, &mut self.tasks)?;
        own::stored(place, self.run.as_slice(), true);
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let folder = RunFolder::open(&rundir::find(place, self.run.as_deref())?)?;
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
        let rows = changes
            .iter()
            .map(|((task, from, to), n)| {
                vec![task.clone(), from.clone(), to.clone(), n.to_string()]
            })
            .collect::<Vec<_>>();
        if rows.is_empty() {
            print("\nNo verdict changed.\n")?;
        } else {
            let table = DECLARED.table("changes");
            let table = table.with_rows(Cell::figures(rows));
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
