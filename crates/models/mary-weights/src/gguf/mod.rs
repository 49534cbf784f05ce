//! GGUF files: metadata, tokenizer and (mostly quantised) tensors in one file or in several parts.
//!
//! The layout follows `docs/gguf.md` of the ggml project, versions 2 and 3. Every count and length
//! is compared with what is left of the file before anything is allocated, so a hostile file costs
//! no more memory than a small multiple of its own size.

mod config;
mod header;
mod names;
pub(crate) mod parts;
pub(crate) mod projector;
pub(crate) mod rewrite;
pub(crate) mod source;

pub(crate) use header::Metadata;
pub use rewrite::{Additions, ControlVector, control_vector_file, read_control_vector};

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::architecture::Architecture;
use crate::fault::Result;
use crate::mapped::Mapped;
use crate::stored::Stored;
use crate::{bounds, fault};
use header::Reader;

/// An opened file: metadata, configuration and tensors in Hugging Face's terms.
pub(crate) struct Gguf {
    pub metadata: Metadata,
    pub config: Value,
    pub tensors: BTreeMap<String, Stored>,
}

impl Gguf {
    /// Reads a file, or all parts of a model in their order.
    pub fn read(files: &[Mapped]) -> Result<Self> {
        let mut whole: Option<Metadata> = None;
        let mut stored = BTreeMap::new();
        for (number, file) in files.iter().enumerate() {
            let metadata = Self::part(file, (number, files.len()), &mut stored)?;
            // The first part has everything; the others only say which part they are.
            whole.get_or_insert(metadata);
        }
        let metadata = whole.unwrap_or_default();
        let first = files.first().map_or(Path::new(""), |f| &f.path);
        let bad = |why: String| fault::bad(first, why);
        let (form, config) = config::translate(&metadata, &stored, files).map_err(bad)?;
        // Before anything is named or looped over by what the header says.
        bounds::check(&config, &stored).map_err(bad)?;
        let layers = config.get("num_hidden_layers").and_then(Value::as_u64);
        bounds::layers_named(&stored, layers.unwrap_or(0)).map_err(|why| {
            bad(why).hint("the file is damaged, or was made by a faulty converter; fetch it again")
        })?;
        let architecture = Architecture::resolve(&config)?;
        let tensors = names::translate(form, &architecture, stored).map_err(bad)?;
        Ok(Self {
            metadata,
            config,
            tensors,
        })
    }

    /// The metadata of one file; its tensors are added to the others.
    fn part(
        file: &Mapped,
        (number, count): (usize, usize),
        stored: &mut BTreeMap<String, Stored>,
    ) -> Result<Metadata> {
        let bad = |why: String| fault::bad(&file.path, why);
        let mut reader = Reader::new(file);
        let (metadata, directory) = reader.header().map_err(|why| {
            let error = bad(why.clone());
            if why.starts_with("ends") {
                error.hint("the file is incomplete; fetch it again")
            } else {
                error
            }
        })?;
        let said = metadata.integer("split.count").unwrap_or(1).max(1);
        if said != count as i64 {
            return Err(bad(format!(
                "says that its model lies in {said} files; by its name there are {count}"
            ))
            .hint("the parts of a model are called NAME-00001-of-00003.gguf and so on"));
        }
        if let Some(own) = metadata.integer("split.no")
            && count > 1
            && own != number as i64
        {
            return Err(bad(format!(
                "says that it is part {} of its model; by its name it is part {}",
                own.saturating_add(1),
                number + 1
            )));
        }
        let alignment = metadata.alignment().map_err(bad)?;
        let data = reader
            .at
            .checked_next_multiple_of(alignment)
            .ok_or_else(|| bad("has no place for its tensors".into()))?;
        for raw in directory {
            let mut tensor = raw.place(data, file.len()).map_err(|why| {
                let hint = if why.starts_with("is stored as") {
                    "the file is sound, its kind is not read here; take another quantisation of the \
                     same model"
                } else {
                    "the file is damaged or incomplete; fetch it again"
                };
                bad(format!("tensor `{}` {why}", raw.name)).hint(hint)
            })?;
            tensor.file = number;
            if stored.insert(raw.name.clone(), tensor).is_some() {
                return Err(bad(format!("tensor `{}` is there twice", raw.name)));
            }
        }
        Ok(metadata)
    }
}
