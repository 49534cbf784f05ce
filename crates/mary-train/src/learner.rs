//! A model in training, wherever it is computed: its numbers, one step, and what comes of it.
//!
//! On the processor every slot of a step is computed on one thread and the slots' gradients are
//! summed in order, so that the number of threads changes the speed and nothing else. On a GPU all
//! of a step is one packed batch, and the numbers come back only when they are asked for.

use std::ops::Range;

use rayon::prelude::*;

use crate::TrainError;
#[cfg(feature = "cuda")]
use crate::net::cuda::{Gpu, GpuTrainer, Multiply, Start};
use crate::net::{AdapterLayout, Frozen, Gradients, Net, Packed, Parameters, Stored, Workspace};
use crate::optimizer::{AdamW, Moments, reduce, update};

/// Where a model is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "fields are what their names say")]
pub enum Device {
    #[default]
    Cpu,
    /// An NVIDIA GPU, by its number.
    Cuda(usize),
}

/// The type of the base's numbers in products on a GPU; the processor computes in 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are what their names say")]
pub enum NumberType {
    F32,
    /// bfloat16, with sums in float32.
    Bf16,
}

impl Device {
    /// Says what is wrong with a device that cannot be used, before anything is prepared for it.
    pub(crate) fn ready(self) -> Result<(), TrainError> {
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

/// Packed texts of a step, and the seed of what is dropped in them.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) packed: Packed,
    pub(crate) noise: Option<u64>,
}

/// What is trained and how.
pub(crate) struct Lesson {
    pub(crate) net: Net,
    pub(crate) base: Vec<f32>,
    /// The matrices of the base as they are stored, where they are not in `base`.
    pub(crate) stored: Option<Stored>,
    /// Where there is an adapter, it alone is trained.
    pub(crate) adapter: Option<(AdapterLayout, Vec<f32>)>,
    pub(crate) moments: Moments,
    pub(crate) optimizer: AdamW,
    /// Places of what is trained, with their weight decay.
    pub(crate) groups: Vec<(Range<usize>, f64)>,
}

/// Where and with how much it is computed.
pub(crate) struct Means {
    pub(crate) device: Device,
    pub(crate) threads: usize,
    /// Sums of gradients kept apart on the processor.
    pub(crate) slots: usize,
    /// A base that is not trained may be kept split for the tile unit.
    pub(crate) split: bool,
}

enum Engine {
    Processor(Processor),
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
        one: impl Fn(&T, &mut [f32], &mut W) -> Result<f64, TrainError> + Sync,
    ) -> Result<(f64, f64), TrainError> {
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
pub(crate) fn finite(step: u64, loss: f64, norm: f64) -> Result<(f64, f64), TrainError> {
    match loss.is_finite() && norm.is_finite() {
        true => Ok((loss, norm)),
        false => Err(TrainError::Diverged { step, loss }),
    }
}

struct Processor {
    split: bool,
    /// What is known of the base where only an adapter is trained.
    frozen: Option<Box<Frozen>>,
    slots: Slots<Workspace>,
}

pub(crate) struct Learner {
    lesson: Lesson,
    engine: Engine,
    pool: rayon::ThreadPool,
    transposed: Vec<f32>,
    /// `transposed` is that of the base as it is.
    turned: bool,
}

#[cfg(feature = "cuda")]
fn engine(lesson: &Lesson, means: &Means, how: Multiply) -> Result<Engine, TrainError> {
    let Device::Cuda(number) = means.device else {
        return Ok(Engine::Processor(Processor::new(lesson, means)));
    };
    let gpu = Gpu::open(number, how)?;
    let start = Start {
        net: &lesson.net,
        base: &lesson.base,
        stored: lesson.stored.as_ref(),
        adapter: lesson.adapter.as_ref().map(|(t, v)| (t, v.as_slice())),
        moments: &lesson.moments,
        groups: &lesson.groups,
    };
    Ok(Engine::Gpu(Box::new(GpuTrainer::new(gpu, &start)?)))
}

#[cfg(not(feature = "cuda"))]
fn engine(lesson: &Lesson, means: &Means) -> Result<Engine, TrainError> {
    means.device.ready()?;
    Ok(Engine::Processor(Processor::new(lesson, means)))
}

impl Processor {
    fn new(lesson: &Lesson, means: &Means) -> Self {
        Self {
            split: means.split,
            frozen: None,
            slots: Slots::new(means.slots, lesson.moments.first.len()),
        }
    }

    /// Every slot its packs; returns the summed loss and the gradient's norm.
    fn gradients(
        &mut self,
        lesson: &Lesson,
        transposed: &[f32],
        work: &[Vec<Work>],
        scale: f32,
    ) -> Result<(f64, f64), TrainError> {
        let frozen = self.frozen.as_deref();
        self.slots.add_up(work, |work, gradient, ws| {
            let mut loss = 0.0;
            for w in work {
                let p = lesson.parameters(transposed, frozen, w.noise);
                let mut g = Gradients::default();
                match lesson.adapter {
                    Some(_) => g.adapter = Some(&mut *gradient),
                    None => g.base = Some(&mut *gradient),
                }
                let net = &lesson.net;
                loss += net.loss_and_gradient(&p, &w.packed, scale, &mut g, ws)?;
            }
            Ok(loss)
        })
    }
}

impl Lesson {
    fn parameters<'a>(
        &'a self,
        transposed: &'a [f32],
        frozen: Option<&'a Frozen>,
        noise: Option<u64>,
    ) -> Parameters<'a> {
        let adapter = self.adapter.as_ref();
        Parameters {
            base: &self.base,
            stored: self.stored.as_ref(),
            transposed: (!transposed.is_empty()).then_some(transposed),
            frozen,
            adapter: adapter.map(|(table, values)| (table, values.as_slice(), noise)),
        }
    }
}

pub(crate) fn pool(threads: usize) -> Result<rayon::ThreadPool, TrainError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| TrainError::Settings(format!("could not start {threads} threads: {e}")))
}

impl Learner {
    pub(crate) fn new(lesson: Lesson, means: &Means) -> Result<Self, TrainError> {
        #[cfg(feature = "cuda")]
        let engine = engine(&lesson, means, Multiply::default())?;
        #[cfg(not(feature = "cuda"))]
        let engine = engine(&lesson, means)?;
        Self::of(lesson, means, engine)
    }

    /// With another way of multiplying on the GPU; for checks.
    #[cfg(all(feature = "cuda", feature = "checks"))]
    pub(crate) fn multiplying(
        lesson: Lesson,
        means: &Means,
        how: Multiply,
    ) -> Result<Self, TrainError> {
        let engine = engine(&lesson, means, how)?;
        Self::of(lesson, means, engine)
    }

    fn of(lesson: Lesson, means: &Means, engine: Engine) -> Result<Self, TrainError> {
        Ok(Self {
            pool: pool(means.threads)?,
            engine,
            lesson,
            transposed: Vec::new(),
            turned: false,
        })
    }

    /// Where it is computed, in words.
    pub(crate) fn describe(&self) -> String {
        match &self.engine {
            Engine::Processor(_) => {
                let threads = self.pool.current_num_threads();
                match &self.lesson.stored {
                    Some(stored) => {
                        format!("cpu, {threads} threads, base in {}", stored.describe())
                    }
                    None => format!("cpu, {threads} threads"),
                }
            }
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.describe(),
        }
    }

    /// What the user should know and has not been told yet.
    pub(crate) fn note(&mut self) -> Option<String> {
        match &mut self.engine {
            Engine::Processor(_) => None,
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.note(),
        }
    }

    pub(crate) fn net(&self) -> &Net {
        &self.lesson.net
    }

    /// The numbers as they were last brought back.
    pub(crate) fn lesson(&self) -> &Lesson {
        &self.lesson
    }

    /// Puts another adapter in the place of the one that was trained.
    pub(crate) fn replace_adapter(&mut self, new: Vec<f32>) -> Result<(), TrainError> {
        if let Some((_, values)) = &mut self.lesson.adapter {
            *values = new;
        }
        #[cfg(feature = "cuda")]
        if let Engine::Gpu(gpu) = &mut self.engine
            && let Some((_, values)) = &self.lesson.adapter
        {
            gpu.bring_back(values, &self.lesson.moments)?;
        }
        Ok(())
    }

    /// Goes on from an adapter and its moments as they were saved.
    pub(crate) fn go_on_from(
        &mut self,
        values: Vec<f32>,
        moments: Moments,
    ) -> Result<(), TrainError> {
        self.lesson.moments = moments;
        self.replace_adapter(values)
    }

    /// All the numbers, when training is over.
    pub(crate) fn into_lesson(self) -> Lesson {
        self.lesson
    }

    /// One step over packs dealt out to slots; `weight` is that of all their targets. Returns the
    /// mean loss and the gradient's norm before clipping.
    pub(crate) fn step(
        &mut self,
        work: &[Vec<Work>],
        weight: f64,
        (step, rate): (u64, f64),
    ) -> Result<(f64, f64), TrainError> {
        let scale = (1.0 / weight) as f32;
        self.turn();
        self.turned &= self.lesson.adapter.is_some();
        let (lesson, transposed) = (&mut self.lesson, self.transposed.as_slice());
        match &mut self.engine {
            Engine::Processor(processor) => self.pool.install(|| {
                let (loss, norm) = processor.gradients(lesson, transposed, work, scale)?;
                let (loss, norm) = finite(step, loss / weight, norm)?;
                let values = match &mut lesson.adapter {
                    Some((_, values)) => values,
                    None => &mut lesson.base,
                };
                let numbers = (values.as_mut_slice(), processor.slots.gradient(), norm);
                let (moments, groups) = (&mut lesson.moments, &lesson.groups);
                update(&lesson.optimizer, (step, rate), numbers, moments, groups);
                Ok((loss, norm))
            }),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => {
                let all: Vec<&Work> = work.iter().flatten().collect();
                for w in &all {
                    lesson.net.check_packed(&w.packed)?;
                }
                let (loss, norm) = gpu.step(&all, scale, &lesson.optimizer, (step, rate))?;
                finite(step, loss / weight, norm)
            }
        }
    }

    /// Summed loss, norm and gradient of a step that is not taken; for checks.
    #[cfg(all(feature = "cuda", feature = "checks"))]
    pub(crate) fn gradient(
        &mut self,
        work: &[Vec<Work>],
        scale: f32,
    ) -> Result<(f64, f64, Vec<f32>), TrainError> {
        self.turn();
        match &mut self.engine {
            Engine::Processor(processor) => {
                let (lesson, transposed) = (&self.lesson, self.transposed.as_slice());
                let (loss, norm) = processor.gradients(lesson, transposed, work, scale)?;
                Ok((loss, norm, processor.slots.gradient().to_vec()))
            }
            Engine::Gpu(gpu) => {
                let all: Vec<&Work> = work.iter().flatten().collect();
                Ok(gpu.gradient(&all, scale)?)
            }
        }
    }

    /// Takes at most this many tokens at once on a GPU, and keeps so many blocks for the backward pass;
    /// for checks.
    #[cfg(all(feature = "cuda", feature = "checks"))]
    pub(crate) fn at_once(&mut self, tokens: usize, kept: usize) {
        if let Engine::Gpu(gpu) = &mut self.engine {
            gpu.at_once(tokens, kept);
        }
    }

    /// Leaves this much memory to take on a GPU; for checks.
    #[cfg(all(feature = "cuda", feature = "checks"))]
    pub(crate) fn leave(&mut self, bytes: u64) {
        if let Engine::Gpu(gpu) = &mut self.engine {
            gpu.leave(bytes);
        }
    }

    /// Looks at a base that is not trained, once, and transposes the matrices of others, where the processor
    /// will want it.
    fn turn(&mut self) {
        let lesson = &self.lesson;
        match &mut self.engine {
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => return,
            Engine::Processor(processor) => {
                if processor.frozen.is_none() && lesson.adapter.is_some() {
                    let (layout, stored) = (&lesson.net.layout, lesson.stored.as_ref());
                    let split = processor.split;
                    let look = || Frozen::new(layout, &lesson.base, stored, split);
                    processor.frozen = Some(Box::new(self.pool.install(look)));
                }
                if lesson.adapter.is_some() && !Frozen::wants_transpose() {
                    return;
                }
            }
        }
        self.transpose();
    }

    /// The base with its matrices transposed, as it is now.
    fn transpose(&mut self) {
        if !self.turned && self.lesson.stored.is_none() {
            let (lesson, to) = (&self.lesson, &mut self.transposed);
            self.pool
                .install(|| lesson.net.transposed(&lesson.base, to));
            self.turned = true;
        }
    }

    /// Brings what was trained back to where it can be read.
    pub(crate) fn fetch(&mut self) -> Result<(), TrainError> {
        match &mut self.engine {
            Engine::Processor(_) => {}
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => {
                let lesson = &mut self.lesson;
                self.turned &= lesson.adapter.is_some();
                let values = match &mut lesson.adapter {
                    Some((_, values)) => values,
                    None => &mut lesson.base,
                };
                gpu.fetch(values, &mut lesson.moments)?;
            }
        }
        Ok(())
    }

    /// Runs something with the model as it is, on the processor.
    pub(crate) fn with<T: Send>(
        &mut self,
        act: impl FnOnce(&Net, &Parameters<'_>) -> Result<T, TrainError> + Send,
    ) -> Result<T, TrainError> {
        self.turn();
        #[cfg(feature = "cuda")]
        if matches!(self.engine, Engine::Gpu(_)) {
            self.transpose();
        }
        let frozen = match &self.engine {
            Engine::Processor(processor) => processor.frozen.as_deref(),
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => None,
        };
        let lesson = &self.lesson;
        let p = lesson.parameters(&self.transposed, frozen, None);
        self.pool.install(|| act(&lesson.net, &p))
    }

    /// For every pack, the targets that count: log-probability, and whether none was more probable.
    pub(crate) fn answers(&mut self, work: &[Work]) -> Result<Vec<Vec<(f32, bool)>>, TrainError> {
        #[cfg(feature = "cuda")]
        if let Engine::Gpu(gpu) = &mut self.engine {
            let all: Vec<&Work> = work.iter().collect();
            for w in &all {
                self.lesson.net.check_packed(&w.packed)?;
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
