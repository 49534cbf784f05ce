//! Rows that stand in the place of tokens' vectors: what a projector makes of a picture.
//!
//! The language model runs over them as over its own vectors, and the backward pass ends at them: their
//! gradients are read from the workspace and go on into whatever made the rows.

use crate::TrainError;

/// Vectors for some tokens of a pack, whose own vectors are not looked up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    /// Their places among the tokens of the pack, in ascending order.
    pub places: &'a [usize],
    /// The vectors, one after the other.
    pub rows: &'a [f32],
}

impl Given<'_> {
    pub(super) fn holds(&self, place: usize) -> bool {
        self.places.binary_search(&place).is_ok()
    }

    pub(super) fn check(&self, tokens: usize, width: usize) -> Result<(), TrainError> {
        let ascending = self.places.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = self.places.last().is_none_or(|last| *last < tokens);
        match ascending && inside && self.rows.len() == self.places.len() * width {
            true => Ok(()),
            false => Err(TrainError::Settings(format!(
                "expected rows of {width} numbers for {} ascending places among {tokens} tokens, found {} numbers",
                self.places.len(),
                self.rows.len()
            ))),
        }
    }

    pub(super) fn place(&self, stream: &mut [f32], width: usize) {
        for (place, row) in self.places.iter().zip(self.rows.chunks_exact(width)) {
            stream[place * width..(place + 1) * width].copy_from_slice(row);
        }
    }
}
