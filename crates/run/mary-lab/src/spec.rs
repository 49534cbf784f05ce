//! What a run is: who is asked what, as a value that a manifest holds and gives back whole.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mary_contract::{
    ExecutionSettings, JudgeChoice, Limit, ModelCard, ModelRef, ModelSettings, RunManifest,
    TaskSettings,
};
use serde::{Deserialize, Serialize};

/// Everything that is decided before the first question.
///
/// All but [`RunSpec::execution`] decides the answers and names the run's folder.
///
/// ```
/// use mary_lab::{RunSpec, TaskChoice};
///
/// let mut spec = RunSpec::new("builtin/nano".parse()?, [TaskChoice::new("htest/rhyme")]);
/// spec.execution.threads = Some(2);
/// let json = serde_json::to_string(&spec)?;
/// assert_eq!(serde_json::from_str::<RunSpec>(&json)?, spec);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The models under study; each is asked everything.
    pub subjects: Vec<ModelRef>,
    /// Who reads answers, where a task wants a second model for that.
    #[serde(default)]
    pub judge: JudgeChoice,
    /// The tasks, in the order in which they are asked.
    pub tasks: Vec<TaskChoice>,
    /// Times every item is asked.
    #[serde(default = "once")]
    pub trials: u32,
    /// Seed of items, draws and limits.
    #[serde(default)]
    pub seed: u64,
    /// How models are opened, where that changes their answers.
    #[serde(default)]
    pub opening: Opening,
    /// How the run is carried out; changes no answer.
    #[serde(default)]
    pub execution: Execution,
}

impl Default for RunSpec {
    /// Nothing yet, once.
    fn default() -> Self {
        Self {
            subjects: Vec::new(),
            judge: JudgeChoice::None,
            tasks: Vec::new(),
            trials: 1,
            seed: 0,
            opening: Opening::default(),
            execution: Execution::default(),
        }
    }
}

fn once() -> u32 {
    1
}

/// A task with its settings and, where limited, how many items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskChoice {
    /// `family/task`, as the registry has it.
    pub id: String,
    /// Shots, form, seed and parameters.
    #[serde(default)]
    pub settings: TaskSettings,
    /// How many items are asked; all where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// How models are opened, where that changes their answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Opening {
    /// Number type: `f32`, `bf16`, `f16`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// Where an OpenAI-compatible server listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Backend-specific settings, never secrets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
}

/// How a run is carried out: kept in the manifest to continue as begun, but no part of the run's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Execution {
    /// Where local models are computed: `cpu`, `cuda:0`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// CPU threads; absent means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Sequences in one batch, where fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    /// Requests in flight at once, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<usize>,
    /// Dollars after which nothing more is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Use and fill the cache of answers.
    pub cache: bool,
    /// Send everything through the providers' batch APIs.
    pub batch: bool,
    /// What models are called in tables, figures and pages, by their full names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Ask only the items of a scale that tell most; this names the run's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<AdaptiveChoice>,
}

/// A test that stops when it knows enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveChoice {
    /// The scale's folder or file.
    pub scale: PathBuf,
    /// Standard error of the ability at which it ends.
    pub error: f64,
    /// Items asked of one model, at most; all of the scale where nothing is said.
    #[serde(default)]
    pub most: Option<usize>,
}

impl Default for Execution {
    fn default() -> Self {
        Self {
            device: None,
            threads: None,
            batch_size: None,
            max_connections: None,
            budget: None,
            cache: true,
            batch: false,
            labels: BTreeMap::new(),
            adaptive: None,
        }
    }
}

impl Execution {
    /// What the user calls a model: by its label, or by its full name.
    pub(crate) fn called<'a>(&'a self, model: &'a str) -> &'a str {
        self.labels.get(model).map_or(model, String::as_str)
    }

    /// Gives a card the label that the user gave its model, where there is one.
    pub fn label(&self, card: &mut ModelCard) {
        if let Some(label) = self.labels.get(&card.model.to_string()) {
            card.label = Some(label.clone());
        }
    }
}

impl RunSpec {
    /// A run of these tasks on one model, once, with default settings.
    pub fn new(subject: ModelRef, tasks: impl IntoIterator<Item = TaskChoice>) -> Self {
        Self {
            subjects: vec![subject],
            tasks: tasks.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The models that are asked: the subjects, and a judge that is another model.
    pub(crate) fn models(&self) -> impl Iterator<Item = &ModelRef> {
        let judge = match &self.judge {
            JudgeChoice::Model(model) => Some(model),
            JudgeChoice::None | JudgeChoice::Subject => None,
        };
        self.subjects.iter().chain(judge)
    }

    /// The specification of a stored run, whole: what it was begun with is what it goes on with.
    pub fn of(manifest: &RunManifest) -> Self {
        let opened = &manifest.model_settings;
        Self {
            subjects: manifest.models.iter().map(|m| m.model.clone()).collect(),
            judge: manifest.chosen_judge(),
            tasks: manifest
                .tasks
                .iter()
                .map(|task| TaskChoice {
                    id: task.id.clone(),
                    settings: task.settings.clone(),
                    limit: task.limit,
                })
                .collect(),
            trials: manifest.trials,
            seed: manifest.seed,
            opening: Opening {
                dtype: opened.dtype.clone(),
                base_url: opened.base_url.clone(),
                args: opened.args.clone(),
            },
            execution: Execution {
                device: opened.device.clone(),
                threads: opened.threads,
                batch_size: opened.batch_size,
                max_connections: opened.max_connections,
                budget: opened.budget,
                cache: manifest.execution.cache,
                batch: manifest.execution.batch,
                labels: manifest
                    .models
                    .iter()
                    .filter_map(|m| Some((m.model.to_string(), m.label.clone()?)))
                    .collect(),
                // A run keeps its scale in its own folder; who continues it says where that is.
                adaptive: manifest
                    .execution
                    .adaptive
                    .as_ref()
                    .map(|a| AdaptiveChoice {
                        scale: PathBuf::new(),
                        error: a.error,
                        most: Some(a.most),
                    }),
            },
        }
    }

    /// How providers are told to open models.
    pub fn model_settings(&self) -> ModelSettings {
        let (opening, execution) = (&self.opening, &self.execution);
        ModelSettings {
            device: execution.device.clone(),
            dtype: opening.dtype.clone(),
            threads: execution.threads,
            batch_size: execution.batch_size,
            max_connections: execution.max_connections,
            base_url: opening.base_url.clone(),
            budget: execution.budget,
            batches: None,
            args: opening.args.clone(),
        }
    }

    pub(crate) fn execution_settings(&self) -> ExecutionSettings {
        ExecutionSettings {
            cache: self.execution.cache,
            batch: self.execution.batch,
            adaptive: None,
        }
    }
}

impl TaskChoice {
    /// All items of a task under its default settings.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            settings: TaskSettings::default(),
            limit: None,
        }
    }
}
