//! Growing a GPT-NeoX-shaped model from scratch: seeded, resumable, with its whole history.
//!
//! On the processor the number of threads changes the speed and nothing else ([`crate::learner`]): a
//! run is the same bit for bit on one thread and on sixteen, and after any number of interruptions.
//! On a GPU it is the same each time on the same kind of GPU. The state a run resumes from does
//! not say where it was computed: a run may go on elsewhere.

mod settings;

pub use settings::{GrowSettings, Size};

use crate::hf::{Folder, write_whole};
use crate::learner::{Device, Learner, Lesson, Means, Work};
use crate::memory::Estimate;
use crate::net::{Layout, Net, Packed, Shape};
use crate::optimizer::{Moments, Schedule};
use crate::probe::{ProbeReport, Prober};
use crate::state::{self, State};
use crate::stream::{Documents, Position, TokenStream};
use crate::{TrainError, tokenizer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::io::Write as _;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;
use tokenizers::Tokenizer;

/// Generated documents the tokenizer is trained on, for every 64 tokens of its vocabulary.
const TOKENIZER_DOCUMENTS: u64 = 3_000;

/// What happens while a model grows.
#[derive(Debug, Clone)]
pub enum GrowEvent {
    /// Everything is ready.
    Started {
        /// Parameters of the model.
        parameters: usize,
        /// Tokens in one step.
        tokens_per_step: usize,
        /// Estimated memory in bytes.
        memory: u64,
        /// The step the run goes on from.
        from_step: u64,
        /// Where it is computed, in words.
        device: String,
    },
    /// Something the user should know.
    Note(String),
    /// One step is done.
    Step {
        /// Its number, from 1.
        step: u64,
        /// Mean loss per token, in nats.
        loss: f64,
        /// The learning rate used.
        rate: f64,
        /// Norm of the gradient before clipping.
        gradient_norm: f64,
        /// Tokens a second since this call started.
        tokens_per_second: f64,
    },
    /// A checkpoint was written.
    Checkpoint {
        /// Its step.
        step: u64,
        /// Its folder.
        folder: PathBuf,
    },
    /// Held-out items were scored.
    Probed(ProbeReport),
    /// Questions about held-out pictures were asked.
    Looked(crate::sight::SightReport),
}

/// What a call of [`grow`] did.
#[derive(Debug, Clone)]
pub struct GrowReport {
    /// The last step done.
    pub step: u64,
    /// True when all steps are done.
    pub finished: bool,
    /// Loss of every step done in this call.
    pub losses: Vec<f64>,
    /// Folder of the last checkpoint written in this call.
    pub last_checkpoint: Option<PathBuf>,
    /// Tokens a second in this call.
    pub tokens_per_second: f64,
}

struct Batch {
    packed: Vec<Packed>,
    after: Position,
}

struct Grower<'a> {
    settings: &'a GrowSettings,
    shape: Shape,
    learner: Learner,
    step: u64,
    position: Position,
    tokenizer: Tokenizer,
    tokenizer_json: String,
    end: u32,
    recipe: String,
    schedule: Schedule,
    prober: Option<Prober>,
}

/// Grows a model, or goes on growing it where the folder holds an unfinished run of the same
/// recipe. The callback sees every event and can stop the run; its state is then saved.
pub fn grow(
    settings: &GrowSettings,
    on_event: &mut dyn FnMut(GrowEvent) -> ControlFlow<()>,
) -> Result<GrowReport, TrainError> {
    settings.check()?;
    settings.device.ready()?;
    let shape = settings.size.shape(settings.size.vocabulary);
    let memory = match settings.device {
        Device::Cpu => Estimate::growing(&shape, settings)?,
        Device::Cuda(_) => {
            let total = Layout::new(&shape)?.total;
            Estimate::beside_card(total, total)
        }
    }
    .check(settings.memory_limit)?;
    std::fs::create_dir_all(&settings.out).map_err(TrainError::file(&settings.out))?;
    let documents = Documents::open(&settings.source, settings.seed)?;
    let mut grower = Grower::new(settings, &documents)?;
    let device = grower.learner.describe();
    grower.note_device(&device)?;
    let started = GrowEvent::Started {
        parameters: grower.learner.net().layout.total,
        tokens_per_step: settings.batch * settings.size.context,
        memory,
        from_step: grower.step,
        device,
    };
    let stopped = on_event(started).is_break();
    grower.run(documents, stopped, on_event)
}

impl<'a> Grower<'a> {
    fn new(settings: &'a GrowSettings, documents: &Documents) -> Result<Self, TrainError> {
        let tokenizer = prepare_tokenizer(settings, documents)?;
        let tokenizer_json = tokenizer::to_json(&tokenizer)?;
        let end = tokenizer
            .token_to_id(tokenizer::END)
            .ok_or_else(|| TrainError::Tokenizer(format!("no token {}", tokenizer::END)))?;
        let shape = settings.size.shape(tokenizer.get_vocab_size(true));
        let net = Net::new(shape.clone())?;
        let recipe = recipe(settings, &shape, net.layout.total, documents);
        let path = settings.out.join("state.safetensors");
        let total = net.layout.total;
        let (step, position, base, moments) = match State::load(&path, &recipe)? {
            Some(mut state) => {
                let moments = Moments {
                    first: state.take(&path, "first", total)?,
                    second: state.take(&path, "second", total)?,
                };
                let base = state.take(&path, "parameters", total)?;
                (state.step, state.position, base, moments)
            }
            None => {
                let base = initial(&shape, &net.layout, settings.seed);
                (0, Position::default(), base, Moments::new(total))
            }
        };
        trim_losses(&settings.out.join("losses.jsonl"), step)?;
        write_whole(
            &settings.out.join("recipe.json"),
            format!("{recipe}\n").as_bytes(),
        )?;
        let groups = groups(&net, settings.optimizer.decay);
        let generated = matches!(documents, Documents::Generated(_));
        let prober = if settings.probe && generated {
            Some(Prober::new(&tokenizer, end, settings.seed)?)
        } else {
            None
        };
        let lesson = Lesson {
            net,
            base,
            stored: None,
            adapter: None,
            moments,
            optimizer: settings.optimizer.clone(),
            groups,
        };
        let means = Means {
            device: settings.device,
            threads: settings.threads,
            slots: settings.slots.min(settings.batch),
            split: false,
        };
        Ok(Self {
            settings,
            shape,
            learner: Learner::new(lesson, &means)?,
            step,
            position,
            schedule: settings.schedule(),
            tokenizer,
            tokenizer_json,
            end,
            recipe,
            prober,
        })
    }

    /// Writes down where the steps from here on are computed.
    fn note_device(&self, device: &str) -> Result<(), TrainError> {
        let path = self.settings.out.join("devices.jsonl");
        let line = json!({"from_step": self.step, "device": device});
        append(&path, &line.to_string())
    }

    /// Saves what a run resumes from.
    fn save(&mut self) -> Result<(), TrainError> {
        self.learner.fetch()?;
        let lesson = self.learner.lesson();
        state::save(
            &self.settings.out.join("state.safetensors"),
            &self.recipe,
            (self.step, &self.position),
            &[
                ("parameters", &lesson.base),
                ("first", &lesson.moments.first),
                ("second", &lesson.moments.second),
            ],
        )
    }

    fn run(
        &mut self,
        documents: Documents,
        stopped: bool,
        on_event: &mut dyn FnMut(GrowEvent) -> ControlFlow<()>,
    ) -> Result<GrowReport, TrainError> {
        let settings = self.settings;
        let begun = Instant::now();
        let first = self.step;
        let mut report = GrowReport {
            step: first,
            finished: first >= settings.steps,
            losses: Vec::new(),
            last_checkpoint: None,
            tokens_per_second: 0.0,
        };
        let path = settings.out.join("losses.jsonl");
        let mut log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(TrainError::file(&path))?;
        let mut stop = stopped;
        if first == 0 && !stop {
            stop = self.checkpoint(&mut report, on_event)?;
        }
        let stream = TokenStream::new(
            documents,
            self.tokenizer.clone(),
            self.end,
            self.position.clone(),
        );
        let left = settings.steps.saturating_sub(first);
        std::thread::scope(|scope| -> Result<(), TrainError> {
            let (send, batches) = mpsc::sync_channel(3);
            let (batch, context) = (settings.batch, settings.size.context);
            scope.spawn(move || read_ahead(stream, left, (batch, context), &send));
            while self.step < settings.steps && !stop {
                let Ok(batch) = batches.recv() else { break };
                let event = self.step(batch?)?;
                let GrowEvent::Step {
                    step,
                    loss,
                    rate,
                    gradient_norm,
                    ..
                } = event
                else {
                    break;
                };
                let done = (step - first) as f64 * (settings.batch * settings.size.context) as f64;
                report.tokens_per_second = done / begun.elapsed().as_secs_f64();
                report.losses.push(loss);
                report.step = step;
                let line = json!({"step": step, "loss": loss, "rate": rate, "gradient_norm": gradient_norm});
                writeln!(log, "{line}").map_err(TrainError::file(&path))?;
                let tokens_per_second = report.tokens_per_second;
                let event = GrowEvent::Step {
                    step,
                    loss,
                    rate,
                    gradient_norm,
                    tokens_per_second,
                };
                stop |= on_event(event).is_break();
                if let Some(note) = self.learner.note() {
                    stop |= on_event(GrowEvent::Note(note)).is_break();
                }
                if settings.is_checkpoint(step) {
                    stop |= self.checkpoint(&mut report, on_event)?;
                }
                stop |= settings
                    .stop_after
                    .is_some_and(|limit| begun.elapsed() >= limit);
                if stop || step == settings.steps || step % settings.save_every == 0 {
                    log.flush().map_err(TrainError::file(&path))?;
                    self.save()?;
                }
            }
            Ok(())
        })?;
        report.finished = report.step >= settings.steps;
        Ok(report)
    }

    /// One step: every slot its sequences, one sum, one update.
    fn step(&mut self, batch: Batch) -> Result<GrowEvent, TrainError> {
        let weight: f64 = batch.packed.iter().map(Packed::weight).sum();
        let slots = self.settings.slots.min(self.settings.batch);
        let share = batch.packed.len().div_ceil(slots).max(1);
        let work = |packed| Work {
            packed,
            noise: None,
        };
        let mut dealt: Vec<Vec<Work>> = Vec::with_capacity(slots);
        for (i, packed) in batch.packed.into_iter().enumerate() {
            match dealt.last_mut() {
                Some(slot) if i % share != 0 => slot.push(work(packed)),
                _ => dealt.push(vec![work(packed)]),
            }
        }
        let step = self.step + 1;
        let rate = self.settings.optimizer.rate * self.schedule.share(step);
        let (loss, gradient_norm) = self.learner.step(&dealt, weight.max(1.0), (step, rate))?;
        self.step = step;
        self.position = batch.after;
        Ok(GrowEvent::Step {
            step,
            loss,
            rate,
            gradient_norm,
            tokens_per_second: 0.0,
        })
    }

    /// Writes a checkpoint and probes it; true when the callback asks to stop.
    fn checkpoint(
        &mut self,
        report: &mut GrowReport,
        on_event: &mut dyn FnMut(GrowEvent) -> ControlFlow<()>,
    ) -> Result<bool, TrainError> {
        self.learner.fetch()?;
        let (step, net) = (self.step, self.learner.net());
        let folder = self.settings.out.join(format!("step{step}"));
        Folder {
            shape: &self.shape,
            layout: &net.layout,
            parameters: &self.learner.lesson().base,
            storage: self.settings.storage,
            tokenizer_json: &self.tokenizer_json,
            end_token: self.end,
        }
        .write(&folder)?;
        report.last_checkpoint = Some(folder.clone());
        let mut stop = on_event(GrowEvent::Checkpoint { step, folder }).is_break();
        if let Some(prober) = &self.prober {
            let probed = self.learner.with(|net, p| prober.run(step, net, p))?;
            let path = self.settings.out.join("probes.jsonl");
            trim_losses(&path, step.saturating_sub(1))?;
            let line = serde_json::to_string(&probed).map_err(|e| TrainError::content(&path, e))?;
            append(&path, &line)?;
            stop |= on_event(GrowEvent::Probed(probed)).is_break();
        }
        Ok(stop)
    }
}

/// The places of all parameters with their weight decay: matrices decay, vectors do not.
pub(crate) fn groups(net: &Net, decay: f64) -> Vec<(Range<usize>, f64)> {
    let entries = net.layout.entries.iter();
    entries
        .map(|e| (e.place.clone(), if e.dims.len() == 2 { decay } else { 0.0 }))
        .collect()
}

/// Adds a line to a log.
pub(crate) fn append(path: &Path, line: &str) -> Result<(), TrainError> {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(TrainError::file(path))?;
    writeln!(file, "{line}").map_err(TrainError::file(path))
}

/// Encodes the batches ahead of the steps that need them.
fn read_ahead(
    mut stream: TokenStream,
    steps: u64,
    (batch, context): (usize, usize),
    send: &mpsc::SyncSender<Result<Batch, TrainError>>,
) {
    for _ in 0..steps {
        let packed: Result<Vec<Packed>, TrainError> = (0..batch)
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

/// The tokenizer of the folder, or a new one trained on the source.
fn prepare_tokenizer(
    settings: &GrowSettings,
    documents: &Documents,
) -> Result<Tokenizer, TrainError> {
    let path = settings.out.join("tokenizer.json");
    if path.exists() {
        return tokenizer::load(&path);
    }
    let tokenizer = match documents {
        Documents::Generated(corpus) => {
            let corpus = *corpus;
            let count = TOKENIZER_DOCUMENTS * settings.size.vocabulary as u64 / 64;
            let texts = (0..count).map(move |i| corpus.document(i));
            tokenizer::train(texts, settings.size.vocabulary)
        }
        Documents::Texts { texts, .. } => {
            tokenizer::train(texts.iter().cloned(), settings.size.vocabulary)
        }
    }?;
    write_whole(&path, tokenizer::to_json(&tokenizer)?.as_bytes())?;
    Ok(tokenizer)
}

/// Everything that decides the weights, as text: resuming asks for the same.
fn recipe(
    settings: &GrowSettings,
    shape: &Shape,
    parameters: usize,
    documents: &Documents,
) -> String {
    let recipe = json!({
        "what": "a model for trying the laboratory, about which no claim is made",
        "maker": concat!("mary-train ", env!("CARGO_PKG_VERSION")),
        "size": settings.size,
        "shape": shape,
        "parameters": parameters,
        "source": settings.source,
        "documents": documents.count(),
        "text_mark": format!("{:016x}", documents.mark()),
        "seed": settings.seed,
        "steps": settings.steps,
        "batch": settings.batch,
        "tokens_per_step": settings.batch * settings.size.context,
        "optimizer": settings.optimizer,
        "warm_up": settings.warm_up,
        "floor": settings.floor,
        "decline": "cosine",
        "checkpoint_every": settings.checkpoint_every,
        "storage": settings.storage,
        "slots": settings.slots.min(settings.batch),
    });
    format!("{recipe:#}")
}

/// Keeps the lines of a log up to a step: what came after it will be done again.
pub(crate) fn trim_losses(path: &Path, step: u64) -> Result<(), TrainError> {
    if !path.exists() {
        return Ok(());
    }
    let text = std::fs::read_to_string(path).map_err(TrainError::file(path))?;
    let done = |line: &&str| {
        serde_json::from_str::<serde_json::Value>(line)
            .ok()
            .and_then(|v| v.get("step").and_then(serde_json::Value::as_u64))
            .is_some_and(|s| s <= step)
    };
    let kept: String = text
        .lines()
        .filter(done)
        .map(|line| format!("{line}\n"))
        .collect();
    write_whole(path, kept.as_bytes())
}

/// New weights: small normal matrices, the two that write to the residual stream smaller still.
pub(crate) fn initial(shape: &Shape, layout: &Layout, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::MAX);
    let mut values = vec![0.0; layout.total];
    let small = (2.0 / (5.0 * shape.width as f64)).sqrt();
    let residual = 2.0 / (shape.layers as f64 * (shape.width as f64).sqrt()) * 0.5;
    for entry in &layout.entries {
        let out = &mut values[entry.place.clone()];
        if entry.dims.len() == 2 {
            let deviation = if entry.name.contains("embed") {
                0.02
            } else if entry.name.ends_with("dense.weight")
                || entry.name.ends_with("dense_4h_to_h.weight")
            {
                residual.min(small)
            } else {
                small
            };
            for pair in out.chunks_mut(2) {
                let (a, b) = normal_pair(&mut rng);
                for (x, value) in pair.iter_mut().zip([a, b]) {
                    *x = (value * deviation) as f32;
                }
            }
        } else if entry.name.ends_with("norm.weight") {
            out.fill(1.0);
        }
    }
    values
}

/// Two standard normal numbers (Box and Muller).
pub(crate) fn normal_pair(rng: &mut ChaCha8Rng) -> (f64, f64) {
    let u: f64 = 1.0 - rng.random::<f64>();
    let angle = std::f64::consts::TAU * rng.random::<f64>();
    let radius = (-2.0 * u.ln()).sqrt();
    (radius * angle.cos(), radius * angle.sin())
}
