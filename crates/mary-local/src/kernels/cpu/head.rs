//! The head: log-probabilities of chosen tokens, without ever keeping the logits of a whole
//! vocabulary. A block of logits is computed, its share of the log-sum-exp is taken, the wanted
//! entries are picked out, and the block is forgotten.

use rayon::prelude::*;

use super::elementwise::soft_cap;
use super::matmul::{Linear, Rows, Slab};
use super::simd::{exp, max, widest};
use crate::kernels::Wanted;

/// Tokens of the vocabulary in a block.
const COLUMNS: usize = 256;
/// Rows in a block.
const ROWS: usize = 256;

/// Log-probabilities of the wanted tokens, in the order asked; not finite where the model's numbers
/// were not.
pub fn log_probs(
    rows: &mut Rows<'_>,
    count: usize,
    head: &Linear,
    cap: Option<f32>,
    wanted: &[Wanted],
) -> Vec<f32> {
    let Some(matrix) = head.parts.first() else {
        return vec![f32::NAN; wanted.len()];
    };
    let vocabulary = matrix.outputs();
    let slab = Slab::new(rows, matrix);
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_unstable_by_key(|&i| (wanted[i].token as usize / COLUMNS, wanted[i].row));
    let group_of = |i: usize| wanted[order[i]].token as usize / COLUMNS;
    let groups: Vec<usize> = (0..vocabulary.div_ceil(COLUMNS)).collect();
    let work = |logits: &mut Vec<f32>, &group: &usize| {
        let from = order.partition_point(|&i| (wanted[i].token as usize / COLUMNS) < group);
        let mut next = from;
        let first = group * COLUMNS;
        let columns = COLUMNS.min(vocabulary - first);
        let mut shares = Vec::with_capacity(count);
        let mut picked = Vec::new();
        logits.resize(ROWS * COLUMNS, 0.0);
        let weights = slab.columns(first, columns);
        for row in (0..count).step_by(ROWS) {
            let rows = ROWS.min(count - row);
            let block = &mut logits[..rows * columns];
            weights.compute(row, rows, block);
            for (i, line) in block.chunks_exact_mut(columns).enumerate() {
                if let Some(bias) = &head.bias {
                    line.iter_mut()
                        .zip(&bias[first..])
                        .for_each(|(x, b)| *x += b);
                }
                if let Some(cap) = cap {
                    soft_cap(line, cap);
                }
                while next < order.len() && group_of(next) == group {
                    let want = &wanted[order[next]];
                    if want.row as usize != row + i {
                        break;
                    }
                    picked.push((order[next], line[want.token as usize - first]));
                    next += 1;
                }
                shares.push(share(line));
            }
        }
        (shares, picked)
    };
    let parts: Vec<_> = groups
        .par_iter()
        .with_min_len(1)
        .map_init(Vec::new, work)
        .collect();
    let mut whole = vec![(f32::NEG_INFINITY, 0.0f64); count];
    for (shares, _) in &parts {
        for (sum, share) in whole.iter_mut().zip(shares) {
            *sum = join(*sum, *share);
        }
    }
    let normalisers: Vec<f64> = whole
        .into_iter()
        .map(|(most, sum)| f64::from(most) + sum.ln())
        .collect();
    let mut answer = vec![f32::NAN; wanted.len()];
    for (i, logit) in parts.into_iter().flat_map(|(_, picked)| picked) {
        answer[i] = (f64::from(logit) - normalisers[wanted[i].row as usize]) as f32;
    }
    answer
}

widest! {
    /// The largest logit of a block, and the sum of exponentials relative to it.
    fn share(logits: &mut [f32]) -> (f32, f64) = share_inner
}

#[inline(always)]
fn share_inner<const FMA: bool>(logits: &mut [f32]) -> (f32, f64) {
    let most = max(logits);
    let mut lanes = [0.0f32; 16];
    let (chunks, rest) = logits.as_chunks::<16>();
    for chunk in chunks {
        for i in 0..16 {
            lanes[i] += exp::<FMA>(chunk[i] - most);
        }
    }
    let tail: f64 = rest.iter().map(|&x| f64::from(exp::<FMA>(x - most))).sum();
    (
        most,
        lanes.iter().map(|&x| f64::from(x)).sum::<f64>() + tail,
    )
}

fn join(a: (f32, f64), b: (f32, f64)) -> (f32, f64) {
    if b.0 == f32::NEG_INFINITY {
        return a;
    }
    let most = a.0.max(b.0);
    let scaled = |(m, s): (f32, f64)| s * (f64::from(m) - f64::from(most)).exp();
    (most, scaled(a) + scaled(b))
}
