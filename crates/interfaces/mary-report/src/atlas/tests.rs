//! Tiers from comparisons that are made up.

use std::collections::BTreeMap;

use mary_contract::{Estimate, SummaryRow, Usage};

use super::{Scored, tiers};
use crate::compare::Comparison;
use crate::number::ScoreScale;

fn scores(of: &[(&str, f64)]) -> BTreeMap<String, Scored> {
    let scored = |(model, value): &(&str, f64)| {
        let row = SummaryRow {
            model: (*model).to_owned(),
            task: "f/t".into(),
            score: Some(Estimate::new(
                *value,
                (value - 0.1, value + 0.1),
                50,
                "wilson",
            )),
            chance: Some(0.5),
            human: None,
            samples: 50,
            scored: 50,
            ties: 0,
            constant_answer: None,
            chance_test: None,
            unscored: BTreeMap::new(),
            failed: BTreeMap::new(),
            measures: vec![],
            breakdowns: vec![],
            usage: Usage::default(),
        };
        let scale = ScoreScale::Proportion;
        ((*model).to_owned(), Scored { run: 0, row, scale })
    };
    of.iter().map(scored).collect()
}

fn compared(first: &str, second: &str, difference: f64, p_holm: Option<f64>) -> Comparison {
    Comparison {
        task: "f/t".into(),
        first: first.into(),
        second: second.into(),
        first_mean: 0.5 + difference,
        second_mean: 0.5,
        difference,
        low: Some(difference - 0.1),
        high: Some(difference + 0.1),
        method: "mcnemar".into(),
        p: p_holm,
        p_holm,
        too_few_differ: false,
        scale: ScoreScale::Proportion,
        paired: 50,
        units: 50,
        only_first: 0,
        only_second: 0,
        unscored: 0,
    }
}

fn placed(scores: &BTreeMap<String, Scored>, all: &[Comparison]) -> Vec<(String, usize)> {
    let all: Vec<&Comparison> = all.iter().collect();
    tiers(scores, &all).0.into_iter().collect()
}

/// `b` cannot be told apart from either neighbour: it shares the tier of the best, and `c`, which is worse than the
/// best, leads the next one.
#[test]
fn a_model_shares_the_tier_of_the_best_it_cannot_be_told_apart_from() {
    let found = scores(&[("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.5)]);
    let all = [
        compared("a", "b", 0.1, Some(0.3)),
        // The other way round, as sides come sorted by name and not by score.
        compared("c", "a", -0.2, Some(0.01)),
        compared("d", "a", -0.4, Some(0.001)),
        compared("b", "c", 0.1, Some(0.3)),
        compared("b", "d", 0.3, Some(0.01)),
        compared("c", "d", 0.2, Some(0.04)),
    ];
    let tier = |model: &str, n| (model.to_owned(), n);
    assert_eq!(
        placed(&found, &all),
        [tier("a", 1), tier("b", 1), tier("c", 2), tier("d", 3)]
    );
    let refs: Vec<&Comparison> = all.iter().collect();
    let behind = &tiers(&found, &refs).1["c"];
    assert_eq!((behind.first.as_str(), behind.difference), ("a", 0.2));
    assert!(
        (behind.low.unwrap() - 0.1).abs() < 1e-12 && (behind.high.unwrap() - 0.3).abs() < 1e-12
    );
    // At the level itself nothing is told apart.
    let at = [compared("a", "b", 0.4, Some(0.05))];
    assert_eq!(
        placed(&scores(&[("a", 0.9), ("b", 0.5)]), &at),
        [tier("a", 1), tier("b", 1)]
    );
}

#[test]
fn what_was_not_compared_has_no_tier() {
    assert!(placed(&scores(&[("a", 0.9)]), &[]).is_empty());
    assert!(placed(&scores(&[("a", 0.9), ("b", 0.1)]), &[]).is_empty());
    let found = scores(&[("a", 0.9), ("b", 0.8), ("c", 0.1)]);
    let some = [compared("a", "b", 0.1, Some(0.4))];
    let tier = |model: &str| (model.to_owned(), 1);
    assert_eq!(placed(&found, &some), [tier("a"), tier("b")]);
    let unknown = [compared("a", "b", 0.1, None)];
    assert_eq!(placed(&found, &unknown), [tier("a"), tier("b")]);
}
