//! No surface baseline except the one that *is* the rule beats chance on our own sets, and the audit
//! finds the known shortcuts in the published files.

use std::process::Command;

use serde_json::Value;

fn audit(args: &[&str]) -> (Value, String) {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(["data", "audit", "--json"])
        .args(args)
        .current_dir(home.path())
        .env("MARY_CACHE_DIR", home.path().join("cache"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}")),
        said,
    )
}

/// Accuracy of a baseline on a task.
fn accuracy(reports: &Value, task: &str, baseline: &str) -> f64 {
    let report = reports
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["task"] == task)
        .unwrap();
    let findings = report["audit"]["findings"].as_array().unwrap();
    let finding = findings.iter().find(|f| f["baseline"] == baseline).unwrap();
    finding["accuracy"]["value"]
        .as_f64()
        .or(finding["accuracy"].as_f64())
        .unwrap()
}

#[test]
fn our_own_sets_leave_no_shortcut() {
    let (reports, _) = audit(&["htest", "--seed", "7"]);
    let reports = reports.as_array().unwrap();
    assert_eq!(reports.len(), 12);
    for report in reports {
        for finding in report["audit"]["findings"].as_array().unwrap() {
            let shortcut = finding["beats_chance"] == true && finding["expected"] == false;
            assert!(!shortcut, "{}: {finding}", report["task"]);
        }
    }
}

#[test]
fn the_published_files_have_the_shortcuts_they_are_known_for() {
    let Some(data) = mary_testkit::lacking::datasets("htest") else {
        return;
    };
    let tasks = "htest/letter-geometry,htest/rhyme,htest/palindrome";
    let (reports, _) = audit(&[
        tasks,
        "--set",
        "source=published",
        "--data-dir",
        data.to_str().unwrap(),
    ]);
    assert!((accuracy(&reports, "htest/letter-geometry", "option_text") - 0.878).abs() < 0.01);
    assert!(accuracy(&reports, "htest/rhyme", "word_memory") > 0.9);
    assert!(accuracy(&reports, "htest/palindrome", "capitals") > 0.58);
}
