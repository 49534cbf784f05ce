//! Prompts, targets and options of tasks of the installed package, on rows of our own, against hashes of
//! what the harness itself made of them (`tools/golden_harness.py`).

use std::path::Path;

use mary_contract::TaskSettings;
use mary_taskfile::lm_eval::{HarnessTask, Places, Question};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::lm_eval::support::package;

fn sha(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

/// As Python's `json.dumps(value, ensure_ascii=False)` writes it; text as it is.
fn hashed(value: &Value) -> String {
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::Array(members) => {
                out.push('[');
                for (at, member) in members.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    write(member, out);
                }
                out.push(']');
            }
            other => out.push_str(&other.to_string()),
        }
    }
    match value {
        Value::String(text) => sha(text),
        other => {
            let mut text = String::new();
            write(other, &mut text);
            sha(&text)
        }
    }
}

fn golden() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lm_eval/golden/prompts.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A task of the package with the golden file's rows as data.
fn task(package: &Path, golden: &Value, data: &Path) -> HarnessTask {
    let file = package.join(golden["file"].as_str().unwrap());
    let mut configs = mary_taskfile::lm_eval::read(&file).unwrap();
    let config = configs.remove(0).unwrap();
    let mut folder = data.join(config.dataset.as_deref().unwrap());
    if let Some(name) = &config.dataset_name {
        folder = folder.join(name);
    }
    std::fs::create_dir_all(&folder).unwrap();
    for (split, rows) in golden["splits"].as_object().unwrap() {
        let lines: Vec<String> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect();
        std::fs::write(folder.join(format!("{split}.jsonl")), lines.join("\n")).unwrap();
    }
    HarnessTask::new(config, &Places(vec![data.to_owned()])).unwrap()
}

#[test]
fn prompts_targets_and_options_are_those_of_the_harness() {
    let Some(package) = package() else {
        return;
    };
    let golden = golden();
    assert!(golden.len() >= 25);
    let mut rows = 0;
    for golden in &golden {
        let data = tempfile::tempdir().unwrap();
        let task = task(&package, golden, data.path());
        let mut settings = TaskSettings::default();
        let kept = task
            .config()
            .whole
            .get("num_fewshot")
            .and_then(Value::as_u64);
        // The harness is told through the file, where 0 can be changed.
        settings.shots = golden["shots"]
            .as_u64()
            .filter(|_| kept != Some(0))
            .map(|n| n as usize);
        let file = &golden["file"];
        let wanted = golden["made"].as_array().unwrap();
        let made: Vec<_> = task
            .made(&settings)
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(made.len(), wanted.len(), "{file}");
        for ((number, made, _), wanted) in made.iter().zip(wanted) {
            let asked: Vec<Vec<String>> = match &made.asked {
                Question::Pairs {
                    pairs,
                    unconditional,
                } => pairs
                    .iter()
                    .chain(unconditional)
                    .map(|(a, b)| vec![sha(a), sha(b)])
                    .collect(),
                Question::Text(text) => vec![vec![sha(text)]],
                Question::Answer(context) => vec![vec![sha(context)]],
            };
            assert_eq!(
                serde_json::json!(asked),
                wanted["asked"],
                "{file}, row {number}: {:?}",
                made.asked
            );
            assert_eq!(
                hashed(&made.target),
                wanted["target"].as_str().unwrap(),
                "{file}, row {number}: {:?}",
                made.target
            );
            let choices = serde_json::json!(made.choices);
            assert_eq!(
                hashed(&choices),
                wanted["choices"].as_str().unwrap(),
                "{file}, row {number}: {choices}"
            );
            rows += 1;
        }
    }
    println!("{} tasks, {rows} rows alike", golden.len());
}
