//! How far a tuning has come: what it resumes from after it was stopped or killed, bit for bit on the
//! processor.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{AnswerScore, Evaluation, TuneReport, Tuner};
use crate::hf::{read_if_there, write_whole};
use crate::state::{self, State};
use crate::{Result, TrainError};

/// The file a tuning resumes from, beside the adapter.
pub(super) const STATE: &str = "state.safetensors";

/// What is written besides arrays comes back bit for bit: JSON rounds no number here.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    #[serde(skip)]
    pub(super) step: u64,
    pub(super) losses: Vec<f64>,
    pub(super) before: Vec<AnswerScore>,
    pub(super) curve: Vec<Evaluation>,
    /// The adapter with the lowest loss, where learning may stop early.
    #[serde(skip)]
    pub(super) best: Option<Vec<f32>>,
    pub(super) over: bool,
}

pub(super) fn evaluation(step: u64, scores: &[AnswerScore]) -> Evaluation {
    let tokens: usize = scores.iter().map(|s| s.tokens).sum();
    let total: f64 = scores.iter().map(|s| s.log_probability).sum();
    let exact = scores.iter().filter(|s| s.greedy).count();
    Evaluation {
        step,
        loss: -total / tokens.max(1) as f64,
        exact: exact as f64 / scores.len().max(1) as f64,
    }
}

impl Progress {
    fn best_evaluation(&self) -> Option<&Evaluation> {
        // The first of equals: a later one has to be lower.
        self.curve
            .iter()
            .reduce(|a, b| if b.loss < a.loss { b } else { a })
    }

    pub(super) fn lowest(&self) -> f64 {
        self.best_evaluation().map_or(f64::INFINITY, |e| e.loss)
    }

    pub(super) fn best_step(&self) -> Option<u64> {
        self.best_evaluation().map(|e| e.step)
    }
}

impl Tuner<'_> {
    fn state(&self) -> PathBuf {
        self.settings.out.join(STATE)
    }

    pub(super) fn save(&mut self) -> Result<()> {
        self.learner.fetch()?;
        let out = &self.settings.out;
        std::fs::create_dir_all(out).map_err(TrainError::file(out))?;
        let job = &self.learner.job;
        let Some((_, values)) = &job.adapter else {
            return Ok(());
        };
        let mut arrays = vec![
            ("parameters", values.as_slice()),
            ("first", &job.moments.first),
            ("second", &job.moments.second),
        ];
        if let Some(best) = &self.progress.best {
            arrays.push(("best", best));
        }
        let place = (self.progress.step, &self.progress);
        state::save(&self.state(), &self.recipe, place, &arrays)
    }

    /// Goes on where an unfinished tuning of the same recipe stopped. A state of another recipe is left
    /// behind: whoever calls has made sure that this folder may be written to.
    pub(super) fn resume(&mut self) -> Result<()> {
        let path = self.state();
        let Ok(Some(mut state)) = State::<Progress>::load(&path, &self.recipe) else {
            return Ok(());
        };
        let count = self.learner.job.moments.first.len();
        let values = state.take(&path, "parameters", count)?;
        let moments = state.moments(&path, count)?;
        let best = state.arrays.remove("best");
        self.learner.job.moments = moments;
        self.learner.replace_adapter(values)?;
        self.progress = Progress {
            step: state.step,
            best,
            ..state.position
        };
        Ok(())
    }
}

/// The file beside an adapter or a merged model.
pub(super) const LOG: &str = "learning.jsonl";

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LearningStep {
    /// Its number; 0 is before tuning.
    pub step: u64,
    /// Mean loss per answer token of the step's conversations, in nats; absent at step 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Mean loss per answer token of what is kept back, where it was scored after this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_loss: Option<f64>,
    /// Share of the answers kept back that were given exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_exact: Option<f64>,
    /// How many conversations are kept back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<usize>,
    /// Share of the answers learned from that were given exactly at the end, and of how many that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_exact: Option<(f64, usize)>,
}

/// The curve of a report: every step with its loss, and what was kept back before, while and after.
pub(super) fn steps(report: &TuneReport, rate: impl Fn(u64) -> f64) -> Vec<LearningStep> {
    let mut curve = report.curve.clone();
    let last = report.losses.len() as u64;
    let add = |curve: &mut Vec<Evaluation>, step: u64, scores: &[AnswerScore]| {
        if !scores.is_empty() && curve.iter().all(|e| e.step != step) {
            curve.push(evaluation(step, scores));
        }
    };
    add(&mut curve, 0, &report.before);
    // After an early stop the last scores are those of the best step, which is in the curve already.
    if report.best_step.is_none() {
        add(&mut curve, last, &report.after);
    }
    let numbered = (0..=last).map(|step| {
        let earlier = step.checked_sub(1);
        let scored = curve.iter().find(|e| e.step == step);
        let again = (step == last && !report.learned.is_empty()).then_some(&report.learned);
        LearningStep {
            step,
            loss: earlier.and_then(|i| report.losses.get(i as usize).copied()),
            rate: (step > 0).then(|| rate(step)),
            held_out_loss: scored.map(|e| e.loss),
            held_out_exact: scored.map(|e| e.exact),
            held_out: scored.map(|_| report.before.len()),
            learned_exact: again.map(|a| (evaluation(step, a).exact, a.len())),
        }
    });
    let told = numbered.filter(|line| line.step > 0 || line.held_out.is_some());
    told.collect()
}

pub(super) fn write(folder: &Path, steps: &[LearningStep]) -> Result<()> {
    let path = folder.join(LOG);
    let mut text = String::new();
    for step in steps {
        text += &serde_json::to_string(step).map_err(|e| TrainError::content(&path, e))?;
        text.push('\n');
    }
    write_whole(&path, text.as_bytes())
}

/// The learning curve of an adapter or of a model that was merged with one; None where there is none.
pub fn learning(folder: &Path) -> Result<Option<Vec<LearningStep>>> {
    let path = folder.join(LOG);
    let Some(text) = read_if_there(&path)? else {
        return Ok(None);
    };
    let mut steps = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let read = serde_json::from_str(line);
        steps.push(read.map_err(|e| {
            let problem = format!("line {}: {e}", number + 1);
            TrainError::content(&path, problem)
        })?);
    }
    Ok(Some(steps))
}
