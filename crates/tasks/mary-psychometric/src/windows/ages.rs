//! The order in which abilities begin to grow in training beside the order in which children have them.
//!
//! Ages are published ones, in `ages.json` with what was seen in the children and by whom. Studies differ in
//! method and criterion, so that only the order is compared, by the middle of each range; abilities and the
//! phenomena of grammar are compared apart.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{Cell, Exhibits, Figure, Point, RunSummary, Series, Table, p_value};
use mary_stats::correlation::{Correlation, spearman};
use serde::Deserialize;

use super::{ALPHA, GrowthCurve, corrected, decide, search};
use crate::exhibits::DECLARED;
use crate::grammar;
use crate::trajectories::{Part, by_tag};
use crate::windows::{amount, between};

/// Abilities with an onset and an age below which their orders are not compared.
const FEWEST: usize = 4;

#[derive(Debug, Deserialize)]
struct Age {
    #[serde(default)]
    tasks: Vec<String>,
    name: String,
    /// From, to.
    months: (f64, f64),
    what: String,
    source: String,
}

impl Age {
    fn years(&self) -> f64 {
        (self.months.0 + self.months.1) / 24.0
    }
}

#[derive(Debug, Default, Deserialize)]
struct Ages {
    abilities: Vec<Age>,
    phenomena: Vec<Age>,
}

static AGES: LazyLock<Ages> =
    LazyLock::new(|| serde_json::from_str(include_str!("ages.json")).unwrap_or_default());

/// An ability that has both: its age in childhood, and its onset in the training of one size.
struct Dated {
    age: &'static Age,
    onset: f64,
    /// Bounds of the onset.
    within: (f64, f64),
}

/// By set (abilities, or the phenomena of a task) and size.
type Sets = BTreeMap<(String, String), Vec<Dated>>;

fn put(sets: &mut Sets, set: &str, curve: &GrowthCurve, age: Option<&'static Age>) {
    let (Some(age), Some(window)) = (age, curve.window()) else {
        return;
    };
    let key = (set.to_owned(), curve.trajectory.label.clone());
    let dated = Dated {
        age,
        onset: window.onset.value,
        within: (window.onset.low, window.onset.high),
    };
    let known = sets.entry(key).or_default();
    // Two tasks of one ability: the one that begins earlier stands for it.
    match known.iter_mut().find(|d| d.age.name == age.name) {
        Some(other) if other.onset > dated.onset => *other = dated,
        Some(_) => {}
        None => known.push(dated),
    }
}

pub(super) fn exhibits(runs: &[RunSummary], found: &[GrowthCurve]) -> Exhibits {
    let mut sets = Sets::new();
    let whole = |f: &&GrowthCurve| f.trajectory.ability.part == Part::Score;
    for one in found.iter().filter(whole) {
        let task = one.trajectory.ability.task.strip_prefix("psychometric/");
        let of = |age: &&Age| age.tasks.iter().any(|t| Some(t.as_str()) == task);
        put(&mut sets, "abilities", one, AGES.abilities.iter().find(of));
    }
    for task in grammar::TASKS {
        let curves = by_tag(runs, task, "phenomenon");
        let search = search(curves.len());
        for one in decide(curves, &search) {
            let Part::Tag(_, name) = &one.trajectory.ability.part else {
                continue;
            };
            let age = AGES.phenomena.iter().find(|age| age.name == *name);
            put(&mut sets, &format!("phenomena of {task}"), &one, age);
        }
    }
    sets.retain(|_, dated| dated.len() >= FEWEST);
    for dated in sets.values_mut() {
        dated.sort_by(|a, b| a.onset.total_cmp(&b.onset));
    }
    let mut exhibits = Exhibits::default();
    if !sets.is_empty() {
        exhibits.tables.extend([correlations(&sets), ages(&sets)]);
        exhibits.figures.extend(scatters(&sets));
    }
    exhibits
}

fn correlations(sets: &Sets) -> Table {
    let mut found: Vec<(&(String, String), usize, Option<Correlation>)> = Vec::new();
    for (key, dated) in sets {
        let child: Vec<f64> = dated.iter().map(|d| d.age.years()).collect();
        let model: Vec<f64> = dated.iter().map(|d| d.onset.log10()).collect();
        found.push((key, dated.len(), spearman(&child, &model).ok()));
    }
    let found = corrected(found, |f| Some(f.2?.p)).into_iter();
    let rows = found.map(|(((set, size), n, rho), p)| {
        let mut row = vec![set.clone(), size.clone(), n.to_string()];
        let (Some(rho), Some(p)) = (rho, p) else {
            row.extend(["", "", "", "all began at once"].map(String::from));
            return row;
        };
        let verdict = match (p < ALPHA, rho.r.value > 0.0) {
            (true, true) => "the child's order",
            (true, false) => "against the child's order",
            (false, _) => "not distinguishable from chance",
        };
        row.extend([
            format!("{:+.2}", rho.r.value),
            format!("{:+.2} to {:+.2}", rho.r.low, rho.r.high),
            p_value(p),
            verdict.to_owned(),
        ]);
        row
    });
    let rows = rows.collect();
    let table = DECLARED.table("psychometric-ages-order");
    table.with_rows(Cell::figures(rows))
}

fn ages(sets: &Sets) -> Table {
    let mut rows = Vec::new();
    for ((set, size), dated) in sets {
        for (place, one) in dated.iter().enumerate() {
            let earlier = |d: &&Dated| d.age.years() < one.age.years();
            let (from, to) = one.age.months;
            rows.push(vec![
                set.clone(),
                size.clone(),
                one.age.name.clone(),
                (place + 1).to_string(),
                format!("{} ({})", amount(one.onset), between(one.within)),
                (dated.iter().filter(earlier).count() + 1).to_string(),
                format!("{:.1}–{:.1}", from / 12.0, to / 12.0),
                one.age.what.clone(),
                one.age.source.clone(),
            ]);
        }
    }
    let table = DECLARED.table("psychometric-ages");
    table.with_rows(Cell::figures(rows))
}

/// A picture for each set: a point for each ability, a series for each size.
fn scatters(sets: &Sets) -> Vec<Figure> {
    let mut by_set: BTreeMap<&str, Vec<Series>> = BTreeMap::new();
    for ((set, size), dated) in sets {
        let points = dated.iter().map(|d| Point {
            low: Some(d.within.0.log10()),
            high: Some(d.within.1.log10()),
            ..Point::new(&d.age.name, d.onset.log10()).at(d.age.years())
        });
        let series = Series::measured(size, points);
        by_set.entry(set).or_default().push(series);
    }
    let figure = |(set, series): (&str, Vec<Series>)| {
        DECLARED
            .figure("psychometric-ages-{id}")
            .saying("id", crate::trajectories::slug(set))
            .saying("set", set)
            .with_series(series)
    };
    by_set.into_iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use mary_contract::Breakdown;
    use mary_generators::stream;
    use rand::RngExt as _;

    use super::super::{exhibits as all_of, simulated};
    use super::*;
    use crate::grammar::Phenomenon;

    #[test]
    fn every_age_is_read_in_order_and_names_what_there_is() {
        assert!(AGES.abilities.len() >= 6 && AGES.phenomena.len() >= 9);
        for age in AGES.abilities.iter().chain(&AGES.phenomena) {
            assert!(
                age.months.0 <= age.months.1 && !age.source.is_empty(),
                "{age:?}"
            );
        }
        let known: Vec<&str> = Phenomenon::ALL.map(Phenomenon::name).to_vec();
        for age in &AGES.phenomena {
            assert!(known.contains(&age.name.as_str()), "{}", age.name);
        }
        let tasks: Vec<String> = crate::TASKS
            .iter()
            .map(|t| t.card().id.to_string())
            .collect();
        for task in AGES.abilities.iter().flat_map(|a| &a.tasks) {
            assert!(tasks.contains(&format!("psychometric/{task}")), "{task}");
        }
    }

    /// Checkpoints of one size whose phenomena begin to grow in this order.
    fn sweep(order: impl Fn(usize) -> usize) -> Vec<RunSummary> {
        let mut rng = stream(5, "ages");
        let run = |k: u64| {
            let step = 8 << k;
            let t = (step as f64 * 2_097_152.0).log10();
            let model = format!("hf/EleutherAI/pythia-70m@step{step}");
            let mut run = simulated::run(&model, "psychometric/blimp", 0.6, 1000);
            let row = &mut run.rows[0];
            let values = AGES.phenomena.iter().enumerate().map(|(i, age)| {
                let onset = 7.5 + 0.25 * order(i) as f64;
                let share = 0.5 + 0.45 * (t - onset).clamp(0.0, 1.0);
                let right = (0..400).filter(|_| rng.random::<f64>() < share).count();
                let mut estimate = row.score.clone().unwrap();
                // What begins after training ends is flat, without noise that could be taken for growth.
                let flat = onset > 12.0;
                estimate.value = if flat { 0.5 } else { right as f64 / 400.0 };
                (age.name.clone(), estimate)
            });
            let values = values.collect();
            row.breakdowns.push(Breakdown {
                tag: "phenomenon".into(),
                values,
            });
            run
        };
        (0..15).map(run).collect()
    }

    #[test]
    fn the_childs_order_is_found_and_its_reverse_told() {
        let n = AGES.phenomena.len();
        for (reverse, said) in [
            (false, "the child's order"),
            (true, "against the child's order"),
        ] {
            let found = all_of(&sweep(|i| if reverse { n - 1 - i } else { i }));
            let order = found
                .tables
                .iter()
                .find(|t| t.id == "psychometric-ages-order")
                .unwrap();
            assert_eq!(order.rows.len(), 1);
            assert_eq!(&*order.rows[0][6], said, "{:?}", order.rows);
            let table = found
                .tables
                .iter()
                .find(|t| t.id == "psychometric-ages")
                .unwrap();
            assert!(table.rows.iter().all(|r| r.len() == table.head.len()));
            assert_eq!(table.rows.len(), n);
            let id = "psychometric-ages-phenomena-of-psychometric-blimp";
            let figure = found.figures.iter().find(|f| f.id == id).unwrap();
            assert_eq!(figure.series[0].points.len(), n);
        }
    }

    #[test]
    fn three_onsets_are_no_order() {
        let found = all_of(&sweep(|i| if i < 3 { i } else { 40 }));
        assert!(
            found
                .tables
                .iter()
                .all(|t| t.id != "psychometric-ages-order")
        );
    }
}
