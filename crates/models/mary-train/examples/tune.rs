//! Tunes adapters from the command line.
//!
//! `cargo run --release -p mary-train --example tune -- MODEL SET.jsonl OUT [NAME=VALUE …]`
//!
//! Names are epochs, rate, warm-up, schedule (cosine, linear, constant), decay, threads, batch, longest, rank,
//! alpha, dropout, held-out, device (cpu, cuda:N) and dtype (float32, bfloat16). `tools/bench_tune_cuda.py` reads the lines of the steps.

use mary_train::{
    AnswerScore, Decline, Device, NumberType, TrainError, TuneEvent, TuneSettings, tune,
};
use std::io::Write as _;
use std::ops::ControlFlow;

fn summary(scores: &[AnswerScore]) -> String {
    let count = scores.len().max(1) as f64;
    let mean = scores.iter().map(|s| s.log_probability).sum::<f64>() / count;
    let right = scores.iter().filter(|s| s.greedy).count();
    format!(
        "{right} of {} answers right, mean log-probability {mean:.3}",
        scores.len()
    )
}

fn choose(settings: &mut TuneSettings, arg: &str) -> Result<(), TrainError> {
    let wrong = || TrainError::Settings(format!("`{arg}` is not understood: expected name=value"));
    let (name, value) = arg.split_once('=').ok_or_else(wrong)?;
    let number = || value.parse::<f64>().map_err(|_| wrong());
    match name {
        "epochs" => settings.recipe.epochs = number()? as usize,
        "rate" => settings.recipe.optimizer.rate = number()?,
        "warm-up" => settings.recipe.warm_up = number()? as u64,
        "schedule" => {
            settings.recipe.decline = match value {
                "cosine" => Decline::Cosine,
                "linear" => Decline::Linear,
                "constant" => Decline::Constant,
                _ => return Err(wrong()),
            }
        }
        "decay" => settings.recipe.optimizer.decay = number()?,
        "alpha" => settings.recipe.alpha = number()? as f32,
        "threads" => settings.threads = number()? as usize,
        "batch" => settings.recipe.batch = number()? as usize,
        "longest" => {
            settings.longest = number()? as usize;
            settings.recipe.pack = settings.longest;
        }
        "rank" => settings.recipe.rank = number()? as usize,
        "dropout" => settings.recipe.dropout = number()? as f32,
        "held-out" => settings.recipe.held_out = number()?,
        "device" => {
            settings.device = match value.strip_prefix("cuda:") {
                Some(number) => Device::Cuda(number.parse().map_err(|_| wrong())?),
                None => Device::Cpu,
            }
        }
        "dtype" => {
            settings.numbers = match value {
                "float32" => Some(NumberType::F32),
                "bfloat16" => Some(NumberType::Bf16),
                _ => return Err(wrong()),
            }
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

fn main() -> Result<(), TrainError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, data, out] = args.get(..3).unwrap_or_default() else {
        return Err(TrainError::Settings(
            "usage: tune MODEL SET.jsonl OUT [NAME=VALUE …]".to_owned(),
        ));
    };
    let mut settings = TuneSettings::new(model.into(), data.into(), out.into());
    for arg in args.iter().skip(3) {
        choose(&mut settings, arg)?;
    }
    let mut err = std::io::stderr();
    let report = tune(&settings, &mut |event| {
        let _ = match event {
            TuneEvent::Started {
                trained_parameters,
                conversations,
                steps,
                memory,
                device,
                ..
            } => writeln!(
                err,
                "{trained_parameters} trained parameters, {} + {} conversations, {steps} steps, about {} MB, on {device}",
                conversations.0,
                conversations.1,
                memory / 1_000_000
            ),
            TuneEvent::Note(note) => writeln!(err, "{note}"),
            TuneEvent::Evaluated(held_out) => writeln!(
                err,
                "step {:>5}  held-out loss {:.4}, {:.1} % exact",
                held_out.step,
                held_out.loss,
                100.0 * held_out.exact
            ),
            TuneEvent::Step {
                step,
                loss,
                rate,
                tokens_per_second,
            } => {
                writeln!(
                    err,
                    "step {step:>5}  loss {loss:.6}  rate {rate:.2e}  {tokens_per_second:.0} tokens/s"
                )
            }
        };
        ControlFlow::Continue(())
    })?;
    let _ = writeln!(
        err,
        "before: {}\nafter:  {}",
        summary(&report.before),
        summary(&report.after)
    );
    Ok(())
}
