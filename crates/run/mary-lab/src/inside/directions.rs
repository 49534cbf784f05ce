//! Directions in the stream, applied to texts, beside random ones of the same length: what steering and the amnesic test
//! share.

use mary_contract::{Change, Details, Intervene, Place, Vector};
use mary_stats::intervals::mean_t;
use mary_stats::{Interval, LEVEL, StatsError};
use mary_taskfile::{Material, MaterialRow};
use serde::Serialize;

use super::Subject;
use super::ask::{Lots, request};
use super::patch::{p_of, preference};
use crate::texts::score::regions;
use crate::texts::{InstrumentError, material};

/// Random directions beside each, at least.
pub const FEWEST: usize = 20;
/// Texts that are asked together, with every direction: what stands before the changed token is read once.
const BLOCK: usize = 8;

/// A text with the continuation that is right after it and one that is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Column `id`, or the line.
    pub id: String,
    /// What is read.
    pub text: String,
    /// The continuations `good` and `bad`, with the blank before them.
    pub words: [String; 2],
    /// The tokens that are changed.
    pub place: Place,
}

/// The last token of the words that a column names; without a column, nothing.
pub(crate) fn end_of_region(
    material: &Material,
    row: &MaterialRow,
    (text, column): (&str, Option<&str>),
) -> Result<Option<(Place, String)>, InstrumentError> {
    let Some(column) = column else {
        return Ok(None);
    };
    let words = material::words(material, row, column)?;
    let found = regions::named(text, &words.as_str().into());
    let found = found.map_err(|why| material.wrong(row.line, why))?;
    let end = found.first().map_or(0, |r| r.end);
    let start = end - words.chars().next_back().map_or(1, char::len_utf8);
    Ok(Some((Place::Span { start, end }, words)))
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
    /// The larger p-value: of no change, and of a direction like the random ones (a new draw from their normal
    /// distribution, which is estimated from them).
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
    let mut all: Vec<Vec<Vector>> = Vec::new();
    for one in uses {
        let squares = one.direction.0.iter().map(|x| f64::from(*x).powi(2));
        let (length, width) = (squares.sum::<f64>().sqrt(), one.direction.0.len());
        let others = (0..random).map(|number| {
            let what = format!("direction {number} of layer {}", one.layer);
            Lots::new(seed, &what).direction(width, length)
        });
        let own = std::iter::once(one.direction.clone());
        all.push(own.chain(others).collect());
    }
    // By use, direction and text.
    let mut changes = vec![vec![Vec::with_capacity(texts.len()); 1 + random]; uses.len()];
    for block in texts.chunks(BLOCK) {
        let mut requests = Vec::new();
        for text in block {
            let plain = request(&text.text, &text.words, Details::default());
            requests.push(plain.clone());
            for (one, directions) in uses.iter().zip(&all) {
                requests.extend(directions.iter().map(|direction| Intervene {
                    changes: vec![change(one, direction, text)],
                    ..plain.clone()
                }));
            }
        }
        let answers = subject.ask(requests)?;
        for of in answers.chunks(1 + uses.len() * (1 + random)) {
            let before = of.first().map_or(f64::NAN, preference);
            let each = changes.iter_mut().flatten().zip(of.iter().skip(1));
            each.for_each(|(changes, answer)| changes.push(preference(answer) - before));
        }
    }
    let each = uses.iter().zip(&changes).map(|(one, of)| effect(one, of));
    let found = each.collect::<Result<Vec<Effect>, _>>();
    found.and_then(corrected).map_err(super::patch::failed)
}

/// Marks hold for all effects together.
fn corrected(mut found: Vec<Effect>) -> Result<Vec<Effect>, StatsError> {
    let p: Vec<f64> = found.iter().map(|e| e.p).collect();
    for (one, p) in found.iter_mut().zip(mary_stats::multiple::holm(&p)?) {
        one.p_holm = p;
        one.marked &= p < 1.0 - LEVEL;
    }
    Ok(found)
}

fn effect(one: &Use<'_>, changes: &[Vec<f64>]) -> Result<Effect, StatsError> {
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let random: Vec<f64> = changes.iter().skip(1).map(mean).collect();
    let effect = mean_t(changes.first().map_or(&[], Vec::as_slice), LEVEL)?;
    // Where one more random direction would lie: their mean's interval, wider by the spread of a single one.
    let beside = mean_t(&random, LEVEL)?;
    let (apart, n) = (effect.value - beside.value, random.len() as f64);
    let wide = (beside.high - beside.low) / 2.0 * (n + 1.0).sqrt();
    let beyond = Interval {
        value: apart,
        low: apart - wide,
        high: apart + wide,
        ..beside
    };
    Ok(Effect {
        layer: one.layer,
        factor: one.factor,
        p: p_of(&effect).max(p_of(&beyond)),
        p_holm: 1.0,
        marked: random.iter().all(|r| r.abs() < effect.value.abs()),
        effect,
        random,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_direction_is_not_told_from_random_ones_however_many_are_looked_at() {
        let mut lots = Lots::new(7, "rows");
        let direction = Vector::default();
        let one = Use {
            layer: 1,
            factor: 1.0,
            direction: &direction,
        };
        // Each direction moves all texts alike, by an amount that is drawn by lot for each.
        let mut row = |own: f64| {
            let mut drawn: Vec<f64> = lots
                .direction(21, 4.5)
                .0
                .into_iter()
                .map(f64::from)
                .collect();
            drawn[0] += own;
            let texts = |by: f64| (0..12).map(|text| by + 0.01 * f64::from(text)).collect();
            effect(&one, &drawn.into_iter().map(texts).collect::<Vec<_>>()).unwrap()
        };
        let rows: Vec<Effect> = (0..200).map(|_| row(0.0)).collect();
        let alone = rows.iter().filter(|e| e.marked).count();
        assert!(
            alone >= 4,
            "{alone} lie beyond all of their twenty, by chance"
        );
        let marked =
            |rows: Vec<Effect>| corrected(rows).unwrap().iter().filter(|e| e.marked).count();
        assert_eq!(marked(rows), 0);
        assert_eq!(marked((0..200).map(|_| row(12.0)).collect()), 200);
    }
}
