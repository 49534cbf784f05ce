//! What a prepared run would ask and what it would cost, asking nothing.

use std::fmt;
use std::path::Path;

use crate::engine::EngineError;
use mary_contract::{ModelRef, ModelRole};
use mary_platform::counted;
use mary_remote::{DryRun, Estimate, EstimateRow, Estimator};

use crate::admission::Assignment;
use crate::part::weights_known;
use crate::{Execution, PreparedRun, RunError, batch};

/// Billions of operations a second of a core, and of a GPU, as far as nothing is known.
const CORE_GFLOPS: f64 = 20.0;
const GPU_GFLOPS: f64 = 50_000.0;

/// How fast a machine is taken to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    gflops: f64,
    cores: usize,
    gpus: usize,
}

impl Speed {
    /// Of this many cores, or of GPUs where there are some.
    pub fn new(cores: usize, gpus: usize) -> Self {
        let gflops = match gpus {
            0 => CORE_GFLOPS * cores as f64,
            gpus => GPU_GFLOPS * gpus as f64,
        };
        Self {
            gflops,
            cores,
            gpus,
        }
    }

    fn of(execution: &Execution) -> Self {
        let device = execution.device.as_deref().unwrap_or_default();
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(
            execution.threads.unwrap_or(all).clamp(1, all),
            usize::from(device.starts_with("cuda")),
        )
    }

    /// Billions of operations a second.
    pub fn gflops(self) -> f64 {
        self.gflops
    }

    /// Seconds for a cost in tokens times a million weights: a token takes two operations for each weight.
    pub fn seconds(self, cost: f64) -> f64 {
        cost * 2.0e6 / (self.gflops * 1e9)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = match self.gpus {
            0 => counted(self.cores, "core"),
            gpus => counted(gpus, "GPU"),
        };
        write!(
            f,
            "time is a rough estimate, not measured: two operations a token and weight, at {} billion operations \
             a second ({units}); the progress display of a run measures",
            self.gflops
        )
    }
}

impl PreparedRun<'_> {
    /// Requests, tokens and dollars for each model and task. What a judge is asked depends on answers
    /// and is not in it.
    pub fn estimate(&self) -> Result<DryRun, RunError> {
        let mut dry = DryRun::default();
        let speed = Speed::of(&self.spec.execution);
        // Shared beginnings are read once: the layout knows them.
        let local = |model: &ModelRef| !mary_remote::is_remote(&model.provider);
        let layout = match self.spec.subjects.iter().any(local) {
            true => Some(self.layout()?),
            false => None,
        };
        for (place, (model, card)) in self.spec.subjects.iter().zip(&self.cards).enumerate() {
            let mut estimator = self.estimator(model)?;
            for (at, assignment) in self.assignments.iter().enumerate() {
                let mut estimate = self.of_task(assignment, estimator.as_mut())?;
                if let (true, Some(layout)) = (local(model), &layout) {
                    let cost = weights_known(card).then(|| layout.cost_of(place, at));
                    estimate.seconds = cost.map(|cost| speed.seconds(cost));
                    dry.speed = speed.to_string();
                }
                dry.rows.push(EstimateRow {
                    model: model.to_string(),
                    label: card.label.clone(),
                    local: local(model),
                    task: assignment.id().to_owned(),
                    estimate,
                });
            }
            if let Some(estimator) = &estimator {
                dry.prices = estimator.dated().to_owned();
            }
        }
        Ok(dry)
    }

    /// Nothing for local models: they cost time alone.
    fn estimator(&self, model: &ModelRef) -> Result<Option<Estimator>, RunError> {
        if !mary_remote::is_remote(&model.provider) {
            return Ok(None);
        }
        let settings = self.spec.model_settings();
        // A batch has its own price; the place of its state does not matter here.
        let settings = match self.spec.execution.batch {
            true => batch::settings(model, &settings, Path::new("batch")),
            false => settings,
        };
        Ok(Some(Estimator::new(model, &settings)?))
    }

    fn of_task(
        &self,
        assignment: &Assignment<'_>,
        mut estimator: Option<&mut Estimator>,
    ) -> Result<Estimate, RunError> {
        let mut local = Estimate::default();
        let wrap = |source| EngineError::Task {
            task: assignment.id().to_owned(),
            source,
        };
        let items = assignment
            .task
            .items(&assignment.settings, self.lab.source());
        let chosen = assignment.survey.chosen.as_ref();
        for (index, item) in items.map_err(wrap)?.enumerate() {
            let item = item.map_err(wrap)?;
            if chosen.is_some_and(|chosen| !chosen.contains(&index)) {
                continue;
            }
            for _ in 0..self.spec.trials {
                for ask in item
                    .asks
                    .iter()
                    .filter(|ask| ask.role == ModelRole::Subject)
                {
                    match &mut estimator {
                        Some(estimator) => estimator.add(&ask.request),
                        None => local.add_local(&ask.request),
                    }
                }
            }
        }
        Ok(estimator.map_or(local, Estimator::take))
    }
}
