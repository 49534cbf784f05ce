//! The same bytes read by others: tensors, encodings and chats agree with Hugging Face
//! transformers, sentencepiece and the Python package `gguf` (see `tools/golden_weights.py`).

use crate::golden_files;

use golden_files::{
    assert_chats, assert_encodings, assert_tensors, folder_of, golden, golden_json, with_tokenizer,
};
use mary_weights::{Checkpoint, EmbeddedFiles, TensorType};

#[test]
fn a_safetensors_folder_holds_what_transformers_wrote() {
    let llama = Checkpoint::open(&golden("llama")).unwrap();
    let expected = &golden_json("tensors.json")["llama"];
    assert_tensors(&llama, expected, "llama");
    assert_eq!(
        llama.tensor_names().len(),
        expected.as_object().unwrap().len()
    );
    assert_eq!(llama.config()["model_type"], "llama");
    assert_eq!(
        llama.file_of("model.norm.weight").unwrap(),
        golden("llama/model.safetensors")
    );
    assert_encodings(&llama, &golden_json("encodings.json")["llama"], "llama");
    assert_chats(&llama, &golden_json("chats.json")["llama"], "llama");
}

#[test]
fn every_gguf_architecture_comes_back_in_hugging_face_terms() {
    let expected = golden_json("tensors.json");
    let types = [
        ("llama", "llama"),
        ("qwen2", "qwen2"),
        ("qwen3", "qwen3"),
        ("gemma2", "gemma2"),
        ("gemma3", "gemma3_text"),
        ("phi2", "phi"),
        ("phi3", "phi3"),
        ("gpt2", "gpt2"),
        ("gptneox", "gpt_neox"),
        ("falcon", "falcon"),
        ("falcon7b", "falcon"),
    ];
    for (name, model_type) in types {
        let file = format!("{name}.gguf");
        let checkpoint = Checkpoint::open(&golden(&file)).unwrap();
        assert_tensors(&checkpoint, &expected[&file], &file);
        let names = checkpoint.tensor_names().len();
        assert_eq!(names, expected[&file].as_object().unwrap().len(), "{file}");
        assert_eq!(checkpoint.config()["model_type"], model_type);
        assert_encodings(&checkpoint, &golden_json("encodings.json")["llama"], &file);
        assert_chats(&checkpoint, &golden_json("chats.json")["llama"], &file);
    }
}

#[test]
fn a_model_in_several_files_is_the_model_in_one() {
    let one = Checkpoint::open(&golden("llama.gguf")).unwrap();
    let names = ["llama-00001-of-00002.gguf", "llama-00002-of-00002.gguf"];
    // By its folder, by its first part, by any part.
    let folder = golden("parts");
    let ways = [folder.clone(), folder.join(names[0]), folder.join(names[1])];
    for way in ways {
        let parts = Checkpoint::open(&way).unwrap();
        assert_eq!(parts.tensor_names(), one.tensor_names());
        assert_eq!(parts.config(), one.config());
        for name in one.tensor_names() {
            assert_eq!(parts.info(name), one.info(name));
            assert_eq!(
                parts.read_f32(name).unwrap(),
                one.read_f32(name).unwrap(),
                "{name}"
            );
        }
        assert_encodings(&parts, &golden_json("encodings.json")["llama"], "parts");
    }
    // A part alone, and a part under another's name.
    let alone = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        std::fs::copy(golden("parts").join(from), alone.path().join(to)).unwrap();
    };
    copy(names[0], names[0]);
    let error = Checkpoint::open(&alone.path().join(names[0]))
        .err()
        .unwrap();
    assert!(error.message.contains(names[1]), "{error}");
    copy(names[0], names[1]);
    let error = Checkpoint::open(alone.path()).err().unwrap();
    assert!(
        error.message.contains("by its name it is part 2"),
        "{error}"
    );
    copy(names[1], "second.gguf");
    let error = Checkpoint::open(&alone.path().join("second.gguf"));
    let error = error.err().unwrap();
    assert!(error.message.contains("lies in 2 files"), "{error}");
}

#[test]
fn gguf_metadata_reads_like_a_config() {
    for name in ["llama", "gemma2", "gptneox", "falcon", "gpt2"] {
        let checkpoint = Checkpoint::open(&golden(&format!("{name}.gguf"))).unwrap();
        let config = serde_json::to_string_pretty(checkpoint.config()).unwrap();
        insta::assert_snapshot!(format!("config_{name}"), config);
    }
}

/// Raw blocks in Hugging Face's row order, unpacked by hand, are the numbers of `read_f32`.
#[test]
fn raw_blocks_have_their_rows_in_order() {
    let llama = Checkpoint::open(&golden("llama.gguf")).unwrap();
    let mut permuted = 0;
    for name in llama.tensor_names() {
        let info = llama.info(name).unwrap();
        let raw = llama.read_raw(name).unwrap();
        let numbers = llama.read_f32(name).unwrap();
        assert_eq!(
            info.dtype.bytes_for(numbers.len()),
            Some(raw.len()),
            "{name}"
        );
        permuted += usize::from(matches!(raw, std::borrow::Cow::Owned(_)));
        if info.dtype == TensorType::Q8_0 {
            let unpacked: Vec<f32> = raw
                .chunks(34)
                .flat_map(|block| {
                    let scale = half::f16::from_le_bytes([block[0], block[1]]).to_f32();
                    block[2..].iter().map(move |&q| f32::from(q as i8) * scale)
                })
                .collect();
            assert_eq!(unpacked, numbers, "{name}");
        }
    }
    assert_eq!(permuted, 2, "query and key of one layer");
    let gpt2 = Checkpoint::open(&golden("gpt2.gguf")).unwrap();
    let name = "transformer.h.0.mlp.c_fc.weight";
    let raw = gpt2.read_raw(name).unwrap();
    let numbers: Vec<f32> = raw
        .chunks(2)
        .map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32())
        .collect();
    assert_eq!(numbers, gpt2.read_f32(name).unwrap());
}

#[test]
fn torch_files_are_read_with_their_strides_and_types() {
    let folder = folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
    std::fs::copy(golden("state.bin"), folder.path().join("pytorch_model.bin")).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert_tensors(&checkpoint, &golden_json("state.json"), "state.bin");
    assert_eq!(checkpoint.info("half").unwrap().dtype, TensorType::F16);
    assert_eq!(checkpoint.info("whole").unwrap().dtype, TensorType::I64);
    let raw = checkpoint.read_raw("transposed").unwrap();
    let numbers: Vec<f32> = raw
        .chunks(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(numbers, checkpoint.read_f32("transposed").unwrap());
}

#[test]
fn shards_and_one_file_are_the_same_model() {
    let whole = Checkpoint::open(&golden("llama")).unwrap();
    let folder = golden_files::folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
    let mut map = serde_json::Map::new();
    for (shard, part) in whole.tensor_names().chunks(4).enumerate() {
        let file = format!("model-{shard}.safetensors");
        let views: Vec<_> = part
            .iter()
            .map(|name| {
                let info = whole.info(name).unwrap();
                let bytes = match whole.read_raw(name).unwrap() {
                    std::borrow::Cow::Borrowed(bytes) => bytes,
                    std::borrow::Cow::Owned(_) => panic!("plain tensors are borrowed"),
                };
                let view = safetensors::tensor::TensorView::new(
                    safetensors::Dtype::F32,
                    info.shape.clone(),
                    bytes,
                )
                .unwrap();
                map.insert((*name).to_owned(), file.clone().into());
                (*name, view)
            })
            .collect();
        safetensors::serialize_to_file(views, None, &folder.path().join(&file)).unwrap();
    }
    let index = serde_json::json!({"metadata": {}, "weight_map": map});
    std::fs::write(
        folder.path().join("model.safetensors.index.json"),
        index.to_string(),
    )
    .unwrap();
    let sharded = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(sharded.tensor_names(), whole.tensor_names());
    assert_tensors(&sharded, &golden_json("tensors.json")["llama"], "shards");
}

#[test]
fn sentencepiece_agrees_with_its_own_library() {
    let cases = golden_json("encodings.json");
    for kind in ["spm-bpe", "spm-unigram"] {
        let folder = with_tokenizer(kind, &["tokenizer.model"]);
        let checkpoint = Checkpoint::open(folder.path()).unwrap();
        assert_encodings(&checkpoint, &cases[kind], kind);
    }
    let gguf = Checkpoint::open(&golden("spm.gguf")).unwrap();
    assert_encodings(&gguf, &cases["spm-bpe"], "spm.gguf");
    assert!(gguf.tokenizer().adds_bos());
    assert_eq!(gguf.tokenizer().encode("a", true).unwrap().ids[0], 1);
}

#[test]
fn plain_vocabulary_files_make_the_same_tokenizers() {
    let cases = golden_json("encodings.json");
    let gpt2 = with_tokenizer(
        "gpt2-files",
        &[
            "vocab.json",
            "merges.txt",
            "special_tokens_map.json",
            "tokenizer_config.json",
        ],
    );
    let checkpoint = Checkpoint::open(gpt2.path()).unwrap();
    assert_encodings(&checkpoint, &cases["gpt2-files"], "gpt2-files");
    let bert = with_tokenizer("bert-files", &["vocab.txt"]);
    let checkpoint = Checkpoint::open(bert.path()).unwrap();
    assert_encodings(&checkpoint, &cases["bert-files"], "bert-files");
}

#[test]
fn special_tokens_are_known_by_their_roles() {
    for name in ["llama", "llama.gguf"] {
        let checkpoint = Checkpoint::open(&golden(name)).unwrap();
        let tokenizer = checkpoint.tokenizer();
        assert_eq!(tokenizer.bos(), Some(1), "{name}");
        assert_eq!(tokenizer.eos(), Some(2), "{name}");
        assert!(tokenizer.eos_ids().contains(&2), "{name}");
        assert!(!tokenizer.adds_bos(), "{name}");
        assert_eq!(tokenizer.piece(2), "<|im_end|>");
        assert_eq!(tokenizer.piece(u32::MAX), "<4294967295>");
        let tokens = tokenizer.encode(" the colour", false).unwrap();
        let spelled: String = tokens.ids.iter().map(|&id| tokenizer.piece(id)).collect();
        assert_eq!(spelled, " the colour");
        // Offsets hold the space: what is before a token and what is after fit together.
        let ends: Vec<_> = tokens.offsets.iter().map(|o| o.1).collect();
        let starts: Vec<_> = tokens.offsets.iter().skip(1).map(|o| o.0).collect();
        assert_eq!(starts, ends[..ends.len() - 1]);
        assert_eq!(tokens.offsets[0].0, 0);
    }
}

#[test]
fn bos_is_added_where_the_settings_say_so() {
    let folder = folder_of(&[(
        "llama",
        &["config.json", "model.safetensors", "tokenizer.json"],
    )]);
    let settings = r#"{"bos_token": "<|im_start|>", "eos_token": {"content": "<|im_end|>"},
                       "add_bos_token": true, "add_eos_token": true}"#;
    std::fs::write(folder.path().join("tokenizer_config.json"), settings).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    let got = checkpoint.tokenizer().encode("a", true).unwrap();
    assert!(checkpoint.tokenizer().adds_bos());
    assert_eq!((got.ids[0], *got.ids.last().unwrap()), (1, 2));
    assert_eq!(got.special, [true, false, true]);
    assert_eq!(
        checkpoint.tokenizer().encode("a", false).unwrap().ids.len(),
        1
    );
}

#[test]
fn a_fingerprint_is_of_content_and_not_of_names() {
    let original = Checkpoint::open(&golden("llama"))
        .unwrap()
        .fingerprint()
        .unwrap();
    let files = [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
        "chat_template.jinja",
    ];
    let copy = folder_of(&[("llama", &files)]);
    let copied = Checkpoint::open(copy.path()).unwrap();
    assert_eq!(copied.fingerprint().unwrap(), original);
    assert_eq!(copied.fingerprint().unwrap(), original, "asked again");
    drop(copied);
    // One bit of one weight, and one word of the tokenizer's settings, make another model.
    let weights = copy.path().join("model.safetensors");
    let mut bytes = std::fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&weights, bytes).unwrap();
    let changed = Checkpoint::open(copy.path())
        .unwrap()
        .fingerprint()
        .unwrap();
    assert_ne!(changed, original);
    let other = folder_of(&[("llama", &files[..5])]);
    assert_ne!(
        Checkpoint::open(other.path())
            .unwrap()
            .fingerprint()
            .unwrap(),
        original
    );
}

#[test]
fn a_model_can_be_compiled_in() {
    static CONFIG: &[u8] = include_bytes!("golden/llama/config.json");
    static TOKENIZER: &[u8] = include_bytes!("golden/llama/tokenizer.json");
    static WEIGHTS: &[u8] = include_bytes!("golden/llama/model.safetensors");
    let checkpoint = Checkpoint::from_embedded(EmbeddedFiles {
        config: CONFIG,
        tokenizer: TOKENIZER,
        tokenizer_config: None,
        safetensors: WEIGHTS,
    })
    .unwrap();
    assert_tensors(
        &checkpoint,
        &golden_json("tensors.json")["llama"],
        "compiled",
    );
    assert!(checkpoint.template().is_none());
    assert_eq!(checkpoint.fingerprint().unwrap().len(), 64);
}
