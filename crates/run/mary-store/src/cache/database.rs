//! The table behind the cache: opening it, rows in and out, and what SQLite's errors mean.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use mary_contract::{Key, Reply, StoreError};
use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};

use super::patience::{PATIENCE, patiently};
use crate::fault::{Result, corrupt, io_at};

pub(super) const FORM: i32 = 1;
/// How long SQLite itself waits for a lock before it hands the refusal to [`patiently`].
const ONE_WAIT: Duration = Duration::from_secs(5);
/// Answers above this many bytes are compressed.
const LARGE: usize = 1024;
/// Bytes that are written to find out whether there is room: what SQLite needs to begin.
const PROBE: usize = 64 << 10;
/// No answer is larger than this; a damaged row must not fill the memory.
const LARGEST: u64 = 1 << 30;

pub(super) struct Row {
    pub(super) key: Key,
    pub(super) model: String,
    pub(super) task: String,
    pub(super) created: i64,
    pub(super) reply: Arc<[u8]>,
}

pub(super) fn open(path: &Path) -> Result<Connection> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io_at(parent))?;
    }
    let at = said(path);
    let connection = Connection::open(path).map_err(&at)?;
    connection.busy_timeout(ONE_WAIT).map_err(&at)?;
    let form = patiently(|| prepare(&connection)).map_err(&at)?;
    if form != FORM {
        return Err(corrupt(
            path,
            0,
            format!("the cache has form {form}, this version of Mary reads form {FORM}"),
            "use the version of Mary that made it, another folder with --cache-dir, or --no-cache",
        ));
    }
    Ok(connection)
}

/// Sets a connection up, makes the table in a new file, and returns the form the file has then. May
/// be done again from the beginning whenever another process was in the way.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<i32> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32768; \
         PRAGMA temp_store = MEMORY;",
    )?;
    if pragma::<i32>(connection, "user_version")? == 0 {
        // The lock is taken before anything is read, and the form is read again under it: another
        // process may have made the table since.
        let making = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        if pragma::<i32>(&making, "user_version")? == 0 {
            making.execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS replies (\
                   id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, model TEXT NOT NULL, \
                   task TEXT NOT NULL, created INTEGER NOT NULL, reply BLOB NOT NULL) STRICT; \
                 PRAGMA user_version = {FORM};"
            ))?;
        }
        making.commit()?;
    }
    pragma(connection, "user_version")
}

pub(super) fn pragma<T: FromSql>(connection: &Connection, name: &str) -> rusqlite::Result<T> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

pub(super) fn insert(connection: &mut Connection, rows: &[Row]) -> rusqlite::Result<()> {
    let batch = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut put = batch.prepare_cached(
            "INSERT INTO replies (key, model, task, created, reply) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (key) DO UPDATE SET created = excluded.created, reply = excluded.reply",
        )?;
        for row in rows {
            put.execute(params![
                blob_of(&row.key).as_ref(),
                row.model,
                row.task,
                row.created,
                &*row.reply
            ])?;
        }
    }
    batch.commit()
}

/// A row as it stands in the table: key, model, task, time, answer.
pub(super) type RawRow = (Vec<u8>, String, String, i64, Vec<u8>);

/// Adds the rows whose key is not there; returns how many.
pub(super) fn add_missing(connection: &Connection, rows: &[RawRow]) -> rusqlite::Result<i64> {
    let batch = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let mut added = 0;
    {
        let mut put = batch.prepare_cached(
            "INSERT OR IGNORE INTO replies (key, model, task, created, reply) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (key, model, task, created, reply) in rows {
            added += put.execute(params![key, model, task, created, reply])? as i64;
        }
    }
    batch.commit()?;
    Ok(added)
}

/// Half the room of hexadecimal digits.
pub(super) enum Blob<'k> {
    Hash([u8; 32]),
    /// Not a hash of ours; its own bytes name it just as well.
    Text(&'k [u8]),
}

impl AsRef<[u8]> for Blob<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Hash(bytes) => bytes,
            Self::Text(text) => text,
        }
    }
}

pub(super) fn blob_of(key: &Key) -> Blob<'_> {
    let text = key.as_str().as_bytes();
    decoded(text).map_or(Blob::Text(text), Blob::Hash)
}

fn decoded(text: &[u8]) -> Option<[u8; 32]> {
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != 32 || !rest.is_empty() {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(hash)
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

const SUM: usize = 16;

/// A byte saying how the answer is written (`c` plain JSON, `d` compressed), a checksum over its key
/// and its bytes, and the bytes. Rows of earlier versions (`j`, `z`) have no checksum.
pub(super) fn pack(key: &Key, reply: &Reply) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(reply)?;
    if json.len() >= LARGE {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        let packed = encoder.write_all(&json).and_then(|()| encoder.finish());
        if let Ok(packed) = packed
            && packed.len() < json.len()
        {
            return Ok(sealed(b'd', key, &packed));
        }
    }
    Ok(sealed(b'c', key, &json))
}

fn sealed(form: u8, key: &Key, bytes: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(1 + SUM + bytes.len());
    row.push(form);
    row.extend_from_slice(&checksum(form, key, bytes));
    row.extend_from_slice(bytes);
    row
}

fn checksum(form: u8, key: &Key, bytes: &[u8]) -> [u8; SUM] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[form]);
    hasher.update(key.as_str().as_bytes());
    hasher.update(bytes);
    let mut sum = [0; SUM];
    hasher.finalize_xof().fill(&mut sum);
    sum
}

#[derive(Debug, PartialEq)]
pub(super) enum Unpacked {
    Answer(Box<Reply>),
    /// An answer in a form that this version does not read.
    Unknown,
    /// Not what was written: its checksum is another.
    Damaged,
}

pub(super) fn unpack(key: &Key, stored: &[u8]) -> Unpacked {
    let (form, bytes) = match stored.split_first() {
        Some((form @ (b'c' | b'd'), rest)) => match rest.split_first_chunk::<SUM>() {
            Some((sum, bytes)) if *sum == checksum(*form, key, bytes) => (*form, bytes),
            _ => return Unpacked::Damaged,
        },
        Some((b'j', rest)) => (b'c', rest),
        Some((b'z', rest)) => (b'd', rest),
        _ => return Unpacked::Damaged,
    };
    let read = match form {
        b'd' => {
            let mut json = Vec::new();
            let inflated = DeflateDecoder::new(bytes)
                .take(LARGEST)
                .read_to_end(&mut json);
            inflated
                .ok()
                .and_then(|_| serde_json::from_slice(&json).ok())
        }
        _ => serde_json::from_slice(bytes).ok(),
    };
    read.map_or(Unpacked::Unknown, |reply| Unpacked::Answer(Box::new(reply)))
}

pub(super) fn said(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
    move |error| {
        let full = |kind: io::ErrorKind| StoreError::Io {
            path: path.to_owned(),
            source: kind.into(),
        };
        let hint = "answers can be asked again: move the file away (with its -wal and -shm), or run \
                    with --no-cache";
        let code = error.sqlite_error_code();
        // SQLite tells a full disk apart in some places only: not where it maps its index into memory, makes
        // a file beside the database, or meets a quota.
        if matches!(
            code,
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen)
        ) && let Some(kind) = no_room(path)
        {
            return full(kind);
        }
        match code {
            Some(ErrorCode::DiskFull) => full(io::ErrorKind::StorageFull),
            Some(ErrorCode::PermissionDenied) => full(io::ErrorKind::PermissionDenied),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => corrupt(
                path,
                0,
                format!("the response cache is damaged: {error}"),
                hint,
            ),
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => StoreError::Database {
                path: path.to_owned(),
                message: format!(
                    "another process has held the response cache for {} s ({error})\nhint: wait for \
                     it, give this run its own folder with --cache-dir, or run with --no-cache",
                    PATIENCE.as_secs()
                ),
            },
            code => StoreError::Database {
                path: path.to_owned(),
                message: format!("{error}\nhint: {}", advice(code)),
            },
        }
    }
}

/// What the disk says when something is written beside a file, if it says that there is no room.
fn no_room(path: &Path) -> Option<io::ErrorKind> {
    let probe = path.with_extension(format!("room-{}", std::process::id()));
    let written = fs::File::create_new(&probe).and_then(|mut file| {
        file.write_all(&[0; PROBE])?;
        file.sync_data()
    });
    let _ = fs::remove_file(&probe);
    let kind = written.err()?.kind();
    matches!(
        kind,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
    .then_some(kind)
}

fn advice(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) => {
            "choose a folder you may write to with --cache-dir, or run with --no-cache"
        }
        _ => "`mary cache prune` makes room in it; --no-cache runs without it",
    }
}
