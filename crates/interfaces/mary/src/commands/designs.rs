//! The chapter of a report on designs: effects in bits, and the mean surprisal of each condition.

use mary_contract::{Cell, Estimate, Exhibits, Figure, Point, Series, SummaryRow};
use mary_platform::grouped_in_order;
use mary_report::html::Chapter;

use super::DECLARED;
use super::chapters::AnyChapter;

const BITS: &str = ", bits";

/// Region and condition of a measure that is a mean: `(verb;%plural_good%), bits`.
fn mean_of(name: &str) -> Option<(&str, &str)> {
    let inner = name
        .strip_suffix(BITS)?
        .strip_prefix('(')?
        .strip_suffix("%)")?;
    let (region, condition) = inner.split_once(";%")?;
    (!condition.contains('%')).then_some((region, condition))
}

/// Effects and condition means, where a task is a design.
pub fn chapter<'a>() -> AnyChapter<'a> {
    Chapter::new("designs", "Designs", |runs| {
        let mut shown = Exhibits::default();
        let mut rows = Vec::new();
        for row in runs.iter().flat_map(|run| &run.rows) {
            let mut regions: Vec<&str> = Vec::new();
            for measure in &row.measures {
                match (mean_of(&measure.name), measure.name.strip_suffix(BITS)) {
                    (Some((region, _)), _) if !regions.contains(&region) => regions.push(region),
                    (None, Some(effect)) => rows.push(effect_row(row, effect, &measure.estimate)),
                    _ => {}
                }
            }
            for region in regions {
                let at = shown.figures.len() + 1;
                shown.figures.push(figure(row, region, at));
            }
        }
        if shown.figures.is_empty() {
            return Ok(None);
        }
        let table = DECLARED.table("designs-effects");
        shown.tables.push(table.with_rows(Cell::figures(rows)));
        Ok(Some(shown.into()))
    })
}

fn effect_row(row: &SummaryRow, effect: &str, found: &Estimate) -> Vec<String> {
    vec![
        row.model.clone(),
        row.task.clone(),
        effect.to_owned(),
        format!("{:.2}", found.value),
        format!("[{:.2}, {:.2}]", found.low, found.high),
        found.n.to_string(),
    ]
}

/// Means of a region: lines by the last factor where conditions are crossed (`plural_good`), else one.
fn figure(row: &SummaryRow, region: &str, at: usize) -> Figure {
    let split = |condition: &str| match condition.rsplit_once('_') {
        Some((first, last)) => (first.to_owned(), last.to_owned()),
        None => (condition.to_owned(), String::new()),
    };
    let means = row.measures.iter().filter_map(|m| {
        let (of, condition) = mean_of(&m.name)?;
        let (label, name) = split(condition);
        (of == region).then(|| (name, Point::measured(label, &m.estimate)))
    });
    let series = grouped_in_order(means).into_iter();
    let series = series.map(|(name, points)| Series::measured(name, points));
    DECLARED
        .figure("designs-{at}")
        .saying("at", at)
        .saying("task", &row.task)
        .saying("region", region)
        .saying("model", &row.model)
        .with_series(series)
}
