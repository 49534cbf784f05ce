//! Money over several commands: batches that are submitted, left and fetched, and budgets that
//! remember what was spent before an interruption.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mary_testkit::faulty_server::{FaultyServer, Script};
use serde_json::Value;

use crate::program::{Said, program, said};

const KEY: &str = "sk-test-0815-never-to-be-seen";
const TASKS: &str = "htest/uppercase,htest/end-punctuation";
const ITEMS: usize = 12;

fn mary(home: &Path, args: &[&str]) -> Said {
    let mut command = program(home);
    command
        .env("OPENAI_API_KEY", KEY)
        .env("ANTHROPIC_API_KEY", KEY);
    said(command.env_remove("MARY_PRICES").args(args))
}

/// The arguments of a run on the scripted server.
fn asking<'a>(model: &'a str, url: &'a str, limit: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", "-m", model, "--base-url", url, "-t", TASKS];
    args.extend(["-k", "2", "--limit", limit, "--set", "mode=generate"]);
    args.extend(["--apply-chat-template", "--no-report", "--quiet"]);
    args.extend(more);
    args
}

/// How often each prompt was answered, whichever way it came.
type Paid = Arc<Mutex<HashMap<String, usize>>>;

fn server(batch_looks: u32) -> (FaultyServer, Paid) {
    let paid = Paid::default();
    let books = Arc::clone(&paid);
    let script = Script {
        batch_looks,
        reply: Arc::new(move |prompt| {
            *books.lock().unwrap().entry(prompt.to_owned()).or_default() += 1;
            if prompt.len() % 2 == 0 { "A" } else { "B" }.to_owned()
        }),
        ..Script::default()
    };
    (FaultyServer::start(script).unwrap(), paid)
}

fn only_run(home: &Path) -> PathBuf {
    let mut runs = std::fs::read_dir(home.join("runs")).unwrap();
    let run = runs.next().unwrap().unwrap().path();
    assert!(runs.next().is_none(), "one run folder");
    run
}

fn lines(run: &Path) -> usize {
    let log = std::fs::read_to_string(run.join("samples.jsonl")).unwrap_or_default();
    log.lines().count()
}

fn spent(run: &Path) -> f64 {
    let text = std::fs::read_to_string(run.join("spent.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    value["dollars"].as_f64().unwrap()
}

fn cost_in_log(run: &Path) -> f64 {
    let log = std::fs::read_to_string(run.join("samples.jsonl")).unwrap();
    log.lines()
        .map(|line| {
            let sample: Value = serde_json::from_str(line).unwrap();
            sample["usage"]["cost"].as_f64().unwrap_or(0.0)
        })
        .sum()
}

fn submits_leaves_and_comes_back(model: &str) {
    let (server, paid) = server(1);
    let url = server.url("/v1");
    let home = tempfile::tempdir().unwrap();
    let limit = ITEMS.to_string();

    let left = mary(home.path(), &asking(model, &url, &limit, &["--batch"]));
    assert_eq!(left.code, 5, "{}", left.err);
    assert!(left.err.contains("not finished yet"), "{}", left.err);
    assert!(left.err.contains("mary resume"), "{}", left.err);
    assert_eq!(server.books().batches, 2, "every task before leaving");
    let run = only_run(home.path());
    assert_eq!(lines(&run), 0);
    assert!(paid.lock().unwrap().is_empty());

    let back = mary(home.path(), &["resume", "--base-url", &url]);
    assert_eq!(back.code, 0, "{}", back.err);
    assert_eq!(lines(&run), 2 * ITEMS);
    let books = server.books();
    assert_eq!(books.batches, 2, "submitted once");
    assert!(books.bodies.is_empty(), "nothing was sent one by one");
    let paid = paid.lock().unwrap();
    assert_eq!(paid.len(), 2 * ITEMS);
    assert!(paid.values().all(|n| *n == 1), "{paid:?}");
    drop(paid);
    let dollars = spent(&run);
    assert!(dollars > 0.0 && (dollars - cost_in_log(&run)).abs() < 1e-6);

    // The command it was begun with, even without the flag, finds everything answered.
    let again = mary(home.path(), &asking(model, &url, &limit, &[]));
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(again.out, back.out);
    assert_eq!(server.books().batches, 2);
    assert!(server.books().bodies.is_empty());

    for file in walk(home.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let leaked = bytes.windows(KEY.len()).any(|w| w == KEY.as_bytes());
        assert!(!leaked, "the key stands in {}", file.display());
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let paths = entries.map(|e| e.path());
    paths
        .flat_map(|p| if p.is_dir() { walk(&p) } else { vec![p] })
        .collect()
}

#[test]
fn an_openai_batch_is_submitted_left_and_fetched() {
    submits_leaves_and_comes_back("openai/gpt-4o");
}

#[test]
fn an_anthropic_batch_is_submitted_left_and_fetched() {
    submits_leaves_and_comes_back("anthropic/claude-sonnet-4");
}

#[test]
fn a_batch_beyond_the_budget_is_not_submitted() {
    let (server, _) = server(0);
    let url = server.url("/v1");
    let home = tempfile::tempdir().unwrap();
    let more = ["--batch", "--budget", "0.0001"];
    let said = mary(home.path(), &asking("openai/gpt-4o", &url, "12", &more));
    assert_eq!(said.code, 5, "{}", said.err);
    assert!(said.err.contains("budget"), "{}", said.err);
    assert_eq!(server.books().batches, 0);
}

#[test]
fn a_batch_is_refused_where_it_cannot_be() {
    let home = tempfile::tempdir().unwrap();
    let local = mary(home.path(), &["run", "--batch", "-t", TASKS]);
    assert_eq!(local.code, 2, "{}", local.err);
    assert!(local.err.contains("no batch API"), "{}", local.err);
    let scores = [
        "run",
        "--batch",
        "-m",
        "openai/gpt-4o",
        "-t",
        "htest/uppercase",
    ];
    let scores = mary(
        home.path(),
        &[&scores[..], &["--set", "mode=score"]].concat(),
    );
    assert_eq!(scores.code, 2, "{}", scores.err);
    assert!(scores.err.contains("answer in words"), "{}", scores.err);
}

#[test]
fn a_budget_counts_what_was_spent_before() {
    let (server, paid) = server(0);
    let url = server.url("/v1");
    let home = tempfile::tempdir().unwrap();
    let asked = |paid: &Paid| paid.lock().unwrap().values().sum::<usize>();
    let limit = "100";
    let dry = mary(
        home.path(),
        &asking("openai/gpt-4o", &url, limit, &["--dry-run", "--json"]),
    );
    let dry: Value = serde_json::from_str(&dry.out).unwrap();
    let rows = dry["rows"].as_array().unwrap();
    let most: f64 = rows
        .iter()
        .map(|r| r["estimate"]["cost"].as_f64().unwrap())
        .sum();
    let budget = format!("{:.6}", most / 4.0);
    assert_eq!(asked(&paid), 0, "a dry run asks nothing");

    let more = ["--budget", budget.as_str()];
    let stopped = mary(home.path(), &asking("openai/gpt-4o", &url, limit, &more));
    assert_eq!(stopped.code, 5, "{}", stopped.err);
    assert!(stopped.err.contains("budget"), "{}", stopped.err);
    let run = only_run(home.path());
    let (before, first) = (asked(&paid), spent(&run));
    assert!(before > 10 && before < 200, "{before}");
    assert!(first > 0.0 && first <= most / 4.0, "{first} of {budget}");

    // The same budget has nothing left: at most a request or two that still fit.
    let resumed = mary(home.path(), &["resume", "--base-url", &url]);
    assert_eq!(resumed.code, 5, "{}", resumed.err);
    assert!(asked(&paid) - before <= 4, "{} more", asked(&paid) - before);
    assert!(spent(&run) <= most / 4.0);

    let done = mary(
        home.path(),
        &["resume", "--budget", "10", "--base-url", &url],
    );
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(lines(&run), 200);
    assert!(
        paid.lock().unwrap().values().all(|n| *n == 1),
        "nothing is paid twice"
    );
    assert!((spent(&run) - cost_in_log(&run)).abs() < 1e-6);

    // Another run that finds its answers in the cache spends nothing, however small its budget.
    let elsewhere = home.path().join("elsewhere");
    let mut free = asking("openai/gpt-4o", &url, limit, &["--budget", "0.000001"]);
    free.extend(["--output-path", elsewhere.to_str().unwrap()]);
    let free = mary(home.path(), &free);
    assert_eq!(free.code, 0, "{}", free.err);
    assert_eq!(asked(&paid), 200);
}
