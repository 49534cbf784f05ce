//! A model that is published without a tokenizer (VisualBERT), opened with another model's.

use std::path::{Path, PathBuf};

use mary_contract::{ModelRef, ModelSettings, Provider};
use mary_local::provider::{GGUF, HF};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn settings(tokenizer: Option<&Path>) -> ModelSettings {
    let named = tokenizer.map(|path| ("tokenizer".to_owned(), path.display().to_string()));
    ModelSettings {
        args: named.into_iter().collect(),
        threads: Some(1),
        ..ModelSettings::default()
    }
}

#[test]
fn a_tokenizer_from_elsewhere_is_the_models_own() {
    let bare = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(golden("visual_bert").join(file), bare.path().join(file)).unwrap();
    }
    let model: ModelRef = format!("hf/{}", bare.path().display()).parse().unwrap();
    let error = HF.card(&model, &settings(None)).unwrap_err();
    assert!(error.message.contains("no tokenizer"), "{error}");
    assert!(error.hint.unwrap().contains("--model-arg tokenizer="));

    // By its folder, and by a file in it.
    let by_folder = settings(Some(&golden("bert")));
    let by_file = settings(Some(&golden("bert").join("tokenizer.json")));
    let card = HF.card(&model, &by_folder).unwrap();
    assert!(card.capabilities.observe);
    let fingerprint = HF.fingerprint(&model, &by_folder).unwrap();
    assert_eq!(HF.fingerprint(&model, &by_file).unwrap(), fingerprint);
    assert!(HF.open(&model, &by_folder).is_ok());

    // Another tokenizer is another model.
    let other = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(golden("bert").join("tokenizer.json")).unwrap();
    std::fs::write(
        other.path().join("tokenizer.json"),
        text.replace("\"cat\"", "\"cow\""),
    )
    .unwrap();
    let changed = HF
        .fingerprint(&model, &settings(Some(other.path())))
        .unwrap();
    assert_ne!(changed, fingerprint);

    let empty = tempfile::tempdir().unwrap();
    let error = HF.card(&model, &settings(Some(empty.path()))).unwrap_err();
    assert!(error.message.contains("holds no tokenizer"), "{error}");
    let nowhere = empty.path().join("nowhere");
    let error = HF.card(&model, &settings(Some(&nowhere))).unwrap_err();
    assert!(error.message.contains("nowhere"), "{error}");
}

#[test]
fn a_gguf_file_keeps_its_own() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_gguf/llama.gguf");
    let model: ModelRef = format!("gguf/{}", file.display()).parse().unwrap();
    let error = GGUF
        .card(&model, &settings(Some(&golden("bert"))))
        .unwrap_err();
    assert!(error.message.contains("its own tokenizer"), "{error}");
}
