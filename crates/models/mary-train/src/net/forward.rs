//! Forward pass: from tokens to normed rows after the last block, keeping what the backward pass needs.

use super::attention;
use super::kernels;
use super::layout::{Block, Linear, Norm};
use super::linear::{LowRank, apply};
use super::matmul::Write;
use super::model::{BlockSaved, Net, Normed, Workspace};
use super::parameters::{Given, Packed, Parameters, size};

/// Parts of every row side by side: one head after the other.
pub(super) fn gather(
    rows: &[f32],
    row: usize,
    (places, width): (&[usize], usize),
    out: &mut Vec<f32>,
) {
    out.clear();
    for row in rows.chunks_exact(row) {
        for at in places {
            out.extend_from_slice(&row[*at..at + width]);
        }
    }
}

/// Puts parts of every row back to where [`gather`] took them.
pub(super) fn scatter(
    parts: &[f32],
    (places, width): (&[usize], usize),
    rows: &mut [f32],
    row: usize,
) {
    let mut parts = parts.chunks_exact(width);
    for row in rows.chunks_exact_mut(row) {
        for (at, part) in places.iter().zip(&mut parts) {
            row[*at..at + width].copy_from_slice(part);
        }
    }
}

impl Net {
    pub(super) fn forward(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        given: Given<'_>,
        ws: &mut Workspace,
    ) {
        let (d, n) = (self.architecture.hidden, packed.tokens.len());
        ws.blocks
            .resize_with(self.architecture.layers, BlockSaved::default);
        ws.low.layers(self.layout.linear_count);
        size(&mut ws.stream, n * d);
        self.embed(p, packed, given, &mut ws.stream);
        for index in 0..self.layout.blocks.len() {
            self.block(index, p, packed, ws);
        }
        let to = (&mut ws.final_normed, &mut ws.final_moments);
        self.norm(p, &self.layout.final_norm, &ws.stream, to);
    }

    /// Tokens as vectors, with their positions where those are learned.
    fn embed(&self, p: &Parameters<'_>, packed: &Packed, given: Given<'_>, stream: &mut [f32]) {
        let (d, embedding) = (self.architecture.hidden, &self.architecture.embedding);
        for (token, row) in packed.tokens.iter().zip(stream.chunks_mut(d)) {
            match p.stored {
                Some(stored) => stored.embedding.rows(*token as usize, row),
                None => {
                    let at = self.layout.embedding.start + *token as usize * d;
                    row.copy_from_slice(&p.base[at..at + d]);
                }
            }
            if embedding.scale != 1.0 {
                row.iter_mut().for_each(|x| *x *= embedding.scale);
            }
        }
        given.place(stream, d);
        let learned = self.layout.positions.clone().zip(embedding.position_offset);
        if let Some((place, offset)) = learned {
            let table = &p.base[place];
            for segment in &packed.segments {
                let rows = &mut stream[segment.start * d..(segment.start + segment.length) * d];
                kernels::add(rows, &table[offset * d..]);
            }
        }
    }

    pub(super) fn embedding_back(
        &self,
        base: &mut [f32],
        (packed, given): (&Packed, Given<'_>),
        gradient: &[f32],
    ) {
        let (d, embedding) = (self.architecture.hidden, &self.architecture.embedding);
        let table = &mut base[self.layout.embedding.clone()];
        for (i, (token, gradient)) in packed.tokens.iter().zip(gradient.chunks(d)).enumerate() {
            if given.holds(i) {
                continue;
            }
            let at = *token as usize * d;
            let row = &mut table[at..at + d];
            if embedding.scale == 1.0 {
                kernels::add(row, gradient);
            } else {
                let scaled = row.iter_mut().zip(gradient);
                scaled.for_each(|(x, y)| *x += embedding.scale * y);
            }
        }
        let learned = self.layout.positions.clone().zip(embedding.position_offset);
        if let Some((place, offset)) = learned {
            let table = &mut base[place];
            for segment in &packed.segments {
                let rows = &gradient[segment.start * d..(segment.start + segment.length) * d];
                kernels::add(&mut table[offset * d..offset * d + rows.len()], rows);
            }
        }
    }

    pub(super) fn block(
        &self,
        index: usize,
        p: &Parameters<'_>,
        packed: &Packed,
        ws: &mut Workspace,
    ) {
        let layout = &self.layout.blocks[index];
        let (n, row) = (packed.tokens.len(), self.joint.row());
        let Workspace {
            blocks,
            low,
            stream,
            scratch,
            spare,
            ..
        } = ws;
        let s = &mut blocks[index];
        s.input.clear();
        s.input.extend_from_slice(stream);
        let to = (&mut s.normed1, &mut s.moments1);
        self.norm(p, &layout.norm1, stream, to);
        size(&mut s.qkv, n * row);
        for (linear, column) in &layout.qkv {
            let to = (&mut s.qkv[*column..], row);
            apply(linear, p, &s.normed1, to, Write::Replace, low);
        }
        self.norm_heads(p, layout, s, spare);
        if let Some(rotary) = self.rotary(index) {
            rotary.apply(self.joint, &packed.segments, &mut s.qkv, false);
        }
        size(&mut s.heads, n * self.architecture.q_width());
        size(&mut s.log_sums, n * self.architecture.heads);
        attention::forward(
            &self.attention_settings(index, p.unit()),
            &packed.segments,
            &s.qkv,
            scratch,
            &mut s.heads,
            &mut s.log_sums,
        );
        let part = (&layout.out, layout.post.as_ref().map(|(norm, _)| norm));
        let to = (&mut s.added1, &mut *spare, &mut *stream);
        self.add_part(p, part, &s.heads, to, low);
        let from = if self.parallel() {
            &s.input
        } else {
            s.middle.clear();
            s.middle.extend_from_slice(stream);
            &s.middle
        };
        let to = (&mut s.normed2, &mut s.moments2);
        self.norm(p, &layout.norm2, from, to);
        self.feed_forward(p, layout, s, spare, low);
        let part = (&layout.down, layout.post.as_ref().map(|(_, norm)| norm));
        let to = (&mut s.added2, spare, stream);
        self.add_part(p, part, &s.active, to, low);
    }

    fn norm(
        &self,
        p: &Parameters<'_>,
        norm: &Norm,
        x: &[f32],
        (out, moments): (&mut Vec<f32>, &mut Vec<[f32; 2]>),
    ) {
        let (weight, bias) = self.norm_weights(norm, p.base);
        size(out, x.len());
        moments.resize(x.len() / weight.len().max(1), [0.0; 2]);
        kernels::norm(x, self.norm_kind(), (&weight, bias), out, moments);
    }

    /// Adds what the last layer of a part gives to the stream, normalised where the architecture does.
    fn add_part(
        &self,
        p: &Parameters<'_>,
        (linear, norm): (&Linear, Option<&Norm>),
        x: &[f32],
        (added, spare, stream): (&mut Normed, &mut Vec<f32>, &mut Vec<f32>),
        low: &mut LowRank,
    ) {
        let d = self.architecture.hidden;
        let Some(norm) = norm else {
            return apply(linear, p, x, (stream, d), Write::Add, low);
        };
        size(&mut added.0, stream.len());
        apply(linear, p, x, (&mut added.0, d), Write::Replace, low);
        self.norm(p, norm, &added.0, (spare, &mut added.1));
        kernels::add(stream, spare);
    }

    fn norm_heads(
        &self,
        p: &Parameters<'_>,
        layout: &Block,
        s: &mut BlockSaved,
        spare: &mut Vec<f32>,
    ) {
        let Some((queries, keys)) = &layout.qk else {
            return;
        };
        let (row, width) = (self.joint.row(), self.joint.width);
        let both = [(queries, false, &mut s.queries), (keys, true, &mut s.keys)];
        for (norm, key, (kept, moments)) in both {
            let places = self.joint.places(key);
            gather(&s.qkv, row, (&places, width), kept);
            self.norm(p, norm, kept, (&mut *spare, moments));
            scatter(spare, (&places, width), &mut s.qkv, row);
        }
    }

    /// The feed-forward part up to its activation; the gradients stay in `gate` and `up`.
    fn feed_forward(
        &self,
        p: &Parameters<'_>,
        layout: &Block,
        s: &mut BlockSaved,
        spare: &mut Vec<f32>,
        low: &mut LowRank,
    ) {
        let (mlp, f) = (self.architecture.mlp, self.architecture.intermediate);
        let n = s.normed2.len() / self.architecture.hidden;
        size(&mut s.up, n * f);
        size(&mut s.active, n * f);
        if mlp.gated && layout.gate.is_none() {
            size(spare, 2 * n * f);
            let to = (spare.as_mut_slice(), 2 * f);
            apply(&layout.up, p, &s.normed2, to, Write::Replace, low);
            gather(spare, 2 * f, (&[0], f), &mut s.gate);
            gather(spare, 2 * f, (&[f], f), &mut s.up);
        } else {
            let to = (s.up.as_mut_slice(), f);
            apply(&layout.up, p, &s.normed2, to, Write::Replace, low);
        }
        if let Some(gate) = &layout.gate {
            size(&mut s.gate, n * f);
            let to = (s.gate.as_mut_slice(), f);
            apply(gate, p, &s.normed2, to, Write::Replace, low);
        }
        match mlp.gated {
            true => kernels::activate_gated(mlp.activation, &mut s.gate, &mut s.up, &mut s.active),
            false => kernels::activate(mlp.activation, &mut s.up, &mut s.active),
        }
    }
}
