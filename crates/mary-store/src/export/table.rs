//! One row for each sample, for R, pandas and spreadsheets.

use std::fs::File;
use std::path::{Path, PathBuf};

use mary_contract::{Outcome, Request, Response, Sample, StoreError};

use super::usage_of;
use crate::RunFolder;
use crate::fault::io_at;

const HEAD: [&str; 17] = [
    "model",
    "task",
    "item",
    "trial",
    "outcome",
    "score",
    "reason",
    "parsed",
    "target",
    "stratum",
    "cluster",
    "tags",
    "measures",
    "prompt",
    "answer",
    "prompt_tokens",
    "completion_tokens",
];

pub(super) fn export(run: &RunFolder, into: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let path = into.join(format!("{}.csv", run.manifest().id));
    let file = File::create(&path).map_err(io_at(&path))?;
    let mut out = csv::Writer::from_writer(std::io::BufWriter::new(file));
    let said = |e: csv::Error| StoreError::Io {
        path: path.clone(),
        source: e.into(),
    };
    out.write_record(HEAD).map_err(said)?;
    for sample in run.samples()? {
        out.write_record(row(&sample?)).map_err(said)?;
    }
    out.flush().map_err(io_at(&path))?;
    Ok(vec![path])
}

fn row(sample: &Sample) -> [String; 17] {
    let (outcome, score, reason) = match &sample.judgement.outcome {
        Outcome::Scored(score) => ("scored", score.to_string(), String::new()),
        Outcome::Unscored(reason) => ("unscored", String::new(), reason.name().to_owned()),
        Outcome::Failed(failure) => ("failed", String::new(), failure.message.clone()),
    };
    let json = |value: serde_json::Result<String>| value.unwrap_or_default();
    let usage = usage_of(sample);
    [
        sample.id.model.clone(),
        sample.id.task.clone(),
        sample.id.item.clone(),
        sample.id.trial.to_string(),
        outcome.to_owned(),
        score,
        reason,
        sample.judgement.parsed.clone().unwrap_or_default(),
        json(serde_json::to_string(&sample.item.target)),
        sample.item.stratum.clone(),
        sample.item.cluster.clone().unwrap_or_default(),
        json(serde_json::to_string(&sample.item.tags)),
        json(serde_json::to_string(&sample.judgement.measures)),
        prompt(sample),
        answer(sample),
        usage.prompt_tokens.to_string(),
        usage.completion_tokens.to_string(),
    ]
}

/// The words of the first question.
pub(super) fn prompt(sample: &Sample) -> String {
    match sample.exchanges.first().map(|e| &e.ask.request) {
        Some(Request::Generate(g)) => g.prompt.text(),
        Some(Request::Score(s)) => s.prefix.text(),
        Some(Request::Observe(o)) => o.text.clone(),
        None => String::new(),
    }
}

/// The words of the last answer; for scores, what the judge read from them.
pub(super) fn answer(sample: &Sample) -> String {
    let last = sample.exchanges.last().and_then(|e| e.reply.as_ref().ok());
    match last.map(|r| &r.answer) {
        Some(Response::Generated(g)) => g.text.clone(),
        _ => sample.judgement.parsed.clone().unwrap_or_default(),
    }
}
