//! Runs in the forms that other tools read.
//!
//! One pass over the verdicts finds the models and tasks of a run and counts; then the samples of
//! each are written one after the other, so that memory does not grow with the run.

mod choice;
mod every_eval;
mod inspect;
mod lm_eval;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mary_contract::{Image, Outcome, Sample, StoreError, TaskRun, Usage};
use mary_platform::writable_place;

pub use every_eval::every_eval_records;

use crate::RunFolder;
use crate::fault::{Result, io_at};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// Inspect's log as one JSON file for each model and task.
    InspectJson,
    /// Inspect's `.eval` archive for each model and task.
    InspectEval,
    /// lm-evaluation-harness: `results_*.json` and `samples_*.jsonl` in a folder for each model.
    LmEval,
    /// One comma-separated table of all samples.
    Csv,
    Parquet,
    /// Every Eval Ever: one record of all scores for each model.
    EveryEvalEver,
}

/// Writes a run in another form into a folder, and says which files were written.
pub fn export(run: &RunFolder, form: ExportForm, into: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(into).map_err(io_at(into))?;
    // The usual place lies in the run folder, which may come from elsewhere.
    let leads_out = fs::symlink_metadata(into).is_ok_and(|found| found.is_symlink());
    if leads_out && into.starts_with(run.path()) {
        return Err(StoreError::Mismatch(format!(
            "{} is a link to another folder, and is not written through\nhint: name a folder with --out",
            into.display()
        )));
    }
    match form {
        ExportForm::Csv => table::export_csv(run, into),
        ExportForm::Parquet => table::export_parquet(run, into),
        ExportForm::EveryEvalEver => every_eval::export(run, into),
        ExportForm::LmEval => lm_eval::export(run, &groups(run)?, into),
        ExportForm::InspectJson => inspect::export(run, &groups(run)?, into, false),
        ExportForm::InspectEval => inspect::export(run, &groups(run)?, into, true),
    }
}

/// A file of an export, made anew; a link in its place is not written through.
fn create(path: &Path) -> Result<fs::File> {
    writable_place(path).map_err(io_at(path))?;
    fs::File::create(path).map_err(io_at(path))
}

/// One model on one task: where its samples are and what they come to.
#[derive(Default)]
struct Group {
    model: String,
    task: String,
    offsets: Vec<u64>,
    score: Tally,
    measures: BTreeMap<String, Tally>,
    failed: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    n: usize,
    mean: f64,
    squares: f64,
}

impl Tally {
    fn add(&mut self, x: f64) {
        self.n += 1;
        let before = x - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (x - self.mean);
    }

    fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// Standard deviation (with n - 1) over the root of n: what both peers call `stderr`. It
    /// knows nothing of clusters; Mary's own summary does.
    fn standard_error(&self) -> Option<f64> {
        let n = self.n as f64;
        (self.n > 1).then(|| (self.squares / (n - 1.0) / n).sqrt())
    }
}

fn groups(run: &RunFolder) -> Result<Vec<Group>> {
    let mut groups: BTreeMap<(String, String), Group> = BTreeMap::new();
    for verdict in run.verdicts()? {
        let verdict = verdict?;
        let key = (verdict.id.model, verdict.id.task);
        let group = groups.entry(key).or_default();
        group.offsets.push(verdict.offset);
        match verdict.judgement.outcome {
            Outcome::Scored(score) => group.score.add(score),
            Outcome::Unscored(_) => {}
            Outcome::Failed(_) => group.failed += 1,
        }
        for (name, value) in verdict.judgement.measures {
            group.measures.entry(name).or_default().add(value);
        }
    }
    if groups.is_empty() {
        return Err(StoreError::Mismatch(format!(
            "{} holds no samples, so there is nothing to export\nhint: run it first",
            run.path().display()
        )));
    }
    let named = |((model, task), group)| Group {
        model,
        task,
        ..group
    };
    Ok(groups.into_iter().map(named).collect())
}

impl Group {
    fn task_run<'a>(&self, run: &'a RunFolder) -> Option<&'a TaskRun> {
        run.manifest().tasks.iter().find(|t| t.id == self.task)
    }

    fn samples<'a>(&'a self, run: &RunFolder) -> Result<impl Iterator<Item = Result<Sample>> + 'a> {
        let mut seeker = run.seeker()?;
        Ok(self.offsets.iter().map(move |&at| seeker.sample(at)))
    }
}

fn usage_of(sample: &Sample) -> Usage {
    let mut total = Usage::default();
    for exchange in &sample.exchanges {
        if let Ok(reply) = &exchange.reply {
            total += reply.meta.usage;
        }
    }
    total
}

/// As lm-evaluation-harness makes a model's name fit a file.
fn file_name_of_model(name: &str) -> String {
    let mut out = String::new();
    let mut in_run = false;
    for c in name.chars() {
        let special = "\"<>:/|\\?*[]".contains(c) || c.is_control();
        if !special {
            out.push(c);
        } else if !in_run {
            out.push_str("__");
        }
        in_run = special;
    }
    // A name of dots alone would be a folder of its own kind.
    if out.chars().all(|c| c == '.') {
        out.insert(0, '_');
    }
    out
}

/// As lm-evaluation-harness makes a task's name fit a file.
fn file_name_of_task(name: &str) -> String {
    name.replace(|c: char| !c.is_alphanumeric(), "_")
}

fn time_in_names(run: &RunFolder) -> String {
    let created = &run.manifest().created;
    created.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-")
}

fn outcome(sample: &Sample) -> &str {
    match &sample.judgement.outcome {
        Outcome::Scored(_) => "scored",
        Outcome::Unscored(reason) => reason.name(),
        Outcome::Failed(_) => "failed",
    }
}

pub(crate) fn picture(image: &Image) -> String {
    // The contract writes the bytes of a picture as base64; borrow that form.
    let value = serde_json::to_value(image).unwrap_or_default();
    let data = value.get("data").and_then(|d| d.as_str());
    format!(
        "data:{};base64,{}",
        image.media_type,
        data.unwrap_or_default()
    )
}
