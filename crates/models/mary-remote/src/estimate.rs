//! What a run would take, before anything is sent.
//!
//! Tokens are guessed from characters: four ASCII characters or one and a half others make a token,
//! and a picture makes a thousand. That is near the truth for English and current tokenizers, and
//! too high rather than too low elsewhere; the budget is kept by what providers really count.

use std::fmt;

use mary_contract::{Generate, ModelError, ModelRef, ModelSettings, Prompt, Request, Score, Usage};
use mary_platform::counted;
use serde::{Deserialize, Serialize};

use crate::catalogue::Entry;
use crate::options::{Logprobs, Options};
use crate::prices::{Price, Prices};

/// Tokens a picture is taken for.
const PICTURE_TOKENS: f64 = 1000.0;

/// How tokens are guessed, where nothing costs money.
const TOKENS: &str = "tokens are estimated: one per 4 ASCII characters or 1.5 others, 1000 per picture; answers are counted at their limit";

/// How the guess is made, to be printed beside it.
pub const METHOD: &str = "tokens are estimated: one per 4 ASCII characters or 1.5 others, 1000 per picture; answers are counted at their limit, so the cost is an upper estimate; prefix caches are not counted";

/// About how many tokens a text makes.
pub fn tokens_in(text: &str) -> f64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count().saturating_sub(ascii);
    (ascii as f64 / 4.0 + others as f64 / 1.5).ceil()
}

/// About how many tokens a prompt makes.
pub fn tokens_in_prompt(prompt: &Prompt) -> f64 {
    use mary_contract::Part;
    let system = prompt.system.as_deref().map_or(0.0, tokens_in);
    let turns: f64 = prompt
        .turns
        .iter()
        .flat_map(|t| &t.parts)
        .map(|part| match part {
            Part::Text(text) => tokens_in(text),
            Part::Image(_) => PICTURE_TOKENS,
        })
        .sum();
    // A few for the frame around every message.
    system + turns + 4.0 * (prompt.turns.len() as f64 + 1.0)
}

/// What one or more requests would take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub requests: u64,
    pub prompt_tokens: u64,
    /// Tokens written, at most.
    pub completion_tokens: u64,
    /// Dollars, at most; `None` when no price is known.
    pub cost: Option<f64>,
    /// Seconds, about, where the model runs on this machine and its size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl Estimate {
    /// Adds a request to a model that runs on this machine. It reads a prefix once, whatever follows.
    pub fn add_local(&mut self, request: &Request) {
        let (read, written) = match request {
            Request::Generate(generate) => (
                tokens_in_prompt(&generate.prompt),
                u64::from(generate.sampling.max_tokens),
            ),
            Request::Score(score) => {
                let texts = score.continuations.iter().map(|c| tokens_in(c));
                (tokens_in_prompt(&score.prefix) + texts.sum::<f64>(), 0)
            }
            Request::Observe(observe) if observe.picture.is_some() => (PICTURE_TOKENS, 0),
            Request::Observe(observe) => (tokens_in(&observe.text), 0),
        };
        self.requests += 1;
        self.prompt_tokens += read as u64;
        self.completion_tokens += written;
    }
}

/// Estimates requests to one model.
#[derive(Debug, Clone)]
pub struct Estimator {
    model: ModelRef,
    price: Option<Price>,
    /// Tokens of reasoning, at most.
    room: u32,
    batch: bool,
    logprobs: Logprobs,
    total: Estimate,
    dated: String,
}

impl Estimator {
    pub(crate) fn of(
        entry: &Entry,
        model: &ModelRef,
        options: Options,
    ) -> Result<Self, ModelError> {
        let prices = Prices::load(&options)?;
        let free = (!entry.needs_key).then(|| Price {
            provider: model.provider.clone(),
            model: model.name.clone(),
            input: 0.0,
            output: 0.0,
            cached: None,
            cache_write: None,
            batch: None,
        });
        let price = prices.of(model).cloned().or(free);
        Ok(Self {
            logprobs: options.logprobs.unwrap_or(entry.logprobs_of(&model.name)),
            room: reasoning_room(entry, model, &options),
            batch: options.batch.is_some(),
            total: Estimate {
                cost: price.is_some().then_some(0.0),
                ..Estimate::default()
            },
            dated: prices.dated(),
            model: model.clone(),
            price,
        })
    }

    /// An estimator for a remote model, by the same settings it would be opened with. No key is
    /// needed and nothing is sent.
    pub fn new(model: &ModelRef, settings: &ModelSettings) -> Result<Self, ModelError> {
        let entry = crate::provider::entry_of(&model.provider)?;
        Self::of(entry, model, Options::read(settings)?)
    }

    /// The price used, where one is known.
    pub fn price(&self) -> Option<&Price> {
        self.price.as_ref()
    }

    /// What one generation takes.
    pub fn generate(&self, generate: &Generate) -> Estimate {
        let written = generate.sampling.max_tokens.saturating_add(self.room);
        self.priced(1, tokens_in_prompt(&generate.prompt), f64::from(written))
    }

    /// What one scoring takes: by top log-probabilities one request, otherwise one for each
    /// continuation.
    pub fn score(&self, score: &Score) -> Estimate {
        let prefix = tokens_in_prompt(&score.prefix);
        if self.logprobs == Logprobs::Top {
            return self.priced(1, prefix, 1.0);
        }
        let texts = score.continuations.len();
        let continuations: f64 = score.continuations.iter().map(|c| tokens_in(c)).sum();
        let read = prefix * texts as f64 + continuations;
        self.priced(texts as u64, read, texts as f64)
    }

    fn priced(&self, requests: u64, read: f64, written: f64) -> Estimate {
        let usage = Usage {
            prompt_tokens: read as u64,
            completion_tokens: written as u64,
            ..Usage::default()
        };
        Estimate {
            requests,
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            cost: self.price.as_ref().map(|p| p.cost(&usage, 0, self.batch)),
            seconds: None,
        }
    }

    /// Adds a request to the total.
    pub fn add(&mut self, request: &Request) {
        let one = match request {
            Request::Generate(generate) => self.generate(generate),
            Request::Score(score) => self.score(score),
            Request::Observe(_) => return,
        };
        self.total.requests += one.requests;
        self.total.prompt_tokens += one.prompt_tokens;
        self.total.completion_tokens += one.completion_tokens;
        if let (Some(total), Some(cost)) = (&mut self.total.cost, one.cost) {
            *total += cost;
        }
    }

    /// The total so far, taken out so that the next task starts from nothing.
    pub fn take(&mut self) -> Estimate {
        let empty = Estimate {
            cost: self.price.is_some().then_some(0.0),
            ..Estimate::default()
        };
        std::mem::replace(&mut self.total, empty)
    }

    pub fn model(&self) -> &ModelRef {
        &self.model
    }

    /// Day and source of the prices.
    pub fn dated(&self) -> &str {
        &self.dated
    }
}

/// Tokens that reasoning may take on top of the answer.
fn reasoning_room(entry: &Entry, model: &ModelRef, options: &Options) -> u32 {
    if let Some(room) = entry.main_format().and_then(|f| f.thinking(options)) {
        return room;
    }
    if entry.shape(&model.name).reasoning {
        return options.reasoning_tokens;
    }
    0
}

/// One line of a dry run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EstimateRow {
    pub model: String,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it runs on this machine, and costs time instead of money.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local: bool,
    /// `family/task`.
    pub task: String,
    pub estimate: Estimate,
}

/// A dry run: one line for each model and task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DryRun {
    pub rows: Vec<EstimateRow>,
    /// Day and source of the prices.
    pub prices: String,
    /// How fast this machine is taken to be, where a model runs on it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub speed: String,
}

impl EstimateRow {
    fn called(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.model)
    }

    /// Dollars, or time where the model runs on this machine.
    fn price(&self) -> String {
        match (self.local, self.estimate.seconds) {
            (false, _) => dollars(self.estimate.cost),
            (true, Some(seconds)) => format!("about {}", duration(seconds)),
            (true, None) => "no price".into(),
        }
    }
}

impl DryRun {
    /// Dollars for everything, at most; `None` when a price is missing. What runs on this machine has none.
    pub fn cost(&self) -> Option<f64> {
        let remote = self.rows.iter().filter(|row| !row.local);
        remote.map(|row| row.estimate.cost).sum()
    }

    /// Seconds for everything that runs on this machine, about; `None` where a model's size is not known.
    pub fn seconds(&self) -> Option<f64> {
        let local = self.rows.iter().filter(|row| row.local);
        local.map(|row| row.estimate.seconds).sum()
    }
}

/// A time in the two largest units it has.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.ceil().clamp(0.0, 1e9) as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = |pick: fn(&EstimateRow) -> &str, head: usize| {
            self.rows
                .iter()
                .map(|r| pick(r).len())
                .max()
                .unwrap_or(0)
                .max(head)
        };
        let model = wide(EstimateRow::called, 5);
        let task = wide(|r| &r.task, 5);
        let local = self.rows.iter().filter(|r| r.local).count();
        let (last, wide) = match (local, self.rows.len()) {
            (0, _) => ("cost ≤", 12),
            (local, all) if local == all => ("time", 16),
            _ => ("cost ≤, time", 16),
        };
        writeln!(
            f,
            "{:model$}  {:task$}  {:>9}  {:>13}  {:>13}  {last:>wide$}",
            "model", "task", "requests", "tokens in", "tokens out ≤"
        )?;
        for row in &self.rows {
            let e = &row.estimate;
            writeln!(
                f,
                "{:model$}  {:task$}  {:>9}  {:>13}  {:>13}  {:>wide$}",
                row.called(),
                row.task,
                e.requests,
                e.prompt_tokens,
                e.completion_tokens,
                row.price()
            )?;
        }
        self.total(f, local)?;
        if local < self.rows.len() {
            writeln!(f, "{METHOD}")?;
        } else {
            writeln!(f, "{TOKENS}")?;
        }
        if !self.speed.is_empty() {
            writeln!(f, "{}", self.speed)?;
        }
        write!(f, "{}", self.prices)
    }
}

impl DryRun {
    fn total(&self, f: &mut fmt::Formatter<'_>, local: usize) -> fmt::Result {
        let sum = |of: fn(&Estimate) -> u64| self.rows.iter().map(|r| of(&r.estimate)).sum::<u64>();
        let requests = usize::try_from(sum(|e| e.requests)).unwrap_or(usize::MAX);
        write!(f, "total: {}", counted(requests, "request"))?;
        if local > 0 {
            write!(f, ", about {} tokens in", sum(|e| e.prompt_tokens))?;
        }
        if local < self.rows.len() {
            write!(f, ", at most {}", dollars(self.cost()))?;
        }
        match (local, self.seconds()) {
            (0, _) => {}
            (_, Some(seconds)) => write!(f, ", about {} on this machine", duration(seconds))?,
            (_, None) => write!(
                f,
                "; the time is not known, since a model does not tell its size"
            )?,
        }
        writeln!(f)
    }
}

fn dollars(cost: Option<f64>) -> String {
    match cost {
        Some(cost) if cost > 0.0 && cost < 0.01 => format!("${cost:.4}"),
        Some(cost) => format!("${cost:.2}"),
        None => "no price".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::Sampling;

    fn estimator(model: &str) -> Estimator {
        Estimator::new(&model.parse().unwrap(), &ModelSettings::default()).unwrap()
    }

    fn request(text: &str, max_tokens: u32) -> Request {
        Request::Generate(Generate {
            prompt: Prompt::chat(text),
            sampling: Sampling::greedy(max_tokens),
        })
    }

    #[test]
    fn a_dry_run_reads_like_a_bill() {
        let mut rows = Vec::new();
        let mut prices = String::new();
        for model in [
            "openai/gpt-4o",
            "openai/o3",
            "vllm/my-model",
            "groq/new-model",
        ] {
            let mut estimator = estimator(model);
            for _ in 0..1000 {
                estimator.add(&request(&"word ".repeat(400), 16));
            }
            rows.push(EstimateRow {
                model: model.into(),
                label: None,
                local: false,
                task: "htest/rhyme".into(),
                estimate: estimator.take(),
            });
            prices = "prices of DATE".into();
            assert_eq!(estimator.take().requests, 0, "taken");
        }
        let speed = String::new();
        insta::assert_snapshot!(
            "dry_run",
            DryRun {
                rows,
                prices,
                speed
            }
        );
    }

    #[test]
    fn a_model_on_this_machine_costs_time_and_tokens() {
        let mut estimate = Estimate::default();
        estimate.add_local(&request(&"word ".repeat(400), 16));
        estimate.seconds = Some(4920.0);
        assert_eq!((estimate.requests, estimate.completion_tokens), (1, 16));
        assert!((500..530).contains(&estimate.prompt_tokens), "{estimate:?}");
        let dry = DryRun {
            rows: vec![EstimateRow {
                model: "hf/owner/name".into(),
                label: Some("small".into()),
                local: true,
                task: "htest/rhyme".into(),
                estimate,
            }],
            prices: String::new(),
            speed: "time is an estimate".into(),
        };
        let text = dry.to_string();
        assert!(text.contains("about 1 h 22 min on this machine"), "{text}");
        assert!(text.contains("\nsmall  htest/rhyme"), "{text}");
        assert!(text.contains("time is an estimate"), "{text}");
        assert!(!text.contains("price"), "{text}");
        assert_eq!((dry.cost(), dry.seconds()), (Some(0.0), Some(4920.0)));
    }

    #[test]
    fn scoring_counts_one_request_for_each_continuation_unless_top_tokens_do() {
        let score = Request::Score(Score {
            prefix: Prompt::plain("The cat"),
            continuations: vec![" sat".into(), " sits".into(), " sit".into()],
            start: mary_contract::Start::Model,
            details: Default::default(),
        });
        for (model, requests) in [("openai/gpt-4o", 1), ("vllm/x", 3)] {
            let mut estimator = estimator(model);
            estimator.add(&score);
            assert_eq!(estimator.take().requests, requests, "{model}");
        }
    }

    #[test]
    fn an_unknown_provider_is_refused() {
        let error = Estimator::new(&"nobody/x".parse().unwrap(), &ModelSettings::default());
        assert!(error.unwrap_err().message.contains("nobody"));
    }
}
