//! 500 simulated people × 40 trials at once, through the real page of a server in a process of its own:
//!
//!     cargo run --release -p mary-study --example crowd            # trials a second and latency
//!     cargo run --release -p mary-study --example crowd -- 30      # the same with 30 kills -9
//!
//! Afterwards every acknowledged answer must be in the store, every list filled as designed, nobody asked
//! twice and no place given twice; the program panics with what does not hold.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program for trying, which may fail loudly"
)]

mod stampede;

use std::path::Path;
use std::process::Command;

use mary_stats::bootstrap::quantile_sorted;
use stampede::{Crowd, make, run, serve};

fn main() {
    let mut words = std::env::args().skip(1);
    let first = words.next();
    if first.as_deref() == Some("serve") {
        serve(Path::new(&words.next().expect("a folder")));
        return;
    }
    let number = |word: Option<String>, usual: usize| word.map_or(usual, |w| w.parse().unwrap());
    let crowd = Crowd {
        kills: number(first, 0),
        people: number(words.next(), 500),
        trials: number(words.next(), 40),
        at_once: number(words.next(), 500),
    };
    let folder = std::env::temp_dir().join(format!("mary-crowd-{}", std::process::id()));
    make(&folder, &crowd);
    let own = std::env::current_exe().unwrap();
    let outcome = run(&folder, &crowd, &|| {
        let mut command = Command::new(&own);
        command.arg("serve").arg(&folder);
        command
    });
    let report = &outcome.report;
    let mut sorted = report.latencies.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |p: f64| 1_000.0 * quantile_sorted(&sorted, p);
    println!(
        "{} people × {} trials, {} at once, {} kills -9: lost = {}, doubled = {}, every list filled as designed\n\
         {:.1} s, {:.0} trials/s acknowledged (and as many pages), {} connections broken and taken up again\n\
         latency of an answer until it is on disk: median {:.1} ms, 95 % {:.1} ms, 99 % {:.1} ms, worst {:.0} ms",
        crowd.people,
        crowd.trials,
        crowd.at_once,
        outcome.killed,
        outcome.lost,
        outcome.doubled,
        report.seconds,
        report.acknowledged.len() as f64 / report.seconds,
        report.broken,
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0)
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
