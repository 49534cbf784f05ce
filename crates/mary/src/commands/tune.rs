//! `mary tune`: LoRA on a local model, with what it did to held-out conversations.

use std::io::IsTerminal;
use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mary_train::{AnswerScore, Storage, TuneEvent, TuneReport, TuneSettings};

use crate::cli::TuneArgs;
use crate::exit::Status;

/// Tunes, saves the adapter and, on request, the merged model.
pub fn tune(args: &TuneArgs) -> anyhow::Result<Status> {
    let mut settings = TuneSettings::new(args.model.clone(), args.data.clone(), args.out.clone());
    settings.rank = args.rank;
    settings.alpha = args.alpha;
    settings.dropout = args.dropout;
    settings.optimizer.rate = args.lr;
    settings.epochs = args.epochs;
    settings.batch = args.batch_size;
    settings.seed = args.seed;
    settings.targets = args.target.clone();
    if let Some(threads) = args.threads {
        settings.threads = threads;
    }
    let terminal = std::io::stderr().is_terminal();
    let target = if terminal {
        ProgressDrawTarget::stderr_with_hz(5)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    if let Ok(style) = ProgressStyle::with_template("step {pos}/{len} {bar:20} {eta} left  {msg}") {
        bar.set_style(style);
    }
    let report = mary_train::tune(&settings, &mut |event| {
        match event {
            TuneEvent::Started {
                base_parameters,
                trained_parameters,
                conversations,
                steps,
                memory,
            } => {
                bar.set_length(steps);
                bar.suspend(|| {
                    super::tell(&format!(
                        "{trained_parameters} of {base_parameters} parameters are trained, on {} conversations ({} kept back), {steps} steps, about {} MB of memory",
                        conversations.0,
                        conversations.1,
                        memory / 1_000_000
                    ));
                });
            }
            TuneEvent::Step {
                step,
                loss,
                tokens_per_second,
                ..
            } => {
                bar.set_position(step);
                bar.set_message(format!("loss {loss:.3}  {tokens_per_second:.0} tokens/s"));
            }
        }
        ControlFlow::Continue(())
    })?;
    bar.finish_and_clear();
    super::tell(&before_and_after(&report)?);
    super::tell(&format!("adapter: {}", args.out.display()));
    if let Some(merged) = &args.merge {
        mary_train::merge(&args.model, &args.out, merged, Storage::F32)?;
        super::tell(&format!(
            "merged model: {0}\ntry it: mary run -m hf/{0}",
            merged.display()
        ));
    }
    Ok(Status::Done)
}

/// Held-out answers before and after, paired, with an interval.
fn before_and_after(report: &TuneReport) -> anyhow::Result<String> {
    let hits = |scores: &[AnswerScore]| -> Vec<f64> {
        scores
            .iter()
            .map(|s| f64::from(u8::from(s.greedy)))
            .collect()
    };
    let (before, after) = (hits(&report.before), hits(&report.after));
    if before.is_empty() {
        return Ok(
            "no conversation was kept back, so there is nothing to say about what it learnt".into(),
        );
    }
    let interval = mary_stats::paired::compare(&after, &before, None, 0)?;
    let percent = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64 * 100.0;
    Ok(format!(
        "held-out answers given exactly: {:.1} % before, {:.1} % after; difference {:+.1} points, 95 % interval {:+.1} to {:+.1} ({} conversations)",
        percent(&before),
        percent(&after),
        interval.difference.value * 100.0,
        interval.difference.low * 100.0,
        interval.difference.high * 100.0,
        before.len()
    ))
}
