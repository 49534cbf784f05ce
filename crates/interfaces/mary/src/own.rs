//! Tasks of one's own: files that arguments or stored runs name are read into the registry before a
//! command begins, so that every command finds them like built-in ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use mary_contract::{RunManifest, RunSummary, Start, Task};
use mary_lab::{Run, TaskFiles, files_named, is_task_file};

use crate::command::typed;
use crate::commands::observe::{self, ObserveArgs};
use crate::commands::score::{self, ScoreArgs, StartArg};
use crate::commands::tell;
use crate::exit::{Status, missing_error, usage_error};
use crate::rundir;
use crate::settings::Place;

/// Reads task files into the registry; what is to be known about them is told.
fn read<T>(place: &mut Place, what: impl FnOnce(&mut TaskFiles<'_>) -> T) -> T {
    let mut files = TaskFiles {
        registry: &mut place.registry,
        notes: Vec::new(),
    };
    let read = what(&mut files);
    for note in &files.notes {
        tell!("note: {note}");
    }
    read
}

/// Reads the task files that a study was made with.
pub fn of_study(place: &mut Place, study: &Path) -> anyhow::Result<()> {
    let Ok(study) = mary_study::Study::open(study) else {
        return Ok(()); // the command itself says that it is none
    };
    let keys = study.keys()?;
    if keys.tasks.iter().any(|task| task.content.is_some()) {
        for file in files_named(&keys.command) {
            read(place, |files| files.add_file(&file))?;
        }
    }
    Ok(())
}

/// A stored run that a command goes on with.
#[derive(Debug, Args)]
pub struct StoredRun {
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
}

impl StoredRun {
    /// Reads its task files. The run knows its tasks; only where their files are can be said again.
    pub fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        if let Some(other) = self.tasks.iter().find(|n| !is_task_file(n)) {
            return usage_error(format!(
                "`{other}` is not a task file; the run already names its tasks\n\
                 hint: -t is for your own task whose file was moved"
            ));
        }
        named(place, &mut self.tasks)?;
        stored(place, self.run.as_slice(), true);
        Ok(())
    }

    pub fn find(&self, place: &Place) -> anyhow::Result<PathBuf> {
        rundir::find(place, self.run.as_deref())
    }
}

/// Reads the files among these names of tasks; each is replaced by the id of its task.
pub fn named(place: &mut Place, names: &mut Vec<String>) -> anyhow::Result<()> {
    Ok(read(place, |files| files.take_in(names))?)
}

/// The same for a command that is about one task.
pub fn one(place: &mut Place, name: &mut String) -> anyhow::Result<()> {
    let mut names = vec![std::mem::take(name)];
    named(place, &mut names)?;
    *name = names.pop().unwrap_or_default();
    Ok(())
}

/// Reads the task files that stored runs were made with, from where their command lines say they
/// were. What is not there any more is told; the command itself says whether it can do without.
pub fn stored(place: &mut Place, runs: &[String], newest: bool) {
    let wanted: Vec<Option<&str>> = match runs {
        [] if newest => vec![None],
        runs => runs.iter().map(|r| Some(r.as_str())).collect(),
    };
    for run in wanted {
        // A run that cannot be found or read is told by the command itself.
        // The checkpoints of a sweep were asked the same: its first run knows the files.
        let first = rundir::look_up(place, run)
            .ok()
            .and_then(|found| found.runs().into_iter().next());
        if let Some(manifest) = first.and_then(|p| manifest(&p)) {
            let made = |manifest: &RunManifest| Some(Stored::of(manifest)?.task());
            read(place, |files| files.recall(&manifest, made));
        }
    }
}

fn manifest(folder: &Path) -> Option<RunManifest> {
    let bytes = mary_platform::read_plain(&folder.join("manifest.json"), 1 << 30).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The instrument that made a run, by the words of its command.
pub enum Stored {
    Score(Box<ScoreArgs>),
    Observe(Box<ObserveArgs>),
}

impl Stored {
    /// The instrument, where the run was made by one.
    pub fn of(manifest: &RunManifest) -> Option<Self> {
        if let Ok((_, args)) = typed::<ObserveArgs>(&manifest.command) {
            return Some(Self::Observe(Box::new(args)));
        }
        let (_, mut args) = typed::<ScoreArgs>(&manifest.command).ok()?;
        // Earlier programs put the harness' start token first where the command says nothing.
        let stated = manifest
            .tasks
            .first()
            .and_then(|t| t.conventions.get("start"));
        if args.start.is_none() && stated.is_some_and(|s| *s == Start::Always.stated()) {
            args.start = Some(StartArg::One(Start::Always));
        }
        Some(Self::Score(Box::new(args)))
    }

    /// Its task, from the file where it lay.
    pub fn task(&self) -> anyhow::Result<Arc<dyn Task>> {
        let file = match self {
            Self::Score(args) => &args.texts.file,
            Self::Observe(args) => &args.texts.file,
        };
        if !file.exists() {
            return missing_error(format!(
                "{}: the file of texts is not there any more\nhint: put it back; or give the command again with \
                 the same file in its new place: the same texts find the same run",
                file.display()
            ));
        }
        Ok(match self {
            Self::Score(args) => Arc::new(score::task(args, file)?),
            Self::Observe(args) => Arc::new(observe::task(args, file)?),
        })
    }

    /// Shows what came of a run that was continued: what the command would have printed. A folder may be
    /// somebody else's, so that nothing is written where its words say.
    pub fn show(&self, run: &Run<'_>, summary: &RunSummary) -> anyhow::Result<Status> {
        let (printed, status) = match self {
            Self::Score(args) => (args.out.is_none(), score::printed(args, run, summary)?),
            Self::Observe(args) => (args.out.is_none(), observe::printed(args, run, summary)?),
        };
        if !printed {
            let command = run.folder().manifest().command.join(" ");
            tell!("hint:   `mary {command}` writes its files, and asks nothing again");
        }
        tell!("run:    {}", run.path().display());
        Ok(status)
    }
}
