//! Opening one model after the other and asking it everything that is not answered yet.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::ScopedJoinHandle;

use anyhow::Context;
use mary_contract::{
    Cache, DataSource, ErrorKind, Key, Model, ModelError, ModelRef, ModelSettings, Outcome, Reply,
    SampleId, StoreError,
};
use mary_engine::EngineError;
use mary_engine::execute::{Cast, Execution, Pace, execute};
use mary_store::{FinishedIds, Label, Recorder, ResponseCache, RunFolder};

use super::run::{Checked, Judge, Plan};
use crate::progress::{Both, Progress};
use crate::purse::Purse;
use crate::settings::Place;
use crate::{batch, providers};

/// Samples by model and task.
type Parts = HashMap<(String, String), usize>;

/// A run while it is asked: what was decided before, and what the log, the cache and the purse hold.
pub struct Asking<'a> {
    plan: &'a Plan,
    checked: &'a Checked,
    data: &'a dyn DataSource,
    folder: &'a mut RunFolder,
    progress: &'a mut Progress,
    cache: Box<dyn Cache>,
    /// Says which model and task new rows of the cache belong to.
    label: Option<Label>,
    /// Where batches are kept, in a run that uses batch APIs.
    batches: Option<PathBuf>,
    purse: Purse,
    finished: FinishedIds,
    answered: Parts,
    judge: Option<Box<dyn Model>>,
    /// What was submitted as a batch and has no answer yet.
    waiting: Option<EngineError>,
    stop: Arc<AtomicBool>,
}

impl<'a> Asking<'a> {
    /// Opens what a run needs besides its models.
    pub fn begin(
        place: &Place,
        (plan, checked): (&'a Plan, &'a Checked),
        folder: &'a mut RunFolder,
        progress: &'a mut Progress,
        data: &'a dyn DataSource,
    ) -> anyhow::Result<Self> {
        let stop = interrupt()?;
        let (cache, label): (Box<dyn Cache>, _) = if plan.cached {
            let cache = open_cache(place)?;
            let label = cache.label();
            (Box::new(cache), Some(label))
        } else {
            (Box::new(NoCache), None)
        };
        let batches = batch::folder(folder.path(), plan.batch);
        if let Some(path) = &batches {
            std::fs::create_dir_all(path).with_context(|| path.display().to_string())?;
        }
        let purse = Purse::open(folder.path(), providers::ledger())?;
        if purse.spent() > 0.0 {
            progress.say(&format!("${:.4} was spent before", purse.spent()));
        }
        Ok(Self {
            plan,
            checked,
            data,
            finished: folder.finished_ids()?,
            answered: answered_parts(folder)?,
            folder,
            progress,
            cache,
            label,
            batches,
            purse,
            judge: None,
            waiting: None,
            stop,
        })
    }

    /// Asks every model everything that is left; the next one is opened meanwhile, where both have
    /// room. The first may be `opened` already.
    pub fn everything(mut self, opened: Option<Box<dyn Model>>) -> anyhow::Result<()> {
        let plan = self.plan;
        let mut work = Vec::new();
        for model in &plan.models {
            match self.left(model) {
                left if !left.is_empty() => work.push((model, left)),
                // A model with nothing left to answer is not even loaded.
                _ => self
                    .progress
                    .say(&format!("{model}: everything is already answered")),
            }
        }
        std::thread::scope(|scope| {
            let mut coming = opened.map(Coming::Here);
            for (place, (model, left)) in work.iter().enumerate() {
                let subject = match coming.take() {
                    Some(coming) => coming.arrive(model)?,
                    None => None,
                };
                let subject = match subject {
                    Some(subject) => subject,
                    None => open(model, &self.settings(model))?,
                };
                if let (Some(Judge::Other(other)), None) = (&plan.judge, &self.judge) {
                    self.judge = Some(open(other, &self.settings(other))?);
                }
                if let Some((next, _)) = work.get(place + 1) {
                    let settings = self.settings(next);
                    if providers::of(next)?.fits_beside(next, &settings) {
                        coming = Some(Coming::Soon(scope.spawn(move || open(next, &settings))));
                    }
                }
                let name = model.to_string();
                for &i in left {
                    self.task(&name, subject.as_ref(), i)?;
                }
            }
            anyhow::Ok(())
        })?;
        match self.waiting {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// The places of the tasks that a model has not answered in full.
    fn left(&self, model: &ModelRef) -> Vec<usize> {
        let name = model.to_string();
        let tasks = self.plan.tasks.iter().zip(&self.checked.surveys);
        tasks
            .enumerate()
            .filter(|(_, ((task, ..), survey))| {
                let planned = survey.count * self.plan.trials as usize;
                self.answered(&name, &task.card().id) < planned
            })
            .map(|(place, _)| place)
            .collect()
    }

    fn answered(&self, model: &str, task: &str) -> usize {
        let key = (model.to_owned(), task.to_owned());
        self.answered.get(&key).copied().unwrap_or(0)
    }

    fn settings(&self, model: &ModelRef) -> ModelSettings {
        match &self.batches {
            Some(folder) => batch::settings(model, &self.plan.settings, folder),
            None => self.plan.settings.clone(),
        }
    }

    /// Asks one model the task at this place of the plan.
    fn task(&mut self, model: &str, subject: &dyn Model, place: usize) -> anyhow::Result<()> {
        let (task, settings, _) = &self.plan.tasks[place];
        let id = &*task.card().id;
        let finished = &self.finished;
        let execution = Execution {
            cast: Cast {
                subject,
                judge: match self.plan.judge {
                    Some(Judge::Oneself) => Some(subject),
                    _ => self.judge.as_deref(),
                },
            },
            task: task.as_ref(),
            settings,
            data: self.data,
            survey: &self.checked.surveys[place],
            trials: self.plan.trials,
            seed: self.plan.seed,
            finished: &|item, trial| {
                finished.contains(&SampleId {
                    model: model.to_owned(),
                    task: id.to_owned(),
                    item: item.to_owned(),
                    trial,
                })
            },
            already: self.answered(model, id),
            stop: &self.stop,
            pace: if self.batches.is_some() {
                pace_of_batches()
            } else {
                Pace::default()
            },
        };
        let mut recorder = Recorder::new(self.folder);
        if let Some(label) = &self.label {
            recorder = recorder.labelling(label.clone());
        }
        let ended = execute(
            &execution,
            self.cache.as_mut(),
            &mut Both(&mut recorder, &mut Both(&mut self.purse, self.progress)),
        );
        self.purse.note()?;
        match ended {
            // The other tasks are submitted too before we leave.
            Err(error) if self.batches.is_some() && is_waiting(&error) => {
                self.progress.say(&format!("{model}  {id}: {error}"));
                self.waiting = Some(error);
                Ok(())
            }
            ended => Ok(ended?),
        }
    }
}

/// Opens a model.
pub fn open(model: &ModelRef, settings: &ModelSettings) -> anyhow::Result<Box<dyn Model>> {
    Ok(providers::of(model)?.open(model, settings)?)
}

/// A model that was opened ahead, or is being opened.
enum Coming<'scope> {
    Here(Box<dyn Model>),
    Soon(ScopedJoinHandle<'scope, anyhow::Result<Box<dyn Model>>>),
}

impl Coming<'_> {
    /// The model, if it is the one wanted. One that had no room after all is opened again when the
    /// other is gone.
    fn arrive(self, wanted: &ModelRef) -> anyhow::Result<Option<Box<dyn Model>>> {
        let model = match self {
            Self::Here(model) => model,
            Self::Soon(worker) => match worker.join() {
                Ok(Ok(model)) => model,
                Ok(Err(error)) if no_room(&error) => return Ok(None),
                Ok(Err(error)) => return Err(error),
                Err(_) => anyhow::bail!("opening {wanted} broke down"),
            },
        };
        Ok(Some(model).filter(|m| m.card().model == *wanted))
    }
}

fn no_room(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<ModelError>().map(|e| e.kind);
    kind == Some(ErrorKind::OutOfMemory)
}

fn is_waiting(error: &EngineError) -> bool {
    matches!(error, EngineError::Stopped(e) if e.kind == ErrorKind::Interrupted)
}

/// A batch takes what fits into it at once, and nothing waits for an answer meanwhile.
fn pace_of_batches() -> Pace {
    Pace {
        window: 50_000,
        in_flight: 100_000,
        bytes: 1 << 30,
        ..Pace::default()
    }
}

/// Answered samples of each model and task in the log.
fn answered_parts(folder: &RunFolder) -> anyhow::Result<Parts> {
    let mut parts = Parts::new();
    for verdict in folder.verdicts()? {
        let verdict = verdict?;
        if !matches!(verdict.judgement.outcome, Outcome::Failed(_)) {
            *parts
                .entry((verdict.id.model, verdict.id.task))
                .or_default() += 1;
        }
    }
    Ok(parts)
}

fn open_cache(place: &Place) -> anyhow::Result<ResponseCache> {
    let path = place.answers();
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| {
            format!("{}: the cache folder cannot be made; --cache-dir names another, --no-cache does without", parent.display())
        })?;
    }
    Ok(ResponseCache::open(&path)?)
}

/// For `--no-cache`: what is answered stands in the log alone.
struct NoCache;

impl Cache for NoCache {
    fn recall(&mut self, _: &Key) -> Result<Option<Reply>, StoreError> {
        Ok(None)
    }

    fn keep(&mut self, _: &Key, _: &Reply) -> Result<(), StoreError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The first Ctrl-C stops after what is in flight; the second at once.
fn interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    // A sweep runs many checkpoints in one process: one handler, one flag.
    static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
    let stop = Arc::clone(&STOP);
    let flag = Arc::clone(&stop);
    let set = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        super::tell("stopping after what is in flight; once more to stop at once");
    });
    match set {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(stop),
        Err(error) => Err(error).context("Ctrl-C cannot be caught"),
    }
}
