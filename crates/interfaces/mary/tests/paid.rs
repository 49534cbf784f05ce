//! A paid run that is killed again and again: what was answered is not paid for twice, and the key
//! reaches no file.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mary_testkit::faulty_server::{FaultyServer, Script};

const KEY: &str = "sk-test-4711-never-to-be-seen";
const CONNECTIONS: usize = 4;
const KILLS: usize = 20;

fn mary(home: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .args([
            "run",
            "-m",
            "compatible/scripted",
            "--base-url",
            url,
            "-t",
            "htest",
            "-k",
            "2",
        ])
        .args(["--set", "mode=generate", "--apply-chat-template", "--quiet"])
        .args(["--max-connections", &CONNECTIONS.to_string()])
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("OPENAI_COMPATIBLE_API_KEY", KEY)
        .env_remove("MARY_MODEL")
        .stdout(Stdio::null());
    command
}

#[test]
fn nothing_answered_is_paid_for_twice_and_the_key_is_in_no_file() {
    let paid: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let books = Arc::clone(&paid);
    let script = Script {
        latency: Duration::from_millis(2),
        reply: Arc::new(move |prompt| {
            *books.lock().unwrap().entry(prompt.to_owned()).or_default() += 1;
            if prompt.len() % 2 == 0 { "A" } else { "B" }.to_owned()
        }),
        ..Script::default()
    };
    let server = FaultyServer::start(script).unwrap();
    let url = server.url("/v1");
    let home = tempfile::tempdir().unwrap();
    let mut kills = 0;
    for round in 0..KILLS as u64 {
        let mut child = mary(home.path(), &url)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(60 + (round * 7_919) % 240));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
    }
    let output = mary(home.path(), &url)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let paid = paid.lock().unwrap();
    let asked: usize = paid.values().sum();
    let again = asked - paid.len();
    eprintln!(
        "{} questions, {kills} kills, {again} asked again because they were in flight",
        paid.len()
    );
    assert!(paid.len() >= 2_000, "{}", paid.len());
    assert!(kills >= 3, "the run was over too soon to be killed");
    // What was on the wire, or in the two milliseconds before its commit, at each kill.
    assert!(
        again <= kills * CONNECTIONS * 3,
        "{again} of {} were paid twice",
        paid.len()
    );

    assert!(!said.contains(KEY), "{said}");
    let mut files = 0;
    for file in walk(home.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let leaked = bytes.windows(KEY.len()).any(|w| w == KEY.as_bytes());
        assert!(!leaked, "the key stands in {}", file.display());
        files += 1;
    }
    assert!(
        files >= 5,
        "manifest, log, summary, report and cache were looked at"
    );
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(walk(&path))
        } else {
            files.push(path)
        }
    }
    files
}
