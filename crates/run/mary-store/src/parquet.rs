//! Rows with types, written to a compressed Parquet file in groups, so that memory stays bounded whatever
//! their number. Absent values are null, never an empty string or a zero.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::StoreError;
use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::fault::{Result, io_at};

pub(crate) enum Cell {
    Text(Option<String>),
    Number(Option<f64>),
    Whole(Option<i64>),
    /// A whole number of 32 bits that is always there.
    Trial(u32),
}

/// A group is written after so many rows or bytes of values.
pub(crate) struct GroupLimits {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

pub(crate) struct FileNotes {
    pub(crate) created_by: Option<String>,
    pub(crate) metadata: Vec<(&'static str, String)>,
}

enum Values {
    Text(Vec<ByteArray>),
    Number(Vec<f64>),
    Whole(Vec<i64>),
    Trial(Vec<i32>),
}

/// One column of a group: the values that are there, and for each row whether it has one.
struct Column {
    values: Values,
    there: Vec<i16>,
}

pub(crate) struct TableWriter {
    path: PathBuf,
    out: SerializedFileWriter<File>,
    limits: GroupLimits,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

fn said(path: &Path) -> impl Fn(ParquetError) -> StoreError + '_ {
    move |e| io_at(path)(io::Error::other(e))
}

impl TableWriter {
    pub(crate) fn begin(
        path: &Path,
        file: File,
        schema: &str,
        notes: FileNotes,
        limits: GroupLimits,
    ) -> Result<Self> {
        let metadata = notes.metadata.into_iter();
        let metadata = metadata.map(|(name, value)| KeyValue::new(name.to_owned(), value));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_key_value_metadata(Some(metadata.collect()));
        if let Some(name) = notes.created_by {
            properties = properties.set_created_by(name);
        }
        let schema = parse_message_type(schema).map_err(said(path))?;
        let properties = Arc::new(properties.build());
        let out = SerializedFileWriter::new(file, Arc::new(schema), properties);
        Ok(Self {
            path: path.to_owned(),
            out: out.map_err(said(path))?,
            limits,
            columns: Vec::new(),
            rows: 0,
            bytes: 0,
        })
    }

    pub(crate) fn push(&mut self, cells: Vec<Cell>) -> Result<()> {
        if self.columns.is_empty() {
            self.columns = cells.iter().map(Column::fitting).collect();
        }
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.bytes += column.push(cell);
        }
        self.rows += 1;
        if self.rows >= self.limits.rows || self.bytes >= self.limits.bytes {
            self.write_group().map_err(said(&self.path))?;
        }
        Ok(())
    }

    pub(crate) fn end(mut self) -> Result<()> {
        let written = self.write_group().and_then(|()| self.out.close());
        written.map(drop).map_err(said(&self.path))
    }

    /// Writes the group, if there is anything in it, and starts the next.
    fn write_group(&mut self) -> Result<(), ParquetError> {
        (self.rows, self.bytes) = (0, 0);
        let columns = std::mem::take(&mut self.columns);
        if columns.is_empty() {
            return Ok(());
        }
        let mut group = self.out.next_row_group()?;
        for Column { values, there } in &columns {
            let Some(mut writer) = group.next_column()? else {
                return Err(ParquetError::General("the form has fewer columns".into()));
            };
            match (values, writer.untyped()) {
                (Values::Text(values), ColumnWriter::ByteArrayColumnWriter(w)) => {
                    let optional = w.get_descriptor().max_def_level() > 0;
                    w.write_batch(values, optional.then_some(there), None)?
                }
                (Values::Number(values), ColumnWriter::DoubleColumnWriter(w)) => {
                    w.write_batch(values, Some(there), None)?
                }
                (Values::Whole(values), ColumnWriter::Int64ColumnWriter(w)) => {
                    let optional = w.get_descriptor().max_def_level() > 0;
                    w.write_batch(values, optional.then_some(there), None)?
                }
                (Values::Trial(values), ColumnWriter::Int32ColumnWriter(w)) => {
                    w.write_batch(values, None, None)?
                }
                _ => return Err(ParquetError::General("a column has another type".into())),
            };
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }
}

impl Column {
    fn fitting(cell: &Cell) -> Self {
        let values = match cell {
            Cell::Text(_) => Values::Text(Vec::new()),
            Cell::Number(_) => Values::Number(Vec::new()),
            Cell::Whole(_) => Values::Whole(Vec::new()),
            Cell::Trial(_) => Values::Trial(Vec::new()),
        };
        Self {
            values,
            there: Vec::new(),
        }
    }

    /// Takes a value and says how many bytes it holds.
    fn push(&mut self, cell: Cell) -> usize {
        let (there, bytes) = match (&mut self.values, cell) {
            (Values::Text(values), Cell::Text(value)) => {
                let bytes = value.as_ref().map_or(0, String::len);
                let there = value.is_some();
                values.extend(value.map(|text| ByteArray::from(text.into_bytes())));
                (there, bytes)
            }
            (Values::Number(values), Cell::Number(value)) => {
                values.extend(value);
                (value.is_some(), 8)
            }
            (Values::Whole(values), Cell::Whole(value)) => {
                values.extend(value);
                (value.is_some(), 8)
            }
            (Values::Trial(values), Cell::Trial(n)) => {
                values.push(i32::try_from(n).unwrap_or(i32::MAX));
                (true, 4)
            }
            // Cells come in the order in which the columns were made.
            _ => (false, 0),
        };
        self.there.push(i16::from(there));
        bytes
    }
}
