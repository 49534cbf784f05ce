//! How far a tuning has come: what it resumes from after it was stopped or killed, bit for bit on the
//! processor.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{AnswerScore, Evaluation, Tuner};
use crate::TrainError;
use crate::state::{self, State};

/// The file a tuning resumes from, beside the adapter.
pub(super) const STATE: &str = "state.safetensors";

#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) step: u64,
    pub(super) losses: Vec<f64>,
    pub(super) before: Vec<AnswerScore>,
    pub(super) curve: Vec<Evaluation>,
    /// The adapter with the lowest loss, where learning may stop early.
    pub(super) best: Option<Vec<f32>>,
    pub(super) over: bool,
}

/// Progress as it is written: numbers by their bits, so that none is rounded.
#[derive(Serialize, Deserialize)]
struct Journal {
    losses: Vec<u64>,
    before: Vec<(u64, bool, usize)>,
    curve: Vec<(u64, u64, u64)>,
    over: bool,
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

    pub(super) fn waited(&self) -> usize {
        let best = self.best_step();
        let later = self.curve.iter().filter(|e| Some(e.step) > best);
        later.count()
    }

    fn journal(&self) -> Journal {
        Journal {
            losses: self.losses.iter().map(|x| x.to_bits()).collect(),
            before: self
                .before
                .iter()
                .map(|s| (s.log_probability.to_bits(), s.greedy, s.tokens))
                .collect(),
            curve: self
                .curve
                .iter()
                .map(|e| (e.step, e.loss.to_bits(), e.exact.to_bits()))
                .collect(),
            over: self.over,
        }
    }

    fn from_journal(journal: Journal, step: u64, best: Option<Vec<f32>>) -> Self {
        let score = |(bits, greedy, tokens)| AnswerScore {
            log_probability: f64::from_bits(bits),
            greedy,
            tokens,
        };
        let evaluated = |(step, loss, exact)| Evaluation {
            step,
            loss: f64::from_bits(loss),
            exact: f64::from_bits(exact),
        };
        Self {
            step,
            losses: journal.losses.into_iter().map(f64::from_bits).collect(),
            before: journal.before.into_iter().map(score).collect(),
            curve: journal.curve.into_iter().map(evaluated).collect(),
            best,
            over: journal.over,
        }
    }
}

impl Tuner<'_> {
    fn state(&self) -> PathBuf {
        self.settings.out.join(STATE)
    }

    pub(super) fn save(&mut self) -> Result<(), TrainError> {
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
        let place = (self.progress.step, &self.progress.journal());
        state::save(&self.state(), &self.recipe, place, &arrays)
    }

    /// Goes on where an unfinished tuning of the same recipe stopped. A state of another recipe is left
    /// behind: whoever calls has made sure that this folder may be written to.
    pub(super) fn resume(&mut self) -> Result<(), TrainError> {
        let path = self.state();
        let Ok(Some(mut state)) = State::<Journal>::load(&path, &self.recipe) else {
            return Ok(());
        };
        let count = self.learner.job.moments.first.len();
        let values = state.take(&path, "parameters", count)?;
        let moments = state.moments(&path, count)?;
        let best = state.optional("best");
        self.learner.job.moments = moments;
        self.learner.replace_adapter(values)?;
        self.progress = Progress::from_journal(state.position, state.step, best);
        Ok(())
    }
}
