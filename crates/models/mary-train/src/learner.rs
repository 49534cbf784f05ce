//! A model in training, wherever it is computed: its numbers, one step, and what comes of it.
//!
//! On the processor every slot of a step is computed on one thread and the slots' gradients are
//! summed in order, so that the number of threads changes the speed and nothing else. On a GPU all
//! of a step is one packed batch, and the numbers come back only when they are asked for.

use rayon::prelude::*;

use crate::job::TrainingJob;
#[cfg(feature = "cuda")]
use crate::net::cuda::{Gpu, GpuTrainer, Multiply};
use crate::net::{Frozen, Gradients, Net, Parameters, Work, Workspace};
use crate::optimizer::{reduce, update};
use crate::{Result, TrainError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    #[default]
    Cpu,
    Cuda(usize),
}

/// The type of the base's numbers in matrix multiplication on a GPU; the processor computes in 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    F32,
    /// bfloat16, with sums in float32.
    Bf16,
}

impl Device {
    /// Says what is wrong with a device that cannot be used, before anything is prepared for it.
    pub(crate) fn ready(self) -> Result<()> {
        let Self::Cuda(number) = self else {
            return Ok(());
        };
        #[cfg(feature = "cuda")]
        return Ok(Gpu::open(number, Multiply::Own).map(drop)?);
        #[cfg(not(feature = "cuda"))]
        Err(TrainError::Settings(format!(
            "cuda:{number}: this program was built without CUDA; see docs/cuda.md, or use --device cpu"
        )))
    }
}

pub(crate) struct ComputeSettings {
    pub(crate) device: Device,
    pub(crate) threads: usize,
    /// Sums of gradients kept apart on the processor.
    pub(crate) slots: usize,
    /// A base that is not trained may be kept split for the tile unit.
    pub(crate) split: bool,
}

pub(crate) enum Engine {
    Cpu(CpuEngine),
    #[cfg(feature = "cuda")]
    Gpu(Box<GpuTrainer>),
}

/// Gradients of a step on the processor: every slot is computed on one thread, and the slots are summed in
/// order, so that the number of threads changes no bit.
pub(crate) struct Slots<W> {
    workspaces: Vec<W>,
    gradients: Vec<Vec<f32>>,
}

impl<W: Default + Send> Slots<W> {
    pub(crate) fn new(count: usize, trained: usize) -> Self {
        Self {
            workspaces: (0..count).map(|_| W::default()).collect(),
            gradients: vec![vec![0.0; trained]; count],
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.gradients.len()
    }

    /// `one` adds the gradient of a slot's work and returns its loss. Returns the summed loss and the norm of
    /// the summed gradient.
    pub(crate) fn add_up<T: Sync>(
        &mut self,
        work: &[T],
        one: impl Fn(&T, &mut [f32], &mut W) -> Result<f64> + Sync,
    ) -> Result<(f64, f64)> {
        let slots = self.gradients.par_iter_mut();
        let losses: Vec<f64> = slots
            .zip(self.workspaces.par_iter_mut())
            .enumerate()
            .map(|(slot, (gradient, ws))| {
                gradient.fill(0.0);
                work.get(slot)
                    .map_or(Ok(0.0), |work| one(work, gradient, ws))
            })
            .collect::<Result<_, _>>()?;
        Ok((losses.iter().sum(), reduce(&mut self.gradients)))
    }

    pub(crate) fn gradient(&self) -> &[f32] {
        self.gradients.first().map_or(&[][..], Vec::as_slice)
    }
}

/// Loss and norm of a step, where both are numbers.
pub(crate) fn finite(step: u64, loss: f64, norm: f64) -> Result<(f64, f64)> {
    match loss.is_finite() && norm.is_finite() {
        true => Ok((loss, norm)),
        false => Err(TrainError::Diverged { step, loss }),
    }
}

pub(crate) struct CpuEngine {
    split: bool,
    /// What is known of the base where only an adapter is trained.
    frozen: Option<Box<Frozen>>,
    pub(crate) slots: Slots<Workspace>,
}

pub(crate) struct Learner {
    /// On a GPU, its numbers are as they were last fetched.
    pub(crate) job: TrainingJob,
    pub(crate) engine: Engine,
    pool: rayon::ThreadPool,
    pub(crate) transposed: Vec<f32>,
    /// `transposed` is that of the base as it is.
    turned: bool,
}

#[cfg(feature = "cuda")]
pub(crate) fn engine(
    job: &TrainingJob,
    compute: &ComputeSettings,
    how: Multiply,
) -> Result<Engine> {
    let Device::Cuda(number) = compute.device else {
        return Ok(Engine::Cpu(CpuEngine::new(job, compute)));
    };
    let gpu = Gpu::open(number, how)?;
    Ok(Engine::Gpu(Box::new(GpuTrainer::new(gpu, job)?)))
}

#[cfg(not(feature = "cuda"))]
fn engine(job: &TrainingJob, compute: &ComputeSettings) -> Result<Engine> {
    compute.device.ready()?;
    Ok(Engine::Cpu(CpuEngine::new(job, compute)))
}

impl CpuEngine {
    fn new(job: &TrainingJob, compute: &ComputeSettings) -> Self {
        Self {
            split: compute.split,
            frozen: None,
            slots: Slots::new(compute.slots, job.moments.first.len()),
        }
    }

    /// Every slot its packs; returns the summed loss and the gradient's norm.
    pub(crate) fn gradients(
        &mut self,
        job: &TrainingJob,
        transposed: &[f32],
        work: &[Vec<Work>],
        scale: f32,
    ) -> Result<(f64, f64)> {
        let frozen = self.frozen.as_deref();
        self.slots.add_up(work, |work, gradient, ws| {
            let mut loss = 0.0;
            for w in work {
                let p = job.parameters(transposed, frozen, w.noise);
                let mut g = Gradients::default();
                match job.adapter {
                    Some(_) => g.adapter = Some(&mut *gradient),
                    None => g.base = Some(&mut *gradient),
                }
                let net = &job.net;
                loss += net.loss_and_gradient(&p, &w.packed, scale, &mut g, ws)?;
            }
            Ok(loss)
        })
    }
}

pub(crate) fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| TrainError::Settings(format!("could not start {threads} threads: {e}")))
}

impl Learner {
    pub(crate) fn new(job: TrainingJob, compute: &ComputeSettings) -> Result<Self> {
        #[cfg(feature = "cuda")]
        let engine = engine(&job, compute, Multiply::default())?;
        #[cfg(not(feature = "cuda"))]
        let engine = engine(&job, compute)?;
        Self::with_engine(job, compute, engine)
    }

    pub(crate) fn with_engine(
        job: TrainingJob,
        compute: &ComputeSettings,
        engine: Engine,
    ) -> Result<Self> {
        Ok(Self {
            pool: pool(compute.threads)?,
            engine,
            job,
            transposed: Vec::new(),
            turned: false,
        })
    }

    pub(crate) fn describe(&self) -> String {
        match &self.engine {
            Engine::Cpu(_) => {
                let threads = self.pool.current_num_threads();
                let base = self
                    .job
                    .stored
                    .as_ref()
                    .map(|s| format!(", base in {}", s.describe()));
                format!("cpu, {threads} threads{}", base.unwrap_or_default())
            }
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.describe(),
        }
    }

    pub(crate) fn note(&mut self) -> Option<String> {
        match &mut self.engine {
            Engine::Cpu(_) => None,
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.note(),
        }
    }

    pub(crate) fn replace_adapter(&mut self, new: Vec<f32>) -> Result<()> {
        if let Some((_, values)) = &mut self.job.adapter {
            *values = new;
        }
        #[cfg(feature = "cuda")]
        if let Engine::Gpu(gpu) = &mut self.engine
            && let Some((_, values)) = &self.job.adapter
        {
            gpu.bring_back(values, &self.job.moments)?;
        }
        Ok(())
    }

    /// One step over packs dealt out to slots; `weight` is that of all their targets. Returns the
    /// mean loss and the gradient's norm before clipping.
    pub(crate) fn step(
        &mut self,
        work: &[Vec<Work>],
        weight: f64,
        (step, rate): (u64, f64),
    ) -> Result<(f64, f64)> {
        let scale = (1.0 / weight) as f32;
        self.turn();
        self.turned &= self.job.adapter.is_some();
        let (job, transposed) = (&mut self.job, self.transposed.as_slice());
        match &mut self.engine {
            Engine::Cpu(processor) => self.pool.install(|| {
                let (loss, norm) = processor.gradients(job, transposed, work, scale)?;
                let (loss, norm) = finite(step, loss / weight, norm)?;
                let values = match &mut job.adapter {
                    Some((_, values)) => values.as_mut_slice(),
                    None => &mut job.base,
                };
                let numbers = (values, processor.slots.gradient(), norm);
                let (moments, groups) = (&mut job.moments, &job.groups);
                update(&job.optimizer, (step, rate), numbers, moments, groups);
                Ok((loss, norm))
            }),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => {
                let all: Vec<&Work> = work.iter().flatten().collect();
                for w in &all {
                    job.net.check_packed(&w.packed)?;
                }
                let (loss, norm) = gpu.step(&all, scale, &job.optimizer, (step, rate))?;
                finite(step, loss / weight, norm)
            }
        }
    }

    /// Looks at a base that is not trained, once, and transposes the matrices of others, where the processor
    /// will want it.
    pub(crate) fn turn(&mut self) {
        let job = &self.job;
        match &mut self.engine {
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => return,
            Engine::Cpu(processor) => {
                if processor.frozen.is_none() && job.adapter.is_some() {
                    let (layout, stored) = (&job.net.layout, job.stored.as_ref());
                    let split = processor.split;
                    let look = || Frozen::new(layout, &job.base, stored, split);
                    processor.frozen = Some(Box::new(self.pool.install(look)));
                }
                if job.adapter.is_some() && !Frozen::wants_transpose() {
                    return;
                }
            }
        }
        self.transpose();
    }

    fn transpose(&mut self) {
        if !self.turned && self.job.stored.is_none() {
            let (job, to) = (&self.job, &mut self.transposed);
            self.pool.install(|| job.net.transposed(&job.base, to));
            self.turned = true;
        }
    }

    pub(crate) fn fetch(&mut self) -> Result<()> {
        match &mut self.engine {
            Engine::Cpu(_) => {}
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => {
                let job = &mut self.job;
                self.turned &= job.adapter.is_some();
                let values = match &mut job.adapter {
                    Some((_, values)) => values,
                    None => &mut job.base,
                };
                gpu.fetch(values, &mut job.moments)?;
            }
        }
        Ok(())
    }

    pub(crate) fn with<T: Send>(
        &mut self,
        act: impl FnOnce(&Net, &Parameters<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        self.turn();
        #[cfg(feature = "cuda")]
        if matches!(self.engine, Engine::Gpu(_)) {
            self.transpose();
        }
        let frozen = match &self.engine {
            Engine::Cpu(processor) => processor.frozen.as_deref(),
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => None,
        };
        let job = &self.job;
        let p = job.parameters(&self.transposed, frozen, None);
        self.pool.install(|| act(&job.net, &p))
    }

    /// For every pack, the targets that count: log-probability, and whether none was more probable.
    pub(crate) fn answers(&mut self, work: &[Work]) -> Result<Vec<Vec<(f32, bool)>>> {
        #[cfg(feature = "cuda")]
        if let Engine::Gpu(gpu) = &mut self.engine {
            let all: Vec<&Work> = work.iter().collect();
            for w in &all {
                self.job.net.check_packed(&w.packed)?;
            }
            return Ok(gpu.answers(&all)?);
        }
        self.with(|net, p| {
            work.par_iter()
                .map_init(Workspace::default, |ws, w| net.answers(p, &w.packed, ws))
                .collect()
        })
    }
}
