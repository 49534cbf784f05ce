//! `mary compare`: models or runs, item by item, with corrected significance.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use mary_contract::{Exhibits, Registry, Table, model_labels, with_labels};
use mary_report::compare::{Compared, Side, comparison_across, table};
use mary_store::RunFolder;

use super::summary;
use crate::command::Command;
use crate::commands::{print_json, tell};
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;
use crate::{own, rundir};

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Folders or names of runs and sweeps; all their models are compared with each other, pair by pair. A
    /// sweep stands for the last checkpoint of each size (sweep@step512: for this one); one size alone is
    /// compared with its first checkpoint
    #[arg(required = true)]
    pub runs: Vec<String>,
    /// Compare only these tasks: ids, families or wildcards, for example '*/spelled-*' (comma-separated or
    /// repeated)
    #[arg(short, long, visible_alias = "task", value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Compare every other model with the first alone, not all pairs
    #[arg(long, conflicts_with = "pair")]
    pub with_first: bool,
    /// A setting that may differ between the two sides: shots, mode, seed … (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "pair")]
    pub across: Vec<String>,
    /// Compare a model with the one it was built on, by subtask (repeatable; several are pooled); `tuned`: every
    /// instruction-tuned model with its base, by their names
    #[arg(long, value_name = "BUILT=BASE")]
    pub pair: Vec<String>,
    /// With --pair: the tag by which items are broken down
    #[arg(long, value_name = "TAG", default_value = "subtask")]
    pub by: String,
    /// With --pair: a measure instead of the score, for example exact
    #[arg(long, value_name = "NAME")]
    pub measure: Option<String>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

impl Command for CompareArgs {
    const NAME: &str = "compare";
    const ABOUT: &str = "Compare models or runs item by item, with corrected significance";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        own::stored(place, &self.runs, false);
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let paths = rundir::find_ends(place, &self.runs)?;
        if !self.pair.is_empty() {
            return super::pairs::pairs(place, &paths, self);
        }
        let wanted = CompareOptions {
            tasks: &self.tasks,
            across: &self.across,
            with_first: self.with_first,
        };
        let mut compared = compared(&place.registry, &paths, &wanted)?;
        let labels = side_labels(&paths)?;
        for warning in &compared.warnings {
            tell!("warning: {}", with_labels(warning, &labels));
        }
        if self.json {
            print_json(&compared)?;
        } else {
            // They are told above.
            compared.warnings.clear();
            let shown = labelled(vec![table(&compared)], &labels);
            shown.iter().try_for_each(summary::show_table)?;
        }
        Ok(Status::Done)
    }
}

/// What the models of these runs are called where people read.
pub fn labels(paths: &[PathBuf]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut cards = Vec::new();
    for path in paths {
        cards.extend(RunFolder::open(path)?.manifest().models.iter().cloned());
    }
    Ok(model_labels(&cards))
}

/// The same, also for models with their runs behind them ([`compared`]): where a model stands in one run alone,
/// its label says enough.
fn side_labels(paths: &[PathBuf]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut labels = labels(paths)?;
    let mut runs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in paths {
        let folder = RunFolder::open(path)?;
        let manifest = folder.manifest();
        for card in &manifest.models {
            let of = runs.entry(card.model.to_string()).or_default();
            of.push(manifest.id.clone());
        }
    }
    let mut short = BTreeMap::new();
    for (model, runs) in runs {
        // Two runs may call two models the same.
        let alone = |label: &&String| labels.values().filter(|other| other == label).count() == 1;
        if let ([run], Some(label)) = (runs.as_slice(), labels.get(&model).filter(alone)) {
            short.insert(in_run(&model, run), label.clone());
        }
    }
    labels.append(&mut short);
    Ok(labels)
}

/// A model with its run, which tells it from the same model in another.
fn in_run(model: &str, run: &str) -> String {
    format!("{model} ({run})")
}

pub fn labelled(tables: Vec<Table>, labels: &BTreeMap<String, String>) -> Vec<Table> {
    let exhibits = Exhibits::of_tables(tables);
    exhibits.renamed(labels).tables
}

#[derive(Debug, Clone, Copy, Default)]
pub struct CompareOptions<'a> {
    /// Tasks by id, family or wildcard; all where none is named.
    pub tasks: &'a [String],
    /// Settings that may differ between two sides.
    pub across: &'a [String],
    /// Every other model with the first alone, instead of all pairs.
    pub with_first: bool,
}

pub fn tasks(paths: &[PathBuf], patterns: &[String]) -> anyhow::Result<BTreeSet<String>> {
    let mut held = Vec::new();
    for path in paths {
        let folder = RunFolder::open(path)?;
        held.extend(folder.manifest().tasks.iter().map(|task| task.id.clone()));
    }
    Ok(mary_lab::select_ids(
        patterns,
        held.iter().map(String::as_str),
    )?)
}

/// Compares the models of these runs item by item: all pairs, or each with the first.
pub fn compared(
    registry: &Registry,
    paths: &[PathBuf],
    wanted: &CompareOptions<'_>,
) -> anyhow::Result<Compared> {
    let tasks = tasks(paths, wanted.tasks)?;
    let mut sides = Vec::new();
    for path in paths {
        let folder = RunFolder::open(path)?;
        let manifest = mary_lab::completed(registry, folder.manifest());
        if manifest.execution.adaptive.is_some() {
            return usage_error(format!(
                "{} is an adaptive run: each model was asked items chosen for it, so shares of right answers cannot be compared\nhint: compare the abilities with their intervals, which `mary report {0}` shows on the map of the scale",
                manifest.id
            ));
        }
        // Two runs may hold the same model; the run's name tells them apart.
        let label = |model: &str| match paths.len() {
            1 => model.to_owned(),
            _ => in_run(model, &manifest.id),
        };
        let mut by_model: BTreeMap<String, Side> = BTreeMap::new();
        for sample in folder.samples()? {
            let sample = sample?;
            if !tasks.contains(&sample.id.task) {
                continue;
            }
            let side = by_model.entry(sample.id.model.clone());
            side.or_insert_with(|| Side::asked(label(&sample.id.model), &manifest.tasks))
                .add(&sample);
        }
        // In the order of the manifest, which is the order the user named them in.
        for card in &manifest.models {
            sides.extend(by_model.remove(&card.model.to_string()));
        }
    }
    if sides.len() < 2 {
        return usage_error(
            "there is only one model here, and nothing to compare it with\nhint: name two runs, or a run of several models",
        );
    }
    let compared = comparison_across(&sides, !wanted.with_first, wanted.across)?;
    if compared.comparisons.is_empty() {
        return Err(nothing_in_common(&compared, &side_labels(paths)?).into());
    }
    Ok(compared)
}

fn nothing_in_common(compared: &Compared, labels: &BTreeMap<String, String>) -> UsageError {
    let mut message = "these runs have nothing in common that could be compared".to_owned();
    for warning in &compared.warnings {
        message.push_str(&format!("\n  {}", with_labels(warning, labels)));
    }
    // The first setting that differs, which is what may be named.
    let differs = compared.warnings.iter().find_map(|warning| {
        let (_, settings) = warning.split_once("not asked the same question (")?;
        settings.split(' ').next()
    });
    message.push_str(&match differs {
        Some(setting) => format!(
            "\nhint: run both with the same settings; or name what may differ, for example --across {setting}"
        ),
        None => "\nhint: a comparison needs the same task and items on both sides".to_owned(),
    });
    UsageError::new(message)
}
