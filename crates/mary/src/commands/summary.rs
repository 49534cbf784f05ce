//! From a run folder to its summary, and what is shown of it.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use mary_contract::{Measure, Registry, RunSummary, Sample, Task, TaskRun, TaskSettings};
use mary_engine::summarise::{Summariser, Verdict};
use mary_report::terminal::{self, TableStyle};
use mary_store::RunFolder;

/// The tasks of a manifest that are known and unchanged, in order.
pub fn known_tasks(registry: &Registry, tasks: &[TaskRun]) -> Vec<Arc<dyn Task>> {
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
) -> anyhow::Result<RunSummary> {
    let mut summariser = Summariser::default();
    for verdict in folder.verdicts()? {
        let verdict = verdict?;
        summariser.add(Verdict {
            id: &verdict.id,
            cluster: verdict.item.cluster.as_deref(),
            tags: &verdict.item.tags,
            judgement: &verdict.judgement,
            usage: verdict.usage,
        });
    }
    let manifest = folder.manifest().clone();
    let tasks = known_tasks(registry, &manifest.tasks);
    let runs = manifest.tasks.clone();
    Ok(summariser.finish(manifest, planned, &tasks, |model, task| {
        let run = runs.iter().find(|r| r.id == task.card().id);
        run.map_or_else(Vec::new, |run| {
            overall(folder, model, (task, &run.settings), |sample| sample)
        })
    }))
}

/// Metrics of a task that are not means over items, from samples as `seen`.
pub fn overall(
    folder: &RunFolder,
    model: &str,
    (task, settings): (&dyn Task, &TaskSettings),
    seen: impl Fn(Sample) -> Sample,
) -> Vec<Measure> {
    let id = &*task.card().id;
    // Opened only when the task takes the first sample.
    let mut samples: Option<Box<dyn Iterator<Item = Sample>>> = None;
    let mut lazy = std::iter::from_fn(|| {
        let stream = samples.get_or_insert_with(|| match folder.samples() {
            Ok(all) => Box::new(all.filter_map(Result::ok)),
            Err(_) => Box::new(std::iter::empty()),
        });
        stream
            .find(|s| s.id.task == id && s.id.model == model)
            .map(&seen)
    });
    task.overall(settings, &mut lazy)
}

/// Prints a summary as a table, or as JSON for machines.
pub fn show(summary: &RunSummary, json: bool) -> anyhow::Result<()> {
    if json {
        return super::print(&(terminal::json(summary)? + "\n"));
    }
    super::print(&terminal::table(summary, style()))
}

/// Colours and width of the terminal that reads us.
pub fn style() -> TableStyle {
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let width = columns.or_else(|| terminal.then(console_width).flatten());
    TableStyle { color, width }
}

fn console_width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}

/// Where a report of a run is written.
pub fn report_path(run: &Path) -> std::path::PathBuf {
    run.join("report.html")
}
