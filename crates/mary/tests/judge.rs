//! The judge and the command line: one that cannot judge is refused, and the choice stands in the
//! manifest that `mary resume` reads.

use std::path::Path;
use std::process::{Command, Output};

fn mary(home: &Path, judge: &str) -> Output {
    let args = "run -t htest/rhyme -k 2 --limit 2 --set mode=cot --set max-tokens=4 --no-report";
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
