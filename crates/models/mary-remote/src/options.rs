//! The settings of a remote model: what `--model-arg` can say, read once and checked.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use mary_contract::{ErrorKind, ModelError, ModelSettings};
use serde::Deserialize;

use crate::retry::RetryPolicy;

/// Every argument with its default; docs/remote.md says what each does.
fn arguments() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../data/arguments.txt").lines();
    lines.filter_map(|line| line.split_once('='))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Logprobs {
    /// Not at all.
    #[default]
    None,
    Top,
    /// Of the prompt, by echoing it.
    Echo,
    /// Of chosen tokens, by the llama.cpp server's own completion endpoint.
    Forced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    /// Until an answer begins.
    pub(crate) first_byte: Duration,
    /// Until an answer is complete.
    pub(crate) total: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// `minimal`, `low`, `medium`, `high`: passed to reasoning models.
    pub reasoning_effort: Option<String>,
    /// Room for hidden reasoning on top of the task's token limit, reasoning models only.
    pub reasoning_tokens: u32,
    /// Tokens of thinking (Anthropic, Gemini 2.5), instead of an effort.
    pub thinking_budget: Option<u32>,
    /// Requests per minute, beside what the headers say.
    pub(crate) rpm: Option<f64>,
    /// Tokens per minute, beside what the headers say.
    pub(crate) tpm: Option<f64>,
    pub(crate) retry: RetryPolicy,
    /// How long a stop (Ctrl-C, an error that ends the run) waits for answers under way.
    pub(crate) stop_wait: Duration,
    pub(crate) timeouts: Timeouts,
    pub(crate) cache: bool,
    /// Whether the model takes pictures, where we cannot know.
    pub(crate) images: Option<bool>,
    pub(crate) logprobs: Option<Logprobs>,
    /// Text of the start token, where scoring needs one and the server adds none.
    pub(crate) bos: Option<String>,
    /// Parameters that are not sent.
    pub(crate) omit: BTreeSet<String>,
    /// A price file that comes before ours.
    pub(crate) prices: Option<PathBuf>,
    pub(crate) key_env: Option<String>,
    /// Ask the provider for the model before anything is spent.
    pub(crate) check: bool,
    /// The state file of batches, where the provider's batch API is used.
    pub(crate) batch: Option<PathBuf>,
    pub(crate) batch_wait: Duration,
    pub(crate) batch_poll: Duration,
    /// Submit a batch again whose creation was never confirmed and that the provider does not list.
    pub(crate) batch_again: bool,
}

/// What may be left out of a request without changing what is asked.
pub(crate) const OMITTABLE: &[&str] = &["temperature", "top_p", "top_k", "seed", "stop"];

impl Options {
    /// Reads the arguments; an unknown one is refused, since it is most likely a slip.
    pub fn read(settings: &ModelSettings) -> Result<Self, ModelError> {
        let known: Vec<_> = arguments().map(|(name, _)| name).collect();
        if let Some(name) = settings.args.keys().find(|n| !known.contains(&n.as_str())) {
            return Err(bad(format!("a remote model has no argument `{name}`"))
                .hint(format!("it has: {}", known.join(", "))));
        }
        let args = Args(settings);
        let backoff = Duration::from_millis(args.number("backoff_ms")?.unwrap_or(500));
        Ok(Self {
            reasoning_effort: args.text("reasoning_effort"),
            reasoning_tokens: args.number("reasoning_tokens")?.unwrap_or_default(),
            thinking_budget: args.number("thinking_budget")?,
            rpm: args.positive("rpm")?,
            tpm: args.positive("tpm")?,
            retry: RetryPolicy {
                retries: args.number("retries")?.unwrap_or_default(),
                overload_base: backoff,
                broken_base: backoff / 10,
                longest_wait: args.seconds("max_wait")?,
                ..RetryPolicy::default()
            },
            stop_wait: args.seconds("stop_wait")?,
            timeouts: Timeouts {
                connect: args.seconds("connect_timeout")?,
                first_byte: args.seconds("first_byte_timeout")?,
                total: args.seconds("timeout")?,
            },
            cache: args.switch("cache")?.unwrap_or(true),
            images: args.switch("images")?,
            logprobs: args.logprobs()?,
            bos: args.text("bos"),
            omit: args.omitted()?,
            prices: args.text("prices").map(PathBuf::from),
            key_env: args.text("key_env"),
            check: args.switch("check")?.unwrap_or(true),
            batch: (settings.batches.clone()).or_else(|| args.text("batch").map(PathBuf::from)),
            batch_wait: args.seconds("batch_wait")?,
            batch_poll: args.seconds("batch_poll")?,
            batch_again: args.switch("batch_again")?.unwrap_or(false),
        })
    }
}

struct Args<'a>(&'a ModelSettings);

impl Args<'_> {
    /// What the user says, or the default of the list; `None` where both are empty.
    fn text(&self, name: &str) -> Option<String> {
        let said = self.0.args.get(name).map(|value| value.trim());
        let default = || Some(arguments().find(|(known, _)| *known == name)?.1);
        let value = said.filter(|v| !v.is_empty()).or_else(default)?;
        (!value.is_empty()).then(|| value.to_owned())
    }

    fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, ModelError> {
        let wrong = |value| {
            let message = format!("{name}={value}: expected a number that is not negative");
            bad(message)
        };
        let value = self.text(name);
        value
            .map(|value| value.parse().map_err(|_| wrong(value)))
            .transpose()
    }

    fn positive(&self, name: &str) -> Result<Option<f64>, ModelError> {
        match self.number::<f64>(name)? {
            Some(x) if !(x.is_finite() && x > 0.0) => {
                Err(bad(format!("{name}={x}: expected a number above 0")))
            }
            other => Ok(other),
        }
    }

    fn seconds(&self, name: &str) -> Result<Duration, ModelError> {
        let seconds = self.number(name)?.unwrap_or_default();
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| bad(format!("{name}={seconds}: expected seconds")))
    }

    fn switch(&self, name: &str) -> Result<Option<bool>, ModelError> {
        match self.text(name).as_deref() {
            None => Ok(None),
            Some("true" | "on" | "yes" | "1") => Ok(Some(true)),
            Some("false" | "off" | "no" | "0") => Ok(Some(false)),
            Some(other) => Err(bad(format!("{name}={other}: expected true or false"))),
        }
    }

    fn logprobs(&self) -> Result<Option<Logprobs>, ModelError> {
        match self.text("logprobs").as_deref() {
            None => Ok(None),
            Some("none") => Ok(Some(Logprobs::None)),
            Some("top") => Ok(Some(Logprobs::Top)),
            Some("echo") => Ok(Some(Logprobs::Echo)),
            Some(other) => Err(bad(format!("logprobs={other}: expected none, top or echo"))),
        }
    }

    fn omitted(&self) -> Result<BTreeSet<String>, ModelError> {
        let text = self.text("omit").unwrap_or_default();
        let names = text.split(',').map(str::trim).filter(|n| !n.is_empty());
        if let Some(name) = names.clone().find(|n| !OMITTABLE.contains(n)) {
            return Err(bad(format!(
                "omit={name}: only {} can be left out",
                OMITTABLE.join(", ")
            )));
        }
        Ok(names.map(str::to_owned).collect())
    }
}

/// What this crate gives, or why not.
pub(crate) type Result<T, E = ModelError> = std::result::Result<T, E>;

pub(crate) fn bad(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::BadRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Options, ModelError> {
        let args = pairs
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        Options::read(&ModelSettings {
            args,
            ..ModelSettings::default()
        })
    }

    #[test]
    fn defaults_are_those_of_the_list() {
        let options = read(&[]).unwrap();
        assert_eq!(options.retry, RetryPolicy::default());
        assert_eq!(options.timeouts.total, Duration::from_secs(900));
        assert!(options.cache && options.check && !options.batch_again);
        let all: Vec<_> = arguments().collect();
        assert_eq!((all.len(), read(&all).unwrap()), (24, options));
    }

    #[test]
    fn slips_are_refused_with_what_was_expected() {
        for (name, value, said) in [
            ("temprature", "1", "no argument"),
            ("rpm", "fast", "expected a number"),
            ("rpm", "0", "above 0"),
            ("retries", "-1", "not negative"),
            ("images", "perhaps", "true or false"),
            ("logprobs", "all", "none, top or echo"),
            ("omit", "model", "can be left out"),
            ("timeout", "-2", "seconds"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.message.contains(said), "{name}={value}: {error}");
        }
    }
}
