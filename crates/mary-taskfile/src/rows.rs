//! Rows of JSONL, CSV and TSV files, read one by one, so that a file of any length takes the memory of
//! one row. Whatever is wrong is told with file and line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use mary_contract::{DataError, TaskError};
use serde_json::Value;

use crate::form::Format;
use crate::template::Columns;

/// Bytes of one row, at most: an unclosed quote would otherwise swallow the rest of the file.
const LONGEST_ROW: usize = 64 << 20;

/// A file of rows, as it was when it was hashed.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub path: PathBuf,
    pub format: Format,
    pub quotes: bool,
    /// blake3 of its bytes, as hex.
    pub hash: String,
    state: (u64, Option<SystemTime>),
}

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    pub file: Arc<str>,
    /// From 1.
    pub line: usize,
    pub columns: Columns,
}

impl Row {
    /// An error in this row.
    pub fn wrong(&self, message: impl Into<String>) -> TaskError {
        TaskError::Record {
            file: self.file.to_string(),
            line: self.line,
            message: message.into(),
        }
    }
}

impl Table {
    /// Hashes a file; its rows are not looked at.
    pub fn open(path: PathBuf, format: Format, quotes: Option<bool>) -> std::io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut file = File::open(&path)?;
        let state = state(&file)?;
        let mut buffer = vec![0; 1 << 18];
        loop {
            let n = file.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            hasher.update(buffer.get(..n).unwrap_or_default());
        }
        Ok(Self {
            path,
            format,
            quotes: quotes.unwrap_or(format == Format::Csv),
            hash: hasher.finalize().to_hex().to_string(),
            state,
        })
    }

    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// An error in a line of this file.
    pub fn wrong(&self, line: usize, message: impl Into<String>) -> TaskError {
        TaskError::Record {
            file: self.name(),
            line,
            message: message.into(),
        }
    }

    fn damaged(&self, message: String) -> TaskError {
        TaskError::Data(DataError::Damaged {
            path: self.path.clone(),
            message,
        })
    }

    /// Its rows, from the first.
    pub fn rows(&self) -> Result<Rows, TaskError> {
        let cannot = |e: std::io::Error| self.damaged(format!("cannot be read: {e}"));
        let file = File::open(&self.path).map_err(cannot)?;
        if state(&file).map_err(cannot)? != self.state {
            return Err(self.damaged(
                "the file has changed since this command began, so its hash is not that of its rows\n\
                 hint: give the command again"
                    .into(),
            ));
        }
        let budget = Arc::new(AtomicUsize::new(LONGEST_ROW));
        let bounded = Bounded {
            inner: file,
            left: Arc::clone(&budget),
        };
        let source = match self.format {
            Format::Jsonl => Source::Lines {
                reader: BufReader::with_capacity(1 << 16, bounded),
                line: 0,
                buffer: Vec::new(),
            },
            Format::Csv | Format::Tsv => {
                let delimiter = if self.format == Format::Csv {
                    b','
                } else {
                    b'\t'
                };
                let mut reader = csv::ReaderBuilder::new()
                    .delimiter(delimiter)
                    .quoting(self.quotes)
                    .from_reader(bounded);
                let head = reader
                    .byte_headers()
                    .map_err(|e| self.of_csv(&e, 1))?
                    .clone();
                let head = texts(&head).map_err(|at| {
                    self.wrong(1, format!("the name of column {at} is not valid UTF-8"))
                })?;
                if let Some(name) = twice(&head) {
                    return Err(self.wrong(1, format!("two columns are called `{name}`")));
                }
                Source::Fields {
                    reader: Box::new(reader),
                    head,
                    record: csv::ByteRecord::new(),
                }
            }
        };
        Ok(Rows {
            file: self.name().into(),
            table: self.clone(),
            source,
            budget,
            ended: false,
        })
    }

    fn of_csv(&self, error: &csv::Error, near: usize) -> TaskError {
        let line = error.position().map_or(near, |p| p.line() as usize);
        match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => self.wrong(
                line,
                format!(
                    "expected {expected_len} fields, as in the first line, found {len}\n\
                     hint: a field that holds the separator stands in double quotes{}",
                    if self.quotes {
                        ""
                    } else {
                        " (with `quotes = true` under [data])"
                    }
                ),
            ),
            csv::ErrorKind::Io(e) => self.wrong(line, e.to_string()),
            _ => self.wrong(line, error.to_string()),
        }
    }
}

fn state(file: &File) -> std::io::Result<(u64, Option<SystemTime>)> {
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(std::io::Error::other("it is a folder, not a file of rows"));
    }
    Ok((about.len(), about.modified().ok()))
}

/// The format by the file's ending.
pub(crate) fn format_of(path: &Path) -> Result<Format, String> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    match ending.to_ascii_lowercase().as_str() {
        "jsonl" | "ndjson" => Ok(Format::Jsonl),
        "csv" => Ok(Format::Csv),
        "tsv" | "tab" => Ok(Format::Tsv),
        "json" => Err("a .json file is one value and cannot be read row by row; expected one object \
                       a line (.jsonl)\nhint: `jq -c '.[]' FILE.json > FILE.jsonl` makes one; or set `format`"
            .into()),
        "parquet" => Err("Parquet is not read yet; expected .jsonl, .csv or .tsv\nhint: in Python, \
                          `pandas.read_parquet(FILE).to_json(\"FILE.jsonl\", orient=\"records\", lines=True)`"
            .into()),
        other => Err(format!(
            "`.{other}` says nothing about the format; expected .jsonl, .csv or .tsv, or `format = \"jsonl\"` \
             under [data]"
        )),
    }
}

/// A stream of rows; after an error it ends.
pub(crate) struct Rows {
    file: Arc<str>,
    table: Table,
    source: Source,
    budget: Arc<AtomicUsize>,
    ended: bool,
}

enum Source {
    Lines {
        reader: BufReader<Bounded>,
        line: usize,
        buffer: Vec<u8>,
    },
    Fields {
        reader: Box<csv::Reader<Bounded>>,
        head: Vec<String>,
        record: csv::ByteRecord,
    },
}

/// Reads no more than a budget that is renewed with every row.
struct Bounded {
    inner: File,
    left: Arc<AtomicUsize>,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(into)?;
        let left = self.left.load(Ordering::Relaxed);
        if n > left {
            return Err(std::io::Error::other(format!(
                "a row is longer than {} MiB; is a quote left open?",
                LONGEST_ROW >> 20
            )));
        }
        self.left.store(left - n, Ordering::Relaxed);
        Ok(n)
    }
}

impl Iterator for Rows {
    type Item = Result<Row, TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.budget.store(LONGEST_ROW, Ordering::Relaxed);
        let found = match &mut self.source {
            Source::Lines {
                reader,
                line,
                buffer,
            } => next_line(&self.table, reader, line, buffer),
            Source::Fields {
                reader,
                head,
                record,
            } => next_record(&self.table, reader, head, record),
        };
        self.ended = !matches!(found, Some(Ok(_)));
        let file = Arc::clone(&self.file);
        found.map(|row| {
            row.map(|(line, columns)| Row {
                file,
                line,
                columns,
            })
        })
    }
}

/// A line and its columns.
type Numbered = (usize, Columns);

fn next_line(
    table: &Table,
    reader: &mut BufReader<Bounded>,
    line: &mut usize,
    buffer: &mut Vec<u8>,
) -> Option<Result<Numbered, TaskError>> {
    loop {
        buffer.clear();
        *line += 1;
        match reader.read_until(b'\n', buffer) {
            Err(error) => return Some(Err(table.wrong(*line, error.to_string()))),
            Ok(0) => return None,
            Ok(_) => {}
        }
        let text = match std::str::from_utf8(buffer) {
            Ok(text) => text.trim_start_matches('\u{feff}').trim(),
            Err(error) => {
                let at = error.valid_up_to() + 1;
                return Some(Err(table.wrong(
                    *line,
                    format!("byte {at} is not valid UTF-8\nhint: `iconv -t UTF-8` converts a file"),
                )));
            }
        };
        if text.is_empty() {
            continue;
        }
        return Some(match serde_json::from_str(text) {
            Ok(Value::Object(columns)) => Ok((*line, columns)),
            Ok(other) => Err(table.wrong(
                *line,
                format!(
                    "expected an object {{\"column\": value, …}}, found {}",
                    kind(&other)
                ),
            )),
            Err(error) => Err(table.wrong(
                *line,
                format!(
                    "expected one JSON object on the line; {} at column {}",
                    reason(&error),
                    error.column()
                ),
            )),
        });
    }
}

fn next_record(
    table: &Table,
    reader: &mut csv::Reader<Bounded>,
    head: &[String],
    record: &mut csv::ByteRecord,
) -> Option<Result<Numbered, TaskError>> {
    let near = reader.position().line() as usize;
    match reader.read_byte_record(record) {
        Err(error) => return Some(Err(table.of_csv(&error, near))),
        Ok(false) => return None,
        Ok(true) => {}
    }
    let line = record.position().map_or(near, |p| p.line() as usize);
    Some(match texts(record) {
        Ok(fields) => {
            let values = fields.into_iter().map(Value::String);
            Ok((line, head.iter().cloned().zip(values).collect()))
        }
        Err(at) => {
            let column = head.get(at - 1).map_or("", String::as_str);
            Err(table.wrong(
                line,
                format!(
                    "column `{column}` is not valid UTF-8\nhint: `iconv -t UTF-8` converts a file"
                ),
            ))
        }
    })
}

/// The fields as text, or which (from 1) is none.
fn texts(record: &csv::ByteRecord) -> Result<Vec<String>, usize> {
    let fields = record.iter().enumerate();
    fields
        .map(|(at, field)| {
            let text = std::str::from_utf8(field).map_err(|_| at + 1)?;
            Ok(text.to_owned())
        })
        .collect()
}

fn twice(names: &[String]) -> Option<&String> {
    let mut rest = names.iter().enumerate();
    rest.find_map(|(at, name)| names.get(..at)?.contains(name).then_some(name))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// What the parser says, without the line, which is always 1 here.
fn reason(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split(" at line ").next().unwrap_or(&said).to_owned()
}
