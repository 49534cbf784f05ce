//! Development, one step deeper: the curve of every paradigm of grammar and of every layer of the number
//! line, when each begins to grow, and whether different models take them up in the same order.
//!
//! The curves of parts are many, so they are tested together and apart from the abilities themselves:
//! their p-values are corrected for their own number, and the report's other windows do not pay for them.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{Cell, Exhibits, Figure, Point, RunSummary, Series, Table, p_value};
use mary_platform::{given, grouped};
use mary_stats::correlation::spearman;
use mary_stats::segmented::{Search, Window};

use super::figures::counted;
use super::{ALPHA, GrowthCurve, corrected, decide, search_among};
use crate::exhibits::DECLARED;
use crate::trajectories::{Ability, Milestone, Part, parts, slug};
use crate::windows::{amount, between};

/// Parts with a window in two models below which their orders are not compared.
const FEWEST_SHARED: usize = 5;
/// Most permutations of a curve: there may be hundreds of curves.
const MOST_PERMUTATIONS: usize = 4_999;

pub(super) fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let curves = parts(runs);
    if curves.is_empty() {
        return Exhibits::default();
    }
    let search = Search {
        resamples: 200,
        ..search_among(curves.len(), 2.0, MOST_PERMUTATIONS)
    };
    let found = decide(curves, &search);
    let mut exhibits = Exhibits::default();
    fn task_of(curve: &GrowthCurve) -> &str {
        &curve.trajectory.ability.task
    }
    let tasks: BTreeSet<&str> = found.iter().map(task_of).collect();
    for task in tasks {
        let own: Vec<&GrowthCurve> = found.iter().filter(|f| task_of(f) == task).collect();
        exhibits.figures.extend(heatmaps(task, &own));
        exhibits.tables.push(onsets(task, &own));
    }
    exhibits.tables.extend(orders(&found));
    exhibits
}

/// What a part is called in tables: the paradigm, or the layer.
fn part_name(part: &Part) -> String {
    match part {
        Part::Tag(_, value) => value.replace('_', " "),
        Part::Measure(name) => {
            let layer = name.rsplit('.').next().unwrap_or(name);
            layer.replace("layer_", "layer ")
        }
        Part::Score => "all".into(),
    }
}

/// One picture for each size: a row for each part, a column for each checkpoint; rows in the order of
/// onset, parts without a window below.
fn heatmaps(task: &str, own: &[&GrowthCurve]) -> Vec<Figure> {
    let sizes = grouped(own.iter().map(|found| (&*found.trajectory.label, *found)));
    let heatmap = |(size, mut rows): (&str, Vec<&GrowthCurve>)| {
        rows.sort_by(|a, b| onset_of(a).total_cmp(&onset_of(b)));
        let series = rows.iter().map(|found| {
            let trajectory = &found.trajectory;
            let point = |m: &Milestone| Point::measured(amount(m.x), &m.value).at(m.x);
            let points = trajectory.sound().map(point);
            Series::measured(part_name(&trajectory.ability.part), points)
        });
        DECLARED
            .figure("psychometric-parts-{task_id}-{size_id}")
            .saying("task_id", slug(task))
            .saying("size_id", slug(size))
            .saying("task", task)
            .saying("size", size)
            .saying("method", method())
            .saying("counted", counted(&rows))
            .with_series(series)
    };
    sizes.into_iter().map(heatmap).collect()
}

/// The onset, or infinity without a window.
fn onset_of(found: &GrowthCurve) -> f64 {
    found.window().map_or(f64::INFINITY, |w| w.onset.value)
}

fn method() -> String {
    format!(
        "Growth of a part is claimed when its one-sided permutation test against no growth stays below \
         {ALPHA} after Holm over all parts of the report; onsets as in the table of windows."
    )
}

/// Onsets of all parts of a task, size by size, the earliest first.
fn onsets(task: &str, own: &[&GrowthCurve]) -> Table {
    let mut own = own.to_vec();
    own.sort_by(|a, b| {
        (a.trajectory.label.as_str(), onset_of(a))
            .partial_cmp(&(b.trajectory.label.as_str(), onset_of(b)))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
    let rows = own
        .iter()
        .map(|found| {
            let size = found.trajectory.label.as_str();
            let mut row = vec![
                size.to_owned(),
                part_name(&found.trajectory.ability.part),
                found.trajectory.sound().count().to_string(),
            ];
            match found.window() {
                Some(Window { onset, rise, .. }) => {
                    let rank = ranks.entry(size).or_default();
                    *rank += 1;
                    row.extend([
                        rank.to_string(),
                        amount(onset.value),
                        between((onset.low, onset.high)),
                        format!("{:.3} ({:.3} to {:.3})", rise.value, rise.low, rise.high),
                    ]);
                }
                None => row.extend(["", "none claimed", "", ""].map(String::from)),
            }
            let p = found.growth.as_ref().map(|g| p_value(g.p));
            row.push(p.unwrap_or_default());
            row
        })
        .collect();
    DECLARED
        .table("psychometric-part-onsets-{id}")
        .saying("id", slug(task))
        .saying("task", task)
        .saying("method", method())
        .with_rows(Cell::figures(rows))
}

/// Whether two models take up the parts of a task in the same order, and within one model whether layers
/// do so from the bottom up.
fn orders(found: &[GrowthCurve]) -> Option<Table> {
    let mut by_model: BTreeMap<(&str, &str), BTreeMap<String, f64>> = BTreeMap::new();
    for one in found.iter().filter(|f| f.window().is_some()) {
        let Ability { task, part } = &one.trajectory.ability;
        let onsets = by_model.entry((task, &one.trajectory.label)).or_default();
        onsets.insert(part_name(part), onset_of(one));
    }
    let mut rows: Vec<(Vec<String>, f64)> = Vec::new();
    let models: Vec<_> = by_model.iter().collect();
    for (i, ((task, size), onsets)) in models.iter().enumerate() {
        for ((other_task, other_size), others) in models.iter().skip(i + 1) {
            if task != other_task {
                continue;
            }
            let (a, b): (Vec<f64>, Vec<f64>) = onsets
                .iter()
                .filter_map(|(part, onset)| Some((onset.log10(), others.get(part)?.log10())))
                .unzip();
            rows.extend(correlated(task, (size, other_size), &a, &b));
        }
        let layer = |(part, onset): (&String, &f64)| {
            let number: f64 = part.strip_prefix("layer ")?.parse().ok()?;
            Some((number, onset.log10()))
        };
        let (depth, when): (Vec<f64>, Vec<f64>) = onsets.iter().filter_map(layer).unzip();
        let names = (*size, "depth of the layer");
        rows.extend(correlated(task, names, &depth, &when));
    }
    let rows = corrected(rows, |row| Some(row.1)).into_iter();
    let rows = rows.map(|((mut row, _), p)| {
        let related = match p.is_some_and(|p| p < ALPHA) {
            true => "related",
            false => "not distinguishable from chance",
        };
        row.extend([p.map_or_else(String::new, p_value), related.to_owned()]);
        row
    });
    DECLARED.rows("psychometric-part-orders", Cell::figures(rows.collect()))
}

fn correlated(
    task: &str,
    (first, second): (&str, &str),
    a: &[f64],
    b: &[f64],
) -> Option<(Vec<String>, f64)> {
    given(a.len() >= FEWEST_SHARED)?;
    let found = spearman(a, b).ok()?;
    let row = vec![
        task.to_owned(),
        first.to_owned(),
        second.to_owned(),
        a.len().to_string(),
        format!("{:.2}", found.r.value),
        format!("{:.2} to {:.2}", found.r.low, found.r.high),
    ];
    Some((row, found.p))
}

#[cfg(test)]
mod tests {
    use mary_contract::Breakdown;
    use mary_generators::stream;
    use rand::RngExt as _;

    use super::super::simulated;
    use super::*;

    const STEPS: [u64; 16] = [
        8, 16, 32, 64, 128, 256, 512, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 120_000, 143_000,
    ];

    /// A sweep of one size whose paradigms begin to grow one after the other.
    fn sweep(size: &str, onsets: &[f64], seed: u64) -> Vec<RunSummary> {
        let mut rng = stream(seed, "parts");
        STEPS
            .iter()
            .map(|step| {
                let model = format!("hf/EleutherAI/{size}@step{step}");
                let t = (*step as f64 * 2_097_152.0).log10();
                let mut run = simulated::run(&model, "psychometric/grammar", 0.6, 1000);
                let row = &mut run.rows[0];
                let values = onsets
                    .iter()
                    .enumerate()
                    .map(|(i, onset)| {
                        let share = 0.5 + 0.4 * ((t - onset) / 1.2).clamp(0.0, 1.0);
                        let right = (0..200).filter(|_| rng.random::<f64>() < share).count();
                        let mut estimate = row.score.clone().unwrap();
                        estimate.value = right as f64 / 200.0;
                        (format!("paradigm_{i}"), estimate)
                    })
                    .collect();
                row.breakdowns.push(Breakdown {
                    tag: "set".into(),
                    values,
                });
                run
            })
            .collect()
    }

    #[test]
    fn paradigms_get_their_onsets_and_two_models_their_common_order() {
        let onsets = [7.6, 7.9, 8.2, 8.5, 8.8, 9.1, 9.4];
        let mut runs = sweep("pythia-70m", &onsets, 1);
        runs.extend(sweep("pythia-160m", &onsets.map(|o| o - 0.2), 2));
        let found = exhibits(&runs);
        assert_eq!(found.figures.len(), 2);
        assert_eq!(found.figures[0].series.len(), onsets.len());
        let table = &found.tables[0];
        assert_eq!(table.rows.len(), 2 * onsets.len());
        assert!(table.rows.iter().all(|r| r.len() == table.head.len()));
        // Within a size the rows stand in the order of growth.
        let order: Vec<&str> = table.rows[..7].iter().map(|r| &*r[1]).collect();
        assert_eq!((order[0], order[6]), ("paradigm 0", "paradigm 6"));
        let orders = found.tables.last().unwrap();
        assert_eq!(orders.id, "psychometric-part-orders");
        assert_eq!(orders.rows.len(), 1);
        let rho: f64 = orders.rows[0][4].parse().unwrap();
        assert!(
            rho > 0.8 && orders.rows[0][7] == "related",
            "{:?}",
            orders.rows
        );
    }

    #[test]
    fn flat_paradigms_claim_nothing() {
        let runs = sweep("pythia-70m", &[20.0; 12], 3);
        let found = exhibits(&runs);
        let table = &found.tables[0];
        assert!(
            table.rows.iter().all(|r| r[4] == "none claimed"),
            "{:?}",
            table.rows
        );
        assert_eq!(found.tables.len(), 1, "no orders without onsets");
    }
}
