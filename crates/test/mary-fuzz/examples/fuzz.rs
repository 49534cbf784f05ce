//! `cargo run -p mary-fuzz --example fuzz -- CASES SEED [TARGET]`: so many cases on every reader (or
//! on those whose name holds TARGET), and a table of what was found.
#![allow(clippy::print_stdout, reason = "a program whose purpose is a table")]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use mary_fuzz::watch::Counting;
use mary_fuzz::{run, targets};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let mut number = |default: u64| words.next().and_then(|w| w.parse().ok()).unwrap_or(default);
    let (cases, seed) = (number(1_000), number(1));
    let wanted = std::env::args().nth(3).unwrap_or_default();
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mary-weights/tests/golden");
    let mut targets = match targets::all(&golden) {
        Ok(targets) => targets,
        Err(error) => {
            println!("cannot begin: {error}");
            return ExitCode::FAILURE;
        }
    };
    targets.retain(|t| t.name.contains(&wanted));
    // Panics that a reader catches itself are no findings and need not be printed.
    std::panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let findings = run(&mut targets, usize::try_from(cases).unwrap_or(0), seed);
    println!(
        "{:<20} {:>7} {:>9} {:>12} {:>9}",
        "target", "cases", "accepted", "most MiB", "most ms"
    );
    for row in &findings.rows {
        println!(
            "{:<20} {:>7} {:>9} {:>12.1} {:>9}",
            row.target,
            row.cases,
            row.accepted,
            row.bytes as f64 / f64::from(1 << 20),
            row.millis
        );
    }
    let total: usize = findings.rows.iter().map(|r| r.cases).sum();
    println!(
        "{total} cases, {} findings, {:.0} s",
        findings.broken.len(),
        start.elapsed().as_secs_f64()
    );
    for broken in &findings.broken {
        println!("{broken}");
    }
    if findings.broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
