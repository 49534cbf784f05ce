//! What a transformer is made of, as configuration: the one place that knows how architectures
//! differ.
//!
//! [`Architecture::resolve`] reads a Hugging Face `config.json` and gives the switches that the
//! generic transformer follows, with the names its tensors have in a checkpoint. An architecture
//! that is not known is refused by name with the list of those that are (`families.json`). What a file leaves
//! out is what transformers assumes (`defaults.json`).

mod classic;
mod defaults;
mod family;
mod fields;
pub(crate) mod form;
#[cfg(test)]
mod invented;
mod llama;
mod names;
mod own;
mod paired;
mod recurrent;
mod registry;
mod relative;
mod rope;
mod sparse;

use serde::{Deserialize, Deserializer};

use fields::refused;

use crate::fault::Result;

pub use fields::Fields;
pub use paired::Source;
pub use recurrent::{Carrying, Recurrence};
pub use relative::{Distances, Relative};
pub use rope::Rope;

/// A transformer, resolved from its configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Architecture {
    /// The field's name for it, for example `GPT-NeoX`.
    pub family: &'static str,
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    /// Key and value heads; fewer than `heads` in grouped-query attention, one in multi-query.
    pub kv_heads: usize,
    pub head_dim: usize,
    pub intermediate: usize,
    pub vocab: usize,
    pub context: usize,
    pub causal: bool,
    /// Whether it predicts the next token (a decoder with a head).
    pub language_head: bool,
    /// Where tokens are masked, each is predicted from the place before it (GPT-BERT).
    pub predicts_next: bool,
    pub embedding: Embedding,
    pub norm: Norm,
    pub block: Block,
    pub attention: Attention,
    /// What differs from block to block.
    pub kinds: Vec<LayerKind>,
    /// The rotary embeddings that `kinds` point to.
    pub ropes: Vec<Rope>,
    pub mlp: Mlp,
    /// Experts instead of one feed-forward block, in the layers whose kind says so.
    pub experts: Option<Experts>,
    /// A state that is carried from token to token, in the place of attention in the layers whose kind says so.
    pub recurrence: Option<Recurrence>,
    /// What reads the text that this decoder answers (T5).
    pub source: Option<Source>,
    /// Logits are squashed to ± this value.
    pub logit_cap: Option<f32>,
    /// Multiplied onto the logits (Granite); folded into the head's weights.
    pub logit_scale: f32,
    /// Multiplied onto what a block adds to the residual stream (Granite); folded into the weights of
    /// the two products that end in it.
    pub residual_scale: f32,
    /// Neighbouring dimensions turn together (GPT-J), where others turn the halves of a head; the rows
    /// of queries and keys are put into the other order, which changes no score.
    pub interleaved: bool,
    /// The head uses the embedding's weights.
    pub tied: bool,
    pub names: Names,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// Width of the embedding, where it is projected to `hidden` (OPT-350M).
    pub width: usize,
    /// Multiplied onto the token vectors.
    pub scale: f32,
    /// Learned positions: rows to skip at the front of the table.
    pub position_offset: Option<usize>,
    /// A segment vector (of segment 0) is added.
    pub token_types: bool,
    pub norm: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norm {
    /// Root mean square only, no centring and no bias.
    pub rms: bool,
    pub eps: f32,
    /// Weights are stored as their distance from one (Gemma).
    pub unit_offset: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Block {
    /// `x += attn(norm(x)); x += mlp(norm(x))`.
    Sequential,
    /// `x += attn(norm1(x)) + mlp(norm2(x))`; `shared` when both read the same norm.
    Parallel { shared: bool },
    /// `x = norm(x + attn(x)); x = norm(x + mlp(x))`.
    PostNorm,
    /// `x += norm(attn(norm(x))); x += norm(mlp(norm(x)))` (Gemma 2 and 3).
    Sandwich,
    /// `x += norm(attn(x)); x += norm(mlp(x))` (OLMo 2).
    OutputNorm,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attention {
    pub scale: f32,
    /// Scores are squashed to ± this value.
    pub soft_cap: Option<f32>,
    pub qk_norm: QkNorm,
    /// Queries, keys and values are cut off at ± this value (OLMo 1.7).
    pub clip: Option<f32>,
    /// Linear biases instead of positions (Falcon-RW, BLOOM).
    pub alibi: Option<Alibi>,
    /// Distances are scored beside what tokens are (LTG-BERT, DeBERTa).
    pub relative: Option<Relative>,
    /// Scores are divided by the number of the layer, from 1 on (GPT-2 of Stanford's CRFM).
    pub by_layer: bool,
    pub gate: HeadGate,
    /// A head may attend to nothing: a score of its own stands beside those of the keys (gpt-oss).
    pub sinks: bool,
    pub latent: Option<Latent>,
}

/// Queries, and keys with values, are made of shorter vectors, which are normalised (DeepSeek).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latent {
    /// Numbers that a token's queries are made of, where they are not projected at once.
    pub queries: Option<usize>,
    /// Numbers that its keys and values are made of.
    pub rank: usize,
    /// The last of a head's dimensions turn; keys have these in common.
    pub turning: usize,
    /// Those that turn together are neighbours.
    pub paired: bool,
    /// Width of a value, at most that of a head.
    pub value: usize,
}

/// What multiplies that which heads give, before it is mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadGate {
    None,
    /// Rows below the values, activated; the product is normalised (GPT-BERT).
    Values,
    /// Rows behind the queries of each head, between zero and one (Qwen3-Next).
    Queries,
}

/// How queries and keys are normalised before they rotate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum QkNorm {
    None,
    /// Each head by itself, all with the same weights (Qwen3, Gemma 3).
    Shared,
    /// Each head by itself, with weights of its own (StableLM) or with a bias (Phi).
    PerHead,
    /// All heads together (OLMo 2).
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alibi {
    /// In bfloat16, and scaled with the scores (Falcon).
    Rounded,
    /// In full precision, not scaled (BLOOM).
    Exact,
}

/// What differs from block to block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerKind {
    /// A position sees only this many positions, itself included; in both directions where it sees what follows.
    pub window: Option<usize>,
    pub rope: Option<usize>,
    /// Experts stand in the place of the feed-forward block.
    pub sparse: bool,
    /// It carries a state and does not attend.
    pub recurrent: bool,
}

/// Feed-forward blocks of which every token takes a few.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Experts {
    pub count: usize,
    /// How many a token takes: those that its router finds likeliest.
    pub chosen: usize,
    pub intermediate: usize,
    /// The weights of the chosen add up to one.
    pub normalised: bool,
    /// Width inside one that every token takes besides; a gate weighs it where it has one (Qwen2-MoE).
    pub shared: Option<usize>,
    /// A router's scores lie each between zero and one, and those chosen by have a bias (DeepSeek V3).
    pub apart: bool,
    /// Those taken are from the best groups: of so many, so many.
    pub groups: Option<(usize, usize)>,
    /// Multiplied onto their weights.
    pub scale: f32,
    /// Gates and what they open stand in turn, and both are cut off (gpt-oss).
    pub pairs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mlp {
    /// `down(act(gate(x)) * up(x))` instead of `down(act(up(x)))`.
    pub gated: bool,
    pub activation: Activation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// x · Φ(x), exact.
    Gelu,
    /// x · Φ(x), by the tanh approximation.
    GeluTanh,
    /// x · σ(1.702 x).
    QuickGelu,
    /// x · σ(x).
    Silu,
    /// max(x, 0).
    Relu,
    /// max(x, 0)².
    SquaredRelu,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QkvNames {
    Separate(&'static str, &'static str, &'static str),
    /// Queries above keys, and values, with their gate below where there is one.
    Paired(&'static str, &'static str),
    /// One tensor with rows in this order.
    Fused(&'static str, QkvLayout),
}

/// The order of the rows of a fused tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QkvLayout {
    /// All queries, all keys, all values.
    Stacked,
    /// For each key head: its query heads, then its key, then its value. With as many key heads as
    /// query heads this is GPT-NeoX's order, with one it is Falcon-7B's.
    Grouped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpNames {
    /// One tensor, not gated.
    Plain(&'static str),
    Separate(&'static str, &'static str),
    /// Gate rows above up rows.
    Fused(&'static str),
}

/// What the tensors of experts are called inside a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertNames {
    pub router: &'static str,
    /// What has the bias of its scores, where they have one.
    pub bias: &'static str,
    /// The two tensors that may hold all experts: gates and what they open, and what goes back.
    pub stacked: [(&'static str, &'static str); 2],
    /// An expert's prefix, `{}` standing for its number.
    pub expert: &'static str,
    /// Where all lie in one tensor, its matrices have the inputs first, unless they are quantised.
    pub turned: bool,
    /// Gate, up and down within an expert.
    pub parts: (&'static str, &'static str, &'static str),
    /// The prefix of the one that every token takes, and its gate, where it has one.
    pub shared: (&'static str, &'static str),
}

/// What sizes are called in a configuration, and tensors, each without `.weight` and `.bias`, in a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// Width, depth, heads, vocabulary and context; several names, and a default, are separated by `|`.
    pub sizes: [&'static str; 5],
    /// Prefixes of the body and of the head that occur in the wild, tried in order.
    #[serde(deserialize_with = "pairs")]
    pub prefixes: &'static [(&'static str, &'static str)],
    pub embed: &'static str,
    pub positions: &'static str,
    pub token_types: &'static str,
    pub embed_norm: &'static str,
    /// Projections into and out of the residual stream (OPT-350M).
    pub project: Option<(&'static str, &'static str)>,
    /// A block's prefix, `{}` standing for its number.
    pub layer: &'static str,
    pub qkv: QkvNames,
    pub attn_out: &'static str,
    /// The prefix of what stands in the place of attention where a state is carried.
    pub mixer: &'static str,
    /// Vectors or biases of distances, by their whole name, `{}` standing for the block's number, and the norm over vectors.
    pub relative: (&'static str, &'static str),
    /// Attention to a source inside a block, and the norm before it.
    pub across: (&'static str, &'static str),
    /// How the streams after every part of a block are averaged, `{}` standing for its number (GPT-BERT).
    pub averages: &'static str,
    /// Up rows stand above gate rows, and a norm without weights before the last product (LTG-BERT).
    pub gate_last: bool,
    /// The first block has no norm before attention (ModernBERT).
    pub first_bare: bool,
    /// Norm before attention (or after it, for post-norm blocks).
    pub attn_norm: &'static str,
    /// Norm before the feed-forward block (or after it, for post-norm blocks).
    pub mlp_norm: &'static str,
    /// The two further norms of a sandwich block.
    pub post_norms: (&'static str, &'static str),
    pub qk_norms: (&'static str, &'static str),
    pub up: UpNames,
    pub down: &'static str,
    #[serde(skip)]
    pub experts: Option<ExpertNames>,
    /// Norm after the last block, where there is one.
    pub final_norm: Option<&'static str>,
    pub head: &'static str,
    /// What GGUF files call a tensor within a block, and what they call it in most architectures.
    #[serde(deserialize_with = "pairs")]
    pub gguf: &'static [(&'static str, &'static str)],
    /// Weights are stored as `[in, out]` (GPT-2).
    pub transposed: bool,
    /// Norms have no weights (OLMo).
    pub bare_norms: bool,
}

/// They are read once for the whole process.
fn pairs<'de: 'static, D: Deserializer<'de>>(
    from: D,
) -> Result<&'static [(&'static str, &'static str)], D::Error> {
    Ok(Vec::deserialize(from)?.leak())
}

/// More experts than any model has: what a file may make this program name and look for.
const MOST_EXPERTS: usize = 4096;

impl Architecture {
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    pub fn q_width(&self) -> usize {
        self.heads * self.head_dim
    }

    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Numbers that a head gives.
    pub fn value_dim(&self) -> usize {
        self.attention.latent.map_or(self.head_dim, |l| l.value)
    }

    /// What only the processor computes, where there is such a thing.
    pub fn on_processor_only(&self) -> Option<&'static str> {
        match self.mlp.activation {
            // More than a warp holds.
            _ if self.recurrence.is_some_and(|r| r.state > 512) => {
                Some("states of more than 512 numbers")
            }
            _ if self.recurrence.is_some_and(|r| r.how != Carrying::Adds) => {
                Some("states that are corrected, or convolutions alone")
            }
            _ if self.attention.sinks => Some("heads that may attend to nothing"),
            _ if self.attention.latent.is_some() => Some("latent attention"),
            _ if !self.causal && self.kinds.iter().any(|k| k.window.is_some()) => {
                Some("windows in both directions")
            }
            Activation::SquaredRelu => Some("squared ReLUs"),
            _ => None,
        }
    }

    /// What keeps its blocks from being fetched one by one.
    pub fn whole_only(&self) -> Option<&'static str> {
        match self.names.averages {
            _ if self.recurrence.is_some() => Some("layers that carry a state (Mamba)"),
            _ if self.source.is_some() => Some("an encoder beside its decoder"),
            "" => None,
            _ => Some("streams that are averaged over all blocks before (GPT-BERT)"),
        }
    }

    /// How a layer carries a state, where it does.
    pub fn carries(&self, layer: usize) -> Option<Recurrence> {
        let recurrent = self.kinds.get(layer).is_some_and(|k| k.recurrent);
        self.recurrence.filter(|_| recurrent)
    }

    /// Bytes that a text carries from token to token, however long it is.
    pub fn carried_bytes(&self) -> u64 {
        let layers = self.kinds.iter().filter(|k| k.recurrent).count();
        let own = |r: Recurrence| r.inner * r.state + r.convolved() * (r.kernel - 1);
        (layers * self.recurrence.map_or(0, own)) as u64 * 4
    }

    /// Layers before this one that attend.
    pub fn attending(&self, layer: usize) -> usize {
        let before = self.kinds.iter().take(layer);
        before.filter(|k| !k.recurrent).count()
    }

    fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(refused(message));
        let sizes = [
            ("hidden size", self.hidden),
            ("number of layers", self.layers),
            ("number of heads", self.heads),
            ("number of key heads", self.kv_heads),
            ("head size", self.head_dim),
            ("feed-forward size", self.intermediate),
            ("vocabulary", self.vocab),
            ("context length", self.context),
        ];
        for (what, value) in sizes {
            if value == 0 || value > 1 << 27 {
                return wrong(format!("the {what} of this {} is {value}", self.family));
            }
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            return wrong(format!(
                "{} query heads cannot share {} key heads evenly",
                self.heads, self.kv_heads
            ));
        }
        if let Some(e) = &self.experts {
            let whole = (1..=MOST_EXPERTS).contains(&e.count)
                && (1..=e.count).contains(&e.chosen)
                && (1..=1 << 27).contains(&e.intermediate)
                && e.shared.is_none_or(|width| (1..=1 << 27).contains(&width))
                && e.groups.is_none_or(|(all, best)| {
                    (1..=all).contains(&best)
                        && e.count.is_multiple_of(all)
                        && e.chosen <= e.count / all * best
                });
            if !whole || self.block != Block::Sequential {
                return wrong(format!(
                    "a {} cannot have {} experts of width {}, {} for each token",
                    self.family, e.count, e.intermediate, e.chosen
                ));
            }
        }
        if let Some(l) = self.attention.latent {
            let widths = [l.queries.unwrap_or(1), l.rank, l.turning, l.value];
            let whole = widths.iter().all(|width| (1..=1 << 27).contains(width));
            if !whole || l.turning > self.head_dim || l.value > self.head_dim {
                let widths = widths.map(|width| width.to_string()).join(", ");
                return wrong(format!(
                    "latent attention of the widths {widths} is not known"
                ));
            }
        }
        if let Some(recurrence) = &self.recurrence {
            recurrence.check(self.family)?;
        }
        if !(self.norm.eps.is_finite() && self.norm.eps >= 0.0) {
            return wrong(format!(
                "the epsilon of the norms is {}; expected a number from 0",
                self.norm.eps
            ));
        }
        for rope in &self.ropes {
            if rope.frequencies.iter().any(|f| !f.is_finite()) {
                return wrong(
                    "the rotary frequencies are not finite; expected a `rope_theta` above 0"
                        .to_owned(),
                );
            }
            if rope.dim > self.head_dim || !rope.dim.is_multiple_of(2) {
                return wrong(format!(
                    "{} rotary dimensions do not fit a head of {}",
                    rope.dim, self.head_dim
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
