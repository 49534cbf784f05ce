//! Trials: a model of any shape with seeded numbers, trained a few steps here or on a GPU, so that
//! the two can be held against each other. `examples/gpu.rs` does so and measures.

use crate::learner::{Device, Learner, Lesson, Means, Work};
use crate::net::{AdapterLayout, Net, Packed, Shape, Stored};
use crate::optimizer::{AdamW, Moments};
use crate::{TrainError, grow, growth};

pub use super::Multiply;
pub use super::reference::{kernels, relative};

/// An adapter that is trained instead of the base.
#[derive(Debug, Clone)]
pub struct Adapting {
    /// Its rank.
    pub rank: usize,
    /// Its strength: the low-rank product is multiplied by alpha / rank.
    pub alpha: f32,
    /// Its numbers; seeded ones where there are none.
    pub values: Option<Vec<f32>>,
    /// Share of inputs dropped.
    pub dropout: f32,
    /// The matrices adapted, by the last part of their names.
    pub targets: Vec<String>,
}

impl Adapting {
    /// Seeded numbers on these matrices.
    pub fn new(rank: usize, dropout: f32, targets: &[&str]) -> Self {
        Self {
            rank,
            alpha: 2.0 * rank as f32,
            values: None,
            dropout,
            targets: targets.iter().map(|t| (*t).to_owned()).collect(),
        }
    }
}

/// What a trial is of.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The model's shape.
    pub shape: Shape,
    /// A model of another family in its place; its numbers are given then.
    pub net: Option<Net>,
    /// The base's matrices are bfloat16s; on a GPU products are in 16 bits then.
    pub short: bool,
    /// Its numbers; seeded ones where there are none.
    pub base: Option<Vec<f32>>,
    /// The adapter, where one is trained.
    pub adapting: Option<Adapting>,
    /// The optimiser.
    pub optimizer: AdamW,
}

impl Plan {
    /// A whole model with seeded numbers.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            net: None,
            short: false,
            base: None,
            adapting: None,
            optimizer: AdamW {
                rate: 1e-3,
                beta1: 0.9,
                beta2: 0.95,
                eps: 1e-8,
                decay: 0.1,
                clip: 1.0,
            },
        }
    }
}

/// A model in training.
pub struct Trial {
    learner: Learner,
    rate: f64,
    step: u64,
}

/// Small numbers without any order, so that nothing is zero by chance.
pub(super) fn ripple(count: usize, size: f32, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            size * ((state >> 40) as f32 / (1u64 << 23) as f32 - 1.0)
        })
        .collect()
}

impl Trial {
    /// Prepares a trial on a device.
    pub fn new(plan: &Plan, device: Device, how: Multiply) -> Result<Self, TrainError> {
        let net = match &plan.net {
            Some(net) => net.clone(),
            None => Net::new(plan.shape.clone())?,
        };
        let base = plan.base.clone().unwrap_or_else(|| {
            let mut base = grow::initial(&plan.shape, &net.layout, 1);
            let noise = ripple(base.len(), 0.02, 2);
            base.iter_mut().zip(&noise).for_each(|(x, y)| *x += y);
            base
        });
        let decay = plan.optimizer.decay;
        let adapter = match &plan.adapting {
            Some(a) => {
                let layout = &net.layout;
                let table = AdapterLayout::new(layout, a.rank, a.alpha, a.dropout, &a.targets)?;
                let seeded = || ripple(table.total, 0.1, 3);
                let values = a.values.clone().unwrap_or_else(seeded);
                Some((table, values))
            }
            None => None,
        };
        let groups = match &adapter {
            Some((table, _)) => vec![(0..table.total, decay)],
            None => growth::groups(&net.layout.entries, decay),
        };
        let trained = adapter
            .as_ref()
            .map_or(base.len(), |(table, _)| table.total);
        let lesson = Lesson {
            stored: plan.short.then(|| Stored::rounded(&net.layout, &base)),
            net,
            base,
            adapter,
            moments: Moments::new(trained),
            optimizer: plan.optimizer.clone(),
            groups,
        };
        let means = Means {
            device,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            slots: 1,
            split: false,
        };
        Ok(Self {
            learner: Learner::multiplying(lesson, &means, how)?,
            rate: plan.optimizer.rate,
            step: 0,
        })
    }

    /// Where it is computed, in words.
    pub fn describe(&self) -> String {
        self.learner.describe()
    }

    fn work(packs: &[Packed]) -> (Vec<Vec<Work>>, f64) {
        let weight = packs.iter().map(Packed::weight).sum::<f64>().max(1.0);
        let work = packs.iter().enumerate().map(|(i, packed)| Work {
            packed: packed.clone(),
            noise: Some(77 + i as u64),
        });
        (vec![work.collect()], weight)
    }

    /// One step; the mean loss and the gradient's norm.
    pub fn step(&mut self, packs: &[Packed]) -> Result<(f64, f64), TrainError> {
        let (work, weight) = Self::work(packs);
        self.step += 1;
        self.learner.step(&work, weight, (self.step, self.rate))
    }

    /// Mean loss, norm and gradient of a step that is not taken.
    pub fn gradient(&mut self, packs: &[Packed]) -> Result<(f64, f64, Vec<f32>), TrainError> {
        let (work, weight) = Self::work(packs);
        let (loss, norm, gradient) = self.learner.gradient(&work, (1.0 / weight) as f32)?;
        Ok((loss / weight, norm, gradient))
    }

    /// Log-probability of every target that counts, and whether none was more probable.
    pub fn answers(&mut self, packs: &[Packed]) -> Result<Vec<Vec<(f32, bool)>>, TrainError> {
        let (work, _) = Self::work(packs);
        self.learner.answers(&work.concat())
    }

    /// What was trained.
    pub fn trained(&mut self) -> Result<Vec<f32>, TrainError> {
        self.learner.fetch()?;
        let lesson = self.learner.lesson();
        Ok(match &lesson.adapter {
            Some((_, values)) => values.clone(),
            None => lesson.base.clone(),
        })
    }

    /// The tensors of a gradient or of what was trained, by name.
    pub fn tensors<'a>(&self, numbers: &'a [f32]) -> Vec<(String, &'a [f32])> {
        let lesson = self.learner.lesson();
        match &lesson.adapter {
            None => (lesson.net.layout.entries.iter())
                .map(|e| (e.name.clone(), &numbers[e.place.clone()]))
                .collect(),
            Some((table, _)) => (table.sites.iter().flatten())
                .flat_map(|site| {
                    let name = |part: &str| format!("{}.{part}", site.name);
                    [
                        (name("A"), &numbers[site.down.clone()]),
                        (name("B"), &numbers[site.up.clone()]),
                    ]
                })
                .collect(),
        }
    }

    /// Takes at most this many tokens at once on the GPU, and keeps so many blocks for the backward pass.
    pub fn at_once(&mut self, tokens: usize, kept: usize) {
        self.learner.at_once(tokens, kept);
    }

    /// Leaves this much memory to take on the GPU.
    pub fn leave(&mut self, bytes: u64) {
        self.learner.leave(bytes);
    }

    /// What the user should know and has not been told yet.
    pub fn note(&mut self) -> Option<String> {
        self.learner.note()
    }
}
