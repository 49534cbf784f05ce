//! Answers on their way between caches: a copy for another machine, and taking such copies in.

use std::path::Path;

use mary_contract::Cache as _;
use rusqlite::Connection;

use super::database::{self, said};
use super::patience::patiently;
use super::{ResponseCache, count};
use crate::fault::{Result, corrupt, io_at};

impl ResponseCache {
    /// Writes everything it holds as one plain file, the whole of it or nothing. `place` may lie on a
    /// network file system: SQLite writes beside the cache, and the finished file is copied.
    pub fn copy_to(&mut self, place: &Path) -> Result<()> {
        self.flush()?;
        let beside = self
            .path
            .with_extension(format!("{}.copy", std::process::id()));
        // Left by a kill; SQLite writes into a new file only.
        let _ = std::fs::remove_file(&beside);
        let name = beside.to_string_lossy().into_owned();
        patiently(|| self.reader.execute("VACUUM INTO ?1", [&name])).map_err(said(&self.path))?;
        let copied = mary_platform::Replacement::begin(place).and_then(|mut out| {
            std::io::copy(&mut mary_platform::open_plain(&beside)?, &mut out)?;
            out.commit()
        });
        let _ = std::fs::remove_file(&beside);
        copied.map_err(io_at(place))
    }

    /// Takes in the answers of another cache file; what is here already stays. Returns how many were
    /// new.
    pub fn absorb(&mut self, other: &Path) -> Result<u64> {
        self.flush()?;
        let at = said(other);
        // SQLite would wait for somebody to write into a FIFO.
        mary_platform::open_plain(other).map_err(io_at(other))?;
        let source = Connection::open_with_flags(other, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(&at)?;
        let form: i32 = database::pragma(&source, "user_version").map_err(&at)?;
        if form != database::FORM {
            return Err(corrupt(
                other,
                0,
                format!(
                    "expected a cache of form {}, found form {form}",
                    database::FORM
                ),
                "delete the file; what it holds stands in the log, too",
            ));
        }
        let mut rows = source
            .prepare("SELECT key, model, task, created, reply FROM replies")
            .map_err(&at)?;
        let mut rows = rows.query([]).map_err(&at)?;
        let mut new = 0;
        let mut batch = Vec::new();
        loop {
            let row = rows.next().map_err(&at)?;
            let ended = row.is_none();
            if let Some(row) = row {
                let read = || -> rusqlite::Result<database::RawRow> {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        row.get(4)?,
                    ))
                };
                batch.push(read().map_err(&at)?);
            }
            if ended || batch.len() >= 1000 {
                let added = patiently(|| database::add_missing(&self.reader, &batch));
                new += count(added.map_err(said(&self.path))?);
                batch.clear();
            }
            if ended {
                return Ok(new);
            }
        }
    }
}
