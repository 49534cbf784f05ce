//! A family: the tasks of one paper, and what there is to show about them.

use std::sync::Arc;

use crate::{Exhibits, RunSummary, Task};

/// A family of tasks, one per paper.
pub trait Family: Send + Sync {
    /// The word before the slash.
    fn id(&self) -> &str;

    /// For people.
    fn title(&self) -> &str;

    /// Its tasks.
    fn tasks(&self) -> Vec<Arc<dyn Task>>;

    /// The paper's tables and figures, made from summaries of one or more runs.
    fn exhibits(&self, _runs: &[RunSummary]) -> Exhibits {
        Exhibits::default()
    }
}

/// Built-in tasks, as a family hands them over.
pub fn built_in(tasks: &[&'static dyn Task]) -> Vec<Arc<dyn Task>> {
    tasks
        .iter()
        .map(|task| Arc::new(*task) as Arc<dyn Task>)
        .collect()
}
