//! One transformer, forward and backward, over one packed sequence of tokens.
//!
//! The same code grows a GPT-NeoX model from scratch and tunes adapters on a GPT-NeoX or LLaMA
//! model. It runs on one thread; parallelism is over sequences, outside.

use super::adapter::AdapterLayout;
use super::attention::{self, Rotary, Scratch, Segment};
use super::kernels::{self, NormKind, NormSaved};
use super::layout::{Layout, Linear, Norm};
use super::matmul::{View, Write, matmul, transpose};
use super::shape::{Activation, Family, Shape};
use crate::TrainError;
use rayon::prelude::*;

/// Tokens to run, in segments that do not see each other.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// The input tokens.
    pub tokens: Vec<u32>,
    /// For every input token, the token that should follow and how much it counts (0: not at all).
    pub targets: Vec<(u32, f32)>,
    /// The segments, in order, covering all tokens.
    pub segments: Vec<Segment>,
}

impl Packed {
    /// One segment: every token predicts the next.
    pub fn from_window(window: &[u32]) -> Self {
        let length = window.len().saturating_sub(1);
        Self {
            tokens: window[..length].to_vec(),
            targets: window.iter().skip(1).map(|t| (*t, 1.0)).collect(),
            segments: vec![Segment { start: 0, length }],
        }
    }

    /// Sum of the targets' weights.
    pub fn weight(&self) -> f64 {
        self.targets
            .iter()
            .map(|(_, weight)| f64::from(*weight))
            .sum()
    }
}

/// The numbers of a model: the base and, where there is one, an adapter.
#[derive(Clone, Copy)]
pub struct Parameters<'a> {
    /// The base, laid out by [`Layout`].
    pub base: &'a [f32],
    /// The base with its matrices transposed ([`Net::transposed`]): not needed, much faster.
    pub transposed: Option<&'a [f32]>,
    /// The adapter, its table and its dropout seed (None: no dropout).
    pub adapter: Option<(&'a AdapterLayout, &'a [f32], Option<u64>)>,
}

/// Where gradients are added: to the base, the adapter, or both.
#[derive(Default)]
pub struct Gradients<'a> {
    /// Gradient of the base.
    pub base: Option<&'a mut [f32]>,
    /// Gradient of the adapter.
    pub adapter: Option<&'a mut [f32]>,
}

/// What one block keeps for the way back.
#[derive(Debug, Default)]
struct BlockSaved {
    input: Vec<f32>,
    normed1: Vec<f32>,
    moments1: Vec<[f32; 2]>,
    qkv: Vec<f32>,
    log_sums: Vec<f32>,
    heads: Vec<f32>,
    middle: Vec<f32>,
    normed2: Vec<f32>,
    moments2: Vec<[f32; 2]>,
    gate: Vec<f32>,
    up: Vec<f32>,
    active: Vec<f32>,
}

/// Room for one sequence, reused from step to step.
#[derive(Debug, Default)]
pub struct Workspace {
    blocks: Vec<BlockSaved>,
    low_rank: Vec<Vec<f32>>,
    stream: Vec<f32>,
    final_moments: Vec<[f32; 2]>,
    final_normed: Vec<f32>,
    chosen: Vec<f32>,
    chosen_slope: Vec<f32>,
    logits: Vec<f32>,
    slope: Vec<f32>,
    slope_middle: Vec<f32>,
    slope_narrow: Vec<f32>,
    slope_wide: Vec<f32>,
    slope_gate: Vec<f32>,
    slope_qkv: Vec<f32>,
    slope_low: Vec<f32>,
    dropped: Vec<f32>,
    scratch: Scratch,
}

/// A shape with its tables, ready to run.
#[derive(Debug, Clone)]
pub struct Net {
    /// The shape.
    pub shape: Shape,
    /// Where the tensors lie.
    pub layout: Layout,
    rotary: Rotary,
}

/// Rows of logits computed at a time: about a million numbers.
fn head_rows(vocabulary: usize) -> usize {
    (1_000_000 / vocabulary.max(1)).clamp(64, 512)
}

fn size(buffer: &mut Vec<f32>, length: usize) {
    buffer.resize(length, 0.0);
}

impl Net {
    /// Prepares a shape.
    pub fn new(shape: Shape) -> Result<Self, TrainError> {
        shape.check()?;
        let layout = Layout::new(&shape);
        let rotary = Rotary::new(&shape);
        Ok(Self {
            shape,
            layout,
            rotary,
        })
    }

    /// Writes the base with its matrices transposed, for [`Parameters::transposed`].
    pub fn transposed(&self, base: &[f32], out: &mut Vec<f32>) {
        out.resize(base.len(), 0.0);
        let mut rest = out.as_mut_slice();
        let mut pieces = Vec::with_capacity(self.layout.entries.len());
        for entry in &self.layout.entries {
            let piece;
            (piece, rest) = std::mem::take(&mut rest).split_at_mut(entry.place.len());
            pieces.push((entry, piece));
        }
        pieces
            .into_par_iter()
            .for_each(|(entry, piece)| match entry.dims.as_slice() {
                [_, columns] => transpose(&base[entry.place.clone()], *columns, *columns, piece),
                _ => piece.copy_from_slice(&base[entry.place.clone()]),
            });
    }

    /// The output matrix, ready to be the right factor.
    fn head<'a>(&self, p: &Parameters<'a>) -> View<'a> {
        let place = self.layout.head.clone();
        match p.transposed {
            Some(values) => View::rows(&values[place], self.shape.vocabulary),
            None => View::transposed(&p.base[place], self.shape.width),
        }
    }

    fn norm_kind(&self) -> NormKind {
        NormKind {
            centred: self.shape.family == Family::NeoX,
            eps: self.shape.norm_eps,
        }
    }

    /// Checks what the kernels rely on.
    fn check(&self, p: &Parameters<'_>, packed: &Packed) -> Result<(), TrainError> {
        let n = packed.tokens.len();
        let fail = |what: String| Err(TrainError::Settings(what));
        if p.base.len() != self.layout.total {
            return fail(format!(
                "expected {} parameters, found {}",
                self.layout.total,
                p.base.len()
            ));
        }
        if let Some(values) = p.transposed
            && values.len() != p.base.len()
        {
            return fail(format!(
                "expected {} transposed parameters, found {}",
                p.base.len(),
                values.len()
            ));
        }
        if let Some((table, values, _)) = p.adapter
            && (values.len() != table.total || table.sites.len() != self.layout.linear_count)
        {
            return fail(format!(
                "expected {} adapter parameters, found {}",
                table.total,
                values.len()
            ));
        }
        if packed.targets.len() != n {
            return fail(format!("{n} tokens but {} targets", packed.targets.len()));
        }
        let mut next = 0;
        for segment in &packed.segments {
            if segment.start != next || segment.length > self.shape.context {
                return fail(format!(
                    "a sequence of {} tokens does not fit the model's context of {}",
                    segment.length, self.shape.context
                ));
            }
            next += segment.length;
        }
        if next != n {
            return fail(format!("segments cover {next} of {n} tokens"));
        }
        let largest = packed
            .tokens
            .iter()
            .chain(packed.targets.iter().map(|(t, _)| t))
            .max();
        match largest {
            Some(&token) if token as usize >= self.shape.vocabulary => fail(format!(
                "token {token} is outside the vocabulary of {}",
                self.shape.vocabulary
            )),
            _ => Ok(()),
        }
    }

    /// Loss summed over the targets; adds `scale` times its gradient to `g`.
    pub fn loss_and_gradient(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        scale: f32,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) -> Result<f64, TrainError> {
        self.check(p, packed)?;
        self.forward(p, packed, ws);
        let loss = self.head_and_back(p, packed, scale, g, ws);
        for index in (0..self.layout.blocks.len()).rev() {
            self.block_back(index, p, packed, g, ws);
        }
        if let Some(base) = g.base.as_deref_mut() {
            let d = self.shape.width;
            let table = &mut base[self.layout.embedding.clone()];
            for (token, slope) in packed.tokens.iter().zip(ws.slope.chunks(d)) {
                let at = *token as usize * d;
                kernels::add(&mut table[at..at + d], slope);
            }
        }
        Ok(loss)
    }

    /// Log-probability of every target.
    pub fn log_probabilities(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        ws: &mut Workspace,
    ) -> Result<Vec<f32>, TrainError> {
        self.check(p, packed)?;
        self.forward(p, packed, ws);
        let (d, v) = (self.shape.width, self.shape.vocabulary);
        let mut out = Vec::with_capacity(packed.tokens.len());
        let rows = head_rows(v);
        let targets: Vec<u32> = packed.targets.iter().map(|(t, _)| *t).collect();
        for (chunk, targets) in ws.final_normed.chunks(rows * d).zip(targets.chunks(rows)) {
            size(&mut ws.logits, targets.len() * v);
            let head = self.head(p);
            let shape = (targets.len(), d, v);
            matmul(
                shape,
                View::rows(chunk, d),
                head,
                1.0,
                (&mut ws.logits, v),
                Write::Replace,
            );
            out.extend(kernels::log_probabilities(&mut ws.logits, v, targets));
        }
        Ok(out)
    }

    /// For every target that counts: its log-probability, and whether it was the most probable.
    pub fn answers(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        ws: &mut Workspace,
    ) -> Result<Vec<(f32, bool)>, TrainError> {
        self.check(p, packed)?;
        self.forward(p, packed, ws);
        let (d, v) = (self.shape.width, self.shape.vocabulary);
        let mut out = Vec::new();
        for (row, (target, weight)) in ws.final_normed.chunks(d).zip(&packed.targets) {
            if *weight == 0.0 {
                continue;
            }
            size(&mut ws.logits, v);
            let to = (ws.logits.as_mut_slice(), v);
            matmul(
                (1, d, v),
                View::rows(row, d),
                self.head(p),
                1.0,
                to,
                Write::Replace,
            );
            let wanted = ws.logits[*target as usize];
            let top = ws.logits.iter().all(|logit| *logit <= wanted);
            let log_probability = kernels::log_probabilities(&mut ws.logits, v, &[*target]);
            out.extend(log_probability.into_iter().map(|value| (value, top)));
        }
        Ok(out)
    }

    /// Logits after every token, `tokens × vocabulary`.
    pub fn logits(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        ws: &mut Workspace,
    ) -> Result<Vec<f32>, TrainError> {
        self.check(p, packed)?;
        self.forward(p, packed, ws);
        let (d, v) = (self.shape.width, self.shape.vocabulary);
        let mut out = vec![0.0; packed.tokens.len() * v];
        let head = self.head(p);
        let shape = (packed.tokens.len(), d, v);
        matmul(
            shape,
            View::rows(&ws.final_normed, d),
            head,
            1.0,
            (&mut out, v),
            Write::Replace,
        );
        Ok(out)
    }

    /// The residual stream before every block and after the last norm, mean over the tokens.
    pub fn pooled_layers(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        ws: &mut Workspace,
    ) -> Result<Vec<Vec<f32>>, TrainError> {
        self.check(p, packed)?;
        self.forward(p, packed, ws);
        let d = self.shape.width;
        let count = packed.tokens.len().max(1) as f32;
        let mean = |rows: &[f32]| {
            let mut total = vec![0.0; d];
            kernels::add_column_sums(rows, d, &mut total);
            total.iter_mut().for_each(|x| *x /= count);
            total
        };
        let mut out: Vec<Vec<f32>> = ws.blocks.iter().map(|b| mean(&b.input)).collect();
        out.push(mean(&ws.final_normed));
        Ok(out)
    }

    fn forward(&self, p: &Parameters<'_>, packed: &Packed, ws: &mut Workspace) {
        let (d, n) = (self.shape.width, packed.tokens.len());
        ws.blocks
            .resize_with(self.shape.layers, BlockSaved::default);
        ws.low_rank.resize_with(self.layout.linear_count, Vec::new);
        size(&mut ws.stream, n * d);
        let table = &p.base[self.layout.embedding.clone()];
        for (token, row) in packed.tokens.iter().zip(ws.stream.chunks_mut(d)) {
            let at = *token as usize * d;
            row.copy_from_slice(&table[at..at + d]);
        }
        for index in 0..self.layout.blocks.len() {
            self.block(index, p, packed, ws);
        }
        size(&mut ws.final_normed, n * d);
        ws.final_moments.resize(n, [0.0; 2]);
        let weights = norm_weights(&self.layout.final_norm, p.base);
        kernels::norm(
            &ws.stream,
            self.norm_kind(),
            weights,
            &mut ws.final_normed,
            &mut ws.final_moments,
        );
    }

    fn block(&self, index: usize, p: &Parameters<'_>, packed: &Packed, ws: &mut Workspace) {
        let shape = &self.shape;
        let layout = &self.layout.blocks[index];
        let (d, n, joint) = (shape.width, packed.tokens.len(), shape.qkv_width());
        let Workspace {
            blocks,
            low_rank,
            stream,
            scratch,
            dropped,
            ..
        } = ws;
        let s = &mut blocks[index];
        let low = &mut LowRank {
            kept: low_rank,
            dropped,
        };
        s.input.clear();
        s.input.extend_from_slice(stream);
        size(&mut s.normed1, n * d);
        s.moments1.resize(n, [0.0; 2]);
        let weights = norm_weights(&layout.norm1, p.base);
        kernels::norm(
            stream,
            self.norm_kind(),
            weights,
            &mut s.normed1,
            &mut s.moments1,
        );
        size(&mut s.qkv, n * joint);
        for (linear, column) in &layout.qkv {
            apply(
                linear,
                p,
                &s.normed1,
                (&mut s.qkv[*column..], joint),
                Write::Replace,
                low,
            );
        }
        self.rotary
            .apply(shape, &packed.segments, &mut s.qkv, false);
        let heads = shape.heads * shape.head_width;
        size(&mut s.heads, n * heads);
        size(&mut s.log_sums, n * shape.heads);
        attention::forward(
            shape,
            &packed.segments,
            &s.qkv,
            scratch,
            &mut s.heads,
            &mut s.log_sums,
        );
        apply(&layout.out, p, &s.heads, (stream, d), Write::Add, low);
        let from = if shape.parallel_residual {
            &s.input
        } else {
            s.middle.clear();
            s.middle.extend_from_slice(stream);
            &s.middle
        };
        size(&mut s.normed2, n * d);
        s.moments2.resize(n, [0.0; 2]);
        let weights = norm_weights(&layout.norm2, p.base);
        kernels::norm(
            from,
            self.norm_kind(),
            weights,
            &mut s.normed2,
            &mut s.moments2,
        );
        size(&mut s.up, n * shape.inner);
        size(&mut s.active, n * shape.inner);
        apply(
            &layout.up,
            p,
            &s.normed2,
            (&mut s.up, shape.inner),
            Write::Replace,
            low,
        );
        match (&layout.gate, shape.activation) {
            (Some(gate), _) => {
                size(&mut s.gate, n * shape.inner);
                apply(
                    gate,
                    p,
                    &s.normed2,
                    (&mut s.gate, shape.inner),
                    Write::Replace,
                    low,
                );
                kernels::gated_silu(&mut s.gate, &mut s.up, &mut s.active);
            }
            (None, Activation::GeluTanh) => kernels::gelu_tanh(&mut s.up, &mut s.active),
            (None, _) => kernels::gelu(&mut s.up, &mut s.active),
        }
        apply(&layout.down, p, &s.active, (stream, d), Write::Add, low);
    }

    /// The head, its loss, and the way back to the end of the last block (left in `ws.slope`).
    fn head_and_back(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        scale: f32,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) -> f64 {
        let (d, v, n) = (self.shape.width, self.shape.vocabulary, packed.tokens.len());
        let counted: Vec<usize> = (0..n).filter(|i| packed.targets[*i].1 != 0.0).collect();
        size(&mut ws.slope_narrow, n * d);
        ws.slope_narrow.fill(0.0);
        let head = &p.base[self.layout.head.clone()];
        let mut loss = 0.0;
        for positions in counted.chunks(head_rows(v)) {
            let rows = positions.len();
            ws.chosen.clear();
            for i in positions {
                ws.chosen
                    .extend_from_slice(&ws.final_normed[i * d..(i + 1) * d]);
            }
            let targets: Vec<(u32, f32)> = positions.iter().map(|i| packed.targets[*i]).collect();
            size(&mut ws.logits, rows * v);
            let chosen = View::rows(&ws.chosen, d);
            matmul(
                (rows, d, v),
                chosen,
                self.head(p),
                1.0,
                (&mut ws.logits, v),
                Write::Replace,
            );
            loss += kernels::cross_entropy(&mut ws.logits, v, &targets, scale);
            if let Some(base) = g.base.as_deref_mut() {
                let dhead = &mut base[self.layout.head.clone()];
                let back = View::transposed(&ws.logits, v);
                matmul(
                    (v, rows, d),
                    back,
                    View::rows(&ws.chosen, d),
                    1.0,
                    (dhead, d),
                    Write::Add,
                );
            }
            size(&mut ws.chosen_slope, rows * d);
            let slopes = View::rows(&ws.logits, v);
            matmul(
                (rows, v, d),
                slopes,
                View::rows(head, d),
                1.0,
                (&mut ws.chosen_slope, d),
                Write::Replace,
            );
            for (i, row) in positions.iter().zip(ws.chosen_slope.chunks(d)) {
                ws.slope_narrow[i * d..(i + 1) * d].copy_from_slice(row);
            }
        }
        size(&mut ws.slope, n * d);
        ws.slope.fill(0.0);
        let norm = &self.layout.final_norm;
        let saved = NormSaved {
            x: &ws.stream,
            moments: &ws.final_moments,
            weight: &p.base[norm.weight.clone()],
            kind: self.norm_kind(),
        };
        kernels::norm_back(
            &saved,
            &ws.slope_narrow,
            &mut ws.slope,
            norm_gradients(norm, g.base.as_deref_mut()),
        );
        loss
    }

    fn block_back(
        &self,
        index: usize,
        p: &Parameters<'_>,
        packed: &Packed,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) {
        self.feed_forward_back(index, p, g, ws);
        let shape = &self.shape;
        let layout = &self.layout.blocks[index];
        let (d, n, joint) = (shape.width, packed.tokens.len(), shape.qkv_width());
        let s = &ws.blocks[index];
        let low = &mut LowBack {
            kept: &ws.low_rank,
            dropped: &mut ws.dropped,
            slope: &mut ws.slope_low,
        };
        // In a sequential block the stream between the halves carries its own slope.
        let incoming = if shape.parallel_residual {
            &ws.slope
        } else {
            &ws.slope_middle
        };
        let heads = shape.heads * shape.head_width;
        size(&mut ws.slope_wide, n * heads);
        apply_back(
            &layout.out,
            p,
            &s.heads,
            (incoming, d),
            (&mut ws.slope_wide, Write::Replace),
            g,
            low,
        );
        size(&mut ws.slope_qkv, n * joint);
        let saved = attention::Saved {
            qkv: &s.qkv,
            out: &s.heads,
            log_sums: &s.log_sums,
        };
        attention::backward(
            shape,
            &packed.segments,
            &saved,
            &mut ws.scratch,
            &ws.slope_wide,
            &mut ws.slope_qkv,
        );
        self.rotary
            .apply(shape, &packed.segments, &mut ws.slope_qkv, true);
        size(&mut ws.slope_narrow, n * d);
        let mut write = Write::Replace;
        for (linear, column) in &layout.qkv {
            let slope = (&ws.slope_qkv[*column..], joint);
            apply_back(
                linear,
                p,
                &s.normed1,
                slope,
                (&mut ws.slope_narrow, write),
                g,
                low,
            );
            write = Write::Add;
        }
        let saved = NormSaved {
            x: &s.input,
            moments: &s.moments1,
            weight: &p.base[layout.norm1.weight.clone()],
            kind: self.norm_kind(),
        };
        let trained = norm_gradients(&layout.norm1, g.base.as_deref_mut());
        kernels::norm_back(&saved, &ws.slope_narrow, &mut ws.slope_middle, trained);
        std::mem::swap(&mut ws.slope, &mut ws.slope_middle);
    }

    /// The way back through the feed-forward half; `ws.slope_middle` becomes the slope at its
    /// input, the residual's own slope included.
    fn feed_forward_back(
        &self,
        index: usize,
        p: &Parameters<'_>,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) {
        let shape = &self.shape;
        let layout = &self.layout.blocks[index];
        let d = shape.width;
        let n = ws.slope.len() / d;
        let s = &ws.blocks[index];
        let low = &mut LowBack {
            kept: &ws.low_rank,
            dropped: &mut ws.dropped,
            slope: &mut ws.slope_low,
        };
        size(&mut ws.slope_wide, n * shape.inner);
        size(&mut ws.slope_narrow, n * d);
        apply_back(
            &layout.down,
            p,
            &s.active,
            (&ws.slope, d),
            (&mut ws.slope_wide, Write::Replace),
            g,
            low,
        );
        let mut write = Write::Replace;
        if let Some(gate) = &layout.gate {
            ws.slope_gate.clear();
            ws.slope_gate.extend_from_slice(&ws.slope_wide);
            kernels::multiply(&mut ws.slope_gate, &s.gate);
            let slope = (ws.slope_gate.as_slice(), shape.inner);
            apply_back(
                gate,
                p,
                &s.normed2,
                slope,
                (&mut ws.slope_narrow, write),
                g,
                low,
            );
            write = Write::Add;
        }
        kernels::multiply(&mut ws.slope_wide, &s.up);
        let slope = (ws.slope_wide.as_slice(), shape.inner);
        apply_back(
            &layout.up,
            p,
            &s.normed2,
            slope,
            (&mut ws.slope_narrow, write),
            g,
            low,
        );
        ws.slope_middle.clear();
        ws.slope_middle.extend_from_slice(&ws.slope);
        let saved = NormSaved {
            x: if shape.parallel_residual {
                &s.input
            } else {
                &s.middle
            },
            moments: &s.moments2,
            weight: &p.base[layout.norm2.weight.clone()],
            kind: self.norm_kind(),
        };
        let trained = norm_gradients(&layout.norm2, g.base.as_deref_mut());
        kernels::norm_back(&saved, &ws.slope_narrow, &mut ws.slope_middle, trained);
    }
}

fn norm_weights<'a>(norm: &Norm, base: &'a [f32]) -> (&'a [f32], Option<&'a [f32]>) {
    (
        &base[norm.weight.clone()],
        norm.bias.clone().map(|place| &base[place]),
    )
}

/// The places of a norm's weight and bias in the gradient; the bias always follows the weight.
fn norm_gradients<'a>(
    norm: &Norm,
    base: Option<&'a mut [f32]>,
) -> Option<(&'a mut [f32], Option<&'a mut [f32]>)> {
    let base = base?;
    let width = norm.weight.len();
    let end = norm.bias.as_ref().map_or(norm.weight.end, |bias| bias.end);
    let (weight, bias) = base[norm.weight.start..end].split_at_mut(width);
    Some((weight, norm.bias.is_some().then_some(bias)))
}

struct LowRank<'a> {
    kept: &'a mut [Vec<f32>],
    dropped: &'a mut Vec<f32>,
}

struct LowBack<'a> {
    kept: &'a [Vec<f32>],
    dropped: &'a mut Vec<f32>,
    slope: &'a mut Vec<f32>,
}

/// The input with a share of its numbers dropped, the rest scaled up; the same on both ways.
fn drop_into(x: &[f32], share: f32, seed: u64, out: &mut Vec<f32>) {
    let keep = 1.0 / (1.0 - share);
    let limit = (f64::from(share) * 4_294_967_296.0) as u64;
    out.clear();
    out.extend(x.iter().enumerate().map(|(i, x)| {
        if noise(seed, i as u64) < limit {
            0.0
        } else {
            x * keep
        }
    }));
}

/// 32 random bits of a place (splitmix64).
fn noise(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 32
}

/// `y = x Wᵀ + b`, plus the adapter's part.
fn apply(
    linear: &Linear,
    p: &Parameters<'_>,
    x: &[f32],
    (y, y_step): (&mut [f32], usize),
    write: Write,
    low: &mut LowRank<'_>,
) {
    let (inputs, outputs) = (linear.inputs, linear.outputs);
    let rows = x.len() / inputs;
    let mut write = write;
    if let Some(bias) = &linear.bias {
        let bias = &p.base[bias.clone()];
        if write == Write::Replace {
            kernels::fill_rows(y, y_step, bias);
            write = Write::Add;
        } else {
            y.chunks_mut(y_step).for_each(|row| kernels::add(row, bias));
        }
    }
    let weight = match p.transposed {
        Some(values) => View::rows(&values[linear.weight.clone()], outputs),
        None => View::transposed(&p.base[linear.weight.clone()], inputs),
    };
    matmul(
        (rows, inputs, outputs),
        View::rows(x, inputs),
        weight,
        1.0,
        (y, y_step),
        write,
    );
    let Some((table, values, dropout)) = p.adapter else {
        return;
    };
    let Some(Some(site)) = table.sites.get(linear.index) else {
        return;
    };
    let x = match dropout {
        Some(seed) if table.dropout > 0.0 => {
            drop_into(
                x,
                table.dropout,
                seed ^ ((linear.index as u64) << 40),
                low.dropped,
            );
            low.dropped.as_slice()
        }
        _ => x,
    };
    let kept = &mut low.kept[linear.index];
    size(kept, rows * table.rank);
    let a = View::transposed(&values[site.down.clone()], inputs);
    matmul(
        (rows, inputs, table.rank),
        View::rows(x, inputs),
        a,
        1.0,
        (kept, table.rank),
        Write::Replace,
    );
    let b = View::transposed(&values[site.up.clone()], table.rank);
    let shape = (rows, table.rank, outputs);
    matmul(
        shape,
        View::rows(kept, table.rank),
        b,
        table.scale,
        (y, y_step),
        Write::Add,
    );
}

/// The way back through [`apply`]: to `dx`, to the base's gradient and to the adapter's.
fn apply_back(
    linear: &Linear,
    p: &Parameters<'_>,
    x: &[f32],
    (dy, dy_step): (&[f32], usize),
    (dx, write): (&mut [f32], Write),
    g: &mut Gradients<'_>,
    low: &mut LowBack<'_>,
) {
    let (inputs, outputs) = (linear.inputs, linear.outputs);
    let rows = x.len() / inputs;
    let slope = View::rows(dy, dy_step);
    let weight = View::rows(&p.base[linear.weight.clone()], inputs);
    matmul(
        (rows, outputs, inputs),
        slope,
        weight,
        1.0,
        (dx, inputs),
        write,
    );
    if let Some(base) = g.base.as_deref_mut() {
        let dw = &mut base[linear.weight.clone()];
        let shape = (outputs, rows, inputs);
        matmul(
            shape,
            View::transposed(dy, dy_step),
            View::rows(x, inputs),
            1.0,
            (dw, inputs),
            Write::Add,
        );
        if let Some(bias) = &linear.bias {
            kernels::add_column_sums(dy, dy_step, &mut base[bias.clone()]);
        }
    }
    let Some((table, values, dropout)) = p.adapter else {
        return;
    };
    let Some(Some(site)) = table.sites.get(linear.index) else {
        return;
    };
    let (rank, kept) = (table.rank, &low.kept[linear.index]);
    let seed = dropout
        .filter(|_| table.dropout > 0.0)
        .map(|seed| seed ^ ((linear.index as u64) << 40));
    size(low.slope, rows * rank);
    let b = View::rows(&values[site.up.clone()], rank);
    matmul(
        (rows, outputs, rank),
        slope,
        b,
        table.scale,
        (low.slope, rank),
        Write::Replace,
    );
    if let Some(adapter) = g.adapter.as_deref_mut() {
        let db = &mut adapter[site.up.clone()];
        let shape = (outputs, rows, rank);
        matmul(
            shape,
            View::transposed(dy, dy_step),
            View::rows(kept, rank),
            table.scale,
            (db, rank),
            Write::Add,
        );
        let x = match seed {
            Some(seed) => {
                drop_into(x, table.dropout, seed, low.dropped);
                low.dropped.as_slice()
            }
            None => x,
        };
        let da = &mut adapter[site.down.clone()];
        let shape = (rank, rows, inputs);
        matmul(
            shape,
            View::transposed(low.slope, rank),
            View::rows(x, inputs),
            1.0,
            (da, inputs),
            Write::Add,
        );
    }
    let a = View::rows(&values[site.down.clone()], inputs);
    match seed {
        None => matmul(
            (rows, rank, inputs),
            View::rows(low.slope, rank),
            a,
            1.0,
            (dx, inputs),
            Write::Add,
        ),
        Some(seed) => {
            size(low.dropped, rows * inputs);
            let through = (low.dropped.as_mut_slice(), inputs);
            matmul(
                (rows, rank, inputs),
                View::rows(low.slope, rank),
                a,
                1.0,
                through,
                Write::Replace,
            );
            let slope = std::mem::take(low.dropped);
            let mut masked = Vec::with_capacity(slope.len());
            drop_into(&slope, table.dropout, seed, &mut masked);
            kernels::add(dx, &masked);
            *low.dropped = slope;
        }
    }
}
