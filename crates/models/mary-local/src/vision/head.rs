//! CLIP projects the row for the whole picture, SigLIP asks all rows by one learned query.

use mary_weights::Checkpoint;

use super::config::Contrastive;
use crate::config::Activation;
use crate::errors::{Result, bad_model};
use crate::kernels::{Backend, Extent, NormOf};
use crate::load::Loader;

/// From a tower's rows to one vector of the joint space.
pub(super) enum Head<B: Backend> {
    /// The first row, normed and projected.
    Class {
        norm: NormOf<B::Vector>,
        projection: B::Linear,
        inner: usize,
        width: usize,
    },
    /// A query over all rows, and a feed-forward block.
    Query {
        query: Query,
        out: B::Linear,
        norm: NormOf<B::Vector>,
        up: B::Linear,
        activation: Activation,
        wide: usize,
        down: B::Linear,
    },
}

/// Attention of one learned query, folded: its keys are multiplied into the query, and values are taken of the
/// mean that the query makes of them. The keys' bias adds the same to every row and so changes no share.
pub(super) struct Query {
    inner: usize,
    heads: usize,
    keys: Vec<f32>,
    values: Vec<f32>,
    bias: Vec<f32>,
}

impl<B: Backend> Head<B> {
    pub(super) fn load(
        of: &Loader<'_, B>,
        family: Contrastive,
        checkpoint: &Checkpoint,
    ) -> Result<Self> {
        let a = of.architecture;
        let (inner, wide) = (a.hidden, a.intermediate);
        let own = |name: &str| format!("{}{name}", of.body);
        match family {
            Contrastive::Clip => {
                let name = of.under(&["", "model."], "visual_projection.weight")?;
                let shape = checkpoint.info(&name).map(|info| &info.shape);
                let width = shape.and_then(|s| s.first().copied()).unwrap_or(0);
                let name = name.trim_end_matches(".weight");
                Ok(Self::Class {
                    norm: of.full_norm(&own("post_layernorm"), inner, a.norm)?,
                    projection: of.dense(name, width, inner)?,
                    inner,
                    width,
                })
            }
            Contrastive::Siglip => Ok(Self::Query {
                query: Query::load(of, inner, a.heads)?,
                out: of.dense(&own("head.attention.out_proj"), inner, inner)?,
                norm: of.full_norm(&own("head.layernorm"), inner, a.norm)?,
                up: of.dense(&own("head.mlp.fc1"), wide, inner)?,
                activation: a.mlp.activation,
                wide,
                down: of.dense(&own("head.mlp.fc2"), inner, wide)?,
            }),
        }
    }

    /// One vector for every view of `each` rows.
    pub(super) fn apply(&self, b: &B, rows: &[f32], each: usize) -> Result<Vec<Vec<f32>>> {
        let (mut x, mut y) = (B::Tensor::default(), B::Tensor::default());
        let (out, width) = match self {
            Self::Class {
                norm,
                projection,
                inner,
                width,
            } => {
                let views = rows.chunks_exact((each * inner).max(1));
                let first: Vec<f32> = views.flat_map(|v| v[..*inner].to_vec()).collect();
                let count = first.len() / inner;
                b.upload(&first, &mut x);
                b.norm(&x, count, norm, &mut y);
                b.linear(&y, Extent::reading(count), projection, &mut x, false);
                (b.download(&x, count * width), *width)
            }
            Self::Query {
                query,
                out,
                norm,
                up,
                activation,
                wide,
                down,
            } => {
                let inner = query.inner;
                let views = rows.chunks_exact((each * inner).max(1));
                let asked: Vec<f32> = views.flat_map(|view| query.ask(view)).collect();
                let count = asked.len() / inner.max(1);
                let of = Extent::reading(count);
                b.upload(&asked, &mut x);
                b.linear(&x, of, out, &mut y, false);
                let mut stream = b.download(&y, count * inner);
                b.upload(&stream, &mut x);
                b.norm(&x, count, norm, &mut y);
                b.linear(&y, of, up, &mut x, false);
                b.activate(&x, count, (*wide, false), *activation, &mut y);
                b.linear(&y, of, down, &mut x, false);
                let added = b.download(&x, count * inner);
                stream.iter_mut().zip(added).for_each(|(s, x)| *s += x);
                (stream, inner)
            }
        };
        b.check()?;
        let each = out.chunks_exact(width.max(1));
        Ok(each.map(<[f32]>::to_vec).collect())
    }
}

impl Query {
    fn load<B: Backend>(of: &Loader<'_, B>, inner: usize, heads: usize) -> Result<Self> {
        let read = |name: &str, len| of.vector(&format!("{}head.{name}", of.body), len);
        let probe = read("probe", inner)?;
        let weights = read("attention.in_proj_weight", 3 * inner * inner)?;
        let biases = read("attention.in_proj_bias", 3 * inner)?;
        if heads == 0 || !inner.is_multiple_of(heads) {
            return Err(bad_model(format!(
                "config.json: {heads} heads do not divide a width of {inner}"
            )));
        }
        let size = inner / heads;
        let scale = 1.0 / (size as f64).sqrt();
        let (of_queries, rest) = weights.split_at(inner * inner);
        let (of_keys, of_values) = rest.split_at(inner * inner);
        let mut keys = vec![0.0f64; heads * inner];
        for (n, row) in of_queries.chunks_exact(inner).enumerate() {
            let product: f64 = dot(row, &probe) + f64::from(biases[n]);
            let key = &of_keys[n * inner..(n + 1) * inner];
            let into = &mut keys[n / size * inner..(n / size + 1) * inner];
            for (to, k) in into.iter_mut().zip(key) {
                *to += scale * product * f64::from(*k);
            }
        }
        Ok(Self {
            inner,
            heads,
            keys: keys.into_iter().map(|k| k as f32).collect(),
            values: of_values.to_vec(),
            bias: biases[2 * inner..].to_vec(),
        })
    }

    fn ask(&self, rows: &[f32]) -> Vec<f32> {
        let (inner, size) = (self.inner, self.inner / self.heads);
        let mut out = Vec::with_capacity(inner);
        for (head, key) in self.keys.chunks_exact(inner).enumerate() {
            let mut shares: Vec<f64> = rows.chunks_exact(inner).map(|row| dot(row, key)).collect();
            let most = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            shares.iter_mut().for_each(|s| *s = (*s - most).exp());
            let sum: f64 = shares.iter().sum();
            let mut mean = vec![0.0f64; inner];
            for (row, share) in rows.chunks_exact(inner).zip(&shares) {
                let share = share / sum;
                for (to, x) in mean.iter_mut().zip(row) {
                    *to += share * f64::from(*x);
                }
            }
            for n in head * size..(head + 1) * size {
                let weight = &self.values[n * inner..(n + 1) * inner];
                let both = weight.iter().zip(&mean);
                let product: f64 = both.map(|(w, m)| f64::from(*w) * m).sum();
                out.push((product + f64::from(self.bias[n])) as f32);
            }
        }
        out
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let both = a.iter().zip(b);
    both.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
