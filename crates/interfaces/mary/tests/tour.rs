//! What somebody stumbles over who tries one command after the other: names, labels, tables and hints.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

struct Said {
    code: i32,
    out: String,
    err: String,
}

fn mary(home: &Path, words: &str) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(words.split(' '))
        .current_dir(home)
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .env_remove("MARY_RUNS")
        .env_remove("MARY_CACHE_DIR")
        .env_remove("MARY_DATA_DIR")
        .env_remove("MARY_MODEL")
        .output()
        .unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A command that must succeed.
fn done(home: &Path, words: &str) -> Said {
    let said = mary(home, words);
    assert_eq!(said.code, 0, "mary {words}\n{}{}", said.err, said.out);
    said
}

/// A run under a name of its own.
fn named_run(home: &Path, words: &str, name: &str) {
    let before = names(home);
    done(home, &format!("run {words} --no-report --quiet"));
    let made = names(home).into_iter().find(|run| !before.contains(run));
    done(home, &format!("runs rename {} {name}", made.unwrap()));
}

fn names(home: &Path) -> Vec<String> {
    let runs = std::fs::read_dir(home.join("runs")).into_iter().flatten();
    runs.map(|run| run.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

const SMALL: &str = "-t psychometric/grammar-small";

#[test]
fn ask_calls_models_by_their_labels() {
    let home = tempfile::tempdir().unwrap();
    let words = "ask -m a=builtin/nano,b=builtin/nano@step0 --max-tokens 3 -q dogs";
    let said = done(home.path(), words);
    assert!(said.out.contains("── a (1)\n"), "{}", said.out);
    assert!(said.out.contains("── b (1)\n"), "{}", said.out);
    assert!(
        said.err.contains("note: a has no chat template"),
        "{}",
        said.err
    );
    // Machines have both: the model stays what it is.
    let said = done(home.path(), &format!("{words} --json"));
    let rows: Vec<Value> = said
        .out
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let of = |label: &str| rows.iter().find(|row| row["label"] == label).unwrap();
    assert_eq!(of("a")["model"], "builtin/nano");
    assert_eq!(of("b")["model"], "builtin/nano@step0");
    let said = done(home.path(), "ask --max-tokens 3 -q --json dogs");
    let row: Value = serde_json::from_str(said.out.trim()).unwrap();
    assert!(row.get("label").is_none(), "{row}");
}

#[test]
fn a_run_is_found_by_its_whole_name_first_and_named_once() {
    let home = tempfile::tempdir().unwrap();
    named_run(home.path(), &format!("{SMALL} --limit 4"), "d");
    named_run(home.path(), &format!("{SMALL} --limit 6"), "dd");
    assert_eq!(
        done(home.path(), "report d").out.trim(),
        "runs/d/report.html"
    );
    let both = done(home.path(), "report d dd");
    assert_eq!(both.out.trim(), "runs/d/report.html");
    done(home.path(), "runs remove d --yes");
    for words in ["report d dd", "report dd ./runs/dd", "compare dd dd"] {
        let said = mary(home.path(), words);
        assert_eq!(said.code, 2, "mary {words}: {}", said.err);
        assert!(said.err.contains("runs/dd is named twice"), "{}", said.err);
    }
}

#[test]
fn a_comparison_of_runs_says_everything_once_and_short() {
    let home = tempfile::tempdir().unwrap();
    for (label, model, limit) in [
        ("old", "builtin/nano@step0", 8),
        ("mid", "builtin/nano@step64", 8),
        ("new", "builtin/nano", 12),
    ] {
        let words = format!("-m {label}={model} {SMALL} --limit {limit}");
        named_run(home.path(), &words, &format!("run-{label}"));
    }
    let two = done(home.path(), "compare run-old run-mid");
    assert!(two.out.contains("old (first)"), "{}", two.out);
    assert!(!two.out.contains("all 1 comparisons"), "{}", two.out);
    let three = done(home.path(), "compare run-old run-mid run-new");
    // The labels tell the models apart; the runs' names are not needed.
    assert!(!three.out.contains("-psychometric-"), "{}", three.out);
    assert!(!three.err.contains("-psychometric-"), "{}", three.err);
    assert!(three.out.contains("all 3 comparisons"), "{}", three.out);
    // What is a warning is not a note as well.
    assert!(three.err.contains("items do not match"), "{}", three.err);
    assert!(!three.out.contains("items do not match"), "{}", three.out);
    // For machines everything is as it was.
    let rows = done(home.path(), "compare run-old run-new --json").out;
    let rows: Value = serde_json::from_str(&rows).unwrap();
    let first = rows["comparisons"][0]["first"].as_str().unwrap();
    assert!(first.starts_with("builtin/nano@step0 (old-"), "{first}");
    assert_eq!(rows["warnings"].as_array().unwrap().len(), 1);
    // The same model in two runs is told apart by them.
    named_run(
        home.path(),
        &format!("-m old=builtin/nano@step0 {SMALL} --limit 10"),
        "run-again",
    );
    let same = done(home.path(), "compare run-old run-again");
    assert!(same.out.contains("old (old-psychometric-"), "{}", same.out);
    // So are two models that two runs call the same.
    let words = format!("-m old=builtin/nano {SMALL} --limit 8");
    named_run(home.path(), &words, "run-other");
    let other = done(home.path(), "compare run-mid run-old run-other");
    assert!(
        other.out.contains("old (old-psychometric-"),
        "{}",
        other.out
    );
    assert!(
        !other.out.contains("mid (mid-psychometric-"),
        "{}",
        other.out
    );
}

#[test]
fn runs_with_nothing_in_common_are_called_by_their_labels() {
    let home = tempfile::tempdir().unwrap();
    named_run(
        home.path(),
        &format!("-m old=builtin/nano@step0 {SMALL} --limit 4"),
        "one",
    );
    named_run(
        home.path(),
        "-m new=builtin/nano -t htest/rhyme -k 2 --limit 4",
        "two",
    );
    let said = mary(home.path(), "compare one two");
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("only old has it, new does not"),
        "{}",
        said.err
    );
}

#[test]
fn three_models_with_the_same_remark_are_all_named() {
    let home = tempfile::tempdir().unwrap();
    let models = "old=builtin/nano@step0,mid=builtin/nano@step64,new=builtin/nano";
    done(
        home.path(),
        &format!("run -m {models} {SMALL} --limit 4 --quiet"),
    );
    let run = names(home.path()).remove(0);
    let page = home.path().join("runs").join(run).join("report.html");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(">old, mid and new: "), "{}", page.len());
    assert!(!page.contains("and 1 more"));
}

#[test]
fn joined_folders_have_a_table_and_a_report() {
    let home = tempfile::tempdir().unwrap();
    for shard in 0..2 {
        let words =
            format!("run {SMALL} --limit 8 --shard {shard}/2 --quiet --output-path m{shard}");
        done(home.path(), &words);
    }
    let only = |folder: &str| {
        let mut all = std::fs::read_dir(home.path().join(folder)).unwrap();
        let name = all.next().unwrap().unwrap().file_name();
        format!("{folder}/{}", name.to_string_lossy())
    };
    let said = done(
        home.path(),
        &format!("merge {} {} --into joined", only("m0"), only("m1")),
    );
    assert!(said.out.contains("grammar-small"), "{}", said.out);
    assert_eq!(said.err.matches("cache:").count(), 1, "{}", said.err);
    let joined = only("joined");
    assert!(
        said.err.contains(&format!("run:    {joined}")),
        "{}",
        said.err
    );
    assert!(home.path().join(&joined).join("report.html").is_file());
    let again = format!("merge {} {} --into json --json", only("m0"), only("m1"));
    let summary: Value = serde_json::from_str(&done(home.path(), &again).out).unwrap();
    assert_eq!(summary["complete"], true, "{summary}");
}

#[test]
fn what_may_be_done_with_runs_is_suggested() {
    let home = tempfile::tempdir().unwrap();
    done(
        home.path(),
        &format!("run {SMALL} --limit 4 --no-report --quiet"),
    );
    for (typed, meant) in [("rm", "remove"), ("remvoe", "remove"), ("mv", "rename")] {
        let said = mary(home.path(), &format!("runs {typed} x"));
        assert_eq!(said.code, 4, "{}", said.err);
        let hint = format!("did you mean `mary runs {meant}`?");
        assert!(said.err.contains(&hint), "{typed}: {}", said.err);
    }
    let said = mary(home.path(), "runs nosuch");
    assert!(!said.err.contains("did you mean"), "{}", said.err);
}

#[test]
fn an_audit_is_a_table_that_explains_itself() {
    let home = tempfile::tempdir().unwrap();
    let said = done(home.path(), "data audit htest/rhyme");
    let mut lines = said.out.lines();
    let head = lines.find(|line| line.starts_with("baseline ")).unwrap();
    let row = lines.next().unwrap();
    // The head stands above its columns.
    let column = |line: &str, text: &str| line.find(text).map(|at| line[..at].chars().count());
    assert_eq!(column(head, "95 % interval"), column(row, "["));
    assert!(head.ends_with("p (Holm)  verdict"), "{head}");
    assert!(said.out.contains("p is one-sided"), "{}", said.out);
    assert!(
        said.out.contains("the rule: this baseline sees"),
        "{}",
        said.out
    );
}

#[test]
fn a_models_card_says_after_which_token_texts_are_scored() {
    let home = tempfile::tempdir().unwrap();
    let said = done(home.path(), "models show builtin/nano");
    let start = "start: the tokenizer puts nothing first; plain texts are scored after <|endoftext|> (id 0)\n";
    assert!(said.out.contains(start), "{}", said.out);
}
