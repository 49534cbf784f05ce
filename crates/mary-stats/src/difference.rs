//! Two models on the same items: the difference of their mean scores, with an interval that holds for
//! few items and where no item tells the two apart.
//!
//! Yes/no verdicts on independent items: profile likelihood and McNemar's mid-p. Other shares (ties,
//! rubrics, several trials, items in clusters): Bonett and Price's adjusted interval (2012) carried
//! over to clusters, and the sign-flipping permutation test. Scores without bounds: Student's t.
//! Below [`FEWEST`] independent units nothing is claimed.

use serde::Serialize;

use crate::distributions::t_of;
use crate::intervals::{mean_clustered_t, mean_t};
use crate::paired::{PairedCounts, mcnemar, permutation};
use crate::{Interval, LEVEL, StatsError, input, likelihood};

/// Independent units (items, or clusters of them) below which there is neither interval nor p-value: of
/// five units all of which favour one side the permutation test gives 1/16, and no method that holds
/// says more.
pub const FEWEST: usize = 5;

/// Sign patterns drawn where a permutation test cannot go through all.
const DRAWS: usize = 10_000;

/// What values a score can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreRange {
    /// From 0 to 1: shares, verdicts, ties.
    Unit,
    /// Any number: correlations, explained variance.
    Unbounded,
}

/// The difference of two mean scores on the same items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Items scored on both sides.
    pub n: usize,
    /// Independent units among them: clusters where items are clustered.
    pub units: usize,
    /// Mean of the first.
    pub first: f64,
    /// Mean of the second.
    pub second: f64,
    /// First minus second.
    pub value: f64,
    /// Bounds of the difference; absent where none can be given.
    pub bounds: Option<(f64, f64)>,
    /// Two-sided p-value of no difference, uncorrected.
    pub p: Option<f64>,
    /// How bounds and p-value were made, or why there are none.
    pub method: String,
    /// The four cells, where all scores are 0 or 1.
    pub counts: Option<PairedCounts>,
}

/// Compares two models on the same items. `clusters` holds one id for each item; items that share one
/// (orders of a question, trials of an item, one item under several pairs of models) are one unit.
pub fn compare(
    first: &[f64],
    second: &[f64],
    clusters: Option<&[usize]>,
    range: ScoreRange,
    seed: u64,
) -> Result<Difference, StatsError> {
    input::pairs("paired difference", first, second, 1)?;
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let units = match clusters {
        None => differences.len(),
        Some(ids) => {
            input::same_length("paired difference", differences.len(), ids.len())?;
            let mut distinct = ids.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            distinct.len()
        }
    };
    // Clusters of one item each are no clusters.
    let clusters = clusters.filter(|ids| units < ids.len());
    let counts = PairedCounts::from_scores(first, second);
    let mut found = Difference {
        n: differences.len(),
        units,
        first: input::mean(first),
        second: input::mean(second),
        value: input::mean(&differences),
        bounds: None,
        p: None,
        method: format!("none below {FEWEST} independent items"),
        counts,
    };
    if units < FEWEST {
        return Ok(found);
    }
    if let (Some(counts), None) = (&counts, clusters) {
        let interval = likelihood::difference_paired(counts, LEVEL)?;
        found.bounds = Some((interval.low, interval.high));
        found.p = Some(mcnemar(counts.only_first, counts.only_second).mid_p);
        found.method = "profile likelihood, McNemar mid-p".into();
        return Ok(found);
    }
    let interval = match (range, clusters) {
        (ScoreRange::Unit, clusters) => Some(adjusted(&differences, clusters, LEVEL)?),
        (ScoreRange::Unbounded, Some(ids)) => mean_clustered_t(&differences, ids, LEVEL).ok(),
        (ScoreRange::Unbounded, None) => mean_t(&differences, LEVEL).ok(),
    };
    // Without bounds and without spread there is nothing to go by.
    let interval = interval.filter(|i| i.low < i.high);
    found.bounds = interval.map(|i| (i.low, i.high));
    found.p = Some(permutation(&differences, clusters, DRAWS, seed)?.p);
    let made = interval.map_or("no interval without spread", |i| i.method);
    found.method = format!("{made}, permutation");
    Ok(found)
}

/// The mean of paired differences of shares, one for each independent unit (a concept, a task): bounds
/// from [`FEWEST`] units on, none below.
pub fn over_units(differences: &[f64]) -> Result<(f64, Option<Interval>), StatsError> {
    input::values("mean of paired differences", differences, 1)?;
    let bounds = if differences.len() < FEWEST {
        None
    } else {
        Some(adjusted(differences, None, LEVEL)?)
    };
    Ok((input::mean(differences), bounds))
}

/// Bounds of the mean of paired differences of shares (each from −1 to 1), clustered where ids are
/// given.
///
/// Bonett and Price (2012) add one item that only the first has right and one that only the second
/// has, and take the usual interval of the mean. Here the two are clusters of mean size, the error is
/// robust to clustering, and the quantile is Student's. So the interval has a width where no item tells
/// the two apart, and narrows with the number of units, not of items. It covers 94 to 100 % from five
/// units on (`tests/difference.rs`), more than its name where differences are rare.
pub fn adjusted(
    differences: &[f64],
    clusters: Option<&[usize]>,
    level: f64,
) -> Result<Interval, StatsError> {
    const WHAT: &str = "adjusted interval of paired differences";
    input::values(WHAT, differences, 1)?;
    input::open_unit(WHAT, level)?;
    if differences.iter().any(|d| d.abs() > 1.0 + 1e-9) {
        return Err(StatsError::Degenerate {
            what: WHAT,
            why: "a difference of two shares lies between -1 and 1",
        });
    }
    // Sum and number of each unit.
    let mut units: Vec<(f64, f64)> = match clusters {
        None => differences.iter().map(|d| (*d, 1.0)).collect(),
        Some(ids) => {
            input::same_length(WHAT, differences.len(), ids.len())?;
            let mut sums = std::collections::BTreeMap::<usize, (f64, f64)>::new();
            for (&d, &id) in differences.iter().zip(ids) {
                let unit = sums.entry(id).or_default();
                unit.0 += d;
                unit.1 += 1.0;
            }
            sums.into_values().collect()
        }
    };
    let size = differences.len() as f64 / units.len() as f64;
    units.extend([(size, size), (-size, size)]);
    let total: f64 = units.iter().map(|u| u.1).sum();
    let centre = units.iter().map(|u| u.0).sum::<f64>() / total;
    let g = units.len() as f64;
    let squares: f64 = units
        .iter()
        .map(|(sum, n)| (sum - centre * n).powi(2))
        .sum();
    let error = (squares * g / (g - 1.0)).sqrt() / total;
    let half = t_of(level, g - 1.0) * error;
    let value = input::mean(differences);
    Ok(Interval {
        value,
        low: (centre - half).clamp(-1.0, value),
        high: (centre + half).clamp(value, 1.0),
        n: differences.len(),
        method: if clusters.is_some() {
            "Bonett-Price, clustered"
        } else {
            "Bonett-Price"
        },
    })
}
