//! `kill -9` at random moments, fifty times: the same command goes on, and the run ends in the same
//! summary as one that nobody disturbed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const KILLS: usize = 50;

/// The same where blocks of weights are fetched for every window of texts.
fn fetching(home: &Path) -> Command {
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../models/mary-local/tests/golden/llama")
        .canonicalize()
        .unwrap();
    let mut command = mary(home);
    command
        .args(["-m", &format!("hf/{}", tiny.display())])
        .args(["--model-arg", "held=1"]);
    command
}

fn mary(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    // Small windows keep many moments at which a kill can fall.
    command
        .args([
            "run",
            "-t",
            // Tasks whose items are made in no time: what is killed is the asking.
            "htest/palindrome,htest/repeated-word,htest/spelled-math,htest/spelled-number,htest/uppercase",
            "-k",
            "4",
            "--seed",
            "3",
            "--no-report",
            "--threads",
            "1",
            "--quiet",
        ])
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env_remove("MARY_DATA_DIR")
        .env_remove("MARY_MODEL")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn run_folder(home: &Path) -> Option<PathBuf> {
    std::fs::read_dir(home.join("runs"))
        .ok()?
        .flatten()
        .map(|e| e.path())
        .find(|p| p.is_dir())
}

/// The summary without when and how it was asked for.
fn summary(home: &Path) -> serde_json::Value {
    let path = run_folder(home).unwrap().join("summary.json");
    let mut value: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    value["manifest"]["created"] = serde_json::Value::Null;
    value
}

/// Waits for the end, or for the moment of the kill.
fn ends_within(child: &mut Child, moment: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < moment {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

#[test]
fn fifty_kills_change_nothing() {
    killed(mary, KILLS);
}

#[test]
fn kills_change_nothing_of_a_model_whose_blocks_are_fetched() {
    killed(fetching, 8);
}

fn killed(mary: fn(&Path) -> Command, wanted: usize) {
    let calm = tempfile::tempdir().unwrap();
    let start = Instant::now();
    assert!(mary(calm.path()).status().unwrap().success());
    let whole = start.elapsed();

    let wild = tempfile::tempdir().unwrap();
    let mut kills = 0;
    let mut moment = 17u64;
    while kills < wanted {
        // A walk over moments from the first instant to the length of an undisturbed run.
        moment = (moment * 7_919 + 104_729) % 1_000_003;
        let share = (moment as f64 / 1_000_003.0).powi(3);
        let mut child = mary(wild.path()).spawn().unwrap();
        if ends_within(&mut child, whole.mul_f64(share)) {
            // It came to its end before all kills were done: begin again, cache and all.
            std::fs::remove_dir_all(wild.path().join("runs")).unwrap();
            std::fs::remove_dir_all(wild.path().join("cache")).unwrap();
        } else {
            kills += 1;
        }
    }
    assert!(mary(wild.path()).status().unwrap().success());
    assert_eq!(summary(wild.path()), summary(calm.path()));

    // No sample twice, none missing, none answered differently beyond what another batch may round.
    let (wild, calm) = (samples(wild.path()), samples(calm.path()));
    assert_eq!(wild.len(), calm.len());
    for (id, (key, logprobs)) in &calm {
        let (same_key, again) = &wild[id];
        assert_eq!(key, same_key, "{id} was asked something else");
        assert_eq!(logprobs.len(), again.len());
        for (a, b) in logprobs.iter().zip(again) {
            assert!((a - b).abs() < 1e-4, "{id}: {a} and {b}");
        }
    }
}

/// Sample → name of its question and log-probabilities of its answer.
fn samples(home: &Path) -> HashMap<String, (String, Vec<f64>)> {
    let log = std::fs::read_to_string(run_folder(home).unwrap().join("samples.jsonl")).unwrap();
    let mut seen = HashMap::new();
    for line in log.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let exchange = &value["exchanges"][0];
        let continuations = &exchange["reply"]["Ok"]["answer"]["scored"]["continuations"];
        let logprobs = continuations
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|c| c["logprobs"].as_array().unwrap())
            .map(|x| x.as_f64().unwrap())
            .collect();
        let entry = (exchange["key"].to_string(), logprobs);
        let before = seen.insert(value["id"].to_string(), entry);
        assert_eq!(before, None, "{} stands in the log twice", value["id"]);
    }
    seen
}
