//! The one transformer: every architecture is a configuration of this forward pass.

use mary_contract::{ErrorKind, ModelError};

use crate::config::{Architecture, Block};
use crate::kernels::{
    Alibi, AttentionCall, AttentionSettings, Backend, Heads, NormOf, Segment, Turns, Wanted,
};

/// Positions computed together: any mixture of sequences, one row for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The token of each row.
    pub tokens: Vec<u32>,
    /// Its position in its sequence.
    pub positions: Vec<usize>,
    /// The row of the cache that gets its keys and values.
    pub slots: Vec<usize>,
    /// Who attends to what.
    pub segments: Vec<Segment>,
}

impl Batch {
    /// Rows.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Adds a run of positions whose predecessors lie in `past`; it gets cache rows from `slot` on.
    pub fn push(&mut self, tokens: &[u32], past: &[(usize, usize)], slot: usize) {
        let position = past.iter().map(|(_, len)| len).sum();
        let mut stretches = past.to_vec();
        match stretches.last_mut() {
            Some((first, len)) if *first + *len == slot => *len += tokens.len(),
            _ => stretches.push((slot, tokens.len())),
        }
        let segment = Segment {
            first: self.len(),
            len: tokens.len(),
            position,
            stretches,
        };
        self.tokens.extend_from_slice(tokens);
        self.positions.extend(position..position + tokens.len());
        self.slots.extend(slot..slot + tokens.len());
        self.segments.push(segment);
    }
}

/// Token vectors, kept where tokens are looked up.
pub(crate) struct Table {
    pub data: Vec<f32>,
    pub width: usize,
}

impl Table {
    fn row(&self, i: usize) -> Option<&[f32]> {
        self.data.get(i * self.width..(i + 1) * self.width)
    }
}

/// The weights of one block.
pub(crate) struct BlockOf<B: Backend> {
    pub attn_norm: Option<NormOf<B::Vector>>,
    pub qkv: B::Linear,
    pub qk_norms: Option<(B::Vector, B::Vector)>,
    pub attn_out: B::Linear,
    pub post_attn_norm: Option<NormOf<B::Vector>>,
    pub mlp_norm: Option<NormOf<B::Vector>>,
    pub up: B::Linear,
    pub down: B::Linear,
    pub post_mlp_norm: Option<NormOf<B::Vector>>,
}

/// A transformer with its weights on a device.
pub struct Transformer<B: Backend> {
    pub(crate) backend: B,
    pub(crate) architecture: Architecture,
    pub(crate) embed: Table,
    pub(crate) positions: Option<Table>,
    pub(crate) token_type: Option<Vec<f32>>,
    pub(crate) embed_norm: Option<NormOf<B::Vector>>,
    pub(crate) project: Option<(B::Linear, B::Linear)>,
    pub(crate) blocks: Vec<BlockOf<B>>,
    pub(crate) final_norm: Option<NormOf<B::Vector>>,
    pub(crate) head: Option<B::Linear>,
    pub(crate) alibi: Option<Alibi>,
}

/// Tensors that a forward pass writes to, kept from one pass to the next.
pub struct Workspace<B: Backend> {
    x: B::Tensor,
    normed: B::Tensor,
    second: B::Tensor,
    qkv: B::Tensor,
    attended: B::Tensor,
    wide: B::Tensor,
    narrow: B::Tensor,
    /// The last block's output after the final norm.
    last: B::Tensor,
}

impl<B: Backend> Default for Workspace<B> {
    fn default() -> Self {
        Self {
            x: B::Tensor::default(),
            normed: B::Tensor::default(),
            second: B::Tensor::default(),
            qkv: B::Tensor::default(),
            attended: B::Tensor::default(),
            wide: B::Tensor::default(),
            narrow: B::Tensor::default(),
            last: B::Tensor::default(),
        }
    }
}

/// Called with a layer's number and its hidden states, row after row.
pub type Visit<'a> = &'a mut dyn FnMut(usize, &[f32]);

impl<B: Backend> Transformer<B> {
    /// What it is made of.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The device.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// Room for the keys and values of this many positions.
    pub fn cache(&self, rows: usize) -> B::Cache {
        self.backend
            .cache(self.architecture.layers, rows, self.architecture.kv_width())
    }

    /// Bytes of keys and values for one position.
    pub fn cache_bytes_per_row(&self) -> usize {
        self.architecture.layers * self.architecture.kv_width() * 2 * size_of::<f32>()
    }

    fn heads(&self) -> Heads {
        Heads {
            heads: self.architecture.heads,
            kv_heads: self.architecture.kv_heads,
            head_dim: self.architecture.head_dim,
        }
    }

    /// Runs a batch through every block; `visit` sees the hidden states of each layer.
    pub fn forward(
        &self,
        batch: &Batch,
        cache: &mut B::Cache,
        work: &mut Workspace<B>,
        mut visit: Option<Visit<'_>>,
    ) -> Result<(), ModelError> {
        let a = &self.architecture;
        let rows = batch.len();
        self.embed(batch, work)?;
        if let Some(visit) = &mut visit {
            visit(0, &self.backend.download(&work.x, rows * a.hidden));
        }
        let turns: Vec<Turns> = a
            .ropes
            .iter()
            .map(|rope| Turns::new(rope, &batch.positions))
            .collect();
        for (layer, block) in self.blocks.iter().enumerate() {
            let pass = Pass {
                batch,
                layer,
                turns: &turns,
            };
            self.block(block, &pass, cache, work);
            if let Some(visit) = &mut visit
                && layer + 1 < a.layers
            {
                visit(layer + 1, &self.backend.download(&work.x, rows * a.hidden));
            }
        }
        match &self.final_norm {
            Some(norm) => self.backend.norm(&work.x, rows, norm, &mut work.last),
            None => std::mem::swap(&mut work.x, &mut work.last),
        }
        if let Some((_, out)) = &self.project {
            self.backend
                .linear(&work.last, rows, out, &mut work.normed, false);
            std::mem::swap(&mut work.normed, &mut work.last);
        }
        if let Some(visit) = &mut visit {
            visit(
                a.layers,
                &self.backend.download(&work.last, rows * self.last_width()),
            );
        }
        Ok(())
    }

    /// Width of the last hidden state (OPT-350M's is narrower than the rest).
    pub fn last_width(&self) -> usize {
        if self.project.is_some() {
            self.architecture.embedding.width
        } else {
            self.architecture.hidden
        }
    }

    fn embed(&self, batch: &Batch, work: &mut Workspace<B>) -> Result<(), ModelError> {
        let a = &self.architecture;
        let width = a.embedding.width;
        let mut rows = Vec::with_capacity(batch.len() * width);
        for &token in &batch.tokens {
            let row = self.embed.row(token as usize).ok_or_else(|| {
                ModelError::new(
                    ErrorKind::BadModel,
                    format!(
                        "token {token} lies outside the embedding of {} rows",
                        a.vocab
                    ),
                )
            })?;
            rows.extend(row.iter().map(|x| x * a.embedding.scale));
        }
        self.backend.upload(&rows, &mut work.x);
        if let Some((into, _)) = &self.project {
            self.backend
                .linear(&work.x, batch.len(), into, &mut work.normed, false);
            std::mem::swap(&mut work.x, &mut work.normed);
        }
        if let Some(added) = self.added_rows(batch)? {
            self.backend.upload(&added, &mut work.normed);
            self.backend.add(&mut work.x, &work.normed, added.len());
        }
        if let Some(norm) = &self.embed_norm {
            self.backend
                .norm(&work.x, batch.len(), norm, &mut work.normed);
            std::mem::swap(&mut work.x, &mut work.normed);
        }
        Ok(())
    }

    /// Learned positions and segment vectors.
    fn added_rows(&self, batch: &Batch) -> Result<Option<Vec<f32>>, ModelError> {
        let a = &self.architecture;
        let (Some(table), Some(offset)) = (&self.positions, a.embedding.position_offset) else {
            return Ok(None);
        };
        let mut rows = Vec::with_capacity(batch.len() * a.hidden);
        for &position in &batch.positions {
            let row = table.row(position + offset).ok_or_else(|| {
                ModelError::new(
                    ErrorKind::ContextTooLong,
                    format!("position {position} lies outside the learned {}", a.context),
                )
            })?;
            match &self.token_type {
                Some(segment) => rows.extend(row.iter().zip(segment).map(|(x, y)| x + y)),
                None => rows.extend_from_slice(row),
            }
        }
        Ok(Some(rows))
    }

    fn block(
        &self,
        block: &BlockOf<B>,
        pass: &Pass<'_>,
        cache: &mut B::Cache,
        work: &mut Workspace<B>,
    ) {
        let b = &self.backend;
        let rows = pass.batch.len();
        let len = rows * self.architecture.hidden;
        let normed = |norm: &Option<NormOf<B::Vector>>, x: &B::Tensor, to: &mut B::Tensor| {
            if let Some(norm) = norm {
                b.norm(x, rows, norm, to);
            }
        };
        match self.architecture.block {
            Block::Sequential => {
                normed(&block.attn_norm, &work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                b.linear(&work.attended, rows, &block.attn_out, &mut work.x, true);
                normed(&block.mlp_norm, &work.x, &mut work.normed);
                self.feed_forward(block, rows, work);
                b.linear(&work.narrow, rows, &block.down, &mut work.x, true);
            }
            Block::Parallel { shared } => {
                normed(&block.attn_norm, &work.x, &mut work.normed);
                if !shared {
                    normed(&block.mlp_norm, &work.x, &mut work.second);
                }
                self.attention(block, pass, cache, work);
                b.linear(&work.attended, rows, &block.attn_out, &mut work.x, true);
                if !shared {
                    std::mem::swap(&mut work.normed, &mut work.second);
                }
                self.feed_forward(block, rows, work);
                b.linear(&work.narrow, rows, &block.down, &mut work.x, true);
            }
            Block::PostNorm => {
                std::mem::swap(&mut work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                b.linear(
                    &work.attended,
                    rows,
                    &block.attn_out,
                    &mut work.normed,
                    true,
                );
                normed(&block.attn_norm, &work.normed, &mut work.x);
                std::mem::swap(&mut work.x, &mut work.normed);
                self.feed_forward(block, rows, work);
                b.linear(&work.narrow, rows, &block.down, &mut work.normed, true);
                normed(&block.mlp_norm, &work.normed, &mut work.x);
            }
            Block::Sandwich => {
                normed(&block.attn_norm, &work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                b.linear(
                    &work.attended,
                    rows,
                    &block.attn_out,
                    &mut work.second,
                    false,
                );
                normed(&block.post_attn_norm, &work.second, &mut work.normed);
                b.add(&mut work.x, &work.normed, len);
                normed(&block.mlp_norm, &work.x, &mut work.normed);
                self.feed_forward(block, rows, work);
                b.linear(&work.narrow, rows, &block.down, &mut work.second, false);
                normed(&block.post_mlp_norm, &work.second, &mut work.normed);
                b.add(&mut work.x, &work.normed, len);
            }
        }
    }

    /// Reads `normed`, writes `attended`.
    fn attention(
        &self,
        block: &BlockOf<B>,
        pass: &Pass<'_>,
        cache: &mut B::Cache,
        work: &mut Workspace<B>,
    ) {
        let (a, b, heads) = (&self.architecture, &self.backend, self.heads());
        let rows = pass.batch.len();
        let kind = a.kinds.get(pass.layer).copied().unwrap_or_default();
        b.linear(&work.normed, rows, &block.qkv, &mut work.qkv, false);
        let norms = block.qk_norms.as_ref().map(|(q, k)| (q, k, a.norm));
        let turns = kind.rope.and_then(|r| pass.turns.get(r));
        b.rotate(&mut work.qkv, rows, &heads, norms, turns);
        b.store(&work.qkv, &heads, cache, pass.layer, &pass.batch.slots);
        let call = AttentionCall {
            cache: &*cache,
            layer: pass.layer,
            segments: &pass.batch.segments,
            heads: &heads,
            settings: AttentionSettings {
                scale: a.attention.scale,
                soft_cap: a.attention.soft_cap,
                causal: a.causal,
                window: kind.window,
                alibi: self.alibi.as_ref(),
            },
            rows,
        };
        b.attend(&work.qkv, &call, &mut work.attended);
    }

    /// Reads `normed`, writes `narrow`.
    fn feed_forward(&self, block: &BlockOf<B>, rows: usize, work: &mut Workspace<B>) {
        let a = &self.architecture;
        self.backend
            .linear(&work.normed, rows, &block.up, &mut work.wide, false);
        let shape = (a.intermediate, a.mlp.gated);
        self.backend
            .activate(&work.wide, rows, shape, a.mlp.activation, &mut work.narrow);
    }

    /// Log-probabilities after some rows of the last forward pass. `wanted` counts rows by their
    /// place in `rows`.
    pub fn log_probs(
        &self,
        work: &mut Workspace<B>,
        rows: &[usize],
        wanted: &[Wanted],
    ) -> Result<Vec<f32>, ModelError> {
        let head = self.head()?;
        self.backend
            .gather(&work.last, self.last_width(), rows, &mut work.normed);
        let cap = self.architecture.logit_cap;
        Ok(self
            .backend
            .log_probs(&work.normed, rows.len(), head, cap, wanted))
    }

    /// All logits after some rows of the last forward pass, row after row.
    pub fn logits(&self, work: &mut Workspace<B>, rows: &[usize]) -> Result<Vec<f32>, ModelError> {
        let head = self.head()?;
        self.backend
            .gather(&work.last, self.last_width(), rows, &mut work.normed);
        self.backend
            .linear(&work.normed, rows.len(), head, &mut work.wide, false);
        let mut logits = self
            .backend
            .download(&work.wide, rows.len() * self.architecture.vocab);
        if let Some(cap) = self.architecture.logit_cap {
            logits.iter_mut().for_each(|x| *x = cap * (*x / cap).tanh());
        }
        Ok(logits)
    }

    fn head(&self) -> Result<&B::Linear, ModelError> {
        self.head.as_ref().ok_or_else(|| {
            ModelError::new(
                ErrorKind::BadRequest,
                format!("a {} predicts no next token", self.architecture.family),
            )
            .hint("encoders can be observed; scoring and answering need a decoder")
        })
    }
}

/// What one block needs to know of the pass it is part of.
struct Pass<'a> {
    batch: &'a Batch,
    layer: usize,
    turns: &'a [Turns],
}
