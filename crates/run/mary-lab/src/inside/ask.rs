//! Asking an open model with values changed, and what is drawn by lot for controls.

use std::ops::ControlFlow;

use mary_contract::{
    Details, ErrorKind, Intervene, Intervened, Intervener, Job, Model, ModelCard, ModelError,
    Place, Prompt, Reply, Score, Site, Start, Ticket, Tokens, Vector, WorkQueue,
};

use crate::texts::InstrumentError;

/// More heads than any block has.
const MOST_HEADS: usize = 1024;

/// Refuses a model whose inside cannot be changed, before it is opened.
pub fn check(card: &ModelCard) -> Result<(), InstrumentError> {
    match card.capabilities.intervene {
        true => Ok(()),
        false => Err(InstrumentError::Usage(format!(
            "{}: values inside it cannot be changed\nhint: language models on this machine can be: builtin/, hf/ and \
             gguf/",
            card.model
        ))),
    }
}

/// An open model whose inside can be changed.
pub struct Subject<'a> {
    intervener: &'a dyn Intervener,
    tokens: &'a dyn Tokens,
    /// Its blocks.
    pub layers: usize,
}

impl<'a> Subject<'a> {
    /// Refuses a model whose inside cannot be changed.
    pub fn new(model: &'a dyn Model) -> Result<Self, InstrumentError> {
        let card = model.card();
        check(card)?;
        match (model.intervener(), model.tokens(), card.layers) {
            (Some(intervener), Some(tokens), Some(layers)) => Ok(Self {
                intervener,
                tokens,
                layers,
            }),
            _ => Err(InstrumentError::Usage(format!(
                "{}: values inside it cannot be changed",
                card.model
            ))),
        }
    }

    /// All answers, in the order of the requests; the first error ends it.
    pub fn ask(&self, requests: Vec<Intervene>) -> Result<Vec<Intervened>, InstrumentError> {
        let answers = self.answers(requests, true).into_iter();
        Ok(answers.collect::<Result<_, _>>()?)
    }

    fn answers(
        &self,
        requests: Vec<Intervene>,
        strict: bool,
    ) -> Vec<Result<Intervened, ModelError>> {
        let mut queue = Queue::new(requests, strict);
        self.intervener.intervene(&mut queue);
        // What was not answered for its sake is not what went wrong.
        if let Some(at) = queue.failed {
            queue.answers.swap(0, at);
        }
        queue.answers
    }

    /// How many heads a block has. No card says it: those that answer are there.
    pub fn heads(&self) -> Result<usize, InstrumentError> {
        let one = |head| watching("a", [(Site::Head(0, head), Place::Last)]);
        let found = self.answers((0..MOST_HEADS).map(one).collect(), false);
        let heads = found.iter().take_while(|answer| answer.is_ok()).count();
        match found.into_iter().next() {
            Some(Err(error)) => Err(error.into()),
            _ => Ok(heads),
        }
    }

    /// The tokens of a text, as people read them.
    pub fn pieces(&self, text: &str) -> Result<Vec<String>, InstrumentError> {
        let ids = self.tokens.encode(text)?;
        Ok(ids.into_iter().map(|id| self.tokens.piece(id)).collect())
    }
}

/// Asks for continuations after a prefix, with nothing changed.
pub(crate) fn request(prefix: &str, continuations: &[String], details: Details) -> Intervene {
    Intervene {
        score: Score {
            prefix: Prompt::plain(prefix),
            continuations: continuations.to_vec(),
            start: Start::Text,
            details,
        },
        changes: Vec::new(),
        states: Vec::new(),
    }
}

/// Asks for the states in some places after a prefix.
pub(crate) fn watching(prefix: &str, places: impl IntoIterator<Item = (Site, Place)>) -> Intervene {
    Intervene {
        states: places.into_iter().collect(),
        ..request(prefix, &[], Details::default())
    }
}

/// Requests on their way through a model, and its answers in their order.
pub(crate) struct Queue<Q, A> {
    requests: std::iter::Enumerate<std::vec::IntoIter<Q>>,
    pub answers: Vec<Result<A, ModelError>>,
    strict: bool,
    /// The request whose error ended it.
    failed: Option<usize>,
}

impl<Q, A> Queue<Q, A> {
    /// A strict one ends with the first error.
    pub fn new(requests: Vec<Q>, strict: bool) -> Self {
        let lost = || ModelError::new(ErrorKind::Internal, "the model did not answer");
        Self {
            answers: requests.iter().map(|_| Err(lost())).collect(),
            requests: requests.into_iter().enumerate(),
            strict,
            failed: None,
        }
    }
}

impl<Q, A> WorkQueue<Q, A> for Queue<Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        let (number, request) = self.requests.next()?;
        Some(Job {
            ticket: Ticket(number as u64),
            request,
        })
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        let fatal = answer.is_err() && self.strict;
        if let Some(place) = self.answers.get_mut(ticket.0 as usize) {
            *place = answer.map(|reply| reply.answer);
        }
        match fatal {
            true => {
                self.failed = Some(ticket.0 as usize);
                ControlFlow::Break(())
            }
            false => ControlFlow::Continue(()),
        }
    }
}

/// What is drawn by lot: the same for the same seed and words.
pub(crate) struct Lots(blake3::OutputReader);

impl Lots {
    pub fn new(seed: u64, what: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes()).update(what.as_bytes());
        Self(hasher.finalize_xof())
    }

    /// Above 0, at most 1.
    pub fn share(&mut self) -> f64 {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        (f64::from(u32::from_le_bytes(bytes)) + 1.0) / (f64::from(u32::MAX) + 1.0)
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((self.share() * n as f64) as usize).min(n.saturating_sub(1))
    }

    /// A direction without preference, of this length.
    pub fn direction(&mut self, width: usize, length: f64) -> Vector {
        // Box and Muller.
        let mut normal = || {
            let (radius, angle) = (self.share(), self.share());
            (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        };
        let drawn: Vec<f64> = (0..width).map(|_| normal()).collect();
        let norm = drawn.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = if norm > 0.0 { length / norm } else { 0.0 };
        Vector(drawn.into_iter().map(|x| (scale * x) as f32).collect())
    }
}
