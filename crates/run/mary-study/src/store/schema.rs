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
    connection.execute_batch(include_str!("schema.sql"))?;
    let mut put = connection.prepare("INSERT INTO places (place) VALUES (?1)")?;
    for place in 0..places {
        put.execute(params![place as i64])?;
    }
    Ok(())
}
