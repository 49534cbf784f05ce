//! An open remote model: generation, and the two traits of the contract.

use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::{
    ErrorKind, Generate, Generated, Generator, Model, ModelCard, ModelError, Part, PromptForm,
    Reply, ReplyMeta, Score, Scored, Scorer, Usage, WorkQueue,
};
use serde_json::Value;

use crate::batch::BatchQueue;
use crate::catalogue::Entry;
use crate::connection::{Connection, Question};
use crate::estimate::Estimator;
use crate::flow::Flow;
use crate::format::WireFormat;
use crate::identity::Identity;
use crate::money::{Ledger, Promise};
use crate::options::{Logprobs, Options};
use crate::prefix::PrefixBook;
use crate::queue::{Service, serve};
use crate::stream::{Listener, Teller};
use crate::wire::{Asked, Read, RequestShape, cut_at_stop};

/// Everything about one remote model that its requests need.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) entry: &'static Entry,
    pub(crate) card: ModelCard,
    pub(crate) options: Options,
    pub(crate) connection: Connection,
    pub(crate) logprobs: Logprobs,
    pub(crate) estimator: Estimator,
    pub(crate) ledger: Ledger,
    pub(crate) identity: Identity,
    pub(crate) prefixes: Mutex<PrefixBook>,
    /// Somebody looks on while answers are written.
    pub(crate) watched: bool,
}

impl Remote {
    pub(crate) fn asked<'a>(
        &'a self,
        generate: &'a Generate,
        shape: &'a RequestShape,
        shared_prefix: usize,
    ) -> Asked<'a> {
        Asked {
            model: &self.connection.model,
            generate,
            shape,
            options: &self.options,
            extensions: self.entry.extensions,
            shared_prefix,
        }
    }

    /// The wire format of a generation, or why it cannot be asked.
    pub(crate) fn format(
        &self,
        generate: &Generate,
    ) -> Result<&'static dyn WireFormat, ModelError> {
        let bad = |message: String| ModelError::new(ErrorKind::BadRequest, message);
        let name = self.entry.title;
        let prompt = &generate.prompt;
        let omits_top_k = self.options.omit.contains("top_k");
        if generate.sampling.top_k.is_some() && !self.entry.extensions.top_k && !omits_top_k {
            return Err(bad(format!("{name} does not take top_k"))
                .hint("say --model-arg omit=top_k to sample without it"));
        }
        let format = match prompt.form {
            // Endpoints that continue plain text take no pictures; as one user message they do.
            PromptForm::Plain if prompt.has_images() => self.entry.chat.or(self.entry.plain),
            PromptForm::Plain => self.entry.plain.or(self.entry.chat),
            PromptForm::Chat => self.entry.chat,
        };
        let format = format.ok_or_else(|| {
            bad(format!(
                "{} continues plain text and takes no chat messages",
                self.card.model
            ))
        })?;
        if prompt.has_images() && !(format.takes_images() && self.card.capabilities.images) {
            return Err(bad(format!("{} takes no pictures here", self.card.model))
                .hint("if the model does take them, say --model-arg images=true and use the chat form"));
        }
        Ok(format)
    }

    /// How much of the prompt others share, where marks are used.
    pub(crate) fn shared_prefix(&self, generate: &Generate) -> usize {
        let marks = self.entry.chat.is_some_and(|f| f.marks_prefixes());
        if !marks || !self.options.cache {
            return 0;
        }
        match generate.prompt.turns.first().and_then(|t| t.parts.first()) {
            Some(Part::Text(text)) => self
                .prefixes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .shared(text),
            _ => 0,
        }
    }

    /// Answers one generation.
    pub(crate) async fn generate_one(
        &self,
        generate: Generate,
        shared_prefix: usize,
        listener: Option<Listener>,
    ) -> Result<Reply<Generated>, ModelError> {
        let format = self.format(&generate)?;
        let scrubber = self.connection.http.scrubber();
        let teller = format
            .streams()
            .zip(listener)
            .map(|(stream, listener)| Teller::new(stream, listener, scrubber));
        let estimate = self.estimator.generate(&generate);
        let promise = self.set_aside(estimate.cost).await?;
        let tokens = (estimate.prompt_tokens + estimate.completion_tokens) as f64;
        let told = self
            .connection
            .ask(
                Question::post(
                    &format.path(&self.connection.model),
                    &|shape| format.body(&self.asked(&generate, shape, shared_prefix)),
                    &|raw| format.read(raw),
                )
                .costing(tokens, &promise)
                .told_to(teller.as_ref()),
            )
            .await?;
        let usage = self.settle(promise, &told.answer);
        Ok(self.reply(&generate, told.answer, usage, told.raw, told.retries))
    }

    /// Puts a reply together from what was read.
    pub(crate) fn reply(
        &self,
        generate: &Generate,
        read: Read<Generated>,
        usage: Usage,
        raw: Value,
        retries: u32,
    ) -> Reply<Generated> {
        let mut answer = read.answer;
        cut_at_stop(&mut answer, &generate.sampling.stop);
        Reply {
            answer,
            meta: ReplyMeta {
                usage,
                model_version: read.model_version,
                raw: Some(raw),
                retries,
            },
        }
    }

    /// Sets the likely cost of a request aside, unless the run stops before there is room for it.
    pub(crate) async fn set_aside(&self, cost: Option<f64>) -> Result<Promise, ModelError> {
        tokio::select! {
            biased;
            () = self.connection.flow.stopped() => Err(Flow::interrupted()),
            promise = self.ledger.promise(cost.unwrap_or(0.0)) => promise,
        }
    }

    /// What the tokens cost. Our prices count; a provider's own word only where it is known to give
    /// one, and never below what its own tokens cost. Tokens that it did not count are taken for the
    /// estimate: nothing that was answered is free.
    pub(crate) fn priced(
        &self,
        mut usage: Usage,
        told: bool,
        (cache_writes, batch): (u64, bool),
        estimate: f64,
    ) -> Usage {
        let price = self.estimator.price();
        let by_tokens = price.map(|p| p.cost(&usage, cache_writes, batch));
        let word = usage
            .cost
            .filter(|cost| self.entry.tells_cost && cost.is_finite() && *cost >= 0.0);
        let floor = match (told && usage.prompt_tokens > 0, by_tokens) {
            (true, Some(floor)) => Some(floor),
            (false, Some(floor)) => Some(floor.max(estimate)),
            (_, None) => None,
        };
        usage.cost = match (word, floor) {
            (Some(word), Some(floor)) => Some(word.max(floor)),
            (word, floor) => word.or(floor),
        };
        usage
    }

    /// Takes the money out of the budget.
    pub(crate) fn settle<A>(&self, promise: Promise, read: &Read<A>) -> Usage {
        let usage = self.priced(
            read.usage,
            read.usage_told,
            (read.cache_writes, false),
            promise.dollars(),
        );
        promise.settle(usage.cost.unwrap_or(0.0));
        usage
    }

    /// What serving a queue needs to know.
    pub(crate) fn service(&self) -> Service<'_> {
        Service {
            flow: &self.connection.flow,
            watched: self.watched,
            stop_wait: self.options.stop_wait,
        }
    }
}

/// A remote model, as the contract sees it.
#[derive(Debug)]
pub struct RemoteModel {
    pub(crate) remote: Arc<Remote>,
}

impl RemoteModel {
    /// Requests in flight the provider bears at the moment.
    pub fn window(&self) -> f64 {
        self.remote.connection.flow.window()
    }

    /// Parameters that are not sent, because the model is known or was found not to take them.
    pub fn omitted(&self) -> Vec<String> {
        self.remote.connection.shape().omit.into_iter().collect()
    }
}

impl Model for RemoteModel {
    fn card(&self) -> &ModelCard {
        &self.remote.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        self.remote.card.capabilities.generate.then_some(self)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        self.remote.card.capabilities.score.then_some(self)
    }
}

impl Generator for RemoteModel {
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        let remote = &self.remote;
        if let Some(path) = &remote.options.batch {
            BatchQueue::new(remote, path).serve(queue);
            return;
        }
        serve(queue, &remote.service(), |generate: Generate, listener| {
            let remote = Arc::clone(remote);
            // Found here, in the order of the queue, not in the order of sending.
            let shared = remote.shared_prefix(&generate);
            async move { remote.generate_one(generate, shared, listener).await }
        });
    }
}

impl Scorer for RemoteModel {
    fn score(&self, queue: &mut dyn WorkQueue<Score, Scored>) {
        let remote = &self.remote;
        serve(queue, &remote.service(), |score: Score, _| {
            let remote = Arc::clone(remote);
            async move { remote.score_one(score).await }
        });
    }
}
