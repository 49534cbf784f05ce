//! Products from digits are held to those of the numbers they stand for.

use mary_weights::TensorType;

use super::*;

const KINDS: [TensorType; 11] = [
    TensorType::Q4_0,
    TensorType::Q4_1,
    TensorType::Q5_0,
    TensorType::Q5_1,
    TensorType::Q8_0,
    TensorType::Q4K,
    TensorType::Q5K,
    TensorType::Q6K,
    TensorType::Int4,
    TensorType::Int8,
    TensorType::Fp8,
];

/// Weights of any digits, with scales between 0.25 and 0.5 so that no random exponent dominates.
fn weights(kind: TensorType, outputs: usize, inputs: usize) -> Blocks {
    let bytes = outputs * kind.bytes_for(inputs).unwrap();
    let mut data: Vec<u8> = (0..bytes)
        .map(|i| (i * i % 1021 * 89 % 253) as u8)
        .collect();
    let at: &[usize] = match kind {
        TensorType::Q6K => &[208],
        TensorType::Q4_0 | TensorType::Q5_0 | TensorType::Q8_0 => &[0],
        TensorType::Int4 | TensorType::Int8 | TensorType::Fp8 => &[],
        _ => &[0, 2],
    };
    for block in data.chunks_mut(kind.block_bytes()) {
        for &at in at {
            block[at + 1] = 0x34;
        }
        crate::kernels::cpu::quant::tests::tame(kind, block);
    }
    Blocks::new(kind, outputs, inputs, data).unwrap()
}

fn lacking() -> bool {
    let lacking = !supports(&weights(TensorType::Q4_0, 1, 32));
    if lacking {
        mary_testkit::skip(
            mary_testkit::Lacking::Processor,
            "this processor has no tile unit",
        );
    }
    lacking
}

fn product(x: &[f32], rows: usize, parts: &[&Blocks], add: bool) -> Vec<f32> {
    let outputs: usize = parts.iter().map(|p| p.outputs()).sum();
    let mut planes = Planes::default();
    planes.set(x, rows, x.len() / rows);
    let mut out = vec![0.25; rows * outputs];
    linear(&planes, parts, &mut out, add);
    out
}

#[test]
fn digits_multiply_like_the_numbers_they_stand_for() {
    if lacking() {
        return;
    }
    for (kind, rows) in KINDS.into_iter().flat_map(|k| [1, 5, 33].map(|r| (k, r))) {
        let inputs = if kind.block_len() == 32 { 672 } else { 1536 };
        let w = weights(kind, 71, inputs);
        let plain = w.unpack(0, 71);
        // Activations of very different sizes.
        let size = |i: usize| if i.is_multiple_of(41) { 300.0 } else { 0.1 };
        let x: Vec<f32> = (0..rows * inputs)
            .map(|i| (i as f32 * 0.7).sin() * size(i))
            .collect();
        let got = product(&x, rows, &[&w], true);
        for (r, o) in (0..rows).flat_map(|r| (0..71).map(move |o| (r, o))) {
            let pairs = plain[o * inputs..][..inputs].iter().zip(&x[r * inputs..]);
            let pairs = pairs.map(|(w, x)| f64::from(*w) * f64::from(*x));
            let (want, size) = pairs.fold((0.25, 0.25), |(a, b), p| (a + p, b + p.abs()));
            let error = (f64::from(got[r * 71 + o]) - want).abs() / size;
            assert!(error < 4e-7, "{kind}, row {r}, output {o}: {error:e}");
        }
    }
}

#[test]
fn a_row_has_the_same_product_whatever_stands_beside_it() {
    if lacking() {
        return;
    }
    let inputs = 768;
    let x: Vec<f32> = (0..300 * inputs).map(|i| (i as f32 * 0.37).sin()).collect();
    let (a, b) = (
        weights(TensorType::Q4K, 96, inputs),
        weights(TensorType::Q6K, 40, inputs),
    );
    let all = product(&x, 300, &[&a, &b], false);
    for (first, rows) in [(0, 1), (7, 2), (250, 16), (16, 17), (3, 33), (100, 200)] {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let part = pool.install(|| {
                product(
                    &x[first * inputs..(first + rows) * inputs],
                    rows,
                    &[&a, &b],
                    false,
                )
            });
            let same = part
                .iter()
                .zip(&all[first * 136..])
                .all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{rows} rows from {first} on, {threads} threads");
        }
    }
}

#[test]
fn what_is_no_number_stays_none() {
    if lacking() {
        return;
    }
    for kind in [TensorType::Q4K, TensorType::Q6K, TensorType::Q8_0] {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut x = vec![0.5; 2 * 256];
            x[256 + 5] = bad;
            let got = product(&x, 2, &[&weights(kind, 20, 256)], false);
            assert!(got[..20].iter().all(|y| y.is_finite()), "{kind}");
            assert!(got[20..].iter().all(|y| !y.is_finite()), "{kind}");
        }
    }
}
