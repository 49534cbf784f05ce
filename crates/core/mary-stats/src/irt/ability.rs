//! Abilities of persons from their answers, with the items' parameters known.

use serde::{Deserialize, Serialize};

use super::Item;
use super::marginal::NODES;
use crate::distributions::bisect;
use crate::{StatsError, input};

/// How an ability is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// Mean of the posterior under a standard normal prior.
    Eap,
    /// Mode of the posterior under a standard normal prior.
    Map,
    /// Warm's weighted likelihood: no prior, nearly unbiased, finite for all right and all wrong.
    Wle,
    /// Maximum likelihood: infinite for all right and all wrong, which is an error here.
    Ml,
}

/// An ability and its standard error, in units of the scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ability {
    /// Estimate.
    pub value: f64,
    /// Standard error; for the mean of the posterior its standard deviation.
    pub error: f64,
}

impl Ability {
    /// Bounds of its 95 % interval.
    pub fn bounds(&self) -> (f64, f64) {
        let reach = crate::distributions::z_of(crate::LEVEL) * self.error;
        (self.value - reach, self.value + reach)
    }
}

const WHAT: &str = "ability";
/// Abilities are looked for between minus and plus this.
const EDGE: f64 = 12.0;

/// The ability of somebody who gave these answers, (item, score).
pub fn ability(
    items: &[Item],
    answers: &[(usize, u8)],
    estimator: Estimator,
) -> Result<Ability, StatsError> {
    check(items, answers)?;
    let sum = |of: &dyn Fn(&Item, u8) -> f64| -> f64 {
        answers.iter().map(|a| of(&items[a.0], a.1)).sum()
    };
    let information = |theta: f64| sum(&|item, _| item.information(theta));
    let gradient = |theta: f64| sum(&|item, score| item.score_function(theta, score));
    let found = |value: f64, information: f64| Ability {
        value,
        error: information.max(1e-12).sqrt().recip(),
    };
    let guessed = answers.iter().any(|a| items[a.0].guessing > 0.0);
    match estimator {
        Estimator::Eap => Ok(mean_of(&posterior(items, answers, &Kinds::default())?)),
        Estimator::Map => {
            let value = root(guessed, |theta| gradient(theta) - theta);
            Ok(found(value, information(value) + 1.0))
        }
        Estimator::Wle => {
            let warm = |theta: f64| sum(&|item, _| item.warm(theta));
            let value = root(guessed, |theta| {
                gradient(theta) + warm(theta) / (2.0 * information(theta)).max(1e-12)
            });
            Ok(found(value, information(value)))
        }
        Estimator::Ml => {
            let value = root(guessed, gradient);
            let why = "all answers are right or all are wrong";
            input::refuse(value.abs() > EDGE - 1e-6, WHAT, why)?;
            Ok(found(value, information(value)))
        }
    }
}

/// Kinds of content (suites, subtasks). Subjects are better at one kind than at another, whatever their ability: answers to
/// items of one kind go together, and many of them tell less than as many of different kinds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kinds {
    /// The kind of each item; empty where nothing is known of it.
    pub of: Vec<usize>,
    /// Variance of a subject's ability between kinds, in squared units of the scale.
    pub variance: f64,
}

impl Kinds {
    /// Kinds of items, and the variance that subjects' answers show: by how much the gradients of their likelihoods,
    /// summed within kinds, scatter beyond what independent answers would. Nothing is claimed of fewer than three kinds.
    pub fn estimate(of: Vec<usize>, items: &[Item], subjects: &[(&[(usize, u8)], f64)]) -> Self {
        let (mut beyond, mut squares) = (0.0, 0.0);
        let mut most = 0;
        for (answers, theta) in subjects {
            let sums = by_kind(&of, answers, |&(item, score)| {
                let item = &items[item];
                [item.score_function(*theta, score), item.information(*theta)]
            });
            most = most.max(sums.len());
            for [gradient, told] in sums.values() {
                beyond += gradient * gradient - told;
                squares += told * told;
            }
        }
        // Items and abilities were fitted to the same answers, which takes a part of the scatter away.
        let left = |n: usize| n as f64 / (n as f64 - 1.0).max(1.0);
        let variance = match most < 3 || squares <= 0.0 {
            true => 0.0,
            false => (left(subjects.len()) * left(most) * beyond / squares).max(0.0),
        };
        Self { of, variance }
    }

    /// How many times larger the variance of an ability is than independent answers would leave it.
    fn effect(&self, items: &[Item], answers: &[(usize, u8)], theta: f64) -> f64 {
        if self.variance == 0.0 {
            return 1.0;
        }
        let told = by_kind(&self.of, answers, |a| [items[a.0].information(theta), 0.0]);
        let squares: f64 = told.values().map(|told| told[0] * told[0]).sum();
        let total: f64 = told.values().map(|told| told[0]).sum();
        1.0 + self.variance * squares / total.max(1e-12)
    }
}

fn by_kind(
    of: &[usize],
    answers: &[(usize, u8)],
    of_answer: impl Fn(&(usize, u8)) -> [f64; 2],
) -> std::collections::BTreeMap<Option<usize>, [f64; 2]> {
    let mut sums = std::collections::BTreeMap::new();
    for answer in answers {
        let sum = sums.entry(of.get(answer.0).copied()).or_insert([0.0; 2]);
        let own = of_answer(answer);
        *sum = [sum[0] + own[0], sum[1] + own[1]];
    }
    sums
}

/// Mean and standard deviation of a posterior.
pub(super) fn mean_of(weights: &[(f64, f64)]) -> Ability {
    let mean: f64 = weights.iter().map(|(theta, weight)| theta * weight).sum();
    let of_node = |(t, weight): &(f64, f64)| weight * (t - mean).powi(2);
    let squares = weights.iter().map(of_node);
    Ability {
        value: mean,
        error: squares.sum::<f64>().sqrt(),
    }
}

/// What the answers leave open under a standard normal prior: abilities and their weights, which sum to one. Answers that go
/// together by their kinds count for fewer. The grid lies around the mode: hundreds of answers leave less open than the
/// distance between the nodes of a fixed one.
pub fn posterior(
    items: &[Item],
    answers: &[(usize, u8)],
    kinds: &Kinds,
) -> Result<Vec<(f64, f64)>, StatsError> {
    const REACH: f64 = 7.0;
    let mode = ability(items, answers, Estimator::Map)?;
    let effect = kinds.effect(items, answers, mode.value);
    let mut grid: Vec<(f64, f64)> = (0..NODES)
        .map(|at| {
            let away = 2.0 * at as f64 / (NODES - 1) as f64 - 1.0;
            let theta = mode.value + REACH * (effect.sqrt() * mode.error).min(1.0) * away;
            let likely = answers.iter().map(|a| items[a.0].log_p(theta, a.1));
            (theta, likely.sum::<f64>() / effect - 0.5 * theta * theta)
        })
        .collect();
    let logs = grid.iter().map(|node| node.1);
    let most = logs.fold(f64::NEG_INFINITY, f64::max);
    for node in &mut grid {
        node.1 = (node.1 - most).exp();
    }
    let total: f64 = grid.iter().map(|node| node.1).sum();
    grid.iter_mut().for_each(|node| node.1 /= total);
    Ok(grid)
}

fn check(items: &[Item], answers: &[(usize, u8)]) -> Result<(), StatsError> {
    input::at_least(WHAT, 1, answers.len())?;
    match answers
        .iter()
        .find(|(item, score)| items.get(*item).is_none_or(|item| *score > item.top()))
    {
        Some((item, score)) => {
            let found = format!("score {score} on item {item}");
            let expected = "items of the scale and scores they have";
            Err(StatsError::domain(WHAT, expected, found))
        }
        None => Ok(()),
    }
}

/// Where a function that falls from plus to minus crosses zero. With guessing there may be several crossings: a coarse
/// look takes the one nearest to 0.
fn root(several: bool, f: impl Fn(f64) -> f64) -> f64 {
    let mut bracket = (-EDGE, EDGE);
    if several {
        let steps = (-24..24).map(|at| (f64::from(at) * 0.5, f64::from(at + 1) * 0.5));
        let falls = steps.filter(|(a, b)| f(*a) > 0.0 && f(*b) <= 0.0);
        if let Some(nearest) = falls.min_by(|x, y| (x.0 + x.1).abs().total_cmp(&(y.0 + y.1).abs()))
        {
            bracket = nearest;
        }
    }
    bisect(bracket, 50, |x| f(x) > 0.0)
}
