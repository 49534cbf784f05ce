//! The head: log-probabilities of wanted tokens without writing down all logits, and tokens drawn where
//! the logits lie.

use mary_cuda::{Lent, NumberType, args};

use super::hopper::End;
use super::{Cuda, Linear, Pending, Scratch, Tensor, int};
use crate::kernels::{Draw, WantedToken};

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
    fn normalisers(
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

    pub(super) fn score(
        &self,
        (x, rows): (&Tensor, usize),
        head: &Linear,
        cap: Option<f32>,
        wanted: &[WantedToken],
    ) -> Pending {
        let nothing = Pending {
            lent: None,
            len: wanted.len(),
        };
        if wanted.is_empty() || rows == 0 {
            return nothing;
        }
        let pair = |w: &WantedToken| [w.row.cast_signed(), w.token.cast_signed()];
        let list: Vec<i32> = wanted.iter().flat_map(pair).collect();
        let Some(asked) = self.send(&list) else {
            return nothing;
        };
        let Some(mut out) = self.keep(self.lender.take(&self.device, wanted.len() * 4)) else {
            return nothing;
        };
        let mut scratch = self.lock();
        let cap = cap.unwrap_or(0.0);
        let normalisers = self.normalisers(&mut scratch, x, rows, head, cap);
        let (from, weights, bias) = (x.at(), head.weights_at(), head.bias_at());
        let (places, count, to) = (asked.at(), int(wanted.len()), out.at());
        let (width, parts, all) = (int(head.inputs), int(head.parts), normalisers);
        let words = args![
            from, weights, bias, all, places, count, width, parts, cap, to
        ];
        let name = format!("pick_{}", self.kind.letter());
        self.base(&name, (wanted.len().div_ceil(8), 1), 256, words);
        if !self.broken()
            && let Some(staged) = out.staged()
        {
            self.keep(staged.ask(wanted.len()));
        }
        Pending {
            lent: Some(out),
            len: wanted.len(),
        }
    }

    pub(super) fn answers(&self, mut pending: Pending) -> Vec<f32> {
        let len = pending.len;
        let nothing = || vec![f32::NAN; len];
        if self.broken() {
            return nothing();
        }
        let staged = pending.lent.as_mut().and_then(Lent::staged);
        let answer = staged.map(|s| s.answer(len));
        answer.and_then(|a| self.keep(a)).unwrap_or_else(nothing)
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
