//! The laboratory of a command, with every provider of models, the tasks and the places of the user; and from arguments
//! to the specification of a run in it.

use mary_contract::Provider;
use mary_lab::builtin::Builtin;
use mary_lab::{Laboratory, RunOptions, RunSpec, TaskChoice, TaskOptions};
use mary_remote::Ledger;

use crate::cli::ModelArgs;
use crate::commands::{adapter, tell};
use crate::settings::Place;
use crate::words::words;

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

/// The laboratory of a command. One account of money for all remote models of a command, so that
/// `--budget` holds over all of them.
pub fn laboratory(place: &Place) -> Laboratory {
    laboratory_with(place, |providers| providers, words())
}

/// The same for somebody who looks on while answers are written.
pub fn laboratory_watched(place: &Place) -> Laboratory {
    let mut providers = local_providers();
    providers.extend(mary_remote::watched_providers(&Ledger::new()));
    with(place, providers, words())
}

/// The same with other providers, made of the usual ones, and with other words in manifests.
pub fn laboratory_with(
    place: &Place,
    arranged: impl FnOnce(Vec<Box<dyn Provider>>) -> Vec<Box<dyn Provider>>,
    words: Vec<String>,
) -> Laboratory {
    with(place, arranged(providers()), words)
}

fn with(place: &Place, providers: Vec<Box<dyn Provider>>, words: Vec<String>) -> Laboratory {
    Laboratory::new(place.runs.clone())
        .tasks(place.registry.clone())
        .providers(providers)
        .data(place.local_data())
        .answers(place.answers())
        .surveys(place.surveys())
        .command(words)
}

/// All providers, local ones first.
pub fn providers() -> Vec<Box<dyn Provider>> {
    let mut providers = local_providers();
    providers.extend(mary_remote::providers());
    providers
}

fn local_providers() -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = vec![Box::new(Builtin)];
    providers.push(Box::new(mary_local::provider::HF));
    providers.push(Box::new(mary_local::provider::GGUF));
    providers.push(Box::new(mary_local::vectors::VectorsProvider));
    providers.push(Box::new(mary_pymodel::PythonFiles::new()));
    providers
}
