//! Rows of JSONL, CSV, TSV and Parquet files, read one by one, so that a file of any length takes the
//! memory of one row (of Parquet: of the pages being read). Whatever is wrong is told with file and
//! line. A table may lie in several files, as a folder of Parquet does. Text may be UTF-8 or UTF-16, and
//! the separator of CSV a comma, a semicolon or a tab ([`Separated`]).

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use mary_contract::{DataError, TaskError};
use mary_platform::{SPREADSHEET_HINT, Separated, TextFault, open_plain};
use serde::Deserialize;
use serde_json::Value;

use crate::folder;
use crate::parquet::ParquetRows;

/// The columns of a row by name.
pub type Columns = serde_json::Map<String, Value>;

/// How rows are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One object a line.
    Jsonl,
    /// Fields with commas (or semicolons or tabs), the names of columns in the first line.
    Csv,
    Tsv,
    Parquet,
    /// A list of objects, read as a whole; or one object a line.
    Json,
}

/// Bytes of one row, at most: an unclosed quote would otherwise swallow the rest of the file.
const LONGEST_ROW: usize = 64 << 20;

/// Bytes of a list of objects, which is read as a whole.
const LONGEST_LIST: u64 = 1 << 30;

/// Rows in one file or several, as they were when they were hashed.
#[derive(Debug, Clone)]
pub struct Table {
    /// The file, or the folder of Parquet.
    pub path: PathBuf,
    /// How its rows are written.
    pub format: Format,
    /// Whether `"` encloses fields.
    pub quotes: bool,
    /// blake3 of its bytes, as hex.
    pub hash: String,
    parts: Arc<[Part]>,
}

/// One file of a table.
#[derive(Debug, Clone)]
struct Part {
    path: PathBuf,
    state: (u64, Option<SystemTime>),
}

/// One row.
#[derive(Debug)]
pub struct Row {
    pub file: Arc<str>,
    /// From 1; of Parquet, the row.
    pub line: usize,
    /// From 1, over all files of the table; of a single file its line, or in a CSV file whose lines end
    /// with carriage return and line feed the one before. It is the id of a row without one, and ids stay
    /// what they were when that was the parser's count.
    pub number: usize,
    /// What stands in it.
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
    /// Hashes a file, or the Parquet files of a folder (of one split, where it is named); its rows are
    /// not looked at.
    pub fn open(
        path: PathBuf,
        format: Format,
        quotes: Option<bool>,
        split: Option<&str>,
    ) -> std::io::Result<Self> {
        let files = if path.is_dir() {
            if format != Format::Parquet {
                return Err(std::io::Error::other("it is a folder, not a file of rows"));
            }
            folder::files(&path, split)?
        } else {
            vec![path.clone()]
        };
        Self::of_files(path, files, format, quotes)
    }

    /// The same of files that are known.
    pub fn of_files(
        path: PathBuf,
        files: Vec<PathBuf>,
        format: Format,
        quotes: Option<bool>,
    ) -> std::io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 18];
        let mut parts = Vec::new();
        for path in files {
            let named = |e: std::io::Error| {
                std::io::Error::new(e.kind(), format!("{}: {e}", path.display()))
            };
            let mut file = open_plain(&path).map_err(named)?;
            let state = state(&file).map_err(named)?;
            loop {
                let n = file.read(&mut buffer).map_err(named)?;
                if n == 0 {
                    break;
                }
                hasher.update(buffer.get(..n).unwrap_or_default());
            }
            parts.push(Part { path, state });
        }
        Ok(Self {
            path,
            format,
            quotes: quotes.unwrap_or(format == Format::Csv),
            hash: hasher.finalize().to_hex().to_string(),
            parts: parts.into(),
        })
    }

    /// Its path in words.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// An error in a line of this table (of its first file, where it has several).
    pub fn wrong(&self, line: usize, message: impl Into<String>) -> TaskError {
        let name = self.parts.first().map(|p| p.path.display().to_string());
        wrong(&name.unwrap_or_else(|| self.name()), line, message)
    }

    /// Its rows, from the first.
    pub fn rows(&self) -> Result<Rows, TaskError> {
        Ok(Rows {
            table: self.clone(),
            next: 0,
            source: None,
            number: 0,
            ended: false,
        })
        .and_then(|mut rows| {
            // The first file is opened at once, so that a changed one is told before any row.
            rows.open()?;
            Ok(rows)
        })
    }

    fn opened(&self, part: &Part) -> Result<Opened, TaskError> {
        let damaged = |message: String| {
            TaskError::Data(DataError::Damaged {
                path: part.path.clone(),
                message,
            })
        };
        let cannot = |e: std::io::Error| damaged(format!("cannot be read: {e}"));
        let file = open_plain(&part.path).map_err(cannot)?;
        if state(&file).map_err(cannot)? != part.state {
            return Err(damaged(
                "the file has changed since this command began, so its hash is not that of its rows\n\
                 hint: give the command again"
                    .into(),
            ));
        }
        let name = part.path.display().to_string();
        let budget = Arc::new(AtomicUsize::new(LONGEST_ROW));
        let source = match self.format {
            Format::Parquet => Source::Parquet(ParquetRows::open(file, &name)?),
            Format::Json if is_list(&file).map_err(cannot)? => {
                Source::List(list(&file, &name, part.state.0)?.into_iter(), 0)
            }
            Format::Jsonl | Format::Json => Source::Lines {
                reader: BufReader::with_capacity(
                    1 << 16,
                    Separated::lines(Bounded {
                        inner: file,
                        left: Arc::clone(&budget),
                    })
                    .map_err(|e| unreadable(&name, 1, &e))?,
                ),
                line: 0,
                buffer: Vec::new(),
            },
            Format::Csv | Format::Tsv => {
                let bounded = Bounded {
                    inner: file,
                    left: Arc::clone(&budget),
                };
                let crlf = ends_lines_with_crlf(&bounded.inner).map_err(cannot)?;
                let delimiter = (self.format == Format::Tsv).then_some(b'\t');
                let text = Separated::fields(bounded, delimiter, self.quotes)
                    .map_err(|e| unreadable(&name, 1, &e))?;
                let mut reader = csv::ReaderBuilder::new()
                    .delimiter(text.delimiter())
                    .quoting(self.quotes)
                    .from_reader(text);
                let head = reader
                    .headers()
                    .map_err(|e| self.of_csv(&name, &e, (1, 1), false))?
                    .iter()
                    .map(str::to_owned)
                    .collect::<Vec<String>>();
                if let Some(twin) = twice(&head) {
                    return Err(wrong(&name, 1, format!("two columns are called `{twin}`")));
                }
                Source::Fields {
                    reader: Box::new(reader),
                    crlf,
                    head,
                    record: csv::StringRecord::new(),
                }
            }
        };
        Ok(Opened {
            file: name.into(),
            source,
            budget,
        })
    }

    /// What is wrong with a row that began in the first of these lines and was read up to the second.
    fn of_csv(
        &self,
        file: &str,
        error: &csv::Error,
        (near, end): (usize, usize),
        crlf: bool,
    ) -> TaskError {
        let line = error.position().map_or(near, |p| p.line() as usize) + usize::from(crlf);
        let end = end + usize::from(crlf);
        match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => {
                let hint = match (self.quotes, end > line + 1) {
                    (true, true) => {
                        format!("the row goes on to line {}: is a quote left open?", end - 1)
                    }
                    (true, false) => {
                        "a field that holds the separator stands in double quotes".to_owned()
                    }
                    (false, _) => "a field that holds the separator stands in double quotes (with \
                                   `quotes = true` under [data])"
                        .to_owned(),
                };
                wrong(
                    file,
                    line,
                    format!(
                        "expected {expected_len} fields, as in the first line, found {len}\nhint: {hint}"
                    ),
                )
            }
            csv::ErrorKind::Io(e) => unreadable(file, line, e),
            _ => wrong(file, line, error.to_string()),
        }
    }
}

/// Whether the first line ends with carriage return and line feed: the parser then takes the line feed with
/// the next row, and says that every row begins a line too early.
fn ends_lines_with_crlf(mut file: &File) -> std::io::Result<bool> {
    let mut first = Vec::new();
    file.take(1 << 16).read_to_end(&mut first)?;
    file.seek(SeekFrom::Start(0))?;
    let line = first.split(|b| *b == b'\n').next().unwrap_or_default();
    // In UTF-16 a zero stands between the two.
    let last = line.iter().rev().find(|b| **b != 0);
    Ok(last == Some(&b'\r') && line.len() < first.len())
}

/// Whether a JSON file begins as a list; its reading begins anew either way.
fn is_list(mut file: &File) -> std::io::Result<bool> {
    let mut first = [0u8; 64];
    let n = file.read(&mut first)?;
    file.seek(SeekFrom::Start(0))?;
    let text = first.get(..n).unwrap_or_default();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    Ok(text.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'['))
}

fn list(file: &File, name: &str, size: u64) -> Result<Vec<Value>, TaskError> {
    if size > LONGEST_LIST {
        return Err(wrong(
            name,
            1,
            format!(
                "a list of more than {} GiB is not read as a whole\nhint: `jq -c '.[]' FILE.json > FILE.jsonl` \
                 makes one object a line",
                LONGEST_LIST >> 30
            ),
        ));
    }
    serde_json::from_reader(BufReader::with_capacity(1 << 16, file)).map_err(|error| {
        let at = error.column();
        let message = format!(
            "expected a list of objects; {} at column {at}",
            reason(&error)
        );
        wrong(name, error.line().max(1), message)
    })
}

/// An error of reading near a line, or in the line that it names itself.
pub(crate) fn unreadable(file: &str, near: usize, error: &std::io::Error) -> TaskError {
    match TextFault::of(error) {
        Some(fault) => wrong(file, fault.line, fault.message.clone()),
        None => wrong(file, near, error.to_string()),
    }
}

/// An error in a line of a file.
pub(crate) fn wrong(file: &str, line: usize, message: impl Into<String>) -> TaskError {
    TaskError::Record {
        file: file.to_owned(),
        line,
        message: message.into(),
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
pub fn format_of(path: &Path) -> Result<Format, String> {
    if path.is_dir() {
        return Ok(Format::Parquet);
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    match ending.to_ascii_lowercase().as_str() {
        "jsonl" | "ndjson" => Ok(Format::Jsonl),
        "csv" => Ok(Format::Csv),
        "tsv" | "tab" => Ok(Format::Tsv),
        "parquet" => Ok(Format::Parquet),
        "json" => Ok(Format::Json),
        "xlsx" | "xls" | "xlsm" | "xlsb" | "ods" | "numbers" => Err(format!(
            "it is a spreadsheet; expected .csv, .tsv, .jsonl, .json or .parquet\n{SPREADSHEET_HINT}"
        )),
        other => Err(format!(
            "`.{other}` says nothing about the format; expected .jsonl, .json, .csv, .tsv or .parquet, or `format = \"jsonl\"` \
             under [data]"
        )),
    }
}

/// A stream of rows; after an error it ends.
pub struct Rows {
    table: Table,
    /// The part that is opened next.
    next: usize,
    source: Option<Opened>,
    number: usize,
    ended: bool,
}

/// A part that is being read.
struct Opened {
    file: Arc<str>,
    source: Source,
    budget: Arc<AtomicUsize>,
}

enum Source {
    Lines {
        reader: BufReader<Separated<Bounded>>,
        line: usize,
        buffer: Vec<u8>,
    },
    Fields {
        reader: Box<csv::Reader<Separated<Bounded>>>,
        crlf: bool,
        head: Vec<String>,
        record: csv::StringRecord,
    },
    Parquet(ParquetRows),
    List(std::vec::IntoIter<Value>, usize),
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
                "a row is longer than {} MiB",
                LONGEST_ROW >> 20
            )));
        }
        self.left.store(left - n, Ordering::Relaxed);
        Ok(n)
    }
}

impl Rows {
    /// Opens the next part, if there is one.
    fn open(&mut self) -> Result<bool, TaskError> {
        let Some(part) = self.table.parts.get(self.next) else {
            return Ok(false);
        };
        self.source = Some(self.table.opened(part)?);
        self.next += 1;
        Ok(true)
    }

    fn step(&mut self) -> Result<Option<Row>, TaskError> {
        loop {
            let Some(opened) = &mut self.source else {
                return Ok(None);
            };
            opened.budget.store(LONGEST_ROW, Ordering::Relaxed);
            let file = Arc::clone(&opened.file);
            let early = match opened.source {
                Source::Fields { crlf, .. } => usize::from(crlf),
                _ => 0,
            };
            let found = match &mut opened.source {
                Source::Lines {
                    reader,
                    line,
                    buffer,
                } => next_line(&file, reader, line, buffer),
                Source::Fields {
                    reader,
                    crlf,
                    head,
                    record,
                } => next_record(&self.table, &file, (reader, *crlf), head, record),
                Source::Parquet(rows) => rows.next(),
                Source::List(rows, line) => rows.next().map(|value| {
                    *line += 1;
                    match value {
                        Value::Object(columns) => Ok((*line, columns)),
                        other => Err(wrong(
                            &file,
                            *line,
                            format!("expected an object in the list, found {}", kind(&other)),
                        )),
                    }
                }),
            };
            match found {
                Some(row) => {
                    let (line, columns) = row?;
                    self.number = if self.table.parts.len() == 1 {
                        line - early
                    } else {
                        self.number + 1
                    };
                    return Ok(Some(Row {
                        file,
                        line,
                        number: self.number,
                        columns,
                    }));
                }
                None => {
                    self.source = None;
                    if !self.open()? {
                        return Ok(None);
                    }
                }
            }
        }
    }
}

impl Iterator for Rows {
    type Item = Result<Row, TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = self.step().transpose();
        self.ended = !matches!(found, Some(Ok(_)));
        found
    }
}

/// A line and its columns.
pub(crate) type Numbered = (usize, Columns);

fn next_line(
    file: &str,
    reader: &mut BufReader<Separated<Bounded>>,
    line: &mut usize,
    buffer: &mut Vec<u8>,
) -> Option<Result<Numbered, TaskError>> {
    loop {
        buffer.clear();
        *line += 1;
        match reader.read_until(b'\n', buffer) {
            Err(error) => return Some(Err(unreadable(file, *line, &error))),
            Ok(0) => return None,
            Ok(_) => {}
        }
        // Nothing is lost: what comes from `Separated` is UTF-8.
        let text = String::from_utf8_lossy(buffer);
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        return Some(match serde_json::from_str(text) {
            Ok(Value::Object(columns)) => Ok((*line, columns)),
            Ok(other) => Err(wrong(
                file,
                *line,
                format!(
                    "expected an object {{\"column\": value, …}}, found {}",
                    kind(&other)
                ),
            )),
            Err(error) => Err(wrong(
                file,
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
    file: &str,
    (reader, crlf): (&mut csv::Reader<Separated<Bounded>>, bool),
    head: &[String],
    record: &mut csv::StringRecord,
) -> Option<Result<Numbered, TaskError>> {
    let near = reader.position().line() as usize;
    match reader.read_record(record) {
        Err(error) => {
            let end = reader.position().line() as usize;
            return Some(Err(table.of_csv(file, &error, (near, end), crlf)));
        }
        Ok(false) => return None,
        Ok(true) => {}
    }
    let line = record.position().map_or(near, |p| p.line() as usize) + usize::from(crlf);
    let values = record.iter().map(|field| Value::String(field.to_owned()));
    Some(Ok((line, head.iter().cloned().zip(values).collect())))
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
