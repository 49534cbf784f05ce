//! What a report shows of people: a table of scores, agreement and times, and curves over the trials. Works
//! on any samples whose trials are people.

use std::collections::BTreeMap;

use mary_contract::{
    Axis, Cell, Exhibits, Figure, FigureKind, NumberColumns, Outcome, Point, Sample, Scale, Series,
    Table,
};
use mary_stats::Interval;

use crate::analysis::{PeopleStatistics, alpha_in_words, parts};
use crate::results::is_people;

/// Samples of one study on one task.
type Group<'a> = ((&'a str, &'a str), Vec<&'a Sample>);

/// Tables and figures of all people among some samples; empty where there are none.
pub fn of(samples: &[Sample]) -> Exhibits {
    let mut groups: BTreeMap<(&str, &str), Vec<&Sample>> = BTreeMap::new();
    for sample in samples.iter().filter(|s| is_people(&s.id.model)) {
        let group = (sample.id.model.as_str(), sample.id.task.as_str());
        groups.entry(group).or_default().push(sample);
    }
    let groups: Vec<Group<'_>> = groups.into_iter().collect();
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
    let head = [
        "people",
        "task",
        "n",
        "items",
        "answers",
        "score",
        "kappa",
        "alpha",
        "agreement",
        "none fits",
        "seconds",
        "focus lost",
    ];
    let percent = |i: &Interval| {
        let [value, low, high] = [i.value, i.low, i.high].map(|x| format!("{:.1}", 100.0 * x));
        format!("{value} [{low}, {high}]")
    };
    let plain = |i: &Interval| format!("{:.2} [{:.2}, {:.2}]", i.value, i.low, i.high);
    let none = || "–".to_owned();
    let rows = groups.iter().map(|((model, task), samples)| {
        let found = PeopleStatistics::of(samples);
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
            found.seconds.map_or_else(none, |[_, q1, median, q3, _]| {
                format!("{median:.1} ({q1:.1}–{q3:.1})")
            }),
            found
                .distracted
                .map_or_else(none, |share| format!("{:.1} %", 100.0 * share)),
        ]
    });
    Table {
        id: "people-scores".into(),
        title: "Scores and agreement of people".into(),
        caption: "Scores in percent with intervals over people and items; agreement between people (Cohen's kappa of \
                  two, Fleiss' of equally many on each item, Krippendorff's alpha of any, \u{201c}undefined\u{201d} \
                  where every answer is the same and chance would agree as often; and the plain share of pairs \
                  of answers to one item that are the same); the share of answers \u{201c}none fits\u{201d}; median seconds for an answer with quartiles; answers during which the \
                  window lost the focus."
            .into(),
        head: head.map(String::from).to_vec(),
        rows: Cell::figures(rows.collect()),
        published: Vec::new(),
        numbers: NumberColumns::From(2),
    }
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
        Series {
            name: name(groups, *group),
            published: false,
            points: points.collect(),
        }
    });
    series.filter(|s| s.points.len() > 1).collect()
}

fn way() -> Axis {
    Axis {
        title: "part of the way through the study (%)".into(),
        scale: Scale::Linear,
        range: Some((0.0, 100.0)),
    }
}

fn learning(groups: &[Group<'_>]) -> Figure {
    Figure {
        id: "people-learning".into(),
        title: "Learning over the trials".into(),
        caption:
            "Mean score by part of the way through the study, with intervals over people and items."
                .into(),
        kind: FigureKind::Line,
        x: way(),
        y: Axis {
            title: "score".into(),
            scale: Scale::Linear,
            range: Some((0.0, 1.0)),
        },
        series: curve(groups, |part| {
            let score = PeopleStatistics::of(part).score?;
            Some((score.value, Some((score.low, score.high))))
        }),
        references: Vec::new(),
        ranges: Vec::new(),
    }
}

fn times(groups: &[Group<'_>]) -> Figure {
    Figure {
        id: "people-times".into(),
        title: "Times over the trials".into(),
        caption: "Median seconds for an answer by part of the way through the study; whiskers are quartiles.".into(),
        kind: FigureKind::Line,
        x: way(),
        y: Axis {
            title: "seconds".into(),
            scale: Scale::Linear,
            range: None,
        },
        series: curve(groups, |part| {
            let [_, q1, median, q3, _] = PeopleStatistics::of(part).seconds?;
            Some((median, Some((q1, q3))))
        }),
        references: Vec::new(),
        ranges: Vec::new(),
    }
}

fn each_person(groups: &[Group<'_>]) -> Figure {
    let series = groups.iter().map(|(group, samples)| {
        let mut people: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
        for sample in samples {
            people.entry(sample.id.trial).or_default().push(*sample);
        }
        let label = name(groups, *group);
        let score = |s: &&Sample| match s.judgement.outcome {
            Outcome::Scored(score) => Some(score),
            _ => None,
        };
        let mean = |own: &Vec<&Sample>| {
            let scores: Vec<f64> = own.iter().filter_map(score).collect();
            (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
        };
        let points = people.values().filter_map(mean).map(|y| Point {
            label: label.clone(),
            y,
            ..Point::default()
        });
        Series {
            name: label.clone(),
            published: false,
            points: points.collect(),
        }
    });
    Figure {
        id: "people-each".into(),
        title: "Each person's score".into(),
        caption: "Mean score of each person: median, quartiles, range.".into(),
        kind: FigureKind::Box,
        x: Axis {
            title: "task".into(),
            scale: Scale::Category,
            range: None,
        },
        y: Axis {
            title: "score".into(),
            scale: Scale::Linear,
            range: Some((0.0, 1.0)),
        },
        series: series.filter(|s| s.points.len() > 1).collect(),
        references: Vec::new(),
        ranges: Vec::new(),
    }
}
