//! Products with the kernels of `hopper.cu`, on the GPUs they were written for.

use mary_cuda::{Matrix, NumberType, args};

use crate::config::Activation;

use super::{Cuda, Linear, int};

/// As in `hopper.cu`: rows of a cluster's tile and of a block's, columns, blocks in a cluster.
const ROWS: usize = 128;
const BLOCK_ROWS: usize = 64;
const COLUMNS: usize = 256;
const CLUSTER: usize = 2;
const THREADS: usize = 384;
/// Tiles on their way, their barriers, and a piece for each warp that writes, from a round address on.
const SHARED: usize = 1024 + 5 * (BLOCK_ROWS + COLUMNS) * 128 + 5 * 16 + 8 * 16 * 144;

#[repr(C)]
#[derive(Clone, Copy)]
struct Shape {
    m: i32,
    n: i32,
    k: i32,
    cap: f32,
    activation: i32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Store(NumberType),
    /// Activated and stored in the type of the rows; the activation as `kernels.cu` numbers it.
    Activate(i32),
    /// Added to 32-bit numbers.
    Add,
    /// For each row and tile of columns, the largest number and the sum of exponentials.
    Exponentials,
}

impl Cuda {
    /// Whether this GPU and this layer suit the kernels.
    pub(super) fn hopper_takes(&self, layer: &Linear) -> bool {
        self.device.capability == (9, 0)
            && self.device.shared >= SHARED
            && self.kind != NumberType::Single
            && layer.inputs.is_multiple_of(8)
            && layer.outputs.is_multiple_of(8)
    }

    /// Whether they are the better choice for so many rows: few rows are few tiles, which leave much of the
    /// GPU idle, and cuBLASLt is as fast where sums are long.
    pub(super) fn hopper_suits(&self, rows: usize, layer: &Linear, library: bool) -> bool {
        let tiles = rows.div_ceil(ROWS) * layer.outputs.div_ceil(COLUMNS);
        let busy = 2 * CLUSTER * tiles >= self.device.multiprocessors;
        let short = layer.inputs <= 1024 && rows >= 1024;
        self.hopper_takes(layer) && busy && (!library || short)
    }

    /// Whether a product can be activated before it is written down.
    pub(super) fn hopper_activates(kind: Activation) -> bool {
        use Activation::{Gelu, GeluTanh, Relu};
        matches!(kind, Gelu | GeluTanh | Relu)
    }

    /// Columns of a tile, one result each where exponentials are summed.
    pub(super) fn hopper_tiles(layer: &Linear) -> usize {
        layer.outputs.div_ceil(COLUMNS)
    }

    /// `out = x · Wᵀ + b`, in one of three ways.
    pub(super) fn hopper_multiply(
        &self,
        x: u64,
        rows: usize,
        layer: &Linear,
        (out, end): (u64, End),
        cap: f32,
    ) {
        if self.broken() || rows == 0 {
            return;
        }
        let width = layer.inputs;
        let kind = self.kind;
        let of = |at: u64, rows: usize| Matrix {
            at,
            kind,
            rows,
            width,
        };
        let map = |at, rows, tile| self.keep(self.device.map(of(at, rows), tile));
        let left = map(x, rows, BLOCK_ROWS);
        let right = map(layer.weights_at(), layer.outputs, COLUMNS / CLUSTER);
        let (Some(left), Some(right)) = (left, right) else {
            return;
        };
        let shape = Shape {
            m: int(rows),
            n: int(layer.outputs),
            k: int(width),
            cap,
            activation: match end {
                End::Activate(kind) => kind,
                _ => 0,
            },
        };
        let (part, letter) = match kind {
            NumberType::F16 => ("hopper_h", 'h'),
            _ => ("hopper_b", 'b'),
        };
        let what = match end {
            End::Store(kind) => format!("store_{}", kind.letter()),
            End::Activate(_) => format!("activate_{letter}"),
            End::Add => "add_s".to_owned(),
            End::Exponentials => "exponentials".to_owned(),
        };
        let name = format!("hopper_{letter}_{what}");
        let clusters = rows.div_ceil(ROWS) * layer.outputs.div_ceil(COLUMNS);
        let most = self.device.multiprocessors / CLUSTER;
        let grid = (clusters.min(most.max(1)) * CLUSTER, 1);
        let words = args![left, right, layer.bias_at(), out, shape];
        self.launch((part, &name), grid, (THREADS, SHARED), words);
    }
}
