//! Carries an item's questions to the models and the answers to the judge.
//!
//! Memory is bounded: at most [`Pace::in_flight`] items (and [`Pace::bytes`] of questions) are on their way
//! at once. One failed item never stops the run; a fatal error stops it so that the same command continues.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use mary_contract::{
    Ask, Cache, ContinuationScore, DataSource, ErrorKind, Event, EventObserver, Item, Items,
    Judgement, Key, Model, ModelError, ModelRole, Reply, Request, RequestKind, Response, Sample,
    SampleId, StoreError, Task, TaskError, TaskSettings, Ticket,
};

use crate::engine::flight::{Flight, Pending};
use crate::engine::queue::RequestQueue;
use crate::engine::select::Survey;
use crate::engine::{EngineError, plan};

/// How much is on its way at once.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Items taken and ordered together.
    pub window: usize,
    /// Items on their way, at most.
    pub in_flight: usize,
    /// Bytes of their questions, at most.
    pub bytes: usize,
    /// Rounds of follow-up questions an item may ask for, so that a faulty task cannot go on forever.
    pub rounds: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            window: 8_192,
            in_flight: 16_384,
            bytes: 96 << 20,
            rounds: 64,
        }
    }
}

/// The models that take part: the subject, and a judge where the task needs one.
#[derive(Clone, Copy)]
pub struct Participants<'a> {
    /// The model under study.
    pub subject: &'a dyn Model,
    /// The judge, where there is one.
    pub judge: Option<&'a dyn Model>,
}

impl<'a> Participants<'a> {
    fn play(&self, role: ModelRole) -> Option<&'a dyn Model> {
        match role {
            ModelRole::Subject => Some(self.subject),
            ModelRole::Judge => self.judge,
        }
    }
}

/// One model on one task.
pub struct Execution<'a> {
    /// Who answers: the subject, and a judge where there is one.
    pub participants: Participants<'a>,
    /// The task that is asked.
    pub task: &'a dyn Task,
    /// Its settings.
    pub settings: &'a TaskSettings,
    /// Where upstream files are.
    pub data: &'a dyn DataSource,
    /// Which of its items are asked.
    pub survey: &'a Survey,
    /// The items themselves, where they were read already; then all of these are asked.
    pub given: Option<&'a [Item]>,
    /// Times each item is asked.
    pub trials: u32,
    /// Seed of sampled answers.
    pub seed: u64,
    /// Whether an item's trial is already in the log.
    pub finished: &'a dyn Fn(&str, u32) -> bool,
    /// How many are, of those that are planned.
    pub already: usize,
    /// Set by whoever interrupts the run.
    pub stop: &'a AtomicBool,
    /// How much is on its way at once.
    pub pace: Pace,
}

/// Runs it. Every sample not yet finished is announced as an event exactly once.
pub fn execute(
    execution: &Execution<'_>,
    cache: &mut dyn Cache,
    observer: &mut dyn EventObserver,
) -> Result<(), EngineError> {
    let task = execution.task.card().id.as_ref();
    let model = execution.participants.subject.card().model.to_string();
    let planned = execution.survey.count * execution.trials as usize;
    observer.observe(&Event::TaskStarted {
        model: &model,
        task,
        planned,
        already: execution.already,
    })?;
    let mut state = ExecutionState::new(execution, model.clone(), cache, observer)?;
    let result = match state.run() {
        Err(EngineError::Interrupted) => {
            // Answers that wait for their judge go to the log, as failed: they can be seen, and their judge is
            // asked when the run goes on.
            let mut unjudged = state.flight.unjudged().into_iter();
            unjudged
                .try_for_each(|slot| state.land(slot, &[]))
                .and(Err(EngineError::Interrupted))
        }
        other => other,
    };
    // Answers that arrived before a stop are kept whatever happened.
    let flushed = state.cache.flush();
    result?;
    flushed?;
    observer.observe(&Event::TaskFinished {
        model: &model,
        task,
    })?;
    Ok(())
}

/// Kinds of questions in the order they are served.
const KINDS: [(ModelRole, RequestKind); 6] = [
    (ModelRole::Subject, RequestKind::Score),
    (ModelRole::Subject, RequestKind::Observe),
    (ModelRole::Subject, RequestKind::Generate),
    (ModelRole::Judge, RequestKind::Score),
    (ModelRole::Judge, RequestKind::Observe),
    (ModelRole::Judge, RequestKind::Generate),
];

fn place_of(role: ModelRole, kind: RequestKind) -> usize {
    let role = usize::from(role == ModelRole::Judge) * 3;
    role + match kind {
        RequestKind::Score => 0,
        RequestKind::Observe => 1,
        RequestKind::Generate => 2,
    }
}

/// The state of one execution: everything between the task's items and the finished samples.
pub(crate) struct ExecutionState<'a, 'b> {
    run: &'a Execution<'a>,
    model: String,
    cache: &'b mut dyn Cache,
    observer: &'b mut dyn EventObserver,
    items: Items,
    index: usize,
    /// The item whose later trials are still to be admitted.
    repeat: Option<(Item, u32)>,
    exhausted: bool,
    flight: Flight,
    queues: [VecDeque<Ticket>; 6],
    fault: Option<EngineError>,
}

impl<'a, 'b> ExecutionState<'a, 'b> {
    fn new(
        run: &'a Execution<'a>,
        model: String,
        cache: &'b mut dyn Cache,
        observer: &'b mut dyn EventObserver,
    ) -> Result<Self, EngineError> {
        let items: Items = match run.given {
            Some(items) => Box::new(Vec::from(items).into_iter().map(Ok)),
            None => run
                .task
                .items(run.settings, run.data)
                .map_err(|e| task_error(run.task, e))?,
        };
        Ok(Self {
            run,
            model,
            cache,
            observer,
            items,
            index: 0,
            repeat: None,
            exhausted: false,
            flight: Flight::default(),
            queues: Default::default(),
            fault: None,
        })
    }

    fn run(&mut self) -> Result<(), EngineError> {
        loop {
            // A backend that hears of the stop first comes back without having asked for more.
            if !self.stopping() && self.queues.iter().all(VecDeque::is_empty) {
                self.admit_window();
            }
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            let mut served = false;
            for (role, kind) in KINDS {
                if self.queues[place_of(role, kind)].is_empty() {
                    continue;
                }
                served = true;
                self.serve(role, kind);
                if let Some(fault) = self.fault.take() {
                    return Err(fault);
                }
            }
            if !served && self.exhausted && self.flight.len() == 0 {
                return Ok(());
            }
        }
    }

    /// Lets one model answer one kind of question until none is left.
    fn serve(&mut self, role: ModelRole, kind: RequestKind) {
        let model = self.run.participants.play(role);
        let mut queue = RequestQueue::new(self, place_of(role, kind));
        let able = match kind {
            RequestKind::Score => model
                .and_then(|m| m.scorer())
                .map(|m| m.score(&mut queue))
                .is_some(),
            RequestKind::Observe => model
                .and_then(|m| m.observer())
                .map(|m| m.observe(&mut queue))
                .is_some(),
            RequestKind::Generate => model
                .and_then(|m| m.generator())
                .map(|m| m.generate(&mut queue))
                .is_some(),
        };
        let taken = queue.into_unanswered();
        if self.fault.is_some() {
            return;
        }
        let message = if able {
            "the backend took this question and did not answer it; this is a bug in Mary"
        } else {
            "no model in this run can answer this kind of question"
        };
        let left = if able {
            Vec::new()
        } else {
            self.queues[place_of(role, kind)].drain(..).collect()
        };
        for ticket in taken.into_iter().chain(left) {
            let error = ModelError::new(ErrorKind::Internal, message);
            if self.take_answer(ticket, Err(error)).is_break() {
                return;
            }
        }
    }

    /// The next question of a kind, if there is one now.
    pub(crate) fn next_ticket(&mut self, place: usize) -> Option<(Ticket, Request)> {
        loop {
            if self.stopping() {
                return None;
            }
            if let Some(ticket) = self.queues[place].pop_front() {
                let request = self.flight.peek(ticket).map(|ask| ask.request.clone())?;
                return Some((ticket, request));
            }
            let pace = &self.run.pace;
            let room = self.flight.len() + pace.window <= pace.in_flight
                && self.flight.weight() < pace.bytes;
            if self.exhausted || !room {
                return None;
            }
            self.admit_window();
        }
    }

    /// An answer grows; whoever looks is told, and a run does not end because nobody could be.
    pub(crate) fn writing(&mut self, words: &str) {
        let _ = self.observer.observe(&Event::Writing(words));
    }

    /// Whether to ask nothing more (interrupted, or a fatal error). Answers under way are still taken.
    pub(crate) fn stopping(&mut self) -> bool {
        if self.run.stop.load(Ordering::Relaxed) {
            self.fault.get_or_insert(EngineError::Interrupted);
        }
        self.fault.is_some()
    }

    /// Takes a window of items in: the cache answers what it knows, the rest is queued in the planned order.
    fn admit_window(&mut self) {
        let mut fresh = Vec::new();
        let mut bytes = 0;
        while fresh.len() < self.run.pace.window && bytes < self.run.pace.bytes / 2 {
            match self.next_item() {
                Ok(Some((item, trial))) => match self.admit(item, trial) {
                    Ok(slot) => {
                        bytes += self.flight.get(slot).map_or(0, |p| p.weight);
                        fresh.push(slot);
                    }
                    Err(error) => return self.fail(error),
                },
                Ok(None) => {
                    self.exhausted = true;
                    break;
                }
                Err(error) => return self.fail(error),
            }
        }
        let questions: Vec<(u64, usize)> = fresh
            .iter()
            .filter_map(|&slot| self.flight.get(slot).map(|p| (slot, p)))
            .flat_map(|(slot, p)| p.open_places().map(move |place| (slot, place)))
            .collect();
        self.enqueue(questions);
        for slot in fresh {
            if let Err(error) = self.settle(slot) {
                return self.fail(error);
            }
        }
    }

    /// Queues questions in the order in which their beginnings share most.
    fn enqueue(&mut self, questions: Vec<(u64, usize)>) {
        let order = {
            let requests: Vec<&Request> = questions
                .iter()
                .filter_map(|&(slot, place)| self.flight.get(slot)?.asked.get(place))
                .map(|(_, ask)| &ask.request)
                .collect();
            plan::order(&requests)
        };
        for index in order {
            let Some(&(slot, place)) = questions.get(index) else {
                continue;
            };
            let Some((_, ask)) = self.flight.get(slot).and_then(|p| p.asked.get(place)) else {
                continue;
            };
            let queue = place_of(ask.role, ask.request.kind());
            let ticket = self.flight.ticket(slot, place);
            self.queues[queue].push_back(ticket);
        }
    }

    /// The next chosen item and trial that is not finished.
    fn next_item(&mut self) -> Result<Option<(Item, u32)>, EngineError> {
        loop {
            if let Some((item, trial)) = self.repeat.take() {
                if trial + 1 < self.run.trials {
                    self.repeat = Some((item.clone(), trial + 1));
                }
                if (self.run.finished)(&item.id, trial) {
                    continue;
                }
                return Ok(Some((item, trial)));
            }
            let Some(item) = self.items.next() else {
                return Ok(None);
            };
            let item = item.map_err(|e| task_error(self.run.task, e))?;
            let index = self.index;
            self.index += 1;
            let chosen = self.run.survey.chosen.as_ref();
            if chosen.is_none_or(|chosen| chosen.contains(&index)) {
                self.repeat = Some((item, 0));
            }
        }
    }

    fn admit(&mut self, mut item: Item, trial: u32) -> Result<u64, EngineError> {
        let asks = std::mem::take(&mut item.asks);
        let mut pending = Pending {
            item,
            trial,
            asked: Vec::new(),
            answers: Vec::new(),
            weight: 256,
        };
        self.ask(&mut pending, asks)?;
        Ok(self.flight.admit(pending))
    }

    /// Adds questions to an item, answering from the cache what was answered before.
    fn ask(&mut self, pending: &mut Pending, asks: Vec<Ask>) -> Result<(), EngineError> {
        for mut ask in asks {
            self.set_seed(&mut ask.request, pending);
            let card = self.run.participants.play(ask.role).map(Model::card);
            let fingerprint = card.map_or("", |card| card.fingerprint.as_str());
            let earlier = card.and_then(|card| card.keyed_as(&ask.request));
            let key = Key::of(
                fingerprint,
                self.run.task.card(),
                pending.trial,
                earlier.as_ref().unwrap_or(&ask.request),
            )
            .map_err(|e| StoreError::Mismatch(format!("a request cannot be written: {e}")))?;
            let known = self.cache.recall(&key)?;
            if let Some(reply) = &known {
                let usage = &reply.meta.usage;
                self.observer.observe(&Event::Answered {
                    recalled: true,
                    usage,
                })?;
            }
            pending.weight += plan::weight(&ask.request);
            pending.answers.push(known.map(Ok));
            pending.asked.push((key, ask));
        }
        Ok(())
    }

    /// Sampled answers are drawn from a seed of their own, the same whenever the run is repeated.
    fn set_seed(&self, request: &mut Request, pending: &Pending) {
        let Request::Generate(generate) = request else {
            return;
        };
        if generate.sampling.temperature <= 0.0 || generate.sampling.seed.is_some() {
            return;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.run.seed.to_le_bytes());
        hasher.update(self.run.task.card().id.as_bytes());
        hasher.update(pending.item.id.as_bytes());
        hasher.update(&pending.trial.to_le_bytes());
        hasher.update(&(pending.asked.len() as u64).to_le_bytes());
        let mut first = [0u8; 4];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..4]);
        // 31 bits: some providers take nothing larger.
        generate.sampling.seed = Some(u64::from(u32::from_le_bytes(first) >> 1));
    }

    /// Takes an answer in and lets its item go on or land.
    pub(crate) fn take_answer(
        &mut self,
        ticket: Ticket,
        answer: Result<Reply, ModelError>,
    ) -> ControlFlow<()> {
        match self.try_take_answer(ticket, answer) {
            Ok(()) if self.fault.is_none() => ControlFlow::Continue(()),
            Ok(()) => ControlFlow::Break(()),
            Err(error) => {
                self.fail(error);
                ControlFlow::Break(())
            }
        }
    }

    fn try_take_answer(
        &mut self,
        ticket: Ticket,
        answer: Result<Reply, ModelError>,
    ) -> Result<(), EngineError> {
        let Some((slot, place)) = self.flight.redeem(ticket) else {
            return Ok(()); // answered before: the first answer stands
        };
        match answer.and_then(finite) {
            Err(error) if error.is_fatal() => return Err(EngineError::Stopped(error)),
            Ok(reply) => {
                let Some(pending) = self.flight.get_mut(slot) else {
                    return Ok(());
                };
                if let Some((key, _)) = pending.asked.get(place) {
                    self.cache.keep(key, &reply)?;
                }
                let usage = reply.meta.usage;
                pending.answer(place, Ok(reply));
                self.observer.observe(&Event::Answered {
                    recalled: false,
                    usage: &usage,
                })?;
            }
            Err(error) => {
                if let Some(pending) = self.flight.get_mut(slot) {
                    pending.answer(place, Err(error));
                }
            }
        }
        self.settle(slot)
    }

    /// If everything is answered: asks what follows, or judges and lets the item go.
    fn settle(&mut self, slot: u64) -> Result<(), EngineError> {
        for _ in 0..self.run.pace.rounds {
            let Some(pending) = self.flight.get(slot) else {
                return Ok(());
            };
            if !pending.is_answered() {
                return Ok(());
            }
            if pending.error().is_some() {
                return self.land(slot, &[]);
            }
            let replies = pending.replies();
            let more = self
                .run
                .task
                .follow_up(self.run.settings, &pending.item, &replies);
            let more = more.map_err(|e| task_error(self.run.task, e))?;
            if more.is_empty() {
                return self.land(slot, &replies);
            }
            let Some(mut pending) = self.flight.land(slot) else {
                return Ok(());
            };
            let before = pending.asked.len();
            self.ask(&mut pending, more)?;
            let open: Vec<usize> = pending.open_places().filter(|&p| p >= before).collect();
            self.flight.restore(slot, pending);
            self.enqueue(open.into_iter().map(|place| (slot, place)).collect());
        }
        let replies = self
            .flight
            .get(slot)
            .map(Pending::replies)
            .unwrap_or_default();
        self.land(slot, &replies)
    }

    /// Judges an item by its replies and announces it.
    fn land(&mut self, slot: u64, replies: &[Reply]) -> Result<(), EngineError> {
        let Some(pending) = self.flight.land(slot) else {
            return Ok(());
        };
        let judgement = match pending.error() {
            Some(error) => Judgement::failed(error.kind, error.message.clone()),
            None => {
                let task = self.run.task;
                let judgement = task.judge(self.run.settings, &pending.item, replies);
                if judgement.is_finite() {
                    judgement
                } else {
                    Judgement::failed(ErrorKind::NotFinite, "the verdict is not a finite number")
                }
            }
        };
        let trial = pending.trial;
        let (item, exchanges) = pending.into_exchanges();
        let id = SampleId {
            model: self.model.clone(),
            task: self.run.task.card().id.to_string(),
            item: item.id.clone(),
            trial,
        };
        let sample = Sample {
            id,
            item,
            exchanges,
            judgement,
        };
        self.observer.observe(&Event::SampleFinished(&sample))?;
        Ok(())
    }

    fn fail(&mut self, error: EngineError) {
        // A backend may hear of the user's stop first and hand questions back: it is still the user's.
        let stopped = self.run.stop.load(Ordering::Relaxed);
        let error = match error {
            EngineError::Stopped(e) if stopped && e.kind == ErrorKind::Interrupted => {
                EngineError::Interrupted
            }
            other => other,
        };
        self.fault.get_or_insert(error);
    }
}

/// A number that is not one is an error, never a score.
fn finite(reply: Reply) -> Result<Reply, ModelError> {
    let scores: &[ContinuationScore] = match &reply.answer {
        Response::Scored(scored) => &scored.continuations,
        Response::Observed(observed) => observed.scores.as_slice(),
        Response::Generated(_) => &[],
    };
    if scores
        .iter()
        .flat_map(|c| &c.logprobs)
        .all(|x| x.is_finite())
    {
        return Ok(reply);
    }
    let message = "the model gave a log-probability that is not a finite number";
    Err(ModelError::new(ErrorKind::NotFinite, message)
        .hint("load the model in f32 (--dtype f32); if it stays, the weights are damaged"))
}

fn task_error(task: &dyn Task, source: TaskError) -> EngineError {
    EngineError::Task {
        task: task.card().id.to_string(),
        source,
    }
}
