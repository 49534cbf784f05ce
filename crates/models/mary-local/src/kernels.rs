//! The few calls a device must answer so that the generic transformer runs on it. [`Backend`] is the seam
//! where another device joins; everything above it is the same.

mod course;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod shapes;

use mary_weights::{RawBytes, TensorType};

use crate::batch::Batch;
pub use crate::batch::Segment;
use crate::config::{Activation, Norm, Recurrence, Relative, Rope};
use crate::errors::Result;
pub use shapes::{
    Alibi, AttentionCall, AttentionSettings, Draw, Extent, Groups, Heads, Look, Looked, Rotary,
    Spans, TokenStatistics, WantedToken,
};

/// Calls may return before their work is done, as long as later calls see it done. A call that
/// fails makes itself known through [`Backend::check`]; those after it do nothing.
pub trait Backend: Send + Sync + 'static {
    /// Rows of numbers on the device; grows when needed, never shrinks.
    type Tensor: Default + Send;
    type Linear: Send + Sync;
    type Vector: Send + Sync;
    /// Vectors that are looked up by token or position.
    type Table: Send + Sync;
    type Cache: Send;
    /// What a batch looks like, brought over once for all layers.
    type Plan<'a>;
    type Rotary;
    type Pending: Send;

    /// The error of the first call that failed since this was last asked.
    fn check(&self) -> Result<()> {
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
    fn cache_number(&self) -> usize {
        size_of::<f32>()
    }

    fn prepare(&self, parts: Vec<Weights>, bias: Option<Vec<f32>>) -> Self::Linear;
    /// Everything is loaded: what served only that may be given back.
    fn loaded(&self) {}
    /// Waits until what [`Backend::prepare`] brought may be used.
    fn settle(&self) {}
    /// Waits until everything that was asked for is done, so that what it read may be given back.
    fn rest(&self) {}
    fn vector(&self, x: Vec<f32>) -> Self::Vector;
    fn table(&self, data: Vec<f32>, width: usize) -> Self::Table;
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
    /// The keys of the first rows in one layer of the cache, as attention reads them.
    fn keys(&self, cache: &Self::Cache, layer: usize, rows: usize) -> Vec<f32>;
    /// Copies rows of the cache, in every layer, one after the other.
    fn move_rows(&self, cache: &mut Self::Cache, moves: &[(usize, usize)]);
    fn plan<'a>(&self, batch: &'a Batch, heads: &Heads) -> Self::Plan<'a>;
    fn rotary(&self, rope: &Rope, positions: &[usize]) -> Self::Rotary;

    /// The same where each frequency turns by one of three positions.
    fn rotary_along(&self, rope: &Rope, turns: &[[u32; 3]], axes: &[u8]) -> Self::Rotary;

    fn upload(&self, x: &[f32], to: &mut Self::Tensor);
    /// Brings the first `len` numbers back.
    fn download(&self, x: &Self::Tensor, len: usize) -> Vec<f32>;
    /// Gives the first `len` numbers to another device of this kind.
    fn hand_over(&self, x: &Self::Tensor, len: usize, other: &Self, to: &mut Self::Tensor) {
        other.upload(&self.download(x, len), to);
    }

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
    /// In one go, for layers without a gate; false, and nothing done, where the device takes two steps.
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
    /// Also writes keys and values into the batch's rows of one layer of the cache. Queries stay where they are.
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
    /// Whether so many rows and these layers are taken through [`Backend::between`] in one go.
    fn goes_between(&self, _rows: Extent, _layers: &[&Self::Linear]) -> bool {
        false
    }
    /// Asked only where [`Backend::goes_between`] says so; a row gets the bits that single steps give it.
    fn between(&self, _work: Between<'_, '_, Self>)
    where
        Self: Sized,
    {
    }
    /// What a layer that carries a state makes of the rows of its first projection.
    fn carry(
        &self,
        projected: &Self::Tensor,
        rows: Extent,
        mixer: &MixerOf<Self::Linear, Self::Vector>,
        place: (&Self::Plan<'_>, &mut Self::Cache, usize),
        to: &mut Self::Tensor,
    );
    /// Attention that scores distances, too.
    fn attend_far(
        &self,
        qkv: &Self::Tensor,
        plan: &Self::Plan<'_>,
        call: (&AttentionCall<'_, Self::Cache>, &RelativeOf),
        to: &mut Self::Tensor,
    );
    fn attend(
        &self,
        qkv: &Self::Tensor,
        plan: &Self::Plan<'_>,
        call: &AttentionCall<'_, Self::Cache>,
        to: &mut Self::Tensor,
    );
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
        wanted: &[WantedToken],
    ) -> Self::Pending;
    /// Whether the device looks at whole distributions itself ([`Backend::distributions`]).
    fn looks(&self) -> bool {
        false
    }
    /// Asked only of a device that [looks](Backend::looks); beside the head stands what squashes its logits.
    fn distributions(
        &self,
        _x: &Self::Tensor,
        _rows: usize,
        _head: (&Self::Linear, Option<f32>),
        _wanted: &[WantedToken],
        _look: Look<'_>,
    ) -> Looked {
        Looked::default()
    }
    fn collect(&self, pending: Self::Pending) -> Vec<f32>;
    /// Whether the device draws tokens by itself, so that logits need not come back.
    fn draws(&self) -> bool {
        false
    }
    /// On a device that draws; `shape`: width of the logits, what squashes them. `None` where one is no number.
    fn draw(
        &self,
        _logits: &Self::Tensor,
        _shape: (usize, Option<f32>),
        draws: &[Draw],
    ) -> Vec<Option<u32>> {
        vec![None; draws.len()]
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

pub struct Ending<'a, B: Backend> {
    pub attended: &'a B::Tensor,
    pub out: &'a B::Linear,
    pub norm: &'a NormOf<B::Vector>,
    /// The feed-forward layers read what attention read, not what it wrote.
    pub parallel: bool,
    /// The first of them, with its gate where it has one.
    pub up: &'a B::Linear,
    /// Numbers between them, and whether there is a gate.
    pub shape: (usize, bool),
    pub activation: Activation,
    pub down: &'a B::Linear,
}

pub struct Beginning<'a, 'p, B: Backend + 'p> {
    pub norm: &'a NormOf<B::Vector>,
    pub qkv: &'a B::Linear,
    pub to: &'a mut B::Tensor,
    pub heads: &'a Heads,
    pub norms: Option<(&'a B::Vector, &'a B::Vector, Norm)>,
    pub rotary: Option<&'a B::Rotary>,
    pub cache: (&'a mut B::Cache, usize),
    pub plan: &'a B::Plan<'p>,
}

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

impl Weights {
    pub fn outputs(&self) -> usize {
        match self {
            Self::Plain { outputs, .. } => *outputs,
            Self::Stored(stored) => stored.outputs,
            Self::Blocks { blocks, .. } => blocks.outputs(),
        }
    }

    /// `outputs` rows of `inputs` numbers.
    pub fn plain(data: Vec<f32>, outputs: usize, inputs: usize) -> Self {
        Self::Plain {
            data,
            outputs,
            inputs,
        }
    }
}

pub struct Stored {
    /// The bytes, row after row.
    pub bytes: RawBytes,
    /// The type of the numbers: float32, float16 or bfloat16.
    pub kind: TensorType,
    pub outputs: usize,
    pub inputs: usize,
}

/// The weights of a layer that carries a state, but for the first projection and the last.
pub struct MixerOf<L, V> {
    pub shape: Recurrence,
    /// The convolution's weights, those of the oldest token first, and its bias.
    pub conv: V,
    pub conv_bias: V,
    /// Down to steps, up again, and what is written and read (the first Mamba's).
    pub steps: Option<[L; 3]>,
    pub step_bias: V,
    /// How fast states are forgotten, for every head or every number; below 0.
    pub decay: V,
    /// How much of an input goes past the state, for every head.
    pub skip: V,
    pub norm: Option<V>,
}

/// Queries and keys of distances, as wide as those of tokens, or a bias for every head.
pub struct RelativeOf {
    pub how: Relative,
    pub queries: Vec<f32>,
    pub keys: Vec<f32>,
    pub biases: Vec<f32>,
    /// The row for every distance up to the context's length, the most negative first.
    pub places: Vec<u32>,
}

impl RelativeOf {
    pub fn row(&self, distance: isize) -> usize {
        let middle = (self.places.len() / 2) as isize;
        let known = usize::try_from(middle + distance).ok();
        let known = known.and_then(|at| self.places.get(at));
        known.map_or_else(|| self.how.row(distance), |row| *row as usize)
    }
}

pub struct NormOf<V> {
    pub weight: V,
    pub bias: Option<V>,
    pub how: Norm,
}
