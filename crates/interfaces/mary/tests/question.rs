//! What may be compared: commands keep to one question, name what they left out, and still read runs
//! of earlier programs.

use std::path::{Path, PathBuf};

use mary_contract::{DataError, DataSource, TaskRun};
use mary_lab::families::embodied::released_runs;
use mary_report::pairs::{Pair, Paired};

use crate::program::{Said, program, said};

fn mary(home: &Path, args: &[&str]) -> Said {
    said(program(home).args(args).env("COLUMNS", "300"))
}

/// Runs a task of the smallest model and gives the name of its folder.
fn run(home: &Path, args: &[&str]) -> String {
    let mut all = vec![
        "run",
        "-m",
        "builtin/nano@step16",
        "--no-report",
        "--limit",
        "6",
    ];
    all.extend(args);
    let said = mary(home, &all);
    assert_eq!(said.code, 0, "{}", said.err);
    let line = said.err.lines().find_map(|l| l.strip_prefix("run:"));
    let path = line
        .unwrap_or_else(|| panic!("no folder in: {}", said.err))
        .trim();
    Path::new(path)
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned()
}

#[test]
fn four_shots_are_not_compared_with_two_unless_that_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let four = run(home.path(), &["-t", "htest/uppercase", "-k", "4"]);
    let two = run(home.path(), &["-t", "htest/uppercase", "-k", "2"]);
    let refused = mary(home.path(), &["compare", &four, &two]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("nothing in common"), "{}", refused.err);
    assert!(refused.err.contains("shots 4 against 2"), "{}", refused.err);
    assert!(refused.err.contains("--across shots"), "{}", refused.err);
    let wanted = mary(home.path(), &["compare", &four, &two, "--across", "shots"]);
    assert_eq!(wanted.code, 0, "{}", wanted.err);
    assert!(
        wanted.err.contains("differ in shots 4 against 2"),
        "{}",
        wanted.err
    );
    assert!(wanted.out.contains("htest/uppercase"), "{}", wanted.out);
}

#[test]
fn runs_of_different_tasks_have_nothing_to_compare() {
    let home = tempfile::tempdir().unwrap();
    let one = run(home.path(), &["-t", "htest/uppercase", "-k", "2"]);
    let other = run(home.path(), &["-t", "htest/end-ly", "-k", "2"]);
    let said = mary(home.path(), &["compare", &one, &other]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("only nano@step16 ("), "{}", said.err);
    assert!(said.err.contains("hint:"), "{}", said.err);
}

#[test]
fn rescoring_changes_the_judging_and_never_the_question() {
    let home = tempfile::tempdir().unwrap();
    run(home.path(), &["-t", "psychometric/matrices"]);
    let refused = mary(home.path(), &["rescore", "--set", "layout=choices"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused
            .err
            .contains("layout=choices (it was asked with layout=paper)"),
        "{}",
        refused.err
    );
    assert!(
        refused.err.contains("judged again by scoring"),
        "{}",
        refused.err
    );
    let judged = mary(home.path(), &["rescore", "--set", "scoring=mean"]);
    assert_eq!(judged.code, 0, "{}", judged.err);
    // The default said out loud changes nothing.
    let same = mary(home.path(), &["rescore", "--set", "layout=paper"]);
    assert_eq!(same.code, 0, "{}", same.err);
}

#[test]
fn a_run_of_an_earlier_program_is_reported_and_compared() {
    let home = tempfile::tempdir().unwrap();
    let name = "nano-htest-84dc0678aa";
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../run/mary-store/tests/old_run")
        .join(name);
    let folder = home.path().join("runs").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["manifest.json", "summary.json", "samples.jsonl"] {
        std::fs::copy(kept.join(file), folder.join(file)).unwrap();
    }
    let said = mary(home.path(), &["report", name]);
    assert_eq!(said.code, 0, "{}", said.err);
    // The same samples under another name: a comparison of a run with itself, across a copy.
    let copy = home.path().join("runs/copy");
    std::fs::create_dir_all(&copy).unwrap();
    for file in ["manifest.json", "summary.json", "samples.jsonl"] {
        std::fs::copy(kept.join(file), copy.join(file)).unwrap();
    }
    let said = mary(home.path(), &["compare", name, "runs/copy"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("too few items"), "{}", said.out);
}

struct Datasets(PathBuf);

impl DataSource for Datasets {
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError> {
        Ok(self.0.join(dataset))
    }

    fn hash(&self, _: &str) -> Result<String, DataError> {
        Ok(String::new())
    }
}

#[test]
fn the_papers_pairs_are_compared_item_by_item() {
    let Some(data) = mary_testkit::lacking::datasets("embodied").map(Datasets) else {
        return;
    };
    let path = data.0.join("embodied/PerceptualQA/predictions.tar.gz");
    let runs = released_runs(&path, &data).unwrap().unwrap();
    let mut paired = Paired::new("subtask", Some("exact"));
    for run in runs
        .iter()
        .filter(|r| r.settings.params["language"] == "en")
    {
        let asked = TaskRun::of(&run.task, run.settings.clone());
        run.samples.iter().for_each(|s| paired.add(&asked, s));
    }
    let pairs = [
        ("llava-v1.6-vicuna-7b", "vicuna-7B-v1.5"),
        ("llava-v1.6-mistral-7b", "Mistral-7B-Instruct-v0.2"),
        ("Qwen2-VL-7B-Instruct", "Qwen2-7B"),
        ("qwen-vl-max-2024-08-09", "qwen2-72b-instruct"),
    ]
    .map(|(first, second)| Pair {
        first: format!("published/{first}"),
        second: format!("published/{second}"),
    });
    let lines = paired.compare(&pairs).unwrap();
    assert_eq!(lines.rows.len(), 5 * 10);
    let all = |name: &str| {
        let found = lines
            .rows
            .iter()
            .find(|r| r.pair == name && r.part == "all");
        found.unwrap().difference.clone()
    };
    let pooled = all("4 pairs pooled");
    // The paper: an average gain of 2.32 points.
    assert!((100.0 * pooled.value - 2.32).abs() < 0.005, "{pooled:?}");
    // Four pairs answer the same questions in the same two orders: one unit each.
    assert!(pooled.n >= 7 * pooled.units, "{pooled:?}");
    // Issue 41: +3.25 [-9.70, +15.66] stood beside p = .020.
    let mut rows = lines.rows.iter();
    let counting = rows.find(|r| r.pair == "4 pairs pooled" && r.part == "V-CN");
    let (low, high) = counting.unwrap().difference.bounds.unwrap();
    assert!(
        0.003 < low && low < 0.01 && 0.055 < high && high < 0.065,
        "{low} {high}"
    );
    for row in &lines.rows {
        let d = &row.difference;
        if let (Some((low, high)), Some(p)) = (d.bounds, d.p) {
            assert_eq!(low > 0.0 || high < 0.0, p < 0.05, "{} {d:?}", row.part);
        }
        eprintln!(
            "{} {}: {:+.2} {:?} p {:?} Holm {:?}",
            row.pair,
            row.part,
            100.0 * d.value,
            d.bounds,
            d.p,
            row.p_holm
        );
    }
}
