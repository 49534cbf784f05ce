//! Every ability's statistic against scipy and scikit-learn on random data
//! (`tools/make_psychometric_golden.py`).

use mary_psychometric::analogies::formulas::{FORMULAS, Quad};
use mary_psychometric::numbers::{Pairs, Range, effects};
use serde_json::Value;

fn gold() -> Value {
    serde_json::from_str(include_str!("../golden/psychometric.json")).unwrap()
}

fn nums(v: &Value) -> Vec<f64> {
    v.as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect()
}

fn rows(v: &Value) -> Vec<Vec<f64>> {
    v.as_array().unwrap().iter().map(nums).collect()
}

#[track_caller]
fn close(what: &str, found: f64, expected: &Value, tolerance: f64) {
    let expected = expected.as_f64().unwrap();
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: found {found}, expected {expected}"
    );
}

#[test]
fn the_number_line_agrees_with_scipy_and_sklearn() {
    for case in gold()["numbers"].as_array().unwrap() {
        let vectors = rows(&case["vectors"]);
        let numbers: Vec<u64> = (1..=vectors.len() as u64).collect();
        for expected in case["effects"].as_array().unwrap() {
            let pairs = match expected["pairs"].as_str() {
                Some("averaged") => Pairs::Averaged,
                _ => Pairs::Each,
            };
            let found = effects(&numbers, &vectors, Range::Units, pairs).unwrap();
            for (name, value, tolerance) in [
                ("distance", found.distance, 1e-9),
                ("distance_slope", found.distance_slope, 1e-9),
                // curve_fit stops a little before the optimum.
                ("ratio", found.ratio, 2e-5),
                ("size", found.size, 1e-9),
                ("size_slope", found.size_slope, 1e-9),
                ("range", found.range, 1e-9),
                ("max", found.max, 1e-9),
            ] {
                close(name, value, &expected[name], tolerance);
            }
            if expected.get("mds_stress").is_some() {
                close("stress", found.mds_stress, &expected["mds_stress"], 1e-9);
                close(
                    "correlation",
                    found.mds_correlation,
                    &expected["mds_correlation"],
                    1e-9,
                );
            }
        }
    }
}

#[test]
fn the_exponential_is_never_worse_than_curve_fit() {
    for case in gold()["numbers"].as_array().unwrap() {
        let vectors = rows(&case["vectors"]);
        let numbers: Vec<u64> = (1..=vectors.len() as u64).collect();
        let found = effects(&numbers, &vectors, Range::Units, Pairs::Each).unwrap();
        let expected = case["effects"][1]["ratio"].as_f64().unwrap();
        assert!(found.ratio >= expected - 1e-9, "{} {expected}", found.ratio);
    }
}

#[test]
fn typicality_agrees_with_scipy_with_and_without_ties() {
    for case in gold()["spearman"].as_array().unwrap() {
        let category = nums(&case["category"]);
        let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let cosines: Vec<f64> = rows(&case["members"])
            .iter()
            .map(|m| {
                let dot: f64 = m.iter().zip(&category).map(|(a, b)| a * b).sum();
                dot / norm(m) / norm(&category)
            })
            .collect();
        let rho = mary_stats::correlation::spearman_rho(&nums(&case["typicality"]), &cosines);
        close("rho", rho.unwrap(), &case["rho"], 1e-12);
    }
}

#[test]
fn analogy_formulas_agree_with_sklearn() {
    for case in gold()["analogies"].as_array().unwrap() {
        let quad = rows(&case["quad"]);
        let [a, b, c, d] = quad.as_slice() else {
            panic!("four vectors")
        };
        for (name, formula) in FORMULAS {
            let found = formula(&Quad { a, b, c, d }).unwrap();
            close(name, found, &case[name], 1e-9 * (1.0 + found.abs()));
        }
    }
}
