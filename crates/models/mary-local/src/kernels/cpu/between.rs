//! Everything between two attentions, a block of rows at a time.
//!
//! Step by step over all rows, every product, norm and activation reads from memory what the one before it
//! wrote there, and waits for the slowest thread. Here a block's rows stay in the second-level cache of the
//! thread that has them, and threads meet once before and once after attention.

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use super::aligned::Aligned;
use super::elementwise::{activate_rows, add_bias_rows, norm_row, rotate_rows};
use super::matmul::Linear;
use super::packed::{self, Activations, PANEL, Region, Tiles, Tower};
use super::target::Shared;
use super::{Buffer, Cpu};
use crate::kernels::{Beginning, Between, Ending, NormOf};

/// Fewer rows for each thread are better multiplied by all of them together, each with some of the outputs:
/// the weights would be read from memory by each thread, for too few rows.
const FEWEST: usize = 96;
/// Columns between the two feed-forward layers that are computed together: with the rows of a block and their
/// stream they fill a second-level cache.
const MIDDLE: usize = packed::SPAN;
const STRIP: usize = packed::TILE;

/// Whether so many rows go this way.
pub fn worth_it(rows: usize) -> bool {
    rows >= FEWEST * rayon::current_num_threads()
}

#[derive(Default)]
struct Room {
    rows: Activations,
    /// What attention left; then some of what stands between the two feed-forward layers.
    middle: Activations,
    /// What towers over the rows of `middle`, in all shares of a product.
    towers: Vec<Tower>,
    panels: Aligned<f32>,
    normed: Vec<f32>,
    /// A product that the stream gets at once.
    sums: Vec<f32>,
}

thread_local! {
    static ROOM: RefCell<Option<Room>> = const { RefCell::new(None) };
}

/// Takes all rows from one attention to the next.
pub fn run(work: Between<'_, '_, Cpu>) {
    let Between {
        rows,
        x,
        ending,
        mut beginning,
    } = work;
    let x = Shared(x.0.as_mut_ptr());
    let to = beginning.as_mut().map(|b| Places::new(b, rows));
    let threads = rayon::current_num_threads();
    // Vectors wait longer for weights from memory: more rows share a walk over them.
    let spare = if packed::has_tiles() { 8 } else { 4 };
    // Before rows are divided: all threads pack weights together, once for all blocks.
    let ends = ending.as_ref().map(|e| [e.out, e.up, e.down]);
    let ends = ends.map(|layers| layers.map(|l| l.tiles()));
    let begins = beginning.as_ref().and_then(|b| b.qkv.tiles());
    let blocks: Vec<Range<usize>> = divide(rows, threads, spare).collect();
    blocks.into_par_iter().with_max_len(1).for_each(|rows| {
        let mut block = Block { x, rows };
        let mut room = ROOM.take().unwrap_or_default();
        if let (Some(of), Some([Some(out), Some(up), Some(down)])) = (&ending, &ends) {
            block.end(of, [out, up, down], &mut room);
        }
        if let (Some(of), Some(w), Some(to)) = (&beginning, &begins, &to) {
            block.begin(of, w, to, &mut room);
        }
        ROOM.set(Some(room));
    });
}

/// Enough blocks of whole panels that a thread which is held up leaves some to the others, of enough rows to be
/// worth a walk over the weights.
fn divide(rows: usize, threads: usize, spare: usize) -> impl Iterator<Item = Range<usize>> {
    let size = (rows / (spare * threads)).clamp(packed::ROWS / 2, packed::ROWS);
    let blocks = rows.div_ceil(size).next_multiple_of(threads);
    let panels = rows.div_ceil(PANEL);
    let edge = move |i: usize| (i * panels / blocks * PANEL).min(rows);
    let all = (0..blocks).map(move |i| edge(i)..edge(i + 1));
    all.filter(|block| !block.is_empty())
}

struct Places {
    qkv: Shared,
    keys: Shared,
    values: Shared,
}

impl Places {
    fn new(of: &mut Beginning<'_, '_, Cpu>, rows: usize) -> Self {
        let (cache, layer) = &mut of.cache;
        Self {
            qkv: Shared(of.to.room(rows * of.heads.qkv_width()).as_mut_ptr()),
            keys: Shared(cache.keys[*layer].as_mut_ptr()),
            values: Shared(cache.values[*layer].as_mut_ptr()),
        }
    }
}

/// Some rows of a batch, which one thread has to itself.
struct Block {
    x: Shared,
    rows: Range<usize>,
}

impl Block {
    fn stream(&mut self, width: usize) -> &mut [f32] {
        // SAFETY: the stream has rows of this width, and nobody else touches those of this block.
        unsafe {
            let at = self.x.pointer().add(self.rows.start * width);
            std::slice::from_raw_parts_mut(at, self.rows.len() * width)
        }
    }

    /// Adds a product to the residual stream, once: a first token's stream may be thousands of times as large, and
    /// a sum that starts from it is rounded at its size in every step.
    fn add(&mut self, sums: &[f32]) {
        let width = sums.len() / self.rows.len();
        let both = self.stream(width).iter_mut().zip(sums);
        both.for_each(|(x, sum)| *x += sum);
    }

    fn add_bias(&mut self, of: &Linear) {
        if let Some(bias) = &of.bias {
            add_bias_rows(self.stream(bias.len()), bias);
        }
    }

    fn attended(&self, of: &Buffer, out: &Tiles, to: &mut Activations) {
        let width = out.inputs;
        let of = &of.0[self.rows.start * width..self.rows.end * width];
        to.shape(self.rows.len(), width, out.is_plain());
        for (i, part) in of.chunks(STRIP * width).enumerate() {
            to.put_rows(i * STRIP, part);
        }
        to.level(0);
    }

    /// Normalised rows, packed for these weights.
    fn norm(&mut self, by: &NormOf<Vec<f32>>, w: &Tiles, room: &mut Room) {
        let width = by.weight.len();
        room.rows.shape(self.rows.len(), width, w.is_plain());
        room.normed.resize(STRIP * width, 0.0);
        for (i, part) in self.stream(width).chunks(STRIP * width).enumerate() {
            let normed = &mut room.normed[..part.len()];
            for (x, y) in part.chunks_exact(width).zip(normed.chunks_exact_mut(width)) {
                norm_row(x, &by.weight, by.bias.as_deref(), by.how, y);
            }
            room.rows.put_rows(i * STRIP, normed);
        }
        room.rows.level(0);
    }

    fn end(&mut self, of: &Ending<'_, Cpu>, [out, up, down]: [&Tiles; 3], room: &mut Room) {
        if of.parallel {
            self.norm(of.norm, up, room);
        }
        self.attended(of.attended, out, &mut room.middle);
        room.share(out, 0);
        self.add(room.whole(out));
        self.add_bias(of.out);
        if !of.parallel {
            self.norm(of.norm, up, room);
        }
        let width = of.shape.0;
        for first in (0..width).step_by(MIDDLE) {
            let columns = first..(first + MIDDLE).min(width);
            middle(of, up, columns, room);
            room.share(down, first);
        }
        self.add(room.whole(down));
        self.add_bias(of.down);
    }

    /// The beginning of a block: queries, keys and values, turned and placed.
    fn begin(&mut self, of: &Beginning<'_, '_, Cpu>, w: &Tiles, to: &Places, room: &mut Room) {
        self.norm(of.norm, w, room);
        let (width, first) = (w.outputs, self.rows.start);
        // SAFETY: there is room for all rows, and nobody else touches those of this block.
        let qkv = unsafe {
            let at = to.qkv.pointer().add(first * width);
            std::slice::from_raw_parts_mut(at, self.rows.len() * width)
        };
        // SAFETY: `qkv` is the region.
        unsafe { packed::multiply(&room.rows, w, qkv.as_mut_ptr(), whole(&room.rows, w)) };
        if let Some(bias) = &of.qkv.bias {
            add_bias_rows(qkv, bias);
        }
        let norms = of
            .norms
            .map(|(q, k, how)| (q.as_slice(), k.as_slice(), how));
        rotate_rows(qkv, first, of.heads, norms, of.rotary);
        let (q, kv) = (of.heads.q_width(), of.heads.kv_width());
        for (row, &slot) in qkv
            .chunks_exact(width)
            .zip(&of.plan.slots[self.rows.clone()])
        {
            // SAFETY: the cache has a row for every slot, and no two rows of a batch have the same.
            unsafe {
                let (keys, values) = (to.keys.offset(slot * kv), to.values.offset(slot * kv));
                std::ptr::copy_nonoverlapping(row[q..].as_ptr(), keys.pointer(), kv);
                std::ptr::copy_nonoverlapping(row[q + kv..].as_ptr(), values.pointer(), kv);
            }
        }
    }
}

fn whole(a: &Activations, w: &Tiles) -> Region {
    Region {
        row: 0,
        rows: a.rows(),
        output: 0,
        outputs: w.outputs,
        stride: w.outputs,
        add: false,
    }
}

impl Room {
    /// Adds the share of some inputs in a product, those from `first` on that stand in `middle`, to the shares
    /// before it.
    fn share(&mut self, w: &Tiles, first: usize) {
        if first == 0 {
            self.towers.clear();
        }
        self.towers.extend_from_slice(self.middle.towers());
        self.sums.resize(self.middle.rows() * w.outputs, 0.0);
        let region = Region {
            add: first > 0,
            ..whole(&self.middle, w)
        };
        // SAFETY: `sums` is the region.
        unsafe { packed::multiply_from(&self.middle, w, first, self.sums.as_mut_ptr(), region) };
    }

    /// The product, when all shares are there.
    fn whole(&mut self, w: &Tiles) -> &[f32] {
        self.towers.sort_by_key(|t| t.row);
        let region = whole(&self.middle, w);
        // SAFETY: `sums` is the region.
        unsafe { packed::add_towers(&self.towers, w, self.sums.as_mut_ptr(), region) };
        &self.sums
    }
}

/// Some columns of what stands between the feed-forward layers: multiplied, activated and split at once.
fn middle(of: &Ending<'_, Cpu>, up: &Tiles, columns: Range<usize>, room: &mut Room) {
    let Room {
        rows,
        middle,
        panels,
        ..
    } = room;
    let ((width, gated), first) = (of.shape, columns.start);
    middle.shape(rows.rows(), columns.len(), up.is_plain());
    let bias = of.up.bias.as_deref();
    let at = |first: usize| bias.map_or(&[][..], |b| &b[first..first + PANEL]);
    let mut see = |panel: packed::Panel<'_>, wide: usize| {
        let own = at(first + panel.column);
        let (gates, bias) = match gated {
            true => (PANEL, [own, at(width + first + panel.column)]),
            false => (0, [own, &[]]),
        };
        let sums = &mut panel.sums[..panel.rows * wide];
        activate_rows(sums, wide, gates, bias, of.activation);
        middle.put_square((panel.row, panel.column), panel.rows, (sums, wide));
    };
    let count = columns.len();
    match gated {
        true => {
            let both = ([first, width + first], count);
            packed::panels(rows, up, both, panels, |panel| see(panel, 2 * PANEL));
        }
        false => packed::panels(rows, up, ([first], count), panels, |panel| {
            see(panel, PANEL)
        }),
    }
    room.middle.level(first);
}

#[cfg(test)]
mod tests;
