//! One batch through the transformer on the GPU, forward and backward.

use mary_contract::ModelError;

use super::Gpu;
use super::batch::Batch;
use super::linear::{Layer, LowRooms, Numbers};
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
        let (gpu, device) = (self.gpu, &self.gpu.device);
        let (d, rows) = (self.net.architecture.hidden, self.batch.rows());
        let layout = &self.net.layout;
        rooms
            .blocks
            .resize_with(layout.blocks.len(), BlockRoom::default);
        rooms
            .low_rank
            .resize_with(layout.linear_count, Room::default);
        for block in &mut rooms.blocks {
            block.input.size(device, rows * d)?;
        }
        let stream = rooms.stream.size(device, rows * d)?;
        let first = rooms.blocks.first().map_or(stream, |b| b.input.at());
        let tokens = (self.batch.tokens(), rows);
        gpu.embed(self.n.at(&layout.embedding), tokens, d, first)?;
        for (index, block) in layout.blocks.iter().enumerate() {
            let next = rooms.blocks.get(index + 1).map_or(stream, |b| b.input.at());
            self.block(index, block, next, rooms)?;
        }
        let normed = rooms.final_normed.size(device, rows * d)?;
        let moments = rooms.final_moments.size(device, 2 * rows)?;
        gpu.norm(
            stream,
            rows,
            self.norm_at(&layout.final_norm),
            normed,
            moments,
        )
    }

    fn block(&self, index: usize, layout: &Block, next: u64, rooms: &mut Rooms) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, joint) = (shape.hidden, self.batch.rows(), self.net.joint.row());
        let mut s = std::mem::take(&mut rooms.blocks[index]);
        let input = s.input.at();
        let normed = s.normed1.size(device, rows * d)?;
        let moments = s.moments1.size(device, 2 * rows)?;
        gpu.norm(input, rows, self.norm_at(&layout.norm1), normed, moments)?;
        let qkv = s.qkv.size(device, rows * joint)?;
        for (linear, column) in &layout.qkv {
            let to = (qkv + *column as u64 * 4, joint, false);
            gpu.apply(&self.layer(linear, normed), to, low!(rooms))?;
        }
        self.turn(qkv, false)?;
        let heads = s.heads.size(device, rows * shape.heads * shape.head_dim)?;
        let log_sums = s.log_sums.size(device, rows * shape.heads)?;
        gpu.attend(qkv, &self.batch.attention, heads, log_sums)?;
        let middle = if self.net.parallel() {
            next
        } else {
            s.middle.size(device, rows * d)?
        };
        device.copy(input, middle, rows * d * 4)?;
        let to = (middle, d, true);
        gpu.apply(&self.layer(&layout.out, heads), to, low!(rooms))?;
        let from = if self.net.parallel() {
            input
        } else {
            device.copy(middle, next, rows * d * 4)?;
            middle
        };
        self.feed_forward(layout, (from, next), &mut s, rooms)?;
        rooms.blocks[index] = s;
        Ok(())
    }

    fn feed_forward(
        &self,
        layout: &Block,
        (from, to): (u64, u64),
        s: &mut BlockRoom,
        rooms: &mut Rooms,
    ) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, inner) = (shape.hidden, self.batch.rows(), shape.intermediate);
        let normed = s.normed2.size(device, rows * d)?;
        let moments = s.moments2.size(device, 2 * rows)?;
        gpu.norm(from, rows, self.norm_at(&layout.norm2), normed, moments)?;
        let up = s.up.size(device, rows * inner)?;
        let active = s.active.size(device, rows * inner)?;
        gpu.apply(
            &self.layer(&layout.up, normed),
            (up, inner, false),
            low!(rooms),
        )?;
        match &layout.gate {
            Some(linear) => {
                let gate = s.gate.size(device, rows * inner)?;
                gpu.apply(
                    &self.layer(linear, normed),
                    (gate, inner, false),
                    low!(rooms),
                )?;
                gpu.gated_silu(gate, up, active, rows * inner)?;
            }
            None => {
                let exact = shape.mlp.activation != Activation::GeluTanh;
                gpu.gelu(exact, up, active, rows * inner)?;
            }
        }
        gpu.apply(
            &self.layer(&layout.down, active),
            (to, d, true),
            low!(rooms),
        )
    }

    /// Logits of the rows that count, block by block, and what to do with each block.
    fn logits(&self, rooms: &mut Rooms, act: &mut dyn FnMut(&mut Rooms, Logits) -> Done) -> Done {
        let (gpu, device) = (self.gpu, &self.gpu.device);
        let (d, v) = (self.net.architecture.hidden, self.net.architecture.vocab);
        let count = self.batch.count();
        let step = head_rows(v);
        for first in (0..count).step_by(step) {
            let rows = step.min(count - first);
            let chosen = match self.batch.counted(first) {
                Some(list) => {
                    let to = rooms.chosen.size(device, rows * d)?;
                    gpu.gather(rooms.final_normed.at(), (list, rows), d, to)?;
                    to
                }
                None => rooms.final_normed.at() + (first * d * 4) as u64,
            };
            let logits = rooms.logits.size(device, rows * v)?;
            let head = View::turned(self.n.at(&self.net.layout.head), d);
            let call = Call::new((rows, d, v), View::rows(chosen, d), head, (logits, v));
            gpu.multiply(&call)?;
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
        let (gpu, device) = (self.gpu, &self.gpu.device);
        let (d, v, rows) = (
            self.net.architecture.hidden,
            self.net.architecture.vocab,
            self.batch.rows(),
        );
        let count = self.batch.count();
        let back = rooms.slope_narrow.size(device, rows * d)?;
        if count < rows {
            device.zero(back, rows * d * 4)?;
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
            gpu.cross_entropy((logits, rows), v, targets, scale, kept)?;
            if let Some(dhead) = self.n.gradient(head) {
                let (slope, x) = (View::turned(logits, v), View::rows(chosen, d));
                let call = Call::new((v, rows, d), slope, x, (dhead, d));
                gpu.multiply(&call.adding(true).sharing(Shared::First))?;
            }
            let to = match self.batch.counted(first) {
                Some(_) => rooms.chosen_slope.size(device, rows * d)?,
                None => back + (first * d * 4) as u64,
            };
            let weight = View::rows(self.n.at(head), d);
            let call = Call::new((rows, v, d), View::rows(logits, v), weight, (to, d));
            gpu.multiply(&call.sharing(Shared::Second))?;
            match self.batch.counted(first) {
                Some(list) => gpu.scatter(to, (list, rows), d, back),
                None => Ok(()),
            }
        })?;
        gpu.add_losses((losses, self.batch.targets(0).1), count, total)?;
        let slope = rooms.slope.size(device, rows * d)?;
        let (x, moments) = (rooms.stream.at(), rooms.final_moments.at());
        self.norm_back(
            &self.net.layout.final_norm,
            (x, moments),
            back,
            (0, slope),
            rooms,
        )
    }

    /// Backward pass through a norm: `dx = base + …`, and its own gradients where it is trained.
    fn norm_back(
        &self,
        norm: &Norm,
        (x, moments): (u64, u64),
        dy: u64,
        to: (u64, u64),
        rooms: &mut Rooms,
    ) -> Done {
        let (d, rows) = (self.net.architecture.hidden, self.batch.rows());
        self.gpu
            .norm_back((x, moments, rows), self.norm_at(norm), dy, to)?;
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
        for (index, layout) in self.net.layout.blocks.iter().enumerate().rev() {
            let mut s = std::mem::take(&mut rooms.blocks[index]);
            self.feed_forward_back(layout, &mut s, rooms)?;
            self.attention_back(layout, &mut s, rooms)?;
            rooms.blocks[index] = s;
        }
        if let Some(table) = self.n.gradient(&self.net.layout.embedding) {
            let (places, groups) = self.batch.by_token();
            let d = self.net.architecture.hidden;
            self.gpu
                .embed_back(rooms.slope.at(), places, groups, d, table)?;
        }
        Ok(())
    }

    /// Backward pass through the feed-forward half; `rooms.slope_middle` becomes the slope at its
    /// input, the residual's own slope included.
    fn feed_forward_back(&self, layout: &Block, s: &mut BlockRoom, rooms: &mut Rooms) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, inner) = (shape.hidden, self.batch.rows(), shape.intermediate);
        let wide = rooms
            .slope_wide
            .size(device, rows * inner.max(shape.heads * shape.head_dim))?;
        let narrow = rooms.slope_narrow.size(device, rows * d)?;
        let slope = rooms.slope.at();
        let x = s.active.at();
        gpu.apply_back(
            &self.layer(&layout.down, x),
            (slope, d),
            (wide, false),
            low!(rooms),
        )?;
        let x = s.normed2.at();
        if let Some(linear) = &layout.gate {
            let gate = rooms.slope_gate.size(device, rows * inner)?;
            gpu.times(wide, s.gate.at(), gate, rows * inner)?;
            gpu.apply_back(
                &self.layer(linear, x),
                (gate, inner),
                (narrow, false),
                low!(rooms),
            )?;
        }
        gpu.times(wide, s.up.at(), wide, rows * inner)?;
        let to = (narrow, layout.gate.is_some());
        gpu.apply_back(&self.layer(&layout.up, x), (wide, inner), to, low!(rooms))?;
        let middle = rooms.slope_middle.size(device, rows * d)?;
        let from = if self.net.parallel() {
            s.input.at()
        } else {
            s.middle.at()
        };
        let kept = (from, s.moments2.at());
        self.norm_back(&layout.norm2, kept, narrow, (slope, middle), rooms)
    }

    /// Backward pass through the attention half; leaves the block's slope in `rooms.slope`.
    fn attention_back(&self, layout: &Block, s: &mut BlockRoom, rooms: &mut Rooms) -> Done {
        let (gpu, device, shape) = (self.gpu, &self.gpu.device, &self.net.architecture);
        let (d, rows, joint) = (shape.hidden, self.batch.rows(), self.net.joint.row());
        let (wide, narrow) = (rooms.slope_wide.at(), rooms.slope_narrow.at());
        let middle = rooms.slope_middle.at();
        // In a sequential block the stream between the halves carries its own slope.
        let incoming = if self.net.parallel() {
            rooms.slope.at()
        } else {
            middle
        };
        let x = s.heads.at();
        gpu.apply_back(
            &self.layer(&layout.out, x),
            (incoming, d),
            (wide, false),
            low!(rooms),
        )?;
        let dots = rooms.dots.size(device, rows * shape.heads)?;
        let dqkv = rooms.slope_qkv.size(device, rows * joint)?;
        let kept = (s.heads.at(), s.log_sums.at());
        let attention = &self.batch.attention;
        gpu.attend_back(s.qkv.at(), attention, kept, wide, (dots, dqkv))?;
        self.turn(dqkv, true)?;
        let x = s.normed1.at();
        for (i, (linear, column)) in layout.qkv.iter().enumerate() {
            let dy = (dqkv + *column as u64 * 4, joint);
            gpu.apply_back(&self.layer(linear, x), dy, (narrow, i > 0), low!(rooms))?;
        }
        let kept = (s.input.at(), s.moments1.at());
        self.norm_back(&layout.norm1, kept, narrow, (middle, middle), rooms)?;
        std::mem::swap(&mut rooms.slope, &mut rooms.slope_middle);
        Ok(())
    }
}
