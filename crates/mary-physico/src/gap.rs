//! The parrot gap: how much better a model does on a concept in words (low level) than on the same
//! concept with the same option sets in grids (high level).

use mary_contract::{
    Axis, Cell, Estimate, Figure, FigureKind, NumberColumns, Point, ReferenceLine, RunSummary,
    Scale, Series, Table,
};
use mary_stats::{Interval, difference, score_interval};

use crate::instances::Split;
use crate::results::{Outcome, outcomes, printed};
use crate::setup::Source;

/// One concept, low against high.
#[derive(Debug, Clone, PartialEq)]
pub struct ConceptGap {
    /// `core: gravity`.
    pub pair: String,
    /// Accuracy in words.
    pub low: Estimate,
    /// Accuracy in grids.
    pub high: Estimate,
    /// Low minus high.
    pub difference: Estimate,
}

/// One model, low against high, under one way of asking the high level.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The model.
    pub model: String,
    /// The high-level task.
    pub task: String,
    /// How it was asked.
    pub how: String,
    /// The low-level task it is held against: definitions or photographs.
    pub against: String,
    /// Concept by concept.
    pub concepts: Vec<ConceptGap>,
    /// Mean over concepts, low level.
    pub low: f64,
    /// Mean over concepts, high level.
    pub high: f64,
    /// Mean of the concepts' differences, with its interval over concepts where there are enough.
    pub overall: (f64, Option<Estimate>),
}

/// The low-level tasks whose option sets are those of grids.
const LOW: [&str; 2] = ["physico/definition", "physico/photo"];

/// Every gap the runs hold: definitions, and photographs where there are any, against each high-level task
/// with fresh instances of the same seed, whose option sets are then the same.
pub fn parrot_gaps(runs: &[RunSummary]) -> Vec<Gap> {
    let all = outcomes(runs);
    let mut gaps = Vec::new();
    for high in all.iter().filter(|o| {
        (o.task().starts_with("physico/core-") || o.task().starts_with("physico/associative-"))
            && o.setup.source == Source::Fresh
    }) {
        for task in LOW {
            let lows = || {
                all.iter().filter(|o| {
                    o.task() == task && o.model() == high.model() && o.setup.seed == high.setup.seed
                })
            };
            // Words scored by letter and words written are different questions: only the same way counts.
            let low = lows().find(|o| o.setup.mode == high.setup.mode);
            if let Some(gap) = low.and_then(|low| gap(low, high)) {
                gaps.push(gap);
            }
        }
    }
    gaps
}

/// High-level tasks that have no gap because the low level was asked of the same model and seed, but
/// another way.
pub fn left_out(runs: &[RunSummary]) -> Option<Table> {
    let all = outcomes(runs);
    let mut rows = Vec::new();
    for high in all.iter().filter(|o| {
        (o.task().starts_with("physico/core-") || o.task().starts_with("physico/associative-"))
            && o.setup.source == Source::Fresh
    }) {
        for task in LOW {
            let lows: Vec<&Outcome<'_>> = all
                .iter()
                .filter(|o| {
                    o.task() == task && o.model() == high.model() && o.setup.seed == high.setup.seed
                })
                .collect();
            if !lows.is_empty() && lows.iter().all(|o| o.setup.mode != high.setup.mode) {
                let how: Vec<String> = lows.iter().map(|o| o.how()).collect();
                rows.push(vec![
                    high.model().to_owned(),
                    high.task().to_owned(),
                    high.how(),
                    short(task).to_owned(),
                    how.join("; "),
                ]);
            }
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "physico-parrot-gap-left-out".into(),
        title: "Without a parrot gap".into(),
        caption: "The low level was asked another way (scored letters against written answers), which would \
                  compare ways of asking; run it the same way to get a gap."
            .into(),
        head: ["model", "high-level task", "how", "low level", "asked as"]
            .map(String::from)
            .to_vec(),
        rows: Cell::rows(rows),
        published: vec![],
        numbers: NumberColumns::At(vec![]),
    })
}

fn gap(low: &Outcome<'_>, high: &Outcome<'_>) -> Option<Gap> {
    let mut concepts = Vec::new();
    for pair in high.values("pair") {
        let (Some(l), Some(h)) = (low.part("pair", pair), high.part("pair", pair)) else {
            continue;
        };
        concepts.push(ConceptGap {
            pair: pair.to_owned(),
            difference: independent(&l.estimate, &h.estimate),
            low: l.estimate,
            high: h.estimate,
        });
    }
    if concepts.is_empty() {
        return None;
    }
    let mean =
        |of: fn(&ConceptGap) -> f64| concepts.iter().map(of).sum::<f64>() / concepts.len() as f64;
    let (low_mean, high_mean) = (mean(|c| c.low.value), mean(|c| c.high.value));
    let differences: Vec<f64> = concepts.iter().map(|c| c.difference.value).collect();
    let overall = over_concepts(&differences)?;
    Some(Gap {
        model: high.model().to_owned(),
        task: high.task().to_owned(),
        how: high.how(),
        against: low.task().to_owned(),
        low: low_mean,
        high: high_mean,
        overall,
        concepts,
    })
}

/// Low minus high for one concept. Definition and grids are different questions, so that the two
/// intervals are combined as of independent samples (Newcombe's way).
fn independent(low: &Estimate, high: &Estimate) -> Estimate {
    let value = low.value - high.value;
    Estimate {
        value,
        low: value - (low.value - low.low).hypot(high.high - high.value),
        high: value + (low.high - low.value).hypot(high.value - high.low),
        n: low.n + high.n,
        method: "newcombe".into(),
    }
}

/// The mean over concepts with its interval, which needs [`difference::FEWEST`] of them.
pub(crate) fn over_concepts(differences: &[f64]) -> Option<(f64, Option<Estimate>)> {
    let (value, bounds) = difference::over_units(differences).ok()?;
    Some((value, bounds.map(|i| estimate_of(&i))))
}

pub(crate) fn estimate_of(i: &Interval) -> Estimate {
    Estimate {
        value: i.value,
        low: i.low,
        high: i.high,
        n: i.n,
        method: i.method.into(),
    }
}

/// A mean difference over concepts; fewer than [`difference::FEWEST`] have no interval, and the cell says so.
pub(crate) fn mean_cell((value, estimate): &(f64, Option<Estimate>), concepts: usize) -> Cell {
    match estimate {
        Some(estimate) => Cell::points(estimate, 1).over("concepts"),
        None => Cell::too_few(format!("{:+.1}", 100.0 * value), concepts, "concepts"),
    }
}

/// The mean of the concepts' accuracies, with an interval over concepts from five on.
pub(crate) fn average_cell(values: &[f64]) -> Cell {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    match score_interval(values, None) {
        Ok(found) if values.len() >= difference::FEWEST => {
            Cell::percent(&estimate_of(&found), 1).over("concepts")
        }
        _ => Cell::too_few(printed(100.0 * mean, None), values.len(), "concepts"),
    }
}

/// The gaps of every model, one line each.
pub fn overall_table(gaps: &[Gap]) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = gaps
        .iter()
        .map(|g| {
            let mean = |of: fn(&ConceptGap) -> f64| {
                average_cell(&g.concepts.iter().map(of).collect::<Vec<f64>>())
            };
            vec![
                g.model.clone().into(),
                g.task.clone().into(),
                g.how.clone().into(),
                short(&g.against).into(),
                Cell::count(g.concepts.len()),
                mean(|c| c.low.value),
                mean(|c| c.high.value),
                mean_cell(&g.overall, g.concepts.len()),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "physico-parrot-gap".into(),
        title: "The parrot gap".into(),
        caption: "Accuracy in % on masked definitions or photographs (low level) and on grids (high level) \
                  with the same option sets, means over concepts (with an interval from five on); low minus high paired by concept, with its 95 % \
                  interval over concepts (Student's t) from five concepts on. A gap above zero: the model can say more than it can see."
            .into(),
        head: ["model", "high-level task", "how", "low level", "concepts", "low", "high", "low − high"]
            .map(String::from)
            .to_vec(),
        rows,
        published: vec![],
        numbers: NumberColumns::From(3),
    })
}

/// The gaps concept by concept.
pub fn concept_table(gaps: &[Gap]) -> Option<Table> {
    let mut rows = Vec::new();
    for gap in gaps {
        let mut concepts: Vec<&ConceptGap> = gap.concepts.iter().collect();
        concepts.sort_by(|a, b| b.difference.value.total_cmp(&a.difference.value));
        for c in concepts {
            rows.push(vec![
                gap.model.clone().into(),
                gap.task.clone().into(),
                gap.how.clone().into(),
                short(&gap.against).into(),
                concept_of(&c.pair).into(),
                Cell::percent(&c.low, 1),
                Cell::percent(&c.high, 1),
                Cell::points(&c.difference, 1),
            ]);
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "physico-parrot-gap-concepts".into(),
        title: "The parrot gap by concept".into(),
        caption: "The same, concept by concept, the widest gap first. The intervals combine those of the \
                  two accuracies as of independent samples; with few items of a concept they are wide."
            .into(),
        head: ["model", "high-level task", "how", "low level", "concept", "low", "high", "low − high"]
            .map(String::from)
            .to_vec(),
        rows,
        published: vec![],
        numbers: NumberColumns::From(4),
    })
}

fn concept_of(pair: &str) -> &str {
    pair.split_once(": ").map_or(pair, |(_, concept)| concept)
}

/// A scatter of low against high, a point a concept.
pub fn scatter(gaps: &[Gap]) -> Option<Figure> {
    let series: Vec<Series> = gaps
        .iter()
        .map(|gap| Series {
            name: format!(
                "{} ({} against {}, {})",
                gap.model,
                short(&gap.task),
                short(&gap.against),
                gap.how
            ),
            published: false,
            points: gap
                .concepts
                .iter()
                .map(|c| Point {
                    x: 100.0 * c.low.value,
                    label: concept_of(&c.pair).to_owned(),
                    y: 100.0 * c.high.value,
                    low: None,
                    high: None,
                    samples: Some(format!("{}|{}|pair={}", gap.model, gap.task, c.pair)),
                })
                .collect(),
        })
        .collect();
    (!series.is_empty()).then(|| Figure {
        id: "physico-low-high".into(),
        title: "Said and seen, concept by concept".into(),
        caption:
            "Each point is a concept: accuracy on its definitions or photographs (across) and on its grids \
                  with the same option sets (up). Points at the lower right are said but not seen."
                .into(),
        kind: FigureKind::Scatter { fit: false },
        x: Axis {
            title: "low level, accuracy (%)".into(),
            scale: Scale::Linear,
            range: Some((-2.0, 102.0)),
        },
        y: Axis {
            title: "high level: grids, accuracy (%)".into(),
            scale: Scale::Linear,
            range: Some((-2.0, 102.0)),
        },
        series,
        references: vec![ReferenceLine {
            name: "chance".into(),
            y: 25.0,
        }],
        ranges: vec![],
    })
}

/// A task without its family.
pub fn short(task: &str) -> &str {
    task.strip_prefix("physico/").unwrap_or(task)
}

/// The split of a concept in a table's order: core-test first, as in the paper's Table 10.
pub fn order(pair: &str) -> (usize, String) {
    let concept = concept_of(pair);
    let place = match (pair.starts_with("core"), Split::of_core(concept)) {
        (true, Some(Split::CoreTest)) => 0,
        (true, _) => 1,
        (false, _) => 2,
    };
    (place, concept.to_owned())
}
