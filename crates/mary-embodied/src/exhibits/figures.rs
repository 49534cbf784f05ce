//! Figure 2 (boxes of models by sense and subtask, with people), and accuracy by layer.

use mary_contract::{
    Axis, Estimate, Figure, FigureKind, Point, ReferenceLine, Scale, Series, Task as _,
};

use super::results::{Answers, Places, is_released};
use crate::perceptualqa::PERCEPTUAL_QA;
use crate::published::published;
use crate::sensoryvec::SENSORY_VEC;
use crate::{Language, Sense, Subtask};

fn axis(title: &str, scale: Scale, range: Option<(f64, f64)>) -> Axis {
    Axis {
        title: title.into(),
        scale,
        range,
    }
}

fn series(name: &str, published: bool, points: Vec<Point>) -> Option<Series> {
    (!points.is_empty()).then(|| Series {
        name: name.into(),
        published,
        points,
    })
}

fn point(label: &str, e: &Estimate, samples: String) -> Point {
    Point {
        label: label.into(),
        y: 100.0 * e.value,
        low: Some(100.0 * e.low),
        high: Some(100.0 * e.high),
        samples: Some(samples),
        ..Point::default()
    }
}

fn chance(y: f64) -> ReferenceLine {
    ReferenceLine {
        name: "chance".into(),
        y,
    }
}

/// Figure 2a: SensoryVec by sense.
pub(super) fn by_sense(places: &[Places]) -> Option<Figure> {
    let id = SENSORY_VEC.card().id.as_ref();
    let mut points = Vec::new();
    for sense in Sense::ALL {
        for p in places {
            if let Some(e) = p.columns.get(sense.name()) {
                points.push(point(
                    sense.name(),
                    e,
                    format!("{}|{id}|sense={sense}", p.model),
                ));
            }
        }
    }
    Some(Figure {
        id: "embodied-figure-2a".into(),
        title: "SensoryVec by sense".into(),
        caption: "Accuracy of the models that were run, one box a sense. The form of Yang et al. 2025, \
                  Figure 2a, which prints no values; import the authors' stored cosines to see their \
                  models here."
            .into(),
        kind: FigureKind::Box,
        x: axis("sense", Scale::Category, None),
        y: axis("accuracy (%)", Scale::Linear, Some((0.0, 100.0))),
        series: vec![series("models", false, points)?],
        references: vec![chance(50.0)],
        ranges: vec![],
    })
}

/// Figure 2b: PerceptualQA by subtask, with people.
pub(super) fn by_subtask(answers: &[Answers]) -> Option<Figure> {
    let id = PERCEPTUAL_QA.card().id.as_ref();
    let english: Vec<&Answers> = answers
        .iter()
        .filter(|a| a.setup.language == Language::En)
        .collect();
    let (mut ours, mut people) = (Vec::new(), Vec::new());
    for subtask in Subtask::ALL {
        let code = subtask.code();
        for a in &english {
            if let Some(e) = a.columns.get(code) {
                let address = format!("{}|{id}|subtask={code}", a.model);
                let to = if a.is_people() {
                    &mut people
                } else {
                    &mut ours
                };
                to.push(point(code, e, address));
            }
        }
    }
    let released = english.iter().any(|a| is_released(a.setup.source));
    let of_paper = |wanted: bool| -> Vec<Point> {
        let rows = published()
            .table_14
            .iter()
            .filter(|r| (r.released == "people") == wanted);
        let cells = rows.flat_map(|row| published().columns.iter().zip(&row.accuracy));
        let subtasks = cells.filter(|(column, _)| Subtask::ALL.iter().any(|s| s.code() == *column));
        subtasks
            .map(|(column, y)| Point {
                label: column.clone(),
                y: *y,
                ..Point::default()
            })
            .collect()
    };
    let mut all = Vec::new();
    all.extend(series("models", false, ours));
    all.extend(series("people", false, people));
    if all.is_empty() {
        return None;
    }
    if released {
        all.extend(series("24 models of the paper", true, of_paper(false)));
        all.extend(series("people of the paper", true, of_paper(true)));
    }
    // People saw the released questions: beside others their line would say nothing.
    let human = published()
        .people()
        .filter(|_| released)
        .and_then(|row| row.accuracy.first().copied());
    let mut references = vec![chance(25.0)];
    references.extend(human.map(|y| ReferenceLine {
        name: "people (published, released questions)".into(),
        y,
    }));
    Some(Figure {
        id: "embodied-figure-2b".into(),
        title: "PerceptualQA by subtask".into(),
        caption: "Accuracy of the models that were run, one box a subtask; people as flat boxes of their \
                  own, and as a line over everything. The form of Yang et al. 2025, Figure 2b, with the \
                  values of its Table 14."
            .into(),
        kind: FigureKind::Box,
        x: axis("subtask", Scale::Category, None),
        y: axis("accuracy (%)", Scale::Linear, Some((0.0, 100.0))),
        series: all,
        references,
        ranges: vec![],
    })
}

/// SensoryVec by layer, where every layer was looked at.
pub(super) fn by_layer(places: &[Places]) -> Option<Figure> {
    let lines = places
        .iter()
        .filter(|p| p.layers.len() > 1)
        .filter_map(|p| {
            let points = p.layers.iter().map(|(layer, e)| Point {
                x: *layer as f64,
                label: format!("layer {layer}"),
                y: 100.0 * e.value,
                low: Some(100.0 * e.low),
                high: Some(100.0 * e.high),
                samples: None,
            });
            series(
                &format!("{} ({})", p.model, p.setup.pooling.name()),
                false,
                points.collect(),
            )
        });
    let lines: Vec<Series> = lines.collect();
    (!lines.is_empty()).then(|| Figure {
        id: "embodied-layers".into(),
        title: "SensoryVec by layer".into(),
        caption: "Share of triples in which the synonym is nearer, from the embedding layer (0) to the last, \
                  with 95 % intervals."
            .into(),
        kind: FigureKind::Line,
        x: axis("layer", Scale::Linear, None),
        y: axis("accuracy (%)", Scale::Linear, Some((0.0, 100.0))),
        series: lines,
        references: vec![chance(50.0)],
        ranges: vec![],
    })
}
