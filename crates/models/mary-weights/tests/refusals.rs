//! What is wrong with a checkpoint is said before any work starts, by file and tensor.

use crate::golden_files;

use std::path::Path;

use golden_files::{folder_of, golden};
use mary_contract::{ErrorKind, ModelError};
use mary_weights::{Checkpoint, locate};
use tempfile::TempDir;

const LLAMA: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];

fn llama() -> TempDir {
    folder_of(&[("llama", &LLAMA)])
}

/// The refusal of a folder, with the folder's own name taken out.
fn refusal(folder: &Path) -> (ErrorKind, String) {
    let ModelError {
        kind,
        message,
        hint,
    } = Checkpoint::open(folder).unwrap_err();
    let shown = folder.display().to_string();
    let hint = hint.map(|h| format!("\nhint: {h}")).unwrap_or_default();
    (kind, format!("{message}{hint}").replace(&shown, "MODEL"))
}

fn write(folder: &TempDir, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.path().join(name), bytes).unwrap();
}

#[test]
fn a_truncated_file_names_the_first_tensor_that_is_cut_off() {
    let folder = llama();
    let bytes = std::fs::read(golden("llama/model.safetensors")).unwrap();
    write(&folder, "model.safetensors", &bytes[..bytes.len() - 100]);
    let (kind, message) = refusal(folder.path());
    assert_eq!(kind, ErrorKind::BadModel);
    insta::assert_snapshot!("truncated_safetensors", message);
    write(&folder, "model.safetensors", &bytes[..20]);
    insta::assert_snapshot!("torn_header", refusal(folder.path()).1);
}

#[test]
fn a_missing_shard_and_a_wrong_index_name_the_file_and_the_tensor() {
    let folder = llama();
    std::fs::rename(
        folder.path().join("model.safetensors"),
        folder.path().join("a.safetensors"),
    )
    .unwrap();
    let index = |file: &str| {
        format!(
            r#"{{"weight_map": {{"model.norm.weight": "a.safetensors", "lost.weight": "{file}"}}}}"#
        )
    };
    write(
        &folder,
        "model.safetensors.index.json",
        index("b.safetensors"),
    );
    let (kind, message) = refusal(folder.path());
    assert_eq!(kind, ErrorKind::NotFound);
    insta::assert_snapshot!("missing_shard", message);
    write(
        &folder,
        "model.safetensors.index.json",
        index("a.safetensors"),
    );
    insta::assert_snapshot!("tensor_not_in_its_shard", refusal(folder.path()).1);
    for outside in ["../a.safetensors", "/etc/passwd", "", "."] {
        write(&folder, "model.safetensors.index.json", index(outside));
        let (kind, message) = refusal(folder.path());
        assert_eq!(kind, ErrorKind::BadModel);
        assert!(message.contains("not a file of this folder"), "{message}");
    }
}

#[test]
fn a_tokenizer_that_does_not_match_is_refused() {
    let folder = llama();
    let mut tokenizer: serde_json::Value =
        serde_json::from_slice(&std::fs::read(golden("llama/tokenizer.json")).unwrap()).unwrap();
    let mut vocab = tokenizer["model"]["vocab"].clone();
    vocab["beyond"] = 403.into();
    tokenizer["model"]["vocab"] = vocab;
    // The vocabulary has 400 entries or fewer; fill it up to the rows of the embedding.
    let have = tokenizer["model"]["vocab"].as_object().unwrap().len();
    for filler in have..=404 {
        tokenizer["model"]["vocab"][format!("filler{filler}")] = (filler + 10).into();
    }
    write(&folder, "tokenizer.json", tokenizer.to_string());
    let (kind, message) = refusal(folder.path());
    assert_eq!(kind, ErrorKind::BadModel);
    insta::assert_snapshot!("tokenizer_mismatch", message);
}

#[test]
fn a_special_token_beyond_the_embedding_may_only_be_one_that_nothing_writes() {
    let folder = llama();
    let mut tokenizer: serde_json::Value =
        serde_json::from_slice(&std::fs::read(golden("llama/tokenizer.json")).unwrap()).unwrap();
    let added = |special: bool| {
        serde_json::json!({"id": 450, "content": "<picture>", "single_word": false, "lstrip": false,
                           "rstrip": false, "normalized": false, "special": special})
    };
    tokenizer["model"]["vocab"]["<picture>"] = 450.into();
    tokenizer["added_tokens"]
        .as_array_mut()
        .unwrap()
        .push(added(true));
    write(&folder, "tokenizer.json", tokenizer.to_string());
    assert!(Checkpoint::open(folder.path()).is_ok());
    write(&folder, "chat_template.jinja", "{{ '<picture>' }}");
    assert!(
        refusal(folder.path())
            .1
            .contains("`<picture>` has the id 450")
    );
}

#[test]
fn what_is_not_there_is_listed() {
    let empty = tempfile::tempdir().unwrap();
    insta::assert_snapshot!("empty_folder", refusal(empty.path()).1);
    let no_weights = folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
    insta::assert_snapshot!("no_weights", refusal(no_weights.path()).1);
    let no_tokenizer = folder_of(&[("llama", &["config.json", "model.safetensors"])]);
    insta::assert_snapshot!("no_tokenizer", refusal(no_tokenizer.path()).1);
    let error = Checkpoint::open(Path::new("nowhere/model")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[test]
fn broken_small_files_are_named() {
    for (name, bytes, expected) in [
        ("config.json", "{", "config.json: is not JSON"),
        ("config.json", "[1]", "not an object"),
        (
            "tokenizer.json",
            "{}",
            "tokenizer.json: is not a usable tokenizer",
        ),
        (
            "chat_template.jinja",
            "{% for %}",
            "chat template is broken",
        ),
    ] {
        let folder = llama();
        write(&folder, name, bytes);
        let (kind, message) = refusal(folder.path());
        assert_eq!(kind, ErrorKind::BadModel);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn gguf_refusals_name_the_tensor_or_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let good = std::fs::read(golden("llama.gguf")).unwrap();
    let replaced = |from: &[u8], to: &[u8]| {
        assert_eq!(from.len(), to.len());
        let at = good.windows(from.len()).position(|w| w == from).unwrap();
        let mut bytes = good.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        bytes
    };
    let cases = [
        ("truncated_gguf", good[..good.len() - 1000].to_vec()),
        ("torn_gguf_header", good[..200].to_vec()),
        ("not_gguf", b"PK\x03\x04 something else".to_vec()),
        (
            "unknown_architecture",
            replaced(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0mamba"),
        ),
        (
            "unknown_tensor",
            replaced(b"ffn_gate.weight", b"ffn_gaze.weight"),
        ),
        ("unknown_pre_tokenizer", replaced(b"smollm", b"smxllm")),
        ("old_version", replaced(b"GGUF\x03", b"GGUF\x01")),
    ];
    for (name, bytes) in cases {
        std::fs::write(&path, bytes).unwrap();
        let error = Checkpoint::open(&path).unwrap_err();
        let hint = error
            .hint
            .map(|h| format!("\nhint: {h}"))
            .unwrap_or_default();
        let message = format!("{}{hint}", error.message).replace(&path.display().to_string(), "M");
        insta::assert_snapshot!(name, message);
    }
}

#[test]
fn a_torch_file_that_calls_out_is_refused_and_nothing_runs() {
    use std::io::Write;
    let folder = folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
    let path = folder.path().join("pytorch_model.bin");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("archive/data.pkl", stored).unwrap();
    zip.write_all(b"\x80\x02cos\nsystem\nX\x0a\x00\x00\x00touch oops\x85R.")
        .unwrap();
    zip.finish().unwrap();
    insta::assert_snapshot!("hostile_pickle", refusal(folder.path()).1);
    std::fs::write(&path, b"\x80\x02}q\x00.").unwrap();
    insta::assert_snapshot!("legacy_torch", refusal(folder.path()).1);
}

#[test]
fn locating_says_what_can_be_done() {
    let find = |text: &str| locate(&text.parse().unwrap());
    let here = golden("llama");
    assert_eq!(find(&format!("hf/{}", here.display())).unwrap(), here);
    let error = find("hf/./no/such/folder").unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    let error = find("hf/justaname").unwrap_err();
    assert!(error.hint.unwrap().contains("all-minilm-l6-v2"));
}

/// A GGUF file whose 32-bit metadata value of this name is replaced.
fn with_value(file: &str, key: &str, value: [u8; 4]) -> (TempDir, std::path::PathBuf) {
    let mut bytes = std::fs::read(golden(file)).unwrap();
    let at = bytes.windows(key.len()).position(|w| w == key.as_bytes());
    // The key is followed by its type, then by the value.
    let at = at.unwrap() + key.len() + 4;
    bytes[at..at + 4].copy_from_slice(&value);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn a_gguf_number_that_is_none_is_refused_and_no_default_takes_its_place() {
    let cases = [
        (
            "llama.rope.freq_base",
            f32::NAN,
            "NaN; expected a finite number",
        ),
        (
            "llama.rope.freq_base",
            f32::INFINITY,
            "inf; expected a finite number",
        ),
        (
            "llama.rope.freq_base",
            -1.0,
            "-1; expected a number above 0",
        ),
        (
            "llama.attention.layer_norm_rms_epsilon",
            f32::NAN,
            "NaN; expected a finite number",
        ),
        (
            "llama.attention.layer_norm_rms_epsilon",
            -1.0,
            "-1; expected a number from 0",
        ),
    ];
    for (key, value, said) in cases {
        let (_folder, path) = with_value("llama.gguf", key, value.to_le_bytes());
        let error = Checkpoint::open(&path).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadModel, "{key} {value}");
        let said = format!("metadata `{key}` is {said}");
        assert!(error.message.contains(&said), "{}", error.message);
    }
}

/// A GGUF file that says how many dimensions of a head turn.
fn turning(file: &str, architecture: &str, dimensions: u32) -> (TempDir, std::path::PathBuf) {
    let mut bytes = std::fs::read(golden(file)).unwrap();
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let entry = |key: &str, kind: u32, value: &[u8]| {
        [&text(key)[..], &kind.to_le_bytes()[..], value].concat()
    };
    let key = format!("{architecture}.rope.dimension_count");
    let mut more = entry(&key, 4, &dimensions.to_le_bytes());
    // Tensors begin at multiples of 32 bytes: a second entry fills up to the next one.
    let empty = entry("general.name.filler", 8, &text("")).len();
    let filler = "x".repeat((more.len() + empty).next_multiple_of(32) - more.len() - empty);
    more.extend(entry("general.name.filler", 8, &text(&filler)));
    let count = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) + 2;
    bytes[16..24].copy_from_slice(&count.to_le_bytes());
    bytes.splice(24..24, more);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn rotary_dimensions_of_a_gguf_file_are_read_or_refused() {
    let open = |file: &str, architecture: &str, dimensions: u32| {
        let (_folder, path) = turning(file, architecture, dimensions);
        let opened = Checkpoint::open(&path);
        opened.map(|c| c.config()["partial_rotary_factor"].clone())
    };
    // All of a head turns in LLaMA.
    open("llama.gguf", "llama", 8).unwrap();
    let message = open("llama.gguf", "llama", 4).unwrap_err().message;
    let said = "metadata `llama.rope.dimension_count` is 4; expected the 8 dimensions of a head";
    assert!(message.contains(said), "{message}");
    // Phi-3 turns part of one where the file says so.
    assert_eq!(open("phi3.gguf", "phi3", 8).unwrap(), 1.0);
    assert_eq!(open("phi3.gguf", "phi3", 4).unwrap(), 0.5);
    let message = open("phi3.gguf", "phi3", 99).unwrap_err().message;
    assert!(
        message.contains("is 99; expected at most the 8 dimensions"),
        "{message}"
    );
}
