//! Differential item functioning: is an item harder for one group than for another, among subjects who are equally
//! able? Asked before people and models are put on one scale.

use serde::{Deserialize, Serialize};

use super::{Marginal, MarginalSettings, Responses, marginal, rasch};
use crate::distributions::{chi_squared_upper, normal_quantile, z_of};
use crate::multiple::holm;
use crate::{LEVEL, StatsError, input};

/// How items are compared between two groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifTest {
    /// By difficulties found in each group apart: [`separate`].
    #[default]
    Wald,
    /// At equal scores: [`mantel_haenszel`].
    MantelHaenszel,
    /// By fits in which the item is one or two: [`likelihood_ratio`].
    LikelihoodRatio,
}

impl DifTest {
    /// What the test is called in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wald => "Wald",
            Self::MantelHaenszel => "Mantel-Haenszel",
            Self::LikelihoodRatio => "likelihood-ratio",
        }
    }
}

/// Size of a difference, as the Educational Testing Service names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EtsClass {
    /// Negligible: below 1 delta, or not significant.
    A,
    /// Moderate.
    B,
    /// Large: at least 1.5 delta and significantly above 1.
    C,
}

impl EtsClass {
    /// The letter in tables.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        }
    }
}

/// What one item shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

impl ItemDif {
    /// Before it is corrected for the number of items.
    fn new(item: usize, log_odds: f64, error: f64, p: f64) -> Self {
        Self {
            item,
            log_odds,
            error,
            p,
            p_holm: 1.0,
            delta: -2.35 * log_odds,
            class: EtsClass::A,
        }
    }
}

/// Mantel and Haenszel's comparison at equal scores, the score purified: items that differ leave it, and all are
/// tested again, until the set stays the same. `focal` marks the second group. Items are right or wrong; persons
/// are compared within equal shares right of the purified items (with the item itself), in at most ten classes where
/// they answered different items.
///
/// Items without a single informative table are left out of the result.
pub fn mantel_haenszel(responses: &Responses, focal: &[bool]) -> Result<Vec<ItemDif>, StatsError> {
    const WHAT: &str = "Mantel-Haenszel test of items";
    input::same_length(WHAT, focal.len(), responses.persons().len())?;
    if (0..responses.items()).any(|item| responses.top(item) > 1) {
        let found = "higher ones".to_owned();
        return Err(StatsError::domain(WHAT, "scores of 0 and 1", found));
    }
    purified(responses.items(), |anchors| {
        Ok(once(responses, focal, anchors))
    })
}

/// Tests all items with the items that do not differ as anchors, until these stay the same; all are at first.
fn purified(
    items: usize,
    mut test: impl FnMut(&[bool]) -> Result<Vec<ItemDif>, StatsError>,
) -> Result<Vec<ItemDif>, StatsError> {
    let mut anchors = vec![true; items];
    let mut found = Vec::new();
    for _ in 0..20 {
        found = test(&anchors)?;
        correct(&mut found)?;
        let mut next = vec![true; items];
        let mut alike = found.len();
        for item in found.iter().filter(|item| item.class != EtsClass::A) {
            next[item.item] = false;
            alike -= 1;
        }
        if next == anchors || alike < 2 {
            break;
        }
        anchors = next;
    }
    Ok(found)
}

fn once(responses: &Responses, focal: &[bool], anchors: &[bool]) -> Vec<ItemDif> {
    let mut rows = responses.persons().iter();
    let complete = rows.all(|row| row.len() == responses.items());
    let mut found = Vec::new();
    for item in 0..responses.items() {
        let mut tables = std::collections::BTreeMap::<u64, [f64; 4]>::new();
        for (row, focal) in responses.persons().iter().zip(focal) {
            let Some(&(_, score)) = row.iter().find(|answer| answer.0 == item) else {
                continue;
            };
            let matching = || row.iter().filter(|a| a.0 == item || anchors[a.0]);
            let right: u64 = matching().map(|answer| u64::from(answer.1)).sum();
            let class = if complete {
                right
            } else {
                (10 * right).div_ceil(matching().count().max(1) as u64)
            };
            let cell = usize::from(*focal) * 2 + usize::from(score == 0);
            tables.entry(class).or_default()[cell] += 1.0;
        }
        found.extend(combine(item, tables.values()));
    }
    found
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

/// Odds ratio over all tables (right and wrong of the reference, then of the focal group), its error by Robins, Breslow
/// and Greenland, and the test with Mantel and Haenszel's correction for continuity.
fn combine<'a>(item: usize, tables: impl Iterator<Item = &'a [f64; 4]>) -> Option<ItemDif> {
    let (mut r, mut s, mut pr, mut ps_qr, mut qs) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut observed, mut expected, mut variance) = (0.0, 0.0, 0.0);
    for [a, b, c, d] in tables {
        let n = a + b + c + d;
        if a + b == 0.0 || c + d == 0.0 || n < 2.0 {
            continue;
        }
        let (up, down) = (a * d / n, b * c / n);
        let (p, q) = ((a + d) / n, (b + c) / n);
        r += up;
        s += down;
        pr += p * up;
        ps_qr += p * down + q * up;
        qs += q * down;
        observed += a;
        expected += (a + b) * (a + c) / n;
        variance += (a + b) * (c + d) * (a + c) * (b + d) / (n * n * (n - 1.0));
    }
    if r <= 0.0 || s <= 0.0 || variance <= 0.0 {
        return None;
    }
    let log_odds = (r / s).ln();
    let error = (pr / (2.0 * r * r) + ps_qr / (2.0 * r * s) + qs / (2.0 * s * s)).sqrt();
    let statistic = ((observed - expected).abs() - 0.5).max(0.0).powi(2) / variance;
    let p = chi_squared_upper(statistic, 1.0);
    Some(ItemDif::new(item, log_odds, error, p))
}

/// A below 1 delta or not significant after correction; C from 1.5 delta where the size is also surely above 1.
fn class(log_odds: f64, error: f64, p: f64) -> EtsClass {
    let size = 2.35 * log_odds.abs();
    if size < 1.0 || p > 1.0 - LEVEL {
        return EtsClass::A;
    }
    let surely_above_one = (size - 1.0) / (2.35 * error) > z_of(2.0 * LEVEL - 1.0);
    let large = size >= 1.5 && surely_above_one;
    if large { EtsClass::C } else { EtsClass::B }
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
    input::at_least("items by group", 2, both.len())?;
    let mut first = true;
    let items = purified(responses.items(), |anchors| {
        let anchored = both.iter().filter(|x| anchors[x.0]);
        let squared = |x: f64, y: f64| (x * x + y * y).max(1e-9);
        let away = anchored.map(|&(_, a, x, b, y)| (b - a, squared(x, y).recip()));
        let mut away: Vec<(f64, f64)> = away.collect();
        away.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = away.iter().map(|x| x.1).sum();
        // The median first, which items that differ move least; then the mean of those that do not.
        let shift = match std::mem::take(&mut first) {
            true => away[away.len() / 2].0,
            false => away.iter().map(|x| x.0 * x.1).sum::<f64>() / total,
        };
        let tested = both.iter().map(|&(item, a, x, b, y)| {
            let (log_odds, error) = (b - a - shift, x.hypot(y));
            let p = chi_squared_upper((log_odds / error).powi(2), 1.0);
            ItemDif::new(item, log_odds, error, p)
        });
        Ok(tested.collect())
    })?;
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

/// Likelihood-ratio tests: for each item, the fit in which it is one item for both groups against the fit in which it is
/// one of each group's own; the items not found to differ tie the groups together, and each group has its own mean and
/// spread. Takes a fit for each item, again whenever the anchors change. Works with answers missing by design, where a
/// sum of scores does not, and with scores above 1.
///
/// `log_odds` is the focal group's difficulty minus the reference's, in the units of the reference's abilities times the
/// item's slope.
pub fn likelihood_ratio(
    responses: &Responses,
    focal: &[bool],
    settings: &MarginalSettings,
) -> Result<Vec<ItemDif>, StatsError> {
    const WHAT: &str = "likelihood-ratio test of items";
    input::same_length(WHAT, focal.len(), responses.persons().len())?;
    let items = responses.items();
    let asked = |item: &usize| answered_by_both(responses, focal, *item);
    let both: Vec<usize> = (0..items).filter(asked).collect();
    // With these items once for each group, the focal group's last.
    let fit = |apart: &[usize]| {
        let mut settings = settings.clone();
        settings.groups = focal.iter().map(|focal| usize::from(*focal)).collect();
        let own = apart.iter().filter_map(|&item| settings.guessing.get(item));
        let own: Vec<f64> = own.copied().collect();
        settings.guessing.extend(own);
        let split = |all: Responses, item: &usize| all.split(*item, focal);
        marginal(&apart.iter().fold(responses.clone(), split), &settings)
    };
    purified(items, |anchors| {
        let freed: Vec<usize> = (0..items).filter(|&item| !anchors[item]).collect();
        let fitted = fit(&freed)?;
        let test = |&item: &usize| match freed.iter().position(|&free| free == item) {
            // Free already: put it back, and see what that loses.
            Some(at) => {
                let rest = [&freed[..at], &freed[at + 1..]].concat();
                Ok(compare(item, items + at, &fit(&rest)?, &fitted))
            }
            None => {
                let more = [&freed[..], &[item]].concat();
                Ok(compare(item, items + freed.len(), &fitted, &fit(&more)?))
            }
        };
        both.iter().map(test).collect()
    })
}

fn answered_by_both(responses: &Responses, focal: &[bool], item: usize) -> bool {
    let asked = |group: bool| {
        let mut rows = responses.persons().iter().zip(focal);
        rows.any(|(row, focal)| *focal == group && row.iter().any(|a| a.0 == item))
    };
    asked(false) && asked(true)
}

fn compare(item: usize, own: usize, tied: &Marginal, free: &Marginal) -> ItemDif {
    let statistic = (2.0 * (free.log_likelihood - tied.log_likelihood)).max(0.0);
    let freedom = free.parameters.saturating_sub(tied.parameters).max(1);
    let (reference, focal) = (&free.items[item], &free.items[own]);
    let log_odds = reference.slope * (focal.difficulty() - reference.difficulty());
    let p = chi_squared_upper(statistic, freedom as f64);
    // The error that a test of one degree of freedom with this p would have had.
    let z = if p > 0.0 {
        -normal_quantile(0.5 * p)
    } else {
        statistic.sqrt()
    };
    ItemDif::new(item, log_odds, log_odds.abs() / z.max(1e-3), p)
}
