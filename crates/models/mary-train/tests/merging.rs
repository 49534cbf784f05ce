//! Adapters folded into GGUF files: what they change is changed as on the unpacked numbers, the rest of the
//! file stays byte for byte.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mary_train::{MergedProvenance, Reuse, Storage, merge, merged_model};
use mary_weights::Checkpoint;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::json;

const RANK: usize = 2;

fn golden(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mary-weights/tests/golden");
    folder.join(format!("{name}.gguf"))
}

/// Numbers that repeat nowhere in a small matrix.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 37 + seed * 101) as f32 * 0.13).sin() * 0.1)
        .collect()
}

fn save(folder: &Path, tensors: &BTreeMap<String, (Vec<usize>, Vec<f32>)>) {
    let bytes: BTreeMap<&String, Vec<u8>> = tensors
        .iter()
        .map(|(name, (_, values))| (name, values.iter().flat_map(|x| x.to_le_bytes()).collect()))
        .collect();
    let views = tensors.iter().map(|(name, (shape, _))| {
        let view = TensorView::new(Dtype::F32, shape.clone(), &bytes[name]).expect("a tensor");
        (name.as_str(), view)
    });
    let whole = safetensors::serialize(views, None).expect("serialized");
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("adapter_model.safetensors"), whole).expect("written");
    let config = json!({"peft_type": "LORA", "r": RANK, "lora_alpha": 6});
    std::fs::write(folder.join("adapter_config.json"), config.to_string()).expect("written");
}

/// An adapter on every matrix of the first block, as PEFT names it, and what it adds to each.
fn adapter(checkpoint: &Checkpoint, turned: bool, folder: &Path) -> BTreeMap<String, Vec<f32>> {
    let mut tensors = BTreeMap::new();
    let mut added = BTreeMap::new();
    for (seed, name) in checkpoint.tensor_names().into_iter().enumerate() {
        let shape = &checkpoint.info(name).expect("a tensor").shape;
        let (Some(layer), [rows, columns]) = (name.strip_suffix(".weight"), shape.as_slice())
        else {
            continue;
        };
        if !name.contains(".0.") {
            continue;
        }
        let (outputs, inputs) = match turned {
            true => (*columns, *rows),
            false => (*rows, *columns),
        };
        let (down, up) = (
            numbers(RANK * inputs, seed),
            numbers(outputs * RANK, seed + 500),
        );
        let mut sum = vec![0.0; rows * columns];
        for o in 0..outputs {
            for i in 0..inputs {
                let product: f32 = (0..RANK)
                    .map(|r| up[o * RANK + r] * down[r * inputs + i])
                    .sum();
                let place = match turned {
                    true => i * outputs + o,
                    false => o * inputs + i,
                };
                // lora_alpha 6 over rank 2.
                sum[place] = 3.0 * product;
            }
        }
        added.insert(name.to_owned(), sum);
        let under = |part: &str| format!("base_model.model.{layer}.{part}.weight");
        tensors.insert(under("lora_A"), (vec![RANK, inputs], down));
        tensors.insert(under("lora_B"), (vec![outputs, RANK], up));
    }
    save(folder, &tensors);
    added
}

#[test]
fn an_adapter_on_a_gguf_file_changes_its_matrices_and_nothing_else() {
    // Rows interleaved, heads apart, transposed, three matrices in one, several kinds of blocks.
    for name in [
        "llama", "gptneox", "falcon", "gpt2", "phi2", "qwen2", "phi3",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, made) = (golden(name), folder.path().join("adapter"));
        let base = Checkpoint::open(&file).expect("opens");
        let added = adapter(&base, name == "gpt2", &made);
        assert!(added.len() >= 4, "{name}: {:?}", added.keys());
        let out = folder.path().join("merged");
        let look = || {
            let wanted = MergedProvenance::planned(&file, &made, Storage::F32).expect("provenance");
            wanted.reuse(&out).expect("compared")
        };
        assert_eq!(look(), Reuse::Nothing);
        merge(&file, &made, &out, Storage::F32).expect("merges");
        assert_eq!(look(), Reuse::Same);

        let merged = Checkpoint::open(&merged_model(&out)).expect("opens");
        assert_eq!(merged.config(), base.config(), "{name}");
        assert_eq!(merged.tensor_names(), base.tensor_names(), "{name}");
        let mut kept = 0;
        for tensor in base.tensor_names() {
            let (before, after) = (
                base.read_f32(tensor).expect("numbers"),
                merged.read_f32(tensor).expect("numbers"),
            );
            match added.get(tensor) {
                Some(sum) => {
                    for ((b, a), s) in before.iter().zip(&after).zip(sum) {
                        assert!(
                            (b + s - a).abs() < 1e-6,
                            "{name}: {tensor}: {b} + {s} is {a}"
                        );
                    }
                    assert_ne!(before, after, "{name}: {tensor}");
                }
                None => {
                    assert_eq!(before, after, "{name}: {tensor}");
                    let kinds = (base.info(tensor), merged.info(tensor));
                    assert_eq!(kinds.0, kinds.1, "{name}: {tensor}");
                    kept += 1;
                }
            }
        }
        assert!(kept > 0, "{name}");
    }
}

#[test]
fn an_adapter_of_another_model_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("adapter");
    adapter(
        &Checkpoint::open(&golden("qwen2")).expect("opens"),
        false,
        &made,
    );
    let out = folder.path().join("merged");
    let error = merge(&golden("gptneox"), &made, &out, Storage::F32).expect_err("refused");
    assert!(error.to_string().contains("does not have"), "{error}");
    assert!(!out.exists());
    let error = merge(
        &golden("qwen2"),
        &made,
        golden("qwen2").parent().expect("a folder"),
        Storage::F32,
    );
    let error = error.expect_err("refused").to_string();
    assert!(error.contains("over its base"), "{error}");
    let parts = golden("parts/llama-00001-of-00002");
    adapter(&Checkpoint::open(&parts).expect("opens"), false, &made);
    let error = merge(&parts, &made, &out, Storage::F32).expect_err("refused");
    assert!(error.to_string().contains("one GGUF file"), "{error}");
}

/// The configuration is a stranger's word: the rank is that of the matrices, or the adapter is refused.
#[test]
fn an_adapter_whose_rank_cannot_be_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = golden("llama");
    let checkpoint = Checkpoint::open(&base).expect("a model");
    adapter(&checkpoint, false, dir.path());
    let out = dir.path().join("merged");
    let settings = dir.path().join("adapter_config.json");
    for rank in [
        json!(-1),
        json!(0),
        json!(1u64 << 31),
        json!(1.5),
        json!("2"),
        json!(null),
        json!(3),
    ] {
        let config = json!({"peft_type": "LORA", "r": rank, "lora_alpha": 6});
        std::fs::write(&settings, config.to_string()).expect("written");
        let error = merge(&base, dir.path(), &out, Storage::F32).expect_err("a wrong rank");
        assert!(
            error.to_string().contains("\"r\": expected"),
            "{rank}: {error}"
        );
        assert!(!out.exists(), "{rank}: nothing is begun");
    }
    for alpha in [json!("6"), json!(1e300), json!(null)] {
        let config = json!({"peft_type": "LORA", "r": RANK, "lora_alpha": alpha});
        std::fs::write(&settings, config.to_string()).expect("written");
        let error = merge(&base, dir.path(), &out, Storage::F32).expect_err("a wrong alpha");
        assert!(
            error.to_string().contains("\"lora_alpha\""),
            "{alpha}: {error}"
        );
    }
}

/// Opening a FIFO would wait for ever, and a device has no end.
#[cfg(unix)]
#[test]
fn an_adapter_is_made_of_plain_files() {
    let base = golden("llama");
    let checkpoint = Checkpoint::open(&base).expect("a model");
    for name in ["adapter_model.safetensors", "adapter_config.json"] {
        for device in [true, false] {
            let dir = tempfile::tempdir().expect("a folder");
            adapter(&checkpoint, false, dir.path());
            let file = dir.path().join(name);
            std::fs::remove_file(&file).expect("removed");
            if device {
                std::os::unix::fs::symlink("/dev/zero", &file).expect("a link");
            } else {
                let made = std::process::Command::new("mkfifo").arg(&file).status();
                assert!(made.expect("mkfifo").success());
            }
            let out = dir.path().join("merged");
            let error = merge(&base, dir.path(), &out, Storage::F32).expect_err("no plain file");
            assert!(
                error.to_string().contains("FIFO, socket or device"),
                "{name}: {error}"
            );
        }
    }
}
