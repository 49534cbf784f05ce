//! Where every tensor lies: one flat slice of numbers, a table of names and places.
//!
//! Names and row orders are Hugging Face's, so a checkpoint is written and read without any
//! rearranging; a matrix that is stored as `[in, out]` (GPT-2) is turned when it is read. What an
//! architecture has that cannot be learned is refused by name ([`refuse`]).

use super::shape::Shape;
use crate::{Result, TrainError};
use mary_weights::architecture::Architecture;
use mary_weights::architecture::config::{self, Names, QkNorm, QkvNames, UpNames};
use std::ops::Range;

#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name in a Hugging Face checkpoint.
    pub name: String,
    pub dims: Vec<usize>,
    /// Its place in the flat slice; empty where the matrix stays as it is stored.
    pub place: Range<usize>,
    /// The checkpoint holds its transpose.
    pub turned: bool,
}

/// A matrix that multiplies rows, with its bias where it has one.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    pub(crate) name: String,
    pub(crate) weight: Range<usize>,
    pub(crate) bias: Option<Range<usize>>,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Counts all linear layers of the model, for adapters.
    pub(crate) index: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Norm {
    pub(crate) weight: Range<usize>,
    pub(crate) bias: Option<Range<usize>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Before attention.
    pub(crate) norm1: Norm,
    /// Before the feed-forward part; where both read one norm, that one again.
    pub(crate) norm2: Norm,
    /// Of what the two parts add (Gemma).
    pub(crate) post: Option<(Norm, Norm)>,
    pub(crate) qk: Option<(Norm, Norm)>,
    /// Matrices that write the joint query, key and value row, with the column they start at.
    pub(crate) qkv: Vec<(Linear, usize)>,
    pub(crate) out: Linear,
    pub(crate) gate: Option<Linear>,
    /// Where gate and up are one matrix (Phi-3), it writes both, the gate first.
    pub(crate) up: Linear,
    pub(crate) down: Linear,
}

impl Block {
    pub(crate) fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.qkv
            .iter()
            .map(|(linear, _)| linear)
            .chain([&self.out])
            .chain(self.gate.as_ref())
            .chain([&self.up, &self.down])
    }
}

#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Every tensor, in the order of the flat slice.
    pub entries: Vec<Entry>,
    /// How many numbers there are in the flat slice.
    pub total: usize,
    pub(crate) embedding: Range<usize>,
    pub(crate) embedding_name: String,
    pub(crate) positions: Option<Range<usize>>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) final_norm: Norm,
    pub(crate) head: Range<usize>,
    pub(crate) head_name: String,
    pub(crate) head_bias: Option<Range<usize>>,
    pub(crate) linear_count: usize,
    /// The prefix of this checkpoint's names, and that of a model in transformers.
    prefix: (&'static str, &'static str),
}

/// What a layout is made from besides the architecture.
pub(crate) struct Tensors<'a> {
    pub(crate) holds: &'a dyn Fn(&str) -> bool,
    /// Rows of the table of positions, where there is one.
    pub(crate) positions: usize,
    /// Matrices stay as they are stored and have no place in the flat slice.
    pub(crate) apart: bool,
}

pub(super) struct Builder<'a> {
    entries: Vec<Entry>,
    total: usize,
    linear_count: usize,
    tensors: &'a Tensors<'a>,
    turned: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(tensors: &'a Tensors<'a>, turned: bool) -> Self {
        Self {
            entries: Vec::new(),
            total: 0,
            linear_count: 0,
            tensors,
            turned,
        }
    }

    /// The table of blocks and whatever else was added, without embedding and head.
    pub(super) fn blocks_alone(self, blocks: Vec<Block>) -> Layout {
        Layout {
            entries: self.entries,
            total: self.total,
            blocks,
            linear_count: self.linear_count,
            ..Layout::default()
        }
    }

    fn place(&mut self, name: String, dims: &[usize], apart: bool) -> Range<usize> {
        let size = if apart { 0 } else { dims.iter().product() };
        let place = self.total..self.total + size;
        self.total = place.end;
        self.entries.push(Entry {
            name,
            dims: dims.to_vec(),
            place: place.clone(),
            turned: false,
        });
        place
    }

    pub(super) fn tensor(&mut self, name: String, dims: &[usize]) -> Range<usize> {
        self.place(name, dims, false)
    }

    fn matrix(&mut self, name: String, dims: &[usize]) -> Range<usize> {
        self.place(name, dims, self.tensors.apart)
    }

    fn optional(&mut self, name: String, width: usize) -> Option<Range<usize>> {
        (self.tensors.holds)(&name).then(|| self.tensor(name, &[width]))
    }

    pub(super) fn linear(&mut self, name: String, outputs: usize, inputs: usize) -> Linear {
        let weight = self.matrix(format!("{name}.weight"), &[outputs, inputs]);
        if let Some(entry) = self.entries.last_mut() {
            entry.turned = self.turned;
        }
        let bias = self.optional(format!("{name}.bias"), outputs);
        let index = self.linear_count;
        self.linear_count += 1;
        Linear {
            name,
            weight,
            bias,
            inputs,
            outputs,
            index,
        }
    }

    pub(super) fn norm(&mut self, name: &str, width: usize) -> Norm {
        let weight = self.tensor(format!("{name}.weight"), &[width]);
        let bias = self.optional(format!("{name}.bias"), width);
        Norm { weight, bias }
    }
}

/// What of an architecture learning does not know; nothing where it can be learned and tuned.
pub fn unlearned(a: &Architecture) -> Option<&'static str> {
    Some(match a.block {
        _ if !a.causal || !a.language_head => "an encoder predicts no next token",
        _ if a.experts.is_some() => "experts",
        _ if a.attention.by_layer => "scores divided by the number of the layer",
        _ if a.recurrence.is_some() => "layers that carry a state (Mamba)",
        _ if a.attention.latent.is_some() => "latent attention",
        _ if a.attention.relative.is_some() => "attention that scores distances",
        _ if a.attention.alibi.is_some() => "linear biases instead of positions (ALiBi)",
        _ if a.attention.clip.is_some() => "queries and keys that are cut off (`clip_qkv`)",
        _ if a.attention.qk_norm == QkNorm::PerHead => {
            "norms of queries and keys with weights for each head"
        }
        _ if a.interleaved => "rotary positions that turn neighbouring dimensions",
        _ if a.residual_scale != 1.0 || a.logit_scale != 1.0 => {
            "factors on the residual stream and the logits"
        }
        config::Block::PostNorm => "norms after the sum (post-norm blocks)",
        config::Block::OutputNorm => "blocks whose outputs alone are normalised",
        _ if a.names.bare_norms => "norms without weights",
        _ if a.names.project.is_some() => "an embedding that is projected into the residual stream",
        _ if a.embedding.norm => "a norm after the embedding",
        _ if a.embedding.token_types => "segment vectors",
        _ if a.names.final_norm.is_none() => "a model without a norm after its last block",
        _ => return None,
    })
}

/// Says by name what of an architecture cannot be learned.
pub(crate) fn refuse(a: &Architecture) -> Result<()> {
    let Some(what) = unlearned(a) else {
        return Ok(());
    };
    Err(TrainError::Settings(format!(
        "{} cannot be learned yet: {what}\nhint: learned are GPT-NeoX, GPT-2, LLaMA, Mistral, Qwen2, Qwen3, Gemma 2 and 3, Phi, Phi-3, OPT and Falcon",
        a.family
    )))
}

impl Layout {
    pub fn new(shape: &Shape) -> Result<Self> {
        let tensors = Tensors {
            holds: &|name| shape.holds(name),
            positions: 0,
            apart: false,
        };
        Self::open(&shape.architecture()?, &tensors)
    }

    pub(crate) fn open(a: &Architecture, tensors: &Tensors<'_>) -> Result<Self> {
        refuse(a)?;
        let n = &a.names;
        let mut b = Builder::new(tensors, n.transposed);
        let (body, before_head) = prefixes(a, tensors)?;
        let embedding_name = format!("{body}{}.weight", n.embed);
        let embedding = b.matrix(embedding_name.clone(), &[a.vocab, a.hidden]);
        let positions = a.embedding.position_offset.map(|_| {
            let name = format!("{body}{}.weight", n.positions);
            b.tensor(name, &[tensors.positions, a.hidden])
        });
        let blocks = (0..a.layers).map(|i| block(&mut b, a, body, i)).collect();
        let final_norm = b.norm(&format!("{body}{}", n.final_norm.unwrap_or("")), a.hidden);
        let own = format!("{before_head}{}", n.head);
        let own = match (tensors.holds)(&format!("{own}.weight")) {
            true => own,
            false => n.head.to_owned(),
        };
        let (head, head_name) = if a.tied {
            (embedding.clone(), embedding_name.clone())
        } else {
            let name = format!("{own}.weight");
            (b.matrix(name.clone(), &[a.vocab, a.hidden]), name)
        };
        let head_bias = match a.tied {
            true => None,
            false => b.optional(format!("{own}.bias"), a.vocab),
        };
        Ok(Self {
            entries: b.entries,
            total: b.total,
            embedding,
            embedding_name,
            positions,
            blocks,
            final_norm,
            head,
            head_name,
            head_bias,
            linear_count: b.linear_count,
            prefix: (body, n.prefixes.first().map_or(body, |(usual, _)| *usual)),
        })
    }

    /// What transformers calls a layer of this checkpoint.
    pub(crate) fn usual_name(&self, name: &str) -> String {
        let (own, usual) = self.prefix;
        let bare = name.strip_prefix(own).unwrap_or(name);
        format!("{usual}{bare}")
    }
}

/// The prefixes of the body and of the head in this checkpoint.
pub(crate) fn prefixes(
    a: &Architecture,
    tensors: &Tensors<'_>,
) -> Result<(&'static str, &'static str)> {
    let Names {
        prefixes, embed, ..
    } = &a.names;
    let found = prefixes
        .iter()
        .find(|(body, _)| (tensors.holds)(&format!("{body}{embed}.weight")));
    found.copied().ok_or_else(|| {
        let tried: Vec<String> = prefixes
            .iter()
            .map(|(body, _)| format!("{body}{embed}.weight"))
            .collect();
        TrainError::Settings(format!(
            "the token embedding of this {} is not in the checkpoint; looked for {}",
            a.family,
            tried.join(", ")
        ))
    })
}

pub(super) fn block(b: &mut Builder<'_>, a: &Architecture, body: &str, i: usize) -> Block {
    let n = &a.names;
    let at = format!("{body}{}", n.layer.replace("{}", &i.to_string()));
    let (d, q, kv) = (a.hidden, a.q_width(), a.kv_width());
    let norm1 = b.norm(&format!("{at}{}", n.attn_norm), d);
    let norm2 = match a.block {
        config::Block::Parallel { shared: true } => norm1.clone(),
        _ => b.norm(&format!("{at}{}", n.mlp_norm), d),
    };
    let post = (a.block == config::Block::Sandwich).then(|| {
        (
            b.norm(&format!("{at}{}", n.post_norms.0), d),
            b.norm(&format!("{at}{}", n.post_norms.1), d),
        )
    });
    let qk = match a.attention.qk_norm {
        QkNorm::None | QkNorm::PerHead => None,
        QkNorm::Shared => Some((a.head_dim, a.head_dim)),
        QkNorm::Whole => Some((q, kv)),
    }
    .map(|(queries, keys)| {
        (
            b.norm(&format!("{at}{}", n.qk_norms.0), queries),
            b.norm(&format!("{at}{}", n.qk_norms.1), keys),
        )
    });
    let qkv = match n.qkv {
        // Refused before.
        QkvNames::Paired(..) => vec![],
        QkvNames::Fused(name, _) => vec![(b.linear(format!("{at}{name}"), q + 2 * kv, d), 0)],
        QkvNames::Separate(query, key, value) => vec![
            (b.linear(format!("{at}{query}"), q, d), 0),
            (b.linear(format!("{at}{key}"), kv, d), q),
            (b.linear(format!("{at}{value}"), kv, d), q + kv),
        ],
    };
    let out = b.linear(format!("{at}{}", n.attn_out), d, q);
    let f = a.intermediate;
    let (gate, up) = match n.up {
        UpNames::Plain(name) => (None, b.linear(format!("{at}{name}"), f, d)),
        UpNames::Fused(name) => (None, b.linear(format!("{at}{name}"), 2 * f, d)),
        UpNames::Separate(gate, up) => (
            Some(b.linear(format!("{at}{gate}"), f, d)),
            b.linear(format!("{at}{up}"), f, d),
        ),
    };
    Block {
        norm1,
        norm2,
        post,
        qk,
        qkv,
        out,
        gate,
        up,
        down: b.linear(format!("{at}{}", n.down), d, f),
    }
}
