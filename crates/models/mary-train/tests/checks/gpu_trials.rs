//! Trials: a model of any shape with seeded numbers, trained a few steps here or on a GPU, so that
//! the two can be held against each other. `examples/gpu.rs` does so and measures.

use crate::job::TrainingJob;
use crate::learner::{ComputeSettings, Device, Engine, Learner, engine};
use crate::memory::AtOnce;
use crate::net::layout::Layout;
use crate::net::stored::{Matrix, Numbers};
use crate::net::{AdapterLayout, Net, Packed, Shape, Stored, Work};
use crate::optimizer::{AdamW, Moments};
use crate::{TrainError, grow, growth};
use mary_contract::ModelError;
use mary_weights::TensorType;

use super::GpuTrainer;
pub use super::Multiply;
use super::buffers::Buffers;
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
        let job = TrainingJob {
            stored: plan.short.then(|| Stored::rounded(&net.layout, &base)),
            net,
            base,
            adapter,
            moments: Moments::new(trained),
            optimizer: plan.optimizer.clone(),
            groups,
        };
        let compute = ComputeSettings {
            device,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            slots: 1,
            split: false,
        };
        Ok(Self {
            learner: Learner::multiplying(job, &compute, how)?,
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
        let job = &self.learner.job;
        Ok(match &job.adapter {
            Some((_, values)) => values.clone(),
            None => job.base.clone(),
        })
    }

    /// The tensors of a gradient or of what was trained, by name.
    pub fn tensors<'a>(&self, numbers: &'a [f32]) -> Vec<(String, &'a [f32])> {
        let job = &self.learner.job;
        match &job.adapter {
            None => (job.net.layout.entries.iter())
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

impl Learner {
    /// With another way of multiplying on the GPU.
    pub(crate) fn multiplying(
        job: TrainingJob,
        compute: &ComputeSettings,
        how: Multiply,
    ) -> Result<Self, TrainError> {
        let engine = engine(&job, compute, how)?;
        Self::with_engine(job, compute, engine)
    }

    /// Summed loss, norm and gradient of a step that is not taken.
    pub(crate) fn gradient(
        &mut self,
        work: &[Vec<Work>],
        scale: f32,
    ) -> Result<(f64, f64, Vec<f32>), TrainError> {
        self.turn();
        match &mut self.engine {
            Engine::Cpu(processor) => {
                let (job, transposed) = (&self.job, self.transposed.as_slice());
                let (loss, norm) = processor.gradients(job, transposed, work, scale)?;
                Ok((loss, norm, processor.slots.gradient().to_vec()))
            }
            Engine::Gpu(gpu) => {
                let all: Vec<&Work> = work.iter().flatten().collect();
                Ok(gpu.gradient(&all, scale)?)
            }
        }
    }

    /// Takes at most this many tokens at once on a GPU, and keeps so many blocks for the backward pass.
    pub(crate) fn at_once(&mut self, tokens: usize, kept: usize) {
        if let Engine::Gpu(gpu) = &mut self.engine {
            gpu.at_once(tokens, kept);
        }
    }

    /// Leaves this much memory to take on a GPU.
    pub(crate) fn leave(&mut self, bytes: u64) {
        if let Engine::Gpu(gpu) = &mut self.engine {
            gpu.leave(bytes);
        }
    }
}

impl GpuTrainer {
    /// Loss and gradient alone, with their norm.
    pub(crate) fn gradient(
        &mut self,
        work: &[&Work],
        scale: f32,
    ) -> Result<(f64, f64, Vec<f32>), ModelError> {
        self.gradient_of(work, scale)?;
        self.norm(0.0)?;
        let (loss, norm) = self.totals()?;
        let numbers = self.gpu.device.read(self.gradient.at(), self.trained)?;
        Ok((loss, norm, numbers))
    }

    /// Takes at most this many tokens at once and keeps so many blocks.
    pub(crate) fn at_once(&mut self, tokens: usize, kept: usize) {
        self.at_once = AtOnce { tokens, kept };
        self.buffers = Buffers::default();
    }

    /// Leaves this much memory to take.
    pub(crate) fn leave(&mut self, bytes: u64) {
        self.buffers = Buffers::default();
        self.gpu.forget();
        self.gpu.device.limit(self.gpu.device.used() + bytes);
    }
}

impl Stored {
    /// The matrices of a flat slice, in bfloat16 as a file would hold them.
    pub(crate) fn rounded(layout: &Layout, base: &[f32]) -> Self {
        let matrix = |place: &std::ops::Range<usize>, inputs: usize| {
            let numbers = base[place.clone()].iter();
            let bytes: Vec<u8> = numbers
                .flat_map(|x| half::bf16::from_f32(*x).to_le_bytes())
                .collect();
            Matrix {
                outputs: place.len() / inputs.max(1),
                inputs,
                numbers: Numbers::Raw(TensorType::BF16, bytes.into()),
            }
        };
        let mut linears: Vec<_> = layout.blocks.iter().flat_map(|b| b.linears()).collect();
        linears.sort_by_key(|linear| linear.index);
        let width = layout.final_norm.weight.len();
        let own = layout.head != layout.embedding;
        Self {
            matrices: (linears.iter())
                .map(|linear| matrix(&linear.weight, linear.inputs))
                .collect(),
            embedding: matrix(&layout.embedding, width),
            head: own.then(|| matrix(&layout.head, width)),
        }
    }
}
