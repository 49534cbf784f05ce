//! Linear layers with their adapters, forward and backward.

use super::adapter::Site;
use super::frozen::Weight;
use super::kernels;
use super::layout::Linear;
use super::matmul::{Unit, View, Write};
use super::parameters::{Gradients, Parameters, size};
use super::stored::UnpackBuffer;

/// Low-rank rows of every adapted layer, and room for what is computed with them.
#[derive(Debug, Default)]
pub(super) struct LowRank {
    /// By the index of the linear layer, from the forward to the backward pass.
    kept: Vec<Vec<f32>>,
    dropped: Vec<f32>,
    gradient: Vec<f32>,
    pub(super) room: UnpackBuffer,
}

impl LowRank {
    pub(super) fn layers(&mut self, count: usize) {
        self.kept.resize_with(count, Vec::new);
    }
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
    low: &mut LowRank,
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
    let stored = p.stored.and_then(|s| s.matrices.get(linear.index));
    if let (Some(matrix), None) = (stored, split) {
        matrix.product(x, (y, y_step), write, (unit, &mut low.room));
    } else {
        let weight = match p.transposed {
            Some(values) => View::rows(&values[linear.weight.clone()], outputs),
            // What is stored elsewhere has an empty place here, and was split.
            None => View::transposed(&p.base[linear.weight.clone()], inputs),
        }
        .planes(frozen.map_or(3, |f| f.planes))
        .split(split);
        let product = unit.product((rows, inputs, outputs), View::rows(x, inputs), weight);
        product.write((y, y_step), write);
    }
    let Some(adapted) = Adapted::new(linear, p) else {
        return;
    };
    let x = adapted.dropped(x, &mut low.dropped);
    let (rank, kept) = (adapted.rank, &mut low.kept[linear.index]);
    size(kept, rows * rank);
    let a = View::transposed(adapted.down, inputs);
    let product = unit.product((rows, inputs, rank), View::rows(x, inputs), a);
    product.replace(kept, rank);
    let b = View::transposed(adapted.up, rank);
    let product = unit.product((rows, rank, outputs), View::rows(kept, rank), b);
    product.scaled(adapted.scale).add_to(y, y_step);
}

/// The adapter of one layer: its matrices, and the seed of what is dropped of its input, if anything.
struct Adapted<'a> {
    site: &'a Site,
    down: &'a [f32],
    up: &'a [f32],
    rank: usize,
    scale: f32,
    dropout: Option<(f32, u64)>,
}

impl<'a> Adapted<'a> {
    fn new(linear: &Linear, p: &Parameters<'a>) -> Option<Self> {
        let (table, values, seed) = p.adapter?;
        let site = table.sites.get(linear.index)?.as_ref()?;
        let seed = seed.filter(|_| table.dropout > 0.0);
        Some(Self {
            site,
            down: &values[site.down.clone()],
            up: &values[site.up.clone()],
            rank: table.rank,
            scale: table.scale,
            dropout: seed.map(|seed| (table.dropout, seed ^ ((linear.index as u64) << 40))),
        })
    }

    fn dropped<'b>(&self, x: &'b [f32], room: &'b mut Vec<f32>) -> &'b [f32] {
        let Some((share, seed)) = self.dropout else {
            return x;
        };
        drop_into(x, share, seed, room);
        room
    }
}

/// Backward pass through [`apply`]: to `dx`, to the base's gradient and to the adapter's.
pub(super) fn apply_back(
    linear: &Linear,
    p: &Parameters<'_>,
    (x, dy, dy_step): (&[f32], &[f32], usize),
    (dx, write): (&mut [f32], Write),
    g: &mut Gradients<'_>,
    low: &mut LowRank,
) {
    let (inputs, outputs) = (linear.inputs, linear.outputs);
    let rows = x.len() / inputs;
    let (unit, frozen) = (p.unit(), p.frozen.map(|f| f.linear(linear.index)));
    let split = frozen.and_then(Weight::backward);
    let stored = p.stored.and_then(|s| s.matrices.get(linear.index));
    if let (Some(matrix), None) = (stored, split) {
        matrix.product_back((dy, dy_step, rows), dx, write, (unit, &mut low.room));
    } else {
        let weight = View::rows(&p.base[linear.weight.clone()], inputs)
            .planes(frozen.map_or(3, |f| f.planes))
            .split(split);
        let product = unit.product((rows, outputs, inputs), View::rows(dy, dy_step), weight);
        product.write((&mut *dx, inputs), write);
    }
    if let Some(base) = g.base.as_deref_mut() {
        let dw = &mut base[linear.weight.clone()];
        let (dy_turned, x) = (View::transposed(dy, dy_step), View::rows(x, inputs));
        let product = unit.product((outputs, rows, inputs), dy_turned, x);
        product.add_to(dw, inputs);
        if let Some(bias) = &linear.bias {
            kernels::add_column_sums(dy, dy_step, &mut base[bias.clone()]);
        }
    }
    if let Some(adapted) = Adapted::new(linear, p) {
        let kept = &low.kept[linear.index];
        let room = (&mut low.gradient, &mut low.dropped);
        let gradient = g.adapter.as_deref_mut();
        adapted.back(unit, (x, dy, dy_step), (kept, room), dx, gradient);
    }
}

impl Adapted<'_> {
    /// Backward pass: adds to `dx` and to the adapter's gradient.
    fn back(
        &self,
        unit: Unit,
        (x, dy, dy_step): (&[f32], &[f32], usize),
        (kept, (low, dropped)): (&[f32], (&mut Vec<f32>, &mut Vec<f32>)),
        dx: &mut [f32],
        gradient: Option<&mut [f32]>,
    ) {
        let (rank, inputs) = (self.rank, self.site.inputs);
        let (rows, outputs) = (x.len() / inputs, self.site.outputs);
        size(low, rows * rank);
        let (dy_rows, b) = (View::rows(dy, dy_step), View::rows(self.up, rank));
        let product = unit.product((rows, outputs, rank), dy_rows, b);
        product.scaled(self.scale).replace(low, rank);
        if let Some(gradient) = gradient {
            let (dy, kept) = (View::transposed(dy, dy_step), View::rows(kept, rank));
            let product = unit.product((outputs, rows, rank), dy, kept);
            let product = product.scaled(self.scale);
            product.add_to(&mut gradient[self.site.up.clone()], rank);
            let x = View::rows(self.dropped(x, dropped), inputs);
            let product = unit.product((rank, rows, inputs), View::transposed(low, rank), x);
            product.add_to(&mut gradient[self.site.down.clone()], inputs);
        }
        let (low, a) = (View::rows(low, rank), View::rows(self.down, inputs));
        let product = unit.product((rows, rank, inputs), low, a);
        let Some((share, seed)) = self.dropout else {
            return product.add_to(dx, inputs);
        };
        size(dropped, rows * inputs);
        product.replace(dropped, inputs);
        let mut masked = Vec::with_capacity(dropped.len());
        drop_into(dropped, share, seed, &mut masked);
        kernels::add(dx, &masked);
    }
}
