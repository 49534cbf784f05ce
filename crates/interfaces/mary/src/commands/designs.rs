//! The chapter of a report on designs: effects in bits, and the mean surprisal of each condition.

use mary_contract::{
    Axis, Cell, Estimate, Exhibits, Figure, Point, RunSummary, Scale, Series, SummaryRow, Table,
};
use mary_report::html::{Chapter, Contents};

/// Effects and condition means, where a task is a design.
pub struct Designs;

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

impl Chapter for Designs {
    type Error = anyhow::Error;

    fn id(&self) -> &str {
        "designs"
    }

    fn title(&self) -> &str {
        "Designs"
    }

    fn build(&self, runs: &[RunSummary]) -> anyhow::Result<Option<Contents>> {
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
        shown.tables.push(Table {
            id: "designs-effects".into(),
            title: "Effects of designs".into(),
            caption: "Mean over items in bits of surprisal, with Student's interval. Differences of predictions are positive where the prediction holds.".into(),
            head: ["model", "task", "effect", "bits", "95% interval", "items"].map(String::from).into(),
            rows: Cell::figures(rows),
            ..Table::default()
        });
        Ok(Some(shown.into()))
    }
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
    let means: Vec<(&str, &Estimate)> = row
        .measures
        .iter()
        .filter_map(|m| Some((mean_of(&m.name)?, &m.estimate)))
        .filter(|((of, _), _)| *of == region)
        .map(|((_, condition), found)| (condition, found))
        .collect();
    let split = |condition: &str| match condition.rsplit_once('_') {
        Some((first, last)) => (first.to_owned(), last.to_owned()),
        None => (condition.to_owned(), String::new()),
    };
    let mut series: Vec<Series> = Vec::new();
    for (condition, found) in means {
        let (label, name) = split(condition);
        let point = Point {
            label,
            y: found.value,
            low: Some(found.low),
            high: Some(found.high),
            ..Point::default()
        };
        match series.iter_mut().find(|s| s.name == name) {
            Some(known) => known.points.push(point),
            None => series.push(Series {
                name,
                published: false,
                points: vec![point],
            }),
        }
    }
    let axis = |title: &str, scale| Axis {
        title: title.to_owned(),
        scale,
        range: None,
    };
    Figure {
        id: format!("designs-{at}"),
        title: format!("{}: region {region}, {}", row.task, row.model),
        caption: "Mean surprisal of each condition with its interval over items. Lines that are not parallel are an interaction, whose own interval stands in the table; overlapping intervals here say nothing about it, as the same items stand in all conditions.".into(),
        x: axis("condition", Scale::Category),
        y: axis("surprisal, bits", Scale::Linear),
        series,
        ..Figure::default()
    }
}
