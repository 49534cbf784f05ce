//! Log-probabilities without writing down all logits, and tokens drawn where the logits lie.

use mary_cuda::{NumberType, args};

use super::hopper::End;
use super::{Cuda, Linear, Scratch, Tensor, int};
use crate::kernels::Draw;

/// Logits kept at once where they are written down at all: what stays in the GPU's cache.
const LOGITS: usize = 13 << 20;

/// A draw as `kernels.cu` lays it out.
fn words_of(draw: &Draw) -> [i32; 8] {
    let parts = [
        draw.inverse_temperature.to_bits(),
        draw.top_p.to_bits(),
        draw.random,
        u64::from(draw.top_k),
    ];
    let mut words = [0; 8];
    for (pair, part) in words.chunks_exact_mut(2).zip(parts) {
        pair[0] = part as u32 as i32;
        pair[1] = (part >> 32) as i32;
    }
    words
}

impl Cuda {
    /// The logarithm of the sum of exponentials of each row's logits.
    pub(super) fn normalisers(
        &self,
        scratch: &mut Scratch,
        x: &Tensor,
        rows: usize,
        head: &Linear,
        cap: f32,
    ) -> u64 {
        let out = self.grow(&mut scratch.normalisers, rows * 4);
        let operand = self.operand(scratch, x, rows * head.inputs, head);
        let (weights, bias) = (head.weights_at(), head.bias_at());
        if self.hopper_takes(head) {
            let tiles = Self::hopper_tiles(head);
            let parts = self.grow(&mut scratch.parts, rows * tiles * 8);
            self.hopper_multiply(operand, rows, head, (parts, End::Exponentials), cap);
            self.gather_exponentials((parts, tiles), rows, out);
            return out;
        }
        if head.inputs.is_multiple_of(8) && !self.library_takes(head) {
            let tiling = self.tiling(rows, head.outputs);
            let tiles = head.outputs.div_ceil(tiling.columns);
            let parts = self.grow(&mut scratch.parts, rows * tiles * 8);
            let shape = self.shape(rows, head, cap);
            let letter = self.product_kind().letter();
            let name = (
                self.product_part(),
                &*format!("{}_{letter}_exponentials", tiling.name),
            );
            let words = args![operand, weights, bias, parts, shape];
            let grid = (rows.div_ceil(tiling.rows) * tiles, 1);
            self.launch(name, grid, (tiling.threads, tiling.shared), words);
            self.gather_exponentials((parts, tiles), rows, out);
            return out;
        }
        // Blocks of logits that lie in memory, so few that they stay in the GPU's cache.
        let step = LOGITS / head.outputs.max(1);
        let step = (step / 128 * 128).max(128);
        for first in (0..rows).step_by(step) {
            let rows = step.min(rows - first);
            let logits = self.grow(&mut scratch.parts, rows * head.outputs * 4);
            let each = self.product_kind().bytes() * head.inputs * self.row_parts();
            let from = operand + (first * each) as u64;
            self.multiply(from, rows, head, (logits, NumberType::Single), false);
            let to = out + (first * 4) as u64;
            let words = args![logits, int(head.outputs), cap, to];
            self.base("normalise_logits", (rows, 1), 512, words);
        }
        out
    }

    /// The normaliser of each row from what its tiles of columns left.
    fn gather_exponentials(&self, (parts, tiles): (u64, usize), rows: usize, out: u64) {
        let words = args![parts, int(tiles), int(rows), out];
        self.base("normalise", (rows.div_ceil(8), 1), 256, words);
    }

    pub(super) fn drawn(
        &self,
        logits: &Tensor,
        (width, cap): (usize, Option<f32>),
        draws: &[Draw],
    ) -> Option<Vec<Option<u32>>> {
        let rows = draws.len();
        let list: Vec<i32> = draws.iter().flat_map(words_of).collect();
        let asked = self.send(&list)?;
        let out = self.keep(self.lender.take(&self.device, rows * 4))?;
        let cap = cap.unwrap_or(0.0);
        let words = args![logits.at(), int(width), cap, asked.at(), out.at()];
        self.base("draw", (rows, 1), 512, words);
        let token = |x: f32| u32::try_from(x.to_bits().cast_signed()).ok();
        Some(self.fetched(out, rows)?.into_iter().map(token).collect())
    }
}
