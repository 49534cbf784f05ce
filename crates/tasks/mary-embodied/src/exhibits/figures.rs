//! Figure 2 (boxes of models by sense and subtask, with people), and accuracy by layer.

use mary_contract::{Figure, Point, ReferenceLine, Series, Task as _};

use super::DECLARED;
use super::results::{Answers, Columns, Places};
use crate::perceptualqa::PERCEPTUAL_QA;
use crate::published::published;
use crate::sensoryvec::SENSORY_VEC;
use crate::sensoryvec::attributes::ATTRIBUTES;
use crate::{Language, MaterialSource, Sense, Subtask};

/// Figure 2a: SensoryVec by sense.
pub(super) fn by_sense(places: &[Places]) -> Option<Figure> {
    let senses = Sense::ALL.map(|sense| sense.name());
    boxes("embodied-figure-2a", "sense", &senses, places, |p| {
        &p.columns
    })
}

/// A box for each value of a tag of SensoryVec's.
fn boxes(
    figure: &str,
    tag: &str,
    values: &[&str],
    places: &[Places],
    of: fn(&Places) -> &Columns,
) -> Option<Figure> {
    let id = SENSORY_VEC.card().id.as_ref();
    let points = values
        .iter()
        .flat_map(|value| places.iter().map(move |p| (*value, p)))
        .filter_map(|(value, p)| {
            let address = format!("{}|{id}|{tag}={value}", p.model);
            Some(Point::percent(value, of(p).get(value)?).with_samples(address))
        });
    let models = Series::measured("models", points);
    let figure = DECLARED.figure(figure);
    (!models.points.is_empty()).then(|| figure.with_series([models]))
}

/// The visual part of Figure 2a: SensoryVec by attribute.
pub(super) fn by_attribute(places: &[Places]) -> Option<Figure> {
    let (figure, tag) = ("embodied-figure-2a-visual", "attribute");
    boxes(figure, tag, &ATTRIBUTES, places, |p| &p.attributes)
}

/// Figure 2b: PerceptualQA by subtask, with people.
pub(super) fn by_subtask(answers: &[Answers]) -> Option<Figure> {
    let id = PERCEPTUAL_QA.card().id.as_ref();
    let in_english = |a: &&Answers| a.setup.language == Language::En;
    let english: Vec<&Answers> = answers.iter().filter(in_english).collect();
    let (mut ours, mut people) = (Vec::new(), Vec::new());
    for subtask in Subtask::ALL {
        let code = subtask.name();
        for a in &english {
            if let Some(e) = a.columns.get(code) {
                let address = format!("{}|{id}|subtask={code}", a.model);
                let to = if a.is_people() {
                    &mut people
                } else {
                    &mut ours
                };
                to.push(Point::percent(code, e).with_samples(address));
            }
        }
    }
    let mut sources = english.iter().map(|a| a.setup.source);
    let released = sources.any(|source| source == MaterialSource::Published);
    let of_paper = |wanted: bool| -> Vec<Point> {
        let table_14 = published().table_14.iter();
        let rows = table_14.filter(|r| (r.released == "people") == wanted);
        let cells = rows.flat_map(|row| published().columns.iter().zip(&row.accuracy));
        let subtasks = cells.filter(|(column, _)| Subtask::ALL.iter().any(|s| s.name() == *column));
        subtasks.map(|(column, y)| Point::new(column, *y)).collect()
    };
    let (ours, people) = (
        Series::measured("models", ours),
        Series::measured("people", people),
    );
    let mut all = vec![ours, people];
    let mut figure = DECLARED.figure("embodied-figure-2b");
    if released {
        let models = Series::published("24 models of the paper", of_paper(false));
        let people = Series::published("people of the paper", of_paper(true));
        all.extend([models, people]);
        // People saw the released questions: beside others their line would say nothing.
        let human = published().people().and_then(|row| row.accuracy.first());
        figure.references.extend(human.map(|y| ReferenceLine {
            name: "people (published, released questions)".into(),
            y: *y,
        }));
    }
    all.retain(|series| !series.points.is_empty());
    figure.with_series(all).if_measured()
}

pub(super) fn by_layer(places: &[Places]) -> Option<Figure> {
    let lines = places.iter().filter(|p| p.layers.len() > 1).map(|p| {
        let point = |layer: usize, e| Point::percent(format!("layer {layer}"), e).at(layer as f64);
        let points = p.layers.iter().map(|(layer, e)| point(*layer, e));
        Series::measured(format!("{} ({})", p.model, p.setup.pooling.name()), points)
    });
    DECLARED.series("embodied-layers", lines)
}
