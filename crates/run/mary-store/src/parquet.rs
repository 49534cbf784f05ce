//! Rows with types, written to a compressed Parquet file in groups, so that memory stays bounded whatever
//! their number. Absent values are null, never an empty string or a zero.

use std::io::{self, Write};
use std::sync::Arc;

use mary_platform::for_spreadsheet;
use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

/// Begins a compressed file of this schema, which is in Parquet's own notation.
pub fn parquet_file<W: Write + Send>(
    to: W,
    schema: &str,
    created_by: Option<String>,
    metadata: &[(&str, &str)],
) -> io::Result<SerializedFileWriter<W>> {
    let notes = metadata.iter();
    let notes = notes.map(|(name, value)| KeyValue::new((*name).to_owned(), (*value).to_owned()));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_key_value_metadata((!metadata.is_empty()).then(|| notes.collect()));
    if let Some(name) = created_by {
        properties = properties.set_created_by(name);
    }
    let schema = parse_message_type(schema).map_err(io::Error::other)?;
    let properties = Arc::new(properties.build());
    SerializedFileWriter::new(to, Arc::new(schema), properties).map_err(io::Error::other)
}

/// A group is written after so many rows, or bytes of their cells.
pub struct GroupLimits {
    pub rows: usize,
    pub bytes: usize,
}

/// A file of rows whose cells stand in the order of its schema.
pub struct ParquetTable<W: Write + Send> {
    out: SerializedFileWriter<W>,
    limits: GroupLimits,
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

impl<W: Write + Send> ParquetTable<W> {
    pub fn new(out: SerializedFileWriter<W>, limits: GroupLimits) -> Self {
        Self {
            out,
            limits,
            rows: Vec::new(),
            bytes: 0,
        }
    }

    pub fn row(&mut self, cells: Vec<Value>) -> io::Result<()> {
        let size = |cell: &Value| cell.as_str().map_or(8, str::len);
        self.bytes += cells.iter().map(size).sum::<usize>();
        self.rows.push(cells);
        if self.rows.len() >= self.limits.rows || self.bytes >= self.limits.bytes {
            self.write_group().map_err(io::Error::other)?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<()> {
        let written = self.write_group().and_then(|()| self.out.close());
        written.map(drop).map_err(io::Error::other)
    }

    /// Writes the group, if there is anything in it, and starts the next.
    fn write_group(&mut self) -> Result<(), ParquetError> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        let Some(columns) = rows.first().map(Vec::len) else {
            return Ok(());
        };
        let mut group = self.out.next_row_group()?;
        for at in 0..columns {
            let Some(mut writer) = group.next_column()? else {
                return Err(ParquetError::General("the form has fewer columns".into()));
            };
            let cells = || rows.iter().filter_map(|row| row.get(at));
            let there: Vec<i16> = cells().map(|cell| i16::from(!cell.is_null())).collect();
            macro_rules! put {
                ($writer:ident, $value:expr) => {{
                    let values: Vec<_> = cells().filter_map($value).collect();
                    let optional = $writer.get_descriptor().max_def_level() > 0;
                    $writer.write_batch(&values, optional.then_some(&there), None)?
                }};
            }
            let whole = |cell: &Value| Some(i32::try_from(cell.as_i64()?).unwrap_or(i32::MAX));
            match writer.untyped() {
                ColumnWriter::ByteArrayColumnWriter(w) => {
                    put!(w, |c| c.as_str().map(ByteArray::from))
                }
                ColumnWriter::DoubleColumnWriter(w) => put!(w, Value::as_f64),
                ColumnWriter::Int64ColumnWriter(w) => put!(w, Value::as_i64),
                ColumnWriter::Int32ColumnWriter(w) => put!(w, whole),
                ColumnWriter::BoolColumnWriter(w) => put!(w, Value::as_bool),
                _ => return Err(ParquetError::General("a column has another type".into())),
            };
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// A cell for spreadsheets and R: numbers as they round-trip, text that no spreadsheet executes.
pub fn cell_text(cell: Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => for_spreadsheet(&text).into_owned(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            // A floating-point number without a fraction is written without one.
            (None, Some(number)) => number.to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}
