//! `kill -9` while money is spent: a server counts what it answered and what that costs, and its book
//! is held against `spent.json` and the log. The server also repeats the key wherever it can; no file
//! and no line may hold twelve characters of it.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use mary_testkit::raw_server::{Heard, RawServer, Say};
use serde_json::{Value, json};

const KEY: &str = "sk-test-0815-Xq7-nobody-may-see-this";
/// Four hundred questions; `htest` has more than two thousand.
const FEW: &str = "htest/rhyme,htest/end-punctuation";
/// Requests at the server at once, at most.
const CONNECTIONS: usize = 4;
/// Questions that a process has taken and not yet kept, at most: those at the server, those waiting
/// for their turn, and answers on their way to the log.
const TAKEN: usize = CONNECTIONS * 5 / 4 + 4;
/// Dollars for a million tokens, in and out.
const PRICE: (f64, f64) = (10.0, 30.0);

/// What the server answered: prompts with how often each came, and dollars.
#[derive(Default)]
struct Books {
    answered: HashMap<String, usize>,
    dollars: f64,
    total: usize,
    /// So many answers are given and no more, until the test says so: whatever the machine is busy
    /// with, a process is killed at the same point of its work.
    most: usize,
}

type Shared = Arc<(Mutex<Books>, Condvar)>;

fn server(books: &Shared) -> RawServer {
    let books = Arc::clone(books);
    RawServer::start(move |heard: &Heard| {
        if heard.method == "GET" {
            return Say::json(&json!({"data": [{"id": "scripted"}]}));
        }
        let body: Value = serde_json::from_slice(&heard.body).unwrap();
        let prompt = body["messages"].to_string();
        let (read, wrote) = (prompt.len() as u64 / 4, 2u64);
        let sent = heard.headers.iter().find(|(n, _)| n == "authorization");
        let key = sent.map(|(_, v)| v.clone()).unwrap_or_default();
        let (lock, told) = &*books;
        let mut book = lock.lock().unwrap();
        while book.total >= book.most {
            book = told.wait(book).unwrap();
        }
        *book.answered.entry(prompt).or_default() += 1;
        book.dollars += (read as f64 * PRICE.0 + wrote as f64 * PRICE.1) / 1e6;
        book.total += 1;
        told.notify_all();
        Say::Answer(
            200,
            vec![("x-key".into(), key.clone())],
            json!({
                "model": format!("scripted {key}"),
                "choices": [{
                    "message": {"content": "A", "reasoning": format!("I was given {key}, cut: {}", &key[..key.len().min(30)])},
                    "finish_reason": "stop",
                }],
                "usage": {"prompt_tokens": read, "completion_tokens": wrote, "cost": 0.0},
            })
            .to_string()
            .into_bytes(),
        )
    })
    .unwrap()
}

fn mary(home: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .args(["run", "-m", "compatible/scripted", "--base-url", url])
        .args(["-k", "2", "--set", "mode=generate"])
        .args(["--apply-chat-template", "--budget", "1000"])
        .args(["--max-connections", &CONNECTIONS.to_string()])
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("MARY_PRICES", home.join("prices.json"))
        .env("OPENAI_COMPATIBLE_API_KEY", KEY)
        .env_remove("MARY_MODEL");
    command
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn file_named(home: &Path, name: &str) -> Option<PathBuf> {
    let all = files(&home.join("runs"));
    all.into_iter()
        .find(|f| f.file_name().is_some_and(|n| n == name))
}

/// Twelve characters of the key in a row, anywhere in these bytes.
fn leaks(bytes: &[u8]) -> bool {
    KEY.as_bytes()
        .windows(12)
        .any(|piece| bytes.windows(12).any(|w| w == piece))
}

fn spent(home: &Path) -> (f64, f64, f64) {
    let Some(file) = file_named(home, "spent.json") else {
        return (0.0, 0.0, 0.0);
    };
    let value: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap_or_default();
    let number = |name: &str| value[name].as_f64().unwrap_or(0.0);
    (number("dollars"), number("in_flight"), number("unsure"))
}

fn kills(wanted: usize, every: usize, options: &[&str]) {
    let books: Shared = Arc::default();
    let server = server(&books);
    let url = server.url("/v1");
    let home = tempfile::tempdir().unwrap();
    let prices = json!({"updated": "2026-01-01", "source": "a test", "models": [
        {"provider": "compatible", "model": "scripted", "input": PRICE.0, "output": PRICE.1}]});
    std::fs::write(home.path().join("prices.json"), prices.to_string()).unwrap();
    let mut killed = 0;
    let mut printed = Vec::new();
    while killed < wanted {
        let (lock, told) = &*books;
        let goal = lock.lock().unwrap().total + every;
        lock.lock().unwrap().most = goal;
        told.notify_all();
        let mut child = mary(home.path(), &url)
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The moment of the kill is told by the server's book, not by a clock.
        let mut book = lock.lock().unwrap();
        while book.total < goal && child.try_wait().unwrap().is_none() {
            book = told
                .wait_timeout(book, Duration::from_millis(20))
                .unwrap()
                .0;
        }
        drop(book);
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            killed += 1;
        } else {
            panic!("the run was over after {killed} kills");
        }
        child.wait().unwrap();
        // The server may still be writing answers that nobody reads.
        let (dollars, in_flight, unsure) = spent(home.path());
        let paid = books.0.lock().unwrap().dollars;
        assert!(dollars <= paid + 1e-6, "{dollars} spent, {paid} paid");
        assert!(
            paid <= dollars + in_flight + unsure + 1e-6,
            "the server counts {paid}, we {dollars} and at most {in_flight} + {unsure} unsure"
        );
    }
    books.0.lock().unwrap().most = usize::MAX;
    books.1.notify_all();
    let Output {
        status,
        stdout,
        stderr,
    } = mary(home.path(), &url).args(options).output().unwrap();
    printed.extend_from_slice(&stdout);
    printed.extend_from_slice(&stderr);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let report = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(["report"])
        .current_dir(home.path())
        .env("MARY_RUNS", home.path().join("runs"))
        .output()
        .unwrap();
    printed.extend_from_slice(&report.stdout);
    printed.extend_from_slice(&report.stderr);

    let book = books.0.lock().unwrap();
    let again = book.total - book.answered.len();
    let (dollars, in_flight, unsure) = spent(home.path());
    // What the log says was answered, and what that cost.
    let log = std::fs::read_to_string(file_named(home.path(), "samples.jsonl").unwrap()).unwrap();
    let mut logged = HashMap::new();
    for line in log.lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        for exchange in sample["exchanges"].as_array().unwrap() {
            let cost = exchange.pointer("/reply/Ok/meta/usage/cost");
            let cost = cost.or_else(|| exchange.pointer("/reply/ok/meta/usage/cost"));
            let cost = cost.and_then(Value::as_f64).unwrap_or(0.0);
            logged.insert(exchange["key"].to_string(), cost);
        }
    }
    let answered: f64 = logged.values().sum();
    eprintln!(
        "{killed} kills: {} questions, {} answers by the server, {again} asked again; the server \
         counts ${:.6}, spent.json ${dollars:.6} and ${unsure:.6} unsure, the log ${answered:.6}",
        book.answered.len(),
        book.total,
        book.dollars,
    );
    assert_eq!(in_flight, 0.0);
    assert!(
        again <= killed * TAKEN,
        "{again} asked again after {killed} kills"
    );
    assert!(dollars <= book.dollars + 1e-6 && book.dollars <= dollars + unsure + 1e-6);
    // Every answer that came is in the log at its price, to the cent; what was paid beyond that is
    // what the kills cut off.
    let once: f64 = book.dollars - answered;
    let dearest = 0.000_01 * 4_000.0;
    assert!(
        once >= -0.005 && once <= again as f64 * dearest + 0.005,
        "{once}"
    );

    assert!(!leaks(&printed), "{}", String::from_utf8_lossy(&printed));
    let all = files(home.path());
    assert!(all.len() >= 5, "{all:?}");
    for file in all {
        assert!(
            !leaks(&std::fs::read(&file).unwrap()),
            "in {}",
            file.display()
        );
    }
}

#[test]
#[ignore = "two minutes; figures in docs/SECURITY.md"]
fn ten_kills() {
    kills(10, 20, &["-t", FEW, "--no-report"]);
}

#[test]
fn a_kill_without_a_cache() {
    kills(2, 40, &["-t", FEW, "--no-report", "--no-cache"]);
}

/// `cargo test -p mary --features cuda -- --ignored a_hundred_kills --nocapture`
#[test]
#[ignore = "minutes; figures in docs/SECURITY.md"]
fn a_hundred_kills() {
    kills(100, 15, &["-t", "htest", "--no-report"]);
}

/// Ctrl-C, SIGTERM and SIGHUP: what is at the server is waited for and kept, and nothing is asked
/// again.
#[test]
fn a_signal_keeps_every_answer_that_was_paid_for() {
    for signal in ["INT", "TERM", "HUP"] {
        let books: Shared = Arc::default();
        let server = server(&books);
        let url = server.url("/v1");
        let home = tempfile::tempdir().unwrap();
        let prices = json!({"updated": "2026-01-01", "source": "a test", "models": [
            {"provider": "compatible", "model": "scripted", "input": PRICE.0, "output": PRICE.1}]});
        std::fs::write(home.path().join("prices.json"), prices.to_string()).unwrap();
        let (lock, told) = &*books;
        lock.lock().unwrap().most = 20;
        let mut child = mary(home.path(), &url)
            .args(["-t", FEW, "--no-report", "--no-cache"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut book = lock.lock().unwrap();
        while book.total < 20 && child.try_wait().unwrap().is_none() {
            book = told
                .wait_timeout(book, Duration::from_millis(20))
                .unwrap()
                .0;
        }
        drop(book);
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        // What is at the server is answered once the signal was heard.
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let heard = said.by_ref().any(|line| line.unwrap().contains("stopping"));
        assert!(heard, "{signal}");
        lock.lock().unwrap().most = usize::MAX;
        told.notify_all();
        said.for_each(drop);
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130), "{signal}");
        let log = file_named(home.path(), "samples.jsonl").unwrap();
        let kept = std::fs::read_to_string(log).unwrap().lines().count();
        let answered = lock.lock().unwrap().total;
        assert_eq!(kept, answered, "{signal}: every answer is in the log");
        let (dollars, in_flight, _) = spent(home.path());
        let paid = lock.lock().unwrap().dollars;
        assert!(
            (dollars - paid).abs() < 1e-6 && in_flight == 0.0,
            "{signal}"
        );
    }
}
