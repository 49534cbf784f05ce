//! Steering: a direction from contrasts is added to the stream of every token, or of one word, while texts are scored.

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::{Change, Operation, Place, Site, Vector};
use mary_taskfile::Material;
use serde::Serialize;

use super::Subject;
use super::ask::watching;
use super::directions::{Choice, Effect, Use, effects, end_of_region};
use super::pairs::joined;
use crate::texts::{InstrumentError, material};

/// Directions by the layer of the stream that they are added to: 0 is the embedding, 1 what the first block leaves.
pub type Directions = BTreeMap<usize, Vector>;

/// What steering did to one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steered {
    /// The model as it is called.
    pub model: String,
    /// By layer and factor.
    pub effects: Vec<Effect>,
}

/// Reads texts with the columns `text`, `good` and `bad`; the last token of the words in the column `region` is
/// steered, or all.
pub fn choices(
    path: &Path,
    joint: &str,
    region: Option<&str>,
) -> Result<Vec<Choice>, InstrumentError> {
    let material = Material::open(path)?;
    let mut texts = Vec::new();
    for row in material.rows()? {
        let row = row?;
        let column = |name: &str| material::words(&material, &row, name);
        let text = column("text")?;
        let place = end_of_region(&material, &row, (&text, region))?;
        texts.push(Choice {
            id: material::id(&material, &row)?,
            place: place.map_or(Place::All, |(place, _)| place),
            words: [column("good")?, column("bad")?].map(|word| joined(&text, &word, joint)),
            text,
        });
    }
    match texts.len() {
        0 | 1 => Err(material.wrong(1, "expected at least two texts").into()),
        _ => Ok(texts),
    }
}

/// Reads the columns `positive` and `negative`; one of them may be empty in a row.
pub fn contrasts(path: &Path) -> Result<[Vec<String>; 2], InstrumentError> {
    let material = Material::open(path)?;
    let mut sides = [Vec::new(), Vec::new()];
    for row in material.rows()? {
        let row = row?;
        for (side, name) in sides.iter_mut().zip(["positive", "negative"]) {
            match row.columns.get(name) {
                Some(serde_json::Value::Null) => {}
                _ => side.push(material::text(&material, &row, name)?),
            }
        }
    }
    for side in &mut sides {
        side.retain(|text| !text.trim().is_empty());
        if side.is_empty() {
            let message = "expected texts in both columns, `positive` and `negative`";
            return Err(material.wrong(1, message).into());
        }
    }
    Ok(sides)
}

/// Refuses layers that a model does not have.
fn check(subject: &Subject<'_>, layers: &[usize]) -> Result<(), InstrumentError> {
    match layers.iter().find(|l| **l > subject.layers) {
        None => Ok(()),
        Some(layer) => Err(InstrumentError::Usage(format!(
            "there is no layer {layer} to steer; the model has layers 0 to {}",
            subject.layers
        ))),
    }
}

/// Difference of the means of the last token's stream between two lists of texts.
pub fn learn(
    subject: &Subject<'_>,
    [positive, negative]: &[Vec<String>; 2],
    layers: &[usize],
) -> Result<Directions, InstrumentError> {
    check(subject, layers)?;
    let mean = |texts: &[String]| -> Result<Vec<Vec<f64>>, InstrumentError> {
        let last = layers.iter().map(|&l| (Site::Stream(l), Place::Last));
        let asked = texts.iter().map(|text| watching(text, last.clone()));
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); layers.len()];
        for answer in subject.ask(asked.collect())? {
            for (sum, state) in sums.iter_mut().zip(answer.states.iter().flatten()) {
                sum.resize(state.0.len(), 0.0);
                let each = sum.iter_mut().zip(&state.0);
                each.for_each(|(sum, x)| *sum += f64::from(*x) / texts.len() as f64);
            }
        }
        Ok(sums)
    };
    let both = mean(positive)?.into_iter().zip(mean(negative)?);
    let difference = |(a, b): (Vec<f64>, Vec<f64>)| {
        Vector(a.iter().zip(b).map(|(a, b)| (a - b) as f32).collect())
    };
    Ok(layers.iter().copied().zip(both.map(difference)).collect())
}

/// Adds each direction with each factor to the texts, beside random directions of the same length.
pub fn steer(
    name: &str,
    subject: &Subject<'_>,
    texts: &[Choice],
    directions: &Directions,
    (factors, random, seed): (&[f32], usize, u64),
) -> Result<Steered, InstrumentError> {
    check(subject, &directions.keys().copied().collect::<Vec<_>>())?;
    let uses: Vec<Use<'_>> = directions
        .iter()
        .flat_map(|(&layer, direction)| {
            factors.iter().map(move |&factor| Use {
                layer,
                factor,
                direction,
            })
        })
        .collect();
    let add = |one: &Use<'_>, direction: &Vector, text: &Choice| Change {
        site: Site::Stream(one.layer),
        place: text.place,
        operation: Operation::Add(direction.clone(), one.factor),
    };
    Ok(Steered {
        model: name.to_owned(),
        effects: effects(subject, texts, &uses, (random, seed), add)?,
    })
}
