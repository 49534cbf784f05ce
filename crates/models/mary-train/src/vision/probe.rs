//! Questions about held-out pictures while a model learns to see: with its picture, with a blank one and
//! with another's. A diagnostic of the training; the laboratory's own task measures checkpoints properly,
//! from their folders.

use super::lessons::LessonEncoder;
use crate::Result;
use crate::corpus::scenes::{Posed, Scene, exam};
use crate::net::{VisionLanguageNet, VisionLanguageWorkspace, VisionPack};
use crate::probe::VisionReport;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Blocks of sixteen questions: two of each kind.
const BLOCKS: usize = 10;

pub(super) struct VisionProber {
    exam: Vec<Posed>,
}

/// The model as it is: its numbers and their transpose.
pub(super) struct Weights<'a> {
    pub(super) net: &'a VisionLanguageNet,
    pub(super) numbers: (&'a [f32], &'a [f32]),
    pub(super) encoder: &'a LessonEncoder,
}

impl VisionProber {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            exam: exam(seed, BLOCKS),
        }
    }

    pub(super) fn run(&self, step: u64, now: &Weights<'_>) -> Result<VisionReport> {
        let shares = |shown: &(dyn Fn(&Posed) -> Scene + Sync)| -> Result<Vec<f64>> {
            self.exam
                .par_iter()
                .map_init(VisionLanguageWorkspace::default, |ws, posed| {
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
        Ok(VisionReport {
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
    now: &Weights<'_>,
    scene: &Scene,
    posed: &Posed,
    ws: &mut VisionLanguageWorkspace,
) -> Result<f64> {
    let mut sums = Vec::with_capacity(4);
    for pack in now.encoder.answers(scene, &posed.question)? {
        sums.push(probability(now, &pack, ws)?);
    }
    let best = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let winners = sums.iter().filter(|s| **s == best).count();
    let right = sums.get(posed.question.answer) == Some(&best);
    Ok(if right { 1.0 / winners as f64 } else { 0.0 })
}

fn probability(
    now: &Weights<'_>,
    pack: &VisionPack,
    ws: &mut VisionLanguageWorkspace,
) -> Result<f64> {
    let logits = now.net.logits(now.numbers, pack, ws)?;
    let vocabulary = now.net.text.architecture.vocab;
    let rows = logits.chunks_exact(vocabulary).zip(&pack.packed.targets);
    let counted = rows.filter(|(_, target)| target.1 > 0.0);
    let sums = counted.map(|(row, target)| {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|x| f64::from(x - top).exp()).sum();
        f64::from(row[target.0 as usize] - top) - sum.ln()
    });
    Ok(sums.sum())
}
