//! What tokens cost: a dated file of ours, and the user's own in front of it.

use std::path::{Path, PathBuf};

use mary_contract::{
    ErrorKind, Estimator, Generate, ModelError, ModelRef, Request, RequestEstimate, Score, Usage,
    prompt_tokens, text_tokens,
};
use serde::Deserialize;

use crate::catalogue::CatalogueEntry;
use crate::options::{Logprobs, Options, Result, bad};

const OURS: &str = include_str!("../data/prices.json");

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PriceList {
    pub updated: String,
    pub source: String,
    /// One for each model or family of models.
    pub models: Vec<Price>,
}

/// The price of a model, in dollars per million tokens.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The provider's name here (`openai`).
    pub provider: String,
    /// The model, or the beginning of its name up to a dash, dot, colon or at sign.
    pub model: String,
    pub input: f64,
    pub output: f64,
    /// Tokens read from the provider's cache; the same as `input` when absent.
    pub cached: Option<f64>,
    /// Tokens written into the provider's cache; the same as `input` when absent.
    pub cache_write: Option<f64>,
    /// What the batch API costs, as a share of the above; 1 when absent.
    pub batch: Option<f64>,
}

impl Price {
    pub fn cost(&self, usage: &Usage, cache_writes: u64, batch: bool) -> f64 {
        let fresh = usage
            .prompt_tokens
            .saturating_sub(usage.cached_tokens)
            .saturating_sub(cache_writes);
        let dollars = fresh as f64 * self.input
            + usage.cached_tokens as f64 * self.cached.unwrap_or(self.input)
            + cache_writes as f64 * self.cache_write.unwrap_or(self.input)
            + usage.completion_tokens as f64 * self.output;
        let share = if batch {
            self.batch.unwrap_or(1.0)
        } else {
            1.0
        };
        dollars * share / 1e6
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    lists: Vec<PriceList>,
}

impl Prices {
    pub fn ours() -> Result<Self> {
        Ok(Self {
            lists: vec![parse(OURS, Path::new("the built-in price list"))?],
        })
    }

    /// Ours, behind the user's file where one is named by an argument or `MARY_PRICES`.
    pub fn load(options: &Options) -> Result<Self> {
        let mut prices = Self::ours()?;
        let from_environment = || std::env::var_os("MARY_PRICES").map(PathBuf::from);
        if let Some(path) = options.prices.clone().or_else(from_environment) {
            let text = mary_platform::read_plain_text(&path, mary_platform::LARGEST_SETTINGS)
                .map_err(|error| {
                    let message =
                        format!("the price file {} cannot be read: {error}", path.display());
                    ModelError::new(ErrorKind::NotFound, message)
                })?;
            prices.lists.insert(0, parse(&text, &path)?);
        }
        Ok(prices)
    }

    /// The price of a model: the longest matching name in the first list that has one.
    pub fn for_model(&self, model: &ModelRef) -> Option<&Price> {
        self.lists.iter().find_map(|list| {
            list.models
                .iter()
                .filter(|p| p.provider == model.provider && matches(&p.model, &model.name))
                .max_by_key(|p| p.model.len())
        })
    }

    /// Day and source of our own list, for what is printed beside an estimate.
    pub fn dated(&self) -> String {
        self.lists
            .iter()
            .map(|l| format!("prices of {} ({})", l.updated, l.source))
            .collect::<Vec<_>>()
            .join("; ")
    }
}

fn matches(name: &str, model: &str) -> bool {
    match model.strip_prefix(name) {
        Some(rest) => rest.is_empty() || rest.starts_with(['-', '.', ':', '@']),
        None => false,
    }
}

fn parse(text: &str, path: &Path) -> Result<PriceList> {
    let wrong = |message: String| {
        bad(format!("{}: {message}", path.display()),
        )
        .hint("expected {\"updated\": \"2026-01-31\", \"source\": \"…\", \"models\": [{\"provider\": \"openai\", \"model\": \"gpt-4o\", \"input\": 2.5, \"output\": 10}]}")
    };
    let list: PriceList = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    let bad = list.models.iter().find(|p| {
        let more = [p.cached, p.cache_write, p.batch].into_iter().flatten();
        let mut numbers = more.chain([p.input, p.output]);
        numbers.any(|x| !(x.is_finite() && x >= 0.0))
    });
    match bad {
        None => Ok(list),
        Some(price) => Err(wrong(format!(
            "a price of {}/{} is negative",
            price.provider, price.model
        ))),
    }
}

/// Estimates requests to one model by the prices that are known.
#[derive(Debug, Clone)]
pub(crate) struct PriceEstimator {
    pub(crate) price: Option<Price>,
    /// Tokens of reasoning, at most.
    room: u32,
    batch: bool,
    logprobs: Logprobs,
    dated: String,
}

impl PriceEstimator {
    pub(crate) fn new(entry: &CatalogueEntry, model: &ModelRef, options: &Options) -> Result<Self> {
        let prices = Prices::load(options)?;
        let free = (!entry.needs_key).then(Price::default);
        let thinking = entry.main_format().and_then(|f| f.thinking(options));
        let reasons = entry.shape(&model.name).reasoning;
        Ok(Self {
            logprobs: options.logprobs.unwrap_or(entry.logprobs_of(&model.name)),
            room: thinking.unwrap_or(if reasons { options.reasoning_tokens } else { 0 }),
            batch: options.batch.is_some(),
            dated: prices.dated(),
            price: prices.for_model(model).cloned().or(free),
        })
    }

    pub(crate) fn generate(&self, generate: &Generate) -> RequestEstimate {
        let written = generate.sampling.max_tokens.saturating_add(self.room);
        self.priced(1, prompt_tokens(&generate.prompt), f64::from(written))
    }

    /// By top log-probabilities one request, otherwise one for each continuation.
    pub(crate) fn score(&self, score: &Score) -> RequestEstimate {
        let prefix = prompt_tokens(&score.prefix);
        if self.logprobs == Logprobs::Top {
            return self.priced(1, prefix, 1.0);
        }
        let texts = score.continuations.len();
        let continuations: f64 = score.continuations.iter().map(|c| text_tokens(c)).sum();
        let read = prefix * texts as f64 + continuations;
        self.priced(texts as u64, read, texts as f64)
    }

    fn priced(&self, requests: u64, read: f64, written: f64) -> RequestEstimate {
        let usage = Usage {
            prompt_tokens: read as u64,
            completion_tokens: written as u64,
            ..Usage::default()
        };
        RequestEstimate {
            requests,
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            cost: self.price.as_ref().map(|p| p.cost(&usage, 0, self.batch)),
            seconds: None,
        }
    }
}

impl Estimator for PriceEstimator {
    fn estimate(&self, request: &Request) -> RequestEstimate {
        match request {
            Request::Generate(generate) => self.generate(generate),
            Request::Score(score) => self.score(score),
            // No service shows its hidden states.
            Request::Observe(_) => RequestEstimate {
                cost: Some(0.0),
                ..RequestEstimate::default()
            },
        }
    }

    fn prices(&self) -> &str {
        &self.dated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(text: &str) -> ModelRef {
        text.parse().unwrap()
    }

    #[test]
    fn the_longest_name_wins_and_a_stranger_has_no_price() {
        let prices = Prices::ours().unwrap();
        let input = |name: &str| prices.for_model(&model(name)).map(|p| p.input);
        assert_eq!(input("openai/gpt-4o"), Some(2.5));
        assert_eq!(input("openai/gpt-4o-mini-2024-07-18"), Some(0.15));
        assert_eq!(input("openai/gpt-4o-2024-08-06"), Some(2.5));
        assert_eq!(input("openai/gpt-4omega"), None);
        assert_eq!(input("vllm/gpt-4o"), None);
        assert!(prices.dated().contains("2025"));
    }

    #[test]
    fn cached_written_and_batched_tokens_have_their_own_price() {
        let prices = Prices::ours().unwrap();
        let price = prices
            .for_model(&model("anthropic/claude-sonnet-4-20250514"))
            .unwrap();
        let usage = Usage {
            prompt_tokens: 1_000_000,
            cached_tokens: 600_000,
            completion_tokens: 100_000,
            ..Usage::default()
        };
        let expected = 0.2 * 3.0 + 0.6 * 0.3 + 0.2 * 3.75 + 0.1 * 15.0;
        assert!((price.cost(&usage, 200_000, false) - expected).abs() < 1e-9);
        assert!((price.cost(&usage, 200_000, true) - expected / 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_users_file_comes_first_and_mistakes_in_it_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prices.json");
        let mut args = mary_contract::ModelSettings::default();
        args.args
            .insert("prices".into(), path.display().to_string());
        let options = Options::read(&args).unwrap();
        assert_eq!(
            Prices::load(&options).unwrap_err().kind,
            ErrorKind::NotFound
        );
        let file = |input: &str| {
            format!(
                r#"{{"updated":"2026-11-01","source":"me","models":[{{"provider":"openai","model":"gpt-4o","input":{input},"output":1}}]}}"#
            )
        };
        std::fs::write(&path, file("99.0")).unwrap();
        let prices = Prices::load(&options).unwrap();
        assert_eq!(
            prices.for_model(&model("openai/gpt-4o")).unwrap().input,
            99.0
        );
        assert_eq!(
            prices.for_model(&model("openai/gpt-5")).unwrap().input,
            1.25,
            "ours behind it"
        );
        std::fs::write(&path, file("-1")).unwrap();
        assert!(
            Prices::load(&options)
                .unwrap_err()
                .message
                .contains("negative")
        );
    }
}

#[cfg(test)]
mod estimate_tests {
    use super::*;
    use mary_contract::{ModelSettings, Prompt, Sampling, Service as _, Start};

    fn estimate(model: &str, request: &Request) -> RequestEstimate {
        let model: ModelRef = model.parse().unwrap();
        let provider = crate::provider::tests::provider(&model.provider);
        let estimator = provider.estimator(&model, &ModelSettings::default());
        estimator.unwrap().estimate(request)
    }

    #[test]
    fn answers_count_at_their_limit_with_room_for_reasoning_and_strangers_have_no_price() {
        let request = Request::Generate(Generate {
            prompt: Prompt::chat("word ".repeat(400)),
            sampling: Sampling::greedy(16),
        });
        for (model, written, cents) in [
            ("openai/gpt-4o", 16, Some(0.143)),
            ("openai/o3", 4112, Some(3.3912)),
            ("vllm/my-model", 16, Some(0.0)),
            ("groq/new-model", 16, None),
        ] {
            let estimate = estimate(model, &request);
            assert_eq!((estimate.requests, estimate.prompt_tokens), (1, 508));
            assert_eq!(estimate.completion_tokens, written, "{model}");
            let off = estimate
                .cost
                .zip(cents)
                .map(|(a, b): (f64, f64)| a * 100.0 - b);
            assert_eq!(estimate.cost.is_some(), cents.is_some(), "{model}");
            assert!(
                off.is_none_or(|off| off.abs() < 1e-9),
                "{model}: {estimate:?}"
            );
        }
    }

    #[test]
    fn scoring_counts_one_request_for_each_continuation_unless_top_tokens_do() {
        let score = Request::Score(Score::new(
            Prompt::plain("The cat"),
            vec![" sat".into(), " sits".into(), " sit".into()],
            Start::Model,
        ));
        for (model, requests) in [("openai/gpt-4o", 1), ("vllm/x", 3)] {
            assert_eq!(estimate(model, &score).requests, requests, "{model}");
        }
    }
}
