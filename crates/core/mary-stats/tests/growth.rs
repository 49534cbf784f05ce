//! Windows of development on simulated trajectories of known shape (issue: onset recovered within
//! its interval in at least 90 % of 200 simulations, no window on flat ones in at least 95 %).

use mary_stats::distributions::normal_quantile;
use mary_stats::segmented::{Search, growth, order};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SIMULATIONS: u64 = 200;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    normal_quantile(rng.random::<f64>().clamp(1e-12, 1.0 - 1e-12))
}

/// Tokens seen at 12, 24 or 40 checkpoints spaced evenly on the log axis from 10^6 to 10^11.5.
fn tokens(checkpoints: usize) -> Vec<f64> {
    (0..checkpoints)
        .map(|i| 10f64.powf(6.0 + 5.5 * i as f64 / (checkpoints - 1) as f64))
        .collect()
}

fn search(seed: u64) -> Search {
    Search {
        resamples: 400,
        permutations: 199,
        seed,
        ..Search::default()
    }
}

#[test]
fn a_known_onset_lies_within_its_interval() {
    for (checkpoints, noise) in [(16, 0.02), (24, 0.02), (40, 0.04)] {
        let x = tokens(checkpoints);
        let (mut claimed, mut onset, mut end, mut decades) = (0, 0, 0, 0.0);
        for seed in 0..SIMULATIONS {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (from, to) = (7.2 + 1.3 * rng.random::<f64>(), 9.2 + rng.random::<f64>());
            let y: Vec<f64> = x
                .iter()
                .map(|x| 0.5 + 0.12 * (x.log10().clamp(from, to) - from) + noise * normal(&mut rng))
                .collect();
            if let Some(window) = growth(&x, &y, &search(seed)).unwrap().window {
                claimed += 1;
                onset += u64::from(window.onset.contains(10f64.powf(from)));
                end += u64::from(window.end.contains(10f64.powf(to)));
                decades += (window.onset.high / window.onset.low).log10();
            }
        }
        eprintln!(
            "{checkpoints} checkpoints: claimed {claimed}, onset {onset}, end {end} of {SIMULATIONS}; \
             mean width of the onset's interval {:.2} decades",
            decades / claimed as f64
        );
        // An onset not claimed counts as not recovered.
        assert!(onset * 10 >= SIMULATIONS * 9, "{onset}");
        assert!(end * 10 >= SIMULATIONS * 9, "{end}");
    }
}

#[test]
fn no_window_is_claimed_on_flat_trajectories() {
    for checkpoints in [12, 24] {
        let x = tokens(checkpoints);
        let claimed = (0..SIMULATIONS)
            .filter(|seed| {
                let mut rng = ChaCha8Rng::seed_from_u64(1_000 + seed);
                let y: Vec<f64> = x.iter().map(|_| 0.5 + 0.02 * normal(&mut rng)).collect();
                let quick = Search {
                    resamples: 20,
                    ..search(*seed)
                };
                growth(&x, &y, &quick).unwrap().window.is_some()
            })
            .count() as u64;
        eprintln!("{checkpoints} flat checkpoints: claimed {claimed} of {SIMULATIONS}");
        assert!(claimed * 20 <= SIMULATIONS, "{claimed}");
    }
}

#[test]
fn the_order_of_two_windows_is_seen() {
    let x = tokens(30);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut trajectory = |from: f64| -> Vec<f64> {
        x.iter()
            .map(|x| {
                0.5 + 0.2 * (x.log10().clamp(from, from + 1.5) - from) + 0.01 * normal(&mut rng)
            })
            .collect()
    };
    let (early, late) = (trajectory(7.5), trajectory(9.0));
    let window = |y: &[f64]| growth(&x, y, &search(1)).unwrap().window.unwrap();
    assert!(order(&window(&early), &window(&late)).unwrap() > 0.99);
}

#[test]
fn a_rise_that_began_before_the_first_point_is_only_bounded() {
    let x = tokens(20);
    let y: Vec<f64> = x.iter().map(|x| 0.1 * x.log10()).collect();
    let window = growth(&x, &y, &search(1)).unwrap().window.unwrap();
    assert!(!window.onset_seen && !window.end_seen);
}

#[test]
fn a_fall_is_no_growth_and_step_zero_is_refused() {
    let x = tokens(20);
    let falling: Vec<f64> = x.iter().map(|x| 1.0 - 0.05 * x.log10()).collect();
    assert!(growth(&x, &falling, &search(1)).unwrap().window.is_none());
    let mut with_zero = x.clone();
    with_zero[0] = 0.0;
    let message = growth(&with_zero, &falling, &search(1))
        .unwrap_err()
        .to_string();
    assert!(message.contains("leave step 0 out"), "{message}");
}
