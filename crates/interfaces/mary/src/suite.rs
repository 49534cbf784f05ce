//! Which tasks a user means, and with which settings.

use std::collections::BTreeSet;
use std::sync::Arc;

use mary_contract::{Param, PromptForm, Registry, Task, TaskSettings};

use crate::exit::UsageError;
use crate::matching;

/// Tasks by id, family or wildcard, in the order named, none twice.
pub fn select(registry: &Registry, patterns: &[String]) -> Result<Vec<Arc<dyn Task>>, UsageError> {
    let mut chosen: Vec<Arc<dyn Task>> = Vec::new();
    for pattern in patterns.iter().map(|p| p.trim()).filter(|p| !p.is_empty()) {
        let before = chosen.len();
        let mut known = false;
        for task in registry.tasks() {
            let card = task.card();
            if is_meant(pattern, &card.family, &card.id) {
                known = true;
                if !chosen.iter().any(|t| t.card().id == card.id) {
                    chosen.push(Arc::clone(task));
                }
            }
        }
        if !known && chosen.len() == before {
            let tasks = registry.tasks().iter();
            let names = tasks
                .map(|t| &*t.card().id)
                .chain(registry.families().iter().map(|f| f.id()));
            let hint = match pattern.contains(['.', '\\']) || pattern.starts_with('/') {
                true => "hint: a task of your own is a file such as mytask.toml beside its data; `mary tasks new mytask.toml` writes one".to_owned(),
                false => matching::suggestion(pattern, names, "mary tasks"),
            };
            return Err(UsageError::new(format!(
                "no task is called `{pattern}`\n{hint}"
            )));
        }
    }
    if chosen.is_empty() {
        return Err(UsageError::new(
            "no task is named\nhint: `mary tasks` lists them all",
        ));
    }
    Ok(chosen)
}

/// Whether a task is meant by an id, a family, a wildcard or `all`.
pub fn is_meant(pattern: &str, family: &str, id: &str) -> bool {
    // Families and tasks may be written with underscores, as upstream files are.
    let wanted = pattern.trim().replace('_', "-");
    wanted == family || wanted == "all" || matching::wildcard(&wanted, id)
}

/// Which of the tasks of some runs are meant; all where no pattern is given.
pub fn of_runs<'a>(
    patterns: &[String],
    ids: impl Iterator<Item = &'a str> + Clone,
) -> Result<BTreeSet<String>, UsageError> {
    let family = |id: &'a str| id.split('/').next().unwrap_or(id);
    let mut chosen = BTreeSet::new();
    for pattern in patterns {
        let meant = ids.clone().filter(|id| is_meant(pattern, family(id), id));
        let mut any = false;
        chosen.extend(meant.map(str::to_owned).inspect(|_| any = true));
        if !any {
            let mut held: Vec<&str> = ids.clone().collect();
            held.sort_unstable();
            held.dedup();
            return Err(UsageError::new(format!(
                "no task of these runs fits `{pattern}`\nhint: they hold {}",
                held.join(", ")
            )));
        }
    }
    if patterns.is_empty() {
        chosen.extend(ids.map(str::to_owned));
    }
    Ok(chosen)
}

/// A task and how it is to be run.
pub type WithSettings = (Arc<dyn Task>, TaskSettings);

/// What the user said about every task.
#[derive(Debug, Clone, Default)]
pub struct TaskOptions {
    pub seed: u64,
    pub shots: Option<usize>,
    /// Chat template or not.
    pub chat: bool,
    /// `name=value` pairs.
    pub set: Vec<(String, String)>,
}

impl TaskOptions {
    /// Splits `name=value` pairs.
    pub fn pairs(given: &[String]) -> Result<Vec<(String, String)>, UsageError> {
        given
            .iter()
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) if !name.is_empty() => {
                    Ok((name.trim().to_owned(), value.trim().to_owned()))
                }
                _ => Err(UsageError::new(format!(
                    "`{pair}` is not of the form name=value"
                ))),
            })
            .collect()
    }

    /// Settings for each task: a pair goes to the tasks that know it, and at least one must.
    pub fn settings(&self, tasks: &[Arc<dyn Task>]) -> Result<Vec<WithSettings>, UsageError> {
        // Hyphens and underscores are the same here too; the card's own spelling counts.
        let same = |a: &str, b: &str| a.replace('_', "-") == b.replace('_', "-");
        let known = |task: &Arc<dyn Task>, name: &str| -> Option<String> {
            let mut params = task.card().params.iter();
            params
                .find(|p: &&Param| same(&p.name, name))
                .map(|p| p.name.to_string())
        };
        for (name, _) in &self.set {
            if !tasks.iter().any(|task| known(task, name).is_some()) {
                let mut names: Vec<&str> = tasks
                    .iter()
                    .flat_map(|t| t.card().params.iter().map(|p| &*p.name))
                    .collect();
                names.sort_unstable();
                names.dedup();
                return Err(UsageError::new(format!(
                    "none of the chosen tasks has a setting `{name}`\nhint: they have: {}",
                    if names.is_empty() {
                        "none".into()
                    } else {
                        names.join(", ")
                    }
                )));
            }
        }
        let form = if self.chat {
            PromptForm::Chat
        } else {
            PromptForm::Plain
        };
        let with_settings = tasks.iter().map(|task| {
            let params = self
                .set
                .iter()
                .filter_map(|(name, value)| Some((known(task, name)?, value.clone())))
                .collect();
            (
                Arc::clone(task),
                TaskSettings {
                    seed: self.seed,
                    shots: self.shots,
                    form,
                    params,
                },
            )
        });
        Ok(with_settings.collect())
    }
}
