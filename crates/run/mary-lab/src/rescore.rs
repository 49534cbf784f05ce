//! Judging stored answers again under other settings, without any model.

use std::collections::BTreeMap;

use crate::engine::summarise::{Summariser, Verdict};
use mary_contract::{
    Judgement, Outcome, Registry, RegistryError, RunSummary, Sample, Task, TaskRun, TaskSettings,
};
use mary_store::RunFolder;
use serde_json::Value;

use crate::RunError;
use crate::summary::{known_tasks, overall};

/// How many verdicts went from one kind to another, by task.
pub type Changes = BTreeMap<(String, String, String), usize>;

/// A run judged again.
pub struct Rescored {
    /// The new summary; the manifest in it has the new settings.
    pub summary: RunSummary,
    /// What changed.
    pub changes: Changes,
}

/// Judges a run again. `params` gives, by task id, the parameters that replace those of the run.
pub fn rescore(
    registry: &Registry,
    folder: &RunFolder,
    params: &BTreeMap<String, BTreeMap<String, String>>,
) -> Result<Rescored, RunError> {
    rescore_with(registry, folder, params, |_| {})
}

/// The same; `each` sees every sample with its new verdict.
pub fn rescore_with(
    registry: &Registry,
    folder: &RunFolder,
    params: &BTreeMap<String, BTreeMap<String, String>>,
    mut each: impl FnMut(&Sample),
) -> Result<Rescored, RunError> {
    let manifest = folder.manifest();
    let tasks = known_tasks(registry, &manifest.tasks);
    let settings = |id: &str| -> Result<(&dyn Task, TaskSettings), RegistryError> {
        let unknown = || RegistryError::Unknown(id.to_owned());
        let stored = manifest.tasks.iter().find(|t| t.id == id);
        let stored = stored.ok_or_else(unknown)?;
        let task = registry.judge_of(stored)?;
        let mut settings = stored.settings.clone();
        settings
            .params
            .extend(params.get(id).cloned().unwrap_or_default());
        Ok((task.as_ref(), settings))
    };
    for run in &manifest.tasks {
        if let Ok((task, wished)) = settings(&run.id) {
            same_question(task, run, &wished)?;
        }
    }
    let mut summariser = Summariser::default();
    let mut changes = Changes::new();
    let mut samples = 0;
    for sample in folder.samples()? {
        let mut sample = sample?;
        let (task, settings) = settings(&sample.id.task)
            .map_err(|error| RunError::Specification(error.to_string()))?;
        let before = word(&sample.judgement.outcome);
        sample = judged_again(task, &settings, sample);
        let after = word(&sample.judgement.outcome);
        if before != after {
            let change = (sample.id.task.clone(), before, after);
            *changes.entry(change).or_default() += 1;
        }
        summariser.add(Verdict::from(&sample));
        each(&sample);
        samples += 1;
    }
    let mut manifest = manifest.clone();
    for task in &mut manifest.tasks {
        if let Ok((known, settings)) = settings(&task.id) {
            let judged = TaskRun::of(known, settings);
            task.conventions = judged.conventions;
            task.judging = judged.judging;
            task.scoring = judged.scoring;
            task.settings = judged.settings;
        }
    }
    let summary = summariser.finish(manifest, samples, &tasks, |model, task| {
        settings(&task.card().id).map_or_else(
            |_| Vec::new(),
            |(task, settings)| {
                let seen = |sample| judged_again(task, &settings, sample);
                overall(folder, model, (task, &settings), seen)
            },
        )
    });
    Ok(Rescored { summary, changes })
}

/// Stored answers can be judged again, not asked again: settings that change the question are refused.
fn same_question(task: &dyn Task, run: &TaskRun, wished: &TaskSettings) -> Result<(), RunError> {
    let mut stored = run.clone();
    stored.complete(task);
    let wanted = TaskRun {
        version: run.version,
        content: run.content.clone(),
        ..TaskRun::of(task, wished.clone())
    };
    let changed: Vec<String> = wanted
        .conditions()
        .differences(&stored.conditions())
        .iter()
        .filter(|d| !d.judging && wished.params.get(&d.setting) == Some(&d.own))
        .map(|d| {
            format!(
                "{}={} (it was asked with {}={})",
                d.setting, d.own, d.setting, d.other
            )
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let judging: Vec<String> = task.judging(wished).into_keys().collect();
    let hint = match judging.as_slice() {
        [] => {
            "hint: none of its settings changes the judging alone; ask again with `mary run`".into()
        }
        some => format!(
            "hint: its answers can be judged again by {}; for the rest ask again with `mary run`",
            some.join(", ")
        ),
    };
    Err(RunError::Specification(format!(
        "{}: rescoring cannot change what was asked: {}\n{hint}",
        run.id,
        changed.join(", ")
    )))
}

/// What stands beside a verdict and comes from people, not from the task's judge: notes, and measures.
const NOTED_OF_PEOPLE: [&str; 2] = ["study", "people"];
const MEASURED_OF_PEOPLE: [&str; 2] = [NONE_FITS, "seconds"];
/// What people judged of an answer is named by how it ends.
const BY_PEOPLE: &str = "_by_people";
/// Whether a person said that none of the options fits.
const NONE_FITS: &str = "none_fits";

/// The sample with a new verdict. What was never answered and a person's "none fits" in
/// place of an answer keep theirs.
fn judged_again(task: &dyn Task, settings: &TaskSettings, mut sample: Sample) -> Sample {
    let instead = sample.judgement.parsed.as_deref() == Some("none");
    if instead && sample.judgement.measures.get(NONE_FITS) == Some(&1.0) {
        return sample;
    }
    let replies: Result<Vec<_>, _> = sample.exchanges.iter().map(|e| e.reply.clone()).collect();
    if let Ok(replies) = replies {
        let before = std::mem::replace(
            &mut sample.judgement,
            task.judge(settings, &sample.item, &replies),
        );
        keep_what_people_said(&mut sample.judgement, before);
    }
    sample
}

fn keep_what_people_said(judgement: &mut Judgement, before: Judgement) {
    for (name, value) in before.measures {
        if MEASURED_OF_PEOPLE.contains(&name.as_str()) || name.ends_with(BY_PEOPLE) {
            judgement.measures.entry(name).or_insert(value);
        }
    }
    let Value::Object(notes) = before.notes else {
        return;
    };
    let said = notes
        .into_iter()
        .filter(|(name, _)| NOTED_OF_PEOPLE.contains(&name.as_str()) || name.ends_with(BY_PEOPLE));
    for (name, note) in said {
        match &mut judgement.notes {
            Value::Object(own) => {
                own.entry(name).or_insert(note);
            }
            own => *own = Value::Object([(name, note)].into_iter().collect()),
        }
    }
}

fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Scored(1.0) => "right".into(),
        Outcome::Scored(0.0) => "wrong".into(),
        Outcome::Scored(0.5) => "tie".into(),
        Outcome::Scored(score) => format!("{score:.3}"),
        Outcome::Unscored(reason) => reason.name().to_owned(),
        Outcome::Failed(_) => "failed".into(),
    }
}
