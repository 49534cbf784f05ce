//! The same items under two conditions: what comparisons of runs, pairs of models and twins share.

use mary_contract::{Metric, SHOT_SET, Sample};
use mary_stats::difference::{self, Difference, ScoreRange};
use mary_stats::{StatsError, intervals, multiple};

use crate::number::{ScoreScale, count};

/// Which samples are the same on both sides of a question: item, trial.
pub(crate) type Key = (String, u32);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// `None` when unscored or failed.
    pub score: Option<f64>,
    /// The draw of shots, where there were several: both models saw the same ones.
    pub cluster: Option<String>,
}

impl Verdict {
    pub fn from_sample(sample: &Sample) -> Self {
        let score = sample.judgement.score().filter(|score| score.is_finite());
        Self {
            score,
            cluster: sample
                .item
                .tags
                .get(SHOT_SET)
                .or(sample.item.cluster.as_ref())
                .cloned(),
        }
    }

    /// What is independent of the rest: the cluster, or the item where it was asked several times.
    pub fn unit<'a>(&'a self, item: &'a str, repeated: bool) -> Option<&'a str> {
        self.cluster.as_deref().or(repeated.then_some(item))
    }
}

#[derive(Debug, Default)]
pub(crate) struct ScorePairs<'a> {
    first: Vec<f64>,
    second: Vec<f64>,
    units: Vec<Option<&'a str>>,
}

impl<'a> ScorePairs<'a> {
    pub fn push(&mut self, first: f64, second: f64, unit: Option<&'a str>) {
        self.first.push(first);
        self.second.push(second);
        self.units.push(unit);
    }

    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// How scores of this metric are written; where an old run does not say, by the values.
    pub fn scale(&self, metric: Option<Metric>) -> ScoreScale {
        scale_of(metric, self.first.iter().chain(&self.second).copied())
    }

    pub fn difference(&self, scale: ScoreScale) -> Result<Difference, StatsError> {
        let units: Option<Vec<&str>> = self.units.iter().copied().collect();
        let ids = units.map(intervals::cluster_ids);
        let range = match scale {
            ScoreScale::Proportion => ScoreRange::Unit,
            ScoreScale::Plain => ScoreRange::Unbounded,
        };
        difference::compare(&self.first, &self.second, ids.as_deref(), range)
    }
}

/// The scale of scores: what the task says they are, and where it does not say, by their values.
pub(crate) fn scale_of(
    metric: Option<Metric>,
    mut scores: impl Iterator<Item = f64>,
) -> ScoreScale {
    let shares = scores.all(|score| (0.0..=1.0).contains(&score));
    match metric {
        Some(Metric::Share) | None if shares => ScoreScale::Proportion,
        _ => ScoreScale::Plain,
    }
}

/// p-values corrected by Holm over those that are known.
pub(crate) fn holm(all: &[Option<f64>]) -> Result<Vec<Option<f64>>, StatsError> {
    let known: Vec<f64> = all.iter().copied().flatten().collect();
    if known.is_empty() {
        return Ok(all.to_vec());
    }
    let mut corrected = multiple::holm(&known)?.into_iter();
    let each = all.iter().map(|p| p.and_then(|_| corrected.next()));
    Ok(each.collect())
}

/// How many samples, and into how many independent units they fall where several go together.
pub(crate) fn counted_units(samples: usize, units: usize) -> String {
    match units < samples {
        true => format!("{} in {}", count(samples), count(units)),
        false => count(samples),
    }
}
