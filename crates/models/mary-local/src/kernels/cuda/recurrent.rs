//! Layers that carry a state, on the GPU: what stands in `recurrent.cu`, call by call.

use std::mem::swap;

use mary_cuda::{Lent, NumberType, args};

use super::{Cuda, Linear, Plan, Tensor, Vector, int};
use crate::batch::Batch;
use crate::kernels::course::{Course, Start};
use crate::kernels::{Backend, Extent, MixerOf};

const PART: &str = "recurrent";
const THREADS: usize = 128;
/// Numbers of a state that one thread holds.
const OWN: usize = 16;
const LOST: usize = usize::MAX;

#[derive(Default)]
pub struct Carried {
    /// Rows of the cache after which texts go on; what each layer holds lies in this order.
    slots: Vec<usize>,
    layers: Vec<Held>,
    /// Room for the work of one layer.
    spare: Held,
    room: Room,
}

/// The last inputs of the convolution and the states.
#[derive(Default)]
struct Held {
    windows: Tensor,
    states: Tensor,
}

/// A batch's way through all these layers, sent once.
pub struct Road {
    lent: Lent,
    /// Where that lay which is still needed; it comes first in what is kept.
    stay: Vec<usize>,
    kept: usize,
    /// Rows that other segments follow.
    followed: usize,
    /// Segments that are computed at once, time after time.
    turns: Vec<usize>,
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

/// Heads, numbers of a head, groups, numbers of a state, lanes and whether each number has its own decay; the bounds of a step.
#[repr(C)]
#[derive(Clone, Copy)]
struct Shape([i32; 6], [f32; 2]);

/// Columns of rows: where the first begins, and how many numbers later the next does.
type Columns = (u64, i32);

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
        for &(from, to) in moves.iter().filter(|(from, to)| from != to) {
            // A slot that is written over is nobody's any more.
            for slot in &mut self.slots {
                *slot = match *slot {
                    slot if slot == to => LOST,
                    slot if slot == from => to,
                    slot => slot,
                };
            }
        }
    }

    fn road(&mut self, on: &Cuda, batch: &Batch) -> Option<Road> {
        let course = Course::new(batch);
        let fresh: Vec<usize> = course.kept.iter().map(|&r| batch.slots[r]).collect();
        let stays = |slot: &usize| batch.needed.contains(slot) && !fresh.contains(slot);
        let held = (0..).zip(self.slots.iter().copied());
        let (stay, slots): (Vec<usize>, Vec<usize>) = held.filter(|(_, s)| stays(s)).unzip();
        let (order, turns) = turns(&course);
        let lent = on.send(&numbers(&course, &self.slots, stay.len(), &order))?;
        self.slots = [slots, fresh].concat();
        Some(Road {
            lent,
            stay,
            kept: self.slots.len(),
            followed: course.followed.len(),
            turns,
        })
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

    /// Room in `spare` for what is kept; what stays is copied there.
    fn take_along(&self, held: &Held, spare: &mut Held, road: &Road, lens: [usize; 2]) {
        let windows = (&held.windows, &mut spare.windows);
        let states = (&held.states, &mut spare.states);
        for ((from, to), len) in [windows, states].into_iter().zip(lens) {
            let to = self.room(to, road.kept * len, NumberType::Single);
            for (new, at) in road.stay.iter().enumerate() {
                let place = |at: usize| (at * len * 4) as u64;
                if !self.broken() {
                    let (from, to) = (from.at() + place(*at), to + place(new));
                    self.keep(self.device.copy(from, to, len * 4));
                }
            }
        }
    }

    /// The steps, and what is written to states and read from them: from what was projected and mixed of it.
    fn parameters(
        &self,
        (projected, mixer, rows): (Columns, &MixerOf<Linear, Vector>, usize),
        room: &mut Room,
    ) -> [Columns; 3] {
        let (shape, each) = (mixer.shape, self.kind.bytes());
        let column = |(at, apart): Columns, first: usize| (at + (first * each) as u64, apart);
        let Some([down, up, write_read]) = &mixer.steps else {
            let (inner, conv) = (shape.inner, shape.convolved());
            let write = column((room.mixed.at(), int(conv)), inner);
            let read = column(write, shape.groups * shape.state);
            return [column(projected, inner + conv), write, read];
        };
        let of = Extent::reading(rows);
        self.linear(&room.mixed, of, down, &mut room.low, false);
        self.linear(&room.mixed, of, write_read, &mut room.both, false);
        if let Some(eps) = shape.eps {
            for (x, count, width) in [(&room.low, 1, down.outputs), (&room.both, 2, shape.state)] {
                self.recurrent("even", (rows, count), args![x.at(), int(width), eps]);
            }
        }
        self.linear(&room.low, of, up, &mut room.steps, false);
        let write = (room.both.at(), int(2 * shape.state));
        let steps = (room.steps.at(), int(shape.inner));
        [steps, write, column(write, shape.state)]
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
        let road = plan.road.get_or_init(|| carried.road(self, plan.batch));
        let Some(road) = road else {
            return;
        };
        let (held, spare) = (&mut carried.layers[layer], &mut carried.spare);
        let (room, shape) = (&mut carried.room, mixer.shape);
        let (rows, inner, conv) = (plan.rows, shape.inner, shape.convolved());
        let state = inner * shape.state;
        self.take_along(held, spare, road, [(shape.kernel - 1) * conv, state]);
        let (all, n) = (road.lent.at(), int(rows));
        let count = int(plan.batch.segments.len());
        let (own, stride) = (projected.at(), int(shape.projected()));
        let second = own + (inner * self.kind.bytes()) as u64;
        let (gate, input) = if shape.rank.is_some() {
            (second, own)
        } else {
            (own, second)
        };
        let mixed = self.room(&mut room.mixed, rows * conv, self.kind);
        let (width, taps) = (int(conv), int(shape.kernel));
        let (before, left) = (held.windows.at(), spare.windows.at());
        let (weights, bias) = (mixer.conv.at(), mixer.conv_bias.at());
        let words = args![
            input, stride, width, taps, weights, bias, all, n, count, before, left, mixed
        ];
        self.recurrent("convolve", (rows, conv.div_ceil(THREADS)), words);
        let [steps, write, read] = self.parameters(((own, stride), mixer, rows), room);
        let lanes = shape.state.div_ceil(OWN).next_power_of_two();
        let each = usize::from(mixer.decay.len != shape.heads);
        let (heads, one) = (shape.heads, inner / shape.heads);
        let sizes = [heads, one, shape.groups, shape.state, lanes, each];
        let of = Shape(sizes.map(int), [shape.steps.0, shape.steps.1]);
        let branches = road.followed * state;
        let branches = self.room(&mut room.branches, branches, NumberType::Single);
        let out = self.room(&mut room.read, rows * inner, NumberType::Single);
        let (bias, decay, skip) = (mixer.step_bias.at(), mixer.decay.at(), mixer.skip.at());
        let (mut first, before, left) = (0, held.states.at(), spare.states.at());
        for &turn in &road.turns {
            let words = args![
                of, mixed, width, steps.0, steps.1, write.0, read.0, write.1, bias, decay, skip,
                all, n, count, first, before, branches, left, out
            ];
            self.recurrent("scan", (turn, (inner * lanes).div_ceil(THREADS)), words);
            first += int(turn);
        }
        let (weight, eps) = match (&mixer.norm, shape.eps) {
            (Some(weight), Some(eps)) => (weight.at(), eps),
            _ => (0, 0.0),
        };
        let (width, to) = (inner / shape.groups, self.room(to, rows * inner, self.kind));
        let width = int(width);
        let words = args![out, gate, stride, weight, width, eps, to];
        self.recurrent("finish", (rows, shape.groups), words);
        swap(held, spare);
    }
}
