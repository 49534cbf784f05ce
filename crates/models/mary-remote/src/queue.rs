//! Serving a queue: the contract's side is a plain thread that takes questions and hands back
//! answers; the other side is a crowd of requests in a runtime of our own.

use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use mary_contract::{ErrorKind, ModelError, Reply, Ticket, WorkQueue};
use mary_platform::notice;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

use crate::flow::Flow;
use crate::options::Result;
use crate::stream::Listener;

/// One runtime for all remote models. Requests wait far more than they work: two threads do.
static RUNTIME: LazyLock<Result<Runtime, String>> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("mary-http")
        .enable_all()
        .build()
        .map_err(|e| e.to_string())
});

fn runtime() -> Result<&'static Handle> {
    match &*RUNTIME {
        Ok(runtime) => Ok(runtime.handle()),
        Err(error) => Err(ModelError::new(
            ErrorKind::Internal,
            format!("no threads for HTTP: {error}"),
        )),
    }
}

/// Runs a future to its end. In a thread of its own, since the caller's may belong to another runtime, which
/// does not let it wait.
pub(crate) fn wait<T: Send>(future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let handle = runtime()?;
    let ended = std::thread::scope(|scope| scope.spawn(|| handle.block_on(future)).join());
    ended.unwrap_or_else(|_| Err(lost()))
}

fn lost() -> ModelError {
    let message = "a request ended without an answer; this is a fault of ours";
    ModelError::new(ErrorKind::Internal, message)
}

enum Said<A> {
    Words(String),
    Answer(Result<Reply<A>>),
}

type Answered<A> = (Ticket, Said<A>);

/// Hands in exactly one answer for its ticket, whatever happens to the task that holds it.
struct Slip<A> {
    ticket: Ticket,
    send: Sender<Answered<A>>,
    answer: Option<Result<Reply<A>>>,
}

impl<A> Slip<A> {
    fn hand_in(mut self, answer: Result<Reply<A>>) {
        self.answer = Some(answer);
    }
}

impl<A> Drop for Slip<A> {
    fn drop(&mut self) {
        let answer = self.answer.take().unwrap_or_else(|| Err(lost()));
        // Nobody listening any more: the queue broke off.
        let _ = self.send.send((self.ticket, Said::Answer(answer)));
    }
}

/// How often a queue is asked whether the run is stopping while answers are awaited.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) struct Serving<'a> {
    pub(crate) flow: &'a Flow,
    /// Somebody looks on while answers are written.
    pub(crate) watched: bool,
    /// How long answers under way are waited for when the run stops.
    pub(crate) stop_wait: Duration,
}

/// Serves the queue until it is empty. `run` answers one question; where somebody watches, it gets a
/// listener for the words as they come.
///
/// When the run stops, by a signal or by an error that every further request would meet, nothing
/// more leaves, and what is under way, which is paid for, is waited for and handed in.
pub(crate) fn serve<Q, A, F>(
    queue: &mut dyn WorkQueue<Q, A>,
    serving: &Serving<'_>,
    mut run: impl FnMut(Q, Option<Listener>) -> F,
) where
    A: Send + 'static,
    F: Future<Output = Result<Reply<A>>> + Send + 'static,
{
    let handle = match runtime() {
        Ok(handle) => handle,
        Err(error) => {
            while let Some(job) = queue.next() {
                if queue.answer(job.ticket, Err(error.clone())).is_break() {
                    break;
                }
            }
            return;
        }
    };
    serving.flow.stop(false);
    let (send, receive) = channel::<Answered<A>>();
    // Dropping the set ends what is still under way.
    let mut tasks = JoinSet::new();
    let mut held = 0usize;
    loop {
        let mut empty = false;
        while held < serving.flow.wanted_in_flight().max(1) {
            let Some(job) = queue.next() else {
                empty = true;
                break;
            };
            let slip = Slip {
                ticket: job.ticket,
                send: send.clone(),
                answer: None,
            };
            let listener = serving.watched.then(|| {
                let (ticket, send) = (job.ticket, send.clone());
                Listener::new(move |words| drop(send.send((ticket, Said::Words(words)))))
            });
            let answer = run(job.request, listener);
            tasks.spawn_on(async move { slip.hand_in(answer.await) }, handle);
            held += 1;
        }
        if held == 0 && empty {
            return;
        }
        let first = loop {
            match receive.recv_timeout(LOOK) {
                Ok(first) => break first,
                Err(RecvTimeoutError::Timeout) if queue.stopping() => {
                    return drain(queue, serving, &receive, held);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        };
        for (ticket, said) in std::iter::once(first).chain(receive.try_iter()) {
            let answer = match said {
                Said::Answer(answer) => answer,
                Said::Words(words) => {
                    queue.writing(ticket, &words);
                    continue;
                }
            };
            held -= 1;
            if let ControlFlow::Break(()) = queue.answer(ticket, answer) {
                return drain(queue, serving, &receive, held);
            }
        }
        if queue.stopping() {
            return drain(queue, serving, &receive, held);
        }
        while tasks.try_join_next().is_some() {}
    }
}

/// Lets nothing more out and hands in what is under way, as long as the user allows.
fn drain<Q, A>(
    queue: &mut dyn WorkQueue<Q, A>,
    serving: &Serving<'_>,
    receive: &Receiver<Answered<A>>,
    mut held: usize,
) {
    serving.flow.stop(true);
    let until = Instant::now() + serving.stop_wait;
    let mut said = false;
    while held > 0 {
        let left = until.saturating_duration_since(Instant::now());
        // Those who only waited for their turn come back at once; the rest is worth a word.
        match receive.recv_timeout(left.min(LOOK)) {
            Ok((ticket, Said::Words(words))) => queue.writing(ticket, &words),
            Ok((ticket, Said::Answer(answer))) => {
                held -= 1;
                // The queue has had enough of questions and troubles, not of answers.
                if answer.is_ok() {
                    let _ = queue.answer(ticket, answer);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                notice(&format!(
                    "{held} answers under way did not come within {} s; they may be asked and paid for again",
                    serving.stop_wait.as_secs()
                ));
                return;
            }
            Err(RecvTimeoutError::Timeout) => {
                if !std::mem::replace(&mut said, true) {
                    notice(&format!(
                        "waiting up to {} s for {held} answers under way (--model-arg stop_wait=SECONDS)",
                        serving.stop_wait.as_secs()
                    ));
                }
            }
        }
    }
}
