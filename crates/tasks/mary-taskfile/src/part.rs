//! One file of a table, read row by row.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use mary_contract::{DataError, TaskError};
use mary_platform::{Separated, open_plain};
use serde_json::Value;

use crate::formats::{Columns, Format, Numbered, unreadable, wrong};
use crate::parquet::ParquetRows;

/// Bytes of one row, at most: an unclosed quote would otherwise swallow the rest of the file.
const LONGEST_ROW: usize = 64 << 20;

/// Bytes of a list of objects, which is read as a whole.
const LONGEST_LIST: u64 = 1 << 30;

/// A file as it was when it was hashed.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub path: PathBuf,
    pub state: (u64, Option<SystemTime>),
}

pub(crate) fn state(file: &File) -> std::io::Result<(u64, Option<SystemTime>)> {
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(std::io::Error::other("it is a folder, not a file of rows"));
    }
    Ok((about.len(), about.modified().ok()))
}

pub(crate) struct PartReader {
    pub file: Arc<str>,
    rows: PartRows,
    budget: Arc<AtomicUsize>,
}

enum PartRows {
    Lines {
        reader: BufReader<Separated<Bounded>>,
        plain: bool,
        line: usize,
        buffer: Vec<u8>,
    },
    Fields {
        reader: Box<csv::Reader<Separated<Bounded>>>,
        quotes: bool,
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
            let why = format!("a row is longer than {} MiB", LONGEST_ROW >> 20);
            return Err(std::io::Error::other(why));
        }
        self.left.store(left - n, Ordering::Relaxed);
        Ok(n)
    }
}

impl PartReader {
    pub(crate) fn open(part: &Part, format: Format, quotes: bool) -> Result<Self, TaskError> {
        let damaged =
            |message: String| TaskError::Data(DataError::damaged(part.path.clone(), message));
        let cannot = |e: std::io::Error| damaged(format!("cannot be read: {e}"));
        let file = open_plain(&part.path).map_err(cannot)?;
        if state(&file).map_err(cannot)? != part.state {
            let message = "the file has changed since this command began, so its hash is not that of its rows\n\
                 hint: give the command again";
            return Err(damaged(message.into()));
        }
        let name = part.path.display().to_string();
        let budget = Arc::new(AtomicUsize::new(LONGEST_ROW));
        let bounded = |inner: File| Bounded {
            inner,
            left: Arc::clone(&budget),
        };
        let rows = match format {
            Format::Parquet => PartRows::Parquet(ParquetRows::open(file, &name)?),
            Format::Json if is_list(&file).map_err(cannot)? => {
                PartRows::List(list(&file, &name, part.state.0)?.into_iter(), 0)
            }
            Format::Jsonl | Format::Json | Format::Text => {
                let text = Separated::lines(bounded(file)).map_err(|e| unreadable(&name, 1, &e))?;
                PartRows::Lines {
                    reader: BufReader::with_capacity(1 << 16, text),
                    plain: format == Format::Text,
                    line: 0,
                    buffer: Vec::new(),
                }
            }
            Format::Csv | Format::Tsv => {
                let crlf = ends_lines_with_crlf(&file).map_err(cannot)?;
                let delimiter = (format == Format::Tsv).then_some(b'\t');
                let text = Separated::fields(bounded(file), delimiter, quotes)
                    .map_err(|e| unreadable(&name, 1, &e))?;
                let mut form = csv::ReaderBuilder::new();
                form.delimiter(text.delimiter()).quoting(quotes);
                let mut reader = form.from_reader(text);
                let odd = |e: csv::Error| of_csv(&name, &e, (1, 1), (quotes, false));
                let head = reader.headers().map_err(odd)?.iter();
                let head: Vec<String> = head.map(str::to_owned).collect();
                if let Some(twin) = twice(&head) {
                    return Err(wrong(&name, 1, format!("two columns are called `{twin}`")));
                }
                PartRows::Fields {
                    reader: Box::new(reader),
                    quotes,
                    crlf,
                    head,
                    record: csv::StringRecord::new(),
                }
            }
        };
        Ok(Self {
            file: name.into(),
            rows,
            budget,
        })
    }

    /// How many lines too early the parser says that a row begins.
    pub(crate) fn early(&self) -> usize {
        match self.rows {
            PartRows::Fields { crlf, .. } => usize::from(crlf),
            _ => 0,
        }
    }

    pub(crate) fn next(&mut self) -> Option<Result<Numbered, TaskError>> {
        self.budget.store(LONGEST_ROW, Ordering::Relaxed);
        let file = &self.file;
        match &mut self.rows {
            PartRows::Lines {
                reader,
                plain,
                line,
                buffer,
            } => next_line(file, reader, (line, *plain), buffer),
            PartRows::Fields {
                reader,
                quotes,
                crlf,
                head,
                record,
            } => next_record(file, reader, (*quotes, *crlf), head, record),
            PartRows::Parquet(rows) => rows.next(),
            PartRows::List(rows, line) => rows.next().map(|value| {
                *line += 1;
                let columns = object(value, "in the list").map_err(|why| wrong(file, *line, why));
                columns.map(|columns| (*line, columns))
            }),
        }
    }
}

/// What is wrong with a row that began in the first of these lines and was read up to the second.
fn of_csv(
    file: &str,
    error: &csv::Error,
    (near, end): (usize, usize),
    (quotes, crlf): (bool, bool),
) -> TaskError {
    let line = error.position().map_or(near, |p| p.line() as usize) + usize::from(crlf);
    let end = end + usize::from(crlf);
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            let quoted = "a field that holds the separator stands in double quotes";
            let hint = match (quotes, end > line + 1) {
                (true, true) => {
                    format!("the row goes on to line {}: is a quote left open?", end - 1)
                }
                (true, false) => quoted.to_owned(),
                (false, _) => format!("{quoted} (with `quotes = true` under [data])"),
            };
            let expected = format!("expected {expected_len} fields, as in the first line");
            wrong(file, line, format!("{expected}, found {len}\nhint: {hint}"))
        }
        csv::ErrorKind::Io(e) => unreadable(file, line, e),
        _ => wrong(file, line, error.to_string()),
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
        let message = format!(
            "a list of more than {} GiB is not read as a whole\nhint: `jq -c '.[]' FILE.json > FILE.jsonl` \
                 makes one object a line",
            LONGEST_LIST >> 30
        );
        return Err(wrong(name, 1, message));
    }
    serde_json::from_reader(BufReader::with_capacity(1 << 16, file)).map_err(|error| {
        let (why, at) = (reason(&error), error.column());
        let message = format!("expected a list of objects; {why} at column {at}");
        wrong(name, error.line().max(1), message)
    })
}

fn next_line(
    file: &str,
    reader: &mut BufReader<Separated<Bounded>>,
    (line, plain): (&mut usize, bool),
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
        if text.trim().is_empty() {
            continue;
        }
        if plain {
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            let column = ("text".to_owned(), Value::from(text));
            return Some(Ok((*line, Columns::from_iter([column]))));
        }
        let text = text.trim();
        let read = serde_json::from_str(text)
            .map_err(|error| {
                let (why, at) = (reason(&error), error.column());
                format!("expected one JSON object on the line; {why} at column {at}")
            })
            .and_then(|value| object(value, "{\"column\": value, …}"));
        let read = read.map_err(|why| wrong(file, *line, why));
        return Some(read.map(|columns| (*line, columns)));
    }
}

fn next_record(
    file: &str,
    reader: &mut csv::Reader<Separated<Bounded>>,
    (quotes, crlf): (bool, bool),
    head: &[String],
    record: &mut csv::StringRecord,
) -> Option<Result<Numbered, TaskError>> {
    let near = reader.position().line() as usize;
    match reader.read_record(record) {
        Err(error) => {
            let end = reader.position().line() as usize;
            return Some(Err(of_csv(file, &error, (near, end), (quotes, crlf))));
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

/// The columns of a row; otherwise what stands there.
fn object(value: Value, expected: &str) -> Result<Columns, String> {
    let found = match value {
        Value::Object(columns) => return Ok(columns),
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
    };
    Err(format!("expected an object {expected}, found {found}"))
}

/// What the parser says, without the line, which is always 1 here.
fn reason(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split(" at line ").next().unwrap_or(&said).to_owned()
}
