//! Every kernel beside its CPU reference, on numbers without any order.

use std::sync::Arc;

use mary_contract::ModelError;
use mary_cuda::{Memory, NumberType};

use super::attention::{Attention, Heads, Tiling};
use super::buffers::Buffer;
use super::call::{Call, Shared, View};
use super::check::ripple;
use super::rows::{Dropout, NormAt, Threads};
use super::{Gpu, Multiply, int};
use crate::net::Segment;
use crate::net::attention::{AttentionSettings, Joint, Rotary, Saved, Scratch, backward, forward};
use crate::net::kernels::{self, NormKind, NormSaved};
use crate::net::linear::drop_into;
use crate::net::matmul::{self, Unit};
use mary_weights::architecture::config::{Activation, Rope};

/// ‖a − b‖ / ‖b‖; NaN where either holds one.
pub fn relative(a: &[f32], b: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let difference: f64 = a
        .iter()
        .zip(b)
        .map(|(a, b)| square(f64::from(*a) - f64::from(*b)))
        .sum();
    let size: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    if a.len() == b.len() {
        (difference / size.max(1e-60)).sqrt()
    } else {
        f64::NAN
    }
}

/// `out (m × n) += scale · a (m × k) · b (k × n)` on the CPU, all rows without gaps.
fn add_product(
    (m, k, n): (usize, usize, usize),
    (a, b): (&[f32], &[f32]),
    scale: f32,
    out: &mut [f32],
) {
    let (a, b) = (matmul::View::rows(a, k), matmul::View::rows(b, n));
    let product = Unit::Vectors.product((m, k, n), a, b);
    product.scaled(scale).add_to(out, n);
}

struct Bench {
    gpu: Gpu,
    /// The type of what enters products.
    kind: NumberType,
    found: Vec<(String, f64)>,
}

/// The relative error of every kernel against its CPU reference, with products of float32 or of
/// bfloat16 numbers. What goes in is rounded for both, so that only the rounding of what comes out and
/// of what is multiplied on the way is left.
pub fn kernels(
    number: usize,
    how: Multiply,
    short: bool,
) -> Result<Vec<(String, f64)>, ModelError> {
    let mut bench = Bench {
        gpu: Gpu::open(number, how)?,
        kind: if short {
            NumberType::Bf16
        } else {
            NumberType::Single
        },
        found: Vec::new(),
    };
    let sizes = [(70, 37, 130), (128, 64, 64), (1024, 512, 1536)];
    let large = how != Multiply::Own;
    for size in &sizes[..if large { 3 } else { 2 }] {
        bench.products(*size)?;
    }
    if large && !short {
        bench.shared_products()?;
    }
    bench.norms(true)?;
    bench.norms(false)?;
    bench.activations()?;
    bench.drops()?;
    if !short {
        bench.sums()?;
    }
    bench.losses()?;
    for (width, heads, kv_heads) in [
        (32, 4, 4),
        (64, 2, 2),
        (24, 4, 2),
        (128, 2, 1),
        (96, 2, 2),
        (256, 2, 1),
    ] {
        bench.attention(width, heads, kv_heads)?;
    }
    Ok(bench.found)
}

impl Bench {
    fn single(&self, x: &[f32]) -> Result<Memory, ModelError> {
        let memory = self.gpu.device.alloc(size_of_val(x))?;
        self.gpu.device.write(x, memory.at())?;
        Ok(memory)
    }

    /// Numbers in a type.
    fn put_as(&self, x: &[f32], kind: NumberType) -> Result<Memory, ModelError> {
        if kind == NumberType::Single {
            return self.single(x);
        }
        let short: Vec<u16> = x
            .iter()
            .map(|x| half::bf16::from_f32(*x).to_bits())
            .collect();
        let memory = self.gpu.device.alloc(2 * x.len())?;
        self.gpu.device.write(&short, memory.at())?;
        Ok(memory)
    }

    fn put(&self, x: &[f32]) -> Result<Memory, ModelError> {
        self.put_as(x, self.kind)
    }

    /// Numbers as the type of the products has them.
    fn rounded(&self, x: Vec<f32>) -> Vec<f32> {
        match self.kind {
            NumberType::Single => x,
            _ => (x.into_iter())
                .map(|x| half::bf16::from_f32(x).to_f32())
                .collect(),
        }
    }

    fn ripple(&self, count: usize, size: f32, seed: u64) -> Vec<f32> {
        self.rounded(ripple(count, size, seed))
    }

    fn ints(&self, x: &[i32]) -> Result<Memory, ModelError> {
        let memory = self.gpu.device.alloc(size_of_val(x))?;
        self.gpu.device.write(x, memory.at())?;
        Ok(memory)
    }

    fn expect_as(
        &mut self,
        name: &str,
        (memory, kind): (&Memory, NumberType),
        want: &[f32],
    ) -> Result<(), ModelError> {
        let device = &self.gpu.device;
        let got: Vec<f32> = match kind {
            NumberType::Single => device.read(memory.at(), want.len())?,
            _ => (device.read::<u16>(memory.at(), want.len())?.into_iter())
                .map(|x| half::bf16::from_bits(x).to_f32())
                .collect(),
        };
        self.found.push((name.to_owned(), relative(&got, want)));
        Ok(())
    }

    fn expect(&mut self, name: &str, memory: &Memory, want: &[f32]) -> Result<(), ModelError> {
        self.expect_as(name, (memory, self.kind), want)
    }

    fn expect_single(
        &mut self,
        name: &str,
        memory: &Memory,
        want: &[f32],
    ) -> Result<(), ModelError> {
        self.expect_as(name, (memory, NumberType::Single), want)
    }

    fn products(&mut self, (m, k, n): (usize, usize, usize)) -> Result<(), ModelError> {
        let (a, b) = (self.ripple(m * k, 1.0, 1), self.ripple(k * n, 1.0, 2));
        let (bias, before) = (self.ripple(n, 1.0, 3), self.ripple(m * n, 1.0, 4));
        let mut want = before.clone();
        add_product((m, k, n), (&a, &b), 0.5, &mut want);
        want.chunks_mut(n).for_each(|row| kernels::add(row, &bias));
        let turned = |x: &[f32], rows: usize, columns: usize| -> Vec<f32> {
            (0..columns)
                .flat_map(|c| (0..rows).map(move |r| (r, c)))
                .map(|(r, c)| x[r * columns + c])
                .collect()
        };
        let (at, bt) = (turned(&a, m, k), turned(&b, k, n));
        let outputs = match self.kind {
            NumberType::Single => &[NumberType::Single][..],
            _ => &[NumberType::Bf16, NumberType::Single][..],
        };
        for &out_kind in outputs {
            for (left_turned, right_turned) in [(false, false), (false, true), (true, false)] {
                let left = self.put(if left_turned { &at } else { &a })?;
                let right = self.put(if right_turned { &bt } else { &b })?;
                let from = self.put_as(&before, out_kind)?;
                let bias = self.put_as(&bias, out_kind)?;
                let view = |memory: &Memory, turn: bool, wide: usize, high: usize| match turn {
                    true => View::turned(memory.at(), high),
                    false => View::rows(memory.at(), wide),
                };
                let (l, r) = (
                    view(&left, left_turned, k, m),
                    view(&right, right_turned, n, k),
                );
                // Added to what is there, and to what lies elsewhere.
                let away = self.put_as(&vec![f32::NAN; m * n], out_kind)?;
                for out in [&away, &from] {
                    let call = Call::new((m, k, n), l, r, (out.at(), n)).typed(self.kind, out_kind);
                    let call = call.scaled(0.5).adding_to(from.at());
                    self.gpu.matmul(&call.with_bias(bias.at()))?;
                    let name =
                        format!("product {m}×{k}×{n} {left_turned} {right_turned} {out_kind:?}");
                    self.expect_as(&name, (out, out_kind), &want)?;
                }
            }
        }
        Ok(())
    }

    /// Backward pass through a layer: two products with the same left factor.
    fn shared_products(&mut self) -> Result<(), ModelError> {
        let (rows, outputs, inputs) = (5000, 1536, 512);
        let (dy, weight, x) = (
            ripple(rows * outputs, 1.0, 1),
            ripple(outputs * inputs, 1.0, 2),
            ripple(rows * inputs, 1.0, 3),
        );
        let (mut dx, mut dw) = (vec![0.0; rows * inputs], ripple(outputs * inputs, 1.0, 4));
        let before = dw.clone();
        add_product((rows, outputs, inputs), (&dy, &weight), 1.0, &mut dx);
        let mut turned = vec![0.0; dy.len()];
        crate::net::matmul::transpose(&dy, outputs, outputs, &mut turned);
        add_product((outputs, rows, inputs), (&turned, &x), 1.0, &mut dw);
        let (dy, weight, x) = (self.put(&dy)?, self.put(&weight)?, self.put(&x)?);
        let (to_dx, to_dw) = (self.put(&dx)?, self.put(&before)?);
        let (left, right) = (
            View::rows(dy.at(), outputs),
            View::rows(weight.at(), inputs),
        );
        let size = (rows, outputs, inputs);
        let call = Call::new(size, left, right, (to_dx.at(), inputs));
        self.gpu.matmul(&call.sharing(Shared::First))?;
        let (left, right) = (View::turned(dy.at(), outputs), View::rows(x.at(), inputs));
        let size = (outputs, rows, inputs);
        let call = Call::new(size, left, right, (to_dw.at(), inputs)).adding(true);
        self.gpu.matmul(&call.sharing(Shared::Second))?;
        self.expect("product back to the input", &to_dx, &dx)?;
        self.expect("product back to the weights", &to_dw, &dw)
    }

    fn norms(&mut self, centred: bool) -> Result<(), ModelError> {
        let (rows, width) = (300, 136);
        let kind = NormKind { centred, eps: 1e-5 };
        let (x, dy, base) = (
            ripple(rows * width, 1.0, 1),
            self.ripple(rows * width, 1.0, 2),
            ripple(rows * width, 1.0, 3),
        );
        let (weight, bias) = (ripple(width, 1.0, 4), ripple(width, 1.0, 5));
        let (mut y, mut moments) = (vec![0.0; rows * width], vec![[0.0; 2]; rows]);
        kernels::norm(&x, kind, (&weight, Some(&bias)), &mut y, &mut moments);
        let (mut dx, mut dw, mut db) = (base.clone(), vec![0.0; width], vec![0.0; width]);
        let saved = NormSaved {
            x: &x,
            moments: &moments,
            weight: &weight,
            kind,
        };
        kernels::norm_back(&saved, &dy, &mut dx, Some((&mut dw, Some(&mut db))));
        let empty = vec![0.0; rows * width];
        let (x, dy, base) = (self.single(&x)?, self.put(&dy)?, self.single(&base)?);
        let (weight, bias) = (self.single(&weight)?, self.single(&bias)?);
        let (out, kept) = (self.put(&empty)?, self.single(&empty)?);
        let by = NormAt {
            weight: weight.at(),
            bias: bias.at(),
            width,
            kind,
        };
        let to = (out.at(), self.kind);
        self.gpu.norm(x.at(), rows, by, to, kept.at())?;
        self.expect(&format!("norm, centred {centred}"), &out, &y)?;
        let flat: Vec<f32> = moments.iter().flatten().copied().collect();
        self.expect_single("moments", &kept, &flat)?;
        let copy = self.put(&empty)?;
        let to = (base.at(), base.at(), copy.at());
        let gradient = (dy.at(), self.kind);
        self.gpu
            .norm_back((x.at(), kept.at(), rows), by, gradient, to)?;
        self.expect_single("norm back", &base, &dx)?;
        self.expect("norm back, as products take it", &copy, &dx)?;
        if self.kind != NumberType::Single {
            return Ok(());
        }
        let (sums, products) = (self.put(&empty[..width])?, self.put(&empty[..width])?);
        let mut room = Buffer::default();
        let normed = Some((x.at(), kept.at()));
        let to = (sums.at(), products.at());
        self.gpu
            .add_column_sums((dy.at(), width), normed, (rows, width), to, &mut room)?;
        self.expect("norm's bias", &sums, &db)?;
        self.expect("norm's weight", &products, &dw)
    }

    fn activations(&mut self) -> Result<(), ModelError> {
        let len = 5000;
        let (x, u) = (self.ripple(len, 4.0, 1), self.ripple(len, 2.0, 2));
        let (by, count) = ((Threads::Vectors(len), self.kind), len as u64);
        for activation in [Activation::Gelu, Activation::GeluTanh] {
            let (mut gradient, mut y) = (x.clone(), vec![0.0; len]);
            kernels::activate(activation, &mut gradient, &mut y);
            let (at, out) = (self.put(&x)?, self.put(&x)?);
            match activation {
                Activation::Gelu => self.gpu.gelu(by, at.at(), out.at(), count)?,
                _ => self.gpu.gelu_tanh(by, at.at(), out.at(), count)?,
            }
            self.expect(&format!("{activation:?}"), &out, &y)?;
            self.expect("its gradient", &at, &gradient)?;
        }
        let (mut gate, mut up, mut y) = (x.clone(), u.clone(), vec![0.0; len]);
        kernels::gated_silu(&mut gate, &mut up, &mut y);
        let (a, b, out) = (self.put(&x)?, self.put(&u)?, self.put(&x)?);
        self.gpu.gated_silu(by, a.at(), b.at(), out.at(), count)?;
        self.expect("gated silu", &out, &y)?;
        self.expect("gradient of the gate", &a, &gate)?;
        self.expect("gradient of up", &b, &up)?;
        self.gpu.multiply(by, a.at(), b.at(), out.at(), count)?;
        kernels::multiply(&mut gate, &up);
        self.expect("multiply", &out, &gate)
    }

    fn sums(&mut self) -> Result<(), ModelError> {
        let (rows, width, step) = (777, 72, 100);
        let x = ripple(rows * step, 1.0, 1);
        let mut want = ripple(width, 1.0, 2);
        let (at, sums) = (self.put(&x)?, self.put(&want)?);
        kernels::add_column_sums(&x, step, &mut want);
        let mut room = Buffer::default();
        let to = (sums.at(), 0);
        self.gpu
            .add_column_sums((at.at(), step), None, (rows, width), to, &mut room)?;
        self.expect("column sums", &sums, &want)
    }

    fn drops(&mut self) -> Result<(), ModelError> {
        let (rows, step) = (777, 100);
        let x = self.ripple(rows * step, 1.0, 1);
        let at = self.put(&x)?;
        let (seeds, half) = ([0x1234_5678_9abc_def0u64, 42], rows / 2);
        let mut want = Vec::new();
        for (seed, part) in seeds.iter().zip([&x[..half * step], &x[half * step..]]) {
            let mut dropped = Vec::new();
            drop_into(part, 0.3, seed ^ (5 << 40), &mut dropped);
            want.extend(dropped);
        }
        let packs: Vec<i32> = (0..rows).map(|r| i32::from(r >= half)).collect();
        let places: Vec<i32> = (0..rows)
            .map(|r| int(if r < half { r } else { r - half }))
            .collect();
        let words: Vec<i32> = seeds
            .iter()
            .flat_map(|s| [*s as u32, (*s >> 32) as u32].map(u32::cast_signed))
            .collect();
        let (packs, places, words) = (self.ints(&packs)?, self.ints(&places)?, self.ints(&words)?);
        let by = Dropout {
            places: (packs.at(), places.at(), words.at()),
            salt: 5 << 40,
            share: 0.3,
        };
        let out = self.put(&x)?;
        self.gpu
            .drop_numbers((at.at(), self.kind), &by, (rows, step), (out.at(), false))?;
        self.expect("dropout", &out, &want)
    }

    fn losses(&mut self) -> Result<(), ModelError> {
        let (rows, vocabulary, scale) = (37, 1003, 0.25);
        let logits = ripple(rows * vocabulary, 5.0, 1);
        let targets: Vec<(u32, f32)> = (0..rows as u32).map(|r| (r * 27, 1.0 + r as f32)).collect();
        let mut gradient = logits.clone();
        let each = targets.iter().zip(logits.chunks(vocabulary));
        let mut losses: Vec<f32> = Vec::new();
        for (target, row) in each {
            losses.push(-kernels::log_probabilities(&mut row.to_vec(), vocabulary, &[target.0])[0]);
        }
        let total = kernels::cross_entropy(&mut gradient, vocabulary, &targets, scale);
        let numbers: Vec<i32> = targets.iter().map(|(t, _)| t.cast_signed()).collect();
        let weights: Vec<f32> = targets.iter().map(|(_, w)| *w).collect();
        let (at, out) = (self.single(&logits)?, self.single(&vec![0.0; rows])?);
        let (numbers, weights) = (self.ints(&numbers)?, self.single(&weights)?);
        let apart = self.put(&logits)?;
        let gradients = match self.kind {
            NumberType::Single => &at,
            _ => &apart,
        };
        let by = (Threads::Logits(rows), self.kind);
        let (targets, factors, size) = (numbers.at(), weights.at(), int(vocabulary));
        let (to, kept) = (gradients.at(), out.at());
        self.gpu
            .cross_entropy(by, at.at(), size, targets, factors, scale, kept, to)?;
        self.expect("gradient of the loss", gradients, &gradient)?;
        self.expect_single("losses", &out, &losses)?;
        let sum = self.ints(&[0; 4])?;
        let by = (Threads::Grid(1, 1), NumberType::Single);
        self.gpu
            .add_losses(by, out.at(), weights.at(), int(rows), sum.at())?;
        let got = self.gpu.device.read::<f64>(sum.at(), 1)?;
        let error = got.first().map_or(f64::NAN, |x| (x - total).abs() / total);
        self.found.push(("sum of losses".to_owned(), error));
        Ok(())
    }

    fn attention(&mut self, width: usize, heads: usize, kv_heads: usize) -> Result<(), ModelError> {
        let layout = Joint {
            heads,
            kv_heads,
            width,
            grouped: kv_heads == heads,
        };
        let how = AttentionSettings {
            joint: layout,
            scale: 1.0 / (width as f32).sqrt(),
            cap: None,
            window: None,
            causal: true,
            unit: Unit::Vectors,
        };
        let lengths = [70, 1, 64, 33];
        let mut segments = Vec::new();
        let mut rows = 0;
        for length in lengths {
            segments.push(Segment {
                start: rows,
                length,
            });
            rows += length;
        }
        let (joint, across) = (layout.row(), heads * width);
        let (mut qkv, dout) = (
            self.ripple(rows * joint, 2.0, 1),
            self.ripple(rows * across, 1.0, 2),
        );
        let (plain, rotary) = (
            qkv.clone(),
            Rotary::new(&Rope::plain(width / 2, 10_000.0), 256),
        );
        rotary.apply(layout, &segments, &mut qkv, false);
        let qkv = self.rounded(qkv);
        let (mut out, mut log_sums) = (vec![0.0; rows * across], vec![0.0; rows * heads]);
        let mut scratch = Scratch::default();
        forward(&how, &segments, &qkv, &mut scratch, &mut out, &mut log_sums);
        let mut gradient = vec![0.0; rows * joint];
        let saved = Saved {
            qkv: &qkv,
            out: &out,
            log_sums: &log_sums,
        };
        backward(&how, &segments, &saved, &mut scratch, &dout, &mut gradient);
        let tiling = Tiling::new(width, self.kind)?;
        let tiles = tiling.tiles(&segments);
        let list = self.ints(&tiles)?;
        let attention = Attention {
            heads: Heads::new(layout),
            tiling,
            tiles: list.at(),
            tile_count: tiles.len() / 3,
            tokens: rows,
        };
        let positions: Vec<i32> = lengths.iter().flat_map(|l| (0..*l).map(int)).collect();
        let (positions, angles) = (self.ints(&positions)?, self.single(&rotary.numbers())?);
        let at = self.put(&plain)?;
        let turning = (angles.at(), rotary.half);
        let gpu = &self.gpu;
        gpu.rotate(at.at(), &attention, positions.at(), turning, false)?;
        let name = |what: &str| format!("{what}, {heads}/{kv_heads} heads of {width}");
        self.expect(&name("rotation"), &at, &qkv)?;
        let poison = |len: usize| vec![f32::NAN; len];
        let (got, sums) = (
            self.put(&poison(out.len()))?,
            self.single(&poison(log_sums.len()))?,
        );
        let at = self.put(&qkv)?;
        self.gpu.attend(at.at(), &attention, got.at(), sums.at())?;
        self.expect(&name("attention"), &got, &out)?;
        self.expect_single(&name("log-sums"), &sums, &log_sums)?;
        let (dots, back) = (
            self.single(&poison(log_sums.len()))?,
            self.put(&poison(gradient.len()))?,
        );
        let dout = self.put(&dout)?;
        let kept = (got.at(), sums.at());
        let to = (dots.at(), back.at());
        let gpu = Arc::clone(&self.gpu.device);
        self.gpu
            .attend_back(at.at(), &attention, kept, dout.at(), to)?;
        gpu.wait()?;
        self.expect(&name("gradient of attention"), &back, &gradient)
    }
}
