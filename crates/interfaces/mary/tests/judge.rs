//! The judge and the command line: one that cannot judge is refused, and `mary resume` lets the same
//! one judge that the run was begun with.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mary_testkit::faulty_server::{FaultyServer, Script};

fn mary(home: &Path, judge: &str) -> Output {
    let args =
        "run -t htest/uppercase -k 2 --limit 2 --set mode=cot --set max-tokens=4 --no-report";
    Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(args.split(' '))
        .args(["--no-cache", "--threads", "1", "--judge", judge])
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env_remove("MARY_MODEL")
        .output()
        .unwrap()
}

#[test]
fn a_judge_that_cannot_generate_is_refused_with_exit_3() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("words.txt"),
        "cat 0.1 0.2 0.3\ndog 0.2 0.1 0.4\n",
    )
    .unwrap();
    let output = mary(home.path(), "vectors/words.txt");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the judge lacks text generation"), "{said}");
    assert!(!home.path().join("runs").exists(), "nothing was asked");
}

#[test]
fn self_and_the_models_own_name_are_two_runs_and_both_are_resumed_as_begun() {
    let home = tempfile::tempdir().unwrap();
    for judge in ["self", "builtin/nano"] {
        let output = mary(home.path(), judge);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    let runs = std::fs::read_dir(home.path().join("runs")).unwrap();
    let mut choices: Vec<String> = runs
        .map(|run| {
            let run = run.unwrap().path();
            let text = std::fs::read_to_string(run.join("manifest.json")).unwrap();
            let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(manifest["execution"]["cache"], false);
            let resumed = Command::new(env!("CARGO_BIN_EXE_mary"))
                .arg("resume")
                .arg(&run)
                .env("MARY_RUNS", home.path().join("elsewhere"))
                .env("MARY_CACHE_DIR", home.path().join("cache"))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&resumed.stderr);
            assert_eq!(resumed.status.code(), Some(0), "{said}");
            assert!(said.contains("everything is already answered"), "{said}");
            manifest["judge_choice"].to_string()
        })
        .collect();
    choices.sort_unstable();
    assert_eq!(choices, ["\"subject\"", "{\"model\":\"builtin/nano\"}"]);
    assert!(!home.path().join("elsewhere").exists());
    assert!(!home.path().join("cache/answers.sqlite").exists());
}

/// Two models on a counting server, judged by the first; killed while the second is judged.
#[test]
fn a_killed_run_is_resumed_with_the_judge_it_was_begun_with() {
    const ITEMS: usize = 5;
    let (reached, at_the_kill) = channel();
    let (release, released) = channel();
    let gate = Mutex::new((0, reached, released));
    let script = Script {
        models: vec!["a", "b"],
        reply: Arc::new(move |_| {
            let mut gate = gate.lock().unwrap();
            gate.0 += 1;
            // All of `a`, the answers of `b`, and two verdicts on them.
            if gate.0 == 3 * ITEMS + 2 {
                gate.1.send(()).unwrap();
                gate.2.recv().unwrap();
            }
            "Answer: A".to_owned()
        }),
        ..Script::default()
    };
    let server = FaultyServer::start(script).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mary = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
        command
            .args(args)
            .current_dir(home.path())
            .env("MARY_RUNS", home.path().join("runs"))
            .env("MARY_CACHE_DIR", home.path().join("cache"))
            .env_remove("MARY_MODEL")
            .stdout(Stdio::null());
        command
    };
    let url = server.url("/v1");
    let args = "run -m vllm/a,vllm/b --judge vllm/a -t htest/uppercase -k 2 --limit 5 --set mode=cot \
                --apply-chat-template --no-cache --no-report --max-connections 1 --base-url";
    let mut args: Vec<&str> = args.split_whitespace().collect();
    args.push(&url);
    let mut child = mary(&args).stderr(Stdio::null()).spawn().unwrap();
    at_the_kill
        .recv_timeout(Duration::from_secs(300))
        .expect("the run comes to the second model's verdicts");
    child.kill().unwrap();
    child.wait().unwrap();
    release.send(()).unwrap();

    let resumed = mary(&["resume"]).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(0), "{said}");
    let bodies = server.books().bodies;
    assert!((4 * ITEMS..64).contains(&bodies.len()), "{}", bodies.len());
    // Subjects are asked to think, and the judge is shown what they answered.
    let judged: Vec<&str> = bodies
        .iter()
        .filter(|body| body["messages"].to_string().contains("Answer: A"))
        .map(|body| body["model"].as_str().unwrap())
        .collect();
    assert!(judged.len() >= 2 * ITEMS, "{judged:?}");
    assert!(judged.iter().all(|judge| *judge == "a"), "{judged:?}");
    assert!(!home.path().join("cache/answers.sqlite").exists());
}
