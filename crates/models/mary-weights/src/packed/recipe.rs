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
    /// As `[outputs, inputs]` (of MXFP4's experts, one under the other); the kind is that of the blocks, or F32 where
    /// there are no blocks for it.
    pub info: TensorInfo,
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
    /// A row for each output, in so many bytes; of two digits in a byte the low one is first, or the high one. Signed
    /// ones have their sign turned (`flip`), so that all digits count from nothing.
    Rows {
        bits: usize,
        high_first: bool,
        row_bytes: usize,
        flip: u8,
    },
}

/// What a digit stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Coding {
    /// Itself, less its zero point.
    Whole,
    E4m3,
    /// A place in a table of sixteen, which blocks of NF4 know.
    Table(Vec<f32>),
    /// MXFP4; its scales are powers of two.
    E2m1,
}

/// Which scale belongs to a digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `[groups, outputs]`, with so many inputs in a group.
    Columns { size: usize },
    /// A grid of rectangles, so many of them in a row.
    Grid {
        rows: usize,
        columns: usize,
        stride: usize,
    },
    /// So many numbers in a row share one, across the ends of rows too (bitsandbytes).
    Flat { size: usize },
}

#[derive(Debug, Clone)]
pub(crate) enum Scales {
    /// Times a factor.
    Plain(Stored, f32),
    /// bitsandbytes' scales, quantised in their turn: places in a table, times scales of so many, plus an offset.
    Nested {
        digits: Stored,
        table: Stored,
        scales: Stored,
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
    kind: TensorType,
    outputs: usize,
    inputs: usize,
    order: Order,
    digits: &'a [u8],
    coding: &'a Coding,
    place: Place,
    scales: Vec<f32>,
    zeros: Vec<u8>,
    groups: Option<Vec<usize>>,
}

impl Recipe {
    pub fn shape(&self) -> (usize, usize) {
        let inputs = self.info.shape.last().copied().unwrap_or(0);
        let outputs = self.info.shape.iter().rev().skip(1).product();
        (outputs, inputs)
    }

    /// The blocks, or the numbers where there are none; little-endian.
    pub fn follow(&self, bytes: Bytes<'_>) -> Result<Vec<u8>, String> {
        let (outputs, inputs) = self.shape();
        let digits = bytes(&self.digits.1)?;
        let matrix = Matrix {
            kind: self.info.dtype,
            outputs,
            inputs,
            order: self.digits.0,
            digits: &digits,
            coding: &self.coding,
            place: self.place,
            scales: self.scales.read(bytes, &self.coding)?,
            zeros: self.zeros.read(bytes, outputs)?,
            groups: self.groups(bytes)?,
        };
        matrix.check()?;
        let width = matrix
            .kind
            .bytes_for(inputs)
            .ok_or("its rows are no whole blocks")?;
        let mut out = vec![0; outputs * width];
        out.par_chunks_mut(STRIP * width)
            .enumerate()
            .try_for_each(|(strip, out)| matrix.strip(strip * STRIP, width, out))?;
        Ok(out)
    }

    /// The groups of the inputs, if they are not in order; `Err` where one does not exist.
    fn groups(&self, bytes: Bytes<'_>) -> Result<Option<Vec<usize>>, String> {
        let Some(from) = &self.groups else {
            return Ok(None);
        };
        let from = bytes(from)?;
        let groups = words(&from).map(|word| usize::try_from(word.cast_signed()).ok());
        let groups: Option<Vec<usize>> = groups.collect();
        groups
            .map(Some)
            .ok_or("a group of inputs (g_idx) is negative".into())
    }

    /// Whether the inputs of each block belong to one group, and stay in it where they would be without `g_idx`.
    pub fn in_order(&self, bytes: Bytes<'_>) -> Result<bool, String> {
        let size = match self.place {
            Place::Columns { size } => size,
            Place::Grid { columns, .. } => columns,
            Place::Flat { .. } => return Ok(true),
        };
        let groups = self.groups(bytes)?;
        let right = |(i, group): (usize, &usize)| *group == i / size;
        Ok(groups.is_none_or(|groups| groups.iter().enumerate().all(right)))
    }

    /// Inputs that share a scale, at least: a multiple of these many.
    pub fn shared(&self) -> usize {
        let (_, inputs) = self.shape();
        match self.place {
            Place::Columns { size } if size < inputs => size,
            Place::Grid { columns, .. } if columns < inputs => columns,
            Place::Flat { size } => size,
            _ => BLOCK,
        }
    }
}

impl Scales {
    fn read(&self, bytes: Bytes<'_>, coding: &Coding) -> Result<Vec<f32>, String> {
        let numbers =
            |from: &Stored| Ok::<_, String>(dequant::numbers(from.info.dtype, &bytes(from)?));
        let scales = match self {
            Self::Plain(from, factor) => {
                let mut scales = numbers(from)?;
                scales.iter_mut().for_each(|s| *s *= factor);
                scales
            }
            Self::Nested {
                digits,
                table,
                scales,
                size,
                offset,
            } => {
                let (table, scales) = (numbers(table)?, numbers(scales)?);
                let place = bytes(digits)?;
                let scale = |(i, place): (usize, &u8)| {
                    let found = table.get(usize::from(*place)).zip(scales.get(i / size));
                    found.map(|(value, scale)| value * scale + offset)
                };
                let all: Option<Vec<f32>> = place.iter().enumerate().map(scale).collect();
                all.ok_or("its scales are not all there")?
            }
        };
        let wrong = |s: &f32| !s.is_finite() || (*coding == Coding::E2m1 && *s == 255.0);
        match scales.iter().position(wrong) {
            Some(at) => Err(format!("scale {at} is not a number")),
            None => Ok(scales),
        }
    }
}

impl Zeros {
    /// In the order of the scales; empty where all are the same.
    fn read(&self, bytes: Bytes<'_>, outputs: usize) -> Result<Vec<u8>, String> {
        Ok(match self {
            Self::All(zero) => vec![*zero],
            Self::Bytes(from) => bytes(from)?.iter().map(|b| b ^ 0x80).collect(),
            Self::Columns { from, bits, add } => {
                let (bytes, mask) = (bytes(from)?, mask(*bits));
                let row = outputs * bits / 8;
                let zero = |row: &[u8], o: usize| digit(row, o, *bits).wrapping_add(*add) & mask;
                let rows = bytes.chunks_exact(row.max(1));
                rows.flat_map(|row| (0..outputs).map(move |o| zero(row, o)))
                    .collect()
            }
            Self::Awq(from) => {
                let mut zeros = vec![];
                for word in words(&bytes(from)?) {
                    let mut eight = [0; 8];
                    for (i, output) in AWQ.into_iter().enumerate() {
                        eight[output] = (word >> (4 * i)) as u8 & 15;
                    }
                    zeros.extend(eight);
                }
                zeros
            }
            Self::Rows { from, bits } => {
                let columns = from.info.shape.last().copied().unwrap_or(1);
                let words: Vec<u32> = words(&bytes(from)?).collect();
                let each = 32 / bits;
                let zero = |o: usize, group: usize| {
                    let word = words.get(o / each * columns + group).copied();
                    (word.unwrap_or(0) >> (o % each * bits)) as u8 & mask(*bits)
                };
                (0..outputs)
                    .flat_map(|o| (0..columns).map(move |group| (o, group)))
                    .map(|(o, group)| zero(o, group))
                    .collect()
            }
        })
    }
}

fn mask(bits: usize) -> u8 {
    (255u16 >> (8 - bits)) as u8
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
}

/// One of a row of digits of at most eight bits, which may lie across the end of a byte.
fn digit(row: &[u8], at: usize, bits: usize) -> u8 {
    let bit = at * bits;
    let byte = |n: usize| row.get(n).map_or(0, |b| u16::from(*b));
    let two = byte(bit / 8) | byte(bit / 8 + 1) << 8;
    (two >> (bit % 8)) as u8 & mask(bits)
}

type Tile = [[u8; BLOCK]; STRIP];

impl Matrix<'_> {
    /// What the shapes could not tell.
    fn check(&self) -> Result<(), String> {
        let groups = match (self.place, &self.groups) {
            (Place::Columns { .. }, Some(groups)) => {
                Some((groups, self.scales.len() / self.outputs))
            }
            (Place::Grid { stride, .. }, Some(groups)) => Some((groups, stride)),
            _ => None,
        };
        if let Some((all, count)) = groups
            && let Some(group) = all.iter().find(|group| **group >= count)
        {
            return Err(format!(
                "an input is of group {group} (g_idx); there are {count}"
            ));
        }
        let middle = match self.kind {
            TensorType::Q4_0 => 8,
            TensorType::Q8_0 => 128,
            _ => return Ok(()),
        };
        match self.zeros.iter().all(|zero| *zero == middle) {
            true => Ok(()),
            false => Err("config.json calls it symmetric, but its zero points differ".into()),
        }
    }

    fn scale_at(&self, output: usize, input: usize) -> usize {
        let group = |size: usize| self.groups.as_ref().map_or(input / size, |g| g[input]);
        match self.place {
            Place::Columns { size } => group(size) * self.outputs + output,
            Place::Grid {
                rows,
                columns,
                stride,
            } => output / rows * stride + group(columns),
            Place::Flat { size } => (output * self.inputs + input) / size,
        }
    }

    fn scale(&self, output: usize, input: usize) -> Result<(f32, u8), String> {
        let at = self.scale_at(output, input);
        let zero = match self.zeros.as_slice() {
            [all] => Some(all),
            zeros => zeros.get(at),
        };
        let found = self.scales.get(at).copied().zip(zero.copied());
        found.ok_or_else(|| format!("there is no scale or zero point {at}"))
    }

    /// Some outputs, from `first` on.
    fn strip(&self, first: usize, width: usize, out: &mut [u8]) -> Result<(), String> {
        let count = out.len() / width;
        let mut tile = [[0; BLOCK]; STRIP];
        for start in (0..self.inputs).step_by(BLOCK) {
            let inputs = BLOCK.min(self.inputs - start);
            self.fill((first, count), (start, inputs), &mut tile);
            for (i, row) in out.chunks_exact_mut(width).enumerate() {
                let digits = &tile[i][..inputs];
                if *self.coding == Coding::E4m3 && digits.iter().any(|b| b & 0x7F == 0x7F) {
                    return Err(format!("a number of row {} is none", first + i));
                }
                if self.kind == TensorType::F32 {
                    let out = row[4 * start..].as_chunks_mut::<4>().0.iter_mut();
                    for (n, (digit, out)) in digits.iter().zip(out).enumerate() {
                        let (scale, zero) = self.scale(first + i, start + n)?;
                        *out = self.number(*digit, scale, zero).to_le_bytes();
                    }
                } else {
                    let bytes = self.kind.block_bytes();
                    let (scale, zero) = self.scale(first + i, start)?;
                    self.pack(
                        &tile[i],
                        scale,
                        zero,
                        &mut row[start / BLOCK * bytes..][..bytes],
                    );
                }
            }
        }
        Ok(())
    }

    fn number(&self, digit: u8, scale: f32, zero: u8) -> f32 {
        let mut one = [0.0];
        match self.coding {
            Coding::Whole => (f32::from(digit) - f32::from(zero)) * scale,
            Coding::Table(table) => table.get(usize::from(digit)).map_or(0.0, |x| x * scale),
            Coding::E4m3 => {
                dequant::to_f32(TensorType::F8E4m3, &[digit], &mut one);
                one[0] * scale
            }
            // Never without blocks: rows of MXFP4 are whole ones.
            Coding::E2m1 => f32::NAN,
        }
    }

    /// One block of thirty-two digits.
    fn pack(&self, digits: &[u8; BLOCK], scale: f32, zero: u8, out: &mut [u8]) {
        let head = match self.kind {
            TensorType::Mxfp4 => {
                out[0] = scale as u8;
                1
            }
            TensorType::Q4_0 | TensorType::Q8_0 => {
                out[..2].copy_from_slice(&f16::from_f32(scale).to_le_bytes());
                2
            }
            _ => {
                out[..4].copy_from_slice(&scale.to_le_bytes());
                4
            }
        };
        let head = match self.kind {
            TensorType::Int4 | TensorType::Int8 => {
                let turned = if self.kind == TensorType::Int8 {
                    0x80
                } else {
                    0
                };
                out[head] = zero ^ turned;
                head + 1
            }
            _ => head,
        };
        let out = &mut out[head..];
        let flip = match self.kind {
            TensorType::Q8_0 | TensorType::Int8 => 0x80,
            _ => 0,
        };
        match out.len() {
            BLOCK => out
                .iter_mut()
                .zip(digits)
                .for_each(|(out, digit)| *out = digit ^ flip),
            _ => {
                let (low, high) = digits.split_at(BLOCK / 2);
                let both = low.iter().zip(high).map(|(low, high)| low & 15 | high << 4);
                out.iter_mut().zip(both).for_each(|(out, both)| *out = both);
            }
        }
    }

    /// Digits of some outputs and at most as many inputs as a block has.
    fn fill(
        &self,
        (first, count): (usize, usize),
        (start, inputs): (usize, usize),
        tile: &mut Tile,
    ) {
        match self.order {
            Order::Columns { bits } => {
                for (i, row) in tile.iter_mut().enumerate().take(count) {
                    let mut words = [0; BLOCK + 4];
                    for (n, to) in words.chunks_exact_mut(4).take(bits).enumerate() {
                        let at = 4 * ((start * bits / 32 + n) * self.outputs + first + i);
                        if let Some(word) = self.digits.get(at..at + 4) {
                            to.copy_from_slice(word);
                        }
                    }
                    unpack(&words, bits, &mut row[..inputs]);
                }
            }
            Order::Awq => {
                for n in 0..inputs {
                    let row = 4 * ((start + n) * (self.outputs / 8) + first / 8);
                    let row = self.digits.get(row..row + count / 2).unwrap_or_default();
                    for (eight, word) in words(row).enumerate() {
                        for (i, output) in AWQ.into_iter().enumerate() {
                            tile[8 * eight + output][n] = (word >> (4 * i)) as u8 & 15;
                        }
                    }
                }
            }
            Order::Rows {
                bits,
                high_first,
                row_bytes,
                flip,
            } => {
                for (i, row) in tile.iter_mut().enumerate().take(count) {
                    let at = (first + i) * row_bytes + start * bits / 8;
                    let bytes = self.digits.get(at..).unwrap_or_default();
                    if bits == 8 {
                        let both = row.iter_mut().zip(bytes).take(inputs);
                        both.for_each(|(to, byte)| *to = byte ^ flip);
                        continue;
                    }
                    unpack(bytes, bits, &mut row[..inputs]);
                    if high_first {
                        row.as_chunks_mut::<2>()
                            .0
                            .iter_mut()
                            .for_each(|two| two.swap(0, 1));
                    }
                }
            }
        }
    }
}

fn unpack(bytes: &[u8], bits: usize, out: &mut [u8]) {
    if bits == 4 {
        let pairs = out.chunks_mut(2).zip(bytes);
        for (two, byte) in pairs {
            two[0] = byte & 15;
            if let Some(second) = two.get_mut(1) {
                *second = byte >> 4;
            }
        }
        return;
    }
    for (at, out) in out.iter_mut().enumerate() {
        *out = digit(bytes, at, bits);
    }
}
