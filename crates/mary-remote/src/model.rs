//! An open remote model: generation, and the two traits of the contract.

use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::{
    Desk, ErrorKind, Generate, Generated, Generator, Model, ModelCard, ModelError, Part,
    PromptForm, Reply, ReplyMeta, Score, Scored, Scorer, Usage,
};
use serde_json::Value;

use crate::batch::BatchDesk;
use crate::catalogue::{Entry, Wire};
use crate::desk::serve;
use crate::estimate::Estimator;
use crate::identity::Identity;
use crate::line::{Line, Question};
use crate::money::{Ledger, Promise};
use crate::options::{Logprobs, Options};
use crate::prefix::PrefixBook;
use crate::wire::{Asked, Habits, Read, ReadError, cut_at_stop};
use crate::{anthropic, google, openai_chat, openai_completions};

/// Everything about one remote model that its requests need.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) entry: &'static Entry,
    pub(crate) card: ModelCard,
    pub(crate) options: Options,
    pub(crate) line: Line,
    pub(crate) logprobs: Logprobs,
    pub(crate) estimator: Estimator,
    pub(crate) ledger: Ledger,
    pub(crate) identity: Identity,
    pub(crate) prefixes: Mutex<PrefixBook>,
}

/// Which of the wire formats one generation uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Chat,
    Completions,
    Anthropic,
    Google,
}

impl Format {
    pub(crate) fn path(self, model: &str) -> String {
        match self {
            Self::Chat => openai_chat::PATH.into(),
            Self::Completions => openai_completions::PATH.into(),
            Self::Anthropic => anthropic::PATH.into(),
            Self::Google => google::path(model),
        }
    }

    pub(crate) fn body(self, asked: &Asked<'_>) -> Value {
        match self {
            Self::Chat => openai_chat::body(asked),
            Self::Completions => openai_completions::body(asked),
            Self::Anthropic => anthropic::body(asked),
            Self::Google => google::body(asked),
        }
    }

    pub(crate) fn read(self, raw: &Value) -> Result<Read<Generated>, ReadError> {
        match self {
            Self::Chat => openai_chat::read(raw),
            Self::Completions => openai_completions::read(raw),
            Self::Anthropic => anthropic::read(raw),
            Self::Google => google::read(raw),
        }
    }
}

impl Remote {
    pub(crate) fn asked<'a>(
        &'a self,
        generate: &'a Generate,
        habits: &'a Habits,
        shared_prefix: usize,
    ) -> Asked<'a> {
        Asked {
            model: &self.line.model,
            generate,
            habits,
            options: &self.options,
            extensions: self.entry.extensions,
            shared_prefix,
        }
    }

    /// The wire format of a generation, or why it cannot be asked.
    pub(crate) fn format(&self, generate: &Generate) -> Result<Format, ModelError> {
        let bad = |message: String| ModelError::new(ErrorKind::BadRequest, message);
        let name = self.entry.title;
        let prompt = &generate.prompt;
        let omits_top_k = self.options.omit.contains("top_k");
        if generate.sampling.top_k.is_some() && !self.entry.extensions.top_k && !omits_top_k {
            return Err(bad(format!("{name} does not take top_k"))
                .hint("say --model-arg omit=top_k to sample without it"));
        }
        let plain = prompt.form == PromptForm::Plain;
        let format = match self.entry.wire {
            Wire::OpenAiChat => Format::Chat,
            Wire::OpenAiBoth if plain => Format::Completions,
            Wire::OpenAiBoth => Format::Chat,
            Wire::OpenAiCompletions if plain => Format::Completions,
            Wire::OpenAiCompletions => {
                return Err(bad(format!(
                    "{} continues plain text and takes no chat messages",
                    self.card.model
                )));
            }
            Wire::Anthropic => Format::Anthropic,
            Wire::Google => Format::Google,
        };
        if prompt.has_images() && (format == Format::Completions || !self.card.capabilities.images)
        {
            return Err(bad(format!("{} takes no pictures here", self.card.model))
                .hint("if the model does take them, say --model-arg images=true and use the chat form"));
        }
        Ok(format)
    }

    /// How much of the prompt others share, where marks are used.
    pub(crate) fn shared_prefix(&self, generate: &Generate) -> usize {
        if self.entry.wire != Wire::Anthropic || !self.options.cache {
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
    ) -> Result<Reply<Generated>, ModelError> {
        let format = self.format(&generate)?;
        let estimate = self.estimator.generate(&generate);
        let promise = self.ledger.promise(estimate.cost.unwrap_or(0.0)).await?;
        let tokens = (estimate.prompt_tokens + estimate.completion_tokens) as f64;
        let told = self
            .line
            .ask(
                Question::post(
                    &format.path(&self.line.model),
                    &|habits| format.body(&self.asked(&generate, habits, shared_prefix)),
                    &|raw| format.read(raw),
                )
                .costing(tokens, &promise),
            )
            .await?;
        let usage = self.settle(promise, told.answer.usage, told.answer.cache_writes);
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

    /// What the tokens cost, by the provider's own word or by our prices.
    pub(crate) fn priced(&self, mut usage: Usage, cache_writes: u64, batch: bool) -> Usage {
        let ours = || {
            let price = self.estimator.price()?;
            Some(price.cost(&usage, cache_writes, batch))
        };
        usage.cost = usage.cost.or_else(ours);
        usage
    }

    /// Takes the money out of the purse.
    pub(crate) fn settle(&self, promise: Promise, usage: Usage, cache_writes: u64) -> Usage {
        let usage = self.priced(usage, cache_writes, false);
        promise.settle(usage.cost.unwrap_or(0.0));
        usage
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
        self.remote.line.flow.window()
    }

    /// Parameters that are not sent, because the model is known or was found not to take them.
    pub fn omitted(&self) -> Vec<String> {
        self.remote.line.habits().omit.into_iter().collect()
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
    fn generate(&self, desk: &mut dyn Desk<Generate, Generated>) {
        let remote = &self.remote;
        if let Some(path) = &remote.options.batch {
            BatchDesk::new(remote, path).serve(desk);
            return;
        }
        serve(
            desk,
            || remote.line.flow.appetite(),
            |generate: Generate| {
                let remote = Arc::clone(remote);
                // Found here, in the order of the desk, not in the order of sending.
                let shared = remote.shared_prefix(&generate);
                async move { remote.generate_one(generate, shared).await }
            },
        );
    }
}

impl Scorer for RemoteModel {
    fn score(&self, desk: &mut dyn Desk<Score, Scored>) {
        let remote = &self.remote;
        serve(
            desk,
            || remote.line.flow.appetite(),
            |score: Score| {
                let remote = Arc::clone(remote);
                async move { remote.score_one(score).await }
            },
        );
    }
}
