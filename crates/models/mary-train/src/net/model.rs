//! One transformer, forward and backward, over one packed sequence of tokens.
//!
//! The same code grows a GPT-NeoX model from scratch and tunes adapters on a model of any family that
//! [`super::layout`] takes; it follows the [`Architecture`] that the reader follows. It runs on one
//! thread; parallelism is over sequences, outside.

use super::attention::{AttentionSettings, Joint, Rotary, Scratch};
use super::kernels::{self, NormKind};
use super::layout::{Layout, Norm, Tensors};
use super::linear::LowRank;
use super::matmul::{Unit, View, Write, transpose};
use super::parameters::{Given, Gradients, Packed, Parameters, size};
use super::shape::Shape;
use super::stored::UnpackBuffer;
use crate::{Result, TrainError};
use mary_weights::architecture::Architecture;
use mary_weights::architecture::config;
use rayon::prelude::*;

/// Rows before they are normalised, with their moments.
pub(super) type Normed = (Vec<f32>, Vec<[f32; 2]>);

/// What one block keeps for the backward pass.
#[derive(Debug, Default)]
pub(super) struct BlockSaved {
    pub(super) input: Vec<f32>,
    pub(super) normed1: Vec<f32>,
    pub(super) moments1: Vec<[f32; 2]>,
    pub(super) qkv: Vec<f32>,
    pub(super) log_sums: Vec<f32>,
    pub(super) heads: Vec<f32>,
    /// Queries and keys before their norms, where they have any.
    pub(super) queries: Normed,
    pub(super) keys: Normed,
    /// What the two parts add before it is normalised, where it is.
    pub(super) added1: Normed,
    pub(super) added2: Normed,
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
    pub(super) low: LowRank,
    pub(super) stream: Vec<f32>,
    pub(super) final_moments: Vec<[f32; 2]>,
    pub(super) final_normed: Vec<f32>,
    pub(super) chosen: Vec<f32>,
    pub(super) chosen_gradient: Vec<f32>,
    pub(super) logits: Vec<f32>,
    /// After a backward pass, the gradient of the loss at the vector of every token.
    pub(super) gradient: Vec<f32>,
    pub(super) gradient_middle: Vec<f32>,
    pub(super) gradient_narrow: Vec<f32>,
    pub(super) gradient_wide: Vec<f32>,
    pub(super) gradient_gate: Vec<f32>,
    pub(super) gradient_qkv: Vec<f32>,
    pub(super) gradient_added: Vec<f32>,
    pub(super) squashed: Vec<f32>,
    pub(super) spare: Vec<f32>,
    pub(super) scratch: Scratch,
}

#[derive(Debug, Clone)]
pub struct Net {
    pub architecture: Architecture,
    pub layout: Layout,
    /// Longest sequence that is run.
    pub longest: usize,
    pub(super) joint: Joint,
    pub(super) rotaries: Vec<Rotary>,
}

/// The weights of a norm as they multiply, and its bias.
pub(super) type NormWeights<'a> = (std::borrow::Cow<'a, [f32]>, Option<&'a [f32]>);

impl Net {
    pub fn new(shape: Shape) -> Result<Self> {
        shape.check()?;
        let layout = Layout::new(&shape)?;
        Ok(Self::with_layout(
            shape.architecture()?,
            layout,
            shape.context,
        ))
    }

    /// Prepares a checkpoint's architecture; `holds` says which tensors it has.
    pub fn open(config: &serde_json::Value, holds: &dyn Fn(&str) -> bool) -> Result<Self> {
        let architecture = Architecture::resolve(config)?;
        let offset = architecture.embedding.position_offset.unwrap_or(0);
        let tensors = Tensors {
            holds,
            positions: architecture.context + offset,
            apart: false,
        };
        let layout = Layout::open(&architecture, &tensors)?;
        let longest = architecture.context;
        Ok(Self::with_layout(architecture, layout, longest))
    }

    pub(crate) fn with_layout(architecture: Architecture, layout: Layout, longest: usize) -> Self {
        let longest = longest.min(architecture.context);
        let rotaries = architecture.ropes.iter();
        Self {
            joint: Joint::new(&architecture),
            rotaries: rotaries.map(|rope| Rotary::new(rope, longest)).collect(),
            architecture,
            layout,
            longest,
        }
    }

    pub(super) fn attention_settings(&self, layer: usize, unit: Unit) -> AttentionSettings {
        let attention = &self.architecture.attention;
        let kind = self.architecture.kinds.get(layer);
        AttentionSettings {
            joint: self.joint,
            scale: attention.scale,
            cap: attention.soft_cap,
            window: kind.and_then(|k| k.window),
            causal: self.architecture.causal,
            unit,
        }
    }

    pub(super) fn rotary(&self, layer: usize) -> Option<&Rotary> {
        let kind = self.architecture.kinds.get(layer)?;
        self.rotaries.get(kind.rope?)
    }

    /// Attention and feed-forward part both read the block's input.
    pub(super) fn parallel(&self) -> bool {
        matches!(self.architecture.block, config::Block::Parallel { .. })
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

    pub(super) fn head<'a>(&self, p: &Parameters<'a>) -> View<'a> {
        let place = self.layout.head.clone();
        match p.transposed {
            Some(values) => View::rows(&values[place], self.architecture.vocab),
            None => View::transposed(&p.base[place], self.architecture.hidden),
        }
        .planes(p.frozen.map_or(3, |f| f.head.planes))
        .split(p.frozen.and_then(|f| f.head.forward()))
    }

    pub(super) fn norm_kind(&self) -> NormKind {
        NormKind {
            centred: !self.architecture.norm.rms,
            eps: self.architecture.norm.eps,
        }
    }

    pub(super) fn check(&self, p: &Parameters<'_>, packed: &Packed) -> Result<()> {
        let fail = |what: String| Err(TrainError::Settings(what));
        let (total, found) = (self.layout.total, p.base.len());
        if found != total {
            return fail(format!("expected {total} parameters, found {found}"));
        }
        let found = p.transposed.map_or(total, <[f32]>::len);
        if found != total {
            return fail(format!(
                "expected {total} transposed parameters, found {found}"
            ));
        }
        let count = self.layout.linear_count;
        let found = p.stored.map_or(count, |stored| stored.matrices.len());
        if found != count {
            return fail(format!("expected {count} stored matrices, found {found}"));
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

    pub(crate) fn check_packed(&self, packed: &Packed) -> Result<()> {
        let n = packed.tokens.len();
        let fail = |what: String| Err(TrainError::Settings(what));
        if packed.targets.len() != n {
            return fail(format!("{n} tokens but {} targets", packed.targets.len()));
        }
        let mut next = 0;
        for segment in &packed.segments {
            if segment.start != next || segment.length > self.longest {
                return fail(format!(
                    "a sequence of {} tokens does not fit the model's context of {}",
                    segment.length, self.longest
                ));
            }
            next += segment.length;
        }
        if next != n {
            return fail(format!("segments cover {next} of {n} tokens"));
        }
        let targets = packed.targets.iter().map(|(t, _)| t);
        match packed.tokens.iter().chain(targets).max() {
            Some(&token) if token as usize >= self.architecture.vocab => fail(format!(
                "token {token} is outside the vocabulary of {}",
                self.architecture.vocab
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
    ) -> Result<f64> {
        self.loss_and_gradient_given(p, (packed, Given::default()), scale, g, ws)
    }

    /// As [`Net::loss_and_gradient`], with some vectors given; the workspace has their gradients then.
    pub fn loss_and_gradient_given(
        &self,
        p: &Parameters<'_>,
        (packed, given): (&Packed, Given<'_>),
        scale: f32,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) -> Result<f64> {
        self.run(p, packed, given, ws)?;
        let loss = self.head_and_back(p, packed, scale, g, ws);
        for index in (0..self.layout.blocks.len()).rev() {
            self.block_back(index, p, packed, g, ws);
        }
        if let Some(base) = g.base.as_deref_mut() {
            self.embedding_back(base, (packed, given), &ws.gradient);
        }
        Ok(loss)
    }

    /// Logits after every token, `tokens × vocabulary`, with some vectors given.
    pub fn logits_given(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        given: Given<'_>,
        ws: &mut Workspace,
    ) -> Result<Vec<f32>> {
        self.run(p, packed, given, ws)?;
        let mut out = vec![0.0; packed.tokens.len() * self.architecture.vocab];
        self.logits_of(p, &ws.final_normed, &mut out, None, &mut ws.low.room);
        Ok(out)
    }

    fn run(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        given: Given<'_>,
        ws: &mut Workspace,
    ) -> Result<()> {
        self.check(p, packed)?;
        given.check(packed.tokens.len(), self.architecture.hidden)?;
        self.forward(p, packed, given, ws);
        Ok(())
    }

    pub fn log_probabilities(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        ws: &mut Workspace,
    ) -> Result<Vec<f32>> {
        self.run(p, packed, Given::default(), ws)?;
        let (d, v) = (self.architecture.hidden, self.architecture.vocab);
        let mut out = Vec::with_capacity(packed.tokens.len());
        let rows = p.head_rows(v);
        let targets: Vec<u32> = packed.targets.iter().map(|(t, _)| *t).collect();
        for (chunk, targets) in ws.final_normed.chunks(rows * d).zip(targets.chunks(rows)) {
            size(&mut ws.logits, targets.len() * v);
            self.logits_of(p, chunk, &mut ws.logits, None, &mut ws.low.room);
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
    ) -> Result<Vec<(f32, bool)>> {
        self.run(p, packed, Given::default(), ws)?;
        let (d, v) = (self.architecture.hidden, self.architecture.vocab);
        let mut out = Vec::new();
        let counted: Vec<usize> = self.counted(packed);
        for positions in counted.chunks(p.head_rows(v)) {
            ws.chosen.clear();
            for i in positions {
                ws.chosen
                    .extend_from_slice(&ws.final_normed[i * d..(i + 1) * d]);
            }
            size(&mut ws.logits, positions.len() * v);
            self.logits_of(p, &ws.chosen, &mut ws.logits, None, &mut ws.low.room);
            for (i, logits) in positions.iter().zip(ws.logits.chunks_mut(v)) {
                let (target, _) = packed.targets[*i];
                let wanted = logits[target as usize];
                let top = logits.iter().all(|logit| *logit <= wanted);
                let log_probability = kernels::log_probabilities(logits, v, &[target]);
                out.extend(log_probability.into_iter().map(|value| (value, top)));
            }
        }
        Ok(out)
    }

    pub(super) fn counted(&self, packed: &Packed) -> Vec<usize> {
        (0..packed.tokens.len())
            .filter(|i| packed.targets[*i].1 != 0.0)
            .collect()
    }

    /// Logits of normed rows, squashed where the architecture does; the gradients of that go to `squashed`.
    pub(super) fn logits_of(
        &self,
        p: &Parameters<'_>,
        x: &[f32],
        out: &mut [f32],
        squashed: Option<&mut Vec<f32>>,
        room: &mut UnpackBuffer,
    ) {
        let (d, v) = (self.architecture.hidden, self.architecture.vocab);
        let mut write = Write::Replace;
        if let Some(bias) = &self.layout.head_bias {
            kernels::fill_rows(out, v, &p.base[bias.clone()]);
            write = Write::Add;
        }
        let split = p.frozen.is_some_and(|f| f.head.forward().is_some());
        match p.stored.filter(|_| !split) {
            Some(stored) => stored.head().product(x, (out, v), write, (p.unit(), room)),
            None => {
                let size = (x.len() / d, d, v);
                let product = p.unit().product(size, View::rows(x, d), self.head(p));
                product.write((out, v), write);
            }
        }
        if let Some(cap) = self.architecture.logit_cap {
            let gradients = squashed.map(|s| {
                size(s, out.len());
                s.as_mut_slice()
            });
            kernels::soft_cap(out, cap, gradients);
        }
    }

    /// The residual stream before every block and after the last norm, mean over the tokens.
    pub fn pooled_layers(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        ws: &mut Workspace,
    ) -> Result<Vec<Vec<f32>>> {
        self.run(p, packed, Given::default(), ws)?;
        let d = self.architecture.hidden;
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

    /// A norm's weights; Gemma stores their distance from one.
    pub(super) fn norm_weights<'a>(&self, norm: &Norm, base: &'a [f32]) -> NormWeights<'a> {
        let weight = &base[norm.weight.clone()];
        let weight = match self.architecture.norm.unit_offset {
            true => weight.iter().map(|w| w + 1.0).collect(),
            false => std::borrow::Cow::Borrowed(weight),
        };
        (weight, norm.bias.clone().map(|place| &base[place]))
    }
}
