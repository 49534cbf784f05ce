//! A queue with a list of requests on it, for asking a model directly.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use mary_contract::{ErrorKind, Job, ModelError, Reply, Ticket, WorkQueue};

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
