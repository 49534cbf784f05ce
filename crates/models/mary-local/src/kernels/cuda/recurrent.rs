//! Layers that carry a state, on the GPU: what stands in `recurrent.cu`, call by call.

use std::mem::{swap, take};

use mary_cuda::{NumberType, args};

use super::{Cuda, Linear, Plan, Tensor, Vector, int};
use crate::kernels::course::{Course, Start};
use crate::kernels::{Backend, Extent, MixerOf};

const PART: &str = "recurrent";
const THREADS: usize = 128;
/// Numbers of a state that one thread holds.
const OWN: usize = 16;

/// What all layers carry.
#[derive(Default)]
pub struct Carried {
    layers: Vec<Held>,
    /// Room for the work of one layer.
    spare: Held,
    room: Room,
}

/// After which rows of the cache texts go on, and in that order the last inputs of the convolution and the states.
#[derive(Default)]
struct Held {
    slots: Vec<usize>,
    windows: Tensor,
    states: Tensor,
}

#[derive(Default)]
struct Room {
    mixed: Tensor,
    low: Tensor,
    steps: Tensor,
    both: Tensor,
    read: Tensor,
    branches: Tensor,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Shape {
    heads: i32,
    width: i32,
    groups: i32,
    state: i32,
    lanes: i32,
    each: i32,
    low: f32,
    high: f32,
}

/// Segments that follow none of this batch, then those that follow them, and so on: their order, and how many each time.
fn turns(course: &Course<'_>) -> (Vec<usize>, Vec<usize>) {
    let mut turns: Vec<usize> = vec![];
    for start in &course.starts {
        turns.push(match start {
            Start::Row(row) => turns[course.segment_of(*row)] + 1,
            _ => 0,
        });
    }
    let mut counts = vec![0; turns.iter().max().map_or(0, |last| last + 1)];
    turns.iter().for_each(|turn| counts[*turn] += 1);
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by_key(|at| turns[*at]);
    (order, counts)
}

impl Carried {
    pub fn move_rows(&mut self, moves: &[(usize, usize)]) {
        for held in &mut self.layers {
            for &(from, to) in moves.iter().filter(|(from, to)| from != to) {
                // A slot that is written over is nobody's any more.
                let lost = held.slots.iter_mut().filter(|slot| **slot == to);
                lost.for_each(|slot| *slot = usize::MAX);
                let moved = held.slots.iter_mut().filter(|slot| **slot == from);
                moved.for_each(|slot| *slot = to);
            }
        }
    }
}

/// The batch as `recurrent.cu` reads it.
fn numbers(course: &Course<'_>, held: &[usize], stay: usize, order: &[usize]) -> Vec<i32> {
    let (rows, segments) = (course.batch.len(), &course.batch.segments);
    let mut all = vec![-1; 3 * rows];
    for (at, segment) in segments.iter().enumerate() {
        all[segment.first..segment.first + segment.len].fill(int(at));
    }
    let marks = [(&course.followed, rows, 0), (&course.kept, 2 * rows, stay)];
    for (list, place, first) in marks {
        let each = list.iter().zip(first..);
        each.for_each(|(row, at)| all[place + row] = int(at));
    }
    all.extend(segments.iter().map(|s| int(s.first)));
    all.extend(segments.iter().map(|s| int(s.len)));
    let starts = course.starts.iter().map(|start| match start {
        Start::Nothing => (0, 0),
        Start::Row(row) => (1, int(*row)),
        Start::Slot(slot) => match held.iter().position(|s| s == slot) {
            Some(at) => (2, int(at)),
            None => (3, 0),
        },
    });
    let (kinds, which): (Vec<i32>, Vec<i32>) = starts.unzip();
    all.extend(kinds.into_iter().chain(which));
    all.extend(order.iter().map(|at| int(*at)));
    all
}

impl Cuda {
    fn recurrent(&self, name: &str, grid: (usize, usize), words: &mut [*mut std::ffi::c_void]) {
        let name = format!("{name}_{}", self.kind.letter());
        self.launch((PART, &name), grid, (THREADS, 0), words);
    }

    /// Writes rows of the inner width to `to`, ready for the last projection.
    pub(super) fn carry_on(
        &self,
        projected: &Tensor,
        mixer: &MixerOf<Linear, Vector>,
        (plan, carried, layer): (&Plan<'_>, &mut Carried, usize),
        to: &mut Tensor,
    ) {
        if carried.layers.len() <= layer {
            carried.layers.resize_with(layer + 1, Held::default);
        }
        let Carried {
            layers,
            spare,
            room,
        } = carried;
        let (held, course, shape) = (&mut layers[layer], Course::new(plan.batch), mixer.shape);
        let (rows, each) = (plan.rows, self.kind.bytes());
        let (inner, conv, state) = (shape.inner, shape.convolved(), shape.groups * shape.state);
        let (back, numbers_of) = ((shape.kernel - 1) * conv, inner * shape.state);
        let fresh: Vec<usize> = course.kept.iter().map(|&r| plan.batch.slots[r]).collect();
        let stays = |slot: &usize| plan.batch.needed.contains(slot) && !fresh.contains(slot);
        let old: Vec<(usize, usize)> = (0..).zip(take(&mut held.slots)).collect();
        let stay: Vec<(usize, usize)> = old.iter().copied().filter(|(_, s)| stays(s)).collect();
        spare.slots = stay.iter().map(|(_, slot)| *slot).chain(fresh).collect();
        let (order, counts) = turns(&course);
        let known: Vec<usize> = old.into_iter().map(|(_, slot)| slot).collect();
        let Some(lent) = self.send(&numbers(&course, &known, stay.len(), &order)) else {
            return;
        };
        let (all, count) = (lent.at(), int(plan.batch.segments.len()));
        let kept = spare.slots.len();
        let single = NumberType::Single;
        let windows = self.room(&mut spare.windows, kept * back, single);
        let states = self.room(&mut spare.states, kept * numbers_of, single);
        let both = [
            (held.windows.at(), windows, back),
            (held.states.at(), states, numbers_of),
        ];
        for (from, to, len) in both {
            for (new, (at, _)) in stay.iter().enumerate() {
                let place = |at: usize| (at * len * 4) as u64;
                if !self.broken() {
                    self.keep(
                        self.device
                            .copy(from + place(*at), to + place(new), len * 4),
                    );
                }
            }
        }
        let column = |at: u64, first: usize| at + (first * each) as u64;
        let (own, stride) = (projected.at(), int(shape.projected()));
        let (gate, input) = match shape.rank {
            Some(_) => (column(own, inner), own),
            None => (own, column(own, inner)),
        };
        let mixed = self.room(&mut room.mixed, rows * conv, self.kind);
        let (weights, bias) = (mixer.conv.at(), mixer.conv_bias.at());
        let (width, taps, n, before) = (int(conv), int(shape.kernel), int(rows), held.windows.at());
        let words = args![
            input, stride, width, taps, weights, bias, all, n, count, before, windows, mixed
        ];
        self.recurrent("convolve", (rows, conv.div_ceil(THREADS)), words);
        let (x_stride, steps, steps_stride, write, both_stride);
        if let Some([down, up, write_read]) = &mixer.steps {
            let of = Extent::reading(rows);
            self.linear(&room.mixed, of, down, &mut room.low, false);
            self.linear(&room.mixed, of, write_read, &mut room.both, false);
            if let Some(eps) = shape.eps {
                let spans = [(&room.low, 1, down.outputs), (&room.both, 2, state)];
                for (x, count, width) in spans {
                    self.recurrent("even", (rows, count), args![x.at(), int(width), eps]);
                }
            }
            self.linear(&room.low, of, up, &mut room.steps, false);
            (x_stride, steps, steps_stride) = (int(inner), room.steps.at(), int(inner));
            (write, both_stride) = (room.both.at(), int(2 * state));
        } else {
            (x_stride, steps, steps_stride) = (int(conv), column(own, inner + conv), stride);
            (write, both_stride) = (column(mixed, inner), int(conv));
        }
        let read = column(write, state);
        let lanes = shape.state.div_ceil(OWN).next_power_of_two();
        let of = Shape {
            heads: int(shape.heads),
            width: int(inner / shape.heads),
            groups: int(shape.groups),
            state: int(shape.state),
            lanes: int(lanes),
            each: i32::from(mixer.decay.len != shape.heads),
            low: shape.steps.0,
            high: shape.steps.1,
        };
        let branches = course.followed.len() * numbers_of;
        let branches = self.room(&mut room.branches, branches, single);
        let out = self.room(&mut room.read, rows * inner, single);
        let (bias, decay, skip) = (mixer.step_bias.at(), mixer.decay.at(), mixer.skip.at());
        let (mut first, before) = (0, held.states.at());
        for turn in counts {
            let words = args![
                of,
                mixed,
                x_stride,
                steps,
                steps_stride,
                write,
                read,
                both_stride,
                bias,
                decay,
                skip,
                all,
                n,
                count,
                first,
                before,
                branches,
                states,
                out
            ];
            self.recurrent("scan", (turn, (inner * lanes).div_ceil(THREADS)), words);
            first += int(turn);
        }
        let (weight, eps) = match (&mixer.norm, shape.eps) {
            (Some(weight), Some(eps)) => (weight.at(), eps),
            _ => (0, 0.0),
        };
        let width = int(inner / shape.groups);
        let to = self.room(to, rows * inner, self.kind);
        let words = args![out, gate, stride, weight, width, eps, to];
        self.recurrent("finish", (rows, shape.groups), words);
        swap(held, spare);
    }
}
