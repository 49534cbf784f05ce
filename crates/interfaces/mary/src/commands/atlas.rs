//! `mary atlas`: a static site from many runs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use mary_contract::{RunSummary, SummaryRow, TaskCard};
use mary_lab::engine::summarise::test_against_chance;
use mary_platform::counted;
use mary_report::atlas::{Atlas, slug};
use mary_report::html::{ReportOptions, shared_files};
use mary_store::{RunFolder, every_eval_records};

use super::chapters;
use crate::command::Command;
use crate::commands::{print, tell, write_file as write};
use crate::exit::{Status, usage_error};
use crate::settings::Place;
use crate::{own, rundir};

/// Samples that the report of a run carries here, and their bytes: a site has many reports.
const SAMPLES: usize = 150;
const SAMPLE_BYTES: usize = 200 << 10;

#[derive(Debug, Args)]
pub struct AtlasArgs {
    /// Folders or names of runs and sweeps, or folders that hold such [default: all runs in the output path]
    pub runs: Vec<String>,
    /// Folder of the site; what the command wrote there before is replaced
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// Make no reports of the runs: the site has tables and items only
    #[arg(long)]
    pub no_reports: bool,
}

impl Command for AtlasArgs {
    const NAME: &str = "atlas";
    const ABOUT: &str = "Make a static site of many runs: models by tasks, item by item";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        if self.runs.is_empty() {
            self.runs.push(place.runs.to_string_lossy().into_owned());
        }
        self.runs = self.runs.iter().flat_map(|name| within(name)).collect();
        own::stored(place, &self.runs, false);
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let mut paths = rundir::find_all(place, &self.runs)?;
        let mut folders: Vec<RunFolder> = paths
            .iter()
            .map(|path| RunFolder::open(path))
            .collect::<Result<_, _>>()?;
        let adaptive = |f: &RunFolder| f.manifest().execution.adaptive.is_some();
        for folder in folders.extract_if(.., |f| adaptive(f)) {
            tell!(
                "{}: left out, since an adaptive run asks each model other items",
                folder.path().display()
            );
            paths.retain(|path| path != folder.path());
        }
        let mut runs: Vec<RunSummary> = folders
            .iter()
            .map(|folder| mary_lab::load_summary(&place.registry, folder))
            .collect::<Result<_, _>>()?;
        correct_over_all(&mut runs);
        if runs.iter().all(|run| run.rows.is_empty()) {
            return usage_error("these runs hold no scores, so there is nothing to show");
        }
        let chapters = chapters::family_chapters(&place.registry, &runs)?;
        let tasks = place.registry.tasks().iter();
        let cards: Vec<TaskCard> = tasks.map(|task| task.card().clone()).collect();
        let mut atlas = Atlas::new(&runs, &cards, &chapters);
        for (n, folder) in folders.iter().enumerate() {
            for sample in folder.samples()? {
                atlas.add(n, &sample?);
            }
        }
        atlas.compare()?;
        let reports = match self.no_reports {
            true => Vec::new(),
            false => self.reports(place, &paths)?,
        };
        for (name, page) in atlas.pages(&reports) {
            write(&self.out.join(name), page.as_bytes())?;
        }
        for (name, text) in shared_files()? {
            write(&self.out.join(name), text.as_bytes())?;
        }
        let records: Vec<serde_json::Value> = runs.iter().flat_map(every_eval_records).collect();
        write(&self.out.join("data.json"), &serde_json::to_vec(&records)?)?;
        print(&format!("{}\n", self.out.join("index.html").display()))
    }
}

impl AtlasArgs {
    /// Writes the report of every run, and says where in the site they lie.
    fn reports(&self, place: &Place, paths: &[PathBuf]) -> anyhow::Result<Vec<String>> {
        let options = ReportOptions {
            max_samples: SAMPLES,
            max_sample_bytes: SAMPLE_BYTES,
            shared: Some("../"),
            ..ReportOptions::default()
        };
        let folder = self.out.join("reports");
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        tell!("making the reports of {} …", counted(paths.len(), "run"));
        let mut places = Vec::new();
        for (n, path) in paths.iter().enumerate() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let file = format!("reports/{:03}-{}.html", n + 1, slug(&name));
            let one = std::slice::from_ref(path);
            chapters::write_with(&place.registry, one, &[], &self.out.join(&file), &options)?;
            places.push(file);
        }
        Ok(places)
    }
}

/// What a name stands for: itself, or the runs and sweeps in a folder that is none of them, by name.
fn within(name: &str) -> Vec<String> {
    let folder = Path::new(name);
    let own = ["manifest.json", "sweep.json"].map(|file| folder.join(file).is_file());
    let mut held = rundir::all(folder);
    held.extend(rundir::sweeps(folder));
    held.sort();
    match own.contains(&true) || held.is_empty() {
        true => vec![name.to_owned()],
        false => held
            .iter()
            .map(|p| p.to_string_lossy().into_owned())
            .collect(),
    }
}

/// Corrects verdicts over everything that is shown of a model, not over the tasks of each run alone: a model that only
/// guesses would else get a mark in one of many runs.
fn correct_over_all(runs: &mut [RunSummary]) {
    let counts: Vec<usize> = runs.iter().map(|run| run.rows.len()).collect();
    let rows = runs
        .iter_mut()
        .flat_map(|run| std::mem::take(&mut run.rows));
    let mut all: Vec<SummaryRow> = rows.collect();
    test_against_chance(&mut all);
    let mut corrected = all.into_iter();
    for (run, count) in runs.iter_mut().zip(counts) {
        run.rows = corrected.by_ref().take(count).collect();
    }
}
