//! A running account of scores that needs no list of them. Sums are in fixed point (steps of 2^-50), so that
//! the order of arrival and merging changes no byte.

use std::collections::BTreeMap;

use crate::against::{self, Tail};
use crate::distributions::{t_of, z_of};
use crate::intervals::{Interval, LEVEL, wilson_bounds};
use crate::{StatsError, input};

const SCALE: f64 = (1u64 << 50) as f64;
/// Larger scores would overflow the sum of squares after some hundred million items.
const LARGEST: f64 = 16_777_216.0;

/// Below this many yes/no verdicts the interval is exact: Wilson's covers 87.5 % of the worst shares at four.
pub const FEW_ITEMS: u64 = 10;

/// Means nearer to an end of the scale than this may owe it to families that were not drawn.
const NEAR_END: f64 = 0.2;
/// Up to this many families on the other side of the middle, their share is not known from a variance.
const FEW_FAMILIES: usize = 2;

/// A variance below this is rounding.
const VANISHING: f64 = 1e-18;

/// Count, sum, sum of squares and per-cluster sums of a stream of scores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moments {
    n: u64,
    sum: i128,
    squares: i128,
    zeros: u64,
    ones: u64,
    halves: u64,
    outside: u64,
    clusters: BTreeMap<usize, Cluster>,
}

/// How mean and interval go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Exact,
    Wilson,
    Bounded,
    Student,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Cluster {
    n: u64,
    sum: i128,
}

impl Moments {
    /// An account that holds no score yet.
    ///
    /// ```
    /// use mary_stats::Moments;
    ///
    /// let (mut here, mut there) = (Moments::new(), Moments::new());
    /// here.push(1.0)?;
    /// there.push(0.5)?;
    /// here.merge(&there);
    /// assert_eq!((here.n(), here.ties(), here.mean()), (2, 1, Some(0.75)));
    /// # Ok::<(), mary_stats::StatsError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The account of these scores, clustered where ids are given.
    pub(crate) fn of(
        what: &'static str,
        scores: &[f64],
        clusters: Option<&[usize]>,
    ) -> Result<Self, StatsError> {
        let mut moments = Self::new();
        match clusters {
            None => scores.iter().try_for_each(|&score| moments.push(score))?,
            Some(ids) => {
                input::same_length(what, scores.len(), ids.len())?;
                let mut pairs = scores.iter().zip(ids);
                pairs.try_for_each(|(&score, &id)| moments.push_clustered(score, id))?;
            }
        }
        Ok(moments)
    }

    /// Adds a score that stands for itself; mixing with [`push_clustered`](Self::push_clustered) makes
    /// [`interval`](Self::interval) an error.
    pub fn push(&mut self, score: f64) -> Result<(), StatsError> {
        if !score.is_finite() {
            return Err(StatsError::not_finite("mean score", self.n as usize, score));
        }
        let expected = "a score between -16777216 and 16777216";
        input::each("mean score", expected, &[score], |s| s.abs() <= LARGEST)?;
        self.n += 1;
        self.sum += fixed(score);
        self.squares += fixed(score * score);
        if score == 0.0 {
            self.zeros += 1;
        } else if score == 1.0 {
            self.ones += 1;
        } else if score == 0.5 {
            self.halves += 1;
        } else if !(0.0..=1.0).contains(&score) {
            self.outside += 1;
        }
        Ok(())
    }

    /// Adds a score of the cluster `id` (items that share a template or a question).
    pub fn push_clustered(&mut self, score: f64, id: usize) -> Result<(), StatsError> {
        self.push(score)?;
        let cluster = self.clusters.entry(id).or_default();
        cluster.n += 1;
        cluster.sum += fixed(score);
        Ok(())
    }

    /// Adds everything another account holds.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.squares += other.squares;
        self.zeros += other.zeros;
        self.ones += other.ones;
        self.halves += other.halves;
        self.outside += other.outside;
        for (&id, part) in &other.clusters {
            let cluster = self.clusters.entry(id).or_default();
            cluster.n += part.n;
            cluster.sum += part.sum;
        }
    }

    /// How many scores were added.
    pub fn n(&self) -> usize {
        self.n as usize
    }

    /// How many scores were exactly one half: the ties of a paired comparison.
    pub fn ties(&self) -> usize {
        self.halves as usize
    }

    /// How many clusters; 0 when the scores stand for themselves.
    pub fn clusters(&self) -> usize {
        self.clusters.len()
    }

    /// Mean score, where there is one.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum as f64 / SCALE / self.n as f64)
    }

    /// Variance of the scores with `n - 1`, where there are two.
    pub fn variance(&self) -> Option<f64> {
        if self.n < 2 {
            return None;
        }
        let (n, sum) = (self.n as f64, self.sum as f64 / SCALE);
        let squares = self.squares as f64 / SCALE;
        Some(((squares - sum * sum / n) / (n - 1.0)).max(0.0))
    }

    /// Squared standard error of the mean: cluster-robust (CR1) where clusters were given.
    pub fn variance_of_mean(&self) -> Option<f64> {
        if self.clusters.is_empty() {
            return self.variance().map(|v| v / self.n as f64);
        }
        let groups = self.clusters.len() as f64;
        let (n, mean) = (self.n as f64, self.mean()?);
        if groups < 2.0 {
            return None;
        }
        let clusters = self.clusters.values();
        let away = clusters.map(|c| c.sum as f64 / SCALE - c.n as f64 * mean);
        let between: f64 = away.map(|d| d * d).sum();
        Some(groups / (groups - 1.0) * between / (n * n))
    }

    /// The 95 % interval of the mean, by the same rule as [`crate::score_interval`].
    pub fn interval(&self) -> Result<Interval, StatsError> {
        match self.method() {
            Method::Exact => crate::intervals::exact(self.ones, self.n, LEVEL),
            Method::Wilson => crate::intervals::wilson(self.ones, self.n, LEVEL),
            Method::Bounded => self.bounded(LEVEL),
            Method::Student => self.with_t(LEVEL, self.error()),
        }
    }

    /// Two-sided p-value of `null`: below 0.05 exactly where [`interval`](Self::interval) leaves `null` out.
    pub fn p_value(&self, null: f64) -> Result<f64, StatsError> {
        const WHAT: &str = "p-value of a mean score";
        let mean = self.checked_mean(WHAT)?;
        if !null.is_finite() {
            return Err(StatsError::not_finite(WHAT, 0, null));
        }
        match self.method() {
            Method::Exact => Ok(against::exact(self.ones, self.n, null)),
            Method::Wilson => Ok(against::score(mean, null, self.n as f64, Tail::Normal)),
            Method::Student => {
                let too_few = StatsError::too_few(WHAT, 2, self.n as usize);
                let (variance, freedom) = self.error().ok_or(too_few)?;
                Ok(against::wald(mean - null, variance, freedom))
            }
            Method::Bounded => {
                let (effective, tail) = self.size(mean);
                let p = against::score(mean, null, effective, tail);
                Ok(p.max(self.p_of_unseen_families(mean, null)))
            }
        }
    }

    /// Which method fits the scores.
    fn method(&self) -> Method {
        let independent =
            self.clusters.is_empty() || (self.clusters.len() as u64 == self.n && self.n > 0);
        if self.outside > 0 {
            return Method::Student;
        }
        match independent && self.n > 0 && self.zeros + self.ones == self.n {
            true if self.n < FEW_ITEMS => Method::Exact,
            true => Method::Wilson,
            false => Method::Bounded,
        }
    }

    /// Wilson's interval at the effective sample size; scores must lie between 0 and 1.
    pub fn bounded(&self, level: f64) -> Result<Interval, StatsError> {
        const WHAT: &str = "mean of scores between 0 and 1";
        input::open_unit(WHAT, level)?;
        let mean = self.checked_mean(WHAT)?;
        if self.outside > 0 {
            let found = format!("{} score(s) outside", self.outside);
            return Err(StatsError::domain(WHAT, "scores between 0 and 1", found));
        }
        let (effective, tail) = self.size(mean);
        let method = if self.clusters.is_empty() {
            "wilson-effective"
        } else {
            "clustered-wilson"
        };
        // One unit says nothing about how units differ: anything on the scale is possible.
        let (low, high) = if effective > 0.0 {
            wilson_bounds(mean, effective, tail.quantile(level))
        } else {
            (0.0, 1.0)
        };
        let (low, high) = self.with_unseen_families(mean, level, (low, high));
        let bounds = (low.min(mean), high.max(mean));
        Ok(Interval::new(mean, bounds, self.n as usize, method))
    }

    /// Bounds that allow for families of the other kind that were not drawn.
    ///
    /// Near an end of the scale a mean often hides a rare kind of family (one paradigm in twenty all right):
    /// a draw of 41 holds none of it in one case of eight, and the standard error is then far too small. So
    /// where at most [`FEW_FAMILIES`] lie beyond the middle, the bound towards the middle is at least what
    /// the others' mean and Wilson's bound for the share of such families allow: the rule of three, over
    /// families.
    fn with_unseen_families(&self, mean: f64, level: f64, (low, high): (f64, f64)) -> (f64, f64) {
        let Some((others, beyond, families)) = self.beyond_the_middle(mean) else {
            return (low, high);
        };
        let (_, share) = wilson_bounds(beyond / families, families, z_of(level));
        let bound = others + share * (1.0 - others);
        if mean < NEAR_END {
            (low, high.max(bound))
        } else {
            (low.min(1.0 - bound), high)
        }
    }

    /// The p-value of `null` that those bounds give.
    fn p_of_unseen_families(&self, mean: f64, null: f64) -> f64 {
        let Some((others, beyond, families)) = self.beyond_the_middle(mean) else {
            return 0.0;
        };
        let (mean, null) = if mean < NEAR_END {
            (mean, null)
        } else {
            (1.0 - mean, 1.0 - null)
        };
        if null <= mean {
            return 0.0;
        }
        // The share of families beyond the middle that `null` takes.
        let share = (null - others) / (1.0 - others);
        if share <= beyond / families {
            1.0
        } else {
            against::score(beyond / families, share, families, Tail::Normal)
        }
    }

    /// Where the mean lies near an end and hardly a family beyond the middle: the mean of the others counted
    /// from that end, how many lie beyond, and how many families there are.
    fn beyond_the_middle(&self, mean: f64) -> Option<(f64, f64, f64)> {
        let near_low = mean < NEAR_END;
        if self.clusters.len() < 2 || (!near_low && mean <= 1.0 - NEAR_END) {
            return None;
        }
        let (mut beyond, mut n, mut sum) = (0usize, 0.0, 0.0);
        for cluster in self.clusters.values() {
            let (size, right) = (cluster.n as f64, cluster.sum as f64 / SCALE);
            let far = if near_low {
                right > 0.5 * size
            } else {
                right < 0.5 * size
            };
            if far {
                beyond += 1;
            } else {
                n += size;
                sum += if near_low { right } else { size - right };
            }
        }
        (beyond <= FEW_FAMILIES && n > 0.0).then(|| {
            let families = self.clusters.len() as f64;
            (sum / n, beyond as f64, families)
        })
    }

    /// How many tosses of a coin the scores are worth, and by which distribution.
    fn size(&self, mean: f64) -> (f64, Tail) {
        if self.clusters.is_empty() {
            self.single_size(mean)
        } else {
            self.clustered_size(mean)
        }
    }

    /// How many tosses of a coin single scores are worth, and the distribution to use.
    ///
    /// A coin's variance is known from its mean, so that Wilson's interval needs no t; the less the scores
    /// vary, the more their variance is an estimate and the more of Student's quantile is taken.
    fn single_size(&self, mean: f64) -> (f64, Tail) {
        let n = self.n as f64;
        let coin = mean * (1.0 - mean);
        let Some(variance) = self.variance() else {
            return (0.0, Tail::Normal);
        };
        if coin <= VANISHING {
            return (n, Tail::Normal);
        }
        let share = (variance * (n - 1.0) / n / coin).min(1.0);
        if share <= VANISHING {
            // All scores equal and inside the scale: no variation seen is not certainty.
            return (n, Tail::Normal);
        }
        let estimated = share * (1.0 + (1.0 - share) / (n - 1.0));
        (n / estimated, Tail::Between(share, n - 1.0))
    }

    /// The same for clustered scores: at most the scores themselves, and without variation as many as
    /// clusters.
    fn clustered_size(&self, mean: f64) -> (f64, Tail) {
        let groups = self.clusters.len() as f64;
        match self.small_sample_variance() {
            None => (0.0, Tail::Normal),
            Some((variance, _)) if variance <= VANISHING => (groups, Tail::Normal),
            Some((variance, freedom)) => (
                (mean * (1.0 - mean) / variance).clamp(1.0, self.n as f64),
                Tail::Student(freedom),
            ),
        }
    }

    /// Squared standard error of a clustered mean after Bell and McCaffrey (CR2), and its degrees of freedom
    /// (Satterthwaite). With equal clusters it is CR1 with `G - 1`; with unequal ones less is known than
    /// their number says.
    pub fn small_sample_variance(&self) -> Option<(f64, f64)> {
        if self.clusters.len() < 2 {
            return None;
        }
        let (n, mean) = (self.n as f64, self.mean()?);
        // The mean is a sum of cluster sums s with Cov(s_g, s_h) = n_g (g = h) - n_g n_h / n; the
        // variance is the quadratic form of c_g s_g², and its first two moments give the degrees.
        let (mut variance, mut own, mut joint, mut joint_own) = (0.0, 0.0, 0.0, 0.0);
        for cluster in self.clusters.values() {
            let size = cluster.n as f64;
            let share = size / n;
            let sum = cluster.sum as f64 / SCALE - size * mean;
            let weight = 1.0 / (n * n * (1.0 - share));
            variance += weight * sum * sum;
            own += (weight * size * (1.0 - share)).powi(2);
            joint += weight * size * size / n;
            joint_own += (weight * size * size / n).powi(2);
        }
        let spread = own + joint * joint - joint_own;
        let freedom = (1.0 / (n * n)) / spread;
        Some((
            variance,
            freedom.clamp(1.0, self.clusters.len() as f64 - 1.0),
        ))
    }

    /// Squared standard error of the mean and its degrees of freedom; CR2 and Satterthwaite's where clusters were
    /// given.
    pub(crate) fn error(&self) -> Option<(f64, f64)> {
        match self.clusters.is_empty() {
            true => Some((self.variance_of_mean()?, self.n as f64 - 1.0)),
            false => self.small_sample_variance(),
        }
    }

    /// Student's t with CR1 and `G - 1` degrees, as other packages have it; Mary shows
    /// [`small_sample_variance`](Self::small_sample_variance).
    pub fn clustered_t(&self, level: f64) -> Result<Interval, StatsError> {
        let freedom = self.clusters.len() as f64 - 1.0;
        self.with_t(level, self.variance_of_mean().map(|v| (v, freedom)))
    }

    /// Student's t with this squared error and its degrees of freedom.
    fn with_t(&self, level: f64, found: Option<(f64, f64)>) -> Result<Interval, StatsError> {
        let (what, units, method) = match self.clusters.len() {
            0 => ("mean with Student's t", self.n as usize, "student-t"),
            groups => ("clustered mean (clusters)", groups, "clustered-t"),
        };
        input::open_unit(what, level)?;
        let value = self.checked_mean(what)?;
        let (variance, freedom) = found.ok_or(StatsError::too_few(what, 2, units))?;
        let half = t_of(level, freedom) * variance.sqrt();
        Ok(Interval::around(value, half, self.n as usize, method))
    }

    fn checked_mean(&self, what: &'static str) -> Result<f64, StatsError> {
        let clustered: u64 = self.clusters.values().map(|c| c.n).sum();
        let why = "some scores carry a cluster and others do not; give every score one";
        input::refuse(!self.clusters.is_empty() && clustered != self.n, what, why)?;
        self.mean().ok_or(StatsError::too_few(what, 1, 0))
    }
}

fn fixed(value: f64) -> i128 {
    (value * SCALE).round() as i128
}
