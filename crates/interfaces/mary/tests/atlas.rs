//! `mary atlas` over runs of the built-in model and its untrained beginning, and the records it shares with `export`.

use std::path::Path;

use crate::program::{done, program, said};

/// The scores of one model in the records of a site.
fn scores(records: &serde_json::Value, model: &str) -> usize {
    let of = |record: &&serde_json::Value| record["model_info"]["name"] == model;
    let found = records.as_array().unwrap().iter().filter(of);
    found
        .map(|r| r["evaluation_results"].as_array().unwrap().len())
        .sum()
}

#[test]
fn a_folder_of_runs_becomes_a_site() {
    let home = tempfile::tempdir().unwrap();
    let ask = |model: &str, tasks: &str| {
        done(
            home.path(),
            &[
                "run",
                "-m",
                model,
                "-t",
                tasks,
                "-l",
                "24",
                "-q",
                "--no-report",
            ],
        );
    };
    ask(
        "builtin/nano@step0",
        "psychometric/grammar-small,htest/rhyme",
    );
    ask("builtin/nano", "psychometric/grammar-small");
    ask("builtin/nano", "htest/rhyme");
    done(home.path(), &["atlas", "runs", "--out", "site"]);
    let read = |name: &str| std::fs::read_to_string(home.path().join("site").join(name)).unwrap();
    let page = read("index.html");
    assert!(page.contains("Atlas: 2 models on 2 tasks"), "{page}");
    assert!(
        page.contains("<b>nano@step0</b> is above chance on 0 of 2 tasks."),
        "{page}"
    );
    assert!(
        page.contains("<b>nano</b> is above chance on 1 of 2 tasks."),
        "{page}"
    );
    // The untrained one is no better than chance and has no tier.
    assert_eq!(page.matches("▲ tier 1").count(), 1, "{page}");
    assert!(
        !page.contains("≈ tier") && !page.contains("tier 2"),
        "{page}"
    );
    let files = |folder: &str| {
        std::fs::read_dir(home.path().join("site").join(folder))
            .unwrap()
            .count()
    };
    assert_eq!((files("tasks"), files("reports")), (2, 3));
    let records: serde_json::Value = serde_json::from_str(&read("data.json")).unwrap();
    assert_eq!(scores(&records, "builtin/nano"), 2);
    // The site of the same runs, named one by one, has the same pages.
    let names: Vec<String> = std::fs::read_dir(home.path().join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path().to_string_lossy().into_owned())
        .collect();
    let mut args = vec!["atlas", "--no-reports", "--out", "again"];
    args.extend(names.iter().map(String::as_str));
    done(home.path(), &args);
    assert!(!home.path().join("again/reports").exists());
    let none = said(program(home.path()).args(["atlas", "nosuch", "--out", "x"]));
    assert_eq!(none.code, 4, "{}", none.err);
    assert!(!Path::new("x").exists());
}

#[test]
fn an_export_for_every_eval_ever_has_what_its_schema_requires() {
    let home = tempfile::tempdir().unwrap();
    done(
        home.path(),
        &["run", "-t", "htest/rhyme", "-l", "8", "-q", "--no-report"],
    );
    let file = done(
        home.path(),
        &["export", "--to", "every-eval-ever", "--out", "out"],
    );
    let text = std::fs::read_to_string(home.path().join(file.trim())).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    for field in [
        "/schema_version",
        "/evaluation_id",
        "/retrieved_timestamp",
        "/source_metadata/source_type",
        "/source_metadata/source_organization_name",
        "/source_metadata/evaluator_relationship",
        "/eval_library/version",
        "/model_info/id",
        "/model_info/additional_details/deployment_type",
        "/evaluation_results/0/evaluation_name",
        "/evaluation_results/0/source_data/dataset_name",
        "/evaluation_results/0/score_details/details/p_chance_holm",
    ] {
        assert!(
            record
                .pointer(field)
                .is_some_and(serde_json::Value::is_string),
            "{field}: {text}"
        );
    }
    let result = &record["evaluation_results"][0];
    assert_eq!(result["metric_config"]["lower_is_better"], false);
    let score = result["score_details"]["score"].as_f64().unwrap();
    let interval = &result["score_details"]["uncertainty"]["confidence_interval"];
    let bound = |name: &str| interval[name].as_f64().unwrap();
    assert!(bound("lower") <= score && score <= bound("upper"));
}
