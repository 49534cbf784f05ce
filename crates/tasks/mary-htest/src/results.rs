//! What the runs hold, in the paper's terms: accuracies by model, task and conditions, and their
//! averages over the ten tasks.

use std::collections::BTreeMap;

use mary_contract::{
    Cell, Conditions, Estimate, PromptForm, RunSummary, SummaryRow, Task as _, TaskSettings,
    variants_of,
};
use mary_platform::{distinct, given};

use super::geometry::LETTER_GEOMETRY;
use super::published::{percent, published};
use super::setup::{HtestSettings, ItemsSource, Mode, WORDING_PARAM};
use super::tasks::{AB_TASKS, OTHER_TASKS, ab_task};

/// Letter geometry, which has no part in the averages.
pub(super) const GEOMETRY: &str = "htest/letter-geometry";

#[derive(Debug, Clone)]
pub struct Outcome {
    /// Place of its run among those shown.
    pub run: usize,
    /// The model, as the user named it.
    pub model: String,
    pub task: String,
    pub k: usize,
    pub mode: Mode,
    pub source: ItemsSource,
    pub form: PromptForm,
    /// The paper's accuracy: unread answers are wrong.
    pub accuracy: Estimate,
    /// Without unread answers.
    pub adjusted: Option<Estimate>,
    pub parameters: Option<u64>,
    /// What was asked and how it was judged.
    pub conditions: Conditions,
}

pub fn results(runs: &[RunSummary]) -> Vec<Outcome> {
    let mut found = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        let ours = run.rows.iter().filter(|r| r.task.starts_with("htest/"));
        // Rules named and letters described have tables of their own.
        let ours = ours.filter(|r| OTHER_TASKS.iter().all(|t| *t.card().id != *r.task));
        found.extend(ours.filter_map(|row| {
            let task = run.manifest.task(&row.task)?;
            let setup = setup_of(&row.task, &task.settings)?;
            let mut models = run.manifest.models.iter();
            let model = models.find(|m| m.model.to_string() == row.model);
            Some(Outcome {
                run: place,
                model: row.model.clone(),
                task: row.task.clone(),
                k: setup.shots,
                mode: setup.mode,
                source: setup.source,
                form: setup.form,
                accuracy: accuracy(row)?,
                adjusted: row.score.clone(),
                parameters: model.and_then(|m| m.parameters),
                conditions: task.conditions(),
            })
        }));
    }
    found
}

pub(super) fn setup_of(task: &str, settings: &TaskSettings) -> Option<HtestSettings> {
    // Every A/B task has the same parameters; one that is not in the list is read like the others.
    let card = match task == GEOMETRY {
        true => LETTER_GEOMETRY.card(),
        false => AB_TASKS.first()?.card(),
    };
    HtestSettings::read(card, settings).ok()
}

/// The paper's tasks as ids (`htest/rhyme`), in the order of its tables.
pub(super) fn paper_tasks() -> Vec<String> {
    let tasks = published().tasks.iter();
    tasks.map(|name| format!("htest/{name}")).collect()
}

/// A/B tasks of the results that the paper does not have, in the order in which they were run.
pub(super) fn other_tasks<'o>(results: impl IntoIterator<Item = &'o Outcome>) -> Vec<String> {
    let paper = paper_tasks();
    let tasks = results.into_iter().map(|outcome| &outcome.task);
    let others = tasks.filter(|task| *task != GEOMETRY && !paper.contains(task));
    distinct(others.cloned())
}

/// A task's name for a table: its title, or its id where this list does not have it.
pub(super) fn task_title(id: &str) -> String {
    ab_task(id).map_or_else(|| id.to_owned(), |task| task.card.title.to_string())
}

/// The paper's accuracy of a row: its own measure where answers may be unread, else the score.
fn accuracy(row: &SummaryRow) -> Option<Estimate> {
    row.measure("accuracy").or(row.score.as_ref()).cloned()
}

/// The accuracy of a result. Where some answers could not be read, the score without them, which the
/// overview has, stands beside it.
pub(super) fn accuracy_cell(outcome: Option<&Outcome>) -> Cell {
    let Some(outcome) = outcome else {
        return Cell::none();
    };
    let cell = Cell::percent(&outcome.accuracy, 1);
    match &outcome.adjusted {
        Some(score) if percent(score.value) != percent(outcome.accuracy.value) => {
            let text = format!("{} (read: {})", &*cell, percent(score.value));
            cell.worded(text)
        }
        _ => cell,
    }
}

pub(super) fn average_cell(average: Option<&Estimate>) -> Cell {
    average.map_or_else(Cell::none, |e| Cell::percent(e, 1))
}

/// The A/B tasks of one model under one set of conditions.
pub(super) struct Profile<'a> {
    pub(super) first: &'a Outcome,
    pub(super) tasks: BTreeMap<&'a str, &'a Outcome>,
    /// Settings that tell it from other profiles of the same model, where the words of [`Self::how`]
    /// do not.
    variant: String,
}

/// Mean over tasks; the tasks' intervals are combined as of independent samples.
pub(super) fn mean<'a>(estimates: impl Iterator<Item = &'a Estimate>) -> Option<Estimate> {
    let all: Vec<&Estimate> = estimates.collect();
    given(!all.is_empty())?;
    let n = all.len() as f64;
    let value = all.iter().map(|e| e.value).sum::<f64>() / n;
    let spread =
        |side: fn(&Estimate) -> f64| all.iter().map(|e| side(e).powi(2)).sum::<f64>().sqrt() / n;
    let low = value - spread(|e| e.value - e.low);
    let high = value + spread(|e| e.high - e.value);
    let of = all.iter().map(|e| e.n).sum();
    Some(Estimate::new(value, (low, high), of, "mean-of-tasks"))
}

impl Profile<'_> {
    /// The paper's ten, or nothing: only a full set has an average that can stand beside another.
    fn papers_ten(&self) -> Option<Vec<&Outcome>> {
        let of = |id: &String| self.tasks.get(id.as_str()).copied();
        paper_tasks().iter().map(of).collect()
    }

    /// Mean accuracy over the paper's ten tasks; tasks beside them have no part in it.
    pub(super) fn average(&self) -> Option<Estimate> {
        mean(self.papers_ten()?.into_iter().map(|o| &o.accuracy))
    }

    pub(super) fn adjusted(&self) -> Option<Estimate> {
        let ten = self.papers_ten()?.into_iter();
        let all: Option<Vec<&Estimate>> = ten.map(|o| o.adjusted.as_ref()).collect();
        mean(all?.into_iter())
    }

    /// What tells it from the model's other profiles, where its shots, mode, source and form do not.
    pub(super) fn variant(&self) -> &str {
        &self.variant
    }

    pub(super) fn how(&self) -> String {
        let mode = self.first.mode.name();
        let source = match self.first.source {
            ItemsSource::Fresh => "fresh",
            ItemsSource::Published => "released",
        };
        let form = self.first.form.name();
        // Told apart from others or not: whose words were asked belongs to the result.
        let released = self.first.conditions.manner().contains_key(WORDING_PARAM);
        let form = if released && !self.variant.contains(WORDING_PARAM) {
            format!("{form}, released wording")
        } else {
            form.to_owned()
        };
        match self.variant.as_str() {
            "" => format!("{mode}, {form}, {source}"),
            variant => format!("{mode}, {form}, {source} ({variant})"),
        }
    }

    fn is_asked_like(&self, outcome: &Outcome) -> bool {
        self.first.model == outcome.model
            && self.first.conditions.manner() == outcome.conditions.manner()
    }
}

/// Results grouped by model and every setting, in the order in which they were run.
pub(super) fn profiles(results: &[Outcome]) -> Vec<Profile<'_>> {
    let mut profiles: Vec<Profile<'_>> = Vec::new();
    for outcome in results.iter().filter(|o| o.task != GEOMETRY) {
        match profiles.iter_mut().find(|p| p.is_asked_like(outcome)) {
            Some(profile) => {
                profile.tasks.insert(&outcome.task, outcome);
            }
            None => profiles.push(Profile {
                first: outcome,
                tasks: BTreeMap::from([(outcome.task.as_str(), outcome)]),
                variant: String::new(),
            }),
        }
    }
    tell_apart(&mut profiles);
    profiles
}

/// Names what differs between profiles that shots, mode, source and form do not tell apart.
fn tell_apart(profiles: &mut [Profile<'_>]) {
    let shown = |o: &Outcome| (o.model.clone(), o.k, o.mode, o.source, o.form);
    let said: Vec<String> = profiles
        .iter()
        .map(|own| {
            let alike = |p: &&Profile<'_>| shown(p.first) == shown(own.first);
            let alike: Vec<&Profile<'_>> = profiles.iter().filter(alike).collect();
            let manners: Vec<_> = alike.iter().map(|p| p.first.conditions.manner()).collect();
            let place = alike.iter().position(|p| std::ptr::eq(p.first, own.first));
            let names = variants_of(&manners.iter().collect::<Vec<_>>());
            let name = place.and_then(|i| names.into_iter().nth(i));
            name.unwrap_or_default()
        })
        .collect();
    for (profile, variant) in profiles.iter_mut().zip(said) {
        profile.variant = variant;
    }
}
