//! Scores tested against chance: corrected over the tasks of a model, with the floor where there is one, and
//! from the interval alone where an earlier program stored no test.

use std::collections::BTreeMap;

use mary_contract::*;
use mary_lab::engine::summarise::test_against_chance;

fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate {
        value,
        low,
        high,
        n: 100,
        method: "clustered-t".into(),
    }
}

fn row(model: &str, task: usize, p: Option<f64>) -> SummaryRow {
    SummaryRow {
        model: model.into(),
        task: format!("f/{task}"),
        score: Some(estimate(0.6, 0.52, 0.68)),
        chance: Some(0.5),
        human: None,
        samples: 100,
        scored: 100,
        ties: 0,
        constant_answer: None,
        chance_test: p.map(|p| ChanceTest {
            p,
            p_floor: None,
            p_holm: 0.0,
            tasks: 0,
        }),
        unscored: BTreeMap::new(),
        failed: BTreeMap::new(),
        measures: vec![],
        breakdowns: vec![],
        usage: Usage::default(),
    }
}

fn tests(rows: &mut [SummaryRow]) -> Vec<(f64, usize)> {
    test_against_chance(rows);
    let found = rows.iter().map(|r| r.chance_test.unwrap());
    found.map(|t| (t.p_holm, t.tasks)).collect()
}

#[test]
fn one_lucky_task_of_many_is_no_verdict() {
    // Issue 37: "above chance on 2 of 23 tasks" from uncorrected intervals.
    let mut rows: Vec<SummaryRow> = (0..21).map(|t| row("a", t, Some(0.5))).collect();
    rows[3] = row("a", 3, Some(0.03));
    rows[7] = row("a", 7, Some(0.001));
    // Another model's tasks are a family of their own.
    rows.push(row("b", 0, Some(0.03)));
    let found = tests(&mut rows);
    assert_eq!(found[3], (0.03 * 20.0, 21));
    assert_eq!(found[7], (0.001 * 21.0, 21));
    assert_eq!(found[21], (0.03, 1));
    // Done again, the same.
    assert_eq!(tests(&mut rows), found);
}

#[test]
fn a_claim_must_hold_against_the_floor_as_well() {
    let over = |estimate| Measure::new(OVER_FLOOR, estimate);
    let mut above = row("a", 0, Some(0.001));
    above.measures = vec![over(estimate(0.05, 0.01, 0.09))];
    if let Some(test) = &mut above.chance_test {
        test.p_floor = Some(0.02);
    }
    let mut beyond = above.clone();
    beyond.measures = vec![over(estimate(-0.05, -0.09, -0.01))];
    let mut rows = [above, beyond];
    let found = tests(&mut rows);
    // The larger p of the two, times two tasks; above chance and below the floor is no claim.
    assert_eq!((found[0].0, found[1].0), (0.04, 1.0));
}

#[test]
fn a_summary_without_tests_is_tested_by_its_intervals() {
    let mut rows = [row("a", 0, None), row("a", 1, None), row("a", 2, None)];
    rows[1].score = Some(estimate(0.55, 0.47, 0.63));
    rows[2].chance = None;
    test_against_chance(&mut rows);
    let p = |n: usize| rows[n].chance_test.map(|t| t.p);
    assert!(p(0).unwrap() < 0.05 && p(1).unwrap() > 0.05, "{rows:?}");
    assert_eq!(p(2), None);
    assert_eq!(rows[0].chance_test.unwrap().tasks, 2);
}
