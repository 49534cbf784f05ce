use mary_contract::{
    LayerVector, NoData, Observed, Outcome, PooledVectors, Request, Response, Vector,
};
use mary_generators::{Stream, stream};
use rand::RngExt as _;

use super::*;

/// Vectors whose cosines are exactly `kernel` (Cholesky of a positive definite table with ones on its
/// diagonal).
fn with_cosines(n: usize, kernel: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| rows[i][k] * rows[j][k]).sum();
            rows[i][j] = if i == j {
                (kernel(i, i) - dot).sqrt()
            } else {
                (kernel(i, j) - dot) / rows[j][j]
            };
        }
    }
    rows
}

fn random(rng: &mut Stream, n: usize, dim: usize) -> Vec<Vec<f64>> {
    (0..n)
        .map(|_| (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect())
        .collect()
}

fn units(vectors: &[Vec<f64>], pairs: Pairs) -> Effects {
    effects(&Range::Units.numbers(), vectors, Range::Units, pairs).unwrap()
}

/// A number line compressed by the logarithm: similarity falls with the difference of logarithms.
fn compressed() -> Vec<Vec<f64>> {
    with_cosines(9, |i, j| {
        (-((i as f64 + 1.0).ln() - (j as f64 + 1.0).ln()).abs() / 2.0).exp()
    })
}

/// An even number line: similarity falls with the difference itself.
fn even() -> Vec<Vec<f64>> {
    with_cosines(9, |i, j| (-(i as f64 - j as f64).abs() / 8.0).exp())
}

#[test]
fn a_compressed_line_shows_all_effects_as_constructed() {
    let found = units(&compressed(), Pairs::Averaged);
    assert!(
        found.distance > 0.9 && found.distance_slope < 0.0,
        "{found:?}"
    );
    assert!(found.ratio > 0.97 && found.ratio_drop > 0.9, "{found:?}");
    // A logarithm is no straight line: the effect is there, its R² is not 1.
    assert!(found.size > 0.6 && found.size_slope > 0.0, "{found:?}");
    assert!(found.mds_correlation > 0.99, "{found:?}");
    assert!(found.mds_stress < 0.15, "{found:?}");
    // Adjacent numbers 8 and 9 are the most alike, 1 and 9 the least.
    assert!((found.max - (8.0_f64 / 9.0).sqrt()).abs() < 1e-12);
    assert!((found.range - ((8.0_f64 / 9.0).sqrt() - 1.0 / 3.0)).abs() < 1e-12);
    assert!(found.positions.windows(2).all(|w| w[0] < w[1]), "{found:?}");
}

#[test]
fn an_even_line_has_distance_but_no_size_effect() {
    let found = units(&even(), Pairs::Averaged);
    assert!(found.distance > 0.95, "{found:?}");
    assert_eq!(found.size, 0.0, "{found:?}");
    let log = found.mds_correlation;
    assert!(
        log < units(&compressed(), Pairs::Averaged).mds_correlation,
        "{found:?}"
    );
}

#[test]
fn random_vectors_show_no_effect() {
    let mut rng = stream(7, "random numbers");
    let draws = 60;
    let mut sums = [0.0; 5];
    for _ in 0..draws {
        let found = units(&random(&mut rng, 9, 64), Pairs::Each);
        let here = [
            found.distance,
            found.ratio,
            found.size,
            found.mds_correlation,
            found.mds_stress,
        ];
        sums.iter_mut().zip(here).for_each(|(s, v)| *s += v);
    }
    let [distance, ratio, size, correlation, stress] = sums.map(|s| s / f64::from(draws));
    assert!(distance < 0.08, "{distance}");
    // Three free values fitted to 36 points.
    assert!(ratio < 0.2, "{ratio}");
    assert!(size < 0.08, "{size}");
    assert!(correlation < 0.45, "{correlation}");
    assert!(stress > 0.4, "{stress}");
}

#[test]
fn averaging_pairs_is_a_choice_that_changes_the_fit() {
    let averaged = units(&compressed(), Pairs::Averaged);
    let each = units(&compressed(), Pairs::Each);
    // Every pair as a point keeps the spread within a distance, which no line can explain.
    assert!(each.distance < averaged.distance - 0.2, "{each:?}");
    assert!((each.max - averaged.max).abs() < 1e-12);
}

#[test]
fn three_numbers_by_hand() {
    // 1 and 2 at a right angle, 3 between them: cosines 0, √½, √½.
    let half = 0.5_f64.sqrt();
    let vectors = vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![half, half]];
    let [within, between, words] = similarities(&vectors, &[vec![1.0, 0.0]]);
    assert!((within.unwrap() - 2.0 * half / 3.0).abs() < 1e-12);
    assert!((between.unwrap() - (1.0 + half) / 3.0).abs() < 1e-12);
    assert_eq!(words, None);
}

fn replies(vectors: &[Vec<f64>], layers: usize) -> Vec<Reply> {
    vectors
        .iter()
        .map(|v| {
            let vector = Vector(v.iter().map(|x| *x as f32).collect());
            let layers = (0..layers)
                .map(|layer| LayerVector {
                    layer,
                    vector: vector.clone(),
                })
                .collect();
            Reply::bare(Response::Observed(Observed {
                pools: vec![PooledVectors { tokens: 1, layers }],
                scores: None,
            }))
        })
        .collect()
}

#[test]
fn every_layer_of_every_format_is_judged_from_one_pass() {
    let settings = TaskSettings::default();
    let items: Vec<Item> = Numbers
        .items(&settings, &NoData)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let ids: Vec<&str> = items.iter().map(|i| i.id.as_str()).collect();
    assert_eq!(ids, ["lowercase", "mixed-case", "digits"]);
    let texts: Vec<&str> = items[1]
        .asks
        .iter()
        .map(|a| match &a.request {
            Request::Observe(o) => o.text.as_str(),
            _ => panic!("hidden states"),
        })
        .collect();
    assert_eq!(texts.len(), 15);
    assert_eq!((texts[0], texts[8], texts[9]), ("One", "Nine", "River"));
    let mut vectors = compressed();
    vectors.extend(random(&mut stream(1, "words"), 6, 9));
    let verdict = Numbers.judge(&settings, &items[1], &replies(&vectors, 3));
    let Outcome::Scored(score) = verdict.outcome else {
        panic!("{verdict:?}")
    };
    assert!((score - verdict.measures["distance"]).abs() < 1e-12);
    for name in [
        "ratio.layer_02",
        "number_word",
        "mds_stress",
        "cosine_at_distance_8",
        "place_of_9",
    ] {
        assert!(verdict.measures.contains_key(name), "{name}");
    }
    assert!(verdict.measures["number_number"] > verdict.measures["number_word"]);
}

#[test]
fn larger_ranges_are_measured_too() {
    let mut rng = stream(3, "tens");
    for range in [Range::Tens, Range::Magnitudes] {
        let numbers = range.numbers();
        let found = effects(
            &numbers,
            &random(&mut rng, numbers.len(), 32),
            range,
            Pairs::Averaged,
        )
        .unwrap();
        assert!((0.0..=1.0).contains(&found.distance), "{found:?}");
    }
}

#[test]
fn vectors_that_are_all_the_same_are_named() {
    let same = vec![vec![1.0, 2.0]; 9];
    let error = effects(
        &Range::Units.numbers(),
        &same,
        Range::Units,
        Pairs::Averaged,
    )
    .unwrap_err();
    assert!(error.contains("the same"), "{error}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let settings = TaskSettings {
        params: [("range".to_owned(), "1-10".to_owned())].into(),
        ..TaskSettings::default()
    };
    let error = Numbers.items(&settings, &NoData).err().unwrap().to_string();
    assert!(
        error.contains("`range=1-10` is not one of: 1-9, 10-99, magnitudes"),
        "{error}"
    );
}

fn shapes(vectors: &[Vec<f64>]) -> Vec<nulls::LayerShape> {
    let numbers = Range::Units.numbers();
    vec![nulls::LayerShape {
        number: 0,
        cosines: Cosines::new(&numbers, vectors, Range::Units).unwrap(),
        positions: units(vectors, Pairs::Averaged).positions,
    }]
}

fn p_of(vectors: &[Vec<f64>]) -> [f64; 4] {
    let numbers = Range::Units.numbers();
    let found = nulls::by_labels(&numbers, &shapes(vectors), Pairs::Averaged).unwrap();
    assert_eq!(found.len(), 2, "one layer, and the mean over layers");
    nulls::EFFECTS.map(|name| found[1].effects[name].p)
}

#[test]
fn a_real_number_line_beats_its_null_and_random_vectors_rarely_do() {
    let [distance, ratio, size, line] = p_of(&compressed());
    assert!(distance <= 0.02 && ratio <= 0.02 && line <= 0.02);
    // Signed: R² alone does not get there.
    assert!(size < 0.05, "{size}");
    let mut rng = stream(11, "nulls");
    let draws = 40;
    let claimed = (0..draws)
        .filter(|_| p_of(&random(&mut rng, 9, 32))[0] < 0.05)
        .count();
    // Two of forty are expected.
    assert!(claimed <= 6, "{claimed}");
}

#[test]
fn the_noise_level_is_that_of_random_vectors_and_the_nulls_lie_near_it() {
    let numbers = Range::Units.numbers();
    let noise = nulls::noise(&numbers, 64, Range::Units, Pairs::Averaged);
    // Eight averaged points of unequal weight: a line explains a seventh and more of pure noise.
    assert!((0.1..0.4).contains(&noise["distance"]), "{noise:?}");
    assert!(noise["ratio"] > noise["distance"] / 2.0, "{noise:?}");
    assert_eq!(
        noise,
        nulls::noise(&numbers, 64, Range::Units, Pairs::Averaged)
    );
    let mut rng = stream(12, "nulls");
    let found =
        nulls::by_labels(&numbers, &shapes(&random(&mut rng, 9, 64)), Pairs::Averaged).unwrap();
    let null = found[0].effects["distance"].expected;
    assert!((null - noise["distance"]).abs() < 0.15, "{null} {noise:?}");
}

#[test]
fn vectors_that_share_a_direction_are_warned_about_and_centred() {
    // The compressed line with a large common part: every cosine above 0.99.
    let shifted: Vec<Vec<f64>> = compressed()
        .into_iter()
        .map(|mut v| {
            v.push(40.0);
            v
        })
        .collect();
    let found = units(&shifted, Pairs::Averaged);
    assert!(found.min > 0.99, "{}", found.min);
    let shown = ShownNumbers {
        numbers: Range::Units.numbers(),
        texts: vec![],
    };
    let setup = NumberSettings::read(&TaskSettings::default()).unwrap();
    let row = centred(&shown, &shifted, setup);
    // Centring bends the line; the effects stay.
    assert!(row["distance_centred"] > 0.6, "{row:?}");
    assert!(row["ratio_centred"] > 0.9, "{row:?}");
    assert!(row["distance_slope_centred"] < 0.0, "{row:?}");
}
