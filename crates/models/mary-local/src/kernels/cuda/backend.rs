//! The GPU as a device of the transformer: every call of [`Backend`].

use std::sync::atomic::Ordering;

use mary_cuda::{Lent, NumberType, args};

use super::attention::{HeadShape, planes};
use super::hopper::End;
use super::{Cache, Cuda, Linear, Pending, Plan, Rotary, Table, Tensor, Vector, int, place_of};
use crate::batch::Batch;
use crate::config::{Activation, Norm, Rope};
use crate::errors::{Result, lock};
use crate::kernels::cpu::{attention::LayerCache, relative};
use crate::kernels::{
    AttentionCall, Backend, Draw, Extent, Groups, Heads, MixerOf, NormOf, RelativeOf,
    Rotary as Rotation, Spans, WantedToken, Weights,
};

/// An activation as `kernels.cu` numbers it.
fn number_of(kind: Activation) -> i32 {
    match kind {
        Activation::Gelu => 0,
        Activation::GeluTanh => 1,
        Activation::QuickGelu => 2,
        Activation::Silu => 3,
        Activation::Relu => 4,
        // Refused before a model is loaded.
        Activation::SquaredRelu => 5,
    }
}

impl Backend for Cuda {
    type Tensor = Tensor;
    type Linear = Linear;
    type Vector = Vector;
    type Table = Table;
    type Cache = Cache;
    type Plan<'a> = Plan<'a>;
    type Rotary = Rotary;
    type Pending = Pending;

    fn check(&self) -> Result<()> {
        lock(&self.fault).take().map_or(Ok(()), Err)
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

    fn loaded(&self) {
        self.uploader.release();
        self.loaded.store(true, Ordering::Relaxed);
    }

    fn settle(&self) {
        self.keep(self.uploader.settle());
    }

    fn rest(&self) {
        self.keep(self.device.wait());
    }

    fn prepare(&self, parts: Vec<Weights>, bias: Option<Vec<f32>>) -> Linear {
        let mut layer = self.bring_parts(parts);
        if let Some(bias) = &bias
            && self.kind != NumberType::Single
        {
            layer.short_bias = self.keep(self.device.alloc(bias.len() * 2));
            self.bring(bias, 1, place_of(&layer.short_bias), 1);
        }
        layer.bias = bias.map(|b| self.vector(b));
        layer
    }

    fn vector(&self, x: Vec<f32>) -> Vector {
        let memory = self.keep(self.device.alloc(x.len() * 4));
        self.put(bytemuck::cast_slice(&x), place_of(&memory));
        Vector {
            memory,
            len: x.len(),
        }
    }

    fn table(&self, data: Vec<f32>, width: usize) -> Table {
        if self.kind == NumberType::Single {
            let memory = self.sent(&data);
            return Table { memory, width };
        }
        let memory = self.keep(self.device.alloc(data.len() * self.kind.bytes()));
        if let Some(memory) = &memory {
            self.bring(&data, width, memory.at(), 1);
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
            carried: super::recurrent::Carried::default(),
        }
    }

    fn keys(&self, cache: &Cache, layer: usize, rows: usize) -> Vec<f32> {
        let (keys, _) = planes(cache, layer, self.kind);
        self.brought_back(keys, self.kind, rows * cache.width)
    }

    fn move_rows(&self, cache: &mut Cache, moves: &[(usize, usize)]) {
        cache.carried.move_rows(moves);
        let moved = moves.iter().filter(|(from, to)| from != to);
        let list: Vec<i32> = moved.flat_map(|&(a, b)| [int(a), int(b)]).collect();
        if list.is_empty() {
            return;
        }
        let Some(lent) = self.send(&list) else { return };
        let bytes = cache.width * self.kind.bytes();
        let (base, plane) = (place_of(&cache.memory), (cache.rows * bytes) as u64);
        let grid = ((bytes / 2).div_ceil(128), 2 * cache.layers);
        let words = args![base, plane, int(bytes), lent.at(), int(list.len() / 2)];
        self.base("move_rows", grid, 128, words);
    }

    fn plan<'a>(&self, batch: &'a Batch, heads: &Heads) -> Plan<'a> {
        let (numbers, mut plan) = Plan::new(batch, heads.group());
        plan.lent = self.send(&numbers);
        plan
    }

    fn rotary(&self, rope: &Rope, positions: &[usize]) -> Rotary {
        let most = positions.iter().max().map_or(0, |p| p + 1);
        Rotary {
            angles: self.angles(rope, most),
            places: None,
        }
    }

    fn rotary_along(&self, rope: &Rope, turns: &[[u32; 3]], axes: &[u8]) -> Rotary {
        let places: Vec<i32> = (0..turns.len()).map(int).collect();
        Rotary {
            angles: self.brought(&Rotation::along(rope, turns, axes), turns.len()),
            places: self.send(&places),
        }
    }

    fn upload(&self, x: &[f32], to: &mut Tensor) {
        let at = self.room(to, x.len(), NumberType::Single);
        if !self.broken() {
            self.keep(self.device.write(x, at));
        }
    }

    fn download(&self, x: &Tensor, len: usize) -> Vec<f32> {
        self.brought_back(x.at(), x.kind, len)
    }

    fn hand_over(&self, x: &Tensor, len: usize, other: &Self, to: &mut Tensor) {
        let at = other.room(to, len, x.kind);
        if !self.broken() && !other.broken() {
            let bytes = len * x.kind.bytes();
            other.keep(self.device.hand_over(x.at(), &other.device, at, bytes));
        }
    }

    fn embed(&self, plan: &Plan<'_>, table: &Table, scale: f32, to: &mut Tensor) {
        let out = self.room(to, plan.rows * table.width, NumberType::Single);
        let from = place_of(&table.memory);
        let words = args![from, plan.tokens(), int(table.width), scale, out];
        let name = format!("embed_{}", self.kind.letter());
        self.base(&name, (plan.rows, 1), 128, words);
    }

    fn add_positions(&self, plan: &Plan<'_>, table: &Table, offset: usize, x: &mut Tensor) {
        let (from, places) = (place_of(&table.memory), plan.positions());
        let words = args![from, places, int(table.width), int(offset), x.at()];
        let name = format!("add_positions_{}{}", self.kind.letter(), x.letter());
        self.base(&name, (plan.rows, 1), 128, words);
    }

    fn norm(&self, x: &Tensor, rows: usize, by: &NormOf<Vector>, to: &mut Tensor) {
        let width = by.weight.len;
        let out = self.room(to, rows * width, self.kind);
        let (weight, bias) = (by.weight.at(), by.bias.as_ref().map_or(0, Vector::at));
        let (rms, eps) = (i32::from(by.how.rms), by.how.eps);
        let words = args![x.at(), weight, bias, int(width), rms, eps, out];
        let name = format!("norm_{}{}", x.letter(), self.kind.letter());
        self.base(&name, (rows, 1), 128, words);
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
        let len = rows * width;
        let mut scratch = self.lock();
        let from = self.own(&mut scratch, x, len * (1 + usize::from(gated)));
        let out = self.room(to, len, self.kind);
        let (gated, kind) = (i32::from(gated), number_of(kind));
        let words = args![from, out, int(width), gated, kind, len as u64];
        let name = format!("activate_{}", self.kind.letter());
        self.base(&name, (len.div_ceil(2048), 1), 256, words);
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
        let name = format!("add_{}{}", y.letter(), x.letter());
        let words = args![x.at(), y.at(), len as u64];
        self.base(&name, (len.div_ceil(256), 1), 256, words);
    }

    fn norm_spans(&self, x: &mut Tensor, rows: usize, spans: Spans, by: &NormOf<Vector>) {
        let (weight, bias) = (by.weight.at(), by.bias.as_ref().map_or(0, Vector::at));
        let (stride, first, width) = (int(spans.stride), int(spans.first), int(spans.width));
        let (rms, eps) = (i32::from(by.how.rms), by.how.eps);
        let words = args![x.at(), weight, bias, stride, first, width, rms, eps];
        let name = format!("norm_spans_{}", x.letter());
        self.base(&name, (rows, spans.count), 128, words);
    }

    fn clip(&self, x: &mut Tensor, len: usize, limit: f32) {
        let words = args![x.at(), limit, len as u64];
        let name = format!("clip_{}", x.letter());
        self.base(&name, (len.div_ceil(256), 1), 256, words);
    }

    fn add_rows(&self, x: &Tensor, width: usize, to: (&[usize], &[f32]), out: &mut Tensor) {
        let (rows, weights) = to;
        let mut list: Vec<i32> = rows.iter().map(|&r| int(r)).collect();
        list.extend(weights.iter().map(|w| w.to_bits().cast_signed()));
        let Some(lent) = self.send(&list) else { return };
        let shares = lent.at() + rows.len() as u64 * 4;
        let words = args![x.at(), int(width), lent.at(), shares, out.at()];
        let name = format!("add_rows_{}{}", x.letter(), out.letter());
        self.base(&name, (rows.len(), 1), 128, words);
    }

    fn place(
        &self,
        qkv: &mut Tensor,
        heads: &Heads,
        norms: Option<(&Vector, &Vector, Norm)>,
        rotary: Option<&Rotary>,
        (cache, layer): (&mut Cache, usize),
        plan: &Plan<'_>,
    ) {
        let (keys, values) = planes(cache, layer, self.kind);
        let shape = HeadShape::new(heads);
        let (q, k, rms, eps) = norms.map_or((0u64, 0u64, 0i32, 0.0f32), |(q, k, how)| {
            (q.at(), k.at(), i32::from(how.rms), how.eps)
        });
        let angles = rotary.and_then(|t| t.angles.as_ref());
        let (turned, half) = angles.map_or((0u64, 0i32), |a| (a.memory.at(), int(a.half)));
        let own = rotary.and_then(|t| t.places.as_ref()).map(Lent::at);
        let places = own.unwrap_or_else(|| plan.positions());
        let (at, slots) = (qkv.at(), plan.slots());
        let name = format!("place_{}", self.kind.letter());
        let words = args![
            at, shape, q, k, rms, eps, turned, half, places, keys, values, slots
        ];
        // Few rows are shared out to more blocks, so that the whole GPU takes part.
        let numbers = heads.q_width() + 2 * heads.kv_width();
        let each = if plan.rows < 1024 { 1024 } else { 4096 };
        let grid = (plan.rows, numbers.div_ceil(each).min(16));
        self.base(&name, grid, 256, words);
    }

    fn attend(
        &self,
        qkv: &Tensor,
        plan: &Plan<'_>,
        call: &AttentionCall<'_, Cache>,
        to: &mut Tensor,
    ) {
        self.weigh(qkv, plan, call, to);
    }

    /// The processor computes it from queries, keys and values that are fetched, as it does attention to a source: few
    /// models have it, and they are small.
    fn attend_far(
        &self,
        qkv: &Tensor,
        plan: &Plan<'_>,
        (call, relative): (&AttentionCall<'_, Cache>, &RelativeOf),
        to: &mut Tensor,
    ) {
        let (batch, heads) = (plan.batch, call.heads);
        let spans = batch.segments.iter().flat_map(|s| &s.spans);
        let rows = spans.map(|(first, len)| first + len).max().unwrap_or(0);
        let (keys, values) = planes(call.cache, call.layer, self.kind);
        let fetch = |at| self.brought_back(at, self.kind, rows * heads.kv_width());
        let (keys, values) = (fetch(keys), fetch(values));
        let seen = LayerCache {
            keys: &keys,
            values: &values,
        };
        let asked = self.brought_back(qkv.at(), qkv.kind, plan.rows * heads.qkv_width());
        let mut out = vec![0.0; plan.rows * heads.q_width()];
        let how = (&call.settings, relative);
        relative::attend(&asked, seen, batch, heads, how, &mut out);
        self.upload(&out, to);
    }

    fn carry(
        &self,
        projected: &Tensor,
        _rows: Extent,
        mixer: &MixerOf<Linear, Vector>,
        (plan, cache, layer): (&Plan<'_>, &mut Cache, usize),
        to: &mut Tensor,
    ) {
        self.carry_on(projected, mixer, (plan, &mut cache.carried, layer), to);
    }

    fn gather(&self, x: &Tensor, width: usize, rows: &[usize], to: &mut Tensor) {
        let list: Vec<i32> = rows.iter().map(|&r| int(r)).collect();
        let out = self.room(to, rows.len() * width, x.kind);
        let Some(lent) = self.send(&list) else { return };
        let words = args![x.at(), int(width * x.kind.bytes()), lent.at(), out];
        self.base("gather", (rows.len(), 1), 128, words);
    }

    fn pool(&self, x: &Tensor, width: usize, groups: &Groups) -> Vec<f32> {
        let len = groups.len() * width;
        let mut list: Vec<i32> = groups.starts().iter().map(|&s| int(s)).collect();
        let first = list.len() as u64 * 4;
        list.extend(groups.rows().iter().map(|&r| int(r)));
        let pooled = || {
            let lent = self.send(&list)?;
            let out = self.keep(self.lender.take(&self.device, len * 4))?;
            let words = args![x.at(), int(width), lent.at(), lent.at() + first, out.at()];
            let grid = (groups.len(), width.div_ceil(128));
            self.base(&format!("pool_{}", x.letter()), grid, 128, words);
            self.fetched(out, len)
        };
        pooled().unwrap_or_else(|| vec![f32::NAN; len])
    }

    fn log_probs(
        &self,
        x: &Tensor,
        rows: usize,
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

    fn collect(&self, mut pending: Pending) -> Vec<f32> {
        let len = pending.len;
        let nothing = || vec![f32::NAN; len];
        if self.broken() {
            return nothing();
        }
        let staged = pending.lent.as_mut().and_then(Lent::staged);
        let answer = staged.map(|s| s.answer(len));
        answer.and_then(|a| self.keep(a)).unwrap_or_else(nothing)
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
