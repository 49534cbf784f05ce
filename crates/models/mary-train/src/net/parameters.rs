//! What a pass is given: tokens, the numbers of the model, and where gradients are added.

use super::adapter::AdapterLayout;
use super::attention::Segment;
use super::frozen::Frozen;
use super::matmul::Unit;
use super::stored::Stored;
use crate::{Result, TrainError};

/// Tokens to run, in segments that do not see each other.
#[derive(Debug, Clone, Default)]
pub struct Packed {
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

    pub fn weight(&self) -> f64 {
        self.targets
            .iter()
            .map(|(_, weight)| f64::from(*weight))
            .sum()
    }
}

/// Packed texts of a step, and the seed of what is dropped in them.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) packed: Packed,
    pub(crate) noise: Option<u64>,
}

/// The numbers of a model: the base and, where there is one, an adapter.
#[derive(Clone, Copy)]
pub struct Parameters<'a> {
    /// The base, laid out by [`super::Layout`].
    pub base: &'a [f32],
    /// The matrices of the base as they are stored, where they have no place in `base`.
    pub stored: Option<&'a Stored>,
    /// The base with its matrices transposed ([`super::Net::transposed`]): not needed, much faster.
    pub transposed: Option<&'a [f32]>,
    /// The base is not trained: the quickest unit multiplies with it. Without this, vectors do.
    pub frozen: Option<&'a Frozen>,
    /// The adapter, its table and its dropout seed (None: no dropout).
    pub adapter: Option<(&'a AdapterLayout, &'a [f32], Option<u64>)>,
}

impl Parameters<'_> {
    pub(super) fn unit(&self) -> Unit {
        self.frozen.map_or(Unit::Vectors, |frozen| frozen.unit)
    }

    /// Rows of logits computed at a time. Vectors take about a million numbers; sixteen where the head is
    /// unpacked or split anew for every time.
    pub(super) fn head_rows(&self, vocabulary: usize) -> usize {
        let numbers = match self.stored.is_some() || self.unit() == Unit::Tiles {
            true => 16_000_000,
            false => 1_000_000,
        };
        (numbers / vocabulary.max(1)).clamp(64, 512)
    }
}

/// Where gradients are added: to the base, the adapter, or both.
#[derive(Default)]
pub struct Gradients<'a> {
    pub base: Option<&'a mut [f32]>,
    pub adapter: Option<&'a mut [f32]>,
}

pub(super) fn size(buffer: &mut Vec<f32>, length: usize) {
    buffer.resize(length, 0.0);
}

/// Vectors for some tokens of a pack, whose own are not looked up: what a projector makes of a picture. The backward
/// pass ends at them; their gradients are read from the workspace and go on into whatever made them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    /// Their places among the tokens of the pack, in ascending order.
    pub places: &'a [usize],
    /// The vectors, one after the other.
    pub rows: &'a [f32],
}

impl Given<'_> {
    pub(super) fn holds(&self, place: usize) -> bool {
        self.places.binary_search(&place).is_ok()
    }

    pub(super) fn check(&self, tokens: usize, width: usize) -> Result<()> {
        let ascending = self.places.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = self.places.last().is_none_or(|last| *last < tokens);
        match ascending && inside && self.rows.len() == self.places.len() * width {
            true => Ok(()),
            false => Err(TrainError::Settings(format!(
                "expected rows of {width} numbers for {} ascending places among {tokens} tokens, found {} numbers",
                self.places.len(),
                self.rows.len()
            ))),
        }
    }

    pub(super) fn place(&self, stream: &mut [f32], width: usize) {
        for (place, row) in self.places.iter().zip(self.rows.chunks_exact(width)) {
            stream[place * width..(place + 1) * width].copy_from_slice(row);
        }
    }
}
