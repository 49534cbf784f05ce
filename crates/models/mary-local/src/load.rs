//! From a checkpoint to a transformer on a device. Every name and shape is checked before the first
//! weight is read. `block` reads a block, `head` what predicts tokens, `order` puts rows into order.

mod block;
mod head;
mod order;
pub(crate) mod tower;

use std::cell::OnceCell;

use mary_contract::{ErrorKind, ModelError};
use mary_weights::{Checkpoint, TensorType};

use crate::config::{Architecture, ExpertNames, Experts, Names, QkvNames, UpNames};
use crate::kernels::cpu::quant::Blocks;
use crate::kernels::{Alibi, Backend, NormOf, Stored, Weights};
use crate::masked;
use crate::precision::Precision;
use crate::transformer::{TableOf, Transformer};
use order::{join, transpose};

#[derive(Debug, Clone, Copy, Default)]
pub struct LoadSettings {
    /// The type weights are held in.
    pub precision: Precision,
    /// Quantised weights may also stay in memory unpacked.
    pub keep_unpacked: bool,
    /// The device takes plain weights as they are stored; [`load`] asks it.
    pub as_stored: bool,
}

/// Reads tensors of one checkpoint under one architecture's names.
pub(crate) struct Loader<'a> {
    checkpoint: &'a Checkpoint,
    architecture: &'a Architecture,
    settings: LoadSettings,
    body: &'static str,
    head: &'static str,
    /// The vocabulary's vectors in blocks, once read.
    embedding: OnceCell<Blocks>,
}

/// One tensor that must be there, with its shape.
struct Expected {
    name: String,
    shape: Vec<usize>,
}

pub fn load<B: Backend>(
    backend: B,
    checkpoint: &Checkpoint,
    architecture: &Architecture,
    settings: LoadSettings,
) -> Result<Transformer<B>, ModelError> {
    let settings = LoadSettings {
        as_stored: backend.takes_stored(),
        ..settings
    };
    let loader = Loader::new(checkpoint, architecture, settings)?;
    loader.check()?;
    loader.transformer(backend)
}

/// Whether every tensor is there with the right shape; reads no weights.
pub fn check(checkpoint: &Checkpoint, architecture: &Architecture) -> Result<(), ModelError> {
    Loader::new(checkpoint, architecture, LoadSettings::default())?.check()
}

impl<'a> Loader<'a> {
    fn new(
        checkpoint: &'a Checkpoint,
        architecture: &'a Architecture,
        settings: LoadSettings,
    ) -> Result<Self, ModelError> {
        let names = &architecture.names;
        let found = names.prefixes.iter().find(|(body, _)| {
            checkpoint
                .info(&format!("{body}{}.weight", names.embed))
                .is_some()
        });
        let Some(&(body, head)) = found else {
            let tried: Vec<String> = names
                .prefixes
                .iter()
                .map(|(body, _)| format!("{body}{}.weight", names.embed))
                .collect();
            let message = format!(
                "the token embedding of this {} is not in the checkpoint; looked for {}",
                architecture.family,
                tried.join(", ")
            );
            return Err(ModelError::new(ErrorKind::BadModel, message));
        };
        Ok(Self {
            checkpoint,
            architecture,
            settings,
            body,
            head,
            embedding: OnceCell::new(),
        })
    }

    fn names(&self) -> &'a Names {
        &self.architecture.names
    }

    fn has(&self, name: &str) -> bool {
        self.checkpoint.info(name).is_some()
    }

    fn top(&self, name: &str, part: &str) -> String {
        format!("{}{name}.{part}", self.body)
    }

    fn in_layer(&self, layer: usize, name: &str, part: &str) -> String {
        let prefix = self.names().layer.replace("{}", &layer.to_string());
        format!("{}{prefix}{name}.{part}", self.body)
    }

    /// The head's tensor; the embedding's when they are one.
    fn head_name(&self) -> String {
        let own = format!("{}{}.weight", self.head, self.names().head);
        let bare = format!("{}.weight", self.names().head);
        match () {
            () if self.architecture.tied => self.top(self.names().embed, "weight"),
            () if !self.has(&own) && self.has(&bare) => bare,
            () => own,
        }
    }

    fn qkv_names(&self, layer: usize) -> Vec<(String, usize)> {
        let (q, kv) = (self.architecture.q_width(), self.architecture.kv_width());
        match self.names().qkv {
            QkvNames::Separate(a, b, c) => [(a, q), (b, kv), (c, kv)]
                .map(|(name, rows)| (self.in_layer(layer, name, "weight"), rows))
                .into(),
            QkvNames::Fused(name, _) => vec![(self.in_layer(layer, name, "weight"), q + 2 * kv)],
        }
    }

    fn up_names(&self, layer: usize) -> Vec<(String, usize)> {
        let width = self.architecture.intermediate;
        match self.names().up {
            UpNames::Plain(name) => vec![(self.in_layer(layer, name, "weight"), width)],
            UpNames::Fused(name) => vec![(self.in_layer(layer, name, "weight"), 2 * width)],
            UpNames::Separate(a, b) => [a, b]
                .map(|name| (self.in_layer(layer, name, "weight"), width))
                .into(),
        }
    }

    fn linear_shape(&self, outputs: usize, inputs: usize) -> Vec<usize> {
        if self.names().transposed {
            vec![inputs, outputs]
        } else {
            vec![outputs, inputs]
        }
    }

    fn expected(&self) -> Vec<Expected> {
        let (a, n) = (self.architecture, self.names());
        let mut all = vec![];
        let mut need = |name: String, shape: Vec<usize>| all.push(Expected { name, shape });
        need(
            self.top(n.embed, "weight"),
            vec![a.vocab, a.embedding.width],
        );
        for layer in 0..a.layers {
            for (name, outputs) in self.qkv_names(layer) {
                need(name, self.linear_shape(outputs, a.hidden));
            }
            let out = self.in_layer(layer, n.attn_out, "weight");
            need(out, self.linear_shape(a.hidden, a.q_width()));
            match self.experts(layer) {
                Some((experts, names)) => {
                    let router = self.in_layer(layer, names.router, "weight");
                    need(router, vec![experts.count, a.hidden]);
                    self.expert_names(layer, &experts, &names, &mut need);
                }
                None => {
                    for (name, outputs) in self.up_names(layer) {
                        need(name, self.linear_shape(outputs, a.hidden));
                    }
                    let down = self.in_layer(layer, n.down, "weight");
                    need(down, self.linear_shape(a.hidden, a.intermediate));
                }
            }
            for norm in self.block_norms().into_iter().filter(|_| !n.bare_norms) {
                need(self.in_layer(layer, norm, "weight"), vec![a.hidden]);
            }
        }
        if let Some(name) = n.final_norm.filter(|_| !n.bare_norms) {
            need(self.top(name, "weight"), vec![a.hidden]);
        }
        if a.language_head {
            need(self.head_name(), vec![a.vocab, a.embedding.width]);
        }
        all
    }

    /// The experts of a layer, where it has any.
    fn experts(&self, layer: usize) -> Option<(Experts, ExpertNames)> {
        let sparse = self.architecture.kinds.get(layer).is_some_and(|k| k.sparse);
        self.architecture
            .experts
            .filter(|_| sparse)
            .zip(self.names().experts)
    }

    fn expert_names(
        &self,
        layer: usize,
        experts: &Experts,
        names: &ExpertNames,
        need: &mut impl FnMut(String, Vec<usize>),
    ) {
        let hidden = self.architecture.hidden;
        let mut all: Vec<(String, usize)> = (0..experts.count)
            .map(|e| {
                (
                    names.expert.replace("{}", &e.to_string()),
                    experts.intermediate,
                )
            })
            .collect();
        if let Some(width) = experts.shared {
            let (prefix, gate) = names.shared;
            need(self.in_layer(layer, gate, "weight"), vec![1, hidden]);
            all.push((prefix.to_owned(), width));
        }
        let (gate, up, down) = names.parts;
        for (prefix, width) in all {
            let name = |part: &str| self.in_layer(layer, &format!("{prefix}{part}"), "weight");
            need(name(gate), vec![width, hidden]);
            need(name(up), vec![width, hidden]);
            need(name(down), vec![hidden, width]);
        }
    }

    fn block_norms(&self) -> Vec<&'static str> {
        use crate::config::Block;
        let n = self.names();
        match self.architecture.block {
            Block::Parallel { shared: true } => vec![n.attn_norm],
            Block::Sandwich => vec![n.attn_norm, n.mlp_norm, n.post_norms.0, n.post_norms.1],
            Block::OutputNorm => vec![n.post_norms.0, n.post_norms.1],
            _ => vec![n.attn_norm, n.mlp_norm],
        }
    }

    fn check(&self) -> Result<(), ModelError> {
        for Expected { name, shape } in self.expected() {
            let Some(info) = self.checkpoint.info(&name) else {
                return Err(ModelError::new(
                    ErrorKind::BadModel,
                    format!(
                        "the tensor `{name}` of this {} is not in the checkpoint",
                        self.architecture.family
                    ),
                )
                .hint("the download may be incomplete, or config.json belongs to another model"));
            };
            if info.shape != shape {
                return Err(self.wrong_shape(&name, &info.shape, &shape));
            }
        }
        Ok(())
    }

    fn wrong_shape(&self, name: &str, found: &[usize], expected: &[usize]) -> ModelError {
        let file = self
            .checkpoint
            .file_of(name)
            .map_or(String::new(), |f| format!("{}: ", f.display()));
        ModelError::new(
            ErrorKind::BadModel,
            format!(
                "{file}the tensor `{name}` has shape {found:?}; config.json asks for {expected:?}"
            ),
        )
    }

    fn read(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        let mut data = self.checkpoint.read_f32(name)?;
        self.settings.precision.round(&mut data);
        Ok(data)
    }

    fn optional(&self, name: &str, len: usize) -> Result<Option<Vec<f32>>, ModelError> {
        let Some(info) = self.checkpoint.info(name) else {
            return Ok(None);
        };
        if info.shape != [len] {
            return Err(self.wrong_shape(name, &info.shape, &[len]));
        }
        self.read(name).map(Some)
    }

    fn transformer<B: Backend>(&self, backend: B) -> Result<Transformer<B>, ModelError> {
        let (a, n) = (self.architecture, self.names());
        let embed = self.embed(&backend)?;
        let positions = match a.embedding.position_offset {
            Some(_) => Some(self.positions(&backend)?),
            None => None,
        };
        let embed_norm = match a.embedding.norm {
            true => Some(self.norm(&backend, |part| self.top(n.embed_norm, part))?),
            false => None,
        };
        let project = match n.project {
            Some((into, out)) => {
                let width = a.embedding.width;
                let into = self.project(&backend, into, a.hidden, width)?;
                Some((into, self.project(&backend, out, width, a.hidden)?))
            }
            None => None,
        };
        let mut blocks = Vec::with_capacity(a.layers);
        for layer in 0..a.layers {
            blocks.push(self.block(&backend, layer)?);
        }
        let final_norm = match n.final_norm {
            Some(name) => Some(self.norm(&backend, |part| self.top(name, part))?),
            None => None,
        };
        let masked = match a.language_head || a.causal {
            true => None,
            false => masked::head_of(self.checkpoint),
        };
        let (head, transform) = match masked {
            Some(names) => {
                let (decoder, transform) = self.masked(&backend, names)?;
                (Some(decoder), Some(transform))
            }
            None if a.language_head => (Some(self.head(&backend)?), None),
            None => (None, None),
        };
        let alibi = a
            .attention
            .alibi
            .map(|kind| Alibi::new(a.heads, kind, a.attention.scale));
        backend.loaded();
        backend.check()?;
        Ok(Transformer {
            backend,
            architecture: a.clone(),
            embed,
            positions,
            embed_norm,
            project,
            blocks,
            final_norm,
            head,
            transform,
            alibi,
            axes: None,
            both_ways: false,
            tower: false,
        })
    }

    /// Learned positions; the vector of segment 0 is added to each, since every text is one segment.
    fn positions<B: Backend>(&self, backend: &B) -> Result<TableOf<B>, ModelError> {
        let (a, n) = (self.architecture, self.names());
        let mut rows = self.table(n.positions)?;
        if a.embedding.token_types {
            let types = self.table(n.token_types)?;
            let segment = &types[..a.hidden];
            for row in rows.chunks_exact_mut(a.hidden) {
                row.iter_mut().zip(segment).for_each(|(x, y)| *x += y);
            }
        }
        let count = rows.len() / a.hidden;
        Ok(TableOf {
            table: backend.table(rows, a.hidden),
            rows: count,
        })
    }

    fn table(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        let full = self.top(name, "weight");
        let width = self.architecture.hidden;
        match self.checkpoint.info(&full) {
            Some(info) if info.shape.len() == 2 && info.shape[1] == width && info.shape[0] > 0 => {
                self.read(&full)
            }
            Some(info) => {
                Err(self.wrong_shape(&full, &info.shape, &[self.architecture.context, width]))
            }
            None => Err(ModelError::new(
                ErrorKind::BadModel,
                format!("the tensor `{full}` is not in the checkpoint"),
            )),
        }
    }

    fn project<B: Backend>(
        &self,
        backend: &B,
        name: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<B::Linear, ModelError> {
        let weights = self.weights(&self.top(name, "weight"), outputs, inputs)?;
        Ok(backend.prepare(vec![weights], None))
    }

    /// Gemma stores a norm's weights as their distance from one.
    fn offset(&self, mut data: Vec<f32>) -> Vec<f32> {
        if self.architecture.norm.unit_offset {
            data.iter_mut().for_each(|x| *x += 1.0);
        }
        data
    }

    fn norm<B: Backend>(
        &self,
        backend: &B,
        name: impl Fn(&str) -> String,
    ) -> Result<NormOf<B::Vector>, ModelError> {
        let width = self.architecture.hidden;
        let weight = self
            .optional(&name("weight"), width)?
            .unwrap_or_else(|| vec![1.0; width]);
        let bias = self.optional(&name("bias"), width)?;
        Ok(NormOf {
            weight: backend.vector(self.offset(weight)),
            bias: bias.map(|b| backend.vector(b)),
            how: self.architecture.norm,
        })
    }

    /// A matrix in quantised blocks; `None` where its rows must be rearranged inside blocks, which only
    /// numbers can be.
    fn blocks(
        &self,
        name: &str,
        kind: TensorType,
        outputs: usize,
        inputs: usize,
    ) -> Option<Blocks> {
        let read = || {
            let raw = self.checkpoint.share_raw(name).ok()?;
            Blocks::new(kind, outputs, inputs, raw)
        };
        if name != self.top(self.names().embed, "weight") {
            return read();
        }
        // The embedding is often the head too: one copy serves both.
        if let Some(blocks) = self.embedding.get() {
            return Some(blocks.clone());
        }
        let blocks = read()?;
        Some(self.embedding.get_or_init(|| blocks).clone())
    }

    /// Vectors of the vocabulary, quantised where they are stored so.
    fn embed<B: Backend>(&self, backend: &B) -> Result<TableOf<B>, ModelError> {
        let a = self.architecture;
        let (name, width) = (self.top(self.names().embed, "weight"), a.embedding.width);
        let kind = self.checkpoint.info(&name).map(|info| info.dtype);
        let blocks = kind
            .filter(|&k| Blocks::supports(k) && self.settings.precision == Precision::Single)
            .and_then(|kind| self.blocks(&name, kind, a.vocab, width));
        let table = match (blocks, self.stored(&name, a.vocab, width)) {
            (Some(blocks), _) => backend.table_of(blocks),
            (None, Some(stored)) => backend.table_stored(stored),
            (None, None) => backend.table(self.read(&name)?, width),
        };
        Ok(TableOf {
            table,
            rows: a.vocab,
        })
    }

    /// A matrix as `[outputs, inputs]`, quantised where it is stored so.
    fn weights(&self, name: &str, outputs: usize, inputs: usize) -> Result<Weights, ModelError> {
        let kind = self.checkpoint.info(name).map(|info| info.dtype);
        if let Some(kind) = kind.filter(|&k| Blocks::supports(k))
            && self.settings.precision == Precision::Single
            && let Some(blocks) = self.blocks(name, kind, outputs, inputs)
        {
            return Ok(Weights::Blocks {
                blocks,
                keep: self.settings.keep_unpacked,
            });
        }
        if let Some(stored) = self.stored(name, outputs, inputs)
            && !self.names().transposed
        {
            return Ok(Weights::Stored(stored));
        }
        Ok(Weights::Plain {
            data: self.plain(name, outputs, inputs)?,
            outputs,
            inputs,
        })
    }

    /// A matrix of plain numbers where it lies, if the device takes it so.
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
        if !self.settings.as_stored || !plain || !fits || !unrounded {
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
    fn linear<B: Backend>(
        &self,
        backend: &B,
        names: &[(String, usize)],
        inputs: usize,
    ) -> Result<B::Linear, ModelError> {
        let mut parts = vec![];
        let mut bias: Vec<f32> = vec![];
        let mut biased = false;
        for (name, outputs) in names {
            parts.push(self.weights(name, *outputs, inputs)?);
            match self.optional(&name.replace(".weight", ".bias"), *outputs)? {
                Some(own) => {
                    biased = true;
                    bias.extend(own);
                }
                None => bias.resize(bias.len() + outputs, 0.0),
            }
        }
        Ok(backend.prepare(join(parts), biased.then_some(bias)))
    }

    /// A matrix as `[outputs, inputs]` in plain numbers, however it is stored.
    fn plain(&self, name: &str, outputs: usize, inputs: usize) -> Result<Vec<f32>, ModelError> {
        let data = self.read(name)?;
        if data.len() != outputs * inputs {
            return Err(self.wrong_shape(name, &[data.len()], &[outputs, inputs]));
        }
        Ok(if self.names().transposed {
            transpose(&data, inputs, outputs)
        } else {
            data
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_types_are_read_and_others_refused() {
        assert_eq!(Precision::parse(Some("bf16")).unwrap(), Precision::Bf16);
        assert!(Precision::parse(Some("int3")).unwrap_err().hint.is_some());
    }
}
