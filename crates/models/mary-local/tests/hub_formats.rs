//! The hub's own quantised formats against what their own packages unpack: log-probabilities of tiny models, while
//! reading and while writing. The folders come from `tools/golden_hub_formats.py`, which says who packed and unpacked.

use std::path::{Path, PathBuf};

use mary_contract::{ModelSettings, Vector};
use mary_local::LocalModel;
use mary_local::transformer::Batch;
use mary_weights::Checkpoint;

use crate::parity::{log_probs, relative};

/// Each folder, and how its matrices are kept.
pub const FOLDERS: [(&str, &str); 20] = [
    ("gptq", "Q4_0"),
    ("gptq_zeros", "INT4"),
    ("gptq_order", "F32"),
    ("gptq_8bits", "INT8"),
    ("gptq_3bits", "INT4"),
    ("awq", "INT4"),
    ("ct_int4", "INT4"),
    ("ct_int4_zeros", "INT4"),
    ("ct_int8", "Q8_0"),
    ("ct_fp8", "FP8"),
    ("ct_fp8_block", "FP8"),
    ("ct_mxfp4", "MXFP4"),
    ("ct_nvfp4", "NVFP4"),
    ("modelopt_nvfp4", "NVFP4"),
    ("fp8_block", "FP8"),
    ("fp8_tensor", "FP8"),
    ("bnb_nf4", "NF4"),
    ("bnb_nf4_double", "NF4"),
    ("bnb_fp4", "F32"),
    ("bnb_int8", "INT8"),
];

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden_hub")
        .join(name)
}

pub fn expected(name: &str) -> (Vec<u32>, Vec<f32>) {
    let text = std::fs::read_to_string(folder(name).join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ids = serde_json::from_value(golden["ids"].clone()).unwrap();
    let logits: Vector = serde_json::from_value(golden["logits"].clone()).unwrap();
    (ids, logits.0)
}

pub fn opened(name: &str, args: &[(&str, &str)]) -> LocalModel {
    let args = args.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let settings = ModelSettings {
        args: args.collect(),
        threads: Some(2),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open(&folder(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let reference = format!("hf/{name}").parse().unwrap();
    LocalModel::from_checkpoint(reference, checkpoint, &settings)
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// All tokens at once, or one after the other as an answer is written.
pub fn logits(model: &LocalModel, ids: &[u32], writing: bool) -> Vec<f32> {
    let mut session = model.session(ids.len()).unwrap();
    if !writing {
        let mut batch = Batch::default();
        batch.push(ids, &[], 0);
        session.forward(&batch, None).unwrap();
        let rows: Vec<usize> = (0..ids.len()).collect();
        return session.logits(&rows).unwrap();
    }
    let one = |at: usize| {
        let mut batch = Batch {
            writing,
            ..Batch::default()
        };
        let past = [(0, at)];
        batch.push(&ids[at..=at], if at == 0 { &[] } else { &past }, at);
        session.forward(&batch, None).unwrap();
        session.logits(&[0]).unwrap()
    };
    (0..ids.len()).flat_map(one).collect()
}

#[test]
fn log_probabilities_are_those_of_the_model_its_own_package_unpacks() {
    let mut wrong = vec![];
    for (name, kept) in FOLDERS {
        let (ids, want) = expected(name);
        for matmul in ["auto", "vectors"] {
            let model = opened(name, &[("matmul", matmul)]);
            let checkpoint = model.checkpoint();
            for part in ["self_attn.q_proj", "mlp.down_proj"] {
                let info = checkpoint.info(&format!("model.layers.0.{part}.weight"));
                assert_eq!(info.unwrap().dtype.name(), kept, "{name}, {part}");
            }
            for writing in [false, true] {
                let got = logits(&model, &ids, writing);
                let errors = [relative(&got, &want), log_probs(&got, &want, &ids)];
                if errors.iter().any(|e| e.is_nan() || *e > 2e-6) {
                    wrong.push(format!("{name}, {matmul}, writing {writing}: {errors:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_card_says_how_weights_are_kept_and_what_takes_more_memory() {
    for (name, kept) in FOLDERS {
        let model = opened(name, &[]);
        let card = mary_contract::Model::card(&model);
        assert!(card.conventions["weights"].starts_with(kept), "{name}");
        let said = card.remarks.iter().any(|r| r.contains("7 of its 7 "));
        assert_eq!(said, kept == "F32", "{name}: {:?}", card.remarks);
    }
}

#[test]
fn gpt_oss_keeps_its_experts_in_blocks_and_computes_what_transformers_computes() {
    let (ids, want) = expected("gpt_oss");
    for (matmul, held) in [("auto", "2"), ("vectors", "2"), ("auto", "0")] {
        let model = opened("gpt_oss", &[("matmul", matmul), ("held", held)]);
        let checkpoint = model.checkpoint();
        let info = checkpoint.info("model.layers.1.mlp.experts.down_proj");
        assert_eq!(info.unwrap().dtype.name(), "MXFP4");
        for writing in [false, true].into_iter().take(1 + usize::from(held == "2")) {
            let got = logits(&model, &ids, writing);
            for error in [relative(&got, &want), log_probs(&got, &want, &ids)] {
                assert!(
                    error < 2e-6,
                    "{matmul}, {held} held, writing {writing}: {error}"
                );
            }
        }
    }
}

#[test]
fn experts_in_mxfp4_are_the_numbers_that_transformers_unpacks() {
    let text = std::fs::read_to_string(folder("mxfp4").join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let want: Vector = serde_json::from_value(golden["numbers"].clone()).unwrap();
    let checkpoint = Checkpoint::open(&folder("mxfp4")).unwrap();
    let name = golden["name"].as_str().unwrap();
    assert_eq!(
        serde_json::json!(checkpoint.info(name).unwrap().shape),
        golden["shape"]
    );
    assert_eq!(checkpoint.read_f32(name).unwrap(), want.0);
    assert_eq!(checkpoint.tensor_names(), [name]);
}
