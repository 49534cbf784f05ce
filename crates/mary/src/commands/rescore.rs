//! `mary rescore`: judges stored answers again under other settings, and says what changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mary_contract::{
    Outcome, Registry, RegistryError, RunSummary, Sample, Table, Task, TaskRun, TaskSettings,
};
use mary_engine::summarise::{Summariser, Verdict};
use mary_report::terminal;
use mary_store::RunFolder;

use super::summary;
use crate::cli::RescoreArgs;
use crate::exit::{Status, UsageError};
use crate::rundir;
use crate::settings::Place;
use crate::suite::Wishes;

/// How many verdicts went from one kind to another, by task.
type Changes = BTreeMap<(String, String, String), usize>;

/// Judges again.
pub fn rescore(place: &Place, args: &RescoreArgs) -> anyhow::Result<Status> {
    let folder = RunFolder::open(&rundir::find(place, args.run.as_deref())?)?;
    let manifest = folder.manifest();
    let tasks = known_tasks(&place.registry, &manifest.tasks)?;
    let wishes = Wishes {
        set: Wishes::pairs(&args.set)?,
        ..Wishes::default()
    };
    let asked_for = wishes.settings(&tasks)?;
    let settings = |id: &str| -> Option<(&Arc<dyn Task>, TaskSettings)> {
        let stored = manifest.tasks.iter().find(|t| t.id == id)?;
        let (task, wished) = asked_for.iter().find(|(t, _)| t.card().id == id)?;
        let mut settings = stored.settings.clone();
        settings.params.extend(wished.params.clone());
        Some((task, settings))
    };
    let mut summariser = Summariser::default();
    let mut changes = Changes::new();
    let mut samples = 0;
    for sample in folder.samples()? {
        let mut sample = sample?;
        let Some((task, settings)) = settings(&sample.id.task) else {
            let id = &sample.id.task;
            return Err(UsageError::new(format!("this Mary has no task `{id}`")).into());
        };
        let before = word(&sample.judgement.outcome);
        sample = judged_again(task.as_ref(), &settings, sample);
        let after = word(&sample.judgement.outcome);
        if before != after {
            let change = (sample.id.task.clone(), before, after);
            *changes.entry(change).or_default() += 1;
        }
        summariser.add(Verdict::from(&sample));
        samples += 1;
    }
    let mut manifest = manifest.clone();
    for task in &mut manifest.tasks {
        if let Some((known, settings)) = settings(&task.id) {
            task.conventions = known.conventions(&settings);
            task.settings = settings;
        }
    }
    let rescored = summariser.finish(manifest, samples, &tasks, |model, task| {
        settings(&task.card().id).map_or_else(Vec::new, |(task, settings)| {
            let seen = |sample| judged_again(task.as_ref(), &settings, sample);
            summary::overall(&folder, model, (task.as_ref(), &settings), seen)
        })
    });
    show(&folder, &rescored, &changes, args.json)
}

/// The tasks of a run. Unknown ones are refused only when a sample of theirs comes, as ever; a task of
/// one's own that has changed is refused at once, since it would judge by other rules than it says.
fn known_tasks(
    registry: &Registry,
    tasks: &[TaskRun],
) -> Result<Vec<Arc<dyn Task>>, RegistryError> {
    let found = tasks.iter().map(|run| registry.judge_of(run).cloned());
    found
        .filter(|task| !matches!(task, Err(RegistryError::Unknown(_))))
        .collect()
}

/// The sample with a new verdict; what was never answered cannot be judged, now as then.
fn judged_again(task: &dyn Task, settings: &TaskSettings, mut sample: Sample) -> Sample {
    let replies: Result<Vec<_>, _> = sample.exchanges.iter().map(|e| e.reply.clone()).collect();
    if let Ok(replies) = replies {
        sample.judgement = task.judge(settings, &sample.item, &replies);
    }
    sample
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

fn show(
    folder: &RunFolder,
    rescored: &RunSummary,
    changes: &Changes,
    json: bool,
) -> anyhow::Result<Status> {
    let path = folder.path().join("summary.rescored.json");
    std::fs::write(&path, serde_json::to_vec_pretty(rescored)?)?;
    summary::show(rescored, json)?;
    if !json {
        let rows = changes
            .iter()
            .map(|((task, from, to), n)| {
                vec![task.clone(), from.clone(), to.clone(), n.to_string()]
            })
            .collect::<Vec<_>>();
        if rows.is_empty() {
            super::print("\nNo verdict changed.\n")?;
        } else {
            let table = Table {
                id: "changes".into(),
                title: "What changed".into(),
                head: ["task", "was", "is", "samples"].map(String::from).to_vec(),
                rows,
                ..Table::default()
            };
            super::print(&format!(
                "\nWhat changed:\n{}",
                terminal::plain(&table, summary::style())
            ))?;
        }
    }
    super::tell(&format!(
        "the new summary is in {}; the run itself is untouched",
        path.display()
    ));
    Ok(Status::Done)
}
