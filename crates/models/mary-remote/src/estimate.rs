//! What requests to one model would take, before anything is sent. Tokens are guessed from characters; the
//! budget is kept by what providers really count.

use mary_contract::{
    Estimator, Generate, ModelError, ModelRef, Request, RequestEstimate, Score, Usage,
    prompt_tokens, text_tokens,
};

use crate::catalogue::CatalogueEntry;
use crate::options::{Logprobs, Options};
use crate::prices::{Price, Prices};

/// Estimates requests to one model by the prices that are known.
#[derive(Debug, Clone)]
pub(crate) struct PriceEstimator {
    price: Option<Price>,
    /// Tokens of reasoning, at most.
    room: u32,
    batch: bool,
    logprobs: Logprobs,
    dated: String,
}

impl PriceEstimator {
    pub(crate) fn new(
        entry: &CatalogueEntry,
        model: &ModelRef,
        options: &Options,
    ) -> Result<Self, ModelError> {
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

    pub(crate) fn price(&self) -> Option<&Price> {
        self.price.as_ref()
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
