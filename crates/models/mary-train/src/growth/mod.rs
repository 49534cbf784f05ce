//! What every growth has in common, whatever grows: the course of its steps, the files beside its checkpoints
//! and the loop between them. [`crate::grow()`] and [`crate::grow_vision()`] say what a step, a checkpoint and a
//! probe are; that a killed run goes on bit for bit is promised here, once for both.

mod course;
mod files;

pub use course::Course;
pub(crate) use files::Folder;

use crate::net::Entry;
use crate::optimizer::Moments;
use crate::probe::{ProbeReport, VisionReport};
use crate::state;
use crate::{Result, TrainError};
use files::{append, trim};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde_json::json;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug, Clone)]
pub enum GrowEvent {
    Started {
        parameters: usize,
        tokens_per_step: usize,
        memory: u64,
        from_step: u64,
        device: String,
    },
    Note(String),
    Step {
        step: u64,
        /// Mean loss per token, in nats.
        loss: f64,
        rate: f64,
        /// Norm of the gradient before clipping.
        gradient_norm: f64,
        /// Tokens a second since this call started.
        tokens_per_second: f64,
    },
    Checkpoint {
        step: u64,
        folder: PathBuf,
    },
    Probed(ProbeReport),
    VisionProbed(VisionReport),
}

#[derive(Debug, Clone, Default)]
pub struct GrowReport {
    pub step: u64,
    pub finished: bool,
    pub losses: Vec<f64>,
    /// Folder of the last checkpoint written in this call.
    pub last_checkpoint: Option<PathBuf>,
    pub tokens_per_second: f64,
}

/// Sees every event and can stop the run; its state is then saved.
pub(crate) type OnEvent<'a> = &'a mut dyn FnMut(GrowEvent) -> ControlFlow<()>;

pub(crate) struct Stepped {
    pub(crate) loss: f64,
    pub(crate) gradient_norm: f64,
    pub(crate) tokens: usize,
}

/// A model that grows: what differs from one kind to the next.
pub(crate) trait Grown {
    /// Where in its material it is.
    type Position: Serialize;

    fn position(&self) -> Self::Position;
    /// The step of this number with this learning rate; None where the material has ended.
    fn step(&mut self, at: (u64, f64)) -> Result<Option<Stepped>>;
    fn note(&mut self) -> Option<String> {
        None
    }
    /// Its parameters and their moments, brought here from wherever they are computed.
    fn numbers(&mut self) -> Result<(&[f32], &Moments)>;
    fn write(&mut self, folder: &Path) -> Result<()>;
    fn probe(&mut self, step: u64) -> Result<Option<GrowEvent>>;
}

pub(crate) struct Run<'a> {
    pub(super) course: &'a Course,
    /// What decides the weights, as text: a state is resumed only under the same.
    pub(super) recipe: String,
    pub(crate) step: u64,
}

impl Run<'_> {
    /// Notes where the steps from here on are computed and tells the callback; true when it asks to stop.
    pub(crate) fn start(
        &self,
        (parameters, tokens_per_step): (usize, usize),
        memory: u64,
        device: String,
        on_event: OnEvent<'_>,
    ) -> Result<bool> {
        let line = json!({"from_step": self.step, "device": device});
        append(&self.course.out.join("devices.jsonl"), &line.to_string())?;
        let started = GrowEvent::Started {
            parameters,
            tokens_per_step,
            memory,
            from_step: self.step,
            device,
        };
        Ok(on_event(started).is_break())
    }

    /// Takes the steps that are left, with a line in the log, checkpoints and saved states in between.
    pub(crate) fn go(
        &mut self,
        grown: &mut impl Grown,
        stopped: bool,
        on_event: OnEvent<'_>,
    ) -> Result<GrowReport> {
        let course = self.course;
        let begun = Instant::now();
        let mut report = GrowReport {
            step: self.step,
            ..GrowReport::default()
        };
        let log = course.out.join("losses.jsonl");
        let (mut stop, mut tokens) = (stopped, 0);
        if self.step == 0 && !stop {
            stop = self.checkpoint(grown, &mut report, on_event)?;
        }
        while self.step < course.steps && !stop {
            let step = self.step + 1;
            let rate = course.optimizer.rate * course.schedule().share(step);
            let Some(stepped) = grown.step((step, rate))? else {
                break;
            };
            self.step = step;
            let (loss, gradient_norm) = (stepped.loss, stepped.gradient_norm);
            tokens += stepped.tokens;
            let tokens_per_second = tokens as f64 / begun.elapsed().as_secs_f64();
            report.tokens_per_second = tokens_per_second;
            report.losses.push(loss);
            report.step = step;
            let line =
                json!({"step": step, "loss": loss, "rate": rate, "gradient_norm": gradient_norm});
            append(&log, &line.to_string())?;
            let event = GrowEvent::Step {
                step,
                loss,
                rate,
                gradient_norm,
                tokens_per_second,
            };
            stop |= on_event(event).is_break();
            if let Some(note) = grown.note() {
                stop |= on_event(GrowEvent::Note(note)).is_break();
            }
            if course.is_checkpoint(step) {
                stop |= self.checkpoint(grown, &mut report, on_event)?;
            }
            let limit = course.stop_after;
            stop |= limit.is_some_and(|limit| begun.elapsed() >= limit);
            if stop || step == course.steps || step.is_multiple_of(course.save_every) {
                self.save(grown)?;
            }
        }
        report.finished = report.step >= course.steps;
        Ok(report)
    }

    fn save(&self, grown: &mut impl Grown) -> Result<()> {
        let position = grown.position();
        let (parameters, moments) = grown.numbers()?;
        let arrays = [
            ("parameters", parameters),
            ("first", &moments.first),
            ("second", &moments.second),
        ];
        let path = files::state(self.course);
        state::save(&path, &self.recipe, (self.step, &position), &arrays)
    }

    /// Writes a checkpoint and probes it; true when the callback asks to stop.
    fn checkpoint(
        &self,
        grown: &mut impl Grown,
        report: &mut GrowReport,
        on_event: OnEvent<'_>,
    ) -> Result<bool> {
        let (step, out) = (self.step, &self.course.out);
        let folder = out.join(format!("step{step}"));
        grown.write(&folder)?;
        report.last_checkpoint = Some(folder.clone());
        let mut stop = on_event(GrowEvent::Checkpoint { step, folder }).is_break();
        if let Some(probed) = grown.probe(step)? {
            let path = out.join("probes.jsonl");
            trim(&path, step.saturating_sub(1))?;
            let line = match &probed {
                GrowEvent::Probed(report) => serde_json::to_string(report),
                GrowEvent::VisionProbed(report) => serde_json::to_string(report),
                _ => Ok(String::new()),
            };
            let line = line.map_err(|e| TrainError::content(&path, e))?;
            append(&path, &line)?;
            stop |= on_event(probed).is_break();
        }
        Ok(stop)
    }
}

/// How the numbers of a tensor start.
pub(crate) enum Start {
    Constant(f32),
    Normal(f64),
}

pub(crate) fn new_weights(
    entries: &[Entry],
    (total, seed): (usize, u64),
    start: impl Fn(&Entry) -> Start,
) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::MAX);
    let mut values = vec![0.0; total];
    for entry in entries {
        let out = &mut values[entry.place.clone()];
        match start(entry) {
            Start::Constant(value) => out.fill(value),
            Start::Normal(deviation) => {
                for pair in out.chunks_mut(2) {
                    let (a, b) = normal_pair(&mut rng);
                    for (x, value) in pair.iter_mut().zip([a, b]) {
                        *x = (value * deviation) as f32;
                    }
                }
            }
        }
    }
    values
}

/// Two standard normal numbers (Box and Muller).
fn normal_pair(rng: &mut ChaCha8Rng) -> (f64, f64) {
    let u: f64 = 1.0 - rng.random::<f64>();
    let angle = std::f64::consts::TAU * rng.random::<f64>();
    let radius = (-2.0 * u.ln()).sqrt();
    (radius * angle.cos(), radius * angle.sin())
}

/// The places of parameters with their weight decay: matrices decay, vectors do not.
pub(crate) fn groups(entries: &[Entry], decay: f64) -> Vec<(Range<usize>, f64)> {
    let decays = |dims: &[usize]| if dims.len() == 2 { decay } else { 0.0 };
    let entries = entries.iter();
    entries
        .map(|e| (e.place.clone(), decays(&e.dims)))
        .collect()
}
