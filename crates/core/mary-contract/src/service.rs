//! What sets a model behind a network apart from one on this machine: it may cost money, have batches, and
//! be sent a key. A provider of such models says so with [`Service`]; everybody else learns about money here
//! and needs to know nobody who spends it.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::{ModelError, ModelRef, ModelSettings, Part, Prompt, Request};

/// A provider whose models are asked over a network.
pub trait Service: Send + Sync {
    /// Where its models' spending is counted. The services of one laboratory share one account, so that a
    /// budget holds over all of them.
    fn account(&self) -> &dyn Account;

    /// Estimates what requests to a model would take, by the settings it would be opened with. Needs no key
    /// and sends nothing.
    fn estimator(
        &self,
        model: &ModelRef,
        settings: &ModelSettings,
    ) -> Result<Box<dyn Estimator>, ModelError>;

    /// Whether a model that is opened with [`ModelSettings::batches`] submits its requests as batches,
    /// leaves, and finds the answers when it is opened again.
    fn has_batches(&self) -> bool {
        false
    }

    /// Which of the user's secrets opening a model with these settings would send.
    fn sent_key(&self, _settings: &ModelSettings) -> SentKey {
        SentKey::None
    }
}

/// A secret that leaves this machine when a model is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentKey {
    /// None.
    None,
    /// The service's own key.
    Own,
    /// A secret that is not among those the service is known by; the settings name it.
    Other,
}

/// An account of money, kept by whoever spends it.
pub trait Account: Send + Sync {
    /// What it holds now.
    fn balance(&self) -> Balance;

    /// Counts dollars that were spent before, by the run that is resumed.
    fn add_spent(&self, dollars: f64);

    /// From now on every change is told here, and to nobody else; with `None`, to nobody. A request leaves
    /// only after the money set aside for it was told of.
    fn watch(&self, watcher: Option<Watcher>);
}

/// Is told of every change of an [`Account`].
pub type Watcher = Box<dyn Fn(Balance) + Send + Sync>;

/// What an [`Account`] holds, in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Balance {
    /// Spent, `lost` included.
    pub spent: f64,
    /// Of that, what was paid, or may have been, for answers that did not come: at the estimate where
    /// nobody said what they cost.
    pub lost: f64,
    /// Set aside for what is under way.
    pub promised: f64,
}

/// Estimates requests to one model.
pub trait Estimator: Send + Sync {
    /// What a request would take.
    fn estimate(&self, request: &Request) -> RequestEstimate;

    /// Day and source of the prices it goes by.
    fn prices(&self) -> &str;
}

/// What one or more requests would take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestEstimate {
    /// How many requests; one question may take several.
    pub requests: u64,
    /// Tokens read, about.
    pub prompt_tokens: u64,
    /// Tokens written, at most.
    pub completion_tokens: u64,
    /// Dollars, at most; `None` when no price is known.
    pub cost: Option<f64>,
    /// Seconds, about, where the model runs on this machine and its size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl RequestEstimate {
    /// A request to a model on this machine. It reads a prefix once, whatever follows.
    pub fn local(request: &Request) -> Self {
        let (read, written) = match request {
            Request::Generate(generate) => (
                prompt_tokens(&generate.prompt),
                u64::from(generate.sampling.max_tokens),
            ),
            Request::Score(score) => {
                let texts = score.continuations.iter().map(|c| text_tokens(c));
                (prompt_tokens(&score.prefix) + texts.sum::<f64>(), 0)
            }
            Request::Observe(observe) if observe.picture.is_some() => (PICTURE_TOKENS, 0),
            Request::Observe(observe) => (text_tokens(&observe.text), 0),
        };
        Self {
            requests: 1,
            prompt_tokens: read as u64,
            completion_tokens: written,
            ..Self::default()
        }
    }
}

/// Together they cost something only where every one of them has a price.
impl AddAssign for RequestEstimate {
    fn add_assign(&mut self, other: Self) {
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        self.requests += other.requests;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.cost = both(self.cost, other.cost);
        self.seconds = both(self.seconds, other.seconds);
    }
}

/// Tokens a picture is taken for.
const PICTURE_TOKENS: f64 = 1000.0;

/// About how many tokens a text makes: one for four ASCII characters or one and a half others. That is near
/// the truth for English and current tokenizers, and too high rather than too low elsewhere.
///
/// ```
/// assert_eq!(mary_contract::text_tokens("a cat sat"), 3.0);
/// ```
pub fn text_tokens(text: &str) -> f64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count().saturating_sub(ascii);
    (ascii as f64 / 4.0 + others as f64 / 1.5).ceil()
}

/// About how many tokens a prompt makes; a picture counts as a thousand.
pub fn prompt_tokens(prompt: &Prompt) -> f64 {
    let parts = prompt.turns.iter().flat_map(|t| &t.parts);
    let tokens = parts.map(|part| match part {
        Part::Text(text) => text_tokens(text),
        Part::Image(_) => PICTURE_TOKENS,
    });
    let turns: f64 = tokens.sum();
    let system = prompt.system.as_deref().map_or(0.0, text_tokens);
    // A few for the frame around every message.
    system + turns + 4.0 * (prompt.turns.len() as f64 + 1.0)
}
