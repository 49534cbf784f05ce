//! `mary runs`: the runs there are, with what was asked, how it ended and how much room each takes;
//! showing, renaming and removing one.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_contract::{Cell, NumberColumns, RunSummary, Table, model_labels};
use mary_report::{ScoreScale, terminal};
use mary_store::RunFolder;
use serde::Serialize;

use super::{report, summary};
use crate::cli::{RunsAction, RunsArgs};
use crate::exit::{MissingError, Status, UsageError};
use crate::rundir;
use crate::settings::Place;

/// Lists, shows, renames or removes runs.
pub fn runs(place: &Place, args: &RunsArgs) -> anyhow::Result<Status> {
    match &args.action {
        None => list(place, &args.filter, args.json),
        Some(RunsAction::Show { run }) => show(place, run.as_deref(), args.json),
        Some(RunsAction::Rename { run, name }) => rename(place, run, name),
        Some(RunsAction::Remove { runs, yes }) => remove(place, runs, *yes),
    }
}

/// What a list says of a run.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    created: String,
    models: Vec<String>,
    tasks: Vec<String>,
    shots: Vec<usize>,
    settings: Vec<String>,
    score: String,
    state: String,
    samples: usize,
    bytes: u64,
}

fn list(place: &Place, filters: &[String], json: bool) -> anyhow::Result<Status> {
    let paths = rundir::all(&place.runs);
    if paths.is_empty() {
        rundir::find(place, None)?; // says that there is no run yet, and what to do
    }
    let mut listed = Vec::new();
    for path in paths.iter().rev() {
        match read(place, path) {
            Ok(run) if fits(&run, filters) => listed.push(run),
            Ok(_) => {}
            Err(error) => super::tell(&format!("{}: cannot be read: {error}", path.display())),
        }
    }
    if listed.is_empty() {
        return Err(MissingError(format!(
            "none of the {} runs below {} fits {}\nhint: `mary runs` without words lists them all",
            paths.len(),
            place.runs.display(),
            filters.join(" ")
        ))
        .into());
    }
    if json {
        super::print_json(&listed)?;
    } else {
        super::print(&terminal::plain(&table(&listed), summary::style()))?;
    }
    Ok(Status::Done)
}

/// Whether every word occurs in the run's name, models, tasks, settings or state.
fn fits(run: &Listed, words: &[String]) -> bool {
    let text = [
        run.name.as_str(),
        &run.models.join(" "),
        &run.tasks.join(" "),
        &run.settings.join(" "),
        &run.created,
        &run.state,
    ]
    .join(" ")
    .to_lowercase();
    words.iter().all(|word| text.contains(&word.to_lowercase()))
}

fn read(place: &Place, path: &Path) -> anyhow::Result<Listed> {
    let folder = RunFolder::open(path)?;
    let manifest = folder.manifest();
    let stored = folder.summary()?;
    let samples = folder.count()?;
    let counted = stored
        .as_ref()
        .map_or(0, |s| s.rows.iter().map(|r| r.samples).sum());
    let summary = match stored {
        // A log that went on after its last summary (a kill) is added up anew.
        Some(summary) if counted == samples => summary,
        _ => report::load_summary(&place.registry, &folder)?,
    };
    let labels = model_labels(&manifest.models);
    let mut shots: Vec<usize> = manifest
        .tasks
        .iter()
        .filter_map(|t| t.settings.shots)
        .collect();
    shots.sort_unstable();
    shots.dedup();
    Ok(Listed {
        name: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        created: manifest
            .created
            .chars()
            .take(16)
            .collect::<String>()
            .replace('T', " "),
        models: manifest
            .models
            .iter()
            .map(|m| {
                labels
                    .get(&m.model.to_string())
                    .cloned()
                    .unwrap_or_default()
            })
            .collect(),
        tasks: manifest.tasks.iter().map(|t| t.id.to_string()).collect(),
        settings: mary_report::chosen_settings(manifest),
        shots,
        score: score(&summary),
        state: state(&summary, samples),
        samples,
        bytes: size(path),
    })
}

/// The score, where there is one; how many there are otherwise.
fn score(summary: &RunSummary) -> String {
    match summary.rows.as_slice() {
        [] => "–".into(),
        [row] => match &row.score {
            Some(score) => ScoreScale::in_run(summary, row).value(score.value),
            None => "–".into(),
        },
        rows => format!(
            "{} scores",
            rows.iter().filter(|r| r.score.is_some()).count()
        ),
    }
}

fn state(summary: &RunSummary, samples: usize) -> String {
    let failed: usize = summary.rows.iter().flat_map(|r| r.failed.values()).sum();
    match (summary.complete, failed) {
        (true, 0) => "complete".into(),
        (_, 0) => format!("{samples} answered, not complete"),
        (_, failed) => format!("{failed} failed"),
    }
}

fn size(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => size(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

fn table(runs: &[Listed]) -> Table {
    let few = |words: &[String], most: usize| {
        let shown = words
            .iter()
            .take(most)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        match words.len() > most {
            true => format!("{shown} +{}", words.len() - most),
            false => shown,
        }
    };
    Table {
        id: "runs".into(),
        title: String::new(),
        head: [
            "run", "begun", "models", "tasks", "settings", "score", "state", "size",
        ]
        .map(String::from)
        .to_vec(),
        rows: Cell::rows(
            runs.iter()
                .map(|run| {
                    vec![
                        run.name.clone(),
                        run.created.clone(),
                        few(&run.models, 2),
                        few(&run.tasks, 2),
                        few(&run.settings, 3),
                        run.score.clone(),
                        run.state.clone(),
                        megabytes(run.bytes),
                    ]
                })
                .collect(),
        ),
        numbers: NumberColumns::At(vec![5, 7]),
        ..Table::default()
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn show(place: &Place, run: Option<&str>, json: bool) -> anyhow::Result<Status> {
    let path = rundir::find(place, run)?;
    let folder = RunFolder::open(&path)?;
    summary::show(&report::load_summary(&place.registry, &folder)?, json)?;
    super::tell(&format!("begun:   {}", folder.manifest().created));
    super::tell(&format!("command: {}", folder.manifest().command.join(" ")));
    super::tell(&format!("size:    {}", megabytes(size(&path))));
    super::tell(&format!("run:     {}", path.display()));
    Ok(Status::Done)
}

fn rename(place: &Place, run: &str, name: &str) -> anyhow::Result<Status> {
    let from = rundir::find(place, Some(run))?;
    if name.is_empty()
        || name.starts_with('.')
        || name.contains(['/', '\\'])
        || name.contains(char::is_control)
    {
        return Err(UsageError::new(format!("`{name}` cannot be the name of a run folder")).into());
    }
    let to = from.with_file_name(name);
    if to.exists() {
        return Err(UsageError::new(format!("{} is there already", to.display())).into());
    }
    // Nobody may be writing into it meanwhile.
    let held = RunFolder::resume(&from)?;
    std::fs::rename(&from, &to).with_context(|| from.display().to_string())?;
    drop(held);
    super::tell(&format!("run:    {}", to.display()));
    super::tell(&format!(
        "hint: `mary resume {name}` goes on with it; the command it was begun with makes a new one"
    ));
    Ok(Status::Done)
}

fn remove(place: &Place, runs: &[String], yes: bool) -> anyhow::Result<Status> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for run in runs {
        paths.push(rundir::find(place, Some(run))?);
    }
    if !yes {
        let names: Vec<String> = paths
            .iter()
            .map(|p| format!("  {} ({})", p.display(), megabytes(size(p))))
            .collect();
        return Err(UsageError::new(format!(
            "this would remove, with every answer in it:\n{}\nhint: say --yes to do it",
            names.join("\n")
        ))
        .into());
    }
    for path in &paths {
        let held = RunFolder::resume(path)?;
        std::fs::remove_dir_all(path).with_context(|| path.display().to_string())?;
        drop(held);
        super::tell(&format!("removed {}", path.display()));
    }
    Ok(Status::Done)
}
