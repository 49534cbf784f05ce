//! A checkpoint: tensors by their Hugging Face names, configuration, tokenizer and chat template.

use std::borrow::Cow;
use std::path::Path;

use mary_contract::{ErrorKind, ModelError};

use crate::{ChatTemplate, TensorInfo, Tokenizer};

/// The files of a model that is compiled into the binary.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedFiles<'a> {
    /// `config.json`.
    pub config: &'a [u8],
    /// `tokenizer.json`.
    pub tokenizer: &'a [u8],
    /// `tokenizer_config.json`.
    pub tokenizer_config: Option<&'a [u8]>,
    /// `model.safetensors`.
    pub safetensors: &'a [u8],
}

/// An open checkpoint: a Hugging Face folder, a GGUF file or a model compiled into the binary.
/// Files are mapped, not read.
pub struct Checkpoint {
    config: serde_json::Value,
    tokenizer: Tokenizer,
    template: Option<ChatTemplate>,
}

impl Checkpoint {
    /// Opens a folder (Hugging Face layout) or a `.gguf` file. Reads headers only; checks files,
    /// index, sizes and offsets.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Err(crate::fault::bad(path, "not readable yet"))
    }

    /// Opens a model compiled into the binary.
    pub fn from_embedded(_files: EmbeddedFiles<'static>) -> Result<Self, ModelError> {
        Err(ModelError::new(ErrorKind::Internal, "not readable yet"))
    }

    /// The configuration in the form of Hugging Face's `config.json`; a GGUF file's metadata is
    /// translated to the same keys.
    pub fn config(&self) -> &serde_json::Value {
        &self.config
    }

    /// Names of all tensors, sorted.
    pub fn tensor_names(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Shape and type of a tensor.
    pub fn info(&self, _name: &str) -> Option<&TensorInfo> {
        None
    }

    /// The file a tensor lies in.
    pub fn file_of(&self, _name: &str) -> Option<&Path> {
        None
    }

    /// The numbers of a tensor, row-major, converted or dequantised.
    pub fn read_f32(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        Err(ModelError::new(ErrorKind::BadModel, name))
    }

    /// The bytes of a tensor as stored, little-endian (ggml blocks for quantised types), in the
    /// row order of Hugging Face. A quantised tensor that is stored transposed (GPT-2's linear
    /// layers in GGUF files) cannot be given this way and is an error: use [`Self::read_f32`].
    pub fn read_raw(&self, name: &str) -> Result<Cow<'_, [u8]>, ModelError> {
        Err(ModelError::new(ErrorKind::BadModel, name))
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The chat template, if the model has one.
    pub fn template(&self) -> Option<&ChatTemplate> {
        self.template.as_ref()
    }

    /// Content hash (blake3) of weights, configuration and tokenizer; file names play no part.
    pub fn fingerprint(&self) -> Result<String, ModelError> {
        Err(ModelError::new(ErrorKind::Internal, "not readable yet"))
    }
}
