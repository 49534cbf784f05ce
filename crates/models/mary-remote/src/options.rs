//! The settings of a remote model: what `--model-arg` can say, read once and checked.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use mary_contract::{ErrorKind, ModelError, ModelSettings};

use crate::retry::RetryPolicy;

/// Every argument, with its default and what it does.
pub const ARGUMENTS: &[(&str, &str, &str)] = &[
    (
        "reasoning_effort",
        "",
        "minimal, low, medium, high: passed to reasoning models",
    ),
    (
        "reasoning_tokens",
        "4096",
        "room for hidden reasoning on top of the task's token limit, reasoning models only",
    ),
    (
        "thinking_budget",
        "",
        "tokens of thinking (Anthropic, Gemini 2.5), instead of an effort",
    ),
    (
        "rpm",
        "",
        "requests per minute, beside what the headers say",
    ),
    ("tpm", "", "tokens per minute, beside what the headers say"),
    ("retries", "10", "attempts beyond the first"),
    (
        "max_wait",
        "600",
        "seconds: a provider that asks for a longer wait ends the run, resumable",
    ),
    (
        "stop_wait",
        "60",
        "seconds that a stop (Ctrl-C, an error that ends the run) waits for answers under way",
    ),
    (
        "backoff_ms",
        "500",
        "first pause after an overload, at most",
    ),
    ("connect_timeout", "10", "seconds"),
    (
        "first_byte_timeout",
        "600",
        "seconds until an answer begins",
    ),
    ("timeout", "900", "seconds until an answer is complete"),
    ("cache", "on", "on or off: explicit cache marks (Anthropic)"),
    (
        "images",
        "",
        "true or false, where we cannot know whether the model takes pictures",
    ),
    (
        "logprobs",
        "",
        "none, top or echo: how log-probabilities are asked for",
    ),
    (
        "bos",
        "",
        "text of the start token, where scoring needs one and the server adds none",
    ),
    (
        "omit",
        "",
        "comma-separated parameters that are not sent (temperature, top_p, top_k, seed, stop)",
    ),
    ("prices", "", "path of a price file that comes before ours"),
    (
        "key_env",
        "",
        "name of the environment variable that holds the key",
    ),
    (
        "check",
        "true",
        "ask the provider for the model by name before anything is spent",
    ),
    (
        "batch",
        "",
        "path of a state file: use the provider's batch API",
    ),
    (
        "batch_wait",
        "0",
        "seconds to wait for a batch before leaving it",
    ),
    ("batch_poll", "30", "seconds between looks at a batch"),
    (
        "batch_again",
        "false",
        "submit a batch again whose creation was never confirmed and that the provider does not list",
    ),
];

/// How log-probabilities are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logprobs {
    /// Not at all.
    None,
    /// The most probable next tokens.
    Top,
    /// Of the prompt, by echoing it.
    Echo,
    /// Of chosen tokens, by the llama.cpp server's own completion endpoint.
    Forced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub first_byte: Duration,
    /// Until an answer is complete.
    pub total: Duration,
}

/// The arguments of a remote model.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub(crate) reasoning_effort: Option<String>,
    pub(crate) reasoning_tokens: u32,
    pub(crate) thinking_budget: Option<u32>,
    pub(crate) rpm: Option<f64>,
    pub(crate) tpm: Option<f64>,
    pub(crate) retry: RetryPolicy,
    pub(crate) stop_wait: Duration,
    pub(crate) timeouts: Timeouts,
    pub(crate) cache: bool,
    pub(crate) images: Option<bool>,
    pub(crate) logprobs: Option<Logprobs>,
    pub(crate) bos: Option<String>,
    pub(crate) omit: BTreeSet<String>,
    pub(crate) prices: Option<PathBuf>,
    pub(crate) key_env: Option<String>,
    pub(crate) check: bool,
    pub(crate) batch: Option<PathBuf>,
    pub(crate) batch_wait: Duration,
    pub(crate) batch_poll: Duration,
    pub(crate) batch_again: bool,
}

/// What may be left out of a request without changing what is asked.
pub(crate) const OMITTABLE: &[&str] = &["temperature", "top_p", "top_k", "seed", "stop"];

impl Options {
    /// Reads the arguments; an unknown one is refused, since it is most likely a slip.
    pub fn read(settings: &ModelSettings) -> Result<Self, ModelError> {
        let unknown = settings
            .args
            .keys()
            .find(|name| ARGUMENTS.iter().all(|(known, ..)| known != name));
        if let Some(name) = unknown {
            let known: Vec<_> = ARGUMENTS.iter().map(|(name, ..)| *name).collect();
            return Err(bad(format!("a remote model has no argument `{name}`"))
                .hint(format!("it has: {}", known.join(", "))));
        }
        let args = Args(settings);
        let backoff = Duration::from_millis(args.number("backoff_ms", 500)?);
        Ok(Self {
            reasoning_effort: args.text("reasoning_effort"),
            reasoning_tokens: args.number("reasoning_tokens", 4096)?,
            thinking_budget: args.optional("thinking_budget")?,
            rpm: args.positive("rpm")?,
            tpm: args.positive("tpm")?,
            retry: RetryPolicy {
                retries: args.number("retries", 10)?,
                overload_base: backoff,
                broken_base: backoff / 10,
                longest_wait: args.seconds("max_wait", 600.0)?,
                ..RetryPolicy::default()
            },
            stop_wait: args.seconds("stop_wait", 60.0)?,
            timeouts: Timeouts {
                connect: args.seconds("connect_timeout", 10.0)?,
                first_byte: args.seconds("first_byte_timeout", 600.0)?,
                total: args.seconds("timeout", 900.0)?,
            },
            cache: args.switch("cache")?.unwrap_or(true),
            images: args.switch("images")?,
            logprobs: args.logprobs()?,
            bos: args.text("bos"),
            omit: args.omitted()?,
            prices: args.text("prices").map(PathBuf::from),
            key_env: args.text("key_env"),
            check: args.switch("check")?.unwrap_or(true),
            batch: settings
                .batches
                .clone()
                .or_else(|| args.text("batch").map(PathBuf::from)),
            batch_wait: args.seconds("batch_wait", 0.0)?,
            batch_poll: args.seconds("batch_poll", 30.0)?,
            batch_again: args.switch("batch_again")?.unwrap_or(false),
        })
    }
}

struct Args<'a>(&'a ModelSettings);

impl Args<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let value = self.0.args.get(name)?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    fn optional<T: FromStr>(&self, name: &str) -> Result<Option<T>, ModelError> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(bad(format!(
                "{name}={value}: expected a number that is not negative"
            ))),
        }
    }

    fn number<T: FromStr>(&self, name: &str, default: T) -> Result<T, ModelError> {
        Ok(self.optional(name)?.unwrap_or(default))
    }

    fn positive(&self, name: &str) -> Result<Option<f64>, ModelError> {
        match self.optional::<f64>(name)? {
            Some(x) if !(x.is_finite() && x > 0.0) => {
                Err(bad(format!("{name}={x}: expected a number above 0")))
            }
            other => Ok(other),
        }
    }

    fn seconds(&self, name: &str, default: f64) -> Result<Duration, ModelError> {
        let seconds = self.number(name, default)?;
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
        let names: BTreeSet<String> = text
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        match names.iter().find(|n| !OMITTABLE.contains(&n.as_str())) {
            None => Ok(names),
            Some(name) => Err(bad(format!(
                "omit={name}: only {} can be left out",
                OMITTABLE.join(", ")
            ))),
        }
    }
}

fn bad(message: String) -> ModelError {
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
        let listed: Vec<_> = ARGUMENTS
            .iter()
            .filter(|(.., default, _)| !default.is_empty())
            .map(|(name, default, _)| (*name, *default))
            .collect();
        assert_eq!(read(&listed).unwrap(), options);
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
