//! One block: attention with its norms, and the feed-forward block or its experts.

use mary_contract::ModelError;
use mary_weights::TensorInfo;

use super::order::{scaled, ungroup, unweave};
use super::{Loader, not_there};
use crate::config::{ExpertNames, QkNorm, QkvLayout, QkvNames};
use crate::kernels::{Backend, NormOf, Stored, Weights};
use crate::transformer::{BlockOf, DenseOf, ExpertsOf, MlpOf, QkNormsOf};

impl<B: Backend> Loader<'_, B> {
    pub(super) fn block(&self, layer: usize) -> Result<BlockOf<B>, ModelError> {
        let (a, n) = (self.architecture, self.names());
        let norm = |name: &'static str| -> Result<Option<NormOf<B::Vector>>, ModelError> {
            if !self.block_norms().contains(&name) || name.is_empty() {
                return Ok(None);
            }
            let norm = self.norm(|part| self.in_layer(layer, name, part));
            norm.map(Some)
        };
        Ok(BlockOf {
            attn_norm: norm(n.attn_norm)?,
            qkv: self.qkv(layer)?,
            qk_norms: self.qk_norms(layer)?,
            attn_out: self.ending(self.in_layer(layer, n.attn_out, "weight"), a.q_width())?,
            post_attn_norm: norm(n.post_norms.0)?,
            mlp_norm: norm(n.mlp_norm)?,
            mlp: self.mlp(layer)?,
            post_mlp_norm: norm(n.post_norms.1)?,
        })
    }

    fn qk_norms(&self, layer: usize) -> Result<Option<QkNormsOf<B>>, ModelError> {
        let a = self.architecture;
        if a.attention.qk_norm == QkNorm::None {
            return Ok(None);
        }
        let norm = |name: &str, heads: usize| -> Result<NormOf<B::Vector>, ModelError> {
            let own = |width| self.needed(&self.in_layer(layer, name, "weight"), width);
            let (weight, bias) = match a.attention.qk_norm {
                QkNorm::PerHead => self.head_norms(layer, name, heads)?,
                QkNorm::Whole => (own(heads * a.head_dim)?, None),
                _ => (own(a.head_dim)?, None),
            };
            Ok(self.norm_of(weight, bias, a.norm))
        };
        let (q, k) = self.names().qk_norms;
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
        let table = |info: &TensorInfo| info.shape == [heads, width];
        if self.checkpoint.info(&shared).is_some_and(table) {
            // As the rows of what it normalises are.
            let turning = self.turning();
            return Ok((unweave(&self.read(&shared)?, 1, width, turning), None));
        }
        if self.has(&shared) {
            let bias = self.bias(&shared, width)?;
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

    fn needed(&self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        self.optional(name, len)?.ok_or_else(|| not_there(name))
    }

    fn mlp(&self, layer: usize) -> Result<MlpOf<B>, ModelError> {
        let a = self.architecture;
        let Some((experts, names)) = self.experts(layer) else {
            let down = self.in_layer(layer, self.names().down, "weight");
            return Ok(MlpOf::Dense(DenseOf {
                up: self.linear(&self.up_names(layer), a.hidden)?,
                down: self.ending(down, a.intermediate)?,
            }));
        };
        let router = self.in_layer(layer, names.router, "weight");
        let each = (0..experts.count).map(|expert| {
            let prefix = names.expert.replace("{}", &expert.to_string());
            self.expert((layer, &prefix), &names, experts.intermediate)
        });
        let shared = match experts.shared {
            Some(width) => {
                let (prefix, gate) = names.shared;
                let gate = self.in_layer(layer, gate, "weight");
                let expert = self.expert((layer, prefix), &names, width)?;
                Some((expert, self.linear(&[(gate, 1)], a.hidden)?))
            }
            None => None,
        };
        Ok(MlpOf::Sparse(ExpertsOf {
            experts: each.collect::<Result<_, _>>()?,
            router: self.linear(&[(router, experts.count)], a.hidden)?,
            shared,
        }))
    }

    fn expert(
        &self,
        (layer, prefix): (usize, &str),
        names: &ExpertNames,
        width: usize,
    ) -> Result<DenseOf<B>, ModelError> {
        let (gate, up, down) = names.parts;
        let name = |part: &str| self.in_layer(layer, &format!("{prefix}{part}"), "weight");
        let both = [(name(gate), width), (name(up), width)];
        Ok(DenseOf {
            up: self.linear(&both, self.architecture.hidden)?,
            down: self.ending(name(down), width)?,
        })
    }

    /// A product that ends in the residual stream, with the factor that some families put there.
    fn ending(&self, name: String, inputs: usize) -> Result<B::Linear, ModelError> {
        let (outputs, scale) = (self.architecture.hidden, self.architecture.residual_scale);
        if scale == 1.0 {
            return self.linear(&[(name, outputs)], inputs);
        }
        let data = scaled(self.plain(&name, outputs, inputs)?, scale);
        let bias = self.bias(&name, outputs)?.map(|b| scaled(b, scale));
        let weights = Weights::plain(data, outputs, inputs);
        Ok(self.backend.prepare(vec![weights], bias))
    }

    /// Dimensions of a head whose rows are put into another order.
    fn turning(&self) -> usize {
        let a = self.architecture;
        let rope = a.ropes.first().filter(|_| a.interleaved);
        rope.map_or(0, |rope| rope.dim)
    }

    /// Neighbouring dimensions that turn together, in the order in which the halves of what turns do.
    fn unwoven(&self, layer: usize) -> Result<B::Linear, ModelError> {
        let a = self.architecture;
        let turning = self.turning();
        let (mut data, mut bias, mut biased, mut rows) = (vec![], vec![], false, 0);
        for (i, (name, outputs)) in self.qkv_names(layer).iter().enumerate() {
            let part = self.plain(name, *outputs, a.hidden)?;
            let own = self.bias(name, *outputs)?;
            biased |= own.is_some();
            let own = own.unwrap_or_else(|| vec![0.0; *outputs]);
            // Values do not turn.
            let turning = if i < 2 { turning } else { 0 };
            data.extend(unweave(&part, a.hidden, a.head_dim, turning));
            bias.extend(unweave(&own, 1, a.head_dim, turning));
            rows += outputs;
        }
        let weights = Weights::plain(data, rows, a.hidden);
        Ok(self.backend.prepare(vec![weights], biased.then_some(bias)))
    }

    fn qkv(&self, layer: usize) -> Result<B::Linear, ModelError> {
        let a = self.architecture;
        let names = self.qkv_names(layer);
        if a.interleaved {
            return self.unwoven(layer);
        }
        let grouped = matches!(self.names().qkv, QkvNames::Fused(_, QkvLayout::Grouped));
        let ([(name, outputs)], true) = (names.as_slice(), grouped) else {
            return self.linear(&names, a.hidden);
        };
        let weights = match self.stored(name, *outputs, a.hidden) {
            Some(stored) => {
                let width = stored.bytes.len() / outputs;
                let bytes = ungroup(&stored.bytes, width, a.kv_heads, a.group(), a.head_dim).into();
                Weights::Stored(Stored { bytes, ..stored })
            }
            None => {
                let data = self.read(name)?;
                let data = ungroup(&data, a.hidden, a.kv_heads, a.group(), a.head_dim);
                Weights::plain(data, *outputs, a.hidden)
            }
        };
        let bias = self.bias(name, *outputs)?;
        let bias = bias.map(|b| ungroup(&b, 1, a.kv_heads, a.group(), a.head_dim));
        Ok(self.backend.prepare(vec![weights], bias))
    }
}
