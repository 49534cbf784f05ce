//! `cargo run -p mary-fuzz --example watched -- CASES SEED [WORD …]`: so many cases, divided over the
//! readers whose names hold one of the words (tokenizer, adapter, import), each batch in a process of its
//! own under a limit of the system. What is watched is the memory that the process really takes and its
//! processor time, in every thread and every library, whether or not it goes through Rust's allocator.
#![allow(clippy::print_stdout, reason = "a program whose purpose is a table")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mary_fuzz::mutate::Dice;
use mary_fuzz::targets::{self, Target};
use mary_fuzz::watch::watched;
use mary_fuzz::{MOST_BYTES, MOST_MILLIS};

/// Cases in one process.
const BATCH: usize = 700;
/// Address space of a process, in KiB: a safety net far above what is a finding.
const SPACE: u64 = 8 << 20;
/// How often a silent process is looked at. It hangs when it took no processor time since the last look, or
/// far more than a case may; a busy machine is no finding.
const LOOK: Duration = Duration::from_secs(60);
const HANGS: u64 = 6 * MOST_MILLIS;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| -> usize {
        let word = words.get(at).and_then(|w| w.parse().ok());
        word.unwrap_or(default)
    };
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mary-weights/tests/golden");
    let mut all = match targets::files(&golden) {
        Ok(all) => all,
        Err(error) => {
            println!("cannot begin: {error}");
            return ExitCode::FAILURE;
        }
    };
    if words.first().is_some_and(|w| w == "child") {
        let name = words.get(1).map(String::as_str).unwrap_or_default();
        if let Some(target) = all.iter_mut().find(|t| t.name == name) {
            child(target, number(2, 0)..number(3, 0), number(4, 1));
        }
        return ExitCode::SUCCESS;
    }
    let (cases, seed) = (number(0, 10_000), number(1, 1));
    let mut wanted: Vec<&str> = words.iter().skip(2).map(String::as_str).collect();
    if wanted.is_empty() {
        wanted = vec!["tokenizer", "adapter", "import", "sentencepiece"];
    }
    all.retain(|t| wanted.iter().any(|w| t.name.contains(w)));
    let each = cases.div_ceil(all.len().max(1));
    println!(
        "{:<26} {:>6} {:>9} {:>9} {:>8}",
        "reader", "cases", "accepted", "most MiB", "most ms"
    );
    let mut total = Sum::default();
    for target in &all {
        let mut sum = Sum::default();
        for from in (0..each).step_by(BATCH) {
            batch(target.name, from, (from + BATCH).min(each), seed, &mut sum);
        }
        println!(
            "{:<26} {:>6} {:>9} {:>9.1} {:>8}",
            target.name,
            sum.cases,
            sum.accepted,
            sum.bytes as f64 / f64::from(1 << 20),
            sum.millis
        );
        for broken in &sum.broken {
            println!("  {broken}");
        }
        total.cases += sum.cases;
        total.broken.append(&mut sum.broken);
    }
    println!("{} cases, {} findings", total.cases, total.broken.len());
    match total.broken.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

#[derive(Default)]
struct Sum {
    cases: usize,
    accepted: usize,
    bytes: u64,
    millis: u64,
    broken: Vec<String>,
}

/// Tries a part of the cases, and writes a line before and after each.
fn child(target: &mut Target, cases: std::ops::Range<usize>, seed: usize) {
    // What a reader catches itself is no finding; what comes out of it is told below.
    std::panic::set_hook(Box::new(|_| {}));
    for case in cases {
        let mut dice = Dice::new(seed as u64, target.name, case);
        let bytes = target.make(&mut dice);
        let process = Process::start();
        let seen = watched(|| target.read(&bytes));
        let (taken, millis) = process.taken();
        let panicked = seen.panicked.unwrap_or_default().replace(['\n', '\t'], " ");
        println!("{case}\t{}\t{taken}\t{millis}\t{panicked}", seen.accepted);
        let _ = std::io::stdout().flush();
    }
}

/// Runs a batch in a process; one that dies or hangs is a finding, and the rest of its cases go on in
/// another.
fn batch(name: &str, from: usize, to: usize, seed: usize, sum: &mut Sum) {
    let mut next = from;
    while next < to {
        let done = next;
        let end = one_process(name, &mut next, to, seed, sum);
        if next < to {
            sum.broken
                .push(format!("{name} case {next} seed {seed}: {end}"));
            sum.cases += 1;
            next += 1;
        }
        if next == done {
            return;
        }
    }
}

fn one_process(name: &str, next: &mut usize, to: usize, seed: usize, sum: &mut Sum) -> String {
    let Ok(program) = std::env::current_exe() else {
        return "the program cannot find itself".into();
    };
    let started = Command::new("sh")
        .args(["-c", &format!("ulimit -v {SPACE}; exec \"$0\" \"$@\"")])
        .arg(program)
        .args([
            "child",
            name,
            &next.to_string(),
            &to.to_string(),
            &seed.to_string(),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return format!("no process: {error}"),
    };
    let (send, lines) = channel();
    let Some(out) = child.stdout.take() else {
        return "no output".into();
    };
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let (mut at_line, mut at_look) = (0, 0);
    let ended = loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                count(&line, name, seed, sum);
                *next += 1;
                at_line = processor_millis(&child.id().to_string());
            }
            Err(RecvTimeoutError::Disconnected) => break "the process ended",
            Err(RecvTimeoutError::Timeout) => {
                let now = processor_millis(&child.id().to_string());
                if now > at_look && now < at_line + HANGS {
                    at_look = now;
                    continue;
                }
                // It is ours, by its own handle.
                let _ = child.kill();
                break "the process hung";
            }
        }
    };
    match child.wait() {
        Ok(status) => format!("{ended} ({status})"),
        Err(error) => format!("{ended} ({error})"),
    }
}

fn count(line: &str, name: &str, seed: usize, sum: &mut Sum) {
    let fields: Vec<&str> = line.split('\t').collect();
    let number = |at: usize| -> u64 { fields.get(at).and_then(|f| f.parse().ok()).unwrap_or(0) };
    let (taken, millis) = (number(2), number(3));
    sum.cases += 1;
    sum.accepted += usize::from(fields.get(1) == Some(&"true"));
    sum.bytes = sum.bytes.max(taken);
    sum.millis = sum.millis.max(millis);
    let mut tell = |what: String| {
        let case = number(0);
        sum.broken
            .push(format!("{name} case {case} seed {seed}: {what}"));
    };
    if let Some(panic) = fields.get(4).filter(|p| !p.is_empty()) {
        tell(format!("panicked: {panic}"));
    }
    if taken > MOST_BYTES as u64 {
        tell(format!("took {} MiB", taken >> 20));
    }
    if millis > MOST_MILLIS {
        tell(format!("took {millis} ms"));
    }
}

/// What the whole process takes, as the system counts it: memory that is really there, and processor time
/// of all threads. Zeros where the system does not tell.
struct Process {
    resident: u64,
    millis: u64,
}

impl Process {
    fn start() -> Self {
        // 5 sets the peak back to what is taken now.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Self {
            resident: memory("VmRSS:"),
            millis: processor_millis("self"),
        }
    }

    /// The most bytes since then, above what was taken, and milliseconds of processor time.
    fn taken(&self) -> (u64, u64) {
        let bytes = memory("VmHWM:").saturating_sub(self.resident);
        (bytes, processor_millis("self").saturating_sub(self.millis))
    }
}

fn memory(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) << 10
}

/// Processor time of a process, by its number or `self`.
fn processor_millis(process: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may hold anything; user and system time in hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<u64> = fields
        .split_whitespace()
        .map(|f| f.parse().unwrap_or(0))
        .collect();
    let ticks = fields.get(11).unwrap_or(&0) + fields.get(12).unwrap_or(&0);
    ticks * 10
}
