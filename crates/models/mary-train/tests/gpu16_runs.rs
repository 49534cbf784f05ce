//! Whole runs of tuning on a GPU in 16 bits, of a checkpoint as it lies on a disk: beside the processor,
//! stopped and gone on with, and stopped early. On a GPU where there is one; on an emulated one by
//! `gpu::with_a_gpu::an_emulated_gpu_computes_the_same`.

use crate::gpu::with_a_gpu::gpu;
use crate::gpu16::{llama, off};
use crate::numbers::numbers;
use mary_train::net::Shape;
use mary_train::{Decline, Device, TuneEvent, TuneReport, TuneSettings, tune};
use std::ops::ControlFlow;
use std::path::Path;

/// Writes a checkpoint of a tiny LLaMA in bfloat16, with a tokenizer.
fn checkpoint(folder: &Path) {
    let shape = Shape {
        vocabulary: 300,
        ..llama().shape
    };
    let out = folder.join("model");
    crate::tuning::with_tokenizer(&out);
    let layout = mary_train::net::Layout::new(&shape).expect("a layout");
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = (layout.entries.iter())
        .map(|e| {
            let bytes = numbers(&e.name, &e.dims, false)
                .iter()
                .flat_map(|x| ((x.to_bits() >> 16) as u16).to_le_bytes())
                .collect();
            (e.name.clone(), e.dims.clone(), bytes)
        })
        .collect();
    let views = tensors.iter().map(|(name, dims, bytes)| {
        let view =
            safetensors::tensor::TensorView::new(safetensors::Dtype::BF16, dims.clone(), bytes);
        (name.as_str(), view.expect("a tensor"))
    });
    let file = safetensors::serialize(views, None).expect("serializes");
    std::fs::write(out.join("model.safetensors"), file).expect("written");
    let config = shape.to_config("bfloat16", 0).to_string();
    std::fs::write(out.join("config.json"), config).expect("written");
}

fn settings(folder: &Path, name: &str, device: Device) -> TuneSettings {
    let data = folder.join("set.jsonl");
    let lines: String = (0..12)
        .map(|i| {
            let text = ["the dog", "a cup", "the fox and the hat"][i % 3];
            format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"{text} {i}\"}}, {{\"role\": \"assistant\", \"content\": \"{}\"}}]}}\n", i % 2)
        })
        .collect();
    std::fs::write(&data, lines).expect("written");
    let mut settings = TuneSettings {
        device,
        save_every: 2,
        threads: 2,
        ..TuneSettings::new(folder.join("model"), data, folder.join(name))
    };
    (settings.recipe.epochs, settings.recipe.batch) = (3, 4);
    settings.recipe.held_out = 0.0;
    settings
}

/// The report, and the adapter's file.
fn tuned(settings: &TuneSettings, stop: Option<u64>) -> (TuneReport, Vec<u8>) {
    let report = tune(settings, &mut |event| match event {
        TuneEvent::Started { device, .. } => {
            eprintln!("{}: {device}", settings.out.display());
            ControlFlow::Continue(())
        }
        TuneEvent::Step { step, .. } if Some(step) == stop => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .expect("tunes");
    let path = settings.out.join("adapter_model.safetensors");
    (report, std::fs::read(path).expect("an adapter"))
}

#[test]
fn a_stored_base_is_tuned_stopped_and_gone_on_with() {
    if !gpu() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    checkpoint(folder.path());
    let on = |name, device| settings(folder.path(), name, device);
    let want = tuned(&on("processor", Device::Cpu), None).0.losses;
    let (report, adapter) = tuned(&on("whole", Device::Cuda(0)), None);
    let losses = report.losses;
    assert_eq!((losses.len(), want.len()), (9, 9));
    for (a, b) in losses.iter().zip(&want) {
        assert!(off(*a, *b) < 5e-3, "{losses:?}\n{want:?}");
    }
    let parts = on("parts", Device::Cuda(0));
    tuned(&parts, Some(5));
    let (again, resumed) = tuned(&parts, None);
    assert_eq!(again.losses, losses);
    assert!(resumed == adapter, "the same bits");
}

/// The best adapter is put back on the GPU before the last one is brought from there.
#[test]
fn stopping_early_keeps_the_best_adapter() {
    if !gpu() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    checkpoint(folder.path());
    let on = |name| {
        let mut settings = settings(folder.path(), name, Device::Cuda(0));
        let recipe = &mut settings.recipe;
        (recipe.epochs, recipe.held_out, recipe.warm_up) = (10, 0.25, 0);
        (recipe.decline, recipe.optimizer.rate) = (Decline::Constant, 0.3);
        (recipe.evaluate_every, recipe.patience) = (Some(1), Some(1));
        settings
    };
    let (early, adapter) = tuned(&on("early"), None);
    let best = early
        .best_step
        .expect("a rate of 0.3 does not go on getting better");
    assert_eq!(early.losses.len() as u64, best + 1, "{:?}", early.curve);
    let lowest = early.curve[best as usize - 1].loss;
    let tokens: usize = early.after.iter().map(|s| s.tokens).sum();
    let loss = -early.after.iter().map(|s| s.log_probability).sum::<f64>() / tokens as f64;
    assert!(off(loss, lowest) < 1e-9, "{loss}: {:?}", early.curve);
    let (_, there) = tuned(&on("stopped"), Some(best));
    assert!(adapter == there, "the adapter of step {best}, bit for bit");
    let (_, later) = tuned(&on("later"), Some(best + 1));
    assert!(adapter != later, "the last step changed something");
}
