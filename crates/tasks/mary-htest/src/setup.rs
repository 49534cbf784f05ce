//! What a user can set for an H-TEST task, read once and checked.

use mary_contract::{Param, PromptForm, TaskCard, TaskError, TaskSettings};

use super::dataset::SHOT_POOL;

pub static AB_PARAMS: [Param; 7] = [
    Param::new(
        "mode",
        "score",
        "score, generate, cot",
        "Compare the labels' log-probabilities, let the model write five tokens (the paper), or \
                let it think out loud and have a judge read it.",
    ),
    SOURCE,
    Param::new("n", "200", "an even number", "Fresh items, half of them A."),
    Param::new(
        "order",
        "auto",
        "auto, random, alternating",
        "Order of the shots' labels: mixed by the seed with as many A as B, or A, B, A, B as \
         published; auto mixes fresh shots and leaves released ones as published.",
    ),
    Param::new(
        "tail",
        "auto",
        "auto, label, published",
        "Where scored labels follow: after `Label:` as in every shot (plain form), or after the \
                published last line (chat form); auto chooses by form.",
    ),
    TEMPERATURE,
    MAX_TOKENS,
];

pub static GEOMETRY_PARAMS: [Param; 5] = [
    Param::new(
        "mode",
        "score",
        "score, generate, cot",
        "Compare the symbols' log-probabilities, let the model write its answer (the paper), or \
                let it think out loud and have a judge read it.",
    ),
    SOURCE,
    Param::new(
        "n",
        "200",
        "a multiple of 4",
        "Fresh items, four to an option set.",
    ),
    TEMPERATURE,
    MAX_TOKENS,
];

const SOURCE: Param = Param::new(
    "source",
    "fresh",
    "fresh, published",
    "Items made from the seed that nobody has seen, or the authors' released files.",
);
const TEMPERATURE: Param = Param::new(
    "temperature",
    "0.7",
    "0 or more",
    "Of generated answers; the paper's is 0.7.",
);
const MAX_TOKENS: Param = Param::new(
    "max_tokens",
    "",
    "a number",
    "Longest answer; by default 5 (the paper), or 512 for a chain of thought.",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemsSource {
    Fresh,
    Published,
}

/// How the shots follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Mixed by the seed, as many A as B.
    Random,
    /// A, B, A, B, as published.
    Alternating,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Score,
    /// In a few tokens.
    Generate,
    /// Thinking out loud, read by a judge.
    Cot,
}

/// Where a scored label follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// After `Label:`.
    Label,
    /// After the published last line.
    Published,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HtestSettings {
    pub seed: u64,
    pub form: PromptForm,
    pub source: ItemsSource,
    pub mode: Mode,
    pub n: usize,
    pub shots: usize,
    pub order: Order,
    pub tail: Tail,
    pub temperature: f64,
    pub max_tokens: u32,
}

impl HtestSettings {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(card)?;
        let source = match settings.param(card, "source") {
            "fresh" => ItemsSource::Fresh,
            "published" => ItemsSource::Published,
            other => return Err(unknown(card, "source", other)),
        };
        let mode = match settings.param(card, "mode") {
            "score" => Mode::Score,
            "generate" => Mode::Generate,
            "cot" => Mode::Cot,
            other => return Err(unknown(card, "mode", other)),
        };
        let tail = match (settings.param(card, "tail"), settings.form) {
            ("label", _) | ("auto" | "", PromptForm::Plain) => Tail::Label,
            ("published", _) | ("auto" | "", PromptForm::Chat) => Tail::Published,
            (other, _) => return Err(unknown(card, "tail", other)),
        };
        let order = match (settings.param(card, "order"), source) {
            ("random", _) | ("auto" | "", ItemsSource::Fresh) => Order::Random,
            ("alternating", _) | ("auto" | "", ItemsSource::Published) => Order::Alternating,
            (other, _) => return Err(unknown(card, "order", other)),
        };
        let max_tokens = match settings.param(card, "max_tokens") {
            "" if mode == Mode::Cot => 512,
            "" => 5,
            text => number(card, "max_tokens", text)?,
        };
        let temperature: f64 = number(card, "temperature", settings.param(card, "temperature"))?;
        if !(temperature.is_finite() && temperature >= 0.0) {
            return Err(unknown(card, "temperature", &temperature.to_string()));
        }
        let shots = settings
            .shots
            .unwrap_or(if mode == Mode::Cot { 14 } else { SHOT_POOL });
        if shots % 2 == 1 || shots > SHOT_POOL {
            return Err(TaskError::Setting(format!(
                "{}: {shots} shots (-k, --shots); expected an even number up to {SHOT_POOL} (the paper uses 4, 14, 28 \
                 and 50)",
                card.id
            )));
        }
        let n: usize = number(card, "n", settings.param(card, "n"))?;
        if n == 0 {
            return Err(unknown(card, "n", "0"));
        }
        Ok(Self {
            seed: settings.seed,
            form: settings.form,
            source,
            mode,
            n,
            shots,
            order,
            tail,
            temperature,
            max_tokens,
        })
    }
}

fn unknown(card: &TaskCard, name: &str, found: &str) -> TaskError {
    let values = card
        .params
        .iter()
        .find(|p| p.name == name)
        .map_or("", |p| &p.values);
    TaskError::Setting(format!(
        "{}: `{name}={found}` is not one of: {values}",
        card.id
    ))
}

fn number<T: std::str::FromStr>(card: &TaskCard, name: &str, text: &str) -> Result<T, TaskError> {
    text.parse().map_err(|_| unknown(card, name, text))
}
