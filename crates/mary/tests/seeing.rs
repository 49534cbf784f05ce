//! A model that sees, as a user grows and asks one: three steps of the smallest size, then the same questions
//! with their own picture and with a blank one.

use std::path::Path;
use std::process::{Command, Output};

fn mary(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(args)
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

#[test]
fn a_model_grown_with_eyes_is_asked_about_pictures() {
    let home = tempfile::tempdir().unwrap();
    let grow = [
        "grow", "--eyes", "--out", "seen", "--size", "pico", "--steps", "3",
    ];
    let grown = mary(home.path(), &grow);
    let said = String::from_utf8_lossy(&grown.stderr).into_owned();
    assert!(grown.status.success(), "{said}");
    assert!(said.contains("step 3 of 3"), "{said}");
    for picture in ["picture=own", "picture=blank"] {
        let asked = mary(
            home.path(),
            &[
                "run",
                "-m",
                "hf/./seen/step3",
                "-t",
                "embodied/scenes",
                "--set",
                picture,
                "--set",
                "n=80",
                "--json",
                "--no-report",
                "-q",
            ],
        );
        let said = String::from_utf8_lossy(&asked.stderr).into_owned();
        assert!(asked.status.success(), "{picture}: {said}");
        let told: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
        let text = told.to_string();
        assert!(text.contains("embodied/scenes"), "{text}");
        assert!(text.contains("\"n\":80"), "all eighty are scored: {text}");
    }
}

#[test]
fn eyes_grow_on_the_processor_alone() {
    let home = tempfile::tempdir().unwrap();
    let said = mary(
        home.path(),
        &["grow", "--eyes", "--out", "x", "--device", "cuda:0"],
    );
    assert_eq!(said.status.code(), Some(2));
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        error.contains("cuda:0") && error.contains("hint"),
        "{error}"
    );
}
