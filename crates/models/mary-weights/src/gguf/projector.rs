//! A tower for pictures in a GGUF file of its own (`mmproj`), as llama.cpp's converters write it: tensors
//! and metadata in Hugging Face's terms, so that the two files together read like the folder they were
//! made from.
//!
//! What the converters leave out (how pictures are cut, sizes that llama.cpp knows by heart) is what the
//! folder of the released models says. The older ones call the two layers of a feed-forward block by each
//! other's names; their shapes tell.

use std::collections::BTreeMap;

use mary_contract::ModelError;
use serde_json::{Value, json};

mod kinds;
mod names;
mod source;

use self::kinds::ProjectorKind;
use self::source::ProjectorSource;
use super::Gguf;
use crate::fault;
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
    pub fn read(file: &Mapped, number: usize) -> Result<Self, ModelError> {
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
