//! One transformer, forward and backward, over one packed sequence of tokens.
//!
//! The same code grows a GPT-NeoX model from scratch and tunes adapters on a GPT-NeoX or LLaMA
//! model. It runs on one thread; parallelism is over sequences, outside.

use super::adapter::AdapterLayout;
use super::attention::{self, Rotary, Scratch, Segment};
use super::kernels::{self, NormKind};
use super::layout::{Layout, Norm};
use super::linear::{LowRank, apply};
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

/// What one block keeps for the backward pass.
#[derive(Debug, Default)]
pub(super) struct BlockSaved {
    pub(super) input: Vec<f32>,
    pub(super) normed1: Vec<f32>,
    pub(super) moments1: Vec<[f32; 2]>,
    pub(super) qkv: Vec<f32>,
    pub(super) log_sums: Vec<f32>,
    pub(super) heads: Vec<f32>,
    pub(super) middle: Vec<f32>,
    pub(super) normed2: Vec<f32>,
    pub(super) moments2: Vec<[f32; 2]>,
    pub(super) gate: Vec<f32>,
    pub(super) up: Vec<f32>,
    pub(super) active: Vec<f32>,
}

/// Room for one sequence, reused from step to step.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) blocks: Vec<BlockSaved>,
    pub(super) low_rank: Vec<Vec<f32>>,
    pub(super) stream: Vec<f32>,
    pub(super) final_moments: Vec<[f32; 2]>,
    pub(super) final_normed: Vec<f32>,
    pub(super) chosen: Vec<f32>,
    pub(super) chosen_slope: Vec<f32>,
    pub(super) logits: Vec<f32>,
    pub(super) slope: Vec<f32>,
    pub(super) slope_middle: Vec<f32>,
    pub(super) slope_narrow: Vec<f32>,
    pub(super) slope_wide: Vec<f32>,
    pub(super) slope_gate: Vec<f32>,
    pub(super) slope_qkv: Vec<f32>,
    pub(super) slope_low: Vec<f32>,
    pub(super) dropped: Vec<f32>,
    pub(super) scratch: Scratch,
}

/// A shape with its tables, ready to run.
#[derive(Debug, Clone)]
pub struct Net {
    /// The shape.
    pub shape: Shape,
    /// Where the tensors lie.
    pub layout: Layout,
    pub(super) rotary: Rotary,
}

/// Rows of logits computed at a time: about a million numbers.
pub(super) fn head_rows(vocabulary: usize) -> usize {
    (1_000_000 / vocabulary.max(1)).clamp(64, 512)
}

pub(super) fn size(buffer: &mut Vec<f32>, length: usize) {
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
    pub(super) fn head<'a>(&self, p: &Parameters<'a>) -> View<'a> {
        let place = self.layout.head.clone();
        match p.transposed {
            Some(values) => View::rows(&values[place], self.shape.vocabulary),
            None => View::transposed(&p.base[place], self.shape.width),
        }
    }

    pub(super) fn norm_kind(&self) -> NormKind {
        NormKind {
            centred: self.shape.family == Family::NeoX,
            eps: self.shape.norm_eps,
        }
    }

    /// Checks what the kernels rely on.
    fn check(&self, p: &Parameters<'_>, packed: &Packed) -> Result<(), TrainError> {
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
        self.check_packed(packed)
    }

    /// Checks that texts fit the model.
    pub(crate) fn check_packed(&self, packed: &Packed) -> Result<(), TrainError> {
        let n = packed.tokens.len();
        let fail = |what: String| Err(TrainError::Settings(what));
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
}

fn norm_weights<'a>(norm: &Norm, base: &'a [f32]) -> (&'a [f32], Option<&'a [f32]>) {
    (
        &base[norm.weight.clone()],
        norm.bias.clone().map(|place| &base[place]),
    )
}
