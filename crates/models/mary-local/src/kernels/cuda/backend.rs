//! The GPU as a device of the transformer: every call of [`Backend`].

use std::sync::PoisonError;

use mary_contract::ModelError;
use mary_cuda::{Memory, NumberType, args};

use super::hopper::End;
use super::{BASE, Cache, Cuda, Linear, Pending, Plan, Rotary, Table, Tensor, Vector, int, plan};
use crate::batch::Batch;
use crate::config::{Activation, Norm, Rope};
use crate::kernels::{
    AttentionCall, Backend, Draw, Extent, Groups, Heads, NormOf, Spans, WantedToken, Weights,
};

/// An activation as `kernels.cu` numbers it.
fn number_of(kind: Activation) -> i32 {
    match kind {
        Activation::Gelu => 0,
        Activation::GeluTanh => 1,
        Activation::QuickGelu => 2,
        Activation::Silu => 3,
        Activation::Relu => 4,
    }
}

impl Backend for Cuda {
    type Tensor = Tensor;
    type Linear = Linear;
    type Vector = Vector;
    type Table = Table;
    type Cache = Cache;
    type Plan<'a> = Plan;
    type Rotary = Rotary;
    type Pending = Pending;

    fn check(&self) -> Result<(), ModelError> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take().map_or(Ok(()), Err)
    }

    fn free_memory(&self) -> Option<u64> {
        self.device.free()
    }

    fn best_rows(&self) -> usize {
        16_384
    }

    fn ahead(&self) -> usize {
        1
    }

    fn cache_number(&self) -> usize {
        self.kind.bytes()
    }

    fn takes_stored(&self) -> bool {
        true
    }

    fn loaded(&self) {
        self.uploader.release();
    }

    fn prepare(&self, parts: Vec<Weights>, bias: Option<Vec<f32>>) -> Linear {
        let (weights, shape) = self.bring_parts(parts);
        let short_bias = match &bias {
            Some(bias) if self.kind != NumberType::Single => {
                let memory = self.keep(self.device.alloc(bias.len() * 2));
                self.bring(bias, 1, memory.as_ref().map_or(0, Memory::at), 1);
                memory
            }
            _ => None,
        };
        Linear {
            weights,
            outputs: shape.outputs,
            inputs: shape.inputs,
            parts: shape.parts,
            bias: bias.map(|b| self.vector(b)),
            short_bias,
        }
    }

    fn vector(&self, x: Vec<f32>) -> Vector {
        let memory = self.keep(self.device.alloc(x.len() * 4));
        if let Some(memory) = &memory {
            self.keep(self.device.write(&x, memory.at()));
        }
        Vector {
            memory,
            len: x.len(),
        }
    }

    fn table(&self, data: Vec<f32>, width: usize) -> Table {
        let memory = self.keep(self.device.alloc(data.len() * self.kind.bytes()));
        if let Some(memory) = &memory {
            if self.kind == NumberType::Single {
                self.keep(self.device.write(&data, memory.at()));
            } else {
                self.bring(&data, width, memory.at(), 1);
            }
        }
        Table { memory, width }
    }

    fn cache(&self, layers: usize, rows: usize, width: usize) -> Cache {
        let bytes = 2 * layers * rows * width * self.kind.bytes();
        Cache {
            memory: self.keep(self.device.alloc(bytes)),
            layers,
            rows,
            width,
        }
    }

    fn move_rows(&self, cache: &mut Cache, moves: &[(usize, usize)]) {
        self.rearrange(cache, moves);
    }

    fn sees_both_ways(&self) -> bool {
        true
    }

    fn plan(&self, batch: &Batch, heads: &Heads) -> Plan {
        let numbers = plan::Numbers::new(batch, heads.group());
        Plan::new(&numbers, self.send(&numbers.all))
    }

    fn rotary(&self, rope: &Rope, positions: &[usize]) -> Rotary {
        let most = positions.iter().max().map_or(0, |p| p + 1);
        Rotary {
            angles: self.angles(rope, most),
            places: None,
        }
    }

    fn rotary_along(&self, rope: &Rope, turns: &[[u32; 3]], axes: &[u8]) -> Option<Rotary> {
        let places: Vec<i32> = (0..turns.len()).map(int).collect();
        Some(Rotary {
            angles: self.angles_along(rope, turns, axes),
            places: self.send(&places),
        })
    }

    fn upload(&self, x: &[f32], to: &mut Tensor) {
        let at = self.room(to, x.len(), NumberType::Single);
        if !self.broken() {
            self.keep(self.device.write(x, at));
        }
    }

    fn download(&self, x: &Tensor, len: usize) -> Vec<f32> {
        let mut scratch = self.lock();
        let mut at = x.at();
        if x.kind != NumberType::Single {
            let to = self.grow(&mut scratch.rows, len * 4);
            let (name, count) = (format!("cast_{}s", x.kind.letter()), len as u64);
            self.launch(
                (BASE, &name),
                (len.div_ceil(256), 1),
                256,
                args![at, to, count],
            );
            at = to;
        }
        if self.broken() {
            return vec![f32::NAN; len];
        }
        let read = self.keep(self.device.read(at, len));
        read.unwrap_or_else(|| vec![f32::NAN; len])
    }

    fn embed(&self, plan: &Plan, table: &Table, scale: f32, to: &mut Tensor) {
        let out = self.room(to, plan.rows * table.width, NumberType::Single);
        let (from, tokens, width) = (
            table.memory.as_ref().map_or(0, Memory::at),
            plan.tokens(),
            int(table.width),
        );
        let name = format!("embed_{}", self.kind.letter());
        let words = args![from, tokens, width, scale, out];
        self.launch((BASE, &name), (plan.rows, 1), 128, words);
    }

    fn add_positions(&self, plan: &Plan, table: &Table, offset: usize, x: &mut Tensor) {
        let (from, places, width, offset, out) = (
            table.memory.as_ref().map_or(0, Memory::at),
            plan.positions(),
            int(table.width),
            int(offset),
            x.at(),
        );
        let name = format!("add_positions_{}{}", self.kind.letter(), x.kind.letter());
        let words = args![from, places, width, offset, out];
        self.launch((BASE, &name), (plan.rows, 1), 128, words);
    }

    fn norm(&self, x: &Tensor, rows: usize, by: &NormOf<Vector>, to: &mut Tensor) {
        let width = by.weight.len;
        let out = self.room(to, rows * width, self.kind);
        let (from, weight, bias) = (
            x.at(),
            by.weight.at(),
            by.bias.as_ref().map_or(0, Vector::at),
        );
        let (width, rms, eps) = (int(width), i32::from(by.how.rms), by.how.eps);
        let name = format!("norm_{}{}", x.kind.letter(), self.kind.letter());
        let words = args![from, weight, bias, width, rms, eps, out];
        self.launch((BASE, &name), (rows, 1), 128, words);
    }

    fn linear(&self, x: &Tensor, rows: Extent, layer: &Linear, to: &mut Tensor, add: bool) {
        let rows = rows.rows;
        let mut scratch = self.lock();
        let operand = self.operand(&mut scratch, x, rows * layer.inputs, layer);
        let out = if add {
            to.at()
        } else {
            self.room(to, rows * layer.outputs, self.kind)
        };
        self.multiply(operand, rows, layer, (out, to.kind), add);
    }

    fn logits(&self, x: &Tensor, rows: Extent, head: &Linear, to: &mut Tensor) {
        let rows = rows.rows;
        let mut scratch = self.lock();
        let operand = self.operand(&mut scratch, x, rows * head.inputs, head);
        let out = self.room(to, rows * head.outputs, NumberType::Single);
        self.multiply(operand, rows, head, (out, NumberType::Single), false);
    }

    fn activate(
        &self,
        x: &Tensor,
        rows: usize,
        (width, gated): (usize, bool),
        kind: Activation,
        to: &mut Tensor,
    ) {
        let out = self.room(to, rows * width, self.kind);
        let len = (rows * width) as u64;
        let grid = (rows * width).div_ceil(2048);
        let (from, width, gated) = (x.at(), int(width), i32::from(gated));
        let kind = number_of(kind);
        let name = format!("activate_{}", self.kind.letter());
        let words = args![from, out, width, gated, kind, len];
        self.launch((BASE, &name), (grid, 1), 256, words);
    }

    fn linear_activated(
        &self,
        x: &Tensor,
        rows: Extent,
        layer: &Linear,
        kind: Activation,
        to: &mut Tensor,
    ) -> bool {
        let rows = rows.rows;
        if !Self::hopper_activates(kind) || !self.hopper_suits(rows, layer, false) {
            return false;
        }
        let mut scratch = self.lock();
        let operand = self.operand(&mut scratch, x, rows * layer.inputs, layer);
        let out = self.room(to, rows * layer.outputs, self.kind);
        let end = End::Activate(number_of(kind));
        self.hopper_multiply(operand, rows, layer, (out, end), 0.0);
        true
    }

    fn add(&self, x: &mut Tensor, y: &Tensor, len: usize) {
        let (to, from, count) = (x.at(), y.at(), len as u64);
        let name = format!("add_{}{}", y.kind.letter(), x.kind.letter());
        self.launch(
            (BASE, &name),
            (len.div_ceil(256), 1),
            256,
            args![to, from, count],
        );
    }

    fn norm_spans(&self, x: &mut Tensor, rows: usize, spans: Spans, by: &NormOf<Vector>) {
        let (at, weight, bias) = (
            x.at(),
            by.weight.at(),
            by.bias.as_ref().map_or(0, Vector::at),
        );
        let (stride, first, width) = (int(spans.stride), int(spans.first), int(spans.width));
        let (rms, eps) = (i32::from(by.how.rms), by.how.eps);
        let name = format!("norm_spans_{}", x.kind.letter());
        let words = args![at, weight, bias, stride, first, width, rms, eps];
        self.launch((BASE, &name), (rows, spans.count), 128, words);
    }

    fn clip(&self, x: &mut Tensor, len: usize, limit: f32) {
        let (at, count) = (x.at(), len as u64);
        let name = format!("clip_{}", x.kind.letter());
        let words = args![at, limit, count];
        self.launch((BASE, &name), (len.div_ceil(256), 1), 256, words);
    }

    fn add_rows(&self, x: &Tensor, width: usize, to: (&[usize], &[f32]), out: &mut Tensor) {
        let (rows, weights) = to;
        let mut list: Vec<i32> = rows.iter().map(|&r| int(r)).collect();
        list.extend(weights.iter().map(|w| w.to_bits().cast_signed()));
        let Some(lent) = self.send(&list) else { return };
        let (from, places, sum) = (x.at(), lent.at(), out.at());
        let (width, shares) = (int(width), places + rows.len() as u64 * 4);
        let name = format!("add_rows_{}{}", x.kind.letter(), out.kind.letter());
        let words = args![from, width, places, shares, sum];
        self.launch((BASE, &name), (rows.len(), 1), 128, words);
    }

    fn place(
        &self,
        qkv: &mut Tensor,
        heads: &Heads,
        norms: Option<(&Vector, &Vector, Norm)>,
        rotary: Option<&Rotary>,
        (cache, layer): (&mut Cache, usize),
        plan: &Plan,
    ) {
        self.keep_keys(qkv, (heads, rotary), norms, (cache, layer), plan);
    }

    fn attend(&self, qkv: &Tensor, plan: &Plan, call: &AttentionCall<'_, Cache>, to: &mut Tensor) {
        self.weigh(qkv, plan, call, to);
    }

    fn gather(&self, x: &Tensor, width: usize, rows: &[usize], to: &mut Tensor) {
        let list: Vec<i32> = rows.iter().map(|&r| int(r)).collect();
        let out = self.room(to, rows.len() * width, x.kind);
        let Some(lent) = self.send(&list) else { return };
        let (from, bytes, places) = (x.at(), int(width * x.kind.bytes()), lent.at());
        let words = args![from, bytes, places, out];
        self.launch((BASE, "gather"), (rows.len(), 1), 128, words);
    }

    fn pool(&self, x: &Tensor, width: usize, groups: &Groups) -> Vec<f32> {
        let len = groups.len() * width;
        let mut list: Vec<i32> = groups.starts().iter().map(|&s| int(s)).collect();
        let first = list.len() as u64 * 4;
        list.extend(groups.rows().iter().map(|&r| int(r)));
        let nothing = vec![f32::NAN; len];
        let Some(lent) = self.send(&list) else {
            return nothing;
        };
        let Some(mut out) = self.keep(self.lender.take(&self.device, len * 4)) else {
            return nothing;
        };
        let (from, starts, to) = (x.at(), lent.at(), out.at());
        let (rows, count) = (starts + first, int(width));
        let name = format!("pool_{}", x.kind.letter());
        let words = args![from, count, starts, rows, to];
        self.launch(
            (BASE, &name),
            (groups.len(), width.div_ceil(128)),
            128,
            words,
        );
        if self.broken() {
            return nothing;
        }
        let asked = out
            .staged()
            .map(|s| s.ask(len).and_then(|()| s.answer(len)));
        asked.and_then(|a| self.keep(a)).unwrap_or(nothing)
    }

    fn log_probs(
        &self,
        x: &Tensor,
        rows: usize,
        head: &Linear,
        cap: Option<f32>,
        wanted: &[WantedToken],
    ) -> Pending {
        self.score((x, rows), head, cap, wanted)
    }

    fn collect(&self, pending: Pending) -> Vec<f32> {
        self.answers(pending)
    }

    fn draws(&self) -> bool {
        true
    }

    fn draw(
        &self,
        logits: &Tensor,
        shape: (usize, Option<f32>),
        draws: &[Draw],
    ) -> Vec<Option<u32>> {
        self.drawn(logits, shape, draws)
            .unwrap_or_else(|| vec![None; draws.len()])
    }
}
