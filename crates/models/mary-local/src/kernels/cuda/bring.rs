//! Weights on their way to the GPU. Numbers that are stored as products take them are sent as they lie in
//! the mapped file; others are sent as float32 and rounded or split there.

use std::sync::atomic::Ordering;

use mary_cuda::{NumberType, args};
use mary_weights::TensorType;
use rayon::prelude::*;

use super::{Cuda, Linear, int, place_of};
use crate::kernels::{Stored, Weights};

enum Matrix {
    /// Two bytes a number, in the type of the products.
    Ready(Stored),
    Single(Vec<f32>),
}

impl Matrix {
    fn numbers(&self) -> usize {
        match self {
            Self::Ready(stored) => stored.bytes.len() / 2,
            Self::Single(data) => data.len(),
        }
    }

    /// Whether every number is a bfloat16 already, as most checkpoints store them.
    fn short(&self) -> bool {
        let short = |x: &f32| x.to_bits().trailing_zeros() >= 16;
        match self {
            Self::Ready(_) => true,
            Self::Single(data) => data.par_chunks(1 << 16).all(|c| c.iter().all(short)),
        }
    }
}

impl Cuda {
    fn matrix(&self, weights: Weights) -> (Matrix, usize) {
        match weights {
            Weights::Plain { data, inputs, .. } => (Matrix::Single(data), inputs),
            Weights::Blocks { blocks, .. } => {
                let data = blocks.unpack(0, blocks.outputs());
                (Matrix::Single(data), blocks.inputs())
            }
            Weights::Stored(stored) => {
                let inputs = stored.inputs;
                let ready = matches!(
                    (stored.kind, self.product_kind()),
                    (TensorType::BF16, NumberType::Bf16) | (TensorType::F16, NumberType::F16)
                );
                if ready {
                    return (Matrix::Ready(stored), inputs);
                }
                let data = mary_weights::numbers(stored.kind, &stored.bytes);
                (Matrix::Single(data), inputs)
            }
        }
    }

    /// Matrices under one another, in the type that products take; no bias yet.
    pub(super) fn bring_parts(&self, parts: Vec<Weights>) -> Linear {
        let parts: Vec<(Matrix, usize)> = parts.into_iter().map(|w| self.matrix(w)).collect();
        let inputs = parts.first().map_or(0, |p| p.1);
        let numbers = parts.iter().map(|p| p.0.numbers()).sum::<usize>();
        let one = self.kind != NumberType::Single || parts.iter().all(|p| p.0.short());
        let split = if one { 1 } else { 3 };
        let memory = self.keep(self.device.alloc(numbers * split * 2));
        let mut to = place_of(&memory);
        for (matrix, _) in parts {
            let numbers = matrix.numbers();
            match matrix {
                Matrix::Ready(stored) if one => self.put(&stored.bytes, to),
                // Beside a part that needs three, this one is split like it.
                Matrix::Ready(stored) => {
                    let data = mary_weights::numbers(stored.kind, &stored.bytes);
                    self.bring(&data, inputs, to, split);
                }
                Matrix::Single(data) => self.bring(&data, inputs, to, split),
            }
            to += (numbers * split * 2) as u64;
        }
        Linear {
            weights: memory,
            outputs: numbers / inputs.max(1),
            inputs,
            parts: split,
            bias: None,
            short_bias: None,
        }
    }

    /// Sends bytes as they are; once the model is loaded, beside what is computed.
    pub(super) fn put(&self, bytes: &[u8], to: u64) {
        if self.broken() {
            return;
        }
        self.keep(match self.loaded.load(Ordering::Relaxed) {
            true => self.uploader.send_aside(&self.device, bytes, to),
            false => self.uploader.send(&self.device, bytes, to),
        });
    }

    /// Brings float32s onto the GPU in the type that products take, in one part or three.
    pub(super) fn bring(&self, data: &[f32], width: usize, to: u64, parts: usize) {
        let mut scratch = self.lock();
        let step = ((16 << 20) / width.max(1)).max(1) * width.max(1);
        for (i, chunk) in data.chunks(step).enumerate() {
            let from = self.grow(&mut scratch.rows, chunk.len() * 4);
            let bytes = bytemuck::cast_slice(chunk);
            let send = || self.keep(self.uploader.send(&self.device, bytes, from));
            if self.broken() || send().is_none() {
                return;
            }
            let len = chunk.len() as u64;
            let to = to + (i * step * parts * 2) as u64;
            let grid = (chunk.len().div_ceil(256), 1);
            if parts == 3 {
                self.base("split", grid, 256, args![from, to, int(width), len]);
            } else {
                let name = format!("cast_s{}", self.product_kind().letter());
                self.base(&name, grid, 256, args![from, to, len]);
            }
        }
    }
}
