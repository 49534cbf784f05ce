//! Blocks cut at attention instead of at their ends: what a device may take through in one go.

use super::{BlockOf, DenseOf, MlpOf, Pass, Transformer, WorkOf};
use crate::config::{Block, QkNorm};
use crate::kernels::{Backend, Beginning, Between, Ending, Extent, NormOf};

/// A norm that attention and the feed-forward layers share is named twice.
struct Parts<'a, B: Backend> {
    attn_norm: &'a NormOf<B::Vector>,
    mlp_norm: &'a NormOf<B::Vector>,
    mlp: &'a DenseOf<B>,
}

impl<B: Backend> BlockOf<B> {
    /// `None` where the feed-forward layers are not dense, or no norm stands before attention.
    fn parts(&self) -> Option<Parts<'_, B>> {
        let attn_norm = self.attn_norm.as_ref()?;
        match &self.mlp {
            MlpOf::Dense(mlp) => Some(Parts {
                attn_norm,
                mlp_norm: self.mlp_norm.as_ref().unwrap_or(attn_norm),
                mlp,
            }),
            MlpOf::Sparse(_) | MlpOf::Nothing => None,
        }
    }
}

impl<B: Backend> Transformer<B> {
    /// Whether blocks are made of what [`Between`] describes.
    pub(super) fn fusable(&self) -> bool {
        let a = &self.architecture;
        let ordered = matches!(a.block, Block::Sequential | Block::Parallel { .. });
        let norms = matches!(a.attention.qk_norm, QkNorm::None | QkNorm::Shared);
        let held = self.fetch.is_none() && !self.blocks.is_empty();
        ordered
            && norms
            && a.recurrence.is_none()
            && a.attention.relative.is_none()
            && a.attention.clip.is_none()
            && a.attention.latent.is_none()
            && held
    }

    /// Whether the device takes so many rows from one attention to the next in one go.
    pub(super) fn goes_between(&self, of: Extent) -> bool {
        let parts = self
            .blocks
            .iter()
            .map(|block| Some((block, block.parts()?)));
        let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
            return false;
        };
        let layers: Vec<&B::Linear> = parts
            .into_iter()
            .flat_map(|(block, of)| [&block.qkv, &block.attn_out, &of.mlp.up, &of.mlp.down])
            .collect();
        self.backend.goes_between(of, &layers)
    }

    /// The rest of one block and the beginning of another.
    pub(super) fn between(
        &self,
        last: Option<&Pass<'_, '_, B>>,
        next: Option<&Pass<'_, '_, B>>,
        cache: &mut B::Cache,
        work: &mut WorkOf<B>,
    ) {
        let (a, heads) = (&self.architecture, self.heads());
        let rows = last.map_or(0, |pass| pass.rows);
        let rows = next.map_or(rows, |pass| pass.rows);
        let ending = last
            .and_then(|pass| self.held(pass.layer))
            .and_then(|block| {
                let Parts { mlp_norm, mlp, .. } = block.parts()?;
                Some(Ending {
                    attended: &work.attended,
                    out: &block.attn_out,
                    norm: mlp_norm,
                    parallel: matches!(a.block, Block::Parallel { .. }),
                    up: &mlp.up,
                    shape: (a.intermediate, a.mlp.gated),
                    activation: a.mlp.activation,
                    down: &mlp.down,
                })
            });
        let beginning = next.and_then(|pass| {
            let block = self.held(pass.layer)?;
            let kind = a.kinds.get(pass.layer).copied().unwrap_or_default();
            let norms = block.qk_norms.as_ref();
            Some(Beginning {
                norm: block.parts()?.attn_norm,
                qkv: &block.qkv,
                to: &mut work.qkv,
                heads: &heads,
                norms: norms.map(|n| (&n.queries.weight, &n.keys.weight, n.queries.how)),
                rotary: kind.rope.and_then(|r| pass.rotary.get(r)),
                cache: (cache, pass.store),
                plan: pass.plan,
            })
        });
        self.backend.between(Between {
            rows,
            x: &mut work.x,
            ending,
            beginning,
        });
    }
}
