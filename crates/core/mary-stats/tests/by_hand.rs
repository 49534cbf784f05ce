//! Cases small enough to check with a pencil, and everything that must be refused.

use mary_stats::bootstrap::{Bootstrap, Units, percentile, quantile_sorted};
use mary_stats::difference::{ScoreRange, compare};
use mary_stats::intervals::{cluster_ids, exact, mean_bounded, mean_clustered_t, mean_t, wilson};
use mary_stats::paired::{PairedCounts, mcnemar, permutation};
use mary_stats::segmented::{Search, growth};
use mary_stats::{
    Moments, StatsError, agreement, correlation, exponential, likelihood, linear, logistic, mds,
    multiple, rank, score_interval,
};
use proptest::prelude::*;

use crate::mean_percentile;

#[test]
fn the_rule_picks_by_scale_and_clusters() {
    let method = |scores: &[f64], clusters: Option<&[usize]>| {
        score_interval(scores, clusters).unwrap().method
    };
    assert_eq!(method(&[0.0, 1.0, 1.0], None), "exact");
    assert_eq!(method(&[0.0, 0.5, 1.0], None), "wilson-effective");
    assert_eq!(method(&[-3.0, 0.5, 1.0], None), "student-t");
    assert_eq!(
        method(&[0.0, 1.0, 1.0], Some(&[0, 0, 1])),
        "clustered-wilson"
    );
    assert_eq!(method(&[0.0, 7.0, 1.0], Some(&[0, 0, 1])), "clustered-t");
    // Every item its own cluster is no clustering.
    assert_eq!(method(&[0.0, 1.0, 1.0], Some(&[4, 5, 6])), "exact");
}

#[test]
fn all_right_is_not_certainty() {
    for scores in [vec![1.0; 20], vec![0.5; 20]] {
        let found = score_interval(&scores, None).unwrap();
        assert!(found.low < found.value - 0.1, "{found:?}");
    }
    let clustered = score_interval(&[1.0; 20], Some(&[0, 1].repeat(10))).unwrap();
    let single = score_interval(&[1.0; 20], None).unwrap();
    assert!(
        clustered.low < single.low,
        "two clusters are two tosses, not twenty"
    );
    let one = score_interval(&[1.0, 1.0], Some(&[3, 3])).unwrap();
    assert_eq!((one.low, one.high), (0.0, 1.0));
}

#[test]
fn without_ties_the_bounded_interval_is_wilsons() {
    let scores: Vec<f64> = (0..50).map(|i| f64::from(u8::from(i < 47))).collect();
    let bounded = mean_bounded(&scores, 0.95).unwrap();
    let expected = wilson(47, 50, 0.95).unwrap();
    assert!((bounded.low - expected.low).abs() < 1e-12);
    assert!((bounded.high - expected.high).abs() < 1e-12);
}

#[test]
fn clusters_widen_the_interval_when_items_repeat_each_other() {
    // Ten questions asked ten times each with the same answer: ten pieces of evidence.
    let scores: Vec<f64> = (0..100)
        .map(|i| f64::from(u8::from(i / 10 % 2 == 0)))
        .collect();
    let ids: Vec<usize> = (0..100).map(|i| i / 10).collect();
    let naive = score_interval(&scores, None).unwrap();
    let honest = score_interval(&scores, Some(&ids)).unwrap();
    assert!(honest.width() > 2.5 * naive.width(), "{naive:?} {honest:?}");
}

#[test]
fn names_become_cluster_ids() {
    assert_eq!(cluster_ids(["b", "a", "b", "c", "a"]), [0, 1, 0, 2, 1]);
}

#[test]
fn mcnemar_by_hand() {
    // Five discordant items, all one way: 2 / 2^5 exact, half of that by mid-p.
    let found = mcnemar(5, 0);
    assert!((found.exact_p - 0.0625).abs() < 1e-12);
    assert!((found.mid_p - 0.03125).abs() < 1e-12);
    assert_eq!(mcnemar(0, 0).mid_p, 1.0);
}

#[test]
fn likelihood_by_hand() {
    // No success on either side: (1 - d)^20 may fall to exp(-z²/2), so d reaches 1 - exp(-z²/40).
    let z = 1.959_963_984_540_054_f64;
    let reach = 1.0 - (-z * z / 40.0).exp();
    let found = likelihood::difference((0, 20), (0, 20), 0.95).unwrap();
    assert!((found.high - reach).abs() < 1e-9 && (found.low + reach).abs() < 1e-9);
    // The same for two models that never differ.
    let never = PairedCounts {
        both: 15,
        neither: 5,
        ..PairedCounts::default()
    };
    let found = likelihood::difference_paired(&never, 0.95).unwrap();
    assert!((found.high - reach).abs() < 1e-9 && (found.low + reach).abs() < 1e-9);
    // Exchanging the models turns the interval round.
    let one = likelihood::difference((3, 20), (9, 30), 0.95).unwrap();
    let other = likelihood::difference((9, 30), (3, 20), 0.95).unwrap();
    assert!((one.low + other.high).abs() < 1e-9 && (one.high + other.low).abs() < 1e-9);
    // Everything one way reaches the end of the scale.
    let all = likelihood::difference((10, 10), (0, 10), 0.95).unwrap();
    assert!(all.high > 1.0 - 1e-9 && all.low > 0.7, "{all:?}");
    assert!(likelihood::difference((1, 0), (0, 1), 0.95).is_err());
}

#[test]
fn permutation_by_hand() {
    // Three differences of the same sign: two of eight patterns are as extreme.
    assert_eq!(permutation(&[1.0, 1.0, 1.0], None, 0, 0).unwrap().p, 0.25);
    // Clustered, they are one unit: both patterns are.
    assert_eq!(
        permutation(&[1.0, 1.0, 1.0], Some(&[0, 0, 0]), 0, 0)
            .unwrap()
            .p,
        1.0
    );
    // No difference at all.
    assert_eq!(permutation(&[0.0, 0.0], None, 0, 0).unwrap().p, 1.0);
}

#[test]
fn ranks_share_their_mean_and_u_counts_pairs() {
    assert_eq!(
        correlation::ranks(&[3.0, 1.0, 3.0, 2.0]),
        [3.5, 1.0, 3.5, 2.0]
    );
    let found = rank::mann_whitney(&[1.0, 2.0, 3.0], &[2.0, 4.0]).unwrap();
    // 3 > 2 and the tie 2 = 2.
    assert_eq!(found.u, 1.5);
    assert_eq!(found.superiority, 0.25);
}

#[test]
fn kappa_by_hand() {
    // Agreement on 3 of 4; each judge says "a" half the time: (0.75 - 0.5) / 0.5.
    let found = agreement::cohen_kappa(&["a", "a", "b", "b"], &["a", "a", "b", "a"]).unwrap();
    assert!((found.kappa.value - 0.5).abs() < 1e-12);
    assert_eq!(found.observed, 0.75);
    let same = agreement::cohen_kappa(&[1, 1, 1], &[1, 1, 1]);
    assert!(matches!(same, Err(StatsError::Degenerate { .. })));
}

#[test]
fn fits_recover_what_they_were_made_from() {
    let x: Vec<f64> = (1..=9).map(f64::from).collect();
    let straight: Vec<f64> = x.iter().map(|x| 2.0 * x - 1.0).collect();
    let line = linear::line(&x, &straight).unwrap();
    assert!((line.slope - 2.0).abs() < 1e-12 && (line.r_squared - 1.0).abs() < 1e-12);
    let decay: Vec<f64> = x.iter().map(|x| 0.8 * (-0.5 * x).exp() + 0.1).collect();
    let fit = exponential::exponential(&x, &decay).unwrap();
    assert!((fit.a - 0.8).abs() < 1e-5 && (fit.b - 0.5).abs() < 1e-5 && (fit.c - 0.1).abs() < 1e-6);
    assert!((fit.at(2.0) - decay[1]).abs() < 1e-8);
    assert_eq!(linear::r_squared(&[1.0, 1.0], &[1.0, 1.0]).unwrap(), 0.0);
}

#[test]
fn nine_points_on_a_log_line_come_back_in_order_without_stress() {
    let truth: Vec<f64> = (1..=9).map(|n| f64::from(n).ln()).collect();
    let rows: Vec<Vec<f64>> = truth
        .iter()
        .map(|a| truth.iter().map(|b| (a - b).abs()).collect())
        .collect();
    let line = mds::Smacof {
        dimensions: 1,
        ..mds::Smacof::default()
    };
    let found = mds::mds(&rows, &line).unwrap();
    assert!(found.global && found.stress1 < 1e-9);
    let positions: Vec<f64> = found.points.iter().map(|p| p[0]).collect();
    assert!((correlation::pearson_r(&positions, &truth).unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn more_objects_than_the_exact_search_takes_still_scale() {
    let truth: Vec<f64> = (0..20).map(|n| f64::from(n * n)).collect();
    let rows: Vec<Vec<f64>> = truth
        .iter()
        .map(|a| truth.iter().map(|b| (a - b).abs()).collect())
        .collect();
    let plane = mds::mds(&rows, &mds::Smacof::default()).unwrap();
    assert!(!plane.global && plane.stress1 < 0.05, "{}", plane.stress1);
}

#[test]
fn separated_classes_need_a_ridge() {
    let features: Vec<Vec<f64>> = (0..10).map(|i| vec![f64::from(i)]).collect();
    let outcomes: Vec<f64> = (0..10).map(|i| f64::from(u8::from(i >= 5))).collect();
    let message = logistic::logistic(&features, &outcomes, 0.0)
        .unwrap_err()
        .to_string();
    assert!(message.contains("ridge"), "{message}");
    let fit = logistic::logistic(&features, &outcomes, 0.1).unwrap();
    let probability = |x: f64| logistic::sigmoid(fit.coefficients[0] + fit.coefficients[1] * x);
    assert!(probability(9.0) > 0.95 && probability(0.0) < 0.05);
}

#[test]
fn a_bootstrap_repeats_from_its_seed_and_refuses_to_see_certainty() {
    let x: Vec<f64> = (0..30).map(|i| f64::from(i % 7)).collect();
    let settings = Bootstrap {
        resamples: 200,
        seed: 9,
        ..Bootstrap::default()
    };
    let once = mean_percentile(&x, None, &settings).unwrap();
    assert_eq!(once, mean_percentile(&x, None, &settings).unwrap());
    let other = Bootstrap {
        seed: 10,
        ..settings
    };
    assert_ne!(once, mean_percentile(&x, None, &other).unwrap());
    assert!(matches!(
        mean_percentile(&[1.0; 30], None, &settings),
        Err(StatsError::Degenerate { .. })
    ));
    let median = |drawn: &[usize]| {
        let mut v: Vec<f64> = drawn.iter().map(|&i| x[i]).collect();
        v.sort_by(f64::total_cmp);
        quantile_sorted(&v, 0.5)
    };
    let found = percentile(&Units::singles(x.len()), median, &settings).unwrap();
    assert!(found.contains(3.0));
}

#[test]
fn nothing_and_nan_are_errors_everywhere() {
    let (none, nan): (&[f64], &[f64]) = (&[], &[0.0, f64::NAN, 1.0, 0.0, 1.0]);
    let ids = [0, 1, 2, 3, 4];
    let settings = Bootstrap::default();
    for x in [none, nan] {
        let ids = &ids[..x.len()];
        let rows: Vec<Vec<f64>> = x.iter().map(|v| vec![*v]).collect();
        assert!(score_interval(x, None).is_err());
        assert!(score_interval(x, Some(ids)).is_err());
        assert!(mean_t(x, 0.95).is_err());
        assert!(mean_bounded(x, 0.95).is_err());
        assert!(mean_clustered_t(x, ids, 0.95).is_err());
        assert!(mean_percentile(x, None, &settings).is_err());
        assert!(compare(x, x, None, ScoreRange::Unit).is_err());
        assert!(permutation(x, None, 10, 0).is_err());
        assert!(multiple::holm(x).is_err());
        assert!(correlation::pearson(x, x).is_err());
        assert!(correlation::spearman(x, x).is_err());
        assert!(correlation::kendall(x, x).is_err());
        assert!(rank::mann_whitney(x, &[1.0]).is_err());
        assert!(linear::line(x, x).is_err());
        assert!(linear::least_squares(&rows, x).is_err());
        assert!(logistic::logistic(&rows, x, 0.0).is_err());
        assert!(exponential::exponential(x, x).is_err());
        assert!(growth(x, x, &Search::default()).is_err());
        assert!(mds::mds(&[x.to_vec()], &mds::Smacof::default()).is_err());
    }
    assert!(wilson(0, 0, 0.95).is_err() && wilson(3, 2, 0.95).is_err());
    assert!(exact(1, 2, 1.0).is_err() && exact(1, 2, f64::NAN).is_err());
    assert!(agreement::cohen_kappa::<u8>(&[], &[]).is_err());
    assert!(correlation::pearson(&[1.0; 5], &[1.0, 2.0, 3.0, 4.0, 5.0]).is_err());
    assert!(score_interval(&[1.0], Some(&[0, 1])).is_err());
}

#[test]
fn a_million_scores_need_no_list() {
    let mut moments = Moments::new();
    for i in 0..1_000_000usize {
        moments.push(if i % 10 == 0 { 0.0 } else { 1.0 }).unwrap();
    }
    let found = moments.interval().unwrap();
    assert_eq!(
        (found.value, found.n, found.method),
        (0.9, 1_000_000, "wilson")
    );
    assert!(found.width() < 0.0012);
    assert!(std::mem::size_of::<Moments>() < 200);
}

proptest! {
    #[test]
    fn the_order_of_arrival_does_not_change_a_bit(
        scores in proptest::collection::vec(-2.0..2.0f64, 2..60),
        cut in 0usize..60,
    ) {
        let ids: Vec<usize> = (0..scores.len()).map(|i| i % 5).collect();
        let mut forward = Moments::new();
        for (s, id) in scores.iter().zip(&ids) { forward.push_clustered(*s, *id).unwrap(); }
        let mut parts = [Moments::new(), Moments::new()];
        for (i, (s, id)) in scores.iter().zip(&ids).enumerate().rev() {
            parts[usize::from(i < cut)].push_clustered(*s, *id).unwrap();
        }
        let [mut merged, second] = parts;
        merged.merge(&second);
        prop_assert_eq!(&merged, &forward);
        prop_assert_eq!(merged.interval(), forward.interval());
    }

    #[test]
    fn intervals_hold_their_value_and_stay_on_the_scale(
        scores in proptest::collection::vec(prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.0..1.0f64], 1..80),
        groups in 1usize..9,
    ) {
        let ids: Vec<usize> = (0..scores.len()).map(|i| i % groups).collect();
        for found in [score_interval(&scores, None).unwrap(), score_interval(&scores, Some(&ids)).unwrap()] {
            prop_assert!(0.0 <= found.low && found.low <= found.value);
            prop_assert!(found.value <= found.high && found.high <= 1.0);
        }
    }

    #[test]
    fn corrections_only_raise_p(p in proptest::collection::vec(0.0..=1.0f64, 1..30)) {
        let holm = multiple::holm(&p).unwrap();
        for i in 0..p.len() {
            prop_assert!(p[i] <= holm[i] + 1e-15 && holm[i] <= 1.0);
        }
    }

    #[test]
    fn no_input_makes_anything_panic(x in proptest::collection::vec(any::<f64>(), 0..12)) {
        let rows: Vec<Vec<f64>> = x.iter().map(|v| vec![*v, v * 2.0]).collect();
        let square: Vec<Vec<f64>> = x.iter().map(|_| x.clone()).collect();
        let _ = score_interval(&x, None);
        let _ = compare(&x, &x, None, ScoreRange::Unbounded);
        let _ = correlation::spearman(&x, &x);
        let _ = correlation::kendall(&x, &x);
        let _ = rank::mann_whitney(&x, &x);
        let _ = linear::least_squares(&rows, &x);
        let _ = logistic::logistic(&rows, &x, 0.5);
        let _ = exponential::exponential(&x, &x);
        let _ = mds::mds(&square, &mds::Smacof { starts: 2, ..mds::Smacof::default() });
        let quick = Search { grid: 8, resamples: 5, permutations: 19, ..Search::default() };
        let _ = growth(&x, &x, &quick);
    }
}

#[test]
fn a_perfect_order_of_few_is_not_certain() {
    // Of the 120 orders of five, the same and its reverse are as strong.
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let found = correlation::spearman(&x, &x.map(|v| v * v)).unwrap();
    assert!((found.p - 2.0 / 120.0).abs() < 1e-12, "{found:?}");
    assert!(found.r.value > 1.0 - 1e-9 && found.r.high >= found.r.value);
    assert!(found.r.low > 0.0 && found.r.low < 0.3, "{found:?}");
    // One exchange of neighbours: 0.9, reached by the same, four exchanges, and their reverses.
    let found = correlation::spearman(&x, &[2.0, 1.0, 3.0, 4.0, 5.0]).unwrap();
    assert!((found.p - 10.0 / 120.0).abs() < 1e-12, "{found:?}");
}
