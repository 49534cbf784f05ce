//! The queue a model is served from: one kind of question, one role, over the state of the run.

use std::ops::ControlFlow;

use ahash::AHashSet;
use mary_contract::{
    ErrorKind, Generate, Generated, Job, ModelError, Observe, Observed, Reply, Request, Response,
    Score, Scored, Ticket, WorkQueue,
};

use crate::engine::execute::ExecutionState;

/// A queue for one kind of question, which remembers taken tickets: a backend may forget one.
pub struct RequestQueue<'h, 'a, 'b> {
    state: &'h mut ExecutionState<'a, 'b>,
    place: usize,
    taken: AHashSet<Ticket>,
}

impl<'h, 'a, 'b> RequestQueue<'h, 'a, 'b> {
    pub fn new(state: &'h mut ExecutionState<'a, 'b>, place: usize) -> Self {
        Self {
            state,
            place,
            taken: AHashSet::new(),
        }
    }

    /// Tickets that were taken and never answered.
    pub fn into_unanswered(self) -> Vec<Ticket> {
        let mut left: Vec<Ticket> = self.taken.into_iter().collect();
        left.sort_unstable();
        left
    }

    fn take<Q>(&mut self, unwrap: impl Fn(Request) -> Option<Q>) -> Option<Job<Q>> {
        loop {
            let (ticket, request) = self.state.next_ticket(self.place)?;
            if let Some(request) = unwrap(request) {
                self.taken.insert(ticket);
                return Some(Job { ticket, request });
            }
            // Queues are sorted by kind, so this is a fault of ours; it costs one item.
            let error = ModelError::new(ErrorKind::Internal, "a question stood in the wrong queue");
            if self.state.take_answer(ticket, Err(error)).is_break() {
                return None;
            }
        }
    }

    fn give<A>(
        &mut self,
        ticket: Ticket,
        answer: Result<Reply<A>, ModelError>,
        wrap: impl Fn(A) -> Response,
    ) -> ControlFlow<()> {
        self.taken.remove(&ticket);
        let answer = answer.map(|r| Reply {
            answer: wrap(r.answer),
            meta: r.meta,
        });
        self.state.take_answer(ticket, answer)
    }
}

macro_rules! queue {
    ($request:ident, $answer:ident) => {
        impl WorkQueue<$request, $answer> for RequestQueue<'_, '_, '_> {
            fn next(&mut self) -> Option<Job<$request>> {
                self.take(|r| {
                    if let Request::$request(q) = r {
                        Some(q)
                    } else {
                        None
                    }
                })
            }

            fn answer(
                &mut self,
                ticket: Ticket,
                answer: Result<Reply<$answer>, ModelError>,
            ) -> ControlFlow<()> {
                self.give(ticket, answer, Response::$answer)
            }

            fn writing(&mut self, _: Ticket, words: &str) {
                self.state.writing(words);
            }

            fn stopping(&mut self) -> bool {
                self.state.stopping()
            }
        }
    };
}

queue!(Generate, Generated);
queue!(Score, Scored);
queue!(Observe, Observed);
