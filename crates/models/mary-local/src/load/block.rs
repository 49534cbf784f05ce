//! One block: attention with its norms, and the feed-forward block or its experts.

use mary_weights::TensorInfo;

use super::order::{join, scaled, transpose, ungroup, unweave};
use super::{Loader, not_there};
use crate::config::{Distances, ExpertNames, QkNorm, QkvLayout, QkvNames, Recurrence, Relative};
use crate::errors::Result;
use crate::kernels::{Backend, Extent, MixerOf, NormOf, RelativeOf, Stored, Weights};
use crate::transformer::{AcrossOf, BlockOf, DenseOf, ExpertsOf, GateOf, MlpOf, QkNormsOf};

impl<B: Backend> Loader<'_, B> {
    pub(super) fn block(&self, layer: usize) -> Result<BlockOf<B>> {
        let (a, n) = (self.architecture, self.names());
        let norm = |name: &'static str| -> Result<Option<NormOf<B::Vector>>> {
            if !self.block_norms().contains(&name) || self.no_norm(layer, name) {
                return Ok(None);
            }
            let norm = self.norm(|part| self.in_layer(layer, name, part));
            norm.map(Some)
        };
        Ok(BlockOf {
            attn_norm: norm(n.attn_norm)?,
            qkv: match a.carries(layer) {
                Some(r) => {
                    let name = self.in_mixer(layer, "in_proj.weight");
                    self.linear(&[(name, r.projected())], a.hidden)?
                }
                None => self.qkv(layer)?,
            },
            qk_norms: self.qk_norms(layer)?,
            attn_out: match a.carries(layer) {
                Some(r) => self.ending(self.in_mixer(layer, "out_proj.weight"), r.inner)?,
                None => self.ending(self.in_layer(layer, n.attn_out, "weight"), a.q_width())?,
            },
            mixer: a.carries(layer).map(|r| self.mixer(layer, r)).transpose()?,
            across: match a.source {
                Some(_) => Some(self.across_of(layer)?),
                None => None,
            },
            post_attn_norm: norm(n.post_norms.0)?,
            gate: self.gate(layer)?,
            relative: a
                .attention
                .relative
                .map(|r| self.relative(layer, r))
                .transpose()?,
            mlp_norm: norm(n.mlp_norm)?,
            mlp: self.mlp(layer)?,
            post_mlp_norm: norm(n.post_norms.1)?,
        })
    }

    fn qk_norms(&self, layer: usize) -> Result<Option<QkNormsOf<B>>> {
        let a = self.architecture;
        if a.attention.qk_norm == QkNorm::None || a.carries(layer).is_some() {
            return Ok(None);
        }
        let norm = |name: &str, heads: usize| -> Result<NormOf<B::Vector>> {
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
    ) -> Result<(Vec<f32>, Option<Vec<f32>>)> {
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

    /// What a layer that carries a state has between its two projections.
    fn mixer(&self, layer: usize, r: Recurrence) -> Result<MixerOf<B::Linear, B::Vector>> {
        let name = |part: &str| self.in_mixer(layer, part);
        let conv = r.convolved();
        let read = |part: &str| self.read(&name(part));
        let rank = r.rank.unwrap_or(0);
        let plain = |data: &[f32], outputs, inputs| {
            let weights = Weights::plain(data.to_vec(), outputs, inputs);
            self.backend.prepare(vec![weights], None)
        };
        let steps = match r.rank {
            None => None,
            Some(_) => {
                let all = read("x_proj.weight")?;
                let (down, both) = all.split_at(rank * r.inner);
                Some([
                    plain(down, rank, r.inner),
                    plain(&read("dt_proj.weight")?, r.inner, rank),
                    plain(both, 2 * r.state, r.inner),
                ])
            }
        };
        let step_bias = if r.rank.is_some() {
            "dt_proj.bias"
        } else {
            "dt_bias"
        };
        let bias = self.optional(&name("conv1d.bias"), conv)?;
        let vector = |x| self.backend.vector(x);
        Ok(MixerOf {
            shape: r,
            conv: vector(transpose(&read("conv1d.weight")?, conv, r.kernel)),
            conv_bias: vector(bias.unwrap_or_else(|| vec![0.0; conv])),
            steps,
            step_bias: vector(self.needed(&name(step_bias), r.heads)?),
            decay: vector(read("A_log")?.iter().map(|x| -x.exp()).collect()),
            skip: vector(self.needed(&name("D"), r.heads)?),
            norm: match r.rank {
                Some(_) => None,
                None => Some(vector(self.needed(&name("norm.weight"), r.inner)?)),
            },
        })
    }

    /// A norm without weights.
    fn bare(&self, width: usize) -> NormOf<B::Vector> {
        self.norm_of(vec![1.0; width], None, self.architecture.norm)
    }

    /// The rows of values or, below them, of their gate.
    fn half(&self, name: &str, below: bool) -> Result<(Weights, Vec<f32>)> {
        let (rows, inputs) = (self.architecture.kv_width(), self.architecture.hidden);
        let mut data = self.plain(name, 2 * rows, inputs)?;
        let bias = self.bias(name, 2 * rows)?;
        let mut bias = bias.unwrap_or_else(|| vec![0.0; 2 * rows]);
        if below {
            (data, bias) = (data.split_off(rows * inputs), bias.split_off(rows));
        }
        data.truncate(rows * inputs);
        bias.truncate(rows);
        Ok((Weights::plain(data, rows, inputs), bias))
    }

    fn gate(&self, layer: usize) -> Result<Option<GateOf<B>>> {
        let a = self.architecture;
        let names = self.qkv_names(layer);
        let ([_, (values, _)], true) = (&names[..], a.attention.gated) else {
            return Ok(None);
        };
        let (weights, bias) = self.half(values, true)?;
        Ok(Some(GateOf {
            linear: self.backend.prepare(vec![weights], Some(bias)),
            norm: self.bare(a.q_width()),
        }))
    }

    /// Attention to a source.
    fn across_of(&self, layer: usize) -> Result<AcrossOf<B>> {
        let (a, n) = (self.architecture, self.names());
        let name = |part: &str| (self.across(layer, part), a.q_width());
        Ok(AcrossOf {
            norm: self.norm(|part| self.in_layer(layer, n.across.1, part))?,
            queries: self.linear(&[name("q")], a.hidden)?,
            source: self.linear(&[name("k"), name("v")], a.hidden)?,
            out: self.ending(self.across(layer, "o"), a.q_width())?,
        })
    }

    /// Distances as queries and keys of this layer, or as biases.
    fn relative(&self, layer: usize, how: Relative) -> Result<RelativeOf> {
        let (a, n, b) = (self.architecture, self.names(), &self.backend);
        let context = a.context as isize;
        let places = (-context..=context).map(|d| how.row(d) as u32).collect();
        let table = self.read(&self.distances(layer, how))?;
        if how.kind != Distances::Vectors {
            return Ok(RelativeOf {
                how,
                queries: vec![],
                keys: vec![],
                biases: table,
                places,
            });
        }
        let both = match n.qkv {
            QkvNames::Paired(..) => 1,
            _ => 2,
        };
        let project = self.linear(&self.qkv_names(layer)[..both], a.hidden)?;
        let norm = self.norm(|part| self.top(n.relative.1, part))?;
        let (mut given, mut normed) = (B::Tensor::default(), B::Tensor::default());
        b.upload(&table, &mut given);
        b.norm(&given, how.rows, &norm, &mut normed);
        let of = Extent {
            rows: how.rows,
            writing: false,
        };
        b.linear(&normed, of, &project, &mut given, false);
        let (q, both) = (a.q_width(), a.q_width() + a.kv_width());
        let all = b.download(&given, how.rows * both);
        Ok(RelativeOf {
            how,
            biases: vec![],
            queries: all
                .chunks_exact(both)
                .flat_map(|row| row[..q].to_vec())
                .collect(),
            keys: all
                .chunks_exact(both)
                .flat_map(|row| row[q..].to_vec())
                .collect(),
            places,
        })
    }

    fn needed(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        self.optional(name, len)?.ok_or_else(|| not_there(name))
    }

    fn mlp(&self, layer: usize) -> Result<MlpOf<B>> {
        let a = self.architecture;
        if self.names().down.is_empty() {
            return Ok(MlpOf::Nothing);
        }
        let Some((experts, names)) = self.experts(layer) else {
            let down = self.in_layer(layer, self.names().down, "weight");
            let mut up = None;
            if let ([(name, rows)], true) = (&self.up_names(layer)[..], self.names().gate_last) {
                let mut data = self.plain(name, *rows, a.hidden)?;
                data.rotate_left(rows / 2 * a.hidden);
                let weights = Weights::plain(data, *rows, a.hidden);
                up = Some(self.backend.prepare(vec![weights], None));
            }
            return Ok(MlpOf::Dense(DenseOf {
                up: match up {
                    Some(up) => up,
                    None => self.linear(&self.up_names(layer), a.hidden)?,
                },
                norm: self.names().gate_last.then(|| self.bare(a.intermediate)),
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
    ) -> Result<DenseOf<B>> {
        let (gate, up, down) = names.parts;
        let name = |part: &str| self.in_layer(layer, &format!("{prefix}{part}"), "weight");
        let both = [(name(gate), width), (name(up), width)];
        Ok(DenseOf {
            norm: None,
            up: self.linear(&both, self.architecture.hidden)?,
            down: self.ending(name(down), width)?,
        })
    }

    /// A product that ends in the residual stream, with the factor that some families put there.
    fn ending(&self, name: String, inputs: usize) -> Result<B::Linear> {
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
    fn unwoven(&self, layer: usize) -> Result<B::Linear> {
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

    fn qkv(&self, layer: usize) -> Result<B::Linear> {
        let a = self.architecture;
        let names = self.qkv_names(layer);
        if a.interleaved {
            return self.unwoven(layer);
        }
        if let ([both, (values, _)], true) = (&names[..], a.attention.gated) {
            let (weights, bias) = self.half(values, false)?;
            let rows = both.1;
            let first = self.bias(&both.0, rows)?.unwrap_or_else(|| vec![0.0; rows]);
            let all = join(vec![self.weights(&both.0, rows, a.hidden)?, weights]);
            return Ok(self.backend.prepare(all, Some([first, bias].concat())));
        }
        if let ([(name, outputs)], true, 1..) = (&names[..], a.attention.by_layer, layer) {
            let (scale, q) = (1.0 / (layer + 1) as f32, a.q_width());
            let mut data = self.plain(name, *outputs, a.hidden)?;
            let mut bias = self.bias(name, *outputs)?;
            data[..q * a.hidden].iter_mut().for_each(|x| *x *= scale);
            bias.iter_mut()
                .flat_map(|b| b[..q].iter_mut())
                .for_each(|x| *x *= scale);
            let weights = Weights::plain(data, *outputs, a.hidden);
            return Ok(self.backend.prepare(vec![weights], bias));
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
