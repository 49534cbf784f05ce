//! The laboratory with the command's providers, places and reports, for programs that link it: the Python
//! package first of all. A run is said in the types of `mary-lab`, as the command line says it too, so that a
//! run begun by one is continued by the other; tasks and providers of the caller's own stand beside the usual
//! ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_contract::{
    EventObserver, Exhibits, Model, ModelSettings, Provider, Registry, RunSummary, Task,
};
use mary_lab::checkpoints::{Record, SweepOptions};
use mary_lab::{Laboratory, RunError, RunOptions, find_provider};
use mary_report::compare::Compared;
use mary_report::html::ReportOptions;
use mary_store::RunFolder;
use serde::Deserialize;

use crate::cli::PlaceArgs;
use crate::command::Command as _;
use crate::exit::{UsageError, usage_error};
use crate::settings::Place;
use crate::words::whole_paths;
use crate::{commands, own, specification};

pub use crate::commands::compare::CompareOptions;
pub use crate::commands::scale::ScaleArgs;
pub use crate::exit::{ErrorReport, Status, error_report};
pub use crate::progress::Progress;

/// Makes the providers of a laboratory out of the usual ones.
pub type Arrange = Box<dyn FnOnce(Vec<Box<dyn Provider>>) -> Vec<Box<dyn Provider>> + Send>;

/// What a caller brings besides the options of a run.
pub struct Brought {
    /// Tasks of its own, to be named by their ids.
    pub tasks: Vec<Arc<dyn Task>>,
    pub arrange: Arrange,
    /// The command line that says the same, for the manifest.
    pub command: Vec<String>,
}

/// Where things are kept. What is absent comes from the environment, `mary.toml` or the usual places.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Places {
    #[serde(alias = "log_dir")]
    pub output_path: Option<PathBuf>,
    pub data_dir: Option<PathBuf>,
    pub cache_dir: Option<PathBuf>,
}

impl Places {
    fn resolve(&self) -> anyhow::Result<Place> {
        let or_set = |said: &Option<PathBuf>, variable: &str| {
            let set = || std::env::var_os(variable).map(PathBuf::from);
            said.clone().or_else(set)
        };
        let args = PlaceArgs {
            output_path: or_set(&self.output_path, "MARY_RUNS"),
            data_dir: or_set(&self.data_dir, "MARY_DATA_DIR"),
            cache_dir: or_set(&self.cache_dir, "MARY_CACHE_DIR"),
            profile: None,
        };
        Place::resolve(&args, mary_lab::families::registry())
    }
}

/// Lets the libraries' notices reach standard error, as the command does.
pub fn listen() {
    crate::terminal::listen();
}

/// Whoever waits for a turn, a pause or a server's word about itself stops waiting: a run is to end.
pub fn stop_waiting() {
    mary_remote::stop_waiting();
}

/// The built-in tasks and families, and the task files with which these stored runs were made.
pub fn registry(places: &Places, runs: &[PathBuf]) -> anyhow::Result<Registry> {
    let mut place = places.resolve()?;
    let runs: Vec<String> = runs.iter().map(|r| r.display().to_string()).collect();
    own::stored(&mut place, &runs, false);
    Ok(place.registry)
}

/// Opens the one model that is named, as a run would.
pub fn open(
    places: &Places,
    options: RunOptions,
    arrange: Arrange,
) -> anyhow::Result<(Box<dyn Model>, ModelSettings)> {
    let place = places.resolve()?;
    let lab = specification::laboratory_with(&place, arrange, Vec::new());
    let options = specification::with_adapter(&place, options)?;
    let spec = options.specify_tasks(&lab, Vec::new())?;
    let settings = spec.model_settings();
    let [model] = spec.subjects.as_slice() else {
        return usage_error("one model is opened at a time");
    };
    let opened = find_provider(&lab, model)?.open(model, &settings)?;
    Ok((opened, settings))
}

/// The place and the laboratory of a run, with what the caller brought, and the command that says the same.
fn begin(
    places: &Places,
    brought: Brought,
    name: &str,
    tasks: &mut Vec<String>,
) -> anyhow::Result<(Place, Laboratory, Vec<String>)> {
    let mut place = places.resolve()?;
    for task in brought.tasks {
        let added = place.registry.add_task(task);
        added.map_err(|e| UsageError::new(e.to_string()))?;
    }
    own::named(&mut place, tasks)?;
    let mut command = vec![name.to_owned()];
    command.extend(whole_paths(&brought.command));
    let lab = specification::laboratory_with(&place, brought.arrange, command.clone());
    Ok((place, lab, command))
}

/// Runs what is asked for, or what is left of it, and returns the run's folder.
pub fn run(
    places: &Places,
    mut options: RunOptions,
    brought: Brought,
    events: &mut dyn EventObserver,
    stop: &AtomicBool,
) -> anyhow::Result<PathBuf> {
    let (place, lab, _) = begin(places, brought, "run", &mut options.tasks)?;
    let spec = specification::specify(&place, &lab, options)?;
    let mut run = lab.prepare(&spec)?.open()?;
    run.go(events, stop)?;
    Ok(run.path().to_owned())
}

/// What came of a checkpoint, and the folder of its run where it could be read.
pub type SweptCheckpoint = (Record, Option<PathBuf>);

/// Runs every checkpoint that is asked for, or what is left, and returns the sweep's folder with what came of
/// each.
pub fn sweep(
    places: &Places,
    mut options: SweepOptions,
    brought: Brought,
    events: &mut dyn EventObserver,
    stop: &AtomicBool,
) -> anyhow::Result<(PathBuf, Vec<SweptCheckpoint>)> {
    let (place, lab, command) = begin(places, brought, "sweep", &mut options.run.tasks)?;
    let (sweep, left) = options.specify(&lab)?;
    specification::tell_left_out(&sweep.spec, &left);
    let mut state = sweep.open_state(&place.runs, &command)?;
    sweep.go(&mut state, events, stop)?;
    let records = state.records(&sweep.members).into_iter().map(|record| {
        let run = record.run().map(|folder| state.runs().join(folder));
        (record, run)
    });
    Ok((state.path().to_owned(), records.collect()))
}

/// Makes a scale and its page, as `mary scale` does, and returns its folder.
pub fn scale(places: &Places, mut asked: ScaleArgs) -> anyhow::Result<PathBuf> {
    let mut place = places.resolve()?;
    asked.gather(&mut place)?;
    Ok(asked.make(&place)?.1)
}

pub fn summary(registry: &Registry, run: &Path) -> anyhow::Result<RunSummary> {
    Ok(mary_lab::load_summary(registry, &RunFolder::open(run)?)?)
}

pub fn summaries(registry: &Registry, runs: &[PathBuf]) -> anyhow::Result<Vec<RunSummary>> {
    runs.iter().map(|run| summary(registry, run)).collect()
}

/// The models of these runs with each other, item by item.
pub fn compare(
    registry: &Registry,
    runs: &[PathBuf],
    wanted: &CompareOptions<'_>,
) -> anyhow::Result<Compared> {
    commands::compare::compared(registry, runs, wanted)
}

pub fn report(registry: &Registry, runs: &[PathBuf], out: &Path) -> anyhow::Result<()> {
    let options = ReportOptions::default();
    commands::chapters::write_with(registry, runs, &[], out, &options)
}

/// Tables and figures of the families of these runs, and of how a model grew where they are checkpoints.
pub fn exhibits(
    registry: &Registry,
    runs: &[PathBuf],
    development: bool,
) -> anyhow::Result<Exhibits> {
    let summaries = summaries(registry, runs)?;
    if development {
        return Ok(commands::development::exhibits(registry, &summaries));
    }
    let mut all = Exhibits::default();
    for chapter in commands::chapters::family_chapters(registry, &summaries)? {
        let shown = chapter.contents.exhibits;
        all.append(shown);
    }
    Ok(all)
}

pub fn stopped_run(error: &anyhow::Error) -> Option<&Path> {
    error.chain().find_map(|cause| match cause.downcast_ref()? {
        RunError::Stopped { folder, .. } => Some(folder.as_path()),
        _ => None,
    })
}
