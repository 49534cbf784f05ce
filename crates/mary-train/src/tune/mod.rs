//! Tuning a local model with low-rank adapters (LoRA), and scoring held-out answers both ways.

mod adapter;
mod conversation;
mod derived;
mod settings;

pub use adapter::{Adapter, merge};
pub use derived::{Derived, derive};
pub use settings::TuneSettings;

use crate::TrainError;
use crate::learner::{Device, Learner, Lesson, Means, Work};
use crate::memory::Estimate;
use crate::net::{AdapterLayout, Net, Packed, Shape};
use crate::optimizer::{Moments, Schedule};
use crate::provenance::{Provenance, forget};
use conversation::{Example, Reader};
use mary_contract::PromptForm;
use mary_weights::Checkpoint;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// What happens while a model is tuned.
#[derive(Debug, Clone)]
pub enum TuneEvent {
    /// Everything is read and checked.
    Started {
        /// Parameters of the base, which stay as they are.
        base_parameters: usize,
        /// Parameters of the adapters, which are trained.
        trained_parameters: usize,
        /// Conversations trained on, and kept back.
        conversations: (usize, usize),
        /// Steps in all.
        steps: u64,
        /// Estimated memory in bytes.
        memory: u64,
        /// Where it is computed, in words.
        device: String,
    },
    /// Something the user should know.
    Note(String),
    /// One step is done.
    Step {
        /// Its number, from 1.
        step: u64,
        /// Mean loss per answer token, in nats.
        loss: f64,
        /// The learning rate used.
        rate: f64,
        /// Tokens read a second.
        tokens_per_second: f64,
    },
}

/// The answer of one held-out conversation, before or after tuning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerScore {
    /// Log-probability of the whole answer.
    pub log_probability: f64,
    /// Every token of the answer was the most probable one.
    pub greedy: bool,
}

/// What tuning did.
#[derive(Debug, Clone)]
pub struct TuneReport {
    /// Loss of every step.
    pub losses: Vec<f64>,
    /// Held-out answers before tuning, in the order of the file.
    pub before: Vec<AnswerScore>,
    /// The same answers after tuning.
    pub after: Vec<AnswerScore>,
    /// False when the callback stopped the run; the adapter so far is saved all the same.
    pub finished: bool,
}

/// Opens a model and widens its weights.
pub(crate) fn open_base(path: &Path) -> Result<(Checkpoint, Net, Vec<f32>), TrainError> {
    let fail = |e: mary_contract::ModelError| TrainError::content(path, e);
    let checkpoint = Checkpoint::open(path).map_err(fail)?;
    let shape = Shape::from_config(checkpoint.config())?;
    let net = Net::new(shape)?;
    let mut base = vec![0.0; net.layout.total];
    for entry in &net.layout.entries {
        let values = checkpoint.read_f32(&entry.name).map_err(fail)?;
        if values.len() != entry.place.len() {
            let problem = format!(
                "tensor {} has {} numbers, expected {:?}",
                entry.name,
                values.len(),
                entry.dims
            );
            return Err(TrainError::content(path, problem));
        }
        base[entry.place.clone()].copy_from_slice(&values);
    }
    Ok((checkpoint, net, base))
}

struct Tuner<'a> {
    settings: &'a TuneSettings,
    learner: Learner,
    schedule: Schedule,
}

/// Tunes adapters on a local model and writes them to `settings.out`, with what they were made from.
pub fn tune(
    settings: &TuneSettings,
    on_event: &mut dyn FnMut(TuneEvent) -> ControlFlow<()>,
) -> Result<TuneReport, TrainError> {
    settings.check()?;
    settings.device.ready()?;
    let fail = |e: mary_contract::ModelError| TrainError::content(&settings.model, e);
    let shape = Shape::from_config(Checkpoint::open(&settings.model).map_err(fail)?.config())?;
    let targets = settings.target_names(shape.family);
    let layout = crate::net::Layout::new(&shape);
    let adapter = AdapterLayout::new(
        &layout,
        settings.rank,
        settings.alpha,
        settings.dropout,
        &targets,
    )?;
    let provenance = Provenance::of(settings)?;
    let slots = settings.slots.min(settings.batch);
    let memory = match settings.device {
        Device::Cpu => Estimate::tuning(&shape, adapter.total, settings.pack, slots),
        Device::Cuda(_) => Estimate::beside_card(&shape, adapter.total),
    }
    .check(settings.memory_limit)?;
    let (checkpoint, net, base) = open_base(&settings.model)?;
    let form = settings.form.unwrap_or(match checkpoint.template() {
        Some(_) => PromptForm::Chat,
        None => PromptForm::Plain,
    });
    let reader = Reader {
        tokenizer: checkpoint.tokenizer(),
        template: checkpoint.template(),
        form,
        longest: settings.pack.min(net.shape.context),
    };
    let (train, held) = split(reader.read(&settings.data)?, settings)?;
    let steps = (train.len().div_ceil(settings.batch) * settings.epochs) as u64;
    let (base_parameters, trained_parameters) = (base.len(), adapter.total);
    let mut tuner = Tuner::new(settings, net, base, adapter, steps)?;
    let started = TuneEvent::Started {
        base_parameters,
        trained_parameters,
        conversations: (train.len(), held.len()),
        steps,
        memory,
        device: tuner.learner.describe(),
    };
    let stopped = on_event(started).is_break();
    let report = tuner.run((&train, &held), stopped, on_event)?;
    tuner.learner.fetch()?;
    if let Some((table, values)) = tuner.learner.into_lesson().adapter {
        let done = Adapter::new(table, values, settings.alpha, targets);
        forget(&settings.out)?;
        done.save(&settings.out, &settings.model)?;
        // An adapter that was stopped half-way is not what its settings would make.
        if report.finished {
            provenance.write(&settings.out)?;
        }
    }
    Ok(report)
}

/// Conversations to train on and to keep back, by the seed, each in the order of the file.
fn split(
    examples: Vec<Example>,
    settings: &TuneSettings,
) -> Result<(Vec<Example>, Vec<Example>), TrainError> {
    let kept_back = (examples.len() as f64 * settings.held_out).round() as usize;
    if kept_back >= examples.len() {
        return Err(TrainError::Settings(format!(
            "holding out {kept_back} of {} conversations leaves none to train on",
            examples.len()
        )));
    }
    let mut order: Vec<usize> = (0..examples.len()).collect();
    shuffle(&mut order, settings.seed, u64::MAX);
    let held: std::collections::HashSet<usize> = order.into_iter().take(kept_back).collect();
    let (mut train, mut back) = (Vec::new(), Vec::new());
    for (index, example) in examples.into_iter().enumerate() {
        if held.contains(&index) {
            back.push(example)
        } else {
            train.push(example)
        }
    }
    Ok((train, back))
}

fn shuffle(order: &mut [usize], seed: u64, stream: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    for i in (1..order.len()).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
}

/// Packs of whole conversations, none longer than `most` tokens.
fn packs(examples: &[&Example], most: usize) -> Vec<Packed> {
    let mut out: Vec<Packed> = Vec::new();
    for example in examples {
        let length = example.tokens.len() - 1;
        match out.last_mut() {
            Some(last) if last.tokens.len() + length <= most => example.add_to(last),
            _ => {
                let mut fresh = Packed::default();
                example.add_to(&mut fresh);
                out.push(fresh);
            }
        }
    }
    out
}

impl<'a> Tuner<'a> {
    fn new(
        settings: &'a TuneSettings,
        net: Net,
        base: Vec<f32>,
        adapter: AdapterLayout,
        steps: u64,
    ) -> Result<Self, TrainError> {
        let values = adapter.initial(settings.seed);
        let lesson = Lesson {
            net,
            base,
            moments: Moments::new(adapter.total),
            optimizer: settings.optimizer.clone(),
            groups: vec![(0..adapter.total, settings.optimizer.decay)],
            adapter: Some((adapter, values)),
        };
        let means = Means {
            device: settings.device,
            threads: settings.threads,
            slots: settings.slots.min(settings.batch),
        };
        Ok(Self {
            settings,
            learner: Learner::new(lesson, &means)?,
            schedule: Schedule {
                warm_up: settings.warm_up.min(steps / 2),
                steps,
                floor: 0.0,
                decline: settings.decline,
            },
        })
    }

    fn run(
        &mut self,
        (train, held): (&[Example], &[Example]),
        stopped: bool,
        on_event: &mut dyn FnMut(TuneEvent) -> ControlFlow<()>,
    ) -> Result<TuneReport, TrainError> {
        let before = self.score(held)?;
        let mut report = TuneReport {
            losses: Vec::new(),
            before,
            after: Vec::new(),
            finished: !stopped,
        };
        let begun = Instant::now();
        let (mut step, mut tokens) = (0u64, 0usize);
        'epochs: for epoch in 0..self.settings.epochs {
            if stopped {
                break;
            }
            let mut order: Vec<usize> = (0..train.len()).collect();
            shuffle(&mut order, self.settings.seed, epoch as u64);
            for chosen in order.chunks(self.settings.batch) {
                step += 1;
                let examples: Vec<&Example> = chosen.iter().filter_map(|i| train.get(*i)).collect();
                tokens += examples.iter().map(|e| e.tokens.len()).sum::<usize>();
                let (loss, rate) = self.step(step, &examples)?;
                report.losses.push(loss);
                let note = self.learner.note().map(TuneEvent::Note);
                let tokens_per_second = tokens as f64 / begun.elapsed().as_secs_f64();
                let done = TuneEvent::Step {
                    step,
                    loss,
                    rate,
                    tokens_per_second,
                };
                let mut events = note.into_iter().chain([done]);
                if events.any(|event| on_event(event).is_break()) {
                    report.finished = false;
                    break 'epochs;
                }
            }
        }
        report.after = self.score(held)?;
        Ok(report)
    }

    /// One step over whole conversations; returns the loss and the learning rate.
    fn step(&mut self, step: u64, examples: &[&Example]) -> Result<(f64, f64), TrainError> {
        let settings = self.settings;
        let weight = examples.iter().map(|e| e.targets()).sum::<usize>().max(1) as f64;
        let slots = settings.slots.min(settings.batch);
        let share = examples.len().div_ceil(slots).max(1);
        let dealt = examples.chunks(share).enumerate().map(|(slot, own)| {
            let packs = packs(own, settings.pack).into_iter().enumerate();
            packs
                .map(|(place, packed)| Work {
                    packed,
                    noise: Some(
                        settings.seed ^ (step << 24) ^ ((slot as u64) << 12) ^ place as u64,
                    ),
                })
                .collect()
        });
        let dealt: Vec<Vec<Work>> = dealt.collect();
        let rate = settings.optimizer.rate * self.schedule.share(step);
        let (loss, _) = self.learner.step(&dealt, weight, (step, rate))?;
        Ok((loss, rate))
    }

    /// The answers of held-out conversations under the adapters as they are now.
    fn score(&mut self, held: &[Example]) -> Result<Vec<AnswerScore>, TrainError> {
        let work: Vec<Work> = held
            .iter()
            .map(|example| {
                let mut packed = Packed::default();
                example.add_to(&mut packed);
                Work {
                    packed,
                    noise: None,
                }
            })
            .collect();
        let answers = self.learner.answers(&work)?;
        let score = |tokens: Vec<(f32, bool)>| AnswerScore {
            log_probability: tokens.iter().map(|(value, _)| f64::from(*value)).sum(),
            greedy: tokens.iter().all(|(_, top)| *top),
        };
        Ok(answers.into_iter().map(score).collect())
    }
}
