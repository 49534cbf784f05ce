//! Tokenizers, adapters and imports that ask for too much: parts that multiply, documents that are small
//! on the disk and large in memory, and things that are no files where files are expected.

use std::path::{Path, PathBuf};
use std::process::Command;

use mary_store::{ImportOptions, import};
use mary_train::Storage;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Target, Trouble, use_everything};
use crate::mutate::{self, Dice};

pub(super) fn all(golden: &Path) -> Result<Vec<Box<dyn Target>>, Trouble> {
    let mut targets: Vec<Box<dyn Target>> = vec![Box::new(Pipeline::new(golden)?)];
    for (name, from, file) in [
        ("tokenizer pieces", "spm-bpe", "tokenizer.model"),
        ("tokenizer unigrams", "spm-unigram", "tokenizer.model"),
        ("tokenizer words", "bert-files", "vocab.txt"),
        ("tokenizer merges", "gpt2-files", "merges.txt"),
        ("tokenizer ranks", "tiktoken", "qwen.tiktoken"),
    ] {
        targets.push(Box::new(Vocabulary::new(golden, name, from, file)?));
    }
    for (name, file) in [("adapter settings", SETTINGS), ("adapter weights", WEIGHTS)] {
        targets.push(Box::new(Adapter::new(golden, name, file)?));
    }
    targets.push(Box::new(Kinds::new(golden)?));
    targets.push(Box::new(Documents(tempfile::tempdir()?)));
    Ok(targets)
}

fn copied(golden: &Path, from: &str, into: &Path, without: &str) -> Result<(), Trouble> {
    for entry in std::fs::read_dir(golden.join(from))? {
        let entry = entry?;
        if entry.file_name() != without {
            std::fs::copy(entry.path(), into.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Parts of a `tokenizer.json` that multiply, repeat, insert or match too much.
struct Pipeline {
    good: Value,
    file: PathBuf,
    folder: TempDir,
}

impl Pipeline {
    fn new(golden: &Path) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir()?;
        copied(golden, "llama", folder.path(), "")?;
        let file = folder.path().join("tokenizer.json");
        Ok(Self {
            good: serde_json::from_slice(&std::fs::read(&file)?)?,
            file,
            folder,
        })
    }
}

/// A length: a few letters more often than not, or anything up to some megabytes.
fn size(dice: &mut Dice) -> usize {
    match dice.roll(4) {
        0 => 1 << dice.roll(23),
        _ => dice.roll(12),
    }
}

const PATTERNS: [&str; 10] = [
    "",
    "a*",
    "(a|aa)+$",
    "(?:(a|aa)+)+\\1!",
    "(a{1,1000}){1,1000}",
    "\\p{L}|.",
    "(?=a)",
    "[^b]*",
    "((((a)*)*)*)*",
    "(",
];

/// A part of the kind that may stand there.
fn part(place: &str, dice: &mut Dice) -> Value {
    let pattern = match dice.roll(2) {
        0 => json!({"String": "a"}),
        _ => json!({"Regex": dice.pick(&PATTERNS)}),
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

impl Target for Pipeline {
    fn name(&self) -> &'static str {
        "tokenizer pipeline"
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        let mut value = self.good.clone();
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

    fn read(&mut self, bytes: &[u8]) -> bool {
        std::fs::write(&self.file, bytes).is_ok() && use_everything(self.folder.path())
    }
}

/// A vocabulary beside a right model, in another form than `tokenizer.json`.
struct Vocabulary {
    name: &'static str,
    good: Vec<u8>,
    file: PathBuf,
    folder: TempDir,
}

impl Vocabulary {
    fn new(golden: &Path, name: &'static str, from: &str, file: &str) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir()?;
        copied(golden, "llama", folder.path(), "tokenizer.json")?;
        copied(golden, from, folder.path(), "")?;
        Ok(Self {
            name,
            good: std::fs::read(golden.join(from).join(file))?,
            file: folder.path().join(file),
            folder,
        })
    }
}

impl Target for Vocabulary {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.good.clone();
        mutate::blind(&mut bytes, dice);
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

    fn read(&mut self, bytes: &[u8]) -> bool {
        std::fs::write(&self.file, bytes).is_ok() && use_everything(self.folder.path())
    }
}

const SETTINGS: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";

/// A LoRA adapter for the small llama, and the two together.
struct Lora {
    base: PathBuf,
    adapter: PathBuf,
    out: PathBuf,
    _folder: TempDir,
}

impl Lora {
    fn new(golden: &Path) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir()?;
        let place = |name: &str| folder.path().join(name);
        for made in ["base", "adapter"] {
            std::fs::create_dir_all(place(made))?;
        }
        copied(golden, "llama", &place("base"), "")?;
        let settings = json!({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"],
            "use_dora": false, "use_rslora": false, "rank_pattern": {}, "alpha_pattern": {}});
        std::fs::write(place("adapter").join(SETTINGS), settings.to_string())?;
        let checkpoint = mary_weights::Checkpoint::open(&place("base"))?;
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
            base: place("base"),
            adapter: place("adapter"),
            out: place("out"),
            _folder: folder,
        })
    }

    fn merge(&self) -> bool {
        let _ = std::fs::remove_dir_all(&self.out);
        mary_train::merge(&self.base, &self.adapter, &self.out, Storage::F32).is_ok()
    }
}

struct Adapter {
    name: &'static str,
    good: Vec<u8>,
    file: PathBuf,
    lora: Lora,
}

impl Adapter {
    fn new(golden: &Path, name: &'static str, file: &str) -> Result<Self, Trouble> {
        let lora = Lora::new(golden)?;
        if !lora.merge() {
            return Err("the right adapter does not merge".into());
        }
        let file = lora.adapter.join(file);
        Ok(Self {
            name,
            good: std::fs::read(&file)?,
            file,
            lora,
        })
    }
}

impl Target for Adapter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        match self.name {
            "adapter weights" => mutate::safetensors(&self.good, dice),
            _ => mutate::json_text(&self.good, dice),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        std::fs::write(&self.file, bytes).is_ok() && self.lora.merge()
    }
}

/// Something that is no plain file, or a very large one, where a file of an adapter, a tokenizer or an
/// import belongs.
struct Kinds {
    lora: Lora,
    place: TempDir,
}

impl Kinds {
    fn new(golden: &Path) -> Result<Self, Trouble> {
        Ok(Self {
            lora: Lora::new(golden)?,
            place: tempfile::tempdir()?,
        })
    }

    /// Puts it there, and says whether it could be made here.
    fn put(kind: u8, path: &Path) -> bool {
        match kind % 6 {
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
}

impl Target for Kinds {
    fn name(&self) -> &'static str {
        "adapter and import kinds"
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        vec![dice.roll(250) as u8, dice.roll(250) as u8]
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        let (kind, place) = (
            bytes.first().copied().unwrap_or(0),
            bytes.get(1).copied().unwrap_or(0),
        );
        let root = self.place.path().join("runs");
        let path = match place % 6 {
            0 => self.lora.adapter.join(SETTINGS),
            1 => self.lora.adapter.join(WEIGHTS),
            2 => self.lora.base.join("tokenizer.json"),
            n => self
                .place
                .path()
                .join(["a.jsonl", "a.json", "a.eval"][usize::from(n) % 3]),
        };
        let kept = std::fs::read(&path).ok();
        let _ = std::fs::remove_file(&path);
        let made = Self::put(kind, &path);
        let accepted = match place % 6 {
            0..=2 => self.lora.merge(),
            _ => import(&path, &ImportOptions::default(), &root).is_ok(),
        };
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
        if let Some(kept) = kept {
            let _ = std::fs::write(&path, kept);
        }
        // A file of the tokenizer's that merging only copies may be anything; the rest must be refused.
        assert!(
            !made || !accepted || place % 6 == 2,
            "kind {} was taken for a file",
            kind % 6
        );
        accepted
    }
}

/// Documents that are small on the disk and large in memory.
struct Documents(TempDir);

impl Target for Documents {
    fn name(&self) -> &'static str {
        "import documents"
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
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

    fn read(&mut self, bytes: &[u8]) -> bool {
        let (first, body) = bytes.split_first().unwrap_or((&0, &[]));
        let root = self.0.path().join("runs");
        let _ = std::fs::remove_dir_all(&root);
        let options = ImportOptions {
            model: Some("imported/model".into()),
            task: Some("t".into()),
            score: None,
        };
        let file = match first {
            0 => self.0.path().join("a.jsonl"),
            1 => self.0.path().join("a.json"),
            _ => {
                let file = self.0.path().join("a.eval");
                return packed(&file, body).is_ok() && import(&file, &options, &root).is_ok();
            }
        };
        std::fs::write(&file, body).is_ok() && import(&file, &options, &root).is_ok()
    }
}

/// An archive whose header is right and whose only sample is this.
fn packed(file: &Path, sample: &[u8]) -> Result<(), Trouble> {
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
