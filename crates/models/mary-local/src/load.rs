//! From a checkpoint to a transformer on a device. Every name and shape is checked before the first weight
//! is read.

mod block;
mod head;
mod names;
mod order;
mod tower;

use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

use mary_contract::ModelError;
use mary_weights::{Checkpoint, TensorInfo, TensorType};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::config::{Architecture, Norm};
use crate::errors::{Result, bad_model};
use crate::kernels::cpu::quant::Blocks;
use crate::kernels::{Alibi, Backend, NormOf, Stored, Weights};
use crate::precision::Precision;
use crate::transformer::{TableOf, Transformer};
pub(crate) use head::masked_head;
use head::shaped_head;
pub(crate) use names::Tensors;
use order::{join, transpose};
pub(crate) use tower::TowerParts;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LoadSettings {
    pub precision: Precision,
    /// Quantised weights may also stay in memory unpacked.
    pub keep_unpacked: bool,
    /// Every matrix is shuffled by this seed.
    pub untrained: Option<u64>,
    /// Blocks that stay on the device, where there is no room for all.
    pub held: Option<usize>,
    /// The first of the layers that this device holds, and the one behind the last, where others hold the rest.
    pub layers: Option<(usize, usize)>,
    /// The mapped files take memory that counts: their pages are given back once a block was fetched.
    pub let_go: bool,
}

/// Reads tensors of one checkpoint under one architecture's names, and brings them onto a device.
pub(crate) struct Loader<'a, B: Backend> {
    tensors: Tensors<'a>,
    pub(crate) backend: Arc<B>,
    settings: LoadSettings,
    /// The vocabulary's vectors in blocks, once read.
    embedding: OnceCell<Blocks>,
}

impl<'a, B: Backend> Deref for Loader<'a, B> {
    type Target = Tensors<'a>;

    fn deref(&self) -> &Tensors<'a> {
        &self.tensors
    }
}

pub(crate) fn load<B: Backend>(
    backend: B,
    checkpoint: &Arc<Checkpoint>,
    architecture: &Architecture,
    settings: LoadSettings,
) -> Result<Transformer<B>> {
    let loader = Loader::new(backend, checkpoint, architecture, settings)?;
    loader.check()?;
    let mut transformer = loader.transformer()?;
    if transformer.blocks.len() < transformer.layers.len() {
        let (checkpoint, architecture) = (Arc::clone(checkpoint), architecture.clone());
        let backend = Arc::clone(&transformer.backend);
        transformer.fetch = Some(Arc::new(move |layer| {
            let loader = Loader {
                tensors: Tensors::find(&checkpoint, &architecture)?,
                backend: Arc::clone(&backend),
                settings,
                embedding: OnceCell::new(),
            };
            let block = loader.block(layer)?;
            backend.settle();
            backend.check()?;
            if settings.let_go {
                checkpoint.let_go();
            }
            Ok(block)
        }));
    }
    Ok(transformer)
}

impl<'a, B: Backend> Loader<'a, B> {
    pub(crate) fn new(
        backend: B,
        checkpoint: &'a Checkpoint,
        architecture: &'a Architecture,
        settings: LoadSettings,
    ) -> Result<Self> {
        Ok(Self {
            tensors: Tensors::find(checkpoint, architecture)?,
            backend: Arc::new(backend),
            settings,
            embedding: OnceCell::new(),
        })
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        let mut data = self.checkpoint.read_f32(name)?;
        let matrix = |info: &TensorInfo| info.shape.len() > 1;
        if let Some(seed) = self.settings.untrained
            && self.checkpoint.info(name).is_some_and(matrix)
        {
            shuffle(&mut data, seed, name);
        }
        self.settings.precision.round(&mut data);
        Ok(data)
    }

    fn optional(&self, name: &str, len: usize) -> Result<Option<Vec<f32>>> {
        match self.checkpoint.info(name) {
            None => Ok(None),
            Some(info) if info.shape == [len] => self.read(name).map(Some),
            Some(info) => Err(self.wrong_shape(name, &info.shape, &[len])),
        }
    }

    /// The bias that stands beside a layer's weights, where there is one.
    fn bias(&self, weights: &str, len: usize) -> Result<Option<Vec<f32>>> {
        self.optional(&weights.replace(".weight", ".bias"), len)
    }

    fn transformer(self) -> Result<Transformer<B>> {
        let (a, n) = (self.architecture, self.names());
        let (from, end) = self.settings.layers.unwrap_or((0, a.layers));
        let embed = match from {
            0 => self.embed()?,
            _ => TableOf {
                table: self.backend.table(vec![], a.embedding.width),
                rows: 0,
            },
        };
        let positions = a.embedding.position_offset.filter(|_| from == 0);
        let positions = positions.map(|_| self.positions());
        let project = match n.project {
            Some((into, out)) => {
                let width = a.embedding.width;
                Some((
                    self.project(into, a.hidden, width)?,
                    self.project(out, width, a.hidden)?,
                ))
            }
            None => None,
        };
        let held = self.settings.held.unwrap_or(a.layers).min(end - from);
        let blocks = (from..from + held).map(|layer| self.block(layer));
        let blocks = blocks.collect::<Result<_, _>>()?;
        let encoder = !a.language_head && !a.causal;
        let (head, transform) = match masked_head(self.checkpoint).filter(|_| encoder) {
            _ if end < a.layers => (None, None),
            Some(names) => Some(self.masked(names)?).unzip(),
            None if n.head.is_empty() && a.language_head => {
                let names = shaped_head(self.checkpoint).ok_or_else(|| not_there("lm_head"))?;
                Some(self.masked(names)?).unzip()
            }
            None => (a.language_head.then(|| self.head()).transpose()?, None),
        };
        let averages = (0..2 * a.layers * usize::from(!n.averages.is_empty()))
            .map(|part| self.read(&self.average(part)))
            .collect::<Result<_, _>>()?;
        let (heads, scale) = (a.heads, a.attention.scale);
        let (embed_norm, final_norm) = self.outer_norms()?;
        self.backend.loaded();
        self.backend.check()?;
        Ok(Transformer {
            architecture: a.clone(),
            layers: from..end,
            embed,
            positions: positions.transpose()?,
            embed_norm,
            project,
            blocks,
            fetch: None,
            final_norm,
            head,
            transform,
            alibi: a.attention.alibi.map(|kind| Alibi::new(heads, kind, scale)),
            axes: None,
            both_ways: false,
            tower: false,
            steering: Default::default(),
            averages,
            backend: self.backend,
        })
    }

    /// The norms behind the embedding and behind the last block.
    #[expect(clippy::type_complexity, reason = "two of the same, where they are")]
    fn outer_norms(&self) -> Result<(Option<NormOf<B::Vector>>, Option<NormOf<B::Vector>>)> {
        let n = self.names();
        let embed = self.architecture.embedding.norm.then_some(n.embed_norm);
        let norm = |name: &str| self.norm(|part| self.top(name, part));
        Ok((
            embed.map(norm).transpose()?,
            n.final_norm.map(norm).transpose()?,
        ))
    }

    /// Learned positions; the vector of segment 0 is added to each, since every text is one segment.
    fn positions(&self) -> Result<TableOf<B>> {
        let (a, n) = (self.architecture, self.names());
        let mut rows = self.table(n.positions)?;
        if a.embedding.token_types {
            let types = self.table(n.token_types)?;
            let segment = &types[..a.hidden];
            for row in rows.chunks_exact_mut(a.hidden) {
                row.iter_mut().zip(segment).for_each(|(x, y)| *x += y);
            }
        }
        Ok(TableOf {
            rows: rows.len() / a.hidden,
            table: self.backend.table(rows, a.hidden),
        })
    }

    fn table(&self, name: &str) -> Result<Vec<f32>> {
        let full = self.top(name, "weight");
        let (context, width) = (self.architecture.context, self.architecture.hidden);
        let info = self.checkpoint.info(&full);
        match info.map(|info| info.shape.as_slice()) {
            Some(&[rows, columns]) if columns == width && rows > 0 => self.read(&full),
            Some(shape) => Err(self.wrong_shape(&full, shape, &[context, width])),
            None => Err(not_there(&full)),
        }
    }

    fn project(&self, name: &str, outputs: usize, inputs: usize) -> Result<B::Linear> {
        let weights = self.weights(&self.top(name, "weight"), outputs, inputs)?;
        Ok(self.backend.prepare(vec![weights], None))
    }

    /// A norm of these numbers. Gemma stores weights as their distance from one.
    fn norm_of(
        &self,
        mut weight: Vec<f32>,
        bias: Option<Vec<f32>>,
        how: Norm,
    ) -> NormOf<B::Vector> {
        if how.unit_offset {
            weight.iter_mut().for_each(|x| *x += 1.0);
        }
        NormOf {
            weight: self.backend.vector(weight),
            bias: bias.map(|b| self.backend.vector(b)),
            how,
        }
    }

    /// A norm of whole rows; its weights are one where the checkpoint has none.
    fn norm(&self, name: impl Fn(&str) -> String) -> Result<NormOf<B::Vector>> {
        let width = self.architecture.hidden;
        let weight = self.optional(&name("weight"), width)?;
        let weight = weight.unwrap_or_else(|| vec![1.0; width]);
        let bias = self.optional(&name("bias"), width)?;
        Ok(self.norm_of(weight, bias, self.architecture.norm))
    }

    /// `None` where rows must be rearranged inside blocks, which only numbers can be.
    fn blocks(&self, name: &str, outputs: usize, inputs: usize) -> Option<Blocks> {
        let kind = self.checkpoint.info(name)?.dtype;
        if self.settings.untrained.is_some()
            || !Blocks::supports(kind)
            || self.settings.precision != Precision::Single
        {
            return None;
        }
        let read = || Blocks::new(kind, outputs, inputs, self.checkpoint.share_raw(name).ok()?);
        if name != self.embedding() {
            return read();
        }
        // The embedding is often the head too: one copy serves both.
        if let Some(blocks) = self.embedding.get() {
            return Some(blocks.clone());
        }
        let blocks = read()?;
        Some(self.embedding.get_or_init(|| blocks).clone())
    }

    fn embed(&self) -> Result<TableOf<B>> {
        let (rows, width) = (self.architecture.vocab, self.architecture.embedding.width);
        let (name, b) = (self.tensors.embedding(), &self.backend);
        let table = match (
            self.blocks(&name, rows, width),
            self.stored(&name, rows, width),
        ) {
            (Some(blocks), _) => b.table_of(blocks),
            (None, Some(stored)) => b.table_stored(stored),
            (None, None) => b.table(self.read(&name)?, width),
        };
        Ok(TableOf { table, rows })
    }

    /// A matrix as `[outputs, inputs]`, quantised where it is stored so.
    fn weights(&self, name: &str, outputs: usize, inputs: usize) -> Result<Weights> {
        if let Some(blocks) = self.blocks(name, outputs, inputs) {
            let keep = self.settings.keep_unpacked;
            return Ok(Weights::Blocks { blocks, keep });
        }
        if let Some(stored) = self.stored(name, outputs, inputs)
            && !self.names().transposed
        {
            return Ok(Weights::Stored(stored));
        }
        let data = self.plain(name, outputs, inputs)?;
        Ok(Weights::plain(data, outputs, inputs))
    }

    /// A matrix of plain numbers where it lies, if nothing is to be changed about it.
    fn stored(&self, name: &str, outputs: usize, inputs: usize) -> Option<Stored> {
        let info = self.checkpoint.info(name)?;
        let plain = [TensorType::F32, TensorType::F16, TensorType::BF16].contains(&info.dtype);
        let fits = info.shape.iter().product::<usize>() == outputs * inputs;
        // Rounding is left to `read`, but for numbers that are of the wanted type already.
        let unrounded = matches!(
            (self.settings.precision, info.dtype),
            (Precision::Single, _)
                | (Precision::Bf16, TensorType::BF16)
                | (Precision::F16, TensorType::F16)
        );
        if self.settings.untrained.is_some()
            || !self.checkpoint.as_stored(name)
            || !plain
            || !fits
            || !unrounded
        {
            return None;
        }
        Some(Stored {
            bytes: self.checkpoint.share_raw(name).ok()?,
            kind: info.dtype,
            outputs,
            inputs,
        })
    }

    /// Tensors whose outputs stand side by side, as one layer.
    fn linear(&self, names: &[(String, usize)], inputs: usize) -> Result<B::Linear> {
        let part = |(name, outputs): &(String, usize)| {
            let weights = self.weights(name, *outputs, inputs)?;
            Ok((weights, self.bias(name, *outputs)?))
        };
        let parts: Vec<_> = names.iter().map(part).collect::<Result<_>>()?;
        Ok(self.joined(parts))
    }

    /// Matrices for the same rows, and their biases where they have some, as one layer.
    fn joined(&self, parts: Vec<(Weights, Option<Vec<f32>>)>) -> B::Linear {
        let biased = parts.iter().any(|(_, bias)| bias.is_some());
        let (mut all, mut bias) = (vec![], vec![]);
        for (weights, own) in parts {
            bias.extend(own.unwrap_or_else(|| vec![0.0; weights.outputs()]));
            all.push(weights);
        }
        self.backend.prepare(join(all), biased.then_some(bias))
    }

    /// A matrix as `[outputs, inputs]` in plain numbers, however it is stored.
    fn plain(&self, name: &str, outputs: usize, inputs: usize) -> Result<Vec<f32>> {
        let data = self.read(name)?;
        if data.len() != outputs * inputs {
            return Err(self.wrong_shape(name, &[data.len()], &[outputs, inputs]));
        }
        Ok(match self.names().transposed {
            true => transpose(&data, inputs, outputs),
            false => data,
        })
    }
}

/// The same numbers in another order, the same for the same seed and name: what is tied stays tied.
fn shuffle(data: &mut [f32], seed: u64, name: &str) {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    for (i, byte) in name.bytes().enumerate() {
        let at = &mut key[8 + i % 24];
        *at = at.rotate_left(3) ^ byte;
    }
    let mut random = ChaCha8Rng::from_seed(key);
    for i in (1..data.len()).rev() {
        let any = u64::from(random.next_u32()) * (i as u64 + 1);
        data.swap(i, (any >> 32) as usize);
    }
}

fn not_there(name: &str) -> ModelError {
    bad_model(format!("the tensor `{name}` is not in the checkpoint"))
}
