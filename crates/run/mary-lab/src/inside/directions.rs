//! Directions in the stream, applied to texts, beside random ones of the same length: what steering and the amnesic test
//! share.

use mary_contract::{Change, Details, Intervene, Vector};
use mary_stats::intervals::mean_t;
use mary_stats::{Interval, LEVEL, StatsError};
use serde::Serialize;

use super::Subject;
use super::ask::{Lots, request};
use super::patch::{p_of, preference};
use crate::texts::InstrumentError;

/// Random directions beside each, at least.
pub const FEWEST: usize = 20;

/// A text with the continuation that is right after it and one that is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Column `id`, or the line.
    pub id: String,
    /// What is read.
    pub text: String,
    /// The continuations `good` and `bad`, with the blank before them.
    pub words: [String; 2],
}

/// What a direction does, beside what random ones of its length do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The layer of the stream.
    pub layer: usize,
    /// What it was multiplied by; 0 where it was removed.
    pub factor: f32,
    /// Mean change of log p(good) − log p(bad), in nats.
    pub effect: Interval,
    /// The same of each random direction.
    pub random: Vec<f64>,
    /// Of no change.
    pub p: f64,
    /// Corrected by Holm over all effects.
    pub p_holm: f64,
    /// Changed, and further from zero than every random direction.
    pub marked: bool,
}

impl Effect {
    /// The least and the greatest change by a random direction.
    pub fn range(&self) -> (f64, f64) {
        let fold = |(low, high): (f64, f64), x: &f64| (low.min(*x), high.max(*x));
        self.random
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), fold)
    }
}

/// A direction in a layer, with its factor.
pub(crate) struct Use<'a> {
    pub layer: usize,
    pub factor: f32,
    pub direction: &'a Vector,
}

/// Lets each direction, and `random` others of its length, change what is read.
pub(crate) fn effects(
    subject: &Subject<'_>,
    texts: &[Choice],
    uses: &[Use<'_>],
    (random, seed): (usize, u64),
    change: impl Fn(&Use<'_>, &Vector, &Choice) -> Change,
) -> Result<Vec<Effect>, InstrumentError> {
    if random < FEWEST {
        return Err(InstrumentError::Usage(format!(
            "{random} random directions are too few to tell anything from; at least {FEWEST} are needed"
        )));
    }
    let plain = texts
        .iter()
        .map(|t| request(&t.text, &t.words, Details::default()));
    let before: Vec<f64> = subject
        .ask(plain.collect())?
        .iter()
        .map(preference)
        .collect();
    let mut found = Vec::new();
    for one in uses {
        let squares = one.direction.0.iter().map(|x| f64::from(*x).powi(2));
        let (length, width) = (squares.sum::<f64>().sqrt(), one.direction.0.len());
        let others = (0..random).map(|number| {
            let what = format!("direction {number} of layer {}", one.layer);
            Lots::new(seed, &what).direction(width, length)
        });
        let all: Vec<Vector> = std::iter::once(one.direction.clone())
            .chain(others)
            .collect();
        let mut requests = Vec::new();
        for direction in &all {
            requests.extend(texts.iter().map(|text| Intervene {
                changes: vec![change(one, direction, text)],
                ..request(&text.text, &text.words, Details::default())
            }));
        }
        let answers = subject.ask(requests)?;
        let changes: Vec<Vec<f64>> = answers
            .chunks(texts.len())
            .map(|of| {
                of.iter()
                    .zip(&before)
                    .map(|(a, b)| preference(a) - b)
                    .collect()
            })
            .collect();
        found.push(effect(one, &changes).map_err(super::patch::failed)?);
    }
    let p: Vec<f64> = found.iter().map(|e| e.p).collect();
    let corrected = mary_stats::multiple::holm(&p).map_err(super::patch::failed)?;
    for (one, p) in found.iter_mut().zip(corrected) {
        one.p_holm = p;
        one.marked &= p < 1.0 - LEVEL;
    }
    Ok(found)
}

fn effect(one: &Use<'_>, changes: &[Vec<f64>]) -> Result<Effect, StatsError> {
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let random: Vec<f64> = changes.iter().skip(1).map(mean).collect();
    let effect = mean_t(changes.first().map_or(&[], Vec::as_slice), LEVEL)?;
    Ok(Effect {
        layer: one.layer,
        factor: one.factor,
        p: p_of(&effect),
        p_holm: 1.0,
        marked: random.iter().all(|r| r.abs() < effect.value.abs()),
        effect,
        random,
    })
}
