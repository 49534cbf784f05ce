//! Bootstrap intervals by percentiles, over single items or whole clusters, from a seed.
//!
//! Percentile intervals are too short for small samples; by default the tails are widened to what Student's t
//! would ask (Hesterberg 2015, "expanded percentile").

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::distributions::{normal_cdf, t_of};
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
}

/// The statistic on `resamples` draws, sorted; undefined on more than one draw in ten is an error.
pub fn replicates(
    units: &Units,
    statistic: impl Fn(&[usize]) -> f64,
    settings: &Bootstrap,
) -> Result<Vec<f64>, StatsError> {
    const WHAT: &str = "bootstrap";
    input::at_least(WHAT, 2, units.len())?;
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
    let why = "the statistic is undefined on more than one draw in ten (or there were fewer than 20 draws); use more items or more resamples";
    let few = values.len() < 20 || values.len() * 10 < settings.resamples * 9;
    input::refuse(few, WHAT, why)?;
    values.sort_by(f64::total_cmp);
    let why = "every draw gives the same value, so a bootstrap cannot see the uncertainty; use the Wilson or exact interval";
    input::refuse(values.first() == values.last(), WHAT, why)?;
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
    let bounds = [tail, 1.0 - tail].map(|p| quantile_sorted(&sorted, p));
    let how = "bootstrap-percentile";
    Ok(Interval::new(value, bounds.into(), units.items, how))
}

fn tail_of(units: usize, settings: &Bootstrap) -> f64 {
    if !settings.expand {
        return 0.5 * (1.0 - settings.level);
    }
    let u = units as f64;
    normal_cdf(-(u / (u - 1.0)).sqrt() * t_of(settings.level, u - 1.0))
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
