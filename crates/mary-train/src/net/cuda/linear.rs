//! Linear layers with their adapters on the GPU, forward and backward.

use mary_contract::ModelError;

use super::Gpu;
use super::batch::Batch;
use super::products::{Call, Shared, View};
use super::room::Room;
use super::rows::Dropping;
use crate::net::AdapterLayout;
use crate::net::layout::Linear;

/// Addresses of a model's numbers and of their gradients.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    pub(super) base: u64,
    /// Gradient of the base; 0 where it is not trained.
    pub(super) base_gradient: u64,
    pub(super) adapter: Option<Adapted<'a>>,
}

impl Numbers<'_> {
    /// The address of a number of the base.
    pub(super) fn at(&self, place: &std::ops::Range<usize>) -> u64 {
        self.base + place.start as u64 * 4
    }

    /// The address of its gradient, where the base is trained.
    pub(super) fn gradient(&self, place: &std::ops::Range<usize>) -> Option<u64> {
        (self.base_gradient != 0).then(|| self.base_gradient + place.start as u64 * 4)
    }
}

/// An adapter's numbers.
#[derive(Clone, Copy)]
pub(super) struct Adapted<'a> {
    pub(super) table: &'a AdapterLayout,
    pub(super) values: u64,
    /// 0 while nothing is trained.
    pub(super) gradient: u64,
    /// Numbers are dropped.
    pub(super) dropping: bool,
}

/// A linear layer with its input: rows of a batch.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) linear: &'a Linear,
    pub(super) n: &'a Numbers<'a>,
    pub(super) batch: &'a Batch,
    pub(super) x: u64,
}

/// Room for the low-rank rows, their slopes, what is dropped, and sums of columns.
pub(super) struct LowRooms<'a> {
    pub(super) kept: &'a mut [Room],
    pub(super) dropped: &'a mut Room,
    pub(super) slope: &'a mut Room,
    pub(super) slabs: &'a mut Room,
}

impl Gpu {
    /// How a layer's inputs are dropped, where they are.
    fn dropping(&self, linear: &Linear, a: &Adapted<'_>, batch: &Batch) -> Option<Dropping> {
        (a.dropping && a.table.dropout > 0.0).then(|| Dropping {
            places: batch.packs(),
            salt: (linear.index as u64) << 40,
            share: a.table.dropout,
        })
    }

    /// `y = x Wᵀ + b`, plus the adapter's part; added to what is there where `add` says so.
    pub(super) fn apply(
        &self,
        layer: &Layer<'_>,
        (y, step, add): (u64, usize, bool),
        low: &mut LowRooms<'_>,
    ) -> Result<(), ModelError> {
        let Layer {
            linear,
            n,
            batch,
            x,
        } = *layer;
        let (inputs, outputs, rows) = (linear.inputs, linear.outputs, batch.rows());
        let weight = View::turned(n.at(&linear.weight), inputs);
        let bias = linear.bias.as_ref().map_or(0, |b| n.at(b));
        let size = (rows, inputs, outputs);
        self.multiply(
            &Call::new(size, View::rows(x, inputs), weight, (y, step))
                .with_bias(bias)
                .adding(add),
        )?;
        let Some(a) = n.adapter else { return Ok(()) };
        let Some(Some(site)) = a.table.sites.get(linear.index) else {
            return Ok(());
        };
        let mut x = x;
        if let Some(by) = self.dropping(linear, &a, batch) {
            let to = low.dropped.size(&self.device, rows * inputs)?;
            self.drop_numbers(x, &by, (rows, inputs), (to, false))?;
            x = to;
        }
        let rank = a.table.rank;
        let kept = low.kept[linear.index].size(&self.device, rows * rank)?;
        let down = View::turned(a.values + site.down.start as u64 * 4, inputs);
        let size = (rows, inputs, rank);
        self.multiply(&Call::new(size, View::rows(x, inputs), down, (kept, rank)))?;
        let up = View::turned(a.values + site.up.start as u64 * 4, rank);
        let size = (rows, rank, outputs);
        self.multiply(
            &Call::new(size, View::rows(kept, rank), up, (y, step))
                .scaled(a.table.scale)
                .adding(true),
        )
    }

    /// Backward pass through [`Gpu::apply`]: to `dx`, to the base's gradient and to the adapter's.
    pub(super) fn apply_back(
        &self,
        layer: &Layer<'_>,
        (dy, step): (u64, usize),
        (dx, add): (u64, bool),
        low: &mut LowRooms<'_>,
    ) -> Result<(), ModelError> {
        let Layer {
            linear,
            n,
            batch,
            x,
        } = *layer;
        let (inputs, outputs, rows) = (linear.inputs, linear.outputs, batch.rows());
        let weight = View::rows(n.at(&linear.weight), inputs);
        let size = (rows, outputs, inputs);
        let back = Call::new(size, View::rows(dy, step), weight, (dx, inputs)).adding(add);
        let trained = n.gradient(&linear.weight);
        self.multiply(&match trained {
            Some(_) => back.sharing(Shared::First),
            None => back,
        })?;
        if let Some(dw) = trained {
            let size = (outputs, rows, inputs);
            let (slope, x) = (View::turned(dy, step), View::rows(x, inputs));
            let call = Call::new(size, slope, x, (dw, inputs)).adding(true);
            self.multiply(&call.sharing(Shared::Second))?;
        }
        if let Some(bias) = &linear.bias
            && let Some(db) = n.gradient(bias)
        {
            self.column_sums((dy, step), None, (rows, outputs), (db, 0), low.slabs)?;
        }
        match n.adapter {
            Some(a) => self.adapter_back(layer, &a, (dy, step), dx, low),
            None => Ok(()),
        }
    }

    fn adapter_back(
        &self,
        layer: &Layer<'_>,
        a: &Adapted<'_>,
        (dy, step): (u64, usize),
        dx: u64,
        low: &mut LowRooms<'_>,
    ) -> Result<(), ModelError> {
        let Layer {
            linear, batch, x, ..
        } = *layer;
        let Some(Some(site)) = a.table.sites.get(linear.index) else {
            return Ok(());
        };
        let (inputs, outputs, rows) = (linear.inputs, linear.outputs, batch.rows());
        let (rank, scale) = (a.table.rank, a.table.scale);
        let place = |range: &std::ops::Range<usize>| range.start as u64 * 4;
        let kept = low.kept[linear.index].at();
        let dropping = self.dropping(linear, a, batch);
        let slope = low.slope.size(&self.device, rows * rank)?;
        let up = View::rows(a.values + place(&site.up), rank);
        let size = (rows, outputs, rank);
        let back = Call::new(size, View::rows(dy, step), up, (slope, rank));
        self.multiply(&back.scaled(scale))?;
        let room = match dropping {
            Some(_) => low.dropped.size(&self.device, rows * inputs)?,
            None => 0,
        };
        if a.gradient != 0 {
            let to = (a.gradient + place(&site.up), rank);
            let (left, right) = (View::turned(dy, step), View::rows(kept, rank));
            let call = Call::new((outputs, rows, rank), left, right, to);
            self.multiply(&call.scaled(scale).adding(true))?;
            let mut x = x;
            if let Some(by) = &dropping {
                self.drop_numbers(x, by, (rows, inputs), (room, false))?;
                x = room;
            }
            let to = (a.gradient + place(&site.down), inputs);
            let (left, right) = (View::turned(slope, rank), View::rows(x, inputs));
            self.multiply(&Call::new((rank, rows, inputs), left, right, to).adding(true))?;
        }
        let down = View::rows(a.values + place(&site.down), inputs);
        let to = match dropping {
            Some(_) => room,
            None => dx,
        };
        let call = Call::new(
            (rows, rank, inputs),
            View::rows(slope, rank),
            down,
            (to, inputs),
        );
        self.multiply(&call.adding(dropping.is_none()))?;
        match &dropping {
            Some(by) => self.drop_numbers(room, by, (rows, inputs), (dx, true)),
            None => Ok(()),
        }
    }
}
