//! Linear layers with their adapters on the GPU, forward and backward.

use mary_cuda::NumberType;

use super::batch::Batch;
use super::buffers::LowRank;
use super::call::{Call, Shared, View};
use super::matrices::Matrices;
use super::rows::Dropout;
use super::{Done, Gpu};
use crate::net::layout::{Layout, Linear};
use crate::net::{AdapterLayout, adapter::Site};

/// Addresses of a model's numbers and of their gradients.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    /// The flat slice in 32 bits.
    pub(super) base: u64,
    /// The matrices, where they are not in the flat slice: matrix multiplication is in bfloat16 then.
    pub(super) matrices: Option<&'a Matrices>,
    /// Gradient of the base; 0 where it is not trained.
    pub(super) base_gradient: u64,
    pub(super) adapter: Option<Adapted<'a>>,
}

impl Numbers<'_> {
    pub(super) fn kind(&self) -> NumberType {
        self.matrices
            .map_or(NumberType::Single, |_| NumberType::Bf16)
    }

    pub(super) fn at(&self, place: &std::ops::Range<usize>) -> u64 {
        self.base + place.start as u64 * 4
    }

    /// The address of its gradient, where the base is trained.
    pub(super) fn gradient(&self, place: &std::ops::Range<usize>) -> Option<u64> {
        (self.base_gradient != 0).then(|| self.base_gradient + place.start as u64 * 4)
    }

    fn weight(&self, linear: &Linear) -> u64 {
        match self.matrices {
            Some(matrices) => matrices.linear(linear),
            None => self.at(&linear.weight),
        }
    }

    /// The bias in the type of the rows it is added to; 0 where there is none.
    fn bias(&self, linear: &Linear, rows: NumberType) -> u64 {
        let place = linear.bias.as_ref();
        place.map_or(0, |place| match (self.matrices, rows) {
            (Some(matrices), NumberType::Bf16) => matrices.vector(place),
            _ => self.at(place),
        })
    }

    pub(super) fn embedding(&self, layout: &Layout) -> u64 {
        self.matrices
            .map_or_else(|| self.at(&layout.embedding), Matrices::embedding)
    }

    pub(super) fn head(&self, layout: &Layout) -> u64 {
        self.matrices
            .map_or_else(|| self.at(&layout.head), Matrices::head)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Adapted<'a> {
    pub(super) table: &'a AdapterLayout,
    /// In the type of matrix multiplication.
    pub(super) values: u64,
    /// In 32 bits; 0 while nothing is trained.
    pub(super) gradient: u64,
    pub(super) dropping: bool,
}

impl<'a> Adapted<'a> {
    pub(super) fn site(&self, linear: &Linear) -> Option<&'a Site> {
        self.table.sites.get(linear.index)?.as_ref()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) linear: &'a Linear,
    pub(super) n: &'a Numbers<'a>,
    pub(super) batch: &'a Batch,
    pub(super) x: u64,
}

#[derive(Clone, Copy)]
pub(super) struct To {
    pub(super) at: u64,
    /// Numbers from one row to the next.
    pub(super) step: usize,
    pub(super) kind: NumberType,
    /// Rows that they are added to.
    pub(super) from: Option<u64>,
}

impl Gpu {
    fn dropping(&self, linear: &Linear, a: &Adapted<'_>, batch: &Batch) -> Option<Dropout> {
        (a.dropping && a.table.dropout > 0.0).then(|| Dropout {
            places: batch.packs(),
            salt: (linear.index as u64) << 40,
            share: a.table.dropout,
        })
    }

    /// `y = x Wᵀ + b`, plus the adapter's part; added to what is there where `to` says so.
    pub(super) fn apply(&self, layer: &Layer<'_>, to: To, low: &mut LowRank) -> Done {
        let (linear, n, batch, x) = (layer.linear, layer.n, layer.batch, layer.x);
        let (inputs, outputs, rows) = (linear.inputs, linear.outputs, batch.n.rows);
        let kind = n.kind();
        let weight = View::turned(n.weight(linear), inputs);
        let size = (rows, inputs, outputs);
        let call = Call::new(size, View::rows(x, inputs), weight, (to.at, to.step))
            .typed(kind, to.kind)
            .with_bias(n.bias(linear, to.kind));
        self.matmul(&match to.from {
            Some(from) => call.adding_to(from),
            None => call,
        })?;
        let Some((a, site)) = n.adapter.and_then(|a| Some((a, a.site(linear)?))) else {
            return Ok(());
        };
        let mut x = x;
        if let Some(by) = self.dropping(linear, &a, batch) {
            let room = low.dropped.numbers(&self.device, rows * inputs, kind)?;
            self.drop_numbers((x, kind), &by, (rows, inputs), (room, false))?;
            x = room;
        }
        let rank = a.table.rank;
        let place = |range: &std::ops::Range<usize>| (range.start * kind.bytes()) as u64;
        let kept = low.kept[linear.index].numbers(&self.device, rows * rank, kind)?;
        let down = View::turned(a.values + place(&site.down), inputs);
        let size = (rows, inputs, rank);
        let call = Call::new(size, View::rows(x, inputs), down, (kept, rank));
        self.matmul(&call.typed(kind, kind))?;
        let up = View::turned(a.values + place(&site.up), rank);
        let size = (rows, rank, outputs);
        self.matmul(
            &Call::new(size, View::rows(kept, rank), up, (to.at, to.step))
                .typed(kind, to.kind)
                .scaled(a.table.scale)
                .adding(true),
        )
    }

    /// Backward pass through [`Gpu::apply`]: to `dx` where it is wanted (0: it is not), to the base's
    /// gradient and to the adapter's.
    pub(super) fn apply_back(
        &self,
        layer: &Layer<'_>,
        (dy, step): (u64, usize),
        (dx, add): (u64, bool),
        low: &mut LowRank,
    ) -> Done {
        let (linear, n, batch, x) = (layer.linear, layer.n, layer.batch, layer.x);
        let (inputs, outputs, rows) = (linear.inputs, linear.outputs, batch.n.rows);
        let kind = n.kind();
        let trained = n.gradient(&linear.weight);
        if dx != 0 {
            let weight = View::rows(n.weight(linear), inputs);
            let size = (rows, outputs, inputs);
            let back = Call::new(size, View::rows(dy, step), weight, (dx, inputs))
                .typed(kind, kind)
                .adding(add);
            self.matmul(&match trained {
                Some(_) => back.sharing(Shared::First),
                None => back,
            })?;
        }
        if let Some(dw) = trained {
            let size = (outputs, rows, inputs);
            let (gradient, x) = (View::turned(dy, step), View::rows(x, inputs));
            let call = Call::new(size, gradient, x, (dw, inputs)).adding(true);
            self.matmul(&call.sharing(Shared::Second))?;
        }
        if let Some(bias) = &linear.bias
            && let Some(db) = n.gradient(bias)
        {
            self.add_column_sums((dy, step), None, (rows, outputs), (db, 0), &mut low.slabs)?;
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
        low: &mut LowRank,
    ) -> Done {
        let (linear, n, batch, x) = (layer.linear, layer.n, layer.batch, layer.x);
        let Some(site) = a.site(linear) else {
            return Ok(());
        };
        let (inputs, outputs, rows) = (linear.inputs, linear.outputs, batch.n.rows);
        let (rank, scale, kind) = (a.table.rank, a.table.scale, n.kind());
        let value = |range: &std::ops::Range<usize>| a.values + (range.start * kind.bytes()) as u64;
        let gradient_at = |range: &std::ops::Range<usize>| a.gradient + range.start as u64 * 4;
        let kept = low.kept[linear.index].at();
        let dropping = self.dropping(linear, a, batch);
        let gradient = low.gradient.numbers(&self.device, rows * rank, kind)?;
        let up = View::rows(value(&site.up), rank);
        let size = (rows, outputs, rank);
        let back = Call::new(size, View::rows(dy, step), up, (gradient, rank));
        self.matmul(&back.typed(kind, kind).scaled(scale))?;
        let room = match dropping {
            Some(_) => low.dropped.numbers(&self.device, rows * inputs, kind)?,
            None => 0,
        };
        if a.gradient != 0 {
            let to = (gradient_at(&site.up), rank);
            let (left, right) = (View::turned(dy, step), View::rows(kept, rank));
            let call = Call::new((outputs, rows, rank), left, right, to);
            self.matmul(
                &call
                    .typed(kind, NumberType::Single)
                    .scaled(scale)
                    .adding(true),
            )?;
            let mut x = x;
            if let Some(by) = &dropping {
                self.drop_numbers((x, kind), by, (rows, inputs), (room, false))?;
                x = room;
            }
            let to = (gradient_at(&site.down), inputs);
            let (left, right) = (View::turned(gradient, rank), View::rows(x, inputs));
            let call = Call::new((rank, rows, inputs), left, right, to);
            self.matmul(&call.typed(kind, NumberType::Single).adding(true))?;
        }
        if dx == 0 {
            return Ok(());
        }
        let down = View::rows(value(&site.down), inputs);
        let to = match dropping {
            Some(_) => room,
            None => dx,
        };
        let size = (rows, rank, inputs);
        let call = Call::new(size, View::rows(gradient, rank), down, (to, inputs));
        self.matmul(&call.typed(kind, kind).adding(dropping.is_none()))?;
        match &dropping {
            Some(by) => self.drop_numbers((room, kind), by, (rows, inputs), (dx, true)),
            None => Ok(()),
        }
    }
}
