//! Ten steps of LoRA on SmolLM2-135M beside PEFT's on the same weights, adapters and tokens, and the same
//! steps on the quantised file of that model, whose blocks are unpacked on the fly.
//!
//! The golden file is made by `tools/golden_lora.py`; the weights are looked for in `MARY_TEST_MODELS`.

use crate::golden_numbers::numbers;
use crate::job::TrainingJob;
use crate::learner::{ComputeSettings, Device, Learner};
use crate::net::{AdapterLayout, Packed, Segment, Work};
use crate::optimizer::{AdamW, Moments};
use crate::tune::Base;
use mary_testkit::Lacking;
use mary_testkit::lacking::test_model;
use serde_json::Value;
use std::path::Path;

fn golden() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/smollm2_lora.json"
    );
    let text = std::fs::read_to_string(path).expect("the golden file");
    serde_json::from_str(&text).expect("json")
}

fn losses(model: &Path, golden: &Value, most: usize) -> Vec<f64> {
    let base = Base::open(model, (Device::Cpu, None), 256).expect("opens");
    let targets: Vec<String> = serde_json::from_value(golden["targets"].clone()).expect("targets");
    let number = |key: &str| golden[key].as_f64().expect(key);
    let (rank, alpha) = (number("rank") as usize, number("alpha") as f32);
    let table = AdapterLayout::new(&base.net.layout, rank, alpha, 0.0, &targets).expect("adapters");
    let mut values = vec![0.0; table.total];
    for (name, dims, place) in table.tensors() {
        if name.ends_with("lora_A.weight") {
            let numbers = numbers(&name, &dims, false);
            values[place].copy_from_slice(&numbers.iter().map(|x| x / 16.0).collect::<Vec<_>>());
        }
    }
    let (flat, stored) = base.numbers().expect("numbers");
    let job = TrainingJob {
        net: base.net,
        base: flat,
        stored,
        moments: Moments::new(table.total),
        optimizer: AdamW {
            rate: number("rate"),
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            decay: 0.0,
            clip: 0.0,
        },
        groups: vec![(0..table.total, 0.0)],
        adapter: Some((table, values)),
    };
    let compute = ComputeSettings {
        device: Device::Cpu,
        threads: 2,
        slots: 2,
        split: true,
    };
    let mut learner = Learner::new(job, &compute).expect("a learner");
    let steps: Vec<Vec<Vec<u32>>> = serde_json::from_value(golden["steps"].clone()).expect("steps");
    let mut found = Vec::new();
    for (step, rows) in steps.iter().take(most).enumerate() {
        let work: Vec<Vec<Work>> = rows
            .iter()
            .map(|row| {
                let packed = Packed::from_window(row);
                assert_eq!(
                    packed.segments,
                    [Segment {
                        start: 0,
                        length: row.len() - 1
                    }]
                );
                vec![Work {
                    packed,
                    noise: None,
                }]
            })
            .collect();
        let weight: f64 = work.iter().flatten().map(|w| w.packed.weight()).sum();
        let rate = number("rate");
        let (loss, _) = learner
            .step(&work, weight, (step as u64 + 1, rate))
            .expect("a step");
        found.push(loss);
    }
    found
}

fn compare(name: &str, model: &Path, steps: usize) {
    let golden = golden();
    let want: Vec<f64> = serde_json::from_value(golden["losses"].clone()).expect("losses");
    let got = losses(model, &golden, steps);
    assert_eq!(got.len(), steps);
    let pairs = got.iter().zip(&want);
    let worst = pairs.fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    eprintln!("{steps} steps of LoRA on {name}: largest difference of a loss {worst:.1e}");
    assert!(worst < 1e-4, "{got:?}\n{want:?}");
}

#[test]
fn ten_steps_of_lora_have_pefts_losses() {
    let Some(model) = test_model("smollm2-135m-hf", Lacking::Extras) else {
        return;
    };
    compare("smollm2-135m-hf", &model, 10);
}

/// The folder holds the numbers of the quantised file, so the same losses are due.
#[test]
fn a_quantised_base_learns_as_the_same_numbers_in_32_bits() {
    let Some(model) = test_model("smollm2-135m.gguf", Lacking::Models) else {
        return;
    };
    compare("smollm2-135m.gguf", &model, 3);
}
