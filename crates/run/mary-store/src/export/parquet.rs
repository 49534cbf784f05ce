//! The rows of [`super::table`] with their types, in one compressed Parquet file.
//!
//! Rows are gathered into groups and written column by column, so that memory stays bounded whatever
//! the length of the run. Absent values are null, never an empty string or a zero.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::StoreError;
use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::table::Row;
use super::{choice, create};
use crate::RunFolder;
use crate::fault::io_at;

/// Names and types; `String` marks text, which is UTF-8. The order is that of [`Group::push`].
const SCHEMA: &str = "message samples {
    required binary model (String);
    required binary task (String);
    required binary item (String);
    required int32 trial;
    required binary outcome (String);
    optional double score;
    optional binary reason (String);
    optional binary parsed (String);
    required binary target (String);
    required binary stratum (String);
    optional binary cluster (String);
    required binary tags (String);
    required binary measures (String);
    required binary prompt (String);
    required binary answer (String);
    required int64 prompt_tokens;
    required int64 cached_tokens;
    required int64 completion_tokens;
    required int64 reasoning_tokens;
    optional double cost;
    optional binary model_version (String);
    optional int64 options;
    optional int64 right;
    optional binary right_text (String);
    optional int64 chosen;
    optional binary chosen_text (String);
    optional double logprob_right;
    optional double logprob_other;
    optional double margin;
";

/// Behind the log-probabilities of the options, of which there are as many as the run has.
const SOURCE: &str = "optional binary source (String);\n";

/// A group is written after so many rows or bytes of text.
const GROUP_ROWS: usize = 50_000;
const GROUP_BYTES: usize = 64 << 20;

pub(super) fn export(run: &RunFolder, into: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let path = into.join(format!("{}.parquet", run.manifest().id));
    let file = create(&path)?;
    let said = |e: ParquetError| io_at(&path)(io::Error::other(e));
    let columns = choice::columns(run)?;
    let mut out = open(run, file, columns).map_err(said)?;
    let mut group = Group::default();
    for sample in run.samples()? {
        group.push(Row::of(&sample?, run), columns);
        if group.rows >= GROUP_ROWS || group.bytes >= GROUP_BYTES {
            group.write(&mut out).map_err(said)?;
        }
    }
    group.write(&mut out).map_err(said)?;
    out.close().map_err(said)?;
    Ok(vec![path])
}

fn open(run: &RunFolder, file: File, columns: usize) -> Result<SerializedFileWriter<File>> {
    let manifest = run.manifest();
    let say = |name: &str, value: String| KeyValue::new(name.to_owned(), value);
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_created_by(format!("mary {}", manifest.version))
        .set_key_value_metadata(Some(vec![
            say("mary_run", manifest.id.clone()),
            say("mary_created", manifest.created.clone()),
            say("mary_seed", manifest.seed.to_string()),
        ]))
        .build();
    let logprobs: String = (1..=columns)
        .map(|n| format!("optional double logprob_{n};\n"))
        .collect();
    let schema = Arc::new(parse_message_type(&format!(
        "{SCHEMA}{logprobs}{SOURCE}}}"
    ))?);
    SerializedFileWriter::new(file, schema, Arc::new(properties))
}

/// One column of a group: the values that are there, and for each row whether it has one.
enum Column {
    Text(Vec<ByteArray>, Vec<i16>),
    Number(Vec<f64>, Vec<i16>),
    Count(Vec<i64>),
    /// A whole number that may be absent.
    Place(Vec<i64>, Vec<i16>),
    Trial(Vec<i32>),
}

#[derive(Default)]
struct Group {
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

/// A value on its way into a column.
enum Cell {
    Text(Option<String>),
    Number(Option<f64>),
    Count(u64),
    Place(Option<usize>),
    Trial(u32),
}

impl Group {
    fn push(&mut self, row: Row, columns: usize) {
        let text = |value: String| Cell::Text(Some(value));
        let choice = row.choice;
        let mut cells = vec![
            text(row.model),
            text(row.task),
            text(row.item),
            Cell::Trial(row.trial),
            text(row.outcome.to_owned()),
            Cell::Number(row.score),
            Cell::Text(row.reason),
            Cell::Text(row.parsed),
            text(row.target),
            text(row.stratum),
            Cell::Text(row.cluster),
            text(row.tags),
            text(row.measures),
            text(row.prompt),
            text(row.answer),
            Cell::Count(row.usage.prompt_tokens),
            Cell::Count(row.usage.cached_tokens),
            Cell::Count(row.usage.completion_tokens),
            Cell::Count(row.usage.reasoning_tokens),
            Cell::Number(row.usage.cost),
            Cell::Text(row.model_version),
            Cell::Place(choice.options),
            Cell::Place(choice.right),
            Cell::Text(choice.right_text),
            Cell::Place(choice.chosen),
            Cell::Text(choice.chosen_text),
            Cell::Number(choice.logprob_right),
            Cell::Number(choice.logprob_other),
            Cell::Number(choice.margin),
        ];
        let logprobs = &choice.logprobs;
        cells.extend((0..columns).map(|at| Cell::Number(logprobs.get(at).copied())));
        cells.push(Cell::Text(row.source));
        if self.columns.is_empty() {
            self.columns = cells.iter().map(Column::fitting).collect();
        }
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.bytes += column.push(cell);
        }
        self.rows += 1;
    }

    /// Writes the group, if there is anything in it, and starts the next.
    fn write(&mut self, out: &mut SerializedFileWriter<File>) -> Result<()> {
        let full = std::mem::take(self);
        if full.rows == 0 {
            return Ok(());
        }
        let mut group = out.next_row_group()?;
        for column in &full.columns {
            let Some(mut writer) = group.next_column()? else {
                return Err(ParquetError::General("the form has fewer columns".into()));
            };
            match (column, writer.untyped()) {
                (Column::Text(values, there), ColumnWriter::ByteArrayColumnWriter(w)) => {
                    let optional = w.get_descriptor().max_def_level() > 0;
                    w.write_batch(values, optional.then_some(there.as_slice()), None)?
                }
                (Column::Number(values, there), ColumnWriter::DoubleColumnWriter(w)) => {
                    w.write_batch(values, Some(there), None)?
                }
                (Column::Count(values), ColumnWriter::Int64ColumnWriter(w)) => {
                    w.write_batch(values, None, None)?
                }
                (Column::Place(values, there), ColumnWriter::Int64ColumnWriter(w)) => {
                    w.write_batch(values, Some(there), None)?
                }
                (Column::Trial(values), ColumnWriter::Int32ColumnWriter(w)) => {
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
        match cell {
            Cell::Text(_) => Self::Text(Vec::new(), Vec::new()),
            Cell::Number(_) => Self::Number(Vec::new(), Vec::new()),
            Cell::Count(_) => Self::Count(Vec::new()),
            Cell::Place(_) => Self::Place(Vec::new(), Vec::new()),
            Cell::Trial(_) => Self::Trial(Vec::new()),
        }
    }

    /// Takes a value and says how many bytes it holds.
    fn push(&mut self, cell: Cell) -> usize {
        match (self, cell) {
            (Self::Text(values, there), Cell::Text(value)) => {
                there.push(i16::from(value.is_some()));
                let bytes = value.as_ref().map_or(0, String::len);
                values.extend(value.map(|text| ByteArray::from(text.into_bytes())));
                bytes
            }
            (Self::Number(values, there), Cell::Number(value)) => {
                there.push(i16::from(value.is_some()));
                values.extend(value);
                8
            }
            (Self::Count(values), Cell::Count(n)) => {
                values.push(i64::try_from(n).unwrap_or(i64::MAX));
                8
            }
            (Self::Place(values, there), Cell::Place(value)) => {
                there.push(i16::from(value.is_some()));
                values.extend(value.and_then(|n| i64::try_from(n).ok()));
                8
            }
            (Self::Trial(values), Cell::Trial(n)) => {
                values.push(i32::try_from(n).unwrap_or(i32::MAX));
                4
            }
            // Cells come in the order in which the columns were made.
            _ => 0,
        }
    }
}
