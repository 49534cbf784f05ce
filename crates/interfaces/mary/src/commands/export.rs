//! `mary export` and `mary import`: runs on their way from and to elsewhere.

use std::path::{Path, PathBuf};

use mary_store::{ExportForm, Foreign, ImportOptions, RunFolder, keep, read_foreign};

use crate::cli::{ExportArgs, ExportFormat, ImportArgs};
use crate::exit::Status;
use crate::rundir;
use crate::settings::Place;

/// Writes a run in another tool's format.
pub fn export(place: &Place, args: &ExportArgs) -> anyhow::Result<Status> {
    let folder = RunFolder::open(&rundir::find(place, args.run.as_deref())?)?;
    let form = match args.to {
        ExportFormat::Inspect => ExportForm::InspectJson,
        ExportFormat::Eval => ExportForm::InspectEval,
        ExportFormat::LmEval => ExportForm::LmEval,
        ExportFormat::Csv => ExportForm::Csv,
        ExportFormat::Parquet => ExportForm::Parquet,
    };
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| folder.path().join("export"));
    for file in mary_store::export(&folder, form, &out)? {
        super::print(&format!("{}\n", file.display()))?;
    }
    Ok(Status::Done)
}

/// Reads results made elsewhere into run folders.
pub fn import(place: &Place, args: &ImportArgs) -> anyhow::Result<Status> {
    let options = ImportOptions {
        model: args.model.clone(),
        task: args.task.clone(),
        score: args.score.clone(),
    };
    // A benchmark of ours that another program keeps in parts is one run, as ours is.
    let mut parts: Vec<(PathBuf, Foreign)> = Vec::new();
    for file in &args.files {
        if let Some(runs) = super::released::import(place, file)? {
            for (path, samples) in runs {
                add_up(place, &path, samples)?;
                super::print(&format!("{}\n", path.display()))?;
            }
            continue;
        }
        let mut foreign = read_foreign(file, &options)?;
        let theirs = foreign.task().to_owned();
        let remark = super::recognise::recognise(place, &mut foreign);
        super::tell(&format!(
            "{}: {}",
            file.display(),
            mary_platform::counted(foreign.samples().count(), "sample")
        ));
        if let Some(remark) = remark {
            super::tell(&remark);
        }
        let same = |part: &&mut (PathBuf, Foreign)| {
            foreign.task() != theirs
                && part.1.task() == foreign.task()
                && part.1.model() == foreign.model()
        };
        match parts.iter_mut().find(same) {
            Some((_, whole)) => whole.join(foreign),
            None => parts.push((file.clone(), foreign)),
        }
    }
    for (file, foreign) in parts {
        let imported = keep(&file, foreign, &place.runs)?;
        add_up(place, &imported.path, imported.samples)?;
        for remark in &imported.remarks {
            super::tell(remark);
        }
        super::print(&format!("{}\n", imported.path.display()))?;
    }
    Ok(Status::Done)
}

/// A folder that came from elsewhere gets a summary of its own.
fn add_up(place: &Place, path: &Path, samples: usize) -> anyhow::Result<()> {
    let mut folder = RunFolder::resume(path)?;
    let summary = mary_lab::summarise(&place.registry, &folder, samples)?;
    folder.write_summary(&summary)?;
    Ok(())
}
