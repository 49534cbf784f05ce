//! A run folder that an earlier program wrote, shown by this one: every place that links into its report
//! pointed to is still there, `report --tables` writes the same files with the same columns, and the exports
//! have the columns and fields that scripts elsewhere read. The lists below were taken from the report and
//! the exports which the earlier program made of the same folder.

use std::path::{Path, PathBuf};

use crate::program::done;

const RUN: &str = "nano-htest-84dc0678aa";

/// Ids of the earlier report.
const ANCHORS: [&str; 24] = [
    "f-model",
    "f-outcome",
    "f-tag",
    "f-task",
    "f-text",
    "family-htest",
    "family-htest-h",
    "fig-profile",
    "made",
    "made-h",
    "main",
    "next",
    "overview",
    "overview-h",
    "page",
    "prev",
    "sample-count",
    "sample-filters",
    "sample-list",
    "samples",
    "samples-h",
    "tab-htest-table-6",
    "tab-htest-table-7",
    "theme",
];

/// Tables of the earlier `report --tables`, with their first lines; tasks have had titles that explain themselves
/// since.
const TABLES: [(&str, &str); 3] = [
    (
        "results.csv",
        "task,model,score,95% interval,vs chance,chance,human,n,remarks",
    ),
    (
        "htest-table-6.csv",
        "model,k,how,One capital letter in a sentence,Texts beginning with a vowel,Texts ending in punctuation,Palindromes,Last words ending in -ly,Operators spelled out (plus for +),Numbers spelled out (seven for 7),Words that rhyme,A word repeated in a row,Words joined by hyphens,Average,Letters turned or changed",
    ),
    ("htest-table-7.csv", "person,k = 4,k = 14,k = 28,k = 50"),
];

const CSV: &str = "model,task,item,trial,outcome,score,reason,parsed,target,stratum,cluster,tags,measures,prompt,answer,prompt_tokens,completion_tokens";

/// A copy of the kept folder below `home`.
fn copied(home: &Path) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../run/mary-store/tests/old_run")
        .join(RUN);
    let folder = home.join("runs").join(RUN);
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["manifest.json", "summary.json", "samples.jsonl"] {
        std::fs::copy(kept.join(file), folder.join(file)).unwrap();
    }
}

#[test]
fn links_into_an_old_report_still_lead_somewhere() {
    let home = tempfile::tempdir().unwrap();
    copied(home.path());
    let args = ["report", RUN, "--out", "r.html", "--tables", "tables"];
    done(home.path(), &args);
    let page = std::fs::read_to_string(home.path().join("r.html")).unwrap();
    let body = &page[page.find("<body").unwrap()..page.find("<script").unwrap()];
    for id in ANCHORS {
        let there = body.matches(&format!(" id=\"{id}\"")).count();
        assert_eq!(there, 1, "{id}");
    }
    for (file, columns) in TABLES {
        let text = std::fs::read_to_string(home.path().join("tables").join(file)).unwrap();
        // Columns that came later stand behind them.
        let found = text.lines().next().unwrap_or_default();
        assert!(found.starts_with(columns), "{file}: {found}");
    }
    // Within the new report, too, no link leads nowhere.
    for link in body.split("href=\"#").skip(1) {
        let id = link.split('"').next().unwrap();
        assert!(body.contains(&format!(" id=\"{id}\"")), "#{id}");
    }
}

#[test]
fn exports_of_an_old_run_keep_their_columns() {
    let home = tempfile::tempdir().unwrap();
    copied(home.path());
    let export = |form: &str| -> PathBuf {
        let said = done(home.path(), &["export", RUN, "--to", form, "--out", form]);
        home.path().join(said.lines().last().unwrap())
    };
    let csv = std::fs::read_to_string(export("csv")).unwrap();
    // Columns that came later stand behind them.
    let columns = csv.lines().next().unwrap();
    assert!(columns.starts_with(CSV), "{columns}");
    assert!(csv.lines().count() >= 5, "a line for each of four samples");
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let holds = |found: Vec<String>, wanted: &[&str]| {
        for key in wanted {
            assert!(
                found.iter().any(|k| k == key),
                "{key} is missing: {found:?}"
            );
        }
    };
    let samples = std::fs::read_to_string(export("lm-eval")).unwrap();
    let first = serde_json::from_str(samples.lines().next().unwrap()).unwrap();
    holds(
        keys(&first),
        &[
            "acc",
            "arguments",
            "doc",
            "doc_hash",
            "doc_id",
            "filter",
            "filtered_resps",
            "metrics",
            "prompt_hash",
            "resps",
            "said_a",
            "target",
            "target_hash",
        ],
    );
    let log = std::fs::read_to_string(export("inspect")).unwrap();
    let log: serde_json::Value = serde_json::from_str(&log).unwrap();
    holds(
        keys(&log),
        &[
            "eval", "plan", "results", "samples", "stats", "status", "version",
        ],
    );
    holds(
        keys(&log["samples"][0]),
        &[
            "choices",
            "epoch",
            "id",
            "input",
            "messages",
            "metadata",
            "model_usage",
            "output",
            "scores",
            "target",
        ],
    );
    for form in ["parquet", "eval"] {
        let bytes = std::fs::read(export(form)).unwrap();
        let mark: &[u8] = if form == "parquet" { b"PAR1" } else { b"PK" };
        assert!(bytes.starts_with(mark), "{form}");
    }
}
