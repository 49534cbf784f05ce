//! Who is compared with whom: a model in a run, with a label that is unique on the page.

use std::collections::BTreeMap;

use mary_contract::{RunManifest, RunSummary, SummaryRow, model_labels};
use mary_platform::counted;

use crate::compare::PEOPLE;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Place of its run among the runs shown.
    pub run: usize,
    /// As the user named it.
    pub model: String,
    /// For people: the model, with the run's name where two runs hold the same model.
    pub label: String,
}

pub(crate) fn subjects(runs: &[RunSummary]) -> Vec<Subject> {
    let mut found: Vec<Subject> = Vec::new();
    let labels = model_labels(runs.iter().flat_map(|r| &r.manifest.models));
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
    let id = |s: &Subject| runs.get(s.run).map_or("", |r| r.manifest.id.as_str());
    let all = found.clone();
    for subject in &mut found {
        let own = id(subject);
        let same = all.iter().filter(|s| s.model == subject.model);
        let alike = same.clone().filter(|s| short(id(s)) == short(own));
        // Ids that begin alike end in different digests.
        let end = own.rsplit('-').next().filter(|_| alike.count() > 1);
        if same.count() > 1 {
            subject.label = format!("{} ({})", subject.label, end.unwrap_or(short(own)));
        }
    }
    found
}

/// `2 models and people`: people are no model.
pub(crate) fn counted_models<N: AsRef<str>>(names: impl Iterator<Item = N>) -> String {
    let (people, models): (Vec<N>, Vec<N>) = names.partition(|n| n.as_ref().starts_with(PEOPLE));
    let named = counted(models.len(), "model");
    match (models.len(), people.len()) {
        (_, 0) => named,
        (0, _) => "people".to_owned(),
        _ => format!("{named} and people"),
    }
}

pub(crate) fn labelled(manifest: &RunManifest, labels: &BTreeMap<String, String>) -> Vec<String> {
    let names = manifest.models.iter().map(|card| card.model.to_string());
    names
        .map(|name| labels.get(&name).cloned().unwrap_or(name))
        .collect()
}

/// What a run measured on what, for headings and trails: never a path or a digest.
pub(crate) fn run_title(manifest: &RunManifest) -> String {
    let models = labelled(manifest, &model_labels(&manifest.models));
    let who = match models.as_slice() {
        [] => "no model".to_owned(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        _ => counted_models(manifest.models.iter().map(|card| card.model.to_string())),
    };
    let mut families: Vec<&str> = manifest.tasks.iter().map(|t| family_of(&t.id)).collect();
    families.sort_unstable();
    families.dedup();
    let what = match (manifest.tasks.as_slice(), families.as_slice()) {
        ([], _) => "no tasks".to_owned(),
        ([task], _) => task.id.clone(),
        (tasks, [family]) => format!("{} tasks of {family}", tasks.len()),
        (tasks, families) => format!("{} tasks of {} families", tasks.len(), families.len()),
    };
    format!("{what} on {who}")
}

/// The settings that the user gave, each once, as `name=value`.
pub fn chosen_settings(manifest: &RunManifest) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for task in &manifest.tasks {
        let params = task.settings.params.iter().map(|(k, v)| format!("{k}={v}"));
        said.extend(task.settings.shots.map(|k| format!("k={k}")));
        said.extend(params);
        said.extend(task.limit.map(|l| format!("limit={l}")));
    }
    if manifest.seed != 0 {
        said.push(format!("seed={}", manifest.seed));
    }
    if manifest.trials > 1 {
        said.push(format!("trials={}", manifest.trials));
    }
    said.sort();
    said.dedup();
    said
}

pub(crate) fn short(id: &str) -> &str {
    let end = id.char_indices().nth(12).map(|(end, _)| end);
    end.and_then(|end| id.get(..end)).unwrap_or(id)
}

/// Whether these are checkpoints of one model in the order of training: one name, and revisions that count
/// upwards.
pub(crate) fn are_checkpoints(subjects: &[Subject]) -> bool {
    let parts: Option<Vec<(&str, u64)>> = subjects
        .iter()
        .map(|subject| {
            let (name, revision) = subject.model.rsplit_once('@')?;
            let digits: String = revision
                .chars()
                .skip_while(|c| !c.is_ascii_digit())
                .take_while(char::is_ascii_digit)
                .collect();
            Some((name, digits.parse().ok()?))
        })
        .collect();
    parts.is_some_and(|parts| {
        let later = |a: &(&str, u64), b: &(&str, u64)| a.0 == b.0 && a.1 < b.1;
        parts.len() > 2 && parts.is_sorted_by(later)
    })
}

pub(crate) fn families(runs: &[RunSummary]) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for run in runs {
        let planned = run.manifest.tasks.iter().map(|t| t.id.as_str());
        let seen = run.rows.iter().map(|r| r.task.as_str());
        for task in planned.chain(seen) {
            let family = family_of(task);
            match found.iter_mut().find(|(f, _)| f == family) {
                Some((_, tasks)) if tasks.iter().any(|t| t == task) => {}
                Some((_, tasks)) => tasks.push(task.to_owned()),
                None => found.push((family.to_owned(), vec![task.to_owned()])),
            }
        }
    }
    found
}

pub(crate) fn source(runs: &[RunSummary], task: &str) -> String {
    let of = |run: &RunSummary| Some(run.manifest.task(task)?.item_source()?.name());
    let mut found: Vec<&str> = runs.iter().filter_map(of).collect();
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [] => "–".to_owned(),
        several => several.join(", "),
    }
}

pub(crate) fn family_of(task: &str) -> &str {
    task.split_once('/').map_or(task, |(family, _)| family)
}

pub(crate) fn task_name(task: &str) -> &str {
    task.split_once('/').map_or(task, |(_, name)| name)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_counted_apart_from_models() {
        let said = |names: &[&str]| counted_models(names.iter());
        assert_eq!(
            said(&["vllm/a", "people/rhyme", "hf/people"]),
            "2 models and people"
        );
        assert_eq!(
            said(&["people/a", "vllm/b", "people/c"]),
            "1 model and people"
        );
        assert_eq!(said(&["people/a"]), "people");
        assert_eq!(said(&["vllm/a"]), "1 model");
    }

    /// Runs of one model whose names begin alike had one label: nine rows of a report could not be told apart.
    #[test]
    fn labels_of_one_model_in_several_runs_are_unique() {
        let run = |id: &str| -> RunSummary {
            let model =
                mary_contract::ModelCard::new("vllm/a".parse().unwrap(), Default::default());
            let manifest = RunManifest {
                schema: 1,
                id: id.to_owned(),
                created: String::new(),
                version: String::new(),
                command: vec![],
                models: vec![model],
                model_settings: Default::default(),
                judge: None,
                judge_choice: Default::default(),
                tasks: vec![],
                trials: 1,
                seed: 0,
                execution: Default::default(),
            };
            RunSummary {
                manifest,
                rows: vec![],
                complete: true,
            }
        };
        let runs = [
            "a-and-1-more-htest-57e0c885e3",
            "a-and-1-more-htest-5c31e3ec93",
            "other-1",
        ]
        .map(run);
        let labels: Vec<String> = subjects(&runs).into_iter().map(|s| s.label).collect();
        assert_eq!(labels, ["a (57e0c885e3)", "a (5c31e3ec93)", "a (other-1)"]);
    }
}
