//! The heads: that of a decoder, and that of a masked language model with the layer before it.

use mary_contract::ModelError;

use super::Loader;
use super::order::scaled;
use crate::kernels::cpu::quant::Blocks;
use crate::kernels::{Backend, Weights};
use crate::masked::HeadNames;
use crate::transformer::TransformOf;

impl Loader<'_> {
    /// The head of a masked language model; its decoder may be the embedding.
    pub(super) fn masked<B: Backend>(
        &self,
        backend: &B,
        names: &HeadNames,
    ) -> Result<(B::Linear, TransformOf<B>), ModelError> {
        let a = self.architecture;
        let dense = (format!("{}.weight", names.dense), a.hidden);
        let transform = TransformOf {
            dense: self.linear(backend, &[dense], a.hidden)?,
            activation: a.mlp.activation,
            norm: self.norm(backend, |part| format!("{}.{part}", names.norm))?,
        };
        let own = format!("{}.weight", names.decoder);
        let name = match self.has(&own) {
            true => own,
            false => self.top(self.names().embed, "weight"),
        };
        let data = self.read(&name)?;
        if data.len() != a.vocab * a.hidden {
            return Err(self.wrong_shape(&name, &[data.len()], &[a.vocab, a.hidden]));
        }
        let weights = Weights::Plain {
            data,
            outputs: a.vocab,
            inputs: a.hidden,
        };
        let mut bias = None;
        for name in names.biases {
            bias = match bias {
                None => self.optional(name, a.vocab)?,
                found => found,
            };
        }
        Ok((backend.prepare(vec![weights], bias), transform))
    }

    pub(super) fn head<B: Backend>(&self, backend: &B) -> Result<B::Linear, ModelError> {
        let a = self.architecture;
        let name = self.head_name();
        let bias = if a.tied {
            None
        } else {
            self.optional(&name.replace(".weight", ".bias"), a.vocab)?
        };
        // The head is read one row at a time like an embedding, never transposed.
        let kind = self.checkpoint.info(&name).map(|info| info.dtype);
        if a.logit_scale == 1.0 {
            let width = a.embedding.width;
            let weights = match self.stored(&name, a.vocab, width) {
                Some(stored) => Some(Weights::Stored(stored)),
                None if kind.is_some_and(Blocks::supports) => {
                    Some(self.weights(&name, a.vocab, width)?)
                }
                None => None,
            };
            if let Some(weights) = weights {
                return Ok(backend.prepare(vec![weights], bias));
            }
        }
        let data = scaled(self.read(&name)?, a.logit_scale);
        let weights = Weights::Plain {
            data,
            outputs: a.vocab,
            inputs: a.embedding.width,
        };
        let bias = bias.map(|b| scaled(b, a.logit_scale));
        Ok(backend.prepare(vec![weights], bias))
    }
}
