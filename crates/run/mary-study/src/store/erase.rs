//! What deleting leaves behind, and how it goes. SQLite keeps old pages in its journal and unused bytes in
//! its file; exports, run folders and marks on paper are copies. A withdrawal notes in its own transaction
//! that there is something to erase, so that a killed process does not forget it.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, params};

use super::value;

/// States of `state.erase`.
const NOTHING: i64 = 0;
const REBUILD: i64 = 1;
const EMPTY_JOURNAL: i64 = 2;

/// How long the store waits for whoever reads the database: short, since everybody's answers wait with it.
const WAIT: Duration = Duration::from_millis(500);

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum CopyKind {
        /// A folder that `export` wrote.
        Export = "export",
        /// A run folder that `close` wrote.
        Run = "run",
        /// A file of marks on paper that `read` took in.
        Marks = "marks",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copy {
    pub path: String,
    pub kind: CopyKind,
    /// The sheet of marks; 0 otherwise.
    pub sheet: i64,
    /// How many withdrawals it has not followed yet.
    pub stale: i64,
}

/// Notes that somebody is deleted: before they are.
pub(super) fn note(db: &Connection, pseudonym: &str) -> rusqlite::Result<()> {
    let sql = "SELECT place FROM people WHERE pseudonym = ?1";
    let Some(place) = value::<i64>(db, sql, [pseudonym])? else {
        return Ok(());
    };
    note_all(db)?;
    db.execute(
        "UPDATE copies SET stale = stale + 1 WHERE kind <> 'marks' OR sheet = ?1",
        [place + 1],
    )?;
    Ok(())
}

/// Notes that something was deleted from the database alone.
pub(crate) fn note_all(db: &Connection) -> rusqlite::Result<()> {
    db.execute("UPDATE state SET erase = ?1", [REBUILD])?;
    Ok(())
}

pub(crate) fn pending(db: &Connection) -> rusqlite::Result<bool> {
    let sql =
        "SELECT (SELECT erase FROM state) <> 0 OR EXISTS (SELECT 1 FROM copies WHERE stale > 0)";
    db.query_row(sql, [], |row| row.get(0))
}

/// Remembers a copy, before it is written.
pub(crate) fn record(
    db: &Connection,
    path: &str,
    kind: CopyKind,
    sheet: usize,
) -> rusqlite::Result<()> {
    let sheet = i64::try_from(sheet).unwrap_or(i64::MAX);
    db.execute(
        "INSERT OR IGNORE INTO copies (path, kind, sheet, stale) VALUES (?1, ?2, ?3, 0)",
        params![path, kind.name(), sheet],
    )?;
    Ok(())
}

pub(crate) fn copies(db: &Connection) -> rusqlite::Result<Vec<Copy>> {
    let mut select = db.prepare("SELECT path, kind, sheet, stale FROM copies ORDER BY path")?;
    let rows = select.query_map([], |row| {
        let kind: String = row.get(1)?;
        let known = CopyKind::ALL.into_iter().find(|k| k.name() == kind);
        Ok(Copy {
            path: row.get(0)?,
            kind: known.unwrap_or(CopyKind::Export),
            sheet: row.get(2)?,
            stale: row.get(3)?,
        })
    })?;
    rows.collect()
}

/// Notes that a copy has followed the withdrawals it knew of; `gone`, that it is no copy any more.
pub(crate) fn cleaned(db: &Connection, copy: &Copy, gone: bool) -> rusqlite::Result<()> {
    let which = params![copy.path, copy.kind.name(), copy.sheet, copy.stale];
    let sql = if gone {
        "DELETE FROM copies WHERE path = ?1 AND kind = ?2 AND sheet = ?3 AND stale = ?4"
    } else {
        "UPDATE copies SET stale = 0 WHERE path = ?1 AND kind = ?2 AND sheet = ?3 AND stale = ?4"
    };
    db.execute(sql, which)?;
    Ok(())
}

/// Rebuilds the file without its unused bytes and empties the journal. Whether nothing is left.
pub(super) fn erase(db: &Connection) -> rusqlite::Result<bool> {
    let state: i64 = db.query_row("SELECT erase FROM state", [], |row| row.get(0))?;
    if state == NOTHING {
        return Ok(true);
    }
    db.busy_timeout(WAIT)?;
    let done = rebuild_and_empty(db, state);
    db.busy_timeout(super::schema::PATIENCE)?;
    match done {
        Err(rusqlite::Error::SqliteFailure(code, _))
            if matches!(
                code.code,
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked
            ) =>
        {
            Ok(false)
        }
        done => done,
    }
}

fn rebuild_and_empty(db: &Connection, state: i64) -> rusqlite::Result<bool> {
    // `secure_delete` overwrites a row where it stands; bytes of rows that were moved when pages were split stayed
    // behind now and then (SQLite 3.40, keys in random order). Only a new file is sure to hold nothing else. Once
    // is enough, however often the journal has to wait.
    if state != EMPTY_JOURNAL {
        db.execute_batch("VACUUM")?;
        let sql = "UPDATE state SET erase = ?1 WHERE erase = ?2";
        db.execute(sql, [EMPTY_JOURNAL, REBUILD])?;
    }
    let blocked: bool = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if blocked {
        return Ok(false);
    }
    // Not where somebody withdrew meanwhile, in another process.
    let sql = "UPDATE state SET erase = ?1 WHERE erase = ?2";
    Ok(db.execute(sql, [NOTHING, EMPTY_JOURNAL])? == 1)
}
