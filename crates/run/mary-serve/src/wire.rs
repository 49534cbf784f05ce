//! What requests for answers have in common, as clients send it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use mary_contract::{Finish, Sampling, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::ApiError;

/// Answers of one request, at most.
pub(crate) const MOST_ANSWERS: usize = 2_048;
/// Texts that end an answer, at most, and the bytes of each: every answer has its own.
const MOST_STOPS: usize = 64;
const LONGEST_STOP: usize = 1_024;
/// Alternatives of one token, at most.
pub(crate) const MOST_ALTERNATIVES: u32 = 20;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    pub fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// How an answer is drawn. Fields of the API that this server does not have are refused where they would change the
/// answer, and passed over where they would not.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Drawing {
    pub max_tokens: Option<u32>,
    pub max_completion_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_k: Option<i64>,
    pub n: Option<usize>,
    stop: Option<OneOrMany<String>>,
    seed: Option<i64>,
    pub stream: bool,
    pub stream_options: StreamOptions,
    presence_penalty: Option<f64>,
    frequency_penalty: Option<f64>,
    repetition_penalty: Option<f64>,
    logit_bias: Value,
    best_of: Option<usize>,
    suffix: Option<String>,
    tools: Value,
    response_format: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamOptions {
    pub include_usage: bool,
}

impl Drawing {
    pub fn check(&self) -> Result<(), ApiError> {
        let neutral = |value: Option<f64>, nothing: f64| value.is_none_or(|v| v == nothing);
        let empty = |value: &Value| match value {
            Value::Null => true,
            Value::Array(all) => all.is_empty(),
            Value::Object(all) => all.is_empty() || all.get("type") == Some(&json!("text")),
            _ => false,
        };
        let n = self.n.unwrap_or(1);
        let wrong = [
            (neutral(self.presence_penalty, 0.0), "presence_penalty"),
            (neutral(self.frequency_penalty, 0.0), "frequency_penalty"),
            (neutral(self.repetition_penalty, 1.0), "repetition_penalty"),
            (empty(&self.logit_bias), "logit_bias"),
            (empty(&self.tools), "tools"),
            (empty(&self.response_format), "response_format"),
            (self.best_of.is_none_or(|best| best == n), "best_of"),
            (self.suffix.as_ref().is_none_or(String::is_empty), "suffix"),
        ];
        if let Some((_, name)) = wrong.iter().find(|(fine, _)| !fine) {
            return Err(ApiError::bad(format!("`{name}` is not supported")));
        }
        let within = |name: &str, value: Option<f64>, low: f64, high: f64| match value {
            Some(v) if !(low..=high).contains(&v) => Err(ApiError::bad(format!(
                "`{name}` must be between {low} and {high}"
            ))),
            _ => Ok(()),
        };
        let stops = self.stops();
        if stops.len() > MOST_STOPS || stops.iter().any(|stop| stop.len() > LONGEST_STOP) {
            return Err(ApiError::bad(format!(
                "`stop` holds at most {MOST_STOPS} texts of {LONGEST_STOP} bytes"
            )));
        }
        within("temperature", self.temperature, 0.0, 100.0)?;
        within("top_p", self.top_p, f64::MIN_POSITIVE, 1.0)?;
        if n == 0 || n > MOST_ANSWERS {
            return Err(ApiError::bad(format!(
                "`n` must be between 1 and {MOST_ANSWERS}"
            )));
        }
        Ok(())
    }

    fn stops(&self) -> &[String] {
        match &self.stop {
            None => &[],
            Some(OneOrMany::One(one)) => std::slice::from_ref(one),
            Some(OneOrMany::Many(many)) => many,
        }
    }

    pub fn count(&self) -> usize {
        self.n.unwrap_or(1)
    }

    /// Whether one token is wanted, the likeliest: scoring the prompt tells it.
    pub fn likeliest_token(&self) -> bool {
        self.max_tokens == Some(1)
            && self.temperature == Some(0.0)
            && self.count() == 1
            && self.stop.is_none()
    }

    /// How the answer of this place is drawn. Without a seed every request draws anew.
    pub fn sampling(&self, place: usize, tokens: u32) -> Sampling {
        let seed = match self.seed {
            Some(seed) => seed.cast_unsigned(),
            None => fresh_seed(),
        };
        let wanted = self.max_completion_tokens.or(self.max_tokens);
        let top_k = self.top_k.filter(|k| *k > 0);
        Sampling {
            temperature: self.temperature.unwrap_or(1.0),
            top_p: self.top_p.filter(|p| *p < 1.0),
            top_k: top_k.map(|k| u32::try_from(k).unwrap_or(u32::MAX)),
            max_tokens: wanted.unwrap_or(tokens),
            stop: self.stops().to_vec(),
            seed: Some(seed.wrapping_add(place as u64)),
        }
    }
}

fn fresh_seed() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut hash = blake3::Hasher::new();
    hash.update(&since.unwrap_or_default().as_nanos().to_le_bytes());
    hash.update(&COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    let bytes = hash.finalize();
    u64::from_le_bytes(bytes.as_bytes()[..8].try_into().unwrap_or_default())
}

#[derive(Clone)]
pub(crate) struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    pub fn new(kind: &str, model: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            id: format!("{kind}-{:016x}", fresh_seed()),
            created: since.unwrap_or_default().as_secs(),
            model: model.to_owned(),
        }
    }

    pub fn with(&self, object: &str, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

pub(crate) fn finish(finish: &Finish) -> &str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::Refusal | Finish::ContentFilter => "content_filter",
        Finish::Other(word) => word,
    }
}

pub(crate) fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    })
}
