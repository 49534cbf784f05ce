//! Tasks of one's own, as a user has them: the examples of the docs on the built-in model, and `new`,
//! `check`, `run`, `resume`, `rescore`, `audit`, `compare` and `export` on a file.

use std::path::{Path, PathBuf};

use mary_contract::Image;
use mary_remote::wire::data_url;
use mary_testkit::raw_server::{Heard, RawServer, Say};
use serde_json::{Value, json};

use crate::program::mary;

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/examples")
}

/// Runs a task and gives its summary.
fn run(home: &Path, args: &[&str]) -> Value {
    let mut words = vec!["run", "--json", "--quiet", "--no-report", "--threads", "1"];
    words.extend(args);
    let said = mary(home, &words);
    assert_eq!(said.code, 0, "{args:?}: {}", said.err);
    serde_json::from_str(&said.out).unwrap()
}

fn measures(row: &Value) -> Vec<&str> {
    let all = row["measures"].as_array().unwrap().iter();
    all.map(|m| m["name"].as_str().unwrap()).collect()
}

#[test]
fn the_examples_run_on_the_built_in_model() {
    let home = home();
    let file = |name: &str| examples().join(name).display().to_string();
    let tasks = [
        file("agreement.toml"),
        file("opposites.toml"),
        file("sums.toml"),
        file("explain.toml"),
        file("similar.toml"),
    ];
    let summary = run(home.path(), &["--judge", "self", "-t", &tasks.join(",")]);
    let rows = summary["rows"].as_array().unwrap();
    let row = |task: &str| rows.iter().find(|r| r["task"] == task).unwrap();
    assert_eq!(summary["complete"], true);
    for (task, samples) in [
        ("own/agreement", 8),
        ("own/opposites", 8),
        ("own/sums", 5),
        ("own/explain", 3),
        ("own/similar", 8),
    ] {
        assert_eq!(row(task)["samples"], samples, "{task}");
        assert!(
            row(task)["failed"].as_object().is_none_or(|f| f.is_empty()),
            "{task}"
        );
    }
    let agreement = row("own/agreement");
    assert_eq!(
        (agreement["scored"].as_u64(), agreement["chance"].as_f64()),
        (Some(8), Some(0.5))
    );
    assert_eq!(agreement["breakdowns"][0]["tag"], "structure");
    assert!(measures(agreement).contains(&"by_token"));
    assert!(measures(row("own/opposites")).contains(&"by_sum"));
    assert_eq!(row("own/sums")["human"], 0.98);
    assert!(measures(row("own/similar")).contains(&"spearman"));
    let folder = home
        .path()
        .join("runs")
        .join(summary["run"].as_str().unwrap());
    let manifest = std::fs::read(folder.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let content = manifest["tasks"][0]["content"].as_str().unwrap();
    assert_eq!(content.len(), 64);
}

#[test]
fn the_example_with_pictures_runs_on_a_scripted_model() {
    // It answers by the picture that it was shown: the letter of what the file's name says.
    let folder = examples().join("shapes");
    let server = RawServer::start(move |heard: &Heard| {
        let body: Value = serde_json::from_slice(&heard.body).unwrap_or_default();
        let parts = &body["messages"][0]["content"];
        let shown = parts[0]["image_url"]["url"].as_str().unwrap_or_default();
        let letter = ["circle", "square", "triangle"].iter().zip(["A", "B", "C"]);
        let letter = letter.into_iter().find(|(shape, _)| {
            ["red", "blue"].iter().any(|colour| {
                let file = folder.join(format!("{colour}-{shape}.png"));
                let picture = Image {
                    media_type: "image/png".into(),
                    data: std::fs::read(file).unwrap(),
                };
                shown == data_url(&picture)
            })
        });
        let said = letter.map_or("none", |(_, letter)| letter);
        Say::json(&json!({"model": "seer", "data": [{"id": "seer"}],
            "choices": [{"message": {"content": said}, "finish_reason": "stop"}]}))
    })
    .unwrap();
    let home = home();
    let task = examples().join("shapes.toml").display().to_string();
    let url = server.url("/v1");
    let words = [
        "-m",
        "compatible/seer",
        "--base-url",
        &url,
        "--model-arg",
        "images=true",
        "-t",
        &task,
    ];
    let summary = run(home.path(), &words);
    let row = &summary["rows"][0];
    assert_eq!(
        (row["samples"].as_u64(), row["scored"].as_u64()),
        (Some(6), Some(6))
    );
    assert_eq!(row["score"]["value"], 1.0, "{row}");
    assert_eq!(row["breakdowns"][0]["tag"], "colour");
    // A model without eyes is refused before anything is asked.
    let blind = mary(home.path(), &["run", "-m", "builtin/nano", "-t", &task]);
    assert_eq!(blind.code, 3, "{}", blind.err);
}

#[test]
fn a_new_task_is_checked_run_and_judged_again() {
    let home = home();
    let at = home.path();
    let said = mary(at, &["tasks", "new", "mine/my_task.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let again = mary(at, &["tasks", "new", "mine/my_task.toml"]);
    assert_eq!(again.code, 2, "{}", again.err);
    let checked = mary(at, &["tasks", "check", "mine/my_task.toml"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    assert!(
        checked.out.contains("own/my-task") && checked.out.contains("4 items"),
        "{}",
        checked.out
    );
    assert_eq!(checked.out.matches("--- item").count(), 3);
    let shown = mary(at, &["tasks", "show", "mine/my_task.toml"]);
    assert!(
        shown.out.contains("How a person would be asked"),
        "{}",
        shown.out
    );
    run(
        at,
        &[
            "-t",
            "./mine/my_task.toml",
            "--limit",
            "3",
            "--trials",
            "2",
            "--shots",
            "1",
        ],
    );
    // From another folder, by what the manifest says.
    let elsewhere = tempfile::tempdir().unwrap();
    let runs = at.join("runs").display().to_string();
    let rescored = mary(
        elsewhere.path(),
        &[
            "--output-path",
            &runs,
            "rescore",
            "--set",
            "normalisation=none",
            "--json",
        ],
    );
    assert_eq!(rescored.code, 0, "{}", rescored.err);
    let summary: Value = serde_json::from_str(&rescored.out).unwrap();
    assert_eq!(summary["rows"][0]["samples"], 6);
    assert!(measures(&summary["rows"][0]).contains(&"by_byte"));
    let resumed = mary(elsewhere.path(), &["--output-path", &runs, "resume"]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    for words in [
        &["report"][..],
        &["export", "--to", "csv"],
        &["export", "--to", "lm-eval"],
    ] {
        let said = mary(at, words);
        assert_eq!(said.code, 0, "{words:?}: {}", said.err);
    }
}

#[test]
fn a_task_that_changed_or_is_gone_is_told() {
    let home = home();
    let at = home.path();
    assert_eq!(
        mary(at, &["tasks", "new", "t.toml", "--kind", "pairs"]).code,
        0
    );
    run(at, &["-t", "t.toml"]);
    let data = std::fs::read_to_string(at.join("t.jsonl")).unwrap();
    std::fs::write(at.join("t.jsonl"), data.replace("dog", "cat")).unwrap();
    let said = mary(at, &["resume"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("`own/t` has changed"), "{}", said.err);
    std::fs::write(at.join("t.jsonl"), data).unwrap();
    std::fs::create_dir(at.join("moved")).unwrap();
    for name in ["t.toml", "t.jsonl"] {
        std::fs::rename(at.join(name), at.join("moved").join(name)).unwrap();
    }
    let said = mary(at, &["rescore"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("own/t") && said.err.contains("name its file again"),
        "{}",
        said.err
    );
    let said = mary(at, &["rescore", "-t", "moved/t.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
}

#[test]
fn mistakes_leave_with_the_documented_codes() {
    let home = home();
    let at = home.path();
    let said = mary(at, &["run", "-t", "absent.toml"]);
    assert_eq!(said.code, 4, "{}", said.err);
    assert!(
        said.err.contains("absent.toml") && said.err.contains("mary tasks new"),
        "{}",
        said.err
    );
    assert_eq!(
        mary(at, &["tasks", "new", "t.toml", "--kind", "pairs"]).code,
        0
    );
    let task = std::fs::read_to_string(at.join("t.toml")).unwrap();
    std::fs::write(at.join("t.toml"), task.replace("good =", "goods =")).unwrap();
    let said = mary(at, &["run", "-t", "t.toml"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("t.toml:") && said.err.contains("goods"),
        "{}",
        said.err
    );
    std::fs::write(at.join("t.toml"), task.replace("{{ good }}", "{{ goods }}")).unwrap();
    for words in [
        &["run", "-t", "t.toml"][..],
        &["tasks", "check", "t.toml"],
        &["data", "audit", "t.toml"],
    ] {
        let said = mary(at, words);
        assert_eq!(said.code, 4, "{words:?}: {}", said.err);
        assert!(
            said.err.contains("t.jsonl:1: ") && said.err.contains("`goods`"),
            "{}",
            said.err
        );
    }
    std::fs::write(at.join("t.toml"), format!("name = \"htest/mine\"\n{task}")).unwrap();
    let said = mary(at, &["run", "-t", "t.toml"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("family of Mary's own"), "{}", said.err);
    assert!(!at.join("runs").exists(), "nothing was begun");
}
