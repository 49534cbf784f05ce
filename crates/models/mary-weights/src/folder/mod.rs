//! A Hugging Face folder: configuration and tokenizer beside safetensors or torch shards.

mod pickle;
mod shard;
mod torch;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use mary_platform::read_plain;
use serde_json::Value;

use crate::fault;
use crate::fault::Result;
use crate::mapped::Mapped;
use crate::stored::Stored;

/// No file beside the weights is larger.
const LARGEST_SIDECAR: u64 = 512 << 20;

/// Small files that say what a model is; all of them count in the fingerprint.
const ALWAYS: &str = "config.json tokenizer.json tokenizer_config.json special_tokens_map.json generation_config.json \
    chat_template.jinja chat_template.json preprocessor_config.json processor_config.json";

/// Read only where there is no `tokenizer.json`.
const PLAIN_TOKENIZER: &str = "tokenizer.model spiece.model sentencepiece.bpe.model vocab.json merges.txt vocab.txt qwen.tiktoken \
    added_tokens.json";

pub(crate) struct Sidecars {
    pub folder: PathBuf,
    files: BTreeMap<&'static str, Cow<'static, [u8]>>,
}

impl Sidecars {
    pub fn read(folder: &Path) -> Result<Self> {
        let mut found = Self {
            folder: folder.to_owned(),
            files: BTreeMap::new(),
        };
        for name in ALWAYS.split_whitespace() {
            found.add(name)?;
        }
        if found.get("tokenizer.json").is_none() {
            for name in PLAIN_TOKENIZER.split_whitespace() {
                found.add(name)?;
            }
        }
        Ok(found)
    }

    pub fn with_tokenizer(mut self, folder: &Path) -> Result<Self> {
        let other = Self::read(folder)?;
        let vocabulary = |name: &str| {
            let mut known = PLAIN_TOKENIZER.split_whitespace();
            name == "tokenizer.json" || known.any(|other| other == name)
        };
        if !other.files.keys().any(|name| vocabulary(name)) {
            return Err(fault::missing(folder, "holds no tokenizer")
                .hint("name a folder or a hub id that has one: --model-arg tokenizer=…"));
        }
        let settings = ["tokenizer_config.json", "special_tokens_map.json"];
        let of_tokenizer = |name: &str| vocabulary(name) || settings.contains(&name);
        self.files.retain(|name, _| !of_tokenizer(name));
        self.files.extend(
            other
                .files
                .into_iter()
                .filter(|(name, _)| of_tokenizer(name)),
        );
        Ok(self)
    }

    fn add(&mut self, name: &'static str) -> Result<()> {
        let path = self.folder.join(name);
        match read_plain(&path, LARGEST_SIDECAR) {
            Ok(bytes) => {
                self.files.insert(name, Cow::Owned(bytes));
                Ok(())
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(fault::io(&path, &e)),
        }
    }

    pub fn compiled(files: &[(&'static str, Option<&'static [u8]>)]) -> Self {
        Self {
            folder: PathBuf::from("(builtin)"),
            files: files
                .iter()
                .filter_map(|(name, bytes)| Some((*name, Cow::Borrowed((*bytes)?))))
                .collect(),
        }
    }

    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(|bytes| &**bytes)
    }

    /// A small JSON file; one that is not JSON counts as absent (the two that must be JSON are
    /// parsed elsewhere, with an error).
    pub fn json(&self, name: &str) -> Option<Value> {
        serde_json::from_slice(self.get(name)?).ok()
    }

    pub fn sentencepiece(&self) -> Option<(&'static str, &[u8])> {
        ["tokenizer.model", "spiece.model", "sentencepiece.bpe.model"]
            .into_iter()
            .find_map(|name| Some((name, self.get(name)?)))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        self.files.iter().map(|(name, bytes)| (*name, &**bytes))
    }

    /// `config.json`, which must be an object.
    pub fn config(&self) -> Result<Value> {
        let path = self.folder.join("config.json");
        let bytes = self.get("config.json").ok_or_else(|| {
            fault::missing(
                &self.folder,
                "has no config.json, so it is not a model folder",
            )
            .hint(
                "give a folder in Hugging Face's layout, a .gguf file, or a hub id such as \
                 hf/EleutherAI/pythia-70m",
            )
        })?;
        let read = serde_json::from_slice(bytes);
        match read.or_else(|e| serde_json::from_slice(&finite(bytes)).map_err(|_| e)) {
            Ok(Value::Object(config)) => Ok(Value::Object(config)),
            Ok(_) => Err(fault::bad(&path, "is JSON, but not an object")),
            Err(e) => Err(fault::bad(&path, format!("is not JSON: {e}"))),
        }
    }
}

/// Python writes infinities, which JSON does not have (Mamba-2's `time_step_limit`): nothing in their place.
fn finite(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut rest, mut quoted) = (Vec::with_capacity(bytes.len()), bytes, false);
    while let Some((&byte, after)) = rest.split_first() {
        let infinite = [&b"-Infinity"[..], b"Infinity"];
        let infinite = infinite
            .iter()
            .find(|word| !quoted && rest.starts_with(word));
        if let Some(word) = infinite {
            out.extend_from_slice(b"null");
            rest = &rest[word.len()..];
            continue;
        }
        quoted ^= byte == b'"' && out.last() != Some(&b'\\');
        out.push(byte);
        rest = after;
    }
    out
}

pub(crate) struct Weights {
    pub files: Vec<Mapped>,
    pub tensors: BTreeMap<String, Stored>,
}

#[derive(Clone, Copy)]
enum Format {
    Safetensors,
    Torch,
}

/// All tensors of one torch or safetensors file as 32-bit numbers, whatever they are for.
pub fn read_tensors(path: &Path) -> Result<BTreeMap<String, Vec<f32>>> {
    let file = Mapped::open(path)?;
    let format = match file.starts_with(b"PK") {
        true => Format::Torch,
        false => Format::Safetensors,
    };
    let Weights { files, tensors } = Weights::map(vec![file], format)?;
    let numbers = |(name, of): (String, Stored)| {
        let bytes = files
            .first()
            .and_then(|file| file.get(of.start..of.start.checked_add(of.len)?));
        let outside = || fault::bad(path, format!("tensor `{name}` lies outside the file"));
        let numbers = of.read_f32(bytes.ok_or_else(outside)?);
        Ok((name, numbers))
    };
    tensors.into_iter().map(numbers).collect()
}

impl Weights {
    /// Finds and maps the weight files of a folder, in the order transformers looks for them.
    pub fn open(folder: &Path) -> Result<Self> {
        for (single, format) in [
            ("model.safetensors", Format::Safetensors),
            ("pytorch_model.bin", Format::Torch),
        ] {
            let path = folder.join(single);
            if path.exists() {
                return Self::map(vec![Mapped::open(&path)?], format);
            }
            let path = folder.join(format!("{single}.index.json"));
            if path.exists() {
                return Self::sharded(folder, &path, format);
            }
        }
        Err(fault::missing(
            folder,
            "has no weights; looked for model.safetensors, model.safetensors.index.json, \
             pytorch_model.bin and pytorch_model.bin.index.json",
        )
        .hint("fetch the weights into the folder"))
    }

    pub fn compiled(bytes: &'static [u8]) -> Result<Self> {
        let file = Mapped::compiled("(builtin)/model.safetensors", bytes);
        Self::map(vec![file], Format::Safetensors)
    }

    fn map(files: Vec<Mapped>, format: Format) -> Result<Self> {
        let mut tensors = BTreeMap::new();
        for (index, file) in files.iter().enumerate() {
            let found = match format {
                Format::Safetensors => shard::tensors(file, index)?,
                Format::Torch => torch::tensors(file, index)?,
            };
            tensors.extend(found);
        }
        Ok(Self { files, tensors })
    }

    fn sharded(folder: &Path, index: &Path, format: Format) -> Result<Self> {
        let place = weight_map(index)?;
        let names: BTreeSet<&str> = place.values().map(String::as_str).collect();
        let mut missing = Vec::new();
        let mut files = Vec::new();
        for name in names {
            let path = folder.join(name);
            if path.exists() {
                files.push(Mapped::open(&path)?);
            } else {
                missing.push(name);
            }
        }
        if let Some(first) = missing.first() {
            let tensor = place.iter().find(|(_, file)| file == first);
            return Err(fault::missing(
                &folder.join(first),
                format!(
                    "this shard is missing ({} of {} shards are); the index puts tensor `{}` \
                     into it",
                    missing.len(),
                    missing.len() + files.len(),
                    tensor.map_or("", |(name, _)| name)
                ),
            )
            .hint("fetch the missing shards"));
        }
        let weights = Self::map(files, format)?;
        for (tensor, file) in &place {
            let found = weights.tensors.get(tensor);
            let at = found.map(|t| weights.files[t.file].path.clone());
            if at.as_deref() != Some(&*folder.join(file)) {
                return Err(fault::bad(
                    &folder.join(file),
                    format!(
                        "tensor `{tensor}` should be here according to {}, but is not",
                        index.display()
                    ),
                )
                .hint("index and shards are of different versions; fetch both again"));
            }
        }
        Ok(weights)
    }
}

/// Which tensor lies in which file. File names must be plain names: an index from elsewhere must
/// not make us open files outside the folder.
fn weight_map(index: &Path) -> Result<BTreeMap<String, String>> {
    let bytes = read_plain(index, LARGEST_SIDECAR).map_err(|e| fault::io(index, &e))?;
    let parsed: Value = serde_json::from_slice(&bytes)
        .map_err(|e| fault::bad(index, format!("is not JSON: {e}")))?;
    let Some(map) = parsed["weight_map"].as_object() else {
        return Err(fault::bad(index, "has no weight_map"));
    };
    let mut place = BTreeMap::new();
    for (tensor, file) in map {
        let name = file.as_str().unwrap_or_default();
        let mut parts = Path::new(name).components();
        if !matches!(
            (parts.next(), parts.next()),
            (Some(Component::Normal(_)), None)
        ) {
            return Err(fault::bad(
                index,
                format!("tensor `{tensor}` lies in {file}, which is not a file of this folder"),
            ));
        }
        place.insert(tensor.clone(), name.to_owned());
    }
    if place.is_empty() {
        return Err(fault::bad(index, "its weight_map is empty"));
    }
    Ok(place)
}
