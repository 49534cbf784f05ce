//! From a run folder to its summary.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::summarise::{Summariser, Verdict, test_against_chance};
use mary_contract::{
    Measure, Registry, RunManifest, RunSummary, Sample, Task, TaskRun, TaskSettings,
};
use mary_store::RunFolder;

use crate::RunError;

/// The tasks of a manifest that are known and unchanged, in order.
pub(crate) fn known_tasks(registry: &Registry, tasks: &[TaskRun]) -> Vec<Arc<dyn Task>> {
    tasks
        .iter()
        .filter_map(|t| registry.judge_of(t).ok().cloned())
        .collect()
}

/// Adds up the log. `planned` is the number of samples a complete run has.
pub fn summarise(
    registry: &Registry,
    folder: &RunFolder,
    planned: usize,
) -> Result<RunSummary, RunError> {
    let mut summariser = Summariser::default();
    let mut others: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for verdict in folder.verdicts()? {
        let verdict = verdict?;
        for name in &verdict.answered_by {
            let model = others.entry(verdict.id.model.clone()).or_default();
            *model.entry(name.clone()).or_default() += 1;
        }
        summariser.add(Verdict {
            id: &verdict.id,
            cluster: verdict.item.cluster.as_deref(),
            tags: &verdict.item.tags,
            judgement: &verdict.judgement,
            usage: verdict.usage,
        });
    }
    let mut manifest = folder.manifest().clone();
    // Beside the model's card, where table, summary and report show remarks.
    for card in &mut manifest.models {
        for (name, n) in others.get(&card.model.to_string()).into_iter().flatten() {
            card.remarks
                .push(format!("{n} replies name another model: {name}"));
        }
    }
    let tasks = known_tasks(registry, &manifest.tasks);
    let runs = manifest.tasks.clone();
    let adaptive = manifest.execution.adaptive.is_some();
    let mut summary = summariser.finish(manifest, planned, &tasks, |model, task| {
        let run = runs.iter().find(|r| *r.id == *task.card().id);
        run.map_or_else(Vec::new, |run| {
            overall(folder, model, (task, &run.settings), |sample| sample)
        })
    });
    if adaptive {
        crate::scale::predict(folder, &mut summary)?;
    }
    Ok(summary)
}

/// The summary as stored, or added up from the log when there is none or the log has gone on since.
pub fn load_summary(registry: &Registry, folder: &RunFolder) -> Result<RunSummary, RunError> {
    let stored = folder.summary()?;
    let counted = |summary: &RunSummary| summary.rows.iter().map(|row| row.samples).sum::<usize>();
    let mut summary = match stored {
        Some(summary) if counted(&summary) == folder.count()? => summary,
        _ => summarise(registry, folder, usize::MAX)?,
    };
    summary.manifest = completed(registry, &summary.manifest);
    // Nothing here can continue what another tool made.
    let mut tasks = summary.manifest.tasks.iter();
    summary.complete |= tasks.len() > 0 && tasks.all(TaskRun::is_imported);
    // A summary of an earlier program says where intervals end and tests nothing.
    test_against_chance(&mut summary.rows);
    Ok(summary)
}

/// A manifest in which old runs, too, say what was asked and what their scores are.
pub fn completed(registry: &Registry, manifest: &RunManifest) -> RunManifest {
    let mut manifest = manifest.clone();
    let judge = manifest.judge_name();
    for run in &mut manifest.tasks {
        if let Ok(task) = registry.judge_of(run) {
            let task = task.clone();
            run.complete(task.as_ref());
            // Scores that two judges gave are two results.
            let judge = judge.clone().filter(|_| task.needs(&run.settings).judge);
            let named = judge.map(|name| ("judge".to_owned(), name));
            run.judging.extend(named);
        }
    }
    manifest
}

/// Metrics of a task that are not means over items, from samples as `seen`.
pub(crate) fn overall(
    folder: &RunFolder,
    model: &str,
    (task, settings): (&dyn Task, &TaskSettings),
    seen: impl Fn(Sample) -> Sample,
) -> Vec<Measure> {
    let id = &task.card().id;
    // Opened only when the task takes the first sample.
    let mut samples: Option<Box<dyn Iterator<Item = Sample>>> = None;
    let mut lazy = std::iter::from_fn(|| {
        let stream = samples.get_or_insert_with(|| match folder.samples() {
            Ok(all) => Box::new(all.filter_map(Result::ok)),
            Err(_) => Box::new(std::iter::empty()),
        });
        stream
            .find(|s| *s.id.task == **id && s.id.model == model)
            .map(&seen)
    });
    task.overall(settings, &mut lazy)
}
