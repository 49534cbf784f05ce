//! Models that see as two GGUF files, the tower and its projector in one of their own (`mmproj`): the same
//! numbers as transformers computed from the folder. The files come from `tools/golden_mmproj.py` and, for
//! LLaVA 1.5, from `tools/golden_vision.py`.

use std::path::PathBuf;

use mary_contract::{ErrorKind, Model, ModelError, ModelSettings};
use mary_local::LocalModel;
use mary_local::vision::FIRST_SHOWN;
use mary_weights::Checkpoint;

use crate::vision::{golden, hold_model, json, prompt};

/// Folders that have a pair of files beside them.
const PAIRS: &[&str] = &["llava_next", "idefics3", "qwen2_vl", "qwen2_5_vl", "gemma3"];

fn text(name: &str) -> PathBuf {
    golden(&format!("{name}_gguf")).join("text.gguf")
}

fn tower(name: &str) -> PathBuf {
    golden(&format!("{name}_gguf")).join("mmproj.gguf")
}

fn open(name: &str, device: Option<&str>) -> LocalModel {
    let settings = ModelSettings {
        threads: Some(2),
        device: device.map(str::to_owned),
        args: [("mmproj".to_owned(), tower(name).display().to_string())].into(),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open_seeing(&text(name), &tower(name))
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    let reference = format!("gguf/{name}").parse().unwrap();
    let model = LocalModel::from_checkpoint(reference, checkpoint, &settings)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(model.card().capabilities.images, "{name}");
    model
}

fn refused(text: PathBuf, tower: PathBuf) -> ModelError {
    let error = Checkpoint::open_seeing(&text, &tower).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadModel, "{error}");
    error
}

#[test]
fn a_tower_in_a_gguf_file_of_its_own_computes_what_transformers_computes() {
    let with = Checkpoint::open_seeing(&text("llava"), &tower("llava")).unwrap();
    let alone = Checkpoint::open(&text("llava")).unwrap();
    assert_ne!(with.fingerprint().unwrap(), alone.fingerprint().unwrap());
    let wrong = hold_model("llava_gguf", &open("llava", None), false);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_projector_in_a_gguf_file_computes_what_its_folder_computes() {
    let wrong: Vec<String> = PAIRS
        .iter()
        .flat_map(|name| hold_model(name, &open(name, None), false))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The tokens that a processor writes around a picture and its tiles: the tiny vocabularies of these files
/// spell no other words as the folder's do, but these are the same.
#[test]
fn pictures_stand_between_the_same_tokens_as_in_a_folder() {
    for name in PAIRS {
        let model = open(name, None);
        let told = json(golden(name).join("golden.json"));
        let tokens = json(golden(name).join("tokenizer.json"));
        let around: Vec<u32> = tokens["added_tokens"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["id"].as_u64().unwrap() as u32)
            .filter(|id| *id > 2)
            .collect();
        let case = &told["cases"][1];
        let (read, _) = model
            .read(&prompt(name, "PICTUREPICTURE", &["one.png", "two.png"]))
            .unwrap();
        let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        let config = json(golden(name).join("config.json"));
        let named = ["image_token_index", "image_token_id"];
        let token = named.iter().find_map(|key| config.get(key)?.as_u64());
        let token = token.unwrap() as u32;
        let word = |t: u32| if t < FIRST_SHOWN { t } else { token };
        let only = |ids: &[u32]| -> Vec<u32> {
            let ids = ids.iter().map(|t| word(*t));
            ids.filter(|t| around.contains(t)).collect()
        };
        assert_eq!(only(&read), only(&ids), "{name}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_by_the_name_of_its_projector() {
    // A tower is no language model, and a language model no tower.
    let error = refused(text("llava"), text("llava"));
    assert!(error.message.contains("architecture `llama`"), "{error}");
    // Language models of another kind.
    let error = refused(text("idefics3"), tower("qwen2_5_vl"));
    assert!(error.message.contains("`qwen2.5vl_merger`"), "{error}");
    assert!(error.message.contains("type `llama`"), "{error}");
    let error = refused(text("llava"), tower("gemma3"));
    assert!(error.message.contains("`gemma3`"), "{error}");
    // A vocabulary without the tokens that stand around pictures.
    let error = refused(text("llava"), tower("idefics3"));
    assert!(
        error.message.contains("<fake_token_around_image>"),
        "{error}"
    );
    // A projector that llama.cpp has and this program does not run.
    let mut bytes = std::fs::read(tower("idefics3")).unwrap();
    let at = bytes.windows(8).position(|w| w == b"idefics3").unwrap();
    bytes[at..at + 8].copy_from_slice(b"internvl");
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("mmproj.gguf");
    std::fs::write(&other, bytes).unwrap();
    let error = refused(text("idefics3"), other);
    assert!(
        error.message.contains("the projector `internvl`"),
        "{error}"
    );
    let hint = error.hint.unwrap_or_default();
    assert!(hint.contains("qwen2.5vl_merger"), "{hint}");
}

/// The same on a GPU.
#[cfg(feature = "cuda")]
#[test]
fn every_projector_in_a_gguf_file_computes_the_same_on_a_gpu() {
    use mary_testkit::{Lacking, skip};
    let settings = ModelSettings {
        device: Some("cuda:0".to_owned()),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open_seeing(&text("llava"), &tower("llava")).unwrap();
    let reference = "gguf/llava".parse().unwrap();
    match LocalModel::from_checkpoint(reference, checkpoint, &settings) {
        Err(e) if e.kind == ErrorKind::BadRequest => return skip(Lacking::Gpu, &e.to_string()),
        Err(e) => panic!("{e}"),
        Ok(_) => {}
    }
    let wrong: Vec<String> = PAIRS
        .iter()
        .flat_map(|name| hold_model(name, &open(name, Some("cuda:0")), false))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
