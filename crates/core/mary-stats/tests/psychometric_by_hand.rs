//! What the psychometric family rests on, on cases small enough for paper and pencil.

use mary_stats::correlation::spearman_rho;
use mary_stats::exponential::exponential;
use mary_stats::linear::line;
use mary_stats::mds::{Smacof, mds};
use mary_stats::segmented::{Search, growth};

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-9,
        "found {found}, expected {expected}"
    );
}

#[test]
fn r_squared_of_three_points() {
    // y = 0, 1, 1 at x = 0, 1, 2: slope 1/2, intercept 1/6; errors -1/6, 1/3, -1/6 leave 1/6 of 2/3.
    let fit = line(&[0.0, 1.0, 2.0], &[0.0, 1.0, 1.0]).unwrap();
    close(fit.slope, 0.5);
    close(fit.intercept, 1.0 / 6.0);
    close(fit.r_squared, 0.75);
}

#[test]
fn spearman_with_a_tie() {
    // Ranks 1, 2½, 2½, 4 and 1, 3, 2, 4: products 4½, squares 4½ and 5.
    let rho = spearman_rho(&[1.0, 2.0, 2.0, 3.0], &[10.0, 30.0, 20.0, 40.0]).unwrap();
    close(rho, 4.5 / (4.5_f64 * 5.0).sqrt());
}

#[test]
fn an_exponential_that_halves() {
    // 9, 5, 3, 2: what lies above 1 halves with every step.
    let fit = exponential(&[0.0, 1.0, 2.0, 3.0], &[9.0, 5.0, 3.0, 2.0]).unwrap();
    assert!((fit.a - 8.0).abs() < 1e-4 && (fit.c - 1.0).abs() < 1e-4);
    assert!((fit.b - 2.0_f64.ln()).abs() < 1e-5);
    close(fit.r_squared, 1.0);
}

#[test]
fn three_equal_distances_do_not_fit_on_a_line() {
    // The best places are -2/3, 0, 2/3: gaps 2/3, 2/3, 4/3 for distances of 1, each wrong by 1/3.
    let equal = vec![
        vec![0.0, 1.0, 1.0],
        vec![1.0, 0.0, 1.0],
        vec![1.0, 1.0, 0.0],
    ];
    let settings = Smacof {
        dimensions: 1,
        ..Smacof::default()
    };
    let found = mds(&equal, &settings).unwrap();
    close(found.stress_raw, 1.0 / 3.0);
    close(found.stress1, (1.0_f64 / 8.0).sqrt());
    close(found.stress_normalised, 1.0 / 3.0);
    // In the plane they are a triangle and fit.
    let plane = mds(&equal, &Smacof::default()).unwrap();
    assert!(plane.stress1 < 1e-4, "{}", plane.stress1);
}

#[test]
fn a_ramp_without_noise_is_found_where_it_is() {
    // Flat at 0.5 up to 10³, rising to 0.9 at 10⁵, flat after: 0.2 for each factor of ten.
    let x: Vec<f64> = (0..=32).map(|i| 10_f64.powf(f64::from(i) / 4.0)).collect();
    let y: Vec<f64> = x
        .iter()
        .map(|x| 0.5 + 0.2 * (x.log10().clamp(3.0, 5.0) - 3.0))
        .collect();
    let search = Search {
        resamples: 50,
        permutations: 99,
        ..Search::default()
    };
    let ramp = growth(&x, &y, &search).unwrap().ramp.unwrap();
    assert!((ramp.onset.log10() - 3.0).abs() < 0.1, "{ramp:?}");
    assert!((ramp.end.log10() - 5.0).abs() < 0.1, "{ramp:?}");
    assert!((ramp.slope - 0.2).abs() < 0.02, "{ramp:?}");
    assert!(ramp.r_squared > 0.999, "{ramp:?}");
}
