//! Questions about held-out pictures while a model learns to see: with its picture, with a blank one and
//! with another's. A diagnostic of the training; the laboratory's own task measures checkpoints properly,
//! from their folders.

use super::lessons::Pupil;
use crate::TrainError;
use crate::corpus::scenes::{Posed, Scene, exam};
use crate::net::{SeeingNet, SeeingSpace, Sight};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Blocks of sixteen questions: two of each kind.
const BLOCKS: usize = 10;

/// What the probe found at one step. A tie counts its share.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SightReport {
    /// The step.
    pub step: u64,
    /// Share of right answers with the question's own picture.
    pub own: f64,
    /// The same by kind of question.
    pub by_kind: BTreeMap<String, f64>,
    /// With a blank picture.
    pub blank: f64,
    /// With another question's picture.
    pub other: f64,
}

pub(super) struct SightProber {
    exam: Vec<Posed>,
}

/// The model as it is: its numbers and their transpose.
pub(super) struct Now<'a> {
    pub(super) net: &'a SeeingNet,
    pub(super) numbers: (&'a [f32], &'a [f32]),
    pub(super) pupil: &'a Pupil,
}

impl SightProber {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            exam: exam(seed, BLOCKS),
        }
    }

    pub(super) fn run(&self, step: u64, now: &Now<'_>) -> Result<SightReport, TrainError> {
        let shares = |shown: &(dyn Fn(&Posed) -> Scene + Sync)| -> Result<Vec<f64>, TrainError> {
            self.exam
                .par_iter()
                .map_init(SeeingSpace::default, |ws, posed| {
                    share(now, &shown(posed), posed, ws)
                })
                .collect()
        };
        let own = shares(&|posed| posed.scene.clone())?;
        let blank = shares(&|posed| posed.scene.blank())?;
        let other = shares(&|posed| self.exam[posed.other].scene.clone())?;
        let mut by_kind: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (posed, share) in self.exam.iter().zip(&own) {
            let sum = by_kind.entry(posed.question.kind.name().to_owned());
            let (right, all) = sum.or_default();
            (*right, *all) = (*right + share, *all + 1.0);
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        Ok(SightReport {
            step,
            own: mean(&own),
            by_kind: by_kind.into_iter().map(|(k, (r, n))| (k, r / n)).collect(),
            blank: mean(&blank),
            other: mean(&other),
        })
    }
}

/// Whether the right answer is the most probable of the four; its share where several are.
fn share(
    now: &Now<'_>,
    scene: &Scene,
    posed: &Posed,
    ws: &mut SeeingSpace,
) -> Result<f64, TrainError> {
    let mut sums = Vec::with_capacity(4);
    for sight in now.pupil.answers(scene, &posed.question)? {
        sums.push(probability(now, &sight, ws)?);
    }
    let best = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let winners = sums.iter().filter(|s| **s == best).count();
    let right = sums.get(posed.question.answer) == Some(&best);
    Ok(if right { 1.0 / winners as f64 } else { 0.0 })
}

/// The log-probability of what counts.
fn probability(now: &Now<'_>, sight: &Sight, ws: &mut SeeingSpace) -> Result<f64, TrainError> {
    let logits = now.net.logits(now.numbers, sight, ws)?;
    let vocabulary = now.net.text.architecture.vocab;
    let rows = logits.chunks_exact(vocabulary).zip(&sight.packed.targets);
    let counted = rows.filter(|(_, target)| target.1 > 0.0);
    let sums = counted.map(|(row, target)| {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|x| f64::from(x - top).exp()).sum();
        f64::from(row[target.0 as usize] - top) - sum.ln()
    });
    Ok(sums.sum())
}
