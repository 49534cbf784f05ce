//! Tasks of one's own: files that arguments or stored runs name are read into the registry before a
//! command begins, so that every command finds them like built-in ones.

use std::path::Path;

use mary_contract::RunManifest;
use mary_lab::{TaskFiles, files_named, is_task_file};

use crate::commands::tell;
use crate::exit::UsageError;
use crate::rundir;
use crate::settings::Place;
use crate::stored::Stored;

/// Reads task files into the registry; what is to be known about them is told.
fn read<T>(place: &mut Place, what: impl FnOnce(&mut TaskFiles<'_>) -> T) -> T {
    let mut files = TaskFiles {
        registry: &mut place.registry,
        notes: Vec::new(),
    };
    let read = what(&mut files);
    for note in &files.notes {
        tell!("note: {note}");
    }
    read
}

/// Reads the task files that a study was made with.
pub fn of_study(place: &mut Place, study: &Path) -> anyhow::Result<()> {
    let Ok(study) = mary_study::Study::open(study) else {
        return Ok(()); // the command itself says that it is none
    };
    let keys = study.keys()?;
    if keys.tasks.iter().any(|task| task.content.is_some()) {
        for file in files_named(&keys.command) {
            read(place, |files| files.add_file(&file))?;
        }
    }
    Ok(())
}

/// A stored run knows its tasks; only where their files are can be said again.
pub fn only_files(names: &[String]) -> Result<(), UsageError> {
    match names.iter().find(|n| !is_task_file(n)) {
        None => Ok(()),
        Some(other) => Err(UsageError::new(format!(
            "`{other}` is not a task file; the run already names its tasks\n\
             hint: -t is for your own task whose file was moved"
        ))),
    }
}

/// Reads the files among these names of tasks; each is replaced by the id of its task.
pub fn named(place: &mut Place, names: &mut Vec<String>) -> anyhow::Result<()> {
    Ok(read(place, |files| files.take_in(names))?)
}

/// The same for a command that is about one task.
pub fn one(place: &mut Place, name: &mut String) -> anyhow::Result<()> {
    let mut names = vec![std::mem::take(name)];
    named(place, &mut names)?;
    *name = names.pop().unwrap_or_default();
    Ok(())
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
        // The checkpoints of a sweep were asked the same: its first run knows the files.
        let first = rundir::look_up(place, run)
            .ok()
            .and_then(|found| found.runs().into_iter().next());
        if let Some(manifest) = first.and_then(|p| manifest(&p)) {
            let made = |manifest: &RunManifest| Some(Stored::of(manifest)?.task());
            read(place, |files| files.recall(&manifest, made));
        }
    }
}

fn manifest(folder: &Path) -> Option<RunManifest> {
    let bytes = mary_platform::read_plain(&folder.join("manifest.json"), 1 << 30).ok()?;
    serde_json::from_slice(&bytes).ok()
}
