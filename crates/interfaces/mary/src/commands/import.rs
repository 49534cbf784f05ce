//! `mary import`: results that another tool made, and what the authors of a paper released, as run folders.

use std::path::{Path, PathBuf};

use clap::Args;
use mary_platform::counted;
use mary_store::{Foreign, ImportOptions, RunFolder, keep, read_foreign};

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
            if let Some(runs) = super::released::import(place, file)? {
                for (path, samples) in runs {
                    add_up(place, &path, samples)?;
                    print(&format!("{}\n", path.display()))?;
                }
                continue;
            }
            let mut foreign = read_foreign(file, &options)?;
            let theirs = foreign.task().to_owned();
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
                tell!("{remark}");
            }
            print(&format!("{}\n", imported.path.display()))?;
        }
        Ok(Status::Done)
    }
}

/// A folder that came from elsewhere gets a summary of its own.
fn add_up(place: &Place, path: &Path, samples: usize) -> anyhow::Result<()> {
    let mut folder = RunFolder::resume(path)?;
    let summary = mary_lab::summarise(&place.registry, &folder, samples)?;
    folder.write_summary(&summary)?;
    Ok(())
}
