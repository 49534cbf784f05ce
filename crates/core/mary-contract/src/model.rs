//! A model: what it is, what it can do, and how it is asked.
//!
//! A model declares what it can do by implementing it: [`Model::generator`], [`Model::scorer`] and
//! [`Model::observer`] return `Option`. Before anything is loaded or paid for, a [`Provider`] gives
//! a [`ModelCard`] from which a mismatch with a task is found.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::{
    Generate, Generated, Intervene, Intervened, Observe, Observed, Prompt, Response, Score, Scored,
    Service, Start, StartTokens,
};

/// `provider/name[@revision]`, as users of Inspect write it.
///
/// ```
/// use mary_contract::ModelRef;
///
/// let model: ModelRef = "hf/EleutherAI/pythia-70m@step1000".parse()?;
/// assert_eq!((&*model.provider, &*model.name), ("hf", "EleutherAI/pythia-70m"));
/// assert_eq!(model.revision.as_deref(), Some("step1000"));
/// assert_eq!(model.to_string(), "hf/EleutherAI/pythia-70m@step1000");
/// // Whoever names a path is told how files are named.
/// let error = "./model.gguf".parse::<ModelRef>().unwrap_err();
/// assert!(error.to_string().contains("gguf/./model.gguf"));
/// # Ok::<(), mary_contract::ModelRefError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    /// Who serves it: `builtin`, `hf`, `gguf`, `openai`, …
    pub provider: String,
    /// The provider's name for it; may hold slashes or be a path.
    pub name: String,
    /// A hub revision or dated version.
    pub revision: Option<String>,
}

/// Why a model string could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{given}` is not a model: expected provider/name[@revision], for example {example}{}",
    hint_for(given)
)]
pub struct ModelRefError {
    given: String,
    example: &'static str,
}

/// Whoever gives a path wants the file or folder at it.
fn hint_for(given: &str) -> String {
    let kind = if given.ends_with(".gguf") {
        "gguf"
    } else if given.starts_with(['/', '.', '~']) {
        "hf"
    } else {
        return String::new();
    };
    format!("\nhint: a file or folder is named with its kind: {kind}/{given}")
}

impl FromStr for ModelRef {
    type Err = ModelRefError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ModelRefError {
            given: text.to_owned(),
            example: "hf/EleutherAI/pythia-70m@step1000",
        };
        let (provider, rest) = text.split_once('/').ok_or_else(wrong)?;
        // A revision follows the last `@`, unless that `@` belongs to a folder name.
        let (name, revision) = match rest.rsplit_once('@') {
            Some((name, rev)) if !rev.contains('/') && !rev.is_empty() => (name, Some(rev)),
            _ => (rest, None),
        };
        if ["", ".", "..", "~"].contains(&provider) || name.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            provider: provider.to_owned(),
            name: name.to_owned(),
            revision: revision.map(str::to_owned),
        })
    }
}

impl TryFrom<String> for ModelRef {
    type Error = ModelRefError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> Self {
        model.to_string()
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)?;
        match &self.revision {
            Some(revision) => write!(f, "@{revision}"),
            None => Ok(()),
        }
    }
}

/// How a model is to be opened; everything here is recorded with the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// Where it is computed: `cpu`, `cuda:0`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Number type of the computation: `f32`, `bf16`, `f16`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// CPU threads; 0 or absent means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Sequences in one batch, where the user wants to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    /// Requests in flight at once, at most (remote).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<usize>,
    /// Where an OpenAI-compatible server listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Dollars after which nothing more is sent (remote).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Where the state of the provider's batches is kept, for a model that is asked through its batch
    /// API. Decided anew whenever a run goes on, so that a run folder can be moved: no part of a
    /// manifest.
    #[serde(skip)]
    pub batches: Option<PathBuf>,
    /// Backend-specific settings (`--model-arg key=value`), never secrets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
}

/// What a model can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Answers in words ([`Generator`]).
    pub generate: bool,
    /// Gives log-probabilities of given text.
    pub score: bool,
    /// Scores only continuations of a single token (top log-probabilities of a chat API).
    #[serde(default)]
    pub score_single_token_only: bool,
    /// Shows its hidden states ([`Observer`]).
    pub observe: bool,
    /// Lets values inside it be changed ([`Intervener`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub intervene: bool,
    /// Takes pictures in its prompts.
    pub images: bool,
    /// Has a chat template or a chat API.
    pub chat: bool,
    /// Continues plain text (false for chat-only APIs, which wrap everything).
    pub plain: bool,
}

/// Who a model is. Everything a reader needs in order to know what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    /// As the user named it.
    pub model: ModelRef,
    /// What the user wants it to be called, in tables, figures and pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it can do; compared with what a task needs before weights are loaded.
    pub capabilities: Capabilities,
    /// Content hash of weights, configuration and tokenizer (local), or of provider, name, version
    /// and settings (remote). Empty until the model is open; part of every cache key.
    #[serde(default)]
    pub fingerprint: String,
    /// The family of its network, for example `GPT-NeoX`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Number of weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// Blocks (the embedding layer comes on top of these).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<usize>,
    /// Longest sequence, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_length: Option<usize>,
    /// Tokens of training that this checkpoint has seen, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_seen: Option<u64>,
    /// What each convention puts before a text that is scored, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<StartTokens>,
    /// What a reader must know to compare: template, BOS, dtype, quantisation, device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conventions: BTreeMap<String, String>,
    /// Things said about it everywhere ("for trying the laboratory; no claim is made").
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl ModelCard {
    /// A card with a name and capabilities; the rest is empty.
    pub fn new(model: ModelRef, capabilities: Capabilities) -> Self {
        Self {
            model,
            label: None,
            capabilities,
            fingerprint: String::new(),
            architecture: None,
            parameters: None,
            layers: None,
            context_length: None,
            tokens_seen: None,
            starts: None,
            conventions: BTreeMap::new(),
            remarks: Vec::new(),
        }
    }

    /// Tokens of training seen; earlier programs said them in words among the conventions.
    pub fn training_tokens(&self) -> Option<u64> {
        let in_words = || {
            let said = self.conventions.get(crate::training::TOKENS_SEEN)?;
            said.parse().ok()
        };
        self.tokens_seen.or_else(in_words)
    }
}

/// What kind of trouble a model had: it decides the exit code and whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No such model, file or revision.
    NotFound,
    /// A file is damaged, incomplete or of an unknown kind.
    BadModel,
    /// The request makes no sense to this model.
    BadRequest,
    /// The text does not fit the context window.
    ContextTooLong,
    /// A key is missing or refused.
    Auth,
    /// Out of money, quota or the user's own budget.
    Budget,
    /// The provider is overloaded or limits the rate, after all retries.
    Overloaded,
    /// No answer before the deadline.
    Timeout,
    /// The connection or the answer broke.
    Transport,
    /// A number that is not one came out of the model.
    NotFinite,
    /// The weights or a batch do not fit the memory.
    OutOfMemory,
    /// Ctrl-C, or a signal that says the same.
    Interrupted,
    /// A fault of this program.
    Internal,
}

/// An error of a model, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ModelError {
    /// For programs; the message is for people.
    pub kind: ErrorKind,
    /// What was expected, what was found, where.
    pub message: String,
    /// What to do about it, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ModelError {
    /// An error without a hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the whole run must stop (and can be resumed), since every further request would end
    /// the same way.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Auth | ErrorKind::Budget | ErrorKind::Overloaded | ErrorKind::Interrupted
        )
    }
}

/// Tokens and money that answers took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Of those, tokens a cache already held (ours or the provider's).
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens of the answers.
    pub completion_tokens: u64,
    /// Of those, tokens of reasoning that is not shown.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// Dollars, where a price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cost = match (self.cost, other.cost) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

/// What came with an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplyMeta {
    /// What it took.
    pub usage: Usage,
    /// The version a provider says it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_version: Option<String>,
    /// The provider's answer as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// Times it was sent before it succeeded, beyond the first.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub retries: u32,
}

/// An answer with what came with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply<A = Response> {
    /// What the model said, scored or showed.
    pub answer: A,
    /// What came with it.
    #[serde(default)]
    pub meta: ReplyMeta,
}

impl<A> Reply<A> {
    /// An answer with nothing around it.
    pub fn bare(answer: A) -> Self {
        Self {
            answer,
            meta: ReplyMeta::default(),
        }
    }
}

/// Names a request between a queue and a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A request with its ticket.
#[derive(Debug, Clone, PartialEq)]
pub struct Job<Q> {
    /// To be handed back with the answer.
    pub ticket: Ticket,
    /// What is asked of the model.
    pub request: Q,
}

/// Where a model takes requests and hands back answers.
///
/// The model decides how many it takes at once: a local model as many as make good batches, a
/// remote one as many as its connections allow. `next` returning `None` means "nothing *now*": an
/// answer may bring new questions, so a model asks again after handing in what it has in flight and
/// returns only when `None` comes with nothing left in flight. Every ticket taken is answered
/// exactly once, unless `answer` breaks or the run is stopping.
pub trait WorkQueue<Q, A> {
    /// The next request, if there is one now.
    fn next(&mut self) -> Option<Job<Q>>;

    /// Hands back an answer. `Break` means: stop, nothing more is wanted. Answers that were paid for
    /// and are still on their way may be handed in after it; they are kept.
    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()>;

    /// The answer to a request has grown by these words. A model that writes one answer at a time says so,
    /// for a person who waits; the whole answer comes with [`WorkQueue::answer`] all the same.
    fn writing(&mut self, _ticket: Ticket, _words: &str) {}

    /// The token ids of an answer that is finished, before the answer itself. For who wants them scored.
    fn written(&mut self, _ticket: Ticket, _tokens: &[u32]) {}

    /// Whether requests that come while answers are being written may join them, and each answer is told as it
    /// grows. A run wants neither: which answers are written together must not depend on the clock.
    fn joins(&self) -> bool {
        false
    }

    /// Whether nobody waits for the answer any more; its place is given to others.
    fn forgotten(&mut self, _ticket: Ticket) -> bool {
        false
    }

    /// Whether the run is to end, so that a model that waits for answers begins nothing more. A
    /// model that waits for others looks several times a second.
    fn stopping(&mut self) -> bool {
        false
    }
}

/// The part of a model that answers in words.
pub trait Generator: Send + Sync {
    /// Serves the queue until it is empty.
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>);
}

/// The part of a model that gives log-probabilities of given texts.
pub trait Scorer: Send + Sync {
    /// Serves the queue until it is empty.
    fn score(&self, queue: &mut dyn WorkQueue<Score, Scored>);
}

/// The part of a model that shows its hidden states.
pub trait Observer: Send + Sync {
    /// Serves the queue until it is empty.
    fn observe(&self, queue: &mut dyn WorkQueue<Observe, Observed>);
}

/// The part of a model that lets values inside it be changed while it reads.
pub trait Intervener: Send + Sync {
    /// Serves the queue until it is empty.
    fn intervene(&self, queue: &mut dyn WorkQueue<Intervene, Intervened>);
}

/// The part of a model that knows its tokens.
pub trait Tokens: Send + Sync {
    /// The ids of a text, without anything put before it.
    fn encode(&self, text: &str) -> Result<Vec<u32>, ModelError>;

    /// The text that ids spell. Ids that the vocabulary lacks are an error.
    fn decode(&self, ids: &[u32]) -> Result<String, ModelError>;

    /// One token as text, lossy where it is half a character.
    fn piece(&self, id: u32) -> String;

    /// The tokens that begin and end a text, where there are such.
    fn ends(&self) -> [Option<u32>; 2];

    /// The ids of a prompt as the model reads it before it answers: its template, what it puts first.
    fn prompt(&self, prompt: &Prompt) -> Result<Vec<u32>, ModelError>;
}

/// An open model. What it can do is what it returns.
pub trait Model: Send + Sync {
    /// Who it is, fingerprint included.
    fn card(&self) -> &ModelCard;

    /// The model that answers in its place, if it only goes by another card.
    fn inner(&self) -> Option<&dyn Model> {
        None
    }

    /// Its generator, if it answers in words.
    fn generator(&self) -> Option<&dyn Generator> {
        self.inner()?.generator()
    }

    /// Its scorer, if it gives log-probabilities.
    fn scorer(&self) -> Option<&dyn Scorer> {
        self.inner()?.scorer()
    }

    /// Its observer, if it shows hidden states.
    fn observer(&self) -> Option<&dyn Observer> {
        self.inner()?.observer()
    }

    /// Its intervener, if values inside it can be changed.
    fn intervener(&self) -> Option<&dyn Intervener> {
        self.inner()?.intervener()
    }

    /// Its tokens, if it runs in this process.
    fn tokens(&self) -> Option<&dyn Tokens> {
        self.inner()?.tokens()
    }
}

/// A model that is ready to be asked, or why there is none.
pub type OpenedModel = Result<Box<dyn Model>, ModelError>;

/// Opens models of one kind. A laboratory is given those it may use.
pub trait Provider: Send + Sync {
    /// The word before the slash of its models' names.
    fn name(&self) -> &'static str;

    /// One line for `mary models`.
    fn about(&self) -> &'static str;

    /// Names it can open without being told more (a catalogue, a folder); may be empty.
    fn known(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is known before weights are loaded or money is spent.
    fn card(&self, model: &ModelRef, settings: &ModelSettings) -> Result<ModelCard, ModelError>;

    /// The fingerprint the open model will have. Local providers hash files without loading them.
    fn fingerprint(
        &self,
        model: &ModelRef,
        settings: &ModelSettings,
    ) -> Result<String, ModelError> {
        Ok(self.open(model, settings)?.card().fingerprint.clone())
    }

    /// Refuses a start token that the model does not have. A provider that cannot tell before anything is
    /// asked refuses nothing.
    fn check_start(
        &self,
        _model: &ModelRef,
        _settings: &ModelSettings,
        _start: &Start,
    ) -> Result<(), ModelError> {
        Ok(())
    }

    /// Whether it can be opened while another model like it is at work: there is memory for both, and
    /// opening it takes long enough to be worth it.
    fn fits_beside(&self, _model: &ModelRef, _settings: &ModelSettings) -> bool {
        false
    }

    /// What a dry run should say of how it would be computed: that its weights have no room, for example.
    fn outlook(&self, _model: &ModelRef, _settings: &ModelSettings) -> Option<String> {
        None
    }

    /// Whether describing or opening a model starts a program that its name names. A run folder from
    /// elsewhere must not do that by itself.
    fn starts_programs(&self) -> bool {
        false
    }

    /// If its models are asked over a network: their money, batches and keys. Models of this machine cost
    /// nothing but time, have no batches and are sent no key.
    fn service(&self) -> Option<&dyn Service> {
        None
    }

    /// Loads the weights, or makes ready to send requests.
    fn open(&self, model: &ModelRef, settings: &ModelSettings) -> OpenedModel;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_strings_are_read_as_people_write_them() {
        let cases = [
            ("openai/gpt-4o", "openai", "gpt-4o", None),
            (
                "hf/EleutherAI/pythia-70m@step1000",
                "hf",
                "EleutherAI/pythia-70m",
                Some("step1000"),
            ),
            ("hf/./a@b/model", "hf", "./a@b/model", None),
            ("gguf//data/x.gguf", "gguf", "/data/x.gguf", None),
        ];
        for (text, provider, name, revision) in cases {
            let model: ModelRef = text.parse().unwrap();
            assert_eq!(
                (model.provider.as_str(), model.name.as_str()),
                (provider, name)
            );
            assert_eq!(model.revision.as_deref(), revision);
            assert_eq!(model.to_string(), text);
        }
    }

    #[test]
    fn half_a_model_string_is_refused() {
        for text in ["gpt-4o", "/x", "hf/", ""] {
            assert!(text.parse::<ModelRef>().is_err(), "{text}");
        }
    }
}
