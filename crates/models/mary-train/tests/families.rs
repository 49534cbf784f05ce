//! Gradients of every family that is learned, beside PyTorch's on the same tiny models: of all weights,
//! and of adapters on every matrix of the blocks beside PEFT's. The golden files are made by
//! `tools/golden_gradients.py`; weights are made here and there from the name of the tensor.

use crate::numbers::numbers;
use mary_train::net::{AdapterLayout, Frozen, Gradients, Net, Packed, Parameters, Workspace};
use safetensors::SafeTensors;
use serde_json::Value;
use std::path::PathBuf;

/// Largest error of a gradient, of the largest number in its tensor.
const TOLERANCE: f32 = 1e-5;

struct Golden {
    bytes: Vec<u8>,
    settings: Value,
}

impl Golden {
    fn open(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden/gradients")
            .join(format!("{name}.safetensors"));
        let bytes = std::fs::read(path).expect("the golden file");
        let (_, header) = SafeTensors::read_metadata(&bytes).expect("a header");
        let text = header.metadata().as_ref().expect("metadata")["golden"].clone();
        Self {
            settings: serde_json::from_str(&text).expect("settings"),
            bytes,
        }
    }

    fn tensors(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.bytes).expect("tensors")
    }

    fn values(&self, name: &str) -> Vec<f32> {
        let tensors = self.tensors();
        let view = tensors.tensor(name).expect(name);
        let words = view.data().chunks_exact(4);
        words
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    }

    fn net(&self) -> Net {
        let tensors = self.tensors();
        Net::open(&self.settings["config"], &|name| {
            tensors.tensor(name).is_ok()
        })
        .expect("a net")
    }

    /// Both texts packed into one sequence, which must not see each other.
    fn packed(&self) -> Packed {
        let tensors = self.tensors();
        let view = tensors.tensor("tokens").expect("tokens");
        let length = view.shape()[1];
        let words = view.data().chunks_exact(4);
        let tokens: Vec<u32> = words
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        let mut all = Packed::default();
        for text in tokens.chunks(length).map(Packed::from_window) {
            let start = all.tokens.len();
            all.segments
                .extend(text.segments.iter().map(|s| mary_train::net::Segment {
                    start: start + s.start,
                    length: s.length,
                }));
            all.tokens.extend(text.tokens);
            all.targets.extend(text.targets);
        }
        all
    }
}

/// The error of one tensor. A tensor whose true gradient is zero (the bias of keys without positions)
/// holds rounding noise only; it is compared with the largest gradient of the model.
fn error(got: &[f32], want: &[f32], most: f32) -> f32 {
    let largest = want.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    let whole = if largest < 1e-6 * most { most } else { largest };
    let pairs = got.iter().zip(want);
    pairs.fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / whole
}

fn largest_of(values: &[f32]) -> f32 {
    values.iter().fold(0.0f32, |m, x| m.max(x.abs()))
}

/// The largest errors of a family: of the weights' gradient and of the adapters'.
fn check(name: &str) {
    let golden = Golden::open(name);
    let (net, packed) = (golden.net(), golden.packed());
    let base: Vec<f32> = net
        .layout
        .entries
        .iter()
        .flat_map(|e| numbers(&e.name, &e.dims, e.turned))
        .collect();
    let mut transposed = Vec::new();
    net.transposed(&base, &mut transposed);
    let scale = (1.0 / packed.weight()) as f32;
    let mut ws = Workspace::default();
    let p = Parameters {
        base: &base,
        stored: None,
        transposed: Some(&transposed),
        frozen: None,
        adapter: None,
    };
    let mut gradient = vec![0.0; net.layout.total];
    let mut g = Gradients {
        base: Some(&mut gradient),
        adapter: None,
    };
    let loss = net
        .loss_and_gradient(&p, &packed, scale, &mut g, &mut ws)
        .expect("runs");
    let want = golden.settings["loss"].as_f64().expect("a loss");
    let off = (loss / packed.weight() - want).abs() / want;
    assert!(off < 1e-5, "{name}: loss {loss} is off by {off:.1e}");
    let turned = |values: Vec<f32>, dims: &[usize]| -> Vec<f32> {
        let (outputs, inputs) = (dims[0], dims[1]);
        let at = |i: usize| values[i % inputs * outputs + i / inputs];
        (0..values.len()).map(at).collect()
    };
    let golden_of = |entry: &mary_train::net::Entry| match entry.turned {
        true => turned(golden.values(&entry.name), &entry.dims),
        false => golden.values(&entry.name),
    };
    let most = net
        .layout
        .entries
        .iter()
        .map(|e| largest_of(&golden_of(e)))
        .fold(0.0, f32::max);
    let mut worst = (0.0f32, String::new());
    for entry in &net.layout.entries {
        let off = error(&gradient[entry.place.clone()], &golden_of(entry), most);
        if off > worst.0 {
            worst = (off, entry.name.clone());
        }
    }
    eprintln!("{name}: weights {:.1e} ({})", worst.0, worst.1);
    assert!(
        worst.0 <= TOLERANCE,
        "{name}: {} off by {:.1e}",
        worst.1,
        worst.0
    );
    let tensors = golden.tensors();
    let whole = tensors
        .names()
        .iter()
        .filter(|n| !n.contains(".lora_"))
        .count()
        - 1;
    assert_eq!(
        whole,
        net.layout.entries.len(),
        "{name}: every tensor is learned"
    );

    let targets: Vec<String> =
        serde_json::from_value(golden.settings["targets"].clone()).expect("targets");
    let rank = golden.settings["rank"].as_u64().expect("a rank") as usize;
    let alpha = golden.settings["alpha"].as_f64().expect("alpha") as f32;
    let table = AdapterLayout::new(&net.layout, rank, alpha, 0.0, &targets).expect("adapters");
    let names = table.tensors();
    let mut values = vec![0.0; table.total];
    for (tensor, dims, place) in &names {
        values[place.clone()].copy_from_slice(&numbers(tensor, dims, false));
    }
    // Multiplied with vectors, by the quickest unit, and by that with matrices split before.
    let units = [false, true].map(|keep| Frozen::new(&net.layout, &base, None, keep));
    let mut found: Vec<Vec<f32>> = Vec::new();
    for frozen in [None, Some(&units[0]), Some(&units[1])] {
        let mut gradient = vec![0.0; table.total];
        let p = Parameters {
            frozen,
            transposed: p.transposed.filter(|_| frozen.is_none()),
            adapter: Some((&table, &values, None)),
            ..p
        };
        let mut g = Gradients {
            base: None,
            adapter: Some(&mut gradient),
        };
        let loss = net
            .loss_and_gradient(&p, &packed, scale, &mut g, &mut ws)
            .expect("runs");
        let want = golden.settings["adapted"].as_f64().expect("a loss");
        let off = (loss / packed.weight() - want).abs() / want;
        assert!(off < 1e-5, "{name}: loss with adapters is off by {off:.1e}");
        let mut worst = (0.0f32, String::new());
        for (tensor, _, place) in &names {
            let off = error(&gradient[place.clone()], &golden.values(tensor), most);
            if off > worst.0 {
                worst = (off, tensor.clone());
            }
        }
        eprintln!(
            "{name}, {}: adapters {:.1e} ({})",
            ["vectors", "the quickest unit", "split before"][found.len()],
            worst.0,
            worst.1
        );
        assert!(
            worst.0 <= TOLERANCE,
            "{name}: {} off by {:.1e}",
            worst.1,
            worst.0
        );
        found.push(gradient);
    }
    assert!(found[1] == found[2], "{name}: split before, other bits");
    let adapted = tensors
        .names()
        .iter()
        .filter(|n| n.contains(".lora_"))
        .count();
    assert_eq!(adapted, names.len(), "{name}: every matrix is adapted");
}

macro_rules! families {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*
    };
}

families!(
    gpt_neox,
    gpt_neox_sequential,
    gpt2,
    llama,
    llama_llama3,
    mistral,
    qwen2,
    qwen3,
    gemma2,
    gemma3,
    phi,
    phi3,
    opt,
    falcon_7b,
    falcon_new,
);

#[test]
fn what_cannot_be_learned_is_refused_by_name() {
    let config = serde_json::json!({"model_type": "mixtral", "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 8, "vocab_size": 10,
        "max_position_embeddings": 16, "num_local_experts": 2, "num_experts_per_tok": 1});
    let error = Net::open(&config, &|_| true)
        .expect_err("experts")
        .to_string();
    assert!(
        error.contains("Mixtral") && error.contains("experts"),
        "{error}"
    );
    let config = serde_json::json!({"model_type": "bert", "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 10, "max_position_embeddings": 16});
    let error = Net::open(&config, &|_| true)
        .expect_err("an encoder")
        .to_string();
    assert!(
        error.contains("BERT") && error.contains("encoder"),
        "{error}"
    );
}
