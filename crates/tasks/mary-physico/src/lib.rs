//! PHYSICO (Yu et al. 2025): can a model see at work the physical concept it can define?
//!
//! The high level shows three pairs of grids, as numbers or as a picture, in which one of 67 concepts
//! is at work, and asks which of four it is. The low level asks the same four options about a masked
//! definition, a photograph, or the model's own description. What a model can say and cannot see is
//! the parrot gap. A perception probe tells a failure to understand from a failure to see.

mod cards;
mod choice_task;
pub mod counting;
mod describe;
mod drawing;
mod exhibits;
mod forms;
mod free_perception;
mod gap;
pub mod grid;
mod grid_task;
pub mod instances;
mod judging;
mod likeness;
mod low_level;
mod masking;
mod matching;
mod offers;
mod parse;
mod perception;
mod photo;
pub mod picture;
mod prompt;
mod published;
mod relabel;
mod results;
mod setup;
mod surface;
mod tuned;
mod tuning;
mod upstream;
pub mod worlds;

use std::sync::Arc;

use mary_contract::{
    Arguments, AuditExpectations, DataSource, Exhibits, Family, FamilyCommand, FamilyError, Made,
    RunSummary, Sample, SurfaceFinding, Table, Task, TaskCard, TaskError, TaskRun, TaskSettings,
    Text, TuningRequest, TuningSet, Twin, built_in,
};

#[derive(Debug, Clone, Copy)]
pub struct Physico;

pub static PHYSICO: Physico = Physico;

pub(crate) static TASKS: [&dyn Task; 12] = [
    &grid_task::CORE_TEXT_TASK,
    &grid_task::CORE_VISUAL_TASK,
    &grid_task::ASSOCIATIVE_TEXT_TASK,
    &grid_task::ASSOCIATIVE_VISUAL_TASK,
    &low_level::DEFINITION_TASK,
    &photo::PHOTO_TASK,
    &describe::Describe,
    &perception::PERCEPTION_TEXT_TASK,
    &perception::PERCEPTION_VISUAL_TASK,
    &free_perception::FREE_TEXT_TASK,
    &free_perception::FREE_VISUAL_TASK,
    &relabel::RELABEL_TASK,
];

impl Family for Physico {
    fn id(&self) -> &str {
        "physico"
    }

    fn title(&self) -> &str {
        "PHYSICO: physical concepts as grids"
    }

    fn tasks(&self) -> Vec<Arc<dyn Task>> {
        built_in(&TASKS)
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        exhibits::exhibits(runs)
    }

    fn tuning_sets(&self) -> Vec<Text> {
        offers::tuning_sets()
    }

    fn tuning_set(
        &self,
        name: &str,
        wanted: &TuningRequest,
        data: &dyn DataSource,
    ) -> Result<TuningSet, FamilyError> {
        offers::tuning_set(name, wanted, data)
    }

    fn pair_tables(&self, runs: &[RunSummary], pairs: &[(String, String)]) -> Vec<Table> {
        tuned::tuned_rows(runs, pairs).into_iter().collect()
    }

    fn audit_expectations(&self, task: &TaskCard) -> AuditExpectations {
        offers::audit_expectations(task)
    }

    fn surface_findings(
        &self,
        task: &TaskCard,
        settings: &TaskSettings,
        data: &dyn DataSource,
    ) -> Result<Vec<SurfaceFinding>, TaskError> {
        offers::surface_findings(task, settings, data)
    }

    fn twin(&self, run: &TaskRun) -> Option<Twin> {
        offers::twin(run)
    }

    fn command(&self) -> Option<FamilyCommand> {
        Some(offers::command())
    }

    fn act(
        &self,
        action: &str,
        arguments: &Arguments,
        samples: Vec<Sample>,
    ) -> Result<Made, FamilyError> {
        offers::act(action, arguments, samples)
    }
}
