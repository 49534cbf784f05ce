//! Every kernel that works on rows or on single numbers, in one table: norms, activations, embeddings,
//! column sums, dropout, the loss, the gradient's norm.

use std::ffi::c_void;

use mary_cuda::{NumberType, args};

use super::buffers::Buffer;
use super::{Done, Gpu, TRAIN, int};
use crate::net::kernels::NormKind;

/// How the threads of a kernel are dealt out.
#[derive(Clone, Copy)]
pub(super) enum Threads {
    /// 128 for every row.
    Rows(usize),
    /// 512 for every row of logits.
    Logits(usize),
    /// One for every number.
    Each(usize),
    /// One for every sixteen bytes of so many numbers.
    Vectors(usize),
    /// 256 for every cell of a grid.
    Grid(usize, usize),
}

/// A method for every kernel, with its parameters in order. The number type picks the kernel's variant.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*);)*) => {
        impl Gpu {
            $($(#[$doc])*
            #[allow(clippy::too_many_arguments, reason = "a kernel has the parameters it has")]
            pub(super) fn $name(&self, by: (Threads, NumberType), $($argument: $type),*) -> Done {
                self.launch(stringify!($name), by, args![$($argument),*])
            })*
        }
    };
}

kernels! {
    /// The rows of a table that `tokens` names.
    embed(table: u64, tokens: u64, width: i32, out: u64);
    /// Adds gradients to the rows of their tokens, group by group.
    embed_back(gradient: u64, order: u64, starts: u64, which: u64, width: i32, table: u64);
    gather_rows(from: u64, list: u64, width: i32, to: u64);
    scatter_rows(from: u64, list: u64, width: i32, to: u64);
    norm_rows(x: u64, weight: u64, bias: u64, width: i32, centred: i32, eps: f32, y: u64, moments: u64);
    norm_rows_back(x: u64, moments: u64, weight: u64, dy: u64, width: i32, centred: i32, base: u64, dx: u64, copy: u64);
    column_sums(dy: u64, step: i32, x: u64, moments: u64, rows: i32, width: i32, slab: i32, sums: u64, products: u64);
    add_slabs(from: u64, slabs: i32, width: i32, to: u64);
    /// Exact GELU; `x` becomes the derivative.
    gelu(x: u64, y: u64, count: u64);
    /// GELU by tanh; `x` becomes the derivative.
    gelu_tanh(x: u64, y: u64, count: u64);
    /// `silu(gate) · up`; both become their derivatives.
    gated_silu(gate: u64, up: u64, y: u64, count: u64);
    multiply(a: u64, b: u64, out: u64, count: u64);
    drop(x: u64, packs: u64, places: u64, seeds: u64, salt: u64, limit: u64, keep: f32, width: i32, add: i32, out: u64);
    /// Gradients of the logits, in their place or another; every row's loss is kept.
    cross_entropy(logits: u64, vocabulary: i32, targets: u64, weights: u64, scale: f32, losses: u64, gradients: u64);
    /// Log-probability of every row's target, and whether it is the argmax.
    answers(logits: u64, vocabulary: i32, targets: u64, out: u64);
    add_losses(losses: u64, weights: u64, count: i32, total: u64);
    shorten(from: u64, to: u64, count: u64);
    /// Sums of squares, chunk by chunk.
    squares(numbers: u64, count: u64, sums: u64);
    /// The norm from these sums, and the factor that clips the gradient.
    gradient_norm(sums: u64, count: i32, clip: f64, norm: u64, factor: u64);
}

#[derive(Clone, Copy)]
pub(super) struct NormAt {
    pub(super) weight: u64,
    pub(super) bias: u64,
    pub(super) width: usize,
    pub(super) kind: NormKind,
}

#[derive(Clone, Copy)]
pub(super) struct Dropout {
    /// The pack of every row, its place in the pack, the packs' seeds.
    pub(super) places: (u64, u64, u64),
    pub(super) salt: u64,
    pub(super) share: f32,
}

impl Gpu {
    fn launch(
        &self,
        name: &str,
        (threads, kind): (Threads, NumberType),
        words: &mut [*mut c_void],
    ) -> Done {
        let (grid, block) = match threads {
            Threads::Rows(rows) => ((rows, 1), 128),
            Threads::Logits(rows) => ((rows, 1), 512),
            Threads::Each(count) => ((count.div_ceil(256), 1), 256),
            Threads::Vectors(count) => {
                let threads = count.div_ceil(16 / kind.bytes());
                ((threads.div_ceil(256), 1), 256)
            }
            Threads::Grid(columns, rows) => ((columns, rows), 256),
        };
        let name = match kind {
            NumberType::Single => name.to_owned(),
            _ => format!("{name}_b"),
        };
        self.device.launch((TRAIN, &name), grid, block, 0, words)
    }

    pub(super) fn norm(
        &self,
        x: u64,
        rows: usize,
        by: NormAt,
        (y, kind): (u64, NumberType),
        moments: u64,
    ) -> Done {
        let (width, centred, eps) = (int(by.width), i32::from(by.kind.centred), by.kind.eps);
        let rows = (Threads::Rows(rows), kind);
        self.norm_rows(rows, x, by.weight, by.bias, width, centred, eps, y, moments)
    }

    /// `dx = base + the gradient through a norm`; no base where it is 0, and `dx` again in the type of `dy`
    /// where there is a place for it.
    pub(super) fn norm_back(
        &self,
        (x, moments, rows): (u64, u64, usize),
        by: NormAt,
        (dy, kind): (u64, NumberType),
        (base, dx, copy): (u64, u64, u64),
    ) -> Done {
        let (width, centred, weight) = (int(by.width), i32::from(by.kind.centred), by.weight);
        let rows = (Threads::Rows(rows), kind);
        self.norm_rows_back(rows, x, moments, weight, dy, width, centred, base, dx, copy)
    }

    /// Adds the column sums of `dy` to `sums` (0: not wanted), and those of `dy` times the normalised
    /// rows to `products`, where rows and moments are given.
    pub(super) fn add_column_sums(
        &self,
        (dy, step): (u64, usize),
        normed: Option<(u64, u64)>,
        (rows, width): (usize, usize),
        (sums, products): (u64, u64),
        buffer: &mut Buffer,
    ) -> Done {
        let slab = rows.div_ceil(64).max(64);
        let slabs = rows.div_ceil(slab);
        let at = buffer.singles(&self.device, 2 * slabs * width)?;
        let (a, b) = (at, at + (slabs * width * 4) as u64);
        let grid = Threads::Grid(width.div_ceil(32), slabs);
        let (x, moments) = normed.unwrap_or((0, 0));
        let by = (grid, NumberType::Single);
        let (step, rows, wide, slab) = (int(step), int(rows), int(width), int(slab));
        self.column_sums(by, dy, step, x, moments, rows, wide, slab, a, b)?;
        for (from, to) in [(a, sums), (b, products)] {
            if to != 0 {
                let by = (Threads::Each(width), NumberType::Single);
                self.add_slabs(by, from, int(slabs), wide, to)?;
            }
        }
        Ok(())
    }

    /// Rows with a share of their numbers dropped and the rest scaled up.
    pub(super) fn drop_numbers(
        &self,
        (x, kind): (u64, NumberType),
        by: &Dropout,
        (rows, width): (usize, usize),
        (out, add): (u64, bool),
    ) -> Done {
        let (packs, places, seeds) = by.places;
        let keep = 1.0f32 / (1.0 - by.share);
        let limit = (f64::from(by.share) * 4_294_967_296.0) as u64;
        let (salt, width, add) = (by.salt, int(width), i32::from(add));
        let rows = (Threads::Rows(rows), kind);
        self.drop(
            rows, x, packs, places, seeds, salt, limit, keep, width, add, out,
        )
    }

    pub(super) fn round(&self, from: u64, to: u64, count: usize) -> Done {
        let by = (Threads::Each(count), NumberType::Single);
        self.shorten(by, from, to, count as u64)
    }
}
