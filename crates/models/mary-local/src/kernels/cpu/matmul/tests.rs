//! Products of both multipliers beside 64-bit sums.

use super::*;

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// What this processor multiplies with.
pub(in super::super) fn multipliers() -> impl Iterator<Item = Multiplier> {
    let tiles = packed::has_tiles().then_some(Multiplier::Tiles);
    tiles.into_iter().chain([Multiplier::Vectors])
}

/// Largest error against 64-bit sums, in units of the sum of magnitudes.
fn worst(x: &[f32], w: &[f32], bias: f32, got: &[f32], (m, n, k): (usize, usize, usize)) -> f64 {
    let mut worst = 0.0f64;
    for i in 0..m {
        for j in 0..n {
            let pairs = (0..k).map(|p| (f64::from(x[i * k + p]), f64::from(w[j * k + p])));
            let (want, size) = pairs.fold((0.0, 1e-30), |(s, t), (a, b)| {
                (s + a * b, t + (a * b).abs())
            });
            let error = (f64::from(got[i * n + j]) - f64::from(bias) - want).abs() / size;
            worst = worst.max(error);
        }
    }
    worst
}

#[test]
fn both_multipliers_reach_single_precision_on_awkward_sizes() {
    for (m, n, k) in [(1, 5, 7), (3, 33, 64), (37, 70, 100), (290, 40, 1300)] {
        let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
        for how in multipliers() {
            let layer = Linear {
                parts: vec![Matrix::dense(w.clone(), n, k, how)],
                bias: Some(vec![0.5; n]),
            };
            let mut out = vec![f32::NAN; m * n];
            let mut split = Activations::default();
            linear(Rows::new(&x, m, k, &mut split), &layer, &mut out, false);
            let error = worst(&x, &w, 0.5, &out, (m, n, k));
            assert!(error < 2e-6, "{how:?} {m}x{n}x{k}: {error:e}");
        }
    }
}

/// The residual stream of a first token is thousands of times as large as what a layer adds to it.
#[test]
fn what_towers_over_a_product_is_rounded_a_few_times_only() {
    let (m, n, k) = (3, 40, 1300);
    let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
    let (tower, place) = (20_000.0f32, 2f64.powi(-9));
    for how in multipliers() {
        let layer = Linear {
            parts: vec![Matrix::dense(w.clone(), n, k, how)],
            bias: None,
        };
        let mut out = vec![tower; m * n];
        let mut split = Activations::default();
        linear(Rows::new(&x, m, k, &mut split), &layer, &mut out, true);
        for (i, got) in out.iter().enumerate() {
            let (x, w) = (&x[i / n * k..], &w[i % n * k..]);
            let product = (0..k).map(|p| f64::from(x[p]) * f64::from(w[p]));
            let error = f64::from(*got) - f64::from(tower) - product.sum::<f64>();
            assert!(error.abs() < 1.6 * place, "{how:?}: {:.1}", error / place);
        }
    }
}

#[test]
fn a_row_is_multiplied_alike_whatever_stands_beside_it() {
    for (how, (n, k)) in multipliers()
        .flat_map(|how| [(5, 7), (1, 40), (33, 64), (70, 512), (300, 1300)].map(|size| (how, size)))
    {
        let most = 290;
        let (x, w) = (numbers(most * k, 1), numbers(n * k, 2));
        let layer = Linear {
            parts: vec![Matrix::dense(w, n, k, how)],
            bias: Some(numbers(n, 3)),
        };
        let ask = |first: usize, m: usize, add: bool| {
            let mut out = vec![0.25; m * n];
            let mut split = Activations::default();
            let rows = Rows::new(&x[first * k..(first + m) * k], m, k, &mut split);
            linear(rows, &layer, &mut out, add);
            out
        };
        for add in [false, true] {
            let all = ask(0, most, add);
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                for m in [1, 2, 3, 4, 5, 8, 11, 12, 16, 17, 33, 64, 65, 100] {
                    let first = (m * 7) % (most - m);
                    let part = pool.install(|| ask(first, m, add));
                    let same = &all[first * n..(first + m) * n];
                    let alike = part
                        .iter()
                        .zip(same)
                        .all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(alike, "{how:?} {m}x{n}x{k}, added {add}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn tiles_lose_nothing_against_vectors() {
    if !packed::has_tiles() {
        mary_testkit::skip(
            mary_testkit::Lacking::Processor,
            "this processor has no tile unit",
        );
        return;
    }
    let (m, n, k) = (64, 64, 1024);
    let (x, w) = (numbers(m * k, 3), numbers(n * k, 4));
    let error = |how| {
        let layer = Linear {
            parts: vec![Matrix::dense(w.clone(), n, k, how)],
            bias: None,
        };
        let mut out = vec![0.0; m * n];
        linear(
            Rows::new(&x, m, k, &mut Activations::default()),
            &layer,
            &mut out,
            true,
        );
        worst(&x, &w, 0.0, &out, (m, n, k))
    };
    let (tiles, vectors) = (error(Multiplier::Tiles), error(Multiplier::Vectors));
    eprintln!("largest error: tiles {tiles:e}, vectors {vectors:e}");
    assert!(
        tiles < 8.0 * vectors.max(1e-7),
        "tiles {tiles:e}, vectors {vectors:e}"
    );
}

#[test]
fn weights_stored_in_sixteen_bits_are_multiplied_exactly() {
    if !packed::has_tiles() {
        return;
    }
    let (m, n, k) = (33, 31, 96);
    let x = numbers(m * k, 5);
    for round in [
        |v: f32| half::bf16::from_f32(v).to_f32(),
        |v| half::f16::from_f32(v).to_f32(),
    ] {
        let w: Vec<f32> = numbers(n * k, 6).into_iter().map(round).collect();
        let matrix = Matrix::dense(w.clone(), n, k, Multiplier::Tiles);
        let layer = Linear {
            parts: vec![matrix],
            bias: None,
        };
        let mut out = vec![0.0; m * n];
        linear(
            Rows::new(&x, m, k, &mut Activations::default()),
            &layer,
            &mut out,
            false,
        );
        assert!(worst(&x, &w, 0.0, &out, (m, n, k)) < 1e-6);
    }
}

#[test]
fn regions_cover_the_product_once() {
    for (rows, outputs, threads) in [(1, 1, 1), (2048, 960, 2), (300, 49152, 2), (33, 100, 16)] {
        let whole = Region::whole(rows, outputs, false);
        let area: usize = divide(whole, threads)
            .iter()
            .map(|r| r.rows * r.outputs)
            .sum();
        assert_eq!(area, rows * outputs);
    }
}

/// The first token of a text has an input thousands of times as large as the others in many models: what comes
/// after it in a sum must not be rounded at its size.
#[test]
fn an_input_that_towers_over_its_row_does_not_blur_the_others() {
    let (rows, inputs, outputs) = (5, 4864, 48);
    let wave = |i: usize, by: f32| (i as f32 * by).sin();
    let weights: Vec<f32> = (0..inputs * outputs)
        .map(|i| 0.05 * wave(i, 0.37))
        .collect();
    let mut x: Vec<f32> = (0..rows * inputs).map(|i| wave(i, 0.11)).collect();
    x[2 * inputs + 7] = 40_000.0;
    x[2 * inputs + 901] = -30_000.0;
    {
        let how = Multiplier::Vectors;
        let matrix = Matrix::dense(weights.clone(), outputs, inputs, how);
        let layer = Linear {
            parts: vec![matrix],
            bias: None,
        };
        let mut out = vec![0.0; rows * outputs];
        let mut split = Activations::default();
        linear(
            Rows::new(&x, rows, inputs, &mut split),
            &layer,
            &mut out,
            false,
        );
        for row in 0..rows {
            for output in 0..outputs {
                let terms = (0..inputs).map(|i| {
                    f64::from(x[row * inputs + i]) * f64::from(weights[output * inputs + i])
                });
                let want: f64 = terms.sum();
                let error = (f64::from(out[row * outputs + output]) - want).abs();
                // A few of the last bits of what the largest product alone is.
                let most = if row == 2 { 3e-4 } else { 2e-5 };
                assert!(
                    error < most,
                    "{how:?}, row {row}, output {output}: {error:e} of {want}"
                );
            }
        }
    }
}
