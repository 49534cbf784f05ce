//! Tiers from comparisons that are made up, and the order of models.

use super::{natural, tiers};
use crate::compare::Comparison;
use crate::number::ScoreScale;

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

fn placed(models: &[&str], all: &[Comparison]) -> Vec<(String, usize)> {
    let models = models.iter().map(|model| (*model).to_owned()).collect();
    let all: Vec<&Comparison> = all.iter().collect();
    tiers(models, &all).0.into_iter().collect()
}

fn tier(model: &str, n: usize) -> (String, usize) {
    (model.to_owned(), n)
}

/// `b` cannot be told apart from either neighbour: it shares the tier of the best, and `c`, which is worse than the
/// best, leads the next one.
#[test]
fn a_model_shares_the_tier_of_the_best_it_cannot_be_told_apart_from() {
    let all = [
        compared("a", "b", 0.1, Some(0.3)),
        compared("a", "c", 0.2, Some(0.01)),
        compared("a", "d", 0.4, Some(0.001)),
        compared("b", "c", 0.1, Some(0.3)),
        compared("b", "d", 0.3, Some(0.01)),
        compared("c", "d", 0.2, Some(0.04)),
    ];
    assert_eq!(
        placed(&["a", "b", "c", "d"], &all),
        [tier("a", 1), tier("b", 1), tier("c", 2), tier("d", 3)]
    );
    // At the level itself nothing is told apart.
    let at = [compared("a", "b", 0.4, Some(0.05))];
    assert_eq!(placed(&["a", "b"], &at), [tier("a", 1), tier("b", 1)]);
}

#[test]
fn what_was_not_compared_has_no_tier() {
    assert!(placed(&["a"], &[]).is_empty());
    assert!(placed(&["a", "b"], &[]).is_empty());
    let some = [compared("a", "b", 0.1, Some(0.4))];
    assert_eq!(
        placed(&["a", "b", "c"], &some),
        [tier("a", 1), tier("b", 1)]
    );
    // Too few items for a test: not told apart.
    let unknown = [compared("a", "b", 0.1, None)];
    assert_eq!(placed(&["a", "b"], &unknown), [tier("a", 1), tier("b", 1)]);
}

#[test]
fn steps_of_training_are_sorted_by_number() {
    let mut names = [
        "n@step1000",
        "n@step256",
        "n",
        "n@step0",
        "n@step3000b",
        "m2é10",
    ];
    names.sort_by_key(|name| natural(name));
    assert_eq!(
        names,
        [
            "m2é10",
            "n",
            "n@step0",
            "n@step256",
            "n@step1000",
            "n@step3000b"
        ]
    );
}
