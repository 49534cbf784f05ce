//! What a transformer is made of on a device, the memory its passes work in, and who may watch them.

use std::ops::Range;
use std::sync::Arc;

use mary_weights::ControlVector;

use super::{Fetch, Sources};
use crate::config::{Activation, Architecture};
use crate::kernels::{Alibi, Backend, Extent, Groups, MixerOf, NormOf, RelativeOf};
use crate::vision::PictureRows;

pub(crate) struct TableOf<B: Backend> {
    pub table: B::Table,
    pub rows: usize,
}

/// The layer between the last block and the head of a masked language model.
pub(crate) struct TransformOf<B: Backend> {
    pub dense: B::Linear,
    pub activation: Activation,
    pub norm: NormOf<B::Vector>,
}

pub(crate) struct QkNormsOf<B: Backend> {
    pub queries: NormOf<B::Vector>,
    pub keys: NormOf<B::Vector>,
}

/// What heads give is multiplied by this. Where it is normalised then, the gate is activated, elsewhere it lies between
/// zero and one.
pub(crate) struct GateOf<B: Backend> {
    pub linear: B::Linear,
    pub norm: Option<NormOf<B::Vector>>,
}

/// Attention to what an encoder read.
pub(crate) struct AcrossOf<B: Backend> {
    pub norm: NormOf<B::Vector>,
    pub queries: B::Linear,
    /// Keys and values.
    pub source: B::Linear,
    pub out: B::Linear,
}

pub(crate) struct DenseOf<B: Backend> {
    pub up: B::Linear,
    /// Before the last product.
    pub norm: Option<NormOf<B::Vector>>,
    pub down: B::Linear,
}

pub(crate) struct ExpertsOf<B: Backend> {
    pub router: B::Linear,
    /// Added to the scores that experts are chosen by.
    pub bias: Option<Vec<f32>>,
    pub experts: Vec<DenseOf<B>>,
    /// One that every token takes, and its gate.
    pub shared: Option<(DenseOf<B>, Option<B::Linear>)>,
}

/// What queries, and keys and values, are made of is normalised, then projected.
pub(crate) struct LatentOf<B: Backend> {
    pub queries: Option<(NormOf<B::Vector>, B::Linear)>,
    pub keys: (NormOf<B::Vector>, B::Linear),
}

pub(crate) enum MlpOf<B: Backend> {
    Dense(DenseOf<B>),
    Sparse(ExpertsOf<B>),
    /// The block ends with what stands in the place of attention.
    Nothing,
}

pub(crate) struct BlockOf<B: Backend> {
    pub attn_norm: Option<NormOf<B::Vector>>,
    /// Queries, keys and values, or what they are made of; the first projection where a state is carried.
    pub qkv: B::Linear,
    pub latent: Option<LatentOf<B>>,
    pub mixer: Option<MixerOf<B::Linear, B::Vector>>,
    pub qk_norms: Option<QkNormsOf<B>>,
    pub attn_out: B::Linear,
    pub gate: Option<GateOf<B>>,
    pub relative: Option<RelativeOf>,
    /// What stands beside the scores of each head.
    pub sinks: Option<Vec<f32>>,
    pub across: Option<AcrossOf<B>>,
    pub post_attn_norm: Option<NormOf<B::Vector>>,
    pub mlp_norm: Option<NormOf<B::Vector>>,
    pub mlp: MlpOf<B>,
    pub post_mlp_norm: Option<NormOf<B::Vector>>,
}

pub(crate) struct Transformer<B: Backend> {
    /// Shared with who loads what stands beside the transformer.
    pub backend: Arc<B>,
    pub architecture: Architecture,
    /// Those of the architecture's layers that are here; what goes before the first or behind the last layer is there
    /// where that is.
    pub layers: Range<usize>,
    pub embed: TableOf<B>,
    /// Learned positions, the segment's vector included.
    pub positions: Option<TableOf<B>>,
    pub embed_norm: Option<NormOf<B::Vector>>,
    pub project: Option<(B::Linear, B::Linear)>,
    /// Those that are held: all, unless there is no room for them.
    pub blocks: Vec<BlockOf<B>>,
    /// Where the others come from.
    pub fetch: Option<Fetch<B>>,
    pub final_norm: Option<NormOf<B::Vector>>,
    pub head: Option<B::Linear>,
    /// What stands before the head of a masked language model.
    pub transform: Option<TransformOf<B>>,
    pub alibi: Option<Alibi>,
    /// Which of three positions each rotary frequency turns by, where pictures have places (Qwen2-VL).
    pub axes: Option<Vec<u8>>,
    /// The rows of a picture see one another in both directions (Gemma 3).
    pub both_ways: bool,
    /// What is added to the stream after each block, in every row.
    pub steering: ControlVector,
    /// How much of each stream before it is in the stream after a part of a block, where they are averaged.
    pub averages: Vec<Vec<f32>>,
    /// Reads a picture at once and never goes on from what it read: one layer of the cache serves all.
    pub tower: bool,
}

/// Tensors that a forward pass writes to, kept from one pass to the next.
#[derive(Default)]
pub(crate) struct Workspace<T> {
    pub x: T,
    pub normed: T,
    pub second: T,
    pub qkv: T,
    pub attended: T,
    pub wide: T,
    pub narrow: T,
    pub expert: T,
    /// What is added to the stream, where somebody looks at it first.
    pub apart: T,
    /// The last block's output after the final norm.
    pub last: T,
    pub given: Vec<f32>,
    /// Rows that stand in the place of tokens' vectors.
    pub shown: Option<Arc<PictureRows>>,
    pub writing: bool,
    /// The streams of this pass, where they are averaged.
    pub streams: Vec<Vec<f32>>,
    /// What a decoder sees of its sources.
    pub sources: Sources<T>,
}

pub(crate) type WorkOf<B> = Workspace<<B as Backend>::Tensor>;

impl<T> Workspace<T> {
    /// So many rows, part of what the last pass was part of.
    pub fn extent(&self, rows: usize) -> Extent {
        Extent {
            rows,
            writing: self.writing,
        }
    }

    pub fn shown_rows(&mut self, tokens: &[u32], pictures: &[usize]) {
        self.given.clear();
        if let Some(shown) = &self.shown {
            for &row in pictures {
                self.given.extend_from_slice(shown.row(tokens[row]));
            }
        }
    }
}

/// Called with a layer's number and its hidden states, row after row.
pub type Visit<'a> = &'a mut dyn FnMut(usize, &[f32]);

pub enum Watch<'a> {
    Rows(Visit<'a>),
    /// The means of groups of rows, in these layers (ascending).
    Means {
        groups: &'a Groups,
        layers: &'a [usize],
        /// Gets a layer's number and the means, group after group.
        visit: Visit<'a>,
    },
}

impl Watch<'_> {
    pub(crate) fn see<B: Backend>(
        &mut self,
        backend: &B,
        layer: usize,
        x: &B::Tensor,
        (rows, width): (usize, usize),
    ) {
        match self {
            Self::Rows(visit) => visit(layer, &backend.download(x, rows * width)),
            Self::Means {
                groups,
                layers,
                visit,
            } if layers.binary_search(&layer).is_ok() => {
                visit(layer, &backend.pool(x, width, groups));
            }
            Self::Means { .. } => {}
        }
    }
}

/// The layers before a device's own, and what they left.
pub(crate) type Left<'a, B> = (&'a Transformer<B>, &'a WorkOf<B>);

impl<B: Backend> Transformer<B> {
    /// How many of its layers keep keys and values.
    pub(super) fn attending(&self) -> usize {
        let before = |layer| self.architecture.attending(layer);
        before(self.layers.end) - before(self.layers.start)
    }

    pub(super) fn held(&self, layer: usize) -> Option<&BlockOf<B>> {
        self.blocks.get(layer.checked_sub(self.layers.start)?)
    }

    pub(super) fn ends(&self) -> bool {
        self.layers.end == self.architecture.layers
    }

    pub(super) fn receive(&self, (of, left): Left<'_, B>, rows: usize, work: &mut WorkOf<B>) {
        let len = rows * self.architecture.hidden;
        of.backend
            .hand_over(&left.x, len, &self.backend, &mut work.x);
    }
}
