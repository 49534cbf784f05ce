//! From text to token ids and back, whatever file the vocabulary came in.

use mary_contract::{ErrorKind, ModelError};

/// A tokenised text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoding {
    /// Token ids.
    pub ids: Vec<u32>,
    /// Where each token lies in the text, in bytes; `(0, 0)` for tokens that were added.
    pub offsets: Vec<(usize, usize)>,
    /// Whether each token was added around the text (BOS, `[CLS]`, …) rather than read from it.
    pub special: Vec<bool>,
}

/// A tokenizer.
pub struct Tokenizer {
    eos: Vec<u32>,
}

impl Tokenizer {
    /// Token ids of a text. With `add_special`, the tokens the model expects around a text (BOS,
    /// `[CLS]` … `[SEP]`) are added. Special tokens written in the text itself (as a rendered chat
    /// template does) are read as such either way.
    pub fn encode(&self, _text: &str, _add_special: bool) -> Result<Encoding, ModelError> {
        Err(ModelError::new(ErrorKind::Internal, "not readable yet"))
    }

    /// The text of token ids; special tokens are left out.
    pub fn decode(&self, _ids: &[u32]) -> Result<String, ModelError> {
        Err(ModelError::new(ErrorKind::Internal, "not readable yet"))
    }

    /// One token as people would read it; ids outside the vocabulary give `<id>`.
    pub fn piece(&self, id: u32) -> String {
        format!("<{id}>")
    }

    /// The token a text begins with, if the model has one.
    pub fn bos(&self) -> Option<u32> {
        None
    }

    /// The token a text ends with, if the model has one.
    pub fn eos(&self) -> Option<u32> {
        self.eos.first().copied()
    }

    /// All tokens that end a generation (`eos_token_id` of configuration and generation
    /// configuration together).
    pub fn eos_ids(&self) -> &[u32] {
        &self.eos
    }

    /// Whether [`Self::encode`] with `add_special` puts BOS in front.
    pub fn adds_bos(&self) -> bool {
        false
    }

    /// One more than the largest id.
    pub fn vocab_size(&self) -> usize {
        0
    }
}
