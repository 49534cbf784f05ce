//! One batch through the transformer on the GPU, forward and backward.
//!
//! The residual stream and its gradient are float32. What enters matrix multiplication is float32 or bfloat16, as the base
//! is there ([`Numbers::kind`]). A block that does not keep what its backward pass needs is computed again
//! from the stream before it, without the products whose outputs are known already.

use mary_cuda::NumberType;

use super::batch::Batch;
use super::buffers::{BlockBuffers, Buffer, Buffers};
use super::call::{Call, Shared, View};
use super::linear::{Layer, Numbers, To};
use super::rows::{NormAt, Threads};
use super::{Done, Gpu, int};
use crate::net::Net;
use crate::net::layout::{Block, Linear, Norm};
use mary_weights::architecture::config::Activation;

const LOGITS: usize = 1 << 27;

pub(super) struct Pass<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) net: &'a Net,
    pub(super) n: Numbers<'a>,
    pub(super) batch: &'a Batch,
    /// Cosines and sines of every position.
    pub(super) angles: u64,
}

/// Logits of some of the rows that count.
#[derive(Clone, Copy)]
struct Logits {
    rows: usize,
    /// Place of the first among the rows that count.
    first: usize,
    chosen: u64,
    at: u64,
}

fn head_rows(vocabulary: usize) -> usize {
    (LOGITS / vocabulary.max(1) / 128 * 128).max(128)
}

impl Pass<'_> {
    fn norm_at(&self, norm: &Norm) -> NormAt {
        NormAt {
            weight: self.n.at(&norm.weight),
            bias: norm.bias.as_ref().map_or(0, |b| self.n.at(b)),
            width: self.net.architecture.hidden,
            kind: self.net.norm_kind(),
        }
    }

    fn layer<'b>(&'b self, linear: &'b Linear, x: u64) -> Layer<'b> {
        Layer {
            linear,
            n: &self.n,
            batch: self.batch,
            x,
        }
    }

    fn apply(&self, linear: &Linear, x: u64, to: To, buffers: &mut Buffers) -> Done {
        let layer = self.layer(linear, x);
        self.gpu.apply(&layer, to, &mut buffers.low)
    }

    fn apply_back(
        &self,
        linear: &Linear,
        x: u64,
        dy: (u64, usize),
        dx: (u64, bool),
        buffers: &mut Buffers,
    ) -> Done {
        let layer = self.layer(linear, x);
        self.gpu.apply_back(&layer, dy, dx, &mut buffers.low)
    }

    /// Rows of the type that matrix multiplication takes.
    fn to(&self, at: u64, step: usize) -> To {
        To {
            at,
            step,
            kind: self.n.kind(),
            from: None,
        }
    }

    /// Rows of the residual stream: what is there, and what is added to it.
    fn stream(&self, from: u64, at: u64) -> To {
        To {
            at,
            step: self.net.architecture.hidden,
            kind: NumberType::Single,
            from: Some(from),
        }
    }

    /// The address of a number after the first of a row.
    fn column(&self, at: u64, column: usize) -> u64 {
        at + (column * self.n.kind().bytes()) as u64
    }

    fn turn(&self, qkv: u64, back: bool) -> Done {
        let half = self.net.rotaries.first().map_or(0, |rotary| rotary.half);
        let (attention, positions) = (&self.batch.attention, self.batch.positions());
        let angles = (self.angles, half);
        self.gpu.rotate(qkv, attention, positions, angles, back)
    }

    /// From tokens to normed rows after the last block.
    pub(super) fn forward(&self, buffers: &mut Buffers) -> Done {
        let (gpu, device, kind) = (self.gpu, &self.gpu.device, self.n.kind());
        let (d, rows) = (self.net.architecture.hidden, self.batch.n.rows);
        let layout = &self.net.layout;
        let blocks = layout.blocks.len();
        buffers.blocks.resize_with(blocks, BlockBuffers::default);
        buffers.inputs.resize_with(blocks, Buffer::default);
        let low = &mut buffers.low.kept;
        low.resize_with(layout.linear_count, Buffer::default);
        for input in &mut buffers.inputs {
            input.singles(device, rows * d)?;
        }
        let stream = buffers.stream.singles(device, rows * d)?;
        let first = buffers.inputs.first().map_or(stream, Buffer::at);
        let (table, tokens) = (self.n.embedding(layout), self.batch.tokens());
        let by = (Threads::Rows(rows), kind);
        gpu.embed(by, table, tokens, int(d), first)?;
        for index in 0..blocks {
            let next = buffers.inputs.get(index + 1).map_or(stream, Buffer::at);
            self.block(index, Some(next), buffers)?;
        }
        let normed = buffers.final_normed.numbers(device, rows * d, kind)?;
        let moments = buffers.final_moments.singles(device, 2 * rows)?;
        let norm = self.norm_at(&layout.final_norm);
        gpu.norm(stream, rows, norm, (normed, kind), moments)
    }

    /// A block; without a place for its output, only what its backward pass needs.
    fn block(&self, index: usize, next: Option<u64>, buffers: &mut Buffers) -> Done {
        let mut s = buffers.take(index);
        let done = self.block_in(index, next, &mut s, buffers);
        buffers.put(index, s);
        done
    }

    fn block_in(
        &self,
        index: usize,
        next: Option<u64>,
        s: &mut BlockBuffers,
        buffers: &mut Buffers,
    ) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, joint) = (shape.hidden, self.batch.n.rows, self.net.joint.row());
        let kind = self.n.kind();
        let layout = &self.net.layout.blocks[index];
        let input = buffers.inputs[index].at();
        let normed = s.normed1.numbers(device, rows * d, kind)?;
        let moments = s.moments1.singles(device, 2 * rows)?;
        let norm = self.norm_at(&layout.norm1);
        gpu.norm(input, rows, norm, (normed, kind), moments)?;
        let qkv = s.qkv.numbers(device, rows * joint, kind)?;
        for (linear, column) in &layout.qkv {
            let to = self.to(self.column(qkv, *column), joint);
            self.apply(linear, normed, to, buffers)?;
        }
        self.turn(qkv, false)?;
        let heads = s.heads.numbers(device, rows * shape.q_width(), kind)?;
        let log_sums = s.log_sums.singles(device, rows * shape.heads)?;
        gpu.attend(qkv, &self.batch.attention, heads, log_sums)?;
        let middle = match self.net.parallel() {
            true => next,
            false => Some(s.middle.singles(device, rows * d)?),
        };
        if let Some(middle) = middle {
            let to = self.stream(input, middle);
            self.apply(&layout.out, heads, to, buffers)?;
        }
        let from = match self.net.parallel() {
            true => input,
            false => s.middle.at(),
        };
        self.feed_forward(layout, from, s, buffers)?;
        if let (Some(next), Some(middle)) = (next, middle) {
            let to = self.stream(middle, next);
            self.apply(&layout.down, s.active.at(), to, buffers)?;
        }
        Ok(())
    }

    /// The feed-forward part up to its activation; the gradients stay in `gate` and `up`.
    fn feed_forward(
        &self,
        layout: &Block,
        from: u64,
        s: &mut BlockBuffers,
        buffers: &mut Buffers,
    ) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, inner) = (shape.hidden, self.batch.n.rows, shape.intermediate);
        let (kind, count) = (self.n.kind(), rows * inner);
        let normed = s.normed2.numbers(device, rows * d, kind)?;
        let moments = s.moments2.singles(device, 2 * rows)?;
        let norm = self.norm_at(&layout.norm2);
        gpu.norm(from, rows, norm, (normed, kind), moments)?;
        let up = s.up.numbers(device, count, kind)?;
        let active = s.active.numbers(device, count, kind)?;
        let by = (Threads::Vectors(count), kind);
        let to = self.to(up, inner);
        self.apply(&layout.up, normed, to, buffers)?;
        match &layout.gate {
            Some(linear) => {
                let gate = s.gate.numbers(device, count, kind)?;
                let to = self.to(gate, inner);
                self.apply(linear, normed, to, buffers)?;
                gpu.gated_silu(by, gate, up, active, count as u64)
            }
            None if shape.mlp.activation == Activation::GeluTanh => {
                gpu.gelu_tanh(by, up, active, count as u64)
            }
            None => gpu.gelu(by, up, active, count as u64),
        }
    }

    /// Logits of the rows that count, block by block, and what to do with each block.
    fn logits(
        &self,
        buffers: &mut Buffers,
        act: &mut dyn FnMut(&mut Buffers, Logits) -> Done,
    ) -> Done {
        let (gpu, device, kind) = (self.gpu, &self.gpu.device, self.n.kind());
        let (d, v) = (self.net.architecture.hidden, self.net.architecture.vocab);
        let count = self.batch.n.count;
        let step = head_rows(v);
        for first in (0..count).step_by(step) {
            let rows = step.min(count - first);
            let chosen = match self.batch.counted(first) {
                Some(list) => {
                    let to = buffers.chosen.numbers(device, rows * d, kind)?;
                    let by = (Threads::Rows(rows), kind);
                    gpu.gather_rows(by, buffers.final_normed.at(), list, int(d), to)?;
                    to
                }
                None => self.column(buffers.final_normed.at(), first * d),
            };
            let logits = buffers.logits.singles(device, rows * v)?;
            let head = View::turned(self.n.head(&self.net.layout), d);
            let call = Call::new((rows, d, v), View::rows(chosen, d), head, (logits, v));
            gpu.matmul(&call.typed(kind, NumberType::Single))?;
            let block = Logits {
                rows,
                first,
                chosen,
                at: logits,
            };
            act(buffers, block)?;
        }
        Ok(())
    }

    /// Log-probability of every target that counts, and whether none was more probable.
    pub(super) fn answers(&self, buffers: &mut Buffers) -> Done<Vec<f32>> {
        let (gpu, v) = (self.gpu, self.net.architecture.vocab);
        if self.batch.n.count == 0 {
            return Ok(Vec::new());
        }
        self.forward(buffers)?;
        let mut out = Vec::with_capacity(2 * self.batch.n.count);
        self.logits(buffers, &mut |buffers, block| {
            let Logits { rows, first, .. } = block;
            let to = buffers.losses.singles(&gpu.device, 2 * rows)?;
            let (targets, _) = self.batch.targets(first);
            let by = (Threads::Logits(rows), NumberType::Single);
            gpu.answers(by, block.at, int(v), targets, to)?;
            out.extend(gpu.device.read::<f32>(to, 2 * rows)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// The head, its loss added to `total`, and the backward pass to the end of the last block, which is
    /// left in `buffers.gradient`.
    fn head_and_back(&self, buffers: &mut Buffers, scale: f32, total: u64) -> Done {
        let (gpu, device, kind) = (self.gpu, &self.gpu.device, self.n.kind());
        let (d, v, rows) = (
            self.net.architecture.hidden,
            self.net.architecture.vocab,
            self.batch.n.rows,
        );
        let count = self.batch.n.count;
        let back = buffers.gradient_narrow.numbers(device, rows * d, kind)?;
        if count < rows {
            device.zero(back, rows * d * kind.bytes())?;
        }
        let losses = buffers.losses.singles(device, count)?;
        let head = &self.net.layout.head;
        self.logits(buffers, &mut |buffers, block| {
            let Logits {
                rows,
                first,
                chosen,
                at: logits,
            } = block;
            let (targets, weights) = self.batch.targets(first);
            let kept = losses + first as u64 * 4;
            let gradients = match kind {
                NumberType::Single => logits,
                _ => buffers.short_logits.numbers(device, rows * v, kind)?,
            };
            let by = (Threads::Logits(rows), kind);
            gpu.cross_entropy(by, logits, int(v), targets, weights, scale, kept, gradients)?;
            if let Some(dhead) = self.n.gradient(head) {
                let (gradient, x) = (View::turned(gradients, v), View::rows(chosen, d));
                let call = Call::new((v, rows, d), gradient, x, (dhead, d));
                gpu.matmul(&call.adding(true).sharing(Shared::First))?;
            }
            let to = match self.batch.counted(first) {
                Some(_) => buffers.chosen_gradient.numbers(device, rows * d, kind)?,
                None => self.column(back, first * d),
            };
            let weight = View::rows(self.n.head(&self.net.layout), d);
            let call = Call::new((rows, v, d), View::rows(gradients, v), weight, (to, d));
            gpu.matmul(&call.typed(kind, kind).sharing(Shared::Second))?;
            match self.batch.counted(first) {
                Some(list) => gpu.scatter_rows((Threads::Rows(rows), kind), to, list, int(d), back),
                None => Ok(()),
            }
        })?;
        let by = (Threads::Grid(1, 1), NumberType::Single);
        gpu.add_losses(by, losses, self.batch.targets(0).1, int(count), total)?;
        let gradient = buffers.gradient.singles(device, rows * d)?;
        let short = self.short(&mut buffers.short)?;
        let (x, moments) = (buffers.stream.at(), buffers.final_moments.at());
        let to = (0, gradient, short);
        self.norm_back(&self.net.layout.final_norm, (x, moments), back, to, buffers)
    }

    /// A copy of the stream's gradient as matrix multiplication takes it; 0 where that is as it is.
    fn short(&self, room: &mut Buffer) -> Done<u64> {
        let numbers = self.batch.n.rows * self.net.architecture.hidden;
        match self.n.kind() {
            NumberType::Single => Ok(0),
            kind => room.numbers(&self.gpu.device, numbers, kind),
        }
    }

    /// A gradient of the stream as matrix multiplication takes it.
    fn taken(&self, gradient: &Buffer, short: &Buffer) -> u64 {
        match self.n.kind() {
            NumberType::Single => gradient.at(),
            _ => short.at(),
        }
    }

    /// Backward pass through a norm: `dx = base + …`, and its own gradients where it is trained.
    fn norm_back(
        &self,
        norm: &Norm,
        (x, moments): (u64, u64),
        dy: u64,
        to: (u64, u64, u64),
        buffers: &mut Buffers,
    ) -> Done {
        let (d, rows) = (self.net.architecture.hidden, self.batch.n.rows);
        let gradient = (dy, self.n.kind());
        self.gpu
            .norm_back((x, moments, rows), self.norm_at(norm), gradient, to)?;
        let Some(dw) = self.n.gradient(&norm.weight) else {
            return Ok(());
        };
        let db = norm.bias.as_ref().and_then(|b| self.n.gradient(b));
        self.gpu.add_column_sums(
            (dy, d),
            Some((x, moments)),
            (rows, d),
            (db.unwrap_or(0), dw),
            &mut buffers.low.slabs,
        )
    }

    /// Forward and back: adds the loss to `total` and `scale` times its gradients to the gradients.
    pub(super) fn loss_and_gradient(&self, buffers: &mut Buffers, scale: f32, total: u64) -> Done {
        if self.batch.n.rows == 0 {
            return Ok(());
        }
        self.forward(buffers)?;
        self.head_and_back(buffers, scale, total)?;
        for index in (0..self.net.layout.blocks.len()).rev() {
            if !buffers.kept(index) {
                self.block(index, None, buffers)?;
            }
            let mut s = buffers.take(index);
            let done = self.block_back(index, &mut s, buffers);
            buffers.put(index, s);
            done?;
        }
        if let Some(table) = self.n.gradient(&self.net.layout.embedding) {
            let ((order, starts, which), groups) = self.batch.by_token();
            let (d, gradient) = (self.net.architecture.hidden, buffers.gradient.at());
            let by = (Threads::Grid(groups, d.div_ceil(32)), NumberType::Single);
            self.gpu
                .embed_back(by, gradient, order, starts, which, int(d), table)?;
        }
        Ok(())
    }

    fn block_back(&self, index: usize, s: &mut BlockBuffers, buffers: &mut Buffers) -> Done {
        let layout = &self.net.layout.blocks[index];
        // Nothing before the first block is trained unless all is; there a half that adapts nothing has
        // no backward pass, and the other ends at its adapters.
        let last = index == 0 && self.n.base_gradient == 0;
        let mut half = layout.gate.iter().chain([&layout.up, &layout.down]);
        let adapts = |linear: &Linear| self.n.adapter.is_some_and(|a| a.site(linear).is_some());
        let idle = last && self.net.parallel() && !half.any(adapts);
        if !idle {
            self.feed_forward_back(index, s, buffers)?;
        }
        self.attention_back(index, last, s, buffers)
    }

    /// Backward pass through the feed-forward half; `buffers.gradient_middle` becomes the gradient at its
    /// input, the residual's own gradient included.
    fn feed_forward_back(&self, index: usize, s: &mut BlockBuffers, buffers: &mut Buffers) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, inner) = (shape.hidden, self.batch.n.rows, shape.intermediate);
        let (kind, layout) = (self.n.kind(), &self.net.layout.blocks[index]);
        let by = (Threads::Vectors(rows * inner), kind);
        let wide = self.wide(buffers)?;
        let narrow = buffers.gradient_narrow.numbers(device, rows * d, kind)?;
        let gradient = buffers.gradient.at();
        let dy = (self.taken(&buffers.gradient, &buffers.short), d);
        let x = s.active.at();
        self.apply_back(&layout.down, x, dy, (wide, false), buffers)?;
        let x = s.normed2.at();
        if let Some(linear) = &layout.gate {
            let gate = buffers.gradient_gate.numbers(device, rows * inner, kind)?;
            gpu.multiply(by, wide, s.gate.at(), gate, (rows * inner) as u64)?;
            self.apply_back(linear, x, (gate, inner), (narrow, false), buffers)?;
        }
        gpu.multiply(by, wide, s.up.at(), wide, (rows * inner) as u64)?;
        let to = (narrow, layout.gate.is_some());
        self.apply_back(&layout.up, x, (wide, inner), to, buffers)?;
        let middle = buffers.gradient_middle.singles(device, rows * d)?;
        let short = self.short(&mut buffers.short_middle)?;
        // Where attention reads the same input, its part of the gradient is still to come.
        let (from, short) = match self.net.parallel() {
            true => (buffers.inputs[index].at(), 0),
            false => (s.middle.at(), short),
        };
        let kept = (from, s.moments2.at());
        let to = (gradient, middle, short);
        self.norm_back(&layout.norm2, kept, narrow, to, buffers)
    }

    /// Buffer for gradients of the feed-forward part's inner rows, or of the heads.
    fn wide(&self, buffers: &mut Buffers) -> Done<u64> {
        let shape = &self.net.architecture;
        let widest = shape.intermediate.max(shape.q_width());
        let numbers = self.batch.n.rows * widest;
        buffers
            .gradient_wide
            .numbers(&self.gpu.device, numbers, self.n.kind())
    }

    /// Backward pass through the attention half; leaves the block's gradient in `buffers.gradient`, unless it is
    /// the `last` that is needed.
    fn attention_back(
        &self,
        index: usize,
        last: bool,
        s: &mut BlockBuffers,
        buffers: &mut Buffers,
    ) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, joint) = (shape.hidden, self.batch.n.rows, self.net.joint.row());
        let (kind, layout) = (self.n.kind(), &self.net.layout.blocks[index]);
        let wide = self.wide(buffers)?;
        let narrow = buffers.gradient_narrow.at();
        // In a sequential block the stream between the halves carries its own gradient.
        let incoming = if self.net.parallel() {
            self.taken(&buffers.gradient, &buffers.short)
        } else {
            self.taken(&buffers.gradient_middle, &buffers.short_middle)
        };
        let x = s.heads.at();
        self.apply_back(&layout.out, x, (incoming, d), (wide, false), buffers)?;
        let dots = buffers.dots.singles(device, rows * shape.heads)?;
        let dqkv = buffers.gradient_qkv.numbers(device, rows * joint, kind)?;
        let kept = (s.heads.at(), s.log_sums.at());
        let attention = &self.batch.attention;
        gpu.attend_back(s.qkv.at(), attention, kept, wide, (dots, dqkv))?;
        self.turn(dqkv, true)?;
        let x = s.normed1.at();
        for (i, (linear, column)) in layout.qkv.iter().enumerate() {
            let dy = (self.column(dqkv, *column), joint);
            let to = (if last { 0 } else { narrow }, i > 0);
            self.apply_back(linear, x, dy, to, buffers)?;
        }
        if last {
            return Ok(());
        }
        let kept = (buffers.inputs[index].at(), s.moments1.at());
        let middle = buffers.gradient_middle.at();
        let to = (middle, middle, buffers.short_middle.at());
        self.norm_back(&layout.norm1, kept, narrow, to, buffers)?;
        std::mem::swap(&mut buffers.gradient, &mut buffers.gradient_middle);
        std::mem::swap(&mut buffers.short, &mut buffers.short_middle);
        Ok(())
    }
}
