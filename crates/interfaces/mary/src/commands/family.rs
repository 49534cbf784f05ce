//! `mary FAMILY ACTION`: what a family does beyond its tasks, and how its errors reach a person.

use anyhow::Context;
use clap::ArgMatches;
use mary_contract::{Family, FamilyError, Sample, TaskError};
use mary_store::RunFolder;

use super::summary;
use crate::cli::family::{run_named, typed};
use crate::commands::print;
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;
use crate::{matching, rundir};

/// Does what a family's command was asked for: prints its tables, writes its files.
pub fn family(place: &Place, family: &dyn Family, matches: &ArgMatches) -> anyhow::Result<Status> {
    let named = matches.subcommand();
    let command = family.command();
    let found = named
        .zip(command.as_ref())
        .and_then(|((name, matches), own)| {
            let action = own.actions.iter().find(|a| a.name == name)?;
            Some((action, matches))
        });
    let Some((action, matches)) = found else {
        return usage_error(format!("{} has no such command", family.id()));
    };
    let samples = match &action.samples_of {
        Some(pattern) => stored(place, run_named(action, matches).as_deref(), pattern)?,
        None => vec![],
    };
    let mut made = family
        .act(&action.name, &typed(action, matches), samples)
        .map_err(told)?;
    if let Some((path, form)) = &made.form {
        let sheet = mary_study::forms::spreadsheet(form)?;
        made.files.push((path.clone(), sheet));
    }
    made.tables.iter().try_for_each(summary::show_table)?;
    for (path, bytes) in &made.files {
        // A folder for several files; one in a folder that is not there is a mistyped name.
        if let Some(folder) = path
            .parent()
            .filter(|f| !f.as_os_str().is_empty() && !f.exists())
        {
            let _ = std::fs::create_dir(folder);
        }
        std::fs::write(path, bytes).with_context(|| path.display().to_string())?;
        print(&format!("{}\n", path.display()))?;
    }
    Ok(Status::Done)
}

fn stored(place: &Place, run: Option<&str>, pattern: &str) -> anyhow::Result<Vec<Sample>> {
    let folder = RunFolder::open(&rundir::find(place, run)?)?;
    let tasks = folder.manifest().tasks.iter().map(|t| t.id.as_str());
    let mut found = Vec::new();
    for task in tasks.filter(|task| reads(pattern, task)) {
        found.extend(samples(&folder, task)?);
    }
    if found.is_empty() {
        return usage_error(format!(
            "{} holds no samples of {pattern}\nhint: run `mary run --tasks {pattern}` first",
            folder.path().display()
        ));
    }
    Ok(found)
}

/// Whether an action reads the samples of a task: its own, or any of its family.
pub fn reads(pattern: &str, task: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(family) => task.starts_with(family),
        None => task == pattern,
    }
}

pub fn samples(folder: &RunFolder, task: &str) -> anyhow::Result<Vec<Sample>> {
    let mut found = Vec::new();
    for sample in folder.samples()? {
        let sample = sample?;
        if sample.id.task == task {
            found.push(sample);
        }
    }
    Ok(found)
}

/// A family's error with the exit code it deserves, and the nearest name where one was mistyped.
pub fn told(error: FamilyError) -> anyhow::Error {
    match error {
        FamilyError::Unknown {
            ref name,
            ref known,
            list,
            ..
        } => {
            let hint = matching::suggestion(name, known.iter().map(String::as_str), list);
            UsageError::new(format!("{error}\n{hint}")).into()
        }
        FamilyError::Usage(message) | FamilyError::Task(TaskError::Setting(message)) => {
            UsageError::new(message).into()
        }
        FamilyError::Task(TaskError::Data(error)) => error.into(),
        FamilyError::Task(error) => error.into(),
    }
}
