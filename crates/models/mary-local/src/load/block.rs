//! One block: attention with its norms, and the feed-forward block or its experts.

use std::ops::Range;

use mary_weights::TensorInfo;

use super::order::{join, scaled, transpose, ungroup, unweave};
use super::{Loader, not_there};
use crate::config::{
    Carrying, Distances, ExpertNames, HeadGate, Norm, QkNorm, QkvLayout, QkvNames, Recurrence,
    Relative,
};
use crate::errors::Result;
use crate::kernels::{Backend, Extent, MixerOf, NormOf, RelativeOf, Stored, Weights};
use crate::transformer::{
    AcrossOf, BlockOf, DenseOf, ExpertsOf, GateOf, LatentOf, MlpOf, QkNormsOf,
};

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
                Some(r) => self.carried(layer, r)?,
                None => self.qkv(layer)?,
            },
            latent: self.latent_of(layer)?,
            qk_norms: self.qk_norms(layer)?,
            attn_out: match a.carries(layer) {
                Some(r) => self.ending(self.in_mixer(layer, "out_proj.weight"), r.inner)?,
                None => {
                    let inputs = a.heads * a.value_dim();
                    self.ending(self.in_layer(layer, n.attn_out, "weight"), inputs)?
                }
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
            sinks: match a.attention.sinks {
                true => Some(self.needed(&self.in_layer(layer, "self_attn", "sinks"), a.heads)?),
                false => None,
            },
            mlp_norm: norm(n.mlp_norm)?,
            mlp: self.mlp(layer)?,
            post_mlp_norm: norm(n.post_norms.1)?,
        })
    }

    fn latent_of(&self, layer: usize) -> Result<Option<LatentOf<B>>> {
        let norm = Norm {
            rms: true,
            eps: 1e-6,
            unit_offset: false,
        };
        let all = self.latent(layer).into_iter();
        let all = all.map(|((name, inputs), product)| -> Result<_> {
            let norm = self.norm_of(self.needed(&name, inputs)?, None, norm);
            Ok((norm, self.linear(&[product], inputs)?))
        });
        let mut all = all.collect::<Result<Vec<_>>>()?;
        let keys = all.pop();
        let queries = all.pop();
        Ok(keys.map(|keys| LatentOf { queries, keys }))
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

    /// The first projection of a layer that carries a state: gates, what is convolved, and steps.
    fn carried(&self, layer: usize, r: Recurrence) -> Result<B::Linear> {
        let names = self.in_projections(layer, &r);
        let [(joined, _), (steps, _)] = &names[..] else {
            return self.linear(&names, self.architecture.hidden);
        };
        let (keys, each) = (r.state, r.heads / r.groups);
        let values = r.inner / r.groups;
        let last = 2 * keys + values;
        let parts = [last..last + values, 0..keys, keys..2 * keys, 2 * keys..last];
        let wide = self.ungrouped(joined, last + values, &parts)?;
        let steps = self.ungrouped(steps, 2 * each, &[each..2 * each, 0..each])?;
        Ok(self.backend.prepare(join(vec![wide, steps]), None))
    }

    /// Some rows of every group of `size`, part after part.
    fn ungrouped(&self, name: &str, size: usize, parts: &[Range<usize>]) -> Result<Weights> {
        let hidden = self.architecture.hidden;
        let rows = self.rows_of(name, hidden);
        let outputs = rows / size * parts.iter().map(Range::len).sum::<usize>();
        Ok(match self.stored(name, rows, hidden) {
            Some(stored) => {
                let bytes = ungroup(&stored.bytes, stored.bytes.len() / rows, size, parts).into();
                Weights::Stored(Stored {
                    bytes,
                    outputs,
                    ..stored
                })
            }
            None => {
                let data = ungroup(&self.plain(name, rows, hidden)?, hidden, size, parts);
                Weights::plain(data, outputs, hidden)
            }
        })
    }

    /// How many rows of so many numbers a tensor has.
    fn rows_of(&self, name: &str, inputs: usize) -> usize {
        let numbers = |info: &TensorInfo| info.shape.iter().product::<usize>();
        self.checkpoint.info(name).map_or(0, numbers) / inputs
    }

    /// The products of all experts of a layer, whose matrices lie in one tensor.
    fn stack(
        &self,
        name: &str,
        turned: bool,
        (outputs, inputs): (usize, usize),
        scale: f32,
    ) -> Result<Vec<B::Linear>> {
        let (size, rows) = (
            outputs * inputs,
            self.rows_of(name, outputs * inputs) * outputs,
        );
        let each = |data: Vec<f32>| -> Vec<Weights> {
            let one = |data: &[f32]| match turned {
                true => transpose(data, inputs, outputs),
                false => data.to_vec(),
            };
            let all = data.chunks_exact(size);
            all.map(|data| Weights::plain(one(data), outputs, inputs))
                .collect()
        };
        let all = match (
            self.blocks(name, rows, inputs),
            self.stored(name, rows, inputs),
        ) {
            (Some(blocks), _) if scale == 1.0 => {
                let keep = self.settings.keep_unpacked;
                let some = |first| Weights::Blocks {
                    blocks: blocks.some(first, outputs),
                    keep,
                };
                (0..rows).step_by(outputs).map(some).collect()
            }
            (None, Some(stored)) if !turned && scale == 1.0 => {
                let width = stored.bytes.len() / rows * outputs;
                let some = |at: usize| {
                    Weights::Stored(Stored {
                        bytes: stored.bytes.part(at..at + width),
                        outputs,
                        ..stored
                    })
                };
                (0..stored.bytes.len()).step_by(width).map(some).collect()
            }
            _ => each(scaled(self.read(name)?, scale)),
        };
        let biases = format!("{name}_bias");
        let biases = self.has(&biases).then(|| self.read(&biases)).transpose()?;
        let bias = |at: usize| {
            biases
                .as_ref()
                .map(|b| b[at * outputs..][..outputs].to_vec())
        };
        let one = |(at, weights)| self.backend.prepare(vec![weights], bias(at));
        Ok(all.into_iter().enumerate().map(one).collect())
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
        let (weight, bias) = r.convolution();
        let bias = self.optional(&name(bias), conv)?;
        let vector = |x| self.backend.vector(x);
        let weight = vector(transpose(&read(weight)?, conv, r.kernel));
        let bias = vector(bias.unwrap_or_else(|| vec![0.0; conv]));
        if r.how == Carrying::Convolves {
            let none = || vector(vec![]);
            return Ok(MixerOf {
                shape: r,
                conv: weight,
                conv_bias: bias,
                steps,
                step_bias: none(),
                decay: none(),
                skip: none(),
                norm: None,
            });
        }
        Ok(MixerOf {
            shape: r,
            conv: weight,
            conv_bias: bias,
            steps,
            step_bias: vector(self.needed(&name(step_bias), r.heads)?),
            decay: vector(read("A_log")?.iter().map(|x| -x.exp()).collect()),
            skip: vector(match r.how {
                Carrying::Corrects => vec![0.0; r.heads],
                _ => self.needed(&name("D"), r.heads)?,
            }),
            norm: match r.rank {
                Some(_) => None,
                None => {
                    let weight = self.needed(&name("norm.weight"), r.normed())?;
                    Some(vector(weight.repeat(r.inner / r.normed())))
                }
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
        let of = |weights, bias, norm| {
            let linear = self.backend.prepare(vec![weights], bias);
            Ok(Some(GateOf { linear, norm }))
        };
        match (a.attention.gate, &names[..]) {
            (HeadGate::Values, [_, (values, _)]) => {
                let (weights, bias) = self.half(values, true)?;
                of(weights, Some(bias), Some(self.bare(a.q_width())))
            }
            (HeadGate::Queries, [(queries, _), ..]) if a.carries(layer).is_none() => {
                let (weights, bias) = self.every_other(queries, true)?;
                of(weights, bias, None)
            }
            _ => Ok(None),
        }
    }

    /// The rows of queries, or of the gates that stand behind those of each head.
    fn every_other(&self, name: &str, gates: bool) -> Result<(Weights, Option<Vec<f32>>)> {
        let (a, width) = (self.architecture, self.architecture.head_dim);
        let part = [if gates { width..2 * width } else { 0..width }];
        let bias = self.bias(name, 2 * a.q_width())?;
        let bias = bias.map(|b| ungroup(&b, 1, 2 * width, &part));
        Ok((self.ungrouped(name, 2 * width, &part)?, bias))
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
                let expert = self.expert((layer, prefix), &names, width)?;
                let gate = Some(gate).filter(|gate| !gate.is_empty());
                let gate = gate.map(|gate| {
                    let name = self.in_layer(layer, gate, "weight");
                    self.linear(&[(name, 1)], a.hidden)
                });
                Some((expert, gate.transpose()?))
            }
            None => None,
        };
        Ok(MlpOf::Sparse(ExpertsOf {
            experts: match self.stacked(layer) {
                Some([(up, turned), (down, _)]) => {
                    let width = experts.intermediate;
                    let up = self.stack(&up, turned, (2 * width, a.hidden), 1.0)?;
                    let down = self.stack(&down, turned, (a.hidden, width), a.residual_scale)?;
                    let up = up.into_iter();
                    let both = up.zip(down);
                    both.map(|(up, down)| DenseOf {
                        up,
                        norm: None,
                        down,
                    })
                    .collect()
                }
                None => each.collect::<Result<_, _>>()?,
            },
            router: self.linear(&[(router, experts.count)], a.hidden)?,
            bias: self
                .router_bias(layer, &names)
                .map(|name| self.read(&name))
                .transpose()?,
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
        let mut parts = vec![];
        for (i, (name, outputs)) in self.qkv_names(layer).iter().enumerate() {
            // Values do not turn.
            let turning = if i < 2 { turning } else { 0 };
            let in_order = |data: &[f32], width| unweave(data, width, a.head_dim, turning);
            let data = in_order(&self.plain(name, *outputs, a.hidden)?, a.hidden);
            let bias = self.bias(name, *outputs)?.map(|b| in_order(&b, 1));
            parts.push((Weights::plain(data, *outputs, a.hidden), bias));
        }
        Ok(self.joined(parts))
    }

    fn qkv(&self, layer: usize) -> Result<B::Linear> {
        let a = self.architecture;
        let names = self.qkv_names(layer);
        if a.interleaved {
            return self.unwoven(layer);
        }
        if let ([(queries, _), rest @ ..], HeadGate::Queries) = (&names[..], a.attention.gate) {
            let mut parts = vec![self.every_other(queries, false)?];
            for (name, rows) in rest {
                let weights = self.weights(name, *rows, a.hidden)?;
                parts.push((weights, self.bias(name, *rows)?));
            }
            return Ok(self.joined(parts));
        }
        if let ([both, (values, _)], HeadGate::Values) = (&names[..], a.attention.gate) {
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
        let (q, size) = (a.group() * a.head_dim, (a.group() + 2) * a.head_dim);
        let parts = [0..q, q..q + a.head_dim, q + a.head_dim..size];
        let bias = self.bias(name, *outputs)?;
        let bias = bias.map(|b| ungroup(&b, 1, size, &parts));
        let weights = self.ungrouped(name, size, &parts)?;
        Ok(self.backend.prepare(vec![weights], bias))
    }
}
