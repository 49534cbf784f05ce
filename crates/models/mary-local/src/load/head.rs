use mary_contract::ModelError;
use mary_weights::Checkpoint;

use super::Loader;
use super::order::scaled;
use crate::config::Activation;
use crate::kernels::cpu::quant::Blocks;
use crate::kernels::{Backend, Weights};
use crate::transformer::TransformOf;

pub(crate) struct HeadNames {
    dense: &'static str,
    norm: &'static str,
    decoder: &'static str,
    /// Where it is not that of the blocks.
    activation: Option<Activation>,
    biases: [&'static str; 2],
}

const MASKED: [HeadNames; 6] = [
    HeadNames {
        dense: "cls.predictions.transform.dense",
        norm: "cls.predictions.transform.LayerNorm",
        decoder: "cls.predictions.decoder",
        activation: None,
        biases: ["cls.predictions.bias", "cls.predictions.decoder.bias"],
    },
    HeadNames {
        dense: "lm_head.dense",
        norm: "lm_head.layer_norm",
        decoder: "lm_head.decoder",
        activation: None,
        biases: ["lm_head.bias", "lm_head.decoder.bias"],
    },
    HeadNames {
        dense: "vocab_transform",
        norm: "vocab_layer_norm",
        decoder: "vocab_projector",
        activation: None,
        biases: ["vocab_projector.bias", ""],
    },
    HeadNames {
        dense: "head.dense",
        norm: "head.norm",
        decoder: "decoder",
        activation: None,
        biases: ["decoder.bias", ""],
    },
    // LTG-BERT's and GPT-BERT's norms have no weights.
    HeadNames {
        dense: "classifier.nonlinearity.1",
        norm: "classifier.nonlinearity.3",
        decoder: "classifier.nonlinearity.5",
        activation: Some(Activation::Gelu),
        biases: ["classifier.nonlinearity.5.bias", ""],
    },
    HeadNames {
        dense: "lm_head.nonlinearity.1",
        norm: "lm_head.nonlinearity.3",
        decoder: "lm_head.nonlinearity.5",
        activation: Some(Activation::Gelu),
        biases: ["lm_head.nonlinearity.5.bias", ""],
    },
];

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
    pub(super) fn masked(
        &self,
        names: &HeadNames,
    ) -> Result<(B::Linear, TransformOf<B>), ModelError> {
        let a = self.architecture;
        let dense = (format!("{}.weight", names.dense), a.hidden);
        let transform = TransformOf {
            dense: self.linear(&[dense], a.hidden)?,
            activation: names.activation.unwrap_or(a.mlp.activation),
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

    pub(super) fn head(&self) -> Result<B::Linear, ModelError> {
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
