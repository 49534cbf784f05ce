//! One remote model and how it is asked for words; scores and batches are asked elsewhere with the same parts.

use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::{
    Generate, Generated, Generator, Model, ModelCard, Part, PromptForm, Reply, ReplyMeta, Score,
    Scored, Scorer, Usage, WorkQueue,
};
use serde_json::Value;

use crate::batch::BatchQueue;
use crate::catalogue::CatalogueEntry;
use crate::connection::{Connection, Question};
use crate::format::WireFormat;
use crate::identity::Identity;
use crate::money::{Ledger, Promise};
use crate::options::{Logprobs, Options, Result, bad};
use crate::prefix::PrefixBook;
use crate::prices::PriceEstimator;
use crate::queue::{Serving, serve};
use crate::stream::{Listener, Teller};
use crate::wire::{Read, RequestShape, WireRequest, cut_at_stop};

/// Everything about one remote model that its requests need.
pub(crate) struct Remote {
    pub(crate) entry: &'static CatalogueEntry,
    pub(crate) card: ModelCard,
    pub(crate) options: Options,
    pub(crate) connection: Connection,
    pub(crate) logprobs: Logprobs,
    pub(crate) estimator: PriceEstimator,
    pub(crate) ledger: Ledger,
    pub(crate) identity: Identity,
    pub(crate) prefixes: Mutex<PrefixBook>,
    /// Somebody looks on while answers are written.
    pub(crate) watched: bool,
}

impl Remote {
    pub(crate) fn wire_request<'a>(
        &'a self,
        generate: &'a Generate,
        shape: &'a RequestShape,
        shared_prefix: usize,
    ) -> WireRequest<'a> {
        WireRequest {
            model: &self.connection.model,
            generate,
            shape,
            options: &self.options,
            extensions: self.entry.extensions,
            shared_prefix,
        }
    }

    /// The wire format of a generation, or why it cannot be asked.
    pub(crate) fn format(&self, generate: &Generate) -> Result<&'static dyn WireFormat> {
        let (title, model) = (self.entry.title, &self.card.model);
        let prompt = &generate.prompt;
        let omits_top_k = self.options.omit.contains("top_k");
        if generate.sampling.top_k.is_some() && !self.entry.extensions.top_k && !omits_top_k {
            return Err(bad(format!("{title} does not take top_k"))
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
                "{model} continues plain text and takes no chat messages"
            ))
        })?;
        if prompt.has_images() && !(format.takes_images() && self.card.capabilities.images) {
            return Err(bad(format!("{model} takes no pictures here")).hint(
                "if the model does take them, say --model-arg images=true and use the chat form",
            ));
        }
        Ok(format)
    }

    /// How much of the prompt others share, where marks are used.
    pub(crate) fn shared_prefix(&self, generate: &Generate) -> usize {
        let marks = self.entry.chat.is_some_and(|f| f.marks_prefixes());
        let first = generate.prompt.turns.first().and_then(|t| t.parts.first());
        match first {
            Some(Part::Text(text)) if marks && self.options.cache => {
                let prefixes = self.prefixes.lock();
                prefixes
                    .unwrap_or_else(PoisonError::into_inner)
                    .shared(text)
            }
            _ => 0,
        }
    }

    pub(crate) async fn generate_one(
        &self,
        generate: Generate,
        shared_prefix: usize,
        listener: Option<Listener>,
    ) -> Result<Reply<Generated>> {
        let format = self.format(&generate)?;
        let scrubber = &self.connection.http.scrubber;
        let teller = format
            .stream()
            .zip(listener)
            .map(|(stream, listener)| Teller::new(stream, listener, scrubber));
        let estimate = self.estimator.generate(&generate);
        let promise = self.set_aside(estimate.cost).await?;
        let tokens = (estimate.prompt_tokens + estimate.completion_tokens) as f64;
        let received = self
            .connection
            .ask(Question {
                teller: teller.as_ref(),
                ..Question::post(
                    &format.path(&self.connection.model),
                    &|shape| format.body(&self.wire_request(&generate, shape, shared_prefix)),
                    &|raw| format.read(raw),
                )
                .costing(tokens, &promise)
            })
            .await?;
        let read = received.answer;
        let counted = (read.cache_writes, false);
        let usage = self.priced(read.usage, read.usage_told, counted, promise.dollars());
        promise.settle(usage.cost.unwrap_or(0.0));
        Ok(self.reply(&generate, read, usage, received.raw, received.retries))
    }

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
    pub(crate) async fn set_aside(&self, cost: Option<f64>) -> Result<Promise> {
        let promise = self.ledger.promise(cost.unwrap_or(0.0));
        self.connection.flow.unless_stopped(promise).await
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
        let price = self.estimator.price.as_ref();
        let by_tokens = price.map(|p| p.cost(&usage, cache_writes, batch));
        let word = usage
            .cost
            .filter(|cost| self.entry.tells_cost && cost.is_finite() && *cost >= 0.0);
        let counted = told && usage.prompt_tokens > 0;
        let least = if counted { 0.0 } else { estimate };
        let floor = by_tokens.map(|cost| cost.max(least));
        usage.cost = match (word, floor) {
            (Some(word), Some(floor)) => Some(word.max(floor)),
            (word, floor) => word.or(floor),
        };
        usage
    }
}

pub(crate) struct RemoteModel(pub(crate) Arc<Remote>);

impl RemoteModel {
    fn serving(&self) -> Serving<'_> {
        Serving {
            flow: &self.0.connection.flow,
            watched: self.0.watched,
            stop_wait: self.0.options.stop_wait,
        }
    }
}

impl Model for RemoteModel {
    fn card(&self) -> &ModelCard {
        &self.0.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        Some(self)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        self.0.card.capabilities.score.then_some(self)
    }
}

impl Generator for RemoteModel {
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        let remote = &self.0;
        if let (Some(path), Some(format)) = (&remote.options.batch, remote.entry.batch_format()) {
            return BatchQueue::new(remote, format, path).serve(queue);
        }
        serve(queue, &self.serving(), |generate: Generate, listener| {
            let remote = Arc::clone(remote);
            // Found here, in the order of the queue, not in the order of sending.
            let shared = remote.shared_prefix(&generate);
            async move { remote.generate_one(generate, shared, listener).await }
        });
    }
}

impl Scorer for RemoteModel {
    fn score(&self, queue: &mut dyn WorkQueue<Score, Scored>) {
        serve(queue, &self.serving(), |score: Score, _| {
            let remote = Arc::clone(&self.0);
            async move { remote.score_one(score).await }
        });
    }
}
