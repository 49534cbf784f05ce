//! Many runs as one site: who can do what, beside whom, item by item. Pages hold no script; they share one style,
//! and the reports beside them one copy of the plotting script ([`crate::html::shared_files`]).
//!
//! Two scores stand in one row only where the same question was asked. Models are put into tiers by paired
//! comparisons, corrected by Holm over all of them in the atlas.

mod first;
mod pages;

pub use pages::slug;

use std::collections::BTreeMap;

use mary_contract::{Conditions, RunSummary, Sample, SummaryRow, TaskRun, model_labels};
use mary_stats::StatsError;

use crate::compare::{Comparison, Side, comparison};
use crate::html::lot;
use crate::number::{ScoreScale, VersusChance};
use crate::paired::holm;
use crate::sample::{OutcomeClass, question_text};
use crate::{escape, subject};

/// Items that a task's page lists, at most: the same ones for every model.
const ITEMS: usize = 150;
/// Characters of an item's text.
const TEXT: usize = 400;

/// What a task says about itself, in the order in which tasks are listed.
#[derive(Debug, Clone, Default)]
pub struct TaskWords {
    pub id: String,
    pub title: String,
    pub about: String,
    /// Whose score stands under “people”.
    pub people: String,
    pub paper: String,
}

/// A score with the run it is from.
struct Scored {
    run: usize,
    row: SummaryRow,
    scale: ScoreScale,
}

struct ItemLine {
    item: String,
    text: String,
    outcomes: BTreeMap<String, OutcomeClass>,
}

/// One question: a task with its settings, and what every model scored on it.
struct Question {
    words: TaskWords,
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
    fn family(&self) -> &str {
        subject::family_of(&self.asked.id)
    }

    fn source(&self) -> &'static str {
        self.asked.item_source().map_or("", |source| source.name())
    }

    /// What somebody chose for this question, but for where items come from.
    fn settings(&self) -> String {
        let settings = &self.asked.settings;
        let params = settings.params.iter().filter(|(name, _)| *name != "source");
        let mut said: Vec<String> = settings
            .shots
            .map(|k| format!("k={k}"))
            .into_iter()
            .collect();
        said.extend(params.map(|(name, value)| format!("{name}={value}")));
        said.join(", ")
    }

    fn verdicts(&self) -> impl Iterator<Item = (&str, VersusChance)> {
        let all = self.scores.iter();
        all.map(|(model, scored)| (model.as_str(), VersusChance::judge(&scored.row)))
    }

    fn above(&self) -> Vec<&str> {
        let above = self.verdicts().filter(|(_, v)| *v == VersusChance::Above);
        above.map(|(model, _)| model).collect()
    }

    fn has_chance(&self) -> bool {
        self.verdicts().any(|(_, v)| v != VersusChance::Unknown)
    }
}

/// The runs of a site, while their samples are read and after.
pub struct Atlas<'a> {
    runs: &'a [RunSummary],
    /// Labels, those with most scores above chance first.
    models: Vec<String>,
    labels: BTreeMap<String, String>,
    /// Ids and titles.
    families: &'a [(String, String)],
    questions: Vec<Question>,
    /// Which question a task of a run is.
    places: BTreeMap<(usize, String), usize>,
    samples: usize,
    comparisons: usize,
}

impl<'a> Atlas<'a> {
    /// Of summaries whose verdicts are corrected over all tasks that a model has in them.
    pub fn new(
        runs: &'a [RunSummary],
        tasks: &[TaskWords],
        families: &'a [(String, String)],
    ) -> Self {
        let labels = model_labels(runs.iter().flat_map(|run| &run.manifest.models));
        let mut atlas = Self {
            runs,
            models: Vec::new(),
            labels,
            families,
            questions: Vec::new(),
            places: BTreeMap::new(),
            samples: 0,
            comparisons: 0,
        };
        atlas.gather(tasks);
        let above = |model: &String| {
            let own = atlas.questions.iter().filter_map(|q| q.scores.get(model));
            let margin = |s: &Scored| Some(s.row.score.as_ref()?.value - s.row.chance?);
            let margins: Vec<f64> = own.clone().filter_map(margin).collect();
            let mean = margins.iter().sum::<f64>() / margins.len().max(1) as f64;
            let above = own.filter(|s| VersusChance::judge(&s.row) == VersusChance::Above);
            (above.count(), mean)
        };
        let scored = atlas.questions.iter().flat_map(|q| q.scores.keys());
        let mut ranked: Vec<(String, (usize, f64))> = Vec::new();
        for model in scored {
            if !ranked.iter().any(|(known, _)| known == model) {
                ranked.push((model.clone(), above(model)));
            }
        }
        ranked.sort_by(|(_, a), (_, b)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
        atlas.models = ranked.into_iter().map(|(model, _)| model).collect();
        atlas
    }

    /// Puts scores of the same question together; of two runs that asked a model the same, the one with more
    /// samples counts.
    fn gather(&mut self, tasks: &[TaskWords]) {
        let mut found: Vec<(Conditions, Question, Vec<usize>)> = Vec::new();
        for (n, run) in self.runs.iter().enumerate() {
            for asked in &run.manifest.tasks {
                let conditions = asked.conditions();
                let place = found.iter().position(|(known, ..)| *known == conditions);
                let place = place.unwrap_or_else(|| {
                    let words = tasks.iter().find(|words| words.id == asked.id);
                    let words = words.cloned().unwrap_or_else(|| TaskWords {
                        id: asked.id.clone(),
                        title: asked.id.clone(),
                        ..TaskWords::default()
                    });
                    let question = Question {
                        words,
                        asked: asked.clone(),
                        scores: BTreeMap::new(),
                        sides: BTreeMap::new(),
                        items: BTreeMap::new(),
                        tiers: BTreeMap::new(),
                        behind: BTreeMap::new(),
                    };
                    found.push((conditions, question, Vec::new()));
                    found.len() - 1
                });
                let Some((_, question, runs)) = found.get_mut(place) else {
                    continue;
                };
                runs.push(n);
                for row in run.rows.iter().filter(|row| row.task == asked.id) {
                    let label = self.labels.get(&row.model).unwrap_or(&row.model).clone();
                    let known = question.scores.get(&label).map_or(0, |s| s.row.samples);
                    if row.samples > known {
                        let scale = ScoreScale::in_run(run, row);
                        let row = row.clone();
                        question.scores.insert(label, Scored { run: n, row, scale });
                    }
                }
            }
        }
        let order = |q: &Question| {
            tasks
                .iter()
                .position(|t| t.id == q.asked.id)
                .unwrap_or(usize::MAX)
        };
        found.retain(|(_, question, _)| !question.scores.is_empty());
        found.sort_by_key(|(_, q, _)| (order(q), q.asked.id.clone(), q.source(), q.settings()));
        for (place, (_, question, runs)) in found.into_iter().enumerate() {
            for run in runs {
                self.places.insert((run, question.asked.id.clone()), place);
            }
            self.questions.push(question);
        }
    }

    /// Takes in a sample of one of the runs: its score, and of some items the text.
    pub fn add(&mut self, run: usize, sample: &Sample) {
        let id = &sample.id;
        let place = self.places.get(&(run, id.task.clone()));
        let Some(question) = place.and_then(|n| self.questions.get_mut(*n)) else {
            return;
        };
        let label = self.labels.get(&id.model).unwrap_or(&id.model).clone();
        if question
            .scores
            .get(&label)
            .is_none_or(|scored| scored.run != run)
        {
            return;
        }
        self.samples += 1;
        let asked = std::slice::from_ref(&question.asked);
        let side = question.sides.entry(label.clone());
        side.or_insert_with(|| Side::asked(&label, asked))
            .add(sample);
        if id.trial > 0 {
            return;
        }
        let key = (lot(&id.task, &id.item, 0), id.item.clone());
        let last = question.items.last_key_value().map(|(key, _)| key);
        if question.items.len() >= ITEMS && last.is_some_and(|last| *last < key) {
            return;
        }
        let line = question.items.entry(key).or_insert_with(|| ItemLine {
            item: id.item.clone(),
            text: escape::excerpt(&question_text(sample), TEXT),
            outcomes: BTreeMap::new(),
        });
        let class = OutcomeClass::from_outcome(&sample.judgement.outcome);
        line.outcomes.insert(label, class);
        while question.items.len() > ITEMS {
            question.items.pop_last();
        }
    }

    /// Compares the models on every question, corrects over all comparisons, and puts models into tiers.
    pub fn compare(&mut self) -> Result<(), StatsError> {
        let mut all: Vec<(usize, Comparison)> = Vec::new();
        for (n, question) in self.questions.iter_mut().enumerate() {
            let sides: Vec<Side> = std::mem::take(&mut question.sides).into_values().collect();
            let compared = comparison(&sides, true)?;
            all.extend(compared.comparisons.into_iter().map(|c| (n, c)));
        }
        let p: Vec<Option<f64>> = all.iter().map(|(_, c)| c.p).collect();
        self.comparisons = p.iter().flatten().count();
        for ((_, comparison), p_holm) in all.iter_mut().zip(holm(&p)?) {
            comparison.p_holm = p_holm;
        }
        for (n, question) in self.questions.iter_mut().enumerate() {
            let own: Vec<&Comparison> = all
                .iter()
                .filter(|(m, _)| *m == n)
                .map(|(_, c)| c)
                .collect();
            (question.tiers, question.behind) = tiers(&question.scores, &own);
        }
        Ok(())
    }
}

/// The first tier holds the best model and all that cannot be told apart from it; the best of the others leads the
/// second, and so on. A model that was not compared with the leader of a tier (no shared items) is in none.
fn tiers(
    scores: &BTreeMap<String, Scored>,
    compared: &[&Comparison],
) -> (BTreeMap<String, usize>, BTreeMap<String, Comparison>) {
    let value = |model: &String| Some(scores.get(model)?.row.score.as_ref()?.value);
    let mut rest: Vec<(f64, &String)> = scores
        .keys()
        .filter_map(|model| Some((value(model).filter(|v| v.is_finite())?, model)))
        .collect();
    rest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let (mut tiers, mut behind) = (BTreeMap::new(), BTreeMap::new());
    let mut tier = 0;
    while let Some((_, leader)) = rest.first().copied() {
        let mut lower = Vec::new();
        let mut shared = Vec::new();
        for (value, model) in rest.drain(1..) {
            let Some(c) = compared.iter().find_map(|c| between(c, leader, model)) else {
                continue;
            };
            let apart = c.p_holm.is_some_and(|p| p < 0.05);
            // Means over shared items may rank two models otherwise than their scores.
            match apart && c.difference > 0.0 {
                true => lower.push((value, model)),
                false => shared.push(model),
            }
            if tier == 0 {
                behind.insert(model.clone(), c);
            }
        }
        if tier > 0 || !lower.is_empty() || !shared.is_empty() {
            tier += 1;
            tiers.extend(
                shared
                    .into_iter()
                    .chain([leader])
                    .map(|m| (m.clone(), tier)),
            );
        }
        rest = lower;
    }
    (tiers, behind)
}

/// A comparison of these two, with the first as the first.
fn between(c: &Comparison, first: &str, second: &str) -> Option<Comparison> {
    if (c.first.as_str(), c.second.as_str()) == (first, second) {
        return Some(c.clone());
    }
    ((c.first.as_str(), c.second.as_str()) == (second, first)).then(|| Comparison {
        first: c.second.clone(),
        second: c.first.clone(),
        first_mean: c.second_mean,
        second_mean: c.first_mean,
        difference: -c.difference,
        low: c.high.map(|v| -v),
        high: c.low.map(|v| -v),
        ..c.clone()
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
