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

use crate::growth::{
    self, Course, GrowEvent, GrowReport, Growing, Numbers, OnEvent, Resumed, Stepped, begin,
    groups, note_device, resume,
};
use crate::hf::write_whole;
use crate::net::{SeeingNet, SeeingSpace, Sight};
use crate::optimizer::{Moments, reduce, update};
use crate::{TrainError, tokenizer};
use folder::{SightFolder, initial};
use lessons::{Pupil, train_tokenizer};
use probe::{Now, SightProber};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;

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
    let course = &settings.course;
    settings.check()?;
    std::fs::create_dir_all(&course.out).map_err(TrainError::file(&course.out))?;
    let mut grower = SightGrower::new(settings)?;
    let device = format!("cpu, {} threads", course.threads);
    note_device(course, grower.step, &device)?;
    // Lessons differ in length: as many as the first step has.
    let first = grower.pupil.lessons(course.seed, 0..course.batch as u64)?;
    let started = GrowEvent::Started {
        parameters: grower.net.total,
        tokens_per_step: first.packed.tokens.len(),
        memory: 4 * grower.net.total as u64 * (4 + grower.slots.len() as u64),
        from_step: grower.step,
        device,
    };
    let stopped = on_event(started).is_break();
    growth::run(&mut grower, stopped, on_event)
}

impl<'a> SightGrower<'a> {
    fn new(settings: &'a SightSettings) -> Result<Self, TrainError> {
        let course = &settings.course;
        let tokenizer = prepare_tokenizer(settings)?;
        let vocabulary = tokenizer.get_vocab_size(true);
        let pupil = Pupil::new(tokenizer, settings.size.clone())?;
        let dtype = course.storage.name();
        let config = settings
            .size
            .config(vocabulary, pupil.image, pupil.end, dtype);
        let net = SeeingNet::open(&config)?;
        let recipe = recipe(settings, &config, net.total);
        let total = net.total;
        // Lessons are functions of their number: the step is the position.
        let resumed = match resume::<u64>(course, &recipe, total)? {
            Some(resumed) => resumed,
            None => Resumed {
                step: 0,
                position: 0,
                parameters: initial(&settings.size, &net, course.seed),
                moments: Moments::new(total),
            },
        };
        begin(course, &recipe, resumed.step)?;
        let groups = groups(&net.entries, course.optimizer.decay);
        let (slots, threads) = (course.slots(), course.threads);
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
            prober: course.probe.then(|| SightProber::new(course.seed)),
            transposed: Vec::new(),
            settings,
            net,
            config,
            pupil,
            base: resumed.parameters,
            moments: resumed.moments,
            groups,
            recipe,
            step: resumed.step,
        })
    }
}

impl Growing for SightGrower<'_> {
    type Position = u64;
    type Report = SightReport;

    fn course(&self) -> &Course {
        &self.settings.course
    }

    fn recipe(&self) -> &str {
        &self.recipe
    }

    fn done(&self) -> u64 {
        self.step
    }

    fn position(&self) -> u64 {
        self.step
    }

    /// One step: every slot its lessons, one sum, one update.
    fn step(&mut self) -> Result<Option<Stepped>, TrainError> {
        let course = &self.settings.course;
        let (batch, slots) = (course.batch as u64, self.slots.len() as u64);
        let first = self.step * batch;
        let (net, pupil, base) = (&self.net, &self.pupil, &self.base);
        let (turned, slot_room) = (&mut self.transposed, &mut self.slots);
        let step = self.step + 1;
        let rate = course.optimizer.rate * course.schedule().share(step);
        let (loss, tokens, norm) = self.pool.install(|| -> Result<_, TrainError> {
            net.transposed(base, turned);
            let sights: Vec<Sight> = (0..slots)
                .into_par_iter()
                .map(|slot| {
                    let numbers = first + batch * slot / slots..first + batch * (slot + 1) / slots;
                    pupil.lessons(course.seed, numbers)
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
            update(&course.optimizer, (step, rate), numbers, moments, groups);
        });
        self.step = step;
        Ok(Some(Stepped {
            loss,
            rate,
            gradient_norm: norm,
            tokens,
        }))
    }

    fn numbers(&mut self) -> Result<Numbers<'_>, TrainError> {
        Ok(Numbers {
            parameters: &self.base,
            moments: &self.moments,
        })
    }

    fn write(&mut self, folder: &Path) -> Result<(), TrainError> {
        SightFolder {
            size: &self.settings.size,
            net: &self.net,
            config: &self.config,
            pupil: &self.pupil,
            parameters: &self.base,
            storage: self.settings.course.storage,
        }
        .write(folder)
    }

    fn probe(&mut self) -> Result<Option<SightReport>, TrainError> {
        let Some(prober) = &self.prober else {
            return Ok(None);
        };
        self.net.transposed(&self.base, &mut self.transposed);
        let now = Now {
            net: &self.net,
            numbers: (&self.base, &self.transposed),
            pupil: &self.pupil,
        };
        self.pool.install(|| prober.run(self.step, &now)).map(Some)
    }

    fn probed(report: SightReport) -> GrowEvent {
        GrowEvent::Looked(report)
    }
}

/// The tokenizer of the folder, or a new one.
fn prepare_tokenizer(settings: &SightSettings) -> Result<tokenizers::Tokenizer, TrainError> {
    let path: &Path = &settings.course.out.join("tokenizer.json");
    if path.exists() {
        return tokenizer::load(path);
    }
    let tokenizer = train_tokenizer(settings.size.vocabulary)?;
    write_whole(path, tokenizer::to_json(&tokenizer)?.as_bytes())?;
    Ok(tokenizer)
}

/// Everything that decides the weights, as text: resuming asks for the same.
fn recipe(settings: &SightSettings, config: &Value, parameters: usize) -> String {
    let own = [
        (
            "what",
            json!("a model that sees, for trying the laboratory; no claim is made about it"),
        ),
        (
            "maker",
            json!(concat!("mary-train ", env!("CARGO_PKG_VERSION"))),
        ),
        ("size", json!(settings.size)),
        ("config", config.clone()),
        ("parameters", json!(parameters)),
        ("source", json!("pictures of the small world")),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    settings.course.recipe(own.into_iter().collect(), None)
}
