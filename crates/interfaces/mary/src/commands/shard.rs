//! One of several parts of a run or sweep, in this process: which part, and its cache on this node.

use std::path::{Path, PathBuf};

use mary_lab::checkpoints::{State, Sweep};
use mary_lab::cluster::progress::now;
use mary_lab::{RunError, Shard, ShardChoice};
use mary_store::{Holder, ShardEnd, ShardLock, ShardPlace, ShardStatus, network_file_system};

use crate::commands::tell;
use crate::exit::UsageError;
use crate::interrupt;

/// The shard meant, with what an engine's environment says.
pub fn resolve(choice: ShardChoice) -> anyhow::Result<Shard> {
    interrupt::under_an_engine();
    let shard = choice.resolve(|name| std::env::var(name).ok());
    Ok(shard.map_err(|e| UsageError::new(e.to_string()))?)
}

pub fn job() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok();
    if let (Some(job), Some(task)) = (
        variable("SLURM_ARRAY_JOB_ID"),
        variable("SLURM_ARRAY_TASK_ID"),
    ) {
        return Some(format!("slurm {job}_{task}"));
    }
    if let (Some(job), Some(task)) = (variable("HQ_JOB_ID"), variable("HQ_TASK_ID")) {
        return Some(format!("hyperqueue {job}.{task}"));
    }
    let index = variable("JOB_COMPLETION_INDEX")?;
    Some(format!(
        "kubernetes {} {index}",
        variable("HOSTNAME").unwrap_or_default()
    ))
}

/// Where a shard keeps answers while it runs: on this node, since a database of answers must not lie
/// where several machines see it. The same shard of the same command finds its file again.
pub fn node_cache(shard: Shard, without: bool) -> Option<PathBuf> {
    if without {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    for word in crate::words::words() {
        hasher.update(word.as_bytes());
        hasher.update(&[0]);
    }
    hasher.update(shard.to_string().as_bytes());
    let here = std::env::current_dir().unwrap_or_default();
    hasher.update(here.as_os_str().as_encoded_bytes());
    let user = std::env::var("USER").unwrap_or_else(|_| "user".into());
    let root = std::env::temp_dir().join(format!("mary-shards-{user}"));
    let folder = root.join(&hasher.finalize().to_hex()[..16]);
    if let Some(kind) = network_file_system(&folder) {
        tell!(
            "note: {} lies on a network file system ({kind}); this shard keeps no cache\n\
             hint: TMPDIR names a folder on a disk of the node",
            folder.display()
        );
        return None;
    }
    match mary_platform::private_folder(&root) {
        Ok(()) => Some(folder.join("answers.sqlite")),
        Err(error) => {
            tell!(
                "note: {}: {error}; this shard keeps no cache\nhint: TMPDIR names a folder of your own on a disk of the node",
                root.display()
            );
            None
        }
    }
}

/// Moves a shard's cache from the node into its folder. The log has every answer, so that a cache that
/// cannot be kept is no failure of the shard.
pub fn keep(place: &ShardPlace, node: &Path, done: bool) {
    match place.keep_cache(node) {
        Err(error) => tell!("note: the shard's cache was not kept: {error}"),
        Ok(()) if done => {
            if let Some(folder) = node.parent() {
                let _ = std::fs::remove_dir_all(folder);
            }
        }
        Ok(()) => {}
    }
}

/// A shard of a sweep while it works: its lock, and what it says about itself.
pub struct Watch {
    place: ShardPlace,
    status: ShardStatus,
    node: Option<PathBuf>,
    _lock: ShardLock,
}

impl Watch {
    pub fn begin(
        folder: &Path,
        shard: Shard,
        sweep: &Sweep<'_>,
        state: &State,
        node: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let place = ShardPlace::new(folder, shard.index, shard.of);
        let lock = place.lock()?;
        let ours = sweep.ours().len();
        let status = ShardStatus {
            index: shard.index,
            of: shard.of,
            planned: ours,
            whole: sweep.members.len(),
            already: ours - sweep.left(state).len(),
            share: ours as f64 / sweep.members.len().max(1) as f64,
            process: Holder::this(),
            job: job(),
            started: now(),
            ended: None,
            end: None,
        };
        place.write_status(&status)?;
        if let Some(node) = node {
            place.fetch_cache(node)?;
        }
        Ok(Self {
            place,
            status,
            node: node.map(Path::to_owned),
            _lock: lock,
        })
    }

    /// Says how it ended, and keeps its cache.
    pub fn end(self, ended: &Result<(), RunError>) -> anyhow::Result<()> {
        let end = match ended {
            Ok(()) => ShardEnd::Done,
            Err(error) if error.is_interrupt() => ShardEnd::Interrupted,
            Err(error) => ShardEnd::Failed(error.to_string()),
        };
        if let Some(node) = &self.node {
            keep(&self.place, node, ended.is_ok());
        }
        Ok(self.place.write_status(&self.status.ended(end))?)
    }
}
