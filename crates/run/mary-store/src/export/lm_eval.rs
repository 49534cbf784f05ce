//! What lm-evaluation-harness writes: aggregated results and one line per sample.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use mary_contract::{Outcome, Request, Response, Sample, Target, TaskRun};
use serde_json::{Map, Value, json};

use super::table::{answer, prompt};
use super::{Group, create, file_name_of_model, file_name_of_task, outcome, time_in_names};
use crate::fault::{Result, io_at};
use crate::{RunFolder, atomic};

pub(super) fn export(run: &RunFolder, groups: &[Group], into: &Path) -> Result<Vec<PathBuf>> {
    let time = time_in_names(run);
    let mut written = Vec::new();
    // Groups come sorted by model.
    for of_model in groups.chunk_by(|a, b| a.model == b.model) {
        let Some(first) = of_model.first() else {
            continue;
        };
        let folder = into.join(file_name_of_model(&first.model));
        fs::create_dir_all(&folder).map_err(io_at(&folder))?;
        let path = folder.join(format!("results_{time}.json"));
        atomic::write_json(&path, &results(run, &first.model, of_model))?;
        written.push(path);
        for group in of_model {
            let name = file_name_of_task(&group.task);
            let path = folder.join(format!("samples_{name}_{time}.jsonl"));
            write_samples(run, group, &path)?;
            written.push(path);
        }
    }
    Ok(written)
}

fn results(run: &RunFolder, model: &str, groups: &[Group]) -> Value {
    let manifest = run.manifest();
    let (mut results, mut configs, mut versions) = (Map::new(), Map::new(), Map::new());
    let (mut shots, mut counts, mut higher) = (Map::new(), Map::new(), Map::new());
    for group in groups {
        let name = file_name_of_task(&group.task);
        let mut row = Map::new();
        row.insert("alias".into(), group.task.clone().into());
        let measures = group.measures.iter().map(|(n, t)| (theirs(n), t));
        let mut better = Map::new();
        let score = (of_score(&group.measures), &group.score);
        for (metric, tally) in std::iter::once(score).chain(measures) {
            if let Some(mean) = tally.mean() {
                row.insert(format!("{metric},none"), mean.into());
                let error = tally.standard_error();
                let error = error.map_or_else(|| Value::from("N/A"), Value::from);
                row.insert(format!("{metric}_stderr,none"), error);
                better.insert(metric.into(), true.into());
            }
        }
        // Not part of the mean: said here rather than counted as wrong.
        row.insert(
            "unscored".into(),
            (group.offsets.len() - group.score.n - group.failed).into(),
        );
        row.insert("failed".into(), group.failed.into());
        let task = group.task_run(run);
        let few = task.and_then(|t| t.settings.shots).unwrap_or(0);
        configs.insert(
            name.clone(),
            json!({
                "task": name,
                "num_fewshot": few,
                "repeats": manifest.trials,
                "metadata": {
                    "version": task.map(|t| t.version),
                    "conventions": task.map(|t| t.conventions.clone()),
                    "source": task.and_then(TaskRun::item_source),
                    "dataset_hash": task.and_then(|t| t.dataset_hash.clone()),
                },
            }),
        );
        let n = group.offsets.len();
        results.insert(name.clone(), row.into());
        versions.insert(name.clone(), task.map_or(0, |t| t.version).into());
        shots.insert(name.clone(), few.into());
        counts.insert(name.clone(), json!({ "original": n, "effective": n }));
        higher.insert(name, better.into());
    }
    json!({
        "results": results,
        "group_subtasks": {},
        "configs": configs,
        "versions": versions,
        "n-shot": shots,
        "higher_is_better": higher,
        "n-samples": counts,
        "config": {
            "model": model,
            "model_args": manifest.model_settings.args,
            "batch_size": manifest.model_settings.batch_size,
            "random_seed": manifest.seed,
        },
        "git_hash": Value::Null,
        "date": manifest.created,
        "model_source": "mary",
        "model_name": model,
        "model_name_sanitized": file_name_of_model(model),
        "mary_version": manifest.version,
    })
}

/// What the harness calls a measure of ours.
fn theirs(measure: &str) -> &str {
    match measure {
        "by_sum" => "acc",
        "by_character" => "acc_norm",
        "by_byte" => "acc_bytes",
        own => own,
    }
}

/// What it calls the score: a task of options has a measure for each normalisation that is not the score's.
fn of_score<T>(measures: &BTreeMap<String, T>) -> &'static str {
    let has = |name| measures.contains_key(name);
    match (has("by_sum"), has("by_character"), has("by_byte")) {
        (false, ..) => "acc",
        (true, false, _) => "acc_norm",
        (true, true, false) => "acc_bytes",
        (true, true, true) => "score",
    }
}

fn write_samples(run: &RunFolder, group: &Group, path: &Path) -> Result<()> {
    let file = create(path)?;
    let mut out = BufWriter::new(file);
    for (n, sample) in group.samples(run)?.enumerate() {
        let line = line_of(n, &sample?);
        writeln!(out, "{line}").map_err(io_at(path))?;
    }
    out.flush().map_err(io_at(path))
}

fn line_of(n: usize, sample: &Sample) -> Value {
    let (doc, target) = doc(sample);
    let (arguments, resps) = exchanges(sample);
    let prompt = prompt(sample);
    let mut line = json!({
        "doc_id": n,
        "doc": doc,
        "target": target,
        "arguments": arguments,
        "resps": resps,
        "filtered_resps": [answer(sample)],
        "filter": "none",
        "metrics": [],
        "doc_hash": hash(&doc.to_string()),
        "prompt_hash": hash(&prompt),
        "target_hash": hash(&target),
    });
    if let Some(object) = line.as_object_mut() {
        let mut metrics = Vec::new();
        if let Outcome::Scored(score) = sample.judgement.outcome {
            metrics.push((of_score(&sample.judgement.measures), score));
        }
        let measures = sample.judgement.measures.iter();
        metrics.extend(measures.map(|(name, value)| (theirs(name), *value)));
        let names: Vec<_> = metrics.iter().map(|(name, _)| *name).collect();
        object.insert("metrics".into(), json!(names));
        for (name, value) in metrics {
            // A convention of ours must not hide a field of theirs.
            object
                .entry(name.to_owned())
                .or_insert_with(|| value.into());
        }
    }
    line
}

/// The item without its questions, and what would be right.
fn doc(sample: &Sample) -> (Value, String) {
    let mut doc = Map::new();
    doc.insert("id".into(), sample.id.item.clone().into());
    doc.insert("trial".into(), sample.id.trial.into());
    for (name, value) in &sample.item.tags {
        doc.insert(format!("tag_{name}"), value.clone().into());
    }
    let target = match &sample.item.target {
        Target::Choice {
            question,
            options,
            correct,
        } => {
            doc.insert("question".into(), question.clone().into());
            doc.insert("choices".into(), json!(options));
            correct.to_string()
        }
        Target::Pair { good, bad } => {
            doc.insert("sentence_good".into(), good.clone().into());
            doc.insert("sentence_bad".into(), bad.clone().into());
            "0".into()
        }
        Target::Text(text) => text.clone(),
        Target::Data(value) => value.to_string(),
    };
    doc.insert("outcome".into(), outcome(sample).into());
    (Value::Object(doc), target)
}

/// Arguments and raw responses in lm-evaluation-harness' way: everything inside is text.
fn exchanges(sample: &Sample) -> (Value, Value) {
    let mut arguments = Map::new();
    let mut resps = Vec::new();
    let mut ask = |a: String, b: Value| {
        let name = format!("gen_args_{}", arguments.len());
        arguments.insert(name, json!({ "arg_0": a, "arg_1": b }));
    };
    for exchange in &sample.exchanges {
        let reply = exchange.reply.as_ref().ok().map(|r| &r.answer);
        match (&exchange.ask.request, reply) {
            (Request::Generate(g), Some(Response::Generated(text))) => {
                let sampling = serde_json::to_value(&g.sampling).unwrap_or_default();
                ask(g.prompt.text(), sampling);
                resps.push(json!([text.text]));
            }
            (Request::Score(s), Some(Response::Scored(scores))) => {
                for (text, score) in s.continuations.iter().zip(&scores.continuations) {
                    ask(s.prefix.text(), text.clone().into());
                    // Whether the continuation is the greedy one is not known here, and not claimed.
                    resps.push(json!([[score.sum().to_string(), null]]));
                }
            }
            _ => {}
        }
    }
    (Value::Object(arguments), Value::Array(resps))
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
