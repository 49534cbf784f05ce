//! The integration tests of `mary-stats` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

use mary_stats::bootstrap::{Bootstrap, Units, percentile};
use mary_stats::{Interval, StatsError};

/// Percentile interval of a mean, clustered where ids are given.
fn mean_percentile(
    values: &[f64],
    clusters: Option<&[usize]>,
    settings: &Bootstrap,
) -> Result<Interval, StatsError> {
    let units = clusters.map_or_else(|| Units::singles(values.len()), Units::clusters);
    let mean = |drawn: &[usize]| {
        let sum: f64 = drawn.iter().map(|&i| values[i]).sum();
        sum / drawn.len() as f64
    };
    percentile(&units, mean, settings)
}

mod by_hand;
mod coverage;
mod coverage_families;
mod difference;
mod golden;
mod growth;
mod irt;
mod mixed;
mod people;
mod permutations;
mod psychometric_by_hand;
mod scale;
mod verdicts;
