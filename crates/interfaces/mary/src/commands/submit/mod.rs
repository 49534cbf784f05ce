//! `mary submit`: a run or sweep divided into shards and handed to an engine.

mod engines;
mod simulation;

use std::path::{Path, PathBuf};

use clap::Args;
use mary_lab::cluster::progress::{self, ShardProgress, Standing};
use mary_lab::cluster::{Engine, Job, Needs, Script, Submissions, hyperqueue, kubernetes, slurm};
use mary_platform::counted;
use mary_store::RunFolder;
use serde_json::json;

use super::run::RunArgs;
use super::sweep::{self, SweepArgs};
use crate::cli::PlaceArgs;
use crate::cli::choices::{Choices, one_of};
use crate::command::{Command, typed};
use crate::commands::{print, print_json, tell};
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;
use crate::specification::{self, laboratory};

const SHARDS: usize = 8;
/// Variables that decide where a command finds and leaves things.
const VARIABLES: &str = "MARY_MODEL HF_HOME HF_HUB_CACHE HF_ENDPOINT HF_HUB_OFFLINE NO_COLOR";

/// A piece of work: its folder, and what each of its shards has to do.
struct Work {
    folder: PathBuf,
    name: String,
    /// Samples or checkpoints of each shard.
    planned: Vec<usize>,
    /// Each shard's share of the cost.
    shares: Vec<f64>,
    /// Tokens times millions of weights, where known.
    cost: Option<f64>,
    /// `samples` or `checkpoints`.
    unit: &'static str,
}

const ENGINES: Choices<Engine> = &[
    ("slurm", Engine::Slurm),
    ("hyperqueue", Engine::Hyperqueue),
    ("kubernetes", Engine::Kubernetes),
    ("local", Engine::Local),
];

/// Divides a run or sweep into shards and hands them to an engine: scripts are kept in the run folder,
/// and the shards are joined when they have ended. The same command again submits only what is missing
/// or failed. Example: mary submit slurm --shards 16 --time 2:00:00 -- run -m hf/gpt2 -t TASKS
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// Who runs the shards
    #[arg(value_parser = one_of("submit.engines", ENGINES), default_value = "local")]
    pub engine: Engine,
    /// How many shards [default: as many as last time, else 8]
    #[arg(short = 'n', long)]
    pub shards: Option<usize>,
    /// Shards that run at once, at most
    #[arg(long, value_name = "K")]
    pub at_once: Option<usize>,
    /// Time limit of a shard: 90 (minutes), 2:00:00, 1-12:00:00; it goes on where it was stopped
    #[arg(long, value_name = "LIMIT", help_heading = "Resources")]
    pub time: Option<String>,
    /// GPUs of a shard
    #[arg(long, default_value_t = 0, help_heading = "Resources")]
    pub gpus: usize,
    /// CPU cores of a shard
    #[arg(long, default_value_t = 1, help_heading = "Resources")]
    pub cpus: usize,
    /// Memory of a shard, as the engine writes it: 16G, 16Gi
    #[arg(long, help_heading = "Resources")]
    pub memory: Option<String>,
    /// Slurm's partition
    #[arg(long, help_heading = "Resources")]
    pub partition: Option<String>,
    /// Another option for the engine, as it is: --extra=--account=lab (repeatable)
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Resources"
    )]
    pub extra: Vec<String>,
    /// Container image (Kubernetes)
    #[arg(long, help_heading = "Resources")]
    pub image: Option<String>,
    /// Volume claim with runs, data and models, seen at /mary (Kubernetes)
    #[arg(long, help_heading = "Resources")]
    pub claim: Option<String>,
    /// Where that volume lies on this machine (Kubernetes) [default: the folder that holds the runs]
    #[arg(long, value_name = "DIR", help_heading = "Resources")]
    pub mount: Option<PathBuf>,
    /// Print scripts, shards and estimated hours, and submit nothing
    #[arg(long, help_heading = "Planning")]
    pub dry_run: bool,
    /// Billions of operations a second that a shard reaches, for the estimate of hours
    #[arg(long, value_name = "N", help_heading = "Planning")]
    pub gflops: Option<f64>,
    /// Play through a sweep of Pythia's sizes: --simulate '1,232 checkpoints on 64 GPUs'
    #[arg(
        long,
        value_name = "TEXT",
        requires = "dry_run",
        help_heading = "Planning"
    )]
    pub simulate: Option<String>,
    /// With --simulate: failures of a device in an hour
    #[arg(long, default_value_t = 0.01, help_heading = "Planning")]
    pub failures: f64,
    /// With --simulate: gigabytes a second that the hub gives to all devices together
    #[arg(long, default_value_t = 1.25, help_heading = "Planning")]
    pub hub_rate: f64,
    /// With --simulate: how many times the work of BLiMP in full each checkpoint is asked
    #[arg(long, default_value_t = 1.0, help_heading = "Planning")]
    pub batteries: f64,
    /// With --simulate: seed of the failures
    #[arg(long, default_value_t = 0, help_heading = "Planning")]
    pub seed: u64,
    /// Print what was or would be submitted as JSON
    #[arg(long)]
    pub json: bool,
    /// The command to be shared: run … or sweep …
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "simulate"
    )]
    pub command: Vec<String>,
}

impl Command for SubmitArgs {
    const NAME: &str = "submit";
    const ABOUT: &str = "Divide a run into shards for Slurm, HyperQueue or Kubernetes";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        if let Some(text) = &self.simulate {
            return simulation::simulate(self, text);
        }
        let (inner, mut command) = shared(&self.command)?;
        let mut place = within(place, &inner);
        match &mut command {
            Shared::Run(run) => run.gather(&mut place)?,
            Shared::Sweep(sweep) => sweep.gather(&mut place)?,
        }
        let work = work(&place, &command, self)?;
        let of = work.planned.len();
        let submissions = Submissions::of(&work.folder)?;
        let standing = progress::shards(&work.folder, of)?;
        let queued = engines::queued(&submissions, of);
        let wanted: Vec<usize> = (0..of)
            .filter(|&shard| work.planned.get(shard).is_some_and(|&n| n > 0))
            .filter(|&shard| standing.get(shard).is_none_or(|s| s.standing.is_open()))
            .filter(|shard| !queued.contains(shard))
            .collect();
        let job = job(&place, self, &work, wanted, submissions.next())?;
        let limit = match self.engine {
            Engine::Slurm => engines::slurm_array_limit(),
            _ => usize::MAX,
        };
        let scripts = match self.engine {
            Engine::Slurm => slurm::scripts(&job, limit),
            Engine::Hyperqueue => hyperqueue::scripts(&job),
            Engine::Kubernetes => {
                let beside = place.runs.parent().unwrap_or(&place.runs);
                let mount = self.mount.as_deref().unwrap_or(beside);
                let mount = std::path::absolute(mount).unwrap_or_else(|_| mount.to_owned());
                kubernetes::scripts(&kubernetes::inside(&job, &mount))
            }
            Engine::Local => Vec::new(),
        };
        if self.dry_run {
            return dry_run(self, &work, &job, &scripts, &standing);
        }
        say(&work, &job, &standing, &queued);
        if job.shards.is_empty() && self.engine != Engine::Local {
            // Everything is done or under way; what is there may still have to be joined.
            return match queued.is_empty()
                && standing.iter().all(|s| s.standing == Standing::Complete)
            {
                true => engines::merge(&job),
                false => Ok(Status::Done),
            };
        }
        submissions.write(&scripts)?;
        engines::Call {
            job: &job,
            submissions,
            limit,
            engine: self.engine,
            json: self.json,
        }
        .submit()
    }
}

enum Shared {
    Run(Box<RunArgs>),
    Sweep(Box<SweepArgs>),
}

fn shared(words: &[String]) -> Result<(PlaceArgs, Shared), UsageError> {
    let another = |error: &clap::Error| error.kind() == clap::error::ErrorKind::InvalidSubcommand;
    let wrong = |error: clap::Error| match another(&error) {
        true => UsageError::new(
            "`mary submit` takes a run or a sweep behind `--`\nhint: mary submit slurm --shards 16 -- run -m hf/gpt2",
        ),
        false => UsageError::new(error.to_string()),
    };
    match typed::<RunArgs>(words) {
        Ok((place, run)) => Ok((place, Shared::Run(Box::new(run)))),
        Err(error) if another(&error) => {
            let (place, sweep) = typed::<SweepArgs>(words).map_err(wrong)?;
            Ok((place, Shared::Sweep(Box::new(sweep))))
        }
        Err(error) => Err(wrong(error)),
    }
}

/// The places of the command inside, where it names its own.
fn within(place: &Place, inner: &PlaceArgs) -> Place {
    let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    Place {
        registry: place.registry.clone(),
        runs: whole(inner.output_path.as_ref().unwrap_or(&place.runs)),
        data: inner.data_dir.as_ref().or(place.data.as_ref()).map(whole),
        cache: whole(inner.cache_dir.as_ref().unwrap_or(&place.cache)),
    }
}

fn work(place: &Place, command: &Shared, args: &SubmitArgs) -> anyhow::Result<Work> {
    let shard = match command {
        Shared::Run(run) => run.shard,
        Shared::Sweep(sweep) => sweep.run.shard,
    };
    if shard.is_some() {
        return usage_error("`mary submit` divides the work itself; leave out --shard");
    }
    let lab = laboratory(place);
    match command {
        Shared::Run(run) => {
            let prepared = lab.prepare(&specification::specify(place, &lab, run.options()?)?)?;
            let manifest = prepared.manifest()?;
            let folder = place.runs.join(&manifest.id);
            let n = shards(args, &folder)?;
            let layout = prepared.layout()?;
            let parts = layout.parts(n);
            if !args.dry_run {
                RunFolder::found(&place.runs, &manifest)?;
            }
            Ok(Work {
                folder,
                name: manifest.id,
                planned: parts.iter().map(|p| p.planned).collect(),
                shares: parts.iter().map(|p| p.share).collect(),
                cost: Some(layout.cost()),
                unit: "samples",
            })
        }
        Shared::Sweep(arguments) => {
            let sweep = sweep::asked(&lab, arguments)?;
            // The folder of a sweep is made with its name; an empty one is in nobody's way.
            let state = sweep.open_state(&place.runs, &crate::words::words())?;
            let folder = state.path().to_owned();
            let parts = sweep.parts(shards(args, &folder)?);
            let all = sweep.members.len().max(1) as f64;
            let name = folder.file_name().unwrap_or_default();
            Ok(Work {
                name: name.to_string_lossy().into_owned(),
                folder,
                planned: parts.iter().map(Vec::len).collect(),
                shares: parts.iter().map(|p| p.len() as f64 / all).collect(),
                cost: None,
                unit: "checkpoints",
            })
        }
    }
}

/// As many as asked for, or as last time.
fn shards(args: &SubmitArgs, folder: &Path) -> anyhow::Result<usize> {
    let last = Submissions::of(folder)?.all.last().map(|s| s.of);
    match args.shards.or(last).unwrap_or(SHARDS) {
        0 => usage_error("--shards takes a number from 1"),
        n => Ok(n),
    }
}

fn job(
    place: &Place,
    args: &SubmitArgs,
    work: &Work,
    shards: Vec<usize>,
    number: usize,
) -> anyhow::Result<Job> {
    let places = [
        ("MARY_RUNS", Some(&place.runs)),
        ("MARY_CACHE_DIR", Some(&place.cache)),
        ("MARY_DATA_DIR", place.data.as_ref()),
    ];
    let places = places.into_iter();
    let places = places.filter_map(|(name, path)| Some((name, path?.display().to_string())));
    let kept = VARIABLES.split_whitespace();
    let kept = kept.filter_map(|name| Some((name, std::env::var(name).ok()?)));
    let environment = places
        .chain(kept)
        .map(|(name, value)| (name.to_owned(), value));
    Ok(Job {
        name: format!("mary-{}", work.name.rsplit('-').next().unwrap_or_default()),
        folder: work.folder.clone(),
        program: std::env::current_exe()?,
        words: args.command.clone(),
        directory: std::env::current_dir()?,
        environment: environment.collect(),
        of: work.planned.len(),
        shards,
        number,
        needs: Needs {
            cpus: args.cpus,
            gpus: args.gpus,
            memory: args.memory.clone(),
            time: args.time.clone(),
            partition: args.partition.clone(),
            at_once: args.at_once,
            extra: args.extra.clone(),
            image: args.image.clone(),
            claim: args.claim.clone(),
        },
    })
}

fn say(work: &Work, job: &Job, standing: &[ShardProgress], queued: &[usize]) {
    let count = |is: fn(&Standing) -> bool| standing.iter().filter(|s| is(&s.standing)).count();
    let complete = count(|s| *s == Standing::Complete);
    let running = count(|s| matches!(s, Standing::Running(_)));
    tell!(
        "{}: {}; {complete} complete, {running} running, {} waiting, {} to be submitted",
        work.folder.display(),
        counted(job.of, "shard"),
        queued.len(),
        job.shards.len()
    );
}

fn dry_run(
    args: &SubmitArgs,
    work: &Work,
    job: &Job,
    scripts: &[Script],
    standing: &[ShardProgress],
) -> anyhow::Result<Status> {
    let hours = hours(args, work, standing);
    if args.json {
        return print_json(&json!({
            "folder": work.folder,
            "shards": work.planned.iter().zip(&work.shares).enumerate().map(|(index, (planned, share))| {
                json!({
                    "shard": index, work.unit: planned, "share": share,
                    "submit": job.shards.contains(&index),
                    "hours": hours.as_ref().map(|(all, _)| all * share),
                })
            }).collect::<Vec<_>>(),
            "hours": hours.as_ref().map(|(all, _)| all),
            "scripts": scripts.iter().map(|s| (s.name.clone(), s.text.clone().into()))
                .collect::<serde_json::Map<_, _>>(),
        }));
    }
    for script in scripts {
        print(&format!("== {}\n{}\n", script.name, script.text))?;
    }
    let mut text = format!(
        "{:>8}  {:>12}  {:>7}  {:>7}\n",
        "shard", work.unit, "share", "hours"
    );
    for (index, (planned, share)) in work.planned.iter().zip(&work.shares).enumerate() {
        let time = hours
            .as_ref()
            .map_or_else(String::new, |(all, _)| format!("{:.3}", all * share));
        let mark = if job.shards.contains(&index) {
            ""
        } else {
            "  not submitted"
        };
        text.push_str(&format!(
            "{:>8}  {planned:>12}  {:>6.2}%  {time:>7}{mark}\n",
            format!("{index}/{}", job.of),
            share * 100.0
        ));
    }
    print(&text)?;
    match hours {
        Some((all, how)) => tell!("{all:.3} hours in all, {how}"),
        None => tell!("hours cannot be estimated before a shard has run: no rate is known"),
    }
    tell!("nothing was submitted");
    Ok(Status::Done)
}

/// Hours of all shards together, and where that comes from.
fn hours(args: &SubmitArgs, work: &Work, standing: &[ShardProgress]) -> Option<(f64, String)> {
    let total: usize = work.planned.iter().sum();
    let rates: Vec<f64> = standing.iter().filter_map(|s| s.rate).collect();
    if !rates.is_empty() && args.gflops.is_none() {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let how = format!("at {mean:.2} {} a second, as its shards reached", work.unit);
        return Some((total as f64 / mean / 3600.0, how));
    }
    let usual = mary_lab::Speed::new(args.cpus, args.gpus).gflops();
    let gflops = args.gflops.unwrap_or(usual);
    // A token costs two operations for each weight.
    let operations = work.cost? * 2.0e6;
    let how = format!("at {gflops} billion operations a second (--gflops)");
    Some((operations / (gflops * 1e9) / 3600.0, how))
}
