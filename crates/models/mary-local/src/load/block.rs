//! One block: attention with its norms, and the feed-forward block or its experts.

use mary_contract::{ErrorKind, ModelError};

use super::Loader;
use super::order::{scaled, ungroup, unweave};
use crate::config::{ExpertNames, QkNorm, QkvLayout, QkvNames};
use crate::kernels::{Backend, NormOf, Stored, Weights};
use crate::transformer::{BlockOf, DenseOf, ExpertsOf, MlpOf, QkNormsOf};

impl Loader<'_> {
    pub(super) fn block<B: Backend>(
        &self,
        backend: &B,
        layer: usize,
    ) -> Result<BlockOf<B>, ModelError> {
        let (a, n) = (self.architecture, self.names());
        let norm = |name: &'static str| -> Result<Option<NormOf<B::Vector>>, ModelError> {
            if !self.block_norms().contains(&name) || name.is_empty() {
                return Ok(None);
            }
            self.norm(backend, |part| self.in_layer(layer, name, part))
                .map(Some)
        };
        let out = self.in_layer(layer, n.attn_out, "weight");
        Ok(BlockOf {
            attn_norm: norm(n.attn_norm)?,
            qkv: self.qkv(backend, layer)?,
            qk_norms: self.qk_norms(backend, layer)?,
            attn_out: self.ending(backend, out, a.q_width())?,
            post_attn_norm: norm(n.post_norms.0)?,
            mlp_norm: norm(n.mlp_norm)?,
            mlp: self.mlp(backend, layer)?,
            post_mlp_norm: norm(n.post_norms.1)?,
        })
    }

    /// The norms of queries and of keys, with weights for all that they normalise.
    fn qk_norms<B: Backend>(
        &self,
        backend: &B,
        layer: usize,
    ) -> Result<Option<QkNormsOf<B>>, ModelError> {
        let a = self.architecture;
        if a.attention.qk_norm == QkNorm::None {
            return Ok(None);
        }
        let (q, k) = self.names().qk_norms;
        let norm = |name: &str, heads: usize| -> Result<NormOf<B::Vector>, ModelError> {
            let (weight, bias) = match a.attention.qk_norm {
                QkNorm::PerHead => self.head_norms(layer, name, heads)?,
                QkNorm::Whole => (
                    self.needed(&self.in_layer(layer, name, "weight"), heads * a.head_dim)?,
                    None,
                ),
                _ => (
                    self.needed(&self.in_layer(layer, name, "weight"), a.head_dim)?,
                    None,
                ),
            };
            Ok(NormOf {
                weight: backend.vector(self.offset(weight)),
                bias: bias.map(|b| backend.vector(b)),
                how: a.norm,
            })
        };
        Ok(Some(QkNormsOf {
            queries: norm(q, a.heads)?,
            keys: norm(k, a.kv_heads)?,
        }))
    }

    /// Weights of a norm for every head: each its own, or the same for all.
    fn head_norms(
        &self,
        layer: usize,
        name: &str,
        heads: usize,
    ) -> Result<(Vec<f32>, Option<Vec<f32>>), ModelError> {
        let width = self.architecture.head_dim;
        let shared = self.in_layer(layer, name, "weight");
        if self.has(&shared) {
            let bias = self.optional(&self.in_layer(layer, name, "bias"), width)?;
            let weight = self.needed(&shared, width)?;
            return Ok((weight.repeat(heads), bias.map(|b| b.repeat(heads))));
        }
        let mut all = Vec::with_capacity(heads * width);
        for head in 0..heads {
            let own = self.in_layer(layer, &format!("{name}.norms.{head}"), "weight");
            all.extend(self.needed(&own, width)?);
        }
        Ok((all, None))
    }

    /// A vector that must be there.
    fn needed(&self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        self.optional(name, len)?.ok_or_else(|| {
            let message = format!("the tensor `{name}` is not in the checkpoint");
            ModelError::new(ErrorKind::BadModel, message)
        })
    }

    fn mlp<B: Backend>(&self, backend: &B, layer: usize) -> Result<MlpOf<B>, ModelError> {
        let a = self.architecture;
        let Some((experts, names)) = self.experts(layer) else {
            let down = self.in_layer(layer, self.names().down, "weight");
            return Ok(MlpOf::Dense(DenseOf {
                up: self.linear(backend, &self.up_names(layer), a.hidden)?,
                down: self.ending(backend, down, a.intermediate)?,
            }));
        };
        let router = self.in_layer(layer, names.router, "weight");
        let mut all = Vec::with_capacity(experts.count);
        for expert in 0..experts.count {
            let prefix = names.expert.replace("{}", &expert.to_string());
            all.push(self.expert(backend, (layer, &prefix), &names, experts.intermediate)?);
        }
        let shared = match experts.shared {
            Some(width) => {
                let (prefix, gate) = names.shared;
                let gate = self.in_layer(layer, gate, "weight");
                let expert = self.expert(backend, (layer, prefix), &names, width)?;
                Some((expert, self.linear(backend, &[(gate, 1)], a.hidden)?))
            }
            None => None,
        };
        Ok(MlpOf::Sparse(ExpertsOf {
            router: self.linear(backend, &[(router, experts.count)], a.hidden)?,
            experts: all,
            shared,
        }))
    }

    fn expert<B: Backend>(
        &self,
        backend: &B,
        (layer, prefix): (usize, &str),
        names: &ExpertNames,
        width: usize,
    ) -> Result<DenseOf<B>, ModelError> {
        let (gate, up, down) = names.parts;
        let name = |part: &str| self.in_layer(layer, &format!("{prefix}{part}"), "weight");
        let both = [(name(gate), width), (name(up), width)];
        Ok(DenseOf {
            up: self.linear(backend, &both, self.architecture.hidden)?,
            down: self.ending(backend, name(down), width)?,
        })
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
        let weights = match self.stored(name, *outputs, a.hidden) {
            Some(stored) => {
                let width = stored.bytes.len() / outputs;
                let bytes = ungroup(&stored.bytes, width, a.kv_heads, a.group(), a.head_dim);
                Weights::Stored(Stored {
                    bytes: bytes.into(),
                    ..stored
                })
            }
            None => {
                let data = self.read(name)?;
                Weights::Plain {
                    data: ungroup(&data, a.hidden, a.kv_heads, a.group(), a.head_dim),
                    outputs: *outputs,
                    inputs: a.hidden,
                }
            }
        };
        let bias = self.optional(&name.replace(".weight", ".bias"), *outputs)?;
        let bias = bias.map(|b| ungroup(&b, 1, a.kv_heads, a.group(), a.head_dim));
        Ok(backend.prepare(vec![weights], bias))
    }
}
