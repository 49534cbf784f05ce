//! Shards of one run, made anywhere, put together in any order with the same bytes as a result.

use std::fs;
use std::path::{Path, PathBuf};

use mary_contract::{RunManifest, StoreError};

use crate::atomic;
use crate::fault::{Result, io_at};
use crate::folder::{MANIFEST, SAMPLES, folder_name};
use crate::join::{JoinedLog, MergeReport, join};
use crate::lease::Lock;
use crate::manifest::{difference, shard_difference};
use crate::{RunFolder, ShardPlace, run_digest};

/// Merges run folders into one under `root`, its samples sorted by id: their logs, and those of the shards
/// that lie in them. The sources are only read. The same sample with different content in two folders is a
/// conflict: it is reported, and nothing is written. Done again, with more folders or the same, it takes
/// in what is new.
pub fn merge(root: &Path, sources: &[&Path]) -> Result<MergeReport> {
    let mut folders = Vec::new();
    let mut logs = Vec::new();
    for (place, path) in sources.iter().enumerate() {
        let folder = RunFolder::open(path)?;
        logs.push(source(&folder, place + 1));
        for shard in shards_of(path) {
            let shard = part_of(&folder, &shard)?;
            logs.push(source(&shard, place + 1));
        }
        folders.push(folder);
    }
    let manifest = merged_manifest(&folders)?;
    let path = root.join(folder_name(&manifest.id)?);
    logs.insert(0, replaced(&path, &manifest));
    let fresh = !path.join(MANIFEST).exists();
    let made: Vec<PathBuf> = [root, &path]
        .iter()
        .filter(|p| !p.exists())
        .map(|p| p.to_path_buf())
        .collect();
    fs::create_dir_all(&path).map_err(io_at(&path))?;
    let joined = {
        let _lock = Lock::take(&path)?;
        join(&manifest, &logs, &path.join(SAMPLES))
    };
    let counts = match joined {
        Ok(counts) => counts,
        Err(error) => {
            // Nothing was written, so nothing is left behind.
            if fresh {
                let _ = fs::remove_file(path.join(crate::lease::FILE));
                for folder in made.iter().rev() {
                    let _ = fs::remove_dir(folder);
                }
            }
            return Err(error);
        }
    };
    if fresh {
        atomic::write_json(&path.join(MANIFEST), &manifest)?;
    }
    Ok(MergeReport { path, ..counts })
}

/// Joins parts of one run into its own folder: what its log holds already, and the logs of folders with
/// the same manifest. The parts are only read. A sample that was answered twice keeps its first answer.
pub fn join_into(run: &Path, parts: &[PathBuf]) -> Result<MergeReport> {
    let whole = RunFolder::open(run)?;
    let mut logs = vec![replaced(run, whole.manifest())];
    for part in parts {
        logs.push(source(&part_of(&whole, part)?, 0));
    }
    let _lock = Lock::take(run)?;
    Ok(MergeReport {
        path: run.to_owned(),
        ..join(whole.manifest(), &logs, &run.join(SAMPLES))?
    })
}

/// The shards in a run's folder that have begun.
pub(crate) fn shards_of(run: &Path) -> Vec<PathBuf> {
    ShardPlace::all(run)
        .into_iter()
        .map(|place| place.path)
        .filter(|path| path.join(MANIFEST).exists())
        .collect()
}

/// A part of a run, if that is what it is.
fn part_of(whole: &RunFolder, part: &Path) -> Result<RunFolder> {
    let folder = RunFolder::open(part)?;
    match difference(whole.manifest(), folder.manifest())? {
        None => Ok(folder),
        Some(field) => Err(StoreError::Mismatch(format!(
            "{} is no part of run {}; {field}\nhint: nothing was written; move the folder away",
            part.display(),
            whole.manifest().id
        ))),
    }
}

fn source(folder: &RunFolder, place: usize) -> JoinedLog {
    JoinedLog {
        log: folder.path().join(SAMPLES),
        run: folder.manifest().id.clone(),
        folder: place,
        replaced: false,
    }
}

/// What a joined log holds from before.
fn replaced(folder: &Path, manifest: &RunManifest) -> JoinedLog {
    JoinedLog {
        log: folder.join(SAMPLES),
        run: manifest.id.clone(),
        folder: 0,
        replaced: true,
    }
}

/// One manifest for all: the union of models and tasks, sorted; the rest from the earliest shard.
fn merged_manifest(folders: &[RunFolder]) -> Result<RunManifest> {
    let mut manifests: Vec<&RunManifest> = folders.iter().map(RunFolder::manifest).collect();
    manifests.sort_by(|a, b| (&a.created, &a.command).cmp(&(&b.created, &b.command)));
    let Some((first, rest)) = manifests.split_first() else {
        return Err(StoreError::Mismatch(
            "nothing to merge\nhint: name at least one run folder".into(),
        ));
    };
    let mut merged = (*first).clone();
    for other in rest {
        same_questions(&merged, other)?;
        if let Some(field) = shard_difference(&merged, other)? {
            return Err(StoreError::Mismatch(format!(
                "run {} and run {} are not shards of one run; {field}",
                merged.id, other.id
            )));
        }
        for model in &other.models {
            if merged.models.iter().all(|m| m.model != model.model) {
                merged.models.push(model.clone());
            }
        }
        for task in &other.tasks {
            if merged.tasks.iter().all(|t| t.id != task.id) {
                merged.tasks.push(task.clone());
            }
        }
        if merged.judge.is_none() {
            merged.judge.clone_from(&other.judge);
        }
    }
    merged.models.sort_by(|a, b| a.model.cmp(&b.model));
    merged.tasks.sort_by(|a, b| a.id.cmp(&b.id));
    let digest = run_digest(&merged)?;
    merged.id = format!("merged-{}", digest.get(..12).unwrap_or(&digest));
    Ok(merged)
}

/// Shards of one run ask the same questions and judge them alike; where they do not, what differs is
/// said in the user's words.
fn same_questions(a: &RunManifest, b: &RunManifest) -> Result<()> {
    for task in &a.tasks {
        let Some(other) = b.task(&task.id) else {
            continue;
        };
        let differences = task.differences(other);
        if !differences.is_empty() {
            let said: Vec<String> = differences.iter().map(ToString::to_string).collect();
            return Err(StoreError::Mismatch(format!(
                "run {} and run {} do not ask the same question: {}: {}; nothing was written\nhint: merge \
                 runs of the same settings, and set the others side by side with `mary report` or \
                 `mary compare --across`",
                a.id,
                b.id,
                task.id,
                said.join(", ")
            )));
        }
    }
    Ok(())
}
