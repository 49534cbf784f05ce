//! `mary import`: results that another tool made, and what the authors of a paper released, as run folders.

use std::path::{Path, PathBuf};

use clap::Args;
use mary_contract::{
    Capabilities, DataSource as _, ModelCard, ModelRef, ReleasedRun, RunManifest, TaskRun,
};
use mary_platform::counted;
use mary_store::{Foreign, ImportOptions, RunFolder, SCHEMA, keep, read_foreign};

use super::recognise::{Benchmarks, recognise};
use crate::command::Command;
use crate::commands::{print, tell};
use crate::exit::Status;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// lm-evaluation-harness samples (.jsonl), an Inspect log (.json, .eval), or what the authors of a
    /// paper released, where its family reads it: outputs (.tar.gz or folder), people's answers
    /// (folder), stored cosines (.csv)
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The model, where the file does not name it
    #[arg(long)]
    pub model: Option<String>,
    /// The task, where the file name does not hold it
    #[arg(long)]
    pub task: Option<String>,
    /// Which metric or scorer is the score [default: the first of the file]
    #[arg(long)]
    pub score: Option<String>,
}

impl Command for ImportArgs {
    const NAME: &str = "import";
    const ABOUT: &str = "Read results made by another tool into a run folder";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let options = ImportOptions {
            model: self.model.clone(),
            task: self.task.clone(),
            score: self.score.clone(),
        };
        // A benchmark of ours that another program keeps in parts is one run, as ours is.
        let mut parts: Vec<(PathBuf, Foreign)> = Vec::new();
        let mut benchmarks = Benchmarks::new(place);
        for file in &self.files {
            if let Some(runs) = released(place, file)? {
                for path in runs {
                    add_up(place, &path)?;
                    print(&format!("{}\n", path.display()))?;
                }
                continue;
            }
            let mut foreign = read_foreign(file, &options)?;
            let theirs = foreign.task.clone();
            let remark = recognise(&mut benchmarks, &mut foreign);
            tell!(
                "{}: {}",
                file.display(),
                counted(foreign.samples().count(), "sample")
            );
            if let Some(remark) = remark {
                tell!("{remark}");
            }
            let same = |part: &&mut (PathBuf, Foreign)| {
                foreign.task != theirs
                    && part.1.task == foreign.task
                    && part.1.model == foreign.model
            };
            match parts.iter_mut().find(same) {
                Some((_, whole)) => whole.join(foreign),
                None => parts.push((file.clone(), foreign)),
            }
        }
        for (file, foreign) in parts {
            let imported = keep(&file, foreign, &place.runs)?;
            add_up(place, &imported.path)?;
            for remark in &imported.remarks {
                tell!("{remark}");
            }
            print(&format!("{}\n", imported.path.display()))?;
        }
        Ok(Status::Done)
    }
}

/// A folder that came from elsewhere gets a summary of its own: complete, since nothing here could continue it.
fn add_up(place: &Place, path: &Path) -> anyhow::Result<()> {
    let mut folder = RunFolder::resume(path)?;
    let mut summary = mary_lab::summarise(&place.registry, &folder, 0)?;
    summary.complete = true;
    folder.write_summary(&summary)?;
    Ok(())
}

/// The run folders made of what the authors of a paper released, where a family can read it: each model a run of its own, judged by the same judge as any other.
fn released(place: &Place, file: &Path) -> anyhow::Result<Option<Vec<PathBuf>>> {
    let data = place.local_data();
    let families = place.registry.families().iter();
    let mut found = families.filter_map(|f| f.released_runs(file, &data).transpose());
    let Some(runs) = found.next().transpose()? else {
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
        made.push(folder.path().to_owned());
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
