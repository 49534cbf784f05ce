//! The one transformer: every architecture is a configuration of this forward pass.

mod between;

use mary_contract::{ErrorKind, ModelError};

pub use crate::batch::Batch;
use crate::config::{Activation, Architecture, Block, QkNorm};
use crate::kernels::{
    Alibi, AttentionCall, AttentionSettings, Backend, Draw, Extent, Groups, Heads, Look, Looked,
    NormOf, Spans, Wanted,
};
use crate::vision::{FIRST_SHOWN, Shown};

/// Vectors that are looked up, and how many there are.
pub(crate) struct TableOf<B: Backend> {
    pub table: B::Table,
    pub rows: usize,
}

/// The layer between the last block and the head of a masked language model.
pub(crate) struct TransformOf<B: Backend> {
    pub dense: B::Linear,
    pub activation: Activation,
    pub norm: NormOf<B::Vector>,
}

/// The norms of queries and of keys.
pub(crate) struct QkNormsOf<B: Backend> {
    pub queries: NormOf<B::Vector>,
    pub keys: NormOf<B::Vector>,
}

/// Both halves of a feed-forward block.
pub(crate) struct DenseOf<B: Backend> {
    pub up: B::Linear,
    pub down: B::Linear,
}

/// A router and its experts.
pub(crate) struct ExpertsOf<B: Backend> {
    pub router: B::Linear,
    pub experts: Vec<DenseOf<B>>,
    /// One that every token takes, and its gate.
    pub shared: Option<(DenseOf<B>, B::Linear)>,
}

pub(crate) enum MlpOf<B: Backend> {
    Dense(DenseOf<B>),
    Sparse(ExpertsOf<B>),
}

/// Where the feed-forward block leaves what it computes.
#[derive(Clone, Copy)]
enum Target {
    /// Added to the residual stream.
    Stream,
    /// Added to `normed`.
    Normed,
    /// Written to `second`.
    Second,
}

/// The weights of one block.
pub(crate) struct BlockOf<B: Backend> {
    pub attn_norm: Option<NormOf<B::Vector>>,
    pub qkv: B::Linear,
    pub qk_norms: Option<QkNormsOf<B>>,
    pub attn_out: B::Linear,
    pub post_attn_norm: Option<NormOf<B::Vector>>,
    pub mlp_norm: Option<NormOf<B::Vector>>,
    pub mlp: MlpOf<B>,
    pub post_mlp_norm: Option<NormOf<B::Vector>>,
}

/// A transformer with its weights on a device.
pub struct Transformer<B: Backend> {
    pub(crate) backend: B,
    pub(crate) architecture: Architecture,
    pub(crate) embed: TableOf<B>,
    /// Learned positions, the segment's vector included.
    pub(crate) positions: Option<TableOf<B>>,
    pub(crate) embed_norm: Option<NormOf<B::Vector>>,
    pub(crate) project: Option<(B::Linear, B::Linear)>,
    pub(crate) blocks: Vec<BlockOf<B>>,
    pub(crate) final_norm: Option<NormOf<B::Vector>>,
    pub(crate) head: Option<B::Linear>,
    /// What stands before the head of a masked language model.
    pub(crate) transform: Option<TransformOf<B>>,
    pub(crate) alibi: Option<Alibi>,
    /// Which of three positions each rotary frequency turns by, where pictures have places (Qwen2-VL).
    pub(crate) axes: Option<Vec<u8>>,
    /// The rows of a picture see one another in both directions (Gemma 3).
    pub(crate) both_ways: bool,
    /// Reads a picture at once and never goes on from what it read: one layer of the cache serves all.
    pub(crate) tower: bool,
}

/// Tensors that a forward pass writes to, kept from one pass to the next.
pub struct Workspace<B: Backend> {
    pub(crate) x: B::Tensor,
    pub(crate) normed: B::Tensor,
    pub(crate) second: B::Tensor,
    qkv: B::Tensor,
    attended: B::Tensor,
    pub(crate) wide: B::Tensor,
    pub(crate) narrow: B::Tensor,
    pub(crate) expert: B::Tensor,
    /// The last block's output after the final norm.
    last: B::Tensor,
    /// The rows of pictures in the present batch.
    given: Vec<f32>,
    /// Rows that stand in the place of tokens' vectors.
    pub(crate) shown: Option<std::sync::Arc<Shown>>,
    /// What the last pass was part of.
    writing: bool,
}

impl<B: Backend> Workspace<B> {
    /// So many rows, part of what the last pass was part of.
    pub(crate) fn extent(&self, rows: usize) -> Extent {
        Extent {
            rows,
            writing: self.writing,
        }
    }
}

impl<B: Backend> Workspace<B> {
    /// Collects the rows of these tokens, all of which belong to pictures.
    fn shown_rows(&mut self, tokens: &[u32], pictures: &[usize]) {
        self.given.clear();
        if let Some(shown) = &self.shown {
            for &row in pictures {
                self.given.extend_from_slice(shown.row(tokens[row]));
            }
        }
    }
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
            expert: B::Tensor::default(),
            last: B::Tensor::default(),
            given: vec![],
            shown: None,
            writing: false,
        }
    }
}

/// Called with a layer's number and its hidden states, row after row.
pub type Visit<'a> = &'a mut dyn FnMut(usize, &[f32]);

/// Who looks at the hidden states of a pass.
pub enum Watch<'a> {
    /// All rows of every layer.
    Rows(Visit<'a>),
    /// The means of groups of rows, in these layers (ascending).
    Means {
        groups: &'a Groups,
        layers: &'a [usize],
        /// Gets a layer's number and the means, group after group.
        visit: Visit<'a>,
    },
}

impl Watch<'_> {
    fn see<B: Backend>(&mut self, backend: &B, layer: usize, x: &B::Tensor, shape: (usize, usize)) {
        match self {
            Self::Rows(visit) => visit(layer, &backend.download(x, shape.0 * shape.1)),
            Self::Means {
                groups,
                layers,
                visit,
            } => {
                if layers.binary_search(&layer).is_ok() {
                    visit(layer, &backend.pool(x, shape.1, groups));
                }
            }
        }
    }
}

impl<B: Backend> Transformer<B> {
    /// What it is made of.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// Room for the keys and values of this many positions.
    pub fn cache(&self, rows: usize) -> B::Cache {
        let layers = match self.tower {
            true => 1,
            false => self.architecture.layers,
        };
        self.backend
            .cache(layers, rows, self.architecture.kv_width())
    }

    /// Bytes of keys and values for one position.
    pub fn cache_bytes_per_row(&self) -> usize {
        self.architecture.layers * self.architecture.kv_width() * 2 * self.backend.cache_number()
    }

    fn heads(&self) -> Heads {
        Heads {
            heads: self.architecture.heads,
            kv_heads: self.architecture.kv_heads,
            head_dim: self.architecture.head_dim,
        }
    }

    /// Runs a batch through every block; `watch` sees the hidden states of each layer.
    pub fn forward(
        &self,
        batch: &Batch,
        cache: &mut B::Cache,
        work: &mut Workspace<B>,
        watch: Option<Watch<'_>>,
    ) -> Result<(), ModelError> {
        let rows = batch.len();
        self.check_tokens(batch, work)?;
        let pictures: Vec<usize> = (0..rows)
            .filter(|&row| batch.tokens[row] >= FIRST_SHOWN)
            .collect();
        let words;
        let batch = match pictures.is_empty() {
            true => batch,
            false => {
                // A picture's rows are looked up elsewhere; the device's own table is not asked for them.
                let word = |token: &u32| if *token < FIRST_SHOWN { *token } else { 0 };
                let reach = match &work.shown {
                    Some(shown) if self.both_ways => self.reach(batch, shown)?,
                    _ => vec![],
                };
                words = Batch {
                    tokens: batch.tokens.iter().map(word).collect(),
                    reach,
                    ..batch.clone()
                };
                work.shown_rows(&batch.tokens, &pictures);
                &words
            }
        };
        let plan = self.backend.plan(batch, &self.heads());
        self.embed(&plan, rows, &pictures, work);
        let plans = Plans {
            usual: &plan,
            whole: None,
        };
        self.blocks(batch, plans, cache, work, watch)
    }

    /// The positions of the picture that each row is part of.
    fn reach(&self, batch: &Batch, shown: &Shown) -> Result<Vec<(usize, usize)>, ModelError> {
        if !self.backend.sees_both_ways() {
            return Err(ModelError::new(
                ErrorKind::BadRequest,
                "on this device the rows of a picture cannot see one another in both directions yet",
            )
            .hint("run this model on the processor: --device cpu"));
        }
        let rows = batch.tokens.iter().zip(&batch.positions);
        Ok(rows.map(|(&t, &p)| shown.reach(t, p)).collect())
    }

    /// The same from rows that are given instead of tokens: the patches of a picture. The layers named
    /// with another batch of as many rows see as that one says.
    pub(crate) fn forward_rows<'b>(
        &self,
        given: &[f32],
        (batch, whole): (&'b Batch, Option<(&'b Batch, &[usize])>),
        cache: &mut B::Cache,
        work: &mut Workspace<B>,
        watch: Option<Watch<'_>>,
    ) -> Result<(), ModelError> {
        self.backend.upload(given, &mut work.x);
        self.norm_embedded(batch.len(), work);
        let plan = self.backend.plan(batch, &self.heads());
        let whole = whole.map(|(batch, layers)| (self.backend.plan(batch, &self.heads()), layers));
        let plans = Plans {
            usual: &plan,
            whole: whole.as_ref().map(|(plan, layers)| (plan, *layers)),
        };
        self.blocks(batch, plans, cache, work, watch)
    }

    /// The last hidden states of the last pass, row after row.
    pub(crate) fn last(&self, work: &Workspace<B>, rows: usize) -> Vec<f32> {
        self.backend.download(&work.last, rows * self.last_width())
    }

    /// Runs what was embedded through every block. Some layers of a tower may see by another plan.
    fn blocks<'p>(
        &self,
        batch: &Batch,
        plans: Plans<'_, 'p, B>,
        cache: &mut B::Cache,
        work: &mut Workspace<B>,
        mut watch: Option<Watch<'_>>,
    ) -> Result<(), ModelError>
    where
        B: 'p,
    {
        let (a, rows) = (&self.architecture, batch.len());
        work.writing = batch.writing;
        if let Some(watch) = &mut watch {
            watch.see(&self.backend, 0, &work.x, (rows, a.hidden));
        }
        let rotate = |rope| match &self.axes {
            Some(axes) if !batch.turns.is_empty() => {
                let along = self.backend.rotary_along(rope, &batch.turns, axes);
                along.ok_or_else(|| {
                    ModelError::new(
                        ErrorKind::BadRequest,
                        "this device does not turn by places in a picture yet",
                    )
                    .hint("run this model on the processor: --device cpu")
                })
            }
            _ => Ok(self.backend.rotary(rope, &batch.positions)),
        };
        let rotary: Vec<B::Rotary> = a.ropes.iter().map(rotate).collect::<Result<_, _>>()?;
        let pass = |layer: usize| Pass::<'_, '_, B> {
            rows,
            plan: plans.of(layer),
            layer,
            store: if self.tower { 0 } else { layer },
            rotary: &rotary,
            reach: &batch.reach,
        };
        let fused = self.fusable() && self.goes_between(work.extent(rows));
        if fused {
            self.between(None, Some(&pass(0)), cache, work);
        }
        for (layer, block) in self.blocks.iter().enumerate() {
            if fused {
                self.attend(&pass(layer), cache, work);
                let next = (layer + 1 < a.layers).then(|| pass(layer + 1));
                self.between(Some(&pass(layer)), next.as_ref(), cache, work);
            } else {
                self.block(block, &pass(layer), cache, work);
            }
            if let Some(watch) = &mut watch
                && layer + 1 < a.layers
            {
                watch.see(&self.backend, layer + 1, &work.x, (rows, a.hidden));
            }
        }
        match &self.final_norm {
            Some(norm) => self.backend.norm(&work.x, rows, norm, &mut work.last),
            None => std::mem::swap(&mut work.x, &mut work.last),
        }
        if let Some((_, out)) = &self.project {
            let of = work.extent(rows);
            self.backend
                .linear(&work.last, of, out, &mut work.normed, false);
            std::mem::swap(&mut work.normed, &mut work.last);
        }
        if let Some(watch) = &mut watch {
            watch.see(
                &self.backend,
                a.layers,
                &work.last,
                (rows, self.last_width()),
            );
        }
        self.backend.check()
    }

    /// Width of the last hidden state (OPT-350M's is narrower than the rest).
    pub fn last_width(&self) -> usize {
        if self.project.is_some() {
            self.architecture.embedding.width
        } else {
            self.architecture.hidden
        }
    }

    /// Every token and every position must have its vector.
    fn check_tokens(&self, batch: &Batch, work: &Workspace<B>) -> Result<(), ModelError> {
        let a = &self.architecture;
        let (words, pictures): (Vec<u32>, Vec<u32>) =
            batch.tokens.iter().partition(|&&t| t < FIRST_SHOWN);
        let shown = work.shown.as_ref().map_or(0, |s| s.rows());
        let beyond = |t: &&u32| (**t - FIRST_SHOWN) as usize >= shown;
        if let Some(row) = pictures.iter().find(beyond) {
            let message = format!("row {} of a picture was never shown", row - FIRST_SHOWN);
            return Err(ModelError::new(ErrorKind::Internal, message));
        }
        let most = words.iter().max().map_or(0, |&t| t as usize);
        if most >= self.embed.rows {
            return Err(ModelError::new(
                ErrorKind::BadModel,
                format!(
                    "token {most} lies outside the embedding of {} rows",
                    a.vocab
                ),
            ));
        }
        if let (Some(table), Some(offset)) = (&self.positions, a.embedding.position_offset) {
            let most = batch.positions.iter().max().copied().unwrap_or(0);
            if most + offset >= table.rows {
                return Err(ModelError::new(
                    ErrorKind::ContextTooLong,
                    format!("position {most} lies outside the learned {}", a.context),
                ));
            }
        }
        Ok(())
    }

    fn embed(&self, plan: &B::Plan<'_>, rows: usize, pictures: &[usize], work: &mut Workspace<B>) {
        let (a, b) = (&self.architecture, &self.backend);
        b.embed(plan, &self.embed.table, a.embedding.scale, &mut work.x);
        if !pictures.is_empty() {
            let width = a.embedding.width;
            b.put_rows(&work.given, width, pictures, rows * width, &mut work.x);
        }
        if let Some((into, _)) = &self.project {
            let of = work.extent(rows);
            b.linear(&work.x, of, into, &mut work.normed, false);
            std::mem::swap(&mut work.x, &mut work.normed);
        }
        if let (Some(positions), Some(offset)) = (&self.positions, a.embedding.position_offset) {
            b.add_positions(plan, &positions.table, offset, &mut work.x);
        }
        self.norm_embedded(rows, work);
    }

    fn norm_embedded(&self, rows: usize, work: &mut Workspace<B>) {
        if let Some(norm) = &self.embed_norm {
            self.backend.norm(&work.x, rows, norm, &mut work.normed);
            std::mem::swap(&mut work.x, &mut work.normed);
        }
    }

    fn block(
        &self,
        block: &BlockOf<B>,
        pass: &Pass<'_, '_, B>,
        cache: &mut B::Cache,
        work: &mut Workspace<B>,
    ) {
        let b = &self.backend;
        let rows = pass.rows;
        let len = rows * self.architecture.hidden;
        let normed = |norm: &Option<NormOf<B::Vector>>, x: &B::Tensor, to: &mut B::Tensor| {
            if let Some(norm) = norm {
                b.norm(x, rows, norm, to);
            }
        };
        let of = work.extent(rows);
        match self.architecture.block {
            Block::Sequential => {
                normed(&block.attn_norm, &work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                b.linear(&work.attended, of, &block.attn_out, &mut work.x, true);
                normed(&block.mlp_norm, &work.x, &mut work.normed);
                self.feed_forward(block, rows, work, Target::Stream);
            }
            Block::Parallel { shared } => {
                normed(&block.attn_norm, &work.x, &mut work.normed);
                if !shared {
                    normed(&block.mlp_norm, &work.x, &mut work.second);
                }
                self.attention(block, pass, cache, work);
                b.linear(&work.attended, of, &block.attn_out, &mut work.x, true);
                if !shared {
                    std::mem::swap(&mut work.normed, &mut work.second);
                }
                self.feed_forward(block, rows, work, Target::Stream);
            }
            Block::PostNorm => {
                std::mem::swap(&mut work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                b.linear(&work.attended, of, &block.attn_out, &mut work.normed, true);
                normed(&block.attn_norm, &work.normed, &mut work.x);
                std::mem::swap(&mut work.x, &mut work.normed);
                self.feed_forward(block, rows, work, Target::Normed);
                normed(&block.mlp_norm, &work.normed, &mut work.x);
            }
            Block::OutputNorm => {
                // The stream lies in `normed`, where attention and feed-forward read.
                std::mem::swap(&mut work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                b.linear(&work.attended, of, &block.attn_out, &mut work.second, false);
                normed(&block.post_attn_norm, &work.second, &mut work.x);
                b.add(&mut work.normed, &work.x, len);
                self.feed_forward(block, rows, work, Target::Second);
                normed(&block.post_mlp_norm, &work.second, &mut work.x);
                b.add(&mut work.normed, &work.x, len);
                std::mem::swap(&mut work.x, &mut work.normed);
            }
            Block::Sandwich => {
                normed(&block.attn_norm, &work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                b.linear(&work.attended, of, &block.attn_out, &mut work.second, false);
                normed(&block.post_attn_norm, &work.second, &mut work.normed);
                b.add(&mut work.x, &work.normed, len);
                normed(&block.mlp_norm, &work.x, &mut work.normed);
                self.feed_forward(block, rows, work, Target::Second);
                normed(&block.post_mlp_norm, &work.second, &mut work.normed);
                b.add(&mut work.x, &work.normed, len);
            }
        }
    }

    /// Reads `normed`, writes `attended`.
    fn attention(
        &self,
        block: &BlockOf<B>,
        pass: &Pass<'_, '_, B>,
        cache: &mut B::Cache,
        work: &mut Workspace<B>,
    ) {
        let (a, b, heads) = (&self.architecture, &self.backend, self.heads());
        let rows = pass.rows;
        let kind = a.kinds.get(pass.layer).copied().unwrap_or_default();
        let of = work.extent(rows);
        b.linear(&work.normed, of, &block.qkv, &mut work.qkv, false);
        if let Some(limit) = a.attention.clip {
            b.clip(&mut work.qkv, rows * heads.qkv_width(), limit);
        }
        // Norms that all heads share are part of the kernel that rotates.
        let mut norms = None;
        if let Some(QkNormsOf {
            queries: q,
            keys: k,
        }) = &block.qk_norms
        {
            let whole = a.attention.qk_norm == QkNorm::Whole;
            match a.attention.qk_norm {
                QkNorm::Shared => norms = Some((&q.weight, &k.weight, q.how)),
                _ => {
                    let [queries, keys] = Spans::of(&heads, whole);
                    b.norm_spans(&mut work.qkv, rows, queries, q);
                    b.norm_spans(&mut work.qkv, rows, keys, k);
                }
            }
        }
        let rotary = kind.rope.and_then(|r| pass.rotary.get(r));
        let place = (&mut *cache, pass.store);
        b.place(&mut work.qkv, &heads, norms, rotary, place, pass.plan);
        self.attend(pass, cache, work);
    }

    /// Reads queries and what is cached, writes `attended`.
    fn attend(&self, pass: &Pass<'_, '_, B>, cache: &B::Cache, work: &mut Workspace<B>) {
        let (a, b, heads) = (&self.architecture, &self.backend, self.heads());
        let kind = a.kinds.get(pass.layer).copied().unwrap_or_default();
        let call = AttentionCall {
            cache,
            layer: pass.store,
            heads: &heads,
            settings: AttentionSettings {
                scale: a.attention.scale,
                soft_cap: a.attention.soft_cap,
                causal: a.causal,
                window: kind.window,
                alibi: self.alibi.as_ref(),
                reach: pass.reach,
            },
        };
        b.attend(&work.qkv, pass.plan, &call, &mut work.attended);
    }

    /// Reads `normed`.
    fn feed_forward(&self, block: &BlockOf<B>, rows: usize, work: &mut Workspace<B>, to: Target) {
        let (a, b) = (&self.architecture, &self.backend);
        let dense = match &block.mlp {
            MlpOf::Dense(dense) => dense,
            // Experts stand in sequential blocks only, which read one tensor and add to another.
            MlpOf::Sparse(experts) => return self.experts(experts, rows, work),
        };
        let of = work.extent(rows);
        let (gated, act) = (a.mlp.gated, a.mlp.activation);
        if gated || !b.linear_activated(&work.normed, of, &dense.up, act, &mut work.narrow) {
            b.linear(&work.normed, of, &dense.up, &mut work.wide, false);
            let shape = (a.intermediate, gated);
            b.activate(&work.wide, rows, shape, act, &mut work.narrow);
        }
        let (out, add) = match to {
            Target::Stream => (&mut work.x, true),
            Target::Normed => (&mut work.normed, true),
            Target::Second => (&mut work.second, false),
        };
        b.linear(&work.narrow, of, &dense.down, out, add);
    }

    /// Starts on log-probabilities after some rows of the last forward pass. `wanted` counts rows by
    /// their place in `rows`.
    pub fn log_probs(
        &self,
        work: &mut Workspace<B>,
        rows: &[usize],
        wanted: &[Wanted],
    ) -> Result<B::Pending, ModelError> {
        let head = self.head()?;
        self.gather(work, rows);
        let cap = self.architecture.logit_cap;
        let pending = self
            .backend
            .log_probs(&work.normed, rows.len(), head, cap, wanted);
        self.backend.check()?;
        Ok(pending)
    }

    /// Log-probabilities after some rows of the last forward pass and what was seen of each wanted token;
    /// `None` where the device does not look at distributions itself.
    pub fn distributions(
        &self,
        work: &mut Workspace<B>,
        rows: &[usize],
        wanted: &[Wanted],
        look: Look<'_>,
    ) -> Result<Option<Looked>, ModelError> {
        if !self.backend.looks() {
            return Ok(None);
        }
        let head = self.head()?;
        self.gather(work, rows);
        let cap = self.architecture.logit_cap;
        let told = self
            .backend
            .distributions(&work.normed, rows.len(), (head, cap), wanted, look);
        self.backend.check()?;
        Ok(Some(told))
    }

    /// Some rows of the last forward pass, as the head reads them, into `normed`.
    fn gather(&self, work: &mut Workspace<B>, rows: &[usize]) {
        let b = &self.backend;
        b.gather(&work.last, self.last_width(), rows, &mut work.normed);
        if let Some(transform) = &self.transform {
            let (n, width) = (rows.len(), self.architecture.hidden);
            let of = work.extent(n);
            b.linear(&work.normed, of, &transform.dense, &mut work.second, false);
            let shape = (width, false);
            b.activate(
                &work.second,
                n,
                shape,
                transform.activation,
                &mut work.narrow,
            );
            b.norm(&work.narrow, n, &transform.norm, &mut work.normed);
        }
    }

    pub fn collect(&self, pending: B::Pending) -> Result<Vec<f32>, ModelError> {
        let values = self.backend.collect(pending);
        self.backend.check()?;
        Ok(values)
    }

    fn project_rows(&self, work: &mut Workspace<B>, rows: &[usize]) -> Result<(), ModelError> {
        let head = self.head()?;
        self.gather(work, rows);
        let of = work.extent(rows.len());
        self.backend.logits(&work.normed, of, head, &mut work.wide);
        Ok(())
    }

    /// All logits after some rows of the last forward pass, row after row.
    pub fn logits(&self, work: &mut Workspace<B>, rows: &[usize]) -> Result<Vec<f32>, ModelError> {
        self.project_rows(work, rows)?;
        let mut logits = self
            .backend
            .download(&work.wide, rows.len() * self.architecture.vocab);
        self.backend.check()?;
        if let Some(cap) = self.architecture.logit_cap {
            logits.iter_mut().for_each(|x| *x = cap * (*x / cap).tanh());
        }
        Ok(logits)
    }

    /// Tokens drawn after some rows, on a device that draws; `None` in a row whose logits are no numbers.
    pub fn draw(
        &self,
        work: &mut Workspace<B>,
        rows: &[usize],
        draws: &[Draw],
    ) -> Result<Vec<Option<u32>>, ModelError> {
        self.project_rows(work, rows)?;
        let shape = (self.architecture.vocab, self.architecture.logit_cap);
        let tokens = self.backend.draw(&work.wide, shape, draws);
        self.backend.check()?;
        Ok(tokens)
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

/// By which plan the layers of a pass see: all by one, but for those of a tower that see beyond windows.
struct Plans<'a, 'p, B: Backend + 'p> {
    usual: &'a B::Plan<'p>,
    whole: Option<(&'a B::Plan<'p>, &'a [usize])>,
}

impl<'a, 'p, B: Backend + 'p> Plans<'a, 'p, B> {
    fn of(&self, layer: usize) -> &'a B::Plan<'p> {
        match self.whole {
            Some((plan, layers)) if layers.contains(&layer) => plan,
            _ => self.usual,
        }
    }
}

/// What one block needs to know of the pass it is part of.
struct Pass<'a, 'b, B: Backend + 'a + 'b> {
    rows: usize,
    plan: &'a B::Plan<'b>,
    layer: usize,
    /// The layer of the cache.
    store: usize,
    rotary: &'a [B::Rotary],
    reach: &'a [(usize, usize)],
}
