//! One row for each sample, for R, pandas and spreadsheets: as comma-separated text, or with types as Parquet.

use std::path::{Path, PathBuf};

use mary_contract::{Response, Sample, StoreError};
use serde_json::Value;

use super::choice::{self, Choice};
use super::{create, usage_of};
use crate::RunFolder;
use crate::fault::{Result, io_at};
use crate::parquet::{GroupLimits, ParquetTable, cell_text, parquet_file};

/// The columns before the log-probabilities of the options, in the order of [`cells`]: name and type. Text is
/// `binary`.
const COLUMNS: &str = include_str!("columns.tsv");

/// Columns that came with Parquet; the text keeps the ones it always had.
const NOT_IN_TEXT: [&str; 4] = ["cached_tokens", "reasoning_tokens", "cost", "model_version"];

/// All columns of a run with so many options. What came later stands behind what was there.
fn columns(options: usize) -> impl Iterator<Item = (String, &'static str)> {
    let fixed = COLUMNS.lines().filter_map(|line| line.split_once('\t'));
    let fixed = fixed.map(|(name, form)| (name.to_owned(), form));
    let logprobs = (1..=options).map(|n| (format!("logprob_{n}"), "optional double"));
    let source = ("source".to_owned(), "optional binary");
    fixed.chain(logprobs).chain([source])
}

pub(super) fn export_csv(run: &RunFolder, into: &Path) -> Result<Vec<PathBuf>> {
    let path = into.join(format!("{}.csv", run.manifest().id));
    let file = create(&path)?;
    let mut out = csv::Writer::from_writer(std::io::BufWriter::new(file));
    let said = |e: csv::Error| StoreError::Io {
        path: path.clone(),
        source: e.into(),
    };
    let options = choice::columns(run)?;
    let names: Vec<String> = columns(options).map(|(name, _)| name).collect();
    let kept = |name: &&String| !NOT_IN_TEXT.contains(&name.as_str());
    out.write_record(names.iter().filter(kept)).map_err(said)?;
    for sample in run.samples()? {
        let cells = cells(&sample?, run, options);
        let cells = names.iter().zip(cells).filter(|(name, _)| kept(name));
        // Answers are somebody else's words: no spreadsheet is to execute them.
        let record = cells.map(|(_, cell)| cell_text(cell));
        out.write_record(record).map_err(said)?;
    }
    out.flush().map_err(io_at(&path))?;
    Ok(vec![path])
}

pub(super) fn export_parquet(run: &RunFolder, into: &Path) -> Result<Vec<PathBuf>> {
    let manifest = run.manifest();
    let path = into.join(format!("{}.parquet", manifest.id));
    let file = create(&path)?;
    let options = choice::columns(run)?;
    let fields = columns(options).map(|(name, form)| match form.ends_with("binary") {
        true => format!("{form} {name} (String);"),
        false => format!("{form} {name};"),
    });
    let fields: Vec<String> = fields.collect();
    let schema = format!("message samples {{ {} }}", fields.join(" "));
    let notes = [
        ("mary_run", &*manifest.id),
        ("mary_created", &manifest.created),
        ("mary_seed", &manifest.seed.to_string()),
    ];
    let created_by = Some(format!("mary {}", manifest.version));
    let at = io_at(&path);
    let limits = GroupLimits {
        rows: 50_000,
        bytes: 64 << 20,
    };
    let out = parquet_file(file, &schema, created_by, &notes).map_err(&at)?;
    let mut out = ParquetTable::new(out, limits);
    for sample in run.samples()? {
        let row = cells(&sample?, run, options);
        out.row(row).map_err(&at)?;
    }
    out.finish().map_err(at)?;
    Ok(vec![path])
}

/// A sample as one row; `target`, `tags` and `measures` are JSON.
fn cells(sample: &Sample, run: &RunFolder, options: usize) -> Vec<Value> {
    let outcome = &sample.judgement.outcome;
    let json = |value: serde_json::Result<String>| value.unwrap_or_default().into();
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX).into();
    let mut latest_first = sample.exchanges.iter().rev();
    let version = latest_first.find_map(|e| e.reply.as_ref().ok()?.meta.model_version.clone());
    let usage = usage_of(sample);
    let choice = Choice::from_sample(sample);
    let mut cells = vec![
        sample.id.model.as_str().into(),
        sample.id.task.as_str().into(),
        sample.id.item.as_str().into(),
        sample.id.trial.into(),
        outcome.name().into(),
        sample.judgement.score().into(),
        outcome.reason().into(),
        sample.judgement.parsed.clone().into(),
        json(serde_json::to_string(&sample.item.target)),
        sample.item.stratum.as_str().into(),
        sample.item.cluster.clone().into(),
        json(serde_json::to_string(&sample.item.tags)),
        json(serde_json::to_string(&sample.judgement.measures)),
        prompt(sample).into(),
        answer(sample).into(),
        count(usage.prompt_tokens),
        count(usage.cached_tokens),
        count(usage.completion_tokens),
        count(usage.reasoning_tokens),
        usage.cost.into(),
        version.into(),
        choice.options.into(),
        choice.right.into(),
        choice.right_text.into(),
        choice.chosen.into(),
        choice.chosen_text.into(),
        choice.logprob_right.into(),
        choice.logprob_other.into(),
        choice.margin.into(),
    ];
    let logprobs = &choice.logprobs;
    cells.extend((0..options).map(|at| Value::from(logprobs.get(at).copied())));
    // Where the items of the task came from: `fresh`, `published` or `file`.
    let task = run.manifest().task(&sample.id.task);
    let source = task.and_then(|task| task.item_source());
    cells.push(source.map(|source| source.name()).into());
    cells
}

pub(super) fn prompt(sample: &Sample) -> String {
    let first = sample.exchanges.first();
    first.map_or_else(String::new, |exchange| exchange.ask.request.text())
}

/// The words of the last answer; for scores, what the judge read from them.
pub(super) fn answer(sample: &Sample) -> String {
    let last = sample.exchanges.last().and_then(|e| e.reply.as_ref().ok());
    match last.map(|r| &r.answer) {
        Some(Response::Generated(g)) => g.text.clone(),
        _ => sample.judgement.parsed.clone().unwrap_or_default(),
    }
}
