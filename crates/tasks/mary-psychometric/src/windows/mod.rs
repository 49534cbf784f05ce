//! Windows of development: when in training an ability grows, and which grows first.
//!
//! Method: a ramp on the logarithm of tokens (a flat start, a rise, a flat end) is fitted by least
//! squares over all onsets and ends; a window is claimed only when the best ramp beats no growth in a
//! permutation test and rises by more than the items of a checkpoint leave open, corrected for the number of curves; the interval of the onset holds every onset the data do not reject, calibrated by
//! a bootstrap of the residuals (`mary_stats::segmented`, docs/reference/methods.md). Step 0 has no place on
//! a log axis and is left out, as is every checkpoint that is in doubt.

mod ages;
mod figures;
mod parts;
mod sizes;
mod tables;
mod words;

pub use tables::amount;

/// Two amounts as the bounds of an interval.
fn between((low, high): (f64, f64)) -> String {
    format!("{} to {}", amount(low), amount(high))
}

use std::panic::resume_unwind;

use mary_contract::{Exhibits, RunSummary};
use mary_platform::{distinct, given};
use mary_stats::distributions::normal_cdf;
use mary_stats::multiple::holm;
use mary_stats::segmented::{Growth, Search, Window, growth};

use crate::trajectories::{Milestone, Part, Trajectory, left_out, trajectories};

pub const FEWEST: usize = 8;

/// The paper's windows, in tokens: what, from, to.
pub const PAPER_WINDOWS: [(&str, f64, f64); 2] =
    [("language", 0.25e9, 7e9), ("fluid reasoning", 1e9, 20e9)];
const PAPER: &str = "Shah et al. 2024, section 5";

#[derive(Debug, Clone)]
pub struct GrowthCurve {
    pub trajectory: Trajectory,
    /// The window, or that there is none; absent with too few checkpoints. Its p-value is corrected for
    /// the number of curves.
    pub growth: Option<Growth>,
}

impl GrowthCurve {
    fn window(&self) -> Option<&Window> {
        self.growth.as_ref()?.window.as_ref()
    }
}

/// Growth is claimed below this p-value after Holm's correction over all curves that are looked at
/// together. The p-value that is printed is the one that is decided by.
pub const ALPHA: f64 = 0.05;
/// Most permutations of a curve, however many curves there are.
const MOST_PERMUTATIONS: usize = 9_999;

/// How windows are looked for in a report of so many curves: with more curves the correction asks for
/// smaller p-values, which fewer permutations could not show.
pub fn search(curves: usize) -> Search {
    search_among(curves, 4.0, MOST_PERMUTATIONS)
}

fn search_among(curves: usize, permutations: f64, most: usize) -> Search {
    let needed = (permutations * curves as f64 / ALPHA).ceil() as usize;
    Search {
        resamples: 500,
        permutations: needed.clamp(999, most),
        alpha: ALPHA,
        ..Search::default()
    }
}

/// Tests every curve against no growth, corrects the p-values for their number (Holm), and looks for
/// the window of those that remain. A curve with too few checkpoints is not tested and not counted.
pub fn decide(curves: Vec<Trajectory>, search: &Search) -> Vec<GrowthCurve> {
    let test_only = Search {
        alpha: 0.0,
        ..*search
    };
    let mut tested = each(&curves, |curve| {
        let mut found = find(curve, &test_only)?;
        found.p = found.p.max(within_items(curve, &found));
        Some(found)
    });
    for (growth, p) in corrected(tested.iter_mut().flatten().collect(), |g| Some(g.p)) {
        growth.p = p.unwrap_or(growth.p);
    }
    let curve = |(trajectory, growth)| GrowthCurve { trajectory, growth };
    let mut found: Vec<GrowthCurve> = curves.into_iter().zip(tested).map(curve).collect();
    // Above every p-value: the test has been decided, the window is wanted.
    let claimed = Search {
        alpha: 2.0,
        permutations: 0,
        ..*search
    };
    let windows = each(&found, |curve| {
        curve.growth.as_ref().filter(|g| g.p < search.alpha)?;
        find(&curve.trajectory, &claimed)?.window
    });
    for (curve, window) in found.iter_mut().zip(windows) {
        if let Some(growth) = &mut curve.growth {
            growth.window = window;
        }
    }
    found
}

/// Each of these with its p-value corrected for the number of those that have one (Holm).
fn corrected<T>(all: Vec<T>, p: impl Fn(&T) -> Option<f64>) -> Vec<(T, Option<f64>)> {
    let raw: Vec<f64> = all.iter().filter_map(&p).collect();
    let mut corrected = holm(&raw).unwrap_or(raw).into_iter();
    let with_own = |one| match p(&one) {
        Some(_) => (one, corrected.next()),
        None => (one, None),
    };
    all.into_iter().map(with_own).collect()
}

/// p-value of a rise that is no larger than what the items of single checkpoints leave open. Neighbouring checkpoints
/// are nearly the same model, so that any network that only drifts gives a smooth curve, which orders of its
/// checkpoints by chance do not: on other items it would have gone elsewhere.
fn within_items(trajectory: &Trajectory, found: &Growth) -> f64 {
    let width = |m: &Milestone| m.value.high - m.value.low;
    let mut widths: Vec<f64> = trajectory.sound().map(width).collect();
    widths.sort_by(f64::total_cmp);
    // From the bounds of 95 % to the error of a difference.
    let error = widths[widths.len() / 2] / (2.0 * 1.96) * std::f64::consts::SQRT_2;
    match &found.ramp {
        Some(ramp) if error > 0.0 => 1.0 - normal_cdf((ramp.after - ramp.before) / error),
        _ => 0.0,
    }
}

/// Every curve by itself, on all cores: a sweep of eight sizes has hundreds.
fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = all.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let work = &work;
        let start = |part| scope.spawn(move || <[T]>::iter(part).map(work).collect::<Vec<R>>());
        let started: Vec<_> = all.chunks(share).map(start).collect();
        let done = started.into_iter().map(|part| part.join());
        done.flat_map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// Looks for the window of a trajectory; nothing with fewer than [`FEWEST`] sound checkpoints.
///
/// No interval is narrower than the gap between the two checkpoints around it: what happened between
/// them nobody has seen, however well a ramp fits.
pub fn find(trajectory: &Trajectory, search: &Search) -> Option<Growth> {
    let (x, y): (Vec<f64>, Vec<f64>) = trajectory.sound().map(|m| (m.x, m.value.value)).unzip();
    given(x.len() >= FEWEST)?;
    let mut found = growth(&x, &y, search).ok()?;
    if let Some(window) = &mut found.window {
        for edge in [&mut window.onset, &mut window.end] {
            // A hair's breadth: an edge at a checkpoint comes back from its logarithm a little off.
            let all = || x.iter().copied();
            let before = all().filter(|x| *x <= edge.value * (1.0 + 1e-9));
            let after = all().filter(|x| *x >= edge.value * (1.0 - 1e-9));
            edge.low = before.fold(0.0, f64::max).min(edge.low);
            edge.high = after.fold(f64::INFINITY, f64::min).max(edge.high);
        }
    }
    Some(found)
}

/// Everything about development that these runs show: nothing, unless some model was run at three
/// checkpoints or more.
pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let curves = trajectories(runs);
    let search = search(curves.len());
    let found = decide(curves, &search);
    let mut exhibits = Exhibits::default();
    let left_out = left_out(runs);
    let sizes = sizes::exhibits(runs, &found);
    if found.is_empty() {
        exhibits.tables.extend(tables::left_out(&left_out));
        exhibits.append(sizes);
        return exhibits;
    }
    exhibits.figures.extend(figures::overview(&found));
    let abilities = found.iter().map(|f| &f.trajectory.ability);
    for ability in distinct(abilities.filter(|a| a.part == Part::Score)) {
        let own = found.iter().filter(|f| f.trajectory.ability == *ability);
        let own: Vec<&GrowthCurve> = own.collect();
        let figures = &mut exhibits.figures;
        figures.push(figures::development(ability, &own));
        figures.extend(figures::fields(ability, &found));
        figures.extend(figures::phenomena(ability, runs, &own));
    }
    exhibits.tables.push(tables::onsets(&found));
    exhibits.tables.extend(tables::order_table(&found));
    exhibits.tables.extend(tables::doubts(&found));
    exhibits.tables.extend(tables::left_out(&left_out));
    let ages = ages::exhibits(runs, &found);
    for deeper in [sizes, ages, parts::exhibits(runs), words::exhibits(runs)] {
        exhibits.append(deeper);
    }
    exhibits
}

fn method() -> &'static str {
    "Method: a ramp over log tokens fitted by least squares, claimed only if it beats no growth in a \
     one-sided permutation test and rises by more than the items of a checkpoint leave open (the larger p \
     of the two, below 0.05 after Holm over all curves of the report, is printed); checkpoints in doubt \
     are drawn apart and not used."
}

/// Summaries of runs that never happened, for tests of trajectories and windows.
#[cfg(test)]
pub(crate) mod simulated {
    use std::collections::BTreeMap;

    use mary_contract::{
        Capabilities, Estimate, ModelCard, RunManifest, RunSummary, SummaryRow, Usage,
    };

    /// A run of one checkpoint whose score is `value` on `n` items.
    pub(crate) fn run(model: &str, task: &str, value: f64, n: usize) -> RunSummary {
        let mut card = ModelCard::new(model.parse().unwrap(), Capabilities::default());
        card.fingerprint = format!("of {model}");
        let half = 1.96 * (value * (1.0 - value) / n as f64).sqrt();
        RunSummary {
            manifest: RunManifest {
                schema: 1,
                id: model.to_owned(),
                models: vec![card],
                trials: 1,
                ..RunManifest::default()
            },
            rows: vec![SummaryRow {
                model: model.to_owned(),
                task: task.to_owned(),
                score: Some(Estimate {
                    value,
                    low: value - half,
                    high: value + half,
                    n,
                    method: "wilson".into(),
                }),
                chance: Some(0.5),
                human: None,
                samples: n,
                scored: n,
                ties: 0,
                constant_answer: None,
                chance_test: None,
                unscored: BTreeMap::new(),
                failed: BTreeMap::new(),
                measures: vec![],
                breakdowns: vec![],
                usage: Usage::default(),
            }],
            complete: true,
        }
    }
}

#[cfg(test)]
mod tests;
