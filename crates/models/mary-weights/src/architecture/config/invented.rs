//! An architecture that nobody has, as a contributor would add one: an entry of `families.json` and one of `names.json`
//! are all that is new. A tiny model of it is then read from a folder and from a GGUF file.

use serde_json::json;

use super::Architecture;
use crate::Checkpoint;

pub(super) const INVENTED: &str = r#"[{"types": ["invented"], "family": "Invented", "names": "invented",
  "kv_heads": "|", "head": "|", "width": "|", "plain": true, "centred": true, "eps": ["", 1e-5],
  "activation": ["", "gelu"], "block": {"Parallel": {"shared": true}}, "turn_names": ["turning"], "turns": 1.0,
  "gguf": [{"name": "invented1", "class": "InventedForCausalLM", "pre": "gpt-2", "rotation": "some",
    "conversion": "norm_plus_one", "keys": [["longest", {"size": "context_length"}], ["turning", "rotary_share"]]}]}]"#;

pub(super) const NAMES: &str = r#"{"invented": {
  "sizes": ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "longest"],
  "prefixes": [["brain.", "mouth."], ["", ""]], "embed": "words", "layer": "floors.{}.",
  "qkv": {"separate": ["ask", "offer", "give"]}, "attn_out": "gather", "attn_norm": "calm",
  "up": {"plain": "widen"}, "down": "narrow", "final_norm": "rest", "head": "say"}}"#;

/// Each tensor: GGUF's name, Hugging Face's, and its shape.
const TENSORS: [(&str, &str, &[usize]); 10] = [
    ("token_embd.weight", "brain.words.weight", &[6, 8]),
    ("output_norm.weight", "brain.rest.weight", &[8]),
    ("output.weight", "mouth.say.weight", &[6, 8]),
    ("blk.0.attn_norm.weight", "brain.floors.0.calm.weight", &[8]),
    ("blk.0.attn_q.weight", "brain.floors.0.ask.weight", &[8, 8]),
    (
        "blk.0.attn_k.weight",
        "brain.floors.0.offer.weight",
        &[8, 8],
    ),
    ("blk.0.attn_v.weight", "brain.floors.0.give.weight", &[8, 8]),
    (
        "blk.0.attn_output.weight",
        "brain.floors.0.gather.weight",
        &[8, 8],
    ),
    (
        "blk.0.ffn_up.weight",
        "brain.floors.0.widen.weight",
        &[32, 8],
    ),
    (
        "blk.0.ffn_down.weight",
        "brain.floors.0.narrow.weight",
        &[8, 32],
    ),
];

fn numbers(place: usize, shape: &[usize]) -> Vec<f32> {
    let count = shape.iter().product::<usize>();
    (0..count).map(|i| (place * 1000 + i) as f32).collect()
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn write_folder(folder: &std::path::Path) {
    let config = json!({"model_type": "invented", "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "vocab_size": 6, "longest": 16, "turning": 0.5});
    let tokenizer = json!({"version": "1.0", "added_tokens": [], "model":
        {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}});
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let all: Vec<Vec<u8>> = (TENSORS.iter().enumerate())
        .map(|(i, (_, _, shape))| bytes(&numbers(i, shape)))
        .collect();
    let views = TENSORS.iter().zip(&all).map(|((_, name, shape), bytes)| {
        let view = safetensors::tensor::TensorView::new(
            safetensors::Dtype::F32,
            shape.to_vec(),
            bytes.as_slice(),
        );
        (*name, view.unwrap())
    });
    let file = safetensors::serialize(views, None).unwrap();
    std::fs::write(folder.join("model.safetensors"), file).unwrap();
}

fn write_gguf(path: &std::path::Path) {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let entry =
        |key: &str, kind: u32, value: &[u8]| [&text(key)[..], &kind.to_le_bytes(), value].concat();
    let number = |key: &str, n: u32| entry(key, 4, &n.to_le_bytes());
    let texts = |key: &str, all: &[&str]| {
        let count = (all.len() as u64).to_le_bytes();
        let all: Vec<u8> = all.iter().flat_map(|t| text(t)).collect();
        entry(key, 9, &[&8u32.to_le_bytes()[..], &count, &all].concat())
    };
    let metadata = [
        entry("general.architecture", 8, &text("invented1")),
        number("invented1.embedding_length", 8),
        number("invented1.block_count", 1),
        number("invented1.attention.head_count", 2),
        number("invented1.context_length", 16),
        number("invented1.rope.dimension_count", 2),
        entry("tokenizer.ggml.model", 8, &text("gpt2")),
        texts("tokenizer.ggml.tokens", &["a", "b"]),
        texts("tokenizer.ggml.merges", &[]),
    ];
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend((TENSORS.len() as u64).to_le_bytes());
    file.extend((metadata.len() as u64).to_le_bytes());
    file.extend(metadata.concat());
    let mut data = Vec::new();
    for (i, (name, _, shape)) in TENSORS.iter().enumerate() {
        file.extend(text(name));
        file.extend((shape.len() as u32).to_le_bytes());
        file.extend(shape.iter().rev().flat_map(|n| (*n as u64).to_le_bytes()));
        file.extend(0u32.to_le_bytes());
        file.extend((data.len() as u64).to_le_bytes());
        let mut all = numbers(i, shape);
        if name.ends_with("norm.weight") {
            all.iter_mut().for_each(|x| *x += 1.0);
        }
        data.extend(bytes(&all));
        data.resize(data.len().next_multiple_of(32), 0);
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend(data);
    std::fs::write(path, file).unwrap();
}

#[test]
fn one_entry_reads_both_forms_of_a_new_architecture() {
    let folder = tempfile::tempdir().unwrap();
    let gguf = folder.path().join("model.gguf");
    write_folder(folder.path());
    write_gguf(&gguf);
    let (a, b) = (
        Checkpoint::open(folder.path()).unwrap(),
        Checkpoint::open(&gguf).unwrap(),
    );
    let made = Architecture::resolve(a.config()).unwrap();
    assert_eq!(made.ropes[0].dim, 2);
    assert_eq!(Architecture::resolve(b.config()).unwrap(), made);
    assert_eq!(a.tensor_names(), b.tensor_names());
    for (i, (_, name, shape)) in TENSORS.iter().enumerate() {
        assert_eq!(a.info(name), b.info(name));
        for checkpoint in [&a, &b] {
            assert_eq!(
                checkpoint.read_f32(name).unwrap(),
                numbers(i, shape),
                "{name}"
            );
        }
    }
}
