//! What a report shows of people: a table of scores, agreement and times, and curves over the trials. Works
//! on any samples whose trials are people.

use std::sync::LazyLock;

use mary_contract::{Cell, Declarations, Exhibits, Figure, Point, Sample, Series, Table};
use mary_platform::{grouped, means};
use mary_stats::Interval;

use crate::analysis::{PeopleStatistics, alpha_in_words, parts};
use crate::results::is_people;

const FILE: &str = include_str!("exhibits.json");
static DECLARED: LazyLock<Declarations> = LazyLock::new(|| Declarations::read(FILE));

/// Samples of one study on one task.
type Group<'a> = ((&'a str, &'a str), Vec<&'a Sample>);

/// Tables and figures of all people among some samples; empty where there are none.
pub fn of_people(samples: &[Sample]) -> Exhibits {
    let people = samples.iter().filter(|s| is_people(&s.id.model));
    let people = people.map(|s| ((s.id.model.as_str(), s.id.task.as_str()), s));
    let groups: Vec<Group<'_>> = grouped(people).into_iter().collect();
    if groups.is_empty() {
        return Exhibits::default();
    }
    let figures = [learning(&groups), times(&groups), each_person(&groups)];
    Exhibits {
        tables: vec![table(&groups)],
        figures: figures
            .into_iter()
            .filter(|f| !f.series.is_empty())
            .collect(),
        pictures: Vec::new(),
    }
}

/// Series are named by what tells them apart.
fn name(groups: &[Group<'_>], (model, task): (&str, &str)) -> String {
    if groups.iter().all(|((m, _), _)| *m == model) {
        task.to_owned()
    } else {
        format!("{model}, {task}")
    }
}

fn table(groups: &[Group<'_>]) -> Table {
    let percent = |i: &Interval| {
        let [value, low, high] = [i.value, i.low, i.high].map(|x| format!("{:.1}", 100.0 * x));
        format!("{value} [{low}, {high}]")
    };
    let plain = |i: &Interval| format!("{:.2} [{:.2}, {:.2}]", i.value, i.low, i.high);
    let none = || "–".to_owned();
    let rows = groups.iter().map(|((model, task), samples)| {
        let found = PeopleStatistics::from_samples(samples);
        let kappa = found.cohen.as_ref().map(plain);
        let fleiss = found.fleiss.map(|k| format!("{k:.2}"));
        vec![
            (*model).to_owned(),
            (*task).to_owned(),
            found.people.to_string(),
            found.items.to_string(),
            found.answers.to_string(),
            found.score.as_ref().map_or_else(none, percent),
            kappa.or(fleiss).unwrap_or_else(|| match &found.agreement {
                Some(agreement) if agreement.undefined() => "undefined".to_owned(),
                _ => none(),
            }),
            found.agreement.as_ref().map_or_else(none, alpha_in_words),
            found
                .agreement
                .and_then(|found| found.observed)
                .as_ref()
                .map_or_else(none, percent),
            found.none_fits.as_ref().map_or_else(none, percent),
            found.flagged.as_ref().map_or_else(none, percent),
            found.seconds.map_or_else(none, |[_, q1, median, q3, _]| {
                format!("{median:.1} ({q1:.1}–{q3:.1})")
            }),
            found
                .distracted
                .map_or_else(none, |share| format!("{:.1} %", 100.0 * share)),
        ]
    });
    let rows = Cell::figures(rows.collect());
    DECLARED.table("people-scores").with_rows(rows)
}

/// One point for each part of the way that has a value.
fn curve(
    groups: &[Group<'_>],
    value: impl Fn(&[&Sample]) -> Option<(f64, Option<(f64, f64)>)>,
) -> Vec<Series> {
    let series = groups.iter().map(|(group, samples)| {
        let parts = parts(samples);
        let share = 100.0 / parts.len().max(1) as f64;
        let points = parts.iter().enumerate().filter_map(|(at, part)| {
            let (y, bounds) = value(part)?;
            Some(Point {
                x: (at as f64 + 0.5) * share,
                y,
                low: bounds.map(|b| b.0),
                high: bounds.map(|b| b.1),
                ..Point::default()
            })
        });
        Series::measured(name(groups, *group), points)
    });
    series.filter(|s| s.points.len() > 1).collect()
}

fn learning(groups: &[Group<'_>]) -> Figure {
    let series = curve(groups, |part| {
        let score = PeopleStatistics::from_samples(part).score?;
        Some((score.value, Some((score.low, score.high))))
    });
    DECLARED.figure("people-learning").with_series(series)
}

fn times(groups: &[Group<'_>]) -> Figure {
    let series = curve(groups, |part| {
        let [_, q1, median, q3, _] = PeopleStatistics::from_samples(part).seconds?;
        Some((median, Some((q1, q3))))
    });
    DECLARED.figure("people-times").with_series(series)
}

fn each_person(groups: &[Group<'_>]) -> Figure {
    let series = groups.iter().map(|(group, samples)| {
        let label = name(groups, *group);
        let scores = samples.iter();
        let scores = scores.filter_map(|s| Some((s.id.trial, s.judgement.score()?)));
        let means = means(scores).into_values();
        Series::measured(&label, means.map(|y| Point::new(&label, y)))
    });
    let series = series.filter(|s| s.points.len() > 1);
    DECLARED.figure("people-each").with_series(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_can_be_read() {
        assert_eq!(Declarations::check(FILE), Ok(()));
    }
}
