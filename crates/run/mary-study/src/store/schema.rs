//! The tables. Ids of platforms lie in a table of their own, which no export reads. There is no column
//! for an address or a browser's name: what is not kept cannot leak.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};

pub(super) const PATIENCE: Duration = Duration::from_secs(30);

const FORM: i32 = 3;

/// Opens the database, made on first use. `synchronous = FULL`: an acknowledged answer survives a power
/// cut as well. `secure_delete`: who withdraws is overwritten, not just unlinked; [`super::erase`] does the
/// rest.
pub(super) fn open(path: &Path, places: usize) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; \
         PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;",
    )?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let form: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if form == 0 {
        make(&connection, places)?;
    }
    if form < 2 {
        // A study of an earlier version may hold what was deleted before: it is erased once.
        let left = i32::from(form > 0);
        connection.execute_batch(&format!(
            "ALTER TABLE state ADD COLUMN erase INTEGER NOT NULL DEFAULT {left};
             CREATE TABLE copies (
               path TEXT NOT NULL,
               kind TEXT NOT NULL,
               sheet INTEGER NOT NULL,
               stale INTEGER NOT NULL DEFAULT {left},
               PRIMARY KEY (path, kind, sheet)
             ) STRICT;"
        ))?;
    }
    let sql = "SELECT count(*) FROM pragma_table_info('answers') WHERE name = 'times'";
    if connection.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0 {
        connection.execute_batch("ALTER TABLE answers ADD COLUMN times TEXT")?;
    }
    if form < FORM {
        connection.pragma_update(None, "user_version", FORM)?;
    }
    connection.execute_batch("COMMIT")?;
    Ok(connection)
}

fn make(connection: &Connection, places: usize) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE people (
           id INTEGER PRIMARY KEY,
           token BLOB NOT NULL UNIQUE,
           pseudonym TEXT NOT NULL UNIQUE,
           place INTEGER NOT NULL,
           state TEXT NOT NULL,
           consent_version INTEGER NOT NULL,
           consent_hash TEXT NOT NULL,
           began INTEGER NOT NULL,
           seen INTEGER NOT NULL,
           ended INTEGER,
           told INTEGER NOT NULL DEFAULT 0
         ) STRICT;
         CREATE TABLE places (
           place INTEGER PRIMARY KEY,
           person INTEGER UNIQUE REFERENCES people (id) ON DELETE SET NULL
         ) STRICT;
         CREATE TABLE answers (
           person INTEGER NOT NULL REFERENCES people (id) ON DELETE CASCADE,
           trial INTEGER NOT NULL,
           item INTEGER NOT NULL,
           answer TEXT NOT NULL,
           shown TEXT NOT NULL,
           rt REAL,
           elapsed REAL,
           blurs INTEGER,
           width INTEGER,
           height INTEGER,
           input TEXT,
           views INTEGER NOT NULL,
           saved INTEGER NOT NULL,
           PRIMARY KEY (person, trial),
           UNIQUE (person, item)
         ) STRICT;
         CREATE TABLE views (
           person INTEGER NOT NULL REFERENCES people (id) ON DELETE CASCADE,
           step TEXT NOT NULL,
           times INTEGER NOT NULL,
           PRIMARY KEY (person, step)
         ) STRICT;
         CREATE TABLE checks (
           person INTEGER NOT NULL REFERENCES people (id) ON DELETE CASCADE,
           number INTEGER NOT NULL,
           try INTEGER NOT NULL,
           passed INTEGER NOT NULL,
           PRIMARY KEY (person, number, try)
         ) STRICT;
         CREATE TABLE platform (
           person INTEGER PRIMARY KEY REFERENCES people (id) ON DELETE CASCADE,
           pid TEXT NOT NULL UNIQUE,
           study TEXT NOT NULL,
           session TEXT NOT NULL
         ) STRICT;
         CREATE TABLE state (closed INTEGER NOT NULL) STRICT;
         INSERT INTO state VALUES (0);",
    )?;
    let mut put = connection.prepare("INSERT INTO places (place) VALUES (?1)")?;
    for place in 0..places {
        put.execute(params![place as i64])?;
    }
    Ok(())
}
