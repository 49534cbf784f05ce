//! Agreement among several people and means over people and items, against other implementations
//! (`tools/golden_people.py`).

use mary_stats::crossed::mean_crossed;
use mary_stats::distributions::normal_quantile;
use mary_stats::raters::{
    Level, RaterAgreement, fleiss_kappa, krippendorff_alpha, krippendorff_interval,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
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

/// Judges who never differ: the share is 1, and alpha is what it is defined to be.
#[test]
fn unanimous_judges_have_a_share_and_no_alpha() {
    let of = |items: &[Vec<f64>]| RaterAgreement::of(items, Level::Nominal, 1);
    // One label throughout: chance would agree as often, whatever chance is.
    let found = of(&vec![vec![1.0, 1.0, 1.0]; 12]).unwrap();
    assert_eq!((found.alpha, found.bounds, found.items), (None, None, 12));
    assert!(found.undefined());
    let share = found.observed.unwrap();
    assert_eq!((share.value, share.high), (1.0, 1.0));
    assert!(share.low > 0.5 && share.low < 1.0, "{share:?}");
    // Two labels, and never a difference on an item: alpha is 1, and no draw of items says how sure.
    let mut items = vec![vec![1.0, 1.0]; 6];
    items.extend(vec![vec![0.0, 0.0]; 6]);
    let found = of(&items).unwrap();
    assert_eq!((found.alpha, found.bounds), (Some(1.0), None));
    // By hand: pairs alike 3 of 3, 1 of 3 and 0 of 1; an item with one answer says nothing.
    let mixed = [
        vec![1.0, 1.0, 1.0],
        vec![1.0, 1.0, 0.0],
        vec![1.0, 0.0],
        vec![1.0],
    ];
    let share = of(&mixed).unwrap().observed.unwrap();
    assert!((share.value - (1.0 + 1.0 / 3.0) / 3.0).abs() < 1e-12);
    assert_eq!(of(&[vec![1.0]]), None);
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

/// Simulated studies: new people and new items in each, normal on the logit scale, everybody's list a stretch of
/// the items.
struct Simulated {
    mean: f64,
    sd_people: f64,
    sd_items: f64,
    people: usize,
    items: usize,
    per_person: usize,
}

impl Simulated {
    fn truth(&self) -> f64 {
        let (n, sd) = (20_000, f64::hypot(self.sd_people, self.sd_items));
        let at = |i: usize| normal_quantile((i as f64 + 0.5) / f64::from(n));
        let all = (0..n as usize).map(|i| logistic(self.mean + sd * at(i)));
        all.sum::<f64>() / f64::from(n)
    }

    /// Share of studies whose interval covers the truth.
    fn covered(&self, studies: usize, seed: u64) -> f64 {
        let (truth, mut hits) = (self.truth(), 0);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..studies {
            let mut normal = || normal_quantile(rng.random_range(1e-12..1.0 - 1e-12));
            let able: Vec<f64> = (0..self.people)
                .map(|_| self.sd_people * normal())
                .collect();
            let hard: Vec<f64> = (0..self.items).map(|_| self.sd_items * normal()).collect();
            let (mut scores, mut who, mut what) = (Vec::new(), Vec::new(), Vec::new());
            for (person, able) in able.iter().enumerate() {
                for place in 0..self.per_person {
                    let item = (person * self.per_person + place) % self.items;
                    let right = rng.random::<f64>() < logistic(self.mean + able - hard[item]);
                    scores.push(if right { 1.0 } else { 0.0 });
                    who.push(person);
                    what.push(item);
                }
            }
            let found = mean_crossed(&scores, &who, &what).unwrap();
            hits += usize::from(found.interval.contains(truth));
        }
        hits as f64 / studies as f64
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// With Student's quantile for the smaller sample alone, three judges of thirty texts covered 99.8 %.
#[test]
fn intervals_over_people_and_items_cover_with_few_people_and_with_many() {
    for (people, items, per_person) in [(3, 30, 30), (5, 40, 40), (20, 60, 30)] {
        let simulated = Simulated {
            mean: 0.8,
            sd_people: 0.6,
            sd_items: 1.0,
            people,
            items,
            per_person,
        };
        let covered = simulated.covered(2_000, 21);
        assert!(
            (0.93..=0.97).contains(&covered),
            "{people} people, {items} items: {covered}"
        );
    }
}
