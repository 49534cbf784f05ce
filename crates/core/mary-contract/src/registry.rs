//! The tasks and families that a laboratory knows: a value that is built once and handed over, so
//! that a task from a file or from another process stands beside the built-in ones.

use std::sync::Arc;

use thiserror::Error;

use crate::{Family, Task, TaskRun};

/// Why a task cannot be added, or cannot be found again. The messages say what each field is; `was` is
/// what the run recorded, `now` what is here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum RegistryError {
    /// Two tasks or two families of one name.
    #[error("there are two of `{0}`\nhint: ids are unique; give one of them another")]
    Twice(String),
    /// An id that is not `family/task`, or not of the family on the card.
    #[error("`{id}` is not of the form `{family}/task`")]
    Misnamed { id: String, family: String },
    /// A run names a task that is not here.
    #[error("this Mary has no task `{0}`, which the run was made with")]
    Unknown(String),
    /// A task that is not built in, which was not handed over this time.
    #[error(
        "the run was made with a task of its own, `{id}` (content {content}), which is not here\n\
         hint: name its file again"
    )]
    Missing { id: String, content: String },
    /// The same content under another id.
    #[error(
        "the task that the run knows as `{was}` is called `{now}` here\nhint: give it its old name"
    )]
    Renamed { was: String, now: String },
    /// A task of this id whose file or data changed.
    #[error(
        "`{id}` has changed since the run began (content was {was}, is {now}); its answers cannot be \
         mixed\nhint: start a new run, or restore the file and the data it was made from"
    )]
    Changed {
        id: String,
        was: String,
        now: String,
    },
    /// A built-in task of another version.
    #[error(
        "{id} is version {now} here and was version {was} when the run began; its answers cannot be \
         mixed"
    )]
    Version { id: String, was: u32, now: u32 },
}

/// Tasks and families, in the order in which people read them.
#[derive(Clone, Default)]
pub struct Registry {
    families: Vec<Arc<dyn Family>>,
    tasks: Vec<Arc<dyn Task>>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.tasks.iter().map(|t| &t.card().id))
            .finish()
    }
}

impl Registry {
    /// A registry without tasks; `mary_lab::families::registry` has the built-in ones.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a family with all its tasks.
    pub fn add_family(&mut self, family: Arc<dyn Family>) -> Result<(), RegistryError> {
        if self.family(family.id()).is_some() {
            return Err(RegistryError::Twice(family.id().to_owned()));
        }
        let before = self.tasks.len();
        for task in family.tasks() {
            if let Err(error) = self.add_task(task) {
                // A family is here as a whole or not at all.
                self.tasks.truncate(before);
                return Err(error);
            }
        }
        self.families.push(family);
        Ok(())
    }

    /// Adds one task. Its family need not be known: a task of one's own may stand alone.
    pub fn add_task(&mut self, task: Arc<dyn Task>) -> Result<(), RegistryError> {
        let card = task.card();
        let (id, family) = (card.id.to_string(), card.family.to_string());
        let named = id.strip_prefix(&family).and_then(|r| r.strip_prefix('/'));
        if family.is_empty() || named.is_none_or(str::is_empty) {
            return Err(RegistryError::Misnamed { id, family });
        }
        if self.task(&id).is_some() {
            return Err(RegistryError::Twice(id));
        }
        self.tasks.push(task);
        Ok(())
    }

    /// Every family, in the order in which they were added.
    pub fn families(&self) -> &[Arc<dyn Family>] {
        &self.families
    }

    /// Every task, in the order in which they were added.
    pub fn tasks(&self) -> &[Arc<dyn Task>] {
        &self.tasks
    }

    /// The family of this id (`htest`).
    pub fn family(&self, id: &str) -> Option<&Arc<dyn Family>> {
        self.families.iter().find(|f| f.id() == id)
    }

    /// The task of this id (`htest/rhyme`).
    pub fn task(&self, id: &str) -> Option<&Arc<dyn Task>> {
        self.tasks.iter().find(|t| t.card().id == id)
    }

    /// The tasks of a family, those that were added beside its own too.
    pub fn tasks_of(&self, family: &str) -> impl Iterator<Item = &Arc<dyn Task>> {
        self.tasks.iter().filter(move |t| t.card().family == family)
    }

    /// The task that a run was made with, for judging its answers again: a task of one's own by its
    /// content, a built-in one by its id. Another version of a built-in task is no obstacle.
    pub fn judge_of(&self, run: &TaskRun) -> Result<&Arc<dyn Task>, RegistryError> {
        let here = self.task(&run.id);
        let content = here.and_then(|t| t.card().content.as_deref());
        match (here, content, run.content.as_deref()) {
            (Some(task), now, was) if now == was => Ok(task),
            (Some(_), now, was) => Err(RegistryError::Changed {
                id: run.id.clone(),
                was: was.unwrap_or("built in").to_owned(),
                now: now.unwrap_or("built in").to_owned(),
            }),
            (None, _, Some(was)) => {
                let mut tasks = self.tasks.iter();
                let same = tasks.find(|t| t.card().content.as_deref() == Some(was));
                Err(match same {
                    Some(other) => RegistryError::Renamed {
                        was: run.id.clone(),
                        now: other.card().id.to_string(),
                    },
                    None => RegistryError::Missing {
                        id: run.id.clone(),
                        content: was.to_owned(),
                    },
                })
            }
            (None, _, None) => Err(RegistryError::Unknown(run.id.clone())),
        }
    }

    /// The task that a run was made with, for going on with it: as [`Registry::judge_of`], and of the
    /// same version.
    pub fn recall(&self, run: &TaskRun) -> Result<&Arc<dyn Task>, RegistryError> {
        let task = self.judge_of(run)?;
        let now = task.card().version;
        if now == run.version {
            Ok(task)
        } else {
            Err(RegistryError::Version {
                id: run.id.clone(),
                was: run.version,
                now,
            })
        }
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
