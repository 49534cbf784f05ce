//! `mary sweep`: every checkpoint of one or more models, as one piece of work.

mod show;

use std::path::Path;

use mary_lab::Laboratory;
use mary_lab::checkpoints::{State, Sweep, members};
use mary_platform::counted;
use mary_store::RunFolder;

use super::shard;
use crate::cli::sweep::SweepArgs;
use crate::exit::{Status, UsageError};
use crate::laboratory::laboratory;
use crate::progress::Progress;
use crate::settings::Place;
use crate::{interrupt, own, specification};

/// What the arguments ask for.
pub fn asked<'lab>(
    place: &Place,
    lab: &'lab Laboratory,
    args: &SweepArgs,
) -> anyhow::Result<Sweep<'lab>> {
    let mut models: Vec<String> = args.models.iter().chain(&args.run.model).cloned().collect();
    models.retain(|m| !m.trim().is_empty());
    if models.is_empty() {
        models.push(specification::DEFAULT_MODEL.to_owned());
    }
    if args.run.adapter.is_some() || args.run.dry_run {
        return Err(UsageError::new("a sweep takes neither --adapter nor --dry-run").into());
    }
    let table = match &args.checkpoints {
        Some(path) => Some(mary_weights::series::read_table(path)?),
        None => None,
    };
    let members = members(
        &models,
        &args.revisions,
        args.tokens_per_step,
        table.as_deref(),
    )?;
    let mut spec = specification::of(place, lab, &args.run)?;
    let builtin = |m: &String| m.split('/').next() == Some(specification::BUILTIN);
    specification::fit_to_models(&place.registry, &mut spec.tasks, models.iter().all(builtin));
    if args.run.tasks.is_empty() {
        // Without tasks, the starter selection of the families that follow development.
        let families = place.registry.families().iter();
        let growing: Vec<&str> = families
            .filter(|f| f.development().is_some())
            .map(|f| f.id())
            .collect();
        spec.tasks.retain(|choice| {
            let family = choice.id.split('/').next().unwrap_or_default();
            growing.contains(&family)
        });
        for choice in &mut spec.tasks {
            choice.settings.shots = args.run.shots;
        }
    }
    Ok(Sweep {
        lab,
        spec,
        members,
        disk_limit: args.disk_limit,
        shard: None,
    })
}

/// Runs the sweep, or what is left of it.
pub fn sweep(place: &Place, args: &SweepArgs) -> anyhow::Result<Status> {
    let shard = args.run.shard.map(shard::resolve).transpose()?;
    let node = shard.and_then(|shard| shard::node_cache(shard, args.run.no_cache));
    let mut lab = laboratory(place);
    if let Some(node) = &node {
        lab = lab.answers(node.clone());
    }
    let mut sweep = asked(place, &lab, args)?;
    sweep.shard = shard;
    if shard.is_some() && node.is_none() {
        sweep.spec.execution.cache = false;
    }
    let mut state = sweep.open_state(&place.runs, &own::words())?;
    let left = sweep.left(&state).len();
    super::tell(&format!(
        "sweep: {}, {left} to do, in {}",
        counted(sweep.ours().len(), "checkpoint"),
        state.path().display()
    ));
    let stop = interrupt::flag()?;
    let mut progress = Progress::new(args.run.quiet);
    if let Some(shard) = shard {
        let watch = shard::Watch::begin(state.path(), shard, &sweep, &state, node.as_deref())?;
        let ended = sweep.go(&mut state, &mut progress, &stop);
        watch.end(&ended)?;
        ended?;
        let left = sweep.left(&state).len();
        let checkpoints = counted(left, "checkpoint");
        super::tell(&format!("shard {shard}: {checkpoints} left"));
        super::tell(&format!("sweep:  {}", state.path().display()));
        return Ok(if left == 0 {
            Status::Done
        } else {
            Status::Incomplete
        });
    }
    let stopped = sweep.go(&mut state, &mut progress, &stop);
    // Whatever happened, what is there is shown.
    let records = state.records(&sweep.members);
    let shown = super::carry_out::Shown {
        quiet: args.run.quiet,
        json: args.run.json,
        report: !args.run.no_report,
    };
    let faulty = show::show(&place.registry, &state, &sweep.spec, &records, &shown)?;
    stopped?;
    Ok(if faulty || records.len() < sweep.members.len() {
        Status::Incomplete
    } else {
        Status::Done
    })
}

/// Joins what the shards of a sweep have done, and shows it.
pub fn merge(place: &Place, folder: &Path, json: bool) -> anyhow::Result<Status> {
    let mut state = State::open(folder, &serde_json::Value::Null)?;
    let new = state.join()?;
    super::tell(&format!("{} joined", counted(new, "checkpoint")));
    let records = state.all();
    let Some(run) = records.iter().find_map(|r| r.run()) else {
        return Err(crate::exit::MissingError(format!(
            "{}: no checkpoint has been run yet\nhint: mary jobs {} shows what its shards do",
            folder.display(),
            folder.display()
        ))
        .into());
    };
    let manifest = RunFolder::open(&state.runs().join(run))?.manifest().clone();
    let spec = mary_lab::RunSpec::of(&manifest);
    let shown = super::carry_out::Shown {
        quiet: true,
        json,
        report: true,
    };
    let faulty = show::show(&place.registry, &state, &spec, &records, &shown)?;
    let whole = super::jobs::say_missing(folder)?;
    Ok(if faulty || !whole {
        Status::Incomplete
    } else {
        Status::Done
    })
}
