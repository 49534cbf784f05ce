//! Training throughput against PyTorch, in one run: same model, same machine, same threads.
//!
//! `cargo run --release -p mary-train --example throughput -- PYTHON [SIZE] [THREADS] [ROUNDS]`
//!
//! PYTHON is an interpreter with torch and transformers. Rounds of both alternate, so that a
//! busy machine troubles both alike; the ratio is that of the medians. Our half includes making
//! and encoding the text; PyTorch's trains on ready tokens.

use mary_train::{GrowSettings, Size, TrainError, grow};
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const STEPS: u64 = 4;

fn fail(error: impl std::fmt::Display) -> TrainError {
    TrainError::Settings(error.to_string())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Processor seconds this process has used, on Linux.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = text.rsplit(')').next()?.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}

fn ours(settings: &GrowSettings) -> Result<(f64, f64), TrainError> {
    let _ = std::fs::remove_file(settings.course.out.join("state.safetensors"));
    let mut before = 0.0;
    let report = grow(settings, &mut |_| {
        if before == 0.0 {
            before = processor_seconds().unwrap_or(0.0);
        }
        ControlFlow::Continue(())
    })?;
    let tokens =
        (settings.course.steps as usize * settings.course.batch * settings.size.context) as f64;
    let used = processor_seconds().unwrap_or(f64::NAN) - before;
    Ok((report.tokens_per_second, tokens / used))
}

fn main() -> Result<(), TrainError> {
    let args: Vec<String> = std::env::args().collect();
    let arg =
        |at: usize, default: &str| args.get(at).cloned().unwrap_or_else(|| default.to_owned());
    let python = arg(1, "python3");
    let size = Size::named(&arg(2, "nano"))?;
    let out = std::env::temp_dir().join(format!("mary-throughput-{}", std::process::id()));
    let mut settings = GrowSettings::new(out.clone(), size, STEPS);
    settings.course.threads = arg(3, "2").parse().map_err(fail)?;
    settings.course.probe = false;
    let rounds: usize = arg(4, "5").parse().map_err(fail)?;
    ours(&settings)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/bench_train.py");
    let numbers = [
        settings.course.threads,
        settings.course.batch,
        settings.size.context,
        STEPS as usize,
    ];
    let mut torch = Command::new(python)
        .arg(script)
        .arg(out.join(format!("step{STEPS}")))
        .args(numbers.iter().map(usize::to_string))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(fail)?;
    let mut ask = torch.stdin.take().ok_or_else(|| fail("no pipe"))?;
    let mut lines = BufReader::new(torch.stdout.take().ok_or_else(|| fail("no pipe"))?).lines();
    let mut err = std::io::stderr();
    let mut columns: [Vec<f64>; 4] = Default::default();
    for round in 1..=rounds {
        writeln!(ask).and_then(|()| ask.flush()).map_err(fail)?;
        let line = lines
            .next()
            .ok_or_else(|| fail("PyTorch stopped; is it installed?"))?
            .map_err(fail)?;
        let theirs: serde_json::Value = serde_json::from_str(&line).map_err(fail)?;
        let (wall, processor) = ours(&settings)?;
        let get = |key: &str| {
            theirs
                .get(key)
                .and_then(serde_json::Value::as_f64)
                .unwrap_or(f64::NAN)
        };
        let row = [
            wall,
            get("tokens_per_second"),
            processor,
            get("per_cpu_second"),
        ];
        columns
            .iter_mut()
            .zip(row)
            .for_each(|(column, value)| column.push(value));
        let _ = writeln!(
            err,
            "round {round}: ours {:.0} tokens/s, PyTorch {:.0}",
            row[0], row[1]
        );
    }
    drop(ask);
    let _ = torch.wait();
    let _ = std::fs::remove_dir_all::<PathBuf>(out);
    let [wall, torch_wall, processor, torch_processor] = columns.map(|mut c| median(&mut c));
    let _ = writeln!(
        err,
        "{} threads, median of {rounds} rounds: ours {wall:.0} tokens/s, PyTorch {torch_wall:.0}: ratio {:.2}\n\
         per processor second: ours {processor:.0}, PyTorch {torch_processor:.0}: ratio {:.2}",
        settings.course.threads,
        wall / torch_wall,
        processor / torch_processor
    );
    Ok(())
}
