//! Rows that stand in the place of tokens' vectors: what a projector makes of a picture.
//!
//! The language model runs over them as over its own vectors, and the backward pass ends at them: their
//! gradients are read from the workspace and go on into whatever made the rows.

use super::model::{Gradients, Net, Packed, Parameters, Workspace};
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

impl Workspace {
    /// The gradient of the loss at the vector of every token, after a backward pass.
    pub fn input_gradient(&self) -> &[f32] {
        &self.gradient
    }
}

impl Net {
    /// As [`Net::loss_and_gradient`], with some vectors given; [`Workspace::input_gradient`] has their gradients.
    pub fn loss_and_gradient_given(
        &self,
        p: &Parameters<'_>,
        (packed, given): (&Packed, Given<'_>),
        scale: f32,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) -> Result<f64, TrainError> {
        self.run(p, packed, given, ws)?;
        let loss = self.head_and_back(p, packed, scale, g, ws);
        for index in (0..self.layout.blocks.len()).rev() {
            self.block_back(index, p, packed, g, ws);
        }
        if let Some(base) = g.base.as_deref_mut() {
            self.embedding_back(base, (packed, given), &ws.gradient);
        }
        Ok(loss)
    }

    /// Logits after every token, `tokens × vocabulary`, with some vectors given.
    pub fn logits_given(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        given: Given<'_>,
        ws: &mut Workspace,
    ) -> Result<Vec<f32>, TrainError> {
        self.run(p, packed, given, ws)?;
        let mut out = vec![0.0; packed.tokens.len() * self.architecture.vocab];
        self.logits_of(p, &ws.final_normed, &mut out, None, &mut ws.low.room);
        Ok(out)
    }

    fn run(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        given: Given<'_>,
        ws: &mut Workspace,
    ) -> Result<(), TrainError> {
        self.check(p, packed)?;
        given.check(packed.tokens.len(), self.architecture.hidden)?;
        self.forward_given(p, packed, given, ws);
        Ok(())
    }
}
