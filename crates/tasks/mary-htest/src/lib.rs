//! H-TEST (Lee & Lim 2024): does a model know how language looks and sounds?
//!
//! Ten tasks ask for a label that follows from letters or sounds alone, and letter geometry asks what
//! a letter looks like when turned, flipped, added or taken away. Items come from our own generator
//! (any seed gives a new, matched set) or from the authors' released files.

mod ab_task;
mod dataset;
mod direct;
mod draw;
mod exhibits;
mod gap;
mod geometry;
mod misled;
mod offers;
mod paper_tables;
mod parse;
mod prompt;
mod published;
mod reasoning;
mod results;
mod rule_naming;
mod setup;
mod shots;
mod tasks;
mod tuning;
pub mod upstream;
mod words;

pub use ab_task::{AbTask, own_card};
pub use dataset::{Example, Label, Rule, Sets, Twins};
pub use exhibits::exhibits;
pub use geometry::LETTER_GEOMETRY;
pub use tasks::{AB_TASKS, rule_baselines};
pub use tuning::{tuning_matrix, tuning_set};

use std::collections::BTreeMap;
use std::sync::Arc;

use mary_contract::{
    Arguments, AuditExpectations, DataSource, Exhibits, Family, FamilyCommand, FamilyError, Made,
    RunSummary, Sample, Table, Task, TaskCard, TaskSettings, Text, TuningRequest, TuningSet,
    built_in,
};

#[derive(Debug, Clone, Copy)]
pub struct HTest;

pub static HTEST: HTest = HTest;

impl Family for HTest {
    fn id(&self) -> &str {
        "htest"
    }

    fn title(&self) -> &str {
        "H-TEST: how language looks and sounds"
    }

    fn tasks(&self) -> Vec<Arc<dyn Task>> {
        built_in(tasks::TASKS)
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        exhibits(runs)
    }

    fn starter_settings(&self, _task: &TaskCard, settings: &mut TaskSettings) {
        offers::starter_settings(settings);
    }

    fn learned_settings(&self, task: &TaskCard, settings: &mut TaskSettings) {
        offers::learned_settings(task, settings);
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
        offers::write_tuning_set(name, wanted, data)
    }

    fn tuning_tasks(&self) -> Vec<Text> {
        offers::tuning_sets()
    }

    fn tuning_tables(
        &self,
        runs: &[RunSummary],
        untuned: &str,
        tuned: &BTreeMap<String, String>,
    ) -> Vec<Table> {
        let mut tables = tuning_matrix(runs, untuned, tuned);
        tables.extend(tuning::published_beside(&tables));
        tables
    }

    fn pair_tables(&self, runs: &[RunSummary], pairs: &[(String, String)]) -> Vec<Table> {
        exhibits::pair_tables(runs, pairs)
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
        offers::act(action, arguments, &samples)
    }

    fn audit_expectations(&self, task: &TaskCard) -> AuditExpectations {
        offers::audit_expectations(task)
    }
}
