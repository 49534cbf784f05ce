//! Two figures: throughput against an instant server on this machine, and time against the ideal
//! under a rate limit with faults.
//!
//!     cargo run --release -p mary-remote --example bench_remote [requests]

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Instant;

use mary_contract::{
    Generate, Generated, Job, ModelError, ModelSettings, Prompt, Reply, Sampling, Ticket, WorkQueue,
};
use mary_testkit::faulty_server::{FaultyServer, RateLimit, Script};

struct Questions {
    next: u64,
    end: u64,
    good: u64,
    failed: u64,
    open: HashSet<u64>,
    start: Instant,
    /// Seconds at which a tenth more was answered.
    tenths: Vec<f64>,
}

impl Questions {
    fn new(end: u64) -> Self {
        Self {
            next: 0,
            end,
            good: 0,
            failed: 0,
            open: HashSet::new(),
            start: Instant::now(),
            tenths: Vec::new(),
        }
    }
}

impl WorkQueue<Generate, Generated> for Questions {
    fn next(&mut self) -> Option<Job<Generate>> {
        if self.next >= self.end {
            return None;
        }
        let ticket = Ticket(self.next);
        self.open.insert(self.next);
        self.next += 1;
        let shots = "An example of a question and its answer.\n".repeat(12);
        Some(Job {
            ticket,
            request: Generate {
                prompt: Prompt::chat(format!("{shots}question {}", ticket.0)),
                sampling: Sampling::greedy(16),
            },
        })
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Result<Reply<Generated>, ModelError>,
    ) -> ControlFlow<()> {
        let known = self.open.remove(&ticket.0);
        match answer {
            Ok(_) if known => self.good += 1,
            _ => self.failed += 1,
        }
        if (self.good + self.failed).is_multiple_of((self.end / 10).max(1)) {
            self.tenths.push(self.start.elapsed().as_secs_f64());
        }
        ControlFlow::Continue(())
    }
}

/// Resident memory in MiB, where the system tells.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:"));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

fn run(
    script: Script,
    requests: u64,
    args: &[(&str, &str)],
) -> Result<(Questions, f64, FaultyServer), Box<dyn std::error::Error>> {
    let server = FaultyServer::start(script)?;
    let mut settings = ModelSettings {
        base_url: Some(server.url("/v1")),
        ..ModelSettings::default()
    };
    for (name, value) in args {
        settings.args.insert((*name).into(), (*value).into());
    }
    let providers = mary_remote::providers();
    let provider = providers
        .iter()
        .find(|p| p.name() == "compatible")
        .ok_or("no such provider")?;
    let model = provider.open(&"compatible/scripted".parse()?, &settings)?;
    let generator = model.generator().ok_or("no generator")?;
    let mut queue = Questions::new(requests);
    let start = Instant::now();
    generator.generate(&mut queue);
    Ok((queue, start.elapsed().as_secs_f64(), server))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let requests = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(50_000);
    let instant = || Script {
        reply: std::sync::Arc::new(|_| "yes".into()),
        keeps_accounts: false,
        ..Script::default()
    };
    for share in [5, 1] {
        let (queue, took, _server) = run(instant(), requests / share, &[])?;
        eprintln!(
            "instant server: {} answered, {} failed in {took:.2} s: {:.0} requests/s; resident {:.1} MiB, client and server together",
            queue.good,
            queue.failed,
            queue.good as f64 / took,
            memory()
        );
    }
    for rate in [1000.0, 2000.0] {
        let script = Script {
            fault_rate: 0.3,
            seed: 1,
            rate_limit: Some(RateLimit {
                per_second: rate,
                burst: 100.0,
                advertise: true,
            }),
            ..Script::default()
        };
        let (queue, took, server) = run(script, 10_000, &[("timeout", "0.3")])?;
        let books = server.books();
        let attempts: u32 = books.accounts.values().map(|a| a.attempts).sum();
        let delivered: u32 = books.accounts.values().map(|a| a.delivered).sum();
        let ideal = f64::from(attempts) / rate;
        eprintln!(
            "30 % faults at {rate} requests/s: {} answered, {} failed, {delivered} delivered, {attempts} attempts, {} refused by the limit; {took:.2} s, ideal {ideal:.2} s, ratio {:.2}",
            queue.good,
            queue.failed,
            books.limited,
            took / ideal
        );
        eprintln!("seconds at each tenth: {:.2?}", queue.tenths);
    }
    Ok(())
}
