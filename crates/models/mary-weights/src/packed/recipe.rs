//! One matrix of a quantised folder: where its digits, scales and zero points lie, and how they become blocks.
//!
//! Formats differ in three ways that have nothing to do with one another: the order of the digits, what scales belong
//! to, and where zero points are. A recipe is one choice of each. All shapes are compared when it is made; what only
//! the numbers tell (a scale that is none, a group that is not there) when it is followed.

use std::borrow::Cow;

use half::f16;
use mary_kernels::dequant;
use rayon::prelude::*;

use crate::stored::Stored;
use crate::{TensorInfo, TensorType};

/// Inputs and outputs that are handled at a time; inputs are those of a block.
const BLOCK: usize = 32;
const STRIP: usize = 64;
/// Which output of eight stands at a place of one of AWQ's words.
const AWQ: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    /// The kind is that of the blocks, or F32 where there are no blocks for it.
    pub info: TensorInfo,
    /// Outputs and inputs; where scales belong to stretches that run on over the ends of rows, those stretches.
    pub rows: (usize, usize),
    pub digits: (Order, Stored),
    pub coding: Coding,
    pub place: Place,
    pub scales: Scales,
    pub zeros: Zeros,
    /// The group of each input, where they are not in order.
    pub groups: Option<Stored>,
}

/// How digits lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Along the inputs in words of 32 bits, a column for each output (GPTQ).
    Columns { bits: usize },
    /// Eight outputs in a word, a row for each input.
    Awq,
    /// A row for each output, in so many bytes. Signed bytes have their sign turned, so that all digits count from
    /// nothing; of two digits in a byte the high one is first where halves are turned.
    Rows {
        bits: usize,
        row_bytes: usize,
        turned: bool,
    },
}

/// What a digit stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Coding {
    /// Itself, less its zero point.
    Whole,
    E4m3,
    /// A place in a table of sixteen.
    Table(Vec<f32>),
}

/// Rectangles that share a scale, and the steps from one scale to the next, down and across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub rows: usize,
    pub columns: usize,
    pub down: usize,
    pub across: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Scales {
    /// Times a factor.
    Plain(Stored, f32),
    /// bitsandbytes' scales, quantised in their turn: places in a table, times scales of so many, plus an offset.
    Nested {
        parts: Box<[Stored; 3]>,
        size: usize,
        offset: f32,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum Zeros {
    /// The same for all.
    All(u8),
    /// `[groups, outputs]`, packed along the outputs; `add` is what was taken from them.
    Columns {
        from: Stored,
        bits: usize,
        add: u8,
    },
    Awq(Stored),
    /// `[outputs, groups]`, packed along the outputs.
    Rows {
        from: Stored,
        bits: usize,
    },
    /// `[outputs, groups]` of signed bytes.
    Bytes(Stored),
}

/// What is needed of the files.
pub(crate) type Bytes<'a> = &'a (dyn Fn(&Stored) -> Result<Cow<'a, [u8]>, String> + Sync);

/// A recipe with its parts read.
struct Matrix<'a> {
    of: &'a Recipe,
    digits: &'a [u8],
    /// What digits stand for, where numbers are wanted.
    values: Vec<f32>,
    scales: Vec<f32>,
    zeros: Vec<u8>,
    groups: Option<Vec<usize>>,
}

impl Recipe {
    /// The blocks, or the numbers where there are none; little-endian.
    pub fn follow(&self, bytes: Bytes<'_>) -> Result<Vec<u8>, String> {
        let (kind, (outputs, inputs)) = (self.info.dtype, self.rows);
        let digits = bytes(&self.digits.1)?;
        let matrix = Matrix {
            of: self,
            digits: &digits,
            values: match &self.coding {
                Coding::Whole => (0..=255u8).map(f32::from).collect(),
                Coding::E4m3 => {
                    let all: Vec<u8> = (0..=255).collect();
                    dequant::numbers(TensorType::F8E4m3, &all)
                }
                Coding::Table(table) => table.clone(),
            },
            scales: self.scales.read(bytes, kind == TensorType::Mxfp4)?,
            zeros: self.zeros.read(bytes, outputs)?,
            groups: self.groups(bytes)?,
        };
        let middle = match kind {
            TensorType::Q4_0 => Some(8),
            TensorType::Q8_0 => Some(128),
            _ => None,
        };
        if middle.is_some_and(|middle| matrix.zeros.iter().any(|zero| *zero != middle)) {
            return Err("config.json calls it symmetric, but its zero points differ".into());
        }
        let width = kind
            .bytes_for(inputs)
            .ok_or("its rows are no whole blocks")?;
        let mut out = vec![0; outputs * width];
        out.par_chunks_mut(STRIP * width)
            .enumerate()
            .try_for_each(|(strip, out)| matrix.strip(strip * STRIP, width, out))?;
        Ok(out)
    }

    fn groups(&self, bytes: Bytes<'_>) -> Result<Option<Vec<usize>>, String> {
        let Some(from) = &self.groups else {
            return Ok(None);
        };
        let from = bytes(from)?;
        let groups = words(&from).map(|word| usize::try_from(word.cast_signed()).ok());
        let all: Option<Vec<usize>> = groups.collect();
        all.map(Some)
            .ok_or("a group of inputs (g_idx) is negative".into())
    }

    /// Whether inputs are in the groups that they would be in without `g_idx`.
    pub fn in_order(&self, bytes: Bytes<'_>) -> Result<bool, String> {
        let right = |(i, group): (usize, &usize)| *group == i / self.place.columns;
        let groups = self.groups(bytes)?;
        Ok(groups.is_none_or(|groups| groups.iter().enumerate().all(right)))
    }
}

impl Scales {
    /// MXFP4's are exponents, of which one says that there is no number.
    fn read(&self, bytes: Bytes<'_>, exponents: bool) -> Result<Vec<f32>, String> {
        let numbers =
            |from: &Stored| Ok::<_, String>(dequant::numbers(from.info.dtype, &bytes(from)?));
        let scales: Vec<f32> = match self {
            Self::Plain(from, factor) => numbers(from)?.iter().map(|s| s * factor).collect(),
            Self::Nested {
                parts,
                size,
                offset,
            } => {
                let [places, table, scales] = &**parts;
                let (table, scales) = (numbers(table)?, numbers(scales)?);
                let scale = |(i, place): (usize, &u8)| {
                    let found = table.get(usize::from(*place)).zip(scales.get(i / size));
                    found.map_or(f32::NAN, |(value, scale)| value * scale + offset)
                };
                bytes(places)?.iter().enumerate().map(scale).collect()
            }
        };
        let wrong = |s: &f32| !s.is_finite() || exponents && *s == 255.0;
        match scales.iter().position(wrong) {
            Some(at) => Err(format!("scale {at} is not a number")),
            None => Ok(scales),
        }
    }
}

impl Zeros {
    /// In the order of the scales; one where all are the same.
    fn read(&self, bytes: Bytes<'_>, outputs: usize) -> Result<Vec<u8>, String> {
        Ok(match self {
            Self::All(zero) => vec![*zero],
            Self::Bytes(from) => bytes(from)?.iter().map(|b| b ^ 0x80).collect(),
            Self::Columns { from, bits, add } => {
                let (bytes, mask) = (bytes(from)?, mask(*bits));
                let zero = |row: &[u8], o: usize| digit(row, o, *bits).wrapping_add(*add) & mask;
                let rows = bytes.chunks_exact((outputs * bits / 8).max(1));
                rows.flat_map(|row| (0..outputs).map(move |o| zero(row, o)))
                    .collect()
            }
            Self::Awq(from) => words(&bytes(from)?).flat_map(eight).collect(),
            Self::Rows { from, bits } => {
                let columns = from.info.shape.last().copied().unwrap_or(1);
                let (words, each): (Vec<u32>, _) = (words(&bytes(from)?).collect(), 32 / bits);
                let zero = |n: usize| {
                    let (o, group) = (n / columns, n % columns);
                    let word = words.get(o / each * columns + group).copied();
                    (word.unwrap_or(0) >> (o % each * bits)) as u8 & mask(*bits)
                };
                (0..outputs * columns).map(zero).collect()
            }
        })
    }
}

fn mask(bits: usize) -> u8 {
    (255u16 >> (8 - bits)) as u8
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_le_bytes(*word))
}

/// The digits of one of AWQ's words in the order of outputs.
fn eight(word: u32) -> [u8; 8] {
    let mut digits = [0; 8];
    for (i, output) in AWQ.into_iter().enumerate() {
        digits[output] = (word >> (4 * i)) as u8 & 15;
    }
    digits
}

/// One of a row of digits of at most eight bits, which may lie across the end of a byte.
fn digit(row: &[u8], at: usize, bits: usize) -> u8 {
    let bit = at * bits;
    let byte = |n: usize| row.get(n).map_or(0, |b| u16::from(*b));
    let two = byte(bit / 8) | byte(bit / 8 + 1) << 8;
    (two >> (bit % 8)) as u8 & mask(bits)
}

fn unpack(bytes: &[u8], bits: usize, out: &mut [u8]) {
    if bits == 4 {
        for (two, byte) in out.chunks_mut(2).zip(bytes) {
            let digits = [byte & 15, byte >> 4];
            two.copy_from_slice(&digits[..two.len()]);
        }
        return;
    }
    for (at, out) in out.iter_mut().enumerate() {
        *out = digit(bytes, at, bits);
    }
}

type Tile = [[u8; BLOCK]; STRIP];

impl Matrix<'_> {
    fn scale(&self, output: usize, input: usize) -> Result<(f32, u8), String> {
        let place = self.of.place;
        let group = match &self.groups {
            Some(groups) => groups[input],
            None => input / place.columns,
        };
        let at = output / place.rows * place.down + group.saturating_mul(place.across);
        let zero = match self.zeros.as_slice() {
            [all] => Some(all),
            zeros => zeros.get(at),
        };
        let both = self.scales.get(at).zip(zero).map(|(s, z)| (*s, *z));
        both.ok_or_else(|| format!("there is no scale or zero point {at} (group {group})"))
    }

    /// Some outputs, from `first` on.
    fn strip(&self, first: usize, width: usize, out: &mut [u8]) -> Result<(), String> {
        let (count, kind) = (out.len() / width, self.of.info.dtype);
        let mut tile = [[0; BLOCK]; STRIP];
        for start in (0..self.of.rows.1).step_by(BLOCK) {
            let inputs = BLOCK.min(self.of.rows.1 - start);
            self.fill((first, count), (start, inputs), &mut tile);
            for (i, row) in out.chunks_exact_mut(width).enumerate() {
                let digits = &tile[i][..inputs];
                if self.of.coding == Coding::E4m3 && digits.iter().any(|b| b & 0x7F == 0x7F) {
                    return Err(format!("a number of row {} is none", first + i));
                }
                if kind != TensorType::F32 {
                    let (scale, zero) = self.scale(first + i, start)?;
                    let bytes = kind.block_bytes();
                    let at = start / BLOCK * bytes;
                    let mut out = &mut row[at..at + bytes];
                    if kind == TensorType::Nvfp4 {
                        let (second, _) = self.scale(first + i, start + BLOCK / 2)?;
                        let (to, rest) = out.split_at_mut(4);
                        to.copy_from_slice(&second.to_le_bytes());
                        out = rest;
                    }
                    pack(kind, &tile[i], (scale, zero), out);
                    continue;
                }
                let out = row[4 * start..].as_chunks_mut::<4>().0.iter_mut();
                for (n, (digit, out)) in digits.iter().zip(out).enumerate() {
                    let (scale, zero) = self.scale(first + i, start + n)?;
                    let value = self.values.get(usize::from(*digit)).unwrap_or(&f32::NAN);
                    *out = ((value - f32::from(zero)) * scale).to_le_bytes();
                }
            }
        }
        Ok(())
    }

    /// Digits of some outputs and at most as many inputs as a block has.
    fn fill(
        &self,
        (first, count): (usize, usize),
        (start, inputs): (usize, usize),
        tile: &mut Tile,
    ) {
        let outputs = self.of.rows.0;
        if self.of.digits.0 == Order::Awq {
            for n in 0..inputs {
                let row = 4 * ((start + n) * (outputs / 8) + first / 8);
                let row = self.digits.get(row..row + count / 2).unwrap_or_default();
                for (digit, to) in words(row).flat_map(eight).zip(&mut *tile) {
                    to[n] = digit;
                }
            }
            return;
        }
        for (i, row) in tile.iter_mut().enumerate().take(count) {
            match self.of.digits.0 {
                Order::Columns { bits } => {
                    let mut words = [0; BLOCK + 4];
                    for (n, to) in words.chunks_exact_mut(4).take(bits).enumerate() {
                        let at = 4 * ((start * bits / 32 + n) * outputs + first + i);
                        if let Some(word) = self.digits.get(at..at + 4) {
                            to.copy_from_slice(word);
                        }
                    }
                    unpack(&words, bits, &mut row[..inputs]);
                }
                Order::Rows {
                    bits,
                    row_bytes,
                    turned,
                } => {
                    let at = (first + i) * row_bytes + start * bits / 8;
                    unpack(
                        self.digits.get(at..).unwrap_or_default(),
                        bits,
                        &mut row[..inputs],
                    );
                    match bits {
                        8 if turned => row.iter_mut().for_each(|digit| *digit ^= 0x80),
                        _ if turned => row
                            .as_chunks_mut::<2>()
                            .0
                            .iter_mut()
                            .for_each(|t| t.swap(0, 1)),
                        _ => {}
                    }
                }
                Order::Awq => {}
            }
        }
    }
}

/// One block of thirty-two digits.
fn pack(kind: TensorType, digits: &[u8; BLOCK], (scale, zero): (f32, u8), out: &mut [u8]) {
    let [a, b, c, d] = scale.to_le_bytes();
    let [e, f] = f16::from_f32(scale).to_le_bytes();
    let (head, len, flip) = match kind {
        TensorType::Mxfp4 => ([scale as u8, 0, 0, 0, 0], 1, 0),
        TensorType::Q4_0 => ([e, f, 0, 0, 0], 2, 0),
        TensorType::Q8_0 => ([e, f, 0, 0, 0], 2, 0x80),
        TensorType::Int4 => ([a, b, c, d, zero], 5, 0),
        TensorType::Int8 => ([a, b, c, d, zero ^ 0x80], 5, 0x80),
        _ => ([a, b, c, d, 0], 4, 0),
    };
    let (start, rest) = out.split_at_mut(len);
    start.copy_from_slice(&head[..len]);
    let (low, high) = digits.split_at(BLOCK / 2);
    if rest.len() == BLOCK {
        rest.iter_mut()
            .zip(digits)
            .for_each(|(out, digit)| *out = digit ^ flip);
    } else {
        let both = low.iter().zip(high).map(|(low, high)| low & 15 | high << 4);
        rest.iter_mut()
            .zip(both)
            .for_each(|(out, both)| *out = both);
    }
}
