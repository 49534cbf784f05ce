//! The embedded kernels belong to their source, tokens drawn on a GPU are those that the same whole
//! numbers give on the processor, and attention while writing is that of reading.

mod products;

use super::*;
use crate::batch::Batch;
use crate::config::Norm;
use crate::kernels::{AttentionCall, AttentionSettings, Backend, Draw, Heads, NormOf};

fn gpu(precision: Precision) -> Option<Cuda> {
    let choices = Choices {
        number: 0,
        precision,
        blas: false,
        memory: None,
    };
    match Cuda::new(choices) {
        Ok(cuda) => Some(cuda),
        Err(e) => {
            mary_testkit::skip(mary_testkit::Lacking::Gpu, &e.to_string());
            None
        }
    }
}

/// Numbers between -1 and 1.
fn noise(count: usize, mut state: u64) -> Vec<f32> {
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// The embedded kernels were compiled from the source that is there.
#[test]
fn kernels_come_from_their_source() {
    let stale = PARTS.stale(&[
        include_bytes!("kernels.cu"),
        include_bytes!("recurrent.cu"),
        include_bytes!("hopper.cu"),
    ]);
    assert_eq!(stale, None, "run tools/compile_cuda_kernels.py");
}

/// The twin of the kernel `draw`: sorted, where the kernel searches.
fn drawn(logits: &[f32], how: &Draw) -> u32 {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut all: Vec<(f32, u32)> = logits.iter().copied().zip(0u32..).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    if how.inverse_temperature == 0.0 {
        return all[0].1;
    }
    let unit = (1u64 << 44) as f64;
    let weight = |x: f32| {
        let share = ((f64::from(x) - f64::from(top)) * how.inverse_temperature).exp();
        (share * unit) as u64
    };
    if how.top_k > 0 {
        all.truncate(how.top_k as usize);
    }
    let total: u64 = all.iter().map(|a| weight(a.0)).sum();
    if how.top_p < 1.0 {
        let goal = ((how.top_p * total as f64).ceil() as u64).max(1);
        let mut held = 0;
        let count = all.iter().take_while(|a| {
            let before = held;
            held += weight(a.0);
            before < goal
        });
        let count = count.count();
        all.truncate(count);
    }
    all.sort_by_key(|a| a.1);
    let total: u64 = all.iter().map(|a| weight(a.0)).sum();
    let target = ((u128::from(how.random) * u128::from(total)) >> 64) as u64;
    let mut held = 0;
    let found = all.iter().find(|a| {
        held += weight(a.0);
        target < held
    });
    found.unwrap().1
}

#[test]
fn tokens_drawn_on_a_gpu_are_those_of_the_processor() {
    let Some(cuda) = gpu(Precision::Single) else {
        return;
    };
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let width = 50_021;
    let mut rows = vec![];
    let mut draws = vec![];
    for (temperature, top_p, top_k) in [
        (0.0, 1.0, 0),
        (1.0, 1.0, 0),
        (0.7, 0.9, 0),
        (1.0, 1.0, 40),
        (1.5, 0.95, 50),
        (0.2, 0.1, 0),
        (1.0, 0.999_999, 7),
    ] {
        for _ in 0..40 {
            // Coarse logits tie often: of those, the lowest numbers are kept.
            let logits = (0..width).map(|_| ((random() >> 40) % 300) as f32 / 20.0 - 9.0);
            rows.extend(logits);
            draws.push(Draw {
                inverse_temperature: if temperature > 0.0 {
                    1.0 / temperature
                } else {
                    0.0
                },
                top_p,
                random: random(),
                top_k,
            });
        }
    }
    let mut logits = Tensor::default();
    cuda.upload(&rows, &mut logits);
    let found = cuda.draw(&logits, (width, None), &draws);
    cuda.check().unwrap();
    for (i, how) in draws.iter().enumerate() {
        let wanted = drawn(&rows[i * width..(i + 1) * width], how);
        assert_eq!(found[i], Some(wanted), "row {i}, {how:?}");
    }
    // What is no number is noticed, on whatever thread it falls.
    rows[3 * width + 40_000] = f32::NAN;
    cuda.upload(&rows, &mut logits);
    assert_eq!(cuda.draw(&logits, (width, None), &draws)[3], None);
}

/// Attends with new positions of sequences whose keys lie in the cache behind a beginning that all share.
struct Written {
    cuda: Cuda,
    heads: Heads,
    cache: Cache,
}

/// Tokens that all sequences share, and that each has behind them.
const SHARED: usize = 37;
const LENGTHS: [usize; 5] = [1, 30, 200, 3, 700];

impl Written {
    fn tensor(&self, rows: usize, seed: u64) -> Tensor {
        let width = self.heads.q_width() + 2 * self.heads.kv_width();
        let mut x = Tensor::default();
        self.cuda.upload(&noise(rows * width, seed), &mut x);
        // Rows as attention gets them, in the type it computes with.
        let by = NormOf {
            weight: self.cuda.vector(vec![2.0; width]),
            bias: None,
            how: Norm {
                rms: true,
                eps: 1e-5,
                unit_offset: false,
            },
        };
        let mut to = Tensor::default();
        self.cuda.norm(&x, rows, &by, &mut to);
        to
    }

    fn new(precision: Precision, heads: Heads) -> Option<Self> {
        let cuda = gpu(precision)?;
        let rows = SHARED + LENGTHS.iter().map(|l| l + 1).sum::<usize>();
        let cache = cuda.cache(1, rows, heads.kv_width());
        let mut all = Self { cuda, heads, cache };
        let mut batch = Batch::default();
        batch.push(&vec![0; rows], &[], 0);
        let mut qkv = all.tensor(rows, 7);
        let plan = all.cuda.plan(&batch, &heads);
        let place = (&mut all.cache, 0);
        all.cuda.place(&mut qkv, &heads, None, None, place, &plan);
        Some(all)
    }

    /// What the new positions of some of the sequences see.
    fn attend(&mut self, which: &[usize], writing: bool, window: Option<usize>) -> Vec<f32> {
        let mut batch = Batch {
            writing,
            ..Batch::default()
        };
        let mut rows = vec![];
        for &i in which {
            let first = SHARED + LENGTHS[..i].iter().map(|l| l + 1).sum::<usize>();
            let past = [(0, SHARED), (first, LENGTHS[i])];
            batch.push(&[0], &past, first + LENGTHS[i]);
            rows.push(i);
        }
        let plan = self.cuda.plan(&batch, &self.heads);
        let all = self.tensor(LENGTHS.len(), 11);
        let width = self.heads.q_width() + 2 * self.heads.kv_width();
        let mut qkv = Tensor::default();
        self.cuda.gather(&all, width, &rows, &mut qkv);
        let call = AttentionCall {
            cache: &self.cache,
            layer: 0,
            heads: &self.heads,
            settings: AttentionSettings {
                scale: 0.1,
                soft_cap: None,
                sinks: None,
                causal: true,
                window,
                alibi: None,
                reach: &[],
            },
        };
        let mut to = Tensor::default();
        self.cuda.attend(&qkv, &plan, &call, &mut to);
        let found = self.cuda.download(&to, which.len() * self.heads.q_width());
        self.cuda.check().unwrap();
        found
    }
}

#[test]
fn attention_while_writing_is_that_of_reading_on_a_gpu() {
    for precision in [Precision::Single, Precision::Bf16, Precision::F16] {
        for (head_dim, group) in [
            (64, 1),
            (64, 3),
            (128, 1),
            (128, 2),
            (128, 4),
            (96, 1),
            (64, 6),
        ] {
            let heads = Heads {
                heads: 2 * group,
                kv_heads: 2,
                head_dim,
            };
            let Some(mut written) = Written::new(precision, heads) else {
                return;
            };
            let all: Vec<usize> = (0..LENGTHS.len()).collect();
            for window in [None, Some(50)] {
                let reading = written.attend(&all, false, window);
                let writing = written.attend(&all, true, window);
                let tolerated = match precision {
                    // Numbers of up to about four, weighed by exponentials of scores of up to 15.
                    Precision::Single => 2e-5,
                    Precision::F16 => 4e-3,
                    Precision::Bf16 => 3e-2,
                };
                for (a, b) in reading.iter().zip(&writing) {
                    let apart = (a - b).abs();
                    assert!(apart <= tolerated, "{precision:?} {heads:?}: {a} and {b}");
                }
                // What a sequence sees does not depend on who writes beside it.
                let width = heads.q_width();
                for i in 0..LENGTHS.len() {
                    let alone = written.attend(&[i], true, window);
                    assert_eq!(
                        alone,
                        writing[i * width..(i + 1) * width],
                        "{precision:?} {heads:?}"
                    );
                }
            }
        }
    }
}
