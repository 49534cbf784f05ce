//! The one transformer: every architecture is a configuration of this forward pass.

mod across;
mod between;
mod changed;
mod given;
mod latent;
mod layered;
mod parts;
mod patterns;

pub use crate::batch::Batch;
use crate::config::{Block, QkNorm};
use crate::errors::{Result, bad_request};
use crate::kernels::{AttentionCall, AttentionSettings, Backend, Heads, NormOf, Spans};
pub(crate) use across::Sources;
pub(crate) use changed::Following;
pub use changed::{Cells, NewValue, Part, Script, Seen, Spot};
use layered::Coming;
pub(crate) use layered::Fetch;
pub use layered::Traveller;
pub(crate) use parts::Left;
pub use parts::Watch;
pub(crate) use parts::{
    AcrossOf, BlockOf, DenseOf, ExpertsOf, GateOf, LatentOf, MlpOf, QkNormsOf, TableOf,
    TransformOf, Transformer, WorkOf, Workspace,
};

/// Where attention and the feed-forward layers leave what they compute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// Added to the residual stream.
    Stream,
    /// Added to `normed`.
    Normed,
    /// Written to `second`.
    Second,
}

impl<B: Backend> Transformer<B> {
    pub fn cache(&self, rows: usize) -> B::Cache {
        let a = &self.architecture;
        let layers = if self.tower { 1 } else { self.attending() };
        self.backend.cache(layers, rows, a.kv_width())
    }

    /// Bytes of keys and values for one position.
    pub fn cache_bytes_per_row(&self) -> usize {
        self.attending() * self.architecture.kv_width() * 2 * self.backend.cache_number()
    }

    fn heads(&self) -> Heads {
        Heads {
            heads: self.architecture.heads,
            kv_heads: self.architecture.kv_heads,
            head_dim: self.architecture.head_dim,
        }
    }

    /// Runs a batch through its layers; `watch` sees the hidden states of each. Where another device has the layers
    /// `before`, their stream lies there.
    pub fn forward(
        &self,
        batch: &Batch,
        before: Option<Left<'_, B>>,
        cache: &mut B::Cache,
        work: &mut WorkOf<B>,
        watch: Option<&mut Watch<'_>>,
    ) -> Result<()> {
        let (batch, pictures) = self.words(batch, work)?;
        let usual = &self.backend.plan(&batch, &self.heads());
        match before {
            Some(left) => self.receive(left, batch.len(), work),
            None => self.embed(usual, batch.len(), &pictures, work),
        }
        let plans = Plans { usual, whole: None };
        self.blocks(&batch, plans, cache, work, watch)
    }

    /// The layers named with another batch of as many rows see as that one says.
    pub(crate) fn forward_rows<'b>(
        &self,
        given: &[f32],
        (batch, whole): (&'b Batch, Option<(&'b Batch, &[usize])>),
        cache: &mut B::Cache,
        work: &mut WorkOf<B>,
        watch: Option<&mut Watch<'_>>,
    ) -> Result<()> {
        self.backend.upload(given, &mut work.x);
        self.norm_embedded(batch.len(), work);
        let plan = |batch| self.backend.plan(batch, &self.heads());
        let whole = whole.map(|(batch, layers)| (plan(batch), layers));
        let plans = Plans {
            usual: &plan(batch),
            whole: whole.as_ref().map(|(plan, layers)| (plan, *layers)),
        };
        self.blocks(batch, plans, cache, work, watch)
    }

    /// The last hidden states of the last pass, row after row.
    pub(crate) fn last(&self, work: &WorkOf<B>, rows: usize) -> Vec<f32> {
        self.backend.download(&work.last, rows * self.last_width())
    }

    /// Some layers of a tower may see by another plan.
    fn blocks<'p>(
        &self,
        batch: &Batch,
        plans: Plans<'_, 'p, B>,
        cache: &mut B::Cache,
        work: &mut WorkOf<B>,
        mut watch: Option<&mut Watch<'_>>,
    ) -> Result<()>
    where
        B: 'p,
    {
        let (a, rows) = (&self.architecture, batch.len());
        work.writing = batch.writing;
        if let Some(watch) = watch.as_deref_mut().filter(|_| self.layers.start == 0) {
            watch.see(&*self.backend, 0, &work.x, (rows, a.hidden));
        }
        let rotary = self.rotary(batch);
        let pass = |layer: usize| self.pass(layer, batch, &plans, &rotary);
        let fused =
            self.fusable() && self.steering.is_empty() && self.goes_between(work.extent(rows));
        if fused {
            self.between(None, Some(&pass(self.layers.start)), cache, work);
        }
        let mut coming = Coming::default();
        for layer in self.layers.clone() {
            if fused {
                self.attend(&pass(layer), self.held(layer), cache, work);
                let next = (layer + 1 < self.layers.end).then(|| pass(layer + 1));
                self.between(Some(&pass(layer)), next.as_ref(), cache, work);
            } else {
                let fetched = coming.take(self, layer)?;
                if let Some(block) = fetched.as_ref().or(self.held(layer)) {
                    self.block(block, &pass(layer), cache, work);
                }
                self.done_with(fetched);
                self.steer(layer, rows, work);
            }
            if let Some(watch) = watch.as_deref_mut()
                && layer + 1 < a.layers
            {
                watch.see(&*self.backend, layer + 1, &work.x, (rows, a.hidden));
            }
        }
        if !self.ends() {
            return self.backend.check();
        }
        self.finish(rows, work);
        if let Some(watch) = watch {
            let shape = (rows, self.last_width());
            watch.see(&*self.backend, a.layers, &work.last, shape);
        }
        self.backend.check()
    }

    /// What the batch's rows turn by, for each of the model's ropes.
    fn rotary(&self, batch: &Batch) -> Vec<B::Rotary> {
        let rotate = |rope| match &self.axes {
            Some(axes) if !batch.turns.is_empty() => {
                self.backend.rotary_along(rope, &batch.turns, axes)
            }
            _ => self.backend.rotary(rope, &batch.positions),
        };
        self.architecture.ropes.iter().map(rotate).collect()
    }

    fn pass<'a, 'p>(
        &self,
        layer: usize,
        batch: &'a Batch,
        plans: &Plans<'a, 'p, B>,
        rotary: &'a [B::Rotary],
    ) -> Pass<'a, 'p, B> {
        Pass {
            rows: batch.len(),
            plan: plans.for_layer(layer),
            layer,
            store: match self.tower {
                true => 0,
                false => {
                    let before = |layer| self.architecture.attending(layer);
                    before(layer) - before(self.layers.start)
                }
            },
            rotary,
            reach: &batch.reach,
            following: None,
        }
    }

    /// From the residual stream to the last hidden states.
    fn finish(&self, rows: usize, work: &mut WorkOf<B>) {
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
    }

    /// Width of the last hidden state (OPT-350M's is narrower than the rest).
    pub fn last_width(&self) -> usize {
        if self.project.is_some() {
            self.architecture.embedding.width
        } else {
            self.architecture.hidden
        }
    }

    fn embed(&self, plan: &B::Plan<'_>, rows: usize, pictures: &[usize], work: &mut WorkOf<B>) {
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

    fn norm_embedded(&self, rows: usize, work: &mut WorkOf<B>) {
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
        work: &mut WorkOf<B>,
    ) {
        let b = &self.backend;
        let rows = pass.rows;
        let len = rows * self.architecture.hidden;
        let normed = |norm: &Option<NormOf<B::Vector>>, x: &B::Tensor, to: &mut B::Tensor| {
            if let Some(norm) = norm {
                b.norm(x, rows, norm, to);
            }
        };
        match self.architecture.block {
            Block::Sequential => {
                if pass.layer == 0 && !self.averages.is_empty() {
                    work.streams = vec![b.download(&work.x, len)];
                }
                match &block.attn_norm {
                    Some(norm) => b.norm(&work.x, rows, norm, &mut work.normed),
                    None => b.upload(&b.download(&work.x, len), &mut work.normed),
                }
                self.attention(block, pass, cache, work);
                self.mix_heads(block, pass, work, Target::Stream);
                self.average(2 * pass.layer, len, work);
                if let Some(across) = &block.across {
                    self.attend_across(across, pass, work);
                }
                normed(&block.mlp_norm, &work.x, &mut work.normed);
                self.feed_forward(block, pass, work, Target::Stream);
                self.average(2 * pass.layer + 1, len, work);
            }
            Block::Parallel { shared } => {
                normed(&block.attn_norm, &work.x, &mut work.normed);
                if !shared {
                    normed(&block.mlp_norm, &work.x, &mut work.second);
                }
                self.attention(block, pass, cache, work);
                self.mix_heads(block, pass, work, Target::Stream);
                if !shared {
                    std::mem::swap(&mut work.normed, &mut work.second);
                }
                self.feed_forward(block, pass, work, Target::Stream);
            }
            Block::PostNorm => {
                std::mem::swap(&mut work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                self.mix_heads(block, pass, work, Target::Normed);
                normed(&block.attn_norm, &work.normed, &mut work.x);
                std::mem::swap(&mut work.x, &mut work.normed);
                self.feed_forward(block, pass, work, Target::Normed);
                normed(&block.mlp_norm, &work.normed, &mut work.x);
            }
            Block::OutputNorm => {
                // The stream lies in `normed`, where attention and feed-forward read.
                std::mem::swap(&mut work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                self.mix_heads(block, pass, work, Target::Second);
                normed(&block.post_attn_norm, &work.second, &mut work.x);
                self.follow(pass, Part::Attention, &mut work.x);
                b.add(&mut work.normed, &work.x, len);
                self.feed_forward(block, pass, work, Target::Second);
                normed(&block.post_mlp_norm, &work.second, &mut work.x);
                self.follow(pass, Part::FeedForward, &mut work.x);
                b.add(&mut work.normed, &work.x, len);
                std::mem::swap(&mut work.x, &mut work.normed);
            }
            Block::Sandwich => {
                normed(&block.attn_norm, &work.x, &mut work.normed);
                self.attention(block, pass, cache, work);
                self.mix_heads(block, pass, work, Target::Second);
                normed(&block.post_attn_norm, &work.second, &mut work.normed);
                self.follow(pass, Part::Attention, &mut work.normed);
                b.add(&mut work.x, &work.normed, len);
                normed(&block.mlp_norm, &work.x, &mut work.normed);
                self.feed_forward(block, pass, work, Target::Second);
                match &block.post_mlp_norm {
                    Some(norm) => b.norm(&work.second, rows, norm, &mut work.normed),
                    None => std::mem::swap(&mut work.second, &mut work.normed),
                }
                self.follow(pass, Part::FeedForward, &mut work.normed);
                b.add(&mut work.x, &work.normed, len);
            }
        }
    }

    /// What a script says about a value that is about to be added to the stream.
    fn follow(&self, pass: &Pass<'_, '_, B>, part: Part, x: &mut B::Tensor) {
        if let Some(following) = pass.following {
            let width = match part {
                Part::Heads => self.architecture.heads * self.architecture.value_dim(),
                _ => self.architecture.hidden,
            };
            following.apply(&*self.backend, (pass.layer, part), x, (pass.rows, width));
        }
    }

    /// Whether a script looks at what a part of the block adds, so that it must lie apart from the stream.
    fn apart(pass: &Pass<'_, '_, B>, part: Part) -> bool {
        let touches = |f: &Following<'_>| f.touches((pass.layer, part));
        pass.following.is_some_and(touches)
    }

    /// Reads `attended`.
    fn mix_heads(
        &self,
        block: &BlockOf<B>,
        pass: &Pass<'_, '_, B>,
        work: &mut WorkOf<B>,
        to: Target,
    ) {
        self.follow(pass, Part::Heads, &mut work.attended);
        let (b, of) = (&self.backend, work.extent(pass.rows));
        let apart = to != Target::Second && Self::apart(pass, Part::Attention);
        let (out, add) = match to {
            _ if apart => (&mut work.apart, false),
            Target::Stream => (&mut work.x, true),
            Target::Normed => (&mut work.normed, true),
            Target::Second => (&mut work.second, false),
        };
        b.linear(&work.attended, of, &block.attn_out, out, add);
        if apart {
            self.add_apart(pass, Part::Attention, work, to);
        }
    }

    /// Adds what lies apart to where it belongs, after a script had its say.
    fn add_apart(&self, pass: &Pass<'_, '_, B>, part: Part, work: &mut WorkOf<B>, to: Target) {
        self.follow(pass, part, &mut work.apart);
        let out = match to {
            Target::Normed => &mut work.normed,
            _ => &mut work.x,
        };
        let len = pass.rows * self.architecture.hidden;
        self.backend.add(out, &work.apart, len);
    }

    /// Reads `normed`, writes `attended`.
    fn attention(
        &self,
        block: &BlockOf<B>,
        pass: &Pass<'_, '_, B>,
        cache: &mut B::Cache,
        work: &mut WorkOf<B>,
    ) {
        let (a, b, heads) = (&self.architecture, &self.backend, self.heads());
        let rows = pass.rows;
        let kind = a.kinds.get(pass.layer).copied().unwrap_or_default();
        let of = work.extent(rows);
        b.linear(&work.normed, of, &block.qkv, &mut work.qkv, false);
        if let Some(latent) = &block.latent {
            self.expand(latent, rows, work);
        }
        if let Some(mixer) = &block.mixer {
            let place = (pass.plan, cache, pass.layer);
            return b.carry(&work.qkv, of, mixer, place, &mut work.attended);
        }
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
                    let [queries, keys] = Spans::queries_and_keys(&heads, whole);
                    b.norm_spans(&mut work.qkv, rows, queries, q);
                    b.norm_spans(&mut work.qkv, rows, keys, k);
                }
            }
        }
        let rotary = kind.rope.and_then(|r| pass.rotary.get(r));
        let place = (&mut *cache, pass.store);
        b.place(&mut work.qkv, &heads, norms, rotary, place, pass.plan);
        self.patterns(pass, block, cache, work);
        self.attend(pass, Some(block), cache, work);
        self.shorten(rows, work);
        if let Some(gate) = &block.gate {
            self.open_gate(gate, rows, work);
        }
    }

    /// Reads queries and what is cached, writes `attended`.
    fn attend(
        &self,
        pass: &Pass<'_, '_, B>,
        block: Option<&BlockOf<B>>,
        cache: &B::Cache,
        work: &mut WorkOf<B>,
    ) {
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
                sinks: block.and_then(|block| block.sinks.as_deref()),
            },
        };
        match block.and_then(|block| block.relative.as_ref()) {
            Some(far) => b.attend_far(&work.qkv, pass.plan, (&call, far), &mut work.attended),
            None => b.attend(&work.qkv, pass.plan, &call, &mut work.attended),
        }
    }

    /// Reads `normed`.
    fn feed_forward(
        &self,
        block: &BlockOf<B>,
        pass: &Pass<'_, '_, B>,
        work: &mut WorkOf<B>,
        to: Target,
    ) {
        let (a, b, rows) = (&self.architecture, &self.backend, pass.rows);
        let apart = to != Target::Second && Self::apart(pass, Part::FeedForward);
        match &block.mlp {
            MlpOf::Dense(dense) => {
                let of = work.extent(rows);
                let (gated, act) = (a.mlp.gated, a.mlp.activation);
                if gated || !b.linear_activated(&work.normed, of, &dense.up, act, &mut work.narrow)
                {
                    b.linear(&work.normed, of, &dense.up, &mut work.wide, false);
                    let shape = (a.intermediate, gated);
                    b.activate(&work.wide, rows, shape, act, &mut work.narrow);
                }
                if let Some(norm) = &dense.norm {
                    b.norm(&work.narrow, rows, norm, &mut work.wide);
                    std::mem::swap(&mut work.narrow, &mut work.wide);
                }
                let (out, add) = match to {
                    _ if apart => (&mut work.apart, false),
                    Target::Stream => (&mut work.x, true),
                    Target::Normed => (&mut work.normed, true),
                    Target::Second => (&mut work.second, false),
                };
                b.linear(&work.narrow, of, &dense.down, out, add);
            }
            // Experts stand in sequential blocks only, which read one tensor and add to another.
            MlpOf::Sparse(experts) if apart => {
                b.upload(&vec![0.0; rows * a.hidden], &mut work.apart);
                std::mem::swap(&mut work.x, &mut work.apart);
                self.experts(experts, rows, work);
                std::mem::swap(&mut work.x, &mut work.apart);
            }
            MlpOf::Sparse(experts) => self.experts(experts, rows, work),
            MlpOf::Nothing => return,
        }
        if apart {
            self.add_apart(pass, Part::FeedForward, work, to);
        }
    }

    /// Brings some rows of the last forward pass into `normed`; gives the head, and what squashes its logits.
    pub(crate) fn gather(
        &self,
        work: &mut WorkOf<B>,
        rows: &[usize],
    ) -> Result<(&B::Linear, Option<f32>)> {
        let (a, b) = (&self.architecture, &self.backend);
        let head = self.head.as_ref().ok_or_else(|| {
            bad_request(format!("a {} predicts no next token", a.family))
                .hint("encoders can be observed; scoring and answering need a decoder")
        })?;
        b.gather(&work.last, self.last_width(), rows, &mut work.normed);
        // A batch of a tree may hold nothing that is asked about.
        if let Some(transform) = self.transform.as_ref().filter(|_| !rows.is_empty()) {
            let (n, of) = (rows.len(), work.extent(rows.len()));
            b.linear(&work.normed, of, &transform.dense, &mut work.second, false);
            let (shape, act) = ((a.hidden, false), transform.activation);
            b.activate(&work.second, n, shape, act, &mut work.narrow);
            b.norm(&work.narrow, n, &transform.norm, &mut work.normed);
        }
        Ok((head, a.logit_cap))
    }

    /// All logits after some rows of the last forward pass into `wide`; gives what squashes them.
    pub(crate) fn project(&self, work: &mut WorkOf<B>, rows: &[usize]) -> Result<Option<f32>> {
        let (head, cap) = self.gather(work, rows)?;
        let of = work.extent(rows.len());
        self.backend.logits(&work.normed, of, head, &mut work.wide);
        Ok(cap)
    }
}

/// By which plan the layers of a pass see: all by one, but for those of a tower that see beyond windows.
struct Plans<'a, 'p, B: Backend + 'p> {
    usual: &'a B::Plan<'p>,
    whole: Option<(&'a B::Plan<'p>, &'a [usize])>,
}

impl<'a, 'p, B: Backend + 'p> Plans<'a, 'p, B> {
    fn for_layer(&self, layer: usize) -> &'a B::Plan<'p> {
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
    store: usize,
    rotary: &'a [B::Rotary],
    reach: &'a [(usize, usize)],
    following: Option<&'a Following<'a>>,
}
