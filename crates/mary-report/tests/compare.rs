//! Two runs compared item by item.

use crate::fixture;

use mary_contract::{ErrorKind, Judgement, Sample};
use mary_report::{
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
        1,
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
    assert!(c.low > 0.0 && c.low < 0.2 && c.high > 0.2);
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
    let compared = compare::comparison(&sides, true, 1).unwrap();
    assert_eq!(compared.comparisons.len(), 1);
    let one = &compared.comparisons[0];
    assert_eq!(
        (one.paired, one.only_first, one.only_second, one.unscored),
        (3, 0, 1, 1)
    );
    assert!(one.method.contains("permutation"), "{}", one.method);
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
fn equal_scores_show_no_difference() {
    let a = samples("a/a", &[0.25; 6]);
    let compared = compare::comparison(&[side("a", &a), side("b", &a)], false, 1).unwrap();
    let c = &compared.comparisons[0];
    assert_eq!((c.difference, c.low, c.high), (0.0, 0.0, 0.0));
    assert!(c.p.is_none_or(|p| p == 1.0), "{:?}", c.p);
}

#[test]
fn a_comparison_reads_as_a_table() {
    let bench = fixture::usual();
    let mut sides: Vec<Side> = bench.models.iter().map(|m| Side::new(m.clone())).collect();
    for s in bench.samples() {
        let at = bench.models.iter().position(|m| *m == s.id.model).unwrap();
        sides[at].add(&s);
    }
    let compared = compare::comparison(&sides[1..], false, 7).unwrap();
    insta::assert_snapshot!(terminal::plain(
        &compare::table(&compared),
        TableStyle::default()
    ));
}
