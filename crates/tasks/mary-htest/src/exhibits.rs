//! The paper's tables and figures from runs of ours, with its printed results beside them, marked as
//! published. Only what the runs contain is drawn.

use std::collections::BTreeMap;

use mary_contract::{Cell, Exhibits, Figure, Point, RunSummary, Series, Table};
use mary_platform::{given, grouped, grouped_in_order};

use super::direct::described_and_folded;
use super::geometry;
use super::paper_tables::{approaches, human_table, side_by_side};
use super::published::{DECLARED, PublishedRow, percent, published};
use super::reasoning::misleading;
use super::results::{
    GEOMETRY, Outcome, Profile, accuracy_cell, average_cell, other_tasks, paper_tasks, profiles,
    results, setup_of, task_title,
};
use super::rule_naming::rules_named;
use super::setup::{ItemsSource, Mode};

const PICTURES: usize = 12;

pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let results = results(runs);
    let profiles = profiles(&results);
    let mut tables = Vec::new();
    if !results.is_empty() {
        tables.push(full_table(&profiles, &results));
    }
    tables.extend(side_by_side(&profiles, &results));
    tables.extend(misleading(runs));
    tables.extend(approaches(&profiles, family_name, &[]));
    let people = rules_named(runs);
    if !profiles.is_empty() || !people.is_empty() {
        tables.push(human_table(&people));
    }
    tables.extend(described_and_folded(runs));
    tables.extend(super::gap::gap_table(runs));
    let (tuned, before_and_after) = super::tuning::tuned_exhibits(&results);
    tables.extend(tuned);
    let figures = [
        by_family(&profiles),
        by_shots(&profiles),
        thinking(&profiles),
        against_geometry(&profiles, &results),
    ];
    let figures = figures.into_iter().flatten().chain(before_and_after);
    Exhibits {
        tables,
        figures: figures.collect(),
        pictures: pictures(runs),
    }
}

/// Table 5 of the pairs that the user named (built, base).
pub(super) fn pair_tables(runs: &[RunSummary], pairs: &[(String, String)]) -> Vec<Table> {
    let results = results(runs);
    let table = approaches(&profiles(&results), family_name, pairs);
    table.into_iter().collect()
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
    let measured = profiles.iter().map(|profile| {
        let mut row = vec![
            profile.first.model.clone().into(),
            Cell::count(profile.first.k),
            profile.how().into(),
        ];
        let accuracy = |id: &String| accuracy_cell(profile.tasks.get(id.as_str()).copied());
        row.extend(paper.iter().map(accuracy));
        row.push(average_cell(profile.average().as_ref()));
        row.extend(others.iter().map(accuracy));
        row.push(accuracy_cell(geometry_of(results, profile)));
        row.push(Cell::none());
        row
    });
    let has_profile = |o: &Outcome| profiles.iter().any(|p| p.first.model == o.model);
    let alone = |o: &&Outcome| o.task == GEOMETRY && !has_profile(o);
    let alone = results.iter().filter(alone);
    let geometry_only = alone.map(|outcome| {
        let mut row = vec![outcome.model.clone().into(), Cell::none()];
        row.push("letter geometry only".into());
        row.extend(vec![Cell::none(); paper.len() + 1 + others.len()]);
        row.extend([accuracy_cell(Some(outcome)), Cell::none()]);
        row
    });
    let printed = published_rows(profiles).map(|row| {
        let mut cells = vec![
            row.model.clone(),
            row.shots(),
            format!("published, Table {}", row.table),
        ];
        let mut percents: Vec<String> = row.percents().collect();
        let mean = percents.pop();
        cells.extend(percents);
        cells.extend(others.iter().map(|_| "–".to_owned()));
        let geometry = published().geometry.iter().find(|g| g.model == row.model);
        cells.push(geometry.map_or_else(|| "–".to_owned(), |g| percent(g.accuracy)));
        // A column that came later stands behind those that were there.
        cells.extend(mean);
        cells
    });
    DECLARED
        .table("htest-table-6")
        .with_heads("tasks", paper.iter().map(|id| task_title(id)))
        .with_heads("others", others.iter().map(|id| task_title(id)))
        .with_rows(measured.chain(geometry_only))
        .with_published(Cell::printed_rows(printed))
}

/// The published rows at the shots that were run; at 50 when none of them was published.
fn published_rows<'a>(profiles: &[Profile<'_>]) -> impl Iterator<Item = &'a PublishedRow> {
    let mut wanted: Vec<usize> = profiles.iter().map(|p| p.first.k).collect();
    if !wanted.iter().any(|k| [4, 14, 28, 50].contains(k)) {
        wanted = vec![50];
    }
    let rows = published().rows.iter();
    rows.filter(move |row| row.k.is_none_or(|k| wanted.contains(&k)))
}

/// The line of models a model belongs to: its name without the part that says the size.
fn family_name(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.split('@').next().unwrap_or(name);
    let name = name.trim_end_matches(".gguf");
    let is_size = |part: &str| {
        let part = part.to_ascii_lowercase();
        let digits = part.trim_end_matches(['m', 'b', 'k']);
        digits.len() < part.len()
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let kept: Vec<&str> = name.split(['-', '_']).filter(|p| !is_size(p)).collect();
    if kept.is_empty() {
        name.to_owned()
    } else {
        kept.join("-")
    }
}

/// Figure 2: stronger models of one family.
fn by_family(profiles: &[Profile<'_>]) -> Option<Figure> {
    let whole = profiles.iter().filter(|p| p.average().is_some());
    let most = whole.map(|p| p.first.k).max()?;
    let shown = |p: &&Profile<'_>| p.first.k == most && p.first.mode != Mode::Cot;
    let families = profiles.iter().filter(shown).filter_map(|profile| {
        let (average, model) = (profile.average()?, &profile.first.model);
        let drawn = Point::percent(format!("{model} ({})", profile.how()), &average)
            .at(profile.first.parameters.unwrap_or(0) as f64)
            .with_samples(format!("{model}|htest/*"));
        Some((family_name(model), drawn))
    });
    let families = in_order(grouped(families));
    let paper = published().rows.iter().filter(|r| r.k == Some(50));
    let paper = paper.map(|row| (&row.family, Point::new(&row.model, 100.0 * row.mean())));
    let paper = grouped_in_order(paper).into_iter();
    let paper = paper.map(|(family, points)| Series::published(family, points));
    let figure = DECLARED.figure("htest-figure-2").saying("most", most);
    Some(figure.with_series(families).with_series(paper))
}

fn in_order(named: BTreeMap<String, Vec<Point>>) -> impl Iterator<Item = Series> {
    named.into_iter().map(|(name, mut points)| {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::measured(name, points)
    })
}

/// Figure 3: more shots.
fn by_shots(profiles: &[Profile<'_>]) -> Option<Figure> {
    let ours = profiles.iter().filter(|p| p.first.mode != Mode::Cot);
    let ours = ours.filter_map(|profile| {
        let (average, k) = (profile.average()?, profile.first.k);
        let name = format!("{} ({})", profile.first.model, profile.how());
        Some((
            name,
            Point::percent(format!("k = {k}"), &average).at(k as f64),
        ))
    });
    let paper = published().rows.iter().filter_map(|row| {
        let drawn = Point::new(format!("k = {}", row.k?), 100.0 * row.mean());
        Some((row.model.clone(), drawn.at(row.k? as f64)))
    });
    let (mut ours, mut paper) = (grouped(ours), grouped(paper));
    ours.retain(|_, points| points.len() > 1);
    paper.retain(|_, points| points.len() > 1);
    let published = in_order(paper).map(|s| Series::published(s.name, s.points));
    DECLARED
        .figure("htest-figure-3")
        .with_series(in_order(ours))
        .with_series(published)
        .if_measured()
}

/// Figure 4: thinking out loud against answering at once, at the same k.
fn thinking(profiles: &[Profile<'_>]) -> Option<Figure> {
    let names = ["direct", "chain of thought", "chain of thought, adjusted"];
    let mut series = names.map(|name| Series::measured(name, []));
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
        let label = match thought.variant() {
            "" => format!("{} (k = {})", f.model, f.k),
            variant => format!("{} (k = {}, {variant})", f.model, f.k),
        };
        let bars = [
            direct.and_then(Profile::average),
            Some(average),
            thought.adjusted(),
        ];
        for (series, bar) in series.iter_mut().zip(bars) {
            let point = bar.map(|e| Point::percent(&label, &e));
            series.points.extend(point);
        }
    }
    let drawn = series.into_iter().filter(|s| !s.points.is_empty());
    let figure = DECLARED.figure("htest-figure-4").with_series(drawn);
    figure.if_measured()
}

/// Figure 5: H-TEST against letter geometry.
fn against_geometry(profiles: &[Profile<'_>], results: &[Outcome]) -> Option<Figure> {
    let plain = profiles.iter().filter(|p| p.first.mode != Mode::Cot);
    let points: Vec<Point> = plain
        .filter_map(|profile| {
            let geometry = geometry_of(results, profile)?;
            let x = 100.0 * profile.average()?.value;
            let label = format!("{} (k = {})", profile.first.model, profile.first.k);
            Some(Point::percent(label, &geometry.accuracy).at(x))
        })
        .collect();
    given(!points.is_empty())?;
    let paper = published().geometry.iter().filter_map(|g| {
        let mut rows = published().rows.iter();
        let row = rows.find(|r| r.model == g.model && r.k == Some(50))?;
        Some(Point::new(&g.model, 100.0 * g.accuracy).at(100.0 * row.mean()))
    });
    Some(DECLARED.figure("htest-figure-5").with_series([
        Series::measured("measured", points),
        Series::published("published", paper),
    ]))
}

fn pictures(runs: &[RunSummary]) -> Vec<mary_contract::Picture> {
    let tasks = runs.iter().flat_map(|run| &run.manifest.tasks);
    let ours = tasks.filter(|task| task.id == GEOMETRY);
    let mut setups = ours.filter_map(|task| setup_of(&task.id, &task.settings));
    let fresh = setups.find(|setup| setup.source == ItemsSource::Fresh);
    fresh.map_or_else(Vec::new, |s| geometry::pictures(s.seed, s.n, PICTURES))
}

#[cfg(test)]
#[path = "exhibits_tests.rs"]
mod tests;
