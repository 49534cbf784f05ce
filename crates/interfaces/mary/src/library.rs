//! What the command does, for programs that link it: the Python package first of all. What a run is, is said
//! in the words of the command line, so that both mean the same and a run begun by one is continued by the
//! other; tasks and providers of the caller's own stand beside the usual ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use mary_contract::{
    EventObserver, Exhibits, Model, ModelSettings, Provider, Registry, RunSummary, Task,
};
use mary_lab::{Laboratory, RunError};
use mary_report::compare::Compared;
use mary_report::html::ReportOptions;
use mary_store::RunFolder;

use crate::cli::PlaceArgs;
use crate::cli::run::RunArgs;
use crate::cli::sweep::SweepArgs;
use crate::commands;
use crate::exit::UsageError;
use crate::settings::Place;
use crate::{laboratory, own, specification};

pub use crate::exit::{Status, Trouble, trouble};
pub use crate::progress::Progress;

/// Makes the providers of a laboratory out of the usual ones.
pub type Arrange = Box<dyn FnOnce(Vec<Box<dyn Provider>>) -> Vec<Box<dyn Provider>> + Send>;

/// What a caller brings besides words.
#[derive(Default)]
pub struct Brought {
    /// Tasks of its own, to be named by their ids.
    pub tasks: Vec<Arc<dyn Task>>,
    /// What becomes of the providers; as they are where this is absent.
    pub arrange: Option<Arrange>,
}

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct RunWords {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct SweepWords {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    sweep: SweepArgs,
}

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct PlaceWords {
    #[command(flatten)]
    place: PlaceArgs,
}

fn read<T: Parser>(words: &[String]) -> Result<T, UsageError> {
    T::try_parse_from(words).map_err(|said| {
        let text = said.render().to_string();
        // Below the first paragraph stands how the command is used, which was not typed here.
        let text = text.split("\n\nUsage").next().unwrap_or(&text);
        UsageError::new(text.trim_start_matches("error: ").trim_end())
    })
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
pub fn registry(words: &[String], runs: &[PathBuf]) -> anyhow::Result<Registry> {
    let args = read::<PlaceWords>(words)?;
    let mut place = Place::resolve(&args.place, mary_lab::families::registry())?;
    let runs: Vec<String> = runs.iter().map(|r| r.display().to_string()).collect();
    own::stored(&mut place, &runs, false);
    Ok(place.registry)
}

/// Opens the model that the words name (`-m`), as the command would open it.
pub fn open(words: &[String], brought: Brought) -> anyhow::Result<(Box<dyn Model>, ModelSettings)> {
    let args = read::<RunWords>(words)?;
    let place = Place::resolve(&args.place, mary_lab::families::registry())?;
    let lab = arranged(&place, brought.arrange, Vec::new());
    let spec = specification::of(&place, &lab, &args.run)?;
    let settings = spec.model_settings();
    let [model] = spec.subjects.as_slice() else {
        return Err(UsageError::new("one model is opened at a time").into());
    };
    let opened = laboratory::provider(&lab, model)?.open(model, &settings)?;
    Ok((opened, settings))
}

/// Runs what the words say, or what is left of it, and returns the run's folder.
pub fn run(
    words: &[String],
    brought: Brought,
    events: &mut dyn EventObserver,
    stop: &AtomicBool,
) -> anyhow::Result<PathBuf> {
    let mut args = read::<RunWords>(words)?;
    let mut place = Place::resolve(&args.place, mary_lab::families::registry())?;
    take_in(&mut place.registry, brought.tasks)?;
    own::named(&mut place, &mut args.run.tasks)?;
    let lab = arranged(&place, brought.arrange, command("run", words));
    let spec = specification::of(&place, &lab, &args.run)?;
    let mut run = lab.prepare(&spec)?.open()?;
    run.go(events, stop)?;
    Ok(run.path().to_owned())
}

/// A checkpoint of a sweep and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SweptCheckpoint {
    /// The checkpoint's name.
    pub model: String,
    /// The model it is a checkpoint of.
    pub size: String,
    /// Its revision.
    pub revision: String,
    /// Tokens of training seen, where known.
    pub tokens: Option<u64>,
    /// The folder of its run; none where it could not be read.
    pub run: Option<PathBuf>,
}

/// Runs every checkpoint of the models that the words name, or what is left, and returns the sweep's folder
/// with what came of each.
pub fn sweep(
    words: &[String],
    brought: Brought,
    events: &mut dyn EventObserver,
    stop: &AtomicBool,
) -> anyhow::Result<(PathBuf, Vec<SweptCheckpoint>)> {
    let mut args = read::<SweepWords>(words)?;
    let mut place = Place::resolve(&args.place, mary_lab::families::registry())?;
    take_in(&mut place.registry, brought.tasks)?;
    own::named(&mut place, &mut args.sweep.run.tasks)?;
    let said = command("sweep", words);
    let lab = arranged(&place, brought.arrange, said.clone());
    let sweep = commands::sweep::asked(&place, &lab, &args.sweep)?;
    let mut state = sweep.open_state(&place.runs, &said)?;
    sweep.go(&mut state, events, stop)?;
    let records = state.records(&sweep.members);
    let swept = records.iter().map(|record| SweptCheckpoint {
        model: record.model.clone(),
        size: record.size.clone(),
        revision: record.revision.clone(),
        tokens: record.tokens,
        run: record.run().map(|folder| state.runs().join(folder)),
    });
    Ok((state.path().to_owned(), swept.collect()))
}

/// The summary of a stored run.
pub fn summary(registry: &Registry, run: &Path) -> anyhow::Result<RunSummary> {
    commands::report::load_summary(registry, &RunFolder::open(run)?)
}

pub use crate::commands::compare::Wanted;

/// The models of these runs with each other, item by item.
pub fn compare(
    registry: &Registry,
    runs: &[PathBuf],
    wanted: &Wanted<'_>,
) -> anyhow::Result<Compared> {
    commands::compare::compared(registry, runs, wanted)
}

/// Writes the report of some runs.
pub fn report(registry: &Registry, runs: &[PathBuf], out: &Path) -> anyhow::Result<()> {
    let options = ReportOptions::default();
    commands::report::write_with(registry, runs, Vec::new(), out, &options)
}

/// Tables and figures of the families of these runs, and of how a model grew where they are checkpoints.
pub fn exhibits(
    registry: &Registry,
    runs: &[PathBuf],
    development: bool,
) -> anyhow::Result<Exhibits> {
    let mut summaries = Vec::new();
    for run in runs {
        summaries.push(summary(registry, run)?);
    }
    if development {
        return Ok(commands::development::exhibits(registry, &summaries));
    }
    let mut all = Exhibits::default();
    for chapter in commands::report::chapters(registry, &summaries) {
        all.tables.extend(chapter.exhibits.tables);
        all.figures.extend(chapter.exhibits.figures);
        all.pictures.extend(chapter.exhibits.pictures);
    }
    Ok(all)
}

/// The folder of the run that this error stopped.
pub fn stopped_run(error: &anyhow::Error) -> Option<&Path> {
    error.chain().find_map(|cause| match cause.downcast_ref()? {
        RunError::Stopped { folder, .. } => Some(folder.as_path()),
        _ => None,
    })
}

fn arranged(place: &Place, arrange: Option<Arrange>, words: Vec<String>) -> Laboratory {
    let arrange = arrange.unwrap_or_else(|| Box::new(|usual| usual));
    laboratory::laboratory_with(place, arrange, words)
}

fn take_in(registry: &mut Registry, tasks: Vec<Arc<dyn Task>>) -> Result<(), UsageError> {
    for task in tasks {
        registry
            .add_task(task)
            .map_err(|e| UsageError::new(e.to_string()))?;
    }
    Ok(())
}

/// The command line that says the same.
fn command(name: &str, words: &[String]) -> Vec<String> {
    let mut said = vec![name.to_owned()];
    said.extend(own::whole_paths(words));
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_means_nothing_is_a_usage_error_without_the_commands_help() {
        let words = ["--limit", "0"].map(String::from);
        let error = read::<RunWords>(&words).unwrap_err().to_string();
        assert!(error.contains("a limit of 0"), "{error}");
        assert!(!error.contains("Usage"), "{error}");
    }
}
