//! A run with its folder: asking what is left, and adding up.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use mary_contract::{Event, EventObserver, Model, RunSummary, moment};
use mary_store::{RunFolder, ShardEnd, ShardPlace, ShardStatus};

use crate::asking::Asking;
use crate::summary::summarise;
use crate::{PreparedRun, RunError};

/// One task on one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPart {
    /// The model, by its full name.
    pub model: String,
    /// The id of the task.
    pub task: String,
    /// Samples of it, answered or not.
    pub samples: usize,
    /// What one of them costs beside those of other tasks, in no particular unit.
    pub cost: u64,
}

/// A run folder that is open for writing, and what is to be asked.
pub struct Run<'lab> {
    prepared: PreparedRun<'lab>,
    folder: RunFolder,
    opened: Option<Box<dyn Model>>,
    /// The folder was made by this very run.
    pub(crate) new: bool,
    /// Where this is one of several parts, its place and what it says about itself.
    pub(crate) shard: Option<(ShardPlace, ShardStatus)>,
}

impl<'lab> Run<'lab> {
    pub(crate) fn new(prepared: PreparedRun<'lab>, folder: RunFolder) -> Self {
        Self {
            prepared,
            folder,
            opened: None,
            new: false,
            shard: None,
        }
    }

    /// Where this part of a run lies, where it is one of several.
    pub fn shard(&self) -> Option<&ShardPlace> {
        self.shard.as_ref().map(|(place, _)| place)
    }

    /// The first model is open already.
    #[must_use]
    pub fn with_opened(mut self, model: Option<Box<dyn Model>>) -> Self {
        self.opened = model;
        self
    }

    /// The run folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What is run, as it was specified.
    pub fn spec(&self) -> &crate::RunSpec {
        &self.prepared.spec
    }

    /// The parts of the run as they are asked: every task of the first model, then of the next.
    pub fn parts(&self) -> Vec<RunPart> {
        let spec = &self.prepared.spec;
        let mut parts = Vec::new();
        for model in &spec.subjects {
            if let Some(bank) = &self.prepared.adaptive {
                parts.push(RunPart {
                    model: model.to_string(),
                    task: crate::scale::ADAPTIVE.to_owned(),
                    samples: bank.most(),
                    cost: 1,
                });
                continue;
            }
            for assignment in &self.prepared.assignments {
                parts.push(RunPart {
                    model: model.to_string(),
                    task: assignment.id().to_owned(),
                    samples: assignment.survey.count * spec.trials as usize,
                    cost: assignment.survey.cost,
                });
            }
        }
        parts
    }

    /// Cards of the models under study, with their labels.
    pub fn cards(&self) -> &[mary_contract::ModelCard] {
        &self.folder.manifest().models
    }

    /// The run's folder, for reading.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Asks everything that is not answered yet, tells of it in `events`, and adds up the whole log.
    ///
    /// What was answered before a stop is added up too, before [`RunError::Stopped`] says why.
    pub fn go(
        &mut self,
        events: &mut dyn EventObserver,
        stop: &AtomicBool,
    ) -> Result<RunSummary, RunError> {
        if let Some(healed) = self.folder.healed() {
            let note = format!(
                "the log ended in a torn line of {} bytes (kept in {}); going on from the last whole one",
                healed.bytes,
                healed.kept_in.display()
            );
            events.observe(&Event::Note(&note))?;
        }
        for note in self.prepared.short_contexts() {
            events.observe(&Event::Note(&note))?;
        }
        let opened = self.opened.take();
        let asked = Asking::begin(&self.prepared, &mut self.folder, events, stop)
            .and_then(|asking| asking.everything(opened));
        self.folder.flush()?;
        let nothing = self.new && self.folder.finished_ids()?.is_empty();
        let asked = match asked {
            // A model or the cache could not be opened, so that nothing can have been asked.
            Err(error @ (RunError::Model(_) | RunError::Folder { .. })) if nothing => {
                // A folder in which nothing was asked would only be in the way.
                self.folder.discard()?;
                return Err(error);
            }
            asked => asked,
        };
        let tasks = self.prepared.lab.registry();
        moment("log complete");
        let planned = match (&self.prepared.adaptive, &asked) {
            // Who knows enough has asked all.
            (Some(_), Ok(())) => self.folder.count()?,
            _ => self.prepared.planned(),
        };
        let summary = summarise(tasks, &self.folder, planned)?;
        self.folder.write_summary(&summary)?;
        moment("summary written");
        if let Some((place, status)) = &mut self.shard {
            *status = status.clone().ended(match &asked {
                Ok(()) => ShardEnd::Done,
                Err(error) if error.is_interrupt() => ShardEnd::Interrupted,
                Err(error) => ShardEnd::Failed(error.to_string()),
            });
            place.write_status(status)?;
        }
        match asked {
            Ok(()) => Ok(summary),
            Err(source) => Err(RunError::Stopped {
                folder: self.folder.path().to_owned(),
                source: Box::new(source),
            }),
        }
    }
}
