//! Tasks of one's own: files that arguments or stored runs name are read into the registry before a
//! command begins, so that every command finds them like built-in ones.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use mary_contract::{RunManifest, Task};
use mary_taskfile::OwnTask;
use mary_taskfile::lm_eval::{HarnessTask, Places};

use crate::cli::study::{
    PrintArgs, ServeStudyArgs, SimulateArgs, StudyAction, StudyPathArgs, WithdrawArgs,
};
use crate::cli::{Command, DataAction, TasksAction};
use crate::commands::tell;
use crate::exit::UsageError;
use crate::rundir;
use crate::settings::Place;
use crate::stored::Stored;

/// Reads the task files that a command means. In its arguments, files become ids.
pub fn gather(place: &mut Place, command: &mut Command) -> anyhow::Result<()> {
    match command {
        Command::Run(args) => named(place, &mut args.tasks),
        Command::Sweep(args) => named(place, &mut args.run.tasks),
        Command::Data(args) => match &mut args.action {
            DataAction::Audit(args) => named(place, &mut args.tasks),
            _ => Ok(()),
        },
        Command::Tasks(args) => match &mut args.action {
            Some(TasksAction::Show { task, .. } | TasksAction::Check { task, .. }) => {
                one(place, task)
            }
            _ => Ok(()),
        },
        Command::Items(args) => one(place, &mut args.task),
        Command::Study(args) => match &mut args.action {
            StudyAction::New(args) => named(place, &mut args.tasks),
            StudyAction::Close(args) => of_study(place, &args.study),
            StudyAction::Results(args) => of_study(place, Path::new(&args.study)),
            StudyAction::Export(args) => of_study(place, &args.study),
            // They go on with what was to be deleted from a run folder. A task file that is no longer there keeps
            // that waiting, not them.
            StudyAction::Withdraw(WithdrawArgs { study, .. })
            | StudyAction::Status(StudyPathArgs { study, .. })
            | StudyAction::Serve(ServeStudyArgs { study, .. })
            | StudyAction::Simulate(SimulateArgs { study, .. })
            | StudyAction::Print(PrintArgs { study, .. }) => {
                let _ = of_study(place, study);
                Ok(())
            }
            _ => Ok(()),
        },
        Command::Resume(args) => {
            only_files(&args.tasks)?;
            named(place, &mut args.tasks)?;
            stored(place, args.run.as_slice(), true);
            Ok(())
        }
        Command::Rescore(args) => {
            only_files(&args.tasks)?;
            named(place, &mut args.tasks)?;
            stored(place, args.run.as_slice(), true);
            Ok(())
        }
        Command::Report(args) => {
            stored(place, &args.runs, true);
            Ok(())
        }
        Command::Compare(args) => {
            stored(place, &args.runs, false);
            Ok(())
        }
        Command::Merge(args) => {
            let runs = args.runs.iter().map(|p| p.to_string_lossy().into_owned());
            stored(place, &runs.collect::<Vec<_>>(), false);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Reads the task files that a study was made with.
fn of_study(place: &mut Place, study: &Path) -> anyhow::Result<()> {
    let Ok(study) = mary_study::Study::open(study) else {
        return Ok(()); // the command itself says that it is none
    };
    let keys = study.keys()?;
    if keys.tasks.iter().any(|task| task.content.is_some()) {
        for file in files(&keys.command) {
            for task in tasks_of(place, &file)? {
                add(place, task, &file.display().to_string())?;
            }
        }
    }
    Ok(())
}

/// Whether a word names a task file.
fn is_file(word: &str) -> bool {
    let path = Path::new(word.trim());
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let ending = ending.to_ascii_lowercase();
    matches!(ending.as_str(), "toml" | "yaml" | "yml") || is_dataset(path)
}

/// Whether a path is a dataset as Inspect has them, which is a task by itself.
fn is_dataset(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    matches!(
        ending.to_ascii_lowercase().as_str(),
        "jsonl" | "json" | "csv"
    )
}

/// A stored run knows its tasks; only where their files are can be said again.
fn only_files(names: &[String]) -> Result<(), UsageError> {
    match names.iter().find(|n| !is_file(n)) {
        None => Ok(()),
        Some(other) => Err(UsageError::new(format!(
            "`{other}` is no task file; the run itself says which tasks it has\n\
             hint: -t is for a task of one's own whose file was moved"
        ))),
    }
}

/// Reads the files among these names of tasks; each is replaced by the id of its task, or the ids of a
/// group's.
pub fn named(place: &mut Place, names: &mut Vec<String>) -> anyhow::Result<()> {
    for name in std::mem::take(names) {
        if !is_file(&name) {
            names.push(name);
            continue;
        }
        for task in tasks_of(place, Path::new(name.trim()))? {
            names.push(task.card().id.to_string());
            add(place, task, name.trim())?;
        }
    }
    Ok(())
}

/// The same for a command that is about one task.
fn one(place: &mut Place, name: &mut String) -> anyhow::Result<()> {
    let mut names = vec![std::mem::take(name)];
    named(place, &mut names)?;
    match names.as_slice() {
        [only] => name.clone_from(only),
        several => {
            return Err(UsageError::new(format!(
                "the file is a group of {} tasks, and one is needed\nhint: name the file of one of them",
                several.len()
            ))
            .into());
        }
    }
    Ok(())
}

/// The tasks of a file: one of Mary's own, of lm-evaluation-harness, or a dataset of Inspect's.
fn tasks_of(place: &Place, file: &Path) -> anyhow::Result<Vec<Arc<dyn Task>>> {
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    if is_dataset(file) {
        return Ok(vec![Arc::new(OwnTask::of_dataset(file)?)]);
    }
    if ending.eq_ignore_ascii_case("toml") {
        return Ok(vec![Arc::new(OwnTask::read(file)?)]);
    }
    let places = places(place);
    let mut tasks: Vec<Arc<dyn Task>> = Vec::new();
    let mut refused = Vec::new();
    let mut first = None;
    for config in mary_taskfile::lm_eval::read(file)? {
        match config {
            Ok(config) => tasks.push(Arc::new(HarnessTask::new(config, &places)?)),
            Err(error) => {
                refused.push(mary_taskfile::lm_eval::reason(&error));
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if tasks.is_empty() => return Err(error.into()),
        Some(error) => tell(&format!(
            "note: {} of the group's tasks are left out; the first: {error}",
            refused.len()
        )),
        None => {}
    }
    Ok(tasks)
}

/// Where datasets of the harness are looked for: the user's folder, and what was fetched.
pub fn places(place: &Place) -> Places {
    let fetched = [place.datasets()];
    Places(place.data.iter().cloned().chain(fetched).collect())
}

/// Adds a task; the same one named twice is one.
fn add(place: &mut Place, task: Arc<dyn Task>, file: &str) -> anyhow::Result<()> {
    let card = task.card();
    if let Some(there) = place.registry.task(&card.id)
        && there.card().content == card.content
    {
        return Ok(());
    }
    if let Some(family) = place.registry.family(&card.family) {
        return Err(UsageError::new(format!(
            "{file}: the task calls itself `{}`, and `{}` is a family of Mary's own\n\
             hint: give it a `name` of another family",
            card.id,
            family.id()
        ))
        .into());
    }
    place
        .registry
        .add_task(task)
        .map_err(|e| UsageError::new(format!("{file}: {e}")).into())
}

/// Reads the task files that stored runs were made with, from where their command lines say they
/// were. What is not there any more is told; the command itself says whether it can do without.
pub fn stored(place: &mut Place, runs: &[String], newest: bool) {
    let wanted: Vec<Option<&str>> = match runs {
        [] if newest => vec![None],
        runs => runs.iter().map(|r| Some(r.as_str())).collect(),
    };
    for run in wanted {
        // A run that cannot be found or read is told by the command itself.
        let Some(manifest) = rundir::find(place, run).ok().and_then(|p| manifest(&p)) else {
            continue;
        };
        for task in &manifest.tasks {
            if task.content.is_none() || place.registry.task(&task.id).is_some() {
                continue;
            }
            if let Some(instrument) = Stored::of(&manifest) {
                match instrument.task() {
                    Ok(own) if own.card().id == task.id => {
                        // Of another content, the registry will say that it has changed.
                        let _ = place.registry.add_task(own);
                    }
                    Ok(_) => {}
                    Err(error) => tell(&format!("note: {}: {error}", task.id)),
                }
                continue;
            }
            let mut trouble: Option<anyhow::Error> = None;
            for file in files(&manifest.command) {
                match tasks_of(place, &file) {
                    Ok(tasks) => {
                        for own in tasks.into_iter().filter(|t| t.card().id == task.id) {
                            // Of another content, the registry will say that it has changed.
                            let _ = add(place, own, &file.display().to_string());
                        }
                    }
                    Err(error) => trouble = Some(error),
                }
            }
            if let Some(error) = trouble.filter(|_| place.registry.task(&task.id).is_none()) {
                tell(&format!("note: {}: {error}", task.id));
            }
        }
    }
}

fn manifest(folder: &Path) -> Option<RunManifest> {
    let bytes = mary_platform::read_plain(&folder.join("manifest.json"), 1 << 30).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The task files that a command line names.
fn files(command: &[String]) -> Vec<PathBuf> {
    let parts = command.iter().flat_map(|word| {
        let value = match word.split_once('=') {
            Some((name, value)) if name.starts_with('-') => value,
            _ => word,
        };
        value.split(',')
    });
    parts.filter(|p| is_file(p)).map(PathBuf::from).collect()
}

/// What this process was asked to do. Not `std::env::args`, since an interpreter may stand before us there.
static WORDS: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the words of a command line, the program's name before them, for [`words`].
pub fn remember_words(words: &[OsString]) {
    let rest = words.iter().skip(1);
    let rest = rest.map(|w| w.to_string_lossy().into_owned()).collect();
    // A second command of one process is a function call with words of its own.
    let _ = WORDS.set(rest);
}

/// The words of this command line for a manifest, task files by their whole path, so that the run can
/// be continued from another folder.
pub fn words() -> Vec<String> {
    let words = WORDS.get().map_or(&[][..], Vec::as_slice);
    whole_paths(words)
}

/// The words of an instrument's command for a manifest, its file of texts by the whole path of where it
/// lies.
pub fn words_about(given: &Path, file: &Path) -> Vec<String> {
    let mut words = words();
    let whole = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let given = given.to_string_lossy();
    let places = || words.iter().enumerate().filter(|(_, w)| **w == *given);
    // The value of an option may be spelled like the file.
    let after_option = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        before.is_some_and(|w| w.starts_with("--") && !w.contains('='))
    };
    let plain = places().find(|(at, _)| !after_option(*at));
    let found = plain.or_else(|| places().next_back()).map(|(at, _)| at);
    if let Some(word) = found.and_then(|at| words.get_mut(at)) {
        *word = whole.display().to_string();
    }
    words
}

/// Task files among some words of a command by their whole path.
pub fn whole_paths(words: &[String]) -> Vec<String> {
    words.iter().map(|w| absolute(w)).collect()
}

fn absolute(word: &str) -> String {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) if name.starts_with('-') => (Some(name), value),
        _ => (None, word),
    };
    if !value.split(',').any(is_file) {
        return word.to_owned();
    }
    let whole = |part: &str| match std::fs::canonicalize(part.trim()) {
        Ok(path) if is_file(part) => path.display().to_string(),
        _ => part.to_owned(),
    };
    let value = value.split(',').map(whole).collect::<Vec<_>>().join(",");
    match name {
        Some(name) => format!("{name}={value}"),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_command_lines() {
        let command = [
            "run",
            "-t",
            "stats,./a.toml",
            "--tasks=/x/b.toml",
            "-m",
            "hf/c",
        ];
        let found = files(&command.map(String::from));
        assert_eq!(
            found,
            [PathBuf::from("./a.toml"), PathBuf::from("/x/b.toml")]
        );
        assert_eq!(absolute("letters/rhyme"), "letters/rhyme");
        assert_eq!(absolute("--tasks=absent.toml"), "--tasks=absent.toml");
    }
}
