//! Products of rows and weights: by cuBLASLt where it is there, by the program's own kernels otherwise.

use mary_cuda::{Factor, NumberType, Places, Product, args};

use super::hopper::End;
use super::{Cuda, Linear, Scratch, Tensor, int, place_of};
use crate::errors::internal;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ProductShape {
    pub(super) m: i32,
    pub(super) n: i32,
    pub(super) k: i32,
    pub(super) passes: i32,
    pub(super) lda: i32,
    pub(super) ldb: i32,
    pub(super) cap: f32,
}

#[derive(Clone, Copy)]
pub(super) struct Tiling {
    pub(super) name: &'static str,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) threads: usize,
    pub(super) shared: usize,
}

/// The parts of a row and of the weights that each pass multiplies, least products first; the first
/// parts are the largest. `kernels.cu` has the same list.
const PASSES: [(usize, usize); 6] = [(2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)];
/// The same where the weights have one part.
const ROW_PASSES: [(usize, usize); 3] = [(2, 0), (1, 0), (0, 0)];

/// The matrix units cut off low bits while they add, so that the error grows with the length of a sum:
/// in products that are to be exact, sums of the leading parts are this long at most and are added up
/// in float32.
const CHUNK: usize = 2048;

/// One product of the library: parts of both sides, from a place on, so many numbers wide.
struct Step {
    of_x: usize,
    of_weights: usize,
    first: usize,
    inner: usize,
}

impl Cuda {
    pub(super) fn row_parts(&self) -> usize {
        if self.kind == NumberType::Single {
            3
        } else {
            1
        }
    }

    /// What is multiplied one after the other.
    fn passes(&self, layer: &Linear) -> &'static [(usize, usize)] {
        match (self.row_parts(), layer.parts) {
            (1, _) => &PASSES[5..],
            (_, 1) => &ROW_PASSES,
            _ => &PASSES,
        }
    }

    /// What the library multiplies: the leading parts in chunks.
    fn steps(&self, layer: &Linear) -> Vec<Step> {
        let mut steps = vec![];
        for &(of_x, of_weights) in self.passes(layer) {
            let leading = (of_x, of_weights) == (0, 0) && self.row_parts() > 1;
            let stretch = if leading { CHUNK } else { layer.inputs.max(1) };
            for first in (0..layer.inputs).step_by(stretch) {
                steps.push(Step {
                    of_x,
                    of_weights,
                    first,
                    inner: stretch.min(layer.inputs - first),
                });
            }
        }
        steps
    }

    /// The rows in the form a product takes them: as they are, rounded, or split in three.
    pub(super) fn operand(
        &self,
        scratch: &mut Scratch,
        x: &Tensor,
        len: usize,
        layer: &Linear,
    ) -> u64 {
        if self.row_parts() == 3 {
            let to = self.grow(&mut scratch.rows, len * 6);
            let words = args![x.at(), to, int(layer.inputs), len as u64];
            self.base("split", (len.div_ceil(256), 1), 256, words);
            return to;
        }
        self.own(scratch, x, len)
    }

    /// Numbers in the kind that is computed with.
    pub(super) fn own(&self, scratch: &mut Scratch, x: &Tensor, len: usize) -> u64 {
        if x.kind == self.kind {
            return x.at();
        }
        let to = self.grow(&mut scratch.rows, len * self.kind.bytes());
        let name = format!("cast_{}{}", x.letter(), self.kind.letter());
        let words = args![x.at(), to, len as u64];
        self.base(&name, (len.div_ceil(256), 1), 256, words);
        to
    }

    pub(super) fn product_kind(&self) -> NumberType {
        match self.kind {
            NumberType::Single => NumberType::Bf16,
            kind => kind,
        }
    }

    /// Whether shared memory is too small for the larger tiles.
    fn lean(&self) -> bool {
        self.device.shared < 4 * 48 * 1024
    }

    pub(super) fn tiling(&self, rows: usize, columns: usize) -> Tiling {
        let large = rows.div_ceil(128) * columns.div_ceil(256);
        let lean = self.lean();
        if rows > 64 && large * 4 >= self.device.multiprocessors * 3 {
            Tiling {
                name: "product_large",
                rows: 128,
                columns: 256,
                threads: 256,
                shared: if lean { 2 } else { 4 } * 48 * 1024,
            }
        } else {
            Tiling {
                name: "product_small",
                rows: 64,
                columns: 64,
                threads: 128,
                shared: 3 * 16 * 1024,
            }
        }
    }

    pub(super) fn product_part(&self) -> &'static str {
        match (self.product_kind(), self.lean()) {
            (NumberType::F16, false) => "product_h",
            (NumberType::F16, true) => "product_h_lean",
            (_, false) => "product_b",
            (_, true) => "product_b_lean",
        }
    }

    pub(super) fn shape(&self, rows: usize, layer: &Linear, cap: f32) -> ProductShape {
        ProductShape {
            m: int(rows),
            n: int(layer.outputs),
            k: int(layer.inputs),
            passes: int(self.passes(layer).len()),
            lda: int(layer.inputs * self.row_parts()),
            ldb: int(layer.inputs * layer.parts),
            cap,
        }
    }

    /// Whether the library takes products of this layer.
    pub(super) fn library_takes(&self, layer: &Linear) -> bool {
        self.blas.is_some() && layer.inputs.is_multiple_of(8) && layer.outputs.is_multiple_of(8)
    }

    /// Multiplies with the library; false where it is not there or has nothing for the first pass.
    fn by_library(
        &self,
        x: u64,
        rows: usize,
        layer: &Linear,
        (out, kind): (u64, NumberType),
        add: bool,
    ) -> bool {
        let Some(blas) = self.blas.as_ref().filter(|_| self.library_takes(layer)) else {
            return false;
        };
        let bias = match kind {
            NumberType::Single => layer.bias_at(),
            _ => place_of(&layer.short_bias),
        };
        let steps = self.steps(layer);
        for (i, step) in steps.iter().enumerate() {
            let last = i + 1 == steps.len();
            let product = Product {
                rows,
                columns: layer.outputs,
                inner: step.inner,
                left: Factor::rows(layer.inputs * self.row_parts()),
                right: Factor::transposed(layer.inputs * layer.parts),
                step: layer.outputs,
                kind: self.product_kind(),
                out: kind,
                bias: layer.bias.is_some() && last,
                add: add || i > 0,
                aligned: 256,
            };
            let place = |part: usize| ((part * layer.inputs + step.first) * 2) as u64;
            let places = Places {
                left: x + place(step.of_x),
                right: layer.weights_at() + place(step.of_weights),
                bias,
                from: out,
                out,
                scale: 1.0,
            };
            if !blas.multiply(product, places) {
                if i > 0 {
                    let error = internal("cuBLASLt stopped in the middle of a product");
                    self.keep::<()>(Err(error.hint("--model-arg matmul=own does without it")));
                }
                return i > 0;
            }
        }
        true
    }

    /// `out = x · Wᵀ + b` or `out += …`, with the rows as the product takes them.
    pub(super) fn multiply(
        &self,
        x: u64,
        rows: usize,
        layer: &Linear,
        out: (u64, NumberType),
        add: bool,
    ) {
        if self.broken() || rows == 0 {
            return;
        }
        let (weights, bias) = (layer.weights_at(), layer.bias_at());
        let (to, out_kind) = out;
        let end = match (add, out_kind) {
            (false, kind) => Some(End::Store(kind)),
            (true, NumberType::Single) => Some(End::Add),
            (true, _) => None,
        };
        if let Some(end) = end
            && self.hopper_suits(rows, layer, self.library_takes(layer))
        {
            return self.hopper_multiply(x, rows, layer, (to, end), 0.0);
        }
        if self.by_library(x, rows, layer, out, add) {
            return;
        }
        let shape = self.shape(rows, layer, 0.0);
        let (from, into) = (self.product_kind().letter(), out_kind.letter());
        if !layer.inputs.is_multiple_of(8) {
            let grid = ((rows * layer.outputs).div_ceil(256), 1);
            let words = args![x, weights, bias, to, shape, i32::from(add)];
            return self.base(&format!("product_plain_{from}{into}"), grid, 256, words);
        }
        let tiling = self.tiling(rows, layer.outputs);
        let what = if add { "add" } else { "store" };
        let name = format!("{}_{from}_{what}_{into}", tiling.name);
        let grid = rows.div_ceil(tiling.rows) * layer.outputs.div_ceil(tiling.columns);
        let words = args![x, weights, bias, to, shape];
        let name = (self.product_part(), name.as_str());
        self.launch(name, (grid, 1), (tiling.threads, tiling.shared), words);
    }
}
