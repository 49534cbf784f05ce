//! Prints how long a big report takes and how a list of a million samples answers:
//! `cargo run --release -p mary-report --example scale`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::sync::Arc;
use std::time::Instant;

use mary_contract::Sample;
use mary_report::{
    OutcomeClass,
    html::{ReportOptions, report},
    viewer::{Filter, IndexedSource, Order, RunEntry, RunList, SampleLog, SourceError},
};

/// Makes its samples as they are read, so that only the index takes memory.
struct Made(Arc<fixture::Bench>);

impl SampleLog for Made {
    fn runs(&self) -> Result<RunList, SourceError> {
        self.run("").map(|run| vec![run].into())
    }

    fn run(&self, _run: &str) -> Result<RunEntry, SourceError> {
        Ok(RunEntry {
            manifest: self.0.run.manifest.clone(),
            samples: 0,
            complete: true,
            name: "made".into(),
            bytes: 0,
            report: false,
            summary: None,
        })
    }

    fn report(&self, _run: &str) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(None)
    }

    fn scan(
        &self,
        _run: &str,
        from: u64,
        each: &mut dyn FnMut(u64, &Sample),
    ) -> Result<u64, SourceError> {
        let mut next = from;
        if from > 0 {
            return Ok(from);
        }
        for s in self.0.samples() {
            each(next, &s);
            next += 1;
        }
        Ok(next)
    }

    fn read(&self, _run: &str, place: u64) -> Result<Sample, SourceError> {
        self.0
            .samples()
            .nth(place as usize)
            .ok_or_else(|| SourceError::NotFound("gone".into()))
    }
}

fn main() {
    let names: Vec<String> = (0..20).map(|k| format!("hf/lab/model-{k:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bench = fixture::bench(&names, 1667);
    let begun = Instant::now();
    let made = bench.samples().count();
    let making = begun.elapsed();
    let begun = Instant::now();
    let stats = report(
        std::slice::from_ref(&bench.run),
        &[],
        &mut bench.tagged(),
        &ReportOptions::default(),
        &mut std::io::sink(),
    )
    .unwrap();
    println!(
        "report: {made} samples, 20 models: {:.2} s (of which {:.2} s making the samples up), {:.1} MB, {} kept",
        begun.elapsed().as_secs_f64(),
        making.as_secs_f64(),
        stats.bytes as f64 / 1e6,
        stats.samples_kept
    );

    let bench = Arc::new(fixture::bench(&names, 8334));
    let source = IndexedSource::new(Made(Arc::clone(&bench)));
    let run = bench.run.manifest.id.clone();
    let before = memory();
    let timed = |what: &str, filter: &Filter, offset: usize| {
        let begun = Instant::now();
        let page = source.page(&run, filter, offset, 50).unwrap();
        println!(
            "{what}: {} of {} samples in {:.1} ms",
            page.lines.len(),
            page.total,
            begun.elapsed().as_secs_f64() * 1e3
        );
    };
    timed("first look (reads the log)", &Filter::default(), 0);
    println!("the index takes about {} MB", (memory() - before) / 1024);
    let none = Filter {
        text: Some("no such words".into()),
        ..Filter::default()
    };
    timed("page 10,000", &Filter::default(), 499_950);
    timed(
        "wrong ones",
        &Filter {
            outcomes: vec![OutcomeClass::Wrong],
            ..Filter::default()
        },
        0,
    );
    timed(
        "search",
        &Filter {
            text: Some("lantern".into()),
            ..Filter::default()
        },
        1000,
    );
    timed("search without a hit", &none, 0);
    timed(
        "flipped",
        &Filter {
            flipped: Some((names[0].into(), names[2].into())),
            ..Filter::default()
        },
        0,
    );
    for (what, order) in [
        ("by margin", Order::MarginNear),
        ("by verdict", Order::Verdict),
    ] {
        let filter = Filter {
            order,
            ..Filter::default()
        };
        timed(what, &filter, 1000);
    }
    timed(
        "models disagree",
        &Filter {
            disagreed: true,
            ..Filter::default()
        },
        0,
    );
    timed(
        "flipped, again",
        &Filter {
            flipped: Some((names[0].into(), names[2].into())),
            ..Filter::default()
        },
        50,
    );
}

/// Resident memory in KiB, where the system says.
fn memory() -> i64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text
        .lines()
        .find(|l| l.starts_with("VmRSS"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}
