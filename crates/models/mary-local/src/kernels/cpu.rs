//! The processor: fused kernels over packed rows, with the widest instructions it has.

pub(crate) mod attention;
#[cfg(target_arch = "x86_64")]
mod between;
pub(crate) mod elementwise;
pub(crate) mod head;
mod lazy;
pub mod matmul;
pub mod quant;
#[cfg(target_arch = "x86_64")]
mod quant_avx512;
#[cfg(target_arch = "x86_64")]
mod quant_digits;
#[cfg(target_arch = "x86_64")]
mod quant_fixed;
#[cfg(target_arch = "x86_64")]
mod quant_k_avx512;
#[cfg(target_arch = "x86_64")]
mod quant_kernel;
#[cfg(target_arch = "x86_64")]
mod quant_memory;
#[cfg(target_arch = "x86_64")]
mod quant_planes;
#[cfg(target_arch = "x86_64")]
mod quant_tiles;
mod recurrent;
pub(crate) mod relative;
pub use mary_kernels::simd;
pub use mary_kernels::{aligned, packed};
mod slab;
mod stored;
mod target;
mod team;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use aligned::Aligned;
use attention::LayerCache;
use lazy::Lazy;
use matmul::{Linear, Matrix, Multiplier, Rows};
use packed::Activations;

#[cfg(target_arch = "x86_64")]
use super::Between;
use super::{
    AttentionCall, Backend, Extent, Groups, Heads, Look, Looked, MixerOf, NormOf, RelativeOf,
    Rotary, Spans, Stored, WantedToken, Weights,
};
use crate::batch::Batch;
use crate::config::{Activation, Norm, Rope};
use crate::errors::lock;

/// Below this many answers that are written together, quantised weights are multiplied by vectors: the tile
/// unit takes sixteen rows at a time, however many there are.
#[cfg(target_arch = "x86_64")]
const VECTORS: usize = 4;

/// Rows of a batch where weights stay packed: as many as are multiplied between two walks over them, twice.
/// More would take memory that packing saves.
const PACKED_ROWS: usize = 512;

pub struct Cpu {
    multiplier: Multiplier,
    /// Whether some weights stay packed.
    packed: AtomicBool,
    /// Memory for split activations, lent to one call at a time.
    split: Mutex<Vec<Activations>>,
    #[cfg(target_arch = "x86_64")]
    planes: Mutex<Vec<quant_tiles::Planes>>,
}

impl Cpu {
    pub fn new(multiplier: Multiplier) -> Self {
        Self {
            multiplier,
            packed: AtomicBool::new(false),
            split: Mutex::default(),
            #[cfg(target_arch = "x86_64")]
            planes: Mutex::default(),
        }
    }

    pub fn describe(&self) -> String {
        let vectors = match simd::width() {
            simd::Width::V4 => "AVX-512",
            simd::Width::V3 => "AVX2",
            simd::Width::Baseline => "baseline vectors",
        };
        match self.multiplier {
            Multiplier::Tiles => format!("AMX tiles at single precision, {vectors}"),
            Multiplier::Vectors => vectors.to_owned(),
        }
    }

    /// Multiplies with quantised weights from their blocks on the tile unit; false where that is not done.
    #[cfg(target_arch = "x86_64")]
    fn digits(&self, x: &Buffer, of: Extent, layer: &Linear, to: &mut Buffer, add: bool) -> bool {
        if self.multiplier != Multiplier::Tiles || of.writing && of.rows < VECTORS {
            return false;
        }
        let Some(parts) = quant_tiles::parts(layer) else {
            return false;
        };
        let (rows, inputs) = (of.rows, layer.inputs());
        let out = to.room(rows * layer.outputs());
        lend(&self.planes, |planes| {
            planes.set(&x.0[..rows * inputs], rows, inputs);
            quant_tiles::linear(planes, &parts, out, add);
        });
        if let Some(bias) = &layer.bias {
            elementwise::add_bias(out, bias);
        }
        true
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn digits(&self, _: &Buffer, _: Extent, _: &Linear, _: &mut Buffer, _: bool) -> bool {
        false
    }

    fn rows<R>(
        &self,
        x: &Buffer,
        of: Extent,
        inputs: usize,
        work: impl FnOnce(Rows<'_>) -> R,
    ) -> R {
        lend(&self.split, |split| {
            let mut rows = Rows::new(&x.0[..of.rows * inputs], of.rows, inputs, split);
            rows.writing(of.writing);
            work(rows)
        })
    }
}

/// Lends memory for split activations; no lock is held while threads compute.
fn lend<T: Default, R>(from: &Mutex<Vec<T>>, work: impl FnOnce(&mut T) -> R) -> R {
    let mut memory = lock(from).pop().unwrap_or_default();
    let result = work(&mut memory);
    lock(from).push(memory);
    result
}

#[derive(Default)]
pub struct Buffer(Aligned<f32>);

impl Buffer {
    fn room(&mut self, len: usize) -> &mut [f32] {
        self.0.reserve(len);
        &mut self.0[..len]
    }
}

type Mixer = MixerOf<Linear, Vec<f32>>;

pub struct Cache {
    width: usize,
    keys: Vec<Aligned<f32>>,
    values: Vec<Aligned<f32>>,
    /// By the layer, where one carries a state.
    carried: Vec<recurrent::Carried>,
}

impl Cache {
    fn of(&self, layer: usize) -> LayerCache<'_> {
        let (keys, values) = (&self.keys[layer], &self.values[layer]);
        LayerCache { keys, values }
    }
}

pub enum Table {
    Plain { data: Vec<f32>, width: usize },
    Stored(Stored),
    Blocks(quant::Blocks),
}

impl Table {
    fn width(&self) -> usize {
        match self {
            Self::Plain { width, .. } => *width,
            Self::Stored(stored) => stored.inputs,
            Self::Blocks(blocks) => blocks.inputs(),
        }
    }

    fn copy(&self, i: usize, to: &mut [f32]) {
        match self {
            Self::Plain { data, width } => to.copy_from_slice(&data[i * width..(i + 1) * width]),
            Self::Stored(stored) => {
                let width = stored.bytes.len() / stored.outputs;
                stored::numbers(stored.kind, &stored.bytes[i * width..(i + 1) * width], to);
            }
            Self::Blocks(blocks) => blocks.unpack_into(i, to),
        }
    }
}

impl Backend for Cpu {
    type Tensor = Buffer;
    type Linear = Linear;
    type Vector = Vec<f32>;
    type Table = Table;
    type Cache = Cache;
    type Plan<'a> = &'a Batch;
    type Rotary = Rotary;
    type Pending = Vec<f32>;

    fn best_rows(&self) -> usize {
        match self.packed.load(Ordering::Relaxed) {
            true => PACKED_ROWS,
            false => 2048,
        }
    }

    fn prepare(&self, mut parts: Vec<Weights>, bias: Option<Vec<f32>>) -> Linear {
        // Outputs that are stored apart and multiplied with the same rows are one product.
        let stored = parts.iter().all(|p| matches!(p, Weights::Stored(_)));
        if stored && !parts.is_empty() {
            let stored = parts.drain(..).filter_map(|part| match part {
                Weights::Stored(stored) => Some(stored),
                _ => None,
            });
            let parts = vec![Matrix::Lazy(Lazy::new(stored.collect(), self.multiplier))];
            return Linear { parts, bias };
        }
        let prepare = |weights| match weights {
            Weights::Plain {
                data,
                outputs,
                inputs,
            } => Matrix::dense(data, outputs, inputs, self.multiplier),
            Weights::Stored(stored) => Matrix::Lazy(Lazy::new(vec![stored], self.multiplier)),
            Weights::Blocks { blocks, keep } => {
                self.packed.store(true, Ordering::Relaxed);
                Matrix::blocks(blocks, keep, self.multiplier)
            }
        };
        Linear {
            parts: parts.into_iter().map(prepare).collect(),
            bias,
        }
    }

    fn vector(&self, x: Vec<f32>) -> Vec<f32> {
        x
    }

    fn table(&self, data: Vec<f32>, width: usize) -> Table {
        Table::Plain { data, width }
    }

    fn table_stored(&self, stored: Stored) -> Table {
        Table::Stored(stored)
    }

    fn table_of(&self, blocks: quant::Blocks) -> Table {
        Table::Blocks(blocks)
    }

    fn plan<'a>(&self, batch: &'a Batch, _: &Heads) -> &'a Batch {
        batch
    }

    fn rotary(&self, rope: &Rope, positions: &[usize]) -> Rotary {
        Rotary::new(rope, positions)
    }

    fn rotary_along(&self, rope: &Rope, turns: &[[u32; 3]], axes: &[u8]) -> Rotary {
        Rotary::along(rope, turns, axes)
    }

    fn put_rows(&self, x: &[f32], width: usize, rows: &[usize], _: usize, to: &mut Buffer) {
        for (row, x) in rows.iter().zip(x.chunks_exact(width.max(1))) {
            to.0[row * width..(row + 1) * width].copy_from_slice(x);
        }
    }

    fn cache(&self, layers: usize, rows: usize, width: usize) -> Cache {
        let make = || (0..layers).map(|_| Aligned::zeroed(rows * width)).collect();
        Cache {
            width,
            keys: make(),
            values: make(),
            carried: vec![],
        }
    }

    fn keys(&self, cache: &Cache, layer: usize, rows: usize) -> Vec<f32> {
        cache.keys[layer][..rows * cache.width].to_vec()
    }

    fn move_rows(&self, cache: &mut Cache, moves: &[(usize, usize)]) {
        let width = cache.width;
        for layer in cache.keys.iter_mut().chain(&mut cache.values) {
            for &(from, to) in moves {
                if from != to {
                    layer.copy_within(from * width..(from + 1) * width, to * width);
                }
            }
        }
        let carried = cache.carried.iter_mut();
        carried.for_each(|layer| layer.move_rows(moves));
    }

    fn upload(&self, x: &[f32], to: &mut Buffer) {
        to.room(x.len()).copy_from_slice(x);
    }

    fn download(&self, x: &Buffer, len: usize) -> Vec<f32> {
        x.0[..len].to_vec()
    }

    fn embed(&self, plan: &&Batch, table: &Table, scale: f32, to: &mut Buffer) {
        let out = to.room(plan.len() * table.width());
        for (&token, y) in plan.tokens.iter().zip(out.chunks_exact_mut(table.width())) {
            table.copy(token as usize, y);
            y.iter_mut().for_each(|y| *y *= scale);
        }
    }

    fn add_positions(&self, plan: &&Batch, table: &Table, offset: usize, x: &mut Buffer) {
        let width = table.width();
        let mut row = vec![0.0; width];
        let rows = x.0[..plan.len() * width].chunks_exact_mut(width);
        for (&position, y) in plan.positions.iter().zip(rows) {
            table.copy(position + offset, &mut row);
            y.iter_mut().zip(&row).for_each(|(y, x)| *y += x);
        }
    }

    fn norm(&self, x: &Buffer, rows: usize, by: &NormOf<Vec<f32>>, to: &mut Buffer) {
        let len = rows * by.weight.len();
        let bias = by.bias.as_deref();
        elementwise::norm(&x.0[..len], &by.weight, bias, by.how, to.room(len));
    }

    fn linear(&self, x: &Buffer, of: Extent, layer: &Linear, to: &mut Buffer, add: bool) {
        if self.digits(x, of, layer, to, add) {
            return;
        }
        let out = to.room(of.rows * layer.outputs());
        self.rows(x, of, layer.inputs(), |x| {
            matmul::linear(x, layer, out, add)
        });
    }

    fn activate(
        &self,
        x: &Buffer,
        rows: usize,
        (width, gated): (usize, bool),
        kind: Activation,
        to: &mut Buffer,
    ) {
        let out = to.room(rows * width);
        if gated {
            elementwise::activate_gated(&x.0[..rows * 2 * width], width, kind, out);
        } else {
            elementwise::activate(&x.0[..rows * width], kind, out);
        }
    }

    fn add(&self, x: &mut Buffer, y: &Buffer, len: usize) {
        elementwise::add(&mut x.0[..len], &y.0[..len]);
    }

    fn norm_spans(&self, x: &mut Buffer, rows: usize, spans: Spans, by: &NormOf<Vec<f32>>) {
        let (x, bias) = (&mut x.0[..rows * spans.stride], by.bias.as_deref());
        elementwise::norm_spans(x, spans, &by.weight, bias, by.how);
    }

    fn clip(&self, x: &mut Buffer, len: usize, limit: f32) {
        for x in &mut x.0[..len] {
            *x = x.clamp(-limit, limit);
        }
    }

    fn add_rows(&self, x: &Buffer, width: usize, to: (&[usize], &[f32]), out: &mut Buffer) {
        let rows = x.0[..to.0.len() * width].chunks_exact(width);
        for ((&row, &weight), x) in to.0.iter().zip(to.1).zip(rows) {
            let out = &mut out.0[row * width..(row + 1) * width];
            out.iter_mut().zip(x).for_each(|(y, x)| *y += weight * x);
        }
    }

    fn place(
        &self,
        qkv: &mut Buffer,
        heads: &Heads,
        norms: Option<(&Vec<f32>, &Vec<f32>, Norm)>,
        rotary: Option<&Rotary>,
        (cache, layer): (&mut Cache, usize),
        plan: &&Batch,
    ) {
        let norms = norms.map(|(q, k, how)| (q.as_slice(), k.as_slice(), how));
        let qkv = &mut qkv.0[..plan.len() * heads.qkv_width()];
        elementwise::rotate(qkv, heads, norms, rotary);
        let (q, kv) = (heads.q_width(), heads.kv_width());
        let rows = qkv.chunks_exact(heads.qkv_width());
        for (row, &slot) in rows.zip(&plan.slots) {
            let at = slot * kv..(slot + 1) * kv;
            cache.keys[layer][at.clone()].copy_from_slice(&row[q..q + kv]);
            cache.values[layer][at].copy_from_slice(&row[q + kv..]);
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn goes_between(&self, of: Extent, layers: &[&Linear]) -> bool {
        let panels = |l: &Linear| l.outputs().is_multiple_of(packed::PANEL);
        let ready = |l: &&Linear| l.has_tiles() && panels(l);
        !of.writing && between::worth_it(of.rows) && layers.iter().all(ready)
    }

    #[cfg(target_arch = "x86_64")]
    fn between(&self, work: Between<'_, '_, Self>) {
        between::run(work);
    }

    fn carry(
        &self,
        projected: &Buffer,
        of: Extent,
        mixer: &Mixer,
        (plan, cache, layer): (&&Batch, &mut Cache, usize),
        to: &mut Buffer,
    ) {
        if cache.carried.len() <= layer {
            cache.carried.resize_with(layer + 1, Default::default);
        }
        let carried = &mut cache.carried[layer];
        Cpu::carry(self, plan, projected, (mixer, of), carried, to);
    }

    fn attend_far(
        &self,
        qkv: &Buffer,
        plan: &&Batch,
        (call, relative): (&AttentionCall<'_, Cache>, &RelativeOf),
        to: &mut Buffer,
    ) {
        let cache = call.cache.of(call.layer);
        let qkv = &qkv.0[..plan.len() * call.heads.qkv_width()];
        let out = to.room(plan.len() * call.heads.q_width());
        let how = (&call.settings, relative);
        relative::attend(qkv, cache, plan, call.heads, how, out);
    }

    fn attend(
        &self,
        qkv: &Buffer,
        plan: &&Batch,
        call: &AttentionCall<'_, Cache>,
        to: &mut Buffer,
    ) {
        let cache = call.cache.of(call.layer);
        let qkv = &qkv.0[..plan.len() * call.heads.qkv_width()];
        let out = to.room(plan.len() * call.heads.q_width());
        let segments = &plan.segments;
        attention::attend(qkv, cache, segments, call.heads, &call.settings, out);
    }

    fn gather(&self, x: &Buffer, width: usize, rows: &[usize], to: &mut Buffer) {
        let out = to.room(rows.len() * width);
        for (&row, y) in rows.iter().zip(out.chunks_exact_mut(width)) {
            y.copy_from_slice(&x.0[row * width..(row + 1) * width]);
        }
    }

    fn pool(&self, x: &Buffer, width: usize, groups: &Groups) -> Vec<f32> {
        let mut out = Vec::with_capacity(groups.len() * width);
        for rows in groups.each() {
            let mut sum = vec![0.0f64; width];
            for row in rows {
                let both = sum.iter_mut().zip(&x.0[row * width..][..width]);
                both.for_each(|(s, x)| *s += f64::from(*x));
            }
            out.extend(sum.into_iter().map(|s| (s / rows.len() as f64) as f32));
        }
        out
    }

    fn collect(&self, pending: Vec<f32>) -> Vec<f32> {
        pending
    }

    fn log_probs(
        &self,
        x: &Buffer,
        rows: usize,
        head: &Linear,
        cap: Option<f32>,
        wanted: &[WantedToken],
    ) -> Vec<f32> {
        self.rows(x, Extent::reading(rows), head.inputs(), |mut x| {
            head::log_probs(&mut x, rows, head, cap, wanted)
        })
    }

    fn distributions(
        &self,
        x: &Buffer,
        rows: usize,
        (head, cap): (&Linear, Option<f32>),
        wanted: &[WantedToken],
        look: Look<'_>,
    ) -> Looked {
        self.rows(x, Extent::reading(rows), head.inputs(), |mut x| {
            head::distributions(&mut x, rows, head, cap, wanted, look)
        })
    }

    fn looks(&self) -> bool {
        true
    }
}
