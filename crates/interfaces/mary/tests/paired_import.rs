//! Samples of lm-evaluation-harness come back paired with our own answers, item by item, and what has nothing
//! in common is not compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

fn mary(home: &Path, data: &Path, words: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(words)
        .current_dir(home)
        .env("HOME", home)
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("MARY_DATA_DIR", data)
        .env("NO_COLOR", "1")
        .env_remove("MARY_RUNS")
        .env_remove("MARY_CACHE_DIR")
        .env_remove("MARY_MODEL")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

fn only_run(home: &Path) -> PathBuf {
    let mut runs = std::fs::read_dir(home.join("runs")).unwrap();
    runs.next().unwrap().unwrap().path()
}

/// What `lm_eval --log_samples` writes of a pair: both sentences with a space before them, the good one first.
fn line(doc_id: usize, good: &str, bad: &str, set: &str, right: bool) -> Value {
    let argument = |text: &str| json!({"arg_0": "", "arg_1": format!(" {text}")});
    json!({
        "doc_id": doc_id,
        "doc": {"sentence_good": good, "sentence_bad": bad, "UID": set},
        "target": "0",
        "arguments": {"gen_args_0": argument(good), "gen_args_1": argument(bad)},
        "resps": [[["-20.5", "False"]], [["-21.5", "False"]]],
        "filtered_resps": [["-20.5", "False"], ["-21.5", "False"]],
        "filter": "none",
        "metrics": ["acc"],
        "acc": f64::from(u8::from(right)),
    })
}

#[test]
fn blimp_of_the_harness_is_paired_with_ours_pair_by_pair() {
    let Some(data) = mary_testkit::lacking::datasets("blimp") else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let words = [
        "run",
        "-t",
        "psychometric/blimp",
        "--limit",
        "134",
        "--no-report",
    ];
    let (code, _, err) = mary(home, &data, &words);
    assert_eq!(code, 0, "{err}");
    let ours = only_run(home);
    let mut sets: BTreeMap<String, Vec<(String, String, String)>> = BTreeMap::new();
    for text in std::fs::read_to_string(ours.join("samples.jsonl"))
        .unwrap()
        .lines()
    {
        let sample: Value = serde_json::from_str(text).unwrap();
        let item = &sample["item"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let pair = &item["target"]["pair"];
        let one = (text(&item["id"]), text(&pair["good"]), text(&pair["bad"]));
        sets.entry(text(&item["tags"]["set"]))
            .or_default()
            .push(one);
    }
    assert!(sets.len() > 60, "{} sets", sets.len());
    // A file for each set, as the harness writes them, in another order and with its own numbers.
    let folder = home.join("out/some__model");
    std::fs::create_dir_all(&folder).unwrap();
    let (mut files, mut right) = (Vec::new(), BTreeMap::new());
    for (set, mut pairs) in sets {
        pairs.reverse();
        let lines = pairs.iter().enumerate().map(|(n, (id, good, bad))| {
            let verdict = id.len() % 2 == 0;
            right.insert(id.clone(), verdict);
            line(n, good, bad, &set, verdict).to_string() + "\n"
        });
        let lines: String = lines.collect();
        let file = folder.join(format!(
            "samples_blimp_{set}_2026-11-16T10-00-00.000000.jsonl"
        ));
        std::fs::write(&file, lines).unwrap();
        files.push(file.display().to_string());
    }
    let mut words = vec!["import"];
    words.extend(files.iter().map(String::as_str));
    let (code, out, err) = mary(home, &data, &words);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("are items of psychometric/blimp"), "{err}");
    assert_eq!(out.lines().count(), 1, "one run of all parts: {out}");
    let imported = out.trim();
    let (code, again, _) = mary(home, &data, &words);
    assert_eq!((code, again.trim()), (0, imported));

    let ours = ours.file_name().unwrap().to_str().unwrap().to_owned();
    let name = Path::new(imported).file_name().unwrap().to_str().unwrap();
    let (code, out, err) = mary(home, &data, &["compare", &ours, name, "--json"]);
    assert_eq!(code, 0, "{err}");
    let compared: Value = serde_json::from_str(&out).unwrap();
    let [one] = compared["comparisons"].as_array().unwrap().as_slice() else {
        panic!("{compared}");
    };
    assert_eq!(one["task"], "psychometric/blimp");
    assert_eq!(one["paired"], right.len());
    assert_eq!(
        (&one["only_first"], &one["only_second"]),
        (&json!(0), &json!(0))
    );
    let share = right.values().filter(|r| **r).count() as f64 / right.len() as f64;
    assert!((one["second_mean"].as_f64().unwrap() - share).abs() < 1e-12);
    assert!(
        err.contains("is not known"),
        "its settings are not known: {err}"
    );

    // Under a name of its own it is another task, and nothing is compared.
    let (code, out, err) = mary(home, &data, &["import", &files[0], "--task", "mine/blimp"]);
    assert_eq!(code, 0, "{err}");
    let name = Path::new(out.trim()).file_name().unwrap().to_str().unwrap();
    let (code, _, err) = mary(home, &data, &["compare", &ours, name]);
    assert_eq!(code, 2);
    assert!(err.contains("nothing in common"), "{err}");
}

#[test]
fn an_item_of_a_dataset_is_shown_where_the_dataset_is() {
    let Some(data) = mary_testkit::lacking::datasets("blimp") else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let data = data.display().to_string();
    let words = ["tasks", "show", "psychometric/blimp", "--data-dir", &data];
    let (code, out, err) = mary(home.path(), Path::new("/nowhere"), &words);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("--- item ") && out.contains("[scored: "),
        "{out}"
    );
    // Where it is not, the reason stands in the item's place.
    let (_, out, _) = mary(home.path(), Path::new("/nowhere"), &words[..3]);
    assert!(out.contains("no sample item"), "{out}");
}

/// Of a task that Mary does not know a summary has no rows; nor can a command here continue what another tool made.
#[test]
fn an_imported_run_is_complete_whatever_failed_in_it() {
    let home = tempfile::tempdir().unwrap();
    let sample =
        |id: usize| json!({"id": id, "epoch": 1, "target": "4", "scores": {"match": {"value": 1}}});
    let mut failed = sample(3);
    failed["error"] = json!({"message": "time-out"});
    let log = json!({
        "eval": {"model": "openai/m", "task": "sums", "created": "2026-01-01T00:00:00Z"},
        "samples": [sample(1), sample(2), failed],
    });
    std::fs::write(home.path().join("log.json"), log.to_string()).unwrap();
    let said = |words: &[&str]| mary(home.path(), home.path(), words);
    let (code, _, err) = said(&["import", "log.json"]);
    assert_eq!(code, 0, "{err}");
    let run = only_run(home.path());
    // As it was written, and added up from the log.
    for _ in 0..2 {
        let (code, out, err) = said(&["runs"]);
        assert_eq!(code, 0, "{err}");
        assert!(
            out.contains("complete") && !out.contains("not complete"),
            "{out}"
        );
        let (code, _, err) = said(&["report", &run.display().to_string()]);
        assert_eq!(code, 0, "{err}");
        let page = std::fs::read_to_string(run.join("report.html")).unwrap();
        assert!(!page.contains("is not complete"), "{err}");
        std::fs::remove_file(run.join("summary.json")).ok();
    }
}
