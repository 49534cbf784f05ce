//! The three things that can be asked of a model. Everything in the four papers is one of these.

use serde::{Deserialize, Serialize};

use crate::{Image, Prompt, PromptForm, Start};

/// One question to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Text and pictures in, text out.
    Generate(Generate),
    /// One prefix, many continuations, token log-probabilities out.
    Score(Score),
    /// A text or a picture in, pooled vectors of chosen layers out.
    Observe(Observe),
}

/// Which of the three a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Words are wanted ([`Request::Generate`]).
    Generate,
    /// Log-probabilities are wanted ([`Request::Score`]).
    Score,
    /// Hidden states are wanted ([`Request::Observe`]).
    Observe,
}

impl Request {
    /// What is asked, as plain text; of scores what stands before the continuations.
    pub fn text(&self) -> String {
        match self {
            Self::Generate(generate) => generate.prompt.text(),
            Self::Score(score) => score.prefix.text(),
            Self::Observe(observe) => observe.text.clone(),
        }
    }

    /// An answer in words to one text.
    pub fn words(form: PromptForm, text: impl Into<String>, sampling: Sampling) -> Self {
        Self::Generate(Generate::new(Prompt::single(form, text), sampling))
    }

    /// Vectors of a text, pooled in one way, without scores.
    pub fn vectors(text: impl Into<String>, pool: Pool, layers: Layers) -> Self {
        Self::Observe(Observe {
            text: text.into(),
            picture: None,
            pools: vec![pool],
            layers,
            with_scores: false,
        })
    }

    /// Which of the three this is.
    pub fn kind(&self) -> RequestKind {
        match self {
            Self::Generate(_) => RequestKind::Generate,
            Self::Score(_) => RequestKind::Score,
            Self::Observe(_) => RequestKind::Observe,
        }
    }

    /// Whether a picture is part of it.
    pub fn has_images(&self) -> bool {
        match self {
            Self::Generate(g) => g.prompt.has_images(),
            Self::Score(s) => s.prefix.has_images(),
            Self::Observe(o) => o.picture.is_some(),
        }
    }
}

/// Ask for an answer in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generate {
    /// What the model reads.
    pub prompt: Prompt,
    /// How the answer is drawn.
    pub sampling: Sampling,
}

impl Generate {
    /// An answer in words to a prompt.
    pub fn new(prompt: Prompt, sampling: Sampling) -> Self {
        Self { prompt, sampling }
    }
}

/// How an answer is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Divides the logits; 0 takes the most probable token.
    pub temperature: f64,
    /// Nucleus: the smallest set of tokens holding this much probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Only the k most probable tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// At most this many new tokens.
    pub max_tokens: u32,
    /// The answer ends before any of these strings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Seed of the draw. The engine sets it from the run's seed, the item and the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Sampling {
    /// The most probable token at every step.
    pub fn greedy(max_tokens: u32) -> Self {
        Self {
            temperature: 0.0,
            top_p: None,
            top_k: None,
            max_tokens,
            stop: vec![],
            seed: None,
        }
    }

    /// At this temperature.
    #[must_use]
    pub fn at(self, temperature: f64) -> Self {
        Self {
            temperature,
            ..self
        }
    }

    /// Up to this string.
    #[must_use]
    pub fn until(mut self, stop: &str) -> Self {
        self.stop.push(stop.to_owned());
        self
    }
}

/// Ask how probable some texts are after one prefix.
///
/// Prefix and continuation are tokenised *together*, as they will be read: a merge may cross the
/// boundary, in which case the first scored token is the one that holds the continuation's first
/// byte, and [`crate::ContinuationScore::boundary_merged`] says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The shared beginning; may be empty.
    pub prefix: Prompt,
    /// The texts that are scored, each after the prefix.
    pub continuations: Vec<String>,
    /// What stands before the first token.
    pub start: Start,
    /// What is wanted of each token besides its log-probability.
    #[serde(default, skip_serializing_if = "Details::is_none")]
    pub details: Details,
}

impl Score {
    /// Log-probabilities of continuations, without more about their tokens.
    pub fn new(prefix: Prompt, continuations: Vec<String>, start: Start) -> Self {
        Self {
            prefix,
            continuations,
            start,
            details: Details::default(),
        }
    }
}

/// What is wanted of each scored token besides its log-probability. A model that cannot tell leaves it
/// out of its answer; nothing fails for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// Where each token lies in the continuation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub places: bool,
    /// Entropy of the distribution that the token was drawn from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub entropy: bool,
    /// How many tokens were more probable.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rank: bool,
    /// How probable it was that a new word begins at the token, and after the last one: what is needed
    /// to move a leading space's probability to the word before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub word_starts: bool,
    /// Not the continuation is scored: so many of the likeliest tokens are wanted in the place where it begins.
    /// A masked language model reads [`BLANK`] there and what follows it; others see the prefix alone.
    #[serde(skip_serializing_if = "is_default")]
    pub top: u32,
    /// So many of the likeliest tokens in the place of each scored token, beside it.
    #[serde(skip_serializing_if = "is_default")]
    pub alternatives: u32,
    /// Prefix and continuations are no words but token ids, in decimal and parted by blanks: those of a client with
    /// a tokenizer of its own. Nothing is put before them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub as_ids: bool,
}

/// What stands for a word that is to be predicted.
pub const BLANK: &str = "[MASK]";

/// Whether a field is left out of what is written, for [`serde`]'s `skip_serializing_if`.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Details {
    /// Whether log-probabilities are all that is wanted.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether whole distributions must be looked at.
    pub fn of_distributions(&self) -> bool {
        self.entropy || self.rank || self.word_starts || self.alternatives > 0
    }
}

/// Ask what a model thinks while it reads.
///
/// Layer 0 is the embedding output and layer L the output of the last block *after* the final norm,
/// as in Hugging Face's `hidden_states`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observe {
    /// The text read, as plain text, with the special tokens that the tokenizer adds by itself.
    pub text: String,
    /// A picture that is read in place of the text, by a model that has a tower for pictures beside the
    /// one for texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Image>,
    /// What is pooled; each gives one vector per layer.
    pub pools: Vec<Pool>,
    /// The layers whose vectors come back.
    pub layers: Layers,
    /// Also return the log-probabilities of the text's tokens, from the same pass.
    #[serde(default)]
    pub with_scores: bool,
}

/// Which token vectors are averaged into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    /// Mean over every token that holds at least one byte of `start..end` of the text.
    Span {
        /// First byte of the stretch.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// One token of the text, counted from 0 without added special tokens.
    Token(usize),
    /// Mean over all tokens of the text, added special tokens left out.
    Mean,
    /// The last token of the text (for an encoder: of the text, not the closing special token).
    Last,
    /// The first position of the sequence, special or not (an encoder's `[CLS]`).
    First,
    /// The one vector that models of two towers (CLIP, SigLIP) compare: projected into the space that
    /// texts and pictures share. It comes once, as that of the last layer, whatever layers are asked for.
    Joint,
}

/// Which layers come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layers {
    /// All, the embedding layer included.
    All,
    /// The last layer only.
    Last,
    /// These; negative numbers count from the end (-1 is the last).
    These(Vec<i32>),
}
