//! `mary tasks import`: task files of lm-evaluation-harness, and why some are refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_taskfile::lm_eval::{Config, HarnessError, HarnessTask, Merged, Shape, reason, templates};
use serde_json::{Value, json};

use crate::exit::{Status, usage_error};
use crate::own;
use crate::settings::Place;

/// Reads a file, a group or a folder; leaves with 1 where something was refused.
pub fn import(place: &Place, file: &Path, to: Option<&Path>) -> anyhow::Result<Status> {
    let all = if file.is_dir() {
        folder(file)?
    } else {
        mary_taskfile::lm_eval::read(file)?
    };
    let total = all.len();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let places = own::places(place);
    let mut read = 0;
    for config in all {
        let config = config.and_then(|c| templates(&c).map(|_| c));
        let config = match config {
            Ok(config) => config,
            Err(error) => {
                *refused.entry(reason(&error)).or_default() += 1;
                if !file.is_dir() {
                    super::print(&format!("refused: {error}\n"))?;
                }
                continue;
            }
        };
        read += 1;
        if let Some(to) = to {
            let path = write(&config, to)?;
            super::print(&format!("{}\n", path.display()))?;
        } else if !file.is_dir() {
            super::print(&described(&config))?;
            match HarnessTask::new(config, &places) {
                Ok(task) => {
                    let rows = task.made(&mary_contract::TaskSettings::default());
                    let count = rows.map(|r| r.take_while(Result::is_ok).count());
                    let count = count.map_or_else(|e| e.to_string(), |n| format!("{n} rows"));
                    super::print(&format!("  data: found, {count}\n"))?;
                }
                Err(error) => super::print(&format!("  data: {error}\n"))?,
            }
        }
    }
    super::print(&format!("{read} of {total} tasks are read\n"))?;
    for (why, n) in &refused {
        super::print(&format!("{n:6} refused: {why}\n"))?;
    }
    Ok(Status::done_if(refused.is_empty()))
}

fn described(config: &Config) -> String {
    let metrics: Vec<&str> = config.metrics.iter().map(|m| m.name()).collect();
    let mut text = format!(
        "{}\n  {} by {}, {} shots\n",
        config.task,
        config.output.name(),
        metrics.join(", "),
        config.shots.count
    );
    if !config.left_out.is_empty() {
        text.push_str(&format!("  not computed: {}\n", config.left_out.join(", ")));
    }
    let dataset = config.dataset.as_deref().unwrap_or("none");
    let name = config.dataset_name.as_deref();
    text.push_str(&format!(
        "  dataset: {dataset}{}, split {}\n",
        name.map(|n| format!(" ({n})")).unwrap_or_default(),
        config.splits.evaluated().unwrap_or("none")
    ));
    text
}

/// All tasks of all files below a folder; groups name what stands there anyway.
fn folder(root: &Path) -> anyhow::Result<Vec<Result<Config, HarnessError>>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut found = Vec::new();
    for file in files {
        match Merged::read(&file) {
            Err(error) => found.push(Err(error)),
            Ok(merged) => {
                if matches!(Shape::from_keys(&merged), Shape::Task | Shape::Class) {
                    found.push(Config::from_merged(&merged));
                }
            }
        }
    }
    if found.is_empty() {
        return usage_error(format!(
            "{}: there is no task file (.yaml) in it",
            root.display()
        ));
    }
    Ok(found)
}

/// Writes a task as one file: a key and its value a line, the value as JSON, which YAML understands.
fn write(config: &Config, to: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    let safe: String = config
        .task
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    let path = to.join(format!("{safe}.yaml"));
    let mut text = format!(
        "# {} with its includes, in one file\n",
        config.path.display()
    );
    let keys = config.whole.as_object().into_iter().flatten();
    for (key, value) in keys.filter(|(_, v)| !v.is_null()) {
        let mut value = value.clone();
        if key == "dataset_kwargs" {
            absolute(config, &mut value);
        }
        text.push_str(&format!("{}: {value}\n", json!(key)));
    }
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path);
    let mut file = match written {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return usage_error(format!(
                "{} is there already and is not written over",
                path.display()
            ));
        }
        other => other.with_context(|| path.display().to_string())?,
    };
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    Ok(path)
}

/// Files beside the task file are named by their whole path, since the copy lies elsewhere.
fn absolute(config: &Config, kwargs: &mut Value) {
    let beside = config.path.parent().unwrap_or(Path::new("")).to_owned();
    fn each(value: &mut Value, beside: &Path) {
        match value {
            Value::String(name) => {
                if let Ok(path) = std::fs::canonicalize(beside.join(&*name)) {
                    *name = path.display().to_string();
                }
            }
            Value::Array(members) => members.iter_mut().for_each(|m| each(m, beside)),
            Value::Object(entries) => entries.values_mut().for_each(|m| each(m, beside)),
            _ => {}
        }
    }
    if let Some(files) = kwargs.get_mut("data_files") {
        each(files, &beside);
    }
}
