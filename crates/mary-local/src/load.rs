//! From a checkpoint to a transformer on a device. Every name and shape is checked before the first
//! weight is read.

use std::cell::OnceCell;

use mary_contract::{ErrorKind, ModelError};
use mary_weights::{Checkpoint, TensorType};

use crate::config::{Architecture, Names, QkvLayout, QkvNames, UpNames};
use crate::kernels::cpu::quant::Blocks;
use crate::kernels::{Alibi, Backend, NormOf, Weights};
use crate::masked::{self, HeadNames};
use crate::precision::Precision;
use crate::transformer::{BlockOf, TableOf, TransformOf, Transformer};

/// How weights are loaded.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadSettings {
    /// The type weights are held in.
    pub precision: Precision,
    /// Quantised weights may also stay in memory unpacked.
    pub keep_unpacked: bool,
}

/// Reads tensors of one checkpoint under one architecture's names.
struct Loader<'a> {
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

/// Loads a transformer.
pub fn load<B: Backend>(
    backend: B,
    checkpoint: &Checkpoint,
    architecture: &Architecture,
    settings: LoadSettings,
) -> Result<Transformer<B>, ModelError> {
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
            for (name, outputs) in self.up_names(layer) {
                need(name, self.linear_shape(outputs, a.hidden));
            }
            let down = self.in_layer(layer, n.down, "weight");
            need(down, self.linear_shape(a.hidden, a.intermediate));
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

    fn block_norms(&self) -> Vec<&'static str> {
        use crate::config::Block;
        let n = self.names();
        match self.architecture.block {
            Block::Parallel { shared: true } => vec![n.attn_norm],
            Block::Sandwich => vec![n.attn_norm, n.mlp_norm, n.post_norms.0, n.post_norms.1],
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

    fn block<B: Backend>(&self, backend: &B, layer: usize) -> Result<BlockOf<B>, ModelError> {
        let (a, n) = (self.architecture, self.names());
        let norm = |name: &'static str| -> Result<Option<NormOf<B::Vector>>, ModelError> {
            if !self.block_norms().contains(&name) || name.is_empty() {
                return Ok(None);
            }
            self.norm(backend, |part| self.in_layer(layer, name, part))
                .map(Some)
        };
        let qk_norms = if a.attention.qk_norm {
            let read = |name| -> Result<B::Vector, ModelError> {
                let name = self.in_layer(layer, name, "weight");
                let data = self.optional(&name, a.head_dim)?.ok_or_else(|| {
                    let message = format!("the tensor `{name}` is not in the checkpoint");
                    ModelError::new(ErrorKind::BadModel, message)
                })?;
                Ok(backend.vector(self.offset(data)))
            };
            Some((read(n.qk_norms.0)?, read(n.qk_norms.1)?))
        } else {
            None
        };
        let out = self.in_layer(layer, n.attn_out, "weight");
        let down = self.in_layer(layer, n.down, "weight");
        Ok(BlockOf {
            attn_norm: norm(n.attn_norm)?,
            qkv: self.qkv(backend, layer)?,
            qk_norms,
            attn_out: self.ending(backend, out, a.q_width())?,
            post_attn_norm: norm(n.post_norms.0)?,
            mlp_norm: norm(n.mlp_norm)?,
            up: self.linear(backend, &self.up_names(layer), a.hidden)?,
            down: self.ending(backend, down, a.intermediate)?,
            post_mlp_norm: norm(n.post_norms.1)?,
        })
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
        let table = match blocks {
            Some(blocks) => backend.table_of(blocks),
            None => backend.table(self.read(&name)?, width),
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
        {
            if let Some(blocks) = self.blocks(name, kind, outputs, inputs) {
                return Ok(Weights::Blocks {
                    blocks,
                    keep: self.settings.keep_unpacked,
                });
            }
        }
        let data = self.read(name)?;
        if data.len() != outputs * inputs {
            return Err(self.wrong_shape(name, &[data.len()], &[outputs, inputs]));
        }
        let data = if self.names().transposed {
            transpose(&data, inputs, outputs)
        } else {
            data
        };
        Ok(Weights::Plain {
            data,
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

    /// A product that ends in the residual stream, with the factor that some families put there.
    fn ending<B: Backend>(
        &self,
        backend: &B,
        name: String,
        inputs: usize,
    ) -> Result<B::Linear, ModelError> {
        let (outputs, scale) = (self.architecture.hidden, self.architecture.residual_scale);
        if scale == 1.0 {
            return self.linear(backend, &[(name, outputs)], inputs);
        }
        let data = scaled(self.plain(&name, outputs, inputs)?, scale);
        let bias = self.optional(&name.replace(".weight", ".bias"), outputs)?;
        let weights = Weights::Plain {
            data,
            outputs,
            inputs,
        };
        Ok(backend.prepare(vec![weights], bias.map(|b| scaled(b, scale))))
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

    /// Queries and keys whose neighbouring dimensions turn together, in the order in which the halves
    /// of what turns do.
    fn unwoven<B: Backend>(&self, backend: &B, layer: usize) -> Result<B::Linear, ModelError> {
        let a = self.architecture;
        let turning = a.ropes.first().map_or(0, |rope| rope.dim);
        let (mut data, mut bias, mut biased, mut rows) = (vec![], vec![], false, 0);
        for (i, (name, outputs)) in self.qkv_names(layer).iter().enumerate() {
            let part = self.plain(name, *outputs, a.hidden)?;
            let own = self.optional(&name.replace(".weight", ".bias"), *outputs)?;
            biased |= own.is_some();
            let own = own.unwrap_or_else(|| vec![0.0; *outputs]);
            // Values do not turn.
            let turning = if i < 2 { turning } else { 0 };
            data.extend(unweave(&part, a.hidden, a.head_dim, turning));
            bias.extend(unweave(&own, 1, a.head_dim, turning));
            rows += outputs;
        }
        let weights = Weights::Plain {
            data,
            outputs: rows,
            inputs: a.hidden,
        };
        Ok(backend.prepare(vec![weights], biased.then_some(bias)))
    }

    fn qkv<B: Backend>(&self, backend: &B, layer: usize) -> Result<B::Linear, ModelError> {
        let a = self.architecture;
        let names = self.qkv_names(layer);
        if a.interleaved {
            return self.unwoven(backend, layer);
        }
        let grouped = matches!(self.names().qkv, QkvNames::Fused(_, QkvLayout::Grouped));
        let ([(name, outputs)], true) = (names.as_slice(), grouped) else {
            return self.linear(backend, &names, a.hidden);
        };
        let data = self.read(name)?;
        let data = ungroup(&data, a.hidden, a.kv_heads, a.group(), a.head_dim);
        let bias = self.optional(&name.replace(".weight", ".bias"), *outputs)?;
        let bias = bias.map(|b| ungroup(&b, 1, a.kv_heads, a.group(), a.head_dim));
        let weights = Weights::Plain {
            data,
            outputs: *outputs,
            inputs: a.hidden,
        };
        Ok(backend.prepare(vec![weights], bias))
    }

    /// The head of a masked language model; its decoder may be the embedding.
    fn masked<B: Backend>(
        &self,
        backend: &B,
        names: &HeadNames,
    ) -> Result<(B::Linear, TransformOf<B>), ModelError> {
        let a = self.architecture;
        let dense = (format!("{}.weight", names.dense), a.hidden);
        let transform = TransformOf {
            dense: self.linear(backend, &[dense], a.hidden)?,
            activation: a.mlp.activation,
            norm: self.norm(backend, |part| format!("{}.{part}", names.norm))?,
        };
        let own = format!("{}.weight", names.decoder);
        let name = match self.has(&own) {
            true => own,
            false => self.top(self.names().embed, "weight"),
        };
        let data = self.read(&name)?;
        if data.len() != a.vocab * a.hidden {
            return Err(self.wrong_shape(&name, &[data.len()], &[a.vocab, a.hidden]));
        }
        let weights = Weights::Plain {
            data,
            outputs: a.vocab,
            inputs: a.hidden,
        };
        let mut bias = None;
        for name in names.biases {
            bias = match bias {
                None => self.optional(name, a.vocab)?,
                found => found,
            };
        }
        Ok((backend.prepare(vec![weights], bias), transform))
    }

    fn head<B: Backend>(&self, backend: &B) -> Result<B::Linear, ModelError> {
        let a = self.architecture;
        let name = self.head_name();
        let bias = if a.tied {
            None
        } else {
            self.optional(&name.replace(".weight", ".bias"), a.vocab)?
        };
        // The head is read one row at a time like an embedding, never transposed.
        let kind = self.checkpoint.info(&name).map(|info| info.dtype);
        if kind.is_some_and(Blocks::supports) && a.logit_scale == 1.0 {
            return Ok(
                backend.prepare(vec![self.weights(&name, a.vocab, a.embedding.width)?], bias)
            );
        }
        let data = scaled(self.read(&name)?, a.logit_scale);
        let weights = Weights::Plain {
            data,
            outputs: a.vocab,
            inputs: a.embedding.width,
        };
        let bias = bias.map(|b| scaled(b, a.logit_scale));
        Ok(backend.prepare(vec![weights], bias))
    }
}

/// Puts plain matrices under one another, so that they are one product.
fn join(parts: Vec<Weights>) -> Vec<Weights> {
    if parts.len() < 2 || parts.iter().any(|p| matches!(p, Weights::Blocks { .. })) {
        return parts;
    }
    let mut whole = vec![];
    let (mut rows, mut columns) = (0, 0);
    for part in parts {
        if let Weights::Plain {
            data,
            outputs,
            inputs,
        } = part
        {
            whole.extend_from_slice(&data);
            rows += outputs;
            columns = inputs;
        }
    }
    vec![Weights::Plain {
        data: whole,
        outputs: rows,
        inputs: columns,
    }]
}

fn transpose(data: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut out = vec![0.0; data.len()];
    for r in 0..rows {
        for c in 0..columns {
            out[c * rows + r] = data[r * columns + c];
        }
    }
    out
}

fn scaled(mut data: Vec<f32>, scale: f32) -> Vec<f32> {
    if scale != 1.0 {
        data.iter_mut().for_each(|x| *x *= scale);
    }
    data
}

/// The rows of every head with its turning dimensions in the order 0, 2, 4 … 1, 3, 5 …
fn unweave(data: &[f32], width: usize, head_dim: usize, turning: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(data.len());
    for head in data.chunks_exact(head_dim * width) {
        let rows: Vec<&[f32]> = head.chunks_exact(width).collect();
        let (turn, stay) = rows.split_at(turning.min(rows.len()));
        for first in [0, 1] {
            turn.iter()
                .skip(first)
                .step_by(2)
                .for_each(|row| out.extend_from_slice(row));
        }
        stay.iter().for_each(|row| out.extend_from_slice(row));
    }
    out
}

/// Rows in the order queries, keys, values from rows where each key head keeps its queries, its key
/// and its value together.
fn ungroup(data: &[f32], width: usize, kv_heads: usize, group: usize, head_dim: usize) -> Vec<f32> {
    let head = head_dim * width;
    let mut out = Vec::with_capacity(data.len());
    let at = |kv: usize, i: usize| (kv * (group + 2) + i) * head;
    for kv in 0..kv_heads {
        out.extend_from_slice(&data[at(kv, 0)..at(kv, group)]);
    }
    for part in [group, group + 1] {
        for kv in 0..kv_heads {
            out.extend_from_slice(&data[at(kv, part)..][..head]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouped_rows_come_apart_into_queries_keys_values() {
        // Two key heads with two query heads each, one dimension, width one.
        let rows = [1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 11.0, 21.0];
        assert_eq!(
            ungroup(&rows, 1, 2, 2, 1),
            [1.0, 2.0, 3.0, 4.0, 10.0, 11.0, 20.0, 21.0]
        );
    }

    #[test]
    fn neighbours_that_turn_together_come_apart_into_halves() {
        let rows: Vec<f32> = (0..12u8).map(f32::from).collect();
        assert_eq!(
            unweave(&rows, 1, 6, 4),
            [0.0, 2.0, 1.0, 3.0, 4.0, 5.0, 6.0, 8.0, 7.0, 9.0, 10.0, 11.0]
        );
        assert_eq!(unweave(&rows, 2, 6, 0), rows);
    }

    #[test]
    fn transposing_twice_changes_nothing() {
        let data: Vec<f32> = (0..6u8).map(f32::from).collect();
        assert_eq!(transpose(&data, 2, 3), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(transpose(&transpose(&data, 2, 3), 3, 2), data);
    }

    #[test]
    fn number_types_are_read_and_others_refused() {
        assert_eq!(Precision::parse(Some("bf16")).unwrap(), Precision::Bf16);
        assert!(Precision::parse(Some("int3")).unwrap_err().hint.is_some());
    }
}
