//! A tower for pictures in a GGUF file of its own (`mmproj`), as llama.cpp's converters write it: tensors
//! and metadata in Hugging Face's terms, so that the two files together read like the folder they were
//! made from.
//!
//! What the converters leave out (how pictures are cut, sizes that llama.cpp knows by heart) is what the
//! folder of the released models says. The older ones call the two layers of a feed-forward block by each
//! other's names; their shapes tell.

use std::collections::BTreeMap;

use serde_json::{Value, json};

mod kinds;
mod names;

use self::kinds::ProjectorKind;
use super::Gguf;
use crate::fault;
use crate::fault::Result;
use crate::gguf::header::Metadata;
use crate::mapped::Mapped;
use crate::stored::Stored;
use crate::tokenizer::Tokenizer;

pub(crate) struct Projector {
    pub tensors: BTreeMap<String, Stored>,
    /// As in `preprocessor_config.json`.
    pub processor: Value,
    kind: &'static ProjectorKind,
    config: Value,
}

impl Projector {
    /// Reads a file, which is the one of this number among those of the model.
    pub fn read(file: &Mapped, number: usize) -> Result<Self> {
        let bad = |why: String| fault::bad(&file.path, why);
        let mut stored = BTreeMap::new();
        let metadata = Gguf::part(file, (0, 1), &mut stored)?;
        stored.values_mut().for_each(|tensor| tensor.file = number);
        let source = ProjectorSource {
            metadata: &metadata,
            tensors: &stored,
        };
        let kind = ProjectorKind::of_file(&source).map_err(|why| {
            bad(why).hint(format!(
                "these run from GGUF files: {}; others run from their folder: hf/FOLDER",
                kinds::KNOWN
            ))
        })?;
        let config = (kind.config)(&source).map_err(bad)?;
        let processor = kind.processor(&source).map_err(bad)?;
        Ok(Self {
            tensors: names::translate(kind, stored).map_err(bad)?,
            processor,
            kind,
            config,
        })
    }

    /// The configuration of the model whose language model has this one. Its tokenizer must know the words
    /// that stand around a picture, and gets a token for the places that a picture takes.
    pub fn config(&self, text: Value, tokenizer: &mut Tokenizer) -> Result<Value, String> {
        let ProjectorKind {
            name, text: wanted, ..
        } = self.kind;
        let found = text["model_type"].as_str().unwrap_or_default();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            return Err(format!(
                "is a language model of type `{found}`; the projector `{name}` goes with `{wanted}`"
            ));
        }
        if let Some(word) = self.kind.words.iter().find(|word| !tokenizer.knows(word)) {
            return Err(format!(
                "has no token `{word}`, which the projector `{name}` needs"
            ));
        }
        let token = tokenizer.placeholder(self.kind.placeholder)?;
        let mut config = self.config.clone();
        config["text_config"] = text;
        config["image_token_id"] = json!(token);
        Ok(config)
    }
}

pub(super) struct ProjectorSource<'a> {
    pub metadata: &'a Metadata,
    pub tensors: &'a BTreeMap<String, Stored>,
}

impl ProjectorSource<'_> {
    /// A size that must be there.
    pub fn size(&self, name: &str) -> Result<i64, String> {
        let missing = || format!("metadata `clip.vision.{name}` is missing");
        self.optional(name)?.ok_or_else(missing)
    }

    pub fn optional(&self, name: &str) -> Result<Option<i64>, String> {
        let key = format!("clip.vision.{name}");
        match self.metadata.integer(&key) {
            Some(n) if (1..1 << 26).contains(&n) => Ok(Some(n)),
            Some(n) => Err(format!("metadata `{key}` is {n}")),
            None => Ok(None),
        }
    }

    /// A dimension of a tensor that must be there, counted from the outermost.
    pub fn dimension(&self, name: &str, dimension: usize) -> Result<i64, String> {
        let tensor = self.tensors.get(name);
        let size = tensor.and_then(|t| t.info.shape.get(dimension).copied());
        size.and_then(|n| i64::try_from(n).ok())
            .ok_or_else(|| format!("has no tensor `{name}` of the right shape"))
    }

    /// The activation; `gelu` is what this kind of tower means by `use_gelu`.
    pub fn activation(&self, gelu: &'static str) -> &'static str {
        let flag = |name: &str| self.metadata.flag(&format!("clip.{name}")) == Some(true);
        match () {
            () if flag("use_silu") => "silu",
            () if flag("use_gelu") => gelu,
            () => "quick_gelu",
        }
    }

    /// Whether the layers of a feed-forward block go by each other's names: what is called `down` then makes a
    /// row wider.
    pub fn swapped(&self) -> bool {
        swapped(self.tensors)
    }
}

pub(super) fn swapped(stored: &BTreeMap<String, Stored>) -> bool {
    let down = stored.get("v.blk.0.ffn_down.weight");
    down.is_some_and(|t| matches!(t.info.shape.as_slice(), [out, into] if out > into))
}
