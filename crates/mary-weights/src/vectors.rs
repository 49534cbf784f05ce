//! Static word vectors: word2vec binary, GloVe text, fastText text.

use std::path::Path;

use mary_contract::ModelError;

/// Word vectors read into memory.
pub struct StaticVectors {
    dim: usize,
}

impl StaticVectors {
    /// Reads a file; the kind is found from its content.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Err(crate::fault::bad(path, "not readable yet"))
    }

    /// The vector of a word.
    pub fn get(&self, _word: &str) -> Option<&[f32]> {
        None
    }

    /// Numbers in a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Words.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Content hash of words and vectors.
    pub fn fingerprint(&self) -> &str {
        ""
    }
}
