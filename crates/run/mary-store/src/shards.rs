//! The parts of a run that several processes make side by side, inside its folder:
//! `shards/003-of-016/` is a run folder of its own with the manifest of the whole, and `shard.json` in
//! it says how far it is and who is at it, so that nothing but the folder is needed to tell.

use std::fs;
use std::path::{Path, PathBuf};

use mary_contract::{RunManifest, StoreError};
use mary_platform::open_plain;
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::fault::{Result, io_at};
use crate::folder::{MANIFEST, folder_name, read_json};
use crate::join::MergeReport;
use crate::lease::{self, Holder};
use crate::manifest::difference;
use crate::merge::{join_into, shards_of};
use crate::{ResponseCache, RunFolder, network_file_system, plan};

/// Where parts lie in a run or sweep folder.
pub const SHARDS: &str = "shards";
const STATUS: &str = "shard.json";
pub const SHARD_CACHE: &str = "answers.sqlite";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardEnd {
    Done,
    /// A signal stopped it; it can go on.
    Interrupted,
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardStatus {
    /// Which part, from 0.
    pub index: usize,
    pub of: usize,
    /// Samples, or checkpoints of a sweep.
    pub planned: usize,
    /// Samples, or checkpoints, of the whole.
    pub whole: usize,
    /// How many were there when it was started last.
    pub already: usize,
    pub share: f64,
    /// Who is or was at it.
    pub process: Holder,
    /// The engine's name for the job, where one started it: `slurm 17_3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Seconds since 1970.
    pub started: u64,
    /// Seconds since 1970, once it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ShardEnd>,
}

impl ShardStatus {
    #[must_use]
    pub fn ended(mut self, end: ShardEnd) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        self.ended = Some(now.map_or(0, |since| since.as_secs()));
        self.end = Some(end);
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardPlace {
    /// Which part, from 0.
    pub index: usize,
    pub of: usize,
    pub path: PathBuf,
}

impl ShardPlace {
    /// The place of a part in a run or sweep folder.
    pub fn new(run: &Path, index: usize, of: usize) -> Self {
        let path = run.join(SHARDS).join(format!("{index:03}-of-{of:03}"));
        Self { index, of, path }
    }

    /// Every part in a run or sweep folder, in order.
    pub fn all(run: &Path) -> Vec<Self> {
        let entries = fs::read_dir(run.join(SHARDS)).into_iter().flatten();
        let mut places: Vec<Self> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let (index, of) = name.split_once("-of-")?;
                Some(Self {
                    index: index.parse().ok()?,
                    of: of.parse().ok()?,
                    path: entry.path(),
                })
            })
            .collect();
        places.sort_by_key(|place| (place.of, place.index));
        places
    }

    /// What it says about itself; `None` before it was started.
    pub fn status(&self) -> Result<Option<ShardStatus>> {
        let path = self.path.join(STATUS);
        let hint = "delete it; the shard writes it again when it is started";
        path.exists().then(|| read_json(&path, hint)).transpose()
    }

    pub fn write_status(&self, status: &ShardStatus) -> Result<()> {
        fs::create_dir_all(&self.path).map_err(io_at(&self.path))?;
        atomic::write_json(&self.path.join(STATUS), status)
    }

    /// Notes which items, by model, task and id, this shard is there for, in `plan.jsonl` of its folder.
    /// Joining lets no other in. Done before the first answer, whenever the shard is started.
    pub fn write_plan<'a>(
        folder: &RunFolder,
        items: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
    ) -> Result<()> {
        plan::write(folder, items)
    }

    /// Makes sure that one process at a time works on a shard whose folder holds no log of its own.
    pub fn lock(&self) -> Result<ShardLock> {
        fs::create_dir_all(&self.path).map_err(io_at(&self.path))?;
        lease::Lock::take(&self.path).map(|lock| ShardLock { _lock: lock })
    }

    /// Begins the cache of a shard on this node, at `local`: what the shard kept before, on whatever
    /// node, is taken over.
    pub fn fetch_cache(&self, local: &Path) -> Result<()> {
        let kept = self.path.join(SHARD_CACHE);
        if local.exists() || !kept.exists() {
            return Ok(());
        }
        let mut cache = ResponseCache::open(local)?;
        take_in(&mut cache, &kept, self.index).map(|_| ())
    }

    /// Keeps the shard's cache in its folder, where merging finds it.
    pub fn keep_cache(&self, local: &Path) -> Result<()> {
        if !local.exists() {
            return Ok(());
        }
        ResponseCache::open(local)?.copy_to(&self.path.join(SHARD_CACHE))
    }

    /// Whether a process is at it, as far as can be told: on this host for certain, on another by what
    /// its lock says.
    pub fn at_work(&self) -> Option<Holder> {
        let holder = lease::holder(&self.path)?;
        let lives = holder
            .lives()
            .unwrap_or_else(|| !lease::is_silent(&self.path));
        lives.then_some(holder)
    }

    /// The process that left its lock behind: it was killed, or its node died. With the time, in seconds
    /// since 1970, at which it was last seen.
    pub fn killed(&self) -> Option<(Holder, u64)> {
        let holder = lease::holder(&self.path)?;
        match self.at_work() {
            Some(_) => None,
            None => Some((holder, lease::last_seen(&self.path).unwrap_or(0))),
        }
    }
}

/// A shard that is held by this process until this is dropped.
pub struct ShardLock {
    _lock: lease::Lock,
}

impl RunFolder {
    /// Makes the folder of a run with its manifest and nothing else, or checks that the one that is
    /// there is this run's. Takes no lock: the parts of a run, which all do this, begin at the same
    /// moment, and whose manifest stays does not matter.
    pub fn found(root: &Path, manifest: &RunManifest) -> Result<Self> {
        let path = root.join(folder_name(&manifest.id)?);
        fs::create_dir_all(&path).map_err(io_at(&path))?;
        if !path.join(MANIFEST).exists() {
            atomic::write_json(&path.join(MANIFEST), manifest)?;
        }
        let found = Self::open(&path)?;
        match difference(found.manifest(), manifest)? {
            None => Ok(found),
            Some(field) => Err(StoreError::Mismatch(format!(
                "{}: this folder belongs to another run; {field}\n\
                 hint: choose another folder with --output-path",
                path.display()
            ))),
        }
    }
}

/// Joins every part that lies in a run's folder into its log. Parts that are not there yet, or not
/// whole, are no error; what they lack is lacking afterwards.
pub fn join_shards(run: &Path) -> Result<MergeReport> {
    join_into(run, &shards_of(run))
}

/// Takes the answers that shards kept into one cache; returns how many were new. The shards' files are
/// only read, and may lie on a network file system.
pub fn join_caches(cache: &mut ResponseCache, run: &Path) -> Result<u64> {
    let mut new = 0;
    for place in ShardPlace::all(run) {
        let file = place.path.join(SHARD_CACHE);
        if file.exists() {
            new += take_in(cache, &file, place.index)?;
        }
    }
    Ok(new)
}

/// Takes a cache file in. SQLite is not let near one on a network file system: a copy on this machine
/// is read.
fn take_in(cache: &mut ResponseCache, file: &Path, index: usize) -> Result<u64> {
    if network_file_system(file).is_none() {
        return cache.absorb(file);
    }
    let name = format!("mary-join-{}-{index}.sqlite", std::process::id());
    let copy = std::env::temp_dir().join(name);
    // Others write to the folder of temporary files too: a link that waits there is not followed.
    let mut new = fs::File::create_new(&copy).map_err(io_at(&copy))?;
    let copied = open_plain(file).and_then(|mut old| std::io::copy(&mut old, &mut new));
    copied.map_err(io_at(&copy))?;
    let absorbed = cache.absorb(&copy);
    let _ = fs::remove_file(&copy);
    absorbed
}
