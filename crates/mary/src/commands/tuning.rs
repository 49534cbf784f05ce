//! `mary data tuning`: fine-tuning sets as chat JSON lines or as a list of instructions, written by the
//! families.

use std::path::Path;

use anyhow::Context;
use mary_contract::{Registry, TuningRequest, TuningSet};
use mary_data::LocalData;

use super::family::told;
use crate::exit::{Status, UsageError};
use crate::matching;

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
    super::tell(&format!(
        "{} items of {name} (seed {}) are in {}{hint}",
        set.items,
        wanted.seed,
        out.display()
    ));
    Ok(Status::Done)
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
    let sets: Vec<String> = registry
        .families()
        .iter()
        .flat_map(|f| f.tuning_sets())
        .map(String::from)
        .collect();
    let near = matching::nearest(name, sets.iter().map(String::as_str));
    let hint = match (registry.task(name), near.as_slice()) {
        (None, [best, ..]) => format!("hint: did you mean {best}?"),
        _ => format!("hint: there are {}", sets.join(", ")),
    };
    Err(UsageError::new(format!("{name} has no fine-tuning set\n{hint}")).into())
}
