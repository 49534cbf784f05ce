//! A model around whatever answers one request, or a few, at a time.

use mary_contract::{
    ErrorKind, Generate, Generated, Generator, Model, ModelCard, ModelError, Observe, Observed,
    Observer, Reply, Request, RequestKind, Response, Score, Scored, Scorer, Ticket, WorkQueue,
};

/// What came of several requests in one call.
pub enum Together {
    Answers(Vec<Result<Reply, ModelError>>),
    /// Nothing that could be told apart: each is to be asked alone, so that one fault costs one item.
    Apart,
    /// The run ends before there was an answer.
    Stopping,
}

pub trait Answers: Send + Sync {
    /// The answer; `None` when `stopping` told that the run ends before there was one.
    fn ask(
        &self,
        request: &Request,
        stopping: &mut dyn FnMut() -> bool,
    ) -> Option<Result<Reply, ModelError>>;

    /// How many requests of a kind are asked in one call.
    fn most_together(&self, _kind: RequestKind) -> usize {
        1
    }

    /// Several requests of one kind in one call.
    fn ask_together(&self, _requests: &[Request], _stopping: &mut dyn FnMut() -> bool) -> Together {
        Together::Apart
    }
}

pub struct Answering<T> {
    card: ModelCard,
    object: T,
}

impl<T: Answers> Answering<T> {
    pub fn new(card: ModelCard, object: T) -> Self {
        Self { card, object }
    }

    /// As many requests at once as the object takes. One that dies, hangs or raises with several is asked each
    /// of them alone: it costs the item it was asked, and no other.
    fn serve<Q, A>(
        &self,
        queue: &mut dyn WorkQueue<Q, A>,
        kind: RequestKind,
        wrap: impl Fn(Q) -> Request,
        unwrap: impl Fn(Response) -> Option<A>,
    ) {
        let most = self.object.most_together(kind).max(1);
        while let Some(first) = queue.next() {
            let mut tickets = vec![first.ticket];
            let mut requests = vec![wrap(first.request)];
            while requests.len() < most
                && let Some(job) = queue.next()
            {
                tickets.push(job.ticket);
                requests.push(wrap(job.request));
            }
            let together = if requests.len() > 1 {
                let mut stopping = || queue.stopping();
                self.object.ask_together(&requests, &mut stopping)
            } else {
                Together::Apart
            };
            let hand_over = |queue: &mut dyn WorkQueue<Q, A>, ticket: Ticket, answer| {
                queue.answer(ticket, of_kind(answer, &unwrap)).is_break()
            };
            match together {
                Together::Stopping => return,
                Together::Answers(answers) => {
                    // What was answered is there: handed over even where nothing more is wanted.
                    let mut enough = false;
                    for (ticket, answer) in tickets.into_iter().zip(answers) {
                        if !enough || answer.is_ok() {
                            enough |= hand_over(queue, ticket, answer);
                        }
                    }
                    if enough {
                        return;
                    }
                }
                Together::Apart => {
                    for (ticket, request) in tickets.into_iter().zip(&requests) {
                        let Some(answer) = self.object.ask(request, &mut || queue.stopping())
                        else {
                            return;
                        };
                        if hand_over(queue, ticket, answer) {
                            return;
                        }
                    }
                }
            }
        }
    }
}

fn of_kind<A>(
    answer: Result<Reply, ModelError>,
    unwrap: &impl Fn(Response) -> Option<A>,
) -> Result<Reply<A>, ModelError> {
    let Reply { answer, meta } = answer?;
    let answer = unwrap(answer).ok_or_else(|| {
        let message = "the object answered another kind of question than it was asked";
        ModelError::new(ErrorKind::Transport, message)
    })?;
    Ok(Reply { answer, meta })
}

impl<T: Answers> Model for Answering<T> {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        self.card.capabilities.generate.then_some(self)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        self.card.capabilities.score.then_some(self)
    }

    fn observer(&self) -> Option<&dyn Observer> {
        self.card.capabilities.observe.then_some(self)
    }
}

macro_rules! answers {
    ($able:ident, $serve:ident, $asked:ident, $answer:ident) => {
        impl<T: Answers> $able for Answering<T> {
            fn $serve(&self, queue: &mut dyn WorkQueue<$asked, $answer>) {
                let unwrap = |response| match response {
                    Response::$answer(answer) => Some(answer),
                    _ => None,
                };
                self.serve(queue, RequestKind::$asked, Request::$asked, unwrap);
            }
        }
    };
}

answers!(Generator, generate, Generate, Generated);
answers!(Scorer, score, Score, Scored);
answers!(Observer, observe, Observe, Observed);
