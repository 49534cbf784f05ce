//! Two models on the same items: the difference of their mean scores, with a p-value that is below 0.05
//! exactly where the 95 % interval leaves 0 out.
//!
//! Yes/no verdicts on independent items: profile likelihood and McNemar's mid-p. All others: CR2 and
//! Student's t with Satterthwaite's degrees of freedom, or `few_differ` where hardly a unit tells the two
//! apart. Below [`FEWEST`] independent units nothing is claimed.

use serde::Serialize;

use crate::distributions::{t_of, t_two_sided};
use crate::likelihood::PairedLikelihood;
use crate::paired::{PairedCounts, mcnemar, permutation};
use crate::{Interval, LEVEL, Moments, StatsError, input, likelihood};

/// Independent units below which nothing is claimed: five that all favour one side give 1/16 in a sign-flip
/// test.
pub const FEWEST: usize = 5;

/// Units that must differ before a sign-flip test can reach 0.05: five that all favour one side give 1/16.
pub const FEWEST_DIFFERING: usize = 6;

/// What a p-value must stay below for a claim at [`LEVEL`].
const ALPHA: f64 = 0.05;

/// A variance below this is rounding.
const VANISHING: f64 = 1e-18;

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
    /// Mean score of the first model.
    pub first: f64,
    /// Mean score of the second model.
    pub second: f64,
    /// Mean of the first less mean of the second.
    pub value: f64,
    /// Bounds of the difference; absent where none can be given.
    pub bounds: Option<(f64, f64)>,
    /// Two-sided p-value of no difference, uncorrected.
    pub p: Option<f64>,
    /// Whether so few units differ that no p-value below 0.05 was possible.
    pub too_few_differ: bool,
    /// How bounds and p-value were made, or why there are none.
    pub method: String,
    /// The four cells, where all scores are 0 or 1.
    pub counts: Option<PairedCounts>,
}

/// Bounds, p-value, whether too few differ, method.
type Found = (Option<(f64, f64)>, f64, bool, &'static str);

/// Compares two models on the same items. `clusters` holds one id for each item; items that share one
/// (orders of a question, trials of an item, one item under several pairs of models) are one unit.
///
/// ```
/// use mary_stats::difference::{ScoreRange, compare};
///
/// // The second model misses nine of the items that the first has right, and never the other way round.
/// let first = [1.0; 20];
/// let second = [[0.0; 9].as_slice(), &[1.0; 11]].concat();
/// let found = compare(&first, &second, None, ScoreRange::Unit)?;
/// assert!((found.value - 0.45).abs() < 1e-12);
/// assert!(found.p.unwrap() < 0.05 && found.bounds.unwrap().0 > 0.0);
/// // Were they nine orders of one question, they would be one unit, and nothing could be claimed.
/// let clusters = [vec![0; 9], (1..12).collect()].concat();
/// let found = compare(&first, &second, Some(&clusters), ScoreRange::Unit)?;
/// assert!(found.p.unwrap() > 0.05 && found.too_few_differ);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn compare(
    first: &[f64],
    second: &[f64],
    clusters: Option<&[usize]>,
    range: ScoreRange,
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
        too_few_differ: false,
        method: format!("none below {FEWEST} independent items"),
        counts,
    };
    if units < FEWEST {
        return Ok(found);
    }
    let (bounds, p, too_few_differ, method) = match (&counts, clusters, range) {
        (Some(counts), None, _) => yes_no(counts)?,
        (_, _, ScoreRange::Unit) => shares(&differences, clusters)?,
        (_, _, ScoreRange::Unbounded) => numbers(&differences, clusters)?,
    };
    found.bounds = bounds;
    found.p = Some(p);
    found.too_few_differ = too_few_differ;
    found.method = method.to_owned();
    Ok(found)
}

/// The mean of paired differences of shares, one for each independent unit; bounds from [`FEWEST`] units on.
pub fn over_units(differences: &[f64]) -> Result<(f64, Option<Interval>), StatsError> {
    input::values("mean of paired differences", differences, 1)?;
    let value = input::mean(differences);
    if differences.len() < FEWEST {
        return Ok((value, None));
    }
    let (bounds, _, _, method) = shares(differences, None)?;
    let bounds =
        bounds.map(|(low, high)| Interval::new(value, (low, high), differences.len(), method));
    Ok((value, bounds))
}

/// Yes/no verdicts on independent items. The likelihood leaves 0 out a little before McNemar's mid-p does
/// (three items to none); the interval then reaches to 0.
fn yes_no(counts: &PairedCounts) -> Result<Found, StatsError> {
    let interval = likelihood::difference_paired(counts, LEVEL)?;
    let test = |first, second| mcnemar(first, second).mid_p;
    let mut p = test(counts.only_first, counts.only_second);
    if interval.contains(0.0) {
        // Mid-p never said more than the likelihood in any table tried; agreement does not rest on that.
        p = p.max(ALPHA);
    }
    Ok((
        Some(reaching_zero((interval.low, interval.high), p)),
        p,
        test(counts.only_first + counts.only_second, 0) >= ALPHA,
        "profile likelihood, McNemar mid-p",
    ))
}

/// Bounds that hold 0 where the test does not reject it.
fn reaching_zero((low, high): (f64, f64), p: f64) -> (f64, f64) {
    if p < ALPHA {
        (low, high)
    } else {
        (low.min(0.0), high.max(0.0))
    }
}

/// Mean, squared standard error (CR2) and degrees of freedom (Satterthwaite).
fn robust(differences: &[f64], clusters: Option<&[usize]>) -> Result<(f64, f64, f64), StatsError> {
    let moments = Moments::of("paired difference", differences, clusters)?;
    let too_few = StatsError::too_few("paired difference", 2, 1);
    let (variance, freedom) = moments.error().ok_or(too_few)?;
    Ok((input::mean(differences), variance, freedom))
}

/// Numbers without bounds: nothing to go by where they do not vary but that all have one sign.
fn numbers(differences: &[f64], clusters: Option<&[usize]>) -> Result<Found, StatsError> {
    let (value, variance, freedom) = robust(differences, clusters)?;
    if variance <= VANISHING {
        let units = differing(differences, clusters).0;
        let p = 0.5_f64.powi(units.max(1) as i32 - 1);
        return Ok((None, p, false, "no interval without spread, sign-flip test"));
    }
    let half = t_of(LEVEL, freedom) * variance.sqrt();
    let p = t_two_sided(value / variance.sqrt(), freedom);
    Ok((
        Some((value - half, value + half)),
        p,
        false,
        named(clusters),
    ))
}

fn named(clusters: Option<&[usize]>) -> &'static str {
    match clusters {
        None => "Student's t",
        Some(_) => "CR2, Student's t with Satterthwaite's degrees of freedom",
    }
}

/// Differences of shares, each from −1 to 1.
fn shares(differences: &[f64], clusters: Option<&[usize]>) -> Result<Found, StatsError> {
    let why = "a difference of two shares lies between -1 and 1";
    let beyond = differences.iter().any(|d| d.abs() > 1.0 + 1e-9);
    input::refuse(beyond, "paired difference", why)?;
    let (value, variance, freedom) = robust(differences, clusters)?;
    let (differing, units) = differing(differences, clusters);
    let few = differing < FEWEST_DIFFERING && differing < units;
    if few || variance <= VANISHING {
        return few_differ(differences, clusters, (value, variance, freedom));
    }
    let half = t_of(LEVEL, freedom) * variance.sqrt();
    let bounds = ((value - half).max(-1.0), (value + half).min(1.0));
    let p = t_two_sided(value / variance.sqrt(), freedom);
    Ok((Some(bounds), p, false, named(clusters)))
}

/// Shares of which hardly a unit tells the two apart: a standard error is then far too small. The bounds are
/// those of the likelihood at the number of items that the standard error is worth (else of units), with
/// Student's quantile; the test flips the signs of the units that differ.
fn few_differ(
    differences: &[f64],
    clusters: Option<&[usize]>,
    (value, variance, freedom): (f64, f64, f64),
) -> Result<Found, StatsError> {
    let (differing, units) = differing(differences, clusters);
    let n = differences.len() as f64;
    let sum = |sign: f64| {
        let part = differences.iter().map(|d| (sign * d).max(0.0));
        part.sum::<f64>() / n
    };
    let (only_first, only_second) = (sum(1.0), sum(-1.0));
    // At most this much can one item vary, whose difference is one of −1, 0 and 1.
    let most = only_first + only_second - value * value;
    let varies = variance > VANISHING && most > VANISHING;
    let worth = if varies {
        most / variance
    } else {
        units as f64
    };
    let likely = PairedLikelihood::new(only_first * worth, only_second * worth, worth);
    let mut p = t_two_sided(likely.distance_from_zero(), freedom);
    let few = differing < FEWEST_DIFFERING;
    if few {
        p = p.max(permutation(differences, clusters, 0, 0)?.p);
    }
    let bounds = likely.bounds(t_of(LEVEL, freedom));
    let method = if few {
        "profile likelihood, sign-flip test (fewer than six units differ, so nothing can be claimed at 95 %)"
    } else {
        "profile likelihood"
    };
    Ok((Some(reaching_zero(bounds, p)), p, few, method))
}

/// How many units hold an item on which the two differ, and how many units there are.
fn differing(differences: &[f64], clusters: Option<&[usize]>) -> (usize, usize) {
    match clusters {
        None => (
            differences.iter().filter(|d| **d != 0.0).count(),
            differences.len(),
        ),
        Some(ids) => {
            let mut units = std::collections::BTreeMap::<usize, bool>::new();
            for (&d, &id) in differences.iter().zip(ids) {
                *units.entry(id).or_default() |= d != 0.0;
            }
            (units.values().filter(|d| **d).count(), units.len())
        }
    }
}
