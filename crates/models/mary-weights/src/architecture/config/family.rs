//! What an entry of the registry says of an architecture: the names that Hugging Face and llama.cpp give it, how the
//! settings of either are read, and what llama.cpp's converter does to its tensors.

use mary_contract::ModelError;
use serde_json::Value;

use super::{Architecture, Fields};
use crate::gguf::source::GgufSource;

pub(crate) struct Family {
    /// The `model_type`s it answers to.
    pub types: &'static [&'static str],
    pub read: fn(&Fields<'_>) -> Result<Architecture, ModelError>,
    /// Its forms in GGUF files; none where llama.cpp does not convert it.
    pub gguf: &'static [GgufForm],
}

impl Family {
    /// A family that llama.cpp does not convert.
    pub(super) const fn in_folders(
        types: &'static [&'static str],
        read: fn(&Fields<'_>) -> Result<Architecture, ModelError>,
    ) -> Self {
        let gguf = &[];
        Self { types, read, gguf }
    }
}

pub(crate) struct GgufForm {
    /// `general.architecture`.
    pub name: &'static str,
    /// What it is in Hugging Face's terms.
    pub model_type: &'static str,
    pub class: &'static str,
    /// Other models that go by this name, for the list of known ones.
    pub also: &'static str,
    /// Experts tell it from another form of the same name.
    pub sparse: bool,
    /// `tokenizer.ggml.pre` of files that are older than this key.
    pub pre: &'static str,
    pub rotation: Rotation,
    pub conversion: Conversion,
    /// The keys of `config.json` beside those that all architectures have.
    pub config: fn(&GgufSource<'_>) -> Result<Value, String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rotation {
    None,
    All,
    /// As many as the file says.
    Some,
}

/// What the converter does to tensors, which reading undoes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversion {
    None,
    /// Interleaves the halves of queries and keys that turn together.
    RotaryPairs,
    /// Takes queries, keys and values of the heads apart.
    QkvByRole,
    /// Leaves queries, keys and values in one tensor where Hugging Face has three (older files).
    QkvJoined,
    /// Adds one to the weights of norms.
    NormPlusOne,
    Transposed,
}

impl GgufForm {
    pub(super) const fn new(
        name: &'static str,
        (model_type, class): (&'static str, &'static str),
        config: fn(&GgufSource<'_>) -> Result<Value, String>,
    ) -> Self {
        Self {
            name,
            model_type,
            class,
            also: "",
            sparse: false,
            pre: "default",
            rotation: Rotation::All,
            conversion: Conversion::None,
            config,
        }
    }
}
