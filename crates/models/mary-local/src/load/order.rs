//! Rows put into the order that the kernels read.

use std::ops::Range;

use crate::kernels::Weights;

/// Puts plain matrices under one another, so that they are one product.
pub(super) fn join(parts: Vec<Weights>) -> Vec<Weights> {
    if parts.len() < 2 || parts.iter().any(|p| !matches!(p, Weights::Plain { .. })) {
        return parts;
    }
    let (mut all, mut rows, mut columns) = (vec![], 0, 0);
    for part in parts {
        if let Weights::Plain {
            data,
            outputs,
            inputs,
        } = part
        {
            all.extend_from_slice(&data);
            (rows, columns) = (rows + outputs, inputs);
        }
    }
    vec![Weights::plain(all, rows, columns)]
}

pub(super) fn transpose(data: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut out = vec![0.0; data.len()];
    for r in 0..rows {
        for c in 0..columns {
            out[c * rows + r] = data[r * columns + c];
        }
    }
    out
}

pub(super) fn scaled(mut data: Vec<f32>, scale: f32) -> Vec<f32> {
    if scale != 1.0 {
        data.iter_mut().for_each(|x| *x *= scale);
    }
    data
}

/// The rows of every head with its turning dimensions in the order 0, 2, 4 … 1, 3, 5 …
pub(super) fn unweave(data: &[f32], width: usize, head_dim: usize, turning: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(data.len());
    for head in data.chunks_exact(head_dim * width) {
        let rows: Vec<&[f32]> = head.chunks_exact(width).collect();
        let (turn, stay) = rows.split_at(turning.min(rows.len()));
        for first in [0, 1] {
            turn.iter()
                .skip(first)
                .step_by(2)
                .for_each(|row| out.extend_from_slice(row));
        }
        stay.iter().for_each(|row| out.extend_from_slice(row));
    }
    out
}

/// Rows that stand group after group, part after part instead. A part is some rows of every group of `size`; one that is
/// not named is left out. `T` is a number, or a byte of rows that are `width` bytes long.
pub(super) fn ungroup<T: Copy>(
    data: &[T],
    width: usize,
    size: usize,
    parts: &[Range<usize>],
) -> Vec<T> {
    let mut out = Vec::with_capacity(data.len());
    for part in parts {
        for group in data.chunks_exact(size * width) {
            out.extend_from_slice(&group[part.start * width..part.end * width]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouped_rows_come_apart_into_queries_keys_values() {
        // Two key heads with two query heads each, one dimension, width one.
        let rows = [1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 11.0, 21.0];
        assert_eq!(
            ungroup(&rows, 1, 4, &[0..2, 2..3, 3..4]),
            [1.0, 2.0, 3.0, 4.0, 10.0, 11.0, 20.0, 21.0]
        );
        assert_eq!(ungroup(&rows, 1, 4, &[3..4, 0..1]), [20.0, 21.0, 1.0, 3.0]);
    }

    #[test]
    fn neighbours_that_turn_together_come_apart_into_halves() {
        let rows: Vec<f32> = (0..12u8).map(f32::from).collect();
        assert_eq!(
            unweave(&rows, 1, 6, 4),
            [0.0, 2.0, 1.0, 3.0, 4.0, 5.0, 6.0, 8.0, 7.0, 9.0, 10.0, 11.0]
        );
        assert_eq!(unweave(&rows, 2, 6, 0), rows);
    }

    #[test]
    fn transposing_twice_changes_nothing() {
        let data: Vec<f32> = (0..6u8).map(f32::from).collect();
        assert_eq!(transpose(&data, 2, 3), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(transpose(&transpose(&data, 2, 3), 3, 2), data);
    }
}
