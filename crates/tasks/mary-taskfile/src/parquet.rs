//! Rows of a Parquet file as JSON objects. Bytes that are no text (a picture) become base64.

use std::fs::File;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mary_contract::TaskError;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use serde_json::{Map, Number, Value};

use crate::formats::{Numbered, wrong};

pub(crate) struct ParquetRows {
    rows: Option<RowIter<'static>>,
    file: String,
    row: usize,
}

impl ParquetRows {
    pub fn open(file: File, name: &str) -> Result<Self, TaskError> {
        let broken = |error: ParquetError| {
            let why = format!("this is no Parquet file that can be read: {error}");
            wrong(name, 1, why)
        };
        let reader = guarded(|| SerializedFileReader::new(file)).map_err(broken)?;
        let columns = reader.metadata().file_metadata().schema_descr();
        // The reader of rows panics on what it does not know; none of these is written by datasets.
        let mut columns = columns.columns().iter();
        let odd = columns.find(|c| c.physical_type() == parquet::basic::Type::INT96);
        if let Some(odd) = odd.map(|c| c.name()) {
            let why =
                format!("column `{odd}` holds times in an old form (INT96), which is not read");
            return Err(wrong(name, 1, why));
        }
        let rows = guarded(|| Ok(reader.into_iter())).map_err(broken)?;
        Ok(Self {
            rows: Some(rows),
            file: name.to_owned(),
            row: 0,
        })
    }

    pub fn next(&mut self) -> Option<Result<Numbered, TaskError>> {
        let rows = self.rows.as_mut()?;
        let read = guarded(|| rows.next().transpose());
        self.row += 1;
        if read.is_err() {
            // Half a row was read: what follows would be rubbish.
            self.rows = None;
        }
        Some(match read.transpose()? {
            Ok(row) => Ok((self.row, object(&row))),
            Err(error) => {
                let message = format!("this row of the Parquet file cannot be read: {error}");
                Err(wrong(&self.file, self.row, message))
            }
        })
    }
}

/// The reader of Parquet trusts its files in places; a damaged one must not take us down.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = || ParquetError::General("its parts contradict each other".into());
    mary_platform::caught(read).unwrap_or_else(|_| Err(damaged()))
}

fn object(row: &Row) -> Map<String, Value> {
    let columns = row.get_column_iter();
    let named = columns.map(|(name, field)| (name.clone(), value(field)));
    named.collect()
}

fn float(x: f64) -> Value {
    Number::from_f64(x).map_or(Value::Null, Value::Number)
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(x) => Value::Bool(*x),
        Field::Byte(x) => Value::from(*x),
        Field::Short(x) => Value::from(*x),
        Field::Int(x) => Value::from(*x),
        Field::Long(x) => Value::from(*x),
        Field::UByte(x) => Value::from(*x),
        Field::UShort(x) => Value::from(*x),
        Field::UInt(x) => Value::from(*x),
        Field::ULong(x) => Value::from(*x),
        Field::Float16(x) => float(x.to_f64()),
        Field::Float(x) => float(f64::from(*x)),
        Field::Double(x) => float(*x),
        Field::Str(text) => Value::String(text.clone()),
        Field::Bytes(bytes) => Value::String(STANDARD.encode(bytes.data())),
        Field::Group(row) => Value::Object(object(row)),
        Field::ListInternal(list) => Value::Array(list.elements().iter().map(value).collect()),
        Field::MapInternal(map) => {
            let entries = map.entries().iter().map(|(key, field)| {
                let key = match value(key) {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                (key, value(field))
            });
            Value::Object(entries.collect())
        }
        // Dates, times and decimal numbers as they are written.
        other => Value::String(other.to_string()),
    }
}
