//! `mary matrix`: a family's table of training task by test task, from runs of tuned models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use mary_contract::{Registry, RunSummary, Table};

use super::{tune, tuned};
use crate::cli::{LoraArgs, TestingArgs, TrainingSetArgs};
use crate::command::Command;
use crate::commands::tell;
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;
use crate::{library, matching, rundir};

#[derive(Debug, Args)]
pub struct MatrixArgs {
    /// Run folders or names that hold the untuned and the tuned models
    #[arg(required_unless_present = "tune")]
    pub runs: Vec<String>,
    /// The untuned model, as it was run
    #[arg(long, required_unless_present = "tune")]
    pub original: Option<String>,
    /// A tuned model, as it was run, with the task it was tuned on (repeatable)
    #[arg(long, value_name = "TASK=MODEL")]
    pub tuned: Vec<String>,
    /// Do it all: tune this local model (a folder, hf/…, gguf/…, builtin/nano) on each task, test
    /// every model on every task
    #[arg(long, value_name = "MODEL", requires = "out", conflicts_with_all = ["runs", "original", "tuned"])]
    pub tune: Option<String>,
    /// Tasks to tune and test on [default: all of the table]
    #[arg(short, long, value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Folder for training sets, adapters and tuned models; what is finished there is not done again
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub set: TrainingSetArgs,
    #[command(flatten)]
    pub lora: LoraArgs,
    #[command(flatten)]
    pub testing: TestingArgs,
}

impl Command for MatrixArgs {
    const NAME: &str = "matrix";
    const ABOUT: &str = "Tune on each task of a family and test on all of them";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        match (&self.tune, &self.out) {
            (Some(model), Some(out)) => tune_and_test(place, self, model, out),
            _ => from_runs(place, self),
        }
    }
}

/// Tunes a model on every task, tests every model on every task, prints the table and, for each
/// task tuned on, the paired difference.
fn tune_and_test(
    place: &Place,
    args: &MatrixArgs,
    model: &str,
    out: &Path,
) -> anyhow::Result<Status> {
    let base = super::adapter::base_folder(place, model)?;
    let wanted = match args.tasks.is_empty() {
        true => tuning_tasks(&place.registry),
        false => args.tasks.clone(),
    };
    let mut tuned: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (i, name) in wanted.iter().enumerate() {
        let task = named(&place.registry, name)?;
        tell!("[{}/{}] {task}", i + 1, wanted.len());
        let folder = tune_on(place, &base, &task, (out, args))?;
        tuned.insert(task, folder);
    }
    let tasks: Vec<String> = tuned.keys().cloned().collect();
    let tests = tuned::Tests {
        tasks: &tasks,
        testing: &args.testing,
        lora: &args.lora,
    };
    let mut models = vec![base.as_path()];
    models.extend(tuned.values().map(PathBuf::as_path));
    let run = tests.run(place, &models)?;
    let summary = library::summary(&place.registry, &run)?;
    let names = tuned
        .iter()
        .map(|(task, folder)| (task.clone(), tuned::name(folder)))
        .collect();
    let found = tables(&place.registry, &[summary], &tuned::name(&base), &names);
    show(&found, args.testing.csv.as_deref())?;
    let own = tuned::differences(&run, |model, task| {
        names.get(task).is_some_and(|own| own == model)
    })?;
    tell!("\ntuned on the task itself, against the untuned model:");
    tuned::show(std::slice::from_ref(&own), None)?;
    tuned::write_report(place, &run, vec![own])?;
    Ok(Status::Done)
}

/// The model tuned on one task, as a folder. One that is there is used where it was made from the same
/// base, data, settings and seed, and made again where it was not.
fn tune_on(
    place: &Place,
    base: &Path,
    task: &str,
    (out, args): (&Path, &MatrixArgs),
) -> anyhow::Result<PathBuf> {
    let name = task.replace('/', "-");
    let (data, adapter) = (out.join(format!("{name}.jsonl")), out.join(&name));
    let wanted = super::tuning::request(&args.set, args.lora.seed)?;
    super::tuning::write_into(place, task, &wanted, &data)?;
    let settings = tune::settings(base, &data, &adapter, &args.lora)?;
    Ok(tune::with_bar(|on_event| mary_train::derive(&settings, on_event))?.merged)
}

fn tuning_tasks(registry: &Registry) -> Vec<String> {
    let families = registry.families().iter();
    families
        .flat_map(|family| family.tuning_tasks())
        .map(String::from)
        .collect()
}

/// The id of such a task, which may be named without its family.
fn named(registry: &Registry, name: &str) -> Result<String, UsageError> {
    let tasks = tuning_tasks(registry);
    let wanted = name.replace('_', "-");
    let found = tasks
        .iter()
        .find(|id| **id == wanted || id.rsplit('/').next() == Some(&wanted));
    found.cloned().ok_or_else(|| {
        let hint = matching::suggestion(name, tasks.iter().map(String::as_str), "mary tasks");
        UsageError::new(format!(
            "`{name}` is not one of the tasks that are tuned on and tested\n{hint}"
        ))
    })
}

fn tables(
    registry: &Registry,
    summaries: &[RunSummary],
    untuned: &str,
    tuned: &BTreeMap<String, String>,
) -> Vec<Table> {
    let families = registry.families().iter();
    families
        .filter(|family| {
            let tasks = family.tuning_tasks();
            tuned.is_empty() || tasks.iter().any(|task| tuned.contains_key(&**task))
        })
        .flat_map(|family| family.tuning_tables(summaries, untuned, tuned))
        .collect()
}

fn from_runs(place: &Place, args: &MatrixArgs) -> anyhow::Result<Status> {
    let original = args.original.clone().unwrap_or_default();
    let paths = rundir::find_all(place, &args.runs)?;
    let summaries = library::summaries(&place.registry, &paths)?;
    let known = |model: &str| {
        let mut rows = summaries.iter().flat_map(|s| &s.rows);
        rows.any(|row| row.model == model)
    };
    let mut tuned = BTreeMap::new();
    for pair in &args.tuned {
        let Some((task, model)) = pair.split_once('=') else {
            return usage_error(format!("`{pair}` is not of the form task=model"));
        };
        tuned.insert(named(&place.registry, task)?, model.to_owned());
    }
    for model in tuned.values().chain([&original]) {
        if !known(model) {
            return usage_error(format!("none of these runs holds `{model}`"));
        }
    }
    let found = tables(&place.registry, &summaries, &original, &tuned);
    show(&found, args.testing.csv.as_deref())?;
    Ok(Status::Done)
}

/// Prints the tables, one for each way of asking, and what is published; what differs is said before the
/// first. On request they also go to a file, one below the other.
fn show(tables: &[Table], csv: Option<&Path>) -> anyhow::Result<()> {
    let printed = |table: &&Table| table.published.len() == table.rows.len();
    if tables.iter().filter(|t| !printed(t)).count() > 1 {
        tell!(
            "these runs were not all asked the same: one table for each way of asking, the difference in its title"
        );
    }
    tuned::show(tables, csv)
}
