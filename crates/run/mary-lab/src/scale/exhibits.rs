//! What a scale shows: Wright map, curves of items with observed shares, information, items that misfit or differ.

use mary_contract::{Cell, Exhibits, Figure, Picture, Point, RunSummary, Series, Table};
use mary_stats::irt::Ability;
use mary_store::RunFolder;

use super::adaptive::turns;
use super::answers::{Answers, MODELS};
use super::build::Built;
use super::drawing::{curves, wright_map};
use super::growth::{development, place};
use super::kept::{Scale, ScaleSubject};
use crate::{DECLARED, RunError};

/// Rows of the tables of items, at most.
const ROWS: usize = 30;

/// Everything of a scale that is drawn from its file alone.
pub fn of_scale(scale: &Scale) -> Exhibits {
    let mut shown = Exhibits {
        tables: vec![findings(scale), subjects(scale)],
        figures: vec![information(scale)],
        pictures: vec![map(scale, "scale-wright-map")],
    };
    shown.figures.extend(development(scale));
    shown.tables.extend(differing(scale));
    shown.tables.extend(misfits(scale));
    shown
}

fn map(scale: &Scale, id: &str) -> Picture {
    Picture {
        id: id.into(),
        caption: "Wright map: subjects on the left, items on the right, one scale. Where a subject stands level \
                  with an item, it has it right in half the cases (halfway between chance and all). Bars count."
            .into(),
        svg: wright_map(scale),
    }
}

/// What an adaptive run shows: where its models stand on the scale and how that became known. Nothing before the first
/// answer.
pub fn of_adaptive(folder: &RunFolder, summary: &RunSummary) -> Result<Exhibits, RunError> {
    let scale = Scale::read(folder.path())?;
    let mut answers = Answers::default();
    answers.add_run(folder)?;
    let Ok(placed) = place(&scale, &answers, 1) else {
        return Ok(Exhibits::default());
    };
    let (rows, run) = (&summary.rows, &summary.manifest.id);
    let mut own = placed.clone();
    own.subjects
        .retain(|s| answers.subjects.iter().any(|asked| asked.name == s.name));
    let all = scale.bank(MODELS).len() * own.subjects.len();
    let asked: usize = rows.iter().map(|row| row.samples).sum();
    let spent: f64 = rows.iter().filter_map(|row| row.usage.cost).sum();
    let mut standing = subjects(&own);
    standing.id = format!("adaptive-standing-{run}");
    standing.title = format!(
        "Abilities by {asked} of {all} answers ({:.0} %)",
        100.0 * asked as f64 / all as f64
    );
    if spent > 0.0 {
        let saved = spent * all.saturating_sub(asked) as f64 / asked.max(1) as f64;
        standing.title += &format!(", ${spent:.4} spent and about ${saved:.4} saved");
    }
    let turns = turns(folder);
    let series = summary.manifest.models.iter().map(|card| {
        let (model, mut before) = (card.model.to_string(), 0);
        let own = turns.iter().filter(|turn| turn.model == model);
        let points = own.filter_map(|turn| {
            let x = before as f64;
            before += turn.items.len();
            let (value, error) = turn.ability?;
            let (low, high) = Ability { value, error }.bounds();
            Some(Point {
                low: Some(low),
                high: Some(high),
                ..Point::new("", value).at(x)
            })
        });
        let points: Vec<Point> = points.collect();
        Series::measured(card.label.clone().unwrap_or(model), points)
    });
    let course = DECLARED.figure("adaptive-course-{run}").saying("run", run);
    Ok(Exhibits {
        tables: vec![standing],
        figures: vec![course.with_series(series)],
        pictures: vec![map(&placed, &format!("adaptive-map-{run}"))],
    })
}

/// The same with curves beside observed shares, which need the answers.
pub fn of_built(built: &Built) -> Exhibits {
    let mut shown = of_scale(&built.scale);
    if let Some(svg) = curves(built) {
        shown.pictures.push(Picture {
            id: "scale-item-curves".into(),
            caption: "Curves of nine items from the easiest to the hardest, those that fit worst marked, with the shares \
                      right of subjects in five classes of ability (bars: 95 %)."
                .into(),
            svg,
        });
    }
    shown
}

fn findings(scale: &Scale) -> Table {
    let rows = scale.findings.iter().map(|line| vec![line.as_str().into()]);
    DECLARED.table("scale-findings").with_rows(rows)
}

/// Who stands where, the ablest first; single people are counted, not listed, where there are many.
pub fn subjects(scale: &Scale) -> Table {
    let mut sorted: Vec<&ScaleSubject> = scale
        .subjects
        .iter()
        .filter(|s| s.ability.is_some())
        .collect();
    let many = |group: &str| sorted.iter().filter(|s| s.group == group).count() > 60;
    let crowded: Vec<String> = sorted
        .iter()
        .map(|s| s.group.clone())
        .filter(|group| many(group))
        .collect();
    let value = |s: &ScaleSubject| s.ability.as_ref().map_or(f64::NAN, |a| a.value);
    sorted.sort_by(|a, b| value(b).total_cmp(&value(a)).then(a.name.cmp(&b.name)));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for subject in sorted.iter().filter(|s| !crowded.contains(&s.group)) {
        let (Some(ability), Some(expected)) = (&subject.ability, &subject.expected) else {
            continue;
        };
        rows.push(vec![
            subject.name.as_str().into(),
            subject.group.as_str().into(),
            Cell::number(ability, 2),
            Cell::percent(expected, 0),
            Cell::count(subject.answers),
            if subject.above_chance { "yes" } else { "no" }.into(),
            Cell::figure(subject.outfit.map_or(String::new(), |x| format!("{x:.2}"))),
        ]);
    }
    for (at, group) in crowded.iter().enumerate() {
        if crowded[..at].contains(group) {
            continue;
        }
        let members: Vec<f64> = sorted
            .iter()
            .filter(|s| s.group == *group)
            .map(|s| value(s))
            .collect();
        let quantile = |share: f64| members[((members.len() - 1) as f64 * (1.0 - share)) as usize];
        rows.push(vec![
            format!(
                "{} of {group}: quarter, middle, three quarters",
                members.len()
            )
            .into(),
            group.as_str().into(),
            Cell::figure(format!(
                "{:.2}, {:.2}, {:.2}",
                quantile(0.25),
                quantile(0.5),
                quantile(0.75)
            )),
            Cell::none(),
            Cell::none(),
            "".into(),
            Cell::none(),
        ]);
    }
    DECLARED.table("scale-subjects").with_rows(rows)
}

fn differing(scale: &Scale) -> Option<Table> {
    let focal = scale.focal.as_deref()?;
    let mut found = Vec::new();
    for item in scale
        .items
        .iter()
        .filter(|item| item.only.as_deref() == Some(focal))
    {
        let other = scale
            .items
            .iter()
            .find(|o| o.hash == item.hash && o.only != item.only);
        if let Some(other) = other {
            found.push((item.difficulty - other.difficulty, item, other));
        }
    }
    found.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let rows = found.iter().take(ROWS).map(|(apart, item, other)| {
        vec![
            Cell::from(item.text.as_str()),
            Cell::figure(format!("{:.2}", other.difficulty)),
            Cell::figure(format!("{:.2}", item.difficulty)),
            Cell::figure(format!("{apart:+.2}")),
            Cell::from(item.compared.as_ref().map_or("", |dif| dif.class.letter())),
        ]
    });
    let table = DECLARED.table("scale-differing").with_rows(rows);
    let table = table.with_heads("focal", [format!("for {focal}")]);
    table.saying("found", found.len()).if_measured()
}

fn misfits(scale: &Scale) -> Option<Table> {
    let mut found: Vec<_> = scale
        .items
        .iter()
        .filter_map(|item| Some((item, item.fit?)))
        .collect();
    found.retain(|(_, (z, infit))| *z > 2.0 || *infit > 1.3);
    found.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let rows = found.iter().take(ROWS).map(|(item, (z, infit))| {
        vec![
            Cell::from(item.text.as_str()),
            Cell::figure(format!("{:.2}", item.difficulty)),
            Cell::figure(format!("{z:+.1}")),
            Cell::figure(format!("{infit:.2}")),
        ]
    });
    let table = DECLARED.table("scale-misfits").with_rows(rows);
    table.saying("found", found.len()).if_measured()
}

fn information(scale: &Scale) -> Figure {
    let mut groups: Vec<&str> = scale.subjects.iter().map(|s| s.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    if scale.items.iter().all(|item| item.only.is_none()) {
        groups.truncate(1);
    }
    let series = groups.iter().map(|group| {
        let bank = scale.bank(group);
        let points = (-40..=40).map(|at| {
            let x = f64::from(at) / 10.0;
            let y = bank.iter().map(|(_, item)| item.item.information(x)).sum();
            Point::new("", y).at(x)
        });
        let name = match groups.len() {
            1 => "all items".into(),
            _ => format!("items for {group}"),
        };
        Series::measured(name, points)
    });
    DECLARED.figure("scale-information").with_series(series)
}
