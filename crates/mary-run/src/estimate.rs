//! What a prepared run would ask and what it would cost, asking nothing.

use std::path::Path;

use mary_contract::{ModelRef, ModelRole};
use mary_engine::EngineError;
use mary_remote::{DryRun, Estimate, EstimateRow, Estimator};

use crate::admission::Assignment;
use crate::{PreparedRun, RunError, batch};

impl PreparedRun<'_> {
    /// Requests, tokens and dollars for each model and task. What a judge is asked depends on answers
    /// and is not in it.
    pub fn estimate(&self) -> Result<DryRun, RunError> {
        let mut dry = DryRun::default();
        for model in &self.spec.subjects {
            let mut estimator = self.estimator(model)?;
            for assignment in &self.assignments {
                dry.rows.push(EstimateRow {
                    model: model.to_string(),
                    task: assignment.id().to_owned(),
                    estimate: self.of_task(assignment, estimator.as_mut())?,
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
                        None => local.requests += 1,
                    }
                }
            }
        }
        Ok(estimator.map_or(local, Estimator::take))
    }
}
