//! Attention: positions, the cache of keys and values, and the tiles that look into it.

use std::sync::Arc;

use mary_cuda::{Memory, NumberType, args};

use super::{Angles, Cache, Cuda, MAX_WIDTH, Plan, Tensor, int, place_of};
use crate::config::Rope;
use crate::errors::{bad_model, lock};
use crate::kernels::{Alibi, AttentionCall, Heads, Rotary as Rotation};

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct HeadShape {
    heads: i32,
    kv_heads: i32,
    head_dim: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Weighing {
    scale: f32,
    cap: f32,
    alibi_scale: f32,
    causal: i32,
    window: i32,
}

impl HeadShape {
    pub(super) fn new(of: &Heads) -> Self {
        Self {
            heads: int(of.heads),
            kv_heads: int(of.kv_heads),
            head_dim: int(of.head_dim),
        }
    }
}

pub(super) fn planes(cache: &Cache, layer: usize, kind: NumberType) -> (u64, u64) {
    let base = place_of(&cache.memory);
    let plane = (cache.rows * cache.width * kind.bytes()) as u64;
    let layer = layer as u64;
    let values = cache.layers as u64 + layer;
    (base + layer * plane, base + values * plane)
}

impl Cuda {
    pub(super) fn angles(&self, rope: &Rope, most: usize) -> Option<Arc<Angles>> {
        let numbers = rope.frequencies.iter().chain([&rope.amplitude]);
        let key: Vec<u32> = numbers.map(|x| x.to_bits()).collect();
        let mut ropes = lock(&self.ropes);
        let known = |(k, a): &&(Vec<u32>, Arc<Angles>)| *k == key && a.positions >= most;
        if let Some((_, angles)) = ropes.iter().find(known) {
            return Some(Arc::clone(angles));
        }
        let positions = most.next_power_of_two().max(1024);
        let places: Vec<usize> = (0..positions).collect();
        let angles = self.brought(&Rotation::new(rope, &places), positions)?;
        ropes.retain(|(k, _)| *k != key);
        ropes.push((key, Arc::clone(&angles)));
        Some(angles)
    }

    pub(super) fn brought(&self, turned: &Rotation, rows: usize) -> Option<Arc<Angles>> {
        let numbers: Vec<f32> = (0..rows)
            .flat_map(|row| <[&[f32]; 2]>::from(turned.at(row)).concat())
            .collect();
        Some(Arc::new(Angles {
            half: numbers.len() / (2 * rows).max(1),
            memory: self.sent(&numbers)?,
            positions: rows,
        }))
    }

    fn slopes(&self, alibi: &Alibi) -> Option<Arc<Memory>> {
        let mut slopes = lock(&self.slopes);
        if let Some((known, memory)) = &*slopes
            && known == alibi
        {
            return Some(Arc::clone(memory));
        }
        let memory = Arc::new(self.sent(&alibi.slopes)?);
        *slopes = Some((alibi.clone(), Arc::clone(&memory)));
        Some(memory)
    }

    fn refuse(&self, message: String) {
        let error = bad_model(message).hint("this model runs on the processor: --device cpu");
        self.keep::<()>(Err(error));
    }

    pub(super) fn weigh(
        &self,
        qkv: &Tensor,
        plan: &Plan<'_>,
        call: &AttentionCall<'_, Cache>,
        to: &mut Tensor,
    ) {
        let heads = call.heads;
        if heads.head_dim > MAX_WIDTH {
            let message = format!("heads of {} are wider than {MAX_WIDTH}", heads.head_dim);
            return self.refuse(message);
        }
        let out = self.room(to, plan.rows * heads.q_width(), self.kind);
        let (keys, values) = planes(call.cache, call.layer, self.kind);
        let shape = HeadShape::new(heads);
        let settings = &call.settings;
        if let Some(window) = settings.window.filter(|w| *w < plan.longest) {
            let message = format!(
                "a picture of {} rows is longer than this layer's window of {window}",
                plan.longest
            );
            return self.refuse(message);
        }
        let rounded = settings.alibi.filter(|a| a.rounded);
        let weighing = Weighing {
            scale: settings.scale,
            cap: settings.soft_cap.unwrap_or(0.0),
            // Zero: biases in full precision, as they are.
            alibi_scale: rounded.map_or(0.0, |a| a.scale),
            causal: i32::from(settings.causal),
            window: int(settings.window.unwrap_or(0)),
        };
        let slopes = settings.alibi.and_then(|a| self.slopes(a));
        let slopes = slopes.as_ref().map_or(0, |m| m.at());
        let (at, spans) = (qkv.at(), plan.spans());
        let letter = self.kind.letter();
        // The matrix units' kernels know Falcon's biases only.
        let exact = settings.alibi.is_some() && rounded.is_none();
        let units = matches!(heads.head_dim, 32 | 64 | 80 | 96 | 128 | 256) && !exact;
        let launch = |first: usize, count: usize, weighing: Weighing| {
            if count == 0 {
                return;
            }
            let tiles = plan.tiles(first);
            let words = args![at, shape, keys, values, tiles, spans, weighing, slopes, out];
            let grid = (count, heads.kv_heads);
            // One new position a segment: its keys are read once, for up to four query rows.
            let last = plan.last_rows.filter(|rows| *rows <= 4);
            if let (Some(rows), 64 | 128) = (last, heads.head_dim) {
                let part = match self.kind {
                    NumberType::Single => "last_s",
                    NumberType::Bf16 => "last_b",
                    NumberType::F16 => "last_h",
                };
                let rows = rows.next_power_of_two();
                let name = format!("attend_last_{letter}{}_{rows}", heads.head_dim);
                // A block does the same sums whatever its size; short texts keep small ones busy.
                let threads = if plan.most_keys > 128 { 256 } else { 128 };
                return self.launch((part, &name), grid, (threads, 0), words);
            }
            let part = match self.kind {
                // Three parts of every number: wider heads have no room in the registers.
                NumberType::Single if units && heads.head_dim <= 128 => "attend_s",
                NumberType::Bf16 if units => "attend_b",
                NumberType::F16 if units => "attend_h",
                _ => return self.base(&format!("attend_{letter}"), grid, 512, words),
            };
            // One warp takes a tile of at most 128 keys, four a longer one, in whatever block.
            let threads = if plan.most_keys > 128 { 128 } else { 32 };
            let name = format!("attend_{letter}{}", heads.head_dim);
            self.launch((part, &name), grid, (threads, 0), words);
        };
        launch(0, plan.causal_tiles, weighing);
        let pictures = plan.tile_count - plan.causal_tiles;
        let whole = Weighing {
            causal: 0,
            ..weighing
        };
        launch(plan.causal_tiles, pictures, whole);
    }
}
