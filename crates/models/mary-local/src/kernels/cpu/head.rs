//! The head: log-probabilities of chosen tokens and what whole distributions come to. Logits are computed
//! block by block and forgotten: a whole vocabulary's are never kept.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::elementwise::soft_cap;
use super::matmul::{Linear, Rows};
use super::simd::{self, exp, madd, max, total, widest};
use super::slab::Slab;
use crate::kernels::{Look, Looked, TokenStatistics, WantedToken};

const COLUMNS: usize = 256;
const ROWS: usize = 256;
/// Rows that a thread takes through a part of the vocabulary: half of a second-level cache, which may be shared
/// with another thread.
const TOGETHER: usize = 128;

struct Walk<'a> {
    slab: Slab<'a>,
    head: &'a Linear,
    cap: Option<f32>,
    rows: usize,
    vocabulary: usize,
    wanted: &'a [WantedToken],
    /// Places in `wanted` by block of the vocabulary and row.
    order: Vec<usize>,
}

struct Part<S> {
    row: usize,
    seen: Vec<S>,
    picked: Vec<(usize, f32)>,
}

impl<'a> Walk<'a> {
    /// `None` where the head has no weights.
    fn new(
        rows: &'a mut Rows<'_>,
        count: usize,
        head: &'a Linear,
        cap: Option<f32>,
        wanted: &'a [WantedToken],
    ) -> Option<Self> {
        let matrix = head.parts.first()?;
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_unstable_by_key(|&i| (wanted[i].token as usize / COLUMNS, wanted[i].row));
        Some(Self {
            slab: Slab::new(rows, matrix),
            head,
            cap,
            rows: count,
            vocabulary: matrix.outputs(),
            wanted,
            order,
        })
    }

    fn group_of(&self, place: usize) -> usize {
        self.wanted[place].token as usize / COLUMNS
    }

    /// `see` gets a row, the first token of a block and the row's logits there; results are in the order of the
    /// vocabulary for every row. A thread takes some rows through a part of the vocabulary: split for the tile unit
    /// they stay in its cache, and weights come by in the order in which they lie.
    fn each<S: Send>(&self, see: impl Fn(usize, usize, &[f32]) -> S + Sync) -> Vec<Part<S>> {
        let rows = match self.slab.stays() {
            true => TOGETHER,
            false => self.rows.max(1),
        };
        let blocks = self.rows.div_ceil(rows).max(1);
        let groups = self.vocabulary.div_ceil(COLUMNS);
        let pieces = (4 * rayon::current_num_threads()).div_ceil(blocks).max(4);
        let share = groups.div_ceil(pieces).max(1);
        let tasks: Vec<(usize, usize)> = (0..groups)
            .step_by(share)
            .flat_map(|group| (0..blocks).map(move |block| (group, block * rows)))
            .collect();
        let work = |logits: &mut Vec<f32>, (group, row): (usize, usize)| {
            let last = (group + share).min(groups);
            let rows = row..(row + rows).min(self.rows);
            let part = |group| self.block(group, rows.clone(), logits, &see);
            (group..last).map(part).collect::<Vec<_>>()
        };
        let parts = tasks.into_par_iter().with_max_len(1);
        let parts: Vec<Vec<Part<S>>> = parts.map_init(Vec::new, work).collect();
        parts.into_iter().flatten().collect()
    }

    fn block<S>(
        &self,
        group: usize,
        all: Range<usize>,
        logits: &mut Vec<f32>,
        see: &impl Fn(usize, usize, &[f32]) -> S,
    ) -> Part<S> {
        let mut next = self.order.partition_point(|&i| {
            (self.group_of(i), self.wanted[i].row as usize) < (group, all.start)
        });
        let first = group * COLUMNS;
        let columns = COLUMNS.min(self.vocabulary - first);
        let (mut seen, mut picked) = (Vec::with_capacity(all.len()), Vec::new());
        logits.resize(ROWS * COLUMNS, 0.0);
        let weights = self.slab.columns(first, columns);
        for row in all.clone().step_by(ROWS) {
            let rows = ROWS.min(all.end - row);
            let block = &mut logits[..rows * columns];
            weights(row, rows, block);
            for (row, line) in (row..).zip(block.chunks_exact_mut(columns)) {
                if let Some(bias) = &self.head.bias {
                    let both = line.iter_mut().zip(&bias[first..]);
                    both.for_each(|(x, b)| *x += b);
                }
                if let Some(cap) = self.cap {
                    soft_cap(line, cap);
                }
                while let Some(&place) = self.order.get(next) {
                    let want = self.wanted[place];
                    if self.group_of(place) != group || want.row as usize != row {
                        break;
                    }
                    picked.push((place, line[want.token as usize - first]));
                    next += 1;
                }
                seen.push(see(row, first, line));
            }
        }
        Part {
            row: all.start,
            seen,
            picked,
        }
    }
}

/// What all blocks of the vocabulary came to, row by row, joined in the order of the vocabulary.
fn together<S: Sync, T: Copy + Send + Sync>(
    parts: &[Part<S>],
    nothing: T,
    join: impl Fn(T, &S) -> T + Sync,
) -> Vec<T> {
    let mut starts: Vec<usize> = parts.iter().map(|part| part.row).collect();
    starts.sort_unstable();
    starts.dedup();
    let of = |start: usize| {
        let mut sums: Vec<T> = vec![];
        for part in parts.iter().filter(|part| part.row == start) {
            sums.resize(part.seen.len(), nothing);
            for (sum, share) in sums.iter_mut().zip(&part.seen) {
                *sum = join(*sum, share);
            }
        }
        sums
    };
    starts.into_par_iter().flat_map_iter(of).collect()
}

/// In the order asked; not finite where the model's numbers were not.
pub fn log_probs(
    rows: &mut Rows<'_>,
    count: usize,
    head: &Linear,
    cap: Option<f32>,
    wanted: &[WantedToken],
) -> Vec<f32> {
    let Some(walk) = Walk::new(rows, count, head, cap, wanted) else {
        return vec![f32::NAN; wanted.len()];
    };
    let parts = walk.each(|_, _, line| share(line));
    let nothing = (f32::NEG_INFINITY, 0.0f64);
    let whole = together(&parts, nothing, |sum, share| join(sum, *share));
    let normaliser = |(most, sum): (f32, f64)| f64::from(most) + sum.ln();
    let normalisers: Vec<f64> = whole.into_iter().map(normaliser).collect();
    let mut answer = vec![f32::NAN; wanted.len()];
    for (i, logit) in parts.into_iter().flat_map(|part| part.picked) {
        answer[i] = (f64::from(logit) - normalisers[wanted[i].row as usize]) as f32;
    }
    answer
}

/// A log-probability has the bits that [`log_probs`] gives it.
pub fn distributions(
    rows: &mut Rows<'_>,
    count: usize,
    head: &Linear,
    cap: Option<f32>,
    wanted: &[WantedToken],
    look: Look<'_>,
) -> Looked {
    let Some(walk) = Walk::new(rows, count, head, cap, wanted) else {
        let nothing = (f32::NAN, TokenStatistics::default());
        return wanted.iter().map(|_| nothing).unzip();
    };
    let parts = walk.each(|_, first, line| sums(line, look.block(first, line.len())));
    let whole = together(&parts, Distribution::NOTHING, |sum, block| sum.join(*block));
    let mut own = vec![f32::NAN; wanted.len()];
    for (place, logit) in parts.into_iter().flat_map(|part| part.picked) {
        own[place] = logit;
    }
    let above = look.ranks.then(|| more_probable(&walk, &own));
    let seen = wanted.iter().enumerate().map(|(i, want)| {
        let rank = above.as_ref().map_or(0, |above| above[i] + 1);
        whole[want.row as usize].token(own[i], rank, look)
    });
    seen.unzip()
}

/// How many tokens are more probable than each wanted one. What that is is known only when all logits
/// have been seen, so they are computed again: keeping them would cost more memory than this takes time.
fn more_probable(walk: &Walk<'_>, own: &[f32]) -> Vec<u32> {
    let mut by_row: Vec<usize> = (0..own.len()).collect();
    by_row.sort_by_key(|&i| walk.wanted[i].row);
    let mut starts = vec![0; walk.rows + 1];
    for want in walk.wanted {
        starts[want.row as usize + 1] += 1;
    }
    for row in 0..walk.rows {
        starts[row + 1] += starts[row];
    }
    let counts: Vec<AtomicU32> = own.iter().map(|_| AtomicU32::new(0)).collect();
    walk.each(|row, _, line| {
        for &place in &by_row[starts[row]..starts[row + 1]] {
            counts[place].fetch_add(above(line, own[place]), Ordering::Relaxed);
        }
    });
    counts.into_iter().map(AtomicU32::into_inner).collect()
}

/// What a distribution, or a block of one, comes to.
#[derive(Debug, Clone, Copy)]
pub struct Distribution {
    /// The largest logit; the sums are relative to it.
    most: f32,
    sum: f64,
    /// Of exponentials, each times its logit.
    weighted: f64,
    /// Of exponentials of marked tokens.
    marked: f64,
}

impl Distribution {
    const NOTHING: Self = Self {
        most: f32::NEG_INFINITY,
        sum: 0.0,
        weighted: 0.0,
        marked: 0.0,
    };

    pub fn from_logits(logits: &[f32], look: Look<'_>) -> Self {
        let blocks = logits.chunks(COLUMNS).enumerate();
        blocks.fold(Self::NOTHING, |whole, (i, block)| {
            whole.join(sums(block, look.block(i * COLUMNS, block.len())))
        })
    }

    fn join(self, other: Self) -> Self {
        if other.most == f32::NEG_INFINITY {
            return self;
        }
        if self.most == f32::NEG_INFINITY {
            return other;
        }
        let most = self.most.max(other.most);
        // Relative to the larger of the two.
        let moved = |one: Self| {
            let by = f64::from(one.most) - f64::from(most);
            let factor = by.exp();
            let weighted = (one.weighted + by * one.sum) * factor;
            [one.sum * factor, weighted, one.marked * factor]
        };
        let (a, b) = (moved(self), moved(other));
        Self {
            most,
            sum: a[0] + b[0],
            weighted: a[1] + b[1],
            marked: a[2] + b[2],
        }
    }

    /// The log-probability of a token with this logit, and what is told of it.
    pub fn token(&self, logit: f32, rank: u32, look: Look<'_>) -> (f32, TokenStatistics) {
        let normaliser = f64::from(self.most) + self.sum.ln();
        let word_start = match look.marks {
            Some(_) => (self.marked / self.sum).ln(),
            None => f64::NAN,
        };
        let seen = TokenStatistics {
            entropy: (self.sum.ln() - self.weighted / self.sum) as f32,
            rank,
            word_start: word_start as f32,
        };
        ((f64::from(logit) - normaliser) as f32, seen)
    }
}

widest! {
    fn share(logits: &[f32]) -> (f32, f64) = share_inner
}

#[inline(always)]
fn share_inner<const FMA: bool>(logits: &[f32]) -> (f32, f64) {
    let most = max(logits);
    let mut lanes = [0.0f32; 16];
    let (chunks, rest) = logits.as_chunks::<16>();
    for chunk in chunks {
        for i in 0..16 {
            lanes[i] += exp::<FMA>(chunk[i] - most);
        }
    }
    let tail: f64 = rest.iter().map(|&x| f64::from(exp::<FMA>(x - most))).sum();
    (most, exact(lanes) + tail)
}

widest! {
    /// What `share` gives, the sum of exponentials times their logits and the sum of those that are marked.
    fn sums(logits: &[f32], marks: &[f32]) -> Distribution = sums_inner
}

#[inline(always)]
fn sums_inner<const FMA: bool>(logits: &[f32], marks: &[f32]) -> Distribution {
    let most = max(logits);
    let (mut sum, mut weighted, mut marked) = ([0.0f32; 16], [0.0f32; 16], [0.0f32; 16]);
    let (chunks, rest) = logits.as_chunks::<16>();
    let (marks, rest_marks) = marks.as_chunks::<16>();
    for (chunk, mark) in chunks.iter().zip(marks) {
        for i in 0..16 {
            let share = exp::<FMA>(chunk[i] - most);
            sum[i] += share;
            weighted[i] = madd::<FMA>(share, floor(chunk[i] - most), weighted[i]);
            marked[i] = madd::<FMA>(share, mark[i], marked[i]);
        }
    }
    let mut tail = [0.0f64; 3];
    for (&logit, &mark) in rest.iter().zip(rest_marks) {
        let share = exp::<FMA>(logit - most);
        tail[0] += f64::from(share);
        tail[1] += f64::from(share * floor(logit - most));
        tail[2] += f64::from(share * mark);
    }
    Distribution {
        most,
        sum: exact(sum) + tail[0],
        weighted: f64::from(total(weighted)) + tail[1],
        marked: f64::from(total(marked)) + tail[2],
    }
}

/// Lanes added up in 64 bits, one after the other.
#[inline(always)]
fn exact(lanes: [f32; 16]) -> f64 {
    lanes.iter().map(|&x| f64::from(x)).sum()
}

/// What lies far below has a share of zero, and zero times anything finite is zero.
#[inline(always)]
fn floor(above: f32) -> f32 {
    if above < -100.0 { -100.0 } else { above }
}

pub fn above(logits: &[f32], own: f32) -> u32 {
    simd::dispatch(
        #[inline(always)]
        || logits.iter().map(|&other| u32::from(other > own)).sum(),
    )
}

fn join(a: (f32, f64), b: (f32, f64)) -> (f32, f64) {
    if b.0 == f32::NEG_INFINITY {
        return a;
    }
    let most = a.0.max(b.0);
    let scaled = |(m, s): (f32, f64)| match m == most {
        true => s,
        false => s * (f64::from(m) - f64::from(most)).exp(),
    };
    (most, scaled(a) + scaled(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cpu::matmul::Matrix;
    use crate::kernels::cpu::matmul::tests::multipliers;
    use crate::kernels::cpu::packed::Activations;

    fn look<'a>(marks: Option<&'a [f32]>) -> Look<'a> {
        Look { marks, ranks: true }
    }

    #[test]
    fn a_distribution_is_added_up_as_by_hand() {
        // Probabilities 1/2, 1/4, 1/8, 1/8, shifted by a constant that must not matter.
        let logits = [0.5f32, 0.25, 0.125, 0.125].map(|p| p.ln() + 3.0);
        let marks = [0.0, 1.0, 0.0, 1.0];
        let whole = Distribution::from_logits(&logits, look(Some(&marks)));
        let (logprob, seen) = whole.token(logits[1], 2, look(Some(&marks)));
        assert!((logprob - 0.25f32.ln()).abs() < 1e-6);
        assert!((f64::from(seen.entropy) - 1.75 * std::f64::consts::LN_2).abs() < 1e-6);
        assert!((seen.word_start - 0.375f32.ln()).abs() < 1e-6);
        // Equal ones share the better place.
        assert_eq!(above(&logits, logits[3]), 2);
        let (_, unmarked) = whole.token(logits[1], 2, look(None));
        assert!(unmarked.word_start.is_nan());
    }

    #[test]
    fn a_whole_vocabulary_is_added_up_as_in_double_precision() {
        // No multiple of a lane or a block; a few tokens have nearly all, some are impossible: one in a
        // block of others, and a whole block.
        let mut logits: Vec<f32> = (0..49_157u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6 - 14.0)
            .collect();
        (logits[7], logits[49_156], logits[300]) = (9.0, 8.5, f32::NEG_INFINITY);
        logits[1024..1280].fill(f32::NEG_INFINITY);
        let marks: Vec<f32> = (0..logits.len())
            .map(|n| f32::from(u8::from(n % 3 == 1)))
            .collect();
        let whole = Distribution::from_logits(&logits, look(Some(&marks)));
        let exact = |keep: &dyn Fn(usize) -> f64| -> f64 {
            let all = logits.iter().enumerate();
            all.map(|(n, &x)| keep(n) * f64::from(x).exp()).sum()
        };
        let (sum, marked) = (exact(&|_| 1.0), exact(&|n| f64::from(marks[n])));
        let finite = logits.iter().filter(|x| x.is_finite());
        let weighted: f64 = finite.map(|&x| f64::from(x).exp() * f64::from(x)).sum();
        let (logprob, seen) = whole.token(logits[7], 1, look(Some(&marks)));
        assert!((f64::from(logprob) - (9.0 - sum.ln())).abs() < 1e-6);
        assert!((f64::from(seen.word_start) - (marked / sum).ln()).abs() < 1e-6);
        assert!((f64::from(seen.entropy) - (sum.ln() - weighted / sum)).abs() < 1e-5);
        let (impossible, _) = whole.token(logits[300], 0, look(Some(&marks)));
        assert_eq!(impossible, f32::NEG_INFINITY);
        // A broken number is noticed.
        logits[5] = f32::NAN;
        let broken = Distribution::from_logits(&logits, look(None));
        assert!(broken.token(9.0, 1, look(None)).0.is_nan());
    }

    #[test]
    fn looking_at_distributions_changes_no_bit_of_a_log_probability() {
        let (rows, inputs, vocabulary) = (300, 40, 700);
        let numbers = |n: usize, by: f32| -> Vec<f32> {
            (0..n)
                .map(|i| (i as f32 * by).sin() * (i as f32 * 0.013).cos())
                .collect()
        };
        let x = numbers(rows * inputs, 0.37);
        let marks: Vec<f32> = (0..vocabulary).map(|i| (i % 2) as f32).collect();
        let wanted: Vec<WantedToken> = (0..rows as u32)
            .flat_map(|row| [row * 7 % 700, row * 13 % 700].map(|token| WantedToken { row, token }))
            .collect();
        for how in multipliers() {
            let weights = numbers(vocabulary * inputs, 0.61);
            let head = Linear {
                parts: vec![Matrix::dense(weights, vocabulary, inputs, how)],
                bias: Some(numbers(vocabulary, 0.11)),
            };
            for cap in [None, Some(3.0)] {
                let mut split = Activations::default();
                let mut ask = Rows::new(&x, rows, inputs, &mut split);
                let plain = log_probs(&mut ask, rows, &head, cap, &wanted);
                let (looked, seen) =
                    distributions(&mut ask, rows, &head, cap, &wanted, look(Some(&marks)));
                let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&plain), bits(&looked), "{how:?}");
                // Ranks are those of all log-probabilities of the row.
                let row = 17u32;
                let all: Vec<WantedToken> = (0..vocabulary as u32)
                    .map(|token| WantedToken { row, token })
                    .collect();
                let all = log_probs(&mut ask, rows, &head, cap, &all);
                let place = wanted.iter().position(|w| w.row == row).unwrap();
                let own = all[wanted[place].token as usize];
                let higher = all.iter().filter(|&&x| x > own).count() as u32;
                assert!(seen[place].rank.abs_diff(higher + 1) <= 1);
                let entropy: f64 = all
                    .iter()
                    .map(|&x| -f64::from(x) * f64::from(x).exp())
                    .sum();
                assert!((f64::from(seen[place].entropy) - entropy).abs() < 1e-4);
            }
        }
    }
}
