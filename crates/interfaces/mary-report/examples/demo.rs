//! Writes a report of made-up runs, for looking at:
//! `cargo run -p mary-report --example demo [FILE [MODELS]]`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/fixture/mod.rs"]
mod fixture;

use mary_report::html::{BuiltChapter, ReportOptions, report};

fn main() -> std::io::Result<()> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "demo-report.html".into());
    let bench = match std::env::args()
        .nth(2)
        .and_then(|n| n.parse::<usize>().ok())
    {
        Some(n) => {
            let names: Vec<String> = (0..n).map(|k| format!("hf/lab/model-{k:02}")).collect();
            fixture::bench(&names.iter().map(String::as_str).collect::<Vec<_>>(), 1667)
        }
        None => fixture::usual(),
    };
    let chapters: Vec<BuiltChapter> = fixture::exhibits::all(&bench)
        .into_iter()
        .map(|(id, title, exhibits)| BuiltChapter::new(id, title, exhibits))
        .collect();
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
    let runs = [bench.run.clone()];
    let stats = report(
        &runs,
        &chapters,
        &mut bench.tagged(),
        &ReportOptions::default(),
        &mut file,
    )?;
    println!(
        "{path}: {} of {} samples, {} bytes",
        stats.samples_kept, stats.samples_seen, stats.bytes
    );
    Ok(())
}
