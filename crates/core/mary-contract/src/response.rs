//! What a model gives back for each kind of request.

use serde::{Deserialize, Serialize};

use crate::{UnscoredReason, Vector, best};

/// An answer to a [`crate::Request`], of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// To [`Request::Generate`](crate::Request::Generate).
    Generated(Generated),
    /// To [`Request::Score`](crate::Request::Score).
    Scored(Scored),
    /// To [`Request::Observe`](crate::Request::Observe).
    Observed(Observed),
}

impl Response {
    /// The words of a generated answer.
    pub fn as_generated(&self) -> Option<&Generated> {
        match self {
            Self::Generated(generated) => Some(generated),
            _ => None,
        }
    }

    /// The scores of a scored one.
    pub fn as_scored(&self) -> Option<&Scored> {
        match self {
            Self::Scored(scored) => Some(scored),
            _ => None,
        }
    }

    /// The vectors of an observed one.
    pub fn as_observed(&self) -> Option<&Observed> {
        match self {
            Self::Observed(observed) => Some(observed),
            _ => None,
        }
    }
}

/// An answer in words, and why it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// The answer, without the stop string.
    pub text: String,
    /// Whether the model ended it or something else did.
    pub finish: Finish,
    /// Visible reasoning that came apart from the answer, where a provider returns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

impl Generated {
    /// An answer that came to its end, without visible reasoning.
    pub fn whole(text: String) -> Self {
        Self {
            text,
            finish: Finish::Stop,
            reasoning: None,
        }
    }

    /// Why there is nothing to read, where the model or its provider held the answer back.
    pub fn withheld(&self) -> Option<UnscoredReason> {
        match self.finish {
            Finish::Refusal => Some(UnscoredReason::Refused),
            Finish::ContentFilter => Some(UnscoredReason::Filtered),
            _ => None,
        }
    }

    /// Why an answer that could not be read has no score.
    pub fn unread(&self) -> UnscoredReason {
        self.withheld().unwrap_or(match self.finish {
            Finish::Length => UnscoredReason::Truncated,
            _ => UnscoredReason::Unparsed,
        })
    }
}

/// Why a generation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// End of sequence or a stop string.
    Stop,
    /// The token limit cut it off.
    Length,
    /// The model declined, as the provider itself reports it.
    Refusal,
    /// The provider withheld the answer.
    ContentFilter,
    /// Something else, in the provider's word.
    Other(String),
}

/// Log-probabilities of the continuations, in the order asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// One for each continuation, in the order asked.
    pub continuations: Vec<ContinuationScore>,
}

impl Scored {
    /// The best continuation by its mean log-probability per token, as [`best`] has it.
    pub fn best_mean(&self, correct: usize) -> Option<(usize, f64)> {
        let means = self.continuations.iter().map(|c| c.mean());
        best(&means.collect::<Option<Vec<f64>>>()?, correct)
    }

    /// What a model that knows nothing scores by sums: it finds the continuation with the fewest tokens the most
    /// probable.
    pub fn floor(&self, correct: usize) -> Option<f64> {
        let lengths = self.continuations.iter();
        let lengths: Vec<f64> = lengths.map(|c| -(c.logprobs.len() as f64)).collect();
        best(&lengths, correct).map(|(_, share)| share)
    }
}

/// Log-probabilities of one continuation, natural logarithm, every entry finite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ContinuationScore {
    /// The scored tokens as text (lossy where a token is half a character).
    pub tokens: Vec<String>,
    /// ln p(token | everything before it), one per token.
    pub logprobs: Vec<f32>,
    /// A token holds both the end of the prefix and the beginning of the continuation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub boundary_merged: bool,
    /// The first token of the text had nothing before it and is not among `tokens`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_unscored: bool,
    /// Part of the text lay beyond the context window and was scored through sliding windows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub windowed: bool,
    /// More about each token, where [`crate::Details`] were asked for and the model can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<TokenDetails>>,
}

/// More about each scored token; a list is empty where it was not asked for or cannot be told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenDetails {
    /// Where each token lies in the continuation, in bytes. A token that began before it starts at 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<(u32, u32)>,
    /// Entropy in nats of the distribution that each token was drawn from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entropy: Vec<f32>,
    /// How many tokens were more probable than each, plus one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rank: Vec<u32>,
    /// ln of the probability that each token begins with the space before a word. One more than there are tokens: the last is for what follows them. Empty for a model
    /// whose tokens do not hold the space before a word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub word_starts: Vec<f32>,
    /// The likeliest tokens with the natural logarithm of their probability, the likeliest first
    /// ([`crate::Details::top`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, f32)>,
    /// The likeliest tokens in the place of each, as ids, the likeliest first ([`crate::Details::alternatives`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Vec<(u32, f32)>>,
}

impl ContinuationScore {
    /// Log-probability of the whole continuation.
    pub fn sum(&self) -> f64 {
        self.logprobs.iter().map(|&x| f64::from(x)).sum()
    }

    /// Mean per token; `None` when nothing was scored.
    pub fn mean(&self) -> Option<f64> {
        (!self.logprobs.is_empty()).then(|| self.sum() / self.logprobs.len() as f64)
    }
}

/// Pooled hidden states of one text or picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// One for each pool asked.
    pub pools: Vec<PooledVectors>,
    /// Scores of the text, where asked and possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<ContinuationScore>,
}

/// The vectors of one pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PooledVectors {
    /// How many tokens were averaged; 0 (with empty vectors) when a word has no vector at all, as
    /// outside the vocabulary of static vectors.
    pub tokens: usize,
    /// One for each layer asked for, ascending.
    pub layers: Vec<LayerVector>,
}

/// One layer's pooled vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerVector {
    /// 0 is the embedding output.
    pub layer: usize,
    /// As wide as the model.
    pub vector: Vector,
}
