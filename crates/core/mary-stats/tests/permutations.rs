//! Label permutations against `scipy.stats.permutation_test` (`tools/golden_permutations.py` makes the
//! file), and what they do to meaningless labels.

use mary_stats::linear::line;
use mary_stats::permutation::relabel;
use serde_json::Value;

fn golden() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/permutations.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// R² of a line of cosine on the distance of the labels, pairs of equal distance averaged, positive when
/// similarity falls.
fn signed(cosines: &[Vec<f64>], order: &[usize]) -> f64 {
    let n = order.len();
    let mut sums = vec![(0.0, 0.0); n];
    for (i, &first) in order.iter().enumerate() {
        for (j, &second) in order.iter().enumerate().skip(i + 1) {
            sums[j - i].0 += cosines[first][second];
            sums[j - i].1 += 1.0;
        }
    }
    let x: Vec<f64> = (1..n).map(|d| d as f64).collect();
    let y: Vec<f64> = sums[1..].iter().map(|(sum, n)| sum / n).collect();
    let fit = line(&x, &y).unwrap();
    -fit.slope.signum() * fit.r_squared
}

#[test]
fn all_orders_give_what_scipy_gives() {
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 6);
    for case in cases {
        let cosines: Vec<Vec<f64>> = serde_json::from_value(case["cosines"].clone()).unwrap();
        let number = |name: &str| case[name].as_f64().unwrap();
        let statistic = |order: &[usize]| Ok(vec![signed(&cosines, order)]);
        let exact = relabel(cosines.len(), 720, 0, statistic).unwrap()[0];
        assert!(exact.exact);
        assert_eq!(exact.orders as f64, number("orders"));
        assert!((exact.observed - number("observed")).abs() < 1e-9);
        assert!((exact.expected - number("expected")).abs() < 1e-9);
        assert!((exact.p - number("p")).abs() < 1e-9, "{exact:?}, {case}");
        // A random part of the orders comes near: six times the standard error of a share.
        let drawn = relabel(cosines.len(), 100, 1, statistic).unwrap()[0];
        let error = (exact.p * (1.0 - exact.p) / 100.0).sqrt();
        assert!((drawn.p - exact.p).abs() < 6.0 * error + 0.01, "{drawn:?}");
    }
}
