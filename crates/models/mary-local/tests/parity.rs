//! Every architecture against Hugging Face transformers: logits and all hidden states of a tiny
//! random model, relative error at most 1e-4. The golden files come from `tools/golden_local.py`; those called
//! `published` from the modelling code of their makers (`tools/golden_published.py`).

use std::path::{Path, PathBuf};

use mary_contract::{ModelSettings, Vector};
use mary_local::LocalModel;
use mary_local::transformer::{Batch, Watch};
use mary_weights::Checkpoint;

pub const FAMILIES: &[&str] = &[
    "gpt_neox",
    "gpt_neox_sequential",
    "gpt2",
    "llama",
    "llama_linear",
    "llama_llama3",
    "llama_yarn",
    "mistral",
    "qwen2",
    "qwen3",
    "phi",
    "phi3",
    "falcon_7b",
    "falcon_new",
    "falcon_rw",
    "gemma2",
    "gemma3",
    "opt",
    "opt_350m",
    "qwen",
    "qwen_published",
    "qwen_vl_published",
    "gptj",
    "gpt_neo",
    "bloom",
    "bloom_six",
    "stablelm",
    "stablelm_parallel",
    "olmo",
    "granite",
    "olmo_clip",
    "olmo2",
    "stablelm_heads",
    "phi_heads",
    "phi3_longrope",
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "olmoe",
    "granitemoe",
    "minimax_m2",
    "glm4_moe",
    "dots1",
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "glm4_moe_lite",
    "glm_moe_dsa",
    "solar_open",
    "youtu",
    "llava_llama",
    "bert",
    "roberta",
    "visual_bert",
    "clip_text",
    "clip_published",
    "llava_next",
    "qwen2_vl",
    "qwen3_vl",
    "qwen3_vl_moe",
    "gemma",
    "vaultgemma",
    "smollm3",
    "ministral",
    "ministral3",
    "olmo3",
    "exaone4",
    "cohere",
    "cohere_heads",
    "cohere2",
    "starcoder2",
    "nemotron",
    "arcee",
    "jais2",
    "persimmon",
    "glm",
    "glm4",
    "helium",
    "ernie4_5",
    "seed_oss",
    "cwm",
    "internlm3",
    "iquestcoder",
    "hyperclovax",
    "gpt_bigcode",
    "gpt_bigcode_heads",
    "openai_gpt",
    "biogpt",
    "mpt",
    "mamba",
    "falcon_mamba",
    "mamba2",
    "bamba",
    "granitemoehybrid",
    "qwen3_next",
    "qwen3_5",
    "qwen3_5_moe",
    "lfm2",
    "gpt_oss",
    "ltgbert",
    "gpt_bert_ltg",
    "gpt_bert_babylm",
    "deberta_v3",
    "modernbert",
    "gpt2_by_layer",
    "camembert",
    "distilbert",
];

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn settings(matmul: &str) -> ModelSettings {
    let args = [("matmul".to_owned(), matmul.to_owned())].into();
    ModelSettings {
        args,
        threads: Some(2),
        ..ModelSettings::default()
    }
}

/// ‖a - b‖ / ‖b‖.
pub fn relative(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |x: f64| x * x;
    let difference: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(a - b))).sum();
    let size: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    (difference / size.max(1e-30)).sqrt()
}

/// The relative error of the log-probability of every token after the first.
pub fn log_probs(got: &[f32], want: &[f32], ids: &[u32]) -> f64 {
    let width = want.len() / ids.len();
    let scores = |logits: &[f32]| -> Vec<f32> {
        let rows = logits.chunks_exact(width).zip(&ids[1..]);
        rows.map(|(row, &id)| {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
            (row[id as usize] - most - sum.ln()) as f32
        })
        .collect()
    };
    relative(&scores(got), &scores(want))
}

fn check(name: &str, matmul: &str) -> Result<(), String> {
    hold(&golden(name), name, matmul)
}

/// Compares a model, wherever it lies, with what transformers computed from the folder of this name.
pub fn hold(path: &Path, name: &str, matmul: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(golden(name).join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ids: Vec<u32> = serde_json::from_value(golden["ids"].clone()).unwrap();
    let hidden: Vec<Vector> = serde_json::from_value(golden["hidden"].clone()).unwrap();
    let logits: Option<Vector> = serde_json::from_value(golden["logits"].clone()).unwrap();
    let checkpoint = Checkpoint::open(path).map_err(|e| format!("{name}: {e}"))?;
    let reference = format!("hf/{name}").parse().unwrap();
    let model = LocalModel::from_checkpoint(reference, checkpoint, &settings(matmul))
        .map_err(|e| format!("{name}: {e}"))?;
    let mut session = model.session(ids.len()).unwrap();
    let mut batch = Batch::default();
    batch.push(&ids, &[], 0);
    let mut worst = vec![];
    let mut visit = |layer: usize, states: &[f32]| {
        let error = relative(states, &hidden[layer].0);
        if error.is_nan() || error > 1e-4 {
            worst.push(format!("layer {layer}: {error:.2e}"));
        }
    };
    session
        .forward(&batch, Some(Watch::Rows(&mut visit)))
        .unwrap();
    if let Some(want) = logits {
        let rows: Vec<usize> = (0..ids.len()).collect();
        let error = relative(&session.logits(&rows).unwrap(), &want.0);
        if error.is_nan() || error > 1e-4 {
            worst.push(format!("logits: {error:.2e}"));
        }
        let error = log_probs(&session.logits(&rows).unwrap(), &want.0, &ids);
        if error.is_nan() || error > 1e-4 {
            worst.push(format!("log-probabilities: {error:.2e}"));
        }
    }
    if worst.is_empty() {
        Ok(())
    } else {
        Err(format!("{name} ({matmul}): {}", worst.join(", ")))
    }
}

#[test]
fn every_architecture_computes_what_transformers_computes() {
    let mut wrong = vec![];
    for name in FAMILIES {
        for matmul in ["auto", "vectors"] {
            wrong.extend(check(name, matmul).err());
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The tiny tokenizers give the ids that the reference was given.
#[test]
fn token_ids_are_those_of_the_reference() {
    const TEXT: &str =
        "the old cat sleeps under the red stone and the young bird that sings is not near";
    for name in FAMILIES {
        let text = std::fs::read_to_string(golden(name).join("golden.json")).unwrap();
        let golden_ids: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut want: Vec<u32> = serde_json::from_value(golden_ids["ids"].clone()).unwrap();
        let checkpoint = Checkpoint::open(&golden(name)).unwrap();
        let mut got = checkpoint.tokenizer().encode(TEXT, true).unwrap().ids;
        let encoders = "bert roberta visual_bert camembert distilbert deberta_v3 modernbert";
        if encoders.split(' ').any(|encoder| encoder == *name) {
            // Their reference was given an end in the place of the last word.
            want.pop();
            got.pop();
        }
        if *name == "clip_published" {
            // Their tokenizer ends a text with the highest id; the tiny one has no end.
            want.pop();
        }
        assert_eq!(got, want, "{name}");
    }
}

/// Every folder with golden numbers is looked at.
#[test]
fn no_golden_folder_is_left_out() {
    let folders = std::fs::read_dir(golden("")).unwrap();
    for folder in folders.map(|f| f.unwrap()) {
        let name = folder.file_name().into_string().unwrap();
        assert!(FAMILIES.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn a_tensor_of_the_wrong_shape_is_refused_before_work_starts() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.safetensors", "tokenizer.json"] {
        std::fs::copy(golden("llama").join(file), folder.path().join(file)).unwrap();
    }
    let text = std::fs::read_to_string(golden("llama").join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    config["intermediate_size"] = 40.into();
    std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    let model = "hf/wrong".parse().unwrap();
    let error = LocalModel::from_checkpoint(model, checkpoint, &ModelSettings::default())
        .err()
        .expect("the shapes do not fit");
    assert!(error.message.contains("model.safetensors"), "{error}");
    assert!(
        error.message.contains("layers.0.mlp.gate_proj.weight"),
        "{error}"
    );
    assert!(
        error.message.contains("[48, 32]") && error.message.contains("[40, 32]"),
        "{error}"
    );
}
