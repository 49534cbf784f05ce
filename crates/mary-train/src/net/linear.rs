//! Linear layers with their adapters, forward and backward.

use super::frozen::Weight;
use super::kernels;
use super::layout::Linear;
use super::matmul::{View, Write, multiply};
use super::model::{Gradients, Parameters, size};
use super::stored::Room;

/// Room for the low-rank rows of the forward pass.
pub(super) struct LowRank<'a> {
    pub(super) kept: &'a mut [Vec<f32>],
    pub(super) dropped: &'a mut Vec<f32>,
    pub(super) room: &'a mut Room,
}

/// The low-rank rows kept, and room for their slopes.
pub(super) struct LowBack<'a> {
    pub(super) kept: &'a [Vec<f32>],
    pub(super) dropped: &'a mut Vec<f32>,
    pub(super) slope: &'a mut Vec<f32>,
    pub(super) room: &'a mut Room,
}

/// The input with a share of its numbers dropped, the rest scaled up; the same on both ways.
pub(super) fn drop_into(x: &[f32], share: f32, seed: u64, out: &mut Vec<f32>) {
    let keep = 1.0 / (1.0 - share);
    let limit = (f64::from(share) * 4_294_967_296.0) as u64;
    out.clear();
    out.extend(x.iter().enumerate().map(|(i, x)| {
        if noise(seed, i as u64) < limit {
            0.0
        } else {
            x * keep
        }
    }));
}

/// 32 random bits of a place (splitmix64).
fn noise(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 32
}

/// `y = x Wᵀ + b`, plus the adapter's part.
pub(super) fn apply(
    linear: &Linear,
    p: &Parameters<'_>,
    x: &[f32],
    (y, y_step): (&mut [f32], usize),
    write: Write,
    low: &mut LowRank<'_>,
) {
    let (inputs, outputs) = (linear.inputs, linear.outputs);
    let rows = x.len() / inputs;
    let (unit, frozen) = (p.unit(), p.frozen.map(|f| f.linear(linear.index)));
    let mut write = write;
    if let Some(bias) = &linear.bias {
        let bias = &p.base[bias.clone()];
        if write == Write::Replace {
            kernels::fill_rows(y, y_step, bias);
            write = Write::Add;
        } else {
            y.chunks_mut(y_step).for_each(|row| kernels::add(row, bias));
        }
    }
    let split = frozen.and_then(Weight::forward);
    let stored = p.stored.and_then(|s| s.matrix(linear.index));
    if let (Some(matrix), None) = (stored, split) {
        matrix.product(x, (y, y_step), write, (unit, low.room));
    } else {
        let weight = match p.transposed {
            Some(values) => View::rows(&values[linear.weight.clone()], outputs),
            // What is stored elsewhere has an empty place here, and was split.
            None => View::transposed(&p.base[linear.weight.clone()], inputs),
        }
        .planes(frozen.map_or(3, |f| f.planes))
        .split(split);
        multiply(
            (unit, (rows, inputs, outputs)),
            View::rows(x, inputs),
            weight,
            1.0,
            (y, y_step),
            write,
        );
    }
    let Some((table, values, dropout)) = p.adapter else {
        return;
    };
    let Some(Some(site)) = table.sites.get(linear.index) else {
        return;
    };
    let x = match dropout {
        Some(seed) if table.dropout > 0.0 => {
            drop_into(
                x,
                table.dropout,
                seed ^ ((linear.index as u64) << 40),
                low.dropped,
            );
            low.dropped.as_slice()
        }
        _ => x,
    };
    let kept = &mut low.kept[linear.index];
    size(kept, rows * table.rank);
    let a = View::transposed(&values[site.down.clone()], inputs);
    multiply(
        (unit, (rows, inputs, table.rank)),
        View::rows(x, inputs),
        a,
        1.0,
        (kept, table.rank),
        Write::Replace,
    );
    let b = View::transposed(&values[site.up.clone()], table.rank);
    let shape = (rows, table.rank, outputs);
    multiply(
        (unit, shape),
        View::rows(kept, table.rank),
        b,
        table.scale,
        (y, y_step),
        Write::Add,
    );
}

/// Backward pass through [`apply`]: to `dx`, to the base's gradient and to the adapter's.
pub(super) fn apply_back(
    linear: &Linear,
    p: &Parameters<'_>,
    (x, dy, dy_step): (&[f32], &[f32], usize),
    (dx, write): (&mut [f32], Write),
    g: &mut Gradients<'_>,
    low: &mut LowBack<'_>,
) {
    let (inputs, outputs) = (linear.inputs, linear.outputs);
    let rows = x.len() / inputs;
    let (unit, frozen) = (p.unit(), p.frozen.map(|f| f.linear(linear.index)));
    let slope = View::rows(dy, dy_step);
    let split = frozen.and_then(Weight::backward);
    let stored = p.stored.and_then(|s| s.matrix(linear.index));
    if let (Some(matrix), None) = (stored, split) {
        matrix.product_back((dy, dy_step, rows), dx, write, (unit, low.room));
    } else {
        multiply(
            (unit, (rows, outputs, inputs)),
            slope,
            View::rows(&p.base[linear.weight.clone()], inputs)
                .planes(frozen.map_or(3, |f| f.planes))
                .split(split),
            1.0,
            (dx, inputs),
            write,
        );
    }
    if let Some(base) = g.base.as_deref_mut() {
        let dw = &mut base[linear.weight.clone()];
        let shape = (outputs, rows, inputs);
        multiply(
            (unit, shape),
            View::transposed(dy, dy_step),
            View::rows(x, inputs),
            1.0,
            (dw, inputs),
            Write::Add,
        );
        if let Some(bias) = &linear.bias {
            kernels::add_column_sums(dy, dy_step, &mut base[bias.clone()]);
        }
    }
    let Some((table, values, dropout)) = p.adapter else {
        return;
    };
    let Some(Some(site)) = table.sites.get(linear.index) else {
        return;
    };
    let (rank, kept) = (table.rank, &low.kept[linear.index]);
    let seed = dropout
        .filter(|_| table.dropout > 0.0)
        .map(|seed| seed ^ ((linear.index as u64) << 40));
    size(low.slope, rows * rank);
    let b = View::rows(&values[site.up.clone()], rank);
    multiply(
        (unit, (rows, outputs, rank)),
        slope,
        b,
        table.scale,
        (low.slope, rank),
        Write::Replace,
    );
    if let Some(adapter) = g.adapter.as_deref_mut() {
        let db = &mut adapter[site.up.clone()];
        let shape = (outputs, rows, rank);
        multiply(
            (unit, shape),
            View::transposed(dy, dy_step),
            View::rows(kept, rank),
            table.scale,
            (db, rank),
            Write::Add,
        );
        let x = match seed {
            Some(seed) => {
                drop_into(x, table.dropout, seed, low.dropped);
                low.dropped.as_slice()
            }
            None => x,
        };
        let da = &mut adapter[site.down.clone()];
        let shape = (rank, rows, inputs);
        multiply(
            (unit, shape),
            View::transposed(low.slope, rank),
            View::rows(x, inputs),
            1.0,
            (da, inputs),
            Write::Add,
        );
    }
    let a = View::rows(&values[site.down.clone()], inputs);
    match seed {
        None => multiply(
            (unit, (rows, rank, inputs)),
            View::rows(low.slope, rank),
            a,
            1.0,
            (dx, inputs),
            Write::Add,
        ),
        Some(seed) => {
            size(low.dropped, rows * inputs);
            let through = (low.dropped.as_mut_slice(), inputs);
            multiply(
                (unit, (rows, rank, inputs)),
                View::rows(low.slope, rank),
                a,
                1.0,
                through,
                Write::Replace,
            );
            let slope = std::mem::take(low.dropped);
            let mut masked = Vec::with_capacity(slope.len());
            drop_into(&slope, table.dropout, seed, &mut masked);
            kernels::add(dx, &masked);
            *low.dropped = slope;
        }
    }
}
