//! Many runs as one site: who can do what, beside whom, item by item. Pages hold no script; they share one style,
//! and the reports beside them one copy of the plotting script ([`crate::html::shared_files`]).
//!
//! Two scores stand in one row only where the same question was asked. Models are put into tiers by paired
//! comparisons, corrected by Holm over all of them in the atlas.

mod first;
mod pages;

pub use pages::slug;

use std::collections::BTreeMap;

use mary_contract::{Conditions, RunSummary, Sample, SummaryRow, TaskCard, TaskRun, model_labels};
use mary_stats::StatsError;

use crate::compare::{Comparison, Side, comparison};
use crate::html::{BuiltChapter, lot};
use crate::number::{ScoreScale, VersusChance};
use crate::sample::{OutcomeClass, question_text};
use crate::{escape, paired, subject};

/// Items that a task's page lists, at most, and characters of their texts: the same ones for every model.
const ITEMS: usize = 150;
const TEXT: usize = 400;

struct Scored {
    run: usize,
    row: SummaryRow,
    scale: ScoreScale,
}

impl Scored {
    fn value(&self) -> f64 {
        let value = self.row.score.as_ref().map(|score| score.value);
        value.filter(|v| v.is_finite()).unwrap_or(f64::NEG_INFINITY)
    }

    fn verdict(&self) -> VersusChance {
        VersusChance::judge(&self.row)
    }
}

/// An item by its text, and what became of it for each model.
type ItemLine = (String, BTreeMap<String, OutcomeClass>);

/// One question: a task with its settings, and what every model scored on it.
struct Question {
    card: TaskCard,
    asked: TaskRun,
    scores: BTreeMap<String, Scored>,
    sides: BTreeMap<String, Side>,
    items: BTreeMap<(u64, String), ItemLine>,
    /// By model; none where nothing could be compared.
    tiers: BTreeMap<String, usize>,
    /// The best model's score minus that of each other.
    behind: BTreeMap<String, Comparison>,
}

impl Question {
    fn new(asked: &TaskRun, card: Option<&TaskCard>) -> Self {
        let unknown = || TaskCard::new(asked.id.clone(), asked.id.clone(), "");
        Self {
            card: card.cloned().unwrap_or_else(unknown),
            asked: asked.clone(),
            scores: BTreeMap::new(),
            sides: BTreeMap::new(),
            items: BTreeMap::new(),
            tiers: BTreeMap::new(),
            behind: BTreeMap::new(),
        }
    }

    fn source(&self) -> &'static str {
        self.asked.item_source().map_or("", |source| source.name())
    }

    /// Where items come from, and what else somebody chose.
    fn manner(&self) -> String {
        let settings = &self.asked.settings;
        let mut said = vec![self.source().to_owned()];
        said.extend(settings.shots.map(|k| format!("k={k}")));
        let usual = |name: &String, value: &String| {
            let mut params = self.card.params.iter();
            name == "source" || params.any(|p| p.name == *name && p.default == *value)
        };
        let params = settings.params.iter().filter(|(k, v)| !usual(k, v));
        said.extend(params.map(|(name, value)| format!("{name}={value}")));
        said.retain(|part| !part.is_empty());
        said.join(", ")
    }

    /// Models from the best score down.
    fn ranked(&self) -> Vec<(&String, &Scored)> {
        let mut ranked: Vec<(&String, &Scored)> = self.scores.iter().collect();
        ranked.sort_by(|(_, a), (_, b)| b.value().total_cmp(&a.value()));
        ranked
    }

    fn has(&self, wanted: impl Fn(VersusChance) -> bool) -> bool {
        self.scores.values().any(|scored| wanted(scored.verdict()))
    }
}

/// The runs of a site, while their samples are read and after.
pub struct Atlas<'a> {
    runs: &'a [RunSummary],
    /// What families show, in their order: their titles, and the papers' numbers.
    chapters: &'a [BuiltChapter],
    labels: BTreeMap<String, String>,
    /// Labels, those with most scores above chance first.
    models: Vec<String>,
    questions: Vec<Question>,
    /// Which question a task of a run is.
    places: BTreeMap<(usize, String), usize>,
    samples: usize,
    comparisons: usize,
}

impl<'a> Atlas<'a> {
    /// Of summaries whose verdicts are corrected over all tasks that a model has in them; `cards` in the order in
    /// which tasks are listed.
    pub fn new(runs: &'a [RunSummary], cards: &[TaskCard], chapters: &'a [BuiltChapter]) -> Self {
        let labels = model_labels(runs.iter().flat_map(|run| &run.manifest.models));
        let (questions, places) = gather(runs, cards, &labels);
        let mut above: BTreeMap<&String, usize> = BTreeMap::new();
        for (model, scored) in questions.iter().flat_map(|q| &q.scores) {
            *above.entry(model).or_default() +=
                usize::from(scored.verdict() == VersusChance::Above);
        }
        let mut ranked: Vec<(usize, &String)> = above.into_iter().map(|(m, n)| (n, m)).collect();
        ranked.sort_by_key(|(n, model)| (std::cmp::Reverse(*n), natural(model)));
        Self {
            runs,
            chapters,
            models: ranked.into_iter().map(|(_, model)| model.clone()).collect(),
            labels,
            questions,
            places,
            samples: 0,
            comparisons: 0,
        }
    }

    /// Takes in a sample of one of the runs: its score, and of some items the text.
    pub fn add(&mut self, run: usize, sample: &Sample) {
        let id = &sample.id;
        let place = self.places.get(&(run, id.task.clone()));
        let Some(question) = place.and_then(|n| self.questions.get_mut(*n)) else {
            return;
        };
        let label = self.labels.get(&id.model).unwrap_or(&id.model);
        if question.scores.get(label).is_none_or(|s| s.run != run) {
            return;
        }
        self.samples += 1;
        let asked = std::slice::from_ref(&question.asked);
        let side = question.sides.entry(label.clone());
        side.or_insert_with(|| Side::asked(label, asked))
            .add(sample);
        let key = (lot(&id.task, &id.item, 0), id.item.clone());
        let last = question.items.last_key_value();
        let full = question.items.len() >= ITEMS && last.is_some_and(|(last, _)| *last < key);
        if id.trial > 0 || full {
            return;
        }
        let text = || escape::excerpt(&question_text(sample), TEXT);
        let line = question
            .items
            .entry(key)
            .or_insert_with(|| (text(), BTreeMap::new()));
        line.1.insert(
            label.clone(),
            OutcomeClass::from_outcome(&sample.judgement.outcome),
        );
        if question.items.len() > ITEMS {
            question.items.pop_last();
        }
    }

    /// Compares the models on every question, corrects over all comparisons, and puts models into tiers.
    pub fn compare(&mut self) -> Result<(), StatsError> {
        let mut all: Vec<(usize, Comparison)> = Vec::new();
        for (n, question) in self.questions.iter_mut().enumerate() {
            let mut sides = std::mem::take(&mut question.sides);
            // The better of two comes first.
            let ranked = question
                .ranked()
                .into_iter()
                .filter_map(|(m, _)| sides.remove(m));
            let compared = comparison(&ranked.collect::<Vec<Side>>(), true)?;
            all.extend(compared.comparisons.into_iter().map(|c| (n, c)));
        }
        let p: Vec<Option<f64>> = all.iter().map(|(_, c)| c.p).collect();
        self.comparisons = p.iter().flatten().count();
        for ((_, comparison), p_holm) in all.iter_mut().zip(paired::holm(&p)?) {
            comparison.p_holm = p_holm;
        }
        for (n, question) in self.questions.iter_mut().enumerate() {
            let own = all.iter().filter(|(m, _)| *m == n).map(|(_, c)| c);
            let ranked = question
                .ranked()
                .into_iter()
                .map(|(model, _)| model.clone());
            let found = tiers(ranked.collect(), &own.collect::<Vec<_>>());
            (question.tiers, question.behind) = found;
        }
        Ok(())
    }
}

/// Puts scores of the same question together; of two runs that asked a model the same, the one with more samples
/// counts. Says besides which question a task of a run is.
fn gather(
    runs: &[RunSummary],
    cards: &[TaskCard],
    labels: &BTreeMap<String, String>,
) -> (Vec<Question>, BTreeMap<(usize, String), usize>) {
    let order = |id: &str| cards.iter().position(|card| card.id == id);
    let mut found: BTreeMap<(usize, Conditions), (Question, Vec<usize>)> = BTreeMap::new();
    for (n, run) in runs.iter().enumerate() {
        for asked in &run.manifest.tasks {
            let at = order(&asked.id);
            let card = at.and_then(|at| cards.get(at));
            let key = (at.unwrap_or(usize::MAX), asked.conditions());
            let entry = found.entry(key);
            let (question, of) = entry.or_insert_with(|| (Question::new(asked, card), Vec::new()));
            of.push(n);
            for row in run.rows.iter().filter(|row| row.task == asked.id) {
                let label = labels.get(&row.model).unwrap_or(&row.model).clone();
                let known = question.scores.get(&label).map_or(0, |s| s.row.samples);
                if row.samples > known {
                    let (scale, row) = (ScoreScale::in_run(run, row), row.clone());
                    question.scores.insert(label, Scored { run: n, row, scale });
                }
            }
        }
    }
    let (mut questions, mut places) = (Vec::new(), BTreeMap::new());
    for (question, of) in found.into_values().filter(|(q, _)| !q.scores.is_empty()) {
        let place = questions.len();
        places.extend(
            of.into_iter()
                .map(|run| ((run, question.asked.id.clone()), place)),
        );
        questions.push(question);
    }
    (questions, places)
}

/// The first tier holds the best model and all that cannot be told apart from it; the best of the others leads the
/// second, and so on. A model that was not compared with the leader of a tier (no shared items) is in none.
fn tiers(
    mut rest: Vec<String>,
    compared: &[&Comparison],
) -> (BTreeMap<String, usize>, BTreeMap<String, Comparison>) {
    let (mut tiers, mut behind) = (BTreeMap::new(), BTreeMap::new());
    let mut tier = 0;
    while !rest.is_empty() {
        let leader = rest.remove(0);
        let mut lower = Vec::new();
        let mut shared = Vec::new();
        for model in std::mem::take(&mut rest) {
            let both = |c: &&&Comparison| c.first == leader && c.second == model;
            let Some(c) = compared.iter().find(both) else {
                continue;
            };
            if tier == 0 {
                behind.insert(model.clone(), (*c).clone());
            }
            // Means over shared items may rank two models otherwise than their scores.
            match c.p_holm.is_some_and(|p| p < 0.05) && c.difference > 0.0 {
                true => lower.push(model),
                false => shared.push(model),
            }
        }
        if tier > 0 || !lower.is_empty() || !shared.is_empty() {
            tier += 1;
            shared.push(leader);
            tiers.extend(shared.into_iter().map(|model| (model, tier)));
        }
        rest = lower;
    }
    (tiers, behind)
}

/// A name to sort by, its numbers by value: step256 comes before step1000.
fn natural(name: &str) -> String {
    let digit = u8::is_ascii_digit;
    let parts = name.as_bytes().chunk_by(|a, b| digit(a) == digit(b));
    let parts = parts.map(String::from_utf8_lossy);
    let padded = parts.map(
        |part| match part.bytes().next().as_ref().is_some_and(digit) {
            true => format!("{part:0>20}"),
            false => part.into_owned(),
        },
    );
    padded.collect()
}

/// The part of a task's id that names its family.
fn family(question: &Question) -> &str {
    subject::family_of(&question.asked.id)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
