//! A tensor as it lies in a file, and how to read it in Hugging Face's order.

use std::borrow::Cow;

use mary_kernels::dequant;
use rayon::prelude::*;

use crate::TensorType;

/// How rows were reordered on their way into a GGUF file. `stored(r)` is where Hugging Face's row
/// `r` lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowOrder {
    /// LLaMA's query and key: within a head, the two halves that rotary embedding pairs up are
    /// interleaved.
    Rotary { head_dim: usize },
    /// Hugging Face keeps the queries of a group with their key and value (GPT-NeoX has a group for each head), GGUF
    /// all queries, all keys, all values.
    Qkv {
        heads: usize,
        groups: usize,
        head_dim: usize,
    },
}

impl RowOrder {
    /// Whether this order makes sense for a tensor of so many rows.
    pub fn fits(self, rows: usize) -> bool {
        match self {
            Self::Rotary { head_dim } => {
                head_dim > 0 && head_dim.is_multiple_of(2) && rows.is_multiple_of(head_dim)
            }
            Self::Qkv {
                heads,
                groups,
                head_dim,
            } => {
                head_dim > 0
                    && groups > 0
                    && heads.is_multiple_of(groups)
                    && (heads + 2 * groups).checked_mul(head_dim) == Some(rows)
            }
        }
    }

    fn stored(self, row: usize) -> usize {
        match self {
            Self::Rotary { head_dim } => {
                let (head, within) = (row / head_dim, row % head_dim);
                let (side, pair) = (within / (head_dim / 2), within % (head_dim / 2));
                head * head_dim + 2 * pair + side
            }
            Self::Qkv {
                heads,
                groups,
                head_dim,
            } => {
                let each = heads / groups;
                let (group, within) =
                    (row / ((each + 2) * head_dim), row % ((each + 2) * head_dim));
                let (slot, d) = (within / head_dim, within % head_dim);
                let head = match slot {
                    s if s < each => group * each + s,
                    s if s == each => heads + group,
                    _ => heads + groups + group,
                };
                head * head_dim + d
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Layout {
    Plain,
    Rows(RowOrder),
    Transposed,
    /// One was added to every number (Gemma's norms in GGUF files).
    PlusOne,
    /// Steps between neighbours of each dimension, in numbers (PyTorch).
    Strided(Vec<usize>),
}

/// A tensor in a file. Whoever makes one has checked that all of it lies inside the file.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub info: TensorInfo,
    pub file: usize,
    /// First byte and number of bytes within the file.
    pub start: usize,
    pub len: usize,
    pub layout: Layout,
}

impl Stored {
    fn numbers(&self) -> usize {
        self.info.shape.iter().product()
    }

    fn rows(&self) -> usize {
        self.info.shape.first().copied().unwrap_or(1)
    }

    pub fn read_f32(&self, bytes: &[u8]) -> Vec<f32> {
        let dtype = self.info.dtype;
        let mut out = vec![0.0; self.numbers()];
        match &self.layout {
            Layout::Plain => dequant::to_f32(dtype, bytes, &mut out),
            Layout::PlusOne => {
                dequant::to_f32(dtype, bytes, &mut out);
                out.iter_mut().for_each(|x| *x -= 1.0);
            }
            Layout::Rows(order) if !out.is_empty() => {
                let width = out.len() / self.rows();
                let step = bytes.len() / self.rows();
                out.par_chunks_mut(width)
                    .with_min_len(64)
                    .enumerate()
                    .for_each(|(row, out)| {
                        let from = order.stored(row) * step;
                        dequant::to_f32(dtype, &bytes[from..from + step], out);
                    });
            }
            Layout::Rows(_) => {}
            Layout::Transposed => {
                let mut stored = vec![0.0; out.len()];
                dequant::to_f32(dtype, bytes, &mut stored);
                let (rows, columns) = self.matrix();
                for (i, out) in out.iter_mut().enumerate() {
                    *out = stored[i % columns * rows + i / columns];
                }
            }
            Layout::Strided(strides) => {
                let dense = gather(bytes, &self.info.shape, strides, dtype.block_bytes());
                dequant::to_f32(dtype, &dense, &mut out);
            }
        }
        out
    }

    /// Adds numbers in Hugging Face's order to this tensor's numbers in the order of the file.
    pub fn add_to(&self, added: &[f32], stored: &mut [f32]) {
        let width = added.len() / self.rows().max(1);
        let (rows, columns) = self.matrix();
        for (i, value) in added.iter().enumerate() {
            let place = match &self.layout {
                Layout::Plain | Layout::PlusOne => i,
                Layout::Rows(order) => order.stored(i / width) * width + i % width,
                Layout::Transposed => i % columns * rows + i / columns,
                Layout::Strided(strides) => {
                    let (mut rest, mut place) = (i, 0);
                    for (n, step) in self.info.shape.iter().zip(strides).rev() {
                        place += rest % n * step;
                        rest /= n;
                    }
                    place
                }
            };
            stored[place] += value;
        }
    }

    /// The bytes in Hugging Face's order; `None` when the blocks cannot be rearranged without
    /// unpacking them.
    pub fn read_raw<'a>(&self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let TensorInfo { shape, dtype } = &self.info;
        let dense = |strides: &[usize]| {
            let gathered = gather(bytes, shape, strides, dtype.block_bytes());
            Cow::Owned(gathered)
        };
        Some(match &self.layout {
            Layout::Plain => Cow::Borrowed(bytes),
            Layout::Rows(order) => {
                let rows = self.rows().max(1);
                let step = bytes.len() / rows;
                let mut out = Vec::with_capacity(bytes.len());
                for row in 0..rows {
                    let from = order.stored(row) * step;
                    out.extend_from_slice(&bytes[from..from + step]);
                }
                Cow::Owned(out)
            }
            Layout::PlusOne if *dtype == TensorType::F32 => Cow::Owned(
                self.read_f32(bytes)
                    .iter()
                    .flat_map(|x| x.to_le_bytes())
                    .collect(),
            ),
            Layout::Transposed if !dtype.is_quantised() => {
                let (rows, _) = self.matrix();
                dense(&[1, rows])
            }
            Layout::Strided(strides) => dense(strides),
            Layout::PlusOne | Layout::Transposed => return None,
        })
    }

    fn matrix(&self) -> (usize, usize) {
        match self.info.shape.as_slice() {
            [rows, columns] => (*rows, *columns),
            other => (1, other.iter().product()),
        }
    }
}

/// Collects numbers of `size` bytes that lie `strides` apart into row-major order.
fn gather(bytes: &[u8], shape: &[usize], strides: &[usize], size: usize) -> Vec<u8> {
    let numbers: usize = shape.iter().product();
    let mut out = Vec::with_capacity(numbers * size);
    let mut index = vec![0usize; shape.len()];
    for _ in 0..numbers {
        let at: usize = index.iter().zip(strides).map(|(i, s)| i * s).sum();
        out.extend_from_slice(&bytes[at * size..(at + 1) * size]);
        for (i, &n) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < n {
                break;
            }
            *i = 0;
        }
    }
    out
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// In Hugging Face order: a linear layer's weight is `[out, in]` (GPT-2's `Conv1D` weights are
    /// `[in, out]`, as in its own checkpoints).
    pub shape: Vec<usize>,
    pub dtype: TensorType,
}

impl TensorInfo {
    pub fn numbers(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reordering must be a permutation: each stored row is read exactly once.
    #[test]
    fn row_orders_are_permutations() {
        let cases = [
            (RowOrder::Rotary { head_dim: 8 }, 24),
            (
                RowOrder::Qkv {
                    heads: 3,
                    groups: 3,
                    head_dim: 4,
                },
                36,
            ),
            (
                RowOrder::Qkv {
                    heads: 6,
                    groups: 2,
                    head_dim: 4,
                },
                40,
            ),
        ];
        for (order, rows) in cases {
            assert!(order.fits(rows), "{order:?}");
            let mut seen: Vec<usize> = (0..rows).map(|r| order.stored(r)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..rows).collect::<Vec<_>>(), "{order:?}");
        }
    }

    /// What is added comes out where it was meant, however the numbers lie.
    #[test]
    fn numbers_are_added_where_they_are_read() {
        let layouts = [
            Layout::Plain,
            Layout::Rows(RowOrder::Rotary { head_dim: 4 }),
            Layout::Transposed,
            Layout::Strided(vec![1, 8]),
        ];
        for layout in layouts {
            let stored = Stored {
                info: TensorInfo {
                    shape: vec![8, 3],
                    dtype: TensorType::F32,
                },
                file: 0,
                start: 0,
                len: 96,
                layout,
            };
            let added: Vec<f32> = (1..=24).map(|n| n as f32).collect();
            let mut numbers = vec![0.0; 24];
            stored.add_to(&added, &mut numbers);
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
            assert_eq!(stored.read_f32(&bytes), added, "{:?}", stored.layout);
        }
    }

    #[test]
    fn a_transposed_matrix_reads_the_same_raw_and_as_numbers() {
        let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let stored = Stored {
            info: TensorInfo {
                shape: vec![3, 2],
                dtype: TensorType::F32,
            },
            file: 0,
            start: 0,
            len: bytes.len(),
            layout: Layout::Transposed,
        };
        let numbers = stored.read_f32(&bytes);
        assert_eq!(numbers, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let raw = stored.read_raw(&bytes).unwrap();
        let mut again = [0.0; 6];
        dequant::to_f32(TensorType::F32, &raw, &mut again);
        assert_eq!(numbers, again);
    }
}
