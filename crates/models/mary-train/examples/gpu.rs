//! Training on a GPU held against training on the processor, and timed.
//!
//! `gpu [--device N] [kernels] [golden FOLDER] [parity] [repeat] [runs] [wide] [once] [time]`
//!
//! - `kernels`: every kernel beside its CPU reference;
//! - `golden`: three steps of the golden files (`tests/golden`), made with PyTorch;
//! - `parity`: loss, every gradient and twenty steps beside the processor's, for whole models and
//!   for adapters with dropout;
//! - `repeat`: twenty steps twice, the same to the last bit;
//! - `runs`: growing and tuning as `mary grow` and `mary tune` do it, moved between GPU and
//!   processor;
//! - `wide`: the gradient of a model with products as long as real ones;
//! - `once`: one step of the Pythia-70M shape, for a profiler;
//! - `time`: tokens a second (`tools/bench_train_cuda.py` puts PyTorch beside it).
//!
//! Ends with 1 where a tolerance is not kept.

use mary_train::net::cuda::check::{Adapting, Multiply, Plan, Trial, kernels, relative};
use mary_train::net::{Activation, Family, Packed, Shape};
use mary_train::{
    AdamW, Device, GrowEvent, GrowSettings, Size, TrainError, TuneSettings, grow, tune,
};
use safetensors::SafeTensors;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

type Outcome = Result<bool, TrainError>;

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn fail(error: impl std::fmt::Display) -> TrainError {
    TrainError::Settings(error.to_string())
}

fn mark(good: bool) -> &'static str {
    if good { "" } else { "   TOO FAR" }
}

fn check_kernels(number: usize) -> Outcome {
    let mut good = true;
    let ways = [Multiply::Own, Multiply::Library, Multiply::Split];
    for (how, short) in ways
        .map(|how| (how, false))
        .into_iter()
        .chain([(Multiply::Own, true), (Multiply::Library, true)])
    {
        for (name, error) in kernels(number, how, short)? {
            let most = match (short, name.starts_with("gradient of attention")) {
                (true, _) => 1e-2,
                (false, true) => 1e-5,
                (false, false) => 2e-6,
            };
            let fine = error < most;
            good &= fine;
            if how == Multiply::Own || name.starts_with("product") {
                let numbers = if short { "bfloat16" } else { "float32" };
                let found = format!("{how:?}, {numbers}: {name}: {error:.1e}");
                say(&format!("{found}{}", mark(fine)));
            }
        }
    }
    Ok(good)
}

/// Windows of tokens without any order.
fn windows(vocabulary: usize, count: usize, length: usize, seed: u64) -> Vec<Packed> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Small tokens are met more often, as in a language.
        let share = (state >> 11) as f64 / (1u64 << 53) as f64;
        ((share * share * vocabulary as f64) as u32).min(vocabulary as u32 - 1)
    };
    (0..count)
        .map(|_| Packed::from_window(&(0..=length).map(|_| next()).collect::<Vec<_>>()))
        .collect()
}

/// Packs of several short texts, of which only a part counts.
fn packs(vocabulary: usize, seed: u64) -> Vec<Packed> {
    let mut out = Vec::new();
    for pack in 0..3 {
        let mut joined = Packed::default();
        for (i, mut text) in windows(vocabulary, 4, 20 + 13 * pack, seed + pack as u64)
            .into_iter()
            .enumerate()
        {
            let start = joined.tokens.len();
            for segment in &mut text.segments {
                segment.start += start;
            }
            let counted = text.targets.len() / (i + 2);
            for (_, weight) in text.targets.iter_mut().take(counted) {
                *weight = 0.0;
            }
            joined.tokens.extend(text.tokens);
            joined.targets.extend(text.targets);
            joined.segments.extend(text.segments);
        }
        out.push(joined);
    }
    out
}

fn llama() -> Shape {
    let mut shape = Shape::neox(512, 128, 3, 4, 256);
    shape.family = Family::Llama;
    shape.kv_heads = 2;
    shape.inner = 352;
    shape.rotary = shape.head_width;
    shape.parallel_residual = false;
    shape.activation = Activation::GatedSilu;
    shape
}

fn plans() -> Vec<(&'static str, Plan)> {
    let nano = Shape::neox(1280, 128, 4, 4, 512);
    let mut sequential = Shape::neox(512, 96, 2, 2, 256);
    sequential.parallel_residual = false;
    sequential.activation = Activation::GeluTanh;
    sequential.tied = false;
    let adapting = |shape: Shape, dropout: f32, targets: &[&str]| Plan {
        adapting: Some(Adapting::new(8, dropout, targets)),
        ..Plan::new(shape)
    };
    let neox = ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"];
    let all = [
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
    ];
    vec![
        ("GPT-NeoX, whole", Plan::new(nano.clone())),
        ("GPT-NeoX, sequential, whole", Plan::new(sequential)),
        ("LLaMA, whole", Plan::new(llama())),
        ("GPT-NeoX, adapters, dropout", adapting(nano, 0.1, &neox)),
        ("LLaMA, adapters, dropout", adapting(llama(), 0.1, &all)),
        (
            "LLaMA, query and value",
            adapting(llama(), 0.0, &["q_proj", "v_proj"]),
        ),
    ]
}

/// One gradient, twenty steps and the answers, here and on the GPU.
fn parity(number: usize, name: &str, plan: &Plan, how: Multiply) -> Outcome {
    let mut here = Trial::new(plan, Device::Cpu, how)?;
    let mut there = Trial::new(plan, Device::Cuda(number), how)?;
    let texts = match plan.adapting {
        Some(_) => packs(plan.shape.vocabulary, 5),
        None => windows(plan.shape.vocabulary, 3, 200, 5),
    };
    let (loss, norm, want) = here.gradient(&texts)?;
    let (card_loss, card_norm, got) = there.gradient(&texts)?;
    let mut worst = (0.0f64, String::new());
    let tensors = there.tensors(&got);
    for ((tensor, got), (_, want)) in tensors.iter().zip(here.tensors(&want)) {
        // The bias of keys has a true gradient of zero where keys are not rotated: rounding alone.
        let error = relative(got, want);
        if error.is_nan() || error > worst.0 {
            worst = (error, tensor.clone());
        }
    }
    there.at_once(200, 1);
    let (_, _, halved) = there.gradient(&texts)?;
    there.at_once(65_536, 64);
    let split = relative(&halved, &got);
    let of_loss = ((card_loss - loss) / loss).abs();
    let of_norm = ((card_norm - norm) / norm).abs();
    let mut steps = 0.0f64;
    for _ in 0..20 {
        let (a, b) = (here.step(&texts)?, there.step(&texts)?);
        steps = steps.max(((a.0 - b.0) / a.0).abs());
    }
    let answers = |trial: &mut Trial| -> Result<Vec<f32>, TrainError> {
        Ok(trial
            .answers(&texts)?
            .concat()
            .iter()
            .map(|a| a.0)
            .collect())
    };
    let of_answers = relative(&answers(&mut there)?, &answers(&mut here)?);
    let good = worst.0 <= 1e-4
        && of_loss <= 1e-5
        && of_norm <= 1e-4
        && steps <= 1e-4
        && of_answers <= 1e-3;
    let good = good && split <= 1e-4;
    say(&format!(
        "{how:?}: {name}: loss {of_loss:.1e}, norm {of_norm:.1e}, worst gradient {:.1e} ({}), in parts {split:.1e}, losses of 20 steps {steps:.1e}, answers {of_answers:.1e}{}",
        worst.0,
        worst.1,
        mark(good)
    ));
    Ok(good)
}

fn repeat(number: usize, plan: &Plan, how: Multiply) -> Outcome {
    let run = || -> Result<Vec<u32>, TrainError> {
        let mut trial = Trial::new(plan, Device::Cuda(number), how)?;
        for step in 0..20 {
            trial.step(&windows(plan.shape.vocabulary, 16, 256, step))?;
        }
        Ok(trial.trained()?.iter().map(|x| x.to_bits()).collect())
    };
    let same = run()? == run()?;
    say(&format!(
        "{how:?}: twenty steps twice: the same bits: {same}"
    ));
    Ok(same)
}

/// The shape of a golden file, which is GPT-NeoX or LLaMA.
fn golden_shape(config: &serde_json::Value) -> Shape {
    let count = |name: &str| config[name].as_u64().unwrap_or(0) as usize;
    let mut shape = Shape::neox(
        count("vocab_size"),
        count("hidden_size"),
        count("num_hidden_layers"),
        count("num_attention_heads"),
        count("max_position_embeddings"),
    );
    shape.inner = count("intermediate_size");
    shape.tied = config["tie_word_embeddings"].as_bool().unwrap_or(false);
    if config["model_type"] == "llama" {
        shape.family = Family::Llama;
        shape.kv_heads = count("num_key_value_heads");
        shape.head_width = count("head_dim");
        shape.rotary = shape.head_width;
        shape.parallel_residual = false;
        shape.activation = Activation::GatedSilu;
    }
    shape
}

/// Three steps of a golden file.
fn golden(number: usize, file: &Path, how: Multiply) -> Outcome {
    let bytes = std::fs::read(file).map_err(fail)?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(fail)?;
    let text = header.metadata().as_ref().and_then(|m| m.get("golden"));
    let settings: serde_json::Value =
        serde_json::from_str(text.ok_or_else(|| fail("no settings"))?).map_err(fail)?;
    let number_of = |key: &str| settings[key].as_f64().unwrap_or(f64::NAN);
    let tensors = SafeTensors::deserialize(&bytes).map_err(fail)?;
    let shape = golden_shape(&settings["config"]);
    let mut plan = Plan::new(shape.clone());
    plan.optimizer = AdamW {
        rate: number_of("rate"),
        beta1: number_of("beta1"),
        beta2: number_of("beta2"),
        eps: number_of("eps"),
        decay: number_of("decay"),
        clip: number_of("clip"),
    };
    let layout = mary_train::net::Layout::new(&shape)?;
    let flat = |prefix: &str| -> Result<Vec<f32>, TrainError> {
        let mut out = Vec::new();
        for entry in &layout.entries {
            let view = tensors.tensor(&format!("{prefix}.{}", entry.name));
            let words = view.map_err(fail)?.data().chunks_exact(4);
            out.extend(words.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        }
        Ok(out)
    };
    plan.base = Some(flat("before")?);
    let view = tensors.tensor("tokens").map_err(fail)?;
    let length = view.shape().last().copied().unwrap_or(1);
    let words = view.data().chunks_exact(4);
    let tokens: Vec<u32> = words
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let texts: Vec<Packed> = tokens.chunks(length).map(Packed::from_window).collect();
    let mut trial = Trial::new(&plan, Device::Cuda(number), how)?;
    let (_, _, gradient) = trial.gradient(&texts)?;
    let of_gradient = relative(&gradient, &flat("gradient")?);
    let (mut losses, mut norms) = (0.0f64, 0.0f64);
    for step in 0..3 {
        let (loss, norm) = trial.step(&texts)?;
        let want = |key: &str| settings[key][step].as_f64().unwrap_or(f64::NAN);
        losses = losses.max((loss / want("losses") - 1.0).abs());
        norms = norms.max((norm / want("norms") - 1.0).abs());
    }
    let weights = relative(&trial.trained()?, &flat("after3")?);
    let good = losses <= 1e-4 && norms <= 1e-4 && of_gradient <= 1e-4 && weights <= 1e-3;
    say(&format!(
        "{how:?}: {}: against PyTorch: losses {losses:.1e}, norms {norms:.1e}, gradient {of_gradient:.1e}, weights after three steps {weights:.1e}{}",
        file.display(),
        mark(good)
    ));
    Ok(good)
}

fn pythia(width: usize, layers: usize, heads: usize) -> Shape {
    let mut shape = Shape::neox(50_304, width, layers, heads, 2048);
    shape.rotary = shape.head_width / 4;
    shape.tied = false;
    shape
}

/// One gradient of the Pythia-70M shape here and on the GPU: products as long as real ones.
fn wide(number: usize) -> Outcome {
    let plan = Plan::new(pythia(512, 6, 8));
    let texts = windows(plan.shape.vocabulary, 4, 512, 5);
    let (_, _, want) = Trial::new(&plan, Device::Cpu, Multiply::Own)?.gradient(&texts)?;
    let mut good = true;
    for how in [Multiply::Library, Multiply::Split] {
        let mut there = Trial::new(&plan, Device::Cuda(number), how)?;
        let (_, _, got) = there.gradient(&texts)?;
        let worst = (there.tensors(&got).iter())
            .zip(there.tensors(&want))
            .map(|((_, got), (_, want))| relative(got, want))
            .fold(0.0, f64::max);
        let fine = worst <= 1e-4;
        good &= fine;
        say(&format!(
            "{how:?}: Pythia-70M's shape, whole: gradient {:.1e}, worst tensor {worst:.1e}{}",
            relative(&got, &want),
            mark(fine)
        ));
    }
    Ok(good)
}

/// Tokens a second of one shape, and how far the gradients of the two ways of multiplying differ.
fn time(number: usize, name: &str, shape: Shape, (batch, length): (usize, usize)) -> Outcome {
    let mut gradients = Vec::new();
    for how in [Multiply::Library, Multiply::Split] {
        let mut plan = Plan::new(shape.clone());
        plan.optimizer.rate = 1e-4;
        let mut trial = Trial::new(&plan, Device::Cuda(number), how)?;
        let texts = windows(shape.vocabulary, batch, length, 1);
        gradients.push(trial.gradient(&texts)?.2);
        let (mut times, mut loss) = (Vec::new(), 0.0);
        for step in 0..12 {
            let begun = Instant::now();
            (loss, _) = trial.step(&texts)?;
            if step >= 3 {
                times.push(begun.elapsed().as_secs_f64());
            }
        }
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
        let rate = (batch * length) as f64 / median;
        say(&format!(
            "time {name} {batch}x{length} {how:?} {rate:.0} tokens/s, {:.2} ms a step, loss {loss:.4}",
            median * 1e3
        ));
    }
    let apart = match gradients.as_slice() {
        [single, parts] => relative(parts, single),
        _ => f64::NAN,
    };
    let good = apart < 1e-4;
    say(&format!(
        "{name}: gradients of the two ways {apart:.1e} apart{}",
        mark(good)
    ));
    Ok(good)
}

/// A run begun on the GPU goes on on the processor, and the other way round; a model is tuned on
/// both. Losses are those of a run on the processor alone.
fn runs(number: usize) -> Outcome {
    let folder = std::env::temp_dir().join(format!("mary-gpu-{}", std::process::id()));
    let part = |name: &str, devices: [Device; 2]| -> Result<Vec<f64>, TrainError> {
        let mut settings = GrowSettings::new(folder.join(name), Size::named("pico")?, 40);
        settings.course.batch = 4;
        let mut losses = Vec::new();
        for (device, until) in devices.into_iter().zip([20, 40]) {
            settings.device = device;
            let report = grow(&settings, &mut |event| {
                if let GrowEvent::Started {
                    device, from_step, ..
                } = &event
                {
                    say(&format!("{name}: from step {from_step} on {device}"));
                }
                match event {
                    GrowEvent::Step { step, .. } if step == until => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            })?;
            losses.extend(report.losses);
        }
        Ok(losses)
    };
    let gpu = Device::Cuda(number);
    let want = part("processor", [Device::Cpu, Device::Cpu])?;
    let there = part("gpu", [gpu, gpu])?;
    let mixed = part("gpu-then-processor", [gpu, Device::Cpu])?;
    let back = part("processor-then-gpu", [Device::Cpu, gpu])?;
    let worst = |got: &[f64]| {
        let each = got.iter().zip(&want).map(|(a, b)| (a / b - 1.0).abs());
        each.fold(
            if got.len() == want.len() {
                0.0
            } else {
                f64::NAN
            },
            f64::max,
        )
    };
    let lines: String = (0..48)
        .map(|i| {
            let (a, b) = (i % 7 + 2, i % 5 + 1);
            format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"{a} and {b} make\"}}, {{\"role\": \"assistant\", \"content\": \"{}\"}}]}}\n", a + b)
        })
        .collect();
    let data = folder.join("sums.jsonl");
    std::fs::write(&data, lines).map_err(fail)?;
    let tuned = |device: Device, name: &str| -> Result<(Vec<f64>, Vec<f64>), TrainError> {
        let model = folder.join("processor/step40");
        let mut settings = TuneSettings::new(model, data.clone(), folder.join(name));
        settings.device = device;
        let report = tune(&settings, &mut |_| ControlFlow::Continue(()))?;
        let after = report.after.iter().map(|a| a.log_probability).collect();
        Ok((report.losses, after))
    };
    let (here, there_tuned) = (tuned(Device::Cpu, "a")?, tuned(gpu, "b")?);
    let apart = |a: &[f64], b: &[f64]| {
        let each = a.iter().zip(b).map(|(a, b)| (a / b - 1.0).abs());
        each.fold(if a.len() == b.len() { 0.0 } else { f64::NAN }, f64::max)
    };
    let found = [
        worst(&there),
        worst(&mixed),
        worst(&back),
        apart(&there_tuned.0, &here.0),
        apart(&there_tuned.1, &here.1),
    ];
    let good = found.iter().all(|error| *error < 1e-3);
    say(&format!(
        "runs against the processor's: grown on the GPU {:.1e}, GPU then processor {:.1e}, processor then GPU {:.1e}; tuned on the GPU: losses {:.1e}, held-out answers {:.1e}{}",
        found[0],
        found[1],
        found[2],
        found[3],
        found[4],
        mark(good)
    ));
    let _ = std::fs::remove_dir_all(folder);
    Ok(good)
}

fn main() -> Result<(), TrainError> {
    let mut args = std::env::args().skip(1);
    let (mut number, mut good) = (0, true);
    while let Some(arg) = args.next() {
        let fine = match arg.as_str() {
            "--device" => {
                number = args.next().and_then(|n| n.parse().ok()).unwrap_or(0);
                Ok(true)
            }
            "kernels" => check_kernels(number),
            "golden" => {
                let folder = args.next().unwrap_or_default();
                let file = |name: &str| Path::new(&folder).join(format!("{name}.safetensors"));
                let mut all = true;
                for how in [Multiply::Library, Multiply::Own] {
                    all &=
                        golden(number, &file("neox"), how)? & golden(number, &file("llama"), how)?;
                }
                Ok(all)
            }
            "parity" => plans().iter().try_fold(true, |all, (name, plan)| {
                let mut fine = parity(number, name, plan, Multiply::Library)?;
                fine &= parity(number, name, plan, Multiply::Own)?;
                Ok(all & fine)
            }),
            "repeat" => {
                let plan = Plan::new(Shape::neox(1280, 128, 4, 4, 512));
                let mut all = true;
                for how in [Multiply::Library, Multiply::Split, Multiply::Own] {
                    all &= repeat(number, &plan, how)?;
                }
                Ok(all)
            }
            "runs" => runs(number),
            "wide" => wide(number),
            "once" => {
                let mut plan = Plan::new(pythia(512, 6, 8));
                plan.optimizer.rate = 1e-4;
                let mut trial = Trial::new(&plan, Device::Cuda(number), Multiply::Split)?;
                trial.step(&windows(50_304, 32, 512, 1))?;
                Ok(true)
            }
            "time" => {
                let nano = || Shape::neox(1280, 128, 4, 4, 512);
                let fine = [
                    time(number, "nano", nano(), (16, 512))?,
                    time(number, "nano", nano(), (128, 512))?,
                    time(number, "70m", pythia(512, 6, 8), (32, 512))?,
                    time(number, "70m", pythia(512, 6, 8), (8, 2048))?,
                    time(number, "160m", pythia(768, 12, 12), (32, 512))?,
                ];
                Ok(fine.iter().all(|f| *f))
            }
            other => Err(fail(format!("`{other}` is not a check"))),
        };
        match fine {
            Ok(fine) => good &= fine,
            Err(error) => {
                say(&format!("{arg}: {error}"));
                good = false;
            }
        }
    }
    say(if good { "all kept" } else { "NOT all kept" });
    std::process::exit(i32::from(!good));
}
