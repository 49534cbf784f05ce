//! What every growth has in common, whatever grows: the course of its steps, the files beside its checkpoints
//! and the loop between them. [`crate::grow()`] and [`crate::grow_eyes()`] say what a step, a checkpoint and a
//! probe are; that a killed run goes on bit for bit is promised here, once for both.

mod course;
mod files;

pub use course::Course;
pub(crate) use files::{Resumed, begin, note_device, resume};

use crate::TrainError;
use crate::optimizer::Moments;
use crate::probe::ProbeReport;
use crate::state;
use files::{append, trim};
use serde::Serialize;
use serde_json::json;
use std::io::Write as _;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::time::Instant;

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

/// What a call of [`crate::grow()`] or [`crate::grow_eyes()`] did.
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

/// Sees every event and can stop the run; its state is then saved.
pub(crate) type OnEvent<'a> = &'a mut dyn FnMut(GrowEvent) -> ControlFlow<()>;

/// What a step did.
pub(crate) struct Stepped {
    pub(crate) loss: f64,
    pub(crate) rate: f64,
    pub(crate) gradient_norm: f64,
    pub(crate) tokens: usize,
}

/// The numbers that a run resumes from.
pub(crate) struct Numbers<'a> {
    pub(crate) parameters: &'a [f32],
    pub(crate) moments: &'a Moments,
}

/// A model that grows: what differs from one kind to the next.
pub(crate) trait Growing {
    /// Where in its material it is.
    type Position: Serialize;
    /// How a report of its probe is written down.
    type Report: Serialize;

    fn course(&self) -> &Course;
    fn recipe(&self) -> &str;
    /// Steps done.
    fn done(&self) -> u64;
    fn position(&self) -> Self::Position;
    /// One more step; None where the material has ended.
    fn step(&mut self) -> Result<Option<Stepped>, TrainError>;
    /// Something to tell the user after a step.
    fn note(&mut self) -> Option<String> {
        None
    }
    /// Its numbers as they are, brought here from wherever they are computed.
    fn numbers(&mut self) -> Result<Numbers<'_>, TrainError>;
    /// Writes the folder of a checkpoint.
    fn write(&mut self, folder: &Path) -> Result<(), TrainError>;
    /// Held-out items, where they are asked.
    fn probe(&mut self) -> Result<Option<Self::Report>, TrainError>;
    fn probed(report: Self::Report) -> GrowEvent;
}

/// Takes the steps that are left, with a line in the log, checkpoints and saved states in between.
pub(crate) fn run<G: Growing>(
    grown: &mut G,
    stopped: bool,
    on_event: OnEvent<'_>,
) -> Result<GrowReport, TrainError> {
    let course = grown.course().clone();
    let (begun, first) = (Instant::now(), grown.done());
    let mut report = GrowReport {
        step: first,
        finished: first >= course.steps,
        losses: Vec::new(),
        last_checkpoint: None,
        tokens_per_second: 0.0,
    };
    let path = course.out.join("losses.jsonl");
    let mut log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(TrainError::file(&path))?;
    let (mut stop, mut tokens) = (stopped, 0);
    if first == 0 && !stop {
        stop = checkpoint(grown, &mut report, on_event)?;
    }
    while grown.done() < course.steps && !stop {
        let Some(stepped) = grown.step()? else { break };
        let (step, loss, rate) = (grown.done(), stepped.loss, stepped.rate);
        let gradient_norm = stepped.gradient_norm;
        tokens += stepped.tokens;
        let tokens_per_second = tokens as f64 / begun.elapsed().as_secs_f64();
        report.tokens_per_second = tokens_per_second;
        report.losses.push(loss);
        report.step = step;
        let line =
            json!({"step": step, "loss": loss, "rate": rate, "gradient_norm": gradient_norm});
        writeln!(log, "{line}").map_err(TrainError::file(&path))?;
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
            stop |= checkpoint(grown, &mut report, on_event)?;
        }
        let limit = course.stop_after;
        stop |= limit.is_some_and(|limit| begun.elapsed() >= limit);
        if stop || step == course.steps || step % course.save_every == 0 {
            log.flush().map_err(TrainError::file(&path))?;
            save(grown)?;
        }
    }
    report.finished = report.step >= course.steps;
    Ok(report)
}

/// Saves what a run resumes from.
fn save<G: Growing>(grown: &mut G) -> Result<(), TrainError> {
    let path = files::state(grown.course());
    let (step, position) = (grown.done(), grown.position());
    let recipe = grown.recipe().to_owned();
    let numbers = grown.numbers()?;
    let arrays = [
        ("parameters", numbers.parameters),
        ("first", &numbers.moments.first),
        ("second", &numbers.moments.second),
    ];
    state::save(&path, &recipe, (step, &position), &arrays)
}

/// Writes a checkpoint and probes it; true when the callback asks to stop.
fn checkpoint<G: Growing>(
    grown: &mut G,
    report: &mut GrowReport,
    on_event: OnEvent<'_>,
) -> Result<bool, TrainError> {
    let (step, out) = (grown.done(), grown.course().out.clone());
    let folder = out.join(format!("step{step}"));
    grown.write(&folder)?;
    report.last_checkpoint = Some(folder.clone());
    let mut stop = on_event(GrowEvent::Checkpoint { step, folder }).is_break();
    if let Some(probed) = grown.probe()? {
        let path = out.join("probes.jsonl");
        trim(&path, step.saturating_sub(1))?;
        let line = serde_json::to_string(&probed).map_err(|e| TrainError::content(&path, e))?;
        append(&path, &line)?;
        stop |= on_event(G::probed(probed)).is_break();
    }
    Ok(stop)
}

/// The places of parameters with their weight decay: matrices decay, vectors do not.
pub(crate) fn groups(entries: &[crate::net::Entry], decay: f64) -> Vec<(Range<usize>, f64)> {
    let decays = |dims: &[usize]| if dims.len() == 2 { decay } else { 0.0 };
    let entries = entries.iter();
    entries
        .map(|e| (e.place.clone(), decays(&e.dims)))
        .collect()
}
