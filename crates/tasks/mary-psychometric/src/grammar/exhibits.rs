//! What runs of minimal pairs show: by phenomenon, by set beside people and published models, and
//! fresh pairs beside published ones.

use mary_contract::{
    Cell, Conditions, Estimate, Exhibits, Figure, Point, RunSummary, Series, SummaryRow, Table,
};

use super::Phenomenon;
use super::reference::{ANSWERERS, by_phenomenon, mean, published};
use crate::exhibits::{DECLARED, TaskResult, at_the_end, found, in_brackets};

const BLIMP: &str = "psychometric/blimp";
const FRESH: &str = "psychometric/grammar";
const TASKS: [(&str, &str); 3] = [
    (BLIMP, "BLiMP"),
    (FRESH, "fresh pairs"),
    ("psychometric/grammar-small", "small world"),
];

struct Result<'a> {
    row: &'a SummaryRow,
    conditions: Conditions,
    /// Where the pairs come from, and what tells this result from others of the model on them.
    source: String,
}

/// Rows of minimal pairs. Of a model that was asked the same at several checkpoints only the last is
/// shown: the figures of development show the others.
fn results<'a>(runs: &'a [RunSummary]) -> Vec<Result<'a>> {
    let all = at_the_end(&found(runs));
    let result = |one: &TaskResult<'a>| {
        let (_, source) = TASKS.iter().find(|(task, _)| *task == one.row.task)?;
        one.row.score.as_ref()?;
        Some(Result {
            row: one.row,
            conditions: one.conditions(),
            source: (*source).to_owned(),
        })
    };
    let mut found: Vec<Result<'_>> = all.iter().filter_map(result).collect();
    let said = variants(&found);
    for (result, variant) in found.iter_mut().zip(said) {
        result.source.push_str(&variant);
    }
    found
}

/// What tells each result from others of its model on the same pairs: ` (convention = lm-eval)`.
fn variants(all: &[Result<'_>]) -> Vec<String> {
    let keyed = all
        .iter()
        .map(|r| ((&r.row.model, &r.row.task), &r.conditions));
    in_brackets(&keyed.collect::<Vec<_>>())
}

fn measured(estimate: Option<&Estimate>) -> Cell {
    estimate.map_or_else(Cell::default, |e| Cell::percent(e, 1))
}

fn printed(value: Option<f64>) -> Cell {
    let printed = |v: f64| Cell::printed(format!("{:.1}", 100.0 * v));
    value.map_or_else(Cell::default, printed)
}

pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let results = results(runs);
    if results.is_empty() {
        return Exhibits::default();
    }
    let tables = [Some(phenomena(&results)), sets(&results), gap(&results)];
    Exhibits::default()
        .with_tables(tables)
        .with_figures([Some(bars(&results))])
}

fn phenomena(results: &[Result<'_>]) -> Table {
    let rows = results.iter().map(|Result { row, source, .. }| {
        let mut cells = vec![
            row.model.clone().into(),
            source.clone().into(),
            measured(row.score.as_ref()),
            measured(row.measure("per_token")),
            measured(row.measure("tie_rate")),
        ];
        cells.extend(Phenomenon::ALL.map(|p| measured(row.part("phenomenon", p.name()))));
        cells
    });
    let known = ANSWERERS.iter().map(|answerer| {
        let mut cells = vec![
            format!("{} (Warstadt et al. 2020)", answerer.0).into(),
            "BLiMP".into(),
            printed(mean(*answerer, |_| true)),
            Cell::default(),
            Cell::default(),
        ];
        cells.extend(Phenomenon::ALL.map(|p| printed(by_phenomenon(*answerer, p))));
        cells
    });
    DECLARED
        .table("psychometric-grammar-phenomena")
        .with_heads("phenomena", Phenomenon::ALL.map(|p| p.short()))
        .with_rows(rows)
        .with_published(known)
}

fn sets(results: &[Result<'_>]) -> Option<Table> {
    let own = results.iter().filter(|r| r.row.task == BLIMP);
    let own: Vec<&Result<'_>> = own.take(6).collect();
    let heads = own.iter().map(|r| {
        let variant = r.source.strip_prefix("BLiMP").unwrap_or_default();
        format!("{}{variant}", r.row.model)
    });
    let rows = published().sets.iter().map(|set| {
        let phenomenon = Phenomenon::upstream(&set.term).map_or("", Phenomenon::name);
        let mut cells = vec![
            set.set.clone().into(),
            phenomenon.into(),
            set.field.replace('_', "/").into(),
            printed(set.people),
            printed(Some(set.gpt2)),
        ];
        cells.extend(own.iter().map(|r| measured(r.row.part("set", &set.set))));
        cells
    });
    let table = DECLARED.table("psychometric-blimp-sets").with_rows(rows);
    (!own.is_empty()).then(|| table.with_heads("models", heads))
}

/// Fresh pairs beside published ones, for every model that was asked both.
fn gap(results: &[Result<'_>]) -> Option<Table> {
    let mut rows = Vec::new();
    let named = results.iter().zip(variants(results));
    for (known, variant) in named.filter(|(r, _)| r.row.task == BLIMP) {
        // Asked in the same manner: what only one of the two tasks has (the set, the number of pairs,
        // the seed) cannot be alike.
        let alike = |r: &&Result<'_>| {
            known
                .conditions
                .alike_where_shared(&r.conditions, &["seed"])
        };
        let mut fresh = results.iter().filter(|r| r.row.task == FRESH);
        let fresh = fresh.find(|r| r.row.model == known.row.model && alike(r));
        let Some(fresh) = fresh else { continue };
        let mut push = |name: &str, a: Option<&Estimate>, b: Option<&Estimate>| {
            if let (Some(a), Some(b)) = (a, b) {
                rows.push(vec![
                    format!("{}{variant}", known.row.model).into(),
                    name.into(),
                    measured(Some(a)),
                    measured(Some(b)),
                    Cell::points(&a.minus(b), 1),
                ]);
            }
        };
        push("all", known.row.score.as_ref(), fresh.row.score.as_ref());
        for p in Phenomenon::ALL {
            let [a, b] = [known, fresh].map(|r| r.row.part("phenomenon", p.name()));
            push(p.name(), a, b);
        }
    }
    DECLARED.rows("psychometric-grammar-gap", rows)
}

fn bars(results: &[Result<'_>]) -> Figure {
    let series = results.iter().take(8).map(|Result { row, source, .. }| {
        let points = Phenomenon::ALL.iter().filter_map(|p| {
            let address = format!("{}|{}|phenomenon={}", row.model, row.task, p.name());
            let estimate = row.part("phenomenon", p.name())?;
            Some(Point::percent(p.name(), estimate).with_samples(address))
        });
        Series::measured(format!("{} ({source})", row.model), points)
    });
    let [people, ..] = ANSWERERS;
    let point = |p: &Phenomenon| Some(Point::new(p.name(), 100.0 * by_phenomenon(people, *p)?));
    let points = Phenomenon::ALL.iter().filter_map(point);
    let people = Series::published("people, BLiMP (Warstadt et al. 2020)", points);
    let figure = DECLARED.figure("psychometric-grammar-bars");
    figure.with_series(series).with_series([people])
}
