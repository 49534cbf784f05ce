//! Growing a small model that sees, from scratch: a SigLIP tower, LLaVA's projector and a LLaMA, all
//! learned together from pictures of the small world with questions about them. Seeded and resumable as
//! [`crate::grow()`] is: the number of threads changes the speed and nothing else, and a run that was killed
//! goes on bit for bit. Lessons are functions of their number, so the step is all that is remembered of them.

mod lessons;
mod probe;
mod settings;

pub use lessons::IMAGE;
pub use settings::{VisionSettings, VisionSize};

use crate::growth::{
    Folder, GrowEvent, GrowReport, Grown, OnEvent, Run, Start, Stepped, groups, new_weights,
};
use crate::learner::{Slots, finite, pool};
use crate::net::{DEVIATION, Entry, MEAN, VisionLanguageNet, VisionLanguageWorkspace, VisionPack};
use crate::optimizer::{Moments, update};
use crate::{Result, TrainError, tokenizer};
use lessons::{LessonEncoder, train_tokenizer};
use probe::{VisionProber, Weights};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;

struct VisionGrower<'a> {
    settings: &'a VisionSettings,
    net: VisionLanguageNet,
    config: Value,
    encoder: LessonEncoder,
    base: Vec<f32>,
    transposed: Vec<f32>,
    moments: Moments,
    groups: Vec<(Range<usize>, f64)>,
    slots: Slots<VisionLanguageWorkspace>,
    pool: rayon::ThreadPool,
    /// Lessons are functions of their number: the step is the position.
    step: u64,
    prober: Option<VisionProber>,
}

/// Grows a model that sees, or goes on where the folder holds an unfinished run of the same recipe. The
/// callback sees every event and can stop the run; its state is then saved.
pub fn grow_vision(settings: &VisionSettings, on_event: OnEvent<'_>) -> Result<GrowReport> {
    let course = &settings.course;
    settings.check()?;
    std::fs::create_dir_all(&course.out).map_err(TrainError::file(&course.out))?;
    let (mut run, mut grower) = VisionGrower::open(settings)?;
    let total = grower.net.total;
    // Lessons differ in length: as many as the first step has.
    let first = grower
        .encoder
        .lessons(course.seed, 0..course.batch as u64)?;
    let size = (total, first.packed.tokens.len());
    let memory = 4 * total as u64 * (4 + grower.slots.count() as u64);
    let device = format!("cpu, {} threads", course.threads);
    let stopped = run.start(size, memory, device, on_event)?;
    run.go(&mut grower, stopped, on_event)
}

impl<'a> VisionGrower<'a> {
    fn open(settings: &'a VisionSettings) -> Result<(Run<'a>, Self)> {
        let (course, size) = (&settings.course, &settings.size);
        let train = || train_tokenizer(size.vocabulary);
        let tokenizer = tokenizer::load_or_train(&course.out, train)?;
        let vocabulary = tokenizer.get_vocab_size(true);
        let encoder = LessonEncoder::new(tokenizer, size.clone())?;
        let dtype = course.storage.name();
        let config = size.config(vocabulary, encoder.image, encoder.end, dtype);
        let net = VisionLanguageNet::open(&config)?;
        let recipe = recipe(settings, &config, net.total);
        let new = || initial(size, &net, course.seed);
        let (run, begun) = Run::open::<u64>(course, recipe, net.total, new)?;
        let grower = Self {
            slots: Slots::new(course.slots(), net.total),
            pool: pool(course.threads)?,
            prober: course.probe.then(|| VisionProber::new(course.seed)),
            transposed: Vec::new(),
            groups: groups(&net.entries, course.optimizer.decay),
            settings,
            net,
            config,
            encoder,
            base: begun.parameters,
            moments: begun.moments,
            step: run.step,
        };
        Ok((run, grower))
    }
}

impl Grown for VisionGrower<'_> {
    type Position = u64;

    fn position(&self) -> u64 {
        self.step
    }

    fn step(&mut self, (step, rate): (u64, f64)) -> Result<Option<Stepped>> {
        let course = &self.settings.course;
        let (batch, count) = (course.batch as u64, self.slots.count() as u64);
        let first = self.step * batch;
        let (net, encoder, base) = (&self.net, &self.encoder, &mut self.base);
        let (turned, slots) = (&mut self.transposed, &mut self.slots);
        let (moments, groups) = (&mut self.moments, &self.groups);
        let stepped = self.pool.install(|| -> Result<Stepped> {
            net.transposed(base, turned);
            let lessons = |slot| {
                let numbers = first + batch * slot / count..first + batch * (slot + 1) / count;
                encoder.lessons(course.seed, numbers)
            };
            let packs = (0..count).into_par_iter().map(lessons);
            let packs: Vec<VisionPack> = packs.collect::<Result<_, _>>()?;
            let weight: f64 = packs.iter().map(|s| s.packed.weight()).sum();
            let scale = (1.0 / weight) as f32;
            let (loss, norm) = slots.add_up(&packs, |pack, gradient, ws| {
                net.loss_and_gradient(
                    (base.as_slice(), turned.as_slice()),
                    pack,
                    scale,
                    gradient,
                    ws,
                )
            })?;
            let (loss, gradient_norm) = finite(step, loss / weight, norm)?;
            let numbers = (base.as_mut_slice(), slots.gradient(), norm);
            update(&course.optimizer, (step, rate), numbers, moments, groups);
            Ok(Stepped {
                loss,
                gradient_norm,
                tokens: packs.iter().map(|s| s.packed.tokens.len()).sum(),
            })
        })?;
        self.step = step;
        Ok(Some(stepped))
    }

    fn numbers(&mut self) -> Result<(&[f32], &Moments)> {
        Ok((&self.base, &self.moments))
    }

    fn write(&mut self, folder: &Path) -> Result<()> {
        let size = &self.settings.size;
        // A convolution's matrix, as PyTorch shapes it.
        let entries = self.net.entries.iter().map(|entry| Entry {
            dims: match entry.name.ends_with("patch_embedding.weight") {
                true => vec![size.width, 3, size.patch, size.patch],
                false => entry.dims.clone(),
            },
            ..entry.clone()
        });
        Folder {
            config: &self.config,
            tokenizer: &self.encoder.tokenizer,
            context: size.context,
            others: &[
                ("preprocessor_config.json", preprocessor(size)),
                ("processor_config.json", processor(size)),
            ],
            entries: &entries.collect::<Vec<_>>(),
            parameters: &self.base,
            storage: self.settings.course.storage,
        }
        .write(folder)
    }

    fn probe(&mut self, step: u64) -> Result<Option<GrowEvent>> {
        let Some(prober) = &self.prober else {
            return Ok(None);
        };
        self.net.transposed(&self.base, &mut self.transposed);
        let weights = Weights {
            net: &self.net,
            numbers: (&self.base, &self.transposed),
            encoder: &self.encoder,
        };
        let report = self.pool.install(|| prober.run(step, &weights))?;
        Ok(Some(GrowEvent::VisionProbed(report)))
    }
}

/// Everything that decides the weights, as text: resuming asks for the same.
fn recipe(settings: &VisionSettings, config: &Value, parameters: usize) -> String {
    let what = "a model that sees, for trying the laboratory; no claim is made about it";
    let own = json!({
        "size": settings.size,
        "config": config,
        "parameters": parameters,
        // Raised where lessons or first weights change: a run of others must not be gone on with.
        "source": "pictures of the small world, 2",
    });
    settings.course.recipe(what, own, None)
}

/// How pictures are prepared: brought to size, bytes from minus one to one.
fn preprocessor(size: &VisionSize) -> Value {
    json!({
        "image_processor_type": "SiglipImageProcessor",
        "do_convert_rgb": true,
        "do_resize": true,
        "size": {"height": size.image, "width": size.image},
        "resample": 3,
        "do_rescale": true,
        "rescale_factor": 1.0 / 255.0,
        "do_normalize": true,
        "image_mean": [MEAN, MEAN, MEAN],
        "image_std": [DEVIATION, DEVIATION, DEVIATION],
    })
}

/// What transformers' own processor of text and pictures wants to know.
fn processor(size: &VisionSize) -> Value {
    json!({
        "processor_class": "LlavaProcessor",
        "image_token": IMAGE,
        "patch_size": size.patch,
        "num_additional_image_tokens": 0,
        "vision_feature_select_strategy": "full",
    })
}

/// New weights: small normal matrices, those that write to a residual stream smaller still.
fn initial(size: &VisionSize, net: &VisionLanguageNet, seed: u64) -> Vec<f32> {
    let width = size.width as f64;
    let small = (2.0 / (5.0 * width)).sqrt();
    let residual = [
        "out_proj.weight",
        "fc2.weight",
        "o_proj.weight",
        "down_proj.weight",
    ];
    new_weights(&net.entries, (net.total, seed), |entry| {
        let ends = |end: &str| entry.name.ends_with(end);
        if entry.dims.len() != 2 {
            // Norms begin as they are, biases at zero.
            let norm = entry.name.contains("norm") && ends(".weight");
            return Start::Constant(if norm { 1.0 } else { 0.0 });
        }
        let layers = match entry.name.starts_with("vision_tower.") {
            true => size.tower_layers,
            false => size.layers,
        };
        Start::Normal(
            if ends("position_embedding.weight") || ends("embed_tokens.weight") {
                // Of the size that a patch with ink on it has: what is where must be told from the first step on,
                // and a word must still be known behind the first block, which adds a mixture of the picture's rows
                // to it. Words of 0.02 drown in that, and binding comes after twice as many pictures.
                0.5
            } else if residual.iter().any(|end| ends(end)) {
                (1.0 / (layers.max(1) as f64 * width.sqrt())).min(small)
            } else {
                small
            },
        )
    })
}
