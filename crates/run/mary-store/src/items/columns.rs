//! Items as tables: one column for each thing an item may have, lists and maps as JSON in a cell.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{ItemsError, ItemsOf, Sink};
use crate::fault::{Result, io_at};
use crate::parquet::{GroupLimits, ParquetTable, parquet_file};

/// The columns, in order; `correct` is a number.
const COLUMNS: &str = "id task seed kind prompt messages images continuations options correct target stratum cluster \
                       tags asks";

fn columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.split(' ')
}

fn cell(row: &Value, name: &str) -> Option<String> {
    match row.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

pub(super) struct Csv {
    path: PathBuf,
    out: csv::Writer<File>,
}

impl Csv {
    pub fn create(path: &Path) -> Result<Self> {
        let said = |e: csv::Error| io_at(path)(io::Error::other(e));
        let mut out = csv::Writer::from_path(path).map_err(said)?;
        out.write_record(columns()).map_err(said)?;
        Ok(Self {
            path: path.to_owned(),
            out,
        })
    }
}

impl Sink for Csv {
    fn put(&mut self, row: &Value) -> Result<(), ItemsError> {
        let cells = columns().map(|name| cell(row, name).unwrap_or_default());
        let written = self.out.write_record(cells);
        Ok(written.map_err(|e| io_at(&self.path)(io::Error::other(e)))?)
    }

    fn end(mut self: Box<Self>) -> Result<(), ItemsError> {
        Ok(self.out.flush().map_err(io_at(&self.path))?)
    }
}

pub(super) struct Parquet {
    path: PathBuf,
    out: ParquetTable<File>,
}

impl Parquet {
    pub fn create(path: &Path, of: &ItemsOf) -> Result<Self> {
        let file = File::create(path).map_err(io_at(path))?;
        let columns = columns().map(|name| match name {
            "seed" | "correct" => format!("optional int64 {name}; "),
            _ => format!("optional binary {name} (String); "),
        });
        let schema = format!("message items {{ {}}}", columns.collect::<String>());
        let notes = [("mary_task", &*of.task), ("mary_version", &of.version)];
        let limits = GroupLimits {
            rows: 10_000,
            bytes: usize::MAX,
        };
        let out = parquet_file(file, &schema, None, &notes).map_err(io_at(path))?;
        Ok(Self {
            path: path.to_owned(),
            out: ParquetTable::new(out, limits),
        })
    }
}

impl Sink for Parquet {
    fn put(&mut self, row: &Value) -> Result<(), ItemsError> {
        let cells = columns().map(|name| match name {
            "seed" | "correct" => row.get(name).and_then(Value::as_i64).into(),
            _ => cell(row, name).into(),
        });
        Ok(self.out.row(cells.collect()).map_err(io_at(&self.path))?)
    }

    fn end(self: Box<Self>) -> Result<(), ItemsError> {
        Ok(self.out.finish().map_err(io_at(&self.path))?)
    }
}
