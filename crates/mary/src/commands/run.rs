//! `mary run`: from what the user typed to a run folder, a table and a report.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use mary_contract::{
    DataSource, Limit, Model, ModelCard, ModelRef, ModelSettings, Registry, RegistryError,
    RunManifest, RunSummary, Task, TaskRun, TaskSettings,
};
use mary_data::LocalData;
use mary_engine::admit;
use mary_engine::select::{Survey, survey};
use mary_report::html::{Chapter, ReportOptions};
use mary_store::RunFolder;

use super::ask::Asking;
use super::summary;
use crate::cli::run::RunArgs;
use crate::exit::{Status, UsageError};
use crate::progress::Progress;
use crate::settings::Place;
use crate::suite::{self, Wishes};
use crate::{batch, providers, rundir};

/// The model of a run that names none.
pub const DEFAULT_MODEL: &str = "builtin/nano";

/// Shots of H-TEST in the starter selection: few, because the built-in model reads short texts only.
const STARTER_SHOTS: usize = 4;

/// A task with its settings and, where limited, how many items.
pub type Assignment = (Arc<dyn Task>, TaskSettings, Option<Limit>);

/// Everything decided before the first question.
pub struct Plan {
    /// The models under study.
    pub models: Vec<ModelRef>,
    /// The judge: a model, or the subject itself.
    pub judge: Option<Judge>,
    /// How models are opened.
    pub settings: ModelSettings,
    /// The tasks with their settings and limits.
    pub tasks: Vec<Assignment>,
    /// Times every item is asked.
    pub trials: u32,
    /// Seed of everything.
    pub seed: u64,
    /// Use the cache of answers.
    pub cached: bool,
    /// No progress.
    pub quiet: bool,
    /// Print JSON.
    pub json: bool,
    /// Make the HTML report.
    pub report: bool,
    /// Use the providers' batch APIs.
    pub batch: bool,
}

/// Who reads answers.
#[derive(Debug, Clone)]
pub enum Judge {
    /// The model under study.
    Oneself,
    /// Another model.
    Other(ModelRef),
}

impl std::str::FromStr for Judge {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<Self, UsageError> {
        if text == "self" {
            return Ok(Self::Oneself);
        }
        text.parse()
            .map(Self::Other)
            .map_err(|e: mary_contract::ModelRefError| {
                UsageError::new(format!(
                    "{e}\nhint: `--judge self` lets the model read its own answers"
                ))
            })
    }
}

/// Runs what the arguments say.
pub fn run(place: &Place, args: &RunArgs) -> anyhow::Result<Status> {
    let plan = resolve(place, args)?;
    if args.dry_run {
        return super::dry_run::dry_run(place, &plan);
    }
    let first = args.tasks.is_empty() && args.model.is_empty();
    carry_out(place, &plan, first)
}

/// Runs what the arguments say and returns the run's folder; progress is shown, results are not.
pub fn run_quietly(place: &Place, args: &RunArgs) -> anyhow::Result<PathBuf> {
    let plan = resolve(place, args)?;
    let data = LocalData::new(place.data.clone(), place.datasets());
    let checked = check(&plan, &data)?;
    let (folder, _) = answer(place, &plan, &checked, &data, None)?;
    Ok(folder.path().to_owned())
}

/// Reads the arguments; the only side effect is merging an adapter into the cache.
pub fn resolve(place: &Place, args: &RunArgs) -> anyhow::Result<Plan> {
    let mut model_args = Wishes::pairs(&args.model_arg)?;
    let named = if args.model.iter().all(|m| m.trim().is_empty()) {
        vec![DEFAULT_MODEL.to_owned()]
    } else {
        args.model.clone()
    };
    let mut models = providers::parse(&named, &mut model_args)?;
    if let Some(adapter) = &args.adapter {
        models = vec![super::adapter::merged(place, &models, adapter)?];
    }
    if let Some((name, _)) = model_args.iter().find(|(name, _)| name.contains("key")) {
        return Err(UsageError::new(format!(
            "`{name}` looks like a secret; keys come from the environment or .env, never from arguments"
        ))
        .into());
    }
    let batch_size = match args.batch_size.as_str() {
        "auto" => None,
        text => Some(text.parse().map_err(|_| {
            UsageError::new(format!(
                "--batch-size takes a number or `auto`, not `{text}`"
            ))
        })?),
    };
    let settings = ModelSettings {
        device: Some(args.device.clone()),
        dtype: args.dtype.clone(),
        threads: args.threads,
        batch_size,
        max_connections: args.max_connections,
        base_url: args.base_url.clone(),
        budget: args.budget,
        args: model_args.into_iter().collect(),
    };
    Ok(Plan {
        models,
        judge: args.judge.as_deref().map(str::parse).transpose()?,
        settings,
        tasks: tasks(&place.registry, args)?,
        trials: args.trials,
        seed: args.seed,
        cached: !args.no_cache,
        quiet: args.quiet,
        json: args.json,
        report: !args.no_report,
        batch: args.batch,
    })
}

/// The tasks named, or the starter selection.
fn tasks(registry: &Registry, args: &RunArgs) -> Result<Vec<Assignment>, UsageError> {
    let starter = args.tasks.is_empty();
    let chosen = if starter {
        let starters = registry.tasks().iter();
        starters
            .filter(|t| t.card().starter.is_some())
            .cloned()
            .collect()
    } else {
        suite::select(registry, &args.tasks)?
    };
    let wishes = Wishes {
        seed: args.seed,
        shots: args.shots,
        chat: args.apply_chat_template,
        set: Wishes::pairs(&args.set)?,
    };
    let limited = wishes
        .settings(&chosen)?
        .into_iter()
        .map(|(task, mut settings)| {
            if starter && task.card().family == "htest" {
                settings.shots.get_or_insert(STARTER_SHOTS);
            }
            let few = task.card().starter.filter(|_| starter).map(Limit::Count);
            (task, settings, args.limit.or(few))
        });
    Ok(limited.collect())
}

/// Does it: checks, opens, asks, judges, adds up, shows.
/// A `first` run, for which nothing was named, also shows how the built-in model grew.
pub fn carry_out(place: &Place, plan: &Plan, first: bool) -> anyhow::Result<Status> {
    let data = LocalData::new(place.data.clone(), place.datasets());
    let checked = check(plan, &data)?;
    let (folder, summary) = answer(place, plan, &checked, &data, None)?;
    let mut chapters = Vec::new();
    if first && plan.report {
        chapters.push(Chapter {
            id: "development".into(),
            title: "How the built-in model grew".into(),
            exhibits: super::sweep::growth(place, DEFAULT_MODEL, None)?.exhibits,
        });
    }
    show(place, plan, &folder, &summary, chapters)
}

/// Opens, asks, judges and adds up what was checked. The first model may be `opened` already.
pub fn answer(
    place: &Place,
    plan: &Plan,
    checked: &Checked,
    data: &dyn DataSource,
    opened: Option<Box<dyn Model>>,
) -> anyhow::Result<(RunFolder, RunSummary)> {
    let manifest = manifest(plan, checked, data)?;
    let mut folder = RunFolder::create_or_open(&place.runs, &manifest)?;
    let mut progress = Progress::new(plan.quiet);
    if let Some(healed) = folder.healed() {
        progress.say(&format!(
            "the log ended in a torn line of {} bytes (kept in {}); going on from the last whole one",
            healed.bytes,
            healed.kept_in.display()
        ));
    }
    let planned: usize = checked.surveys.iter().map(|s| s.count).sum::<usize>()
        * plan.trials as usize
        * plan.models.len();
    let asked = Asking::begin(place, (plan, checked), &mut folder, &mut progress, data)
        .and_then(|asking| asking.everything(opened));
    folder.flush()?;
    let summary = summary::summarise(&place.registry, &folder, planned)?;
    folder.write_summary(&summary)?;
    asked.with_context(|| format!("run {} stopped", folder.path().display()))?;
    Ok((folder, summary))
}

/// Prints the table, makes the report, names the folder.
fn show(
    place: &Place,
    plan: &Plan,
    folder: &RunFolder,
    summary: &RunSummary,
    chapters: Vec<Chapter>,
) -> anyhow::Result<Status> {
    summary::show(summary, plan.json)?;
    if plan.report {
        let path = summary::report_path(folder.path());
        super::report::write_with(
            &place.registry,
            &[folder.path().to_owned()],
            chapters,
            &path,
            &ReportOptions::default(),
        )?;
        super::tell(&format!("report: {}", path.display()));
    }
    super::tell(&format!("run:    {}", folder.path().display()));
    Ok(if summary.complete {
        Status::Done
    } else {
        Status::Incomplete
    })
}

/// What was found out before anything is loaded.
pub struct Checked {
    /// Cards of the models, fingerprints included.
    pub cards: Vec<ModelCard>,
    /// Card of the judge, where it is another model.
    pub judge: Option<ModelCard>,
    /// Which items of each task.
    pub surveys: Vec<Survey>,
}

/// Compares models with tasks and reads every item once.
pub fn check(plan: &Plan, data: &dyn DataSource) -> anyhow::Result<Checked> {
    batch::check(plan)?;
    let card = |model: &ModelRef| -> anyhow::Result<ModelCard> {
        Ok(providers::of(model)?.card(model, &plan.settings)?)
    };
    let mut cards = plan
        .models
        .iter()
        .map(card)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut judge = match &plan.judge {
        Some(Judge::Other(model)) => Some(card(model)?),
        _ => None,
    };
    let sitting = match (&plan.judge, cards.first()) {
        (Some(Judge::Oneself), Some(first)) => Some(first.clone()),
        _ => judge.clone(),
    };
    let pairs: Vec<_> = plan
        .tasks
        .iter()
        .map(|(t, s, _)| (Arc::clone(t), s.clone()))
        .collect();
    admit::admit(&cards, sitting.as_ref(), &pairs, |task, settings| {
        providers::fitting(task, settings)
    })?;
    let mut surveys = Vec::new();
    for (task, settings, limit) in &plan.tasks {
        surveys.push(survey(task.as_ref(), settings, data, *limit)?);
    }
    for card in cards.iter_mut().chain(judge.as_mut()) {
        if card.fingerprint.is_empty() {
            let provider = providers::of(&card.model)?;
            card.fingerprint = provider.fingerprint(&card.model, &plan.settings)?;
        }
    }
    Ok(Checked {
        cards,
        judge,
        surveys,
    })
}

fn manifest(plan: &Plan, checked: &Checked, data: &dyn DataSource) -> anyhow::Result<RunManifest> {
    let mut tasks = Vec::new();
    for (task, settings, limit) in &plan.tasks {
        let card = task.card();
        // A task reads its dataset under some settings only; what is not there is not hashed.
        let dataset_hash = card.dataset.as_ref().and_then(|d| data.hash(d).ok());
        tasks.push(TaskRun {
            id: card.id.to_string(),
            version: card.version,
            content: card.content.as_deref().map(str::to_owned),
            settings: settings.clone(),
            limit: *limit,
            conventions: task.conventions(settings),
            dataset_hash,
        });
    }
    let mut manifest = RunManifest {
        schema: mary_store::SCHEMA,
        id: String::new(),
        created: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().skip(1).collect(),
        models: checked.cards.clone(),
        model_settings: plan.settings.clone(),
        judge: match &plan.judge {
            Some(Judge::Oneself) => checked.cards.first().cloned(),
            _ => checked.judge.clone(),
        },
        tasks,
        trials: plan.trials,
        seed: plan.seed,
    };
    let digest = mary_store::run_digest(&manifest)?;
    manifest.id = format!("{}-{}", title(plan), digest.get(..10).unwrap_or(&digest));
    Ok(manifest)
}

/// The readable part of a run's name: first model and families.
fn title(plan: &Plan) -> String {
    let model = plan
        .models
        .first()
        .map(|m| m.name.as_str())
        .unwrap_or("model");
    let model = model
        .rsplit('/')
        .find(|part| !part.is_empty())
        .unwrap_or("model");
    let mut families: Vec<&str> = plan.tasks.iter().map(|(t, ..)| &*t.card().family).collect();
    families.dedup();
    let more = if plan.models.len() > 1 {
        format!("-and-{}-more", plan.models.len() - 1)
    } else {
        String::new()
    };
    let text = format!("{model}{more}-{}", families.join("-"));
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "-._".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = text.chars().map(safe).take(60).collect();
    // A folder whose name begins with a dot would be hidden.
    name.trim_start_matches('.').to_owned()
}

/// The plan of a stored run, for going on with it.
pub fn from_folder(place: &Place, run: Option<&str>, json: bool) -> anyhow::Result<Plan> {
    let path = rundir::find(place, run)?;
    let folder = RunFolder::open(&path)?;
    let manifest = folder.manifest();
    let mut tasks = Vec::new();
    for run in &manifest.tasks {
        let task = place.registry.recall(run).map_err(|error| match error {
            RegistryError::Version { .. } => UsageError::new(format!(
                "{error}\nhint: start a new run, or use Mary {}",
                manifest.version
            )),
            error => UsageError::new(error.to_string()),
        })?;
        tasks.push((Arc::clone(task), run.settings.clone(), run.limit));
    }
    let judge = manifest.judge.as_ref().map(|card| {
        if manifest.models.iter().any(|m| m.model == card.model) {
            Judge::Oneself
        } else {
            Judge::Other(card.model.clone())
        }
    });
    Ok(Plan {
        models: manifest.models.iter().map(|m| m.model.clone()).collect(),
        judge,
        settings: manifest.model_settings.clone(),
        tasks,
        trials: manifest.trials,
        seed: manifest.seed,
        cached: true,
        quiet: false,
        json,
        report: true,
        batch: batch::folder(&path, false).is_some(),
    })
}
