//! One batch through the transformer on the GPU, forward and backward.
//!
//! The residual stream and its slope are float32. What enters products is float32 or bfloat16, as the base
//! is there ([`Numbers::kind`]). A block that does not keep what its backward pass needs is computed again
//! from the stream before it, without the products whose outputs are known already.

use mary_contract::ModelError;
use mary_cuda::Kind;

use super::Gpu;
use super::batch::Batch;
use super::linear::{Layer, LowRooms, Numbers, To};
use super::products::{Call, Shared, View};
use super::room::{BlockRoom, Room, Rooms};
use super::rows::NormAt;
use crate::net::Net;
use crate::net::attention::Rotary;
use crate::net::layout::{Block, Linear, Norm};
use mary_architecture::config::Activation;

type Done = Result<(), ModelError>;

/// Logits computed at a time.
const LOGITS: usize = 1 << 27;

/// One batch on its way.
pub(super) struct Pass<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) net: &'a Net,
    pub(super) n: Numbers<'a>,
    pub(super) batch: &'a Batch,
    /// Cosines and sines of every position.
    pub(super) angles: u64,
}

/// The parts of a batch's room that linear layers use.
macro_rules! low {
    ($rooms:expr) => {
        &mut LowRooms {
            kept: &mut $rooms.low_rank,
            dropped: &mut $rooms.dropped,
            slope: &mut $rooms.slope_low,
            slabs: &mut $rooms.slabs,
        }
    };
}

/// Logits of some of the rows that count.
#[derive(Clone, Copy)]
struct Logits {
    rows: usize,
    /// Place of the first among the rows that count.
    first: usize,
    /// The rows they come from.
    chosen: u64,
    at: u64,
}

/// Rows of logits computed at a time.
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

    /// Rows of the type that products take.
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
            kind: Kind::Single,
            from: Some(from),
        }
    }

    /// The address of a number after the first of a row.
    fn column(&self, at: u64, column: usize) -> u64 {
        at + (column * self.n.kind().bytes()) as u64
    }

    fn turn(&self, qkv: u64, back: bool) -> Done {
        let half = self.net.rotaries.first().map_or(0, Rotary::half);
        let positions = self.batch.positions();
        self.gpu.rotate(
            qkv,
            &self.batch.attention,
            positions,
            (self.angles, half),
            back,
        )
    }

    /// From tokens to normed rows after the last block.
    pub(super) fn forward(&self, rooms: &mut Rooms) -> Done {
        let (gpu, device, kind) = (self.gpu, &self.gpu.device, self.n.kind());
        let (d, rows) = (self.net.architecture.hidden, self.batch.rows());
        let layout = &self.net.layout;
        let blocks = layout.blocks.len();
        rooms.blocks.resize_with(blocks, BlockRoom::default);
        rooms.inputs.resize_with(blocks, Room::default);
        rooms
            .low_rank
            .resize_with(layout.linear_count, Room::default);
        for input in &mut rooms.inputs {
            input.size(device, rows * d)?;
        }
        let stream = rooms.stream.size(device, rows * d)?;
        let first = rooms.inputs.first().map_or(stream, Room::at);
        let tokens = (self.batch.tokens(), rows);
        gpu.embed((self.n.embedding(layout), kind), tokens, d, first)?;
        for index in 0..blocks {
            let next = rooms.inputs.get(index + 1).map_or(stream, Room::at);
            self.block(index, Some(next), rooms)?;
        }
        let normed = rooms.final_normed.of(device, rows * d, kind)?;
        let moments = rooms.final_moments.size(device, 2 * rows)?;
        let norm = self.norm_at(&layout.final_norm);
        gpu.norm(stream, rows, norm, (normed, kind), moments)
    }

    /// A block; without a place for its output, only what its backward pass needs.
    fn block(&self, index: usize, next: Option<u64>, rooms: &mut Rooms) -> Done {
        let mut s = rooms.take(index);
        let done = self.block_in(index, next, &mut s, rooms);
        rooms.put(index, s);
        done
    }

    fn block_in(
        &self,
        index: usize,
        next: Option<u64>,
        s: &mut BlockRoom,
        rooms: &mut Rooms,
    ) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, joint) = (shape.hidden, self.batch.rows(), self.net.joint.row());
        let kind = self.n.kind();
        let layout = &self.net.layout.blocks[index];
        let input = rooms.inputs[index].at();
        let normed = s.normed1.of(device, rows * d, kind)?;
        let moments = s.moments1.size(device, 2 * rows)?;
        let norm = self.norm_at(&layout.norm1);
        gpu.norm(input, rows, norm, (normed, kind), moments)?;
        let qkv = s.qkv.of(device, rows * joint, kind)?;
        for (linear, column) in &layout.qkv {
            let to = self.to(self.column(qkv, *column), joint);
            gpu.apply(&self.layer(linear, normed), to, low!(rooms))?;
        }
        self.turn(qkv, false)?;
        let heads = s.heads.of(device, rows * shape.q_width(), kind)?;
        let log_sums = s.log_sums.size(device, rows * shape.heads)?;
        gpu.attend(qkv, &self.batch.attention, heads, log_sums)?;
        let middle = match self.net.parallel() {
            true => next,
            false => Some(s.middle.size(device, rows * d)?),
        };
        if let Some(middle) = middle {
            let to = self.stream(input, middle);
            gpu.apply(&self.layer(&layout.out, heads), to, low!(rooms))?;
        }
        let from = match self.net.parallel() {
            true => input,
            false => s.middle.at(),
        };
        self.feed_forward(layout, from, s, rooms)?;
        if let (Some(next), Some(middle)) = (next, middle) {
            let to = self.stream(middle, next);
            gpu.apply(&self.layer(&layout.down, s.active.at()), to, low!(rooms))?;
        }
        Ok(())
    }

    /// The feed-forward part up to its activation; the slopes stay in `gate` and `up`.
    fn feed_forward(
        &self,
        layout: &Block,
        from: u64,
        s: &mut BlockRoom,
        rooms: &mut Rooms,
    ) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, inner) = (shape.hidden, self.batch.rows(), shape.intermediate);
        let (kind, count) = (self.n.kind(), rows * inner);
        let normed = s.normed2.of(device, rows * d, kind)?;
        let moments = s.moments2.size(device, 2 * rows)?;
        let norm = self.norm_at(&layout.norm2);
        gpu.norm(from, rows, norm, (normed, kind), moments)?;
        let up = s.up.of(device, count, kind)?;
        let active = s.active.of(device, count, kind)?;
        let to = self.to(up, inner);
        gpu.apply(&self.layer(&layout.up, normed), to, low!(rooms))?;
        match &layout.gate {
            Some(linear) => {
                let gate = s.gate.of(device, count, kind)?;
                let to = self.to(gate, inner);
                gpu.apply(&self.layer(linear, normed), to, low!(rooms))?;
                gpu.gated_silu((gate, kind), up, active, count)
            }
            None => {
                let exact = shape.mlp.activation != Activation::GeluTanh;
                gpu.gelu(exact, (up, kind), active, count)
            }
        }
    }

    /// Logits of the rows that count, block by block, and what to do with each block.
    fn logits(&self, rooms: &mut Rooms, act: &mut dyn FnMut(&mut Rooms, Logits) -> Done) -> Done {
        let (gpu, device, kind) = (self.gpu, &self.gpu.device, self.n.kind());
        let (d, v) = (self.net.architecture.hidden, self.net.architecture.vocab);
        let count = self.batch.count();
        let step = head_rows(v);
        for first in (0..count).step_by(step) {
            let rows = step.min(count - first);
            let chosen = match self.batch.counted(first) {
                Some(list) => {
                    let to = rooms.chosen.of(device, rows * d, kind)?;
                    gpu.gather((rooms.final_normed.at(), kind), (list, rows), d, to)?;
                    to
                }
                None => self.column(rooms.final_normed.at(), first * d),
            };
            let logits = rooms.logits.size(device, rows * v)?;
            let head = View::turned(self.n.head(&self.net.layout), d);
            let call = Call::new((rows, d, v), View::rows(chosen, d), head, (logits, v));
            gpu.multiply(&call.of(kind, Kind::Single))?;
            let block = Logits {
                rows,
                first,
                chosen,
                at: logits,
            };
            act(rooms, block)?;
        }
        Ok(())
    }

    /// Log-probability of every target that counts, and whether none was more probable.
    pub(super) fn answers(&self, rooms: &mut Rooms) -> Result<Vec<f32>, ModelError> {
        let (gpu, v) = (self.gpu, self.net.architecture.vocab);
        if self.batch.count() == 0 {
            return Ok(Vec::new());
        }
        self.forward(rooms)?;
        let mut out = Vec::with_capacity(2 * self.batch.count());
        self.logits(rooms, &mut |rooms, block| {
            let Logits { rows, first, .. } = block;
            let to = rooms.losses.size(&gpu.device, 2 * rows)?;
            gpu.answers((block.at, rows), v, self.batch.targets(first).0, to)?;
            out.extend(gpu.device.read::<f32>(to, 2 * rows)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// The head, its loss added to `total`, and the backward pass to the end of the last block, which is
    /// left in `rooms.slope`.
    fn head_and_back(&self, rooms: &mut Rooms, scale: f32, total: u64) -> Done {
        let (gpu, device, kind) = (self.gpu, &self.gpu.device, self.n.kind());
        let (d, v, rows) = (
            self.net.architecture.hidden,
            self.net.architecture.vocab,
            self.batch.rows(),
        );
        let count = self.batch.count();
        let back = rooms.slope_narrow.of(device, rows * d, kind)?;
        if count < rows {
            device.zero(back, rows * d * kind.bytes())?;
        }
        let losses = rooms.losses.size(device, count)?;
        let head = &self.net.layout.head;
        self.logits(rooms, &mut |rooms, block| {
            let Logits {
                rows,
                first,
                chosen,
                at: logits,
            } = block;
            let targets = self.batch.targets(first);
            let kept = losses + first as u64 * 4;
            let slopes = match kind {
                Kind::Single => logits,
                _ => rooms.short_logits.of(device, rows * v, kind)?,
            };
            gpu.cross_entropy((logits, rows), v, targets, scale, (kept, slopes, kind))?;
            if let Some(dhead) = self.n.gradient(head) {
                let (slope, x) = (View::turned(slopes, v), View::rows(chosen, d));
                let call = Call::new((v, rows, d), slope, x, (dhead, d));
                gpu.multiply(&call.adding(true).sharing(Shared::First))?;
            }
            let to = match self.batch.counted(first) {
                Some(_) => rooms.chosen_slope.of(device, rows * d, kind)?,
                None => self.column(back, first * d),
            };
            let weight = View::rows(self.n.head(&self.net.layout), d);
            let call = Call::new((rows, v, d), View::rows(slopes, v), weight, (to, d));
            gpu.multiply(&call.of(kind, kind).sharing(Shared::Second))?;
            match self.batch.counted(first) {
                Some(list) => gpu.scatter((to, kind), (list, rows), d, back),
                None => Ok(()),
            }
        })?;
        gpu.add_losses((losses, self.batch.targets(0).1), count, total)?;
        let slope = rooms.slope.size(device, rows * d)?;
        let short = self.short(&mut rooms.short)?;
        let (x, moments) = (rooms.stream.at(), rooms.final_moments.at());
        let to = (0, slope, short);
        self.norm_back(&self.net.layout.final_norm, (x, moments), back, to, rooms)
    }

    /// Room for a copy of the stream's slope as products take it; 0 where they take it as it is.
    fn short(&self, room: &mut Room) -> Result<u64, ModelError> {
        let numbers = self.batch.rows() * self.net.architecture.hidden;
        match self.n.kind() {
            Kind::Single => Ok(0),
            kind => room.of(&self.gpu.device, numbers, kind),
        }
    }

    /// A slope of the stream as products take it.
    fn taken(&self, slope: &Room, short: &Room) -> u64 {
        match self.n.kind() {
            Kind::Single => slope.at(),
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
        rooms: &mut Rooms,
    ) -> Done {
        let (d, rows) = (self.net.architecture.hidden, self.batch.rows());
        let slope = (dy, self.n.kind());
        self.gpu
            .norm_back((x, moments, rows), self.norm_at(norm), slope, to)?;
        let Some(dw) = self.n.gradient(&norm.weight) else {
            return Ok(());
        };
        let db = norm.bias.as_ref().and_then(|b| self.n.gradient(b));
        self.gpu.column_sums(
            (dy, d),
            Some((x, moments)),
            (rows, d),
            (db.unwrap_or(0), dw),
            &mut rooms.slabs,
        )
    }

    /// Forward and back: adds the loss to `total` and `scale` times its slopes to the gradients.
    pub(super) fn loss_and_gradient(&self, rooms: &mut Rooms, scale: f32, total: u64) -> Done {
        if self.batch.rows() == 0 {
            return Ok(());
        }
        self.forward(rooms)?;
        self.head_and_back(rooms, scale, total)?;
        for index in (0..self.net.layout.blocks.len()).rev() {
            if !rooms.kept(index) {
                self.block(index, None, rooms)?;
            }
            let mut s = rooms.take(index);
            let done = self.block_back(index, &mut s, rooms);
            rooms.put(index, s);
            done?;
        }
        if let Some(table) = self.n.gradient(&self.net.layout.embedding) {
            let (places, groups) = self.batch.by_token();
            let d = self.net.architecture.hidden;
            self.gpu
                .embed_back(rooms.slope.at(), places, groups, d, table)?;
        }
        Ok(())
    }

    fn block_back(&self, index: usize, s: &mut BlockRoom, rooms: &mut Rooms) -> Done {
        let layout = &self.net.layout.blocks[index];
        // Nothing before the first block is trained unless all is; there a half that adapts nothing has
        // no backward pass, and the other ends at its adapters.
        let last = index == 0 && self.n.base_gradient == 0;
        let mut half = layout.gate.iter().chain([&layout.up, &layout.down]);
        let idle = last && self.net.parallel() && !half.any(|linear| self.n.adapts(linear));
        if !idle {
            self.feed_forward_back(index, s, rooms)?;
        }
        self.attention_back(index, last, s, rooms)
    }

    /// Backward pass through the feed-forward half; `rooms.slope_middle` becomes the slope at its
    /// input, the residual's own slope included.
    fn feed_forward_back(&self, index: usize, s: &mut BlockRoom, rooms: &mut Rooms) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, inner) = (shape.hidden, self.batch.rows(), shape.intermediate);
        let (kind, layout) = (self.n.kind(), &self.net.layout.blocks[index]);
        let wide = self.wide(rooms)?;
        let narrow = rooms.slope_narrow.of(device, rows * d, kind)?;
        let slope = rooms.slope.at();
        let dy = (self.taken(&rooms.slope, &rooms.short), d);
        let x = s.active.at();
        gpu.apply_back(&self.layer(&layout.down, x), dy, (wide, false), low!(rooms))?;
        let x = s.normed2.at();
        if let Some(linear) = &layout.gate {
            let gate = rooms.slope_gate.of(device, rows * inner, kind)?;
            gpu.times((wide, kind), s.gate.at(), gate, rows * inner)?;
            gpu.apply_back(
                &self.layer(linear, x),
                (gate, inner),
                (narrow, false),
                low!(rooms),
            )?;
        }
        gpu.times((wide, kind), s.up.at(), wide, rows * inner)?;
        let to = (narrow, layout.gate.is_some());
        gpu.apply_back(&self.layer(&layout.up, x), (wide, inner), to, low!(rooms))?;
        let middle = rooms.slope_middle.size(device, rows * d)?;
        let short = self.short(&mut rooms.short_middle)?;
        // Where attention reads the same input, its part of the slope is still to come.
        let (from, short) = match self.net.parallel() {
            true => (rooms.inputs[index].at(), 0),
            false => (s.middle.at(), short),
        };
        let kept = (from, s.moments2.at());
        let to = (slope, middle, short);
        self.norm_back(&layout.norm2, kept, narrow, to, rooms)
    }

    /// Room for slopes of the feed-forward part's inner rows, or of the heads.
    fn wide(&self, rooms: &mut Rooms) -> Result<u64, ModelError> {
        let shape = &self.net.architecture;
        let widest = shape.intermediate.max(shape.q_width());
        let numbers = self.batch.rows() * widest;
        rooms
            .slope_wide
            .of(&self.gpu.device, numbers, self.n.kind())
    }

    /// Backward pass through the attention half; leaves the block's slope in `rooms.slope`, unless it is
    /// the `last` that is needed.
    fn attention_back(
        &self,
        index: usize,
        last: bool,
        s: &mut BlockRoom,
        rooms: &mut Rooms,
    ) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, joint) = (shape.hidden, self.batch.rows(), self.net.joint.row());
        let (kind, layout) = (self.n.kind(), &self.net.layout.blocks[index]);
        let wide = self.wide(rooms)?;
        let narrow = rooms.slope_narrow.at();
        // In a sequential block the stream between the halves carries its own slope.
        let incoming = if self.net.parallel() {
            self.taken(&rooms.slope, &rooms.short)
        } else {
            self.taken(&rooms.slope_middle, &rooms.short_middle)
        };
        let x = s.heads.at();
        gpu.apply_back(
            &self.layer(&layout.out, x),
            (incoming, d),
            (wide, false),
            low!(rooms),
        )?;
        let dots = rooms.dots.size(device, rows * shape.heads)?;
        let dqkv = rooms.slope_qkv.of(device, rows * joint, kind)?;
        let kept = (s.heads.at(), s.log_sums.at());
        let attention = &self.batch.attention;
        gpu.attend_back(s.qkv.at(), attention, kept, wide, (dots, dqkv))?;
        self.turn(dqkv, true)?;
        let x = s.normed1.at();
        for (i, (linear, column)) in layout.qkv.iter().enumerate() {
            let dy = (self.column(dqkv, *column), joint);
            let to = (if last { 0 } else { narrow }, i > 0);
            gpu.apply_back(&self.layer(linear, x), dy, to, low!(rooms))?;
        }
        if last {
            return Ok(());
        }
        let kept = (rooms.inputs[index].at(), s.moments1.at());
        let middle = rooms.slope_middle.at();
        let to = (middle, middle, rooms.short_middle.at());
        self.norm_back(&layout.norm1, kept, narrow, to, rooms)?;
        std::mem::swap(&mut rooms.slope, &mut rooms.slope_middle);
        std::mem::swap(&mut rooms.short, &mut rooms.short_middle);
        Ok(())
    }
}
