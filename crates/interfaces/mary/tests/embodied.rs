//! The embodied family as a user meets it: real vectors beside another implementation's, the authors'
//! released answers as runs, pairs, confounds, tuning sets, Chinese. What needs models or datasets looks
//! for them (`MARY_TEST_MODELS`, `MARY_DATA_DIR` or `shared/datasets` beside the checkout) and says when
//! it is skipped.

use mary_testkit::Lacking;
use mary_testkit::lacking::test_model;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn datasets() -> Option<PathBuf> {
    mary_testkit::lacking::datasets("embodied")
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn mary(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
        if let Some(data) = datasets() {
            command.env("MARY_DATA_DIR", data);
        }
        let output = command
            .args(args)
            .current_dir(self.0.path())
            .env("MARY_RUNS", self.0.path().join("runs"))
            .env("MARY_CACHE_DIR", self.0.path().join("cache"))
            .env_remove("MARY_MODEL")
            .env("NO_COLOR", "1")
            .env("COLUMNS", "200")
            .output()
            .unwrap();
        (
            output.status.code().unwrap_or(-1),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    fn sound(&self, args: &[&str]) -> String {
        let (code, out, err) = self.mary(args);
        assert_eq!(code, 0, "{args:?}\n{out}\n{err}");
        out
    }

    /// The samples of the only run.
    fn samples(&self) -> Vec<Value> {
        let runs: Vec<PathBuf> = std::fs::read_dir(self.0.path().join("runs"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        let text = std::fs::read_to_string(runs[0].join("samples.jsonl")).unwrap();
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    }
}

/// Cosines by item, as a run has them.
fn cosines(samples: &[Value]) -> BTreeMap<usize, Option<(f64, f64)>> {
    samples
        .iter()
        .map(|sample| {
            let id = sample["id"]["item"].as_str().unwrap();
            let place: usize = id.rsplit('-').next().unwrap().parse().unwrap();
            let notes = &sample["judgement"]["notes"];
            let cosine = |name: &str| notes[name].as_f64();
            (
                place - 1,
                cosine("cosine_synonym").zip(cosine("cosine_antonym")),
            )
        })
        .collect()
}

/// Runs SensoryVec and holds every verdict against the other implementation's.
fn beside_reference(provider: &str, path: &Path, name: &str, source: &str, pool: &str) {
    let golden: BTreeMap<String, Vec<Option<(f64, f64)>>> =
        serde_json::from_str(include_str!("golden/sensoryvec.json")).unwrap();
    let reference = &golden[&format!("{name}/{source}/{pool}")];
    let home = Home::new();
    let model = format!("{provider}/{}", path.display());
    let (source_set, pool_set) = (format!("source={source}"), format!("pool={pool}"));
    home.sound(&[
        "run",
        "--model",
        &model,
        "--tasks",
        "embodied/sensoryvec",
        "--set",
        &source_set,
        "--set",
        &pool_set,
    ]);
    let ours = cosines(&home.samples());
    assert_eq!(ours.len(), reference.len());
    let (mut same, mut left_out, mut farthest) = (0, 0, 0.0f64);
    for (place, theirs) in reference.iter().enumerate() {
        match (ours[&place], theirs) {
            (Some(ours), Some(theirs)) => {
                same += usize::from((ours.0 > ours.1) == (theirs.0 > theirs.1));
                farthest = farthest
                    .max((ours.0 - theirs.0).abs())
                    .max((ours.1 - theirs.1).abs());
            }
            (None, None) => left_out += 1,
            (ours, theirs) => panic!("triple {place}: ours {ours:?}, theirs {theirs:?}"),
        }
    }
    let n = reference.len() - left_out;
    let share = same as f64 / n as f64;
    eprintln!(
        "{name} {source} {pool}: equal verdict on {same} of {n} ({:.2} %), {left_out} left out by both, cosines \
         differ by at most {farthest:.1e}",
        100.0 * share
    );
    assert!(share >= 0.99, "{share}");
    assert!(farthest < 1e-3, "{farthest}");
}

#[test]
fn an_encoder_places_words_as_transformers_does() {
    let Some(path) = test_model("minilm", Lacking::Models) else {
        return;
    };
    beside_reference("hf", &path, "encoder", "own", "target");
    beside_reference("hf", &path, "encoder", "own", "sentence");
    if datasets().is_some() {
        beside_reference("hf", &path, "encoder", "upstream", "target");
    }
}

#[test]
fn a_decoder_places_words_as_transformers_does() {
    let Some(path) = test_model("smollm2-135m-hf", Lacking::Extras) else {
        return;
    };
    beside_reference("hf", &path, "decoder", "own", "target");
    beside_reference("hf", &path, "decoder", "own", "sentence");
    if datasets().is_some() {
        beside_reference("hf", &path, "decoder", "upstream", "target");
    }
}

#[test]
fn static_vectors_place_words_as_numpy_does_and_unknown_words_are_counted() {
    let Some(path) = test_model("glove.6B.50d.txt", Lacking::Extras) else {
        return;
    };
    beside_reference("vectors", &path, "vectors", "own", "target");
    if datasets().is_some() {
        beside_reference("vectors", &path, "vectors", "upstream", "target");
    }
}

#[test]
fn the_built_in_model_runs_the_family_without_download() {
    let home = Home::new();
    let out = home.sound(&[
        "run",
        "--tasks",
        "embodied/sensoryvec,embodied/perceptualqa",
        "--limit",
        "18",
        "--set",
        "layers=all",
    ]);
    assert!(
        out.contains("SensoryVec") || out.contains("sensoryvec"),
        "{out}"
    );
    let samples = home.samples();
    assert_eq!(samples.len(), 36);
    let layered = samples
        .iter()
        .find(|s| s["id"]["task"] == "embodied/sensoryvec")
        .unwrap();
    assert!(
        layered["judgement"]["measures"]["layer_00"].is_number(),
        "{layered}"
    );
}

#[test]
fn a_tuning_set_is_written_in_both_shapes() {
    let home = Home::new();
    for (form, field) in [("chat", "messages"), ("instruction", "instruction")] {
        home.sound(&[
            "data",
            "tuning",
            "embodied/perceptualqa",
            "--form",
            form,
            "--seed",
            "3",
            "-o",
            "set.jsonl",
        ]);
        let text = std::fs::read_to_string(home.0.path().join("set.jsonl")).unwrap();
        let first: Value = match form {
            "chat" => serde_json::from_str(text.lines().next().unwrap()).unwrap(),
            _ => serde_json::from_str::<Vec<Value>>(&text).unwrap().remove(0),
        };
        assert!(first.get(field).is_some(), "{first}");
    }
}

#[test]
fn chinese_runs_end_to_end() {
    let Some(_) = datasets() else { return };
    let home = Home::new();
    let settings = [
        "--set",
        "source=upstream",
        "--set",
        "language=zh",
        "--limit",
        "18",
    ];
    let mut args = vec!["run", "--tasks", "embodied/perceptualqa"];
    args.extend(settings);
    home.sound(&args);
    let samples = home.samples();
    assert_eq!(samples.len(), 18);
    let prompt = samples[0]["exchanges"][0].to_string();
    assert!(prompt.contains("答案："), "{prompt}");
    assert!(
        samples
            .iter()
            .all(|s| s["judgement"]["outcome"]["scored"].is_number())
    );
}

#[test]
fn released_answers_become_runs_that_can_be_compared_and_explained() {
    let Some(data) = datasets() else { return };
    let home = Home::new();
    let people = data.join("embodied/PerceptualQA/human_questions1400_with_answer1_sampled350");
    let vectors = data.join("embodied/SensoryVec/SensoryVec_Dataset_with_Predictions.csv");
    let made = home.sound(&[
        "import",
        people.to_str().unwrap(),
        vectors.to_str().unwrap(),
    ]);
    assert_eq!(made.lines().count(), 17, "{made}");
    let run = |part: &str| made.lines().find(|l| l.ends_with(part)).unwrap();
    let summary =
        std::fs::read_to_string(Path::new(run("yang-2025")).join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["rows"][0]["score"]["value"], 0.86);
    // Importing again finds everything there.
    assert_eq!(
        home.sound(&["import", people.to_str().unwrap()])
            .lines()
            .count(),
        1
    );
    let compared = home.sound(&[
        "compare",
        run("-VisualBert"),
        run("-bert-base-uncased"),
        "--pair",
        "VisualBert=bert_base_uncased",
        "--by",
        "sense",
    ]);
    assert!(compared.contains("-8.02"), "{compared}");
    let (code, out, err) = home.mary(&["confounds", run("yang-2025"), run("-gpt2")]);
    if data.join("norms").is_dir() && data.join("wordfreq").is_dir() {
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("age of acquisition"), "{out}");
        assert!(out.contains("antonym looks more alike"), "{out}");
    }
    home.sound(&[
        "report",
        run("yang-2025"),
        run("-gpt2"),
        "-o",
        "page.html",
        "--tables",
        "tables",
    ]);
    let table =
        std::fs::read_to_string(home.0.path().join("tables/embodied-table-14.csv")).unwrap();
    assert!(table.contains("people/yang-2025"), "{table}");
    assert!(table.contains("86.00"), "{table}");
}
