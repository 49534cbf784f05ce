//! The files of a growth beside its checkpoints: the recipe, the logs, and the state a run resumes from.

use super::Course;
use crate::TrainError;
use crate::hf::write_whole;
use crate::optimizer::Moments;
use crate::state::State;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Where the state lies.
pub(super) fn state(course: &Course) -> PathBuf {
    course.out.join("state.safetensors")
}

/// What an unfinished run had reached.
pub(crate) struct Resumed<P> {
    pub(crate) step: u64,
    pub(crate) position: P,
    pub(crate) parameters: Vec<f32>,
    pub(crate) moments: Moments,
}

/// The state of an unfinished run of the same recipe; None where the folder holds none.
pub(crate) fn resume<P: DeserializeOwned>(
    course: &Course,
    recipe: &str,
    total: usize,
) -> Result<Option<Resumed<P>>, TrainError> {
    let path = state(course);
    let Some(mut state) = State::<P>::load(&path, recipe)? else {
        return Ok(None);
    };
    Ok(Some(Resumed {
        parameters: state.take(&path, "parameters", total)?,
        moments: Moments {
            first: state.take(&path, "first", total)?,
            second: state.take(&path, "second", total)?,
        },
        step: state.step,
        position: state.position,
    }))
}

/// Writes the recipe; what the log holds behind this step will be done again.
pub(crate) fn begin(course: &Course, recipe: &str, step: u64) -> Result<(), TrainError> {
    trim(&course.out.join("losses.jsonl"), step)?;
    let path = course.out.join("recipe.json");
    write_whole(&path, format!("{recipe}\n").as_bytes())
}

/// Writes down where the steps from here on are computed.
pub(crate) fn note_device(course: &Course, step: u64, device: &str) -> Result<(), TrainError> {
    let line = json!({"from_step": step, "device": device});
    append(&course.out.join("devices.jsonl"), &line.to_string())
}

/// Adds a line to a log.
pub(super) fn append(path: &Path, line: &str) -> Result<(), TrainError> {
    let mut file = mary_contract::append_plain(path).map_err(TrainError::file(path))?;
    writeln!(file, "{line}").map_err(TrainError::file(path))
}

/// Keeps the lines of a log up to a step: what came after it will be done again.
pub(super) fn trim(path: &Path, step: u64) -> Result<(), TrainError> {
    if !path.exists() {
        return Ok(());
    }
    let text = mary_contract::read_plain_text(path, mary_contract::LARGEST_DATA)
        .map_err(TrainError::file(path))?;
    let done = |line: &&str| {
        serde_json::from_str::<serde_json::Value>(line)
            .ok()
            .and_then(|v| v.get("step").and_then(serde_json::Value::as_u64))
            .is_some_and(|s| s <= step)
    };
    let kept: String = text
        .lines()
        .filter(done)
        .map(|line| format!("{line}\n"))
        .collect();
    write_whole(path, kept.as_bytes())
}
