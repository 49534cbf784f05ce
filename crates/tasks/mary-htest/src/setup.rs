//! What a user can set for an H-TEST task, read once and checked.

use mary_contract::{PromptForm, TaskCard, TaskError, TaskSettings};

use super::dataset::SHOT_POOL;

/// Draws of the shots for fresh items: `docs/htest.md` says why so many.
const SHOT_SETS: usize = 10;
const MOST_SHOT_SETS: usize = 1000;

/// Named in the question only where it changes what is asked.
pub(super) const WORDING_PARAM: &str = "wording";

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

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Mode {
        Score = "score",
        /// In a few tokens.
        Generate = "generate",
        /// Thinking out loud, read by a judge.
        Cot = "cot",
    }
}

/// Whose words are asked where the paper prints none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wording {
    Own,
    /// The authors' released code.
    Released,
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
    pub wording: Wording,
    pub n: usize,
    pub shots: usize,
    pub order: Order,
    /// Draws of the shots; one where there are none to draw.
    pub shot_sets: usize,
    /// Whether A and B change places for half the items.
    pub both_labels: bool,
    /// Whether every item is asked with every draw.
    pub crossed: bool,
    pub tail: Tail,
    pub temperature: f64,
    pub max_tokens: u32,
}

impl HtestSettings {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(card)?;
        use ItemsSource::{Fresh, Published};
        let sources = &[("fresh", Fresh), ("published", Published)];
        let source = settings.choose(card, "source", sources)?;
        let mode = settings.choose(card, "mode", &Mode::ALL.map(|mode| (mode.name(), mode)))?;
        let tail = match (settings.param(card, "tail"), settings.form) {
            ("label", _) | ("auto" | "", PromptForm::Plain) => Tail::Label,
            ("published", _) | ("auto" | "", PromptForm::Chat) => Tail::Published,
            (other, _) => return Err(card.not_one_of("tail", other)),
        };
        let order = match (settings.param(card, "order"), source) {
            ("random", _) | ("auto" | "", ItemsSource::Fresh) => Order::Random,
            ("alternating", _) | ("auto" | "", ItemsSource::Published) => Order::Alternating,
            (other, _) => return Err(card.not_one_of("order", other)),
        };
        use Wording::{Own, Released};
        let wordings = [("own", Own), ("", Own), ("released", Released)];
        let wording = settings.choose(card, WORDING_PARAM, &wordings)?;
        let max_tokens = match settings.param(card, "max_tokens") {
            "" if mode == Mode::Cot => 512,
            // `run_challenge.py`: one token, whatever the symbol.
            "" if wording == Wording::Released && !card.params.iter().any(|p| p.name == "tail") => {
                1
            }
            "" => 5,
            _ => settings.number(card, "max_tokens", |_| true)?,
        };
        let warm = |t: f64| t.is_finite() && t >= 0.0;
        let temperature = settings.number(card, "temperature", warm)?;
        let usual = if mode == Mode::Cot { 14 } else { SHOT_POOL };
        let shots = settings.shots.unwrap_or(usual);
        if source == ItemsSource::Published && (shots % 2 == 1 || shots > SHOT_POOL) {
            return Err(TaskError::Setting(format!(
                "{}: {shots} shots (-k, --shots) of released items; expected an even number up to {SHOT_POOL} (the \
                 paper uses 4, 14, 28 and 50)",
                card.id
            )));
        }
        let shot_sets = match (settings.param(card, "shot_sets"), source) {
            ("auto" | "", ItemsSource::Fresh) => SHOT_SETS,
            ("auto" | "", ItemsSource::Published) => 1,
            _ => settings.number(card, "shot_sets", |n| (1..=MOST_SHOT_SETS).contains(&n))?,
        };
        let both_labels = match (settings.param(card, "labels"), source) {
            ("both", _) | ("auto" | "", ItemsSource::Fresh) => true,
            ("fixed", _) | ("auto" | "", ItemsSource::Published) => false,
            (other, _) => return Err(card.not_one_of("labels", other)),
        };
        let yes_no = [("no", false), ("", false), ("yes", true)];
        let crossed = settings.choose(card, "crossed", &yes_no)?;
        let n = settings.number(card, "n", |n: usize| n > 0)?;
        Ok(Self {
            seed: settings.seed,
            form: settings.form,
            source,
            mode,
            wording,
            n,
            shots,
            order,
            // Without shots nothing is drawn, and nothing says what A stands for.
            shot_sets: if shots == 0 { 1 } else { shot_sets },
            both_labels: both_labels && shots > 0,
            crossed: crossed && shots > 0,
            tail,
            temperature,
            max_tokens,
        })
    }
}

/// The seeds to whose items those of a run are to be new.
pub fn apart(card: &TaskCard, settings: &TaskSettings) -> Result<Vec<u64>, TaskError> {
    let seeds = settings.param(card, "apart").split(',');
    let seeds = seeds.map(str::trim).filter(|seed| !seed.is_empty());
    let number = |seed: &str| seed.parse().map_err(|_| card.not_one_of("apart", seed));
    seeds.map(number).collect()
}
