//! What runs of minimal pairs show: by phenomenon, by set beside people and published models, and
//! fresh pairs beside published ones.

use std::collections::BTreeMap;

use mary_contract::{
    Axis, Cell, Conditions, Estimate, Exhibits, Figure, FigureKind, NumberColumns, Point,
    ReferenceLine, RunSummary, Scale, Series, SummaryRow, Table, variants,
};

use super::Phenomenon;
use super::reference::{ANSWERERS, by_phenomenon, mean, published};
use crate::trajectories::{conditions, stage};

const BLIMP: &str = "psychometric/blimp";
const FRESH: &str = "psychometric/grammar";
const TASKS: [(&str, &str); 3] = [
    (BLIMP, "BLiMP"),
    (FRESH, "fresh pairs"),
    ("psychometric/grammar-small", "small world"),
];

/// A model on one of the tasks.
struct Result<'a> {
    row: &'a SummaryRow,
    conditions: Conditions,
    /// Where the pairs come from, and what tells this result from others of the model on them.
    source: String,
}

/// Rows of minimal pairs. Of a model that was asked the same at several checkpoints only the last is
/// shown: the figures of development show the others.
fn results(runs: &[RunSummary]) -> Vec<Result<'_>> {
    let rows = || {
        runs.iter()
            .flat_map(|run| run.rows.iter().map(move |row| (row, conditions(run, row))))
    };
    let mut last: BTreeMap<(String, Conditions), u64> = BTreeMap::new();
    for (row, conditions) in rows() {
        if let Some(stage) = stage(&row.model, None) {
            let step = last.entry((stage.size, conditions)).or_default();
            *step = stage.step.max(*step);
        }
    }
    let mut found: Vec<Result<'_>> = rows()
        .filter_map(|(row, conditions)| {
            let (_, source) = TASKS.iter().find(|(task, _)| *task == row.task)?;
            row.score.as_ref()?;
            let newest = stage(&row.model, None)
                .is_none_or(|s| last.get(&(s.size, conditions.clone())) == Some(&s.step));
            newest.then(|| Result {
                row,
                conditions,
                source: (*source).to_owned(),
            })
        })
        .collect();
    let said: Vec<String> = found.iter().map(|own| variant(own, &found)).collect();
    for (result, variant) in found.iter_mut().zip(said) {
        result.source.push_str(&variant);
    }
    found
}

/// What tells a result from others of its model on the same pairs: ` (convention = lm-eval)`.
fn variant(own: &Result<'_>, all: &[Result<'_>]) -> String {
    let alike: Vec<&Conditions> = all
        .iter()
        .filter(|r| (&r.row.model, &r.row.task) == (&own.row.model, &own.row.task))
        .map(|r| &r.conditions)
        .collect();
    let place = alike.iter().position(|c| **c == own.conditions);
    match place.and_then(|i| variants(&alike).into_iter().nth(i)) {
        Some(variant) if !variant.is_empty() => format!(" ({variant})"),
        _ => String::new(),
    }
}

fn by<'a>(row: &'a SummaryRow, tag: &str, value: &str) -> Option<&'a Estimate> {
    row.breakdowns
        .iter()
        .find(|b| b.tag == tag)?
        .values
        .get(value)
}

/// A measured share, with its pairs and its interval.
fn measured(estimate: Option<&Estimate>) -> Cell {
    estimate.map_or_else(Cell::default, |e| Cell::percent(e, 1))
}

/// A published share.
fn printed(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::default, |v| {
        Cell::printed(format!("{:.1}", 100.0 * v))
    })
}

/// Tables and figures of minimal pairs.
pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let results = results(runs);
    if results.is_empty() {
        return Exhibits::default();
    }
    let mut exhibits = Exhibits::default();
    exhibits.tables.push(phenomena(&results));
    exhibits.tables.extend(sets(&results));
    exhibits.tables.extend(gap(&results));
    exhibits.figures.push(bars(&results));
    exhibits
}

fn phenomena(results: &[Result<'_>]) -> Table {
    let mut head: Vec<String> = ["model", "pairs", "all", "per token", "ties"]
        .map(str::to_owned)
        .to_vec();
    head.extend(Phenomenon::ALL.map(|p| p.short().to_owned()));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for Result { row, source, .. } in results {
        let mut cells = vec![
            row.model.clone().into(),
            source.clone().into(),
            measured(row.score.as_ref()),
            measured(row.measure("per_token")),
            measured(row.measure("tie_rate")),
        ];
        cells.extend(Phenomenon::ALL.map(|p| measured(by(row, "phenomenon", p.name()))));
        rows.push(cells);
    }
    let mut known = Vec::new();
    for answerer in ANSWERERS {
        known.push(rows.len());
        let mut cells = vec![
            format!("{} (Warstadt et al. 2020)", answerer.0).into(),
            "BLiMP".into(),
            printed(mean(answerer, |_| true)),
            Cell::default(),
            Cell::default(),
        ];
        cells.extend(Phenomenon::ALL.map(|p| printed(by_phenomenon(answerer, p))));
        rows.push(cells);
    }
    Table {
        id: "psychometric-grammar-phenomena".into(),
        title: "Grammar by phenomenon".into(),
        caption: "Percent of pairs in which the good sentence is the more probable one (sum over the \
                  sentence), with its pairs and 95 % interval (of all: over paradigms; of a phenomenon: \
                  over its pairs, its paradigms taken as they are); per token: by mean log-probability; ties: percent of \
                  exact ties, which count one half. Chance is 50. The form of Warstadt et al. 2020, \
                  Table 3; published rows are means over their sets."
            .into(),
        head,
        rows,
        published: known,
        numbers: NumberColumns::From(2),
    }
}

fn sets(results: &[Result<'_>]) -> Option<Table> {
    let shown = || results.iter().filter(|r| r.row.task == BLIMP).take(6);
    let own: Vec<&SummaryRow> = shown().map(|r| r.row).collect();
    if own.is_empty() {
        return None;
    }
    let mut head: Vec<String> = ["set", "phenomenon", "field", "people", "GPT-2"]
        .map(str::to_owned)
        .to_vec();
    head.extend(shown().map(|r| {
        let variant = r.source.strip_prefix("BLiMP").unwrap_or_default();
        format!("{}{variant}", r.row.model)
    }));
    let rows = published()
        .sets
        .iter()
        .map(|set| {
            let mut cells = vec![
                set.set.clone().into(),
                Phenomenon::upstream(&set.term)
                    .map_or("", Phenomenon::name)
                    .into(),
                set.field.replace('_', "/").into(),
                printed(set.people),
                printed(Some(set.gpt2)),
            ];
            cells.extend(own.iter().map(|row| measured(by(row, "set", &set.set))));
            cells
        })
        .collect();
    Some(Table {
        id: "psychometric-blimp-sets".into(),
        title: "BLiMP by set".into(),
        caption: "Percent right with its pairs and 95 % interval. People: agreement of forced choices with the authors (upstream's \
                  human_validation_summary.csv); GPT-2: Warstadt et al. 2020."
            .into(),
        head,
        rows,
        published: vec![],
        numbers: NumberColumns::From(3),
    })
}

/// First minus second of two shares of different pairs: their intervals are combined as of independent
/// samples (Newcombe's way), and never leave the scale.
fn independent(first: &Estimate, second: &Estimate) -> Estimate {
    let value = first.value - second.value;
    Estimate {
        value,
        low: value - (first.value - first.low).hypot(second.high - second.value),
        high: value + (first.high - first.value).hypot(second.value - second.low),
        n: first.n + second.n,
        method: "newcombe".into(),
    }
}

/// Fresh pairs beside published ones, for every model that was asked both.
fn gap(results: &[Result<'_>]) -> Option<Table> {
    let mut rows = Vec::new();
    for known in results.iter().filter(|r| r.row.task == BLIMP) {
        // Asked in the same manner: what only one of the two tasks has (the set, the number of pairs,
        // the seed) cannot be alike.
        let fresh = results.iter().find(|r| {
            r.row.task == FRESH
                && r.row.model == known.row.model
                && known
                    .conditions
                    .alike_where_shared(&r.conditions, &["seed"])
        });
        let Some(fresh) = fresh else { continue };
        let mut push = |name: &str, a: Option<&Estimate>, b: Option<&Estimate>| {
            if let (Some(a), Some(b)) = (a, b) {
                rows.push(vec![
                    format!("{}{}", known.row.model, variant(known, results)).into(),
                    name.into(),
                    measured(Some(a)),
                    measured(Some(b)),
                    Cell::points(&independent(a, b), 1),
                ]);
            }
        };
        push("all", known.row.score.as_ref(), fresh.row.score.as_ref());
        for p in Phenomenon::ALL {
            let of = |r: &Result<'_>| by(r.row, "phenomenon", p.name()).cloned();
            push(p.name(), of(known).as_ref(), of(fresh).as_ref());
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "psychometric-grammar-gap".into(),
        title: "Published pairs and fresh ones".into(),
        caption: "Percent right on BLiMP, which has been public since 2020, and on pairs nobody has \
                  seen, each with its pairs and 95 % interval; the difference with Newcombe's. The phenomena are the same, the paradigms and the difficulty of the words are \
                  not: a difference is a question, not a proof of contamination."
            .into(),
        head: ["model", "phenomenon", "BLiMP", "fresh", "BLiMP − fresh"].map(str::to_owned).to_vec(),
        rows,
        published: vec![],
        numbers: NumberColumns::From(2),
    })
}

fn bars(results: &[Result<'_>]) -> Figure {
    let mut series: Vec<Series> = results
        .iter()
        .take(8)
        .map(|Result { row, source, .. }| Series {
            name: format!("{} ({source})", row.model),
            published: false,
            points: Phenomenon::ALL
                .iter()
                .filter_map(|p| {
                    let estimate = by(row, "phenomenon", p.name())?;
                    Some(Point {
                        x: 0.0,
                        label: p.name().to_owned(),
                        y: 100.0 * estimate.value,
                        low: Some(100.0 * estimate.low),
                        high: Some(100.0 * estimate.high),
                        samples: Some(format!(
                            "{}|{}|phenomenon={}",
                            row.model,
                            row.task,
                            p.name()
                        )),
                    })
                })
                .collect(),
        })
        .collect();
    let [people, ..] = ANSWERERS;
    series.push(Series {
        name: "people, BLiMP (Warstadt et al. 2020)".into(),
        published: true,
        points: Phenomenon::ALL
            .iter()
            .filter_map(|p| {
                Some(Point {
                    label: p.name().to_owned(),
                    y: 100.0 * by_phenomenon(people, *p)?,
                    ..Point::default()
                })
            })
            .collect(),
    });
    Figure {
        id: "psychometric-grammar-bars".into(),
        title: "Grammar by phenomenon".into(),
        caption: "Percent of pairs right, with 95 % intervals; chance is 50.".into(),
        kind: FigureKind::Bar,
        x: Axis {
            title: "phenomenon".into(),
            scale: Scale::Category,
            range: None,
        },
        y: Axis {
            title: "pairs right (%)".into(),
            scale: Scale::Linear,
            range: Some((0.0, 100.0)),
        },
        series,
        references: vec![ReferenceLine {
            name: "chance".into(),
            y: 50.0,
        }],
        ranges: vec![],
    }
}
