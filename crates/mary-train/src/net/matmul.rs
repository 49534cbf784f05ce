//! One safe door to the matrix product: strided views in, bounds checked once, one thread.
//!
//! Training is parallel over sequences, not inside a product, so that the order of every sum is
//! fixed and a run does not depend on the number of threads.

use gemm_common::Parallelism;
use mary_products::amx::Tiles;
#[cfg(target_arch = "x86_64")]
use mary_products::amx::{Factor, Right, product};

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

    /// The transpose of [`View::rows`].
    pub(crate) fn transposed(data: &'a [f32], row_step: usize) -> Self {
        Self {
            data,
            row_step: 1,
            column_step: row_step,
            planes: 3,
            split: None,
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

/// What happens to the destination's old content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// The product replaces it.
    Replace,
    /// The product is added to it.
    Add,
}

/// What multiplies matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Unit {
    /// `gemm` with vectors: what grows a model multiplies so on every processor, and has the same bits.
    #[default]
    Vectors,
    /// The tile unit, at single precision.
    Tiles,
}

impl Unit {
    /// The quickest that the processor has.
    pub(crate) fn best() -> Self {
        match mary_products::amx::available() {
            true => Self::Tiles,
            false => Self::Vectors,
        }
    }
}

/// `out (m × n, rows of out_step) = scale · a (m × k) · b (k × n)`, or added to it, by a unit.
pub(crate) fn multiply(
    (unit, (m, k, n)): (Unit, (usize, usize, usize)),
    a: View<'_>,
    b: View<'_>,
    scale: f32,
    (out, out_step): (&mut [f32], usize),
    write: Write,
) {
    #[cfg(target_arch = "x86_64")]
    if unit == Unit::Tiles && out_step > 1 {
        let right = match b.split {
            Some(tiles) => Right::Split(tiles),
            None => Right::Plain(b.factor(), b.planes),
        };
        let how = (scale, write == Write::Add);
        return product((m, k, n), a.factor(), right, how, (out, out_step));
    }
    matmul((m, k, n), a, b, scale, (out, out_step), write);
}

/// `out (m × n, rows of out_step) = scale · a (m × k) · b (k × n)`, or added to it, with vectors.
pub(crate) fn matmul(
    (m, k, n): (usize, usize, usize),
    a: View<'_>,
    b: View<'_>,
    scale: f32,
    (out, out_step): (&mut [f32], usize),
    write: Write,
) {
    if m == 0 || n == 0 {
        return;
    }
    let fits = a.covers(m, k) && b.covers(k, n) && (m - 1) * out_step + n <= out.len();
    assert!(
        fits,
        "matrix product {m} x {k} x {n} reaches past its slices"
    );
    // SAFETY: every element the kernel touches lies inside the three slices, checked above; the
    // destination is borrowed mutably and so overlaps neither operand.
    unsafe {
        let kernel = gemm_f32::gemm::f32::get_gemm_fn();
        if out_step > 1 {
            // The kernels like their target in columns: the transposed product is the same one.
            kernel(
                n,
                m,
                k,
                out.as_mut_ptr(),
                out_step as isize,
                1,
                write == Write::Add,
                b.data.as_ptr(),
                b.row_step as isize,
                b.column_step as isize,
                a.data.as_ptr(),
                a.row_step as isize,
                a.column_step as isize,
                1.0,
                scale,
                false,
                false,
                false,
                Parallelism::None,
            );
        } else {
            kernel(
                m,
                n,
                k,
                out.as_mut_ptr(),
                1,
                out_step as isize,
                write == Write::Add,
                a.data.as_ptr(),
                a.column_step as isize,
                a.row_step as isize,
                b.data.as_ptr(),
                b.column_step as isize,
                b.row_step as isize,
                1.0,
                scale,
                false,
                false,
                false,
                Parallelism::None,
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
            matmul(
                (m, k, n),
                View::rows(&a, k),
                view,
                2.0,
                (&mut out, n + 2),
                Write::Add,
            );
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
