//! How far the shards of a run are, from its folder alone: no engine is asked, so that it works from any
//! machine that sees the folder, and long after the queue has forgotten.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use mary_contract::StoreError;
use mary_store::{RunFolder, ShardEnd, ShardPlace, ShardStatus};
use serde::Serialize;

use crate::cluster::Submissions;
use crate::jsonl;

/// What a shard is doing or waiting for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Everything is answered.
    Complete,
    /// Somebody is at it: which process, on which host.
    Running(String),
    /// It waits for the engine to start it: under which name.
    Queued(String),
    /// A signal stopped it; it waits for being started again.
    Stopped,
    /// It ended without a word: killed, or its node died.
    Died(String),
    /// It ended with failures or an error.
    Failed(String),
    /// It was never submitted.
    New,
}

impl Standing {
    /// Whether a new submission should hold it.
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Complete | Self::Running(_))
    }
}

/// How far a shard is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShardProgress {
    /// Its number, from 0.
    pub index: usize,
    /// How many shards there are.
    pub of: usize,
    /// Samples or checkpoints it has, once it has begun.
    pub planned: Option<usize>,
    /// How many of them are answered.
    pub done: usize,
    /// How many of them failed.
    pub failed: usize,
    /// How many a second since it was started last.
    pub rate: Option<f64>,
    /// What it does or waits for.
    pub standing: Standing,
}

/// Numbers of shards that the folder knows of, in ascending order: `3` where it was divided by three.
pub fn divisions(folder: &Path) -> Result<Vec<usize>, StoreError> {
    let mut all: BTreeSet<usize> = ShardPlace::all(folder).iter().map(|p| p.of).collect();
    all.extend(Submissions::of(folder)?.all.iter().map(|s| s.of));
    Ok(all.into_iter().collect())
}

/// Shards that are looked at one by one, at most. A folder from elsewhere can name any number.
const MOST_SHARDS: usize = 100_000;

/// Every shard of a folder that was divided into so many.
pub fn shards(folder: &Path, of: usize) -> Result<Vec<ShardProgress>, StoreError> {
    if of > MOST_SHARDS {
        return Err(StoreError::Mismatch(format!(
            "{} is said to be divided into {of} shards; at most {MOST_SHARDS} are looked at\nhint: look at submit/submitted.jsonl and the names under shards/",
            folder.display()
        )));
    }
    let submissions = Submissions::of(folder)?;
    (0..of)
        .map(|index| {
            let place = ShardPlace::new(folder, index, of);
            let submitted = submissions.last_of(index, of).map(|s| {
                let task = s.task_of(index).map(|(job, task)| format!(" {job}_{task}"));
                let engine = serde_json::to_value(s.engine).ok();
                let engine = engine.as_ref().and_then(|e| e.as_str()).unwrap_or_default();
                Submitted {
                    at: s.at,
                    name: format!("{engine}{}", task.unwrap_or_default()),
                    lost: s.submitter_is_dead(),
                }
            });
            shard(&place, submitted.as_ref())
        })
        .collect()
}

struct Submitted {
    at: u64,
    name: String,
    /// The process that would have started it, where there is one, is dead: nobody will.
    lost: Option<String>,
}

impl Submitted {
    fn standing(&self) -> Standing {
        match &self.lost {
            Some(who) => Standing::Died(who.clone()),
            None => Standing::Queued(self.name.clone()),
        }
    }
}

fn shard(place: &ShardPlace, submitted: Option<&Submitted>) -> Result<ShardProgress, StoreError> {
    let status = place.status()?;
    let (done, failed) = counts(place)?;
    let planned = status.as_ref().map(|s| s.planned);
    let standing = match (&status, place.at_work()) {
        (_, Some(holder)) => Standing::Running(holder.to_string()),
        (Some(status), None) if done >= status.planned && failed == 0 => Standing::Complete,
        (status, None) => match (place.killed(), submitted) {
            // It was submitted again since it was killed, or since it was started last.
            (Some((_, seen)), Some(submitted)) if submitted.at > seen => submitted.standing(),
            // A lock is left behind by nobody else; the shard may not have come to write its status.
            (Some((holder, _)), _) => Standing::Died(holder.to_string()),
            (None, submitted) => match (status, submitted) {
                (Some(status), Some(submitted))
                    if submitted.at > status.started && status.end.is_some() =>
                {
                    submitted.standing()
                }
                (Some(status), _) => ended(status, failed),
                (None, Some(submitted)) => submitted.standing(),
                (None, None) => Standing::New,
            },
        },
    };
    Ok(ShardProgress {
        index: place.index,
        of: place.of,
        planned,
        done,
        failed,
        rate: status.as_ref().and_then(|s| rate(place, s, done)),
        standing,
    })
}

fn ended(status: &ShardStatus, failed: usize) -> Standing {
    match &status.end {
        None => Standing::Died(status.process.to_string()),
        Some(ShardEnd::Interrupted) => Standing::Stopped,
        Some(ShardEnd::Failed(message)) => Standing::Failed(message.clone()),
        Some(ShardEnd::Done) => Standing::Failed(format!("{failed} failed")),
    }
}

/// Answered and failed samples of a run's shard, or checkpoints of a sweep's.
fn counts(place: &ShardPlace) -> Result<(usize, usize), StoreError> {
    if place.path.join("manifest.json").exists() {
        let finished = RunFolder::open(&place.path)?.finished_ids()?;
        return Ok((finished.len() - finished.failed(), finished.failed()));
    }
    let list = place.path.join("checkpoints.jsonl");
    let (lines, _) = jsonl::lines(&list).unwrap_or_default();
    let mut whole: BTreeSet<String> = BTreeSet::new();
    let mut broken: BTreeSet<String> = BTreeSet::new();
    for line in lines {
        let Ok(record) = serde_json::from_str::<serde_json::Value>(&line) else {
            continue;
        };
        let model = record["model"].as_str().unwrap_or_default().to_owned();
        if record["ending"]["run"]["complete"] == true {
            broken.remove(&model);
            whole.insert(model);
        } else if !whole.contains(&model) {
            broken.insert(model);
        }
    }
    Ok((whole.len(), broken.len()))
}

fn rate(place: &ShardPlace, status: &ShardStatus, done: usize) -> Option<f64> {
    let log = ["samples.jsonl", "checkpoints.jsonl"]
        .iter()
        .find_map(|name| fs::metadata(place.path.join(name)).ok()?.modified().ok());
    let written = log?.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    let seconds = written.min(now() as f64) - status.started as f64;
    let made = done.saturating_sub(status.already);
    (made > 0).then(|| made as f64 / seconds.max(1.0))
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Engine, Submission};
    use mary_store::Holder;

    fn status(index: usize, end: Option<ShardEnd>) -> ShardStatus {
        ShardStatus {
            index,
            of: 5,
            planned: 2,
            whole: 10,
            already: 0,
            share: 0.2,
            process: Holder::this(),
            job: None,
            started: 1000,
            ended: end.as_ref().map(|_| 1010),
            end,
        }
    }

    #[test]
    fn the_folder_alone_tells_what_every_shard_waits_for() {
        let folder = tempfile::tempdir().unwrap();
        let place = |index| ShardPlace::new(folder.path(), index, 5);
        let record = |model: &str, complete: bool| {
            format!(
                "{{\"model\":\"{model}\",\"ending\":{{\"run\":{{\"folder\":\"x\",\"complete\":{complete}}}}}}}\n"
            )
        };
        for (index, end, log) in [
            (
                0,
                Some(ShardEnd::Done),
                record("a", true) + &record("b", true),
            ),
            (1, None, record("c", true)),
            (2, Some(ShardEnd::Interrupted), String::new()),
            (
                3,
                Some(ShardEnd::Failed("no room".into())),
                record("d", false),
            ),
        ] {
            place(index).write_status(&status(index, end)).unwrap();
            fs::write(place(index).path.join("checkpoints.jsonl"), log).unwrap();
        }
        let all = shards(folder.path(), 5).unwrap();
        let standing = |index: usize| &all[index].standing;
        assert_eq!(standing(0), &Standing::Complete);
        assert!(matches!(standing(1), Standing::Died(_)));
        assert_eq!(standing(2), &Standing::Stopped);
        assert_eq!(standing(3), &Standing::Failed("no room".into()));
        assert_eq!(standing(4), &Standing::New);
        assert_eq!((all[1].done, all[3].failed), (1, 1));
        let mut submissions = Submissions::of(folder.path()).unwrap();
        submissions
            .note(Submission {
                number: 1,
                engine: Engine::Slurm,
                of: 5,
                shards: vec![2, 4],
                jobs: vec!["17".into()],
                array_limit: 1000,
                merge: None,
                at: 2000,
                submitter: None,
            })
            .unwrap();
        let all = shards(folder.path(), 5).unwrap();
        assert_eq!(all[4].standing, Standing::Queued("slurm 17_1".into()));
        assert_eq!(all[2].standing, Standing::Queued("slurm 17_0".into()));
        assert_eq!(divisions(folder.path()).unwrap(), [5]);
    }

    /// Killed before it wrote its status, or while whoever starts the shards was killed too: nobody will
    /// start it, and it must not be said to wait.
    #[test]
    fn a_killed_shard_does_not_wait_for_an_engine() {
        let folder = tempfile::tempdir().unwrap();
        let mut dead = Holder::this();
        dead.started += 1;
        let mut submissions = Submissions::of(folder.path()).unwrap();
        let submission = |number, submitter: Option<Holder>| Submission {
            number,
            engine: Engine::Local,
            of: 3,
            shards: vec![0, 1],
            jobs: Vec::new(),
            array_limit: usize::MAX,
            merge: None,
            at: 1000,
            submitter,
        };
        submissions
            .note(submission(1, Some(Holder::this())))
            .unwrap();
        let standing = |index: usize| shards(folder.path(), 3).unwrap()[index].standing.clone();
        assert_eq!(standing(0), Standing::Queued("local".into()));
        // Shard 0 left its lock behind and nothing else.
        let place = ShardPlace::new(folder.path(), 0, 3);
        fs::create_dir_all(&place.path).unwrap();
        let lock = place.path.join("run.lock");
        fs::write(&lock, serde_json::to_string(&dead).unwrap()).unwrap();
        assert_eq!(standing(0), Standing::Died(dead.to_string()));
        assert_eq!(standing(1), Standing::Queued("local".into()));
        // An earlier end says nothing about the process that was killed since.
        let mut before = status(0, Some(ShardEnd::Interrupted));
        before.of = 3;
        place.write_status(&before).unwrap();
        assert_eq!(standing(0), Standing::Died(dead.to_string()));
        // The process that starts shards is dead as well.
        submissions.note(submission(2, Some(dead.clone()))).unwrap();
        assert_eq!(standing(1), Standing::Died(dead.to_string()));
        assert_eq!(standing(2), Standing::New);
    }
}
