//! The manifest of a prepared run, and the name of its folder.

use mary_contract::{
    ExecutionSettings, JudgeChoice, Limit, ModelCard, RunManifest, Task, TaskRun, TaskSettings,
};

use crate::{Laboratory, PreparedRun, RunError};

/// Everything decided, in the form a run folder keeps.
pub(crate) fn of(prepared: &PreparedRun<'_>) -> Result<RunManifest, RunError> {
    let (lab, spec) = (prepared.lab, &prepared.spec);
    let tasks = prepared.assignments.iter();
    let tasks = tasks.map(|a| task_run(lab, a.task, a.settings.clone(), a.limit));
    let labelled = |card: &ModelCard| ModelCard {
        label: spec.execution.labels.get(&card.model.to_string()).cloned(),
        ..card.clone()
    };
    let mut manifest = RunManifest {
        schema: mary_store::SCHEMA,
        id: String::new(),
        created: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: lab.command.clone(),
        models: prepared.cards.iter().map(labelled).collect(),
        model_settings: spec.model_settings(),
        judge: match spec.judge {
            JudgeChoice::Subject => prepared.cards.first().cloned(),
            JudgeChoice::None | JudgeChoice::Model(_) => prepared.judge.clone(),
        },
        judge_choice: spec.judge.clone(),
        tasks: tasks.collect(),
        trials: spec.trials,
        seed: spec.seed,
        execution: ExecutionSettings {
            adaptive: prepared.adaptive.as_ref().map(|bank| bank.stated()),
            ..spec.execution_settings()
        },
    };
    let digest = mary_store::run_digest(&manifest)?;
    let short = digest.get(..10).unwrap_or(&digest);
    manifest.id = format!("{}-{short}", title(prepared));
    Ok(manifest)
}

/// What a manifest says of one task.
pub(crate) fn task_run(
    lab: &Laboratory,
    task: &dyn Task,
    settings: TaskSettings,
    limit: Option<Limit>,
) -> TaskRun {
    // A task reads its dataset under some settings only; what is not there is not hashed.
    let dataset = task.card().dataset.as_ref();
    TaskRun {
        limit,
        dataset_hash: dataset.and_then(|d| lab.source().hash(d).ok()),
        ..TaskRun::of(&task, settings)
    }
}

/// The readable part of a run's name: the first model, by its label where it has one, and families.
fn title(prepared: &PreparedRun<'_>) -> String {
    let subjects = &prepared.spec.subjects;
    let labels = &prepared.spec.execution.labels;
    let first = subjects.first();
    let label = first.and_then(|m| labels.get(&m.to_string()));
    let model = match label {
        Some(label) => label.as_str(),
        None => first.map_or("model", |m| m.name.as_str()),
    };
    let model = model
        .rsplit('/')
        .find(|part| !part.is_empty())
        .unwrap_or("model");
    let mut families: Vec<&str> = prepared
        .assignments
        .iter()
        .map(|a| &*a.task.card().family)
        .collect();
    families.dedup();
    let more = match subjects.len() {
        0 | 1 => String::new(),
        n => format!("-and-{}-more", n - 1),
    };
    let text = format!("{model}{more}-{}", families.join("-"));
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "-._".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = text.chars().map(safe).take(60).collect();
    // A folder whose name begins with a dot would be hidden.
    name.trim_start_matches('.').to_owned()
}
