//! Answers that were already given, in an embedded database that several processes may share.
//!
//! Rows are named by content ([`Key`]), so nothing ever changes under its name. Writing happens on
//! a thread of its own: `keep` only hands over, and what was handed over is committed within
//! 200 ms, so that a killed process loses next to nothing and a fast model never waits.

mod database;
mod exchange;
mod patience;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mary_contract::{Cache, Key, Reply, StoreError};
use mary_platform::notice;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::fault::Result;
use crate::finite::reply_is_finite;
use database::{Row, Unpacked, blob_of, said};
use patience::patiently;
use writer::{Pending, Writer};

/// A view older than this is opened anew, so that another process's answers are soon seen.
const VIEW_AGE: Duration = Duration::from_millis(20);

/// The model and task that new rows belong to; for statistics and pruning only, never part of a
/// look-up. Clones share one label.
#[derive(Debug, Clone, Default)]
pub struct Label(Arc<Mutex<(String, String)>>);

impl Label {
    pub fn set(&self, model: &str, task: &str) {
        let mut label = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *label = (model.to_owned(), task.to_owned());
    }

    fn get(&self) -> (String, String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

pub struct ResponseCache {
    path: PathBuf,
    reader: Connection,
    /// The number of commits the reader's open transaction sees, and since when. Look-ups come in
    /// windows; a transaction for each would cost more than the look-up.
    view: Option<(u64, Instant)>,
    writer: Writer,
    label: Label,
    said_damaged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheStats {
    pub path: PathBuf,
    pub rows: u64,
    pub bytes: u64,
    pub file_bytes: u64,
    /// By model, largest first.
    pub models: Vec<ModelShare>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelShare {
    pub model: String,
    pub rows: u64,
    pub bytes: u64,
}

/// What to throw away. An answer goes when it meets every condition set; none set throws away
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prune {
    pub older_than: Option<Duration>,
    pub model: Option<String>,
    /// Oldest first, until what is left takes no more than this many bytes.
    pub max_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub rows: u64,
    pub bytes: u64,
}

impl ResponseCache {
    /// Opens the cache file, making it and its folder when they are not there.
    ///
    /// Refused on a network file system: SQLite's write-ahead log needs memory that all its readers
    /// share, and damages the file where they sit on several machines.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_on(path, crate::network_file_system(path))
    }

    /// The same on a file system of this kind, where several machines see it.
    fn open_on(path: &Path, shared: Option<String>) -> Result<Self> {
        if let Some(kind) = shared {
            return Err(StoreError::Database {
                path: path.to_owned(),
                message: format!(
                    "a cache cannot lie on a network file system (found {kind}): several machines would \
                     damage it\nhint: --cache-dir names a folder on a disk of this machine, for example \
                     $TMPDIR/mary; --no-cache does without; shards of a run use $TMPDIR by themselves"
                ),
            });
        }
        let writing = database::open(path)?;
        let reader = database::open(path)?;
        Ok(Self {
            path: path.to_owned(),
            reader,
            view: None,
            writer: Writer::start(path, writing)?,
            label: Label::default(),
            said_damaged: false,
        })
    }

    /// A handle that says which model and task new rows belong to; see
    /// [`crate::Recorder::labelling`].
    pub fn label(&self) -> Label {
        self.label.clone()
    }

    /// Opens a view of the database that has at least these commits, and keeps it for the next
    /// look-ups.
    fn look_at(&mut self, commits: u64) -> Result<()> {
        if self
            .view
            .is_some_and(|(seen, since)| seen == commits && since.elapsed() < VIEW_AGE)
        {
            return Ok(());
        }
        self.look_away()?;
        patiently(|| self.reader.execute_batch("BEGIN DEFERRED")).map_err(said(&self.path))?;
        self.view = Some((commits, Instant::now()));
        Ok(())
    }

    /// Closes the view: one left open would keep the write-ahead log from being taken in.
    fn look_away(&mut self) -> Result<()> {
        if self.view.take().is_some() {
            patiently(|| self.reader.execute_batch("COMMIT")).map_err(said(&self.path))?;
        }
        Ok(())
    }

    /// The answer in a row, unless it is not the one that was kept.
    fn read(&mut self, key: &Key, stored: &[u8]) -> Option<Reply> {
        match database::unpack(key, stored) {
            Unpacked::Answer(reply) => Some(*reply),
            Unpacked::Unknown => None,
            Unpacked::Damaged => {
                if !std::mem::replace(&mut self.said_damaged, true) {
                    notice(&format!(
                        "{}: answers in the cache are damaged (a checksum does not fit); they are asked again",
                        self.path.display()
                    ));
                }
                None
            }
        }
    }

    pub fn stats(&mut self) -> Result<CacheStats> {
        self.look_away()?;
        self.writer.flush()?;
        let at = said(&self.path);
        let models = patiently(|| {
            self.reader
                .prepare(
                    "SELECT model, count(*), sum(length(reply)) FROM replies \
                     GROUP BY model ORDER BY 3 DESC, 1",
                )?
                .query_map([], |row| {
                    Ok(ModelShare {
                        model: row.get(0)?,
                        rows: count(row.get(1)?),
                        bytes: count(row.get(2)?),
                    })
                })
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        })
        .map_err(&at)?;
        let pragma = |name| patiently(|| database::pragma::<i64>(&self.reader, name)).map_err(&at);
        let (pages, page) = (pragma("page_count")?, pragma("page_size")?);
        Ok(CacheStats {
            path: self.path.clone(),
            rows: models.iter().map(|m| m.rows).sum(),
            bytes: models.iter().map(|m| m.bytes).sum(),
            file_bytes: count(pages.saturating_mul(page)),
            models,
        })
    }

    pub fn prune(&mut self, what: &Prune) -> Result<Pruned> {
        if *what == Prune::default() {
            return Ok(Pruned::default());
        }
        let before = self.stats()?;
        let before_time = what.older_than.map_or(i64::MAX, |age| {
            now().saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX))
        });
        // The window walks from the newest answer back; what lies beyond the allowance goes.
        let sql = "DELETE FROM replies WHERE id IN (\
                     SELECT id FROM (\
                       SELECT id, created, model, \
                         sum(length(reply)) OVER (ORDER BY created DESC, id DESC) AS kept \
                       FROM replies WHERE ?2 IS NULL OR model = ?2) \
                     WHERE created <= ?1 AND (?3 IS NULL OR kept > ?3))";
        let max = what.max_bytes.map(|b| i64::try_from(b).unwrap_or(i64::MAX));
        patiently(|| {
            self.reader
                .execute(sql, params![before_time, what.model, max])
        })
        .and_then(|_| patiently(|| self.reader.execute_batch("VACUUM")))
        .map_err(said(&self.path))?;
        let after = self.stats()?;
        Ok(Pruned {
            rows: before.rows.saturating_sub(after.rows),
            bytes: before.bytes.saturating_sub(after.bytes),
        })
    }

    #[cfg(test)]
    fn limit_pages(&mut self, pages: u32) {
        self.writer.limit_pages(pages);
    }
}

impl Cache for ResponseCache {
    fn recall(&mut self, key: &Key) -> Result<Option<Reply>> {
        // An answer in a form we no longer read is no answer: it is asked again and replaced.
        match self.writer.pending(key) {
            Pending::Waiting(bytes) => Ok(self.read(key, &bytes)),
            Pending::NotHere { commits } => {
                self.look_at(commits)?;
                let stored = patiently(|| {
                    self.reader
                        .prepare_cached("SELECT reply FROM replies WHERE key = ?1")?
                        .query_row([blob_of(key).as_ref()], |row| row.get::<_, Vec<u8>>(0))
                        .optional()
                })
                .map_err(said(&self.path))?;
                Ok(stored.and_then(|bytes| self.read(key, &bytes)))
            }
        }
    }

    /// An answer holding a number that is not one is not kept: JSON could not give it back.
    fn keep(&mut self, key: &Key, reply: &Reply) -> Result<()> {
        if !reply_is_finite(reply) {
            return Ok(());
        }
        self.look_away()?;
        let (model, task) = self.label.get();
        let reply = database::pack(key, reply).map_err(|e| StoreError::Database {
            path: self.path.clone(),
            message: format!("an answer cannot be written as JSON: {e}"),
        })?;
        self.writer.hand_over(Row {
            key: key.clone(),
            model,
            task,
            created: now(),
            reply: reply.into(),
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.look_away()?;
        self.writer.flush()
    }
}

/// SQLite counts with signed numbers; a count is never below nothing.
fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// Seconds since 1970.
fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
