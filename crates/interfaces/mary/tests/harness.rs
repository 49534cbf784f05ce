//! Tasks of lm-evaluation-harness on a real model: `acc` and `acc_norm` of SmolLM2 are the harness' own, item
//! by item. `tools/compare_harness.py` makes the golden file with the harness and torch on the same weights,
//! dequantised; here they are read from the GGUF file.

use std::path::{Path, PathBuf};
use std::process::Command;

use mary_testkit::lacking::test_model;
use mary_testkit::{Lacking, skip};
use serde_json::Value;

/// The installed package's task files.
fn package() -> Option<PathBuf> {
    let python = std::env::var_os("MARY_PEER_PYTHON").map(PathBuf::from);
    let python = python.and_then(|p| Some(p.parent()?.parent()?.to_owned()));
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/peers");
    let folders = python.into_iter().chain([target]);
    let found = folders.flat_map(|f| std::fs::read_dir(f.join("lib")).into_iter().flatten());
    let found = found.filter_map(Result::ok);
    let found = found
        .map(|python| python.path().join("site-packages/lm_eval/tasks"))
        .find(|tasks| tasks.is_dir());
    if found.is_none() {
        let why = "the package lm_eval is not installed (tools/make_peers.sh)";
        skip(Lacking::Peers, why);
    }
    found
}

/// Puts the rows of a task where it looks for them.
fn lay_out(task: &Value, file: &Path, data: &Path) {
    let config = mary_taskfile::lm_eval::read(file)
        .unwrap()
        .remove(0)
        .unwrap();
    let mut folder = data.join(config.dataset.as_deref().unwrap());
    if let Some(name) = &config.dataset_name {
        folder = folder.join(name);
    }
    std::fs::create_dir_all(&folder).unwrap();
    for (split, rows) in task["splits"].as_object().unwrap() {
        let rows = rows.as_array().unwrap().iter();
        let lines: Vec<String> = rows.map(Value::to_string).collect();
        std::fs::write(folder.join(format!("{split}.jsonl")), lines.join("\n")).unwrap();
    }
}

#[test]
fn acc_and_acc_norm_of_smollm2_are_the_harness_own_item_by_item() {
    let Some(package) = package() else {
        return;
    };
    let Some(model) = test_model("smollm2-135m.gguf", Lacking::Extras) else {
        return;
    };
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/harness_smollm2.json"
    );
    let golden: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(golden.len(), 5);
    let home = tempfile::tempdir().unwrap();
    let (mut verdicts, mut farthest) = (0, 0.0f64);
    for task in &golden {
        let file = package.join(task["file"].as_str().unwrap());
        let place = home.path().join(verdicts.to_string());
        lay_out(task, &file, &place.join("data"));
        let done = Command::new(env!("CARGO_BIN_EXE_mary"))
            .args(["run", "-m", &format!("gguf/{}", model.display())])
            .args(["-t", &file.display().to_string(), "--data-dir", "data"])
            .args(["--shots", &task["shots"].to_string()])
            .args(["--set", "fewshot_seed=1234", "--quiet", "--no-report"])
            .args(["--output-path", "runs", "--cache-dir", "cache"])
            .current_dir(&place)
            .env_remove("MARY_MODEL")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{}: {said}", file.display());
        let run = std::fs::read_dir(place.join("runs")).unwrap().next();
        let log = run.unwrap().unwrap().path().join("samples.jsonl");
        let log = std::fs::read_to_string(log).unwrap();
        let items = task["items"].as_array().unwrap();
        assert_eq!(log.lines().count(), items.len());
        for line in log.lines() {
            let sample: Value = serde_json::from_str(line).unwrap();
            let at: usize = sample["item"]["id"].as_str().unwrap().parse().unwrap();
            let (ours, theirs) = (&sample["judgement"], &items[at]);
            for metric in ["acc", "acc_norm"] {
                let (ours, theirs) = (&ours["measures"][metric], &theirs[metric]);
                assert_eq!(ours.as_f64(), theirs.as_f64(), "{metric} of item {at}");
                verdicts += 1;
            }
            let numbers = |list: &Value| -> Vec<f64> {
                let list = list.as_array().unwrap().iter();
                list.map(|x| x.as_f64().unwrap()).collect()
            };
            let (ours, theirs) = (
                numbers(&ours["notes"]["logprobs"]),
                numbers(&theirs["logprobs"]),
            );
            assert_eq!(ours.len(), theirs.len());
            let far = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs());
            farthest = far.fold(farthest, f64::max);
        }
    }
    eprintln!("{verdicts} verdicts alike; log-probabilities differ by at most {farthest:.1e} nats");
    assert!(verdicts >= 200 && farthest < 5e-3, "{farthest:e}");
}
