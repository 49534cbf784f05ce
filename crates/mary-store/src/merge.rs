//! Shards of one run, made anywhere, put together in any order with the same bytes as a result.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use mary_contract::{Outcome, RunManifest, SampleId, StoreError};

use crate::line;
use crate::manifest::shard_difference;
use crate::{RunFolder, run_digest};

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeReport {
    /// The new folder.
    pub path: PathBuf,
    /// Samples in it.
    pub samples: usize,
    /// Copies that were left out because the same sample was there already.
    pub duplicates: usize,
    /// Failures that an answer from another shard replaced.
    pub replaced: usize,
}

struct Place {
    source: usize,
    offset: u64,
    failed: bool,
    content: [u8; 32],
}

/// Merges run folders into a new one under `root`, its samples sorted by id. The sources are only
/// read. The same sample with different content in two shards is a conflict: it is reported, and
/// nothing is written.
pub fn merge(root: &Path, sources: &[&Path]) -> Result<MergeReport, StoreError> {
    let folders = sources
        .iter()
        .map(|path| RunFolder::open(path))
        .collect::<Result<Vec<_>, _>>()?;
    let manifest = merged_manifest(&folders)?;
    let mut report = MergeReport {
        path: root.join(&manifest.id),
        samples: 0,
        duplicates: 0,
        replaced: 0,
    };
    if report.path.join("manifest.json").exists() {
        return Err(StoreError::Mismatch(format!(
            "{} is there already\nhint: merge into an empty folder",
            report.path.display()
        )));
    }
    let places = union(&folders, &mut report)?;
    let mut target = RunFolder::create_or_open(root, &manifest)?;
    let mut seekers = folders
        .iter()
        .map(RunFolder::seeker)
        .collect::<Result<Vec<_>, _>>()?;
    for place in places.values() {
        if let Some(seeker) = seekers.get_mut(place.source) {
            target.append(&seeker.sample(place.offset)?)?;
        }
    }
    target.flush()?;
    report.samples = places.len();
    Ok(report)
}

fn union(
    folders: &[RunFolder],
    report: &mut MergeReport,
) -> Result<BTreeMap<SampleId, Place>, StoreError> {
    let mut places = BTreeMap::new();
    let mut conflicts = Vec::new();
    let mut canonical = Vec::new();
    for (source, folder) in folders.iter().enumerate() {
        let mut seeker = folder.seeker()?;
        for verdict in folder.verdicts()? {
            let offset = verdict?.offset;
            // Hashed in our own form: the order of keys or spaces is not content.
            let sample = seeker.sample(offset)?;
            canonical.clear();
            line::write(&sample, &mut canonical)
                .map_err(|e| StoreError::Mismatch(format!("a sample cannot be written: {e}")))?;
            let place = Place {
                source,
                offset,
                failed: matches!(sample.judgement.outcome, Outcome::Failed(_)),
                content: *blake3::hash(&canonical).as_bytes(),
            };
            match places.entry(sample.id) {
                Entry::Vacant(slot) => {
                    slot.insert(place);
                }
                Entry::Occupied(mut slot) => match choose(slot.get(), &place) {
                    Choice::Same => report.duplicates += 1,
                    Choice::Old => report.replaced += 1,
                    Choice::New => {
                        report.replaced += 1;
                        slot.insert(place);
                    }
                    Choice::Conflict => {
                        conflicts.push((slot.key().clone(), slot.get().source, source))
                    }
                },
            }
        }
    }
    if conflicts.is_empty() {
        return Ok(places);
    }
    Err(conflict(folders, &conflicts))
}

enum Choice {
    Same,
    Old,
    New,
    Conflict,
}

fn choose(old: &Place, new: &Place) -> Choice {
    match (old.failed, new.failed) {
        _ if old.content == new.content => Choice::Same,
        (true, false) => Choice::New,
        (false, true) => Choice::Old,
        // Two different failures: which one stays must not depend on the order of the shards.
        (true, true) if new.content < old.content => Choice::New,
        (true, true) => Choice::Old,
        (false, false) => Choice::Conflict,
    }
}

fn conflict(folders: &[RunFolder], conflicts: &[(SampleId, usize, usize)]) -> StoreError {
    let name = |i: &usize| {
        folders
            .get(*i)
            .map_or_else(String::new, |f| f.path().display().to_string())
    };
    let mut text = format!(
        "{} samples have different content in two shards; nothing was written:",
        conflicts.len()
    );
    for (id, a, b) in conflicts.iter().take(10) {
        text.push_str(&format!(
            "\n  {} in {} and {}",
            line::describe(&id.model, &id.task, &id.item, id.trial),
            name(a),
            name(b)
        ));
    }
    text.push_str("\nhint: these are not shards of one run; merge only one of the folders");
    StoreError::Mismatch(text)
}

/// One manifest for all: the union of models and tasks, sorted; the rest from the earliest shard.
fn merged_manifest(folders: &[RunFolder]) -> Result<RunManifest, StoreError> {
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
fn same_questions(a: &RunManifest, b: &RunManifest) -> Result<(), StoreError> {
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
