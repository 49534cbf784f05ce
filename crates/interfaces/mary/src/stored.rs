//! Runs of `score` and `observe` that were stored: what was asked of which file stands in the words of their
//! command, from which the task is made again when the run is continued or judged anew.

use std::sync::Arc;

use mary_contract::{RunManifest, RunSummary, Start, Task};
use mary_lab::Run;

use crate::command::typed;
use crate::commands::observe::{self, ObserveArgs};
use crate::commands::score::{self, ScoreArgs, StartArg};
use crate::commands::tell;
use crate::exit::{Status, missing_error};

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
