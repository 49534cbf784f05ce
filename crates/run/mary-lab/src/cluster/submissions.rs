//! What was submitted for a run, in `submit/submitted.jsonl` of its folder: one line each.

use std::fs;
use std::path::{Path, PathBuf};

use mary_contract::StoreError;
use mary_platform::replace_file;
use mary_store::Holder;
use serde::{Deserialize, Serialize};

use crate::cluster::job::{Engine, Script, submit_folder};
use crate::jsonl::{self, at};

/// One submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// Counted from 1 in the folder of the run.
    pub number: usize,
    /// The engine that runs it.
    pub engine: Engine,
    /// How many shards the work has.
    pub of: usize,
    /// Those that were submitted, in the order of the engine's tasks.
    pub shards: Vec<usize>,
    /// Names that the engine gave: one for each array.
    pub jobs: Vec<String>,
    /// Tasks of one array, at most.
    pub array_limit: usize,
    /// The engine's name for the merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// When, in seconds since 1970.
    pub at: u64,
    /// The process that starts the shards, where no engine does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitter: Option<Holder>,
}

impl Submission {
    /// The engine's names of a shard: job and task.
    pub fn task_of(&self, shard: usize) -> Option<(&str, usize)> {
        let place = self.shards.iter().position(|&s| s == shard)?;
        let limit = self.array_limit.max(1);
        let job = self.jobs.get(place / limit)?;
        Some((job, place % limit))
    }

    /// The process that would have started the shards, if it is known to be dead.
    pub fn submitter_is_dead(&self) -> Option<String> {
        let submitter = self.submitter.as_ref()?;
        (submitter.lives() == Some(false)).then(|| submitter.to_string())
    }
}

/// Everything that was submitted for a run.
#[derive(Debug)]
pub struct Submissions {
    folder: PathBuf,
    /// Every submission, oldest first.
    pub all: Vec<Submission>,
}

impl Submissions {
    /// Those of a run or sweep folder.
    pub fn of(folder: &Path) -> Result<Self, StoreError> {
        let folder = submit_folder(folder);
        let path = folder.join("submitted.jsonl");
        let hint = "delete the line; its shards are then taken for never submitted";
        let all = jsonl::read(&path, "a submission", hint)?;
        Ok(Self { folder, all })
    }

    /// The number of the next one.
    pub fn next(&self) -> usize {
        self.all
            .iter()
            .map(|s| s.number)
            .max()
            .unwrap_or(0)
            .saturating_add(1)
    }

    /// Writes the scripts of a submission; shell scripts can be started.
    pub fn write(&self, scripts: &[Script]) -> Result<(), StoreError> {
        fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        for script in scripts {
            let path = self.folder.join(&script.name);
            replace_file(&path, script.text.as_bytes()).map_err(at(&path))?;
            // Where there are no such permissions, no scheduler of ours runs either.
            #[cfg(unix)]
            if script.name.ends_with(".sh") {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(&path, mode).map_err(at(&path))?;
            }
        }
        Ok(())
    }

    /// Notes that it was submitted.
    pub fn note(&mut self, submission: Submission) -> Result<(), StoreError> {
        jsonl::append(&self.folder.join("submitted.jsonl"), &submission)?;
        self.all.push(submission);
        Ok(())
    }

    /// The last submission that held a shard of so many.
    pub fn last_of(&self, shard: usize, of: usize) -> Option<&Submission> {
        let mut all = self.all.iter().rev();
        all.find(|s| s.of == of && s.shards.contains(&shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder may come from elsewhere.
    #[test]
    fn a_foreign_list_neither_waits_nor_writes_elsewhere_nor_overflows() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("submit/submitted.jsonl");
        fs::create_dir_all(folder.path().join("submit")).unwrap();
        let submission = |number| Submission {
            number,
            engine: Engine::Slurm,
            of: 1,
            shards: vec![0],
            jobs: vec!["17".into()],
            array_limit: 0,
            merge: None,
            at: u64::MAX,
            submitter: None,
        };
        let line = serde_json::to_string(&submission(usize::MAX)).unwrap();
        fs::write(&list, format!("{line}\n")).unwrap();
        let mut all = Submissions::of(folder.path()).unwrap();
        assert_eq!(all.next(), usize::MAX);
        let line = line.replace("\"of\":1", "\"of\":4000000000");
        fs::write(&list, format!("{line}\n")).unwrap();
        let of = crate::cluster::progress::divisions(folder.path()).unwrap();
        let error = crate::cluster::progress::shards(folder.path(), of[0]).unwrap_err();
        assert!(error.to_string().contains("4000000000 shards"), "{error}");
        fs::remove_file(&list).unwrap();
        let theirs = folder.path().join("diary");
        fs::write(&theirs, "mine").unwrap();
        std::os::unix::fs::symlink(&theirs, &list).unwrap();
        assert!(all.note(submission(1)).is_err());
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine");
        fs::remove_file(&list).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&list).status();
        assert!(made.unwrap().success());
        let error = Submissions::of(folder.path()).unwrap_err();
        assert!(error.to_string().contains("FIFO"), "{error}");
    }

    #[test]
    fn what_was_submitted_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Submissions::of(folder.path()).unwrap();
        assert_eq!(all.next(), 1);
        let submission = Submission {
            number: 1,
            engine: Engine::Slurm,
            of: 8,
            shards: vec![1, 4, 6],
            jobs: vec!["17".into(), "18".into()],
            array_limit: 2,
            merge: Some("19".into()),
            at: 0,
            submitter: None,
        };
        all.note(submission.clone()).unwrap();
        let again = Submissions::of(folder.path()).unwrap();
        assert_eq!(
            (again.all.as_slice(), again.next()),
            ([submission].as_slice(), 2)
        );
        let last = again.last_of(6, 8).unwrap();
        assert_eq!(last.task_of(6), Some(("18", 0)));
        assert_eq!(last.task_of(4), Some(("17", 1)));
        assert!(again.last_of(0, 8).is_none() && again.last_of(6, 9).is_none());
    }
}
