//! Nominal 95 % intervals against 2,000 simulated samples of known truth, for each kind.
//!
//! A proportion is discrete: at one fixed p the coverage of any interval jumps with p, so that
//! p is drawn anew for every simulation from the region named ("near 0" is 0.01 to 0.1). What an
//! interval cannot do is tested too, as its true bound.

use mary_stats::bootstrap::Bootstrap;
use mary_stats::intervals::{
    exact, mean_bounded, mean_clustered_bounded, mean_clustered_t, mean_t, wilson,
};
use mary_stats::paired::PairedCounts;
use mary_stats::{agreement, correlation, distributions, likelihood, score_interval};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::mean_percentile;

const SIMULATIONS: usize = 2_000;

/// Share of simulations in which the interval held the truth.
fn coverage(seed: u64, mut one: impl FnMut(&mut ChaCha8Rng) -> bool) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let hits = (0..SIMULATIONS).filter(|_| one(&mut rng)).count();
    hits as f64 / SIMULATIONS as f64
}

#[track_caller]
fn nominal(what: &str, found: f64) {
    eprintln!("{what}: {found:.4}");
    assert!((0.93..=0.97).contains(&found), "{what}: {found}");
}

#[track_caller]
fn within(what: &str, found: f64, low: f64, high: f64) {
    eprintln!("{what}: {found:.4}");
    assert!((low..=high).contains(&found), "{what}: {found}");
}

fn between(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.random::<f64>()
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    distributions::normal_quantile(rng.random::<f64>().clamp(1e-12, 1.0 - 1e-12))
}

fn tosses(rng: &mut ChaCha8Rng, n: u64, p: f64) -> u64 {
    (0..n).filter(|_| rng.random::<f64>() < p).count() as u64
}

/// Where p is drawn from: near 0, in the middle, near 1.
const REGIONS: [(f64, f64); 3] = [(0.01, 0.1), (0.2, 0.8), (0.9, 0.99)];

#[test]
fn wilson_covers_at_20_and_200_near_0_and_1() {
    for n in [20, 200] {
        for (low, high) in REGIONS {
            let found = coverage(1, |rng| {
                let p = between(rng, low, high);
                wilson(tosses(rng, n, p), n, 0.95).unwrap().contains(p)
            });
            nominal(&format!("wilson n={n} p in {low}..{high}"), found);
        }
    }
}

#[test]
fn exact_never_covers_less_than_its_level() {
    for n in [20, 200] {
        for (low, high) in REGIONS {
            let found = coverage(2, |rng| {
                let p = between(rng, low, high);
                exact(tosses(rng, n, p), n, 0.95).unwrap().contains(p)
            });
            // Conservative by construction: up to 99.5 % near the ends at n = 20.
            within(
                &format!("exact n={n} p in {low}..{high}"),
                found,
                0.95,
                0.997,
            );
        }
    }
}

#[test]
fn at_one_fixed_p_wilson_can_fall_short_and_we_say_by_how_much() {
    // Computed, not simulated: the worst coverage over a grid of p at n = 20.
    let n = 20;
    let bounds: Vec<_> = (0..=n).map(|k| wilson(k, n, 0.95).unwrap()).collect();
    let at = |p: f64| -> f64 {
        (0..=n)
            .filter(|&k| bounds[k as usize].contains(p))
            .map(|k| distributions::binomial_pmf(k, n, p))
            .sum()
    };
    let worst = |from: i32, to: i32| {
        (from..=to)
            .map(|i| at(f64::from(i) / 10_000.0))
            .fold(1.0, f64::min)
    };
    within("wilson worst p in .05...95", worst(500, 9_500), 0.91, 0.92);
    within("wilson worst p in .001...05", worst(10, 500), 0.83, 0.85);
}

/// Scores of 0, one half and 1, with the share of ties drawn too.
fn with_ties(rng: &mut ChaCha8Rng, n: usize, p: f64, ties: f64) -> Vec<f64> {
    (0..n)
        .map(|_| {
            if rng.random::<f64>() < ties {
                0.5
            } else if rng.random::<f64>() < p {
                1.0
            } else {
                0.0
            }
        })
        .collect()
}

#[test]
fn bounded_scores_with_ties_cover_near_0_and_1() {
    for n in [20, 200] {
        for (low, high) in REGIONS {
            let found = coverage(3, |rng| {
                let p = between(rng, low, high);
                let ties = between(rng, 0.0, 0.1);
                let scores = with_ties(rng, n, p, ties);
                let truth = 0.5 * ties + (1.0 - ties) * p;
                score_interval(&scores, None).unwrap().contains(truth)
            });
            nominal(&format!("ties n={n} p in {low}..{high}"), found);
        }
    }
}

#[test]
fn bounded_shares_cover() {
    // Shares of a rubric: mean of four yes/no points with a common difficulty.
    for n in [20, 200] {
        for (low, high) in REGIONS {
            let found = coverage(4, |rng| {
                let p = between(rng, low, high);
                let scores: Vec<f64> = (0..n).map(|_| tosses(rng, 4, p) as f64 / 4.0).collect();
                mean_bounded(&scores, 0.95).unwrap().contains(p)
            });
            nominal(&format!("shares n={n} p in {low}..{high}"), found);
        }
    }
}

#[test]
fn student_covers_on_normal_scores() {
    for n in [5, 20, 200] {
        let found = coverage(5, |rng| {
            let x: Vec<f64> = (0..n).map(|_| 3.0 + normal(rng)).collect();
            mean_t(&x, 0.95).unwrap().contains(3.0)
        });
        nominal(&format!("student-t n={n}"), found);
    }
}

/// Clusters whose own accuracy varies around `p` (a beta with intra-cluster correlation `icc`).
fn clustered(
    rng: &mut ChaCha8Rng,
    clusters: usize,
    size: usize,
    p: f64,
    icc: f64,
) -> (Vec<f64>, Vec<usize>) {
    let mut scores = Vec::new();
    let mut ids = Vec::new();
    for id in 0..clusters {
        // With probability icc an item copies its cluster's common toss: correlation icc exactly.
        let common = rng.random::<f64>() < p;
        for _ in 0..size {
            let own = rng.random::<f64>() < p;
            let copies = rng.random::<f64>() < icc.sqrt();
            let right = if copies { common } else { own };
            scores.push(if right { 1.0 } else { 0.0 });
            ids.push(id);
        }
    }
    (scores, ids)
}

#[test]
fn clustered_scores_cover_where_ignoring_clusters_does_not() {
    for (clusters, size) in [(20, 5), (100, 4)] {
        for (low, high) in REGIONS {
            let found = coverage(6, |rng| {
                let p = between(rng, low, high);
                let (scores, ids) = clustered(rng, clusters, size, p, 0.3);
                mean_clustered_bounded(&scores, &ids, 0.95)
                    .unwrap()
                    .contains(p)
            });
            // Near the ends it allows for families that were not drawn, and covers more than its name.
            let most = if low < 0.2 || high > 0.8 { 0.99 } else { 0.97 };
            let what = format!("clustered-wilson {clusters}x{size} p in {low}..{high}");
            within(&what, found, 0.93, most);
        }
    }
    let naive = coverage(6, |rng| {
        let p = between(rng, 0.2, 0.8);
        let (scores, _) = clustered(rng, 100, 4, p, 0.3);
        score_interval(&scores, None).unwrap().contains(p)
    });
    within("ignoring clusters", naive, 0.0, 0.90);
}

#[test]
fn clustered_t_covers_on_unbounded_scores() {
    for clusters in [10, 20, 100] {
        let found = coverage(7, |rng| {
            let mut x = Vec::new();
            let mut ids = Vec::new();
            for id in 0..clusters {
                let common = normal(rng);
                for _ in 0..4 {
                    x.push(common + normal(rng));
                    ids.push(id);
                }
            }
            mean_clustered_t(&x, &ids, 0.95).unwrap().contains(0.0)
        });
        nominal(&format!("clustered-t G={clusters}"), found);
    }
}

#[test]
fn bootstraps_cover_on_means() {
    let settings = |rng: &mut ChaCha8Rng| Bootstrap {
        resamples: 400,
        seed: rng.random(),
        ..Bootstrap::default()
    };
    for n in [20, 60] {
        let found = coverage(8, |rng| {
            let x: Vec<f64> = (0..n).map(|_| normal(rng)).collect();
            mean_percentile(&x, None, &settings(rng))
                .unwrap()
                .contains(0.0)
        });
        nominal(&format!("bootstrap-percentile normal n={n}"), found);
    }
    let found = coverage(10, |rng| {
        let mut x = Vec::new();
        let mut ids = Vec::new();
        for id in 0..20 {
            let common = normal(rng);
            for _ in 0..3 {
                x.push(common + normal(rng));
                ids.push(id);
            }
        }
        mean_percentile(&x, Some(&ids), &settings(rng))
            .unwrap()
            .contains(0.0)
    });
    nominal("bootstrap-percentile clustered G=20", found);
}

#[test]
fn a_bootstrap_of_few_yes_no_scores_near_1_is_not_to_be_trusted() {
    // Why `score_interval` never uses one: p in 0.9..0.99, n = 20.
    let found = coverage(11, |rng| {
        let p = between(rng, 0.9, 0.99);
        let k = tosses(rng, 20, p);
        let x: Vec<f64> = (0..20).map(|i| if i < k { 1.0 } else { 0.0 }).collect();
        let settings = Bootstrap {
            resamples: 400,
            ..Bootstrap::default()
        };
        // Without a failure in the sample the bootstrap gives no interval at all.
        mean_percentile(&x, None, &settings).is_ok_and(|i| i.contains(p))
    });
    within("bootstrap of proportions near 1", found, 0.4, 0.85);
}

/// Two models on the same items: the second copies the first's verdict with probability `same`
/// and is right by itself with probability `own` otherwise. The cells and the true difference.
fn two_models(rng: &mut ChaCha8Rng, n: u64, p: f64, own: f64) -> (PairedCounts, f64) {
    let same = between(rng, 0.3, 0.9);
    let mut counts = PairedCounts::default();
    for _ in 0..n {
        let a = rng.random::<f64>() < p;
        let copies = rng.random::<f64>() < same;
        let b = if copies { a } else { rng.random::<f64>() < own };
        match (a, b) {
            (true, true) => counts.both += 1,
            (true, false) => counts.only_first += 1,
            (false, true) => counts.only_second += 1,
            (false, false) => counts.neither += 1,
        }
    }
    (counts, p - (same * p + (1.0 - same) * own))
}

#[test]
fn likelihood_differences_of_two_groups_cover() {
    for (low, high) in REGIONS {
        for n in [20, 200] {
            let found = coverage(12, |rng| {
                let (p, q) = (between(rng, low, high), between(rng, low, high));
                let (k, l) = (tosses(rng, n, p), tosses(rng, n, q));
                let interval = likelihood::difference((k, n), (l, n), 0.95).unwrap();
                interval.contains(p - q)
            });
            nominal(&format!("likelihood n={n} p in {low}..{high}"), found);
        }
    }
}

#[test]
fn likelihood_differences_on_the_same_items_cover() {
    for (low, high) in REGIONS {
        for n in [20, 200] {
            let found = coverage(13, |rng| {
                let p = between(rng, low, high);
                let (counts, truth) = two_models(rng, n, p, 0.5);
                let interval = likelihood::difference_paired(&counts, 0.95).unwrap();
                interval.contains(truth)
            });
            nominal(
                &format!("likelihood-paired n={n} p in {low}..{high}"),
                found,
            );
            let found = coverage(19, |rng| {
                let (p, own) = (between(rng, low, high), between(rng, low, high));
                let (counts, truth) = two_models(rng, n, p, own);
                let interval = likelihood::difference_paired(&counts, 0.95).unwrap();
                interval.contains(truth)
            });
            let what = format!("likelihood-paired n={n}, both p in {low}..{high}");
            // Two models that differ on not even one of 20 items: nothing can be missed.
            let alike = n == 20 && high - low < 0.2;
            within(&what, found, 0.93, if alike { 1.0 } else { 0.97 });
        }
    }
}

#[test]
fn correlations_cover() {
    for n in [20, 100] {
        for rho in [0.0, 0.5, 0.9] {
            let pair = |rng: &mut ChaCha8Rng| -> (Vec<f64>, Vec<f64>) {
                (0..n)
                    .map(|_| {
                        let x = normal(rng);
                        (x, rho * x + (1.0 - rho * rho).sqrt() * normal(rng))
                    })
                    .unzip()
            };
            let found = coverage(15, |rng| {
                let (x, y) = pair(rng);
                correlation::pearson(&x, &y).unwrap().r.contains(rho)
            });
            nominal(&format!("pearson n={n} rho={rho}"), found);
            // Spearman's rho of a bivariate normal.
            let truth = 6.0 / std::f64::consts::PI * (rho / 2.0).asin();
            let found = coverage(16, |rng| {
                let (x, y) = pair(rng);
                correlation::spearman(&x, &y).unwrap().r.contains(truth)
            });
            nominal(&format!("spearman n={n} rho={rho}"), found);
        }
    }
}

#[test]
fn kappa_covers() {
    let judges = |rng: &mut ChaCha8Rng, n: usize, same: f64, labels: u8| -> bool {
        let (a, b): (Vec<u8>, Vec<u8>) = (0..n)
            .map(|_| {
                let a = rng.random_range(0..labels);
                let copies = rng.random::<f64>() < same;
                (
                    a,
                    if copies {
                        a
                    } else {
                        rng.random_range(0..labels)
                    },
                )
            })
            .unzip();
        agreement::cohen_kappa(&a, &b).is_ok_and(|k| k.kappa.contains(same))
    };
    for n in [20, 50, 200] {
        for labels in [2, 4] {
            for (low, high) in [(0.0, 0.8), (0.8, 0.9), (0.9, 1.0)] {
                let found = coverage(17, |rng| {
                    let same = between(rng, low, high);
                    judges(rng, n, same, labels)
                });
                let what = format!("kappa n={n}, {labels} labels, kappa in {low}..{high}");
                nominal(&what, found);
            }
        }
    }
}
