//! The few calls a device must answer so that the generic transformer runs on it.
//!
//! [`Backend`] is the seam where another device joins: everything above it (configuration, token
//! tree, scoring, sampling) is the same. [`cpu::Cpu`] is always there; `cuda::Cuda` joins with the
//! feature `cuda` and is held to the same golden files.

pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;

use mary_contract::ModelError;
use mary_weights::{RawBytes, TensorType};

use crate::batch::Batch;
pub use crate::batch::Segment;
use crate::config::{Activation, Norm, Rope};

/// A device: where tensors live and who multiplies them.
///
/// Calls may return before their work is done, as long as later calls see it done. A call that
/// fails makes itself known through [`Backend::check`]; those after it do nothing.
pub trait Backend: Send + Sync {
    /// Rows of numbers on the device; grows when needed, never shrinks.
    type Tensor: Default + Send;
    /// A linear layer in the device's best form.
    type Linear: Send + Sync;
    type Vector: Send + Sync;
    /// Vectors that are looked up by token or position.
    type Table: Send + Sync;
    /// Keys and values of every layer.
    type Cache: Send;
    /// What a batch looks like, brought over once for all layers.
    type Plan<'a>;
    /// Sines and cosines of a batch.
    type Rotary;
    type Pending: Send;

    /// The error of the first call that failed since this was last asked.
    fn check(&self) -> Result<(), ModelError> {
        Ok(())
    }
    /// Bytes the device can still give, where it says.
    fn free_memory(&self) -> Option<u64> {
        mary_platform::available_memory()
    }
    /// Rows of a batch that keep the device busy.
    fn best_rows(&self) -> usize {
        2048
    }
    /// Batches whose answers may be on their way while another is computed.
    fn ahead(&self) -> usize {
        0
    }
    /// Bytes of a number in the cache.
    fn cache_number(&self) -> usize {
        size_of::<f32>()
    }

    fn prepare(&self, parts: Vec<Weights>, bias: Option<Vec<f32>>) -> Self::Linear;
    /// Whether [`Backend::prepare`] takes plain weights as they are stored ([`Weights::Stored`]).
    fn takes_stored(&self) -> bool {
        false
    }
    /// Everything is loaded: what served only that may be given back.
    fn loaded(&self) {}
    /// Brings a vector onto the device.
    fn vector(&self, x: Vec<f32>) -> Self::Vector;
    /// Brings vectors of this width onto the device.
    fn table(&self, data: Vec<f32>, width: usize) -> Self::Table;
    /// The same as the checkpoint stores them, which a device may keep as they are. Asked only of a device that
    /// [takes](Backend::takes_stored) such weights.
    fn table_stored(&self, stored: Stored) -> Self::Table {
        let data = mary_weights::numbers(stored.kind, &stored.bytes);
        self.table(data, stored.inputs)
    }
    /// The same from quantised blocks, which a device may keep as they are.
    fn table_of(&self, blocks: cpu::quant::Blocks) -> Self::Table {
        self.table(blocks.unpack(0, blocks.outputs()), blocks.inputs())
    }
    /// Room for keys and values: rows of this width, for this many layers.
    fn cache(&self, layers: usize, rows: usize, width: usize) -> Self::Cache;
    /// Copies rows of the cache, in every layer, one after the other.
    fn move_rows(&self, cache: &mut Self::Cache, moves: &[(usize, usize)]);
    /// Brings over what a batch looks like.
    fn plan<'a>(&self, batch: &'a Batch, heads: &Heads) -> Self::Plan<'a>;
    /// Sines and cosines of these positions.
    fn rotary(&self, rope: &Rope, positions: &[usize]) -> Self::Rotary;

    /// The same where each frequency turns by one of three positions; `None` where a device cannot.
    fn rotary_along(
        &self,
        _rope: &Rope,
        _turns: &[[u32; 3]],
        _axes: &[u8],
    ) -> Option<Self::Rotary> {
        None
    }

    /// Brings numbers onto the device.
    fn upload(&self, x: &[f32], to: &mut Self::Tensor);
    /// Brings the first `len` numbers back.
    fn download(&self, x: &Self::Tensor, len: usize) -> Vec<f32>;

    /// `to` = the vectors of the batch's tokens, times `scale`. Every token has a vector.
    fn embed(&self, plan: &Self::Plan<'_>, table: &Self::Table, scale: f32, to: &mut Self::Tensor);
    /// Adds the vectors of the batch's positions, `offset` rows into the table.
    fn add_positions(
        &self,
        plan: &Self::Plan<'_>,
        table: &Self::Table,
        offset: usize,
        x: &mut Self::Tensor,
    );
    /// `to = norm(x)`.
    fn norm(&self, x: &Self::Tensor, rows: usize, by: &NormOf<Self::Vector>, to: &mut Self::Tensor);
    /// `to = x · Wᵀ + b`, or `to += …`.
    fn linear(
        &self,
        x: &Self::Tensor,
        rows: Extent,
        layer: &Self::Linear,
        to: &mut Self::Tensor,
        add: bool,
    );
    /// All logits, in 32 bits.
    fn logits(&self, x: &Self::Tensor, rows: Extent, head: &Self::Linear, to: &mut Self::Tensor) {
        self.linear(x, rows, head, to, false);
    }
    /// `to = act(x)`, or `to = act(gate) · up` where a row holds both.
    fn activate(
        &self,
        x: &Self::Tensor,
        rows: usize,
        shape: (usize, bool),
        kind: Activation,
        to: &mut Self::Tensor,
    );
    /// `to = act(x · Wᵀ + b)` in one go, for layers without a gate; false, and nothing done, where the device
    /// takes two steps.
    fn linear_activated(
        &self,
        _x: &Self::Tensor,
        _rows: Extent,
        _layer: &Self::Linear,
        _kind: Activation,
        _to: &mut Self::Tensor,
    ) -> bool {
        false
    }
    /// `x += y` over the first `len` numbers.
    fn add(&self, x: &mut Self::Tensor, y: &Self::Tensor, len: usize);
    /// Normalises neighbouring spans of every row in place.
    fn norm_spans(
        &self,
        x: &mut Self::Tensor,
        rows: usize,
        spans: Spans,
        by: &NormOf<Self::Vector>,
    );
    /// Cuts the first `len` numbers off at ± `limit`.
    fn clip(&self, x: &mut Self::Tensor, len: usize, limit: f32);
    /// Adds row after row of `x`, each times its weight, to these rows; none is named twice.
    fn add_rows(
        &self,
        x: &Self::Tensor,
        width: usize,
        to: (&[usize], &[f32]),
        out: &mut Self::Tensor,
    );
    /// Normalises and rotates queries and keys, and writes keys and values into the batch's rows of
    /// one layer of the cache. Queries stay where they are.
    #[expect(
        clippy::too_many_arguments,
        reason = "one fused kernel: what it reads, what it rotates by, where it writes"
    )]
    fn place(
        &self,
        qkv: &mut Self::Tensor,
        heads: &Heads,
        norms: Option<(&Self::Vector, &Self::Vector, Norm)>,
        rotary: Option<&Self::Rotary>,
        cache: (&mut Self::Cache, usize),
        plan: &Self::Plan<'_>,
    );
    /// Whether so many rows are taken through what lies between two attentions in one go
    /// ([`Backend::between`]), for layers that are multiplied there.
    fn goes_between(&self, _rows: Extent, _layers: &[&Self::Linear]) -> bool {
        false
    }
    /// Takes all rows from one attention to the next. Asked only where [`Backend::goes_between`] says so; a
    /// row gets the bits that the single steps give it.
    fn between(&self, _work: Between<'_, '_, Self>)
    where
        Self: Sized,
    {
    }
    /// Attention of every segment over its rows of the cache.
    fn attend(
        &self,
        qkv: &Self::Tensor,
        plan: &Self::Plan<'_>,
        call: &AttentionCall<'_, Self::Cache>,
        to: &mut Self::Tensor,
    );
    /// Whether attention knows [`AttentionSettings::reach`].
    fn sees_both_ways(&self) -> bool {
        false
    }
    /// Writes rows of this width, which lie in memory one after the other, over these rows.
    fn put_rows(&self, x: &[f32], width: usize, rows: &[usize], len: usize, to: &mut Self::Tensor) {
        let mut all = self.download(to, len);
        for (row, x) in rows.iter().zip(x.chunks_exact(width.max(1))) {
            if let Some(place) = all.get_mut(row * width..(row + 1) * width) {
                place.copy_from_slice(x);
            }
        }
        self.upload(&all, to);
    }
    fn gather(&self, x: &Self::Tensor, width: usize, rows: &[usize], to: &mut Self::Tensor);
    /// The mean of each group's rows, group after group.
    fn pool(&self, x: &Self::Tensor, width: usize, groups: &Groups) -> Vec<f32>;
    /// Starts on the log-probabilities of the wanted tokens; full logits are never kept.
    fn log_probs(
        &self,
        x: &Self::Tensor,
        rows: usize,
        head: &Self::Linear,
        cap: Option<f32>,
        wanted: &[Wanted],
    ) -> Self::Pending;
    /// Whether the device looks at whole distributions itself ([`Backend::distributions`]).
    fn looks(&self) -> bool {
        false
    }
    /// Log-probabilities of the wanted tokens, and what was seen of each; full logits are never kept.
    /// Asked only of a device that [looks](Backend::looks). With the head stands what squashes its logits.
    fn distributions(
        &self,
        _x: &Self::Tensor,
        _rows: usize,
        _head: (&Self::Linear, Option<f32>),
        _wanted: &[Wanted],
        _look: Look<'_>,
    ) -> Looked {
        Looked::default()
    }
    fn collect(&self, pending: Self::Pending) -> Vec<f32>;
    /// Whether the device draws tokens by itself, so that logits need not come back.
    fn draws(&self) -> bool {
        false
    }
    /// The next token of each row of logits so wide, squashed to a range where one is given, on a device
    /// that draws; `None` in a row where a logit is no number.
    fn draw(
        &self,
        _logits: &Self::Tensor,
        _shape: (usize, Option<f32>),
        draws: &[Draw],
    ) -> Vec<Option<u32>> {
        vec![None; draws.len()]
    }
}

/// The rows of a product, and what they are part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub rows: usize,
    /// They are the last tokens of answers being written, where weights may be multiplied in whichever way
    /// is quickest for so few. What is read is multiplied in one way however many rows there are, so that a
    /// score does not depend on what else is asked.
    pub writing: bool,
}

impl Extent {
    /// Rows of texts that are read.
    pub fn reading(rows: usize) -> Self {
        Self {
            rows,
            writing: false,
        }
    }
}

/// What lies between two attentions: the end of one block and the beginning of the next.
pub struct Between<'a, 'p, B: Backend + 'p> {
    pub rows: usize,
    pub x: &'a mut B::Tensor,
    /// The rest of the block whose attention is done; none before the first.
    pub ending: Option<Ending<'a, B>>,
    /// The queries, keys and values of the next block; none after the last.
    pub beginning: Option<Beginning<'a, 'p, B>>,
}

/// What follows attention in a block.
pub struct Ending<'a, B: Backend> {
    pub attended: &'a B::Tensor,
    /// Brings that into the residual stream.
    pub out: &'a B::Linear,
    /// Before the feed-forward layers.
    pub norm: &'a NormOf<B::Vector>,
    /// The feed-forward layers read what attention read, not what it wrote.
    pub parallel: bool,
    /// The first of them, with its gate where it has one.
    pub up: &'a B::Linear,
    /// Numbers between them, and whether there is a gate.
    pub shape: (usize, bool),
    /// What stands between them.
    pub activation: Activation,
    /// The second of them.
    pub down: &'a B::Linear,
}

/// What precedes attention in a block.
pub struct Beginning<'a, 'p, B: Backend + 'p> {
    /// Before the product.
    pub norm: &'a NormOf<B::Vector>,
    pub qkv: &'a B::Linear,
    pub to: &'a mut B::Tensor,
    pub heads: &'a Heads,
    /// Norms of queries and keys.
    pub norms: Option<(&'a B::Vector, &'a B::Vector, Norm)>,
    pub rotary: Option<&'a B::Rotary>,
    /// Where keys and values go.
    pub cache: (&'a mut B::Cache, usize),
    pub plan: &'a B::Plan<'p>,
}

/// Groups of rows whose means are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    starts: Vec<usize>,
    rows: Vec<usize>,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            starts: vec![0],
            rows: vec![],
        }
    }
}

impl Groups {
    /// Adds a group; an empty one has no mean.
    pub fn push(&mut self, rows: impl Iterator<Item = usize>) {
        self.rows.extend(rows);
        self.starts.push(self.rows.len());
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where each group starts among all rows, and where the last ends.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The rows of all groups.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The rows of each group.
    pub fn each(&self) -> impl Iterator<Item = &[usize]> {
        self.starts
            .windows(2)
            .filter_map(|w| self.rows.get(*w.first()?..*w.last()?))
    }
}

/// Weights on their way to a device.
pub enum Weights {
    /// Plain numbers, `outputs` rows of `inputs`.
    Plain {
        data: Vec<f32>,
        outputs: usize,
        inputs: usize,
    },
    /// Plain numbers as the checkpoint stores them, for devices that convert by themselves.
    Stored(Stored),
    /// Quantised blocks as they came.
    Blocks {
        blocks: cpu::quant::Blocks,
        /// The device may keep an unpacked copy beside them.
        keep: bool,
    },
}

/// A plain matrix where it lies in a checkpoint.
pub struct Stored {
    /// The bytes, row after row.
    pub bytes: RawBytes,
    /// The type of the numbers: float32, float16 or bfloat16.
    pub kind: TensorType,
    pub outputs: usize,
    pub inputs: usize,
}

/// A norm with its weights.
pub struct NormOf<V> {
    pub weight: V,
    pub bias: Option<V>,
    pub how: Norm,
}

/// Neighbouring spans of each row that are normalised one by one, with weights one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    pub stride: usize,
    /// Where the first span begins.
    pub first: usize,
    pub width: usize,
    /// Spans in a row.
    pub count: usize,
}

impl Spans {
    /// The queries and the keys of rows of queries, keys and values: all heads together, or each.
    pub fn of(heads: &Heads, whole: bool) -> [Self; 2] {
        let spans = |first, count| Self {
            stride: heads.qkv_width(),
            first,
            width: heads.head_dim * if whole { count } else { 1 },
            count: if whole { 1 } else { count },
        };
        [
            spans(0, heads.heads),
            spans(heads.q_width(), heads.kv_heads),
        ]
    }
}

/// The shape of a row of queries, keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
}

impl Heads {
    /// Query heads for each key head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    pub fn q_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Width of the keys, and of the values.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Width of queries, keys and values together.
    pub fn qkv_width(&self) -> usize {
        self.q_width() + 2 * self.kv_width()
    }
}

/// Sines and cosines of a rotary embedding for every row of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotary {
    half: usize,
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl Rotary {
    pub fn new(rope: &crate::config::Rope, positions: &[usize]) -> Self {
        let half = rope.frequencies.len();
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for &position in positions {
            for &frequency in &rope.frequencies {
                // The product is rounded to 32 bits first, as the reference implementation does.
                let angle = f64::from(position as f32 * frequency);
                cos.push((angle.cos() as f32) * rope.amplitude);
                sin.push((angle.sin() as f32) * rope.amplitude);
            }
        }
        Self { half, cos, sin }
    }

    /// Where each frequency turns by one of three positions.
    pub fn along(rope: &crate::config::Rope, turns: &[[u32; 3]], axes: &[u8]) -> Self {
        let half = rope.frequencies.len();
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for turn in turns {
            for (i, &frequency) in rope.frequencies.iter().enumerate() {
                let axis = axes.get(i).copied().unwrap_or(0);
                let position = turn.get(usize::from(axis)).copied().unwrap_or(0);
                let angle = f64::from(position as f32 * frequency);
                cos.push((angle.cos() as f32) * rope.amplitude);
                sin.push((angle.sin() as f32) * rope.amplitude);
            }
        }
        Self { half, cos, sin }
    }

    /// Cosines and sines of one row.
    pub fn at(&self, row: usize) -> (&[f32], &[f32]) {
        let range = row * self.half..(row + 1) * self.half;
        (&self.cos[range.clone()], &self.sin[range])
    }
}

/// How attention weighs in one layer.
#[derive(Debug, Clone, Copy)]
pub struct AttentionSettings<'a> {
    pub scale: f32,
    pub soft_cap: Option<f32>,
    /// Positions see only what came before.
    pub causal: bool,
    /// How far back they see.
    pub window: Option<usize>,
    pub alibi: Option<&'a Alibi>,
    /// For each row of the batch, the positions of the picture that it is part of, which it sees in both
    /// directions; empty where no model or no picture asks for it.
    pub reach: &'a [(usize, usize)],
}

/// Linear biases of attention, one slope for each head.
#[derive(Debug, Clone, PartialEq)]
pub struct Alibi {
    slopes: Vec<f32>,
    scale: f32,
    rounded: bool,
}

impl Alibi {
    /// The slopes of the ALiBi paper; Falcon scales them with the scores and rounds to bfloat16, BLOOM
    /// does neither.
    pub fn new(heads: usize, kind: crate::config::Alibi, scale: f32) -> Self {
        let rounded = kind == crate::config::Alibi::Rounded;
        let whole = if heads.is_power_of_two() {
            heads
        } else {
            heads.next_power_of_two() / 2
        };
        let base = |n: usize| (-(8.0 / n as f64)).exp2();
        let mut slopes: Vec<f64> = (1..=whole).map(|i| base(whole).powi(i as i32)).collect();
        let extra = base(2 * whole);
        slopes.extend((0..heads - whole).map(|i| extra.powi(2 * i as i32 + 1)));
        let round = |x: f64| match rounded {
            true => half::bf16::from_f64(x).to_f32(),
            false => x as f32,
        };
        Self {
            slopes: slopes.into_iter().map(round).collect(),
            scale: if rounded { scale } else { 1.0 },
            rounded,
        }
    }

    /// What is added to the score of this head for a key at this position.
    pub fn bias(&self, head: usize, position: usize) -> f32 {
        let slope = self.slopes.get(head).copied().unwrap_or(0.0);
        if !self.rounded {
            return slope * position as f32;
        }
        let place = half::bf16::from_f32(position as f32).to_f32();
        half::bf16::from_f32(slope * place).to_f32() * self.scale
    }
}

/// One call of attention.
pub struct AttentionCall<'a, C> {
    /// Where keys and values lie.
    pub cache: &'a C,
    pub layer: usize,
    pub heads: &'a Heads,
    pub settings: AttentionSettings<'a>,
}

/// A token whose log-probability is wanted after a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Row of the head's input.
    pub row: u32,
    pub token: u32,
}

/// How the next token after a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// One over the temperature; zero takes the greatest logit.
    pub inverse_temperature: f64,
    /// Of the likeliest tokens, as many as hold this share of the probability.
    pub top_p: f64,
    /// Uniform over all 64 bits.
    pub random: u64,
    /// So many of the likeliest tokens; zero takes all.
    pub top_k: u32,
}

/// What is looked at in whole distributions.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// One for each token of the vocabulary that begins a word, else zero; `None` where tokens do not tell.
    pub marks: Option<&'a [f32]>,
    /// Whether ranks are wanted, for which every token is compared with the whole vocabulary.
    pub ranks: bool,
}

impl Look<'_> {
    /// The marks of a block of at most 256 tokens; zeros where there are none.
    pub(crate) fn block(&self, first: usize, count: usize) -> &[f32] {
        static NONE: [f32; 256] = [0.0; 256];
        let marks = self.marks.and_then(|m| m.get(first..first + count));
        marks.unwrap_or(&NONE[..count])
    }
}

/// Log-probabilities of wanted tokens, and what was seen of each.
pub type Looked = (Vec<f32>, Vec<Seen>);

/// What was seen of a scored token besides its log-probability.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Seen {
    /// In nats.
    pub entropy: f32,
    /// From 1; 0 where ranks are not wanted.
    pub rank: u32,
    /// ln of the probability that a word begins here; NaN where tokens do not tell.
    pub word_start: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_give_rows_in_order_of_position() {
        let segment = Segment {
            first: 0,
            len: 2,
            position: 5,
            spans: vec![(0, 3), (10, 2), (20, 2)],
        };
        let mut rows = vec![];
        segment.rows_of(2, 4, &mut rows);
        assert_eq!(rows, [2, 10, 11, 20]);
        segment.rows_of(0, 7, &mut rows);
        assert_eq!(rows, [0, 1, 2, 10, 11, 20, 21]);
        assert_eq!(segment.keys(), 7);
    }
}
