//! Tasks of lm-evaluation-harness, imported by its own Python package and run on a real model: every verdict on SmolLM2
//! is the harness' own, item by item. `tools/compare_harness.py` makes the golden file with the harness and torch on the
//! same weights, dequantised; here they are read from the GGUF file.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mary_testkit::lacking::test_model;
use mary_testkit::{Lacking, skip};
use serde_json::Value;

fn mary(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(words)
        .current_dir(folder)
        .env("HF_HOME", folder.join("hf"))
        .env_remove("MARY_MODEL")
        .env_remove("MARY_PYTHON")
        .output()
        .unwrap()
}

fn said(done: &Output) -> String {
    let both = [done.stdout.as_slice(), done.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A Python that has lm_eval.
fn peer() -> Option<PathBuf> {
    let named = std::env::var_os("MARY_PEER_PYTHON").map(PathBuf::from);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/peers/bin/python");
    let found = named.into_iter().chain([target]).find(|python| {
        let asked = Command::new(python)
            .args(["-c", "import lm_eval.tasks"])
            .output();
        asked.is_ok_and(|o| o.status.success())
    });
    if found.is_none() {
        let why = "no Python has the package lm_eval (tools/make_peers.sh)";
        skip(Lacking::Peers, why);
    }
    found
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The golden tasks in a folder of their own, imported.
fn imported(python: &Path) -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(golden().join("harness")).unwrap() {
        let file = file.unwrap().path();
        if file.is_file() {
            std::fs::copy(&file, home.path().join(file.file_name().unwrap())).unwrap();
        }
    }
    let python = python.display().to_string();
    let words = "tasks import all.yaml --include-path . --to tasks --python";
    let words: Vec<&str> = words.split(' ').chain([python.as_str()]).collect();
    let done = mary(home.path(), &words);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let text = said(&done);
    (home, text)
}

/// What a measure of ours is called in the harness, for the kind of request that a task has.
fn pairs(task: &str) -> &'static [(&'static str, &'static str)] {
    match task {
        "golden_shots" => &[("", "acc"), ("by_character", "acc_norm")],
        "golden_code" => &[("", "acc_norm"), ("by_sum", "acc")],
        "golden_pairs" => &[("", "acc"), ("by_byte", "acc_bytes")],
        "golden_blanks" | "golden_last_word" => &[("", "acc")],
        "golden_texts" => &[],
        _ => &[("", "exact_match")],
    }
}

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().unwrap().iter();
    list.map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn imported_tasks_have_the_verdicts_of_the_harness_item_by_item() {
    let (Some(python), Some(model)) = (peer(), test_model("smollm2-135m.gguf", Lacking::Extras))
    else {
        return;
    };
    let (home, _) = imported(&python);
    let bytes = std::fs::read(golden().join("harness_smollm2.json")).unwrap();
    let golden: serde_json::Map<String, Value> = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(golden.len(), 9);
    let (mut verdicts, mut farthest) = (0, 0.0f64);
    for (name, theirs) in &golden {
        // The second filter of a task is a file of its own.
        let file = name.replace(" strict-match", "").replace(' ', "-");
        let (model, file) = (
            format!("gguf/{}", model.display()),
            format!("tasks/{file}.toml"),
        );
        let runs = format!("runs-{}", name.replace(' ', "-"));
        let words = ["run", "-m", &model, "-t", &file, "--quiet", "--no-report"];
        let kept = ["--output-path", &runs, "--cache-dir", "cache"];
        let done = mary(home.path(), &[&words[..], &kept[..]].concat());
        assert!(done.status.success(), "{name}: {}", said(&done));
        let run = std::fs::read_dir(home.path().join(&runs)).unwrap().next();
        let run = run.unwrap().unwrap().path();
        let log = std::fs::read_to_string(run.join("samples.jsonl")).unwrap();
        let items = theirs["items"].as_array().unwrap();
        assert_eq!(log.lines().count(), items.len(), "{name}");
        for line in log.lines() {
            let sample: Value = serde_json::from_str(line).unwrap();
            let at: usize = sample["item"]["id"].as_str().unwrap().parse().unwrap();
            let (ours, theirs) = (&sample["judgement"], &items[at]);
            for (measure, metric) in pairs(name.split(' ').next().unwrap()) {
                let value = match *measure {
                    "" => &ours["outcome"]["scored"],
                    other => &ours["measures"][other],
                };
                let wanted = theirs[metric].as_f64();
                assert_eq!(
                    value.as_f64(),
                    wanted,
                    "{name}: {metric} of item {at}: {sample}"
                );
                verdicts += 1;
            }
            let notes = &ours["notes"];
            let found = match (&notes["logprobs"], notes["logprob"].as_f64()) {
                (Value::Array(_), _) => numbers(&notes["logprobs"]),
                (_, Some(one)) => vec![one],
                _ => continue,
            };
            let wanted = numbers(&theirs["logprobs"]);
            assert_eq!(found.len(), wanted.len());
            let far = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs());
            farthest = far.fold(farthest, f64::max);
        }
        let summary: Value =
            serde_json::from_slice(&std::fs::read(run.join("summary.json")).unwrap()).unwrap();
        for metric in [
            "perplexity",
            "bits_per_byte",
            "byte_perplexity",
            "word_perplexity",
        ] {
            if let Some(wanted) = theirs["metrics"][metric].as_f64() {
                let found = measure(&summary, metric).unwrap_or(f64::NAN);
                assert!(
                    (found / wanted - 1.0).abs() < 1e-3,
                    "{name}: {metric} {found} {wanted}"
                );
            }
        }
    }
    eprintln!("{verdicts} verdicts alike; log-probabilities differ by at most {farthest:.1e} nats");
    assert!(
        verdicts >= 150 && farthest < 5e-3,
        "{verdicts} {farthest:e}"
    );
}

/// A measure of this name, wherever in a summary.
fn measure(summary: &Value, name: &str) -> Option<f64> {
    match summary {
        Value::Object(entries) => {
            let here = entries.get("name").and_then(Value::as_str) == Some(name);
            let value = || entries.get("estimate")?.get("value")?.as_f64();
            let named = || entries.get(name)?.get("value")?.as_f64();
            let within = || entries.values().find_map(|v| measure(v, name));
            (here.then(value).flatten()).or_else(named).or_else(within)
        }
        Value::Array(members) => members.iter().find_map(|v| measure(v, name)),
        _ => None,
    }
}

#[test]
fn what_a_task_file_cannot_say_is_refused_by_name() {
    let Some(python) = peer() else {
        return;
    };
    let (home, text) = imported(&python);
    assert!(text.contains("golden_sums-flexible-extract.toml"), "{text}");
    let python = python.display().to_string();
    let base = "task: refused\ndataset_path: json\ndataset_kwargs:\n  data_files: {test: sums.jsonl}\n\
                output_type: generate_until\ntest_split: test\ndoc_to_text: '{{a}}'\ndoc_to_target: '{{b}}'\n";
    let regex = |pattern: &str| {
        format!(
            "filter_list:\n  - name: x\n    filter:\n      - function: regex\n        regex_pattern: '{pattern}'\n"
        )
    };
    for (more, why) in [
        (
            "process_results: !function code.which\n".into(),
            "`process_results`",
        ),
        ("metric_list:\n  - metric: bleu\n".into(), "bleu"),
        ("repeats: 3\n".into(), "3 times"),
        (
            "generation_kwargs: {until: [x], num_beams: 4}\n".into(),
            "num_beams",
        ),
        (
            "filter_list:\n  - name: x\n    filter:\n      - function: lowercase\n".into(),
            "lowercase",
        ),
        (regex("(?<=is )(.*)"), "look-around"),
    ] {
        let more: String = more;
        std::fs::write(home.path().join("refused.yaml"), format!("{base}{more}")).unwrap();
        let words = [
            "tasks",
            "import",
            "refused.yaml",
            "--to",
            "other",
            "--python",
            &python,
        ];
        let done = mary(home.path(), &words);
        let text = said(&done);
        assert_eq!(done.status.code(), Some(1), "{more}: {text}");
        assert!(
            text.contains("refused: refused:") && text.contains(why),
            "{more}: {text}"
        );
        assert!(text.contains("mary serve"), "{text}");
        assert!(!home.path().join("other").exists());
    }
    // What is there is not written over, and the harness' own complaint is passed on.
    let again = |task: &str, to: &str| {
        let words = ["tasks", "import", task, "--to", to, "--python", &python];
        let done = mary(home.path(), &words);
        (done.status.code(), said(&done))
    };
    let (code, text) = again("sums.yaml", "tasks");
    assert!(
        code == Some(2) && text.contains("not written over"),
        "{text}"
    );
    std::fs::write(home.path().join("broken.yaml"), "task: [\n").unwrap();
    let (code, text) = again("broken.yaml", "other");
    assert!(code == Some(4) && text.contains("lm_eval says"), "{text}");
}

#[test]
fn without_lm_eval_the_import_says_how_to_get_it() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("x.yaml"), "task: x\n").unwrap();
    let import = |python: &str, to: &str| {
        let done = Command::new(env!("CARGO_BIN_EXE_mary"))
            .args(["tasks", "import", "x.yaml", "--to", to, "--python", python])
            .current_dir(home.path())
            .env("PYTHONPATH", home.path())
            .output()
            .unwrap();
        (done.status.code(), said(&done))
    };
    let (code, text) = import("./no-such-python", "new/tasks");
    assert!(
        code == Some(4) && text.contains("cannot be started"),
        "{text}"
    );
    let there = Command::new("python3").arg("--version").output();
    if there.is_ok_and(|o| o.status.success()) {
        // A package that cannot be imported, whatever this machine has.
        let broken = "raise ImportError('lm_eval is not here')\n";
        std::fs::write(home.path().join("lm_eval.py"), broken).unwrap();
        let (code, text) = import("python3", "new/tasks");
        assert!(
            code == Some(4) && text.contains("pip install lm_eval"),
            "{text}"
        );
    }
    assert!(!home.path().join("new").exists());
    // What was there before stays, empty or not.
    std::fs::create_dir(home.path().join("there")).unwrap();
    import("./no-such-python", "there");
    assert!(home.path().join("there").exists());
    let done = mary(home.path(), &["run", "-m", "builtin/nano", "-t", "x.yaml"]);
    let text = said(&done);
    assert_eq!(done.status.code(), Some(2), "{text}");
    assert!(
        text.contains("mary tasks import x.yaml --to FOLDER"),
        "{text}"
    );
}
