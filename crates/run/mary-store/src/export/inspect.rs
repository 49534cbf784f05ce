//! Inspect's log: a JSON file, or a zip archive with one member per sample.
//!
//! What Inspect has no field for (conventions, measures, log-probabilities) goes into its
//! `metadata`. An item without a score gets none: Inspect's NaN is not used.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use mary_contract::{
    Exchange, Finish, ModelRole, Outcome, Part, Prompt, Request, Response, Sample, Speaker, Target,
    TaskRun, Usage,
};
use serde_json::{Map, Value, json};
use zip::write::SimpleFileOptions;

use super::choice::letter;
use super::table::{answer, prompt};
use super::{Group, create, file_name_of_task, outcome, picture, time_in_names, usage_of};
use crate::RunFolder;
use crate::fault::{Result, io_at};

pub(super) fn export(
    run: &RunFolder,
    groups: &[Group],
    into: &Path,
    archive: bool,
) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for group in groups {
        let extension = if archive { "eval" } else { "json" };
        // Inspect takes a log's name apart at its underscores: time, task, id.
        let part = |text: &str| file_name_of_task(text).replace('_', "-");
        let path = into.join(format!(
            "{}_{}_{}.{extension}",
            time_in_names(run),
            part(&group.task),
            part(&group.model)
        ));
        let file = create(&path)?;
        if archive {
            write_archive(run, group, file, &path)?;
        } else {
            write_json(run, group, BufWriter::new(file), &path)?;
        }
        written.push(path);
    }
    Ok(written)
}

fn header(run: &RunFolder, group: &Group) -> Value {
    let manifest = run.manifest();
    let id = |part: &str| {
        let text = format!("{}|{}|{}|{part}", manifest.id, group.model, group.task);
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        hash.get(..22).unwrap_or(&hash).to_owned()
    };
    let task = group.task_run(run);
    let card = manifest
        .models
        .iter()
        .find(|m| m.model.to_string() == group.model);
    json!({
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": id("eval"),
            "run_id": manifest.id,
            "created": manifest.created,
            "task": group.task,
            "task_id": id("task"),
            "task_version": task.map_or(0, |t| t.version),
            "task_args": task.map_or_else(|| json!({}), |t| json!(t.settings.params)),
            "dataset": { "name": group.task, "samples": group.offsets.len() / epochs(run) },
            "model": group.model,
            "model_generate_config": {},
            "model_args": manifest.model_settings.args,
            "config": { "epochs": manifest.trials },
            "packages": { "mary": manifest.version },
            "metadata": {
                "mary_run": manifest.id,
                "seed": manifest.seed,
                "fingerprint": card.map(|c| c.fingerprint.clone()),
                "model_conventions": card.map(|c| c.conventions.clone()),
                "conventions": task.map(|t| t.conventions.clone()),
                "source": task.and_then(TaskRun::item_source),
                "dataset_hash": task.and_then(|t| t.dataset_hash.clone()),
            },
        },
        "plan": { "name": "plan", "steps": [], "config": {} },
        "results": results(group),
        "stats": { "started_at": manifest.created, "completed_at": manifest.created, "model_usage": {} },
    })
}

fn epochs(run: &RunFolder) -> usize {
    usize::try_from(run.manifest().trials.max(1)).unwrap_or(1)
}

fn results(group: &Group) -> Value {
    let metric = |name: &str, value: f64| json!({ "name": name, "value": value, "params": {} });
    let mut scores = Vec::new();
    let conventions = group.measures.iter().map(|(n, t)| (n.as_str(), t));
    for (name, tally) in std::iter::once(("score", &group.score)).chain(conventions) {
        let known = [("mean", tally.mean()), ("stderr", tally.standard_error())].into_iter();
        let known = known.filter_map(|(name, value)| Some((name, metric(name, value?))));
        let metrics: BTreeMap<&str, Value> = known.collect();
        scores.push(json!({
            "name": name,
            "scorer": "mary",
            "scored_samples": tally.n,
            "unscored_samples": group.offsets.len() - tally.n,
            "params": {},
            "metrics": metrics,
        }));
    }
    json!({
        "total_samples": group.offsets.len(),
        "completed_samples": group.offsets.len() - group.failed,
        "scores": scores,
    })
}

fn write_json(run: &RunFolder, group: &Group, mut out: impl Write, path: &Path) -> Result<()> {
    let at = io_at(path);
    let head = header(run, group).to_string();
    // The header is an object; the samples are written into it before its last brace.
    let open = head.strip_suffix('}').unwrap_or(&head);
    write!(out, "{open},\"samples\":[").map_err(&at)?;
    for (n, sample) in group.samples(run)?.enumerate() {
        let comma = if n == 0 { "" } else { "," };
        write!(out, "{comma}{}", sample_of(&sample?)).map_err(&at)?;
    }
    writeln!(out, "]}}").and_then(|()| out.flush()).map_err(&at)
}

fn write_archive(run: &RunFolder, group: &Group, file: File, path: &Path) -> Result<()> {
    let at = io_at(path);
    let mut zip = zip::ZipWriter::new(BufWriter::new(file));
    // Many samples make a large central directory, and one member may pass 4 GiB.
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .large_file(true);
    let mut member = |name: &str, value: &Value| -> Result<()> {
        zip.start_file(name, options)
            .map_err(std::io::Error::from)
            .and_then(|()| zip.write_all(value.to_string().as_bytes()))
            .map_err(&at)
    };
    let head = header(run, group);
    let start = json!({ "version": 2, "eval": head.get("eval"), "plan": head.get("plan") });
    member("_journal/start.json", &start)?;
    let mut summaries = Vec::new();
    for sample in group.samples(run)? {
        let sample = sample?;
        let written = sample_of(&sample);
        let name = format!(
            "samples/{}_epoch_{}.json",
            sample.id.item,
            sample.id.trial + 1
        );
        member(&name, &written)?;
        summaries.push(summary_of(&sample, &written));
    }
    member("summaries.json", &Value::Array(summaries))?;
    member("header.json", &head)?;
    zip.finish()
        .map_err(std::io::Error::from)
        .and_then(|mut out| out.flush())
        .map_err(&at)
}

fn summary_of(sample: &Sample, written: &Value) -> Value {
    let mut summary = Map::new();
    for field in ["id", "epoch", "target", "choices", "scores", "model_usage"] {
        if let Some(value) = written.get(field) {
            summary.insert(field.into(), value.clone());
        }
    }
    let input: String = prompt(sample).chars().take(1_000).collect();
    summary.insert("input".into(), input.into());
    summary.insert("metadata".into(), json!(sample.item.tags));
    if let Outcome::Failed(failure) = &sample.judgement.outcome {
        summary.insert("error".into(), failure.message.clone().into());
    }
    summary.insert("completed".into(), true.into());
    Value::Object(summary)
}

fn sample_of(sample: &Sample) -> Value {
    let usage = usage_of(sample);
    let (choices, target) = target_of(&sample.item.target);
    let mut out = json!({
        "id": sample.id.item,
        "epoch": sample.id.trial + 1,
        "input": prompt(sample),
        "target": target,
        "messages": messages(sample),
        "output": output(sample, &usage),
        "scores": scores(sample),
        "metadata": metadata(sample),
        "store": {},
        "events": [],
        "model_usage": { sample.id.model.clone(): usage_json(&usage) },
        "attachments": {},
    });
    if let (Some(object), Some(choices)) = (out.as_object_mut(), choices) {
        object.insert("choices".into(), json!(choices));
    }
    if let (Some(object), Outcome::Failed(failure)) =
        (out.as_object_mut(), &sample.judgement.outcome)
    {
        let error = json!({ "message": failure.message, "traceback": "", "traceback_ansi": "" });
        object.insert("error".into(), error);
    }
    out
}

fn target_of(target: &Target) -> (Option<Vec<String>>, String) {
    match target {
        Target::Choice {
            options, correct, ..
        } => {
            let called = letter(*correct).unwrap_or_else(|| correct.to_string());
            (Some(options.clone()), called)
        }
        Target::Pair { good, bad } => (Some(vec![good.clone(), bad.clone()]), "A".into()),
        Target::Text(text) => (None, text.clone()),
        Target::Data(value) => (None, value.to_string()),
    }
}

fn scores(sample: &Sample) -> Value {
    let mut scores = Map::new();
    if let Outcome::Scored(score) = sample.judgement.outcome {
        scores.insert(
            "score".into(),
            json!({
                "value": score,
                "answer": sample.judgement.parsed,
                "metadata": sample.judgement.notes.as_object(),
            }),
        );
    }
    for (name, value) in &sample.judgement.measures {
        scores.insert(name.clone(), json!({ "value": value }));
    }
    Value::Object(scores)
}

fn metadata(sample: &Sample) -> Value {
    let scored: Vec<Value> = sample
        .exchanges
        .iter()
        .filter_map(log_probabilities)
        .collect();
    json!({
        "tags": sample.item.tags,
        "stratum": sample.item.stratum,
        "cluster": sample.item.cluster,
        "outcome": outcome(sample),
        "log_probabilities": scored,
    })
}

/// What a scoring request came to, one entry per continuation.
fn log_probabilities(exchange: &Exchange) -> Option<Value> {
    let Request::Score(asked) = &exchange.ask.request else {
        return None;
    };
    let scored = exchange.reply.as_ref().ok()?.answer.as_scored()?;
    let each = asked.continuations.iter().zip(&scored.continuations);
    Some(
        each.map(|(text, s)| json!({ "text": text, "sum": s.sum(), "tokens": s.logprobs.len() }))
            .collect(),
    )
}

fn messages(sample: &Sample) -> Value {
    let mut messages = Vec::new();
    for exchange in &sample.exchanges {
        if exchange.ask.role == ModelRole::Judge {
            continue;
        }
        match &exchange.ask.request {
            Request::Generate(g) => said(&g.prompt, &mut messages),
            Request::Score(s) => said(&s.prefix, &mut messages),
            Request::Observe(o) => messages.push(json!({ "role": "user", "content": o.text })),
        }
        if let Ok(Response::Generated(g)) = exchange.reply.as_ref().map(|r| &r.answer) {
            messages.push(json!({ "role": "assistant", "content": g.text, "source": "generate" }));
        }
    }
    Value::Array(messages)
}

fn said(prompt: &Prompt, messages: &mut Vec<Value>) {
    if let Some(system) = &prompt.system {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for turn in &prompt.turns {
        let parts: Vec<Value> = turn
            .parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => json!({ "type": "text", "text": text }),
                Part::Image(image) => json!({ "type": "image", "image": picture(image) }),
            })
            .collect();
        let role = match turn.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        messages.push(json!({ "role": role, "content": parts }));
    }
}

fn output(sample: &Sample, usage: &Usage) -> Value {
    let last = sample.exchanges.iter().rev().find_map(|e| {
        let reply = e.reply.as_ref().ok()?;
        reply.answer.as_generated()
    });
    let stop = match last.map(|g| &g.finish) {
        Some(Finish::Stop) | None => "stop",
        Some(Finish::Length) => "max_tokens",
        Some(Finish::Refusal | Finish::ContentFilter) => "content_filter",
        Some(Finish::Other(_)) => "unknown",
    };
    let text = answer(sample);
    json!({
        "model": sample.id.model,
        "choices": [{
            "message": { "role": "assistant", "content": text, "source": "generate" },
            "stop_reason": stop,
        }],
        "completion": text,
        "usage": usage_json(usage),
    })
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "input_tokens_cache_read": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_cost": usage.cost,
    })
}
