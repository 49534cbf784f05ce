//! From what a person says to the specification of a run, for the command line and the Python package alike.

use std::path::PathBuf;

use mary_contract::{DataError, JudgeChoice, Limit, ModelCard, ModelRef, Provider, TaskError};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::choice::{TaskOptions, fit_to_models};
use crate::engine::admit::too_short_a_context;
use crate::engine::select::PromptSize;
use crate::error::unclear;
use crate::scale::{self, Scale};
use crate::{AdaptiveChoice, Execution, Laboratory, Opening, RunError, RunSpec, TaskChoice, names};

/// The model of a run that names none.
pub const DEFAULT_MODEL: &str = "builtin/nano";

/// Who serves the model inside the binary.
pub(crate) const BUILTIN: &str = "builtin";

/// More trials than this are a slip of the keyboard.
const MOST_TRIALS: u32 = 10_000;

/// What is to be run, before names are looked up. As JSON, fields that are absent have their defaults and
/// unknown ones are refused.
///
/// ```
/// use mary_lab::{Laboratory, RunOptions, builtin::Builtin, families};
///
/// let lab = Laboratory::new("runs").tasks(families::registry()).providers([Box::new(Builtin) as _]);
/// let options = RunOptions {
///     models: vec!["small=builtin/nano".into()],
///     tasks: vec!["htest/rhyme".into()],
///     limit: Some("10".parse().unwrap()),
///     ..RunOptions::default()
/// };
/// let (spec, left_out) = options.specify(&lab)?;
/// assert_eq!(spec.execution.labels["builtin/nano"], "small");
/// assert_eq!(lab.prepare(&spec)?.planned(), 10);
/// assert!(left_out.is_empty());
/// # Ok::<(), mary_lab::RunError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunOptions {
    /// Models as `[label=]provider/name[@revision]`; the built-in one where none is named.
    pub models: Vec<String>,
    /// Tasks by id, family or wildcard; the starter selection of every family where none is named.
    pub tasks: Vec<String>,
    /// Shots in the prompt, where a task has them.
    #[serde(alias = "num_fewshot")]
    pub shots: Option<usize>,
    /// Items of each task: a count or a share.
    #[serde(deserialize_with = "limit")]
    pub limit: Option<Limit>,
    /// Times every item is asked; once where nothing is said.
    #[serde(alias = "epochs", alias = "repeats")]
    pub trials: Option<u32>,
    /// Seed of everything random.
    pub seed: u64,
    /// Task settings by name; each goes to the tasks that have it.
    #[serde(deserialize_with = "pairs")]
    pub set: Vec<(String, String)>,
    /// Whether prompts are wrapped in the model's chat template.
    #[serde(alias = "chat")]
    pub apply_chat_template: bool,
    /// A model that reads answers; `self` for the model itself.
    pub judge: Option<String>,
    /// `cpu`, which is meant where nothing is said, or `cuda:N` in builds with CUDA.
    pub device: Option<String>,
    /// Number type of local models: `f32`, `bf16`, `f16`, or `16` for whichever of these two is safe.
    pub dtype: Option<String>,
    /// CPU threads; all where nothing is said.
    pub threads: Option<usize>,
    /// Sequences in one batch; as many as are good where nothing is said.
    #[serde(deserialize_with = "batch_size")]
    pub batch_size: Option<usize>,
    /// Requests in flight at once, at most.
    pub max_connections: Option<usize>,
    /// Where an OpenAI-compatible server listens.
    #[serde(alias = "model_base_url")]
    pub base_url: Option<String>,
    /// Settings of the model's backend, never secrets.
    #[serde(alias = "model_args", deserialize_with = "pairs")]
    pub model_arg: Vec<(String, String)>,
    /// LoRA adapter that the caller merges into the model ([`RunOptions::merged`]).
    pub adapter: Option<PathBuf>,
    /// The one model named, with its adapter folded in; kept apart since `@` in a folder's name is no
    /// revision.
    #[serde(skip)]
    pub merged: Option<ModelRef>,
    /// Dollars after which nothing more is sent.
    pub budget: Option<f64>,
    /// Whether everything goes through the provider's batch API.
    pub batch: bool,
    /// Whether a task that was named as one of a group and cannot run here is refused, not left out.
    pub strict: bool,
    /// Whether the cache of answers is neither used nor filled.
    pub no_cache: bool,
    /// Ask only the items of a scale that tell most; the scale says which tasks.
    pub adaptive: Option<AdaptiveChoice>,
}

/// A count or a share, as a number or as text.
fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Limit>, D::Error> {
    let said = match Option::<serde_json::Value>::deserialize(from)? {
        None => return Ok(None),
        Some(serde_json::Value::String(text)) => text,
        Some(number) => number.to_string(),
    };
    said.parse().map(Some).map_err(D::Error::custom)
}

/// Reads the size of a batch: a number, or `auto` for as many as are good.
pub fn read_batch_size(text: &str) -> Result<Option<usize>, String> {
    match text {
        "auto" => Ok(None),
        number => number
            .parse()
            .map(Some)
            .map_err(|_| format!("--batch-size takes a number or `auto`, not `{text}`")),
    }
}

fn batch_size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    match Option::<serde_json::Value>::deserialize(from)? {
        None => Ok(None),
        Some(serde_json::Value::String(text)) => read_batch_size(&text).map_err(D::Error::custom),
        Some(number) => read_batch_size(&number.to_string()).map_err(D::Error::custom),
    }
}

/// `name=value` texts, or a mapping whose values are text, numbers or truth values.
fn pairs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
    use serde_json::Value;
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    match Value::deserialize(from)? {
        Value::Null => Ok(Vec::new()),
        Value::Object(map) => Ok(map.into_iter().map(|(k, v)| (k, text(v))).collect()),
        Value::Array(all) => {
            let all: Vec<String> = all.into_iter().map(text).collect();
            TaskOptions::pairs(&all).map_err(D::Error::custom)
        }
        one => TaskOptions::pairs(&[text(one)]).map_err(D::Error::custom),
    }
}

/// A task that was named as one of a group (a family, a wildcard, `all`) and cannot run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its id.
    pub task: String,
    /// What the model or the machine lacks.
    pub why: String,
    /// What would make it run.
    pub remedy: Option<String>,
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.task, self.why)?;
        match &self.remedy {
            Some(remedy) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}

impl RunOptions {
    /// The specification of the run, and the tasks of groups that cannot run here and are not in it.
    pub fn specify(&self, lab: &Laboratory) -> Result<(RunSpec, Vec<LeftOut>), RunError> {
        let task_options = TaskOptions {
            seed: self.seed,
            shots: self.shots,
            chat: self.apply_chat_template,
            set: self.set.clone(),
        };
        if let Some(choice) = &self.adaptive {
            if !self.tasks.is_empty()
                || self.limit.is_some()
                || self.batch
                || self.trials.unwrap_or(1) > 1
            {
                return unclear(
                    "--adaptive asks the items of its scale one after the other: tasks, --limit, --trials and --batch \
                     do not go with it",
                );
            }
            let tasks = scale::choices(&Scale::read(&choice.scale)?)?;
            return Ok((self.specify_tasks(lab, tasks)?, Vec::new()));
        }
        let tasks = match self.tasks.is_empty() {
            true => task_options.starter(lab.registry(), self.limit)?,
            false => task_options.choose(lab.registry(), &self.tasks, self.limit)?,
        };
        let mut spec = self.specify_tasks(lab, tasks)?;
        let builtin = spec.subjects.iter().all(|m| m.provider == BUILTIN);
        fit_to_models(lab.registry(), &mut spec.tasks, builtin);
        let left = match self.strict || self.tasks.is_empty() {
            true => Vec::new(),
            false => leave_out(lab, &mut spec, &self.tasks)?,
        };
        Ok((spec, left))
    }

    /// The same for tasks that are chosen already.
    pub fn specify_tasks(
        &self,
        lab: &Laboratory,
        tasks: Vec<TaskChoice>,
    ) -> Result<RunSpec, RunError> {
        let mut model_args = self.model_arg.clone();
        let mut subjects = self.read_models(&mut model_args)?;
        if let (Some(merged), [(model, _)]) = (&self.merged, subjects.as_mut_slice()) {
            model.clone_from(merged);
        }
        no_secrets(&model_args)?;
        if self.threads == Some(0) {
            return unclear("--threads 0: at least one thread is needed");
        }
        let trials = self.trials.unwrap_or(1);
        if trials == 0 || trials > MOST_TRIALS {
            return unclear(format!("an item is asked 1 to {MOST_TRIALS} times"));
        }
        if let Some(budget) = self.budget.filter(|b| !(b.is_finite() && *b >= 0.0)) {
            return unclear(format!(
                "--budget {budget}: expected a number of dollars, 0 or more"
            ));
        }
        let spec = RunSpec {
            judge: self
                .judge
                .as_deref()
                .map(judge)
                .transpose()?
                .unwrap_or_default(),
            tasks,
            trials,
            seed: self.seed,
            opening: Opening {
                dtype: self.dtype.clone(),
                base_url: self.base_url.clone(),
                args: model_args.into_iter().collect(),
            },
            execution: Execution {
                device: self.device.clone().or_else(|| Some("cpu".to_owned())),
                threads: self.threads,
                batch_size: self.batch_size,
                max_connections: self.max_connections,
                budget: self.budget,
                cache: !self.no_cache,
                batch: self.batch,
                labels: subjects
                    .iter()
                    .filter_map(|(model, label)| Some((model.to_string(), label.clone()?)))
                    .collect(),
                adaptive: self.adaptive.clone(),
            },
            subjects: subjects.into_iter().map(|(model, _)| model).collect(),
        };
        for model in spec.models() {
            find_provider(lab, model)?;
        }
        Ok(spec)
    }

    /// The models named, labels left aside.
    pub fn subjects(&self) -> Result<Vec<ModelRef>, RunError> {
        let named = self.read_models(&mut self.model_arg.clone())?;
        Ok(named.into_iter().map(|(model, _)| model).collect())
    }

    /// The models with their labels. As in lm-evaluation-harness, `--model hf --model_args pretrained=NAME`
    /// works too.
    fn read_models(
        &self,
        args: &mut Vec<(String, String)>,
    ) -> Result<Vec<(ModelRef, Option<String>)>, RunError> {
        let mut found: Vec<(ModelRef, Option<String>)> = Vec::new();
        let given = self.models.iter().map(|t| t.trim());
        for text in given.filter(|t| !t.is_empty()) {
            let (label, model) = match text.split_once('=') {
                Some((label, model)) if !label.contains('/') => (Some(label.trim()), model.trim()),
                _ => (None, text),
            };
            if label.is_some_and(|l| {
                l.is_empty() || l.chars().count() > 40 || l.contains(char::is_control)
            }) {
                return unclear(format!(
                    "`{text}`: a label has 1 to 40 characters, for example small={model}"
                ));
            }
            if let Some(label) = label
                && found
                    .iter()
                    .any(|(_, other)| other.as_deref() == Some(label))
            {
                return unclear(format!("two models are to be called `{label}`"));
            }
            let mut take = |name: &str| {
                let at = args.iter().position(|(known, _)| known == name)?;
                Some(args.remove(at).1)
            };
            let pretrained = match model.contains('/') {
                true => None,
                false => take("pretrained"),
            };
            let model: ModelRef = match pretrained {
                Some(name) => {
                    let revision = take("revision").map(|r| format!("@{r}"));
                    format!("{model}/{name}{}", revision.unwrap_or_default()).parse()
                }
                None => model.parse(),
            }
            .or_else(|e: mary_contract::ModelRefError| unclear(e.to_string()))?;
            if found.iter().any(|(other, _)| *other == model) {
                return unclear(format!(
                    "{model} is named twice\nhint: a run asks a model once; --trials asks every item several times"
                ));
            }
            found.push((model, label.map(str::to_owned)));
        }
        if found.is_empty() {
            let usual = DEFAULT_MODEL.parse();
            let usual = usual.or_else(|e: mary_contract::ModelRefError| unclear(e.to_string()))?;
            found.push((usual, None));
        }
        Ok(found)
    }
}

/// The provider of a model; one that is not known comes with the nearest that is.
pub fn find_provider<'a>(
    lab: &'a Laboratory,
    model: &ModelRef,
) -> Result<&'a dyn Provider, RunError> {
    lab.provider(model).or_else(|_| {
        let names: Vec<&str> = lab.all_providers().map(|p| p.name()).collect();
        let given = model.to_string();
        let hint = match std::path::Path::new(&given) {
            // `models/x.gguf` is a path that looks like a provider's model.
            path if path.exists() => {
                let kind = if path.is_file() { "gguf" } else { "hf" };
                format!("hint: a file or folder is named with its kind: {kind}/{given}")
            }
            _ => names::suggestion(&model.provider, names, "mary models"),
        };
        unclear(format!(
            "no provider is called `{}`\n{hint}",
            model.provider
        ))
    })
}

fn no_secrets(model_args: &[(String, String)]) -> Result<(), RunError> {
    for (name, value) in model_args.iter().filter(|(name, _)| name.contains("key")) {
        if name != "key_env" {
            return unclear(format!(
                "`{name}` looks like a secret; keys come from the environment or .env, never from arguments"
            ));
        }
        if !names_a_variable(value) {
            return unclear(
                "key_env: expected the name of a variable, found what looks like a key (it is not shown)\n\
                 hint: put `MY_KEY=…` into .env and say --model-arg key_env=MY_KEY",
            );
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

fn judge(text: &str) -> Result<JudgeChoice, RunError> {
    if text == "self" {
        return Ok(JudgeChoice::Subject);
    }
    let model = text.parse();
    model
        .map(JudgeChoice::Model)
        .or_else(|e: mary_contract::ModelRefError| {
            unclear(format!(
                "{e}\nhint: `--judge self` lets the model read its own answers"
            ))
        })
}

/// Takes tasks that a group named and that cannot run out of `spec`; those `named` by their own id stay.
fn leave_out(
    lab: &Laboratory,
    spec: &mut RunSpec,
    named: &[String],
) -> Result<Vec<LeftOut>, RunError> {
    let settings = spec.model_settings();
    let mut cards = Vec::new();
    for model in &spec.subjects {
        let mut card = lab.provider(model)?.card(model, &settings)?;
        spec.execution.label(&mut card);
        cards.push(card);
    }
    let judged = !spec.judge.is_none();
    let written_out = |id: &str| named.iter().any(|n| n.trim().replace('_', "-") == id);
    let (mut left, mut kept) = (Vec::new(), Vec::new());
    for choice in &spec.tasks {
        let obstacle = match written_out(&choice.id) {
            true => None,
            false => obstacle(lab, choice, &cards, judged),
        };
        match obstacle {
            Some((why, remedy)) => left.push(LeftOut {
                task: choice.id.clone(),
                why,
                remedy,
            }),
            None => kept.push(choice.clone()),
        }
    }
    if kept.is_empty() {
        // Then the run is refused with the reason and the exit code of what is missing.
        return Ok(Vec::new());
    }
    spec.tasks = kept;
    Ok(left)
}

/// Why a task cannot run, if so, and what would help.
fn obstacle(
    lab: &Laboratory,
    choice: &TaskChoice,
    cards: &[ModelCard],
    judged: bool,
) -> Option<(String, Option<String>)> {
    let task = lab.task(&choice.id)?;
    let needs = task.needs(&choice.settings);
    for card in cards {
        let missing = needs.missing(&card.capabilities, choice.settings.form);
        if !missing.is_empty() {
            let label = mary_contract::model_label(card);
            return Some((format!("{label} lacks {}", missing.join(" and ")), None));
        }
    }
    if needs.judge && !judged {
        let remedy = "--judge MODEL or --judge self";
        return Some(("needs a judge".into(), Some(remedy.into())));
    }
    // A task that cannot find its data says so with its first item.
    let items = task.items(&choice.settings, lab.source());
    match items.and_then(|mut items| items.next().transpose()) {
        Err(TaskError::Data(DataError::Missing { id, .. })) => Some((
            format!("the dataset `{id}` is not on this machine"),
            Some(format!("mary data pull {id}")),
        )),
        Ok(Some(item)) => {
            let size = PromptSize::of(&item);
            let short = |card| too_short_a_context(card, size);
            cards.iter().find_map(short).map(|(why, _)| (why, None))
        }
        _ => None,
    }
}
