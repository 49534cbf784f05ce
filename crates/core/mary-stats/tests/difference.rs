//! Paired differences: by hand, that interval and p-value never contradict each other, and how often the
//! interval of clustered differences covers, at 5 to 200 clusters of unequal size.

use mary_stats::bootstrap::Bootstrap;
use mary_stats::difference::{Difference, FEWEST, ScoreRange, compare};
use mary_stats::distributions::normal_quantile;
use mary_stats::likelihood;
use mary_stats::paired::PairedCounts;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::coverage_families::beta;

/// Scores whose differences are these.
fn differing(d: &[f64], clusters: Option<&[usize]>, range: ScoreRange) -> Difference {
    compare(d, &vec![0.0; d.len()], clusters, range).unwrap()
}

#[test]
fn twenty_items_that_never_differ_still_leave_room() {
    // Ties among the scores, so that the likelihood of yes and no does not apply.
    let scores: Vec<f64> = (0..20).map(|i| f64::from(i % 3) / 2.0).collect();
    let found = compare(&scores, &scores, None, ScoreRange::Unit).unwrap();
    let (low, high) = found.bounds.unwrap();
    // By hand: nothing in 20 tosses has the likelihood (1 − d)^20; t of 19 degrees is 2.0930.
    let half = 1.0 - (-2.093_024_f64.powi(2) / 40.0).exp();
    assert!(
        (high - half).abs() < 1e-5 && (low + half).abs() < 1e-5,
        "{low} {high} {half}"
    );
    assert_eq!((found.value, found.p), (0.0, Some(1.0)));
    assert!(found.too_few_differ);
}

#[test]
fn shares_with_ties_get_students_t() {
    // Ten differences of mean 0.3 and variance 0.9 · 10/9 − …: by hand below.
    let d = [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.0, -0.5, -0.5, -0.5];
    let found = differing(&d, None, ScoreRange::Unit);
    let mean = 0.3;
    let variance = (d.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>()) / 9.0 / 10.0;
    let half = 2.262_157 * variance.sqrt();
    let (low, high) = found.bounds.unwrap();
    assert!((low - (mean - half)).abs() < 1e-5 && (high - (mean + half)).abs() < 1e-5);
    assert_eq!(found.method, "Student's t");
}

#[test]
fn five_units_of_one_mind_are_no_claim_and_say_so() {
    // Forty clusters of three items, five of which favour the first throughout.
    let ids: Vec<usize> = (0..120).map(|i| i / 3).collect();
    let mut d = vec![0.0; 120];
    d[..15].fill(1.0);
    let found = differing(&d, Some(&ids), ScoreRange::Unit);
    // Two of the 32 sign patterns are as extreme.
    assert_eq!(found.p, Some(2.0 / 32.0));
    assert!(found.too_few_differ && found.method.contains("fewer than six units"));
    let (low, high) = found.bounds.unwrap();
    assert!(low <= 0.0 && high > 0.125, "{low} {high}");
    // A sixth makes it one.
    d[15..18].fill(1.0);
    let found = differing(&d, Some(&ids), ScoreRange::Unit);
    assert!(found.p.unwrap() < 0.05 && found.bounds.unwrap().0 > 0.0);
    assert!(!found.too_few_differ);
}

#[test]
fn three_items_to_none_leave_zero_in_the_interval() {
    // The table of issue 37: the likelihood alone gave an interval below 0 beside p = .125.
    let mut first = vec![1.0; 30];
    first[..3].fill(0.0);
    let found = compare(&first, &[1.0; 30], None, ScoreRange::Unit).unwrap();
    assert!((found.p.unwrap() - 0.125).abs() < 1e-9);
    let (low, high) = found.bounds.unwrap();
    assert!(low < -0.2 && high == 0.0, "{low} {high}");
    assert!(found.too_few_differ);
}

#[test]
fn below_five_units_nothing_is_claimed() {
    for n in 1..FEWEST {
        let (first, second) = (vec![1.0; n], vec![0.0; n]);
        for range in [ScoreRange::Unit, ScoreRange::Unbounded] {
            let found = compare(&first, &second, None, range).unwrap();
            assert_eq!((found.bounds, found.p), (None, None), "{n}");
            assert!(found.method.contains("below 5"), "{}", found.method);
        }
    }
    // Ten items in two clusters are two units.
    let ids: Vec<usize> = (0..10).map(|i| i / 5).collect();
    let (first, second) = (vec![1.0; 10], vec![0.0; 10]);
    let found = compare(&first, &second, Some(&ids), ScoreRange::Unit).unwrap();
    assert_eq!((found.units, found.bounds, found.p), (2, None, None));
}

#[test]
fn the_same_item_under_two_pairs_of_models_is_one_unit() {
    // 40 items, each twice: the interval must not narrow.
    let once: Vec<f64> = (0..40)
        .map(|i| {
            if i % 4 == 0 {
                1.0
            } else {
                f64::from(i % 3) / 2.0
            }
        })
        .collect();
    let twice: Vec<f64> = once.iter().chain(&once).copied().collect();
    let ids: Vec<usize> = (0..80).map(|i| i % 40).collect();
    let alone = differing(&once, None, ScoreRange::Unit);
    let pooled = differing(&twice, Some(&ids), ScoreRange::Unit);
    assert_eq!((pooled.n, pooled.units), (80, 40));
    let ((a, b), (c, d)) = (alone.bounds.unwrap(), pooled.bounds.unwrap());
    assert!((a - c).abs() < 1e-9 && (b - d).abs() < 1e-9);
    assert!((alone.p.unwrap() - pooled.p.unwrap()).abs() < 1e-9);
}

#[test]
fn numbers_without_bounds_and_without_spread_have_no_interval() {
    let (a, b) = ([0.5; 6], [0.25; 6]);
    let found = compare(&a, &b, None, ScoreRange::Unbounded).unwrap();
    assert_eq!(found.bounds, None);
    assert_eq!(found.p, Some(2.0 / 64.0));
    assert!(found.method.contains("no interval"), "{}", found.method);
}

/// Against matrices: tools/golden_clusters.py.
#[test]
fn clustered_differences_agree_with_cr2_by_its_matrices() {
    let gold: serde_json::Value =
        serde_json::from_str(include_str!("golden/clusters.json")).unwrap();
    for case in gold["cases"].as_array().unwrap() {
        let list = |name: &str| case[name].as_array().unwrap().clone();
        let values: Vec<f64> = list("values").iter().filter_map(|v| v.as_f64()).collect();
        let ids = list("ids");
        let ids: Vec<usize> = ids.iter().map(|v| v.as_u64().unwrap() as usize).collect();
        let found = differing(&values, Some(&ids), ScoreRange::Unbounded);
        let (low, high) = found.bounds.unwrap();
        for (name, value) in [
            ("value", found.value),
            ("low", low),
            ("high", high),
            ("p", found.p.unwrap()),
        ] {
            let expected = case[name].as_f64().unwrap();
            assert!(
                (value - expected).abs() < 1e-8,
                "{name}: {value} {expected}"
            );
        }
    }
}

/// A random table: some units of some items, rare or frequent differences, yes and no, ties or numbers.
fn random_table(rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>, Option<Vec<usize>>, ScoreRange) {
    let units = rng.random_range(5..40);
    let largest = *pick(rng, &[1, 1, 2, 5, 12]);
    let kind = rng.random_range(0..4);
    let (apart, part): (f64, f64) = (rng.random::<f64>().powi(2), rng.random());
    let (mut first, mut second, mut ids) = (vec![], vec![], vec![]);
    for unit in 0..units {
        let common: (f64, f64) = (rng.random(), rng.random());
        let together = rng.random::<f64>() < 0.4;
        for _ in 0..rng.random_range(1..=largest) {
            let (u, v) = if together {
                common
            } else {
                (rng.random(), rng.random())
            };
            let apart_here = u < apart;
            let (low, high) = match kind {
                0 | 1 => (0.0, 1.0),
                2 => (*pick(rng, &[0.0, 0.5]), *pick(rng, &[0.5, 1.0])),
                _ => (0.4 * rng.random::<f64>(), 0.6 + 0.4 * rng.random::<f64>()),
            };
            let (a, b) = match (apart_here, v < part) {
                (false, _) => (high, high),
                (true, true) => (high, low),
                (true, false) => (low, high),
            };
            first.push(a);
            second.push(b);
            ids.push(unit);
        }
    }
    let range = *pick(
        rng,
        &[ScoreRange::Unit, ScoreRange::Unit, ScoreRange::Unbounded],
    );
    let clustered = largest > 1 || rng.random();
    (first, second, clustered.then_some(ids), range)
}

fn pick<'a, T>(rng: &mut ChaCha8Rng, from: &'a [T]) -> &'a T {
    &from[rng.random_range(0..from.len())]
}

/// Issue 41: +3.25 [-9.70, +15.66] stood beside p = .020.
#[test]
fn an_interval_leaves_zero_out_exactly_where_p_is_below_five_percent() {
    let mut rng = ChaCha8Rng::seed_from_u64(41);
    let (mut claims, mut none, mut few) = (0, 0, 0);
    for table in 0..20_000 {
        let (first, second, ids, range) = random_table(&mut rng);
        let found = compare(&first, &second, ids.as_deref(), range).unwrap();
        let (Some((low, high)), Some(p)) = (found.bounds, found.p) else {
            continue;
        };
        let outside = low > 0.0 || high < 0.0;
        assert_eq!(outside, p < 0.05, "table {table}: {found:?}");
        assert!(!(outside && found.too_few_differ), "{found:?}");
        let inside = low <= found.value + 1e-12 && found.value <= high + 1e-12;
        assert!(inside, "table {table}: {found:?}");
        claims += usize::from(outside);
        none += usize::from(!outside);
        few += usize::from(found.too_few_differ);
    }
    // The tables hold enough of each to mean something.
    assert!(
        claims > 2_000 && none > 2_000 && few > 1_000,
        "{claims} {none} {few}"
    );
}

/// Every table of yes and no that 200 items can give with up to 60 of them answered differently.
#[test]
fn yes_and_no_never_contradict_themselves() {
    for apart in 0..=60_usize {
        for only_first in 0..=apart {
            let mut first = vec![1.0; 200];
            let mut second = vec![1.0; 200];
            second[..only_first].fill(0.0);
            first[only_first..apart].fill(0.0);
            let found = compare(&first, &second, None, ScoreRange::Unit).unwrap();
            let (low, high) = found.bounds.unwrap();
            let p = found.p.unwrap();
            assert_eq!(low > 0.0 || high < 0.0, p < 0.05, "{only_first} of {apart}");
            // Mid-p itself, not what agreement would make of it.
            let mid = mary_stats::paired::mcnemar(only_first as u64, (apart - only_first) as u64);
            assert_eq!(p, mid.mid_p, "{only_first} of {apart}");
        }
    }
}

/// Clusters have a quarter of this, a half, all of it or twice as many items.
const SIZE: usize = 8;

/// Differences of items in clusters of unequal size. `apart` of the items are answered differently, of
/// these `part` in favour of the first; clusters differ in both by degrees.
fn clustered(
    rng: &mut ChaCha8Rng,
    clusters: usize,
    (apart, part): (f64, f64),
) -> (Vec<f64>, Vec<usize>) {
    let (mut d, mut ids) = (vec![], vec![]);
    for cluster in 0..clusters {
        let (apart, part) = (beta(rng, apart), beta(rng, part));
        let size = SIZE / 4 * *pick(rng, &[1, 2, 4, 8]);
        for _ in 0..size {
            let differs = rng.random::<f64>() < apart;
            let favours = rng.random::<f64>() < part;
            d.push(match (differs, favours) {
                (false, _) => 0.0,
                (true, true) => 1.0,
                (true, false) => -1.0,
            });
            ids.push(cluster);
        }
    }
    (d, ids)
}

/// How often the interval covers and its mean width, here and by the cluster bootstrap.
struct Covered {
    own: (f64, f64),
    bootstrap: (f64, f64),
}

fn covered(simulations: usize, clusters: usize, region: (f64, f64)) -> Covered {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let settings = Bootstrap {
        resamples: 100,
        ..Bootstrap::default()
    };
    let n = simulations as f64;
    let mut found = Covered {
        own: (0.0, 0.0),
        bootstrap: (0.0, 0.0),
    };
    let add = |to: &mut (f64, f64), (low, high): (f64, f64), truth: f64| {
        let holds = low - 1e-12 <= truth && truth <= high + 1e-12;
        to.0 += f64::from(u8::from(holds)) / n;
        to.1 += (high - low) / n;
    };
    for _ in 0..simulations {
        let apart = region.0 + (region.1 - region.0) * rng.random::<f64>();
        let part = 0.2 + 0.6 * rng.random::<f64>();
        let truth = apart * (2.0 * part - 1.0);
        let (d, ids) = clustered(&mut rng, clusters, (apart, part));
        let own = differing(&d, Some(&ids), ScoreRange::Unit).bounds.unwrap();
        add(&mut found.own, own, truth);
        let drawn = crate::mean_percentile(&d, Some(&ids), &settings);
        let drawn = drawn.map_or((0.0, 0.0), |i| (i.low, i.high));
        add(&mut found.bootstrap, drawn, truth);
    }
    found
}

/// Shares of the items that two models answer differently.
const APART: [(f64, f64); 3] = [(0.02, 0.1), (0.1, 0.3), (0.3, 0.8)];

fn table_of_clusters(simulations: usize) -> Vec<(usize, (f64, f64), Covered)> {
    let mut rows = Vec::new();
    for clusters in [5, 10, 22, 50, 200] {
        let mut cells = Vec::new();
        for region in APART {
            let found = covered(simulations, clusters, region);
            cells.push(format!(
                "{:.1} (±{:.1}) | {:.1} (±{:.1})",
                100.0 * found.own.0,
                50.0 * found.own.1,
                100.0 * found.bootstrap.0,
                50.0 * found.bootstrap.1
            ));
            rows.push((clusters, region, found));
        }
        eprintln!("| {clusters} | {} |", cells.join(" | "));
    }
    rows
}

fn check(rows: &[(usize, (f64, f64), Covered)], slack: f64) {
    for (clusters, region, found) in rows {
        let what = format!("{clusters} clusters, {region:?}: {:?}", found.own);
        assert!(found.own.0 >= 0.93 - slack, "{what}");
        // Where differences are rare among few clusters, little can be said and nothing is left out.
        if *clusters >= 22 || region.0 >= 0.3 {
            assert!(found.own.0 <= 0.97 + slack, "{what}");
        }
        // Scaled to the same coverage, no wider than the bootstrap by a tenth; of fewer clusters normal
        // quantiles scale wrongly.
        if *clusters >= 22 {
            let scaled = |(covers, width): (f64, f64)| width / normal_quantile(0.5 + 0.5 * covers);
            let wider = scaled(found.own) / scaled(found.bootstrap);
            assert!(wider <= 1.1, "{what}: {wider} of {:?}", found.bootstrap);
        }
    }
}

#[test]
fn clustered_differences_cover_from_5_clusters_to_200() {
    // Four standard errors of 400 simulations are 4.4 points.
    check(&table_of_clusters(400), 0.044);
}

#[test]
#[ignore = "the table of docs/history/statistics.md: 2,000 simulations of each"]
fn the_table_of_clustered_differences() {
    // Three standard errors of 2,000 simulations are 1.5 points.
    check(&table_of_clusters(2_000), 0.015);
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
                let mut count = [0u64; 3];
                for _ in 0..n {
                    let u: f64 = rng.random();
                    let cell = usize::from(u >= first) + usize::from(u >= first + second);
                    count[cell] += 1;
                }
                let counts = PairedCounts {
                    only_first: count[0],
                    only_second: count[1],
                    both: count[2],
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
