//! Attacks with files and replies that are nearly right: mutations that keep most of a file's
//! structure ([`mutate`]), the readers they are tried on ([`targets`]), and the promises that are
//! watched meanwhile ([`watch`]): no panic, at most a gigabyte above the file's size, at most ten
//! seconds of processor time.
//!
//! `cargo run -p mary-fuzz --example fuzz -- CASES SEED` runs as long as one likes; the example `watched`
//! tries tokenizers, adapters and imports in processes of their own; the crate's test runs a bounded part
//! with fixed seeds. Tests only.

pub mod mutate;
pub mod targets;
pub mod watch;

use targets::Target;
use watch::{Watched, watched};

#[derive(Debug, Default)]
pub struct Findings {
    /// By target: its name, cases, cases that were read as if nothing were wrong, and the most
    /// memory and processor time a case took.
    pub rows: Vec<Row>,
    /// What broke a promise, with what is needed to see it again.
    pub broken: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Row {
    pub target: &'static str,
    pub cases: usize,
    /// Of these, read without an error.
    pub accepted: usize,
    /// Most bytes above the size of the file.
    pub bytes: usize,
    /// Most processor time, in milliseconds.
    pub millis: u64,
}

/// Most bytes a reader may take above the size of its file.
pub const MOST_BYTES: usize = 1 << 30;
/// Most processor time a case may take.
pub const MOST_MILLIS: u64 = 10_000;

/// Tries `cases` mutations on each target, from this seed.
pub fn run(targets: &mut [Target], cases: usize, seed: u64) -> Findings {
    let mut findings = Findings::default();
    for target in targets {
        let mut row = Row {
            target: target.name,
            ..Row::default()
        };
        for case in 0..cases {
            let mut dice = mutate::Dice::new(seed, target.name, case);
            let bytes = target.make(&mut dice);
            let size = bytes.len();
            let Watched {
                accepted,
                panicked,
                bytes,
                millis,
            } = watched(|| target.read(&bytes));
            row.cases += 1;
            row.accepted += usize::from(accepted);
            row.bytes = row.bytes.max(bytes.saturating_sub(size));
            row.millis = row.millis.max(millis);
            let mut tell = |what: String| {
                findings
                    .broken
                    .push(format!("{} case {case} seed {seed}: {what}", target.name));
            };
            if let Some(message) = panicked {
                tell(format!("panicked: {message}"));
            }
            if bytes.saturating_sub(size) > MOST_BYTES {
                tell(format!("took {} MiB for {size} bytes", bytes >> 20));
            }
            if millis > MOST_MILLIS {
                tell(format!("took {millis} ms"));
            }
        }
        findings.rows.push(row);
    }
    findings
}
