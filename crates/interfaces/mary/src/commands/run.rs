//! `mary run`: from what the user typed to a run folder, a table and a report.

use std::path::{Path, PathBuf};

use clap::Args;
use mary_contract::Limit;
use mary_lab::{
    AdaptiveChoice, Laboratory, PreparedRun, RunOptions, ShardChoice, TaskOptions, read_batch_size,
};
use mary_platform::counted;
use mary_report::html::Chapter;

use super::carry_out::{ShowOptions, go, show};
use super::chapters::AnyChapter;
use super::{development, shard};
use crate::cli::ModelArgs;
use crate::command::Command;
use crate::commands::{print, print_json, tell};
use crate::exit::{Status, UsageError, usage_error};
use crate::own;
use crate::settings::Place;
use crate::specification::{self, laboratory};

/// Without a model and tasks, the built-in model runs a starter selection.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub models: ModelArgs,
    /// Tasks by id, family, wildcard or file, for example '*/spelled-*', ./mytask.toml; `mary tasks`
    /// lists them [default: a starter selection of every family]
    #[arg(short, long, visible_alias = "task", value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Shots in the prompt, where a task has them
    #[arg(short = 'k', long, visible_alias = "num-fewshot", value_name = "K")]
    pub shots: Option<usize>,
    /// Items of each task: a count (100) or a share (0.1), stratified, the same for every model
    #[arg(short, long)]
    pub limit: Option<Limit>,
    /// Times every item is asked
    #[arg(long, visible_aliases = ["epochs", "repeats"], default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub trials: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Task setting, for example mode=generate or source=published (repeatable; `mary tasks show`
    /// lists them)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Wrap prompts in the model's chat template
    #[arg(long, alias = "chat")]
    pub apply_chat_template: bool,
    /// A second model that reads answers, where a task wants one; `self` for the model itself
    #[arg(long)]
    pub judge: Option<String>,

    /// Sequences in one batch: a number or `auto`
    #[arg(long, default_value = "auto", help_heading = "Models")]
    pub batch_size: String,
    /// LoRA adapter folder, put on top of a local model
    #[arg(long, value_name = "DIR", help_heading = "Models")]
    pub adapter: Option<PathBuf>,
    /// Send everything through the provider's batch API (openai, anthropic): submit, leave, come
    /// back with `mary resume`
    #[arg(long, help_heading = "Models")]
    pub batch: bool,

    /// Ask only the items of this scale (`mary scale`) that tell most about a model, until enough is known; the
    /// scale says which tasks
    #[arg(long, value_name = "SCALE", conflicts_with_all = ["shard", "dry_run", "tasks", "limit"], help_heading = "Adaptive test")]
    pub adaptive: Option<PathBuf>,
    /// When it is enough: standard error of the ability, number of items, or both (se=0.3,items=100)
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        requires = "adaptive",
        default_value = "se=0.3",
        help_heading = "Adaptive test"
    )]
    pub until: Vec<String>,

    /// Refuse the run where a task of a family, a wildcard or `all` cannot run here, instead of leaving
    /// it out
    #[arg(long)]
    pub strict: bool,

    /// Do one of several parts of the work: 3/16 is the fourth of sixteen. /16 takes the number from
    /// Slurm, HyperQueue or Kubernetes; without a value, both come from Slurm's array. `mary merge`
    /// joins the parts, `mary submit` does it all
    #[arg(
        long,
        value_name = "I/N",
        num_args = 0..=1,
        default_missing_value = "auto",
        help_heading = "Output"
    )]
    pub shard: Option<ShardChoice>,
    /// Estimate requests and cost; send nothing
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// Make no HTML report
    #[arg(long, help_heading = "Output")]
    pub no_report: bool,
    /// Print results as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Accepted for users of lm-evaluation-harness: samples are always logged
    #[arg(long, hide = true)]
    pub log_samples: bool,
}

/// `se=0.3`, `items=60`.
pub fn until(scale: &Path, rules: &[String]) -> anyhow::Result<AdaptiveChoice> {
    let mut choice = AdaptiveChoice {
        scale: scale.to_owned(),
        error: 0.0,
        most: None,
    };
    for rule in rules {
        let number = |text: &str| {
            text.parse::<f64>()
                .ok()
                .filter(|x| x.is_finite() && *x > 0.0)
        };
        match rule
            .split_once('=')
            .map(|(name, value)| (name, number(value), value.parse().ok()))
        {
            Some(("se", Some(error), _)) => choice.error = error,
            Some(("items", _, Some(most @ 1..))) => choice.most = Some(most),
            _ => return usage_error(format!("--until {rule}: expected se=0.3 or items=60")),
        }
    }
    Ok(choice)
}

impl RunArgs {
    pub fn options(&self) -> anyhow::Result<RunOptions> {
        Ok(RunOptions {
            tasks: self.tasks.clone(),
            shots: self.shots,
            limit: self.limit,
            trials: Some(self.trials),
            seed: self.seed,
            set: TaskOptions::pairs(&self.set)?,
            apply_chat_template: self.apply_chat_template,
            judge: self.judge.clone(),
            batch_size: read_batch_size(&self.batch_size).map_err(UsageError::new)?,
            adapter: self.adapter.clone(),
            batch: self.batch,
            // Shards are parts of one specification: what a machine lacks must not change it.
            strict: self.strict || self.shard.is_some(),
            adaptive: match &self.adaptive {
                Some(scale) => Some(until(scale, &self.until)?),
                None => None,
            },
            ..specification::models(&self.models)?
        })
    }
}

impl Command for RunArgs {
    const NAME: &str = "run";
    const ABOUT: &str = "Test models on tasks; run again to continue";
    const ALIAS: Option<&str> = Some("eval");

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        own::named(place, &mut self.tasks)
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        if let Some(choice) = self.shard {
            return run_shard(place, self, choice);
        }
        let lab = laboratory(place);
        let spec = specification::specify(place, &lab, self.options()?)?;
        if self.dry_run {
            return dry_run(&lab.prepare_estimate(&spec)?, self.json);
        }
        let mut run = lab.prepare(&spec)?.open()?;
        let shown = ShowOptions {
            quiet: self.models.quiet,
            json: self.json,
            report: !self.no_report,
        };
        let summary = go(&mut run, shown.quiet)?;
        let first =
            self.tasks.is_empty() && self.models.model.is_empty() && self.adaptive.is_none();
        let chapter = first.then(|| how_it_grew(&lab));
        show(place, &run, &summary, chapter, &shown)
    }
}

/// A first run, for which nothing was named, also shows how the built-in model grew.
fn how_it_grew<'a>(lab: &'a Laboratory) -> AnyChapter<'a> {
    Chapter::new("development", "How the built-in model grew", |_| {
        let model = mary_lab::DEFAULT_MODEL;
        let growth = development::development(lab, None, lab.runs(), model, None)?;
        Ok(Some(growth.exhibits.into()))
    })
}

fn run_shard(place: &Place, args: &RunArgs, choice: ShardChoice) -> anyhow::Result<Status> {
    if args.dry_run {
        return usage_error(
            "--dry-run says what a whole run would ask; `mary submit --dry-run` shows its shards",
        );
    }
    let shard = shard::resolve(choice)?;
    let node = shard::node_cache(shard, args.models.no_cache);
    let mut lab = laboratory(place);
    if let Some(node) = &node {
        lab = lab.answers(node.clone());
    }
    let mut spec = specification::specify(place, &lab, args.options()?)?;
    spec.execution.cache &= node.is_some();
    let mut run = lab.prepare(&spec)?.open_shard(shard, shard::job())?;
    let at = run.shard().cloned();
    if let (Some(at), Some(node)) = (&at, &node) {
        at.fetch_cache(node)?;
    }
    let summary = go(&mut run, args.models.quiet);
    if let (Some(at), Some(node)) = (&at, &node) {
        shard::keep(at, node, summary.is_ok());
    }
    let summary = summary?;
    let answered: usize = summary.rows.iter().map(|row| row.samples).sum();
    tell!(
        "shard {shard}: {} in {}",
        counted(answered, "sample"),
        run.path().display()
    );
    Ok(Status::done_if(summary.complete))
}

fn dry_run(prepared: &PreparedRun<'_>, json: bool) -> anyhow::Result<Status> {
    let dry = prepared.estimate()?;
    if json {
        print_json(&dry)?;
    } else {
        print(&format!("{}\n", dry.to_string().trim_end()))?;
    }
    if prepared.asks_a_judge() {
        tell!("the judge's questions depend on the answers and are not in these figures");
    }
    tell!("nothing was asked");
    Ok(Status::Done)
}
