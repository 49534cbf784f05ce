//! Work on a thread of its own while the calling thread listens for Ctrl-C.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mary_contract::{ErrorKind, Job, ModelError, Reply, Ticket, WorkQueue};
use pyo3::prelude::*;

use crate::trouble::{exception, interrupted};

/// How often signals are looked for.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Does the work without the interpreter's lock. The first Ctrl-C sets the flag and waits; the second also
/// interrupts Python code that answers for a model (`mary._serve`).
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> anyhow::Result<T> + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (send, receive) = channel();
    let flag = Arc::clone(&stop);
    let worker = std::thread::Builder::new()
        .name("mary".into())
        .spawn(move || {
            // Nobody is there to hear it only where the interpreter is going down.
            let _ = send.send(work(&flag));
        })?;
    let receive = Mutex::new(receive);
    let mut pressed: Option<PyErr> = None;
    loop {
        let heard = py.detach(|| {
            let receive = receive.lock().unwrap_or_else(PoisonError::into_inner);
            receive.recv_timeout(LOOK_UP)
        });
        match heard {
            Ok(result) => {
                let _ = py.detach(|| worker.join());
                return match (result, pressed) {
                    (Ok(value), None) => Ok(value),
                    // The work was done before the flag was seen: what was pressed counts all the same.
                    (Ok(_), Some(signal)) => Err(signal),
                    (Err(error), None) => Err(crate::raised(py, &error)),
                    (Err(error), Some(signal)) => {
                        let stopped = interrupted(py, &error);
                        stopped.set_cause(py, Some(signal));
                        Err(stopped)
                    }
                };
            }
            Err(RecvTimeoutError::Disconnected) => {
                let message = "the thread that did the work broke down; this is a bug";
                return Err(exception(py, "internal", message, None, None));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    stop.store(true, Ordering::Relaxed);
                    mary::library::stop_waiting();
                    if pressed.is_some() {
                        py.import("mary._serve")?.call_method0("interrupt")?;
                    }
                    pressed = Some(signal);
                }
            }
        }
    }
}

/// Requests in order, and the answers in the same order.
pub(crate) struct ListQueue<'a, Q, A> {
    waiting: VecDeque<(u64, Q)>,
    answers: Vec<Option<A>>,
    trouble: Option<ModelError>,
    stop: &'a AtomicBool,
}

impl<'a, Q, A> ListQueue<'a, Q, A> {
    pub(crate) fn new(requests: Vec<Q>, stop: &'a AtomicBool) -> Self {
        Self {
            answers: requests.iter().map(|_| None).collect(),
            waiting: (0..).zip(requests).collect(),
            trouble: None,
            stop,
        }
    }

    /// All answers, or the first thing that went wrong.
    pub(crate) fn finish(self) -> anyhow::Result<Vec<A>> {
        if let Some(error) = self.trouble {
            return Err(error.into());
        }
        let interrupted = || {
            let message = "stopped before everything was answered";
            ModelError::new(ErrorKind::Interrupted, message)
        };
        let answers = self.answers.into_iter();
        Ok(answers
            .map(|a| a.ok_or_else(interrupted))
            .collect::<Result<_, _>>()?)
    }
}

impl<Q, A> WorkQueue<Q, A> for ListQueue<'_, Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        if self.stopping() || self.trouble.is_some() {
            return None;
        }
        let (n, request) = self.waiting.pop_front()?;
        Some(Job {
            ticket: Ticket(n),
            request,
        })
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        let place = usize::try_from(ticket.0).unwrap_or(usize::MAX);
        match answer {
            Ok(reply) => {
                if let Some(slot) = self.answers.get_mut(place) {
                    *slot = Some(reply.answer);
                }
            }
            Err(error) => {
                self.trouble.get_or_insert(error);
                return ControlFlow::Break(());
            }
        }
        if self.stopping() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn stopping(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
