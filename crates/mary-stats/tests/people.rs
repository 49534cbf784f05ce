//! Agreement among several people and means over people and items, against other implementations
//! (`tools/golden_people.py`).

use mary_stats::crossed::mean_crossed;
use mary_stats::raters::{Level, fleiss_kappa, krippendorff_alpha, krippendorff_interval};
use serde_json::Value;

fn gold() -> Value {
    serde_json::from_str(include_str!("golden/people.json")).unwrap()
}

fn numbers(v: &Value) -> Vec<f64> {
    let all = v.as_array().unwrap();
    all.iter().map(|x| x.as_f64().unwrap()).collect()
}

fn places(v: &Value) -> Vec<usize> {
    numbers(v).iter().map(|x| *x as usize).collect()
}

#[test]
fn alpha_agrees_with_the_krippendorff_package() {
    let gold = gold();
    for case in gold["alpha"].as_array().unwrap() {
        let items: Vec<Vec<f64>> = case["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        for (name, level) in [
            ("nominal", Level::Nominal),
            ("ordinal", Level::Ordinal),
            ("interval", Level::Interval),
        ] {
            let expected = case[name].as_f64().unwrap();
            let found = krippendorff_alpha(&items, level).unwrap();
            assert!(
                (found - expected).abs() < 1e-10,
                "{name}: {found} {expected}"
            );
        }
        let interval = krippendorff_interval(&items, Level::Nominal, 1).unwrap();
        assert!(interval.contains(interval.value), "{interval:?}");
    }
    let same = vec![vec![1.0, 1.0]; 4];
    assert!(krippendorff_alpha(&same, Level::Nominal).is_err());
    assert!(krippendorff_alpha(&[vec![1.0]], Level::Nominal).is_err());
    assert!(krippendorff_alpha(&[vec![1.0, f64::NAN]], Level::Nominal).is_err());
}

#[test]
fn fleiss_agrees_with_statsmodels() {
    let gold = gold();
    for case in gold["fleiss"].as_array().unwrap() {
        let items: Vec<Vec<usize>> = case["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(places)
            .collect();
        let expected = case["kappa"].as_f64().unwrap();
        assert!((fleiss_kappa(&items).unwrap() - expected).abs() < 1e-10);
    }
    assert!(fleiss_kappa(&[vec![1, 2], vec![1]]).is_err());
}

#[test]
fn errors_over_people_and_over_items_agree_with_statsmodels() {
    let gold = gold();
    for case in gold["crossed"].as_array().unwrap() {
        let scores = numbers(&case["score"]);
        let (people, items) = (places(&case["people"]), places(&case["items"]));
        let found = mean_crossed(&scores, &people, &items).unwrap();
        let expected = |name: &str| case[name].as_f64().unwrap();
        assert!((found.over_people - expected("over_people")).abs() < 1e-9);
        assert!((found.over_items - expected("over_items")).abs() < 1e-9);
    }
}
