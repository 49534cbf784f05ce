//! Growing a small model that sees, from scratch: a SigLIP tower, LLaVA's projector and a LLaMA, all
//! learned together from pictures of the small world with questions about them. Seeded and resumable as
//! [`crate::grow()`] is: the number of threads changes the speed and nothing else, and a run that was killed
//! goes on bit for bit. Lessons are functions of their number, so the step is all that is remembered of them.

mod folder;
mod lessons;
mod probe;
mod settings;

pub use lessons::IMAGE;
pub use probe::SightReport;
pub use settings::{SightSettings, SightSize};

use crate::grow::{GrowEvent, GrowReport, append, trim_losses};
use crate::hf::write_whole;
use crate::net::{SeeingNet, SeeingSpace, Sight};
use crate::optimizer::{Moments, reduce, update};
use crate::state::{self, State};
use crate::{TrainError, tokenizer};
use folder::{SightFolder, initial};
use lessons::{Pupil, train_tokenizer};
use probe::{Now, SightProber};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::io::Write as _;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::time::Instant;

type OnEvent<'a> = &'a mut dyn FnMut(GrowEvent) -> ControlFlow<()>;

struct SightGrower<'a> {
    settings: &'a SightSettings,
    net: SeeingNet,
    config: Value,
    pupil: Pupil,
    base: Vec<f32>,
    transposed: Vec<f32>,
    moments: Moments,
    groups: Vec<(Range<usize>, f64)>,
    slots: Vec<(Vec<f32>, SeeingSpace)>,
    pool: rayon::ThreadPool,
    recipe: String,
    step: u64,
    prober: Option<SightProber>,
}

/// Grows a model that sees, or goes on where the folder holds an unfinished run of the same recipe. The
/// callback sees every event and can stop the run; its state is then saved.
pub fn grow_eyes(
    settings: &SightSettings,
    on_event: OnEvent<'_>,
) -> Result<GrowReport, TrainError> {
    settings.check()?;
    std::fs::create_dir_all(&settings.out).map_err(TrainError::file(&settings.out))?;
    let mut grower = SightGrower::new(settings)?;
    let device = format!("cpu, {} threads", settings.threads);
    let line = json!({"from_step": grower.step, "device": device});
    append(&settings.out.join("devices.jsonl"), &line.to_string())?;
    // Lessons differ in length: as many as the first step has.
    let first = grower
        .pupil
        .lessons(settings.seed, 0..settings.batch as u64)?;
    let started = GrowEvent::Started {
        parameters: grower.net.total,
        tokens_per_step: first.packed.tokens.len(),
        memory: 4 * grower.net.total as u64 * (4 + grower.slots.len() as u64),
        from_step: grower.step,
        device,
    };
    let stopped = on_event(started).is_break();
    grower.run(stopped, on_event)
}

impl<'a> SightGrower<'a> {
    fn new(settings: &'a SightSettings) -> Result<Self, TrainError> {
        let tokenizer = prepare_tokenizer(settings)?;
        let vocabulary = tokenizer.get_vocab_size(true);
        let pupil = Pupil::new(tokenizer, settings.size.clone())?;
        let dtype = settings.storage.name();
        let config = settings
            .size
            .config(vocabulary, pupil.image, pupil.end, dtype);
        let net = SeeingNet::open(&config)?;
        let recipe = recipe(settings, &config, net.total);
        let path = settings.out.join("state.safetensors");
        let total = net.total;
        let (step, base, moments) = match State::<u64>::load(&path, &recipe)? {
            Some(mut state) => {
                let moments = Moments {
                    first: state.take(&path, "first", total)?,
                    second: state.take(&path, "second", total)?,
                };
                (state.step, state.take(&path, "parameters", total)?, moments)
            }
            None => {
                let base = initial(&settings.size, &net, settings.seed);
                (0, base, Moments::new(total))
            }
        };
        trim_losses(&settings.out.join("losses.jsonl"), step)?;
        write_whole(
            &settings.out.join("recipe.json"),
            format!("{recipe}\n").as_bytes(),
        )?;
        let decay = settings.optimizer.decay;
        let groups = net
            .entries
            .iter()
            .map(|e| (e.place.clone(), if e.dims.len() == 2 { decay } else { 0.0 }))
            .collect();
        let slots = settings.slots.min(settings.batch);
        let threads = settings.threads;
        Ok(Self {
            slots: (0..slots)
                .map(|_| (vec![0.0; total], SeeingSpace::default()))
                .collect(),
            pool: rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .map_err(|e| {
                    TrainError::Settings(format!("could not start {threads} threads: {e}"))
                })?,
            prober: settings.probe.then(|| SightProber::new(settings.seed)),
            transposed: Vec::new(),
            settings,
            net,
            config,
            pupil,
            base,
            moments,
            groups,
            recipe,
            step,
        })
    }

    fn run(&mut self, stopped: bool, on_event: OnEvent<'_>) -> Result<GrowReport, TrainError> {
        let settings = self.settings;
        let (begun, first) = (Instant::now(), self.step);
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
        let (mut stop, mut tokens) = (stopped, 0);
        if first == 0 && !stop {
            stop = self.checkpoint(&mut report, on_event)?;
        }
        while self.step < settings.steps && !stop {
            let done = self.step()?;
            tokens += done.tokens;
            let (step, loss, rate, gradient_norm) = (self.step, done.loss, done.rate, done.norm);
            report.tokens_per_second = tokens as f64 / begun.elapsed().as_secs_f64();
            report.losses.push(loss);
            report.step = step;
            let line =
                json!({"step": step, "loss": loss, "rate": rate, "gradient_norm": gradient_norm});
            writeln!(log, "{line}").map_err(TrainError::file(&path))?;
            let tokens_per_second = report.tokens_per_second;
            stop |= on_event(GrowEvent::Step {
                step,
                loss,
                rate,
                gradient_norm,
                tokens_per_second,
            })
            .is_break();
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
        report.finished = report.step >= settings.steps;
        Ok(report)
    }

    /// One step: every slot its lessons, one sum, one update.
    fn step(&mut self) -> Result<Done, TrainError> {
        let settings = self.settings;
        let (batch, slots) = (settings.batch as u64, self.slots.len() as u64);
        let first = self.step * batch;
        let (net, pupil, base) = (&self.net, &self.pupil, &self.base);
        let (turned, slot_room) = (&mut self.transposed, &mut self.slots);
        let step = self.step + 1;
        let rate = settings.optimizer.rate * settings.schedule().share(step);
        let (loss, tokens, norm) = self.pool.install(|| -> Result<_, TrainError> {
            net.transposed(base, turned);
            let sights: Vec<Sight> = (0..slots)
                .into_par_iter()
                .map(|slot| {
                    let numbers = first + batch * slot / slots..first + batch * (slot + 1) / slots;
                    pupil.lessons(settings.seed, numbers)
                })
                .collect::<Result<_, _>>()?;
            let weight: f64 = sights.iter().map(|s| s.packed.weight()).sum();
            let scale = (1.0 / weight) as f32;
            let losses: Vec<f64> = slot_room
                .par_iter_mut()
                .zip(&sights)
                .map(|((gradient, ws), sight)| {
                    gradient.fill(0.0);
                    net.loss_and_gradient((base, turned), sight, scale, gradient, ws)
                })
                .collect::<Result<_, _>>()?;
            let mut gradients: Vec<Vec<f32>> = slot_room
                .iter_mut()
                .map(|(gradient, _)| std::mem::take(gradient))
                .collect();
            let norm = reduce(&mut gradients);
            for ((gradient, _), back) in slot_room.iter_mut().zip(gradients) {
                *gradient = back;
            }
            let tokens: usize = sights.iter().map(|s| s.packed.tokens.len()).sum();
            Ok((losses.iter().sum::<f64>() / weight, tokens, norm))
        })?;
        if !(loss.is_finite() && norm.is_finite()) {
            return Err(TrainError::Diverged { step, loss });
        }
        let gradient = self.slots.first().map_or(&[][..], |(g, _)| g.as_slice());
        let numbers = (self.base.as_mut_slice(), gradient, norm);
        let (moments, groups) = (&mut self.moments, &self.groups);
        self.pool.install(|| {
            update(&settings.optimizer, (step, rate), numbers, moments, groups);
        });
        self.step = step;
        Ok(Done {
            loss,
            rate,
            norm,
            tokens,
        })
    }

    fn save(&self) -> Result<(), TrainError> {
        state::save(
            &self.settings.out.join("state.safetensors"),
            &self.recipe,
            (self.step, &self.step),
            &[
                ("parameters", &self.base),
                ("first", &self.moments.first),
                ("second", &self.moments.second),
            ],
        )
    }

    /// Writes a checkpoint and probes it; true when the callback asks to stop.
    fn checkpoint(
        &mut self,
        report: &mut GrowReport,
        on_event: OnEvent<'_>,
    ) -> Result<bool, TrainError> {
        let step = self.step;
        let folder = self.settings.out.join(format!("step{step}"));
        SightFolder {
            size: &self.settings.size,
            net: &self.net,
            config: &self.config,
            pupil: &self.pupil,
            parameters: &self.base,
            storage: self.settings.storage,
        }
        .write(&folder)?;
        report.last_checkpoint = Some(folder.clone());
        let mut stop = on_event(GrowEvent::Checkpoint { step, folder }).is_break();
        if let Some(prober) = &self.prober {
            self.net.transposed(&self.base, &mut self.transposed);
            let now = Now {
                net: &self.net,
                numbers: (&self.base, &self.transposed),
                pupil: &self.pupil,
            };
            let probed = self.pool.install(|| prober.run(step, &now))?;
            let path = self.settings.out.join("probes.jsonl");
            trim_losses(&path, step.saturating_sub(1))?;
            let line = serde_json::to_string(&probed).map_err(|e| TrainError::content(&path, e))?;
            append(&path, &line)?;
            stop |= on_event(GrowEvent::Looked(probed)).is_break();
        }
        Ok(stop)
    }
}

/// What a step did.
struct Done {
    loss: f64,
    rate: f64,
    norm: f64,
    tokens: usize,
}

/// The tokenizer of the folder, or a new one.
fn prepare_tokenizer(settings: &SightSettings) -> Result<tokenizers::Tokenizer, TrainError> {
    let path: &Path = &settings.out.join("tokenizer.json");
    if path.exists() {
        return tokenizer::load(path);
    }
    let tokenizer = train_tokenizer(settings.size.vocabulary)?;
    write_whole(path, tokenizer::to_json(&tokenizer)?.as_bytes())?;
    Ok(tokenizer)
}

/// Everything that decides the weights, as text: resuming asks for the same.
fn recipe(settings: &SightSettings, config: &Value, parameters: usize) -> String {
    let recipe = json!({
        "what": "a model that sees, for trying the laboratory; no claim is made about it",
        "maker": concat!("mary-train ", env!("CARGO_PKG_VERSION")),
        "size": settings.size,
        "config": config,
        "parameters": parameters,
        "source": "pictures of the small world",
        "seed": settings.seed,
        "steps": settings.steps,
        "batch": settings.batch,
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
