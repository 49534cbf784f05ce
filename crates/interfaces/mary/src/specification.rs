//! From arguments to the specification of a run.

use std::collections::BTreeMap;

use mary_contract::{JudgeChoice, Limit, ModelRef, Registry};
use mary_lab::{Execution, Laboratory, Opening, RunSpec, TaskChoice};

use crate::cli::instruments::ModelArgs;
use crate::cli::run::RunArgs;
use crate::commands::adapter;
use crate::commands::tell;
use crate::exit::UsageError;
use crate::laboratory;
use crate::runnable;
use crate::settings::Place;
use crate::suite::{self, TaskOptions};

/// The model of a run that names none.
pub const DEFAULT_MODEL: &str = "builtin/nano";

/// Who serves the model inside the binary.
pub const BUILTIN: &str = "builtin";

/// What the arguments ask for. The only side effect is merging an adapter into the cache.
pub fn of(place: &Place, lab: &Laboratory, args: &RunArgs) -> anyhow::Result<RunSpec> {
    let mut model_args = TaskOptions::pairs(&args.model_arg)?;
    let (mut subjects, mut labels) = subjects(&args.model, &mut model_args)?;
    if let Some(folder) = &args.adapter {
        let label = subjects.first().and_then(|m| labels.remove(&m.to_string()));
        subjects = vec![adapter::merged(place, &subjects, folder)?];
        labels = subjects
            .iter()
            .zip(label)
            .map(|(model, label)| (model.to_string(), label))
            .collect();
    }
    no_secrets(&model_args)?;
    let batch_size = match args.batch_size.as_str() {
        "auto" => None,
        text => Some(text.parse().map_err(|_| {
            UsageError::new(format!(
                "--batch-size takes a number or `auto`, not `{text}`"
            ))
        })?),
    };
    if args.threads == Some(0) {
        return Err(UsageError::new("--threads 0: at least one thread is needed").into());
    }
    if let Some(budget) = args.budget.filter(|b| !(b.is_finite() && *b >= 0.0)) {
        return Err(UsageError::new(format!(
            "--budget {budget}: expected a number of dollars, 0 or more"
        ))
        .into());
    }
    let judge = args.judge.as_deref().map(judge).transpose()?;
    let judge = judge.unwrap_or_default();
    let mut tasks = tasks(lab.registry(), args)?;
    let builtin = subjects.iter().all(|m| m.provider == BUILTIN);
    fit_to_models(lab.registry(), &mut tasks, builtin);
    for model in subjects.iter().chain(match &judge {
        JudgeChoice::Model(model) => Some(model),
        JudgeChoice::None | JudgeChoice::Subject => None,
    }) {
        laboratory::provider(lab, model)?;
    }
    let mut spec = RunSpec {
        subjects,
        judge,
        tasks,
        trials: args.trials,
        seed: args.seed,
        opening: Opening {
            dtype: args.dtype.clone(),
            base_url: args.base_url.clone(),
            args: model_args.into_iter().collect(),
        },
        execution: Execution {
            device: Some(args.device.clone()),
            threads: args.threads,
            batch_size,
            max_connections: args.max_connections,
            budget: args.budget,
            cache: !args.no_cache,
            batch: args.batch,
            labels,
        },
    };
    // Shards are parts of one specification: what a machine lacks must not change it.
    if !args.strict && args.shard.is_none() && !args.tasks.is_empty() {
        let left = runnable::leave_out(lab, &mut spec, &args.tasks)?;
        if !left.is_empty() {
            tell(&format!(
                "left out, {} of {} (--strict refuses instead):",
                left.len(),
                mary_platform::counted(left.len() + spec.tasks.len(), "task")
            ));
            for one in &left {
                tell(&format!("  {}", runnable::line(one)));
            }
        }
    }
    Ok(spec)
}

/// What the arguments of an instrument ask for: these tasks of these models, once.
pub fn of_models(
    lab: &Laboratory,
    args: &ModelArgs,
    tasks: Vec<TaskChoice>,
) -> anyhow::Result<RunSpec> {
    let mut model_args = TaskOptions::pairs(&args.model_arg)?;
    let (subjects, labels) = subjects(&args.model, &mut model_args)?;
    no_secrets(&model_args)?;
    for model in &subjects {
        laboratory::provider(lab, model)?;
    }
    Ok(RunSpec {
        subjects,
        judge: JudgeChoice::None,
        tasks,
        trials: 1,
        seed: 0,
        opening: Opening {
            dtype: args.dtype.clone(),
            base_url: args.base_url.clone(),
            args: model_args.into_iter().collect(),
        },
        execution: Execution {
            device: Some(args.device.clone()),
            threads: args.threads,
            batch_size: None,
            max_connections: args.max_connections,
            budget: args.budget,
            cache: !args.no_cache,
            batch: false,
            labels,
        },
    })
}

fn no_secrets(model_args: &[(String, String)]) -> Result<(), UsageError> {
    for (name, value) in model_args.iter().filter(|(name, _)| name.contains("key")) {
        if name != "key_env" {
            return Err(UsageError::new(format!(
                "`{name}` looks like a secret; keys come from the environment or .env, never from arguments"
            )));
        }
        if !names_a_variable(value) {
            return Err(UsageError::new(
                "key_env: expected the name of a variable, found what looks like a key (it is not shown)\n\
                 hint: put `MY_KEY=…` into .env and say --model-arg key_env=MY_KEY",
            ));
        }
    }
    Ok(())
}

/// Whether the value of `key_env` is a name and not the key itself, which would end up in the manifest.
fn names_a_variable(value: &str) -> bool {
    let (mut lower, mut digit) = (false, false);
    for c in value.chars() {
        if !c.is_ascii_alphanumeric() && c != '_' {
            return false;
        }
        lower |= c.is_ascii_lowercase();
        digit |= c.is_ascii_digit();
    }
    let random = value.len() >= 16 && lower && digit;
    !random || std::env::var_os(value).is_some()
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

/// Reads `--judge`.
fn judge(text: &str) -> Result<JudgeChoice, UsageError> {
    if text == "self" {
        return Ok(JudgeChoice::Subject);
    }
    text.parse()
        .map(JudgeChoice::Model)
        .map_err(|e: mary_contract::ModelRefError| {
            UsageError::new(format!(
                "{e}\nhint: `--judge self` lets the model read its own answers"
            ))
        })
}

/// Tasks by id, family or wildcard, each with its settings.
pub fn choose(
    registry: &Registry,
    patterns: &[String],
    task_options: &TaskOptions,
    limit: Option<Limit>,
) -> Result<Vec<TaskChoice>, UsageError> {
    let chosen = suite::select(registry, patterns)?;
    let with_settings = task_options.settings(&chosen)?.into_iter();
    let choices = with_settings.map(|(task, settings)| TaskChoice {
        id: task.card().id.to_string(),
        settings,
        limit,
    });
    Ok(choices.collect())
}

/// The tasks named, or the starter selection.
fn tasks(registry: &Registry, args: &RunArgs) -> Result<Vec<TaskChoice>, UsageError> {
    let task_options = TaskOptions {
        seed: args.seed,
        shots: args.shots,
        chat: args.apply_chat_template,
        set: TaskOptions::pairs(&args.set)?,
    };
    if !args.tasks.is_empty() {
        return choose(registry, &args.tasks, &task_options, args.limit);
    }
    let all = registry.tasks().iter();
    let chosen: Vec<_> = all
        .filter(|t| t.card().starter.is_some())
        .cloned()
        .collect();
    let starter = task_options.settings(&chosen)?.into_iter();
    let choices = starter.map(|(task, mut settings)| {
        if let Some(family) = registry.family(&task.card().family) {
            family.starter_settings(task.card(), &mut settings);
        }
        TaskChoice {
            id: task.card().id.to_string(),
            settings,
            limit: args.limit.or(task.card().starter.map(Limit::Count)),
        }
    });
    Ok(choices.collect())
}

/// The models named, or the one inside the binary, and what they are to be called.
fn subjects(
    given: &[String],
    model_args: &mut Vec<(String, String)>,
) -> Result<(Vec<ModelRef>, BTreeMap<String, String>), UsageError> {
    let named = if given.iter().all(|m| m.trim().is_empty()) {
        vec![DEFAULT_MODEL.to_owned()]
    } else {
        given.to_vec()
    };
    let (named, labels) = labelled(&named)?;
    let subjects = models(&named, model_args)?;
    for (n, model) in subjects.iter().enumerate() {
        if subjects.iter().take(n).any(|other| other == model) {
            return Err(UsageError::new(format!(
                "{model} is named twice\nhint: a run asks a model once; --trials asks every item several times"
            )));
        }
    }
    let labels = subjects
        .iter()
        .zip(labels)
        .filter_map(|(model, label)| Some((model.to_string(), label?)))
        .collect();
    Ok((subjects, labels))
}

/// Takes labels off model strings: `small=gguf/./x.gguf` is to be called `small`.
fn labelled(given: &[String]) -> Result<(Vec<String>, Vec<Option<String>>), UsageError> {
    let mut models = Vec::new();
    let mut labels: Vec<Option<String>> = Vec::new();
    for text in given.iter().map(|t| t.trim()).filter(|t| !t.is_empty()) {
        let (label, model) = match text.split_once('=') {
            Some((label, model)) if !label.contains('/') => (Some(label.trim()), model.trim()),
            _ => (None, text),
        };
        if label
            .is_some_and(|l| l.is_empty() || l.chars().count() > 40 || l.contains(char::is_control))
        {
            return Err(UsageError::new(format!(
                "`{text}`: a label has 1 to 40 characters, for example small={model}"
            )));
        }
        if let Some(label) = label
            && labels.iter().flatten().any(|other| other == label)
        {
            return Err(UsageError::new(format!(
                "two models are to be called `{label}`"
            )));
        }
        models.push(model.to_owned());
        labels.push(label.map(str::to_owned));
    }
    Ok((models, labels))
}

/// Reads model strings; `--model hf --model_args pretrained=NAME`, as lm-evaluation-harness has it,
/// works too.
fn models(given: &[String], args: &mut Vec<(String, String)>) -> Result<Vec<ModelRef>, UsageError> {
    let mut models = Vec::new();
    for text in given.iter().map(|t| t.trim()).filter(|t| !t.is_empty()) {
        let pretrained = args.iter().position(|(name, _)| name == "pretrained");
        let text = match pretrained {
            Some(at) if !text.contains('/') => {
                let (_, name) = args.remove(at);
                let revision = args.iter().position(|(name, _)| name == "revision");
                match revision.map(|at| args.remove(at).1) {
                    Some(revision) => format!("{text}/{name}@{revision}"),
                    None => format!("{text}/{name}"),
                }
            }
            _ => text.to_owned(),
        };
        models.push(
            text.parse::<ModelRef>()
                .map_err(|e| UsageError::new(e.to_string()))?,
        );
    }
    Ok(models)
}
