//! What makes two runs the same run: the part of a manifest that decides the answers.

use std::collections::BTreeMap;

use mary_contract::{
    Adaptive, JudgeChoice, Limit, ModelCard, ModelSettings, RunManifest, StoreError, TaskRun,
    TaskSettings,
};
use serde::Serialize;
use serde_json::Value;

use crate::fault::Result;

pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Essence<'a> {
    schema: u32,
    models: Vec<Who<'a>>,
    model_settings: How<'a>,
    judge: Option<Who<'a>>,
    /// Left out where another model judges, so that runs from before this was kept go by their old
    /// names.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    subject_judges: bool,
    tasks: Vec<What<'a>>,
    trials: u32,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    adaptive: Option<&'a Adaptive>,
}

#[derive(Serialize)]
struct Who<'a> {
    model: String,
    fingerprint: &'a str,
}

/// A task as it names a run. What is worked out from these (what is asked, scale, ties) is left out, so
/// that runs of earlier programs, which did not record it, keep their names.
#[derive(Clone, Copy, Serialize)]
struct What<'a> {
    id: &'a str,
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    settings: &'a TaskSettings,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
    conventions: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataset_hash: Option<&'a str>,
}

/// Settings that change answers; device, threads, batches, connections and budget do not.
#[derive(Serialize)]
struct How<'a> {
    dtype: &'a Option<String>,
    base_url: &'a Option<String>,
    args: &'a BTreeMap<String, String>,
}

fn who(card: &ModelCard) -> Who<'_> {
    Who {
        model: card.model.to_string(),
        fingerprint: &card.fingerprint,
    }
}

fn what(task: &TaskRun) -> What<'_> {
    What {
        id: &task.id,
        version: task.version,
        content: task.content.as_deref(),
        settings: &task.settings,
        limit: task.limit,
        conventions: &task.conventions,
        dataset_hash: task.dataset_hash.as_deref(),
    }
}

fn how(settings: &ModelSettings) -> How<'_> {
    How {
        dtype: &settings.dtype,
        base_url: &settings.base_url,
        args: &settings.args,
    }
}

fn essence(manifest: &RunManifest) -> Essence<'_> {
    Essence {
        schema: manifest.schema,
        models: manifest.models.iter().map(who).collect(),
        model_settings: how(&manifest.model_settings),
        judge: manifest.judge.as_ref().map(who),
        subject_judges: manifest.chosen_judge() == JudgeChoice::Subject,
        tasks: manifest.tasks.iter().map(what).collect(),
        trials: manifest.trials,
        seed: manifest.seed,
        adaptive: manifest.execution.adaptive.as_ref(),
    }
}

fn value_of<T: Serialize>(value: &T) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|e| StoreError::Mismatch(format!("a manifest cannot be written as JSON: {e}")))
}

/// Content hash of what decides the answers of a run (models and fingerprints, judge, tasks with
/// versions, settings, limits and dataset hashes, trials, seed), for deriving
/// [`RunManifest::id`]. Neither time nor command line nor device is part of it.
pub fn run_digest(manifest: &RunManifest) -> Result<String> {
    let bytes = serde_json::to_vec(&essence(manifest))
        .map_err(|e| StoreError::Mismatch(format!("a manifest cannot be written as JSON: {e}")))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// The first field in which two manifests would give different answers, with both values.
pub(crate) fn difference(old: &RunManifest, new: &RunManifest) -> Result<Option<String>> {
    let (old, new) = (value_of(&essence(old))?, value_of(&essence(new))?);
    Ok(first_difference("", &old, &new))
}

/// As [`difference`], for the parts that shards of one run must share.
pub(crate) fn shard_difference(a: &RunManifest, b: &RunManifest) -> Result<Option<String>> {
    let (mut a, mut b) = (essence(a), essence(b));
    // Shards may each hold some of the models and tasks; those in both must be equal.
    a.models
        .retain(|m| b.models.iter().any(|n| n.model == m.model));
    b.models
        .retain(|m| a.models.iter().any(|n| n.model == m.model));
    a.models.sort_by(|x, y| x.model.cmp(&y.model));
    b.models.sort_by(|x, y| x.model.cmp(&y.model));
    a.tasks.retain(|t| b.tasks.iter().any(|o| o.id == t.id));
    b.tasks.retain(|t| a.tasks.iter().any(|o| o.id == t.id));
    a.tasks.sort_by_key(|t| t.id);
    b.tasks.sort_by_key(|t| t.id);
    Ok(first_difference("", &value_of(&a)?, &value_of(&b)?))
}

fn first_difference(path: &str, old: &Value, new: &Value) -> Option<String> {
    match (old, new) {
        _ if old == new => None,
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|k| !a.contains_key(*k)));
            keys.filter_map(|key| {
                let (x, y) = (a.get(key), b.get(key));
                let inner = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                let (x, y) = (x.unwrap_or(&Value::Null), y.unwrap_or(&Value::Null));
                // A model that was never opened has no fingerprint yet: nothing to compare.
                let unknown = |v: &Value| v.as_str() == Some("");
                if key == "fingerprint" && (unknown(x) || unknown(y)) {
                    return None;
                }
                first_difference(&inner, x, y)
            })
            .next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(i, (x, y))| first_difference(&format!("{path}[{i}]"), x, y)),
        _ => Some(format!("{path}: was {}, is now {}", brief(old), brief(new))),
    }
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(160) {
        Some((cut, _)) => format!("{}…", text.split_at(cut).0),
        None => text,
    }
}
