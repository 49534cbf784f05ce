//! From arguments to the specification of a run.

use mary_lab::{Laboratory, RunOptions, RunSpec, TaskChoice, TaskOptions};

use crate::cli::ModelArgs;
use crate::commands::{adapter, tell};
use crate::settings::Place;

/// What these options ask for; tasks that cannot run here are told. The only side effect is merging an
/// adapter into the cache.
pub fn specify(place: &Place, lab: &Laboratory, options: RunOptions) -> anyhow::Result<RunSpec> {
    let (spec, left) = with_adapter(place, options)?.specify(lab)?;
    tell_left_out(&spec, &left);
    Ok(spec)
}

/// The options with their adapter folded into the one model they name.
pub fn with_adapter(place: &Place, mut options: RunOptions) -> anyhow::Result<RunOptions> {
    if let Some(folder) = &options.adapter {
        options.merged = Some(adapter::merged(place, &options.subjects()?, folder)?);
    }
    Ok(options)
}

/// Tells which tasks of a family or wildcard are left out of a run.
pub fn tell_left_out(spec: &RunSpec, left: &[mary_lab::LeftOut]) {
    if left.is_empty() {
        return;
    }
    tell!(
        "left out, {} of {} (--strict refuses instead):",
        left.len(),
        mary_platform::counted(left.len() + spec.tasks.len(), "task")
    );
    for one in left {
        tell!("  {one}");
    }
}

/// The models that the arguments name, and how they are opened and asked.
pub fn models(args: &ModelArgs) -> anyhow::Result<RunOptions> {
    Ok(RunOptions {
        models: args.model.clone(),
        device: Some(args.device.clone()),
        dtype: args.dtype.clone(),
        threads: args.threads,
        max_connections: args.max_connections,
        base_url: args.base_url.clone(),
        model_arg: TaskOptions::pairs(&args.model_arg)?,
        budget: args.budget,
        no_cache: args.no_cache,
        ..RunOptions::default()
    })
}

/// What the arguments of an instrument ask for: these tasks of these models, once.
pub fn of_models(
    lab: &Laboratory,
    args: &ModelArgs,
    tasks: Vec<TaskChoice>,
) -> anyhow::Result<RunSpec> {
    Ok(models(args)?.specify_tasks(lab, tasks)?)
}
