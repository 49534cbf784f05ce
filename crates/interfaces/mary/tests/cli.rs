//! What a user types and what comes back: exit code, standard output and standard error together.

use std::path::Path;

use crate::program::{Said, program, said};

/// Runs `mary` on a terminal of a hundred columns.
fn mary(home: &Path, args: &[&str]) -> Said {
    said(program(home).args(args).env("COLUMNS", "100"))
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn help_names_every_command() {
    let home = home();
    let said = mary(home.path(), &["--help"]);
    assert_eq!(said.code, 0);
    for command in [
        "run",
        "resume",
        "rescore",
        "report",
        "view",
        "compare",
        "export",
        "tasks",
        "models",
        "data",
        "cache",
        "grow",
        "tune",
        "completions",
    ] {
        assert!(
            said.out.contains(&format!("\n  {command}")),
            "{command} is missing:\n{}",
            said.out
        );
    }
}

#[test]
fn mary_alone_says_how_to_begin() {
    let home = home();
    // A broken settings file is told by the commands that read it.
    std::fs::write(home.path().join("mary.toml"), "[").unwrap();
    let said = mary(home.path(), &[]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains("\n  mary run "), "{}", said.out);
    assert!(said.out.lines().count() <= 12, "{}", said.out);
}

#[test]
fn the_guide_prints_commands_for_what_is_wanted() {
    let home = home();
    let said = mary(
        home.path(),
        &["guide", "surprisal", "of", "my", "sentences"],
    );
    assert_eq!(said.code, 0, "{}", said.err);
    let first =
        "To get the surprisal of my own sentences:\n    mary score my.csv -m hf/gpt2 --by word\n";
    assert!(said.out.starts_with(first), "{}", said.out);
    assert!(
        said.out.contains("\n  read: docs/own-texts.md\n"),
        "{}",
        said.out
    );
    let all = mary(home.path(), &["guide"]);
    assert!(all.out.contains("\nLook inside a model\n"), "{}", all.out);
    let none = mary(home.path(), &["guide", "xyzzy"]);
    assert_eq!((none.code, none.out.as_str()), (2, ""));
    assert!(none.err.contains("`mary guide` lists"), "{}", none.err);
}

#[test]
fn the_first_run_needs_nothing_and_leaves_a_table_a_folder_and_a_report() {
    let home = home();
    let said = mary(home.path(), &["run", "--limit", "4"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("htest"), "{}", said.out);
    assert!(said.out.contains("chance"), "{}", said.out);
    let report = said
        .err
        .lines()
        .find_map(|l| l.strip_prefix("report: "))
        .unwrap();
    let page = std::fs::read_to_string(report).unwrap();
    assert!(page.contains("builtin/nano"));
    let run = said
        .err
        .lines()
        .find_map(|l| l.strip_prefix("run:    "))
        .unwrap();
    for file in ["manifest.json", "samples.jsonl", "summary.json"] {
        assert!(Path::new(run).join(file).is_file(), "{file}");
    }

    // The same command again finds everything answered and ends in the same table.
    let again = mary(home.path(), &["run", "--limit", "4"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(again.out, said.out);
    assert!(
        again.err.contains("everything is already answered"),
        "{}",
        again.err
    );

    // Resume, report, rescore and the cache work on what is there.
    assert_eq!(mary(home.path(), &["resume"]).out, said.out);
    let reported = mary(home.path(), &["report"]);
    assert!(
        reported.out.trim_end().ends_with("report.html"),
        "{}",
        reported.out
    );
    let rescored = mary(home.path(), &["rescore"]);
    assert!(
        rescored.out.contains("No verdict changed"),
        "{}{}",
        rescored.out,
        rescored.err
    );
    // With the same settings every figure comes out again, those over whole sets included.
    let folder = Path::new(report).parent().unwrap();
    let rows = |file: &str| -> serde_json::Value {
        let text = std::fs::read(folder.join(file)).unwrap();
        let summary: serde_json::Value = serde_json::from_slice(&text).unwrap();
        summary["rows"].clone()
    };
    assert!(rows("summary.json").is_array());
    assert_eq!(rows("summary.json"), rows("summary.rescored.json"));
    let stats = mary(home.path(), &["cache", "stats"]);
    assert!(stats.out.contains("builtin/nano"), "{}", stats.out);
}

#[test]
fn json_on_standard_output_is_json_and_nothing_else() {
    let home = home();
    let said = mary(
        home.path(),
        &[
            "run",
            "-t",
            "htest/uppercase",
            "--limit",
            "4",
            "-k",
            "2",
            "--json",
            "--no-report",
        ],
    );
    assert_eq!(said.code, 0, "{}", said.err);
    let value: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert!(value.to_string().contains("htest/uppercase"));
}

#[test]
fn two_seeds_are_two_runs_and_two_sets_of_items() {
    let home = home();
    let run = |seed: &str| {
        mary(
            home.path(),
            &[
                "run",
                "-t",
                "htest/uppercase",
                "--limit",
                "4",
                "-k",
                "2",
                "--seed",
                seed,
                "--no-report",
            ],
        )
    };
    assert_eq!((run("1").code, run("2").code), (0, 0));
    let runs = std::fs::read_dir(home.path().join("runs")).unwrap().count();
    assert_eq!(runs, 2);
    let compared = mary(home.path(), &["compare", "nano-htest"]);
    assert_eq!(
        compared.code, 2,
        "an ambiguous name is refused: {}",
        compared.err
    );
}

/// Messages a user meets first. Read them aloud.
#[test]
fn mistakes_are_answered_with_what_to_do() {
    let home = home();
    let cases: [(&[&str], i32, &[&str]); 9] = [
        (
            &["run", "-t", "ryhme"],
            2,
            &["no task is called `ryhme`", "did you mean htest/rhyme"],
        ),
        (
            &["run", "-m", "buildin/nano"],
            2,
            &["no provider is called `buildin`", "did you mean builtin"],
        ),
        (&["run", "-m", "nano"], 2, &["provider/name[@revision]"]),
        (
            &["run", "-t", "htest", "--set", "colour=red"],
            2,
            &["setting `colour`", "hint: they have"],
        ),
        (
            &["run", "-t", "htest", "--set", "mode=shout"],
            2,
            &["mode", "shout"],
        ),
        (
            &["run", "-t", "htest/rhyme", "--set", "source=published"],
            4,
            &[
                "dataset `htest` is not on this machine",
                "mary data pull htest",
            ],
        ),
        (&["run", "--limit", "0"], 2, &["leaves nothing to run"]),
        (&["report", "nothing"], 4, &["no run is called `nothing`"]),
        (
            &["data", "verify", "blmp"],
            2,
            &["no dataset is called `blmp`", "did you mean blimp"],
        ),
    ];
    for (args, code, words) in cases {
        let said = mary(home.path(), args);
        assert_eq!(said.code, code, "{args:?}: {}", said.err);
        for word in words {
            assert!(
                said.err.contains(word),
                "{args:?} should say `{word}`:\n{}",
                said.err
            );
        }
        assert!(said.out.is_empty(), "{args:?} printed {}", said.out);
    }
}

#[test]
fn a_model_that_cannot_do_it_is_refused_before_anything_is_asked() {
    let home = home();
    let said = mary(
        home.path(),
        &[
            "run",
            "-t",
            "htest/uppercase",
            "--set",
            "mode=cot",
            "-k",
            "2",
        ],
    );
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(
        said.err.contains("nothing was loaded or asked"),
        "{}",
        said.err
    );
    assert!(said.err.contains("a judge model"), "{}", said.err);
    assert!(
        !home.path().join("runs").exists(),
        "a refused run leaves no folder"
    );
}

#[test]
fn spellings_of_the_peers_work() {
    let home = home();
    let args = [
        "run",
        "--model",
        "builtin/nano",
        "--tasks",
        "htest/uppercase",
        "--num_fewshot",
        "2",
        "--limit",
        "2",
        "--batch_size",
        "auto",
        "--device",
        "cpu",
        "--log_samples",
        "--epochs",
        "2",
        "--output_path",
        "elsewhere",
        "--no-report",
    ];
    let said = mary(home.path(), &args);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(home.path().join("elsewhere").is_dir());
}

#[test]
fn a_damaged_log_is_named_with_its_place_and_left_alone() {
    let home = home();
    let args = [
        "run",
        "-t",
        "htest/uppercase",
        "--limit",
        "6",
        "-k",
        "2",
        "--no-report",
    ];
    assert_eq!(mary(home.path(), &args).code, 0);
    let run = std::fs::read_dir(home.path().join("runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let log = run.join("samples.jsonl");
    let mut lines: Vec<String> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(String::from)
        .collect();
    lines[2] = "{\"id\": \"garbage\"".into();
    let damaged = lines.join("\n") + "\n";
    std::fs::write(&log, &damaged).unwrap();
    let said = mary(home.path(), &args);
    assert_ne!(said.code, 0);
    assert!(said.err.contains("samples.jsonl:3"), "{}", said.err);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), damaged);
}

#[test]
fn a_torn_last_line_is_healed() {
    let home = home();
    let args = [
        "run",
        "-t",
        "htest/uppercase",
        "--limit",
        "6",
        "-k",
        "2",
        "--no-report",
    ];
    let first = mary(home.path(), &args);
    let run = std::fs::read_dir(home.path().join("runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let log = run.join("samples.jsonl");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() - 40]).unwrap();
    let said = mary(home.path(), &args);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("torn line"), "{}", said.err);
    assert_eq!(said.out, first.out);
}

#[test]
fn an_unwritable_place_is_named() {
    let home = home();
    std::fs::write(home.path().join("file"), "not a folder").unwrap();
    let said = mary(
        home.path(),
        &[
            "run",
            "-t",
            "htest/uppercase",
            "--limit",
            "2",
            "-k",
            "2",
            "--output-path",
            "file/inside",
        ],
    );
    assert_ne!(said.code, 0);
    assert!(said.err.contains("file/inside"), "{}", said.err);
}

#[test]
fn completions_are_made_for_every_shell() {
    let home = home();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = mary(home.path(), &["completions", shell]);
        assert_eq!(said.code, 0);
        assert!(said.out.contains("mary"), "{shell}");
    }
}

#[test]
fn several_models_are_run_on_the_same_items_and_compared() {
    let home = home();
    let models = "builtin/nano@step0,builtin/nano";
    let said = mary(
        home.path(),
        &[
            "run",
            "-m",
            models,
            "-t",
            "htest/uppercase,htest/end-punctuation",
            "-k",
            "2",
            "--limit",
            "10",
            "--no-report",
        ],
    );
    assert_eq!(said.code, 0, "{}", said.err);
    let compared = mary(home.path(), &["compare", "nano", "--json"]);
    assert_eq!(compared.code, 0, "{}", compared.err);
    assert!(compared.out.contains("htest/uppercase"), "{}", compared.out);
    let matrix = mary(
        home.path(),
        &[
            "matrix",
            "nano",
            "--original",
            "builtin/nano@step0",
            "--tuned",
            "htest/uppercase=builtin/nano",
        ],
    );
    assert_eq!(matrix.code, 0, "{}", matrix.err);
    let exported = mary(home.path(), &["export", "nano", "--to", "csv"]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    let table = std::fs::read_to_string(exported.out.trim()).unwrap();
    // Two models, two tasks, ten items each; a prompt takes several lines of its cell.
    let rows = table.matches("builtin/nano@step0,htest/").count();
    assert_eq!(rows, 20, "{}", table.lines().take(3).collect::<String>());
}

/// Issue 37: "with each other" compared only with the first, and tasks could not be chosen.
#[test]
fn all_pairs_of_models_are_compared_and_tasks_can_be_chosen() {
    let home = home();
    let words = "run -m builtin/nano@step0,builtin/nano@step64,builtin/nano -t htest/uppercase,htest/end-punctuation -k 2 --limit 10 --no-report";
    let said = mary(home.path(), &words.split(' ').collect::<Vec<_>>());
    assert_eq!(said.code, 0, "{}", said.err);
    let compared = |more: &[&str]| {
        let said = mary(
            home.path(),
            &[&["compare", "nano", "--json"], more].concat(),
        );
        assert_eq!(said.code, 0, "{}", said.err);
        let found: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let rows = found["comparisons"].as_array().unwrap().clone();
        let named = |r: &serde_json::Value| format!("{} {} {}", r["task"], r["first"], r["second"]);
        rows.iter().map(named).collect::<Vec<String>>()
    };
    assert_eq!(compared(&[]).len(), 6);
    let first = compared(&["--with-first"]);
    assert_eq!(first.len(), 4);
    assert!(first.iter().all(|r| r.contains("step0")), "{first:?}");
    let upper = compared(&["-t", "*/upp*"]);
    assert_eq!(upper.len(), 3);
    assert!(
        upper.iter().all(|r| r.contains("htest/uppercase")),
        "{upper:?}"
    );
    let none = mary(home.path(), &["compare", "nano", "--tasks", "nothing"]);
    assert_eq!(none.code, 2);
    assert!(
        none.err.contains("no task of these runs fits `nothing`"),
        "{}",
        none.err
    );
    assert!(
        none.err.contains("htest/end-punctuation, htest/uppercase"),
        "{}",
        none.err
    );
}

#[test]
fn a_model_may_judge_its_own_chain_of_thought() {
    let home = home();
    let args = [
        "run",
        "-t",
        "htest/uppercase",
        "-k",
        "2",
        "--limit",
        "4",
        "--set",
        "mode=cot",
        "--set",
        "max-tokens=12",
        "--judge",
        "self",
        "--no-report",
    ];
    let said = mary(home.path(), &args);
    assert_eq!(said.code, 0, "{}", said.err);
    let run = std::fs::read_dir(home.path().join("runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let log = std::fs::read_to_string(run.join("samples.jsonl")).unwrap();
    for line in log.lines() {
        let sample: serde_json::Value = serde_json::from_str(line).unwrap();
        let roles: Vec<_> = sample["exchanges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["ask"]["role"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(roles, ["subject", "judge"]);
    }
}
