//! Tokenizers, adapters and imports that ask for too much: parts that multiply, documents that are small
//! on the disk and large in memory, and things that are no files where files are expected.

use std::path::{Path, PathBuf};
use std::process::Command;

use mary_store::{ImportOptions, import};
use mary_train::Storage;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{JSON, Mutation, Result, Target, copied};
use crate::mutate::{self, Dice};

pub(super) fn all(golden: &Path) -> Result<Vec<Target>> {
    let folder = copied(golden, &["llama"], "")?;
    let (name, file) = ("tokenizer pipeline", "tokenizer.json");
    let mut targets = vec![Target::of_checkpoint(name, folder, file, pipeline)?];
    // Vocabularies beside a right model, in another form than `tokenizer.json`.
    for (name, from, file) in [
        ("tokenizer pieces", "spm-bpe", "tokenizer.model"),
        ("tokenizer unigrams", "spm-unigram", "tokenizer.model"),
        ("tokenizer words", "bert-files", "vocab.txt"),
        ("tokenizer merges", "gpt2-files", "merges.txt"),
        ("tokenizer ranks", "tiktoken", "qwen.tiktoken"),
    ] {
        let folder = copied(golden, &["llama", from], "tokenizer.json")?;
        targets.push(Target::of_checkpoint(name, folder, file, vocabulary)?);
    }
    let parts: [(_, _, Mutation); 2] = [
        ("adapter settings", SETTINGS, JSON),
        ("adapter weights", WEIGHTS, mutate::safetensors),
    ];
    for (name, file, mutation) in parts {
        let lora = Lora::new(golden)?;
        if !lora.merge() {
            return Err("the right adapter does not merge".into());
        }
        let file = lora.adapter.join(file);
        targets.push(Target::of_file(name, file, mutation, move || lora.merge())?);
    }
    targets.push(kinds(golden)?);
    targets.push(documents()?);
    Ok(targets)
}

/// A length: a few letters more often than not, or anything up to some megabytes.
fn size(dice: &mut Dice) -> usize {
    match dice.roll(4) {
        0 => 1 << dice.roll(23),
        _ => dice.roll(12),
    }
}

const PATTERNS: &str = include_str!("good/patterns.txt");

/// A part of the kind that may stand there.
fn part(place: &str, dice: &mut Dice) -> Value {
    let pattern = match dice.roll(2) {
        0 => json!({"String": "a"}),
        _ => json!({"Regex": dice.pick(&PATTERNS.lines().collect::<Vec<_>>())}),
    };
    let replace = json!({"type": "Replace", "pattern": pattern, "content": "a".repeat(size(dice))});
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": dice.roll(2) == 0});
    let spaces =
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
    let choices = match place {
        "normalizer" => vec![
            replace,
            json!({"type": "Prepend", "prepend": "a".repeat(size(dice))}),
            json!({"type": "ByteLevel"}),
            json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}),
            json!({"type": "Precompiled", "precompiled_charsmap": "AAAA".repeat(dice.roll(3000))}),
            json!({"type": "Strip", "strip_left": true, "strip_right": true}),
            json!({"type": dice.pick(&["NFC", "NFKD", "Lowercase", "Nmt", "StripAccents"])}),
        ],
        "pre_tokenizer" => vec![
            json!({"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": dice.roll(2) == 0}),
            bytes,
            spaces,
            json!({"type": "CharDelimiterSplit", "delimiter": "a"}),
            json!({"type": "Digits", "individual_digits": true}),
            json!({"type": dice.pick(&["Whitespace", "WhitespaceSplit", "BertPreTokenizer"])}),
        ],
        _ => vec![
            replace,
            bytes,
            spaces,
            json!({"type": "Strip", "content": "a", "start": size(dice), "stop": size(dice)}),
            json!({"type": dice.pick(&["Fuse", "ByteFallback"])}),
        ],
    };
    dice.pick(&choices).cloned().unwrap_or_default()
}

/// Parts of a `tokenizer.json` that multiply, repeat, insert or match too much.
fn pipeline(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(good).unwrap_or_default();
    let sides = [
        ("normalizer", "normalizers"),
        ("pre_tokenizer", "pretokenizers"),
        ("decoder", "decoders"),
    ];
    for _ in 0..=dice.roll(3) {
        let (place, list) = dice.pick(&sides).copied().unwrap_or_default();
        let parts: Vec<Value> = (0..=dice.roll(4)).map(|_| part(place, dice)).collect();
        let times = 1 << (dice.roll(12) * usize::from(dice.roll(5) == 0));
        let mut all = Vec::new();
        // So many that the text of the case stays below some megabytes.
        while all.len() < times
            && all.len() * parts.iter().map(|p| p.to_string().len()).sum::<usize>() < 8 << 20
        {
            all.extend(parts.clone());
        }
        if let Some(field) = value.get_mut(place) {
            *field = json!({"type": "Sequence", list: all});
        }
    }
    if dice.roll(4) == 0 {
        let text = json!({"Sequence": {"id": "A", "type_id": 0}});
        let ids: Vec<u32> = (0..=dice.roll(5000) as u32).collect();
        value["post_processor"] = json!({"type": "TemplateProcessing",
                "single": vec![text; 1 << dice.roll(16)], "pair": [],
                "special_tokens": {"<s>": {"id": "<s>", "ids": ids, "tokens": ["<s>"]}}});
    }
    if dice.roll(4) == 0 {
        value["added_tokens"] = json!([{"id": dice.pick(&mutate::EXTREMES), "content": "a".repeat(size(dice)),
                "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false}]);
    }
    if dice.roll(6) == 0 {
        value["model"]["unk_token"] = json!("a".repeat(size(dice)));
        value["model"]["continuing_subword_prefix"] = json!("a".repeat(size(dice)));
    }
    value.to_string().into_bytes()
}

fn vocabulary(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = mutate::blinded(good, dice);
    if dice.roll(3) == 0 {
        let at = dice.roll(bytes.len());
        mutate::extreme(&mut bytes, at, dice);
    }
    if dice.roll(100) == 0 {
        let fill = [0, b'\n', b'a', 0xff];
        let byte = dice.pick(&fill).copied().unwrap_or(0);
        bytes.extend(std::iter::repeat_n(byte, 32 << 20));
    }
    bytes
}

const SETTINGS: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";

/// A LoRA adapter for the small llama, and the two together.
struct Lora {
    base: PathBuf,
    adapter: PathBuf,
    out: PathBuf,
    _folders: [TempDir; 2],
}

impl Lora {
    fn new(golden: &Path) -> Result<Self> {
        let base = copied(golden, &["llama"], "")?;
        let folder = tempfile::tempdir()?;
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(place("adapter"))?;
        let settings = json!({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"],
            "use_dora": false, "use_rslora": false, "rank_pattern": {}, "alpha_pattern": {}});
        std::fs::write(place("adapter").join(SETTINGS), settings.to_string())?;
        let checkpoint = mary_weights::Checkpoint::open(base.path())?;
        let layer = "model.layers.0.self_attn.q_proj";
        let info = checkpoint.info(&format!("{layer}.weight"));
        let shape = info
            .ok_or("the small model has no such layer")?
            .shape
            .clone();
        let (Some(rows), Some(columns)) = (shape.first(), shape.get(1)) else {
            return Err("expected a matrix".into());
        };
        let name = |side: &str| format!("base_model.model.{layer}.lora_{side}.weight");
        let (a, b) = (2 * columns * 4, rows * 2 * 4);
        let header = json!({
            name("A"): {"dtype": "F32", "shape": [2, columns], "data_offsets": [0, a]},
            name("B"): {"dtype": "F32", "shape": [rows, 2], "data_offsets": [a, a + b]},
        })
        .to_string();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        bytes.extend(std::iter::repeat_n(0, a + b));
        std::fs::write(place("adapter").join(WEIGHTS), bytes)?;
        Ok(Self {
            base: base.path().to_owned(),
            adapter: place("adapter"),
            out: place("out"),
            _folders: [base, folder],
        })
    }

    fn merge(&self) -> bool {
        let _ = std::fs::remove_dir_all(&self.out);
        mary_train::merge(&self.base, &self.adapter, &self.out, Storage::F32).is_ok()
    }
}

/// Puts it there, and says whether it could be made here.
fn put(kind: u8, path: &Path) -> bool {
    match kind {
        0 => Command::new("mkfifo")
            .arg(path)
            .status()
            .is_ok_and(|s| s.success()),
        #[cfg(unix)]
        1 => std::os::unix::fs::symlink("/dev/zero", path).is_ok(),
        #[cfg(unix)]
        2 => std::os::unix::fs::symlink("/dev/tty", path).is_ok(),
        3 => std::fs::create_dir(path).is_ok(),
        #[cfg(unix)]
        4 => std::os::unix::fs::symlink(path, path).is_ok(),
        // Two gigabytes of zeros that take no room.
        _ => std::fs::File::create(path).is_ok_and(|f| f.set_len(2 << 30).is_ok()),
    }
}

/// Something that is no plain file, or a very large one, where a file of an adapter, a tokenizer or an
/// import belongs.
fn kinds(golden: &Path) -> Result<Target> {
    let lora = Lora::new(golden)?;
    let folder = tempfile::tempdir()?;
    let make = |dice: &mut Dice| vec![dice.roll(250) as u8, dice.roll(250) as u8];
    let read = move |bytes: &[u8]| {
        let &[kind, place] = bytes else {
            return false;
        };
        let (kind, place) = (kind % 6, place % 6);
        let path = match place {
            0 => lora.adapter.join(SETTINGS),
            1 => lora.adapter.join(WEIGHTS),
            2 => lora.base.join("tokenizer.json"),
            n => folder
                .path()
                .join(["a.jsonl", "a.json", "a.eval"][usize::from(n) % 3]),
        };
        let kept = std::fs::read(&path).ok();
        let _ = std::fs::remove_file(&path);
        let made = put(kind, &path);
        let root = folder.path().join("runs");
        let accepted = match place {
            0..=2 => lora.merge(),
            _ => import(&path, &ImportOptions::default(), &root).is_ok(),
        };
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
        if let Some(kept) = kept {
            let _ = std::fs::write(&path, kept);
        }
        // A file of the tokenizer's that merging only copies may be anything; the rest must be refused.
        assert!(
            !made || !accepted || place == 2,
            "kind {kind} was taken for a file"
        );
        accepted
    };
    Ok(Target::new("adapter and import kinds", make, read))
}

fn documents() -> Result<Target> {
    let folder = tempfile::tempdir()?;
    let read = move |bytes: &[u8]| {
        let (first, body) = bytes.split_first().unwrap_or((&0, &[]));
        let root = folder.path().join("runs");
        let _ = std::fs::remove_dir_all(&root);
        let options = ImportOptions {
            model: Some("imported/model".into()),
            task: Some("t".into()),
            score: None,
        };
        let ending = ["jsonl", "json", "eval"][usize::from(*first).min(2)];
        let file = folder.path().join(format!("a.{ending}"));
        let written = match ending {
            "eval" => packed(&file, body).is_ok(),
            _ => std::fs::write(&file, body).is_ok(),
        };
        written && import(&file, &options, &root).is_ok()
    };
    Ok(Target::new("import documents", document, read))
}

fn document(dice: &mut Dice) -> Vec<u8> {
    // Most are small; some are as large as files that people have.
    let length = match dice.roll(12) {
        0 => 1usize << (20 + dice.roll(7)),
        _ => 1 << (8 + dice.roll(12)),
    };
    let units: [&[u8]; 9] = [
        b"[],",
        b"{},",
        b"\0",
        b"1",
        b"[",
        b"{\"a\":",
        b"\"aaaa\",",
        b"{\"id\":1,\"scores\":{}},",
        b"{\"doc_id\":1,\"acc\":1,\"metrics\":[\"acc\"]}\n",
    ];
    let unit = dice.pick(&units).copied().unwrap_or(b"1");
    let mut body = unit.repeat(length / unit.len() + 1);
    if dice.roll(3) == 0 {
        mutate::blind(&mut body, dice);
    }
    let fronts: [&[u8]; 8] = [
        b"",
        b"[",
        b"\"",
        b"{\"samples\":[",
        b"{\"eval\":[",
        b"{\"eval\":{\"task\":\"t\",\"model\":\"m\"},\"samples\":[",
        b"{\"doc_id\":1,\"acc\":1,\"doc\":[",
        b"{\"eval\":{\"task\":\"",
    ];
    let backs: [&[u8]; 5] = [b"", b"[]]", b"]}", b"{}]}", b"\"}}"];
    // Which reader gets it is the first byte.
    let mut bytes = vec![dice.roll(3) as u8];
    bytes.extend_from_slice(dice.pick(&fronts).copied().unwrap_or_default());
    bytes.extend_from_slice(&body);
    bytes.extend_from_slice(dice.pick(&backs).copied().unwrap_or_default());
    bytes
}

/// An archive whose header is right and whose only sample is this.
fn packed(file: &Path, sample: &[u8]) -> Result<()> {
    use std::io::Write as _;
    let mut out = zip::ZipWriter::new(std::fs::File::create(file)?);
    let options = zip::write::SimpleFileOptions::default();
    out.start_file("header.json", options)?;
    out.write_all(b"{\"eval\": {\"task\": \"t\", \"model\": \"m/n\"}}")?;
    out.start_file("samples/1_epoch_1.json", options)?;
    out.write_all(sample)?;
    out.finish()?;
    Ok(())
}
