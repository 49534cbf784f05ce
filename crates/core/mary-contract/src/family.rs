//! A family: the tasks of one paper, and everything that goes with them. Only its id, its title and its
//! tasks are required; whatever else it offers, the binary asks for through this trait.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::{
    Arguments, AuditExpectations, DataSource, Development, Exhibits, FamilyCommand, FamilyError,
    Made, ReleasedRun, RunSummary, Sample, SampleAnalysis, SurfaceFinding, Table, Task, TaskCard,
    TaskError, TaskRun, TaskSettings, Text, TuningRequest, TuningSet, Twin,
};

/// A family of tasks, one per paper.
pub trait Family: Send + Sync {
    /// The part of its tasks' ids before the slash.
    fn id(&self) -> &str;

    /// Its name in headings.
    fn title(&self) -> &str;

    /// Its tasks, in the order of the paper.
    fn tasks(&self) -> Vec<Arc<dyn Task>>;

    /// The paper's tables and figures, made from summaries of one or more runs.
    fn exhibits(&self, _runs: &[RunSummary]) -> Exhibits {
        Exhibits::default()
    }

    /// What a task is set to in the starter selection, where that is not its default. What the user
    /// set is in `settings` already.
    fn starter_settings(&self, _task: &TaskCard, _settings: &mut TaskSettings) {}

    /// What a task is set to where answers were learned before it is asked (by tuning, by the learners of
    /// an audit) and not from its shots. What the user set is in `settings` already.
    fn learned_settings(&self, _task: &TaskCard, _settings: &mut TaskSettings) {}

    /// Names of the fine-tuning sets it can write; a set made from a task has the task's id.
    fn tuning_sets(&self) -> Vec<Text> {
        Vec::new()
    }

    /// Writes the fine-tuning set of this name, whose items share nothing with the test items.
    fn tuning_set(
        &self,
        name: &str,
        _wanted: &TuningRequest,
        _data: &dyn DataSource,
    ) -> Result<TuningSet, FamilyError> {
        Err(FamilyError::Usage(format!("{name} has no fine-tuning set")))
    }

    /// Tables of training task by test task, from runs that hold the untuned model and tuned ones
    /// (task → model). A family without such a table has none.
    fn tuning_tables(
        &self,
        _runs: &[RunSummary],
        _untuned: &str,
        _tuned: &BTreeMap<String, String>,
    ) -> Vec<Table> {
        Vec::new()
    }

    /// The tasks that make the rows and columns of [`Family::tuning_tables`].
    fn tuning_tasks(&self) -> Vec<Text> {
        Vec::new()
    }

    /// Tables of models beside the ones they were built on, given as pairs (built, base).
    fn pair_tables(&self, _runs: &[RunSummary], _pairs: &[(String, String)]) -> Vec<Table> {
        Vec::new()
    }

    /// The order in which the values of a tag are shown (`subtask`); others follow by name.
    fn tag_order(&self, _tag: &str) -> Vec<Text> {
        Vec::new()
    }

    /// What an audit must know of one of its tasks.
    fn audit_expectations(&self, _task: &TaskCard) -> AuditExpectations {
        AuditExpectations::default()
    }

    /// What surface features that only this family knows reach on the items of a task.
    fn surface_findings(
        &self,
        _task: &TaskCard,
        _settings: &TaskSettings,
        _data: &dyn DataSource,
    ) -> Result<Vec<SurfaceFinding>, TaskError> {
        Ok(Vec::new())
    }

    /// Runs made from what the authors released, if the path is one of their files.
    fn released_runs(
        &self,
        _path: &Path,
        _data: &dyn DataSource,
    ) -> Result<Option<Vec<ReleasedRun>>, TaskError> {
        Ok(None)
    }

    /// Whether something else than understanding explains the errors of stored samples.
    fn confounds(
        &self,
        _data: &dyn DataSource,
    ) -> Result<Option<Box<dyn SampleAnalysis>>, TaskError> {
        Ok(None)
    }

    /// Which form of which items a task was run on, where the same items exist in words and as pictures.
    fn twin(&self, _run: &TaskRun) -> Option<Twin> {
        None
    }

    /// What it shows of a model that grows.
    fn development(&self) -> Option<&dyn Development> {
        None
    }

    /// A command of its own, called by its id: pictures of its items, forms, lists.
    fn command(&self) -> Option<FamilyCommand> {
        None
    }

    /// Does one action of [`Family::command`]; `samples` are those that the action reads.
    fn act(
        &self,
        action: &str,
        _arguments: &Arguments,
        _samples: Vec<Sample>,
    ) -> Result<Made, FamilyError> {
        Err(FamilyError::Usage(format!(
            "{} has no command `{action}`",
            self.id()
        )))
    }
}

/// Built-in tasks, as a family hands them over.
pub fn built_in(tasks: &[&'static dyn Task]) -> Vec<Arc<dyn Task>> {
    let shared = |task: &&'static dyn Task| Arc::new(*task) as Arc<dyn Task>;
    tasks.iter().map(shared).collect()
}
