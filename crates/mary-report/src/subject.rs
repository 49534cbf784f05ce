//! Who is compared with whom: a model in a run, with a label that is unique on the page.

use std::collections::BTreeMap;

use mary_contract::{RunSummary, SummaryRow};

/// A model within a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Place of its run among the runs shown.
    pub run: usize,
    /// As the user named it.
    pub model: String,
    /// For people: the model, with the run's name where two runs hold the same model.
    pub label: String,
}

/// All subjects, in the order of runs and manifests.
pub(crate) fn subjects(runs: &[RunSummary]) -> Vec<Subject> {
    let mut found: Vec<Subject> = Vec::new();
    let labels = mary_contract::model_labels(runs.iter().flat_map(|r| &r.manifest.models));
    for (index, run) in runs.iter().enumerate() {
        let named = run.manifest.models.iter().map(|m| m.model.to_string());
        let seen = run.rows.iter().map(|r| r.model.clone());
        for model in named.chain(seen) {
            if !found.iter().any(|s| s.run == index && s.model == model) {
                let label = labels.get(&model).unwrap_or(&model).clone();
                found.push(Subject {
                    run: index,
                    label,
                    model,
                });
            }
        }
    }
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for subject in &found {
        *times.entry(subject.model.clone()).or_default() += 1;
    }
    for subject in &mut found {
        if times.get(&subject.model).is_some_and(|&n| n > 1) {
            let run = runs.get(subject.run).map_or("", |r| r.manifest.id.as_str());
            subject.label = format!("{} ({})", subject.label, short(run));
        }
    }
    found
}

/// The beginning of a run's name, enough to tell it from others.
pub(crate) fn short(id: &str) -> &str {
    id.char_indices()
        .nth(12)
        .map_or(id, |(end, _)| id.get(..end).unwrap_or(id))
}

/// The tasks of some runs, in the order of the manifests, grouped by family.
pub(crate) fn families(runs: &[RunSummary]) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for run in runs {
        let planned = run.manifest.tasks.iter().map(|t| t.id.as_str());
        let seen = run.rows.iter().map(|r| r.task.as_str());
        for task in planned.chain(seen) {
            let family = family_of(task);
            let place = match found.iter().position(|(f, _)| f == family) {
                Some(place) => place,
                None => {
                    found.push((family.to_owned(), Vec::new()));
                    found.len() - 1
                }
            };
            if let Some((_, tasks)) = found.get_mut(place)
                && !tasks.iter().any(|t| t == task)
            {
                tasks.push(task.to_owned());
            }
        }
    }
    found
}

/// The word before the slash.
pub(crate) fn family_of(task: &str) -> &str {
    task.split_once('/').map_or(task, |(family, _)| family)
}

/// What stands behind the slash.
pub(crate) fn task_name(task: &str) -> &str {
    task.split_once('/').map_or(task, |(_, name)| name)
}

/// The row of a subject on a task.
pub(crate) fn row<'a>(
    runs: &'a [RunSummary],
    subject: &Subject,
    task: &str,
) -> Option<&'a SummaryRow> {
    let run = runs.get(subject.run)?;
    run.rows
        .iter()
        .find(|r| r.model == subject.model && r.task == task)
}
