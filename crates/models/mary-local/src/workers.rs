//! One model on several devices, whose weights are opened once on each. A worker takes a round of requests
//! that stood together, so that shared beginnings are still computed once a round; rounds get smaller towards
//! the end, so that all workers end at about the same time. Only one thread touches the run's queue.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use mary_contract::{
    Generate, Generated, Generator, Intervene, Intervened, Intervener, Job, Model, ModelCard,
    ModelRef, ModelSettings, Observe, Observed, Observer, Reply, Score, Scored, Scorer, Ticket,
    Tokens, WorkQueue,
};
use mary_weights::Checkpoint;

use crate::errors::{Result, bad_request, internal};
use crate::model::LocalModel;
use crate::options::Device;

/// Requests of a round, at most.
const ROUND: usize = 4096;
/// Requests of a round, at least: fewer make poor batches.
const LEAST: usize = 64;
/// Answers kept back by a worker before they are handed in together.
const SHEAF: usize = 64;

pub fn devices(settings: &ModelSettings) -> Result<Vec<ModelSettings>> {
    let text = settings.device.as_deref();
    let names: Vec<&str> = text.unwrap_or("cpu").split(',').map(str::trim).collect();
    let all = names.iter().map(|name| Device::parse_all(Some(name)));
    Device::of_one_kind(all.collect::<Result<Vec<_>, _>>()?.concat(), text)?;
    let one = |name: &&str| ModelSettings {
        device: Some((*name).to_owned()),
        ..settings.clone()
    };
    Ok(names.iter().map(one).collect())
}

pub fn open(
    model: &ModelRef,
    checkpoint: &(dyn Fn() -> Result<Checkpoint> + Sync),
    settings: &ModelSettings,
) -> Result<Box<dyn Model>> {
    let each = devices(settings)?;
    let one = |settings| LocalModel::from_checkpoint(model.clone(), checkpoint()?, settings);
    if let [only] = each.as_slice() {
        return Ok(Box::new(one(only)?));
    }
    let opened: Result<Vec<LocalModel>> = std::thread::scope(|scope| {
        let loading: Vec<_> = each.iter().map(|s| scope.spawn(|| one(s))).collect();
        let broke = |_| Err(internal("loading broke down"));
        let loaded = loading.into_iter().map(|l| l.join().unwrap_or_else(broke));
        loaded.collect()
    });
    let members = opened?;
    let card = members.first().map(|m| m.card().clone());
    let mut card = card.ok_or_else(|| bad_request("no device is named"))?;
    let own = |m: &LocalModel| m.card().conventions.get("device").cloned();
    let places: Vec<String> = members.iter().filter_map(own).collect();
    let device = ("device".to_owned(), places.join("; "));
    card.conventions.extend([device]);
    Ok(Box::new(Workers { members, card }))
}

struct Workers {
    members: Vec<LocalModel>,
    card: ModelCard,
}

type Sheaf<A> = Vec<(Ticket, Result<Reply<A>>)>;

enum Note<A> {
    Wants,
    Gives(Sheaf<A>),
    /// Is gone, whatever it still had.
    Leaves,
}

/// The queue as one worker sees it.
struct Window<'a, Q, A> {
    worker: usize,
    notes: Sender<(usize, Note<A>)>,
    rounds: Receiver<Vec<Job<Q>>>,
    stock: VecDeque<Job<Q>>,
    /// A round is being taken; at its end the worker hears "nothing now" once.
    in_round: bool,
    sheaf: Sheaf<A>,
    stopped: &'a AtomicBool,
}

impl<Q, A> Window<'_, Q, A> {
    fn tell(&self, note: Note<A>) {
        // The queue's side lives as long as any worker; if it broke, so does `rounds`.
        let _ = self.notes.send((self.worker, note));
    }

    fn hand_in(&mut self) {
        if !self.sheaf.is_empty() {
            let sheaf = std::mem::take(&mut self.sheaf);
            self.tell(Note::Gives(sheaf));
        }
    }
}

impl<Q, A> WorkQueue<Q, A> for Window<'_, Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        if let Some(job) = self.stock.pop_front() {
            return Some(job);
        }
        if std::mem::take(&mut self.in_round) {
            return None;
        }
        self.hand_in();
        self.tell(Note::Wants);
        self.stock = self.rounds.recv().ok()?.into();
        self.in_round = !self.stock.is_empty();
        self.stock.pop_front()
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>>) -> ControlFlow<()> {
        if self.stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        self.sheaf.push((ticket, answer));
        if self.sheaf.len() >= SHEAF {
            self.hand_in();
        }
        ControlFlow::Continue(())
    }
}

impl<Q, A> Drop for Window<'_, Q, A> {
    fn drop(&mut self) {
        self.hand_in();
        self.tell(Note::Leaves);
    }
}

struct Dispatch<'d, Q, A> {
    queue: &'d mut dyn WorkQueue<Q, A>,
    rounds: Vec<Sender<Vec<Job<Q>>>>,
    stock: VecDeque<Job<Q>>,
    /// Requests each worker has and has not answered.
    held: Vec<usize>,
    /// Workers that have nothing to do until others answer.
    parked: Vec<usize>,
    stopped: &'d AtomicBool,
}

impl<Q, A> Dispatch<'_, Q, A> {
    /// The next round: a fair share of what is there now.
    fn round(&mut self) -> Vec<Job<Q>> {
        if self.stopped.load(Ordering::Relaxed) {
            return vec![];
        }
        let workers = self.rounds.len();
        while self.stock.len() < ROUND * workers {
            let Some(job) = self.queue.next() else { break };
            self.stock.push_back(job);
        }
        let fair = self.stock.len().div_ceil(workers);
        let size = fair.clamp(LEAST, ROUND).min(self.stock.len());
        self.stock.drain(..size).collect()
    }

    fn wants(&mut self, worker: usize) {
        let round = self.round();
        let waits = round.is_empty() && self.held[worker] == 0;
        if waits && self.held.iter().any(|h| *h > 0) && !self.stopped.load(Ordering::Relaxed) {
            // Answers on their way elsewhere may bring new questions.
            self.parked.push(worker);
            return;
        }
        self.held[worker] += round.len();
        let _ = self.rounds[worker].send(round);
    }

    fn gives(&mut self, worker: usize, sheaf: Sheaf<A>) {
        for (ticket, answer) in sheaf {
            self.held[worker] = self.held[worker].saturating_sub(1);
            if !self.stopped.load(Ordering::Relaxed) && self.queue.answer(ticket, answer).is_break()
            {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
    }

    fn read(&mut self, worker: usize, note: Note<A>) {
        match note {
            Note::Wants => return self.wants(worker),
            Note::Gives(sheaf) => self.gives(worker, sheaf),
            Note::Leaves => self.held[worker] = 0,
        }
        for parked in std::mem::take(&mut self.parked) {
            self.wants(parked);
        }
    }
}

fn serve<Q: Send, A: Send>(
    members: &[LocalModel],
    queue: &mut dyn WorkQueue<Q, A>,
    work: impl Fn(&LocalModel, &mut dyn WorkQueue<Q, A>) + Sync,
) {
    let stopped = AtomicBool::new(false);
    let (notes, inbox) = channel();
    std::thread::scope(|scope| {
        let mut rounds = vec![];
        for (worker, member) in members.iter().enumerate() {
            let (send, receive) = channel();
            rounds.push(send);
            let mut window = Window {
                worker,
                notes: notes.clone(),
                rounds: receive,
                stock: VecDeque::new(),
                in_round: false,
                sheaf: vec![],
                stopped: &stopped,
            };
            let work = &work;
            scope.spawn(move || work(member, &mut window));
        }
        drop(notes);
        let mut dispatch = Dispatch {
            queue,
            rounds,
            stock: VecDeque::new(),
            held: vec![0; members.len()],
            parked: vec![],
            stopped: &stopped,
        };
        for (worker, note) in inbox {
            dispatch.read(worker, note);
        }
    });
}

impl Model for Workers {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        self.members
            .first()?
            .generator()
            .map(|_| self as &dyn Generator)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        self.members.first()?.scorer().map(|_| self as &dyn Scorer)
    }

    fn observer(&self) -> Option<&dyn Observer> {
        self.members
            .first()?
            .observer()
            .map(|_| self as &dyn Observer)
    }

    fn intervener(&self) -> Option<&dyn Intervener> {
        self.members
            .first()?
            .intervener()
            .map(|_| self as &dyn Intervener)
    }

    fn tokens(&self) -> Option<&dyn Tokens> {
        self.members.first()?.tokens()
    }
}

impl Scorer for Workers {
    fn score(&self, queue: &mut dyn WorkQueue<Score, Scored>) {
        serve(&self.members, queue, |member, queue| member.score(queue));
    }
}

impl Observer for Workers {
    fn observe(&self, queue: &mut dyn WorkQueue<Observe, Observed>) {
        serve(&self.members, queue, |member, queue| member.observe(queue));
    }
}

impl Intervener for Workers {
    fn intervene(&self, queue: &mut dyn WorkQueue<Intervene, Intervened>) {
        serve(&self.members, queue, |member, queue| {
            member.intervene(queue)
        });
    }
}

impl Generator for Workers {
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        serve(&self.members, queue, |member, queue| member.generate(queue));
    }
}
