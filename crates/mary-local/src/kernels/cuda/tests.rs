//! The embedded kernels belong to their source, and tokens drawn on a GPU are those that the same whole
//! numbers give on the processor.

use super::*;
use crate::kernels::{Backend, Draw};

/// The embedded kernels were compiled from the source that is there.
#[test]
fn kernels_come_from_their_source() {
    let stale = PARTS.stale(include_bytes!("kernels.cu"));
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
    let choices = Choices {
        number: 0,
        precision: Precision::Single,
        blas: false,
        memory: None,
    };
    let cuda = match Cuda::new(choices) {
        Ok(cuda) => cuda,
        Err(e) => return mary_testkit::skip(mary_testkit::Lacking::Gpu, &e.to_string()),
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
