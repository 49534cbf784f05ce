//! Paired differences: by hand, and their coverage from five units to two thousand, at rare and at
//! certain differences, with and without clusters.

use mary_stats::difference::{FEWEST, ScoreRange, adjusted, compare};
use mary_stats::likelihood;
use mary_stats::paired::PairedCounts;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn twenty_items_that_never_differ_still_leave_room() {
    // Ties among the scores, so that the likelihood of yes and no does not apply.
    let scores: Vec<f64> = (0..20).map(|i| f64::from(i % 3) / 2.0).collect();
    let found = compare(&scores, &scores, None, ScoreRange::Unit, 1).unwrap();
    let (low, high) = found.bounds.unwrap();
    // By hand: centre 0, error sqrt(2 · 22/21) / 22, t of 21 degrees 2.0796.
    let half = 2.079_614 * (2.0_f64 * 22.0 / 21.0).sqrt() / 22.0;
    assert!(
        (high - half).abs() < 1e-5 && (low + half).abs() < 1e-5,
        "{low} {high}"
    );
    assert_eq!((found.value, found.p), (0.0, Some(1.0)));
}

#[test]
fn independent_items_get_bonett_and_prices_own_interval() {
    // Their formula for 30 items, 7 only first and 2 only second, with t for z.
    let mut d = vec![0.0; 21];
    d.extend([1.0; 7]);
    d.extend([-1.0; 2]);
    let found = adjusted(&d, None, 0.95).unwrap();
    let (n, b, c) = (32.0_f64, 8.0, 3.0);
    let centre = (b - c) / n;
    let variance = ((b + c) / n - centre * centre) / (n - 1.0);
    let half = 2.039_513 * variance.sqrt();
    assert!((found.low - (centre - half)).abs() < 1e-5, "{found:?}");
    assert!((found.high - (centre + half)).abs() < 1e-5, "{found:?}");
}

#[test]
fn below_five_units_nothing_is_claimed() {
    for n in 1..FEWEST {
        let (first, second) = (vec![1.0; n], vec![0.0; n]);
        for range in [ScoreRange::Unit, ScoreRange::Unbounded] {
            let found = compare(&first, &second, None, range, 1).unwrap();
            assert_eq!((found.bounds, found.p), (None, None), "{n}");
            assert!(found.method.contains("below 5"), "{}", found.method);
        }
    }
    // Ten items in two clusters are two units.
    let ids: Vec<usize> = (0..10).map(|i| i / 5).collect();
    let (first, second) = (vec![1.0; 10], vec![0.0; 10]);
    let found = compare(&first, &second, Some(&ids), ScoreRange::Unit, 1).unwrap();
    assert_eq!((found.units, found.bounds, found.p), (2, None, None));
}

#[test]
fn the_same_item_under_two_pairs_of_models_is_one_unit() {
    // 40 items, each twice: the interval must not narrow.
    let once: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i % 4 == 0))).collect();
    let zero = vec![0.0; 40];
    let twice: Vec<f64> = once.iter().chain(&once).copied().collect();
    let ids: Vec<usize> = (0..80).map(|i| i % 40).collect();
    let alone = adjusted(&once, None, 0.95).unwrap();
    let pooled = compare(
        &twice,
        &[zero.clone(), zero].concat(),
        Some(&ids),
        ScoreRange::Unit,
        1,
    );
    let pooled = pooled.unwrap();
    assert_eq!((pooled.n, pooled.units), (80, 40));
    let (low, high) = pooled.bounds.unwrap();
    assert!((low - alone.low).abs() < 1e-12 && (high - alone.high).abs() < 1e-12);
}

#[test]
fn numbers_without_bounds_and_without_spread_have_no_interval() {
    let (a, b) = ([0.5; 6], [0.25; 6]);
    let found = compare(&a, &b, None, ScoreRange::Unbounded, 1).unwrap();
    assert_eq!(found.bounds, None);
    assert_eq!(found.p, Some(2.0 / 64.0));
    assert!(found.method.contains("no interval"), "{}", found.method);
}

/// Differences of items in clusters: with probability `together` all items of a cluster share one draw.
fn drawn(
    rng: &mut ChaCha8Rng,
    (units, size): (usize, usize),
    together: f64,
    (first, second): (f64, f64),
) -> (Vec<f64>, Vec<usize>) {
    let (mut d, mut ids) = (vec![], vec![]);
    for unit in 0..units {
        let common: f64 = rng.random();
        let shared = rng.random::<f64>() < together;
        for _ in 0..size {
            let x = if shared { common } else { rng.random() };
            d.push(if x < first {
                1.0
            } else if x < first + second {
                -1.0
            } else {
                0.0
            });
            ids.push(unit);
        }
    }
    (d, ids)
}

/// Probabilities that only the first, and only the second, is right: never, rarely, often, almost
/// always, always.
const TRUTHS: [(f64, f64); 7] = [
    (0.0, 0.0),
    (0.02, 0.02),
    (0.1, 0.1),
    (0.3, 0.1),
    (0.5, 0.3),
    (0.95, 0.0),
    (1.0, 0.0),
];

#[test]
fn the_adjusted_interval_covers_from_five_units_to_two_thousand() {
    for (units, simulations) in [
        (5, 2_000),
        (10, 1_000),
        (20, 1_000),
        (200, 300),
        (2_000, 60),
    ] {
        for (size, together) in [(1, 0.0), (4, 0.0), (4, 0.5), (4, 1.0)] {
            for truth in TRUTHS {
                let mut rng = ChaCha8Rng::seed_from_u64(5);
                let hits = (0..simulations)
                    .filter(|_| {
                        let (d, ids) = drawn(&mut rng, (units, size), together, truth);
                        adjusted(&d, Some(&ids), 0.95)
                            .unwrap()
                            .contains(truth.0 - truth.1)
                    })
                    .count();
                let found = hits as f64 / f64::from(simulations);
                // Three standard errors of the simulation below 0.94.
                let least = 0.94 - 3.0 * (0.95 * 0.05 / f64::from(simulations)).sqrt();
                eprintln!("adjusted {units} x {size}, together {together}, {truth:?}: {found:.4}");
                assert!(
                    found >= least,
                    "{units} x {size} {together} {truth:?}: {found}"
                );
            }
        }
    }
}

#[test]
fn the_likelihood_interval_of_yes_and_no_covers_on_the_average_from_five_items_on() {
    // The probabilities are drawn anew for every simulation: at single ones a discrete interval jumps.
    for (n, simulations) in [(5, 2_000), (10, 2_000), (20, 2_000), (200, 600)] {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let hits = (0..simulations)
            .filter(|_| {
                let first = 0.5 * rng.random::<f64>();
                let second = 0.5 * rng.random::<f64>();
                let (d, _) = drawn(&mut rng, (n, 1), 0.0, (first, second));
                let count = |v: f64| d.iter().filter(|x| **x == v).count() as u64;
                let counts = PairedCounts {
                    only_first: count(1.0),
                    only_second: count(-1.0),
                    both: count(0.0),
                    neither: 0,
                };
                likelihood::difference_paired(&counts, 0.95)
                    .unwrap()
                    .contains(first - second)
            })
            .count();
        let found = hits as f64 / f64::from(simulations);
        eprintln!("likelihood n={n}: {found:.4}");
        assert!((0.93..=0.975).contains(&found), "{n}: {found}");
    }
}
