//! Differential item functioning: is an item harder for one group than for another, among subjects who are equally
//! able? Asked before people and models are put on one scale.

use serde::Serialize;

use super::{Responses, rasch};
use crate::distributions::{chi_squared_upper, z_of};
use crate::multiple::holm;
use crate::{LEVEL, StatsError, input};

/// Size of a difference, as the Educational Testing Service names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum EtsClass {
    /// Negligible: below 1 delta, or not significant.
    A,
    /// Moderate.
    B,
    /// Large: at least 1.5 delta and significantly above 1.
    C,
}

/// What one item shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemDif {
    /// The item.
    pub item: usize,
    /// Logarithm of the odds ratio, reference over focal group: above 0 the item is harder for the focal group.
    pub log_odds: f64,
    /// Its standard error.
    pub error: f64,
    /// p of the single test.
    pub p: f64,
    /// p after Holm's correction over all items tested.
    pub p_holm: f64,
    /// On the delta scale, `-2.35 · log_odds`.
    pub delta: f64,
    /// Size and certainty in one letter.
    pub class: EtsClass,
}

/// Corrects the p-values for the number of items, and classifies by them.
fn correct(found: &mut [ItemDif]) -> Result<(), StatsError> {
    let p: Vec<f64> = found.iter().map(|item| item.p).collect();
    let corrected = if p.is_empty() { p } else { holm(&p)? };
    for (item, p) in found.iter_mut().zip(corrected) {
        item.p_holm = p;
        item.class = class(item.log_odds, item.error, p);
    }
    Ok(())
}

/// A below 1 delta or not significant after correction; C from 1.5 delta where the size is also surely above 1.
fn class(log_odds: f64, error: f64, p: f64) -> EtsClass {
    let size = 2.35 * log_odds.abs();
    if size < 1.0 || p > 1.0 - LEVEL {
        return EtsClass::A;
    }
    let surely_above_one = (size - 1.0) / (2.35 * error) > z_of(2.0 * LEVEL - 1.0);
    if size >= 1.5 && surely_above_one {
        EtsClass::C
    } else {
        EtsClass::B
    }
}

/// Items by difficulties that were found in each group apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Separate {
    /// Items that both groups' answers determine.
    pub items: Vec<ItemDif>,
    /// Correlation of the two groups' difficulties, their errors taken out; `None` where little but error is left.
    pub correlation: Option<f64>,
    /// Standard deviation of the true differences.
    pub spread: Option<f64>,
}

/// The Rasch model in each group apart (conditional likelihood), and Wald tests of the differences, the groups tied
/// together by items that do not differ. Needs neither equal items for all nor groups that are equally able, and
/// takes one fit a group, however many items there are.
pub fn separate(responses: &Responses, focal: &[bool]) -> Result<Separate, StatsError> {
    input::same_length("items by group", focal.len(), responses.persons().len())?;
    let group = |wanted: bool| {
        let members: Vec<usize> = (0..focal.len()).filter(|&p| focal[p] == wanted).collect();
        rasch(&responses.of_persons(&members))
    };
    let (reference, second) = (group(false)?, group(true)?);
    let mut both = Vec::new();
    for item in 0..responses.items() {
        if let (Some(a), Some(b)) = (reference.difficulty(item), second.difficulty(item))
            && let (Some(x), Some(y)) = (reference.errors[item], second.errors[item])
        {
            both.push((item, a, x, b, y));
        }
    }
    if both.len() < 2 {
        return Err(StatsError::too_few("items by group", 2, both.len()));
    }
    let mut anchors: Vec<bool> = vec![true; both.len()];
    let mut items = Vec::new();
    for turn in 0..20 {
        let mut away: Vec<(f64, f64)> = both
            .iter()
            .zip(&anchors)
            .filter(|(_, anchor)| **anchor)
            .map(|(&(_, a, x, b, y), _)| (b - a, (x * x + y * y).max(1e-9).recip()))
            .collect();
        away.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = away.iter().map(|x| x.1).sum();
        // The median first, which items that differ move least; then the mean of those that do not.
        let shift = match turn {
            0 => away[away.len() / 2].0,
            _ => away.iter().map(|x| x.0 * x.1).sum::<f64>() / total,
        };
        items = both
            .iter()
            .map(|&(item, a, x, b, y)| {
                let (log_odds, error) = (b - a - shift, x.hypot(y));
                ItemDif {
                    item,
                    log_odds,
                    error,
                    p: chi_squared_upper((log_odds / error).powi(2), 1.0),
                    p_holm: 1.0,
                    delta: -2.35 * log_odds,
                    class: EtsClass::A,
                }
            })
            .collect();
        correct(&mut items)?;
        let next: Vec<bool> = items.iter().map(|item| item.class == EtsClass::A).collect();
        if next == anchors || next.iter().filter(|anchor| **anchor).count() < 2 {
            break;
        }
        anchors = next;
    }
    let (correlation, spread) = without_errors(&both);
    Ok(Separate {
        items,
        correlation,
        spread,
    })
}

/// An item, and its difficulty with its error in the one group and in the other.
type Twice = (usize, f64, f64, f64, f64);

/// Correlation of difficulties and spread of their differences with the errors' part taken out, over items whose
/// difficulty is known to within a logit in both groups.
fn without_errors(both: &[Twice]) -> (Option<f64>, Option<f64>) {
    let known: Vec<_> = both.iter().filter(|x| x.2 < 1.0 && x.4 < 1.0).collect();
    if known.len() < 10 {
        return (None, None);
    }
    let n = known.len() as f64;
    let mean = |f: &dyn Fn(&Twice) -> f64| known.iter().map(|x| f(x)).sum::<f64>() / n;
    let (a, b) = (mean(&|x| x.1), mean(&|x| x.3));
    let bias = n / (n - 1.0);
    let first = bias * mean(&|x| (x.1 - a).powi(2)) - mean(&|x| x.2 * x.2);
    let second = bias * mean(&|x| (x.3 - b).powi(2)) - mean(&|x| x.4 * x.4);
    let shared = bias * mean(&|x| (x.1 - a) * (x.3 - b));
    let away = bias * mean(&|x| (x.3 - b - x.1 + a).powi(2)) - mean(&|x| x.2 * x.2 + x.4 * x.4);
    let correlation = (first > 0.05 && second > 0.05)
        .then(|| (shared / (first * second).sqrt()).clamp(-1.0, 1.0));
    (correlation, Some(away.max(0.0).sqrt()))
}
