//! A whole assessment from the command line: pictures against the scripted server, ending in the
//! paper's tables; contact sheets, tuning sets and the form for people; the audit of the grids.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use mary_testkit::faulty_server::{FaultyServer, Script};

fn mary(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(args)
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("OPENAI_COMPATIBLE_API_KEY", "k")
        .env_remove("MARY_MODEL")
        .env_remove("MARY_DATA_DIR")
        .output()
        .unwrap()
}

fn done(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The options of any of the family's prompts.
fn options(prompt: &str) -> Vec<String> {
    let line = prompt
        .lines()
        .map(|l| l.rsplit_once("options: ").map_or(l, |(_, rest)| rest))
        .find(|l| l.split(", ").count() == 4 && !l.contains('='));
    line.map(|l| l.split(", ").map(str::to_owned).collect())
        .unwrap_or_default()
}

#[test]
fn pictures_and_definitions_end_in_the_papers_tables() {
    let seen = Arc::new(Mutex::new(0usize));
    let count = Arc::clone(&seen);
    let told = Mutex::new(HashSet::new());
    let script = Script {
        reply: Arc::new(move |prompt| {
            *count.lock().unwrap() += 1;
            let options = options(prompt);
            // A parrot: knows every definition it is asked about the same way, and never looks. Of some
            // questions the first answer cannot be read, and later ones can, whoever asks first.
            let first = told.lock().unwrap().insert(prompt.to_owned());
            match (
                first && prompt.len() % 3 == 0,
                options.get(prompt.len() % 4),
            ) {
                (true, _) | (_, None) => "I would rather not say.".to_owned(),
                (_, Some(option)) => format!("It looks familiar.\n\nThe answer is **{option}**."),
            }
        }),
        ..Script::default()
    };
    let server = FaultyServer::start(script).unwrap();
    let url = server.url("/v1");
    let home = tempfile::tempdir().unwrap();
    let tasks = "physico/core-visual,physico/associative-visual,physico/definition";
    let output = mary(
        home.path(),
        &[
            "run",
            "-m",
            "compatible/scripted",
            "--model-arg",
            "images=true",
            "--base-url",
            &url,
            "-t",
            tasks,
            "--trials",
            "3",
            "--set",
            "per_concept=1",
            "--set",
            "mode=generate",
            "--apply-chat-template",
            "--quiet",
        ],
    );
    done(&output);
    assert!(*seen.lock().unwrap() >= 3 * (52 + 32));
    let tables = home.path().join("tables");
    let output = mary(
        home.path(),
        &["report", "--tables", tables.to_str().unwrap()],
    );
    done(&output);
    let read = |name: &str| {
        let path = tables.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let table_3 = read("physico-table-3.csv");
    let ours = table_3.lines().find(|l| l.contains("scripted")).unwrap();
    assert_eq!(ours.matches('±').count(), 3, "{ours}");
    assert!(
        table_3.contains("52.3 ± 0.8"),
        "the published row stands beside it"
    );
    let table_10 = read("physico-table-10.csv");
    assert_eq!(
        table_10
            .lines()
            .filter(|l| l.contains(",core-test,"))
            .count(),
        27
    );
    assert_eq!(
        table_10
            .lines()
            .filter(|l| l.contains(",core-dev,"))
            .count(),
        25
    );
    assert_eq!(
        table_10
            .lines()
            .filter(|l| l.contains(",associative,"))
            .count(),
        29
    );
    assert!(read("physico-parrot-gap.csv").contains("physico/core-visual"));
}

#[test]
fn sheets_prompts_and_tuning_sets_are_written() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    done(&mary(
        home.path(),
        &[
            "physico",
            "sheet",
            "--concept",
            "gravity",
            "--out",
            "sheet.png",
        ],
    ));
    done(&mary(
        home.path(),
        &[
            "physico",
            "sheet",
            "--concept",
            "gravity",
            "--untitled",
            "--out",
            "blind.png",
        ],
    ));
    assert_ne!(
        std::fs::read(at("sheet.png")).unwrap(),
        std::fs::read(at("blind.png")).unwrap()
    );
    done(&mary(
        home.path(),
        &["physico", "prompt", "gravity", "--out", "prompt.png"],
    ));
    for name in ["sheet.png", "blind.png", "prompt.png"] {
        assert!(std::fs::read(at(name)).unwrap().starts_with(b"\x89PNG"));
    }
    let listed = done(&mary(home.path(), &["physico", "concepts"]));
    assert!(listed.contains("gravity"));
    let unknown = mary(home.path(), &["physico", "sheet", "--concept", "gravty"]);
    let said = String::from_utf8_lossy(&unknown.stderr);
    assert!(said.contains("gravity"), "{said}");
    done(&mary(
        home.path(),
        &[
            "data",
            "tuning",
            "physico/matrix",
            "-n",
            "10",
            "--out",
            "m.jsonl",
        ],
    ));
    assert_eq!(
        std::fs::read_to_string(at("m.jsonl"))
            .unwrap()
            .lines()
            .count(),
        50
    );
    done(&mary(
        home.path(),
        &[
            "data",
            "tuning",
            "physico/core",
            "-n",
            "1",
            "--form",
            "instruction",
            "--out",
            "c.json",
        ],
    ));
    let list: Vec<serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(at("c.json")).unwrap()).unwrap();
    // Blocks of four within each split: 25 concepts make seven of them, and so do 27.
    assert_eq!(list.len(), 56);
}

#[test]
fn the_surface_of_the_grids_gives_no_concept_away() {
    let home = tempfile::tempdir().unwrap();
    let output = mary(
        home.path(),
        &["data", "audit", "physico/core-text", "--json"],
    );
    let reports: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = reports[0]["audit"]["findings"].as_array().unwrap();
    for feature in ["grid_size", "main_colour", "colours_used", "cells_changed"] {
        assert!(
            findings.iter().any(|f| f["baseline"] == feature),
            "{feature} is audited"
        );
    }
    for finding in findings {
        let shortcut = finding["beats_chance"] == true && finding["expected"] == false;
        // That some worlds vary less from pair to pair than others is a shortcut, and said to be one.
        let known = finding["baseline"] == "cells_vary";
        assert!(!shortcut || known, "{finding}");
    }
}
