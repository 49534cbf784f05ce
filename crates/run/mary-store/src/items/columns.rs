//! Items as tables: one column for each thing an item may have, lists and maps as JSON in a cell.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::StoreError;
use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

use super::{ItemsError, ItemsOf, Sink};
use crate::fault::io_at;

/// The columns, in order; `correct` is a number.
const COLUMNS: [&str; 15] = [
    "id",
    "task",
    "seed",
    "kind",
    "prompt",
    "messages",
    "images",
    "continuations",
    "options",
    "correct",
    "target",
    "stratum",
    "cluster",
    "tags",
    "asks",
];

/// Rows that are written at once.
const GROUP: usize = 10_000;

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
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let said = |e: csv::Error| io_at(path)(io::Error::other(e));
        let mut out = csv::Writer::from_path(path).map_err(said)?;
        out.write_record(COLUMNS).map_err(said)?;
        Ok(Self {
            path: path.to_owned(),
            out,
        })
    }
}

impl Sink for Csv {
    fn put(&mut self, row: &Value) -> Result<(), ItemsError> {
        let cells = COLUMNS
            .iter()
            .map(|name| cell(row, name).unwrap_or_default());
        let written = self.out.write_record(cells);
        Ok(written.map_err(|e| io_at(&self.path)(io::Error::other(e)))?)
    }

    fn end(&mut self) -> Result<(), ItemsError> {
        Ok(self.out.flush().map_err(io_at(&self.path))?)
    }
}

pub(super) struct Parquet {
    path: PathBuf,
    out: Option<SerializedFileWriter<File>>,
    rows: Vec<Value>,
}

impl Parquet {
    pub fn create(path: &Path, of: &ItemsOf) -> Result<Self, StoreError> {
        let file = File::create(path).map_err(io_at(path))?;
        let said = |e: ParquetError| io_at(path)(io::Error::other(e));
        let columns = COLUMNS.map(|name| match name {
            "seed" | "correct" => format!("optional int64 {name};"),
            _ => format!("optional binary {name} (String);"),
        });
        let schema = format!("message items {{ {} }}", columns.join(" "));
        let schema = Arc::new(parse_message_type(&schema).map_err(said)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_key_value_metadata(Some(vec![
                KeyValue::new("mary_task".to_owned(), of.task.clone()),
                KeyValue::new("mary_version".to_owned(), of.version.clone()),
            ]))
            .build();
        let out = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(said)?;
        Ok(Self {
            path: path.to_owned(),
            out: Some(out),
            rows: Vec::new(),
        })
    }

    fn write(&mut self) -> ParquetResult<()> {
        let Some(out) = self.out.as_mut().filter(|_| !self.rows.is_empty()) else {
            return Ok(());
        };
        let mut group = out.next_row_group()?;
        for name in COLUMNS {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            let there: Vec<i16> = self
                .rows
                .iter()
                .map(|row| i16::from(row.get(name).is_some_and(|v| !v.is_null())))
                .collect();
            match writer.untyped() {
                ColumnWriter::Int64ColumnWriter(column) => {
                    let values: Vec<i64> = self
                        .rows
                        .iter()
                        .filter_map(|row| row.get(name)?.as_i64())
                        .collect();
                    column.write_batch(&values, Some(&there), None)?;
                }
                ColumnWriter::ByteArrayColumnWriter(column) => {
                    let texts = self.rows.iter().filter_map(|row| cell(row, name));
                    let values: Vec<ByteArray> =
                        texts.map(|t| ByteArray::from(t.into_bytes())).collect();
                    column.write_batch(&values, Some(&there), None)?;
                }
                _ => return Err(ParquetError::General("a column has another type".into())),
            }
            writer.close()?;
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

impl Sink for Parquet {
    fn put(&mut self, row: &Value) -> Result<(), ItemsError> {
        self.rows.push(row.clone());
        if self.rows.len() >= GROUP {
            let written = self.write();
            written.map_err(|e| io_at(&self.path)(io::Error::other(e)))?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ItemsError> {
        let written = self.write().and_then(|()| match self.out.take() {
            Some(out) => out.close().map(|_| ()),
            None => Ok(()),
        });
        Ok(written.map_err(|e| io_at(&self.path)(io::Error::other(e)))?)
    }
}
