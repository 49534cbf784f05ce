//! Scaling: whether an ability, and the time at which it begins to grow, changes over the sizes of a series.
//!
//! A series is a family of models whose names differ in their size alone (`pythia-70m`, `pythia-1.4b`), or the
//! folders of one place with checkpoints. Of a size with checkpoints the last sound one counts. Two tests stand
//! side by side, since they answer two questions: the slope asks whether these very models differ by more than
//! their items explain, the order whether so many sizes would fall into this order by chance.

use std::collections::BTreeMap;

use mary_contract::{
    Cell, Conditions, Estimate, Exhibits, Figure, ModelCard, Point, ReferenceLine, RunSummary,
    Series, p_value, variants,
};
use mary_platform::grouped;
use mary_stats::Interval;
use mary_stats::correlation::kendall_exact;
use mary_stats::linear::slope_known;

use super::{ALPHA, GrowthCurve, corrected};
use crate::exhibits::DECLARED;
use crate::trajectories::{Ability, Part, conditions, is_ability, stage};
use crate::windows::amount;

/// Sizes below which there is no trend.
const FEWEST: usize = 3;
/// Half the width of a 95 % interval in standard errors.
const Z: f64 = 1.959_963_984_540_054;

/// One size of a series on one ability.
#[derive(Debug, Clone)]
struct Size {
    parameters: f64,
    model: String,
    /// How far in training, for the last checkpoint to be taken.
    step: u64,
    value: Estimate,
    chance: Option<f64>,
}

/// The series of a model: its name without its size, and how many weights it has.
fn series(model: &str, card: Option<&ModelCard>) -> Option<(String, f64)> {
    let at = stage(model, card);
    let size = at.as_ref().map_or(model, |at| at.size.as_str());
    let size = size.split('@').next().unwrap_or(size);
    let (place, last) = size.rsplit_once('/').unwrap_or(("", size));
    let is_size = |word: &&str| {
        let digits = word.strip_suffix(['m', 'M', 'b', 'B', 'k', 'K']);
        digits.is_some_and(|d| d.parse::<f64>().is_ok_and(|n| n > 0.0))
    };
    let name = match last.split(['-', '_']).find(is_size) {
        Some(word) => format!("{place}/{}", last.replacen(word, "…", 1)),
        // Folders of one place, as `mary grow` fills them.
        None if at.is_some() => format!("{place}/…"),
        None => return None,
    };
    Some((name, card?.parameters? as f64))
}

/// What is called alike in tables: the last part of a series' name, unless it says nothing.
fn short(series: &str) -> &str {
    let last = series.rsplit('/').next().unwrap_or(series);
    if last == "…" { series } else { last }
}

type Key = (Ability, String, Conditions);

/// Every ability of every series with sizes enough, the smallest size first.
fn gathered(runs: &[RunSummary]) -> BTreeMap<Key, Vec<Size>> {
    let mut all: BTreeMap<Key, Vec<Size>> = BTreeMap::new();
    for run in runs {
        for row in run.rows.iter().filter(|row| is_ability(&row.task)) {
            let models = &run.manifest.models;
            let card = models.iter().find(|c| c.model.to_string() == row.model);
            let (Some((series, parameters)), Some(value)) = (series(&row.model, card), &row.score)
            else {
                continue;
            };
            let own = Size {
                parameters,
                model: row.model.clone(),
                step: stage(&row.model, card).map_or(u64::MAX, |at| at.step),
                value: value.clone(),
                chance: row.chance,
            };
            let key = (Ability::score(&row.task), series, conditions(run, row));
            let sizes = all.entry(key).or_default();
            match sizes.iter_mut().find(|s| s.parameters == parameters) {
                Some(known) if known.step <= own.step => *known = own,
                Some(_) => {}
                None => sizes.push(own),
            }
        }
    }
    all.retain(|_, sizes| sizes.len() >= FEWEST);
    for sizes in all.values_mut() {
        sizes.sort_by(|a, b| a.parameters.total_cmp(&b.parameters));
    }
    all
}

pub(super) fn exhibits(runs: &[RunSummary], found: &[GrowthCurve]) -> Exhibits {
    let all = gathered(runs);
    let mut exhibits = Exhibits::default();
    let mut rows = Vec::new();
    for (ability, own) in grouped(all.iter().map(|(key, sizes)| (&key.0, (key, sizes)))) {
        let names = names(&own.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        exhibits.figures.push(figure(ability, &own, &names));
        for ((_, sizes), name) in own.iter().zip(&names) {
            rows.push(tested(ability, name, sizes));
        }
    }
    let table = DECLARED.rows("psychometric-scaling", Cell::figures(judged(rows)));
    exhibits.tables.extend(table);
    let stages = stages(runs, found);
    exhibits.append(stages);
    exhibits
}

/// What each of these is called: the series, and what it was asked with where there are several ways.
fn names(keys: &[&Key]) -> Vec<String> {
    let asked = variants(&keys.iter().map(|key| &key.2).collect::<Vec<_>>());
    let name = |(key, variant): (&&Key, String)| match variant.as_str() {
        "" => short(&key.1).to_owned(),
        variant => format!("{} ({variant})", short(&key.1)),
    };
    keys.iter().zip(asked).map(name).collect()
}

fn figure(ability: &Ability, own: &[(&Key, &Vec<Size>)], names: &[String]) -> Figure {
    let lines = own.iter().zip(names).map(|((_, sizes), name)| {
        let points = sizes.iter().map(|size| {
            Point::measured(amount(size.parameters), &size.value)
                .at(size.parameters)
                .with_samples(format!("{}|{}", size.model, ability.task))
        });
        Series::measured(name, points)
    });
    let mut all = own.iter().flat_map(|(_, sizes)| sizes.iter());
    let chance = all.find_map(|s| s.chance);
    let figure = DECLARED
        .figure("psychometric-scaling-{id}")
        .saying("id", ability.id())
        .saying("ability", ability.title())
        .with_series(lines);
    Figure {
        references: ReferenceLine::chance(chance),
        ..figure
    }
}

/// A trend before the correction: its cells, and the two p-values that are corrected, each over all rows.
struct Tested {
    cells: Vec<String>,
    slope: Option<(Interval, f64)>,
    order: Option<(f64, f64)>,
    digits: usize,
}

/// A value and its standard error at a size, in parameters.
type At = (f64, f64, f64);

/// What of a value is fitted, how it is written, and how many digits its slope has.
type Axis = (fn(f64) -> f64, fn(f64) -> String, usize);

impl Tested {
    /// Of these values, as they are written; a trend is one of `axis` of them over the logarithm of size.
    fn new(names: [String; 2], points: &[At], (axis, written, digits): Axis) -> Self {
        let column = |of: &dyn Fn(&At) -> f64| points.iter().map(of).collect::<Vec<f64>>();
        let (x, y) = (column(&|p| p.0.log10()), column(&|p| axis(p.1)));
        let errors = column(&|p| p.2);
        let ends = |get: &dyn Fn(&At) -> String| {
            let ends = [points.first(), points.last()];
            ends.map(|end| end.map(get).unwrap_or_default()).join(" → ")
        };
        let shown = [
            points.len().to_string(),
            ends(&|p| amount(p.0)),
            ends(&|p| written(p.1)),
        ];
        Self {
            cells: names.into_iter().chain(shown).collect(),
            slope: slope_known(&x, &y, &errors).ok(),
            order: kendall_exact(&x, &y).ok(),
            digits,
        }
    }
}

fn tested(ability: &Ability, series: &str, sizes: &[Size]) -> Tested {
    let error = |e: &Estimate| (e.high - e.low) / 2.0 / Z;
    let point = |s: &Size| (s.parameters, s.value.value, error(&s.value));
    let points: Vec<At> = sizes.iter().map(point).collect();
    let names = [ability.title(), series.to_owned()];
    let mut tested = Tested::new(names, &points, (|v| v, |v| format!("{v:.3}"), 3));
    // Bounds that are a range of forms say nothing about items: there is no slope test then.
    let known = |s: &Size| s.value.method != "range" && s.value.high > s.value.low;
    tested.slope = tested.slope.filter(|_| sizes.iter().all(known));
    tested
}

/// Rows with p-values corrected by Holm, slopes and orders each among themselves, and what they come to.
fn judged(rows: Vec<Tested>) -> Vec<Vec<String>> {
    let rows = corrected(rows, |r| Some(r.slope.as_ref()?.1));
    let rows = corrected(rows, |(r, _)| Some(r.order?.1));
    let mut out = Vec::new();
    for ((row, slope_p), order_p) in rows {
        let digits = row.digits;
        let mut cells = row.cells;
        let written = |p: Option<f64>| p.map_or_else(String::new, p_value);
        cells.push(match &row.slope {
            Some((s, _)) => format!(
                "{:+.digits$} ({:+.digits$} to {:+.digits$})",
                s.value, s.low, s.high
            ),
            None => "range of forms only".to_owned(),
        });
        cells.push(written(slope_p));
        cells.push(
            row.order
                .map_or_else(String::new, |(tau, _)| format!("{tau:+.2}")),
        );
        cells.push(written(order_p));
        let significant = |p: Option<f64>| p.is_some_and(|p| p < ALPHA);
        let ordered = row.order.is_some_and(|o| o.0 > 0.0);
        let rises = row.slope.as_ref().map_or(ordered, |s| s.0.value > 0.0);
        let way = if rises { "rises" } else { "falls" };
        cells.push(match (significant(slope_p), significant(order_p)) {
            (true, true) => format!("{way} with size, by its items and by its order"),
            (true, false) => format!("{way} over these models"),
            (false, true) => format!("{way} in order"),
            (false, false) => "no trend shown".to_owned(),
        });
        out.push(cells);
    }
    out
}

/// Onsets over the sizes of a series: in tokens (or steps) with their intervals, and their trend.
fn stages(runs: &[RunSummary], found: &[GrowthCurve]) -> Exhibits {
    let mut all: BTreeMap<Key, Vec<(f64, &GrowthCurve)>> = BTreeMap::new();
    let models: Vec<&ModelCard> = runs.iter().flat_map(|run| &run.manifest.models).collect();
    let scores = |f: &&GrowthCurve| f.trajectory.ability.part == Part::Score;
    for one in found.iter().filter(scores) {
        let t = &one.trajectory;
        let model = t.milestones.first().map_or("", |m| m.model.as_str());
        let mut cards = models.iter().copied();
        let card = cards.find(|c| c.model.to_string() == model);
        if let (Some(_), Some((series, parameters))) = (one.window(), series(model, card)) {
            let key = (t.ability.clone(), series, t.conditions.clone());
            all.entry(key).or_default().push((parameters, one));
        }
    }
    all.retain(|_, sizes| sizes.len() >= FEWEST);
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (key, sizes) in &all {
        // Only ways of asking the same need to be told apart.
        let alike: Vec<&Key> = all.keys().filter(|other| other.0 == key.0).collect();
        let place = alike.iter().position(|other| *other == key);
        let name = names(&alike).swap_remove(place.unwrap_or(0));
        let mut sizes = sizes.clone();
        sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let onset = |(n, f): &(f64, &GrowthCurve)| Some((*n, f.window()?.onset));
        let onsets: Vec<(f64, Interval)> = sizes.iter().filter_map(onset).collect();
        lines.push(Series::measured(
            format!("{}, {name}", key.0.title()),
            onsets.iter().map(|(n, onset)| Point {
                low: Some(onset.low),
                high: Some(onset.high),
                ..Point::new(amount(*n), onset.value).at(*n)
            }),
        ));
        let wide = |o: &Interval| (o.high / o.low).log10() / 2.0 / Z;
        let points: Vec<At> = onsets.iter().map(|(n, o)| (*n, o.value, wide(o))).collect();
        let written = (f64::log10 as fn(f64) -> f64, amount as fn(f64) -> String, 2);
        rows.push(Tested::new([key.0.title(), name], &points, written));
    }
    Exhibits::default()
        .with_tables([DECLARED.rows("psychometric-stages", Cell::figures(judged(rows)))])
        .with_figures([DECLARED.series("psychometric-stages", lines)])
}

#[cfg(test)]
mod tests {
    use mary_generators::stream;
    use rand::RngExt as _;

    use super::super::{exhibits as all_of, simulated};
    use super::*;

    const SIZES: [(&str, u64); 8] = [
        ("70m", 70_000_000),
        ("160m", 160_000_000),
        ("410m", 410_000_000),
        ("1b", 1_000_000_000),
        ("1.4b", 1_400_000_000),
        ("2.8b", 2_800_000_000),
        ("6.9b", 6_900_000_000),
        ("12b", 12_000_000_000),
    ];

    fn asked(model: &str, parameters: u64, task: &str, value: f64) -> RunSummary {
        let mut run = simulated::run(model, task, value, 1000);
        run.manifest.models[0].parameters = Some(parameters);
        run
    }

    fn finals(task: &str, value: impl Fn(usize) -> f64) -> Vec<RunSummary> {
        let of = |(i, (name, n)): (usize, &(&str, u64))| {
            asked(&format!("hf/EleutherAI/pythia-{name}"), *n, task, value(i))
        };
        SIZES.iter().enumerate().map(of).collect()
    }

    #[test]
    fn names_without_their_sizes_make_a_series() {
        let of = |model: &str| {
            let card = asked(model, 7, "a/b", 0.5).manifest.models.remove(0);
            series(model, Some(&card)).map(|(name, _)| name)
        };
        let pythia = Some("hf/EleutherAI/pythia-…".to_owned());
        assert_eq!(of("hf/EleutherAI/pythia-1.4b"), pythia);
        assert_eq!(of("hf/EleutherAI/pythia-70m@step512"), pythia);
        let deduped = Some("hf/EleutherAI/pythia-…-deduped".to_owned());
        assert_eq!(of("hf/EleutherAI/pythia-70m-deduped"), deduped);
        assert_eq!(of("hf/./out/pico/step16"), Some("hf/./out/…".into()));
        assert_eq!(of("openai/gpt-4o"), None);
    }

    #[test]
    fn eight_sizes_that_grow_are_a_figure_and_a_trend() {
        let mut runs = finals("psychometric/blimp", |i| 0.7 + 0.02 * i as f64);
        runs.extend(finals("psychometric/matrices", |i| [0.31, 0.3][i % 2]));
        let found = all_of(&runs);
        let figure = found
            .figures
            .iter()
            .find(|f| f.id == "psychometric-scaling-psychometric-blimp");
        let line = &figure.unwrap().series[0];
        assert_eq!((line.name.as_str(), line.points.len()), ("pythia-…", 8));
        assert!(line.points[0].low.is_some() && line.points[0].x == 70e6);
        let table = found
            .tables
            .iter()
            .find(|t| t.id == "psychometric-scaling")
            .unwrap();
        assert!(
            table.rows.iter().all(|r| r.len() == table.head.len()),
            "{:?}",
            table.rows
        );
        let verdicts: Vec<&str> = table.rows.iter().map(|r| &*r[9]).collect();
        assert_eq!(
            verdicts,
            [
                "rises with size, by its items and by its order",
                "no trend shown"
            ]
        );
        assert_eq!(&*table.rows[0][7], "+1.00");
    }

    #[test]
    fn two_sizes_and_unknown_sizes_are_no_series() {
        let mut runs = finals("psychometric/blimp", |_| 0.7);
        runs.truncate(2);
        runs.push(simulated::run(
            "openai/gpt-4o",
            "psychometric/blimp",
            0.9,
            1000,
        ));
        assert_eq!(exhibits(&runs, &[]), Exhibits::default());
    }

    /// Items of their own difficulty, answered by six sizes that know equally much: the slope must not be
    /// called a trend more often than stated, and hold the true slope as often as stated.
    #[test]
    fn slopes_over_shared_items_hold_the_truth() {
        const SIMULATIONS: u64 = 400;
        let x = [7.0, 7.5, 8.0, 8.5, 9.0, 9.5];
        for slope in [0.0, 0.05] {
            let mut held = 0;
            for seed in 0..SIMULATIONS {
                let mut rng = stream(seed, "sizes/shared items");
                let mut right = [0u32; 6];
                for _ in 0..300 {
                    let easy = 0.3 * (rng.random::<f64>() - 0.5);
                    for (n, x) in right.iter_mut().zip(x) {
                        let share = 0.6 + easy + slope * (x - 8.25);
                        *n += u32::from(rng.random::<f64>() < share);
                    }
                }
                let y = right.map(|n| f64::from(n) / 300.0);
                let errors = y.map(|y| (y * (1.0 - y) / 300.0).sqrt());
                let (found, p) = slope_known(&x, &y, &errors).unwrap();
                held += u64::from(found.contains(slope));
                assert_eq!(p < 0.05, !found.contains(0.0), "interval and p agree");
            }
            eprintln!("slope {slope}: {held} of {SIMULATIONS} intervals hold it");
            assert!(held * 100 >= SIMULATIONS * 93, "{held}");
        }
    }

    #[test]
    fn onsets_over_sizes_are_stages() {
        let mut rng = stream(4, "sizes/stages");
        let mut runs = Vec::new();
        for (i, (name, n)) in SIZES.iter().enumerate().take(5) {
            let onset = 9.0 - 0.15 * i as f64;
            for step in (0..16).map(|k| 16u64 << k).filter(|s| *s < 143_000) {
                let t = (step as f64 * 2_097_152.0).log10();
                let share = 0.5 + 0.4 * ((t - onset) / 1.0).clamp(0.0, 1.0);
                let right = (0..1000).filter(|_| rng.random::<f64>() < share).count();
                let model = format!("hf/EleutherAI/pythia-{name}@step{step}");
                runs.push(asked(
                    &model,
                    *n,
                    "psychometric/blimp",
                    right as f64 / 1000.0,
                ));
            }
        }
        let found = all_of(&runs);
        let table = found
            .tables
            .iter()
            .find(|t| t.id == "psychometric-stages")
            .unwrap();
        assert_eq!(table.rows.len(), 1);
        assert!(
            table.rows[0][5].starts_with('-') || table.rows[0][5].starts_with('−'),
            "{:?}",
            table.rows
        );
        let figure = found
            .figures
            .iter()
            .find(|f| f.id == "psychometric-stages")
            .unwrap();
        assert_eq!(figure.series[0].points.len(), 5);
        assert!(figure.series[0].points.iter().all(|p| p.low <= Some(p.y)));
        // The last checkpoint of each size is its size's score.
        let scaling = found
            .tables
            .iter()
            .find(|t| t.id == "psychometric-scaling")
            .unwrap();
        assert_eq!(&*scaling.rows[0][2], "5");
    }
}
