//! `mary data tuning`: fine-tuning sets as chat JSON lines or as a list of instructions, written by the
//! families.

use std::path::Path;

use anyhow::Context;
use mary_contract::{Registry, TuningRequest, TuningSet};
use mary_fetch::datasets::LocalData;
use mary_lab::TaskOptions;
use mary_platform::counted;

use super::family::told;
use crate::cli::TrainingSetArgs;
use crate::commands::tell;
use crate::exit::{Status, usage_error};
use crate::matching;
use crate::settings::Place;

/// Writes items that share nothing with a task's test items or shots.
pub fn tuning(
    registry: &Registry,
    data: &LocalData,
    name: &str,
    wanted: &TuningRequest,
    out: &Path,
) -> anyhow::Result<Status> {
    let name = name.replace('_', "-");
    let set = make(registry, data, &name, wanted)?;
    std::fs::write(out, &set.text).with_context(|| out.display().to_string())?;
    let hint = set
        .hint
        .map_or_else(String::new, |h| format!("\nhint: {h}"));
    tell!(
        "{} of {name} (seed {}) written to {}{hint}",
        counted(set.items, "item"),
        wanted.seed,
        out.display()
    );
    Ok(Status::Done)
}

pub fn request(args: &TrainingSetArgs, seed: u64) -> anyhow::Result<TuningRequest> {
    Ok(TuningRequest {
        form: args.data_form.unwrap_or_default(),
        n: None,
        params: TaskOptions::pairs(&args.data_set)?.into_iter().collect(),
        seed,
    })
}

/// Writes a set to a file, in a folder that may not be there yet.
pub fn write_into(
    place: &Place,
    name: &str,
    wanted: &TuningRequest,
    file: &Path,
) -> anyhow::Result<()> {
    let local = place.local_data();
    let set = make(&place.registry, &local, name, wanted)?;
    super::write_file(file, set.text.as_bytes())
}

/// The names of all fine-tuning sets.
pub fn sets(registry: &Registry) -> Vec<String> {
    let families = registry.families().iter();
    families
        .flat_map(|f| f.tuning_sets())
        .map(String::from)
        .collect()
}

/// Whether a fine-tuning set is called so.
pub fn is_set(registry: &Registry, name: &str) -> bool {
    sets(registry).iter().any(|set| set == name)
}

/// The fine-tuning set of this name, whichever family has it.
pub fn make(
    registry: &Registry,
    data: &LocalData,
    name: &str,
    wanted: &TuningRequest,
) -> anyhow::Result<TuningSet> {
    for family in registry.families() {
        if family.tuning_sets().iter().any(|set| set == name) {
            return family.tuning_set(name, wanted, data).map_err(told);
        }
    }
    let sets = sets(registry);
    let near = matching::nearest(name, sets.iter().map(String::as_str));
    let hint = match (registry.task(name), near.as_slice()) {
        (None, [best, ..]) => format!("hint: did you mean {best}?"),
        _ => format!("hint: there are {}", sets.join(", ")),
    };
    usage_error(format!("{name} has no fine-tuning set\n{hint}"))
}
