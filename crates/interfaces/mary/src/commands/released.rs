//! `mary import` of what the authors of a paper released, where a family can read it: each model a run
//! of its own, judged by the same judge as any other.

use std::path::{Path, PathBuf};

use mary_contract::{
    Capabilities, DataSource as _, ModelCard, ModelRef, ReleasedRun, RunManifest, TaskRun,
};
use mary_store::{RunFolder, SCHEMA};

use crate::settings::Place;

/// The run folders made from a file or folder with how many samples each holds; nothing when it is
/// not one of the authors' files.
pub fn import(place: &Place, file: &Path) -> anyhow::Result<Option<Vec<(PathBuf, usize)>>> {
    let data = place.local_data();
    let mut found = None;
    for family in place.registry.families() {
        if let Some(runs) = family.released_runs(file, &data)? {
            found = Some(runs);
            break;
        }
    }
    let Some(runs) = found else {
        return Ok(None);
    };
    let mut made = Vec::new();
    for run in runs {
        let dataset = run.task.card().dataset.clone();
        let hash = dataset.and_then(|d| data.hash(&d).ok());
        let manifest = manifest(file, &run, hash)?;
        let mut folder = RunFolder::create_or_open(&place.runs, &manifest)?;
        // The same file imported again finds everything there.
        let there = folder.finished_ids()?;
        for sample in &run.samples {
            if there.state(&sample.id).is_none() {
                folder.append(sample)?;
            }
        }
        folder.flush()?;
        made.push((folder.path().to_owned(), run.samples.len()));
    }
    Ok(Some(made))
}

fn manifest(file: &Path, run: &ReleasedRun, hash: Option<String>) -> anyhow::Result<RunManifest> {
    let model: ModelRef = run.model.parse()?;
    let card = run.task.card();
    let mut who = ModelCard::new(model.clone(), Capabilities::default());
    who.remarks = vec![run.remark.to_string()];
    let task = card.id.rsplit('/').next().unwrap_or(&card.id);
    let language = run.settings.params.get("language");
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let name: String = model.name.chars().map(plain).collect();
    let id = match language {
        Some(language) => format!("{}-{task}-{language}-{name}", model.provider),
        None => format!("{}-{task}-{name}", model.provider),
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(RunManifest {
        schema: SCHEMA,
        id,
        created: jiff::Timestamp::now().to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
        command: vec!["mary".into(), "import".into(), name.into_owned()],
        models: vec![who],
        tasks: vec![TaskRun {
            conventions: run.conventions.clone(),
            dataset_hash: hash,
            ..TaskRun::of(&run.task, run.settings.clone())
        }],
        trials: run.trials,
        ..RunManifest::default()
    })
}
