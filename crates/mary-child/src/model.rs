//! A model around whatever answers one request at a time.

use mary_contract::{
    Desk, ErrorKind, Generate, Generated, Generator, Model, ModelCard, ModelError, Observe,
    Observed, Observer, Reply, Request, Response, Score, Scored, Scorer,
};

/// Answers one request at a time.
pub trait Answers: Send + Sync {
    /// The answer; `None` when `stopping` told that the run ends before there was one.
    fn ask(
        &self,
        request: &Request,
        stopping: &mut dyn FnMut() -> bool,
    ) -> Option<Result<Reply, ModelError>>;
}

/// A model that asks a Python object.
pub struct Answering<T> {
    card: ModelCard,
    object: T,
}

impl<T: Answers> Answering<T> {
    /// The model with this card, fingerprint included.
    pub fn new(card: ModelCard, object: T) -> Self {
        Self { card, object }
    }

    /// One request after the other: an object that dies or hangs costs the item it was asked, and no other.
    fn serve<Q, A>(
        &self,
        desk: &mut dyn Desk<Q, A>,
        wrap: impl Fn(Q) -> Request,
        unwrap: impl Fn(Response) -> Option<A>,
    ) {
        while let Some(job) = desk.next() {
            let request = wrap(job.request);
            let Some(answer) = self.object.ask(&request, &mut || desk.stopping()) else {
                return;
            };
            let answer = answer.and_then(|reply| {
                let meta = reply.meta;
                let answer = unwrap(reply.answer).ok_or_else(|| {
                    ModelError::new(
                        ErrorKind::Transport,
                        "the object answered another kind of question than it was asked",
                    )
                })?;
                Ok(Reply { answer, meta })
            });
            if desk.answer(job.ticket, answer).is_break() {
                return;
            }
        }
    }
}

impl<T: Answers> Model for Answering<T> {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        let able = self.card.capabilities.generate;
        able.then_some(self as &dyn Generator)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        let able = self.card.capabilities.score;
        able.then_some(self as &dyn Scorer)
    }

    fn observer(&self) -> Option<&dyn Observer> {
        let able = self.card.capabilities.observe;
        able.then_some(self as &dyn Observer)
    }
}

impl<T: Answers> Generator for Answering<T> {
    fn generate(&self, desk: &mut dyn Desk<Generate, Generated>) {
        self.serve(desk, Request::Generate, |response| match response {
            Response::Generated(answer) => Some(answer),
            _ => None,
        });
    }
}

impl<T: Answers> Scorer for Answering<T> {
    fn score(&self, desk: &mut dyn Desk<Score, Scored>) {
        self.serve(desk, Request::Score, |response| match response {
            Response::Scored(answer) => Some(answer),
            _ => None,
        });
    }
}

impl<T: Answers> Observer for Answering<T> {
    fn observe(&self, desk: &mut dyn Desk<Observe, Observed>) {
        self.serve(desk, Request::Observe, |response| match response {
            Response::Observed(answer) => Some(answer),
            _ => None,
        });
    }
}
