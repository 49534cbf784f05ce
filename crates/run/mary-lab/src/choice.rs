//! Tasks as people name them: by id, family or wildcard, with settings for the tasks that know them.

use std::collections::BTreeSet;
use std::sync::Arc;

use mary_contract::{Limit, Param, PromptForm, Registry, Task, TaskSettings};

use crate::{RunError, TaskChoice, names};

fn unclear(message: String) -> RunError {
    RunError::Specification(message)
}

/// Tasks by id, family or wildcard, in the order named, none twice. A name that fits none is refused with
/// the nearest that would.
///
/// ```
/// let registry = mary_lab::families::registry();
/// let found = mary_lab::select_tasks(&registry, &["htest/rhyme".into(), "*/spelled-*".into()])?;
/// assert_eq!(found[0].card().id, "htest/rhyme");
/// assert!(found.len() > 1);
/// let error = mary_lab::select_tasks(&registry, &["htest/ryhme".into()]).err().unwrap();
/// assert!(error.to_string().contains("did you mean htest/rhyme"), "{error}");
/// # Ok::<(), mary_lab::RunError>(())
/// ```
pub fn select_tasks(
    registry: &Registry,
    patterns: &[String],
) -> Result<Vec<Arc<dyn Task>>, RunError> {
    let mut chosen: Vec<Arc<dyn Task>> = Vec::new();
    for pattern in patterns.iter().map(|p| p.trim()).filter(|p| !p.is_empty()) {
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
        if !known {
            let tasks = registry.tasks().iter();
            let names = tasks
                .map(|t| &*t.card().id)
                .chain(registry.families().iter().map(|f| f.id()));
            let hint = match pattern.contains(['.', '\\']) || pattern.starts_with('/') {
                true => "hint: a task of your own is a file such as mytask.toml beside its data; `mary tasks new mytask.toml` writes one".to_owned(),
                false => names::suggestion(pattern, names, "mary tasks"),
            };
            return Err(unclear(format!("no task is called `{pattern}`\n{hint}")));
        }
    }
    if chosen.is_empty() {
        return Err(unclear(
            "no task is named\nhint: `mary tasks` lists them all".into(),
        ));
    }
    Ok(chosen)
}

/// Whether a task is meant by an id, a family, a wildcard or `all`.
fn is_meant(pattern: &str, family: &str, id: &str) -> bool {
    // Families and tasks may be written with underscores, as upstream files are.
    let wanted = pattern.trim().replace('_', "-");
    wanted == family || wanted == "all" || names::wildcard(&wanted, id)
}

/// Which of the tasks of some runs are meant; all where no pattern is given.
pub fn select_ids<'a>(
    patterns: &[String],
    ids: impl Iterator<Item = &'a str> + Clone,
) -> Result<BTreeSet<String>, RunError> {
    let family = |id: &'a str| id.split('/').next().unwrap_or(id);
    let mut chosen = BTreeSet::new();
    for pattern in patterns {
        let meant = ids.clone().filter(|id| is_meant(pattern, family(id), id));
        let mut any = false;
        chosen.extend(meant.map(str::to_owned).inspect(|_| any = true));
        if !any {
            let held: BTreeSet<&str> = ids.clone().collect();
            return Err(unclear(format!(
                "no task of these runs fits `{pattern}`\nhint: they hold {}",
                Vec::from_iter(held).join(", ")
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
    /// Seed of everything random in the items.
    pub seed: u64,
    /// Shots in the prompt, where a task has them.
    pub shots: Option<usize>,
    /// Whether prompts are wrapped in the model's chat template.
    pub chat: bool,
    /// Settings by name; each goes to the tasks that have it.
    pub set: Vec<(String, String)>,
}

impl TaskOptions {
    /// Splits `name=value` pairs.
    pub fn pairs(given: &[String]) -> Result<Vec<(String, String)>, RunError> {
        let split = |pair: &String| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(unclear(format!("`{pair}` is not of the form name=value"))),
        };
        given.iter().map(split).collect()
    }

    /// Settings for each task, in their order: a pair goes to the tasks that know it, and at least one must.
    /// Hyphens and underscores are the same.
    pub fn settings(&self, tasks: &[Arc<dyn Task>]) -> Result<Vec<WithSettings>, RunError> {
        let same = |a: &str, b: &str| a.replace('_', "-") == b.replace('_', "-");
        let known = |task: &Arc<dyn Task>, name: &str| -> Option<String> {
            let mut params = task.card().params.iter();
            let found = params.find(|p: &&Param| same(&p.name, name));
            found.map(|p| p.name.to_string())
        };
        for (name, _) in &self.set {
            if !tasks.iter().any(|task| known(task, name).is_some()) {
                let params = tasks.iter().flat_map(|t| t.card().params.iter());
                let names: BTreeSet<&str> = params.map(|p| &*p.name).collect();
                let names = match names.is_empty() {
                    true => "none".to_owned(),
                    false => Vec::from_iter(names).join(", "),
                };
                return Err(unclear(format!(
                    "none of the chosen tasks has a setting `{name}`\nhint: they have: {names}"
                )));
            }
        }
        let form = if self.chat {
            PromptForm::Chat
        } else {
            PromptForm::Plain
        };
        let with_settings = |task: &Arc<dyn Task>| {
            let known =
                |(name, value): &(String, String)| Some((known(task, name)?, value.clone()));
            let settings = TaskSettings {
                seed: self.seed,
                shots: self.shots,
                form,
                params: self.set.iter().filter_map(known).collect(),
            };
            (Arc::clone(task), settings)
        };
        Ok(tasks.iter().map(with_settings).collect())
    }

    /// Tasks by id, family or wildcard, each with its settings.
    pub fn choose(
        &self,
        registry: &Registry,
        patterns: &[String],
        limit: Option<Limit>,
    ) -> Result<Vec<TaskChoice>, RunError> {
        let chosen = self.settings(&select_tasks(registry, patterns)?)?;
        let choices = chosen.into_iter().map(|(task, settings)| TaskChoice {
            id: task.card().id.to_string(),
            settings,
            limit,
        });
        Ok(choices.collect())
    }

    /// The starter selection of every family, with the limits and settings it is meant to have.
    pub(crate) fn starter(
        &self,
        registry: &Registry,
        limit: Option<Limit>,
    ) -> Result<Vec<TaskChoice>, RunError> {
        let all = registry.tasks().iter();
        let starters = all.filter(|t| t.card().starter.is_some()).cloned();
        let chosen = self.settings(&starters.collect::<Vec<_>>())?;
        let choices = chosen.into_iter().map(|(task, mut settings)| {
            let card = task.card();
            if let Some(family) = registry.family(&card.family) {
                family.starter_settings(card, &mut settings);
            }
            TaskChoice {
                id: card.id.to_string(),
                settings,
                limit: limit.or(card.starter.map(Limit::Count)),
            }
        });
        Ok(choices.collect())
    }
}

/// Settings whose default depends on who is asked: the built-in model alone, or others too.
pub fn fit_to_models(registry: &Registry, tasks: &mut [TaskChoice], builtin: bool) {
    for choice in tasks {
        let task = registry.task(&choice.id);
        let set = task.and_then(|t| t.default_for(&choice.settings, builtin));
        if let Some((name, value)) = set {
            let params = &mut choice.settings.params;
            params.insert(name.to_owned(), value.to_owned());
        }
    }
}
