//! Encoder-decoders: T5 and its kin. The encoder reads a source, the decoder answers it.

use super::fields::refused;
use super::names::names;
use super::relative::{Distances, Relative};
use super::{Activation, Architecture, Fields, LayerKind, UpNames};
use crate::fault::Result;

/// What a decoder answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub encoder: Box<Architecture>,
    /// The token that every target starts with.
    pub start: u32,
}

/// Far distances share a bucket, so that no text is too long for T5 itself; `names.json` sets a limit.
pub(super) fn t5(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    a.norm.rms = true;
    a.attention.scale = 1.0;
    let mut encoder = a.clone();
    encoder.names = names("t5_encoder")?;
    encoder.layers = f.need_one(encoder.names.sizes[1])?;
    encoder.kinds = vec![LayerKind::default(); encoder.layers];
    (encoder.causal, encoder.language_head) = (false, false);
    tower(&mut encoder, f, 1)?;
    let classes = f.texts("architectures").unwrap_or_default();
    if classes.iter().any(|class| class.ends_with("EncoderModel")) {
        *a = encoder;
        return Ok(());
    }
    encoder.check()?;
    tower(a, f, 2)?;
    // Whether there is a head is told by the tensors. The first T5 scales what goes into it; its later files say
    // `tie_word_embeddings: false` for not doing so, or say it outright. mT5 never does.
    let tied = f.flag("tie_word_embeddings", true);
    if f.text("model_type") != Some("mt5") && f.flag("scale_decoder_outputs", tied) {
        a.logit_scale = (a.hidden as f32).sqrt().recip();
    }
    let start = f.count("decoder_start_token_id");
    let start = start.or_else(|| f.count("pad_token_id")).unwrap_or(0);
    if start >= a.vocab {
        return Err(refused(format!(
            "`decoder_start_token_id` is {start}; the vocabulary has {} tokens",
            a.vocab
        )));
    }
    a.source = Some(Source {
        encoder: Box::new(encoder),
        start: start as u32,
    });
    Ok(())
}

/// The feed-forward part of a block, which has this number, and distances.
fn tower(a: &mut Architecture, f: &Fields<'_>, part: usize) -> Result<()> {
    let forward = f.text("feed_forward_proj").unwrap_or("relu");
    (a.mlp.gated, a.mlp.activation) = match forward {
        "relu" => (false, Activation::Relu),
        "gated-gelu" => (true, Activation::GeluTanh),
        "gated-silu" => (true, Activation::Silu),
        other => {
            let what = format!("`feed_forward_proj` is `{other}`");
            return Err(refused(what).hint("known: relu, gated-gelu, gated-silu"));
        }
    };
    let [up, gate, gated] = UP[part - 1];
    a.names.up = match a.mlp.gated {
        true => UpNames::Separate(gate, gated),
        false => UpNames::Plain(up),
    };
    let buckets = f.need("relative_attention_num_buckets")?;
    let relative = Relative {
        buckets,
        longest: f.need("relative_attention_max_distance")?,
        middle: 0,
        rows: buckets,
        kind: Distances::Biases {
            both_ways: !a.causal,
            each: f.text("model_type") == Some("umt5"),
        },
    };
    a.attention.relative = Some(relative.check(a.context)?);
    Ok(())
}

const UP: [[&str; 3]; 2] = [
    [
        "layer.1.DenseReluDense.wi",
        "layer.1.DenseReluDense.wi_0",
        "layer.1.DenseReluDense.wi_1",
    ],
    [
        "layer.2.DenseReluDense.wi",
        "layer.2.DenseReluDense.wi_0",
        "layer.2.DenseReluDense.wi_1",
    ],
];
