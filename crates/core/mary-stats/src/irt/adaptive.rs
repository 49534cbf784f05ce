//! Tests that stop when they know enough: which item to ask next, when to end, and what it says about the whole bank.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::ability::mean_of;
use super::{Ability, Item, Kinds, posterior};
use crate::{Interval, StatsError};

/// How items are chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// One of so many most informative items is drawn, so that no item is asked everybody; 1 takes the best.
    pub among: usize,
    /// One of this share of them, where that is more. The item that looks best is often one whose difficulty came out wrong:
    /// whoever always takes it measures the errors of the calibration.
    pub share: f64,
    /// The kind of content of each item (its task, say); empty for no balance. The kind whose share of the items
    /// asked lags most behind its share of the bank comes next.
    pub content: Vec<usize>,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            among: 1,
            share: 0.0,
            content: Vec::new(),
            seed: 0,
        }
    }
}

impl Selection {
    /// One of the better half of a kind, and of five at least.
    pub fn fair(content: Vec<usize>, seed: u64) -> Self {
        Self {
            among: 5,
            share: 0.5,
            content,
            seed,
        }
    }
}

/// When to end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// At this standard error of the ability.
    pub error: f64,
    /// Not before so many answers.
    pub fewest: usize,
    /// At so many answers, whatever the error.
    pub most: usize,
}

impl Stop {
    /// Whether the test is over after these answers.
    pub fn reached(&self, answers: usize, bank: usize, ability: Option<Ability>) -> bool {
        let precise = ability.is_some_and(|ability| ability.error <= self.error);
        answers >= bank.min(self.most) || (answers >= self.fewest && precise)
    }
}

/// The next `count` items to ask, by information at `theta`. Items in `asked` are not asked again. The same bank,
/// answers and seed give the same items.
pub fn next_items(
    bank: &[Item],
    asked: &[usize],
    theta: f64,
    count: usize,
    selection: &Selection,
) -> Vec<usize> {
    let mut used = vec![false; bank.len()];
    for &item in asked {
        if let Some(used) = used.get_mut(item) {
            *used = true;
        }
    }
    let information: Vec<f64> = bank.iter().map(|item| item.information(theta)).collect();
    let mut asked = asked.to_vec();
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let kind = lagging(&asked, &used, &selection.content, bank.len());
        let fits = |item: &usize| {
            !used[*item] && kind.is_none_or(|kind| selection.content.get(*item) == Some(&kind))
        };
        let mut open: Vec<usize> = (0..bank.len()).filter(fits).collect();
        // Of equally informative items the first in the bank.
        open.sort_by(|a, b| information[*b].total_cmp(&information[*a]).then(a.cmp(b)));
        let share = (selection.share * open.len() as f64).ceil() as usize;
        open.truncate(selection.among.max(share).max(1));
        let seed = selection.seed ^ (asked.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let Some(&item) = open.choose(&mut ChaCha8Rng::seed_from_u64(seed)) else {
            break;
        };
        used[item] = true;
        asked.push(item);
        chosen.push(item);
    }
    chosen
}

/// The kind of content with items left whose share of what was asked lags most behind its share of the bank.
fn lagging(asked: &[usize], used: &[bool], content: &[usize], bank: usize) -> Option<usize> {
    let kinds = content.iter().max()? + 1;
    let mut left = vec![false; kinds];
    let mut lag = vec![0.0; kinds];
    for (item, &kind) in content.iter().enumerate() {
        lag[kind] += (asked.len() + 1) as f64 / bank as f64;
        left[kind] |= !used.get(item).copied().unwrap_or(true);
    }
    for &kind in asked.iter().filter_map(|&item| content.get(item)) {
        lag[kind] -= 1.0;
    }
    let left = (0..kinds).filter(|&kind| left[kind]);
    left.max_by(|a, b| lag[*a].total_cmp(&lag[*b]).then(b.cmp(a)))
}

/// Share of the highest score that is expected on a whole bank at an ability.
pub fn bank_share(bank: &[Item], theta: f64) -> f64 {
    let total: f64 = bank.iter().map(|item| f64::from(item.top())).sum();
    bank.iter().map(|item| item.expected(theta)).sum::<f64>() / total.max(1.0)
}

/// What the answers so far say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Ability by the posterior's mean, which exists after the first answer.
    pub ability: Ability,
    /// Share of the highest score expected on the whole bank: what was answered as it was, the rest by the model.
    pub expected_share: Interval,
}

/// Ability, and what it predicts for the whole bank, from the answers so far. The interval takes in both how uncertain the
/// ability is and how single answers scatter around their probabilities.
pub fn standing(
    bank: &[Item],
    answers: &[(usize, u8)],
    kinds: &Kinds,
) -> Result<Standing, StatsError> {
    standing_on(bank, answers, kinds, |_| true)
}

/// The same with the share expected on a part of the bank; the ability is that of all answers.
pub fn standing_on(
    bank: &[Item],
    answers: &[(usize, u8)],
    kinds: &Kinds,
    part: impl Fn(usize) -> bool,
) -> Result<Standing, StatsError> {
    let weights = posterior(bank, answers, kinds)?;
    let mut open = vec![true; bank.len()];
    answers.iter().for_each(|answer| open[answer.0] = false);
    let within: Vec<usize> = (0..bank.len()).filter(|&at| part(at)).collect();
    let total: f64 = within.iter().map(|&at| f64::from(bank[at].top())).sum();
    let answered = answers.iter().filter(|answer| part(answer.0));
    let got: f64 = answered.map(|answer| f64::from(answer.1)).sum();
    let rest = || within.iter().filter(|at| open[**at]).map(|&at| &bank[at]);
    let (mut mean, mut square, mut scatter) = (0.0, 0.0, 0.0);
    for &(theta, weight) in weights.iter().filter(|(_, weight)| *weight > 1e-12) {
        let expected: f64 = rest().map(|item| item.expected(theta)).sum();
        mean += weight * expected;
        square += weight * expected * expected;
        scatter += weight * rest().map(|item| item.variance(theta)).sum::<f64>();
    }
    let spread = (square - mean * mean + scatter).max(0.0).sqrt() / total;
    let value = (got + mean) / total;
    let reach = crate::distributions::z_of(crate::LEVEL) * spread;
    let bounds = ((value - reach).max(got / total), (value + reach).min(1.0));
    Ok(Standing {
        ability: mean_of(&weights),
        expected_share: Interval::new(value, bounds, answers.len(), "irt-predictive"),
    })
}
