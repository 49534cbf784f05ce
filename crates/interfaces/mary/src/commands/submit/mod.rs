//! `mary submit`: a run or sweep divided into shards and handed to an engine. Planning and printing
//! live here, calling the engines in `engines`, playing through in `simulation`.

mod engines;
mod simulation;

use std::path::{Path, PathBuf};

use mary_lab::cluster::progress::{self, ShardProgress, Standing};
use mary_lab::cluster::{Engine, Job, Needs, Script, Submissions, hyperqueue, kubernetes, slurm};
use mary_store::RunFolder;

use super::sweep;
use crate::cli::cluster::{EngineName, SubmitArgs};
use crate::cli::{Command, PlaceArgs};
use crate::exit::{Status, UsageError};
use crate::laboratory::laboratory;
use crate::settings::Place;
use crate::{own, specification};

/// Shards of a command that says nothing about their number.
const SHARDS: usize = 8;
/// Variables that decide where a command finds and leaves things.
const VARIABLES: [&str; 6] = [
    "MARY_MODEL",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_ENDPOINT",
    "HF_HUB_OFFLINE",
    "NO_COLOR",
];

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

pub fn submit(place: &Place, args: &SubmitArgs) -> anyhow::Result<Status> {
    if let Some(text) = &args.simulate {
        return simulation::simulate(args, text);
    }
    let mut inner = args.typed_command()?;
    let mut place = within(place, &inner.place);
    own::gather(&mut place, &mut inner.command)?;
    let work = work(&place, &inner.command, args)?;
    let of = work.planned.len();
    let submissions = Submissions::of(&work.folder)?;
    let standing = progress::shards(&work.folder, of)?;
    let queued = engines::queued(&submissions, of);
    let wanted: Vec<usize> = (0..of)
        .filter(|&shard| work.planned.get(shard).is_some_and(|&n| n > 0))
        .filter(|&shard| standing.get(shard).is_none_or(|s| s.standing.is_open()))
        .filter(|shard| !queued.contains(shard))
        .collect();
    let job = job(&place, args, &work, wanted, submissions.next())?;
    let limit = match args.engine {
        EngineName::Slurm => engines::slurm_array_limit(),
        _ => usize::MAX,
    };
    let scripts = match args.engine {
        EngineName::Slurm => slurm::scripts(&job, limit),
        EngineName::Hyperqueue => hyperqueue::scripts(&job),
        EngineName::Kubernetes => {
            let beside = place.runs.parent().unwrap_or(&place.runs);
            let mount = args.mount.as_deref().unwrap_or(beside);
            let mount = std::path::absolute(mount).unwrap_or_else(|_| mount.to_owned());
            kubernetes::scripts(&kubernetes::inside(&job, &mount))
        }
        EngineName::Local => Vec::new(),
    };
    if args.dry_run {
        return dry_run(args, &work, &job, &scripts, &standing);
    }
    say(&work, &job, &standing, &queued);
    if job.shards.is_empty() && args.engine != EngineName::Local {
        // Everything is done or under way; what is there may still have to be joined.
        return match queued.is_empty() && standing.iter().all(|s| s.standing == Standing::Complete)
        {
            true => engines::merge(&job),
            false => Ok(Status::Done),
        };
    }
    submissions.write(&scripts)?;
    let engine = match args.engine {
        EngineName::Slurm => Engine::Slurm,
        EngineName::Hyperqueue => Engine::Hyperqueue,
        EngineName::Kubernetes => Engine::Kubernetes,
        EngineName::Local => Engine::Local,
    };
    engines::Call {
        job: &job,
        submissions,
        limit,
        engine,
        json: args.json,
    }
    .submit()
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

/// What the command asks for, divided.
fn work(place: &Place, command: &Command, args: &SubmitArgs) -> anyhow::Result<Work> {
    let shard = match command {
        Command::Run(run) => run.shard,
        Command::Sweep(sweep) => sweep.run.shard,
        _ => {
            return Err(UsageError::new(
                "`mary submit` takes a run or a sweep behind `--`\nhint: mary submit slurm --shards 16 -- run -m hf/gpt2",
            )
            .into());
        }
    };
    if shard.is_some() {
        return Err(
            UsageError::new("`mary submit` divides the work itself; leave out --shard").into(),
        );
    }
    let lab = laboratory(place);
    match command {
        Command::Run(run) => {
            let prepared = lab.prepare(&specification::of(place, &lab, run)?)?;
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
        Command::Sweep(arguments) => {
            let sweep = sweep::asked(place, &lab, arguments)?;
            // The folder of a sweep is made with its name; an empty one is in nobody's way.
            let state = sweep.open_state(&place.runs, &own::words())?;
            let folder = state.path().to_owned();
            let parts = sweep.parts(shards(args, &folder)?);
            let all = sweep.members.len().max(1) as f64;
            Ok(Work {
                name: folder
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                folder,
                planned: parts.iter().map(Vec::len).collect(),
                shares: parts.iter().map(|p| p.len() as f64 / all).collect(),
                cost: None,
                unit: "checkpoints",
            })
        }
        _ => Err(UsageError::new("`mary submit` takes a run or a sweep").into()),
    }
}

/// As many as asked for, or as last time.
fn shards(args: &SubmitArgs, folder: &Path) -> anyhow::Result<usize> {
    let last = Submissions::of(folder)?.all.last().map(|s| s.of);
    match args.shards.or(last).unwrap_or(SHARDS) {
        0 => Err(UsageError::new("--shards takes a number from 1").into()),
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
    let mut environment = vec![
        ("MARY_RUNS".to_owned(), place.runs.display().to_string()),
        (
            "MARY_CACHE_DIR".to_owned(),
            place.cache.display().to_string(),
        ),
    ];
    if let Some(data) = &place.data {
        environment.push(("MARY_DATA_DIR".to_owned(), data.display().to_string()));
    }
    for name in VARIABLES {
        if let Ok(value) = std::env::var(name) {
            environment.push((name.to_owned(), value));
        }
    }
    Ok(Job {
        name: format!("mary-{}", work.name.rsplit('-').next().unwrap_or_default()),
        folder: work.folder.clone(),
        program: std::env::current_exe()?,
        words: args.command.clone(),
        directory: std::env::current_dir()?,
        environment,
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

/// What is done, under way and submitted now.
fn say(work: &Work, job: &Job, standing: &[ShardProgress], queued: &[usize]) {
    let complete = standing
        .iter()
        .filter(|s| s.standing == Standing::Complete)
        .count();
    let running = standing
        .iter()
        .filter(|s| matches!(s.standing, Standing::Running(_)))
        .count();
    super::tell(&format!(
        "{}: {}; {complete} complete, {running} running, {} waiting, {} to be submitted",
        work.folder.display(),
        mary_platform::counted(job.of, "shard"),
        queued.len(),
        job.shards.len()
    ));
}

/// Prints scripts, shards and hours.
fn dry_run(
    args: &SubmitArgs,
    work: &Work,
    job: &Job,
    scripts: &[Script],
    standing: &[ShardProgress],
) -> anyhow::Result<Status> {
    let hours = hours(args, work, standing);
    if args.json {
        super::print_json(&serde_json::json!({
            "folder": work.folder,
            "shards": work.planned.iter().zip(&work.shares).enumerate().map(|(index, (planned, share))| {
                serde_json::json!({
                    "shard": index, work.unit: planned, "share": share,
                    "submit": job.shards.contains(&index),
                    "hours": hours.as_ref().map(|(all, _)| all * share),
                })
            }).collect::<Vec<_>>(),
            "hours": hours.as_ref().map(|(all, _)| all),
            "scripts": scripts.iter().map(|s| (s.name.clone(), s.text.clone().into()))
                .collect::<serde_json::Map<_, _>>(),
        }))?;
        return Ok(Status::Done);
    }
    for script in scripts {
        super::print(&format!("== {}\n{}\n", script.name, script.text))?;
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
    super::print(&text)?;
    match hours {
        Some((all, how)) => super::tell(&format!("{all:.3} hours in all, {how}")),
        None => super::tell("hours cannot be estimated before a shard has run: no rate is known"),
    }
    super::tell("nothing was submitted");
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
