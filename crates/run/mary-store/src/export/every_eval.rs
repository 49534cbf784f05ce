//! Scores in the schema of Every Eval Ever (evaleval/every_eval_ever, version 0.3.0): a record for each model of a
//! run, with a result for each task. Values of `additional_details` are strings there.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use mary_contract::{Metric, ModelCard, RunManifest, RunSummary, StoreError, SummaryRow};
use serde_json::{Map, Value, json};

use super::{file_name_of_model, time_in_names};
use crate::fault::Result;
use crate::{RunFolder, atomic};

const SCHEMA: &str = "0.3.0";
/// Providers whose models run in this process or in one beside it.
const LOCAL: [&str; 5] = ["builtin", "hf", "gguf", "vectors", "python"];

pub(super) fn export(run: &RunFolder, into: &Path) -> Result<Vec<PathBuf>> {
    let Some(summary) = run.summary()? else {
        return Err(StoreError::Mismatch(format!(
            "{} has no summary yet\nhint: `mary resume` finishes the run",
            run.path().display()
        )));
    };
    let mut written = Vec::new();
    for record in every_eval_records(&summary) {
        let model = record.pointer("/model_info/name").and_then(Value::as_str);
        let name = file_name_of_model(model.unwrap_or("model"));
        let path = into.join(format!(
            "every_eval_ever_{name}_{}.json",
            time_in_names(run)
        ));
        atomic::write_json(&path, &record)?;
        written.push(path);
    }
    Ok(written)
}

/// The records of a run; a model without any score has none.
pub fn every_eval_records(summary: &RunSummary) -> Vec<Value> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let manifest = &summary.manifest;
    let record = |card: &ModelCard| {
        let name = card.model.to_string();
        let own = summary.rows.iter().filter(|row| row.model == name);
        let results: Vec<Value> = own.filter_map(|row| result(manifest, row)).collect();
        (!results.is_empty()).then(|| {
            json!({
                "schema_version": SCHEMA,
                "evaluation_id": format!("mary/{}/{}/{now}", manifest.id, model_id(card)),
                "evaluation_timestamp": manifest.created,
                "retrieved_timestamp": now.to_string(),
                "source_metadata": {
                    "source_name": "Mary",
                    "source_type": "evaluation_run",
                    "source_organization_name": "unknown",
                    "evaluator_relationship": "third_party",
                },
                "eval_library": { "name": "mary", "version": manifest.version },
                "model_info": model_info(card),
                "evaluation_results": results,
            })
        })
    };
    manifest.models.iter().filter_map(record).collect()
}

/// As the hub would name it: a local file or the built-in model has no organisation.
fn model_id(card: &ModelCard) -> String {
    let revision = card.model.revision.as_ref();
    let revision = revision.map_or_else(String::new, |revision| format!("@{revision}"));
    let last = Path::new(&card.model.name).file_stem();
    match card.model.provider.as_str() {
        "hf" if !card.model.name.starts_with(['/', '.']) => card.model.name.clone() + &revision,
        "gguf" | "hf" | "vectors" => {
            format!(
                "unknown/{}{revision}",
                last.unwrap_or_default().to_string_lossy()
            )
        }
        provider => format!("{provider}/{}{revision}", card.model.name),
    }
}

fn model_info(card: &ModelCard) -> Value {
    let local = LOCAL.contains(&card.model.provider.as_str());
    let (deployment, availability) = match local {
        true => ("self_deployed", "open_weights"),
        false => ("externally_managed", "unknown"),
    };
    json!({
        "name": card.model.to_string(),
        "id": model_id(card),
        "inference_platform": card.model.provider,
        "additional_details": texts([
            ("deployment_type", Some(deployment.to_owned())),
            ("model_availability", Some(availability.to_owned())),
            ("fingerprint", Some(card.fingerprint.clone())),
            ("architecture", card.architecture.clone()),
            ("parameters", card.parameters.map(|n| n.to_string())),
            ("tokens_seen", card.tokens_seen.map(|n| n.to_string())),
        ]),
    })
}

fn texts<const N: usize>(pairs: [(&str, Option<String>); N]) -> Map<String, Value> {
    let known = pairs
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

fn result(manifest: &RunManifest, row: &SummaryRow) -> Option<Value> {
    let score = row.score.as_ref().filter(|s| s.value.is_finite())?;
    let task = manifest.task(&row.task)?;
    let (id, low, high) = match task.metric() {
        Some(Metric::Share) | None => ("accuracy", json!(0.0), json!(1.0)),
        Some(Metric::RankCorrelation) => ("spearman", json!(-1.0), json!(1.0)),
        Some(Metric::RSquared) => ("r_squared", json!("-Infinity"), json!(1.0)),
        Some(Metric::Number) => ("mary.number", json!("-Infinity"), json!("Infinity")),
    };
    let source = texts([
        ("source", task.item_source().map(|s| s.name().to_owned())),
        ("task_version", Some(task.version.to_string())),
        ("dataset_hash", task.dataset_hash.clone()),
        ("limit", task.limit.map(|limit| limit.to_string())),
        ("seed", Some(manifest.seed.to_string())),
    ]);
    let asked = task.asked.iter().flatten().chain(&task.judging);
    let settings: Map<String, Value> = asked.map(|(k, v)| (k.clone(), v.clone().into())).collect();
    let details = texts([
        ("chance", row.chance.map(|v| v.to_string())),
        ("people", row.human.map(|v| v.to_string())),
        ("samples", Some(row.samples.to_string())),
        ("scored", Some(row.scored.to_string())),
        ("p_chance", row.chance_test.map(|t| t.p.to_string())),
        (
            "p_chance_holm",
            row.chance_test.map(|t| t.p_holm.to_string()),
        ),
    ]);
    let mut uncertainty = json!({ "num_samples": score.n });
    if score.low.is_finite() && score.high.is_finite() {
        uncertainty["confidence_interval"] = json!({
            "lower": score.low, "upper": score.high, "confidence_level": 0.95, "method": score.method,
        });
    }
    Some(json!({
        "evaluation_result_id": format!("{}/{}", manifest.id, row.task),
        "evaluation_name": row.task,
        "source_data": { "dataset_name": row.task, "source_type": "other", "additional_details": source },
        "metric_config": {
            "metric_id": id,
            "lower_is_better": false,
            "score_type": "continuous",
            "min_score": low,
            "max_score": high,
            "additional_details": task.conventions,
        },
        "score_details": { "score": score.value, "details": details, "uncertainty": uncertainty },
        "generation_config": { "additional_details": settings },
    }))
}
