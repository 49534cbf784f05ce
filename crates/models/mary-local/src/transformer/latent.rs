//! Queries, keys and values that are made of shorter vectors (DeepSeek), as others have them: each head with what turns
//! in front, and values filled up to its width.

use rayon::prelude::*;

use super::Transformer;
use super::parts::{LatentOf, WorkOf};
use crate::kernels::{Backend, NormOf};

impl<B: Backend> Transformer<B> {
    /// Reads what they are made of in `qkv`, writes them there.
    pub(super) fn expand(&self, of: &LatentOf<B>, rows: usize, work: &mut WorkOf<B>) {
        let (a, b, heads, extent) = (
            &self.architecture,
            &self.backend,
            self.heads(),
            work.extent(rows),
        );
        let Some(l) = a.attention.latent else {
            return;
        };
        let (q, kv, dim) = (heads.q_width(), heads.kv_width(), a.head_dim);
        let (first, still) = (l.queries.unwrap_or(q), dim - l.turning);
        let given = b.download(&work.qkv, rows * (first + l.rank + l.turning));
        let part = |from: usize, width: usize| -> Vec<f32> {
            let rows = given.chunks_exact(first + l.rank + l.turning);
            rows.flat_map(|row| &row[from..from + width])
                .copied()
                .collect()
        };
        let mut made =
            |(norm, linear): &(NormOf<B::Vector>, B::Linear), of: &[f32], width: usize| {
                b.upload(of, &mut work.second);
                b.norm(&work.second, rows, norm, &mut work.narrow);
                b.linear(&work.narrow, extent, linear, &mut work.wide, false);
                b.download(&work.wide, rows * width)
            };
        let mut queries = part(0, first);
        if let Some(of) = &of.queries {
            queries = made(of, &queries, q);
        }
        let both = made(&of.keys, &part(first, l.rank), a.heads * (still + l.value));
        let turning = part(first + l.rank, l.turning);
        let turned = |from: &[f32], to: &mut [f32]| match l.paired {
            true => (0..l.turning).for_each(|i| to[i % 2 * (l.turning / 2) + i / 2] = from[i]),
            false => to.copy_from_slice(from),
        };
        let mut all = vec![0.0; rows * heads.qkv_width()];
        let each = all.par_chunks_exact_mut(heads.qkv_width()).enumerate();
        each.with_min_len(16).for_each(|(row, out)| {
            for head in 0..a.heads {
                let (to_q, rest) = out[head * dim..].split_at_mut(q);
                let (to_k, to_v) = rest.split_at_mut(kv);
                let query = &queries[row * q + head * dim..][..dim];
                turned(&query[still..], &mut to_q[..l.turning]);
                to_q[l.turning..dim].copy_from_slice(&query[..still]);
                let both = &both[(row * a.heads + head) * (still + l.value)..][..still + l.value];
                turned(
                    &turning[row * l.turning..][..l.turning],
                    &mut to_k[..l.turning],
                );
                to_k[l.turning..dim].copy_from_slice(&both[..still]);
                to_v[..l.value].copy_from_slice(&both[still..]);
            }
        });
        b.upload(&all, &mut work.qkv);
    }

    /// What heads give, without what filled their values up.
    pub(super) fn shorten(&self, rows: usize, work: &mut WorkOf<B>) {
        let (a, b) = (&self.architecture, &self.backend);
        if a.value_dim() < a.head_dim {
            let all = b.download(&work.attended, rows * a.q_width());
            let short = all
                .chunks_exact(a.head_dim)
                .flat_map(|head| &head[..a.value_dim()]);
            b.upload(&short.copied().collect::<Vec<_>>(), &mut work.attended);
        }
    }
}
