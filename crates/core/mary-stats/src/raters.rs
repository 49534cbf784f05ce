//! How far several people agree: the share of pairs, Fleiss' kappa and Krippendorff's alpha.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bootstrap::{Bootstrap, Units, percentile};
use crate::intervals::mean_bounded;
use crate::{Interval, LEVEL, StatsError, input};

/// What the labels of a rating mean to [`krippendorff_alpha`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Names: two labels are the same or not.
    Nominal,
    /// Ranks: labels in between count.
    Ordinal,
    /// Numbers: the squared difference counts.
    Interval,
}

/// Krippendorff's alpha; each inner list holds the values of one item. Those with fewer than two are left
/// out.
pub fn krippendorff_alpha(items: &[Vec<f64>], level: Level) -> Result<f64, StatsError> {
    const WHAT: &str = "Krippendorff's alpha";
    if let Some(value) = items.iter().flatten().find(|v| !v.is_finite()) {
        return Err(StatsError::not_finite(WHAT, 0, *value));
    }
    let all: Vec<&Vec<f64>> = items.iter().collect();
    alpha(&all, level)
}

/// The same with a 95 % interval: items are drawn again, from a seed.
pub fn krippendorff_interval(
    items: &[Vec<f64>],
    level: Level,
    seed: u64,
) -> Result<Interval, StatsError> {
    krippendorff_alpha(items, level)?;
    let statistic = |drawn: &[usize]| {
        let drawn: Vec<&Vec<f64>> = drawn.iter().filter_map(|&i| items.get(i)).collect();
        alpha(&drawn, level).unwrap_or(f64::NAN)
    };
    let settings = Bootstrap {
        resamples: 1_000,
        seed,
        ..Bootstrap::default()
    };
    percentile(&Units::singles(items.len()), statistic, &settings)
}

/// How far people agree, with and without what chance would give.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RaterAgreement {
    /// Share of equal pairs of answers to an item, as a mean over items; nothing where one item was answered
    /// twice.
    pub observed: Option<Interval>,
    /// Krippendorff's alpha; undefined, neither 0 nor 1, where every answer is the same.
    pub alpha: Option<f64>,
    /// Its 95 % interval over items; nothing where drawing items again cannot see the uncertainty (all
    /// agree).
    pub bounds: Option<(f64, f64)>,
    /// Items with two answers or more.
    pub items: usize,
}

impl RaterAgreement {
    /// Of values by item, as in [`krippendorff_alpha`]; nothing where no item has two answers.
    pub fn of(items: &[Vec<f64>], level: Level, seed: u64) -> Option<Self> {
        let paired: Vec<Vec<f64>> = items.iter().filter(|v| v.len() > 1).cloned().collect();
        if paired.is_empty() || paired.iter().flatten().any(|v| !v.is_finite()) {
            return None;
        }
        let shares: Vec<f64> = paired.iter().map(|values| alike(values)).collect();
        let interval = krippendorff_interval(&paired, level, seed).ok();
        Some(Self {
            observed: mean_bounded(&shares, LEVEL).ok(),
            alpha: krippendorff_alpha(&paired, level).ok(),
            bounds: interval.map(|i| (i.low, i.high)),
            items: paired.len(),
        })
    }

    /// Whether every answer to every item is the same, so that nothing can be said beyond chance.
    pub fn undefined(&self) -> bool {
        self.alpha.is_none()
    }
}

/// Share of pairs of values that are the same.
fn alike(values: &[f64]) -> f64 {
    let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
    for value in values {
        // The two zeros are one number.
        *counts.entry((value + 0.0).to_bits()).or_default() += 1.0;
    }
    let n = values.len() as f64;
    let pairs: f64 = counts.values().map(|c| c * (c - 1.0)).sum();
    pairs / (n * (n - 1.0))
}

fn alpha(items: &[&Vec<f64>], level: Level) -> Result<f64, StatsError> {
    const WHAT: &str = "Krippendorff's alpha";
    let paired: Vec<&&Vec<f64>> = items.iter().filter(|values| values.len() > 1).collect();
    let mut labels: Vec<f64> = paired.iter().flat_map(|v| v.iter().copied()).collect();
    labels.sort_by(f64::total_cmp);
    labels.dedup();
    input::at_least(WHAT, 1, paired.len())?;
    let why = "all answers are the same, so agreement beyond chance is undefined";
    input::refuse(labels.len() < 2, WHAT, why)?;
    let k = labels.len();
    let place = |value: f64| labels.partition_point(|l| *l < value);
    let mut together = vec![0.0; k * k];
    for values in &paired {
        let mut counts = vec![0.0; k];
        for value in values.iter() {
            counts[place(*value)] += 1.0;
        }
        let others = values.len() as f64 - 1.0;
        for (a, &na) in counts.iter().enumerate() {
            for (b, &nb) in counts.iter().enumerate() {
                let pairs = if a == b { na * (na - 1.0) } else { na * nb };
                together[a * k + b] += pairs / others;
            }
        }
    }
    let total = |a: usize| together[a * k..(a + 1) * k].iter().sum();
    let totals: Vec<f64> = (0..k).map(total).collect();
    let n: f64 = totals.iter().sum();
    let apart = |a: usize, b: usize| distance(&labels, &totals, a, b, level);
    let (mut observed, mut expected) = (0.0, 0.0);
    for a in 0..k {
        for b in 0..k {
            let d = apart(a, b);
            observed += together[a * k + b] * d;
            expected += totals[a] * totals[b] * d;
        }
    }
    Ok(1.0 - (n - 1.0) * observed / expected)
}

fn distance(labels: &[f64], totals: &[f64], a: usize, b: usize, level: Level) -> f64 {
    if a == b {
        return 0.0;
    }
    match level {
        Level::Nominal => 1.0,
        Level::Interval => (labels[a] - labels[b]).powi(2),
        Level::Ordinal => {
            let (low, high) = (a.min(b), a.max(b));
            let between: f64 = totals[low..=high].iter().sum();
            (between - 0.5 * (totals[a] + totals[b])).powi(2)
        }
    }
}

/// Fleiss' kappa: every item was labelled by equally many people, not always the same.
pub fn fleiss_kappa<L: Ord>(items: &[Vec<L>]) -> Result<f64, StatsError> {
    const WHAT: &str = "Fleiss' kappa";
    let raters = items.first().map_or(0, Vec::len);
    input::at_least(WHAT, 2, raters.min(items.len()))?;
    let (mut observed, mut totals) = (0.0, BTreeMap::<&L, f64>::new());
    let r = raters as f64;
    for labels in items {
        input::same_length(WHAT, raters, labels.len())?;
        let mut counts = BTreeMap::<&L, f64>::new();
        for label in labels {
            *counts.entry(label).or_default() += 1.0;
            *totals.entry(label).or_default() += 1.0;
        }
        let squares: f64 = counts.values().map(|c| c * c).sum();
        observed += (squares - r) / (r * (r - 1.0));
    }
    let n = items.len() as f64;
    let expected: f64 = totals.values().map(|t| (t / (n * r)).powi(2)).sum();
    let why = "all labels are the same, so agreement beyond chance is undefined";
    input::refuse(1.0 - expected < 1e-12, WHAT, why)?;
    Ok((observed / n - expected) / (1.0 - expected))
}
