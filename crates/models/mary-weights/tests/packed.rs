//! Folders in the hub's own quantised formats that are wrong: each is refused with what is wrong with it. The right ones
//! are `mary-local`'s, which compares what it computes with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mary_contract::ModelError;
use mary_weights::{Checkpoint, TensorType};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};

pub fn hub(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../mary-local/tests/golden_hub")
        .join(name)
}

struct Folder {
    config: Value,
    tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

const Q: &str = "model.layers.0.self_attn.q_proj";

impl Folder {
    fn read(name: &str) -> Self {
        let read = |file: &Path| std::fs::read(file).unwrap();
        let mut tensors = BTreeMap::new();
        for entry in std::fs::read_dir(hub(name)).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|e| e == "safetensors") {
                let bytes = read(&file);
                for (name, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
                    let own = (view.dtype(), view.shape().to_vec(), view.data().to_vec());
                    tensors.insert(name, own);
                }
            }
        }
        let config = serde_json::from_slice(&read(&hub(name).join("config.json"))).unwrap();
        Self { config, tensors }
    }

    fn part(&mut self, ending: &str) -> &mut (Dtype, Vec<usize>, Vec<u8>) {
        self.tensors.get_mut(&format!("{Q}.{ending}")).unwrap()
    }

    fn settings(&mut self) -> &mut Value {
        &mut self.config["quantization_config"]
    }

    /// Opens it and reads every tensor.
    fn used(&self) -> Result<(), ModelError> {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes);
        write("config.json", self.config.to_string().as_bytes()).unwrap();
        let tokenizer = std::fs::read(hub("gptq").join("tokenizer.json")).unwrap();
        write("tokenizer.json", &tokenizer).unwrap();
        let views = self.tensors.iter().map(|(name, (dtype, shape, bytes))| {
            let view = TensorView::new(*dtype, shape.clone(), bytes).unwrap();
            (name.as_str(), view)
        });
        write(
            "model.safetensors",
            &safetensors::serialize(views, None).unwrap(),
        )
        .unwrap();
        let checkpoint = Checkpoint::open(folder.path())?;
        for name in checkpoint.tensor_names() {
            let (raw, numbers) = (checkpoint.read_raw(name)?, checkpoint.read_f32(name)?);
            let info = checkpoint.info(name).unwrap();
            assert_eq!(
                info.dtype.bytes_for(numbers.len()),
                Some(raw.len()),
                "{name}"
            );
        }
        Ok(())
    }
}

/// Both the message and what is supported instead of it.
fn refusal(name: &str, change: impl FnOnce(&mut Folder)) -> String {
    let mut folder = Folder::read(name);
    folder.used().unwrap();
    change(&mut folder);
    let error = folder.used().expect_err(name);
    format!("{} {}", error.message, error.hint.unwrap_or_default())
}

#[track_caller]
fn refused(name: &str, words: &[&str], change: impl FnOnce(&mut Folder)) {
    let message = refusal(name, change);
    for word in words {
        assert!(
            message.contains(word),
            "{name}: `{word}` is not in: {message}"
        );
    }
}

#[test]
fn formats_that_are_not_read_are_refused_by_name() {
    for (method, word) in [
        (json!({"quant_method": "hqq"}), "hqq"),
        (json!({"quant_method": "aqlm", "bits": 2}), "aqlm"),
        (json!({"bits": 4}), "no quant_method"),
        (json!({"quant_method": "gptq", "bits": 5}), "GPTQ of 5 bits"),
        (json!({"quant_method": "gptq"}), "GPTQ of null bits"),
        (
            json!({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}),
            "GPTQ in the layout marlin",
        ),
        (
            json!({"quant_method": "awq", "bits": 4, "version": "gemv"}),
            "AWQ in the layout gemv",
        ),
        (json!({"quant_method": "awq", "bits": 8}), "AWQ of 8 bits"),
        (
            json!({"quant_method": "fp8", "fmt": "e5m2"}),
            "FP8 of the type e5m2",
        ),
        (
            json!({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}),
            "modelopt",
        ),
        (
            json!({"quant_method": "compressed-tensors", "format": "marlin-24"}),
            "compressed-tensors in the format marlin-24",
        ),
        (
            json!({"config_groups": {}, "sparsity_config": {"format": "sparse-24-bitmask"}}),
            "compressed-tensors with the sparsity sparse-24-bitmask",
        ),
        (
            json!({"config_groups": {}, "transform_config": {"config_groups": {"u": {}}}}),
            "compressed-tensors with transforms",
        ),
    ] {
        let words = [
            word,
            "config.json",
            "supported are GPTQ (2, 3, 4 and 8 bits)",
            "GGUF",
        ];
        refused("gptq", &words, |f| *f.settings() = method);
    }
}

/// Digits that somebody would take for numbers: they were, before their formats were known.
#[test]
fn digits_without_what_they_are_multiples_of_are_refused() {
    let none = |f: &mut Folder| {
        f.config
            .as_object_mut()
            .unwrap()
            .remove("quantization_config");
    };
    for name in ["bnb_int8", "ct_int8", "fp8_block", "gptq", "ct_int4"] {
        refused(name, &["tensor `", "quantization_config"], none);
    }
    refused("bnb_int8", &["q_proj.weight", "I8"], |f| {
        f.tensors.remove(&format!("{Q}.SCB"));
    });
    refused("ct_fp8", &["no tensor", "q_proj.weight_scale"], |f| {
        f.tensors.remove(&format!("{Q}.weight_scale"));
    });
}

#[test]
fn parts_that_are_missing_or_do_not_fit_are_named() {
    for part in ["qzeros", "scales"] {
        refused("gptq", &["q_proj", "there is no tensor", part], |f| {
            f.tensors.remove(&format!("{Q}.{part}"));
        });
        // One group fewer.
        refused("awq", &["qzeros` has shape"], |f| {
            let (_, shape, bytes) = f.part("qzeros");
            bytes.truncate(bytes.len() / 2);
            shape[0] /= 2;
        });
    }
    refused("gptq", &["qzeros` has shape [3, 8], not [3, 16]"], |f| {
        f.settings()["bits"] = json!(8);
    });
    refused("gptq", &["qweight` must not be I8"], |f| {
        let (dtype, shape, _) = f.part("qweight");
        (*dtype, shape[1]) = (Dtype::I8, shape[1] * 4);
    });
    refused("awq", &["64 inputs do not fill 3 groups"], |f| {
        for part in ["scales", "qzeros"] {
            let (_, shape, bytes) = f.part(part);
            let half = bytes[..bytes.len() / 2].to_vec();
            bytes.extend(half);
            shape[0] = 3;
        }
    });
    refused("gptq_order", &["g_idx` has shape [32], not [64]"], |f| {
        let (_, shape, bytes) = f.part("g_idx");
        bytes.truncate(128);
        shape[0] = 32;
    });
    refused("ct_int4_zeros", &["weight_shape says [63, 99]"], |f| {
        f.part("weight_shape").2[8] = 99;
        f.part("weight_shape").2[0] = 63;
    });
    refused("ct_int4", &["numbers of 2, 4 or 8 bits"], |f| {
        f.part("weight_shape").2[8] = 37
    });
    let global = "weight_global_scale";
    refused("ct_nvfp4", &["2 global scales"], |f| {
        let (_, shape, bytes) = f.part(global);
        bytes.extend([0; 4]);
        *shape = vec![2];
    });
    refused("modelopt_nvfp4", &["no tensor", "weight_scale_2"], |f| {
        f.tensors.remove(&format!("{Q}.weight_scale_2"));
    });
    refused(
        "ct_nvfp4",
        &["scale` has shape [64, 2], not [64, 4]"],
        |f| {
            let (_, shape, bytes) = f.part("weight_scale");
            bytes.truncate(128);
            shape[1] = 2;
        },
    );
    // Divided by nothing.
    refused("ct_nvfp4", &["scale 0 is not a number"], |f| {
        f.part(global).2.fill(0)
    });
    refused(
        "fp8_block",
        &["scales of shape [1, 2] do not fit 64 outputs of 64 inputs"],
        |f| {
            let (_, shape, bytes) = f.part("weight_scale_inv");
            bytes.extend([0, 0, 128, 63]);
            *shape = vec![1, bytes.len() / 4];
            if shape[1] != 2 {
                bytes.truncate(8);
                shape[1] = 2;
            }
        },
    );
    refused(
        "mxfp4",
        &["scales` has shape [2, 3, 2], not [2, 6, 2]"],
        |f| {
            let (_, shape, bytes) = f
                .tensors
                .get_mut("model.layers.0.mlp.experts.down_proj_scales")
                .unwrap();
            bytes.truncate(12);
            shape[1] = 3;
        },
    );
    for (state, words) in [
        (
            "{\"blocksize\": 64, \"shape\": [64, 9007199254740993]}",
            "four bits",
        ),
        (
            "{\"blocksize\": 64, \"shape\": [4294967296, 4294967296]}",
            "four bits",
        ),
        ("{\"blocksize\": 0, \"shape\": [64, 64]}", "blocksize = 0"),
        (
            "{\"blocksize\": 32, \"shape\": [64, 64]}",
            "absmax` has shape",
        ),
        ("{\"blocksize\": 64}", "shape = null"),
        ("[", "not JSON"),
    ] {
        refused("bnb_nf4", &[words], |f| {
            let part = f.part("weight.quant_state.bitsandbytes__nf4");
            (part.1, part.2) = (vec![state.len()], state.as_bytes().to_vec());
        });
    }
}

#[test]
fn numbers_that_cannot_be_are_found_when_a_matrix_is_read() {
    for (name, part) in [("gptq", "scales"), ("awq", "scales")] {
        refused(name, &["q_proj.weight", "scale 5 is not a number"], |f| {
            f.part(part).2[10..12].copy_from_slice(&0x7e00u16.to_le_bytes());
        });
    }
    for (name, part) in [
        ("bnb_nf4", "weight.absmax"),
        ("bnb_int8", "SCB"),
        ("fp8_tensor", "weight_scale"),
    ] {
        refused(name, &["scale 0 is not a number"], |f| {
            f.part(part).2[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        });
    }
    refused("mxfp4", &["scale 3 is not a number"], |f| {
        let name = "model.layers.0.mlp.experts.down_proj_scales";
        f.tensors.get_mut(name).unwrap().2[3] = 255;
    });
    refused("fp8_block", &["a number of row 0 is none"], |f| {
        f.part("weight").2[3] = 0xff
    });
    refused("gptq_order", &["(group 99)"], |f| f.part("g_idx").2[0] = 99);
    refused("gptq_order", &["g_idx) is negative"], |f| {
        f.part("g_idx").2[3] = 0xff
    });
    refused(
        "gptq",
        &["calls it symmetric, but its zero points differ"],
        |f| {
            f.part("qzeros").2[2] = 0x75;
        },
    );
}

/// The sixth row of every matrix against what the format's own package unpacks (`tools/golden_hub_formats.py`).
#[test]
fn rows_are_those_that_the_formats_own_packages_unpack() {
    let mut folders = 0;
    for entry in std::fs::read_dir(hub("")).unwrap() {
        let folder = entry.unwrap().path();
        let golden: Value =
            serde_json::from_slice(&std::fs::read(folder.join("golden.json")).unwrap()).unwrap();
        let Some(rows) = golden["row 5"].as_object() else {
            continue; // MXFP4's tensors belong to no model
        };
        let checkpoint = Checkpoint::open(&folder).unwrap();
        assert_eq!(rows.len(), 7, "{}", folder.display());
        for (name, row) in rows {
            let bytes = STANDARD.decode(row.as_str().unwrap()).unwrap();
            let want = mary_weights::numbers(TensorType::F32, &bytes);
            let got = checkpoint.read_f32(name).unwrap();
            let got = &got[5 * want.len()..][..want.len()];
            for (a, b) in got.iter().zip(&want) {
                let near = (a - b).abs() <= 1e-6 * b.abs();
                assert!(near, "{} {name}: {a} is not {b}", folder.display());
            }
        }
        folders += 1;
    }
    assert_eq!(folders, 20);
}

#[test]
fn what_is_kept_packed_has_its_own_name_and_shape() {
    for name in [
        "gptq",
        "gptq_zeros",
        "awq",
        "ct_int4_zeros",
        "bnb_nf4",
        "fp8_block",
    ] {
        let folder = Folder::read(name);
        let whole = Checkpoint::open(&hub(name)).unwrap();
        let names = whole.tensor_names();
        assert!(
            names
                .iter()
                .all(|n| n.ends_with("weight") || n.ends_with("bias")),
            "{names:?}"
        );
        assert!(names.len() < folder.tensors.len(), "{name}");
        let info = whole.info(&format!("{Q}.weight")).unwrap();
        assert_eq!(info.shape, [64, 64], "{name}");
        assert!(
            info.dtype.is_quantised() && whole.remark().is_none(),
            "{name}"
        );
    }
    let order = Checkpoint::open(&hub("gptq_order")).unwrap();
    assert!(order.remark().unwrap().contains("7 of its 7 gptq matrices"));
}
