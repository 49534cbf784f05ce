//! Typicality by surprisal: how probable "a robin is a bird" is, after none to three other members.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, ContinuationScore, DataSource, FLOOR, Item, ItemSource, Items, Judgement, Measure, Metric,
    Needs, OVER_FLOOR, Prompt, Reply, Request, Sample, Score, Scoring, SettingDefault, Start, Task,
    TaskCard, TaskError, TaskSettings,
};
use mary_generators::article;
use mary_stats::correlation::spearman;

use super::{
    Category, ShownCategory, by_category, categories, exemplar_convention, exemplars, note, shots,
};
use crate::cards::{card, conventions};
use crate::choice::not_finite;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/typicality-surprisal"));

#[derive(Debug, Clone, Copy)]
pub struct Surprisal;

#[derive(Debug, Clone)]
struct SurprisalSettings {
    seed: u64,
    shots: usize,
    typical: bool,
    start: Start,
}

impl SurprisalSettings {
    fn read(settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(&CARD)?;
        Ok(Self {
            seed: settings.seed,
            shots: shots(&CARD, settings)?,
            typical: settings.choose(&CARD, "exemplars", &[("drawn", false), ("typical", true)])?,
            start: crate::settings::start(&CARD, settings.param(&CARD, "start"))?,
        })
    }
}

/// The share of sentences whose first token was not scored.
pub(crate) const FIRST_UNSCORED: &str = "first_unscored";

/// The sentence of the paper, with the article English asks for.
fn sentence(member: &str, category: &str) -> String {
    format!("{} {member}{}", article(member), ending(category))
}

fn ending(category: &str) -> String {
    format!(" is {} {category}", article(category))
}

fn item(setup: &SurprisalSettings, category: &Category) -> Result<Item, TaskError> {
    let order = exemplars(&CARD, category, setup.seed, setup.shots, setup.typical)?;
    let first = order.iter().filter_map(|&i| category.members.get(i));
    let lines = first.map(|m| sentence(&m.name, &category.name) + "\n");
    let shown_first: String = lines.collect();
    let shown = ShownCategory::new(&category.name, category.without(&order));
    let sentences = shown.members.iter().map(|m| sentence(m, &category.name));
    let prefix = Prompt::plain(shown_first);
    let score = Score::new(prefix, sentences.collect(), setup.start.clone());
    let ask = Ask::subject(Request::Score(score));
    Ok(Item::new(category.name.clone(), shown.target(), vec![ask])
        .tagged("category", category.name.clone()))
}

impl Task for Surprisal {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        super::item_source(&CARD, settings)
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn default_for(&self, settings: &TaskSettings, builtin: bool) -> SettingDefault {
        super::for_model(&CARD, settings, builtin)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = SurprisalSettings::read(settings)?;
        let categories = categories(&CARD, settings, data)?;
        let categories = categories.into_iter();
        Ok(Box::new(categories.map(move |c| item(&setup, &c))))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let judged = || -> Result<Judgement, String> {
            let shown = ShownCategory::read(item)?;
            let [reply] = answers else {
                return Err("expected one answer for a category".into());
            };
            let scores = reply.answer.as_scored().map(|scored| &scored.continuations);
            let scores = scores.filter(|scores| scores.len() == shown.members.len());
            Ok(judge_scores(
                &shown,
                scores.ok_or("expected one score for each member")?,
            ))
        };
        judged().unwrap_or_else(Judgement::fault)
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        by_category(samples)
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::number(Metric::RankCorrelation)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = SurprisalSettings::read(settings) else {
            return BTreeMap::new();
        };
        let place = "one sentence a line, left out of the correlation";
        let shown = exemplar_convention(setup.shots, setup.typical, place);
        let start = match setup.start {
            Start::Always => "always a begin-of-sequence token".to_owned(),
            Start::Model => {
                "what the tokenizer adds; without it the first token is not scored".to_owned()
            }
            other => other.words(),
        };
        conventions(&CARD, settings, &[("exemplars", shown), ("start", start)])
    }
}

fn judge_scores(shown: &ShownCategory, scores: &[ContinuationScore]) -> Judgement {
    let sums: Vec<f64> = scores.iter().map(ContinuationScore::sum).collect();
    if sums.iter().any(|s| !s.is_finite()) {
        return not_finite("a sentence's log-probability is not a number");
    }
    let Ok(found) = spearman(&shown.typicality, &sums) else {
        return Judgement::not_applicable("all sentences are equally probable");
    };
    let mut judgement = Judgement::scored(found.r.value);
    judgement.notes = note(&shown.category, &found, &[]);
    let lengths: Vec<f64> = scores.iter().map(|s| -(s.logprobs.len() as f64)).collect();
    let floor = spearman(&shown.typicality, &lengths).map_or(0.0, |c| c.r.value);
    judgement = judgement
        .measured(FLOOR, floor)
        .measured(OVER_FLOOR, found.r.value - floor);
    // With `start=model` and a tokenizer that adds nothing, "a" has nothing before it.
    let unscored = scores.iter().filter(|s| s.first_unscored).count();
    if unscored > 0 {
        let share = unscored as f64 / scores.len() as f64;
        judgement = judgement.measured(FIRST_UNSCORED, share);
    }
    let means: Option<Vec<f64>> = scores.iter().map(ContinuationScore::mean).collect();
    let last_words = scores.iter().map(|s| tail(s, &ending(&shown.category)));
    let last_words: Option<Vec<f64>> = last_words.collect();
    for (name, values) in [("per_token", means), ("category_given_member", last_words)] {
        if let Some(other) = values.and_then(|v| spearman(&shown.typicality, &v).ok()) {
            judgement = judgement.measured(name, other.r.value);
        }
    }
    judgement
}

/// Log-probability of the tokens that make up the end of a text; nothing where no token begins there.
fn tail(score: &ContinuationScore, text: &str) -> Option<f64> {
    let (mut length, mut sum) = (0, 0.0);
    for (token, logprob) in score.tokens.iter().zip(&score.logprobs).rev() {
        length += token.len();
        sum += f64::from(*logprob);
        if length >= text.len() {
            break;
        }
    }
    (length == text.len()).then_some(sum)
}
