//! Matrices of the base as a checkpoint stores them: in 16 bits or in quantised blocks, mapped from the
//! file, and unpacked a few rows at a time when they multiply. Nothing of the base is trained then.

use super::kernels::vectorised;
use super::layout::Layout;
use super::matmul::{Unit, View, Write};
use crate::{Result, TrainError};
use mary_weights::{Checkpoint, RawBytes, TensorType, unpack_blocks};

/// Numbers unpacked at a time: what the second cache holds.
const SLICE: usize = 1 << 18;

/// Rows turned together, a cache line of the result.
const TURNED: usize = 16;

#[derive(Clone)]
pub(super) enum Numbers {
    /// As they lie in the file.
    Raw(TensorType, RawBytes),
    /// Rows that the file holds in another order.
    Plain(Vec<f32>),
}

impl std::fmt::Debug for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Raw(kind, _) => write!(f, "{kind}"),
            Self::Plain(values) => write!(f, "{} numbers", values.len()),
        }
    }
}

/// One matrix, `outputs × inputs`.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub(super) outputs: usize,
    pub(super) inputs: usize,
    pub(super) numbers: Numbers,
}

#[derive(Debug, Clone)]
pub struct Stored {
    /// By the index of the linear layer.
    pub(super) matrices: Vec<Matrix>,
    pub(super) embedding: Matrix,
    /// The output matrix, where it is not the embedding.
    pub(super) head: Option<Matrix>,
}

impl Matrix {
    fn open(
        checkpoint: &Checkpoint,
        name: &str,
        (outputs, inputs): (usize, usize),
        turned: bool,
    ) -> Result<Self> {
        let dims = if turned {
            [inputs, outputs]
        } else {
            [outputs, inputs]
        };
        let info = checkpoint.info(name);
        let kind = info.filter(|i| i.shape == dims).map(|i| i.dtype);
        let kind = kind.ok_or_else(|| wrong(name, info.map(|i| i.shape.as_slice()), &dims))?;
        let whole = inputs.is_multiple_of(kind.block_len());
        let raw = match turned || !whole {
            true => None,
            false => checkpoint.share_raw(name).ok(),
        };
        let numbers = match raw {
            Some(raw) => Numbers::Raw(kind, raw),
            None => {
                let mut values = checkpoint.read_f32(name)?;
                if turned {
                    let mut rows = vec![0.0; values.len()];
                    super::matmul::transpose(&values, outputs, outputs, &mut rows);
                    values = rows;
                }
                Numbers::Plain(values)
            }
        };
        Ok(Self {
            outputs,
            inputs,
            numbers,
        })
    }

    /// How many bfloat16 numbers hold one of its numbers.
    pub(super) fn planes(&self) -> usize {
        match &self.numbers {
            Numbers::Raw(TensorType::BF16, _) => 1,
            Numbers::Raw(TensorType::F16, _) => 2,
            _ => 3,
        }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn numbers(&self) -> usize {
        self.outputs * self.inputs
    }

    /// Hands over its bytes in bfloat16, each part with its place: at once and as they lie in the file
    /// where that is their type, rounded a few rows at a time where not.
    #[cfg(feature = "cuda")]
    pub(crate) fn in_bf16<E>(
        &self,
        mut take: impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        use rayon::prelude::*;
        if let Numbers::Raw(TensorType::BF16, bytes) = &self.numbers {
            return take(0, &bytes[..2 * self.numbers()]);
        }
        let step = ((16 << 20) / self.inputs.max(1)).max(1);
        let mut rows = Vec::new();
        let mut bytes: Vec<u8> = Vec::new();
        for first in (0..self.outputs).step_by(step) {
            let count = step.min(self.outputs - first);
            rows.resize(count * self.inputs, 0.0);
            let share = count.div_ceil(rayon::current_num_threads()).max(1);
            rows.par_chunks_mut(share * self.inputs)
                .enumerate()
                .for_each(|(i, rows)| self.rows(first + i * share, rows));
            bytes.resize(2 * rows.len(), 0);
            bytes
                .par_chunks_mut(1 << 16)
                .zip(rows.par_chunks(1 << 15))
                .for_each(|(to, from)| {
                    for (to, x) in to.chunks_exact_mut(2).zip(from) {
                        to.copy_from_slice(&half::bf16::from_f32(*x).to_le_bytes());
                    }
                });
            take(2 * first * self.inputs, &bytes)?;
        }
        Ok(())
    }

    /// Rows from `first` on, as many as `out` holds.
    pub(crate) fn rows(&self, first: usize, out: &mut [f32]) {
        match &self.numbers {
            Numbers::Plain(values) => {
                let at = first * self.inputs;
                out.copy_from_slice(&values[at..at + out.len()]);
            }
            Numbers::Raw(kind, bytes) => {
                let step = self.inputs / kind.block_len() * kind.block_bytes();
                let rows = out.len() / self.inputs.max(1);
                let bytes = &bytes[first * step..(first + rows) * step];
                unpack(*kind, bytes, out);
            }
        }
    }

    pub(super) fn all(&self) -> Vec<f32> {
        use rayon::prelude::*;
        let mut out = vec![0.0; self.outputs * self.inputs];
        let some = out.par_chunks_mut(TURNED * self.inputs.max(1)).enumerate();
        some.for_each(|(i, rows)| self.rows(i * TURNED, rows));
        out
    }

    /// The rows `first..first + count` turned: `inputs × count`.
    fn turned(&self, first: usize, count: usize, rows: &mut Vec<f32>, out: &mut Vec<f32>) {
        out.resize(count * self.inputs, 0.0);
        rows.resize(TURNED * self.inputs, 0.0);
        for at in (0..count).step_by(TURNED) {
            let some = TURNED.min(count - at);
            let rows = &mut rows[..some * self.inputs];
            self.rows(first + at, rows);
            for (column, to) in out.chunks_exact_mut(count).enumerate() {
                for (i, to) in to[at..at + some].iter_mut().enumerate() {
                    *to = rows[i * self.inputs + column];
                }
            }
        }
    }

    fn slice(&self) -> usize {
        (SLICE / self.inputs.max(1)).max(TURNED) / TURNED * TURNED
    }

    /// `y = x Wᵀ`, or added to it.
    pub(crate) fn product(
        &self,
        x: &[f32],
        (y, y_step): (&mut [f32], usize),
        write: Write,
        (unit, room): (Unit, &mut UnpackBuffer),
    ) {
        let rows = x.len() / self.inputs.max(1);
        for first in (0..self.outputs).step_by(self.slice()) {
            let count = self.slice().min(self.outputs - first);
            let weight = match unit {
                Unit::Vectors => {
                    self.turned(first, count, &mut room.rows, &mut room.turned);
                    View::rows(&room.turned, count)
                }
                Unit::Tiles => {
                    room.rows.resize(count * self.inputs, 0.0);
                    self.rows(first, &mut room.rows);
                    View::transposed(&room.rows, self.inputs).planes(self.planes())
                }
            };
            let size = (rows, self.inputs, count);
            let product = unit.product(size, View::rows(x, self.inputs), weight);
            product.write((&mut y[first..], y_step), write);
        }
    }

    /// `dx = dy W`, or added to it.
    pub(crate) fn product_back(
        &self,
        (dy, dy_step, rows): (&[f32], usize, usize),
        dx: &mut [f32],
        mut write: Write,
        (unit, room): (Unit, &mut UnpackBuffer),
    ) {
        for first in (0..self.outputs).step_by(self.slice()) {
            let count = self.slice().min(self.outputs - first);
            room.rows.resize(count * self.inputs, 0.0);
            self.rows(first, &mut room.rows);
            let back = View::rows(&dy[first..], dy_step);
            let weight = View::rows(&room.rows, self.inputs).planes(self.planes());
            let product = unit.product((rows, count, self.inputs), back, weight);
            product.write((&mut *dx, self.inputs), write);
            write = Write::Add;
        }
    }
}

fn unpack(kind: TensorType, bytes: &[u8], out: &mut [f32]) {
    vectorised!({ unpack_blocks(kind, bytes, out) });
}

fn wrong(name: &str, found: Option<&[usize]>, expected: &[usize]) -> TrainError {
    TrainError::Settings(match found {
        Some(found) => {
            format!("the tensor {name} has shape {found:?}; config.json asks for {expected:?}")
        }
        None => format!("the tensor {name} is not in the checkpoint"),
    })
}

#[derive(Debug, Default)]
pub(crate) struct UnpackBuffer {
    rows: Vec<f32>,
    turned: Vec<f32>,
}

impl Stored {
    /// The matrices of a checkpoint; nothing is copied that can be mapped.
    pub(crate) fn open(checkpoint: &Checkpoint, layout: &Layout) -> Result<Self> {
        let mut matrices = Vec::with_capacity(layout.linear_count);
        for linear in layout.blocks.iter().flat_map(|b| b.linears()) {
            let name = format!("{}.weight", linear.name);
            let turned = layout.entries.iter().any(|e| e.name == name && e.turned);
            let size = (linear.outputs, linear.inputs);
            matrices.push((linear.index, Matrix::open(checkpoint, &name, size, turned)?));
        }
        matrices.sort_by_key(|(index, _)| *index);
        let table = |name: &str| -> Result<Matrix> {
            let entry = layout.entries.iter().find(|e| e.name == name);
            let size = entry.map_or((0, 0), |e| (e.dims[0], e.dims[1]));
            Matrix::open(checkpoint, name, size, false)
        };
        let head = match layout.head_name == layout.embedding_name {
            true => None,
            false => Some(table(&layout.head_name)?),
        };
        Ok(Self {
            matrices: matrices.into_iter().map(|(_, m)| m).collect(),
            embedding: table(&layout.embedding_name)?,
            head,
        })
    }

    /// Whether a base should stay as it is stored: its matrices are not in 32 bits.
    pub(crate) fn suits(checkpoint: &Checkpoint, layout: &Layout) -> bool {
        let first = layout.blocks.first().map(|b| &b.down.name);
        first
            .and_then(|name| checkpoint.info(&format!("{name}.weight")))
            .is_some_and(|info| !matches!(info.dtype, TensorType::F32 | TensorType::F64))
    }

    pub(crate) fn describe(&self) -> String {
        let first = self.matrices.first();
        first.map_or(String::new(), |m| format!("{:?}", m.numbers))
    }

    pub(crate) fn head(&self) -> &Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }
}

/// Vectors of a checkpoint in the flat slice, and its matrices where they have a place there.
pub(crate) fn read_flat(checkpoint: &Checkpoint, layout: &Layout) -> Result<Vec<f32>> {
    let mut base = vec![0.0; layout.total];
    for entry in layout.entries.iter().filter(|e| !e.place.is_empty()) {
        let mut dims = entry.dims.clone();
        if entry.turned {
            dims.reverse();
        }
        let info = checkpoint.info(&entry.name);
        if info.is_none_or(|i| i.shape != dims) {
            return Err(wrong(&entry.name, info.map(|i| i.shape.as_slice()), &dims));
        }
        let values = checkpoint.read_f32(&entry.name)?;
        let to = &mut base[entry.place.clone()];
        match (entry.turned, dims.as_slice()) {
            (true, [_, outputs]) => super::matmul::transpose(&values, *outputs, *outputs, to),
            _ => to.copy_from_slice(&values),
        }
    }
    Ok(base)
}
