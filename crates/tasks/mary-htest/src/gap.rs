//! The fresh gap: how much better a model does on the released items than on items that nobody has
//! seen. That part of a score may be memory (or the released files' shortcuts).

use mary_contract::{Cell, Estimate, RunSummary, Table};
use mary_stats::{difference, score_interval};

use super::published::DECLARED;
use super::results::{Outcome, results};
use super::setup::ItemsSource;

#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    pub model: String,
    pub task: String,
    pub published: Estimate,
    pub fresh: Estimate,
    pub difference: Estimate,
}

/// Released minus fresh for every model and task that was run both ways with the same shots, mode
/// and form. The items differ, so that the intervals of the two are combined as of independent
/// samples ([`Estimate::minus`]).
pub fn fresh_gaps(runs: &[RunSummary]) -> Vec<Gap> {
    let results = results(runs);
    let mut gaps = Vec::new();
    let published = |r: &&Outcome| r.source == ItemsSource::Published;
    for released in results.iter().filter(published) {
        // Which items, how many, and how their shots were drawn is what the two differ in; everything
        // else is alike.
        let apart = ["source", "n", "seed", "shot_sets", "labels", "crossed"];
        let same = |r: &&Outcome| {
            r.source == ItemsSource::Fresh
                && (&r.model, r.k) == (&released.model, released.k)
                && r.conditions.agrees_but_for(&released.conditions, &apart)
        };
        for fresh in results.iter().filter(same) {
            gaps.push(Gap {
                model: released.model.clone(),
                task: released.task.clone(),
                difference: released.accuracy.minus(&fresh.accuracy),
                published: released.accuracy.clone(),
                fresh: fresh.accuracy.clone(),
            });
        }
    }
    gaps
}

fn estimate(i: &mary_stats::Interval) -> Estimate {
    Estimate::new(i.value, (i.low, i.high), i.n, i.method)
}

/// The mean of some tasks' accuracies, with an interval over the tasks from five on.
fn over_tasks(values: &[f64]) -> Cell {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    match score_interval(values, None) {
        Ok(found) if values.len() >= difference::FEWEST => {
            Cell::percent(&estimate(&found), 1).over("tasks")
        }
        _ => Cell::too_few(format!("{:.1}", 100.0 * mean), values.len(), "tasks"),
    }
}

/// The gaps as a table, with the mean over the tasks of each model, paired by task.
pub fn gap_table(runs: &[RunSummary]) -> Option<Table> {
    let gaps = fresh_gaps(runs);
    let row = |gap: &Gap| {
        vec![
            gap.model.clone().into(),
            gap.task.clone().into(),
            Cell::percent(&gap.published, 1),
            Cell::percent(&gap.fresh, 1),
            Cell::points(&gap.difference, 1),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = gaps.iter().map(row).collect();
    let mut models: Vec<&str> = gaps.iter().map(|g| g.model.as_str()).collect();
    models.dedup();
    for model in models {
        let whole = |g: &&Gap| g.model == model && g.task != "htest/letter-geometry";
        let of: Vec<&Gap> = gaps.iter().filter(whole).collect();
        let differences: Vec<f64> = of.iter().map(|g| g.difference.value).collect();
        if let Ok((mean, bounds)) = difference::over_units(&differences) {
            let average = |value: fn(&Gap) -> f64| {
                let values: Vec<f64> = of.iter().map(|g| value(g)).collect();
                over_tasks(&values)
            };
            let shown = match bounds {
                Some(i) => Cell::points(&estimate(&i), 1).over("tasks"),
                None => Cell::too_few(format!("{:+.1}", 100.0 * mean), of.len(), "tasks"),
            };
            rows.push(vec![
                model.into(),
                format!("mean of {} tasks", of.len()).into(),
                average(|g| g.published.value),
                average(|g| g.fresh.value),
                shown,
            ]);
        }
    }
    DECLARED.rows("htest-fresh-gap", rows)
}

#[cfg(test)]
mod tests {
    use mary_stats::{LEVEL, intervals};

    use super::*;

    #[test]
    fn the_difference_is_newcombes_for_two_proportions() {
        let estimate = |k, n| {
            let i = intervals::wilson(k, n, LEVEL).unwrap();
            Estimate {
                value: i.value,
                low: i.low,
                high: i.high,
                n: i.n,
                method: "wilson".into(),
            }
        };
        let ours = estimate(130, 200).minus(&estimate(104, 200));
        // Newcombe (1998), method 10, of 130 and 104 in 200, computed in Python.
        assert!((ours.low - 0.03342775182321206).abs() < 1e-12);
        assert!((ours.high - 0.22321235280130305).abs() < 1e-12);
    }
}
