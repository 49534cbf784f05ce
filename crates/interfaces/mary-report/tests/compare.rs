//! Two runs compared item by item.

use crate::fixture;

use mary_contract::{ErrorKind, Judgement, Metric, Sample, Scoring, TaskRun, Ties};
use mary_report::{
    ScoreScale,
    compare::{self, Side},
    terminal::{self, TableStyle},
};

fn samples(model: &str, scores: &[f64]) -> Vec<Sample> {
    let template = fixture::sample(1, (0, model), (0, &fixture::TASKS[0]), 0);
    scores
        .iter()
        .enumerate()
        .map(|(i, &score)| {
            let mut s = template.clone();
            s.id.item = format!("i{i}");
            s.item.id = format!("i{i}");
            s.judgement = Judgement::scored(score);
            s
        })
        .collect()
}

fn side(label: &str, samples: &[Sample]) -> Side {
    let mut side = Side::new(label);
    for s in samples {
        side.add(s);
    }
    side
}

#[test]
fn yes_no_verdicts_are_tested_by_their_discordant_pairs() {
    // 10 items only the first gets right, 2 only the second: mid-p of McNemar is 0.0225 (by hand:
    // 2·P(X ≤ 2) − P(X = 2) for a binomial of 12 tosses = 158/4096 − 66/4096).
    let a: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i < 30))).collect();
    let b: Vec<f64> = (0..40)
        .map(|i| f64::from(u8::from((10..32).contains(&i))))
        .collect();
    let compared = compare::comparison(
        &[
            side("a", &samples("a/a", &a)),
            side("b", &samples("b/b", &b)),
        ],
        false,
    )
    .unwrap();
    let c = &compared.comparisons[0];
    assert_eq!(
        (c.paired, c.only_first, c.only_second, c.unscored),
        (40, 0, 0, 0)
    );
    assert!((c.difference - 0.2).abs() < 1e-12);
    assert!(
        (c.p.unwrap() - (158.0 - 66.0) / 4096.0).abs() < 1e-9,
        "{:?}",
        c.p
    );
    assert_eq!(c.p, c.p_holm);
    let (low, high) = (c.low.unwrap(), c.high.unwrap());
    assert!(low > 0.0 && low < 0.2 && high > 0.2);
    assert!(compared.warnings.is_empty());
}

#[test]
fn what_does_not_match_is_said() {
    let a = samples("a/a", &[1.0, 1.0, 0.0, 1.0]);
    let mut b = samples("b/b", &[0.0, 1.0, 0.5, 1.0, 1.0]);
    b[3].judgement = Judgement::failed(ErrorKind::Timeout, "late");
    let mut c = samples("c/c", &[1.0]);
    c[0].id.task = "htest/rhyme".into();
    let sides = [side("a", &a), side("b", &b), side("c", &c)];
    let compared = compare::comparison(&sides, true).unwrap();
    assert_eq!(compared.comparisons.len(), 1);
    let one = &compared.comparisons[0];
    assert_eq!(
        (one.paired, one.only_first, one.only_second, one.unscored),
        (3, 0, 1, 1)
    );
    assert_eq!((one.low, one.p), (None, None), "three items are too few");
    assert!(one.method.contains("below 5"), "{}", one.method);
    assert!(
        compared
            .warnings
            .iter()
            .any(|w| w.contains("items do not match: 4 are shared, 0 only in a, 1 only in b"))
    );
    assert!(
        compared
            .warnings
            .iter()
            .any(|w| w.contains("htest/rhyme: only c has it"))
    );
}

#[test]
fn equal_scores_show_no_difference_and_no_certainty() {
    let a = samples("a/a", &[0.25; 20]);
    let compared = compare::comparison(&[side("a", &a), side("b", &a)], false).unwrap();
    let c = &compared.comparisons[0];
    assert_eq!((c.difference, c.p), (0.0, Some(1.0)));
    let (low, high) = (c.low.unwrap(), c.high.unwrap());
    assert!(low < -0.1 && high > 0.1, "[{low}, {high}]");
}

#[test]
fn two_items_get_no_interval() {
    let a = samples("a/a", &[1.0, 0.5]);
    let b = samples("b/b", &[0.0, 0.5]);
    let compared = compare::comparison(&[side("a", &a), side("b", &b)], false).unwrap();
    let shown = compare::table(&compared);
    let cell = |head: &str| {
        let at = shown.head.iter().position(|h| h == head).unwrap();
        &*shown.rows[0][at]
    };
    assert_eq!(cell("95% interval"), "–");
    assert_eq!(cell("verdict"), "too few items");
}

fn ran(shots: &str, scoring: Scoring) -> TaskRun {
    TaskRun {
        id: fixture::TASKS[0].id.into(),
        version: 1,
        asked: Some([("shots".to_owned(), shots.to_owned())].into()),
        scoring: Some(scoring),
        ..TaskRun::default()
    }
}

fn asked(label: &str, run: &TaskRun, samples: &[Sample]) -> Side {
    let mut side = Side::asked(label, std::slice::from_ref(run));
    samples.iter().for_each(|s| side.add(s));
    side
}

#[test]
fn four_shots_and_two_are_not_the_same_question() {
    let share = Scoring::share(Ties::Half);
    let scores: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
    let sides = [
        asked("a", &ran("4", share), &samples("a/a", &scores)),
        asked("b", &ran("2", share), &samples("b/b", &scores)),
        asked("c", &ran("4", share), &samples("c/c", &scores)),
    ];
    let compared = compare::comparison(&sides, true).unwrap();
    let pairs: Vec<(&str, &str)> = compared
        .comparisons
        .iter()
        .map(|c| (c.first.as_str(), c.second.as_str()))
        .collect();
    assert_eq!(pairs, [("a", "c")]);
    assert!(
        compared
            .warnings
            .iter()
            .any(|w| w.contains("a and b were not asked the same question (shots 4 against 2)")),
        "{:?}",
        compared.warnings
    );
    // Named on purpose, the effect of a setting can be looked at.
    let across = compare::comparison_across(&sides[..2], true, &["shots".into()]).unwrap();
    assert_eq!(across.comparisons.len(), 1);
    assert!(across.warnings[0].contains("differ in shots 4 against 2"));
}

#[test]
fn differences_of_explained_variance_are_no_percentages() {
    let r2 = Scoring::number(Metric::RSquared);
    let first: Vec<f64> = (0..8).map(|i| 0.5 + 0.01 * f64::from(i)).collect();
    let second: Vec<f64> = (0..8).map(|i| 0.4 - 0.01 * f64::from(i)).collect();
    let sides = [
        asked("a", &ran("0", r2), &samples("a/a", &first)),
        asked("b", &ran("0", r2), &samples("b/b", &second)),
    ];
    let compared = compare::comparison(&sides, false).unwrap();
    assert_eq!(compared.comparisons[0].scale, ScoreScale::Plain);
    assert!(
        compare::table(&compared).rows[0]
            .iter()
            .any(|c| c == "+0.170")
    );
}

#[test]
fn trials_of_an_item_are_one_unit() {
    let mut a = samples("a/a", &[1.0; 8]);
    let mut b = samples("b/b", &[0.0; 8]);
    for side in [&mut a, &mut b] {
        for trial in 1..4 {
            let more: Vec<Sample> = side[..8]
                .iter()
                .cloned()
                .map(|mut s| {
                    s.id.trial = trial;
                    s
                })
                .collect();
            side.extend(more);
        }
    }
    let compared = compare::comparison(&[side("a", &a), side("b", &b)], false).unwrap();
    let c = &compared.comparisons[0];
    assert_eq!((c.paired, c.units), (32, 8));
    // All eight alike, so that nothing varies: the likelihood of eight of eight, not of 32.
    let p = c.p.unwrap();
    assert!(p > 0.005 && p < 0.05 && c.low.unwrap() > 0.0, "{c:?}");
}

#[test]
fn a_comparison_reads_as_a_table() {
    let bench = fixture::usual();
    let mut sides: Vec<Side> = bench.models.iter().map(|m| Side::new(m.clone())).collect();
    for s in bench.samples() {
        let at = bench.models.iter().position(|m| *m == s.id.model).unwrap();
        sides[at].add(&s);
    }
    let compared = compare::comparison(&sides[1..], false).unwrap();
    insta::assert_snapshot!(terminal::plain(
        &compare::table(&compared),
        TableStyle::default()
    ));
}

/// Eight people on six items each against a model that was asked twice: everybody counts, paired by item.
#[test]
fn people_are_one_side_paired_by_item() {
    let person = |trial: u32, right: usize| -> Vec<Sample> {
        let scores: Vec<f64> = (0..6).map(|i| f64::from(u8::from(i < right))).collect();
        let mut all = samples("people/study", &scores);
        for sample in &mut all {
            sample.id.trial = trial;
        }
        all
    };
    let everybody: Vec<Sample> = (0..8).flat_map(|p| person(p, 3 + p as usize % 3)).collect();
    let mut model = samples("m/m", &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let mut again = samples("m/m", &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    for sample in &mut again {
        sample.id.trial = 1;
    }
    model.append(&mut again);
    let sides = [side("people/study", &everybody), side("m/m", &model)];
    let compared = compare::comparison(&sides, false).unwrap();
    let found = &compared.comparisons[0];
    assert_eq!(
        (found.paired, found.only_first, found.only_second),
        (6, 0, 1)
    );
    assert_eq!(found.method, "crossed, 8 people, 6 items");
    // People: 3, 4, 5, 3, 4, 5, 3, 4 of six; the model one and a half of six.
    assert!((found.first_mean - 31.0 / 48.0).abs() < 1e-12);
    assert!((found.second_mean - 0.25).abs() < 1e-12);
    let (low, high) = (found.low.unwrap(), found.high.unwrap());
    assert!(low < found.difference && found.difference < high);
    assert!(found.p.unwrap() < 0.2);
    // One person is no sample of people, and nothing is claimed.
    let sides = [side("people/study", &person(0, 4)), side("m/m", &model)];
    let alone = compare::comparison(&sides, false).unwrap();
    assert_eq!(
        (alone.comparisons[0].low, alone.comparisons[0].p),
        (None, None)
    );
}
