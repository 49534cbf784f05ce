//! One safe door to matrix multiplication: strided views in, bounds checked once, one thread.
//!
//! Training is parallel over sequences, not inside a product, so that the order of every sum is
//! fixed and a run does not depend on the number of threads.

use mary_kernels::gemm::{self, Matrix};
use mary_kernels::packed::Tiles;
#[cfg(target_arch = "x86_64")]
use mary_kernels::packed::{Factor, Right, product};

/// A read-only matrix somewhere in a slice.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    data: &'a [f32],
    row_step: usize,
    column_step: usize,
    planes: usize,
    split: Option<&'a Tiles>,
}

impl<'a> View<'a> {
    /// Rows of `row_step` numbers, of which the first columns are used.
    pub(crate) fn rows(data: &'a [f32], row_step: usize) -> Self {
        Self {
            data,
            row_step,
            column_step: 1,
            planes: 3,
            split: None,
        }
    }

    pub(crate) fn transposed(data: &'a [f32], row_step: usize) -> Self {
        Self::rows(data, row_step).turned()
    }

    fn turned(self) -> Self {
        Self {
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    /// Says what was made of it for the tile unit.
    pub(crate) fn split(self, split: Option<&'a Tiles>) -> Self {
        Self { split, ..self }
    }

    /// Says how many bfloat16 numbers hold each of these: the tile unit multiplies as often.
    pub(crate) fn planes(self, planes: usize) -> Self {
        Self { planes, ..self }
    }

    #[cfg(target_arch = "x86_64")]
    fn factor(&self) -> Factor<'a> {
        match self.column_step {
            1 => Factor::rows(self.data, self.row_step),
            step => Factor::turned(self.data, step),
        }
    }

    fn matrix(&self) -> Matrix<*const f32> {
        Matrix {
            first: self.data.as_ptr(),
            column_step: self.column_step,
            row_step: self.row_step,
        }
    }

    fn covers(&self, rows: usize, columns: usize) -> bool {
        rows == 0
            || columns == 0
            || (rows - 1) * self.row_step + (columns - 1) * self.column_step < self.data.len()
    }
}

/// Writes the transpose of `from` (rows of `row_step`, of which `columns` are used) to `to`.
///
/// The matrix kernel packs a transposed right factor number by number; a copy made once in
/// blocks and used many times is much cheaper.
pub(crate) fn transpose(from: &[f32], row_step: usize, columns: usize, to: &mut [f32]) {
    const BLOCK: usize = 16;
    if columns == 0 {
        return;
    }
    let rows = to.len() / columns;
    for i in (0..rows).step_by(BLOCK) {
        let high = (i + BLOCK).min(rows);
        for j in (0..columns).step_by(BLOCK) {
            let wide = (j + BLOCK).min(columns);
            for column in j..wide {
                let out = &mut to[column * rows + i..column * rows + high];
                for (offset, out) in out.iter_mut().enumerate() {
                    *out = from[(i + offset) * row_step + column];
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Replace,
    Add,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Unit {
    /// `gemm` with vectors: what grows a model multiplies so on every processor, and has the same bits.
    #[default]
    Vectors,
    /// The tile unit, at single precision.
    Tiles,
}

impl Unit {
    pub(crate) fn best() -> Self {
        match mary_kernels::packed::has_tiles() {
            true => Self::Tiles,
            false => Self::Vectors,
        }
    }

    /// The product of an m × k and a k × n matrix; the size is (m, k, n).
    pub(crate) fn product<'a>(
        self,
        size: (usize, usize, usize),
        a: View<'a>,
        b: View<'a>,
    ) -> Product<'a> {
        Product {
            unit: self,
            size,
            a,
            b,
            scale: 1.0,
        }
    }
}

/// `scale · a (m × k) · b (k × n)`, to be written somewhere.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    unit: Unit,
    size: (usize, usize, usize),
    a: View<'a>,
    b: View<'a>,
    scale: f32,
}

impl Product<'_> {
    pub(crate) fn scaled(self, scale: f32) -> Self {
        Self { scale, ..self }
    }

    /// Replaces what is in `out`, rows of `step` numbers.
    pub(crate) fn replace(self, out: &mut [f32], step: usize) {
        self.write((out, step), Write::Replace);
    }

    pub(crate) fn add_to(self, out: &mut [f32], step: usize) {
        self.write((out, step), Write::Add);
    }

    pub(crate) fn write(self, (out, step): (&mut [f32], usize), write: Write) {
        let (size @ (m, k, n), a, b) = (self.size, self.a, self.b);
        let add = write == Write::Add;
        #[cfg(target_arch = "x86_64")]
        if self.unit == Unit::Tiles && step > 1 {
            let right = match b.split {
                Some(tiles) => Right::Split(tiles),
                None => Right::Plain(b.factor(), b.planes),
            };
            return product(size, a.factor(), right, (self.scale, add), (out, step));
        }
        if m == 0 || n == 0 {
            return;
        }
        let fits = a.covers(m, k) && b.covers(k, n) && (m - 1) * step + n <= out.len();
        assert!(fits, "matrix product {size:?} reaches past its slices");
        // The kernels like their target in columns: the transposed product is the same one.
        let (rows, columns, left, right, steps) = match step > 1 {
            true => (n, m, b.turned(), a.turned(), (step, 1)),
            false => (m, n, a, b, (1, step)),
        };
        // SAFETY: every element the kernel touches lies inside the three slices, checked above; the
        // destination is borrowed mutably and so overlaps neither operand.
        unsafe {
            gemm::product(
                (rows, columns, k),
                Matrix {
                    first: out.as_mut_ptr(),
                    column_step: steps.0,
                    row_step: steps.1,
                },
                (add, self.scale),
                left.matrix(),
                right.matrix(),
                false,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transpose_of_any_size_is_one() {
        for (rows, columns) in [(1, 1), (3, 40), (33, 17), (16, 16)] {
            let step = columns + 3;
            let from: Vec<f32> = (0..rows * step).map(|i| i as f32).collect();
            let mut to = vec![-1.0; rows * columns];
            transpose(&from, step, columns, &mut to);
            for i in 0..rows {
                for j in 0..columns {
                    assert_eq!(to[j * rows + i], from[i * step + j]);
                }
            }
        }
    }

    #[test]
    fn agrees_with_the_schoolbook_product_in_every_layout() {
        let (m, k, n) = (5, 7, 6);
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.37).sin()).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i as f32 * 0.21).cos()).collect();
        let mut bt = vec![0.0; k * n];
        for i in 0..k {
            for j in 0..n {
                bt[j * k + i] = b[i * n + j];
            }
        }
        for (view, name) in [
            (View::rows(&b, n), "plain"),
            (View::transposed(&bt, k), "transposed"),
        ] {
            let mut out = vec![1.0; m * (n + 2)];
            let product = Unit::Vectors.product((m, k, n), View::rows(&a, k), view);
            product.scaled(2.0).add_to(&mut out, n + 2);
            for i in 0..m {
                for j in 0..n {
                    let want: f32 =
                        1.0 + 2.0 * (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f32>();
                    assert!((out[i * (n + 2) + j] - want).abs() < 1e-5, "{name} {i} {j}");
                }
                assert_eq!(out[i * (n + 2) + n], 1.0, "padding is left alone");
            }
        }
    }
}
