//! Serving a desk: the contract's side is a plain thread that takes questions and hands back
//! answers; the other side is a crowd of requests in a runtime of our own.

use std::future::Future;
use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};

use mary_contract::{Desk, ErrorKind, ModelError, Reply, Ticket};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

/// One runtime for all remote models. Requests wait far more than they work: two threads do.
static RUNTIME: LazyLock<Result<Runtime, String>> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("mary-http")
        .enable_all()
        .build()
        .map_err(|e| e.to_string())
});

/// The runtime's handle.
pub fn runtime() -> Result<&'static Handle, ModelError> {
    match &*RUNTIME {
        Ok(runtime) => Ok(runtime.handle()),
        Err(error) => Err(ModelError::new(
            ErrorKind::Internal,
            format!("no threads for HTTP: {error}"),
        )),
    }
}

/// Runs a future to its end from a plain thread (also from one that belongs to another runtime).
pub fn wait<T: Send + 'static>(
    future: impl Future<Output = Result<T, ModelError>> + Send + 'static,
) -> Result<T, ModelError> {
    let (send, receive) = channel();
    runtime()?.spawn(async move {
        // Nobody listening any more is no error.
        let _ = send.send(future.await);
    });
    receive.recv().unwrap_or_else(|_| Err(lost()))
}

fn lost() -> ModelError {
    ModelError::new(
        ErrorKind::Internal,
        "a request ended without an answer; this is a fault of ours",
    )
}

type Answered<A> = (Ticket, Result<Reply<A>, ModelError>);

/// Hands in exactly one answer for its ticket, whatever happens to the task that holds it.
struct Slip<A> {
    ticket: Ticket,
    send: Option<Sender<Answered<A>>>,
}

impl<A> Slip<A> {
    fn hand_in(mut self, answer: Result<Reply<A>, ModelError>) {
        if let Some(send) = self.send.take() {
            // Nobody listening any more: the desk broke off.
            let _ = send.send((self.ticket, answer));
        }
    }
}

impl<A> Drop for Slip<A> {
    fn drop(&mut self) {
        if let Some(send) = self.send.take() {
            let _ = send.send((self.ticket, Err(lost())));
        }
    }
}

/// Serves the desk until it is empty. `appetite` says how many questions may be held at once, `run`
/// answers one.
pub fn serve<Q, A, F>(
    desk: &mut dyn Desk<Q, A>,
    appetite: impl Fn() -> usize,
    mut run: impl FnMut(Q) -> F,
) where
    A: Send + 'static,
    F: Future<Output = Result<Reply<A>, ModelError>> + Send + 'static,
{
    let handle = match runtime() {
        Ok(handle) => handle,
        Err(error) => {
            while let Some(job) = desk.next() {
                if desk.answer(job.ticket, Err(error.clone())).is_break() {
                    return;
                }
            }
            return;
        }
    };
    let (send, receive) = channel::<Answered<A>>();
    // Dropping the set (when the desk breaks off) ends what is still under way.
    let mut tasks = JoinSet::new();
    let mut held = 0usize;
    loop {
        let mut empty = false;
        while held < appetite().max(1) {
            let Some(job) = desk.next() else {
                empty = true;
                break;
            };
            let slip = Slip {
                ticket: job.ticket,
                send: Some(send.clone()),
            };
            let answer = run(job.request);
            tasks.spawn_on(
                async move {
                    let slip = slip;
                    let answer = answer.await;
                    slip.hand_in(answer);
                },
                handle,
            );
            held += 1;
        }
        if held == 0 && empty {
            return;
        }
        let Ok(first) = receive.recv() else { return };
        for (ticket, answer) in std::iter::once(first).chain(receive.try_iter()) {
            held -= 1;
            if let ControlFlow::Break(()) = desk.answer(ticket, answer) {
                return;
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}
