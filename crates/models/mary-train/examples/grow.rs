//! Grows a model from the command line, with a plain line of progress.
//!
//! `cargo run --release -p mary-train --example grow -- --size nano --out DIR --steps N`

use mary_train::{GrowEvent, GrowSettings, Size, TextSource, TrainError, grow};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const USAGE: &str = "grow --out DIR [--size pico|nano|micro] [--steps N] [--threads T] [--batch B] \
[--seed S] [--rate R] [--warm-up W] [--checkpoint-every N] [--minutes M] [--text FILE]... [--quiet]";

fn fail(message: String) -> TrainError {
    TrainError::Settings(format!("{message}\nusage: {USAGE}"))
}

fn settings(args: &[String]) -> Result<(GrowSettings, bool), TrainError> {
    let value = |name: &str| {
        args.iter()
            .position(|a| a == name)
            .and_then(|at| args.get(at + 1))
            .cloned()
    };
    fn number<T: std::str::FromStr>(
        name: &str,
        text: Option<String>,
    ) -> Result<Option<T>, TrainError> {
        text.map(|t| {
            t.parse()
                .map_err(|_| fail(format!("{name} is not a number: {t}")))
        })
        .transpose()
    }
    let out = value("--out").ok_or_else(|| fail("--out is needed".to_owned()))?;
    let size = Size::named(value("--size").as_deref().unwrap_or("nano"))?;
    let steps = number("--steps", value("--steps"))?.unwrap_or(8000);
    let mut s = GrowSettings::new(out.into(), size, steps);
    s.course.threads = number("--threads", value("--threads"))?.unwrap_or(s.course.threads);
    s.course.batch = number("--batch", value("--batch"))?.unwrap_or(s.course.batch);
    s.course.seed = number("--seed", value("--seed"))?.unwrap_or(s.course.seed);
    s.course.optimizer.rate = number("--rate", value("--rate"))?.unwrap_or(s.course.optimizer.rate);
    s.course.warm_up = number("--warm-up", value("--warm-up"))?.unwrap_or(s.course.warm_up);
    s.course.checkpoint_every = number("--checkpoint-every", value("--checkpoint-every"))?
        .unwrap_or(s.course.checkpoint_every);
    let minutes: Option<f64> = number("--minutes", value("--minutes"))?;
    s.course.stop_after = minutes.map(|m| Duration::from_secs_f64(m * 60.0));
    let texts: Vec<_> = args
        .windows(2)
        .filter(|pair| pair[0] == "--text")
        .map(|pair| pair[1].clone().into())
        .collect();
    if !texts.is_empty() {
        s.source = TextSource::Files(texts);
    }
    Ok((s, args.iter().any(|a| a == "--quiet")))
}

fn main() -> Result<(), TrainError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (settings, quiet) = settings(&args)?;
    let mut last = Instant::now();
    let mut err = std::io::stderr();
    let report = grow(&settings, &mut |event| {
        let _ = match event {
            GrowEvent::Started {
                parameters,
                tokens_per_step,
                memory,
                from_step,
                ..
            } => writeln!(
                err,
                "{parameters} parameters, {tokens_per_step} tokens a step, about {} MB, from step {from_step}",
                memory / 1_000_000
            ),
            GrowEvent::Step {
                step,
                loss,
                rate,
                gradient_norm,
                tokens_per_second,
            } if !quiet && last.elapsed() > Duration::from_secs(5) => {
                last = Instant::now();
                writeln!(
                    err,
                    "step {step:>6}  loss {loss:.4}  rate {rate:.2e}  norm {gradient_norm:.2}  {tokens_per_second:.0} tokens/s"
                )
            }
            GrowEvent::Probed(p) => writeln!(
                err,
                "probe at {}: minimal pairs {:.3}, comparisons {:.3}, distance R2 {:.3} (slope {:+.4})",
                p.step, p.minimal_pairs, p.comparisons, p.distance_r2, p.distance_slope
            ),
            _ => Ok(()),
        };
        ControlFlow::Continue(())
    })?;
    let _ = writeln!(
        err,
        "step {} of {}, {}, {:.0} tokens/s",
        report.step,
        settings.course.steps,
        if report.finished {
            "finished"
        } else {
            "not finished: run again to go on"
        },
        report.tokens_per_second
    );
    Ok(())
}
