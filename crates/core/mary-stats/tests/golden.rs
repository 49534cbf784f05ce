//! Every statistic against another implementation's value (`tools/golden_stats.py`).

use mary_stats::bootstrap::Bootstrap;
use mary_stats::paired::PairedCounts;
use mary_stats::segmented::Search;
use mary_stats::{
    agreement, correlation, distributions as dist, exponential, intervals, likelihood, linear,
    logistic, mds, multiple, paired, rank, segmented,
};
use serde_json::Value;

fn gold() -> Value {
    serde_json::from_str(include_str!("golden/stats.json")).unwrap()
}

fn num(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("not a number: {v}"))
}

fn int(v: &Value) -> u64 {
    v.as_u64().unwrap_or_else(|| panic!("not a count: {v}"))
}

fn nums(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(num).collect()
}

fn rows(v: &Value) -> Vec<Vec<f64>> {
    v.as_array().unwrap().iter().map(nums).collect()
}

fn cases(v: &Value) -> &[Value] {
    v.as_array().unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let scale = 1.0_f64.max(expected.abs());
    assert!(
        (found - expected).abs() <= tolerance * scale,
        "found {found}, expected {expected}"
    );
}

/// Relative, for small tail probabilities.
#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs() + 1e-300,
        "found {found}, expected {expected}"
    );
}

#[test]
fn distributions_agree_with_scipy() {
    let g = &gold()["distributions"];
    for c in cases(&g["normal_cdf"]) {
        near(dist::normal_cdf(num(&c[0])), num(&c[1]), 1e-10);
    }
    for c in cases(&g["normal_quantile"]) {
        close(dist::normal_quantile(num(&c[0])), num(&c[1]), 1e-10);
    }
    for c in cases(&g["t_cdf"]) {
        near(dist::t_cdf(num(&c[0]), num(&c[1])), num(&c[2]), 1e-9);
    }
    for c in cases(&g["t_quantile"]) {
        close(dist::t_quantile(num(&c[0]), num(&c[1])), num(&c[2]), 1e-7);
    }
    for c in cases(&g["beta_cdf"]) {
        let found = dist::beta_cdf(num(&c[0]), num(&c[1]), num(&c[2]));
        near(found, num(&c[3]), 1e-7);
    }
    for c in cases(&g["beta_quantile"]) {
        let found = dist::beta_quantile(num(&c[0]), num(&c[1]), num(&c[2]));
        near(found, num(&c[3]), 1e-9);
    }
    for c in cases(&g["binomial_cdf"]) {
        let found = dist::binomial_cdf(int(&c[0]), int(&c[1]), num(&c[2]));
        near(found, num(&c[3]), 1e-9);
    }
    for c in cases(&g["chi_squared_upper"]) {
        near(
            dist::chi_squared_upper(num(&c[0]), num(&c[1])),
            num(&c[2]),
            1e-9,
        );
    }
}

#[test]
fn proportions_agree_with_statsmodels() {
    for c in cases(&gold()["proportions"]) {
        let (k, n, level) = (int(&c["k"]), int(&c["n"]), num(&c["level"]));
        let wilson = intervals::wilson(k, n, level).unwrap();
        close(wilson.low, num(&c["wilson"][0]), 1e-9);
        close(wilson.high, num(&c["wilson"][1]), 1e-9);
        let exact = intervals::exact(k, n, level).unwrap();
        close(exact.low, num(&c["exact"][0]), 1e-8);
        close(exact.high, num(&c["exact"][1]), 1e-8);
    }
}

#[test]
fn means_agree_with_scipy_and_statsmodels() {
    let g = &gold()["means"];
    let t = intervals::mean_t(&nums(&g["values"]), 0.95).unwrap();
    close(t.low, num(&g["t"][0]), 1e-9);
    close(t.high, num(&g["t"][1]), 1e-9);
    let c = &g["clustered"];
    let ids: Vec<usize> = cases(&c["clusters"])
        .iter()
        .map(|v| int(v) as usize)
        .collect();
    let found = intervals::mean_clustered_t(&nums(&c["values"]), &ids, 0.95).unwrap();
    close(found.low, num(&c["low"]), 1e-9);
    close(found.high, num(&c["high"]), 1e-9);
}

#[test]
fn bootstrap_agrees_with_scipy_up_to_the_draws() {
    let g = &gold()["bootstrap"];
    let values = nums(&g["values"]);
    let settings = Bootstrap {
        resamples: 40_000,
        expand: false,
        ..Bootstrap::default()
    };
    let found = crate::mean_percentile(&values, None, &settings).unwrap();
    close(found.low, num(&g["percentile"][0]), 0.01);
    close(found.high, num(&g["percentile"][1]), 0.01);
}

#[test]
fn mcnemar_agrees_with_statsmodels() {
    for c in cases(&gold()["mcnemar"]) {
        let found = paired::mcnemar(int(&c["b"]), int(&c["c"]));
        near(found.exact_p, num(&c["exact"]), 1e-9);
        near(found.mid_p, num(&c["mid"]), 1e-9);
    }
}

#[test]
fn likelihood_agrees_with_its_formulas_solved_by_scipy() {
    for c in cases(&gold()["likelihood_two"]) {
        let (first, second) = ((int(&c[0]), int(&c[1])), (int(&c[2]), int(&c[3])));
        let found = likelihood::difference(first, second, 0.95).unwrap();
        close(found.low, num(&c[4]), 1e-6);
        close(found.high, num(&c[5]), 1e-6);
    }
    for c in cases(&gold()["likelihood_pairs"]) {
        let counts = PairedCounts {
            both: int(&c[0]),
            only_first: int(&c[1]),
            only_second: int(&c[2]),
            neither: int(&c[3]),
        };
        let found = likelihood::difference_paired(&counts, 0.95).unwrap();
        close(found.low, num(&c[4]), 1e-6);
        close(found.high, num(&c[5]), 1e-6);
    }
}

#[test]
fn the_permutation_test_agrees_with_scipy() {
    let g = &gold()["permutation"];
    let few = paired::permutation(&nums(&g["few"]), None, 0, 0).unwrap();
    assert!(few.exact);
    close(few.p, num(&g["few_p"]), 1e-9);
    let many = paired::permutation(&nums(&g["many"]), None, 100_000, 7).unwrap();
    assert!(!many.exact);
    close(many.p, num(&g["many_p"]), 0.004);
}

#[test]
fn corrections_agree_with_statsmodels() {
    let g = &gold()["multiple"];
    let p = nums(&g["p"]);
    let found = multiple::holm(&p).unwrap();
    for (a, b) in found.iter().zip(&nums(&g["holm"])) {
        close(*a, *b, 1e-12);
    }
}

#[test]
fn kappa_agrees_with_statsmodels() {
    for c in cases(&gold()["kappa"]) {
        let labels = |v: &Value| -> Vec<u64> { cases(v).iter().map(int).collect() };
        let found = agreement::cohen_kappa(&labels(&c["first"]), &labels(&c["second"])).unwrap();
        close(found.kappa.value, num(&c["kappa"]), 1e-10);
        close(found.standard_error, num(&c["se"]), 1e-10);
    }
}

#[test]
fn correlations_agree_with_scipy_with_and_without_ties() {
    for c in cases(&gold()["correlation"]) {
        let (x, y) = (nums(&c["x"]), nums(&c["y"]));
        let pearson = correlation::pearson(&x, &y).unwrap();
        close(pearson.r.value, num(&c["pearson"][0]), 1e-10);
        near(pearson.p, num(&c["pearson"][1]), 1e-7);
        close(pearson.r.low, num(&c["pearson"][2]), 1e-9);
        close(pearson.r.high, num(&c["pearson"][3]), 1e-9);
        let spearman = correlation::spearman(&x, &y).unwrap();
        close(spearman.r.value, num(&c["spearman"][0]), 1e-10);
        near(spearman.p, num(&c["spearman"][1]), 1e-7);
        let (tau, p) = correlation::kendall(&x, &y).unwrap();
        close(tau, num(&c["kendall"][0]), 1e-10);
        near(p, num(&c["kendall"][1]), 1e-7);
    }
}

#[test]
fn mann_whitney_agrees_with_scipy() {
    for c in cases(&gold()["mann_whitney"]) {
        let found = rank::mann_whitney(&nums(&c["a"]), &nums(&c["b"])).unwrap();
        close(found.u, num(&c["u"]), 1e-12);
        near(found.p, num(&c["p"]), 1e-9);
    }
}

#[test]
fn least_squares_agree_with_scipy_and_statsmodels() {
    let g = &gold()["linear"];
    let line = linear::line(&nums(&g["x"]), &nums(&g["y"])).unwrap();
    let expected = nums(&g["line"]);
    close(line.slope, expected[0], 1e-10);
    close(line.intercept, expected[1], 1e-10);
    close(line.r_squared, expected[2], 1e-10);
    close(line.slope_error.unwrap(), expected[3], 1e-10);
    near(line.p.unwrap(), expected[4], 1e-7);
    let fit = linear::least_squares(&rows(&g["features"]), &nums(&g["target"])).unwrap();
    close(fit.r_squared, num(&g["r_squared"]), 1e-10);
    for (i, expected) in nums(&g["coefficients"]).iter().enumerate() {
        close(fit.coefficients[i], *expected, 1e-9);
        close(fit.errors[i], num(&g["errors"][i]), 1e-9);
        near(fit.p[i], num(&g["p"][i]), 1e-6);
    }
}

#[test]
fn logistic_agrees_with_statsmodels_and_sklearn() {
    let g = &gold()["logistic"];
    let (features, outcomes) = (rows(&g["features"]), nums(&g["outcomes"]));
    let fit = logistic::logistic(&features, &outcomes, 0.0).unwrap();
    close(fit.log_likelihood, num(&g["log_likelihood"]), 1e-9);
    close(
        fit.null_log_likelihood,
        num(&g["null_log_likelihood"]),
        1e-9,
    );
    for (i, expected) in nums(&g["coefficients"]).iter().enumerate() {
        close(fit.coefficients[i], *expected, 1e-7);
        close(fit.errors[i], num(&g["errors"][i]), 1e-6);
        near(fit.p[i], num(&g["p"][i]), 1e-5);
    }
    let ridge = logistic::logistic(&features, &outcomes, num(&g["ridge"])).unwrap();
    for (found, expected) in ridge
        .coefficients
        .iter()
        .zip(nums(&g["ridge_coefficients"]))
    {
        close(*found, expected, 1e-5);
    }
}

#[test]
fn the_exponential_agrees_with_curve_fit() {
    for c in cases(&gold()["exponential"]) {
        let fit = exponential::exponential(&nums(&c["x"]), &nums(&c["y"])).unwrap();
        close(fit.r_squared, num(&c["r_squared"]), 1e-9);
        for (found, expected) in [fit.a, fit.b, fit.c].into_iter().zip(nums(&c["abc"])) {
            close(found, expected, 1e-4);
        }
    }
}

#[test]
fn scaling_reaches_the_stress_of_sklearn_and_of_all_orders() {
    let g = &gold()["mds"];
    let all = rows(&g["dissimilarities"]);
    let settings = mds::Smacof {
        starts: 100,
        steps: 2_000,
        ..mds::Smacof::default()
    };
    let plane = mds::mds(&all, &settings).unwrap();
    assert!(plane.stress_raw <= num(&g["raw_2d"]) * (1.0 + 1e-4));
    close(plane.stress_normalised, num(&g["normalised_2d"]), 1e-3);
    let seven: Vec<Vec<f64>> = all.iter().take(7).map(|r| r[..7].to_vec()).collect();
    let line = mds::Smacof {
        dimensions: 1,
        ..settings
    };
    let found = mds::mds(&seven, &line).unwrap();
    assert!(found.global);
    close(found.stress_raw, num(&g["raw_1d_of_first_seven"]), 1e-9);
}

#[test]
fn segmented_regression_finds_the_optimum_of_brute_force() {
    for c in cases(&gold()["segmented"]) {
        let search = Search {
            resamples: 50,
            permutations: 99,
            ..Search::default()
        };
        let found = segmented::growth(&nums(&c["x"]), &nums(&c["y"]), &search).unwrap();
        let ramp = found.ramp.unwrap();
        close(ramp.r_squared, num(&c["r_squared"]), 2e-4);
        close(ramp.onset.log10(), num(&c["onset_log10"]), 0.02);
        close(ramp.end.log10(), num(&c["end_log10"]), 0.02);
    }
}
