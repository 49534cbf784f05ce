//! What is handed to a device with its calls.

use crate::config::{self, Rope};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub rows: usize,
    /// Last tokens of answers being written, where weights may be multiplied in whichever way is quickest. What is
    /// read is multiplied in one way, so that a score does not depend on what else is asked.
    pub writing: bool,
}

impl Extent {
    pub fn reading(rows: usize) -> Self {
        Self {
            rows,
            writing: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    starts: Vec<usize>,
    rows: Vec<usize>,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            starts: vec![0],
            rows: vec![],
        }
    }
}

impl Groups {
    /// Adds a group; an empty one has no mean.
    pub fn push(&mut self, rows: impl Iterator<Item = usize>) {
        self.rows.extend(rows);
        self.starts.push(self.rows.len());
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub fn each(&self) -> impl Iterator<Item = &[usize]> {
        self.starts
            .windows(2)
            .filter_map(|w| self.rows.get(*w.first()?..*w.last()?))
    }
}

/// Neighbouring spans of each row that are normalised one by one, with weights one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    pub stride: usize,
    pub first: usize,
    pub width: usize,
    pub count: usize,
}

impl Spans {
    /// The queries and the keys of rows of queries, keys and values: all heads together, or each.
    pub fn queries_and_keys(heads: &Heads, whole: bool) -> [Self; 2] {
        let spans = |first, count| Self {
            stride: heads.qkv_width(),
            first,
            width: heads.head_dim * if whole { count } else { 1 },
            count: if whole { 1 } else { count },
        };
        let keys = spans(heads.q_width(), heads.kv_heads);
        [spans(0, heads.heads), keys]
    }
}

/// The shape of a row of queries, keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
}

impl Heads {
    /// Query heads for each key head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    pub fn q_width(&self) -> usize {
        self.heads * self.head_dim
    }

    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    pub fn qkv_width(&self) -> usize {
        self.q_width() + 2 * self.kv_width()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rotary {
    half: usize,
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl Rotary {
    pub fn new(rope: &Rope, positions: &[usize]) -> Self {
        Self::turned(rope, positions.len(), |row, _| positions[row] as f32)
    }

    /// Where each frequency turns by one of three positions.
    pub fn along(rope: &Rope, turns: &[[u32; 3]], axes: &[u8]) -> Self {
        Self::turned(rope, turns.len(), |row, frequency| {
            let axis = axes.get(frequency).copied().unwrap_or(0);
            let position = turns[row].get(usize::from(axis));
            position.copied().unwrap_or(0) as f32
        })
    }

    fn turned(rope: &Rope, rows: usize, position: impl Fn(usize, usize) -> f32) -> Self {
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for row in 0..rows {
            for (i, &frequency) in rope.frequencies.iter().enumerate() {
                // The product is rounded to 32 bits first, as the reference implementation does.
                let angle = f64::from(position(row, i) * frequency);
                cos.push((angle.cos() as f32) * rope.amplitude);
                sin.push((angle.sin() as f32) * rope.amplitude);
            }
        }
        let half = rope.frequencies.len();
        Self { half, cos, sin }
    }

    /// Cosines and sines of one row.
    pub fn at(&self, row: usize) -> (&[f32], &[f32]) {
        let range = row * self.half..(row + 1) * self.half;
        (&self.cos[range.clone()], &self.sin[range])
    }
}

#[derive(Debug, Clone, Copy)]
pub struct AttentionSettings<'a> {
    pub scale: f32,
    pub soft_cap: Option<f32>,
    /// Positions see only what came before.
    pub causal: bool,
    /// How far back they see.
    pub window: Option<usize>,
    pub alibi: Option<&'a Alibi>,
    /// Positions of the picture that each row is part of, seen in both directions; empty where none is.
    pub reach: &'a [(usize, usize)],
    /// A score of each head's own, which weighs nothing.
    pub sinks: Option<&'a [f32]>,
}

/// Linear biases of attention, one slope for each head.
#[derive(Debug, Clone, PartialEq)]
pub struct Alibi {
    pub(super) slopes: Vec<f32>,
    pub(super) scale: f32,
    pub(super) rounded: bool,
}

impl Alibi {
    /// Falcon scales the ALiBi paper's slopes with the scores and rounds to bfloat16; BLOOM does neither.
    pub fn new(heads: usize, kind: config::Alibi, scale: f32) -> Self {
        let rounded = kind == config::Alibi::Rounded;
        let whole = (heads + 1).next_power_of_two() / 2;
        let base = |n: usize| (-(8.0 / n as f64)).exp2();
        let mut slopes: Vec<f64> = (1..=whole).map(|i| base(whole).powi(i as i32)).collect();
        let extra = base(2 * whole);
        slopes.extend((0..heads - whole).map(|i| extra.powi(2 * i as i32 + 1)));
        let round = |x: f64| match rounded {
            true => half::bf16::from_f64(x).to_f32(),
            false => x as f32,
        };
        Self {
            slopes: slopes.into_iter().map(round).collect(),
            scale: if rounded { scale } else { 1.0 },
            rounded,
        }
    }

    /// What is added to the score of this head for a key at this position.
    pub fn bias(&self, head: usize, position: usize) -> f32 {
        let slope = self.slopes.get(head).copied().unwrap_or(0.0);
        if !self.rounded {
            return slope * position as f32;
        }
        let place = half::bf16::from_f32(position as f32).to_f32();
        half::bf16::from_f32(slope * place).to_f32() * self.scale
    }
}

pub struct AttentionCall<'a, C> {
    pub cache: &'a C,
    pub layer: usize,
    pub heads: &'a Heads,
    pub settings: AttentionSettings<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedToken {
    pub row: u32,
    pub token: u32,
}

/// How the next token after a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// One over the temperature; zero takes the greatest logit.
    pub inverse_temperature: f64,
    /// Of the likeliest tokens, as many as hold this share of the probability.
    pub top_p: f64,
    /// Uniform over all 64 bits.
    pub random: u64,
    /// So many of the likeliest tokens; zero takes all.
    pub top_k: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// One for each token of the vocabulary that begins a word, else zero; `None` where tokens do not tell.
    pub marks: Option<&'a [f32]>,
    /// Whether ranks are wanted, for which every token is compared with the whole vocabulary.
    pub ranks: bool,
}

impl Look<'_> {
    /// The marks of a block of at most 256 tokens; zeros where there are none.
    pub(crate) fn block(&self, first: usize, count: usize) -> &[f32] {
        static NONE: [f32; 256] = [0.0; 256];
        let marks = self.marks.and_then(|m| m.get(first..first + count));
        marks.unwrap_or(&NONE[..count])
    }
}

pub type Looked = (Vec<f32>, Vec<TokenStatistics>);

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenStatistics {
    /// In nats.
    pub entropy: f32,
    /// From 1; 0 where ranks are not wanted.
    pub rank: u32,
    /// ln of the probability that a word begins here; NaN where tokens do not tell.
    pub word_start: f32,
}
