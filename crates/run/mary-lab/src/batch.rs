//! Batches of a run: which models use one, and where their state lies.
//!
//! As long as the folder `batch` is there the run goes on as a batch, whatever the next command says: what
//! was submitted is paid for and must not be sent again one by one.

use std::path::{Path, PathBuf};

use mary_contract::{ModelRef, ModelSettings, Service, Task, TaskSettings};

use crate::{Laboratory, RunError, RunSpec};

const FOLDER: &str = "batch";

/// Where the state of a run's batches lies, if it uses them.
pub fn folder(run: &Path, wanted: bool) -> Option<PathBuf> {
    let folder = run.join(FOLDER);
    (wanted || folder.is_dir()).then_some(folder)
}

/// A model's settings with the place of its batch state; unchanged where its provider has no batches.
pub fn settings(
    lab: &Laboratory,
    model: &ModelRef,
    settings: &ModelSettings,
    folder: &Path,
) -> ModelSettings {
    let mut settings = settings.clone();
    if has_batches(lab, model) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let name = model.to_string().replace(|c| !plain(c), "_");
        settings.batches = Some(folder.join(format!("{name}.json")));
    }
    settings
}

fn has_batches(lab: &Laboratory, model: &ModelRef) -> bool {
    lab.service(model).is_some_and(Service::has_batches)
}

/// Refuses batches before anything is asked where they cannot be.
pub fn check(
    lab: &Laboratory,
    spec: &RunSpec,
    tasks: &[(&dyn Task, TaskSettings)],
) -> Result<(), RunError> {
    if !spec.execution.batch {
        return Ok(());
    }
    if let Some(model) = spec.subjects.iter().find(|m| !has_batches(lab, m)) {
        let have = lab
            .all_providers()
            .filter(|p| p.service().is_some_and(Service::has_batches))
            .map(|p| format!("{}/", p.name()));
        return Err(RunError::Specification(format!(
            "--batch: `{model}` has no batch API\nhint: {} have one; leave --batch out for the others",
            have.collect::<Vec<_>>().join(" and ")
        )));
    }
    let scores = tasks.iter().find(|(task, settings)| {
        let needs = task.needs(settings);
        needs.score || needs.observe
    });
    match scores {
        None => Ok(()),
        Some((task, _)) => Err(RunError::Specification(format!(
            "--batch: batch APIs answer in words, and {} asks for log-probabilities or hidden states\nhint: choose a form that generates (`mary tasks show {}` lists the settings, often --set mode=generate), or leave --batch out",
            task.card().id,
            task.card().id
        ))),
    }
}
