//! Tunes adapters from the command line.
//!
//! `cargo run --release -p mary-train --example tune -- MODEL SET.jsonl OUT [EPOCHS] [RATE] [THREADS]`

use mary_train::{AnswerScore, TrainError, TuneEvent, TuneSettings, tune};
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

fn main() -> Result<(), TrainError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, data, out] = args.get(..3).unwrap_or_default() else {
        return Err(TrainError::Settings(
            "usage: tune MODEL SET.jsonl OUT [EPOCHS] [RATE] [THREADS]".to_owned(),
        ));
    };
    let mut settings = TuneSettings::new(model.into(), data.into(), out.into());
    let number = |at: usize| args.get(at).and_then(|a| a.parse::<f64>().ok());
    settings.epochs = number(3).map_or(settings.epochs, |n| n as usize);
    settings.optimizer.rate = number(4).unwrap_or(settings.optimizer.rate);
    settings.threads = number(5).map_or(settings.threads, |n| n as usize);
    let mut err = std::io::stderr();
    let report = tune(&settings, &mut |event| {
        let _ = match event {
            TuneEvent::Started {
                trained_parameters,
                conversations,
                steps,
                memory,
                ..
            } => writeln!(
                err,
                "{trained_parameters} trained parameters, {} + {} conversations, {steps} steps, about {} MB",
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
                    "step {step:>5}  loss {loss:.4}  rate {rate:.2e}  {tokens_per_second:.0} tokens/s"
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
