//! Products of f32 matrices with the `gemm` crate, which looks at the processor itself and does not know `MARY_CPU`.

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;

/// A matrix in memory: its first number, and how many numbers on the next column and the next row begin.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<P> {
    pub first: P,
    pub column_step: usize,
    pub row_step: usize,
}

/// `to = scale · left · right`, plus what is in `to` where `add` says so; sizes are rows, columns and depth. In columns
/// of one step `to` is written fastest.
///
/// # Safety
/// Sizes and steps describe memory that is there; nothing else reads or writes `to` meanwhile.
pub unsafe fn product(
    (rows, columns, depth): (usize, usize, usize),
    to: Matrix<*mut f32>,
    (add, scale): (bool, f32),
    left: Matrix<*const f32>,
    right: Matrix<*const f32>,
    all_threads: bool,
) {
    let step = |steps: usize| steps as isize;
    let threads = match all_threads {
        true => Parallelism::Rayon(0),
        false => Parallelism::None,
    };
    let kept = if add { 1.0 } else { 0.0 };
    // SAFETY: as for this function.
    unsafe {
        get_gemm_fn()(
            rows,
            columns,
            depth,
            to.first,
            step(to.column_step),
            step(to.row_step),
            add,
            left.first,
            step(left.column_step),
            step(left.row_step),
            right.first,
            step(right.column_step),
            step(right.row_step),
            kept,
            scale,
            false,
            false,
            false,
            threads,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_the_sum_of_its_products_whatever_the_steps() {
        let (rows, columns, depth) = (5, 7, 33);
        let number = |i: usize| ((i * 37 % 101) as f32 - 50.0) / 16.0;
        let a: Vec<f32> = (0..rows * depth).map(number).collect();
        let b: Vec<f32> = (0..columns * depth).map(|i| number(i + 5)).collect();
        for add in [false, true] {
            let mut out = vec![2.0f32; rows * columns];
            let to = Matrix {
                first: out.as_mut_ptr(),
                column_step: 1,
                row_step: columns,
            };
            let by_rows = |m: &[f32]| (m.as_ptr(), depth);
            let ((left, step), (right, _)) = (by_rows(&a), by_rows(&b));
            let (left, right) = (
                Matrix {
                    first: left,
                    column_step: 1,
                    row_step: step,
                },
                Matrix {
                    first: right,
                    column_step: step,
                    row_step: 1,
                },
            );
            // SAFETY: the steps are those of the three vectors.
            unsafe { product((rows, columns, depth), to, (add, 0.5), left, right, false) };
            for row in 0..rows {
                for column in 0..columns {
                    let sum: f32 = (0..depth)
                        .map(|k| a[row * depth + k] * b[column * depth + k])
                        .sum();
                    let expected = 0.5 * sum + if add { 2.0 } else { 0.0 };
                    assert!((out[row * columns + column] - expected).abs() < 1e-3);
                }
            }
        }
    }
}
