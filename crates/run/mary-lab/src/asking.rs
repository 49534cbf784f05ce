//! Opening one model after the other and asking it everything that is not answered yet.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::engine::EngineError;
use crate::engine::execute::{Execution, Pace, Participants, execute};
use crate::engine::select::Survey;
use mary_contract::{
    ErrorKind, Event, EventObserver, Item, JudgeChoice, Model, ModelRef, ModelSettings, Outcome,
    SampleId, moment,
};
use mary_store::{FinishedIds, Label, PaidAnswers, Recorder, RunFolder};

use crate::admission::open_model;
use crate::answers::Answers;
use crate::error::make_folder;
use crate::scale::{ADAPTIVE, Bank, LOCAL_TURN};
use crate::spending::Spending;
use crate::{Both, LoadAhead, PreparedRun, RunError, batch};

type Parts = HashMap<(String, String), usize>;

/// A run while it is asked: what was decided before, and what log, cache and spending hold.
pub(crate) struct Asking<'a> {
    prepared: &'a PreparedRun<'a>,
    folder: &'a mut RunFolder,
    events: &'a mut dyn EventObserver,
    answers: Answers,
    /// Says which model and task new rows of the cache belong to.
    label: Option<Label>,
    /// Where batches are kept, in a run that uses batch APIs.
    batches: Option<PathBuf>,
    spending: Spending<'a>,
    finished: FinishedIds,
    answered: Parts,
    judge: Option<Box<dyn Model>>,
    /// What was submitted as a batch and has no answer yet.
    waiting: Option<EngineError>,
    stop: &'a AtomicBool,
}

impl<'a> Asking<'a> {
    pub(crate) fn begin(
        prepared: &'a PreparedRun<'a>,
        folder: &'a mut RunFolder,
        events: &'a mut dyn EventObserver,
        stop: &'a AtomicBool,
    ) -> Result<Self, RunError> {
        let execution = &prepared.spec.execution;
        let batches = batch::folder(folder.path(), execution.batch);
        if let Some(path) = &batches {
            make_folder(path, "the folder of batches cannot be made")?;
        }
        let mut services = prepared.spec.models().map(|m| prepared.lab.service(m));
        let remote = services.any(|service| service.is_some());
        let (spending, mut paid) = Spending::open(folder.path(), prepared.lab.account())?;
        pass_over_used(&mut paid, folder)?;
        let cached = prepared.lab.answers.as_deref().filter(|_| execution.cache);
        let answers = Answers::open(cached, paid, spending.book(), remote)?;
        let label = answers.label();
        // A paid answer is in the log before the next is taken; elsewhere the log may lag a little.
        if label.is_none() || remote {
            folder.write_at_once()?;
        }
        if spending.spent() > 0.0 {
            let note = format!("${:.4} was spent before", spending.spent());
            events.observe(&Event::Note(&note))?;
        }
        Ok(Self {
            prepared,
            finished: folder.finished_ids()?,
            answered: answered_parts(folder)?,
            folder,
            events,
            answers,
            label,
            batches,
            spending,
            judge: None,
            waiting: None,
            stop,
        })
    }

    /// Asks every model all that is left, opening the next meanwhile. The first may be `opened` already.
    pub(crate) fn everything(mut self, opened: Option<Box<dyn Model>>) -> Result<(), RunError> {
        let (lab, spec) = (self.prepared.lab, &self.prepared.spec);
        let mut work = Vec::new();
        for (place, model) in spec.subjects.iter().enumerate() {
            match self.left(place, model) {
                left if !left.is_empty() => work.push((place, model, left)),
                // A model that another shard asks is none of this one's business.
                _ if !self.asks(place) => {}
                // A model with nothing left to answer is not even loaded.
                _ => {
                    let name = model.to_string();
                    let name = spec.execution.called(&name);
                    let note = format!("{name}: everything is already answered");
                    self.events.observe(&Event::Note(&note))?;
                }
            }
        }
        std::thread::scope(|scope| {
            let mut ahead = LoadAhead::new(scope);
            let mut ready = opened;
            for (turn, (place, model, left)) in work.iter().enumerate() {
                if let Some(arrived) = ahead.take() {
                    ready = arrived_model(model, arrived)?;
                }
                let subject = match ready.take().filter(|m| m.card().model == **model) {
                    Some(subject) => subject,
                    None => open_model(lab, model, &self.settings(model))?,
                };
                if let (JudgeChoice::Model(other), None) = (&spec.judge, &self.judge) {
                    self.judge = Some(open_model(lab, other, &self.settings(other))?);
                }
                if let Some((_, next, _)) = work.get(turn + 1) {
                    let next: &ModelRef = next;
                    let settings = self.settings(next);
                    let provider = lab.provider(next)?;
                    if provider.fits_beside(next, &settings) {
                        ahead.begin(move || provider.open(next, &settings));
                    }
                }
                moment("model open");
                let name = model.to_string();
                if let Some(bank) = &self.prepared.adaptive {
                    self.choose(bank, &name, subject.as_ref())?;
                    continue;
                }
                for &task in left {
                    let survey = self.prepared.survey(*place, task);
                    self.task(&name, subject.as_ref(), task, (survey, None))?;
                    moment("task answered");
                }
            }
            Ok::<_, RunError>(())
        })?;
        match self.waiting.take() {
            Some(error) => Err(error.into()),
            None => self.complete(),
        }
    }

    /// Answers that were paid for need not be kept twice once all of them are in the log.
    fn complete(&mut self) -> Result<(), RunError> {
        self.folder.flush()?;
        let ids = self.folder.finished_ids()?;
        let all = self.prepared.adaptive.is_some() || ids.len() >= self.prepared.planned();
        if ids.failed() == 0 && all {
            self.spending.sync()?;
            self.answers.paid.forget()?;
        }
        Ok(())
    }

    /// The places of the tasks that a model has not answered in full.
    fn left(&self, place: usize, model: &ModelRef) -> Vec<usize> {
        let name = model.to_string();
        if let Some(bank) = &self.prepared.adaptive {
            let over = bank.is_over(self.folder, &name).unwrap_or(false);
            return if over { Vec::new() } else { vec![0] };
        }
        self.prepared
            .assignments
            .iter()
            .enumerate()
            .filter(|(task, assignment)| {
                let items = self.prepared.survey(place, *task).count;
                let planned = items * self.prepared.spec.trials as usize;
                self.answered(&name, assignment.id()) < planned
            })
            .map(|(task, _)| task)
            .collect()
    }

    /// Whether anything is asked of the model at this place.
    fn asks(&self, place: usize) -> bool {
        let tasks = 0..self.prepared.assignments.len();
        tasks
            .into_iter()
            .any(|task| self.prepared.survey(place, task).count > 0)
    }

    fn answered(&self, model: &str, task: &str) -> usize {
        let key = (model.to_owned(), task.to_owned());
        self.answered.get(&key).copied().unwrap_or(0)
    }

    fn settings(&self, model: &ModelRef) -> ModelSettings {
        let settings = self.prepared.spec.model_settings();
        match &self.batches {
            Some(folder) => batch::settings(self.prepared.lab, model, &settings, folder),
            None => settings,
        }
    }

    /// Asks a model what its answers leave most open, in turns, until enough is known. Every turn is in the log of
    /// turns before it is asked, so that a run that was stopped in the middle of one goes on with it.
    fn choose(&mut self, bank: &Bank, model: &str, subject: &dyn Model) -> Result<(), RunError> {
        let alone = self.prepared.lab.service(&subject.card().model).is_some();
        let mut course = bank.course(self.folder, model, if alone { 1 } else { LOCAL_TURN })?;
        self.events.observe(&Event::TaskStarted {
            model,
            task: ADAPTIVE,
            planned: bank.most(),
            already: course.landed.len(),
        })?;
        while let Some(turn) = course.next_turn(self.prepared.spec.seed)? {
            for (task, items) in bank.by_task(&turn) {
                let survey = Survey {
                    count: items.len(),
                    available: items.len(),
                    ..Survey::default()
                };
                self.task(model, subject, task, (&survey, Some(&items)))?;
            }
            course.take_in(self.folder)?;
        }
        self.events.observe(&Event::TaskFinished {
            model,
            task: ADAPTIVE,
        })?;
        Ok(())
    }

    /// Asks a model the task at a place of the specification: what a survey chose, or the items given.
    fn task(
        &mut self,
        model: &str,
        subject: &dyn Model,
        task: usize,
        (survey, given): (&Survey, Option<&[Item]>),
    ) -> Result<(), RunError> {
        let prepared = self.prepared;
        let spec = &prepared.spec;
        let assignment = &prepared.assignments[task];
        let id = assignment.id();
        let finished = &self.finished;
        let execution = Execution {
            participants: Participants {
                subject,
                judge: match spec.judge {
                    JudgeChoice::Subject => Some(subject),
                    JudgeChoice::None | JudgeChoice::Model(_) => self.judge.as_deref(),
                },
            },
            task: assignment.task,
            settings: &assignment.settings,
            data: prepared.lab.source(),
            survey,
            given,
            trials: spec.trials,
            seed: spec.seed,
            finished: &|item, trial| finished.contains(&SampleId::new(model, id, item, trial)),
            already: self.answered(model, id),
            stop: self.stop,
            pace: match self.batches {
                // A batch takes what fits into it at once, and nothing waits for an answer meanwhile.
                Some(_) => Pace {
                    window: 50_000,
                    in_flight: 100_000,
                    bytes: 1 << 30,
                    ..Pace::default()
                },
                None => Pace::default(),
            },
        };
        let mut recorder = Recorder::new(self.folder);
        if let Some(label) = &self.label {
            recorder = recorder.labelling(label.clone());
        }
        // Of a turn of an adaptive test the display hears no more than its samples.
        let mut within = Within(&mut *self.events);
        let events: &mut dyn EventObserver = match given {
            Some(_) => &mut within,
            None => within.0,
        };
        let ended = execute(
            &execution,
            &mut self.answers,
            &mut Both(&mut recorder, &mut Both(&mut self.spending, events)),
        );
        self.spending.note()?;
        match ended {
            // The other tasks are submitted too before we leave.
            Err(EngineError::Stopped(e))
                if self.batches.is_some() && e.kind == ErrorKind::Interrupted =>
            {
                let error = EngineError::Stopped(e);
                let note = format!("{}  {id}: {error}", spec.execution.called(model));
                self.events.observe(&Event::Note(&note))?;
                self.waiting = Some(error);
                Ok(())
            }
            ended => Ok(ended?),
        }
    }
}

/// A reader that does not hear where tasks begin and end.
struct Within<'a>(&'a mut dyn EventObserver);

impl EventObserver for Within<'_> {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), mary_contract::StoreError> {
        match event {
            Event::TaskStarted { .. } | Event::TaskFinished { .. } => Ok(()),
            other => self.0.observe(other),
        }
    }
}

/// A model that was opened ahead; one that had no room is opened again when the other is gone.
fn arrived_model(
    wanted: &ModelRef,
    arrived: Result<Result<Box<dyn Model>, mary_contract::ModelError>, crate::BrokenDown>,
) -> Result<Option<Box<dyn Model>>, RunError> {
    match arrived {
        Ok(Ok(model)) => Ok(Some(model)),
        Ok(Err(error)) if error.kind == ErrorKind::OutOfMemory => Ok(None),
        Ok(Err(error)) => Err(error.into()),
        Err(broken) => {
            let message = format!("{wanted}: {broken}");
            Err(mary_contract::ModelError::new(ErrorKind::Internal, message).into())
        }
    }
}

/// Answers that stand in the log are not given to other items that ask the same.
fn pass_over_used(paid: &mut PaidAnswers, folder: &RunFolder) -> Result<(), RunError> {
    if paid.is_empty() {
        return Ok(());
    }
    for sample in folder.samples()? {
        let sample = sample?;
        // What failed is asked again, and what was answered of it need not be.
        if !matches!(sample.judgement.outcome, Outcome::Failed(_)) {
            sample.exchanges.iter().for_each(|e| paid.used(&e.key));
        }
    }
    Ok(())
}

/// Answered samples of each model and task in the log.
fn answered_parts(folder: &RunFolder) -> Result<Parts, RunError> {
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
