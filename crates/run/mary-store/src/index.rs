//! What is in a log: a quick pass over ids and outcomes that finds duplicates, replaced failures
//! and damaged lines, and continues where it stopped when the log has grown.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mary_contract::{SampleId, StoreError, line};
use mary_platform::DigestMap;

use crate::fault::{Result, corrupt, io_at, open_if_there};
use crate::read::line_number;

pub(crate) const READ_BUFFER: usize = 1 << 20;

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
    state: State,
}

impl Entry {
    fn packed(self) -> u64 {
        (self.offset << 1) | u64::from(self.state == State::Failed)
    }

    fn unpacked(number: u64) -> Self {
        Self {
            offset: number >> 1,
            state: match number & 1 {
                1 => State::Failed,
                _ => State::Answered,
            },
        }
    }
}

/// The samples that a log holds; 16 bytes of digest stand for each id, in memory or, of millions, in
/// temporary files.
#[derive(Debug, Clone, Default)]
pub struct FinishedIds {
    entries: Arc<Mutex<DigestMap>>,
    failed: usize,
}

impl FinishedIds {
    fn entries(&self) -> MutexGuard<'_, DigestMap> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, id: &SampleId) -> io::Result<Option<Entry>> {
        let digest = line::digest(&id.model, &id.task, &id.item, id.trial);
        Ok(self.entries().get(digest)?.map(Entry::unpacked))
    }

    /// Whether the log holds an answer for this id. A failure is not an answer, so that a resumed
    /// run tries it again; see [`FinishedIds::state`].
    pub fn contains(&self, id: &SampleId) -> bool {
        self.state(id) == Some(State::Answered)
    }

    /// How far this id came; `None` when it is not in the log.
    ///
    /// Where a temporary file cannot be read any more, it counts as answered: asked twice, it would
    /// stand in the log twice; left out, it is asked when the run is resumed.
    pub fn state(&self, id: &SampleId) -> Option<State> {
        match self.entry(id) {
            Ok(entry) => entry.map(|e| e.state),
            Err(_) => Some(State::Answered),
        }
    }

    /// Where the line of this id begins (see [`crate::RunFolder::sample_at`]).
    pub fn offset(&self, id: &SampleId) -> Result<Option<u64>> {
        let entry = self.entry(id).map_err(temporary)?;
        Ok(entry.map(|e| e.offset))
    }

    /// Samples in the log, failures included.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    pub fn failed(&self) -> usize {
        self.failed
    }
}

fn temporary(source: io::Error) -> StoreError {
    io_at(&std::env::temp_dir())(source)
}

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
    pub(crate) fn upto(end: u64) -> Self {
        Self {
            end,
            ..Self::default()
        }
    }

    /// Reads what has been written since. An incomplete or unreadable *last* line is left out: it
    /// is being written just now, or torn.
    pub(crate) fn extend(&mut self, path: &Path) -> Result<()> {
        let Some(mut reader) = grown(self, |known| known.end, path)? else {
            return Ok(());
        };
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
                    Refused::Unreadable(_) if last => Ok(()),
                    Refused::Unreadable(e) => Err(unreadable(path, self.lines + 1, &e)),
                    Refused::Other(e) => Err(e),
                };
            }
            self.lines += 1;
            self.end += n as u64;
        }
    }

    fn take(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Refused> {
        let (id, failed) = line::read_id(bytes).map_err(Refused::Unreadable)?;
        let state = if failed {
            State::Failed
        } else {
            State::Answered
        };
        let entry = Entry {
            offset: self.end,
            state,
        };
        let before = self.finished.entries().insert(id.digest(), entry.packed());
        let before = before.map_err(|e| Refused::Other(temporary(e)))?;
        self.finished.failed += usize::from(failed);
        match before.map(Entry::unpacked) {
            None => Ok(()),
            Some(earlier) if earlier.state == State::Failed => {
                self.finished.failed -= 1;
                Arc::make_mut(&mut self.replaced).insert(earlier.offset);
                Ok(())
            }
            Some(earlier) => Err(Refused::Other(corrupt(
                path,
                self.lines + 1,
                format!(
                    "sample {} stands here a second time; the first is in line {}",
                    id.describe(),
                    line_number(path, earlier.offset).unwrap_or(0)
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
    pub(crate) samples: usize,
    /// Bytes of whole, readable lines.
    pub(crate) end: u64,
    /// The order is broken somewhere.
    pub(crate) broken: bool,
}

impl Ascending {
    /// Reads what has been written since, as far as the order holds.
    pub(crate) fn extend(&mut self, path: &Path) -> Result<()> {
        let Some(mut reader) = grown(self, |known| known.end, path)?.filter(|_| !self.broken)
        else {
            return Ok(());
        };
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

/// What stands in a log behind what is known of it. A log that has shrunk is another: all is forgotten.
fn grown<K: Default>(
    known: &mut K,
    end: fn(&K) -> u64,
    path: &Path,
) -> Result<Option<BufReader<File>>> {
    let Some(mut file) = open_if_there(path)? else {
        return Ok(None);
    };
    let len = file.metadata().map_err(io_at(path))?.len();
    if len < end(known) {
        *known = Default::default();
    }
    if len == end(known) {
        return Ok(None);
    }
    let behind = SeekFrom::Start(end(known));
    file.seek(behind).map_err(io_at(path))?;
    Ok(Some(BufReader::with_capacity(READ_BUFFER, file)))
}

enum Refused {
    Unreadable(serde_json::Error),
    Other(StoreError),
}

pub(crate) fn unreadable(path: &Path, line: usize, error: &serde_json::Error) -> StoreError {
    corrupt(
        path,
        line,
        format!("expected one sample as JSON, found: {error}"),
        "nothing was overwritten; restore the line from a copy, or move it to another file, and \
         the samples it held will be asked again",
    )
}
