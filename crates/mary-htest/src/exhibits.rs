//! The paper's tables and figures from runs of ours, with its printed results beside them, marked as
//! published. Only what the runs contain is drawn.

use std::collections::BTreeMap;

use mary_contract::{
    Axis, Cell, Estimate, Exhibits, Figure, FigureKind, NumberColumns, Point, ReferenceLine,
    RunSummary, Scale, Series, Table,
};

use super::geometry;
use super::paper_tables::{approaches, human_table, side_by_side};
use super::published::{PublishedRow, published};
use super::results::{
    GEOMETRY, Outcome, Profile, accuracy_cell, average_cell, other_tasks, paper_tasks, percent,
    profiles, results, setup_of, task_title,
};
use super::setup::{Mode, Source};

/// Pictures of letter-geometry items in a report.
const PICTURES: usize = 12;

/// Everything the runs have to show.
pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let results = results(runs);
    if results.is_empty() {
        return Exhibits::default();
    }
    let profiles = profiles(&results);
    let mut tables = vec![full_table(&profiles, &results)];
    tables.extend(side_by_side(&profiles, &results));
    tables.extend(approaches(&profiles, family_name));
    if !profiles.is_empty() {
        tables.push(human_table(&[]));
    }
    tables.extend(super::gap::gap_table(runs));
    let (tuned, before_and_after) = super::tuning::tuned_exhibits(runs).unzip();
    tables.extend(tuned.into_iter().flatten());
    let figures = [
        by_family(&profiles),
        by_shots(&profiles),
        thinking(&profiles),
        against_geometry(&profiles, &results),
        before_and_after,
    ];
    Exhibits {
        tables,
        figures: figures.into_iter().flatten().collect(),
        pictures: pictures(runs),
    }
}

fn geometry_of<'a>(results: &'a [Outcome], profile: &Profile<'_>) -> Option<&'a Outcome> {
    let f = profile.first;
    // The eleventh task has no shots; in every other setting that both have it is asked alike. How many
    // items and tokens are right for it is its own affair.
    let apart = ["shots", "n", "max_tokens"];
    results.iter().find(|o| {
        o.task == GEOMETRY
            && o.model == f.model
            && o.conditions.alike_where_shared(&f.conditions, &apart)
    })
}

/// Table 6, models as rows.
fn full_table(profiles: &[Profile<'_>], results: &[Outcome]) -> Table {
    let (paper, others) = (paper_tasks(), other_tasks(results));
    let mut head: Vec<String> = ["model", "k", "how"].map(String::from).to_vec();
    head.extend(paper.iter().map(|id| task_title(id)));
    head.push("Average".into());
    head.extend(others.iter().map(|id| task_title(id)));
    head.push("Letter Geometry".into());
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for profile in profiles {
        let mut row = vec![
            profile.first.model.clone().into(),
            Cell::count(profile.first.k),
            profile.how().into(),
        ];
        let of = |id: &String| accuracy_cell(profile.tasks.get(id.as_str()).copied());
        row.extend(paper.iter().map(of));
        row.push(average_cell(profile.average().as_ref()));
        row.extend(others.iter().map(of));
        row.push(accuracy_cell(geometry_of(results, profile)));
        rows.push(row);
    }
    for outcome in results.iter().filter(|o| o.task == GEOMETRY) {
        if profiles.iter().all(|p| p.first.model != outcome.model) {
            let mut row: Vec<Cell> = vec![
                outcome.model.clone().into(),
                Cell::none(),
                "letter geometry only".into(),
            ];
            row.extend(vec![Cell::none(); paper.len() + 1 + others.len()]);
            row.push(accuracy_cell(Some(outcome)));
            rows.push(row);
        }
    }
    let measured = rows.len();
    let printed = published_rows(profiles).map(|row| {
        let mut cells = vec![
            row.model.clone(),
            row.k
                .map_or_else(|| "not stated".to_owned(), |k| k.to_string()),
            format!("published, Table {}", row.table),
        ];
        cells.extend(row.accuracy.iter().map(|a| percent(*a)));
        cells.push(percent(row.mean()));
        cells.extend(others.iter().map(|_| "–".to_owned()));
        let geometry = published().geometry.iter().find(|g| g.model == row.model);
        cells.push(geometry.map_or_else(|| "–".to_owned(), |g| percent(g.accuracy)));
        cells
    });
    rows.extend(Cell::printed_rows(printed));
    Table {
        id: "htest-table-6".into(),
        title: "H-TEST, all tasks".into(),
        caption: "Accuracy in % with its items and 95 % interval, answers that could not be read counted \
                  as wrong (beside it the score without them, where some could not); chance is 50, for \
                  letter geometry 25. The form of Lee & Lim 2024, Table 6; its printed results stand \
                  below ours, with averages taken from its tasks (its printed averages are often \
                  something else)."
            .into(),
        head,
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(3),
    }
}

/// The published rows at the shots that were run; at 50 when none of them was published.
fn published_rows<'a>(profiles: &[Profile<'_>]) -> impl Iterator<Item = &'a PublishedRow> {
    let mut wanted: Vec<usize> = profiles.iter().map(|p| p.first.k).collect();
    if !wanted.iter().any(|k| [4, 14, 28, 50].contains(k)) {
        wanted = vec![50];
    }
    published()
        .rows
        .iter()
        .filter(move |row| row.k.is_none_or(|k| wanted.contains(&k)))
}

fn accuracy_axis() -> Axis {
    Axis {
        title: "accuracy (%)".into(),
        scale: Scale::Linear,
        range: Some((0.0, 100.0)),
    }
}

fn chance(y: f64) -> ReferenceLine {
    ReferenceLine {
        name: "chance".into(),
        y,
    }
}

fn point(x: f64, label: &str, e: &Estimate) -> Point {
    Point {
        x,
        label: label.into(),
        y: 100.0 * e.value,
        low: Some(100.0 * e.low),
        high: Some(100.0 * e.high),
        samples: None,
    }
}

fn published_point(x: f64, label: &str, value: f64) -> Point {
    Point {
        x,
        label: label.into(),
        y: 100.0 * value,
        ..Point::default()
    }
}

/// The line of models a model belongs to: its name without the part that says the size.
fn family_name(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.split('@').next().unwrap_or(name);
    let is_size = |part: &str| {
        let part = part.to_ascii_lowercase();
        let digits = part.trim_end_matches(['m', 'b', 'k']);
        digits.len() < part.len()
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let kept: Vec<&str> = name
        .split(['-', '_'])
        .filter(|part| !is_size(part))
        .collect();
    if kept.is_empty() {
        name.to_owned()
    } else {
        kept.join("-")
    }
}

/// Figure 2: stronger models of one family.
fn by_family(profiles: &[Profile<'_>]) -> Option<Figure> {
    let most = profiles
        .iter()
        .filter(|p| p.average().is_some())
        .map(|p| p.first.k)
        .max()?;
    let mut families: BTreeMap<String, Vec<(u64, Point)>> = BTreeMap::new();
    for profile in profiles
        .iter()
        .filter(|p| p.first.k == most && p.first.mode != Mode::Cot)
    {
        let Some(average) = profile.average() else {
            continue;
        };
        let parameters = profile.first.parameters.unwrap_or(0);
        let label = format!("{} ({})", profile.first.model, profile.how());
        let mut drawn = point(parameters as f64, &label, &average);
        drawn.samples = Some(format!("{}|htest/*", profile.first.model));
        families
            .entry(family_name(&profile.first.model))
            .or_default()
            .push((parameters, drawn));
    }
    let mut series: Vec<Series> = families
        .into_iter()
        .map(|(name, mut points)| {
            points.sort_by_key(|(parameters, _)| *parameters);
            Series {
                name,
                published: false,
                points: points.into_iter().map(|(_, p)| p).collect(),
            }
        })
        .collect();
    let mut paper: Vec<Series> = Vec::new();
    for row in published().rows.iter().filter(|r| r.k == Some(50)) {
        let drawn = published_point(0.0, &row.model, row.mean());
        match paper.iter_mut().find(|s| s.name == row.family) {
            Some(series) => series.points.push(drawn),
            None => paper.push(Series {
                name: row.family.clone(),
                published: true,
                points: vec![drawn],
            }),
        }
    }
    series.append(&mut paper);
    Some(Figure {
        id: "htest-figure-2".into(),
        title: "Stronger models of one family".into(),
        caption: format!(
            "Average accuracy over the ten tasks at k = {most}, weaker models of a family first; the form \
             of Lee & Lim 2024, Figure 2. Published points are Table 6's at k = 50."
        ),
        kind: FigureKind::Line,
        x: Axis {
            title: "model, weaker to stronger within a family".into(),
            scale: Scale::Category,
            range: None,
        },
        y: accuracy_axis(),
        series,
        references: vec![chance(50.0)],
        ranges: vec![],
    })
}

/// Figure 3: more shots.
fn by_shots(profiles: &[Profile<'_>]) -> Option<Figure> {
    let mut ours: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for profile in profiles.iter().filter(|p| p.first.mode != Mode::Cot) {
        if let Some(average) = profile.average() {
            let name = format!("{} ({})", profile.first.model, profile.how());
            let k = profile.first.k;
            let label = format!("k = {k}");
            ours.entry(name)
                .or_default()
                .push(point(k as f64, &label, &average));
        }
    }
    ours.retain(|_, points| points.len() > 1);
    if ours.is_empty() {
        return None;
    }
    let mut series: Vec<Series> = ours
        .into_iter()
        .map(|(name, mut points)| {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series {
                name,
                published: false,
                points,
            }
        })
        .collect();
    let mut paper: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for row in &published().rows {
        if let Some(k) = row.k {
            let drawn = published_point(k as f64, &format!("k = {k}"), row.mean());
            paper.entry(&row.model).or_default().push(drawn);
        }
    }
    for (model, mut points) in paper {
        if points.len() > 1 {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            series.push(Series {
                name: model.to_owned(),
                published: true,
                points,
            });
        }
    }
    Some(Figure {
        id: "htest-figure-3".into(),
        title: "More shots".into(),
        caption: "Average accuracy over the ten tasks by the number of shots; the form of Lee & Lim 2024, \
                  Figure 3. Published points are Table 6's."
            .into(),
        kind: FigureKind::Line,
        x: Axis {
            title: "shots (k)".into(),
            scale: Scale::Linear,
            range: Some((0.0, 52.0)),
        },
        y: accuracy_axis(),
        series,
        references: vec![chance(50.0)],
        ranges: vec![],
    })
}

/// Figure 4: thinking out loud against answering at once, at the same k.
fn thinking(profiles: &[Profile<'_>]) -> Option<Figure> {
    let names = ["direct", "chain of thought", "chain of thought, adjusted"];
    let mut series: Vec<Series> = names
        .map(|name| Series {
            name: name.into(),
            published: false,
            points: vec![],
        })
        .to_vec();
    for thought in profiles.iter().filter(|p| p.first.mode == Mode::Cot) {
        let (Some(average), f) = (thought.average(), thought.first) else {
            continue;
        };
        let direct = profiles.iter().find(|p| {
            let apart = ["mode", "shots", "tail", "temperature", "max_tokens"];
            p.first.mode != Mode::Cot
                && (&p.first.model, p.first.k) == (&f.model, f.k)
                && p.first.conditions.alike_where_shared(&f.conditions, &apart)
        });
        let label = format!("{} (k = {})", f.model, f.k);
        let bars = [
            direct.and_then(Profile::average),
            Some(average),
            thought.adjusted(),
        ];
        for (series, bar) in series.iter_mut().zip(bars) {
            series.points.extend(bar.map(|e| point(0.0, &label, &e)));
        }
    }
    series.retain(|s| !s.points.is_empty());
    if series.is_empty() {
        return None;
    }
    Some(Figure {
        id: "htest-figure-4".into(),
        title: "Thinking out loud".into(),
        caption: "Average accuracy over the ten tasks with and without a chain of thought, at the same \
                  number of shots; adjusted: without the answers that the judge could not read. The form \
                  of Lee & Lim 2024, Figure 4, which prints no values."
            .into(),
        kind: FigureKind::Bar,
        x: Axis {
            title: "model".into(),
            scale: Scale::Category,
            range: None,
        },
        y: accuracy_axis(),
        series,
        references: vec![chance(50.0)],
        ranges: vec![],
    })
}

/// Figure 5: H-TEST against letter geometry.
fn against_geometry(profiles: &[Profile<'_>], results: &[Outcome]) -> Option<Figure> {
    let points: Vec<Point> = profiles
        .iter()
        .filter(|p| p.first.mode != Mode::Cot)
        .filter_map(|profile| {
            let geometry = geometry_of(results, profile)?;
            let x = 100.0 * profile.average()?.value;
            let label = format!("{} (k = {})", profile.first.model, profile.first.k);
            Some(point(x, &label, &geometry.accuracy))
        })
        .collect();
    if points.is_empty() {
        return None;
    }
    let paper: Vec<Point> = published()
        .geometry
        .iter()
        .filter_map(|g| {
            let row = published()
                .rows
                .iter()
                .find(|r| r.model == g.model && r.k == Some(50))?;
            Some(published_point(100.0 * row.mean(), &g.model, g.accuracy))
        })
        .collect();
    Some(Figure {
        id: "htest-figure-5".into(),
        title: "H-TEST against letter geometry".into(),
        caption: "Each point is a model: average accuracy over the ten tasks, and accuracy on letter \
                  geometry (chance 25 %), with least-squares lines. The form of Lee & Lim 2024, Figure 5; \
                  published points are Table 6's at k = 50."
            .into(),
        kind: FigureKind::Scatter { fit: true },
        x: Axis {
            title: "H-TEST accuracy (%)".into(),
            scale: Scale::Linear,
            range: Some((0.0, 100.0)),
        },
        y: Axis {
            title: "letter geometry accuracy (%)".into(),
            ..accuracy_axis()
        },
        series: vec![
            Series {
                name: "measured".into(),
                published: false,
                points,
            },
            Series {
                name: "published".into(),
                published: true,
                points: paper,
            },
        ],
        references: vec![chance(25.0)],
        ranges: vec![],
    })
}

/// Pictures of the first letter-geometry items, where fresh ones were run.
fn pictures(runs: &[RunSummary]) -> Vec<mary_contract::Picture> {
    runs.iter()
        .flat_map(|run| &run.manifest.tasks)
        .filter(|task| task.id == GEOMETRY)
        .filter_map(|task| setup_of(&task.id, &task.settings))
        .find(|setup| setup.source == Source::Fresh)
        .map(|setup| geometry::pictures(setup.seed, setup.n, PICTURES))
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "exhibits_tests.rs"]
mod tests;
