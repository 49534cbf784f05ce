//! Runs go out in other tools' forms and come back; bad files are refused with their place.

use crate::support;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use mary_contract::{ErrorKind, Judgement, Outcome, Response, Sample};
use mary_store::{ExportForm, ImportOptions, RunFolder, export, import};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{manifest, sample};

fn run(root: &Path) -> RunFolder {
    let mut run = RunFolder::create_or_open(root, &manifest("run-1")).unwrap();
    for n in 0..12 {
        run.append(&sample(n)).unwrap();
    }
    let mut failed = sample(12);
    failed.judgement = Judgement::failed(ErrorKind::Timeout, "no answer in 60 s");
    run.append(&failed).unwrap();
    run.flush().unwrap();
    run
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn scores(run: &RunFolder) -> Vec<Option<f64>> {
    let mut all: Vec<_> = run.samples().unwrap().map(Result::unwrap).collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all.iter()
        .map(|s| match s.judgement.outcome {
            Outcome::Scored(x) => Some(x),
            _ => None,
        })
        .collect()
}

#[test]
fn an_inspect_log_goes_out_and_comes_back_in_both_forms() {
    let dir = tempfile::tempdir().unwrap();
    let run = run(dir.path());
    for form in [ExportForm::InspectJson, ExportForm::InspectEval] {
        let files = export(&run, form, &dir.path().join("out")).unwrap();
        assert_eq!(files.len(), 1);
        let back = import(&files[0], &ImportOptions::default(), &dir.path().join("in")).unwrap();
        assert_eq!(back.samples, 13);
        let back = RunFolder::open(&back.path).unwrap();
        assert_eq!(scores(&back), scores(&run));
        assert_eq!(back.manifest().tasks[0].id, "htest/rhyme");
        let first = back.samples().unwrap().next().unwrap().unwrap();
        let original = sample(0);
        assert_eq!(
            first.item.target,
            original.item.target.clone().with_prompt(&original)
        );
        assert_eq!(
            first.exchanges[0].reply.as_ref().unwrap().answer,
            original.exchanges[0].reply.as_ref().unwrap().answer
        );
        assert_eq!(first.judgement.measures, original.judgement.measures);
        let failed = back.samples().unwrap().map(Result::unwrap);
        assert_eq!(
            failed
                .filter(|s| matches!(s.judgement.outcome, Outcome::Failed(_)))
                .count(),
            1
        );
    }
}

/// Inspect keeps the whole prompt where we keep the question.
trait WithPrompt {
    fn with_prompt(self, sample: &mary_contract::Sample) -> Self;
}

impl WithPrompt for mary_contract::Target {
    fn with_prompt(self, sample: &mary_contract::Sample) -> Self {
        let mary_contract::Request::Generate(g) = &sample.exchanges[0].ask.request else {
            panic!("a generate request")
        };
        match self {
            Self::Choice {
                options, correct, ..
            } => Self::Choice {
                question: g.prompt.text(),
                options,
                correct,
            },
            other => other,
        }
    }
}

#[test]
fn lm_eval_files_hold_what_its_readers_look_for() {
    let dir = tempfile::tempdir().unwrap();
    let run = run(dir.path());
    let files = export(&run, ExportForm::LmEval, &dir.path().join("out")).unwrap();
    let names: Vec<_> = files
        .iter()
        .map(|f| {
            f.strip_prefix(dir.path().join("out"))
                .unwrap()
                .to_str()
                .unwrap()
        })
        .collect();
    assert_eq!(
        names,
        [
            "builtin__small/results_2026-01-02T03-04-05Z.json",
            "builtin__small/samples_htest_rhyme_2026-01-02T03-04-05Z.jsonl"
        ]
    );
    let results = read(&files[0]);
    let row = &results["results"]["htest_rhyme"];
    let scored: Vec<f64> = scores(&run).into_iter().flatten().collect();
    let n = scored.len() as f64;
    let mean = scored.iter().sum::<f64>() / n;
    let spread = scored.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n;
    assert!((row["acc,none"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert!((row["acc_stderr,none"].as_f64().unwrap() - spread.sqrt()).abs() < 1e-12);
    assert_eq!(row["unscored"], 4);
    assert_eq!(row["failed"], 1);
    for field in ["configs", "versions", "n-shot", "n-samples"] {
        assert!(!results[field]["htest_rhyme"].is_null(), "{field}");
    }
    let back = import(&files[1], &ImportOptions::default(), &dir.path().join("in")).unwrap();
    assert_eq!(
        back.remarks,
        ["the score is `acc`, the first metric of the file"]
    );
    let back = RunFolder::open(&back.path).unwrap();
    assert_eq!(back.manifest().models[0].model.to_string(), "builtin/small");
    assert_eq!(back.manifest().tasks[0].id, "htest_rhyme");
    let found: Vec<f64> = scores(&back).into_iter().flatten().collect();
    assert_eq!(found.len(), scored.len());
}

/// Options by the sum of their tokens, by the character and by the byte have the harness' names, whichever is the
/// score; an export of before is read as well.
#[test]
fn verdicts_under_other_normalisations_are_named_as_the_harness_names_them() {
    for (others, names) in [
        (
            ["by_byte", "by_character", "by_word"],
            ["acc", "acc_bytes", "acc_norm", "by_word"],
        ),
        (
            ["by_byte", "by_sum", "by_word"],
            ["acc_norm", "acc_bytes", "acc", "by_word"],
        ),
        (
            ["by_character", "by_sum", "by_word"],
            ["acc_bytes", "acc_norm", "acc", "by_word"],
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create_or_open(dir.path(), &manifest("run-1")).unwrap();
        let mut one = sample(0);
        one.judgement = Judgement::scored(1.0);
        for name in others {
            one.judgement = one.judgement.measured(name, 0.5);
        }
        run.append(&one).unwrap();
        run.flush().unwrap();
        let files = export(&run, ExportForm::LmEval, &dir.path().join("out")).unwrap();
        let text = fs::read_to_string(&files[1]).unwrap();
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["metrics"], json!(names));
        let row = &read(&files[0])["results"]["htest_rhyme"];
        for (at, name) in names.iter().enumerate() {
            let value = if at == 0 { 1.0 } else { 0.5 };
            assert_eq!(
                (&line[name], &row[format!("{name},none")]),
                (&json!(value), &json!(value))
            );
        }
        let before = text.replace(names[1], others[0]);
        for (text, name) in [(text, names[1]), (before, others[0])] {
            let file = write(
                dir.path(),
                &format!("samples_{name}_1.jsonl"),
                text.as_bytes(),
            );
            let back = import(&file, &ImportOptions::default(), &dir.path().join("in")).unwrap();
            let back = RunFolder::open(&back.path).unwrap();
            let judged = back.samples().unwrap().next().unwrap().unwrap().judgement;
            assert_eq!(
                (judged.outcome, judged.measures[name]),
                (Outcome::Scored(1.0), 0.5)
            );
        }
    }
}

#[test]
fn the_table_has_a_row_for_each_sample_and_survives_hostile_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = run(dir.path());
    let mut hostile = sample(99);
    hostile.judgement.parsed = Some("a \"quote\", a comma,\r\na line".into());
    run.append(&hostile).unwrap();
    run.flush().unwrap();
    let files = export(&run, ExportForm::Csv, dir.path()).unwrap();
    let mut reader = csv::Reader::from_path(&files[0]).unwrap();
    let head = reader.headers().unwrap().clone();
    let source = head.iter().position(|name| name == "source").unwrap();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert!(rows.iter().all(|row| &row[source] == "published"));
    assert_eq!(rows.len(), 14);
    assert_eq!(&rows[13][7], "a \"quote\", a comma,\r\na line");
    assert_eq!(&rows[12][4], "failed");
}

#[test]
fn a_parquet_table_keeps_types_and_tells_absent_from_empty() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = run(dir.path());
    let mut paid = sample(15);
    paid.judgement.parsed = Some("\u{202e}\0 \"A\"".into());
    if let Ok(reply) = &mut paid.exchanges[0].reply {
        reply.meta.usage.prompt_tokens = 77;
        reply.meta.usage.cost = Some(0.000_25);
        reply.meta.model_version = Some("scripted-1".into());
    }
    run.append(&paid).unwrap();
    run.flush().unwrap();
    let files = export(&run, ExportForm::Parquet, dir.path()).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&files[0]).unwrap()).unwrap();
    let about = reader.metadata().file_metadata();
    let told = about.key_value_metadata().unwrap();
    assert!(
        told.iter()
            .any(|kv| kv.key == "mary_run" && kv.value.as_deref() == Some("run-1"))
    );
    let rows: Vec<HashMap<String, Field>> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let row = row.unwrap();
            let cells = row.get_column_iter();
            cells.map(|(n, f)| (n.clone(), f.clone())).collect()
        })
        .collect();
    let stored: Vec<Sample> = run.samples().unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), stored.len());
    let text = |value: &str| Field::Str(value.to_owned());
    for (row, sample) in rows.iter().zip(&stored) {
        assert_eq!(row.len(), 30);
        assert_eq!(row["source"], text("published"));
        assert_eq!(row["item"], text(&sample.id.item));
        assert_eq!(row["trial"], Field::Int(0));
        let score = match sample.judgement.outcome {
            Outcome::Scored(score) => Field::Double(score),
            _ => Field::Null,
        };
        assert_eq!(row["score"], score);
        let parsed = sample.judgement.parsed.as_deref();
        assert_eq!(row["parsed"], parsed.map_or(Field::Null, text));
        let Field::Str(tags) = &row["tags"] else {
            panic!("tags are text")
        };
        let tags: BTreeMap<String, String> = serde_json::from_str(tags).unwrap();
        assert_eq!(tags, sample.item.tags);
    }
    assert_eq!(rows[12]["outcome"], text("failed"));
    assert_eq!(rows[12]["reason"], text("no answer in 60 s"));
    assert_eq!(rows[0]["reason"], Field::Null);
    assert_eq!(rows[0]["cost"], Field::Null);
    assert_eq!(rows[13]["prompt_tokens"], Field::Long(77));
    assert_eq!(rows[13]["cost"], Field::Double(0.000_25));
    assert_eq!(rows[13]["model_version"], text("scripted-1"));
}

#[test]
fn an_empty_run_has_nothing_to_export() {
    let dir = tempfile::tempdir().unwrap();
    let empty = RunFolder::create_or_open(dir.path(), &manifest("run-1")).unwrap();
    let error = export(&empty, ExportForm::LmEval, dir.path()).unwrap_err();
    assert!(error.to_string().contains("holds no samples"), "{error}");
}

fn lm_eval_line(doc_id: Value, acc: Value) -> Value {
    json!({
        "doc_id": doc_id, "doc": {"q": "?"}, "target": "0",
        "arguments": {
            "gen_args_0": {"arg_0": "Once", "arg_1": " upon"},
            "gen_args_1": {"arg_0": "Once", "arg_1": " under"},
        },
        "resps": [[["-1.5", "True"]], [["-3.25", "False"]]],
        "filtered_resps": [["-1.5", "True"], ["-3.25", "False"]],
        "filter": "none", "metrics": ["acc"], "acc": acc,
    })
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn scored_continuations_of_lm_eval_become_one_question() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("{}\n", lm_eval_line(json!(7), json!(1.0)));
    let file = write(
        dir.path(),
        "samples_blimp_x_2026-01-01T00-00-00.jsonl",
        text.as_bytes(),
    );
    let options = ImportOptions {
        model: Some("pythia-70m".into()),
        ..ImportOptions::default()
    };
    let back = import(&file, &options, dir.path()).unwrap();
    let run = RunFolder::open(&back.path).unwrap();
    let only = run.samples().unwrap().next().unwrap().unwrap();
    assert_eq!(
        (only.id.model.as_str(), only.id.task.as_str()),
        ("import/pythia-70m", "blimp_x")
    );
    let Response::Scored(scored) = &only.exchanges[0].reply.as_ref().unwrap().answer else {
        panic!("{:?}", only.exchanges)
    };
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    assert_eq!(sums, [-1.5, -3.25]);
    // Again: the same folder, nothing twice.
    let again = import(&file, &options, dir.path()).unwrap();
    assert_eq!(again.path, back.path);
    assert_eq!(run.samples().unwrap().count(), 1);
}

#[test]
fn bad_samples_of_lm_eval_are_refused_with_line_and_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let good = lm_eval_line(json!(0), json!(1.0)).to_string();
    let second = |line: &str| [good.as_bytes(), b"\n", line.as_bytes(), b"\n"].concat();
    let mut no_metric = lm_eval_line(json!(1), json!(1.0));
    no_metric.as_object_mut().unwrap().remove("acc");
    let mut no_id = lm_eval_line(json!(1), json!(1.0));
    no_id.as_object_mut().unwrap().remove("doc_id");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (second("{\"doc_id\": 1, "), ":2: expected JSON"),
        (second("[1, 2]"), ":2: expected an object, found [1,2]"),
        (
            second(&lm_eval_line(json!(1), json!([])).to_string()),
            ":2: field `acc`: expected a number, found []",
        ),
        (
            second(&lm_eval_line(json!(0), json!(0.0)).to_string()),
            ":2: sample `0` (trial 0) stands here a second time",
        ),
        (
            second(&no_metric.to_string()),
            ":2: field `acc` (the score) is missing",
        ),
        (
            second(&no_id.to_string()),
            ":2: field `doc_id`: expected a number or text, found nothing",
        ),
        (
            [good.as_bytes(), b"\n{\"doc_id\": \"\xff\"}\n"].concat(),
            ":2: byte 13 is not UTF-8",
        ),
        (Vec::new(), ": expected samples, found none"),
        (b"\n\n".to_vec(), ": expected samples, found none"),
    ];
    for (bytes, expected) in cases {
        let file = write(dir.path(), "samples_t_2026.jsonl", &bytes);
        let options = ImportOptions {
            model: Some("a/b".into()),
            ..ImportOptions::default()
        };
        let error = import(&file, &options, &dir.path().join("in"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("samples_t_2026.jsonl"), "{error}");
        assert!(
            error.contains(expected),
            "expected {expected:?} in: {error}"
        );
        assert!(error.contains("hint: "), "{error}");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    assert!(
        !dir.path().join("in").exists(),
        "nothing half is left behind"
    );
}

fn inspect_log(samples: Value) -> Value {
    json!({
        "version": 2, "status": "success",
        "eval": {"task": "arc", "model": "openai/gpt", "created": "2026-01-01T00:00:00Z"},
        "samples": samples,
    })
}

#[test]
fn bad_inspect_logs_are_refused_with_place_and_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let one = json!({"id": 1, "epoch": 1, "input": "q", "target": "x", "scores": {"match": {"value": "C"}}});
    let cases = [
        (b"{\n\"eval\": {\n".to_vec(), ":3: expected JSON"),
        (
            json!({"samples": []}).to_string().into_bytes(),
            "expected an Inspect log with a field `eval`",
        ),
        (
            inspect_log(json!("none")).to_string().into_bytes(),
            "string \"none\", expected a list in the field `samples`",
        ),
        (
            inspect_log(json!([])).to_string().into_bytes(),
            "expected samples, found none",
        ),
        (
            inspect_log(json!([{"epoch": 1}])).to_string().into_bytes(),
            "sample 1: field `id`: expected a number or text, found nothing",
        ),
        (
            inspect_log(json!([{"id": 1, "epoch": "x"}]))
                .to_string()
                .into_bytes(),
            "sample 1: field `epoch`",
        ),
        (
            inspect_log(json!([one, one])).to_string().into_bytes(),
            "sample `1` (trial 0) stands here a second time",
        ),
        (
            inspect_log(json!([{"id": 1, "scores": {"m": {"value": "maybe"}}}]))
                .to_string()
                .into_bytes(),
            "field `scores.m.value`: expected a number, a truth value or C/I/P/N, found \"maybe\"",
        ),
    ];
    for (bytes, expected) in cases {
        let file = write(dir.path(), "log.json", &bytes);
        let error = import(&file, &ImportOptions::default(), &dir.path().join("in"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("log.json"), "{error}");
        assert!(
            error.contains(expected),
            "expected {expected:?} in: {error}"
        );
        assert!(error.contains("hint: "), "{error}");
    }
    let file = write(dir.path(), "log.txt", b"x");
    let error = import(&file, &ImportOptions::default(), dir.path()).unwrap_err();
    assert!(error.to_string().contains("found `.txt`"), "{error}");
}

#[test]
fn a_nan_of_inspect_is_no_score() {
    let dir = tempfile::tempdir().unwrap();
    let text = inspect_log(json!([
        {"id": "a", "scores": {"m": {"value": "@"}}},
        {"id": "b", "scores": {"m": {"value": 0.5}, "other": {"value": true}}},
    ]))
    .to_string()
    .replace("\"@\"", "NaN");
    let file = write(dir.path(), "log.json", text.as_bytes());
    let back = import(&file, &ImportOptions::default(), dir.path()).unwrap();
    let run = RunFolder::open(&back.path).unwrap();
    assert_eq!(scores(&run), [None, Some(0.5)]);
    let last = run.samples().unwrap().last().unwrap().unwrap();
    assert_eq!(last.judgement.measures.get("other"), Some(&1.0));
}

#[test]
fn a_truncated_archive_is_named_and_a_damaged_member_too() {
    let dir = tempfile::tempdir().unwrap();
    let run = run(dir.path());
    let files = export(&run, ExportForm::InspectEval, dir.path()).unwrap();
    let mut bytes = Vec::new();
    fs::File::open(&files[0])
        .unwrap()
        .read_to_end(&mut bytes)
        .unwrap();
    let file = write(dir.path(), "cut.eval", &bytes[..bytes.len() / 2]);
    let error = import(&file, &ImportOptions::default(), dir.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("cut.eval"), "{error}");
    assert!(
        error.contains("the archive is damaged or incomplete"),
        "{error}"
    );

    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in [
        ("header.json", inspect_log(Value::Null).to_string()),
        ("samples/1_epoch_1.json", "{\"id\": ".to_owned()),
    ] {
        zip.start_file(name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    let file = write(dir.path(), "bad.eval", &zip.finish().unwrap().into_inner());
    let error = import(&file, &ImportOptions::default(), dir.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("member `samples/1_epoch_1.json`: expected JSON"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_file_makes_the_importers_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..300),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut line = lm_eval_line(json!(0), json!(1.0)).to_string().into_bytes();
        let i = at.index(line.len());
        line[i] = with;
        let mut log = inspect_log(json!([{"id": 1, "scores": {"m": {"value": 1}}}])).to_string().into_bytes();
        let i = at.index(log.len());
        log[i] = with;
        for (name, bytes) in [("a.jsonl", &noise), ("a.json", &noise), ("a.eval", &noise), ("b.jsonl", &line), ("b.json", &log)] {
            let file = write(dir.path(), name, bytes);
            let _ = import(&file, &ImportOptions::default(), &dir.path().join("in"));
        }
    }
}
