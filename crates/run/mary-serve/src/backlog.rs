//! Requests that wait for a model, and the thread that serves them. Clients take turns: who sends a thousand requests
//! at once does not keep out who sends one.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mary_contract::{ErrorKind, Job, ModelError, Reply, Ticket, WorkQueue};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Before work begins on the first request of a lull, so that those sent together are computed together.
const GATHER: Duration = Duration::from_millis(1);
/// Requests of one model and kind that wait, at most, and the bytes of their texts.
const MOST_WAITING: usize = 8_192;
const MOST_BYTES: usize = 256 << 20;

/// What a client hears about its request.
pub(crate) enum Told<A> {
    /// The answer has grown by these words.
    Words(String),
    /// The token ids of the finished answer.
    Ids(Vec<u32>),
    Done(Box<Result<Reply<A>, ModelError>>),
}

struct Waiting<Q, A> {
    request: Q,
    bytes: usize,
    client: UnboundedSender<Told<A>>,
}

struct State<Q, A> {
    /// By client, the one whose turn it is first.
    waiting: VecDeque<(u64, VecDeque<Waiting<Q, A>>)>,
    count: usize,
    bytes: usize,
    under_way: HashMap<Ticket, UnboundedSender<Told<A>>>,
    next: u64,
    ending: bool,
}

impl<Q, A> State<Q, A> {
    fn is_full_for(&self, bytes: usize) -> bool {
        self.count >= MOST_WAITING || self.bytes + bytes > MOST_BYTES
    }

    /// Who has gone keeps nobody else out.
    fn forget(&mut self) {
        for (_, all) in &mut self.waiting {
            all.retain(|waiting| !waiting.client.is_closed());
        }
        self.waiting.retain(|(_, all)| !all.is_empty());
        let left = self.waiting.iter().flat_map(|(_, all)| all);
        (self.count, self.bytes) = left.fold((0, 0), |sum, w| (sum.0 + 1, sum.1 + w.bytes));
    }
}

pub(crate) struct Backlog<Q, A> {
    state: Mutex<State<Q, A>>,
    arrived: Condvar,
}

/// The model is asked for more than it can take in.
pub(crate) struct Overloaded;

impl<Q: Send + 'static, A: Send + 'static> Backlog<Q, A> {
    /// A backlog and the thread that hands it to `serve` whenever something waits.
    pub fn start(
        name: &str,
        serve: impl Fn(&mut dyn WorkQueue<Q, A>) + Send + 'static,
    ) -> std::io::Result<(Arc<Self>, JoinHandle<()>)> {
        let backlog = Arc::new(Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                count: 0,
                bytes: 0,
                under_way: HashMap::new(),
                next: 0,
                ending: false,
            }),
            arrived: Condvar::new(),
        });
        let shared = Arc::clone(&backlog);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            while shared.wait() {
                std::thread::sleep(GATHER);
                let served = catch_unwind(AssertUnwindSafe(|| serve(&mut Serving(&shared))));
                if served.is_err() {
                    shared.give_up();
                }
            }
        })?;
        Ok((backlog, thread))
    }

    fn lock(&self) -> MutexGuard<'_, State<Q, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request; false when none will come.
    fn wait(&self) -> bool {
        let mut state = self.lock();
        while state.count == 0 {
            if state.ending {
                return false;
            }
            let woken = self.arrived.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    pub fn ask(
        &self,
        client: u64,
        request: Q,
        bytes: usize,
    ) -> Result<UnboundedReceiver<Told<A>>, Overloaded> {
        let mut state = self.lock();
        if state.is_full_for(bytes) {
            state.forget();
            if state.is_full_for(bytes) {
                return Err(Overloaded);
            }
        }
        let (send, receive) = unbounded_channel();
        let waiting = Waiting {
            request,
            bytes,
            client: send,
        };
        state.count += 1;
        state.bytes += bytes;
        match state.waiting.iter_mut().find(|(who, _)| *who == client) {
            Some((_, all)) => all.push_back(waiting),
            None => state.waiting.push_back((client, [waiting].into())),
        }
        drop(state);
        self.arrived.notify_one();
        Ok(receive)
    }

    /// Requests that wait, and those under way.
    pub fn load(&self) -> (usize, usize) {
        let mut state = self.lock();
        state.forget();
        (state.count, state.under_way.len())
    }

    /// The thread ends once nothing waits.
    pub fn end(&self) {
        self.lock().ending = true;
        self.arrived.notify_one();
    }

    /// Answers what was under way when the model failed as a whole.
    fn give_up(&self) {
        let all = std::mem::take(&mut self.lock().under_way);
        for client in all.into_values() {
            let error = ModelError::new(ErrorKind::Internal, "the model broke off");
            let _ = client.send(Told::Done(Box::new(Err(error))));
        }
    }
}

struct Serving<'a, Q, A>(&'a Backlog<Q, A>);

impl<Q: Send + 'static, A: Send + 'static> WorkQueue<Q, A> for Serving<'_, Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        let mut state = self.0.lock();
        loop {
            let (who, mut all) = state.waiting.pop_front()?;
            let first = all.pop_front();
            if !all.is_empty() {
                state.waiting.push_back((who, all));
            }
            let Some(first) = first else { continue };
            state.count -= 1;
            state.bytes -= first.bytes;
            // Nothing is computed for who has gone.
            if first.client.is_closed() {
                continue;
            }
            let ticket = Ticket(state.next);
            state.next += 1;
            state.under_way.insert(ticket, first.client);
            return Some(Job {
                ticket,
                request: first.request,
            });
        }
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        let client = self.0.lock().under_way.remove(&ticket);
        if let Some(client) = client {
            let _ = client.send(Told::Done(Box::new(answer)));
        }
        ControlFlow::Continue(())
    }

    fn writing(&mut self, ticket: Ticket, words: &str) {
        if let Some(client) = self.0.lock().under_way.get(&ticket) {
            let _ = client.send(Told::Words(words.to_owned()));
        }
    }

    fn written(&mut self, ticket: Ticket, tokens: &[u32]) {
        if let Some(client) = self.0.lock().under_way.get(&ticket) {
            let _ = client.send(Told::Ids(tokens.to_vec()));
        }
    }

    fn joins(&self) -> bool {
        true
    }

    fn forgotten(&mut self, ticket: Ticket) -> bool {
        let state = self.0.lock();
        let client = state.under_way.get(&ticket);
        client.is_none_or(UnboundedSender::is_closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Serves one request at a time, in the order in which the queue gives them, once the gate opens.
    fn started(gate: mpsc::Receiver<()>) -> (Arc<Backlog<u32, u32>>, JoinHandle<()>) {
        let gate = Mutex::new(gate);
        let serve = move |queue: &mut dyn WorkQueue<u32, u32>| {
            let _ = gate.lock().unwrap().recv();
            let mut place = 0;
            while let Some(job) = queue.next() {
                assert_ne!(job.request, 13, "a fault of the model");
                place += 1;
                let _ = queue.answer(job.ticket, Ok(Reply::bare(place)));
            }
        };
        Backlog::start("test", serve).unwrap()
    }

    fn place(receiver: &mut UnboundedReceiver<Told<u32>>) -> Result<u32, ModelError> {
        match receiver.blocking_recv() {
            Some(Told::Done(done)) => done.map(|reply| reply.answer),
            _ => panic!("no answer"),
        }
    }

    #[test]
    fn clients_take_turns_and_those_who_left_cost_nothing() {
        let (open, gate) = mpsc::channel();
        let (backlog, thread) = started(gate);
        let ask = |client, request| backlog.ask(client, request, 10).ok().unwrap();
        let mut many: Vec<_> = (0..100).map(|i| ask(1, i + 100)).collect();
        let gone = ask(2, 1);
        let mut one = ask(3, 2);
        assert_eq!(backlog.load().0, 102);
        drop(gone);
        assert_eq!(backlog.load().0, 101);
        let full = Vec::from_iter((101..MOST_WAITING).map(|_| ask(4, 3)));
        assert!(backlog.ask(5, 4, 10).is_err());
        drop(full);
        drop(backlog.ask(5, 4, 10).ok().unwrap());
        open.send(()).unwrap();
        assert!(place(&mut one).unwrap() <= 2);
        let places: Vec<u32> = many.iter_mut().map(|r| place(r).unwrap()).collect();
        assert!(places.is_sorted() && *places.last().unwrap() == 101);
        backlog.end();
        drop(open);
        thread.join().unwrap();
    }

    #[test]
    fn too_much_is_refused_and_a_fault_is_an_answer() {
        let (open, gate) = mpsc::channel();
        let (backlog, _) = started(gate);
        assert!(backlog.ask(1, 0, MOST_BYTES + 1).is_err());
        let mut broken = backlog.ask(1, 13, 0).ok().unwrap();
        open.send(()).unwrap();
        assert_eq!(place(&mut broken).unwrap_err().kind, ErrorKind::Internal);
        let mut next = backlog.ask(1, 5, 0).ok().unwrap();
        open.send(()).unwrap();
        assert_eq!(place(&mut next).unwrap(), 1);
    }
}
