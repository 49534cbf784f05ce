//! `mary sweep` over repositories of a made-up hub, reached through `HF_ENDPOINT`: the same report
//! whether the hub is well or not and however often the sweep is killed, nothing fetched twice, and room
//! kept to its limit.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use mary_testkit::hub_server::{HubFault, HubRepository, HubServer};
use serde_json::Value;

use crate::sweep::{done, json, weights};

/// Bytes of one checkpoint's weights.
const WEIGHTS: u64 = 1_919_936;
/// Bytes that may lie in the hub's cache.
const LIMIT: u64 = 6_000_000;

fn file(name: &str) -> Vec<u8> {
    std::fs::read(crate::sweep::assets().join(name)).unwrap()
}

/// A repository whose branches are the built-in model's checkpoints under other names.
fn repository(id: &str, names: &[(&str, u64)]) -> HubRepository {
    let config = file("config.json");
    let tokenizer = file("tokenizer.json");
    let settings = file("tokenizer_config.json");
    let mut repository = HubRepository::new(id);
    for (name, step) in names {
        let weights = weights(*step);
        let files: [(&str, &[u8]); 4] = [
            ("config.json", &config),
            ("tokenizer.json", &tokenizer),
            ("tokenizer_config.json", &settings),
            ("model.safetensors", &weights),
        ];
        repository = repository.branch(name, &files);
    }
    repository
}

const AMBER: [(&str, u64); 6] = [
    ("ckpt_000", 0),
    ("ckpt_001", 64),
    ("ckpt_002", 256),
    ("ckpt_003", 1000),
    ("ckpt_004", 3000),
    ("main", 10000),
];

const OLMO: [(&str, u64); 4] = [
    ("step16-tokens131K", 16),
    ("step512-tokens4M", 512),
    ("step2000-tokens16M", 2000),
    ("main", 10000),
];

fn hub() -> HubServer {
    let server = HubServer::start().unwrap();
    // The hub lists a sixth, which is not there.
    server.put(repository("LLM360/Amber", &AMBER).lost("ckpt_005"));
    server.put(repository("me/olmo-like", &OLMO));
    server
}

fn sweep(home: &Path, server: &HubServer, models: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("HF_HOME", home.join("hf"))
        .env("HF_ENDPOINT", server.endpoint())
        .env_remove("HF_HUB_CACHE")
        .env_remove("HF_HUB_OFFLINE")
        .env_remove("HF_TOKEN")
        .env_remove("MARY_DATA_DIR")
        .env_remove("MARY_MODEL")
        .arg("sweep")
        .args(models)
        .args(["--tasks", "psychometric/grammar-small", "--set", "n=4"])
        .args(["--threads", "1", "--quiet", "--json", "--no-report"]);
    command
}

/// Runs until so many checkpoints are done, then kills; the most weights that lay in the cache.
fn killed_after(mut command: Command, home: &Path, checkpoints: usize) -> u64 {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (begun, mut most) = (Instant::now(), 0);
    while done(home) < checkpoints && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(600), "it hangs");
        most = most.max(held(home));
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    child.wait().unwrap();
    most
}

/// Runs to the end; the most weights that lay in the cache.
fn watched(mut command: Command, home: &Path) -> (Output, u64) {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
    let mut most = 0;
    while !waiting.is_finished() {
        most = most.max(held(home));
        std::thread::sleep(Duration::from_millis(10));
    }
    (waiting.join().unwrap(), most)
}

/// Everything a sweep says but where it lies: checkpoints, faults, and the curves' tables.
fn said(output: &Output, server: &HubServer) -> Value {
    let mut shown = json(output);
    shown.as_object_mut().unwrap().remove("folder");
    let text = shown.to_string().replace(&server.endpoint(), "HUB");
    serde_json::from_str(&text).unwrap()
}

/// Contents of the storage that were sent whole more than once.
fn sent_twice(server: &HubServer) -> usize {
    let mut whole: BTreeMap<String, usize> = BTreeMap::new();
    for request in server.requests() {
        if request.storage && request.sent == WEIGHTS {
            let content = request.path.split('?').next().unwrap_or_default();
            *whole.entry(content.to_owned()).or_default() += 1;
        }
    }
    whole.values().filter(|n| **n > 1).count()
}

fn rows(output: &Output) -> Value {
    json(output)["checkpoints"].clone()
}

/// Bytes of weights in the hub's cache.
fn held(home: &Path) -> u64 {
    let models = std::fs::read_dir(home.join("hf/hub")).into_iter().flatten();
    let blobs = models.flatten().flat_map(|m| {
        std::fs::read_dir(m.path().join("blobs"))
            .into_iter()
            .flatten()
    });
    blobs
        .flatten()
        .filter_map(|b| Some(b.metadata().ok()?.len()))
        .filter(|len| *len >= WEIGHTS / 2)
        .sum()
}

#[test]
fn a_disturbed_sweep_from_the_hub_ends_like_an_undisturbed_one() {
    let models = ["hf/LLM360/Amber", "hf/me/olmo-like"];
    // Room for three checkpoints.
    let limit = ["--disk-limit", "6MB"];
    let calm = tempfile::tempdir().unwrap();
    let quiet = hub();
    let mut command = sweep(calm.path(), &quiet, &models);
    command.args(limit);
    let (undisturbed, most) = watched(command, calm.path());
    assert!(most <= LIMIT, "{most}");
    let expected = rows(&undisturbed);
    let names: Vec<&str> = expected
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["checkpoint"].as_str().unwrap())
        .collect();
    // As the hub lists them, in the order of training; `main` is no step of it.
    assert_eq!(names[..5], AMBER.map(|(name, _)| name)[..5]);
    assert_eq!(names[5], "ckpt_005");
    assert_eq!(names[6..], OLMO.map(|(name, _)| name)[..3]);
    assert_eq!(expected[0]["tokens"], "3.50 B");
    assert_eq!(expected[6]["tokens"], "131 k");
    assert_eq!(quiet.stored_bytes_sent(), 8 * WEIGHTS, "each once");
    assert_eq!(sent_twice(&quiet), 0);
    assert!(held(calm.path()) <= 3 * WEIGHTS, "{}", held(calm.path()));
    let faults = &said(&undisturbed, &quiet)["faults"];
    assert_eq!(faults.as_array().unwrap().len(), 1, "{faults}");
    assert!(faults[0]["message"].as_str().unwrap().contains("ckpt_005"));

    let home = tempfile::tempdir().unwrap();
    let server = hub();
    server.plan("", HubFault::TooMany(0), 7);
    server.plan("/store/", HubFault::CutAfter(700_000), 3);
    server.plan("/store/", HubFault::WrongByte, 1);
    server.plan("/resolve/", HubFault::Unavailable, 2);
    let command = || {
        let mut command = sweep(home.path(), &server, &models);
        command.args(limit);
        command
    };
    let first = killed_after(command(), home.path(), 1);
    server.plan("", HubFault::TooMany(0), 5);
    let second = killed_after(command(), home.path(), 4);
    server.plan("/store/", HubFault::CutAfter(1_500_000), 2);
    server.plan("/store/", HubFault::Hangup, 1);
    let (output, third) = watched(command(), home.path());
    assert_eq!(output.status.code(), undisturbed.status.code());
    assert_eq!(said(&output, &server), said(&undisturbed, &quiet));
    assert!(
        first.max(second).max(third) <= LIMIT,
        "{first} {second} {third}"
    );
    // One wrong content is fetched again; nothing else is sent twice, except what a kill cut off
    // between the connection and the disk (at most what is under way).
    let sent = server.stored_bytes_sent();
    assert!(sent >= 9 * WEIGHTS - 8, "{sent}");
    assert!(sent <= 11 * WEIGHTS, "{sent} of {}", 8 * WEIGHTS);
    assert!(
        sent_twice(&server) <= 3,
        "the wrong one, and one at each kill"
    );
    assert!(held(home.path()) <= 3 * WEIGHTS, "{}", held(home.path()));
    // Finished: nothing is asked of the storage any more.
    let again = command().output().unwrap();
    assert_eq!(said(&again, &server), said(&undisturbed, &quiet));
    assert_eq!(server.stored_bytes_sent(), sent);
}

#[test]
fn a_table_names_checkpoints_and_a_missing_one_is_one_fault() {
    let home = tempfile::tempdir().unwrap();
    let server = hub();
    let table = home.path().join("table.csv");
    std::fs::write(
        &table,
        "name, tokens\nmain, 35B\nckpt_001, 7B\nckpt_777, 20B\n",
    )
    .unwrap();
    let output = sweep(home.path(), &server, &["hf/LLM360/Amber"])
        .arg("--checkpoints")
        .arg(&table)
        .output()
        .unwrap();
    let shown = json(&output);
    let rows = shown["checkpoints"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|r| r["checkpoint"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ckpt_001", "ckpt_777", "main"]);
    assert_eq!(rows[2]["tokens"], "35.0 B");
    let faults = shown["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 1, "{shown}");
    assert_eq!(faults[0]["kind"], "unreadable");
    assert!(faults[0]["message"].as_str().unwrap().contains("ckpt_777"));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn one_cause_is_one_error() {
    let home = tempfile::tempdir().unwrap();
    let server = hub();
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let revisions = "--revisions=ckpt_000,ckpt_001,ckpt_002";
    // No such repository, whatever its checkpoints are called.
    let output = sweep(home.path(), &server, &["hf/me/nothing"])
        .arg(revisions)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    assert_eq!(
        told(&output).matches("has no model").count(),
        1,
        "{}",
        told(&output)
    );
    // No hub at all.
    let endpoint = server.endpoint();
    let mut command = sweep(home.path(), &server, &["hf/LLM360/Amber"]);
    drop(server);
    let output = command
        .env("HF_ENDPOINT", endpoint)
        .arg(revisions)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", told(&output));
    assert_eq!(
        told(&output).matches("cannot be reached").count(),
        1,
        "{}",
        told(&output)
    );
}
