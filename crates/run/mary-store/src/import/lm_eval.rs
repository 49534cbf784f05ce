//! `samples_*.jsonl` of lm-evaluation-harness.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use mary_contract::{
    ContinuationScore, Exchange, Finish, Item, Judgement, Prompt, Reply, Request, Response, Sample,
    SampleId, Score, Scored, Start, StoreError, Target, UnscoredReason,
};
use mary_platform::open_plain;
use serde_json::{Map, Value};

use super::bounded::LARGEST_RECORD;
use super::lenient::{id, number, parse, shown};
use super::{Foreign, ImportOptions, Room, exchange, generated, model_name};
use crate::fault::{Result, corrupt, io_at};

const HINT: &str = "write the samples again with `lm_eval --log_samples`, or remove the line from a copy of the file";

pub(super) fn read(path: &Path, options: &ImportOptions) -> Result<Foreign> {
    let model = model_name(&options.model.clone().unwrap_or_else(|| model_of(path)));
    let (task, created) = names_of(path);
    let task = options.task.clone().unwrap_or(task);
    let mut reader = Lines {
        path,
        options,
        model: &model,
        task: &task,
        filter: None,
        metric: options.score.clone(),
        other_filters: 0,
        room: Room::for_file(path),
    };
    let file = open_plain(path).map_err(io_at(path))?;
    let mut samples = Vec::new();
    let mut buffer = BufReader::with_capacity(1 << 20, file);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let mut line = buffer.by_ref().take(LARGEST_RECORD + 1);
        let length = line.read_until(b'\n', &mut bytes).map_err(io_at(path))?;
        if length == 0 {
            break;
        }
        if length as u64 > LARGEST_RECORD {
            let most = LARGEST_RECORD >> 20;
            return Err(reader.wrong(number, format!("the line is longer than {most} MiB")));
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        if let Some(sample) = reader.line(number, &bytes)? {
            samples.push((number, sample));
        }
    }
    let mut remarks = Vec::new();
    if let (Some(metric), None) = (&reader.metric, &options.score) {
        remarks.push(format!(
            "the score is `{metric}`, the first metric of the file"
        ));
    }
    if let (Some(filter), 1..) = (&reader.filter, reader.other_filters) {
        remarks.push(format!(
            "{} lines of other filters than `{filter}` were left out",
            reader.other_filters
        ));
    }
    Ok(Foreign {
        tool: "lm-evaluation-harness",
        task_version: 0,
        created,
        trials: 1,
        samples,
        remarks,
        model,
        task,
    })
}

/// The harness puts the files of a model into a folder with its name.
fn model_of(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name);
    folder.map_or_else(
        || "unknown".into(),
        |name| name.to_string_lossy().replacen("__", "/", 1),
    )
}

/// Task and time from `samples_TASK_TIME.jsonl`.
fn names_of(path: &Path) -> (String, String) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let inner = stem.strip_prefix("samples_").unwrap_or(&stem);
    match inner.rsplit_once('_') {
        Some((task, time)) if time.starts_with(|c: char| c.is_ascii_digit()) => {
            (task.to_owned(), time.to_owned())
        }
        _ => (inner.to_owned(), String::new()),
    }
}

struct Lines<'a> {
    path: &'a Path,
    options: &'a ImportOptions,
    model: &'a str,
    task: &'a str,
    filter: Option<String>,
    metric: Option<String>,
    other_filters: usize,
    room: Room<'a>,
}

impl Lines<'_> {
    fn wrong(&self, number: usize, message: impl Into<String>) -> StoreError {
        corrupt(self.path, number, message, HINT)
    }

    fn line(&mut self, number_of_line: usize, bytes: &[u8]) -> Result<Option<Sample>> {
        if let Err(e) = std::str::from_utf8(bytes) {
            let at = e.valid_up_to() + 1;
            return Err(self.wrong(number_of_line, format!("byte {at} is not UTF-8")));
        }
        let (value, size) = parse(bytes)
            .map_err(|e| self.wrong(number_of_line, format!("expected JSON, found: {e}")))?;
        let Some(line) = value.as_object() else {
            let found = shown(Some(&value));
            return Err(self.wrong(number_of_line, format!("expected an object, found {found}")));
        };
        let filter = line.get("filter").and_then(Value::as_str).unwrap_or("none");
        let chosen = self.filter.get_or_insert_with(|| filter.to_owned());
        if chosen.as_str() != filter {
            self.other_filters += 1;
            return Ok(None);
        }
        let item = line.get("doc_id").and_then(id).ok_or_else(|| {
            let found = shown(line.get("doc_id"));
            self.wrong(
                number_of_line,
                format!("field `doc_id`: expected a number or text, found {found}"),
            )
        })?;
        self.room.take(size)?;
        let judgement = self.judge(number_of_line, line)?;
        let target = line.get("target").map_or_else(String::new, plain);
        let mut whole = Item::new(item.clone(), Target::Text(target), vec![]);
        if let Some(doc) = line.get("doc") {
            whole.target = Target::Data(serde_json::json!({
                "target": line.get("target"),
                "doc": doc,
            }));
        }
        Ok(Some(Sample {
            id: SampleId::new(self.model, self.task, item, 0),
            item: whole,
            exchanges: exchanges(line),
            judgement,
        }))
    }

    fn judge(&mut self, n: usize, line: &Map<String, Value>) -> Result<Judgement> {
        let named: Vec<&str> = line
            .get("metrics")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        if self.metric.is_none() {
            // Older versions do not list them.
            let known = ["acc", "exact_match", "em", "f1", "acc_norm"];
            let found = known.into_iter().find(|m| line.contains_key(*m));
            self.metric = named.first().copied().or(found).map(str::to_owned);
        }
        let Some(metric) = self.metric.clone() else {
            if line.get("metrics").is_some_and(Value::is_array) {
                // It says itself that it has none: an item without a score.
                return Ok(Judgement::unscored(UnscoredReason::Unparsed));
            }
            return Err(corrupt(
                self.path,
                n,
                "expected a metric, found neither a list `metrics` nor one of the usual names",
                "name the field that holds the score with --score",
            ));
        };
        let read_as = line.get("filtered_resps").map(plain);
        let mut judgement = match line.get(&metric) {
            None if self.options.score.is_some() || named.contains(&metric.as_str()) => {
                return Err(self.wrong(n, format!("field `{metric}` (the score) is missing")));
            }
            // Our own export leaves the metric out where there is no score.
            None | Some(Value::Null) => Judgement::unscored(UnscoredReason::Unparsed),
            Some(value) => Judgement::scored(number(value).ok_or_else(|| {
                let found = shown(Some(value));
                self.wrong(
                    n,
                    format!("field `{metric}`: expected a number, found {found}"),
                )
            })?),
        };
        judgement.parsed = read_as;
        for name in named.into_iter().filter(|m| *m != metric) {
            if let Some(value) = line.get(name).and_then(number) {
                judgement.measures.insert(name.to_owned(), value);
            }
        }
        Ok(judgement)
    }
}

/// Text as it is; a list of one as what it holds; anything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => match list.as_slice() {
            [one] => plain(one),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

/// Questions and answers, as far as their form is known; an unknown form gives none.
fn exchanges(line: &Map<String, Value>) -> Vec<Exchange> {
    let arguments: Vec<(String, Value)> = match line.get("arguments") {
        Some(Value::Object(map)) => map
            .values()
            .filter_map(|a| {
                Some((
                    a.get("arg_0")?.as_str()?.to_owned(),
                    a.get("arg_1")?.clone(),
                ))
            })
            .collect(),
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(|a| Some((a.get(0)?.as_str()?.to_owned(), a.get(1)?.clone())))
            .collect(),
        _ => return Vec::new(),
    };
    let none = Vec::new();
    let resps = line.get("resps").and_then(Value::as_array).unwrap_or(&none);
    let first = |resp: &Value| resp.get(0).cloned().unwrap_or_default();
    let pairs = arguments.iter().zip(resps.iter().map(first));
    let mut found = Vec::new();
    // Continuations of one prefix are one question of ours.
    let mut scored: Vec<(String, Vec<(String, f32)>)> = Vec::new();
    for ((prompt, second), resp) in pairs {
        match (second, &resp) {
            (Value::String(text), Value::Array(pair)) => {
                let Some(sum) = pair.first().and_then(number) else {
                    continue;
                };
                let entry = (text.clone(), sum as f32);
                match scored.last_mut() {
                    Some((prefix, list)) if prefix == prompt => list.push(entry),
                    _ => scored.push((prompt.clone(), vec![entry])),
                }
            }
            (_, Value::String(text)) => {
                found.extend(generated(Prompt::plain(prompt), text.clone(), Finish::Stop));
            }
            _ => {}
        }
    }
    found.extend(scored.into_iter().filter_map(|(prefix, list)| {
        let (texts, sums): (Vec<String>, Vec<f32>) = list.into_iter().unzip();
        let request = Request::Score(Score::new(
            Prompt::plain(prefix),
            texts.clone(),
            Start::Always,
        ));
        // The harness keeps one sum per continuation, not the tokens: one entry stands for all.
        let each = texts
            .into_iter()
            .zip(sums)
            .map(|(text, sum)| ContinuationScore {
                tokens: vec![text],
                logprobs: vec![sum],
                ..ContinuationScore::default()
            });
        exchange(
            request,
            Reply::bare(Response::Scored(Scored {
                continuations: each.collect(),
            })),
        )
    }));
    found
}
