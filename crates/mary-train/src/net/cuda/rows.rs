//! Kernels on rows and on single numbers: norms, activations, embeddings, column sums, dropout, the
//! loss.

use mary_contract::ModelError;
use mary_cuda::{Kind, args};

use super::room::Room;
use super::{Gpu, TRAIN, int};
use crate::net::kernels::NormKind;

type Done = Result<(), ModelError>;

/// Addresses of a norm's numbers.
#[derive(Clone, Copy)]
pub(super) struct NormAt {
    pub(super) weight: u64,
    pub(super) bias: u64,
    pub(super) width: usize,
    pub(super) kind: NormKind,
}

/// Which numbers a pack drops.
#[derive(Clone, Copy)]
pub(super) struct Dropping {
    /// The pack of every row, its place in the pack, the packs' seeds.
    pub(super) places: (u64, u64, u64),
    pub(super) salt: u64,
    pub(super) share: f32,
}

impl Gpu {
    /// The kernel for rows of a type.
    fn of(name: &str, kind: Kind) -> String {
        match kind {
            Kind::Single => name.to_owned(),
            _ => format!("{name}_b"),
        }
    }

    /// One thread for sixteen bytes.
    fn runs(
        &self,
        (name, kind): (&str, Kind),
        count: usize,
        words: &mut [*mut std::ffi::c_void],
    ) -> Done {
        let threads = count.div_ceil(16 / kind.bytes());
        self.each(&Self::of(name, kind), threads, words)
    }

    fn rows(&self, name: &str, rows: usize, words: &mut [*mut std::ffi::c_void]) -> Done {
        self.device.launch((TRAIN, name), (rows, 1), 128, 0, words)
    }

    fn each(&self, name: &str, count: usize, words: &mut [*mut std::ffi::c_void]) -> Done {
        let grid = (count.div_ceil(256), 1);
        self.device.launch((TRAIN, name), grid, 256, 0, words)
    }

    /// The rows of a table that `tokens` names.
    pub(super) fn embed(
        &self,
        (table, kind): (u64, Kind),
        (tokens, rows): (u64, usize),
        width: usize,
        out: u64,
    ) -> Done {
        let width = int(width);
        let words = args![table, tokens, width, out];
        self.rows(&Self::of("embed", kind), rows, words)
    }

    /// Adds slopes to the rows of their tokens; `places` are order, starts and tokens of the groups.
    pub(super) fn embed_back(
        &self,
        slope: u64,
        (order, starts, which): (u64, u64, u64),
        groups: usize,
        width: usize,
        table: u64,
    ) -> Done {
        let grid = (groups, width.div_ceil(32));
        let width = int(width);
        let words = args![slope, order, starts, which, width, table];
        self.device
            .launch((TRAIN, "embed_back"), grid, 256, 0, words)
    }

    /// Copies chosen rows side by side.
    pub(super) fn gather(
        &self,
        (from, kind): (u64, Kind),
        (list, rows): (u64, usize),
        width: usize,
        to: u64,
    ) -> Done {
        let width = int(width);
        let words = args![from, list, width, to];
        self.rows(&Self::of("gather_rows", kind), rows, words)
    }

    /// Copies rows to chosen places.
    pub(super) fn scatter(
        &self,
        (from, kind): (u64, Kind),
        (list, rows): (u64, usize),
        width: usize,
        to: u64,
    ) -> Done {
        let width = int(width);
        let words = args![from, list, width, to];
        self.rows(&Self::of("scatter_rows", kind), rows, words)
    }

    /// Normalises rows and keeps their moments.
    pub(super) fn norm(
        &self,
        x: u64,
        rows: usize,
        by: NormAt,
        (y, kind): (u64, Kind),
        moments: u64,
    ) -> Done {
        let (width, centred, eps) = (int(by.width), i32::from(by.kind.centred), by.kind.eps);
        let (weight, bias) = (by.weight, by.bias);
        let words = args![x, weight, bias, width, centred, eps, y, moments];
        self.rows(&Self::of("norm_rows", kind), rows, words)
    }

    /// `dx = base + the slope through a norm`; no base where it is 0, and `dx` again in the type of `dy`
    /// where there is a place for it.
    pub(super) fn norm_back(
        &self,
        (x, moments, rows): (u64, u64, usize),
        by: NormAt,
        (dy, kind): (u64, Kind),
        (base, dx, copy): (u64, u64, u64),
    ) -> Done {
        let (width, centred, weight) = (int(by.width), i32::from(by.kind.centred), by.weight);
        let words = args![x, moments, weight, dy, width, centred, base, dx, copy];
        self.rows(&Self::of("norm_rows_back", kind), rows, words)
    }

    /// Adds the column sums of `dy` to `sums` (0: not wanted), and those of `dy` times the normalised
    /// rows to `products`, where rows and moments are given.
    pub(super) fn column_sums(
        &self,
        (dy, step): (u64, usize),
        normed: Option<(u64, u64)>,
        (rows, width): (usize, usize),
        (sums, products): (u64, u64),
        room: &mut Room,
    ) -> Done {
        let slab = rows.div_ceil(64).max(64);
        let slabs = rows.div_ceil(slab);
        let at = room.size(&self.device, 2 * slabs * width)?;
        let (of_sums, of_products) = (at, at + (slabs * width * 4) as u64);
        let grid = (width.div_ceil(32), slabs);
        let (x, moments) = normed.unwrap_or((0, 0));
        let (dy_step, count, wide, slab) = (int(step), int(rows), int(width), int(slab));
        let words = args![
            dy,
            dy_step,
            x,
            moments,
            count,
            wide,
            slab,
            of_sums,
            of_products
        ];
        self.device
            .launch((TRAIN, "column_sums"), grid, 256, 0, words)?;
        let slabs = int(slabs);
        for (from, to) in [(of_sums, sums), (of_products, products)] {
            if to != 0 {
                self.each("add_slabs", width, args![from, slabs, wide, to])?;
            }
        }
        Ok(())
    }

    /// GELU, exact or by tanh; `x` becomes the derivative.
    pub(super) fn gelu(&self, exact: bool, (x, kind): (u64, Kind), y: u64, len: usize) -> Done {
        let name = if exact { "gelu" } else { "gelu_tanh" };
        let count = len as u64;
        self.runs((name, kind), len, args![x, y, count])
    }

    /// `silu(gate) · up`; both become their derivatives.
    pub(super) fn gated_silu(
        &self,
        (gate, kind): (u64, Kind),
        up: u64,
        y: u64,
        len: usize,
    ) -> Done {
        let count = len as u64;
        self.runs(("gated_silu", kind), len, args![gate, up, y, count])
    }

    /// `out = a · b`, number by number.
    pub(super) fn times(&self, (a, kind): (u64, Kind), b: u64, out: u64, len: usize) -> Done {
        let count = len as u64;
        self.runs(("multiply", kind), len, args![a, b, out, count])
    }

    /// Rows with a share of their numbers dropped and the rest scaled up.
    pub(super) fn drop_numbers(
        &self,
        (x, kind): (u64, Kind),
        by: &Dropping,
        (rows, width): (usize, usize),
        (out, add): (u64, bool),
    ) -> Done {
        let (packs, places, seeds) = by.places;
        let keep = 1.0f32 / (1.0 - by.share);
        let limit = (f64::from(by.share) * 4_294_967_296.0) as u64;
        let (salt, width, add) = (by.salt, int(width), i32::from(add));
        let words = args![x, packs, places, seeds, salt, limit, keep, width, add, out];
        self.rows(&Self::of("drop", kind), rows, words)
    }

    /// Slopes of the logits, in their place or another; every row's loss is kept.
    pub(super) fn cross_entropy(
        &self,
        (logits, rows): (u64, usize),
        vocabulary: usize,
        (targets, weights): (u64, u64),
        scale: f32,
        (losses, slopes, kind): (u64, u64, Kind),
    ) -> Done {
        let vocabulary = int(vocabulary);
        let words = args![logits, vocabulary, targets, weights, scale, losses, slopes];
        let name = Self::of("cross_entropy", kind);
        self.device.launch((TRAIN, &name), (rows, 1), 512, 0, words)
    }

    /// Log-probability of every row's target, and whether none is greater.
    pub(super) fn answers(
        &self,
        (logits, rows): (u64, usize),
        vocabulary: usize,
        targets: u64,
        out: u64,
    ) -> Done {
        let vocabulary = int(vocabulary);
        let words = args![logits, vocabulary, targets, out];
        self.device
            .launch((TRAIN, "answers"), (rows, 1), 512, 0, words)
    }

    /// Adds the weighted losses to a total.
    pub(super) fn add_losses(
        &self,
        (losses, weights): (u64, u64),
        count: usize,
        total: u64,
    ) -> Done {
        let count = int(count);
        let words = args![losses, weights, count, total];
        self.device
            .launch((TRAIN, "add_losses"), (1, 1), 256, 0, words)
    }
}
