//! Layers that carry a state from token to token (Mamba, Qwen3-Next): a short convolution, then a scan. A channel is computed by itself, token after token: who else is in the batch and how many threads there are changes
//! no bit.

use std::collections::HashMap;

use rayon::prelude::*;

use super::elementwise::{apply, multiply, norm_row};
use super::simd::{dot, exp, madd, widest};
use super::{Buffer, Cpu, Mixer};
use crate::batch::Batch;
use crate::config::{Activation, Carrying, Norm, Recurrence};
use crate::kernels::course::{Course, Start};
use crate::kernels::{Backend, Extent};

/// Channels that a thread takes at a time, about.
const CHANNELS: usize = 64;

/// What one layer carries, by the row of the cache whose token it follows: the last inputs of the convolution, and the
/// states, part after part of the channels.
#[derive(Default)]
pub struct Carried {
    windows: HashMap<usize, Vec<f32>>,
    states: HashMap<usize, Vec<Vec<f32>>>,
}

impl Carried {
    pub fn move_rows(&mut self, moves: &[(usize, usize)]) {
        for &(from, to) in moves.iter().filter(|(from, to)| from != to) {
            let (window, state) = (self.windows.remove(&from), self.states.remove(&from));
            self.windows.remove(&to);
            self.states.remove(&to);
            self.windows.extend(window.map(|window| (to, window)));
            self.states.extend(state.map(|state| (to, state)));
        }
    }

    /// Lets go of what no later batch needs.
    fn keep(&mut self, needed: &[usize]) {
        self.windows.retain(|slot, _| needed.contains(slot));
        self.states.retain(|slot, _| needed.contains(slot));
    }
}

/// Some columns of rows.
#[derive(Clone, Copy)]
struct Columns<'a> {
    data: &'a [f32],
    stride: usize,
    first: usize,
    width: usize,
}

impl<'a> Columns<'a> {
    fn row(&self, row: usize) -> &'a [f32] {
        &self.data[row * self.stride + self.first..][..self.width]
    }
}

impl Cpu {
    /// Writes rows of the inner width to `to`, ready for the last projection.
    pub(super) fn carry(
        &self,
        batch: &Batch,
        projected: &Buffer,
        (mixer, of): (&Mixer, Extent),
        carried: &mut Carried,
        to: &mut Buffer,
    ) {
        let (shape, rows) = (mixer.shape, batch.len());
        let (inner, conv, state) = (shape.inner, shape.convolved(), shape.groups * shape.state);
        let columns = |data, stride, first, width| Columns {
            data,
            stride,
            first,
            width,
        };
        let all = &projected.0[..rows * shape.projected()];
        let own = |first, width| columns(all, shape.projected(), first, width);
        if shape.how == Carrying::Convolves {
            let parts = [own(0, inner), own(inner, inner), own(2 * inner, inner)];
            return convolve_between(batch, parts, mixer, carried, to.room(rows * inner));
        }
        let (gate, input) = match shape.rank {
            Some(_) => (own(inner, inner), own(0, conv)),
            None => (own(0, inner), own(inner, conv)),
        };
        let course = Course::new(batch);
        let mut mixed = Buffer::default();
        let windows = convolve(&course, input, mixer, carried, mixed.room(rows * conv));
        let (mut low, mut steps, mut both) = Default::default();
        if let Some([down, up, write_read]) = &mixer.steps {
            self.linear(&mixed, of, down, &mut low, false);
            self.linear(&mixed, of, write_read, &mut both, false);
            let rank = shape.rank.unwrap_or(1);
            if let Some(eps) = shape.eps {
                plain_norms(low.room(rows * rank), rank, eps);
                plain_norms(both.room(rows * 2 * state), state, eps);
            }
            self.linear(&low, of, up, &mut steps, false);
        }
        let mixed = &mut mixed.0[..rows * conv];
        let corrects = shape.how == Carrying::Corrects;
        if corrects {
            mixed
                .par_chunks_exact_mut(conv)
                .for_each(|row| unit_lengths(row, shape));
        }
        let mixed = &*mixed;
        let scan = match &mixer.steps {
            Some(_) => {
                let both = &both.0[..rows * 2 * state];
                let steps = columns(&steps.0[..rows * inner], inner, 0, inner);
                Scan {
                    x: columns(mixed, conv, 0, inner),
                    steps,
                    write: columns(both, 2 * state, 0, state),
                    read: columns(both, 2 * state, state, state),
                    shares: None,
                    mixer,
                }
            }
            None => {
                // Queries, keys and values, or what is carried and by what it is written and read.
                let (x, write, read) = match corrects {
                    true => (2 * state, state, 0),
                    false => (0, inner, inner + state),
                };
                Scan {
                    x: columns(mixed, conv, x, inner),
                    steps: own(inner + conv, shape.heads),
                    write: columns(mixed, conv, write, state),
                    read: columns(mixed, conv, read, state),
                    shares: corrects.then(|| own(inner + conv + shape.heads, shape.heads)),
                    mixer,
                }
            }
        };
        let out = to.room(rows * inner);
        let states = scan.run(&course, &carried.states, out);
        let finish = |(row, y): (usize, &mut [f32])| open_and_norm(y, gate.row(row), mixer);
        out.par_chunks_mut(inner).enumerate().for_each(finish);
        carried.keep(&batch.needed);
        carried.windows.extend(windows);
        carried.states.extend(states);
    }
}

/// What was read from states, times the activation of its gate and normalised: in this order, or in the other where states
/// are corrected.
fn open_and_norm(y: &mut [f32], gates: &[f32], mixer: &Mixer) {
    let shape = mixer.shape;
    let mut gates = gates.to_vec();
    apply(Activation::Silu, &mut gates);
    if shape.how != Carrying::Corrects {
        multiply(y, &gates);
    }
    if let (Some(weight), Some(eps)) = (&mixer.norm, shape.eps) {
        let width = shape.normed().min(shape.inner / shape.groups);
        let mut spare = vec![0.0; width];
        for (y, w) in y.chunks_exact_mut(width).zip(weight.chunks_exact(width)) {
            norm_row(y, w, None, root_mean_square(eps), &mut spare);
            y.copy_from_slice(&spare);
        }
    }
    if shape.how == Carrying::Corrects {
        multiply(y, &gates);
    }
}

/// Queries and keys of length one; the former are divided by the root of their width.
fn unit_lengths(row: &mut [f32], shape: Recurrence) {
    let both = row.chunks_exact_mut(shape.state).take(2 * shape.groups);
    for (i, part) in both.enumerate() {
        let squares: f32 = part.iter().map(|x| x * x).sum();
        let queries = if i < shape.groups { shape.state } else { 1 };
        let scale = ((squares + 1e-6) * queries as f32).sqrt().recip();
        part.iter_mut().for_each(|x| *x *= scale);
    }
}

/// A convolution with a gate before it and one behind it.
fn convolve_between(
    batch: &Batch,
    [before, behind, x]: [Columns<'_>; 3],
    mixer: &Mixer,
    carried: &mut Carried,
    out: &mut [f32],
) {
    let width = x.width;
    let mut opened = vec![0.0; batch.len() * width];
    let open = |(row, y): (usize, &mut [f32])| {
        y.copy_from_slice(x.row(row));
        multiply(y, before.row(row));
    };
    opened.par_chunks_mut(width).enumerate().for_each(open);
    let opened = Columns {
        data: &opened,
        stride: width,
        first: 0,
        width,
    };
    let windows = convolve(&Course::new(batch), opened, mixer, carried, out);
    let close = |(row, y): (usize, &mut [f32])| multiply(y, behind.row(row));
    out.par_chunks_mut(width).enumerate().for_each(close);
    carried.keep(&batch.needed);
    carried.windows.extend(windows);
}

fn root_mean_square(eps: f32) -> Norm {
    Norm {
        rms: true,
        eps,
        unit_offset: false,
    }
}

/// Norms without weights, in place.
fn plain_norms(x: &mut [f32], width: usize, eps: f32) {
    let (ones, mut spare) = (vec![1.0; width], vec![0.0; width]);
    for row in x.chunks_exact_mut(width) {
        norm_row(row, &ones, None, root_mean_square(eps), &mut spare);
        row.copy_from_slice(&spare);
    }
}

/// Convolves and activates; gives the last inputs of the rows that later batches follow.
fn convolve(
    course: &Course<'_>,
    x: Columns<'_>,
    mixer: &Mixer,
    carried: &Carried,
    out: &mut [f32],
) -> Vec<(usize, Vec<f32>)> {
    let (width, back) = (x.width, mixer.shape.kernel - 1);
    let segments = &course.batch.segments;
    // The inputs before each segment, the oldest first.
    let mut before: Vec<Vec<f32>> = Vec::with_capacity(segments.len());
    let last = |before: &[Vec<f32>], row: usize| {
        let at = course.segment_of(row);
        let first = segments[at].first;
        let mut window = Vec::with_capacity(back * width);
        for ago in (0..back).rev() {
            match row.checked_sub(ago).filter(|&i| i >= first) {
                Some(i) => window.extend_from_slice(x.row(i)),
                None => {
                    let i = back + row - ago - first;
                    window.extend_from_slice(&before[at][i * width..][..width]);
                }
            }
        }
        window
    };
    for start in &course.starts {
        let window = match start {
            Start::Nothing => vec![0.0; back * width],
            Start::Row(row) => last(&before, *row),
            // What was not kept is no number, which no score survives.
            Start::Slot(slot) => match carried.windows.get(slot) {
                Some(window) => window.clone(),
                None => vec![f32::NAN; back * width],
            },
        };
        before.push(window);
    }
    let work = |(row, y): (usize, &mut [f32])| {
        let at = course.segment_of(row);
        let first = segments[at].first;
        y.copy_from_slice(&mixer.conv_bias);
        for (tap, weights) in mixer.conv.chunks_exact(width).enumerate() {
            let input = match (row + tap).checked_sub(back).filter(|&i| i >= first) {
                Some(i) => x.row(i),
                None => &before[at][(row + tap - first) * width..][..width],
            };
            multiply_add(y, weights, input);
        }
        if mixer.shape.how != Carrying::Convolves {
            apply(Activation::Silu, y);
        }
    };
    out.par_chunks_mut(width).enumerate().for_each(work);
    let kept = course.kept.iter();
    kept.map(|&row| (course.batch.slots[row], last(&before, row)))
        .collect()
}

widest! {
    /// `y += w · x`.
    fn multiply_add(y: &mut [f32], w: &[f32], x: &[f32]) = multiply_add_inner
}

#[inline(always)]
fn multiply_add_inner<const FMA: bool>(y: &mut [f32], w: &[f32], x: &[f32]) {
    for ((y, w), x) in y.iter_mut().zip(w).zip(x) {
        *y = madd::<FMA>(*w, *x, *y);
    }
}

struct Scan<'a> {
    x: Columns<'a>,
    steps: Columns<'a>,
    /// What is written into the state, and what it is read by.
    write: Columns<'a>,
    read: Columns<'a>,
    /// How much of what the state lacks is written, where it is corrected.
    shares: Option<Columns<'a>>,
    mixer: &'a Mixer,
}

/// The outputs of some channels, and the states after the rows that are kept.
type Part = (Vec<f32>, Vec<Vec<f32>>);

impl Scan<'_> {
    fn run(
        &self,
        course: &Course<'_>,
        held: &HashMap<usize, Vec<Vec<f32>>>,
        out: &mut [f32],
    ) -> Vec<(usize, Vec<Vec<f32>>)> {
        let Recurrence { inner, heads, .. } = self.mixer.shape;
        let width = inner / heads;
        let together = (CHANNELS / width).max(1);
        let parts: Vec<Part> = (0..heads.div_ceil(together))
            .into_par_iter()
            .map(|part| self.part(course, held, (part, part * together, together)))
            .collect();
        let gather = |(row, y): (usize, &mut [f32])| {
            for (part, y) in parts.iter().zip(y.chunks_mut(together * width)) {
                y.copy_from_slice(&part.0[row * y.len()..][..y.len()]);
            }
        };
        out.par_chunks_mut(inner).enumerate().for_each(gather);
        let mut states: Vec<(usize, Vec<Vec<f32>>)> = course
            .kept
            .iter()
            .map(|&row| (course.batch.slots[row], vec![]))
            .collect();
        for (_, kept) in parts {
            states
                .iter_mut()
                .zip(kept)
                .for_each(|((_, all), own)| all.push(own));
        }
        states
    }

    fn part(
        &self,
        course: &Course<'_>,
        held: &HashMap<usize, Vec<Vec<f32>>>,
        (part, first, together): (usize, usize, usize),
    ) -> Part {
        let Recurrence {
            inner,
            heads,
            groups,
            state,
            steps: (low, high),
            ..
        } = self.mixer.shape;
        let (width, count) = (inner / heads, together.min(heads - first));
        let channels = count * width;
        let mut y = vec![0.0; course.batch.len() * channels];
        let (mut steps, mut shares) = (vec![0.0; count], vec![]);
        let mut followed: HashMap<usize, Vec<f32>> = HashMap::new();
        let mut kept: Vec<(usize, Vec<f32>)> = vec![];
        // One number for a head, or one for each of a channel's.
        let forget = match self.mixer.decay.len() == heads {
            true => &self.mixer.decay[first..first + count],
            false => &self.mixer.decay[first * state..(first + count) * state],
        };
        for (segment, start) in course.batch.segments.iter().zip(&course.starts) {
            let len = channels * state;
            let own = match start {
                Start::Nothing => Some(vec![0.0; len]),
                Start::Row(row) => followed.get(row).cloned(),
                Start::Slot(slot) => held.get(slot).and_then(|parts| parts.get(part).cloned()),
            };
            let mut own = own.unwrap_or_else(|| vec![f32::NAN; len]);
            for row in segment.first..segment.first + segment.len {
                let bias = &self.mixer.step_bias[first..first + count];
                let raw = &self.steps.row(row)[first..first + count];
                for ((step, raw), bias) in steps.iter_mut().zip(raw).zip(bias) {
                    *step = softplus(raw + bias).clamp(low, high);
                }
                if let Some(raw) = &self.shares {
                    let raw = raw.row(row)[first..first + count].iter();
                    shares.clear();
                    shares.extend(raw.map(|x| (1.0 + (-x).exp()).recip()));
                }
                let x = &self.x.row(row)[first * width..][..channels];
                let out = &mut y[row * channels..][..channels];
                let skip = &self.mixer.skip[first..first + count];
                let groups = (first, heads / groups);
                let both = (self.write.row(row), self.read.row(row));
                let steps = (&steps[..], &shares[..]);
                advance(&mut own, x, steps, forget, both, skip, groups, out);
                if course.followed.binary_search(&row).is_ok() {
                    followed.insert(row, own.clone());
                }
                if course.kept.binary_search(&row).is_ok() {
                    kept.push((row, own.clone()));
                }
            }
        }
        kept.sort_unstable_by_key(|(row, _)| *row);
        (y, kept.into_iter().map(|(_, state)| state).collect())
    }
}

/// As transformers has it: what is large stays.
fn softplus(x: f32) -> f32 {
    if x > 20.0 { x } else { x.exp().ln_1p() }
}

widest! {
    /// One token's step in the states of some heads, and what is read from them.
    fn advance(
        states: &mut [f32], x: &[f32], steps: (&[f32], &[f32]), forget: &[f32], both: (&[f32], &[f32]), skip: &[f32],
        groups: (usize, usize), y: &mut [f32],
    ) = advance_inner
}

#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "one kernel: what it reads and what it writes"
)]
fn advance_inner<const FMA: bool>(
    states: &mut [f32],
    x: &[f32],
    (steps, shares): (&[f32], &[f32]),
    forget: &[f32],
    both: (&[f32], &[f32]),
    skip: &[f32],
    (first, in_group): (usize, usize),
    y: &mut [f32],
) {
    let (heads, width) = (steps.len(), x.len() / steps.len());
    let state = states.len() / x.len();
    for head in 0..heads {
        let group = (first + head) / in_group * state;
        let (write, read) = (&both.0[group..group + state], &both.1[group..group + state]);
        let step = steps[head];
        for channel in head * width..(head + 1) * width {
            let own = &mut states[channel * state..(channel + 1) * state];
            let scaled = step * x[channel];
            if let Some(share) = shares.get(head) {
                let left = exp::<FMA>(step * forget[head]);
                own.iter_mut().for_each(|s| *s *= left);
                let lacks = share * (x[channel] - dot::<FMA>(own, write));
                for (s, w) in own.iter_mut().zip(write) {
                    *s = madd::<FMA>(lacks, *w, *s);
                }
            } else if forget.len() == heads {
                let left = exp::<FMA>(step * forget[head]);
                for (s, w) in own.iter_mut().zip(write) {
                    *s = madd::<FMA>(*s, left, scaled * w);
                }
            } else {
                let forget = &forget[head * state..(head + 1) * state];
                for ((s, w), f) in own.iter_mut().zip(write).zip(forget) {
                    *s = madd::<FMA>(*s, exp::<FMA>(step * f), scaled * w);
                }
            }
            y[channel] = madd::<FMA>(skip[head], x[channel], dot::<FMA>(own, read));
        }
    }
}
