//! Inputs that tower over the others of their row. The first token of a text has them in many models: once such a
//! product is in a sum, every later addition is rounded at its size. They are multiplied apart and added last, in 64
//! bits.

use super::plain::SPAN;
use super::{Region, TILE, Tiles};
use crate::simd::{dispatch, dot, widest};

/// So many times the mean square of its span is the square of what may tower: never in a span of so few numbers.
const LARGE: f32 = 32.0;
/// Large numbers tower where their squares come to so many times those of the others together: below, rounding at
/// their size costs a sum nothing.
const TOWERS: f32 = 25.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tower {
    pub row: usize,
    input: usize,
    value: f32,
}

widest! {
    /// The size from which a number of this span towers, where there is one of that size.
    fn above(span: &[f32]) -> Option<f32> = above_inner
}

#[inline(always)]
fn above_inner<const FMA: bool>(span: &[f32]) -> Option<f32> {
    let all = dot::<FMA>(span, span);
    let level = (LARGE / span.len() as f32 * all).sqrt();
    let some = span.iter().fold(false, |some, x| some | (x.abs() > level));
    if !level.is_finite() || !some {
        return None;
    }
    let large = span.iter().filter(|x| x.abs() > level);
    let large: f32 = large.map(|x| x * x).sum();
    (large > TOWERS * (all - large)).then_some(level)
}

/// Takes what towers out of a row. Spans are looked at on their own, so that a share of the inputs has the same.
/// `before` are the inputs that come before these.
pub(super) fn level((row, before): (usize, usize), numbers: &mut [f32], towers: &mut Vec<Tower>) {
    for (i, span) in numbers.chunks_mut(SPAN).enumerate() {
        let Some(size) = above(span) else { continue };
        for (at, x) in span.iter_mut().enumerate().filter(|(_, x)| x.abs() > size) {
            let (input, value) = (before + i * SPAN + at, std::mem::take(x));
            towers.push(Tower { row, input, value });
        }
    }
}

/// Adds towers, which are in the order of rows, to the sums of a region of plain weights, once all shares are there.
///
/// # Safety
/// `out` points to row 0, column 0 of a matrix that holds the region, and no other thread touches it meanwhile.
pub unsafe fn add(towers: &[Tower], w: &Tiles, out: *mut f32, region: Region) {
    let first = towers.partition_point(|t| t.row < region.row);
    let last = towers.partition_point(|t| t.row < region.row + region.rows);
    let strip = Tiles::strip_len(w.inputs, w.planes) / 2;
    let weights = w.plain();
    for of in towers[first..last].chunk_by(|a, b| a.row == b.row) {
        dispatch(
            #[inline(always)]
            || {
                for output in (region.output..region.output + region.outputs).step_by(TILE) {
                    let mut apart = [0.0f64; TILE];
                    for t in of {
                        let weights = &weights[output / TILE * strip + t.input * TILE..][..TILE];
                        let both = apart.iter_mut().zip(weights);
                        both.for_each(|(sum, w)| *sum += f64::from(t.value) * f64::from(*w));
                    }
                    let count = TILE.min(region.output + region.outputs - output);
                    // SAFETY: the region lies inside the matrix.
                    let to = unsafe {
                        let at = out.wrapping_add(of[0].row * region.stride + output);
                        std::slice::from_raw_parts_mut(at, count)
                    };
                    let both = to.iter_mut().zip(apart);
                    both.for_each(|(x, apart)| *x = (f64::from(*x) + apart) as f32);
                }
            },
        );
    }
}
