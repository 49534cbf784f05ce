//! Every architecture that llama.cpp knows and this program reads from folders, as a GGUF file: the same
//! numbers as transformers computed from the folder. The files come from `tools/golden_gguf.py`, which
//! names tensors by the `gguf` package's own table.

use std::path::{Path, PathBuf};

use mary_local::config::Architecture;
use mary_weights::Checkpoint;

use crate::parity::{golden, hold};

fn files() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_gguf");
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path());
    let mut all: Vec<(String, PathBuf)> = paths
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, path)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_gguf_file_computes_what_its_folder_computes() {
    let files = files();
    assert!(files.len() >= 30, "{}", files.len());
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|(name, path)| hold(path, name, "auto").err())
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Metadata says the same model as `config.json`: sizes, norms, constants, rotary embeddings.
#[test]
fn metadata_describes_the_model_of_its_folder() {
    for (name, path) in files() {
        let of = |path: &Path| {
            let checkpoint = Checkpoint::open(path).unwrap();
            let mut a = Architecture::resolve(checkpoint.config()).unwrap();
            // Frequencies went through 32 bits; names, and how long a text may be, are the file's own.
            a.ropes
                .iter_mut()
                .flat_map(|r| &mut r.frequencies)
                .for_each(|f| *f = (*f * 1e5).round());
            a.context = 0;
            a.family = "";
            a
        };
        let (file, folder) = (of(&path), of(&golden(&name)));
        assert_eq!(file, folder, "{name}");
    }
}

#[test]
fn word_pieces_in_a_file_are_berts_own() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_gguf/bert.gguf");
    let checkpoint = Checkpoint::open(&path).unwrap();
    let text = std::fs::read_to_string(golden("bert").join("golden.json")).unwrap();
    let want: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ids = checkpoint
        .tokenizer()
        .encode(
            "The old cat sleeps under the red stone and the young bird that sings is not",
            true,
        )
        .unwrap()
        .ids;
    assert_eq!(serde_json::to_value(ids).unwrap(), want["ids"]);
}
