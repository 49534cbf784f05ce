//! Tuning a local model with low-rank adapters (LoRA), and scoring held-out answers both ways.

mod adapter;
mod base;
mod conversation;
mod derived;
mod merge;
mod progress;
mod records;
mod settings;

pub use derived::{Derived, derive};
pub use merge::{merge, merged_model};
pub use progress::{LearningStep, learning};
pub use settings::{TuneSettings, TuningRecipe};

use crate::hf::remove;
use crate::job::TrainingJob;
use crate::learner::{ComputeSettings, Device, Learner};
use crate::memory::Estimate;
use crate::net::{AdapterLayout, Frozen, Packed, Work};
use crate::optimizer::{Moments, Schedule};
use crate::provenance::{self, End, Ending, Provenance};
use crate::stream::shuffle;
use crate::{Result, TrainError};
use adapter::Adapter;
pub(crate) use base::Base;
use conversation::{Example, Reader};
use mary_contract::PromptForm;
use mary_platform::available_memory;
use progress::Progress;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Instant;

#[derive(Debug, Clone)]
pub enum TuneEvent {
    Started {
        base_parameters: usize,
        trained_parameters: usize,
        conversations: (usize, usize),
        steps: u64,
        memory: u64,
        device: String,
    },
    Note(String),
    Step {
        step: u64,
        /// Mean loss per answer token, in nats.
        loss: f64,
        rate: f64,
        tokens_per_second: f64,
    },
    Evaluated(Evaluation),
}

/// What was kept back, after a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The step; 0 is before tuning.
    pub step: u64,
    /// Mean loss per answer token, in nats.
    pub loss: f64,
    /// Share of the answers given exactly.
    pub exact: f64,
}

/// The answer of one held-out conversation, before or after tuning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AnswerScore {
    pub log_probability: f64,
    /// Every token of the answer was the most probable one.
    pub greedy: bool,
    pub tokens: usize,
}

#[derive(Debug, Clone)]
pub struct TuneReport {
    pub losses: Vec<f64>,
    /// Held-out answers before tuning, in the order of the file.
    pub before: Vec<AnswerScore>,
    /// The same answers after tuning; empty where the callback stopped it.
    pub after: Vec<AnswerScore>,
    /// Answers that were learned from, after tuning, at most 200 of them sampled by the seed: what a
    /// tuned model does elsewhere says something about its lessons where it has learned them.
    pub learned: Vec<AnswerScore>,
    pub curve: Vec<Evaluation>,
    /// The step whose adapter was kept, where the best one is: with patience.
    pub best_step: Option<u64>,
    pub steps: u64,
    /// False when the callback stopped the run; the adapter so far is saved all the same.
    pub finished: bool,
}

/// Tokens multiplied at a time before a step is dealt out to another slot. With fewer, reading the weights
/// costs more than multiplying with them: eight conversations of twelve tokens take eight times as long apart.
const ENOUGH: usize = 256;

/// Conversations learned from that are asked again afterwards, at most.
const LEARNED: usize = 200;

struct Tuner<'a> {
    settings: &'a TuneSettings,
    learner: Learner,
    schedule: Schedule,
    /// What must be the same for a state to be gone on with.
    recipe: String,
    progress: Progress,
}

/// Tunes adapters on a local model and writes them to `settings.out`, with what they were made from.
pub fn tune(
    settings: &TuneSettings,
    on_event: &mut dyn FnMut(TuneEvent) -> ControlFlow<()>,
) -> Result<TuneReport> {
    settings.check()?;
    settings.device.ready()?;
    let longest = settings.recipe.pack.max(settings.longest);
    let base = Base::open(
        &settings.model,
        (settings.device, settings.numbers),
        longest,
    )?;
    let targets = settings.target_names(&base.net.architecture);
    let layout = &base.net.layout;
    let adapter = AdapterLayout::new(
        layout,
        settings.recipe.rank,
        settings.recipe.alpha,
        settings.recipe.dropout,
        &targets,
    )?;
    let mut provenance = Provenance::planned(settings)?;
    let checkpoint = &base.checkpoint;
    let form = settings.recipe.form.unwrap_or(match checkpoint.template() {
        Some(_) => PromptForm::Chat,
        None => PromptForm::Plain,
    });
    let reader = Reader {
        tokenizer: checkpoint.tokenizer(),
        template: checkpoint.template(),
        form,
        longest: base.net.longest,
    };
    let examples = few(reader.read(&settings.data)?, settings);
    let most = examples.iter().map(|e| e.tokens.len()).max().unwrap_or(0);
    let (train, held) = split(examples, settings)?;
    let slots = settings.recipe.slots.min(settings.recipe.batch);
    let memory = match settings.device {
        Device::Cpu => {
            // Flat numbers are kept a second time, turned, where vectors multiply.
            let turned = match base.apart || !Frozen::wants_transpose() {
                true => 0,
                false => 4 * layout.total as u64,
            };
            let (a, packs) = (
                &base.net.architecture,
                (most.max(settings.recipe.pack), slots),
            );
            Estimate::tuning(a, base.bytes() + turned, adapter.total, packs)
        }
        Device::Cuda(_) => Estimate::beside_gpu(layout.total, adapter.total),
    }
    .check(settings.memory_limit)?;
    // Where a quarter of the memory is left then, the base is kept split for the tile unit: no result
    // depends on it.
    let limit = settings.memory_limit.or_else(available_memory);
    let more = base.split_bytes();
    let split = limit.is_none_or(|limit| memory + more <= limit / 4 * 3);
    let memory = if split { memory + more } else { memory };
    let steps = (train.len().div_ceil(settings.recipe.batch) * settings.recipe.epochs) as u64;
    let (base_parameters, trained_parameters) = (base.parameters(), adapter.total);
    let mut tuner = Tuner::new(settings, (base, split), adapter, steps)?;
    tuner.recipe =
        serde_json::to_string(&provenance).map_err(|e| TrainError::content(&settings.out, e))?;
    let started = TuneEvent::Started {
        base_parameters,
        trained_parameters,
        conversations: (train.len(), held.len()),
        steps,
        memory,
        device: tuner.learner.describe(),
    };
    let stopped = on_event(started).is_break();
    tuner.resume()?;
    let report = tuner.run((&train, &held), stopped, on_event)?;
    tuner.learner.fetch()?;
    let rate = |step| settings.recipe.optimizer.rate * tuner.schedule.share(step);
    let curve = progress::steps(&report, rate);
    if let Some((table, values)) = tuner.learner.job.adapter {
        let done = Adapter {
            layout: table,
            values,
            alpha: settings.recipe.alpha,
            targets,
        };
        provenance.ending = Some(ending(&report));
        write_down(settings, &done, &curve, &provenance)?;
    }
    Ok(report)
}

fn ending(report: &TuneReport) -> Ending {
    let steps = report.losses.len() as u64;
    let end = match report.finished {
        false => End::Interrupted,
        true if steps < report.steps => End::Early,
        true => End::Finished,
    };
    Ending {
        steps,
        of: report.steps,
        kept: report.best_step.unwrap_or(steps),
        end,
    }
}

/// Writes the adapter with what it was made from. Its configuration goes first and comes last: whoever is
/// killed in between leaves a folder that says it holds no adapter, never one of unknown origin.
fn write_down(
    settings: &TuneSettings,
    adapter: &Adapter,
    curve: &[LearningStep],
    provenance: &Provenance,
) -> Result<()> {
    let out = &settings.out;
    remove(&out.join(adapter::CONFIG))?;
    provenance::forget(out)?;
    adapter.save_weights(out)?;
    progress::write(out, curve)?;
    provenance::write(out, provenance)?;
    // An adapter that was stopped half-way is gone on with from its state.
    if !provenance.is_interrupted() {
        remove(&out.join(progress::STATE))?;
    }
    adapter.save_config(out, &settings.model)
}

/// Conversations to train on and to keep back, by the seed, each in the order of the file.
fn split(examples: Vec<Example>, settings: &TuneSettings) -> Result<(Vec<Example>, Vec<Example>)> {
    let kept_back = (examples.len() as f64 * settings.recipe.held_out).round() as usize;
    if kept_back >= examples.len() {
        return Err(TrainError::Settings(format!(
            "holding out {kept_back} of {} conversations leaves none to train on",
            examples.len()
        )));
    }
    let held = sampled(examples.len(), kept_back, settings.seed, u64::MAX);
    let numbered = examples.into_iter().enumerate();
    let (back, train): (Vec<_>, Vec<_>) = numbered.partition(|(index, _)| held.contains(index));
    let plain = |some: Vec<(usize, Example)>| some.into_iter().map(|(_, e)| e).collect();
    Ok((plain(train), plain(back)))
}

/// So many examples as are wanted, by the seed, in the order of the file.
fn few(examples: Vec<Example>, settings: &TuneSettings) -> Vec<Example> {
    let Some(wanted) = settings.recipe.examples else {
        return examples;
    };
    let kept = sampled(examples.len(), wanted, settings.seed, u64::MAX - 1);
    let numbered = examples.into_iter().enumerate();
    numbered
        .filter(|(index, _)| kept.contains(index))
        .map(|(_, example)| example)
        .collect()
}

/// So many of `count` numbers, sampled by a seed.
fn sampled(count: usize, wanted: usize, seed: u64, stream: u64) -> HashSet<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    shuffle(&mut order, seed, stream);
    order.into_iter().take(wanted).collect()
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
        (base, split): (Base, bool),
        adapter: AdapterLayout,
        steps: u64,
    ) -> Result<Self> {
        let values = adapter.initial(settings.seed);
        let (flat, stored) = base.numbers()?;
        let job = TrainingJob {
            net: base.net,
            base: flat,
            stored,
            moments: Moments::new(adapter.total),
            optimizer: settings.recipe.optimizer.clone(),
            groups: vec![(0..adapter.total, settings.recipe.optimizer.decay)],
            adapter: Some((adapter, values)),
        };
        let compute = ComputeSettings {
            device: settings.device,
            threads: settings.threads,
            slots: settings.recipe.slots.min(settings.recipe.batch),
            split,
        };
        Ok(Self {
            settings,
            learner: Learner::new(job, &compute)?,
            schedule: Schedule {
                warm_up: settings.recipe.warm_up.min(steps / 2),
                steps,
                floor: 0.0,
                decline: settings.recipe.decline,
            },
            recipe: String::new(),
            progress: Progress::default(),
        })
    }

    fn run(
        &mut self,
        (train, held): (&[Example], &[Example]),
        stopped: bool,
        on_event: &mut dyn FnMut(TuneEvent) -> ControlFlow<()>,
    ) -> Result<TuneReport> {
        if self.progress.before.is_empty() {
            self.progress.before = self.score(held)?;
        }
        let steps = self.schedule.steps;
        let per_epoch = train.len().div_ceil(self.settings.recipe.batch) as u64;
        let begun = Instant::now();
        let (mut tokens, mut finished) = (0usize, !stopped);
        let mut order: (u64, Vec<usize>) = (u64::MAX, Vec::new());
        while finished && self.progress.step < steps && !self.progress.over {
            let step = self.progress.step + 1;
            let epoch = (step - 1) / per_epoch;
            if order.0 != epoch {
                order = (epoch, (0..train.len()).collect());
                shuffle(&mut order.1, self.settings.seed, epoch);
            }
            let first = ((step - 1) % per_epoch) as usize * self.settings.recipe.batch;
            let last = (first + self.settings.recipe.batch).min(train.len());
            let examples: Vec<&Example> = order.1[first..last].iter().map(|i| &train[*i]).collect();
            tokens += examples.iter().map(|e| e.tokens.len()).sum::<usize>();
            let (loss, rate) = self.step(step, &examples)?;
            self.progress.step = step;
            self.progress.losses.push(loss);
            let note = self.learner.note().map(TuneEvent::Note);
            let tokens_per_second = tokens as f64 / begun.elapsed().as_secs_f64();
            let done = TuneEvent::Step {
                step,
                loss,
                rate,
                tokens_per_second,
            };
            let evaluated = self.evaluate(step, held)?.map(TuneEvent::Evaluated);
            if step.is_multiple_of(self.settings.save_every) {
                self.save()?;
            }
            let mut events = note.into_iter().chain([done]).chain(evaluated);
            if events.any(|event| on_event(event).is_break()) {
                finished = false;
            }
        }
        if !finished {
            self.save()?;
        } else if let Some(values) = self.progress.best.take() {
            self.learner.replace_adapter(values)?;
        }
        let (after, learned) = match finished {
            true => {
                let again = sampled(train.len(), LEARNED, self.settings.seed, u64::MAX - 2);
                let again = train.iter().enumerate().filter(|(i, _)| again.contains(i));
                let again: Vec<Example> = again.map(|(_, example)| example.clone()).collect();
                (self.score(held)?, self.score(&again)?)
            }
            false => (Vec::new(), Vec::new()),
        };
        let progress = &self.progress;
        Ok(TuneReport {
            losses: progress.losses.clone(),
            before: progress.before.clone(),
            after,
            learned,
            curve: progress.curve.clone(),
            best_step: match self.settings.recipe.patience {
                Some(_) if finished => progress.best_step(),
                _ => None,
            },
            steps,
            finished,
        })
    }

    /// Scores what is kept back where it is time to; notes the best adapter and whether to stop.
    fn evaluate(&mut self, step: u64, held: &[Example]) -> Result<Option<Evaluation>> {
        let due = |every: u64| step.is_multiple_of(every) || step == self.schedule.steps;
        if held.is_empty() || !self.settings.recipe.evaluate_every.is_some_and(due) {
            return Ok(None);
        }
        let scores = self.score(held)?;
        let evaluation = progress::evaluation(step, &scores);
        let lowest = self.progress.lowest();
        self.progress.curve.push(evaluation);
        if let Some(patience) = self.settings.recipe.patience {
            if evaluation.loss < lowest {
                self.learner.fetch()?;
                let adapter = self.learner.job.adapter.as_ref();
                self.progress.best = adapter.map(|(_, values)| values.clone());
            }
            let best = self.progress.best_step();
            let later = self.progress.curve.iter().filter(|e| Some(e.step) > best);
            self.progress.over = later.count() >= patience;
        }
        Ok(Some(evaluation))
    }

    /// One step over whole conversations; returns the loss and the learning rate.
    fn step(&mut self, step: u64, examples: &[&Example]) -> Result<(f64, f64)> {
        let settings = self.settings;
        let weight = examples.iter().map(|e| e.targets()).sum::<usize>().max(1) as f64;
        let share = examples.len().div_ceil(self.slots_of(examples)).max(1);
        let dealt = examples.chunks(share).enumerate().map(|(slot, own)| {
            let packs = packs(own, settings.recipe.pack).into_iter().enumerate();
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
        let rate = settings.recipe.optimizer.rate * self.schedule.share(step);
        let (loss, _) = self.learner.step(&dealt, weight, (step, rate))?;
        Ok((loss, rate))
    }

    /// Sums of gradients that the conversations of a step are dealt out to: as many as there is enough
    /// to multiply for. It follows from the data alone, so that threads do not matter.
    fn slots_of(&self, examples: &[&Example]) -> usize {
        let most = self.settings.recipe.slots.min(self.settings.recipe.batch);
        let tokens: usize = examples.iter().map(|e| e.tokens.len()).sum();
        (tokens / ENOUGH).clamp(2.min(most), most)
    }

    /// The answers of conversations under the adapters as they are now.
    fn score(&mut self, asked: &[Example]) -> Result<Vec<AnswerScore>> {
        let all: Vec<&Example> = asked.iter().collect();
        let work: Vec<Work> = packs(&all, ENOUGH)
            .into_iter()
            .map(|packed| Work {
                packed,
                noise: None,
            })
            .collect();
        let mut targets = self.learner.answers(&work)?.into_iter().flatten();
        let answers = asked
            .iter()
            .map(|example| targets.by_ref().take(example.targets()).collect());
        let answers: Vec<Vec<(f32, bool)>> = answers.collect();
        let score = |tokens: Vec<(f32, bool)>| AnswerScore {
            log_probability: tokens.iter().map(|(value, _)| f64::from(*value)).sum(),
            greedy: tokens.iter().all(|(_, top)| *top),
            tokens: tokens.len(),
        };
        Ok(answers.into_iter().map(score).collect())
    }
}
