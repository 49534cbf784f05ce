//! A tower for pictures in a GGUF file of its own (`mmproj`), as llama.cpp's converters write it: tensors
//! and metadata in Hugging Face's terms, so that the two files together read like the folder they were
//! made from.
//!
//! What the converters leave out (how pictures are cut, sizes that llama.cpp knows by heart) is what the
//! folder of the released models says. The older ones call the two layers of a feed-forward block by each
//! other's names; their shapes tell.

use std::collections::BTreeMap;

use mary_contract::ModelError;
use serde_json::{Map, Value, json};

mod kind;
mod names;

use self::kind::Kind;
use super::{Gguf, Metadata};
use crate::fault;
use crate::mapped::Mapped;
use crate::stored::Stored;
use crate::tokenizer::Tokenizer;

/// What such a file holds.
pub(crate) struct Projector {
    pub tensors: BTreeMap<String, Stored>,
    /// As in `preprocessor_config.json`.
    pub processor: Value,
    kind: Kind,
    config: Map<String, Value>,
}

impl Projector {
    /// Reads a file, which is the one of this number among those of the model.
    pub fn read(file: &Mapped, number: usize) -> Result<Self, ModelError> {
        let bad = |why: String| fault::bad(&file.path, why);
        let mut stored = BTreeMap::new();
        let metadata = Gguf::part(file, (0, 1), &mut stored)?;
        stored.values_mut().for_each(|tensor| tensor.file = number);
        let source = Source {
            metadata: &metadata,
            tensors: &stored,
        };
        let kind = source.kind().map_err(|why| {
            bad(why).hint(format!(
                "these run from GGUF files: {}; others run from their folder: hf/FOLDER",
                kind::KNOWN
            ))
        })?;
        let config = kind.config(&source).map_err(bad)?;
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
        let kind = self.kind;
        let found = text["model_type"].as_str().unwrap_or_default();
        if kind.text().is_some_and(|wanted| wanted != found) {
            return Err(format!(
                "is a language model of type `{found}`; the projector `{}` goes with `{}`",
                kind.name(),
                kind.text().unwrap_or_default(),
            ));
        }
        for word in kind.words() {
            if !tokenizer.knows(word) {
                return Err(format!(
                    "has no token `{word}`, which the projector `{}` needs",
                    kind.name()
                ));
            }
        }
        let token = tokenizer.placeholder(kind.placeholder())?;
        let mut config = self.config.clone();
        config.insert("text_config".to_owned(), text);
        config.insert("image_token_id".to_owned(), json!(token));
        Ok(Value::Object(config))
    }
}

/// A file as it was written.
struct Source<'a> {
    metadata: &'a Metadata,
    tensors: &'a BTreeMap<String, Stored>,
}

impl Source<'_> {
    fn kind(&self) -> Result<Kind, String> {
        let architecture = self.metadata.text("general.architecture").unwrap_or("");
        if architecture != "clip" {
            return Err(format!(
                "is of architecture `{architecture}`; a file with a tower for pictures is of architecture `clip`"
            ));
        }
        let named = ["clip.projector_type", "clip.vision.projector_type"];
        let name = named.iter().find_map(|key| self.metadata.text(key));
        let kind = Kind::named(name.unwrap_or("mlp"))?;
        let newline = self.tensors.contains_key(names::NEWLINE);
        let merged = self.metadata.text("clip.vision.mm_patch_merge_type");
        match (kind, newline, merged) {
            (Kind::Llava, true, Some("spatial_unpad")) => Ok(Kind::LlavaNext),
            (Kind::Llava, true, _) | (Kind::Llava, false, Some("spatial_unpad")) => Err(format!(
                "has the projector `mlp` with tiles (LLaVA 1.6), but \
                 clip.vision.mm_patch_merge_type is {merged:?} and the tensor `{}` is {}",
                names::NEWLINE,
                if newline { "there" } else { "missing" },
            )),
            (Kind::Llava, false, Some(other)) if other != "flat" => Err(format!(
                "has the projector `mlp` with patches merged as `{other}`, which is not run"
            )),
            (kind, ..) => Ok(kind),
        }
    }

    /// A size that must be there.
    fn size(&self, name: &str) -> Result<i64, String> {
        let missing = || format!("metadata `clip.vision.{name}` is missing");
        self.optional(name)?.ok_or_else(missing)
    }

    fn optional(&self, name: &str) -> Result<Option<i64>, String> {
        let key = format!("clip.vision.{name}");
        match self.metadata.integer(&key) {
            Some(n) if (1..1 << 26).contains(&n) => Ok(Some(n)),
            Some(n) => Err(format!("metadata `{key}` is {n}")),
            None => Ok(None),
        }
    }

    /// A dimension of a tensor that must be there, counted from the outermost.
    fn dimension(&self, name: &str, dimension: usize) -> Result<i64, String> {
        let tensor = self.tensors.get(name);
        let size = tensor.and_then(|t| t.info.shape.get(dimension).copied());
        size.and_then(|n| i64::try_from(n).ok())
            .ok_or_else(|| format!("has no tensor `{name}` of the right shape"))
    }

    fn flag(&self, name: &str) -> bool {
        self.metadata.flag(&format!("clip.{name}")) == Some(true)
    }
}
