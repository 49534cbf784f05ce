//! The golden files on an NVIDIA GPU: every architecture in every number type. Runs with the feature
//! `cuda` where a GPU is found, and says so where none is.

use mary_testkit::{Lacking, skip};
use std::path::{Path, PathBuf};

use mary_contract::{ErrorKind, Model, ModelError, ModelSettings, Vector};
use mary_local::LocalModel;
use mary_local::transformer::{Batch, Watch};
use mary_weights::Checkpoint;

use crate::alike::{CARRYING, answers};
use crate::intervene;
use crate::pairs;
use crate::parity::golden;
use crate::serving::{open_on, requests, score, serve};

fn families() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut all: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.join("golden.json").exists());
    // What only the processor computes is refused by name.
    all.retain(|p| {
        let checkpoint = Checkpoint::open(p).unwrap();
        let architecture = mary_local::config::Architecture::resolve(checkpoint.config()).unwrap();
        architecture.on_processor_only().is_none()
    });
    all.sort();
    all
}

/// Those whose blocks may lie on several devices, or be fetched one by one.
fn in_blocks(mut all: Vec<PathBuf>) -> Vec<PathBuf> {
    all.retain(|folder| {
        let name = folder.file_name().unwrap().to_str().unwrap();
        !CARRYING.contains(&name)
    });
    all
}

fn open(folder: &Path, dtype: &str, matmul: &str) -> Result<LocalModel, ModelError> {
    open_with(folder, dtype, &[("matmul", matmul)])
}

fn open_with(folder: &Path, dtype: &str, args: &[(&str, &str)]) -> Result<LocalModel, ModelError> {
    let owned = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
    let settings = ModelSettings {
        device: Some("cuda:0".to_owned()),
        dtype: Some(dtype.to_owned()),
        args: args.iter().map(owned).collect(),
        ..ModelSettings::default()
    };
    let reference = "hf/golden".parse().unwrap();
    LocalModel::from_checkpoint(reference, Checkpoint::open(folder)?, &settings)
}

/// ‖a - b‖ / ‖b‖.
fn relative(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |x: f64| x * x;
    let difference: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(a - b))).sum();
    let size: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    (difference / size.max(1e-30)).sqrt()
}

/// The largest error of hidden states and logits.
fn error(folder: &Path, dtype: &str, matmul: &str) -> Result<f64, ModelError> {
    let text = std::fs::read_to_string(folder.join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ids: Vec<u32> = serde_json::from_value(golden["ids"].clone()).unwrap();
    let hidden: Option<Vec<Vector>> = serde_json::from_value(golden["hidden"].clone()).unwrap();
    let hidden = hidden.unwrap_or_default();
    let logits: Option<Vector> = serde_json::from_value(golden["logits"].clone()).unwrap();
    let model = open(folder, dtype, matmul)?;
    let mut session = model.session(ids.len())?;
    let mut batch = Batch::default();
    batch.push(&ids, &[], 0);
    let mut errors = vec![];
    let mut visit = |layer: usize, states: &[f32]| {
        let want = hidden.get(layer);
        errors.extend(want.map(|want| relative(states, &want.0)));
    };
    session.forward(&batch, Some(Watch::Rows(&mut visit)))?;
    if let Some(want) = logits {
        let rows: Vec<usize> = (0..ids.len()).collect();
        errors.push(relative(&session.logits(&rows)?, &want.0));
    }
    let worst = |a: f64, b: f64| if b.is_nan() { f64::INFINITY } else { a.max(b) };
    Ok(errors.into_iter().fold(0.0, worst))
}

/// Whether a model has experts.
fn sparse(folder: &Path) -> bool {
    let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
    config.contains("num_experts_per_tok")
}

#[test]
fn every_architecture_computes_on_a_gpu_what_transformers_computes() {
    let kinds = [
        ("f32", "auto", 1e-4),
        ("f32", "own", 1e-4),
        ("bf16", "auto", 2e-2),
        ("bf16", "own", 2e-2),
        ("f16", "auto", 2e-2),
    ];
    // Asked once, so that a family that is refused on a GPU is not taken for a machine without one.
    if let Err(e) = open(&families()[0], "f32", "auto")
        && e.kind == ErrorKind::BadRequest
    {
        skip(Lacking::Gpu, &e.to_string());
        return;
    }
    let mut wrong = vec![];
    for (dtype, matmul, most) in kinds {
        for folder in families() {
            // Rounded activations choose and weigh experts: transformers' own bfloat16 is 2.5e-2 to 4.4e-2
            // from its float32 on these.
            let most = match dtype {
                "bf16" if sparse(&folder) => 5e-2,
                // Larger weights: 2.3e-2 and 2.8e-2 on an H200, where float16 stays within 2e-2.
                "bf16" if folder.to_string_lossy().ends_with("_published") => 4e-2,
                // 2.4e-2 to 5.3e-2 on an H200; transformers' own bfloat16 is 3.1e-2 to 6.2e-2 from its float32 on
                // these, and float16 here within 2e-2.
                "bf16" if CARRYING[..4].iter().any(|name| folder.ends_with(name)) => 6e-2,
                // 2.0e-2, 2.3e-2 and 2.5e-2 on an H200; float16 within 2e-2, float32 within 1e-4.
                "bf16"
                    if ["cwm", "smollm3", "gpt_bert_babylm"]
                        .iter()
                        .any(|n| folder.ends_with(n)) =>
                {
                    3e-2
                }
                _ => most,
            };
            match error(&folder, dtype, matmul) {
                Err(e) => wrong.push(format!("{} {dtype} {matmul}: {e}", folder.display())),
                Ok(e) if e > most => {
                    wrong.push(format!("{} {dtype} {matmul}: {e:.2e}", folder.display()));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Weights in the hub's own quantised formats, which a GPU gets unpacked.
#[test]
fn quantised_folders_compute_on_a_gpu_what_their_packages_unpack() {
    for (name, _) in crate::hub_formats::FOLDERS {
        match error(&crate::hub_formats::folder(name), "f32", "auto") {
            Err(e) if e.kind == ErrorKind::BadRequest => {
                return skip(Lacking::Gpu, &e.to_string());
            }
            result => assert!(
                result.as_ref().is_ok_and(|e| *e < 1e-4),
                "{name}: {result:?}"
            ),
        }
    }
}

#[test]
fn changed_models_predict_the_same_on_a_gpu() {
    let gpt2 = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gpt2");
    if let Err(e) = open(&gpt2, "f32", "auto") {
        skip(Lacking::Gpu, &e.to_string());
        return;
    }
    for (dtype, most) in [("f32", 1e-4), ("bf16", 0.2)] {
        let all = intervene::compare(|name| {
            let folder = gpt2.with_file_name(name);
            folder
                .exists()
                .then(|| open(&folder, dtype, "auto").unwrap())
        });
        assert_eq!(all.len(), 14);
        for (name, _, worst) in all {
            eprintln!("{name} {dtype}: {worst:.1e}");
            assert!(worst < most, "{name} {dtype}: {worst}");
            let family = name.trim_start_matches("transformer_lens-");
            let model = open(&gpt2.with_file_name(family), dtype, "auto").unwrap();
            let of = score(intervene::CLEAN, &[" is", " sings and falls"]);
            let requests = intervene::into_itself(&model, &of);
            let answers = intervene::ask(&model, requests);
            let plain = answers[0].as_ref().unwrap();
            for answer in &answers {
                assert_eq!(answer.as_ref().unwrap(), plain, "{name} {dtype}");
            }
        }
    }
}

#[test]
fn heads_attend_on_a_gpu_as_on_the_processor() {
    let all = families();
    if let Err(e) = open(&all[0], "f32", "auto")
        && e.kind == ErrorKind::BadRequest
    {
        return skip(Lacking::Gpu, &e.to_string());
    }
    let (mut seen, mut wrong) = (0, vec![]);
    // On the processor 16 bits round weights only, on a GPU also queries and keys.
    for (dtype, most) in [("f32", 1e-4), ("f16", 2e-2), ("bf16", 1e-1)] {
        for folder in &all {
            let there = open(folder, dtype, "auto").unwrap();
            if !there.card().capabilities.intervene {
                continue;
            }
            let settings = ModelSettings {
                dtype: Some(dtype.to_owned()),
                ..ModelSettings::default()
            };
            let checkpoint = Checkpoint::open(folder).unwrap();
            let model = "hf/golden".parse().unwrap();
            let here = LocalModel::from_checkpoint(model, checkpoint, &settings).unwrap();
            let numbers = |model: &LocalModel| -> Vec<f32> {
                let patterns = intervene::patterns(model, intervene::CLEAN);
                let all = patterns.into_iter().flatten();
                all.flat_map(|vector| vector.0).collect()
            };
            let error = relative(&numbers(&there), &numbers(&here));
            let name = folder.file_name().unwrap().to_string_lossy();
            eprintln!("{name} {dtype}: {error:.1e}");
            if error.is_nan() || error > most {
                wrong.push(format!("{name} {dtype}: {error:.2e}"));
            }
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(seen >= 3 * 30, "{seen} families and number types");
}

/// States go on from texts of the same batch, from earlier batches and behind what was written, as on the processor.
#[test]
fn states_are_carried_on_a_gpu_as_on_the_processor() {
    let numbers = |model: &LocalModel| -> Vec<f32> {
        let all = serve(model, requests());
        let each = all.into_iter().flat_map(|scored| scored.continuations);
        each.flat_map(|c| c.logprobs).collect()
    };
    for name in &CARRYING[..5] {
        let here = open_on(2, name, None, &[("trie", "off")]);
        let wanted = numbers(&here);
        for args in [
            &[][..],
            &[("rows", "5")],
            &[("rows", "40")],
            &[("trie", "off")],
        ] {
            for (dtype, most) in [("f32", 1e-5), ("f16", 1e-2), ("bf16", 6e-2)] {
                let there = match open_with(&golden(name), dtype, args) {
                    Err(e) if e.kind == ErrorKind::BadRequest => {
                        return skip(Lacking::Gpu, &e.to_string());
                    }
                    other => other.unwrap(),
                };
                let error = relative(&numbers(&there), &wanted);
                eprintln!("{name} {dtype} {args:?}: {error:.1e}");
                assert!(error < most, "{name} {dtype} {args:?}: {error:.1e}");
                let written = [&here, &there].map(|model| answers(model).pop());
                assert!(
                    dtype != "f32" || written[0] == written[1],
                    "{name}: {written:?}"
                );
            }
        }
    }
}

#[test]
fn encoder_decoders_compute_on_a_gpu_what_transformers_computes() {
    for name in ["t5", "t5_gated", "mt5", "umt5"] {
        // transformers' own float16 is 1.1e-2 to 2.6e-2 from its float32 on these, its bfloat16 8e-2 to 0.29.
        for (dtype, most) in [("f32", 1e-4), ("f16", 4e-2), ("bf16", 0.3)] {
            let folder = golden("../golden_pairs").join(name);
            let model = match open(&folder, dtype, "auto") {
                Err(e) if e.kind == ErrorKind::BadRequest => {
                    return skip(Lacking::Gpu, &e.to_string());
                }
                other => other.unwrap(),
            };
            let (_, error) = pairs::predicted(name, &model);
            eprintln!("{name} {dtype}: {error:.1e}");
            assert!(error < most, "{name} {dtype}: {error:.1e}");
            let [found, wanted] = pairs::written(name, &model);
            assert!(dtype != "f32" || found == wanted, "{name}: {found:?}");
        }
    }
}

#[test]
fn divided_layers_give_the_same_bits_on_a_gpu_named_several_times() {
    let all = families();
    if let Err(e) = open(&all[0], "bf16", "auto") {
        skip(Lacking::Gpu, &e.to_string());
        return;
    }
    for folder in in_blocks(all) {
        for dtype in ["f32", "bf16", "f16"] {
            let seen = |device: &str| {
                let settings = ModelSettings {
                    device: Some(device.to_owned()),
                    dtype: Some(dtype.to_owned()),
                    args: [("rows".to_owned(), "64".to_owned())].into(),
                    ..ModelSettings::default()
                };
                let checkpoint = Checkpoint::open(&folder).unwrap();
                let model = "hf/divided".parse().unwrap();
                answers(&LocalModel::from_checkpoint(model, checkpoint, &settings).unwrap())
            };
            let (whole, divided) = (seen("cuda:0"), seen("cuda:0+cuda:0"));
            assert_eq!(whole, divided, "{} {dtype}", folder.display());
        }
    }
}

#[test]
fn blocks_that_are_fetched_give_the_same_bits_on_a_gpu() {
    let all = families();
    if let Err(e) = open(&all[0], "bf16", "auto") {
        skip(Lacking::Gpu, &e.to_string());
        return;
    }
    for folder in in_blocks(all) {
        for dtype in ["f32", "bf16", "f16"] {
            let scores = |held: &str| {
                let args = [("held", held), ("rows", "64")];
                let model = open_with(&folder, dtype, &args).ok()?;
                let scored = model.card().capabilities.score;
                scored.then(|| serve(&model, requests()))
            };
            let whole = scores("1000");
            assert_eq!(whole, scores("0"), "{} {dtype}", folder.display());
            assert_eq!(whole, scores("1"), "{} {dtype}", folder.display());
        }
    }
}
