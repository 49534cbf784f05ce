//! Three training steps against PyTorch's on the same weights and tokens.
//!
//! The golden files are made by `tools/golden_train.py`.

use crate::net::{Gradients, Net, Packed, Parameters, Workspace};
use crate::optimizer::{AdamW, Moments, reduce, update};
use safetensors::SafeTensors;
use serde_json::Value;
use std::path::PathBuf;

struct Golden {
    bytes: Vec<u8>,
    settings: Value,
}

impl Golden {
    fn open(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(name);
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

    /// The tensors with this prefix, in the order of the net's table.
    fn flat(&self, prefix: &str, net: &Net) -> Vec<f32> {
        let tensors = self.tensors();
        let mut out = Vec::new();
        for entry in &net.layout.entries {
            let view = tensors
                .tensor(&format!("{prefix}.{}", entry.name))
                .expect(&entry.name);
            assert_eq!(view.shape(), entry.dims, "{}", entry.name);
            out.extend(
                view.data()
                    .chunks_exact(4)
                    .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            );
        }
        out
    }

    fn windows(&self) -> Vec<Packed> {
        let tensors = self.tensors();
        let view = tensors.tensor("tokens").expect("tokens");
        let length = view.shape()[1];
        let tokens: Vec<u32> = view
            .data()
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        tokens.chunks(length).map(Packed::from_window).collect()
    }

    fn number(&self, key: &str) -> f64 {
        self.settings[key].as_f64().expect(key)
    }
}

/// Compares tensor by tensor: the largest difference against the tensor's largest number.
///
/// With `gradient`, numbers of the joint bias whose gradient is rounding noise are passed over: the part
/// of a key's bias that is not rotated shifts all scores of a query alike, its true gradient is
/// zero, and Adam turns noise of any size into a full step.
fn compare(net: &Net, what: &str, got: &[f32], want: &[f32], gradient: Option<&[f32]>) {
    for entry in &net.layout.entries {
        let place = entry.place.clone();
        let largest = want[place.clone()]
            .iter()
            .fold(1e-6f32, |m, x| m.max(x.abs()));
        let joint_bias = entry.name.ends_with("query_key_value.bias");
        for i in place.clone() {
            if joint_bias && gradient.is_some_and(|gradient| gradient[i].abs() < 1e-6) {
                continue;
            }
            let error = (got[i] - want[i]).abs() / largest;
            assert!(
                error < 1e-3,
                "{what} of {} at {}: relative error {error}",
                entry.name,
                i - place.start
            );
        }
    }
}

fn three_steps(name: &str) {
    let golden = Golden::open(name);
    let names = golden.tensors();
    let holds = |name: &str| names.tensor(&format!("before.{name}")).is_ok();
    let net = Net::open(&golden.settings["config"], &holds).expect("a net");
    let mut parameters = golden.flat("before", &net);
    let mut moments = Moments::new(parameters.len());
    let adam = AdamW {
        rate: golden.number("rate"),
        beta1: golden.number("beta1"),
        beta2: golden.number("beta2"),
        eps: golden.number("eps"),
        decay: golden.number("decay"),
        clip: golden.number("clip"),
    };
    let groups: Vec<_> = net
        .layout
        .entries
        .iter()
        .map(|e| {
            (
                e.place.clone(),
                if e.dims.len() == 2 { adam.decay } else { 0.0 },
            )
        })
        .collect();
    let gradient = golden.flat("gradient", &net);
    let windows = golden.windows();
    let weight: f64 = windows.iter().map(Packed::weight).sum();
    let mut ws = Workspace::default();
    let mut transposed = Vec::new();
    for step in 1..=3u64 {
        let mut gradients = vec![vec![0.0; parameters.len()]; windows.len()];
        let mut loss = 0.0;
        net.transposed(&parameters, &mut transposed);
        for (packed, gradient) in windows.iter().zip(&mut gradients) {
            let p = Parameters {
                base: &parameters,
                stored: None,
                transposed: Some(&transposed),
                frozen: None,
                adapter: None,
            };
            let mut g = Gradients {
                base: Some(gradient),
                adapter: None,
            };
            let scale = (1.0 / weight) as f32;
            loss += net
                .loss_and_gradient(&p, packed, scale, &mut g, &mut ws)
                .expect("runs");
        }
        let at = (step - 1) as usize;
        let want = golden.settings["losses"][at].as_f64().expect("a loss");
        assert!(
            (loss / weight - want).abs() / want < 1e-4,
            "loss of step {step}: {} {want}",
            loss / weight
        );
        let norm = reduce(&mut gradients);
        let want = golden.settings["norms"][at].as_f64().expect("a norm");
        assert!(
            (norm - want).abs() / want < 1e-3,
            "norm of step {step}: {norm} {want}"
        );
        if step == 1 {
            compare(&net, "gradient", &gradients[0], &gradient, None);
        }
        let numbers = (parameters.as_mut_slice(), gradients[0].as_slice(), norm);
        update(&adam, (step, adam.rate), numbers, &mut moments, &groups);
        if step != 2 {
            let want = golden.flat(&format!("after{step}"), &net);
            compare(
                &net,
                &format!("weights after step {step}"),
                &parameters,
                &want,
                Some(&gradient),
            );
        }
    }
}

#[test]
fn a_gpt_neox_model_trains_as_in_pytorch() {
    three_steps("neox.safetensors");
}

#[test]
fn a_llama_model_trains_as_in_pytorch() {
    three_steps("llama.safetensors");
}
