use std::sync::LazyLock;

use mary_weights::Checkpoint;
use serde::Deserialize;

use super::Loader;
use super::order::scaled;
use crate::config::Activation;
use crate::errors::Result;
use crate::kernels::cpu::quant::Blocks;
use crate::kernels::{Backend, Weights};
use crate::transformer::TransformOf;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeadNames {
    dense: &'static str,
    norm: &'static str,
    decoder: &'static str,
    /// The activation is GELU, whatever that of the blocks is.
    #[serde(default)]
    gelu: bool,
    biases: [&'static str; 2],
}

/// In the order in which they are looked for. LTG-BERT's and GPT-BERT's norms have no weights.
static MASKED: LazyLock<Vec<HeadNames>> = LazyLock::new(|| {
    // A test reads the file, so that no program can be shipped with a broken one.
    serde_json::from_str(include_str!("heads.json")).unwrap_or_default()
});

/// The masked head of a checkpoint, if it has one.
pub(crate) fn masked_head(checkpoint: &Checkpoint) -> Option<&'static HeadNames> {
    let mask = checkpoint.tokenizer().mask();
    shaped_head(checkpoint).filter(|_| mask.is_some())
}

/// A head behind a layer of its own.
pub(super) fn shaped_head(checkpoint: &Checkpoint) -> Option<&'static HeadNames> {
    let there = |names: &&HeadNames| {
        checkpoint
            .info(&format!("{}.weight", names.dense))
            .is_some()
    };
    MASKED.iter().find(there)
}

impl<B: Backend> Loader<'_, B> {
    /// The head of a masked language model; its decoder may be the embedding.
    pub(super) fn masked(&self, names: &HeadNames) -> Result<(B::Linear, TransformOf<B>)> {
        let a = self.architecture;
        let dense = (format!("{}.weight", names.dense), a.hidden);
        let transform = TransformOf {
            dense: self.linear(&[dense], a.hidden)?,
            activation: match names.gelu {
                true => Activation::Gelu,
                false => a.mlp.activation,
            },
            norm: self.norm(|part| format!("{}.{part}", names.norm))?,
        };
        let own = format!("{}.weight", names.decoder);
        let name = match self.has(&own) {
            true => own,
            false => self.tensors.embedding(),
        };
        let data = self.read(&name)?;
        if data.len() != a.vocab * a.hidden {
            return Err(self.wrong_shape(&name, &[data.len()], &[a.vocab, a.hidden]));
        }
        let [first, second] = names.biases;
        let bias = match self.optional(first, a.vocab)? {
            None => self.optional(second, a.vocab)?,
            found => found,
        };
        let weights = Weights::plain(data, a.vocab, a.hidden);
        Ok((self.backend.prepare(vec![weights], bias), transform))
    }

    pub(super) fn head(&self) -> Result<B::Linear> {
        let (a, b) = (self.architecture, &self.backend);
        let (name, width) = (self.head_name(), a.embedding.width);
        let bias = match a.tied {
            true => None,
            false => self.bias(&name, a.vocab)?,
        };
        // The head is read one row at a time like an embedding, never transposed.
        if a.logit_scale == 1.0 {
            let kind = self.checkpoint.info(&name).map(|info| info.dtype);
            if let Some(stored) = self.stored(&name, a.vocab, width) {
                return Ok(b.prepare(vec![Weights::Stored(stored)], bias));
            }
            if kind.is_some_and(Blocks::supports) {
                return Ok(b.prepare(vec![self.weights(&name, a.vocab, width)?], bias));
            }
        }
        let data = scaled(self.read(&name)?, a.logit_scale);
        let bias = bias.map(|b| scaled(b, a.logit_scale));
        Ok(b.prepare(vec![Weights::plain(data, a.vocab, width)], bias))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_heads_are_read() {
        assert_eq!(MASKED.len(), 6);
    }
}
