//! What a prepared run would ask and what it would cost, asking nothing.

use std::fmt;
use std::path::Path;

use crate::engine::EngineError;
use mary_contract::{Estimator, ModelRef, ModelRole, RequestEstimate};
use mary_platform::counted;

use crate::admission::Assignment;
use crate::dry_run::{DryRun, EstimateRow};
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

    fn from_execution(execution: &Execution) -> Self {
        let device = execution.device.as_deref().unwrap_or_default();
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(
            execution.threads.unwrap_or(all).clamp(1, all),
            device.matches("cuda").count(),
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
    /// Requests, tokens and dollars for each model and task, without a judge's, which depend on the answers.
    pub fn estimate(&self) -> Result<DryRun, RunError> {
        let mut dry = DryRun::default();
        let speed = Speed::from_execution(&self.spec.execution);
        let mut layout = None;
        for (place, (model, card)) in self.spec.subjects.iter().zip(&self.cards).enumerate() {
            let estimator = self.estimator(model)?;
            for (at, assignment) in self.assignments.iter().enumerate() {
                let mut estimate = self.task_estimate(assignment, estimator.as_deref())?;
                if estimator.is_none() {
                    // Shared beginnings are read once: the layout knows them.
                    let layout = match &layout {
                        Some(layout) => layout,
                        None => layout.insert(self.layout()?),
                    };
                    let cost = weights_known(card).then(|| layout.cost_of(place, at));
                    estimate.seconds = cost.map(|cost| speed.seconds(cost));
                    dry.speed = speed.to_string();
                }
                dry.rows.push(EstimateRow {
                    model: model.to_string(),
                    label: card.label.clone(),
                    local: estimator.is_none(),
                    task: assignment.id().to_owned(),
                    estimate,
                });
            }
            let provider = self.lab.provider(model)?;
            let settings = self.spec.model_settings();
            dry.outlook.extend(provider.outlook(model, &settings));
            if let Some(estimator) = &estimator {
                dry.prices = estimator.prices().to_owned();
            }
        }
        Ok(dry)
    }

    /// Nothing for models of this machine: they cost time alone.
    fn estimator(&self, model: &ModelRef) -> Result<Option<Box<dyn Estimator>>, RunError> {
        let Some(service) = self.lab.provider(model)?.service() else {
            return Ok(None);
        };
        let settings = self.spec.model_settings();
        // A batch has its own price; the place of its state does not matter here.
        let settings = match self.spec.execution.batch {
            true => batch::settings(self.lab, model, &settings, Path::new("batch")),
            false => settings,
        };
        Ok(Some(service.estimator(model, &settings)?))
    }

    fn task_estimate(
        &self,
        assignment: &Assignment<'_>,
        estimator: Option<&dyn Estimator>,
    ) -> Result<RequestEstimate, RunError> {
        let mut total = RequestEstimate {
            cost: estimator.map(|_| 0.0),
            ..RequestEstimate::default()
        };
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
                let asks = item.asks.iter().filter(|a| a.role == ModelRole::Subject);
                for ask in asks {
                    total += match estimator {
                        Some(estimator) => estimator.estimate(&ask.request),
                        None => RequestEstimate::local(&ask.request),
                    };
                }
            }
        }
        Ok(total)
    }
}
