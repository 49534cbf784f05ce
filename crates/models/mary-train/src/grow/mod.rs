//! Growing a GPT-NeoX-shaped model from scratch: seeded, resumable, with its whole history.
//!
//! On the processor the number of threads changes the speed and nothing else ([`crate::learner`]): a
//! run is the same bit for bit on one thread and on sixteen, and after any number of interruptions.
//! On a GPU it is the same each time on the same kind of GPU. The state a run resumes from does
//! not say where it was computed: a run may go on elsewhere.

mod settings;

pub use settings::{GrowSettings, Size};

use crate::growth::{
    Folder, GrowEvent, GrowReport, Grown, OnEvent, Run, Start, Stepped, groups, new_weights,
};
use crate::job::TrainingJob;
use crate::learner::{ComputeSettings, Device, Learner};
use crate::memory::Estimate;
use crate::net::{Layout, Net, Packed, Shape, Work};
use crate::optimizer::Moments;
use crate::probe::Prober;
use crate::stream::{Documents, Position, TokenStream};
use crate::{Result, TrainError, tokenizer};
use serde_json::json;
use std::path::Path;
use std::sync::mpsc;
use tokenizers::Tokenizer;

/// Generated documents the tokenizer is trained on, for every 64 tokens of its vocabulary.
const TOKENIZER_DOCUMENTS: u64 = 3_000;

struct Batch {
    packed: Vec<Packed>,
    after: Position,
}

struct Grower<'a> {
    settings: &'a GrowSettings,
    shape: Shape,
    learner: Learner,
    position: Position,
    tokenizer: Tokenizer,
    end: u32,
    prober: Option<Prober>,
    /// Encoded ahead of the steps that need them, while a run is under way.
    batches: Option<mpsc::Receiver<Result<Batch>>>,
}

/// Grows a model, or goes on growing it where the folder holds an unfinished run of the same
/// recipe. The callback sees every event and can stop the run; its state is then saved.
pub fn grow(settings: &GrowSettings, on_event: OnEvent<'_>) -> Result<GrowReport> {
    let course = &settings.course;
    settings.check()?;
    settings.device.ready()?;
    let shape = settings.size.shape(settings.size.vocabulary);
    let memory = match settings.device {
        Device::Cpu => Estimate::growing(&shape, course.slots())?,
        Device::Cuda(_) => {
            let total = Layout::new(&shape)?.total;
            Estimate::beside_gpu(total, total)
        }
    }
    .check(settings.memory_limit)?;
    std::fs::create_dir_all(&course.out).map_err(TrainError::file(&course.out))?;
    let documents = Documents::open(&settings.source, course.seed)?;
    let (mut run, mut grower) = Grower::open(settings, &documents)?;
    let total = grower.learner.job.net.layout.total;
    let size = (total, course.batch * settings.size.context);
    let stopped = run.start(size, memory, grower.learner.describe(), on_event)?;
    let (tokenizer, position) = (grower.tokenizer.clone(), grower.position.clone());
    let stream = TokenStream::new(documents, tokenizer, grower.end, position);
    let left = course.steps.saturating_sub(run.step);
    std::thread::scope(|scope| {
        let (send, batches) = mpsc::sync_channel(3);
        let window = (course.batch, settings.size.context);
        scope.spawn(move || read_ahead(stream, left, window, &send));
        grower.batches = Some(batches);
        let report = run.go(&mut grower, stopped, on_event);
        // The other thread ends when nobody takes what it has encoded.
        grower.batches = None;
        report
    })
}

impl<'a> Grower<'a> {
    fn open(settings: &'a GrowSettings, documents: &Documents) -> Result<(Run<'a>, Self)> {
        let course = &settings.course;
        let size = settings.size.vocabulary;
        let tokenizer = tokenizer::load_or_train(&course.out, || match documents {
            Documents::Generated(corpus) => {
                let (corpus, count) = (*corpus, TOKENIZER_DOCUMENTS * size as u64 / 64);
                tokenizer::train((0..count).map(move |i| corpus.document(i)), size)
            }
            Documents::Texts { texts, .. } => tokenizer::train(texts.iter().cloned(), size),
        })?;
        let end = tokenizer::token_id(&tokenizer, tokenizer::END)?;
        let shape = settings.size.shape(tokenizer.get_vocab_size(true));
        let net = Net::new(shape.clone())?;
        let recipe = recipe(settings, &shape, net.layout.total, documents);
        let new = || initial(&shape, &net.layout, course.seed);
        let (run, begun) = Run::open(course, recipe, net.layout.total, new)?;
        let generated = matches!(documents, Documents::Generated(_));
        let prober = match course.probe && generated {
            true => Some(Prober::new(&tokenizer, end, course.seed)?),
            false => None,
        };
        let job = TrainingJob {
            groups: groups(&net.layout.entries, course.optimizer.decay),
            net,
            base: begun.parameters,
            stored: None,
            adapter: None,
            moments: begun.moments,
            optimizer: course.optimizer.clone(),
        };
        let compute = ComputeSettings {
            device: settings.device,
            threads: course.threads,
            slots: course.slots(),
            split: false,
        };
        let grower = Self {
            settings,
            shape,
            learner: Learner::new(job, &compute)?,
            position: begun.position,
            tokenizer,
            end,
            prober,
            batches: None,
        };
        Ok((run, grower))
    }
}

impl Grown for Grower<'_> {
    type Position = Position;

    fn position(&self) -> Position {
        self.position.clone()
    }

    fn step(&mut self, at: (u64, f64)) -> Result<Option<Stepped>> {
        let Some(Ok(batch)) = self.batches.as_ref().map(mpsc::Receiver::recv) else {
            return Ok(None);
        };
        let batch = batch?;
        let weight: f64 = batch.packed.iter().map(Packed::weight).sum();
        let course = &self.settings.course;
        let share = batch.packed.len().div_ceil(course.slots()).max(1);
        let work = batch.packed.chunks(share).map(|some| {
            let work = |packed: &Packed| Work {
                packed: packed.clone(),
                noise: None,
            };
            some.iter().map(work).collect()
        });
        let work: Vec<Vec<Work>> = work.collect();
        let (loss, gradient_norm) = self.learner.step(&work, weight.max(1.0), at)?;
        self.position = batch.after;
        Ok(Some(Stepped {
            loss,
            gradient_norm,
            tokens: course.batch * self.settings.size.context,
        }))
    }

    fn note(&mut self) -> Option<String> {
        self.learner.note()
    }

    fn numbers(&mut self) -> Result<(&[f32], &Moments)> {
        self.learner.fetch()?;
        let job = &self.learner.job;
        Ok((&job.base, &job.moments))
    }

    fn write(&mut self, folder: &Path) -> Result<()> {
        self.learner.fetch()?;
        let storage = self.settings.course.storage;
        Folder {
            config: &self.shape.to_config(storage.name(), self.end),
            tokenizer: &self.tokenizer,
            context: self.shape.context,
            others: &[],
            entries: &self.learner.job.net.layout.entries,
            parameters: &self.learner.job.base,
            storage,
        }
        .write(folder)
    }

    fn probe(&mut self, step: u64) -> Result<Option<GrowEvent>> {
        let Some(prober) = &self.prober else {
            return Ok(None);
        };
        let report = self.learner.with(|net, p| prober.run(step, net, p))?;
        Ok(Some(GrowEvent::Probed(report)))
    }
}

fn read_ahead(
    mut stream: TokenStream,
    steps: u64,
    (batch, context): (usize, usize),
    send: &mpsc::SyncSender<Result<Batch>>,
) {
    for _ in 0..steps {
        let packed: Result<Vec<Packed>> = (0..batch)
            .map(|_| stream.window(context).map(|w| Packed::from_window(&w)))
            .collect();
        let next = packed.map(|packed| Batch {
            packed,
            after: stream.position(),
        });
        let failed = next.is_err();
        if send.send(next).is_err() || failed {
            return;
        }
    }
}

/// Everything that decides the weights, as text: resuming asks for the same.
fn recipe(
    settings: &GrowSettings,
    shape: &Shape,
    parameters: usize,
    documents: &Documents,
) -> String {
    let what = "a model for trying the laboratory, about which no claim is made";
    let own = json!({
        "size": settings.size,
        "shape": shape,
        "parameters": parameters,
        "source": settings.source,
        "documents": documents.count(),
        "text_mark": format!("{:016x}", documents.mark()),
    });
    let tokens = settings.course.batch * settings.size.context;
    settings.course.recipe(what, own, Some(tokens))
}

/// New weights: small normal matrices, the two that write to the residual stream smaller still.
pub(crate) fn initial(shape: &Shape, layout: &Layout, seed: u64) -> Vec<f32> {
    let small = (2.0 / (5.0 * shape.width as f64)).sqrt();
    let residual = 2.0 / (shape.layers as f64 * (shape.width as f64).sqrt()) * 0.5;
    new_weights(&layout.entries, (layout.total, seed), |entry| {
        let ends = |end: &str| entry.name.ends_with(end);
        match entry.dims.len() {
            2 if entry.name.contains("embed") => Start::Normal(0.02),
            2 if ends("dense.weight") || ends("dense_4h_to_h.weight") => {
                Start::Normal(residual.min(small))
            }
            2 => Start::Normal(small),
            _ if ends("norm.weight") => Start::Constant(1.0),
            _ => Start::Constant(0.0),
        }
    })
}
