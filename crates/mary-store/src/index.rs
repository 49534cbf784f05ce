//! What is in a log: a quick pass over ids and outcomes that finds duplicates, replaced failures
//! and damaged lines, and continues where it stopped when the log has grown.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use mary_contract::{SampleId, StoreError, open_plain};

use crate::fault::{corrupt, io_at};
use crate::line;

pub(crate) const READ_BUFFER: usize = 1 << 20;

/// How far an item came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Judged, or answered with nothing to judge.
    Answered,
    /// Failed; a later line may replace it.
    Failed,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    offset: u64,
    line: u32,
    state: State,
}

/// The samples that a log already holds; 16 bytes of digest stand for each id.
#[derive(Debug, Clone, Default)]
pub struct FinishedIds {
    entries: Arc<HashMap<u128, Entry>>,
    failed: usize,
}

impl FinishedIds {
    /// Whether the log holds an answer for this id. A failure is not an answer, so that a resumed
    /// run tries it again; see [`FinishedIds::state`].
    pub fn contains(&self, id: &SampleId) -> bool {
        self.state(id) == Some(State::Answered)
    }

    /// How far this id came; `None` when it is not in the log.
    pub fn state(&self, id: &SampleId) -> Option<State> {
        let digest = line::digest(&id.model, &id.task, &id.item, id.trial);
        self.entries.get(&digest).map(|e| e.state)
    }

    /// Samples in the log, failures included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the log is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Of those, failed.
    pub fn failed(&self) -> usize {
        self.failed
    }
}

/// The index of a log up to `end`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    pub(crate) finished: FinishedIds,
    /// Offsets of failures that a later line replaced.
    pub(crate) replaced: Arc<HashSet<u64>>,
    /// Bytes of whole, readable lines.
    pub(crate) end: u64,
    lines: usize,
}

impl Index {
    /// Of a log in which nothing was replaced.
    pub(crate) fn upto(end: u64) -> Self {
        Self {
            end,
            ..Self::default()
        }
    }

    /// Reads what has been written since. An incomplete or unreadable *last* line is left out: it
    /// is being written just now, or torn.
    pub(crate) fn extend(&mut self, path: &Path) -> Result<(), StoreError> {
        let mut file = match open_plain(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(io_at(path)(e)),
        };
        let len = file.metadata().map_err(io_at(path))?.len();
        if len < self.end {
            *self = Self::default();
        }
        if len == self.end {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.end)).map_err(io_at(path))?;
        let mut reader = BufReader::with_capacity(READ_BUFFER, file);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let n = reader.read_until(b'\n', &mut bytes).map_err(io_at(path))?;
            if n == 0 || !bytes.ends_with(b"\n") {
                return Ok(());
            }
            if !bytes.trim_ascii().is_empty()
                && let Err(e) = self.take(path, &bytes)
            {
                let last = reader.fill_buf().map_err(io_at(path))?.is_empty();
                return match e {
                    Trouble::Unreadable(_) if last => Ok(()),
                    Trouble::Unreadable(e) => Err(unreadable(path, self.lines + 1, &e)),
                    Trouble::Duplicate(e) => Err(e),
                };
            }
            self.lines += 1;
            self.end += n as u64;
        }
    }

    fn take(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
        let (id, failed) = line::read_id(bytes).map_err(Trouble::Unreadable)?;
        let state = if failed {
            State::Failed
        } else {
            State::Answered
        };
        let entry = Entry {
            offset: self.end,
            line: u32::try_from(self.lines + 1).unwrap_or(u32::MAX),
            state,
        };
        let before = Arc::make_mut(&mut self.finished.entries).insert(id.digest(), entry);
        self.finished.failed += usize::from(failed);
        match before {
            None => Ok(()),
            Some(earlier) if earlier.state == State::Failed => {
                self.finished.failed -= 1;
                Arc::make_mut(&mut self.replaced).insert(earlier.offset);
                Ok(())
            }
            Some(earlier) => Err(Trouble::Duplicate(corrupt(
                path,
                self.lines + 1,
                format!(
                    "sample {} stands here a second time; the first is in line {}",
                    id.describe(),
                    earlier.line
                ),
                "delete one of the two lines; nothing was changed",
            ))),
        }
    }
}

/// A log whose ids stand in ascending order, as joining leaves it: none can be there twice, so that nothing
/// need be remembered of any but the last, however many there are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ascending {
    last: Vec<u8>,
    /// Samples.
    pub(crate) samples: usize,
    /// Bytes of whole, readable lines.
    pub(crate) end: u64,
    /// The order is broken somewhere.
    pub(crate) broken: bool,
}

impl Ascending {
    /// Reads what has been written since, as far as the order holds.
    pub(crate) fn extend(&mut self, path: &Path) -> Result<(), StoreError> {
        let mut file = match open_plain(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(io_at(path)(e)),
        };
        let len = file.metadata().map_err(io_at(path))?.len();
        if len < self.end {
            *self = Self::default();
        }
        if self.broken || len == self.end {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.end)).map_err(io_at(path))?;
        let mut reader = BufReader::with_capacity(READ_BUFFER, file);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let n = reader.read_until(b'\n', &mut bytes).map_err(io_at(path))?;
            if n == 0 || !bytes.ends_with(b"\n") {
                return Ok(());
            }
            if !bytes.trim_ascii().is_empty() {
                // Whatever is wrong with the line, the index says it with its number.
                let key = line::read_id(&bytes).ok().map(|(id, _)| id.key());
                match key.filter(|key| *key > self.last) {
                    Some(key) => self.last = key,
                    None => {
                        self.broken = true;
                        return Ok(());
                    }
                }
                self.samples += 1;
            }
            self.end += n as u64;
        }
    }
}

enum Trouble {
    Unreadable(serde_json::Error),
    Duplicate(StoreError),
}

/// A line that is no sample.
pub(crate) fn unreadable(path: &Path, line: usize, error: &serde_json::Error) -> StoreError {
    corrupt(
        path,
        line,
        format!("expected one sample as JSON, found: {error}"),
        "nothing was overwritten; restore the line from a copy, or move it to another file, and \
         the samples it held will be asked again",
    )
}
