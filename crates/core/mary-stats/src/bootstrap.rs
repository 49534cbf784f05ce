//! Bootstrap intervals: percentile and BCa, over single items or whole clusters, from a seed.
//!
//! Percentile intervals are too short for small samples; by default the tails are widened to what Student's t
//! would ask (Hesterberg 2015, "expanded percentile").

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::distributions::{normal_cdf, normal_quantile, t_of};
use crate::{Interval, LEVEL, StatsError, input};

/// How a bootstrap is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// How often the sample is drawn anew.
    pub resamples: usize,
    /// Decides every draw.
    pub seed: u64,
    /// Level of the interval, 0.95 unless said otherwise.
    pub level: f64,
    /// Whether the tails are widened for small samples.
    pub expand: bool,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            resamples: 2_000,
            seed: 0,
            level: LEVEL,
            expand: true,
        }
    }
}

/// What is drawn with replacement: single items, or clusters of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Units {
    members: Vec<Vec<usize>>,
    items: usize,
}

impl Units {
    /// Every one of `n` items by itself.
    pub fn singles(n: usize) -> Self {
        Self {
            members: (0..n).map(|i| vec![i]).collect(),
            items: n,
        }
    }

    /// Items with the same id are drawn together.
    pub fn clusters(ids: &[usize]) -> Self {
        let mut groups = std::collections::BTreeMap::<usize, Vec<usize>>::new();
        for (index, &id) in ids.iter().enumerate() {
            groups.entry(id).or_default().push(index);
        }
        Self {
            members: groups.into_values().collect(),
            items: ids.len(),
        }
    }

    /// How many units can be drawn.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn draw(&self, rng: &mut ChaCha8Rng, into: &mut Vec<usize>) {
        into.clear();
        for _ in 0..self.members.len() {
            if let Some(unit) = self.members.get(rng.random_range(0..self.members.len())) {
                into.extend_from_slice(unit);
            }
        }
    }

    fn without(&self, left_out: usize, into: &mut Vec<usize>) {
        into.clear();
        for (unit, members) in self.members.iter().enumerate() {
            if unit != left_out {
                into.extend_from_slice(members);
            }
        }
    }
}

/// The statistic on `resamples` draws, sorted; undefined on more than one draw in ten is an error.
pub fn replicates(
    units: &Units,
    statistic: impl Fn(&[usize]) -> f64,
    settings: &Bootstrap,
) -> Result<Vec<f64>, StatsError> {
    const WHAT: &str = "bootstrap";
    if units.len() < 2 {
        return Err(StatsError::too_few(WHAT, 2, units.len()));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut drawn = Vec::with_capacity(units.items);
    let mut values = Vec::with_capacity(settings.resamples);
    for _ in 0..settings.resamples {
        units.draw(&mut rng, &mut drawn);
        let value = statistic(&drawn);
        if value.is_finite() {
            values.push(value);
        }
    }
    if values.len() < 20 || values.len() * 10 < settings.resamples * 9 {
        return Err(StatsError::degenerate(
            WHAT,
            "the statistic is undefined on more than one draw in ten (or there were fewer than 20 draws); use more items or more resamples",
        ));
    }
    values.sort_by(f64::total_cmp);
    if values.first() == values.last() {
        return Err(StatsError::degenerate(
            WHAT,
            "every draw gives the same value, so a bootstrap cannot see the uncertainty; use the Wilson or exact interval",
        ));
    }
    Ok(values)
}

/// Percentile interval of any statistic of the drawn indices.
pub fn percentile(
    units: &Units,
    statistic: impl Fn(&[usize]) -> f64,
    settings: &Bootstrap,
) -> Result<Interval, StatsError> {
    input::open_unit("bootstrap", settings.level)?;
    let all: Vec<usize> = (0..units.items).collect();
    let value = statistic(&all);
    let sorted = replicates(units, &statistic, settings)?;
    let tail = tail_of(units.len(), settings);
    Ok(Interval::new(
        value,
        (
            quantile_sorted(&sorted, tail),
            quantile_sorted(&sorted, 1.0 - tail),
        ),
        units.items,
        "bootstrap-percentile",
    ))
}

/// Bias-corrected and accelerated interval (Efron 1987) of any statistic of the drawn indices.
pub fn bca(
    units: &Units,
    statistic: impl Fn(&[usize]) -> f64,
    settings: &Bootstrap,
) -> Result<Interval, StatsError> {
    input::open_unit("bootstrap", settings.level)?;
    let all: Vec<usize> = (0..units.items).collect();
    let value = statistic(&all);
    let sorted = replicates(units, &statistic, settings)?;
    let bias = normal_quantile(share_below(&sorted, value));
    if !bias.is_finite() {
        return Err(StatsError::degenerate(
            "bootstrap BCa",
            "the estimate lies outside all of its resamples; use the percentile interval",
        ));
    }
    let acceleration = acceleration(units, &statistic)?;
    let tail = tail_of(units.len(), settings);
    let adjusted = |p: f64| {
        let z = bias + normal_quantile(p);
        normal_cdf(bias + z / (1.0 - acceleration * z))
    };
    Ok(Interval::new(
        value,
        (
            quantile_sorted(&sorted, adjusted(tail)),
            quantile_sorted(&sorted, adjusted(1.0 - tail)),
        ),
        units.items,
        "bootstrap-bca",
    ))
}

/// Percentile interval of a mean, clustered where ids are given.
pub fn mean_percentile(
    values: &[f64],
    clusters: Option<&[usize]>,
    settings: &Bootstrap,
) -> Result<Interval, StatsError> {
    let units = units_of(values, clusters)?;
    percentile(&units, |drawn| mean_at(values, drawn), settings)
}

/// BCa interval of a mean, clustered where ids are given.
///
/// ```
/// use mary_stats::bootstrap::{Bootstrap, mean_bca};
///
/// let values = [0.1, 0.4, 0.2, 0.9, 0.3, 0.5, 0.7, 0.2];
/// let settings = Bootstrap { resamples: 500, ..Bootstrap::default() };
/// let interval = mean_bca(&values, None, &settings)?;
/// assert!(interval.contains(interval.value));
/// assert_eq!(mean_bca(&values, None, &settings)?, interval, "the seed decides every draw");
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn mean_bca(
    values: &[f64],
    clusters: Option<&[usize]>,
    settings: &Bootstrap,
) -> Result<Interval, StatsError> {
    let units = units_of(values, clusters)?;
    bca(&units, |drawn| mean_at(values, drawn), settings)
}

pub(crate) fn units_of(values: &[f64], clusters: Option<&[usize]>) -> Result<Units, StatsError> {
    input::values("bootstrap", values, 2)?;
    match clusters {
        None => Ok(Units::singles(values.len())),
        Some(ids) => {
            input::same_length("bootstrap", values.len(), ids.len())?;
            Ok(Units::clusters(ids))
        }
    }
}

pub(crate) fn mean_at(values: &[f64], drawn: &[usize]) -> f64 {
    let sum: f64 = drawn.iter().filter_map(|&i| values.get(i)).sum();
    sum / drawn.len() as f64
}

fn tail_of(units: usize, settings: &Bootstrap) -> f64 {
    if !settings.expand {
        return 0.5 * (1.0 - settings.level);
    }
    let u = units as f64;
    normal_cdf(-(u / (u - 1.0)).sqrt() * t_of(settings.level, u - 1.0))
}

fn acceleration(units: &Units, statistic: impl Fn(&[usize]) -> f64) -> Result<f64, StatsError> {
    let mut kept = Vec::with_capacity(units.items);
    let jackknife: Vec<f64> = (0..units.len())
        .map(|unit| {
            units.without(unit, &mut kept);
            statistic(&kept)
        })
        .collect();
    input::values("bootstrap BCa (jackknife)", &jackknife, 2)?;
    let centre = input::mean(&jackknife);
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in &jackknife {
        let d = centre - value;
        squares += d * d;
        cubes += d * d * d;
    }
    Ok(if squares > 0.0 {
        cubes / (6.0 * squares.powf(1.5))
    } else {
        0.0
    })
}

/// Share of the sorted values below `value`, those equal to it counting one half.
fn share_below(sorted: &[f64], value: f64) -> f64 {
    let below = sorted.partition_point(|&v| v < value);
    let upto = sorted.partition_point(|&v| v <= value);
    0.5 * (below + upto) as f64 / sorted.len() as f64
}

/// Quantile of sorted values with linear interpolation (type 7, the default of numpy and R).
pub fn quantile_sorted(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let at = |i: usize| sorted.get(i.min(last)).copied().unwrap_or(f64::NAN);
    let (a, b) = (at(below), at(below + 1));
    a + (b - a) * (position - below as f64)
}
