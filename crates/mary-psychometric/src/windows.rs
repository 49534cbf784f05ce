//! Windows of development: when in training an ability grows, and which grows first.
//!
//! Method: a ramp on the logarithm of tokens (a flat start, a rise, a flat end) is fitted by least
//! squares over all onsets and ends; a window is claimed only when the best ramp beats no growth in a
//! permutation test; the interval of the onset holds every onset the data do not reject, calibrated by
//! a bootstrap of the residuals (`mary_stats::segmented`, docs/statistics.md). Step 0 has no place on
//! a log axis and is left out, as is every checkpoint that is in doubt.

use std::collections::BTreeMap;

use mary_contract::{
    Axis, Exhibits, Figure, FigureKind, Point, ReferenceLine, RunSummary, Scale, Series, Table,
};
use mary_stats::multiple::holm;
use mary_stats::segmented::{Growth, Search, Window, growth, order};

use crate::grammar::Phenomenon;
use crate::grammar::reference::published;
use crate::trajectories::{Ability, Milestone, Part, Trajectory, trajectories};

/// Checkpoints below which no window is looked for.
pub const FEWEST: usize = 8;

/// The paper's windows, in tokens: what, from, to.
pub const PAPER_WINDOWS: [(&str, f64, f64); 2] =
    [("language", 0.25e9, 7e9), ("fluid reasoning", 1e9, 20e9)];
const PAPER: &str = "Shah et al. 2024, section 5";

/// An ability of a size with what was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The trajectory.
    pub trajectory: Trajectory,
    /// The window, or that there is none; absent with too few checkpoints.
    pub growth: Option<Growth>,
}

impl Found {
    fn window(&self) -> Option<&Window> {
        self.growth.as_ref()?.window.as_ref()
    }
}

/// How windows are looked for in a report. The test looks at growth alone, one side, so that 0.025 is
/// what others call 5 %.
pub fn search() -> Search {
    Search { resamples: 500, permutations: 999, alpha: 0.025, ..Search::default() }
}

/// Looks for the window of a trajectory; nothing with fewer than [`FEWEST`] sound checkpoints.
pub fn find(trajectory: &Trajectory, search: &Search) -> Option<Growth> {
    let (x, y): (Vec<f64>, Vec<f64>) = trajectory.sound().map(|m| (m.x, m.value.value)).unzip();
    if x.len() < FEWEST {
        return None;
    }
    growth(&x, &y, search).ok()
}

/// Everything about development that these runs show: nothing, unless some model was run at three
/// checkpoints or more.
pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let found: Vec<Found> = trajectories(runs)
        .into_iter()
        .map(|trajectory| Found { growth: find(&trajectory, &search()), trajectory })
        .collect();
    if found.is_empty() {
        return Exhibits::default();
    }
    let mut exhibits = Exhibits::default();
    let mut abilities: Vec<Ability> = Vec::new();
    for ability in found.iter().map(|f| &f.trajectory.ability) {
        if !abilities.contains(ability) {
            abilities.push(ability.clone());
        }
    }
    exhibits.figures.extend(overview(&found));
    for ability in abilities.iter().filter(|a| a.part == Part::Score) {
        let own: Vec<&Found> = found.iter().filter(|f| f.trajectory.ability == *ability).collect();
        exhibits.figures.push(development(ability, &own));
        exhibits.figures.extend(fields(ability, &found));
        exhibits.figures.extend(phenomena(ability, runs, &own));
    }
    exhibits.tables.push(onsets(&found));
    exhibits.tables.extend(order_table(&found));
    exhibits.tables.extend(doubts(&found));
    exhibits
}

fn axis_of(found: &[&Found]) -> Axis {
    let title = if found.iter().all(|f| f.trajectory.in_tokens) {
        "tokens seen (log scale; step 0 has no place on it)"
    } else {
        "training steps (log scale; step 0 has no place on it)"
    };
    Axis { title: title.into(), scale: Scale::Log, range: None }
}

fn value_axis(title: &str) -> Axis {
    Axis { title: title.into(), scale: Scale::Linear, range: None }
}

fn point(trajectory: &Trajectory, milestone: &Milestone) -> Point {
    let tag = match &trajectory.ability.part {
        Part::Tag(tag, value) => format!("|{tag}={value}"),
        _ => String::new(),
    };
    Point {
        x: milestone.x,
        label: format!("step {}", milestone.step),
        y: milestone.value.value,
        low: Some(milestone.value.low),
        high: Some(milestone.value.high),
        samples: Some(format!("{}|{}{tag}", milestone.model, trajectory.ability.task)),
    }
}

/// A curve of sound checkpoints, and one of the doubtful beside it.
fn curves(name: &str, trajectory: &Trajectory) -> Vec<Series> {
    let series = |name: String, points: Vec<Point>| Series { name, published: false, points };
    let mut curves = vec![series(
        name.to_owned(),
        trajectory.sound().map(|m| point(trajectory, m)).collect(),
    )];
    let doubtful = trajectory.milestones.iter().filter(|m| m.doubt.is_some() && m.x > 0.0);
    // One series each: a line between two doubtful checkpoints would suggest a course.
    for milestone in doubtful {
        let name = format!("{name}, step {} (in doubt)", milestone.step);
        curves.push(series(name, vec![point(trajectory, milestone)]));
    }
    curves
}

/// A stretch of the horizontal axis that the report shades.
fn shading(name: String, from: f64, to: f64, published: bool) -> Series {
    let edge = |x| Point { x, label: "window".into(), ..Point::default() };
    Series { name, published, points: vec![edge(from), edge(to)] }
}

/// Which of the paper's windows an ability belongs to.
fn paper_window(ability: &Ability) -> Option<(&'static str, f64, f64)> {
    let which = match ability.task.as_str() {
        "psychometric/blimp" | "psychometric/grammar" | "psychometric/grammar-small" => 0,
        "psychometric/matrices" => 1,
        _ => return None,
    };
    PAPER_WINDOWS.get(which).copied()
}

/// The form of the paper's Figure 4: one ability, a curve for each size, its window shaded.
fn development(ability: &Ability, own: &[&Found]) -> Figure {
    let mut series = Vec::new();
    for found in own {
        series.extend(curves(&found.trajectory.label, &found.trajectory));
    }
    for found in own {
        if let Some(window) = found.window() {
            let name = format!("window of {}", found.trajectory.label);
            series.push(shading(name, window.onset.value, window.end.value, false));
        }
    }
    let reach = own.iter().flat_map(|f| f.trajectory.sound()).map(|m| m.x).fold(0.0, f64::max);
    let in_tokens = own.iter().all(|f| f.trajectory.in_tokens);
    if let Some((what, from, to)) = paper_window(ability).filter(|(_, from, _)| in_tokens && reach > *from)
    {
        series.push(shading(format!("the paper's window of {what}"), from, to, true));
    }
    if ability.task == "psychometric/blimp" && in_tokens {
        series.extend(published_blimp(own));
    }
    let mut references = Vec::new();
    if let Some(chance) = own.iter().find_map(|f| f.trajectory.chance) {
        references.push(ReferenceLine { name: "chance".into(), y: chance });
    }
    Figure {
        id: format!("psychometric-development-{}", ability.id()),
        title: format!("Development: {}", ability.title()),
        caption: format!(
            "Score at each checkpoint with its 95 % interval, one curve for each size; the form of Shah \
             et al. 2024, Figure 4. Shaded: the window of growth, from the fitted onset to the fitted end \
             (intervals in the table of onsets). {}",
            method()
        ),
        kind: FigureKind::Line,
        x: axis_of(own),
        y: value_axis("score"),
        series,
        references,
    }
}

fn method() -> &'static str {
    "Method: a ramp over log tokens fitted by least squares, claimed only if it beats no growth in a \
     one-sided permutation test (p < 0.025); checkpoints in doubt are drawn apart and not used."
}

/// Published curves of Pythia v0 for the sizes shown, or three sizes when none is Pythia.
fn published_blimp(own: &[&Found]) -> Vec<Series> {
    let mut curves: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for checkpoint in &published().pythia_v0 {
        curves.entry(&checkpoint.model).or_default().push(Point {
            x: checkpoint.tokens,
            label: format!("step {}", checkpoint.step),
            y: checkpoint.mean,
            ..Point::default()
        });
    }
    let shown = |model: &str| own.iter().any(|f| f.trajectory.label == model);
    let any = curves.keys().any(|model| shown(model));
    curves
        .into_iter()
        .filter(|(model, _)| {
            if any { shown(model) } else { ["pythia-70m", "pythia-1b", "pythia-12b"].contains(model) }
        })
        .map(|(model, points)| Series { name: format!("{model} v0"), published: true, points })
        .collect()
}

/// All abilities of each size in one picture.
fn overview(found: &[Found]) -> Vec<Figure> {
    let mut sizes: Vec<&str> = Vec::new();
    for size in found.iter().map(|f| f.trajectory.size.as_str()) {
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    let mut figures = Vec::new();
    for size in sizes {
        let own: Vec<&Found> = found
            .iter()
            .filter(|f| f.trajectory.size == size && f.trajectory.ability.part == Part::Score)
            .collect();
        if own.len() < 2 {
            continue;
        }
        let label = own.first().map_or(size, |f| f.trajectory.label.as_str());
        figures.push(Figure {
            id: format!("psychometric-development-of-{}", file_name(label)),
            title: format!("Development of {label}"),
            caption: "Every ability on its own scale (shares of right answers, R², rank correlations); \
                      compare when curves rise, not how high they stand."
                .into(),
            kind: FigureKind::Line,
            x: axis_of(&own),
            y: value_axis("score, each on its own scale"),
            series: own
                .iter()
                .flat_map(|f| curves(&f.trajectory.ability.title(), &f.trajectory))
                .collect(),
            references: vec![],
        });
    }
    figures
}

fn file_name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// The form of the paper's Figure 7: grammar by field.
fn fields(ability: &Ability, found: &[Found]) -> Option<Figure> {
    let own: Vec<&Found> = found
        .iter()
        .filter(|f| {
            f.trajectory.ability.task == ability.task
                && matches!(f.trajectory.ability.part, Part::Tag(..))
        })
        .collect();
    let first = own.first()?;
    let several = own.iter().any(|f| f.trajectory.size != first.trajectory.size);
    let series = own
        .iter()
        .flat_map(|f| {
            let Part::Tag(_, field) = &f.trajectory.ability.part else { return vec![] };
            let field = field.replace('_', "/");
            let name =
                if several { format!("{field}, {}", f.trajectory.label) } else { field };
            curves(&name, &f.trajectory)
        })
        .collect();
    Some(Figure {
        id: format!("psychometric-development-fields-{}", ability.id()),
        title: format!("Development by field: {}", ability.title()),
        caption: "Morphology, syntax and semantics; the form of Shah et al. 2024, Figure 7, which finds \
                  them to grow in this order."
            .into(),
        kind: FigureKind::Line,
        x: axis_of(&own),
        y: value_axis("share of pairs right"),
        series,
        references: vec![ReferenceLine { name: "chance".into(), y: 0.5 }],
    })
}

/// Phenomena by checkpoint, as a heat map for each size.
fn phenomena(ability: &Ability, runs: &[RunSummary], own: &[&Found]) -> Vec<Figure> {
    let value = |model: &str, phenomenon: Phenomenon| {
        let rows = runs.iter().flat_map(|r| &r.rows);
        let mut own = rows.filter(|r| r.model == model && r.task == ability.task);
        let breakdown = own.next_back()?.breakdowns.iter().find(|b| b.tag == "phenomenon")?;
        breakdown.values.get(phenomenon.name()).map(|e| e.value)
    };
    let mut figures = Vec::new();
    for found in own.iter().take(8) {
        let trajectory = &found.trajectory;
        let mut series: Vec<Series> = Phenomenon::ALL
            .iter()
            .map(|phenomenon| Series {
                name: phenomenon.name().to_owned(),
                published: false,
                points: trajectory
                    .milestones
                    .iter()
                    .filter_map(|m| {
                        Some(Point {
                            label: m.step.to_string(),
                            y: value(&m.model, *phenomenon)?,
                            samples: Some(format!(
                                "{}|{}|phenomenon={}",
                                m.model,
                                ability.task,
                                phenomenon.name()
                            )),
                            ..Point::default()
                        })
                    })
                    .collect(),
            })
            .collect();
        series.retain(|s| !s.points.is_empty());
        if series.is_empty() {
            continue;
        }
        figures.push(Figure {
            id: format!(
                "psychometric-development-phenomena-{}-{}",
                ability.id(),
                file_name(&trajectory.label)
            ),
            title: format!("Phenomena through training: {}, {}", ability.title(), trajectory.label),
            caption: "Share of pairs right, by phenomenon and training step; 0.5 is chance.".into(),
            kind: FigureKind::Heatmap,
            x: Axis { title: "training step".into(), scale: Scale::Category, range: None },
            y: Axis { title: "phenomenon".into(), scale: Scale::Category, range: None },
            series,
            references: vec![],
        });
    }
    figures
}

/// Large numbers with a unit, as people say them.
pub fn amount(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1e9 => (v / 1e9, " B"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = if scaled >= 99.5 { 0 } else if scaled >= 9.95 { 1 } else { 2 };
    format!("{scaled:.digits$}{unit}")
}

/// Onset and end of every ability and size.
fn onsets(found: &[Found]) -> Table {
    let p: Vec<f64> = found.iter().filter_map(|f| Some(f.growth.as_ref()?.p)).collect();
    let mut corrected = holm(&p).unwrap_or(p).into_iter();
    let mut rows = Vec::new();
    for Found { trajectory, growth } in found {
        let n = trajectory.sound().count();
        let mut row =
            vec![trajectory.ability.title(), trajectory.label.clone(), n.to_string()];
        match growth {
            None => row.extend([format!("fewer than {FEWEST} checkpoints")].into_iter().chain(
                std::iter::repeat_n(String::new(), 5),
            )),
            Some(growth) => {
                let p = corrected.next().unwrap_or(growth.p);
                row.extend(cells(growth, p));
            }
        }
        rows.push(row);
    }
    let mut published = Vec::new();
    for (what, from, to) in PAPER_WINDOWS {
        published.push(rows.len());
        rows.push(vec![
            format!("{what} ({PAPER})"),
            "Pythia 70M–12B".into(),
            "154".into(),
            "read off by eye".into(),
            amount(from),
            amount(to),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    Table {
        id: "psychometric-onsets".into(),
        title: "Windows of development".into(),
        caption: format!(
            "Onset and end of growth with 95 % intervals, in tokens seen (in steps where tokens are not \
             known). p: permutation test against no growth, after Holm over all rows; a window is claimed \
             when the test of its own row is below 0.025 (one-sided). Slope: growth for each factor of ten in tokens. \
             {}",
            method()
        ),
        head: ["ability", "size", "checkpoints", "growth", "onset", "end", "slope", "rise", "remark"]
            .map(str::to_owned)
            .to_vec(),
        rows,
        published,
    }
}

fn cells(growth: &Growth, p: f64) -> Vec<String> {
    let test = format!("p = {p:.3}");
    let Some(window) = &growth.window else {
        let mut row = vec![format!("none ({test})")];
        row.extend(std::iter::repeat_n(String::new(), 5));
        return row;
    };
    let between = |i: &mary_stats::Interval, show: &dyn Fn(f64) -> String| {
        format!("{} ({} to {})", show(i.value), show(i.low), show(i.high))
    };
    let plain = |v: f64| format!("{v:.3}");
    let remark = match (window.onset_seen, window.end_seen) {
        (true, true) => "",
        (false, true) => "onset only bounded: it may lie before the first checkpoint",
        (true, false) => "end only bounded: growth may go on after the last checkpoint",
        (false, false) => "onset and end only bounded by the first and last checkpoint",
    };
    vec![
        format!("yes ({test})"),
        between(&window.onset, &amount),
        between(&window.end, &amount),
        between(&window.slope, &plain),
        between(&window.rise, &plain),
        remark.to_owned(),
    ]
}

/// Which of two abilities begins to grow first, for every size with two windows.
fn order_table(found: &[Found]) -> Option<Table> {
    let mut tests: Vec<(String, String, String, f64)> = Vec::new();
    for (i, first) in found.iter().enumerate() {
        for second in found.iter().skip(i + 1) {
            let (a, b) = (&first.trajectory, &second.trajectory);
            let same_kind = (a.ability.part == Part::Score && b.ability.part == Part::Score)
                || (a.ability.task == b.ability.task
                    && matches!((&a.ability.part, &b.ability.part), (Part::Tag(..), Part::Tag(..))));
            if a.size != b.size || !same_kind {
                continue;
            }
            if let (Some(one), Some(other)) = (first.window(), second.window())
                && let Ok(share) = order(one, other)
            {
                tests.push((a.label.clone(), a.ability.title(), b.ability.title(), share));
            }
        }
    }
    if tests.is_empty() {
        return None;
    }
    let two_sided: Vec<f64> =
        tests.iter().map(|(.., share)| (2.0 * share.min(1.0 - share)).min(1.0)).collect();
    let corrected = holm(&two_sided).unwrap_or(two_sided);
    let rows = tests
        .into_iter()
        .zip(corrected)
        .map(|((size, a, b, share), p)| {
            let verdict = match (p < 0.05, share > 0.5) {
                (true, true) => format!("{a} first"),
                (true, false) => format!("{b} first"),
                (false, _) => "not told apart".to_owned(),
            };
            vec![size, a, b, format!("{share:.3}"), format!("{p:.3}"), verdict]
        })
        .collect();
    Some(Table {
        id: "psychometric-order".into(),
        title: "Which grows first".into(),
        caption: "Share of bootstrap resamples in which the first ability's onset lies before the \
                  second's (ties one half), two-sided p after Holm over all rows. The curves' errors are \
                  taken as independent. The paper: language before fluid reasoning; morphology before \
                  syntax before semantics."
            .into(),
        head: ["size", "first", "second", "first is earlier", "p (Holm)", "order"]
            .map(str::to_owned)
            .to_vec(),
        rows,
        published: vec![],
    })
}

/// What was doubted and why.
fn doubts(found: &[Found]) -> Option<Table> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for Found { trajectory, .. } in found {
        for milestone in &trajectory.milestones {
            if let Some(doubt) = &milestone.doubt {
                rows.push(vec![
                    trajectory.label.clone(),
                    format!("step {}", milestone.step),
                    trajectory.ability.title(),
                    doubt.clone(),
                ]);
            }
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "psychometric-doubts".into(),
        title: "Checkpoints in doubt".into(),
        caption: "Drawn apart and used for no window.".into(),
        head: ["size", "checkpoint", "ability", "why"].map(str::to_owned).to_vec(),
        rows,
        published: vec![],
    })
}

/// Summaries of runs that never happened, for tests of trajectories and windows.
#[cfg(test)]
pub(crate) mod simulated {
    use std::collections::BTreeMap;

    use mary_contract::{
        Capabilities, Estimate, ModelCard, ModelSettings, RunManifest, RunSummary, SummaryRow,
        Usage,
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
                created: String::new(),
                version: String::new(),
                command: vec![],
                models: vec![card],
                model_settings: ModelSettings::default(),
                judge: None,
                tasks: vec![],
                trials: 1,
                seed: 0,
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
#[path = "windows_tests.rs"]
mod tests;
