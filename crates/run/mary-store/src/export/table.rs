//! One row for each sample, for R, pandas and spreadsheets.

use std::path::{Path, PathBuf};

use mary_contract::{Outcome, Request, Response, Sample, StoreError, Usage};
use mary_platform::for_spreadsheet;

use super::choice::{self, Choice};
use super::{create, usage_of};
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
    let file = create(&path)?;
    let mut out = csv::Writer::from_writer(std::io::BufWriter::new(file));
    let said = |e: csv::Error| StoreError::Io {
        path: path.clone(),
        source: e.into(),
    };
    let columns = choice::columns(run)?;
    let head = HEAD.iter().chain(&choice::HEAD).map(|h| (*h).to_owned());
    let head = head.chain((1..=columns).map(|n| format!("logprob_{n}")));
    // What came later stands behind what was there.
    let head = head.chain(["source".to_owned()]);
    out.write_record(head).map_err(said)?;
    for sample in run.samples()? {
        let cells = Row::of(&sample?, run).cells(columns);
        // Answers are somebody else's words: no spreadsheet is to execute them.
        out.write_record(cells.iter().map(|c| for_spreadsheet(c).into_owned()))
            .map_err(said)?;
    }
    out.flush().map_err(io_at(&path))?;
    Ok(vec![path])
}

/// A sample as one row.
pub(super) struct Row {
    pub(super) model: String,
    pub(super) task: String,
    pub(super) item: String,
    pub(super) trial: u32,
    /// `scored`, `unscored` or `failed`.
    pub(super) outcome: &'static str,
    pub(super) score: Option<f64>,
    /// Why there is no score.
    pub(super) reason: Option<String>,
    pub(super) parsed: Option<String>,
    /// As JSON, as are `tags` and `measures`.
    pub(super) target: String,
    pub(super) stratum: String,
    pub(super) cluster: Option<String>,
    pub(super) tags: String,
    pub(super) measures: String,
    pub(super) prompt: String,
    pub(super) answer: String,
    pub(super) usage: Usage,
    /// Where the task's items came from: `fresh`, `published` or `file`.
    pub(super) source: Option<String>,
    pub(super) model_version: Option<String>,
    /// What was right, what was chosen, and by how much.
    pub(super) choice: Choice,
}

impl Row {
    pub(super) fn of(sample: &Sample, run: &RunFolder) -> Self {
        let (outcome, score, reason) = match &sample.judgement.outcome {
            Outcome::Scored(score) => ("scored", Some(*score), None),
            Outcome::Unscored(reason) => ("unscored", None, Some(reason.name().to_owned())),
            Outcome::Failed(failure) => ("failed", None, Some(failure.message.clone())),
        };
        let json = |value: serde_json::Result<String>| value.unwrap_or_default();
        let mut latest_first = sample.exchanges.iter().rev();
        let version = latest_first.find_map(|e| e.reply.as_ref().ok()?.meta.model_version.clone());
        Self {
            model: sample.id.model.clone(),
            task: sample.id.task.clone(),
            item: sample.id.item.clone(),
            trial: sample.id.trial,
            outcome,
            score,
            reason,
            parsed: sample.judgement.parsed.clone(),
            target: json(serde_json::to_string(&sample.item.target)),
            stratum: sample.item.stratum.clone(),
            cluster: sample.item.cluster.clone(),
            tags: json(serde_json::to_string(&sample.item.tags)),
            measures: json(serde_json::to_string(&sample.judgement.measures)),
            prompt: prompt(sample),
            answer: answer(sample),
            usage: usage_of(sample),
            source: source(run, &sample.id.task),
            model_version: version,
            choice: Choice::of(sample),
        }
    }

    fn cells(self, columns: usize) -> Vec<String> {
        let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
        let count = |n: Option<usize>| n.map(|n| n.to_string()).unwrap_or_default();
        let choice = self.choice;
        let logprobs = (0..columns).map(|at| number(choice.logprobs.get(at).copied()));
        let mut cells = vec![
            self.model,
            self.task,
            self.item,
            self.trial.to_string(),
            self.outcome.to_owned(),
            self.score.map(|s| s.to_string()).unwrap_or_default(),
            self.reason.unwrap_or_default(),
            self.parsed.unwrap_or_default(),
            self.target,
            self.stratum,
            self.cluster.unwrap_or_default(),
            self.tags,
            self.measures,
            self.prompt,
            self.answer,
            self.usage.prompt_tokens.to_string(),
            self.usage.completion_tokens.to_string(),
            count(choice.options),
            count(choice.right),
            choice.right_text.unwrap_or_default(),
            count(choice.chosen),
            choice.chosen_text.unwrap_or_default(),
            number(choice.logprob_right),
            number(choice.logprob_other),
            number(choice.margin),
        ];
        cells.extend(logprobs);
        cells.extend([self.source.unwrap_or_default()]);
        cells
    }
}

/// Where the items of a task came from, as far as the run says.
pub(super) fn source(run: &RunFolder, task: &str) -> Option<String> {
    let source = run.manifest().task(task)?.item_source()?;
    Some(source.name().to_owned())
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
