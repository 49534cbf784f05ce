//! Products of the kernels written for Hopper GPUs. All numbers are small multiples of a sixteenth, so that
//! every sum is exact and must come out to the last bit, in whatever order it is taken.

use super::*;
use crate::config::Activation;
use crate::kernels::Weights;
use crate::kernels::cpu::elementwise::activate;
use crate::kernels::cuda::hopper::End;

/// Multiples of a sixteenth between -1 and 1.
fn coarse(count: usize, seed: u64) -> Vec<f32> {
    let round = |x: f32| (x * 16.0).round() / 16.0;
    noise(count, seed).into_iter().map(round).collect()
}

struct Case {
    cuda: Cuda,
    layer: Linear,
    x: Tensor,
    rows: usize,
    wanted: Vec<f32>,
}

impl Case {
    /// None where there is no GPU, or another kind.
    fn new(precision: Precision, rows: usize, inputs: usize, outputs: usize) -> Option<Self> {
        let cuda = gpu(precision)?;
        let (x, w, bias) = (
            coarse(rows * inputs, 3),
            coarse(outputs * inputs, 5),
            coarse(outputs, 9),
        );
        let mut wanted = Vec::with_capacity(rows * outputs);
        for row in x.chunks_exact(inputs) {
            for (weights, bias) in w.chunks_exact(inputs).zip(&bias) {
                let sum: f32 = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                wanted.push(sum + bias);
            }
        }
        let weights = Weights::plain(w, outputs, inputs);
        let layer = cuda.prepare(vec![weights], Some(bias));
        if !cuda.hopper_takes(&layer) {
            let what = format!("{} is no Hopper GPU", cuda.device.name);
            mary_testkit::skip(mary_testkit::Lacking::Gpu, &what);
            return None;
        }
        let mut tensor = Tensor::default();
        cuda.upload(&x, &mut tensor);
        Some(Self {
            cuda,
            layer,
            x: tensor,
            rows,
            wanted,
        })
    }

    /// What a kernel leaves in memory that held `before`.
    fn run(&self, end: End, before: &[f32], cap: f32) -> Vec<f32> {
        let to = self.cuda.device.alloc(before.len() * 4).unwrap();
        self.cuda.device.write(before, to.at()).unwrap();
        let mut scratch = self.cuda.lock();
        let len = self.rows * self.layer.inputs;
        let operand = self.cuda.operand(&mut scratch, &self.x, len, &self.layer);
        let out = (to.at(), end);
        self.cuda
            .hopper_multiply(operand, self.rows, &self.layer, out, cap);
        self.cuda.check().unwrap();
        self.cuda.device.read(to.at(), before.len()).unwrap()
    }

    /// Two 16-bit numbers in each word, rounded to the nearest.
    fn compare(&self, words: &[f32], wanted: &[f32], tolerated: f64, said: &str) {
        let halves = words
            .iter()
            .flat_map(|w| [w.to_bits() as u16, (w.to_bits() >> 16) as u16]);
        for (found, &wanted) in halves.zip(wanted) {
            let (found, step) = match self.cuda.kind {
                NumberType::F16 => (f64::from(half::f16::from_bits(found)), 2f64.powi(-11)),
                _ => (f64::from(half::bf16::from_bits(found)), 2f64.powi(-8)),
            };
            let wanted = f64::from(wanted);
            let apart = (found - wanted).abs();
            assert!(
                apart <= wanted.abs() * step + tolerated,
                "{said}: {found} and {wanted}"
            );
        }
    }
}

#[test]
fn products_on_a_hopper_gpu_are_exact() {
    for precision in [Precision::Bf16, Precision::F16] {
        // Less than a tile; widths that end within one; several rounds for every block.
        for (rows, inputs, outputs) in [(3, 8, 8), (300, 200, 264), (9000, 328, 1288)] {
            let Some(case) = Case::new(precision, rows, inputs, outputs) else {
                return;
            };
            let said = format!("{precision:?} {rows} x {inputs} x {outputs}");
            let nothing = vec![f32::NAN; case.wanted.len()];
            let stored = case.run(End::Store(NumberType::Single), &nothing, 0.0);
            assert_eq!(stored, case.wanted, "{said}");
            let before = coarse(case.wanted.len(), 21);
            let added = case.run(End::Add, &before, 0.0);
            let sums = case.wanted.iter().zip(&before).map(|(a, b)| a + b);
            assert!(sums.eq(added), "{said}, added");
            let short = case.run(End::Store(case.cuda.kind), &nothing, 0.0);
            case.compare(&short, &case.wanted, 0.0, &said);
            for (kind, number) in [
                (Activation::Gelu, 0),
                (Activation::GeluTanh, 1),
                (Activation::Relu, 4),
            ] {
                let found = case.run(End::Activate(number), &nothing, 0.0);
                let mut wanted = vec![0.0; case.wanted.len()];
                activate(&case.wanted, kind, &mut wanted);
                case.compare(&found, &wanted, 1e-5, &format!("{said}, {kind:?}"));
            }
            for cap in [0.0f32, 30.0] {
                let tiles = Cuda::hopper_tiles(&case.layer);
                let parts = case.run(End::Exponentials, &vec![f32::NAN; rows * tiles * 2], cap);
                for (row, parts) in parts.chunks_exact(2 * tiles).enumerate() {
                    let found: f64 = parts
                        .chunks_exact(2)
                        .map(|p| f64::from(p[0]).exp() * f64::from(p[1]))
                        .sum();
                    let squash = |x: f32| match cap > 0.0 {
                        true => f64::from(cap) * (f64::from(x) / f64::from(cap)).tanh(),
                        false => f64::from(x),
                    };
                    let logits = &case.wanted[row * outputs..][..outputs];
                    let wanted: f64 = logits.iter().map(|&x| squash(x).exp()).sum();
                    let apart = (found.ln() - wanted.ln()).abs();
                    assert!(apart < 2e-5, "{said}, cap {cap}, row {row}: {apart}");
                }
            }
        }
    }
}
