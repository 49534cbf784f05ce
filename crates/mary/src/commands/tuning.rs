//! `mary data tuning`: the fine-tuning set of a task as chat JSONL.

use std::path::Path;

use anyhow::Context;
use mary_suites::htest;

use crate::exit::{Status, UsageError};
use crate::suite;

/// Writes items of a task that share nothing with its test items or shots.
pub fn tuning(task: &str, seed: u64, out: &Path) -> anyhow::Result<Status> {
    let tasks = suite::select(&[task.to_owned()])?;
    let [task] = tasks.as_slice() else {
        return Err(UsageError::new("one task at a time").into());
    };
    let id = task.card().id;
    let known = htest::ab_task(id).ok_or_else(|| {
        UsageError::new(format!(
            "{id} has no fine-tuning set\nhint: the ten A/B tasks of H-TEST have"
        ))
    })?;
    let lines = htest::tuning_set(known, seed)?;
    std::fs::write(out, &lines).with_context(|| out.display().to_string())?;
    let n = lines.lines().count();
    super::tell(&format!(
        "{n} items of {id} (seed {seed}) are in {}",
        out.display()
    ));
    Ok(Status::Done)
}
