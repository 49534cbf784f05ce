//! Run folders from elsewhere: what they say about hosts, paths and content is not believed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mary_testkit::raw_server::{RawServer, Say};
use serde_json::{Value, json};

const KEY: &str = "sk-test-4242-goes-nowhere-else";

fn mary(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(arguments)
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("OPENAI_COMPATIBLE_API_KEY", KEY)
        .env_remove("MARY_MODEL")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn server() -> RawServer {
    RawServer::start(|heard| {
        if heard.method == "GET" {
            return Say::json(&json!({"data": [{"id": "m"}]}));
        }
        // The id is what a file or a batch would have.
        Say::json(&json!({
            "id": "made-1",
            "choices": [{"message": {"content": "A"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        }))
    })
    .unwrap()
}

/// A finished run of four questions.
fn run(home: &Path, server: &RawServer) -> PathBuf {
    let url = server.url("/v1");
    let arguments = [
        "run",
        "-m",
        "compatible/m",
        "--base-url",
        &url,
        "-t",
        "htest/rhyme",
    ];
    let more = [
        "-k",
        "2",
        "--limit",
        "4",
        "--set",
        "mode=generate",
        "--no-report",
    ];
    let output = mary(
        home,
        &[&arguments[..], &more[..], &["--apply-chat-template"]].concat(),
    );
    assert!(output.status.success(), "{}", said(&output));
    let entries = std::fs::read_dir(home.join("runs")).unwrap().flatten();
    entries.map(|e| e.path()).find(|p| p.is_dir()).unwrap()
}

fn edit(run: &Path, change: impl FnOnce(&mut Value)) {
    let path = run.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    std::fs::write(path, manifest.to_string()).unwrap();
}

#[test]
fn a_folder_cannot_send_a_key_to_a_new_host() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    // A host that is no loopback, in a range that belongs to nobody.
    edit(&folder, |m| {
        m["model_settings"]["base_url"] = json!("http://192.0.2.1:9/v1")
    });
    let output = mary(home.path(), &["resume", &folder.display().to_string()]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("--base-url http://192.0.2.1:9/v1"),
        "{}",
        said(&output)
    );
    let other = ["--base-url", "http://192.0.2.2:9/v1"];
    let output = mary(
        home.path(),
        &[&["resume", &folder.display().to_string()], &other[..]].concat(),
    );
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn a_folder_cannot_make_mary_write_elsewhere() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    let outside = home.path().join("outside.json");
    edit(&folder, |m| {
        m["model_settings"]["args"]["batch"] = json!(outside.display().to_string());
    });
    // As if nothing had been answered yet.
    let log = folder.join("samples.jsonl");
    let lines = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, "").unwrap();
    let path = folder.display().to_string();
    let asked = server.heard().len();
    let output = mary(
        home.path(),
        &["resume", &path, "--base-url", &server.url("/v1")],
    );
    std::fs::write(&log, lines).unwrap();
    let paths: Vec<String> = server
        .heard()
        .into_iter()
        .skip(asked)
        .map(|h| h.path)
        .collect();
    assert!(
        paths
            .iter()
            .all(|p| !p.contains("batches") && !p.contains("files")),
        "no batch is made because a folder says so: {paths:?} {}",
        said(&output)
    );
    assert!(
        !outside.exists(),
        "a batch path in a manifest is not followed"
    );
    #[cfg(unix)]
    {
        let theirs = home.path().join("diary.txt");
        std::fs::write(&theirs, "mine\n").unwrap();
        std::fs::remove_file(&log).unwrap();
        std::os::unix::fs::symlink(&theirs, &log).unwrap();
        let output = mary(home.path(), &["resume", &folder.display().to_string()]);
        assert!(!output.status.success());
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "mine\n");
    }
}

/// Names in a folder are names: none of them leads out of it or overwrites anything.
#[test]
fn no_name_in_a_folder_is_a_path() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    let log = folder.join("samples.jsonl");
    let evil = "../../../evil";
    edit(&folder, |m| {
        m["id"] = json!(evil);
        m["models"][0]["label"] = json!(evil);
    });
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines = String::new();
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["id"]["item"] = json!(format!("{evil}/{}", line["id"]["item"].as_str().unwrap()));
        line["item"]["id"] = line["id"]["item"].clone();
        lines.push_str(&format!("{line}\n"));
    }
    std::fs::write(&log, lines).unwrap();
    let here = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut found: Vec<PathBuf> = entries.map(|e| e.path()).collect();
        found.sort();
        found
    };
    let (above, home) = (home.path().parent().unwrap(), home.path());
    std::fs::create_dir_all(home.join("out")).unwrap();
    let (before, path) = (here(home), folder.display().to_string());
    for words in [
        vec!["report", &path],
        vec!["rescore", &path],
        vec!["resume", &path, "--base-url", &server.url("/v1")],
        vec!["report", &path, "--tables", "out/tables"],
        vec!["export", &path, "-o", "out/export"],
    ] {
        let output = mary(home, &words);
        assert!(
            !said(&output).contains("panicked"),
            "{words:?}: {}",
            said(&output)
        );
        assert_eq!(here(home), before, "{words:?}");
        for place in [above, &home.join("runs"), &home.join("out")] {
            assert!(!place.join("evil").exists(), "{words:?}");
        }
    }
    let mut left = here(&home.join("runs"));
    left.retain(|p| p.is_dir() && *p != folder);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_folder_is_continued_where_it_is_and_only_if_its_parts_belong_together() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    let asked = server.heard().len();
    // Renamed and finished: nothing is asked anew.
    let moved = home.path().join("elsewhere");
    std::fs::rename(&folder, &moved).unwrap();
    let output = mary(home.path(), &["resume", &moved.display().to_string()]);
    assert!(output.status.success(), "{}", said(&output));
    let posts = server
        .heard()
        .iter()
        .skip(asked)
        .filter(|h| h.method == "POST")
        .count();
    assert_eq!(posts, 0, "{}", said(&output));
    let made = std::fs::read_dir(home.path().join("runs")).unwrap().count();
    assert_eq!(made, 0, "no second folder was begun");
    // A manifest that was changed after the run began.
    edit(&moved, |m| m["seed"] = json!(777));
    let output = mary(home.path(), &["resume", &moved.display().to_string()]);
    assert!(!output.status.success(), "{}", said(&output));
    // A log of another task.
    edit(&moved, |m| m["seed"] = json!(0));
    edit(&moved, |m| m["tasks"][0]["id"] = json!("htest/palindrome"));
    let output = mary(home.path(), &["resume", &moved.display().to_string()]);
    assert!(!output.status.success());
    assert!(said(&output).contains("does not name"), "{}", said(&output));
}

#[test]
fn a_fifo_in_a_folder_is_refused_and_not_waited_for() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    std::fs::remove_file(folder.join("samples.jsonl")).unwrap();
    let fifo = folder.join("samples.jsonl");
    let made = Command::new("mkfifo").arg(&fifo).status();
    if !made.is_ok_and(|m| m.success()) {
        return;
    }
    let model = format!("gguf/{}", fifo.display());
    for model in [model.as_str(), "gguf//dev/zero"] {
        let output = mary(home.path(), &["models", "show", model]);
        assert!(!output.status.success(), "{model}");
        assert!(said(&output).contains("FIFO"), "{model}: {}", said(&output));
    }
    for command in ["report", "resume"] {
        let output = mary(home.path(), &[command, &folder.display().to_string()]);
        assert!(!output.status.success(), "{command}");
        assert!(
            said(&output).contains("FIFO"),
            "{command}: {}",
            said(&output)
        );
    }
}

#[test]
fn a_report_after_a_kill_adds_up_what_the_log_holds() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    // As if two more answers had come after the summary was written.
    let log = folder.join("samples.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let first = text.lines().next().unwrap();
    let item = serde_json::from_str::<Value>(first).unwrap()["id"]["item"].clone();
    let item = item.as_str().unwrap().to_owned();
    let more: String = ["later-1", "later-2"]
        .map(|id| format!("{}\n", first.replace(&item, id)))
        .concat();
    std::fs::write(&log, text + &more).unwrap();
    let tables = home.path().join("tables");
    let path = folder.display().to_string();
    let output = mary(
        home.path(),
        &["report", &path, "--tables", &tables.display().to_string()],
    );
    assert!(output.status.success(), "{}", said(&output));
    let csv: String = std::fs::read_dir(&tables)
        .unwrap()
        .flatten()
        .filter(|e| e.path().extension().is_some_and(|x| x == "csv"))
        .map(|e| std::fs::read_to_string(e.path()).unwrap())
        .collect();
    assert!(csv.contains('6'), "six samples are counted: {csv}");
}

#[test]
fn another_models_name_in_replies_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let server = RawServer::start(|heard| {
        if heard.method == "GET" {
            return Say::json(&json!({"data": [{"id": "wanted-7b"}]}));
        }
        Say::json(&json!({
            "model": "cheaper-1b",
            "choices": [{"message": {"content": "A"}, "finish_reason": "stop"}],
        }))
    })
    .unwrap();
    let url = server.url("/v1");
    let arguments = [
        "run",
        "-m",
        "compatible/wanted-7b",
        "--base-url",
        &url,
        "-t",
    ];
    let more = [
        "htest/rhyme",
        "-k",
        "2",
        "--limit",
        "4",
        "--set",
        "mode=generate",
    ];
    let output = mary(
        home.path(),
        &[&arguments[..], &more[..], &["--apply-chat-template"]].concat(),
    );
    let table = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
    let expected = "4 replies name another model: cheaper-1b";
    assert!(table.contains(expected), "{table}");
    let entries = std::fs::read_dir(home.path().join("runs"))
        .unwrap()
        .flatten();
    let folder = entries.map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    for file in ["summary.json", "report.html"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(expected), "{file}");
    }
}

#[test]
fn a_folder_starts_no_program_and_the_command_that_began_the_run_goes_on() {
    let there = Command::new("python3").arg("--version").output();
    if !there.is_ok_and(|o| o.status.success()) {
        mary_testkit::lacking::skip(mary_testkit::lacking::Lacking::Peers, "no python3");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(
        home.join("model.py"),
        "def answer(prompt):\n    open('asked', 'a').write('.')\n    print('aloud')\n    return 'A'\n",
    )
    .unwrap();
    let words = [
        "run",
        "-m",
        "python/./model.py:answer",
        "-t",
        "htest/rhyme",
        "-l",
        "3",
        "--set",
        "mode=generate",
        "--no-report",
        "--no-cache",
        "--json",
    ];
    let first = mary(home, &words);
    assert!(first.status.success(), "{}", said(&first));
    // What the object prints is no result.
    let summary: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(summary["rows"][0]["samples"], 3);
    let asked = std::fs::read(home.join("asked")).unwrap().len();
    assert_eq!(asked, 3);
    let resumed = mary(home, &["resume"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", said(&resumed));
    assert!(
        said(&resumed).contains("repeat the command"),
        "{}",
        said(&resumed)
    );
    let again = mary(home, &words);
    assert!(again.status.success(), "{}", said(&again));
    assert_eq!(std::fs::read(home.join("asked")).unwrap().len(), 3);
}
