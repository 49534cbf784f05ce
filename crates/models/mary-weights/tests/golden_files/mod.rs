//! Reading the golden files, and making folders out of their parts.

use std::path::{Path, PathBuf};

use mary_contract::{Part, Prompt, PromptForm, Speaker, Turn};
use mary_weights::Checkpoint;
use serde_json::Value;
use tempfile::TempDir;

/// A file or folder under `tests/golden`.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

pub fn golden_json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap()
}

/// A new folder with copies of files of golden folders.
pub fn folder_of(parts: &[(&str, &[&str])]) -> TempDir {
    let made = tempfile::tempdir().unwrap();
    for (from, names) in parts {
        for name in *names {
            std::fs::copy(golden(from).join(name), made.path().join(name)).unwrap();
        }
    }
    made
}

/// The tiny LLaMA with another tokenizer.
pub fn with_tokenizer(from: &str, files: &[&str]) -> TempDir {
    folder_of(&[
        ("llama", &["config.json", "model.safetensors"]),
        (from, files),
    ])
}

/// Compares tensors with checksums that another implementation made.
pub fn assert_tensors(checkpoint: &Checkpoint, expected: &Value, what: &str) {
    for (name, expected) in expected.as_object().unwrap() {
        let info = checkpoint
            .info(name)
            .unwrap_or_else(|| panic!("{what}: no tensor {name}"));
        let shape: Vec<usize> = serde_json::from_value(expected["shape"].clone()).unwrap();
        assert_eq!(info.shape, shape, "{what} {name}");
        let numbers = checkpoint.read_f32(name).unwrap();
        let first: Vec<f64> = serde_json::from_value(expected["first"].clone()).unwrap();
        for (got, expected) in numbers.iter().zip(&first) {
            // Gemma's norms were stored as 1 + w, which costs w its last bits: half an ulp of one.
            assert!(
                (f64::from(*got) - expected).abs() <= 1e-6 * expected.abs() + 6e-8,
                "{what} {name}: {got} is not {expected}"
            );
        }
        let sum: f64 = numbers.iter().map(|x| f64::from(*x)).sum();
        let weighted: f64 = numbers
            .iter()
            .enumerate()
            .map(|(i, x)| f64::from(*x) * (i % 97) as f64)
            .sum();
        let size: f64 = numbers.iter().map(|x| f64::from(x.abs())).sum();
        for (got, key, scale) in [(sum, "sum", 1.0), (weighted, "weighted", 97.0)] {
            let wanted = expected[key].as_f64().unwrap();
            assert!(
                (got - wanted).abs() <= 1e-6 * (size * scale).max(1.0),
                "{what} {name}: {key} is {got}, expected {wanted}"
            );
        }
    }
}

/// Compares encodings (and decodings, where the golden has them) with another implementation's.
pub fn assert_encodings(checkpoint: &Checkpoint, cases: &Value, what: &str) {
    let tokenizer = checkpoint.tokenizer();
    for case in cases.as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let special = case["special"].as_bool().unwrap();
        let expected: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        let got = tokenizer.encode(text, special).unwrap();
        assert_eq!(got.ids, expected, "{what}: {text:?} special={special}");
        assert_eq!(got.ids.len(), got.offsets.len());
        assert_eq!(got.ids.len(), got.special.len());
        for (&(from, to), &added) in got.offsets.iter().zip(&got.special) {
            assert!(from <= to && to <= text.len(), "{what}: {text:?}");
            assert!(
                !special || !added || (from, to) == (0, 0),
                "{what}: {text:?}"
            );
        }
        if let Some(decoded) = case["decoded"].as_str() {
            assert_eq!(
                tokenizer.decode(&got.ids).unwrap(),
                decoded,
                "{what}: {text:?}"
            );
        }
    }
}

/// Compares rendered chats and their tokens with another implementation's.
pub fn assert_chats(checkpoint: &Checkpoint, chats: &Value, what: &str) {
    for chat in chats.as_array().unwrap() {
        let prompt = prompt(&chat["messages"]);
        let text = checkpoint
            .template()
            .unwrap()
            .render(&prompt, true)
            .unwrap();
        assert_eq!(text, chat["text"].as_str().unwrap(), "{what}");
        let expected: Vec<u32> = serde_json::from_value(chat["ids"].clone()).unwrap();
        let got = checkpoint.tokenizer().encode(&text, false).unwrap();
        assert_eq!(got.ids, expected, "{what}: {text:?}");
    }
}

fn prompt(messages: &Value) -> Prompt {
    let mut prompt = Prompt {
        form: PromptForm::Chat,
        system: None,
        turns: Vec::new(),
    };
    for message in messages.as_array().unwrap() {
        let text = message["content"].as_str().unwrap().to_owned();
        let speaker = match message["role"].as_str().unwrap() {
            "system" => {
                prompt.system = Some(text);
                continue;
            }
            "user" => Speaker::User,
            _ => Speaker::Assistant,
        };
        prompt.turns.push(Turn {
            speaker,
            parts: vec![Part::Text(text)],
        });
    }
    prompt
}
