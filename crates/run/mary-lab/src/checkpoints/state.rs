//! What a sweep has done: `sweep.json` says what it is, `checkpoints.jsonl` has a line for each finished
//! checkpoint. A torn last line (a kill) is left out; its checkpoint is done again, from its own log.

use std::path::{Component, Path, PathBuf};

use crate::Shard;
use mary_contract::StoreError;
use mary_platform::replace_file;
use mary_store::ShardPlace;
use serde::{Deserialize, Serialize};

use crate::checkpoints::faults::faults;
use crate::checkpoints::inspect::Inspection;
use crate::checkpoints::members::Member;
use crate::jsonl::{self, at};

/// The end of a checkpoint's story.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It was run; the folder's name below `runs/`.
    Run {
        /// The name of the run folder below `runs/`.
        folder: String,
        /// Whether every sample is there.
        complete: bool,
    },
    /// It could not be read or loaded.
    Unreadable {
        /// Why, as the model's provider said it.
        message: String,
    },
}

/// One line of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The model as it is run.
    pub model: String,
    /// The model without its step.
    pub size: String,
    /// `step512`.
    pub revision: String,
    /// Training step, where the name says one.
    pub step: Option<u64>,
    /// Tokens seen by then, where that is known.
    pub tokens: Option<u64>,
    /// What its files hold, where they could be read.
    pub inspection: Option<Inspection>,
    /// Whether it was run, and how that ended.
    pub ending: Ending,
}

impl Record {
    /// The record of a checkpoint that came to its end.
    pub fn new(member: &Member, inspection: Option<Inspection>, ending: Ending) -> Self {
        Self {
            model: member.model.to_string(),
            size: member.size.clone(),
            revision: member.revision.clone(),
            step: member.step,
            tokens: member.tokens,
            inspection,
            ending,
        }
    }

    /// The run folder, where there is one. A list may come from elsewhere: a name that leads out of the sweep
    /// is none.
    pub fn run(&self) -> Option<&str> {
        match &self.ending {
            Ending::Run { folder, .. } => Some(folder.as_str()).filter(|name| {
                let mut parts = Path::new(name).components();
                matches!(
                    (parts.next(), parts.next()),
                    (Some(Component::Normal(_)), None)
                )
            }),
            Ending::Unreadable { .. } => None,
        }
    }

    /// Whether nothing is left to do. What could not be read is tried again: it may have been mended.
    fn is_final(&self) -> bool {
        matches!(self.ending, Ending::Run { complete: true, .. })
    }
}

/// The folder of a sweep.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    records: Vec<Record>,
    /// The folder this process writes its own records into: that of the sweep, or of its shard.
    own: PathBuf,
}

/// One line for each checkpoint that came to its end.
const LOG: &str = "checkpoints.jsonl";

impl State {
    /// Opens or makes the folder; `about` is kept in `sweep.json` for people.
    pub fn open(path: &Path, about: &serde_json::Value) -> Result<Self, StoreError> {
        let runs = path.join("runs");
        std::fs::create_dir_all(&runs).map_err(at(&runs))?;
        let file = path.join("sweep.json");
        if !file.exists() {
            write_whole(&file, &format!("{about:#}\n"))?;
        }
        Self::begun(path).read(path, true)?.read_shards()
    }

    fn begun(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            records: Vec::new(),
            own: path.to_owned(),
        }
    }

    /// What shards have done is done, joined or not.
    fn read_shards(self) -> Result<Self, StoreError> {
        let mut shards = ShardPlace::all(&self.path).into_iter();
        shards.try_fold(self, |state, place| state.read(&place.path, false))
    }

    /// Whether a folder is that of a sweep.
    pub fn is_at(path: &Path) -> bool {
        path.join("sweep.json").is_file()
    }

    /// A folder as it lies: nothing is written, so that a sweep at work is not disturbed.
    pub fn look(path: &Path) -> Result<Self, StoreError> {
        Self::begun(path).read(path, false)?.read_shards()
    }

    /// The checkpoints that were run and whose weights are what their names say, in the order of [`Self::all`],
    /// each with the folder of its run.
    pub fn sound(&self) -> Vec<(Record, PathBuf)> {
        let all = self.all();
        let wrong = faults(&all);
        let sound = all.into_iter().filter_map(|record| {
            let run = self.runs().join(record.run()?);
            let faulty = wrong.iter().any(|fault| fault.model == record.model);
            (!faulty && run.is_dir()).then_some((record, run))
        });
        sound.collect()
    }

    /// From now on this process writes into the folder of its shard.
    pub fn as_shard(mut self, shard: Shard) -> Result<Self, StoreError> {
        let place = ShardPlace::new(&self.path, shard.index, shard.of);
        std::fs::create_dir_all(&place.path).map_err(at(&place.path))?;
        self = self.read(&place.path, true)?;
        self.own = place.path;
        Ok(self)
    }

    /// Takes the records of all shards into the sweep's own list; returns how many were new.
    pub fn join(&mut self) -> Result<usize, StoreError> {
        let mut listed = Self::begun(&self.path).read(&self.path, true)?;
        let mut new = self.records.clone();
        new.retain(|record| !listed.records.contains(record));
        let count = new.len();
        new.into_iter().try_for_each(|record| listed.keep(record))?;
        Ok(count)
    }

    /// Reads a list of records; where it is ours to write, a torn end is cut off.
    fn read(mut self, folder: &Path, ours: bool) -> Result<Self, StoreError> {
        let log = folder.join(LOG);
        let hint = "delete the line to do its checkpoint again";
        let records: Vec<Record> = jsonl::read(&log, "the record of a checkpoint", hint)?;
        for record in records {
            // A checkpoint that one shard finished is finished, whatever another said of it.
            let finished = |r: &Record| r.model == record.model && r.is_final();
            if record.is_final() || !self.records.iter().any(finished) {
                self.take(record);
            }
        }
        let (whole, length) = jsonl::lines(&log)?;
        if ours && whole.concat().len() < length {
            write_whole(&log, &whole.concat())?;
        }
        Ok(self)
    }

    /// The folder of the sweep.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that only this process writes into.
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// Where the run folders of its checkpoints are.
    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    fn take(&mut self, record: Record) {
        self.records.retain(|r| r.model != record.model);
        self.records.push(record);
    }

    /// Whether nothing is left to do for a checkpoint.
    pub fn is_done(&self, member: &Member) -> bool {
        let model = member.model.to_string();
        self.records
            .iter()
            .any(|r| r.model == model && r.is_final())
    }

    /// Keeps the end of a checkpoint.
    pub fn keep(&mut self, record: Record) -> Result<(), StoreError> {
        jsonl::append(&self.own.join(LOG), &record)?;
        self.take(record);
        Ok(())
    }

    /// Every record, size by size in the order of training.
    pub fn all(&self) -> Vec<Record> {
        let mut all = self.records.clone();
        all.sort_by(|a, b| (&a.size, a.step, &a.revision).cmp(&(&b.size, b.step, &b.revision)));
        all
    }

    /// The records of these checkpoints, in their order.
    pub fn records(&self, members: &[Member]) -> Vec<Record> {
        let of = |member: &Member| {
            let model = member.model.to_string();
            self.records.iter().find(|r| r.model == model).cloned()
        };
        members.iter().filter_map(of).collect()
    }
}

fn write_whole(path: &Path, text: &str) -> Result<(), StoreError> {
    replace_file(path, text.as_bytes()).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoints::members::members;

    #[test]
    fn a_torn_line_costs_its_checkpoint_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let all = members(
            &["builtin/nano".into()],
            &["step0,step16".into(), "step16".into()][1..],
            None,
            None,
        )
        .unwrap();
        let mut state = State::open(folder.path(), &serde_json::json!({})).unwrap();
        let ending = Ending::Run {
            folder: "x".into(),
            complete: true,
        };
        state.keep(Record::new(&all[0], None, ending)).unwrap();
        let log = folder.path().join("checkpoints.jsonl");
        let whole = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, format!("{whole}{{\"model\": \"builtin/na")).unwrap();
        let state = State::open(folder.path(), &serde_json::json!({})).unwrap();
        assert!(state.is_done(&all[0]));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), whole);
    }

    #[test]
    fn what_could_not_be_read_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let all = members(&["builtin/nano".into()], &["step16".into()], None, None).unwrap();
        let mut state = State::open(folder.path(), &serde_json::json!({})).unwrap();
        let ending = Ending::Unreadable {
            message: "cut short".into(),
        };
        state.keep(Record::new(&all[0], None, ending)).unwrap();
        assert!(!state.is_done(&all[0]));
        assert_eq!(state.records(&all).len(), 1);
    }
}
