//! How quick the store is: `cargo run --release -p mary-store --example measure [SAMPLES]`.
//!
//! Writes a log of a million samples (about 1.1 KB each) into a temporary folder, opens it, reads it
//! in every way, and fills a response cache. Prints one line per figure.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement, not a library"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use mary_contract::Cache as _;
use mary_store::{ExportForm, ResponseCache, RunFolder, export};

fn timed<T>(what: &str, n: usize, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what:<44} {seconds:>8.2} s {:>12.0} /s",
        n as f64 / seconds
    );
    result
}

fn main() {
    let n: usize = std::env::args()
        .nth(1)
        .map_or(1_000_000, |a| a.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let manifest = support::manifest("run-1");
    let mut one = support::sample(0);
    one.judgement.notes = "x".repeat(400).into();
    let mut folder = RunFolder::create_or_open(dir.path(), &manifest).unwrap();
    timed("append", n, || {
        for i in 0..n {
            one.id.item = format!("item-{i:07}");
            one.item.id.clone_from(&one.id.item);
            folder.append(&one).unwrap();
        }
        folder.flush().unwrap();
    });
    let path = folder.path().to_owned();
    drop(folder);
    let bytes = std::fs::metadata(path.join("samples.jsonl")).unwrap().len();
    println!("log of {n} samples: {:.2} GB", bytes as f64 / 1e9);
    let folder = timed("open for appending (heal, ids, duplicates)", n, || {
        RunFolder::resume(&path).unwrap()
    });
    timed("finished_ids, again", n, || {
        folder.finished_ids().unwrap().len()
    });
    timed("verdicts", n, || {
        folder.verdicts().unwrap().map(Result::unwrap).count()
    });
    timed("samples", n, || {
        folder.samples().unwrap().map(Result::unwrap).count()
    });
    timed("export csv", n, || {
        export(&folder, ExportForm::Csv, dir.path()).unwrap()
    });
    let reply = one.exchanges[0].reply.clone().unwrap();
    let keys: Vec<_> = (0..n).map(|i| support::key(&i.to_string())).collect();
    let mut cache = ResponseCache::open(&dir.path().join("cache.sqlite")).unwrap();
    timed("cache keep and flush", n, || {
        for key in &keys {
            cache.keep(key, &reply).unwrap();
        }
        cache.flush().unwrap();
    });
    timed("cache recall", n, || {
        for key in &keys {
            assert!(cache.recall(key).unwrap().is_some());
        }
    });
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!(
        "{}",
        peak.lines()
            .find(|l| l.starts_with("VmHWM"))
            .unwrap_or_default()
    );
}
