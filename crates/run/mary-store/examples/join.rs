//! How long it takes to join the shards of a large run, and how much memory:
//! `cargo run --release -p mary-store --example join [SAMPLES] [SHARDS]`.
//!
//! Writes the samples (about 1.1 KB each) into shards of a run in a temporary folder, joins them twice,
//! and prints seconds and the process's peak memory before and after. Linux only: the peak is read from
//! `/proc`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement, not a library"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use mary_store::{RunFolder, ShardPlace, join_shards};

/// Megabytes that the process held at most since the peak was reset.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|l| l.starts_with("VmHWM"))
        .unwrap_or_default();
    let kilobytes: f64 = line
        .split_whitespace()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0.0);
    kilobytes / 1024.0
}

fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn main() {
    let number = |place: usize, usual: usize| {
        std::env::args()
            .nth(place)
            .map_or(usual, |a| a.parse().unwrap())
    };
    let (n, shards) = (number(1, 1_000_000), number(2, 64));
    let dir = tempfile::tempdir().unwrap();
    let whole = RunFolder::found(dir.path(), &support::manifest("run-1")).unwrap();
    let mut one = support::sample(0);
    one.judgement.notes = "x".repeat(400).into();
    for shard in 0..shards {
        let place = ShardPlace::new(whole.path(), shard, shards);
        let mut folder = RunFolder::create_or_open_at(&place.path, whole.manifest()).unwrap();
        for i in (0..n).filter(|i| i % shards == shard) {
            one.id.item = format!("item-{i:07}");
            one.item.id.clone_from(&one.id.item);
            folder.append(&one).unwrap();
        }
        folder.flush().unwrap();
    }
    for what in ["join", "join again"] {
        reset_peak();
        let before = peak();
        let start = Instant::now();
        let report = join_shards(whole.path()).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{what:<12} {:>9} samples from {shards} shards: {seconds:>7.1} s, {:>9.0} /s; peak {before:.0} MB before, {:.0} MB after",
            report.samples,
            report.samples as f64 / seconds,
            peak()
        );
    }
    let bytes = std::fs::metadata(whole.path().join("samples.jsonl"))
        .unwrap()
        .len();
    println!("log: {:.2} GB", bytes as f64 / 1e9);
}
