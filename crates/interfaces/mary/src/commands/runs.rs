//! `mary runs`: lists runs, shows, renames and removes one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use mary_contract::{Cell, NumberColumns, RunSummary, Table, model_labels};
use mary_platform::counted;
use mary_report::{ScoreScale, terminal};
use mary_store::RunFolder;
use serde::Serialize;

use super::summary;
use crate::command::Command;
use crate::commands::{print_json, print_table, tell};
use crate::exit::{Status, missing_error, usage_error};
use crate::rundir;
use crate::settings::Place;

/// Columns where no terminal says how many there are.
const PIPED_WIDTH: usize = 80;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArgs {
    #[command(subcommand)]
    pub action: Option<RunsAction>,
    /// Only runs in whose name, models, tasks, settings, date or state all these words occur
    #[arg(value_name = "WORD")]
    pub filter: Vec<String>,
    /// Print as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum RunsAction {
    /// The table of a run, the command that made it, and where it is
    Show {
        /// Run folder, or the beginning of a run's name [default: the newest]
        run: Option<String>,
    },
    /// Give a run's folder another name
    Rename {
        /// Run folder, or the beginning of a run's name
        run: String,
        /// Its new name
        name: String,
    },
    /// Delete runs with all their answers
    Remove {
        /// Run folders, or beginnings of runs' names
        #[arg(required = true)]
        runs: Vec<String>,
        /// Do it; without this they are only listed
        #[arg(long)]
        yes: bool,
    },
}

impl Command for RunsArgs {
    const NAME: &str = "runs";
    const ABOUT: &str = "List runs; show, rename or remove one";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        match &self.action {
            None => list(place, &self.filter, self.json),
            Some(RunsAction::Show { run }) => show(place, run.as_deref(), self.json),
            Some(RunsAction::Rename { run, name }) => rename(place, run, name),
            Some(RunsAction::Remove { runs, yes }) => remove(place, runs, *yes),
        }
    }
}

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
    let sweeps = rundir::sweeps(&place.runs);
    for sweep in sweeps.iter().filter(|_| filters.is_empty()) {
        let name = sweep.file_name().unwrap_or_default().to_string_lossy();
        tell!("sweep:  {name} (`mary report {name}`)");
    }
    if paths.is_empty() && !sweeps.is_empty() {
        if json {
            print_json(&[(); 0])?;
        }
        return Ok(Status::Done);
    }
    if paths.is_empty() {
        rundir::find(place, None)?; // says that there is no run yet, and what to do
    }
    let mut listed = Vec::new();
    for path in paths.iter().rev() {
        match read(place, path) {
            Ok(run) if fits(&run, filters) => listed.push(run),
            Ok(_) => {}
            Err(error) => tell!("{}: cannot be read: {error}", path.display()),
        }
    }
    if listed.is_empty() {
        let meant = filters.first().and_then(|word| action(word));
        let hint = match meant {
            Some(meant) => format!("did you mean `mary runs {meant}`?"),
            None => "`mary runs` without words lists them all".to_owned(),
        };
        return missing_error(format!(
            "none of the {} below {} {}\nhint: {hint}",
            counted(paths.len(), "run"),
            place.runs.display(),
            match filters {
                [] => "can be read".to_owned(),
                words => format!("fits {}", words.join(" ")),
            }
        ));
    }
    if json {
        print_json(&listed)?;
    } else {
        let style = summary::style();
        let width = style.width.unwrap_or(PIPED_WIDTH);
        let (table, narrowed) = table(&listed, width);
        print_table(&terminal::plain(&table, style))?;
        if narrowed {
            tell!(
                "hint: a wider terminal (or COLUMNS=200) shows more columns; --json has everything"
            );
        }
    }
    Ok(Status::Done)
}

/// What may be done with a run, where a word that fits no run looks like it.
fn action(word: &str) -> Option<&'static str> {
    match word {
        "rm" | "del" | "delete" | "clean" => Some("remove"),
        "mv" | "move" => Some("rename"),
        "cat" | "info" => Some("show"),
        word => {
            let known = ["show", "rename", "remove"];
            let distance = |name: &&str| strsim::damerau_levenshtein(word, name);
            let nearest = known.into_iter().min_by_key(distance)?;
            (distance(&nearest) <= 2).then_some(nearest)
        }
    }
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
        _ => mary_lab::load_summary(&place.registry, &folder)?,
    };
    let labels = model_labels(&manifest.models);
    let models = manifest.models.iter();
    let models = models.map(|m| labels.get(&m.model.to_string()).cloned());
    let tasks = manifest.tasks.iter();
    let shots: BTreeSet<usize> = tasks.filter_map(|t| t.settings.shots).collect();
    let name = path.file_name().unwrap_or_default();
    let begun: String = manifest.created.chars().take(16).collect();
    Ok(Listed {
        name: name.to_string_lossy().into_owned(),
        created: begun.replace('T', " "),
        models: models.map(Option::unwrap_or_default).collect(),
        tasks: manifest.tasks.iter().map(|t| t.id.to_string()).collect(),
        settings: mary_report::chosen_settings(manifest),
        shots: shots.into_iter().collect(),
        score: score(&summary),
        state: state(&summary, samples),
        samples,
        bytes: size(path),
    })
}

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

type Column = (&'static str, fn(&Listed) -> String);

const RUN: Column = ("run", |run| run.name.clone());
const BEGUN: Column = ("begun", |run| run.created.clone());
const DAY: Column = ("begun", |run| run.created.chars().take(10).collect());
const MODELS: Column = ("models", |run| few(&run.models, 2));
const TASKS: Column = ("tasks", |run| few(&run.tasks, 2));
const TASK: Column = ("tasks", |run| few(&run.tasks, 1));
const SETTINGS: Column = ("settings", |run| few(&run.settings, 3));
const SCORE: Column = ("score", |run| run.score.clone());
const STATE: Column = ("state", |run| run.state.clone());
const SIZE: Column = ("size", |run| megabytes(run.bytes));

/// The list in full, and what tells runs apart where there is no room for everything.
const ALL: &[Column] = &[RUN, BEGUN, MODELS, TASKS, SETTINGS, SCORE, STATE, SIZE];
const MOST: &[Column] = &[RUN, BEGUN, MODELS, TASK, SCORE, STATE, SIZE];
const FEW: &[Column] = &[RUN, DAY, TASK, SCORE, STATE];

fn few(words: &[String], most: usize) -> String {
    let shown: Vec<&str> = words.iter().take(most).map(String::as_str).collect();
    match words.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} +{more}", shown.join(", ")),
    }
}

/// The widest form of the list that fits, and whether something was left out for that. Where even the
/// shortest is too wide, everything is said: the rows then stand under one another.
fn table(runs: &[Listed], width: usize) -> (Table, bool) {
    let fits = |columns: &&[Column]| {
        let room = columns.iter().map(|column| {
            let (head, cell) = column;
            let cells = runs.iter().map(|run| cell(run).chars().count());
            // A space before a column and two behind it.
            3 + cells.chain([head.len()]).max().unwrap_or(0)
        });
        room.sum::<usize>() <= width
    };
    let columns = [ALL, MOST, FEW].into_iter().find(fits).unwrap_or(ALL);
    let numbers = |n: &usize| ["score", "size"].contains(&columns[*n].0);
    let table = Table {
        id: "runs".into(),
        head: columns.iter().map(|(head, _)| (*head).to_owned()).collect(),
        rows: Cell::rows(
            runs.iter()
                .map(|run| columns.iter().map(|(_, cell)| cell(run)).collect())
                .collect(),
        ),
        numbers: NumberColumns::At((0..columns.len()).filter(numbers).collect()),
        ..Table::default()
    };
    (table, columns.len() < ALL.len())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn show(place: &Place, run: Option<&str>, json: bool) -> anyhow::Result<Status> {
    let path = rundir::find(place, run)?;
    let folder = RunFolder::open(&path)?;
    summary::show(&mary_lab::load_summary(&place.registry, &folder)?, json)?;
    tell!("begun:   {}", folder.manifest().created);
    tell!("command: {}", folder.manifest().command.join(" "));
    tell!("size:    {}", megabytes(size(&path)));
    tell!("run:     {}", path.display());
    Ok(Status::Done)
}

fn rename(place: &Place, run: &str, name: &str) -> anyhow::Result<Status> {
    let from = rundir::find(place, Some(run))?;
    if name.is_empty()
        || name.starts_with('.')
        || name.contains(['/', '\\'])
        || name.contains(char::is_control)
    {
        return usage_error(format!("`{name}` cannot be the name of a run folder"));
    }
    let to = from.with_file_name(name);
    if to.exists() {
        return usage_error(format!("{} is there already", to.display()));
    }
    // Nobody may be writing into it meanwhile.
    let held = RunFolder::resume(&from)?;
    std::fs::rename(&from, &to).with_context(|| from.display().to_string())?;
    drop(held);
    tell!("run:    {}", to.display());
    tell!("hint: `mary resume {name}` continues it; the command that began it makes a new one");
    Ok(Status::Done)
}

fn remove(place: &Place, runs: &[String], yes: bool) -> anyhow::Result<Status> {
    let paths = runs.iter().map(|run| rundir::find(place, Some(run)));
    let paths: Vec<PathBuf> = paths.collect::<Result<_, _>>()?;
    if !yes {
        let names: Vec<String> = paths
            .iter()
            .map(|p| format!("  {} ({})", p.display(), megabytes(size(p))))
            .collect();
        return usage_error(format!(
            "this would remove, with every answer in it:\n{}\nhint: say --yes to do it",
            names.join("\n")
        ));
    }
    for path in &paths {
        let held = RunFolder::resume(path)?;
        std::fs::remove_dir_all(path).with_context(|| path.display().to_string())?;
        drop(held);
        tell!("removed {}", path.display());
    }
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_fits_where_it_is_read() {
        let run = |name: &str| Listed {
            name: name.into(),
            created: "2026-01-02 03:04".into(),
            models: vec!["nano".into(), "SmolLM2-135M-Instruct".into(), "x".into()],
            tasks: vec!["family/a-task-with-a-long-name".into(); 23],
            shots: vec![4],
            settings: vec!["n=200".into(), "source=published".into(), "shots=4".into()],
            score: "23 scores".into(),
            state: "complete".into(),
            samples: 920,
            bytes: 12_345_678,
        };
        let runs = [run("nano-many-1a2b3c4d5e6f"), run("mine")];
        for width in [60, 80, 120, 200, 400] {
            let (table, narrowed) = table(&runs, width);
            let text = terminal::plain(
                &table,
                terminal::TableStyle {
                    color: false,
                    width: Some(width),
                },
            );
            let widest = text.lines().map(|l| l.chars().count()).max();
            assert!(widest.is_some_and(|w| w <= width), "{width}:\n{text}");
            assert!(text.contains("mine") && text.contains("complete"), "{text}");
            assert_eq!(narrowed, !table.head.contains(&"settings".to_owned()));
            assert!(text.contains("family/a-task-with-a-long-name"), "{text}");
        }
    }
}
